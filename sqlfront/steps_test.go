package sqlfront_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

// TestStepsDecide compares conditions on REAL and NUMERIC columns with numbers in and at
// the ends of each step. A condition that differs within a step is refused, and any other
// one is decided.
func TestStepsDecide(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"x REAL BETWEEN -1 AND 1.5 STEP 0.5 OR NULL", "x NUMERIC(4,1) BETWEEN -0.3 AND 0.4", "x REAL BETWEEN 0 AND 4000 STEP 1000 CLAMP"} {
		v := declare(t, "CREATE PRIVATE TABLE v ("+column+", sex TEXT) FROM raw")
		c := v.Universe().Columns()[0]
		steps := c.Steps()
		lo, hi := steps.Bounds()
		points := func(n int64) (out []*big.Rat) { // of a step
			eighths := int64(0)
			if c.Form.IsRounded() {
				eighths = 7
			}
			if c.Form.IsRounded() && n == hi-1 {
				eighths = 8
			}
			for i := range eighths + 1 {
				out = append(out, new(big.Rat).Mul(steps.Step(), big.NewRat(8*n+i, 8)))
			}
			return out
		}
		refused, decided := 0, 0
		for quarters := 4*lo - 6; quarters <= 4*hi+6; quarters++ {
			k := new(big.Rat).Mul(steps.Step(), big.NewRat(quarters, 4))
			literal := query.Decimal(k)
			for operator, holds := range map[string]func(sign int) bool{
				"x < %s":  func(s int) bool { return s < 0 },
				"x <= %s": func(s int) bool { return s <= 0 },
				"x > %s":  func(s int) bool { return s > 0 },
				"%s <= x": func(s int) bool { return s >= 0 },
				"x = %s":  func(s int) bool { return s == 0 },
				"x <> %s": func(s int) bool { return s != 0 },
				"CASE WHEN x < %s THEN sex IS NULL OR sex IS NOT NULL ELSE 0 END": func(s int) bool { return s < 0 },
				"x IN (%s, 99999)":        func(s int) bool { return s == 0 },
				"NOT x BETWEEN -9 AND %s": func(s int) bool { return s > 0 },
			} {
				where := fmt.Sprintf(operator, literal)
				b, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+where)
				mixed := false
				for n := lo; n <= hi; n++ {
					if !c.Domain.Contains(query.Int(n)) {
						continue
					}
					all := points(n)
					want := holds(all[0].Cmp(k))
					for _, p := range all {
						mixed = mixed || holds(p.Cmp(k)) != want
					}
					if got := err == nil && counted(b).Weight([]query.Value{query.Int(n), query.Null()}) == 1; err == nil && got != want {
						t.Errorf("%s: %s is %v of step %d", column, where, got, n)
					}
				}
				if mixed != (sqlerr.CodeOf(err) == sqlerr.Unsupported) || err != nil && !mixed {
					t.Errorf("%s: %s is refused: %v, divides a step: %v", column, where, err, mixed)
				}
				if mixed {
					refused++
				} else {
					decided++
				}
			}
		}
		if decided < 100 || c.Form.IsRounded() && refused < 50 {
			t.Errorf("%s: %d conditions refused, %d decided", column, refused, decided)
		}
	}
}

// TestStepsAddUp holds what a row adds to a sum, and the warning about it.
func TestStepsAddUp(t *testing.T) {
	t.Parallel()
	v := declare(t, "CREATE PRIVATE TABLE v (x REAL BETWEEN 0 AND 30 STEP 10, y NUMERIC(4,1) BETWEEN 0 AND 0.3) FROM raw")
	for text, want := range map[string]string{
		"SELECT SUM(x) FROM v":     "x{0: 1; 1: 3; 2: 5}",  // times 5
		"SELECT SUM(x + 1) FROM v": "x{0: 3; 1: 8; 2: 13}", // times 5, with a common factor taken out
		"SELECT SUM(y) FROM v":     "y{0: 0; 1: 1; 2: 2; 3: 3}",
	} {
		b, err := compile(v, text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := query.Parse(v.Universe(), want)
		if err != nil {
			t.Fatal(err)
		}
		if !counted(b).Equal(q) {
			t.Errorf("%s: %s, want %s", text, counted(b), q)
		}
		if warned := strings.Contains(strings.Join(b.Warnings, ""), "each row may be off by 5"); warned != strings.Contains(text, "x") {
			t.Errorf("%s warns %q", text, b.Warnings)
		}
	}
	for _, wrong := range []string{"SELECT COUNT(*) FROM v WHERE x = y", "SELECT COUNT(*) FROM v WHERE x + 1 < 5", "SELECT COUNT(*) FROM v WHERE x LIKE '1%'", "SELECT COUNT(*) FROM v WHERE x",
		"SELECT COUNT(*) FROM v WHERE x IS 10", "SELECT ABS(x), COUNT(*) FROM v GROUP BY 1"} {
		if _, err := compile(v, wrong); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
