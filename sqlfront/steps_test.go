package sqlfront_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
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
		var seen verdicts
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
				seen.add(t, column, where, c, b, err, func(x *big.Rat) bool { return holds(x.Cmp(k)) })
			}
		}
		if seen.decided < 100 || c.Form.IsRounded() && seen.refused < 50 {
			t.Errorf("%s: %d conditions refused, %d decided", column, seen.refused, seen.decided)
		}
	}
}

// verdicts counts the conditions on a column with steps that were refused and decided.
type verdicts struct{ refused, decided int }

// add compares a condition on the first of two columns, as it was compiled, with what it says of
// the numbers of each step. It must be refused if and only if it divides a step.
func (v *verdicts) add(t *testing.T, column, where string, c query.Column, b *sqlfront.Bound, err error, holds func(x *big.Rat) bool) {
	t.Helper()
	steps := c.Steps()
	lo, hi := steps.Bounds()
	mixed := false
	for n := lo; n <= hi; n++ {
		if !c.Domain.Contains(query.Int(n)) {
			continue
		}
		eighths := int64(0) // of the step, that are looked at
		switch {
		case c.Form.IsRounded() && n == hi-1:
			eighths = 8
		case c.Form.IsRounded():
			eighths = 7
		}
		want := holds(steps.Multiple(n))
		for i := int64(1); i <= eighths; i++ {
			mixed = mixed || holds(new(big.Rat).Mul(steps.Step(), big.NewRat(8*n+i, 8))) != want
		}
		if err != nil {
			continue
		}
		if got := counted(b).Weight([]query.Value{query.Int(n), query.Null()}) == 1; got != want {
			t.Errorf("%s: %s is %v of step %d", column, where, got, n)
		}
	}
	if err == nil && c.Domain.HasNull() && counted(b).Weight([]query.Value{query.Null(), query.Null()}) != 0 {
		t.Errorf("%s: %s holds for NULL", column, where)
	}
	if mixed != (sqlerr.CodeOf(err) == sqlerr.Unsupported) || err != nil && !mixed {
		t.Errorf("%s: %s is refused: %v, divides a step: %v", column, where, err, mixed)
	}
	if mixed {
		v.refused++
	} else {
		v.decided++
	}
}

// TestStepsAddUp holds what a row adds to a sum, and how far it may be off by its declaration.
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
	}
	for text, want := range map[string]float64{"x": 5, "x + 1": 5, "-x": 5, "2 * x - 3 * x": 25, "x / 10": 0.5, "x * x": 25*5 + 25*5 + 25, "y": 0, "x + y": 5,
		"x * y": 5 * 0.3, "CASE WHEN y > 0.1 THEN x / 2 WHEN x < 10 THEN 7 ELSE y END": 2.5} {
		b, err := compile(v, "SELECT AVG("+text+"), SUM("+text+") FROM v")
		if err != nil {
			t.Fatal(err)
		}
		m, sum := b.Output.Columns[0].Value.(post.Mean), b.Output.Columns[1].Value.(post.Sum)
		unit := 1.0
		if m.Unit != nil {
			unit, _ = m.Unit.Float64()
		}
		if got := m.Off * unit; math.Abs(got-want) > 1e-12 || sum.Off != m.Off || want > 0 && sum.Count != m.Count || len(b.Warnings) > 0 {
			t.Errorf("%s is off by %g (%+v), want %g, warnings %q", text, got, sum, want, b.Warnings)
		}
	}
	for _, wrong := range []string{"SELECT COUNT(*) FROM v WHERE x = y", "SELECT COUNT(*) FROM v WHERE x + 1 < 5", "SELECT COUNT(*) FROM v WHERE x LIKE '1%'", "SELECT COUNT(*) FROM v WHERE x",
		"SELECT COUNT(*) FROM v WHERE x IS 10", "SELECT ABS(x), COUNT(*) FROM v GROUP BY 1"} {
		if _, err := compile(v, wrong); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestLinesDecide compares conditions on multiples and sums of one column with exact numbers
// in and at the ends of each step. A condition that differs within a step is refused, and any
// other one is decided, in WHERE and inside CASE.
func TestLinesDecide(t *testing.T) {
	t.Parallel()
	rat := func(a, b int64) *big.Rat { return big.NewRat(a, b) }
	line := func(factor, offset *big.Rat) func(x *big.Rat) *big.Rat {
		return func(x *big.Rat) *big.Rat { y := new(big.Rat).Mul(x, factor); return y.Add(y, offset) }
	}
	lines := map[string]func(x *big.Rat) *big.Rat{
		"x * 2": line(rat(2, 1), rat(0, 1)), "-x": line(rat(-1, 1), rat(0, 1)), "x / 4": line(rat(1, 4), rat(0, 1)), "1.5 - (x + 1) * 3": line(rat(-3, 1), rat(-3, 2)),
		"0.5 + x": line(rat(1, 1), rat(1, 2)), "2 * x - x + 7 / 2": line(rat(1, 1), rat(3, 1)), "+x * 0.1 / 0.2": line(rat(1, 2), rat(0, 1)), "(7.0 / 2 - x) * -1": line(rat(1, 1), rat(-7, 2)),
	}
	relations := map[string]func(sign int) bool{"<": func(s int) bool { return s < 0 }, "<=": func(s int) bool { return s <= 0 }, ">": func(s int) bool { return s > 0 },
		">=": func(s int) bool { return s >= 0 }, "=": func(s int) bool { return s == 0 }, "<>": func(s int) bool { return s != 0 }}
	for _, column := range []string{"x REAL BETWEEN -1 AND 1.5 STEP 0.5 OR NULL", "x NUMERIC(4,1) BETWEEN -0.3 AND 0.4 OR NULL", "x REAL BETWEEN 0 AND 4000 STEP 1000 CLAMP"} {
		v := declare(t, "CREATE PRIVATE TABLE v ("+column+", sex TEXT) FROM raw")
		c := v.Universe().Columns()[0]
		steps := c.Steps()
		lo, hi := steps.Bounds()
		var seen verdicts
		for text, of := range lines {
			for halves := 2*lo - 2; halves <= 2*hi+2; halves++ { // halves of a step
				k := of(new(big.Rat).Mul(steps.Step(), big.NewRat(halves, 2)))
				for operator, holds := range relations {
					where := text + " " + operator + " " + query.Decimal(k)
					if halves%2 == 0 {
						where = "CASE WHEN " + where + " THEN 1 ELSE 0 END = 1"
					}
					b, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+where)
					seen.add(t, column, where, c, b, err, func(x *big.Rat) bool { return holds(of(x).Cmp(k)) })
				}
			}
		}
		if seen.decided < 200 || c.Form.IsRounded() && seen.refused < 100 {
			t.Errorf("%s: %d conditions refused, %d decided", column, seen.refused, seen.decided)
		}
	}
}

// TestExactNumbersCompute compares conditions on several exact NUMERIC columns with fractions,
// for all of their values.
func TestExactNumbersCompute(t *testing.T) {
	t.Parallel()
	v := declare(t, "CREATE PRIVATE TABLE v (x NUMERIC(4,1) BETWEEN -0.3 AND 0.4, y NUMERIC(5,2) BETWEEN 0 AND 0.12 OR NULL, n INTEGER BETWEEN -1 AND 2) FROM raw")
	add := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Add(x, y) }
	mul := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	for text, holds := range map[string]func(x, y, n *big.Rat) bool{
		"x + y > 0.3":   func(x, y, n *big.Rat) bool { return add(x, y).Cmp(big.NewRat(3, 10)) > 0 },
		"x = y":         func(x, y, n *big.Rat) bool { return x.Cmp(y) == 0 },
		"x * y <= 0.01": func(x, y, n *big.Rat) bool { return mul(x, y).Cmp(big.NewRat(1, 100)) <= 0 },
		"n - x BETWEEN y AND 2 * y + 0.5": func(x, y, n *big.Rat) bool {
			d := add(n, mul(x, big.NewRat(-1, 1)))
			return d.Cmp(y) >= 0 && d.Cmp(add(add(y, y), big.NewRat(1, 2))) <= 0
		},
		"NOT (x * 3 < y / 2 OR n > x)": func(x, y, n *big.Rat) bool { return mul(x, big.NewRat(6, 1)).Cmp(y) >= 0 && n.Cmp(x) <= 0 },
	} {
		b, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for x := int64(-3); x <= 4; x++ {
			for n := int64(-1); n <= 2; n++ {
				for y := int64(0); y <= 12; y++ {
					got := counted(b).Weight([]query.Value{query.Int(x), query.Int(y), query.Int(n)}) == 1
					if want := holds(big.NewRat(x, 10), big.NewRat(y, 100), big.NewRat(n, 1)); got != want {
						t.Errorf("%s is %v of x = %d/10, y = %d/100, n = %d", text, got, x, y, n)
					}
				}
				if counted(b).Weight([]query.Value{query.Int(x), query.Null(), query.Int(n)}) != 0 {
					t.Errorf("%s holds for NULL", text)
				}
			}
		}
	}
	w := declare(t, "CREATE PRIVATE TABLE v (x REAL BETWEEN 0 AND 30 STEP 10, z REAL BETWEEN 0 AND 3 STEP 1, y NUMERIC(4,1) BETWEEN 0 AND 0.3) FROM raw")
	for text, hint := range map[string]string{
		"x + z > 10":         "a row of x is anywhere in a step of 10, the first of which begins at 0 and the last of which ends at 30",
		"x + y > 10":         "a row of x is anywhere in a step of 10",
		"x * 2 > 30":         "write x >= 10 or x >= 20",
		"x * x > 100":        "anywhere in a step of 10",
		"y * 2 = '0.2'":      "a multiple of it or a sum",
		"x * 2 IN (20, 40)":  "anywhere in a step of 10",
		"x - x > 0":          "anywhere in a step of 10",
		"x / 0 > 1":          "anywhere in a step of 10",
		"y / 0 > 1":          "a multiple of it or a sum",
		"ABS(x) > 1":         "anywhere in a step of 10",
		"x * 1e200 > 1e-200": "anywhere in a step of 10",
		"y * 1e300 > 1":      "a multiple of it or a sum",
	} {
		_, err := compile(w, "SELECT COUNT(*) FROM v WHERE "+text)
		if e, ok := err.(*sqlerr.Error); !ok || e.Code != sqlerr.Unsupported || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %+v", text, err)
		}
	}
}
