package syntax_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/sqlfront/syntax"
)

// TestCopies: a copy is the same tree, of other nodes. In one, other nodes stand for some.
func TestCopies(t *testing.T) {
	t.Parallel()
	for _, c := range queryCases {
		q, err := syntax.ParseQuery(c.text, c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		own := make(map[syntax.Node]bool)
		syntax.Walk(q, func(n syntax.Node) bool {
			own[n] = reflect.TypeOf(n).Kind() == reflect.Pointer
			return true
		})
		same := syntax.Copy(q, func(syntax.Node) syntax.Node { return nil })
		if !reflect.DeepEqual(q, same) {
			t.Errorf("%s: the copy is %s", c.text, same)
		}
		syntax.Walk(same, func(n syntax.Node) bool {
			_, shared := n.(*syntax.Type)
			if own[n] && !shared {
				t.Errorf("%s: the copy shares %T", c.text, n)
			}
			return !shared
		})
		other := syntax.Copy(q, func(n syntax.Node) syntax.Node {
			if l, ok := n.(*syntax.Literal); ok && l.Kind == syntax.KindInteger {
				return syntax.Placed(&syntax.Literal{Kind: l.Kind, Value: "77"}, l)
			}
			return nil
		})
		if !reflect.DeepEqual(q, same) {
			t.Errorf("%s: a copy changed it to %s", c.text, q)
		}
		back, err := syntax.ParseQuery(other.String(), c.dialect)
		if err != nil || !reflect.DeepEqual(bared(back), bared(other)) {
			t.Errorf("%s: %s: %v", c.text, other, err)
		}
	}
}

// TestTraced: each name of a text that is written is where it was read.
func TestTraced(t *testing.T) {
	t.Parallel()
	for _, c := range queryCases {
		q, err := syntax.ParseQuery(c.text, c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		text, origin := q.Traced()
		if text != q.String() || len(origin) != utf8.RuneCountInString(text) {
			t.Fatalf("%s: %q, with %d places", c.text, text, len(origin))
		}
		written, read := []rune(text), []rune(c.text)
		for i, at := range origin {
			if at < 1 || at > len(read) {
				t.Fatalf("%s: character %d of %s is at %d", c.text, i+1, text, at)
			}
		}
		syntax.Walk(q, func(n syntax.Node) bool {
			col, ok := n.(*syntax.Column)
			if !ok {
				return true
			}
			name := col.Path[len(col.Path)-1]
			for i, at := range origin {
				if at == name.Pos() && (i == 0 || origin[i-1] != at) && !strings.HasPrefix(string(written[i:]), name.String()) {
					t.Errorf("%s: %s is at %d, where there is %.10q", c.text, name, i, string(written[i:]))
				}
			}
			return true
		})
	}
}
