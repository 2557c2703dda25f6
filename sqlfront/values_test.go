package sqlfront_test

import (
	"fmt"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// valuesOf compiles the first condition of a statement, written text = 0, and
// returns the values of text with the number of records that have them.
func valuesOf(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := syntax.Parse("SELECT COUNT(*) FROM people WHERE " + text + " = 0")
	if err != nil {
		return "", err
	}
	sel, table := s.(*syntax.Select), newPeople(t)
	q, values, err := sqlfront.Values(sel, table, table.u)
	if err != nil {
		return "", err
	}
	size := make([]int, len(values)+1)
	for _, tuple := range tuples(table.u.Columns()[:4]) {
		size[q.Weight(append(tuple, query.Null()))]++
	}
	got := ""
	for i, v := range values {
		got += fmt.Sprintf("%v: %d; ", v, size[i+1])
	}
	if size[0] > 0 {
		t.Errorf("%s: %d records have no value", text, size[0])
	}
	return got, nil
}

// tuples returns every tuple of finite columns.
func tuples(columns []query.Column) [][]query.Value {
	if len(columns) == 0 {
		return [][]query.Value{nil}
	}
	var all [][]query.Value
	for _, t := range tuples(columns[1:]) {
		for o := range columns[0].Domain.Size() {
			all = append(all, append([]query.Value{columns[0].Domain.Value(o)}, t...))
		}
	}
	return all
}

// TestValues checks the values that expressions take. The universe has 122 ages,
// NULL among them, times 3 sexes, and married and order, which are 0 or 1.
func TestValues(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"age / 50", "NULL: 12; 0: 600; 1: 600; 2: 252; "},
		{`(married + "order") * 3`, "0: 366; 3: 732; 6: 366; "},
		{"coalesce(lower(sex), '?')", "'?': 488; 'f': 488; 'm': 488; "},
		{"(married <> `order`)", "0: 732; 1: 732; "},
		{"5", "5: 1464; "},
		{"CASE WHEN age < 20 THEN 'young' WHEN married THEN 'married' END", "NULL: 612; 'married': 612; 'young': 240; "},
	} {
		got, err := valuesOf(t, c.text)
		parts := strings.SplitAfter(got, "; ")
		if err != nil || len(parts) != len(strings.SplitAfter(c.want, "; ")) {
			t.Errorf("%s: %v, %v; want %v", c.text, got, err, c.want)
		}
		for _, p := range parts {
			if !strings.Contains(c.want, p) {
				t.Errorf("%s: %v, want %v", c.text, got, c.want)
			}
		}
	}
	for _, text := range []string{"age / 2.0", "zip"} {
		if got, err := valuesOf(t, text); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
