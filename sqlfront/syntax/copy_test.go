package syntax_test

import (
	"reflect"
	"testing"

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
