package sqlfront_test

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// TestVariancesAgainstSQLite compares variances of random integer expressions,
// over random rows and in groups, with those that follow from SQLite's COUNT and
// SUM of the same; SQLite has no variance of its own.
func TestVariancesAgainstSQLite(t *testing.T) {
	s := newSample(t)
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 4 {
			x, where := drawInteger(t, 2), drawRowCondition(t)
			key := drawOf(t, "key", "s", "m", "n % 2")
			from := fmt.Sprintf(" FROM sample WHERE %s GROUP BY %s ORDER BY %[2]s", where, key)
			st, err := syntax.Parse(fmt.Sprintf("SELECT %s, COUNT(*), VAR_POP(%[2]s), VARIANCE(%[2]s), VAR_SAMP(%[2]s), STDDEV_POP(%[2]s), STDDEV(%[2]s), STDDEV_SAMP(%[2]s)", key, x) + from)
			var b *sqlfront.Bound
			if err == nil {
				b, err = sqlfront.Bind(st.(*syntax.Select), s, nil)
			}
			if sqlerr.CodeOf(err) == sqlerr.Unsupported {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", x, err)
			}
			if len(b.Slots) > 5 { // all rows; and the count, the sum of either sign, and the squares
				t.Fatalf("%s: %d slots", x, len(b.Slots))
			}
			theirs, err := s.selected(fmt.Sprintf("SELECT %s, COUNT(%[2]s), COALESCE(SUM(%[2]s), 0), COALESCE(SUM((%[2]s) * (%[2]s)), 0)", key, x) + from)
			if err != nil {
				t.Fatal(err)
			}
			ours := make(map[any][]any)
			for _, row := range s.answer(b).Rows {
				ours[row[0]] = row
			}
			for _, row := range theirs {
				compared++
				got := ours[row[0]]
				n, first, second := float64(row[1].(int64)), float64(row[2].(int64)), float64(row[3].(int64))
				over := second - first*first/n
				pop, samp := over/n, over/(n-1)
				for i, want := range []float64{pop, samp, samp, math.Sqrt(max(pop, 0)), math.Sqrt(max(samp, 0)), math.Sqrt(max(samp, 0))} {
					v, some := got[2+i].(float64)
					if least := float64(min(i%3, 1)); some != (n > least) || some && math.Abs(v-want) > 1e-4*(1+math.Abs(want)) {
						t.Fatalf("%s of %s%s: got %v, want %v (n %v, sums %v, %v)", x, key, from, got, want, n, first, second)
					}
				}
			}
		}
	})
	t.Logf("%d groups were compared", compared)
	if compared < 500 {
		t.Errorf("only %d groups were compared", compared)
	}
}
