package sqlfront_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// example is a statement of a dialect.sql with what must happen to it.
type example struct{ want, text string }

// examples returns the statements of the reference list and our own.
func examples(t testing.TB) []example {
	t.Helper()
	var all []example
	for _, file := range []string{"../testdata/dialect.sql", "testdata/dialect.sql"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			switch want, comment := strings.CutPrefix(line, "-- "); {
			case comment:
				want, _, _ = strings.Cut(want, "  ")
				all = append(all, example{want: want})
			case line != "":
				all[len(all)-1].text += line + "\n"
			}
		}
	}
	var statements []example
	for _, e := range all {
		if e.want == "setup" && strings.HasPrefix(e.text, "CREATE PRIVATE TABLE") {
			e.want = "table"
		}
		if e.text != "" {
			statements = append(statements, e)
		}
	}
	return statements
}

type declared struct {
	name string
	u    *query.Universe
}

func (d declared) Name() string              { return d.name }
func (d declared) Universe() *query.Universe { return d.u }

// declare returns the table that a CREATE PRIVATE TABLE declares.
func declare(t testing.TB, text string) declared {
	t.Helper()
	s, err := syntax.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	c := s.(*syntax.CreatePrivate)
	columns := make([]query.Column, len(c.Columns))
	for i, col := range c.Columns {
		columns[i] = query.Column{Name: col.Name.Text, Domain: col.Domain, Form: col.Form}
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return declared{c.Name.Text, u}
}

// errOtherTable says that a SELECT is of another table, which is looked up before
// it is bound.
var errOtherTable = errors.New("the SELECT names another table")

// compile parses a statement and binds the SELECT in it, if any.
func compile(table sqlfront.Table, text string) (*sqlfront.Bound, error) {
	return bindWith(table, text)
}

// bindWith is compile with arguments.
func bindWith(table sqlfront.Table, text string, args ...query.Value) (*sqlfront.Bound, error) {
	s, err := syntax.Parse(text)
	if err != nil {
		return nil, err
	}
	if e, ok := s.(*syntax.Explain); ok {
		s = e.Select
	}
	sel, ok := s.(*syntax.Select)
	if !ok {
		return nil, nil
	}
	if !slices.ContainsFunc(sel.Tables, func(n syntax.Name) bool { return query.SameName(n.Text, table.Name()) }) {
		return nil, errOtherTable
	}
	b, err := sqlfront.Bind(sel, table, args[:sel.Parameters])
	if err == nil && sel.Composed() {
		return nil, errors.New("a SELECT is bound, and said to be composed")
	}
	return b, err
}

func TestDialect(t *testing.T) {
	var table declared
	same := make(map[string]string)
	others, around := 0, 0
	for _, e := range examples(t) {
		want, argument, _ := strings.Cut(e.want, " ")
		if want == "table" {
			table = declare(t, e.text)
			continue
		}
		b, err := compile(table, e.text)
		switch want {
		case "refused":
			if errors.Is(err, errOtherTable) {
				others++
				continue
			}
			var se *sqlerr.Error
			if !errors.As(err, &se) || string(se.Code) != argument {
				t.Errorf("%s: got %v, want %s", e.text, err, argument)
			} else if se.Position < 1 || se.Position > utf8.RuneCountInString(e.text) {
				t.Errorf("%s: %v at position %d", e.text, err, se.Position)
			}
			continue
		}
		if sqlerr.CodeOf(err) == sqlerr.Unsupported && strings.Count(e.text, "SELECT") > 1 {
			around++ // it is answered around private aggregates, not as one
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", e.text, err)
			continue
		}
		if want == "same" {
			if same[argument] == "" {
				same[argument] = b.Queries[0].String()
			}
			if got := b.Queries[0].String(); got != same[argument] {
				t.Errorf("%s: got %s, want %s", e.text, got, same[argument])
			}
		}
	}
	if len(same) == 0 {
		t.Error("no group of equal statements was compared")
	}
	if around != 2 {
		t.Errorf("%d statements are more than one aggregate, want 2", around)
	}
	if others != 2 { // raw_pums and nosuch
		t.Errorf("%d statements are of other tables, want 2", others)
	}
}
