package sqlfront_test

import (
	"fmt"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// TestFunctionsInShapes checks functions of columns in GROUP BY and inside
// aggregates.
func TestFunctionsInShapes(t *testing.T) {
	for _, c := range []struct{ text, groups string }{
		{"SELECT lower(sex), COUNT(*) FROM people GROUP BY lower(sex)", "[[NULL] ['f'] ['m']]"},
		{"SELECT length(sex), COUNT(*) FROM people WHERE sex > 'A' GROUP BY 1", "[[1]]"},
		{"SELECT abs(age - 50), COUNT(*) FROM people WHERE age BETWEEN 48 AND 53 GROUP BY abs(age-50)", "[[0] [1] [2] [3]]"},
		{"SELECT substr(zip, 1, 1), COUNT(*) FROM people WHERE zip IN ('15', '16', '2') GROUP BY 1", "[['1'] ['2']]"},
		{"SELECT SUM(length(zip)), AVG(max(age, 30)), SUM(zip LIKE '1%') FROM people WHERE zip IN ('15', '16', '2')", "[[]]"},
	} {
		b, err := bind(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := fmt.Sprint(b.Groups); got != c.groups {
			t.Errorf("%s: groups %s, want %s", c.text, got, c.groups)
		}
	}
	sum := counted(mustBind(t, "SELECT SUM(length(zip)) FROM people WHERE zip IN ('15', '16', '222')"))
	same := counted(mustBind(t, "SELECT SUM(CASE zip WHEN '222' THEN 3 ELSE 2 END) FROM people WHERE zip IN ('15', '16', '222')"))
	if !sum.Equal(same) {
		t.Errorf("got %v, want %v", sum, same)
	}
	checkRefusals(t, []refusal{
		{"SELECT SUM(‸lower(sex)) FROM people", sqlerr.Unsupported, "a text inside an aggregate", "integer"},
		{"SELECT COUNT(*) FROM people GROUP BY ‸length(zip)", sqlerr.Unsupported, "length() of column zip, which has no domain", "= or IN"},
		{"SELECT ‸upper(sex), COUNT(*) FROM people GROUP BY lower(sex)", sqlerr.Unsupported, "the function upper() in the select list", ""},
		{"SELECT ‸sex LIKE 'a' ESCAPE 'b', COUNT(*) FROM people GROUP BY sex LIKE 'a'", sqlerr.Unsupported, "LIKE outside WHERE", ""},
	})
}

// million is a table with a column of 2^17 values.
type million struct{ u *query.Universe }

func (million) Name() string                { return "wide" }
func (w million) Universe() *query.Universe { return w.u }

// BenchmarkSum binds sums over a column of 2^17 values.
func BenchmarkSum(b *testing.B) {
	large, err := query.NewRange(0, 1<<17-1, false)
	if err != nil {
		b.Fatal(err)
	}
	small, err := query.NewRange(0, 9, false)
	if err != nil {
		b.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: large}, {Name: "b", Domain: small}})
	if err != nil {
		b.Fatal(err)
	}
	for _, sum := range []string{"a", "a + 1", "a / 1000", "CASE WHEN a < 500000 THEN a ELSE 500000 END", "(a + 7) / 10 * 2", "b * 3 + 1"} {
		b.Run(sum, func(b *testing.B) {
			s, err := syntax.Parse("SELECT SUM(" + sum + ") FROM wide")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sqlfront.Bind(s.(*syntax.Select), million{u}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
