package post

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/internal/seeds"
)

var statistics = map[Statistic]string{CovarPop: "COVAR_POP", CovarSamp: "COVAR_SAMP", Corr: "CORR", Slope: "REGR_SLOPE", Intercept: "REGR_INTERCEPT",
	R2: "REGR_R2", Sxx: "REGR_SXX", Syy: "REGR_SYY", Sxy: "REGR_SXY"}

// naivePair computes a statistic by its definition, in two passes. ok is false where it is NULL.
func naivePair(of Statistic, y, x []int64) (value float64, ok bool) {
	n := float64(len(y))
	meanY, meanX := 0.0, 0.0
	for i := range y {
		meanY += float64(y[i]) / n
		meanX += float64(x[i]) / n
	}
	var yy, xx, xy float64
	constantY, constantX := true, true
	for i := range y {
		dy, dx := float64(y[i])-meanY, float64(x[i])-meanX
		yy, xx, xy = yy+dy*dy, xx+dx*dx, xy+dy*dx
		constantY, constantX = constantY && y[i] == y[0], constantX && x[i] == x[0]
	}
	if constantY {
		yy, xy = 0, 0
	}
	if constantX {
		xx, xy = 0, 0
	}
	if n == 0 {
		return 0, false
	}
	switch of {
	case CovarPop:
		return xy / n, true
	case CovarSamp:
		return xy / (n - 1), n > 1
	case Corr:
		return xy / math.Sqrt(xx*yy), xx > 0 && yy > 0
	case Slope:
		return xy / xx, xx > 0
	case Intercept:
		return meanY - xy/xx*meanX, xx > 0
	case R2:
		if yy == 0 {
			return 1, xx > 0
		}
		return xy * xy / (xx * yy), xx > 0
	case Sxx:
		return xx, true
	case Syy:
		return yy, true
	}
	return xy, true
}

// pairOf returns a statistic whose answers are n, Σy, Σx, Σ(y−d)², Σ(x−c)² and
// Σ(y−d)(x−c).
func pairOf(of Statistic, d, c int64) Pair {
	p := Pair{Of: of, MiddleY: d, MiddleX: c}
	p.Y.Mean = Mean{Terms: []Term{{1, 1}, {0, -d}}, Count: 0}
	p.X.Mean = Mean{Terms: []Term{{2, 1}, {0, -c}}, Count: 0}
	if of.NeedsY() {
		p.Y.Squares = []Term{{3, 1}}
	}
	if of.NeedsX() {
		p.X.Squares = []Term{{4, 1}}
	}
	if of.NeedsProducts() {
		p.Products = []Term{{5, 1}}
	}
	return p
}

// pairAnswers returns the exact answers of pairOf.
func pairAnswers(y, x []int64, d, c int64) (out [6]int64) {
	for i := range y {
		dy, dx := y[i]-d, x[i]-c
		for k, v := range [6]int64{1, y[i], x[i], dy * dy, dx * dx, dy * dx} {
			out[k] += v
		}
	}
	return out
}

// TestPair draws pairs of values and moves their six answers by random amounts within
// random intervals. Without such a move the result is the definition's. With one the true
// value always lies within the interval, if there is one: of constant columns, of two
// points, of lines and of no rows too. Nothing in it can fail by chance.
func TestPair(t *testing.T) {
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	margins, close := make(map[Statistic]int), make(map[Statistic]int)
	draws := 5_000
	if *long {
		draws = 12_000
	}
	for range draws {
		n := random.IntN(60)
		y, x := make([]int64, n), make([]int64, n)
		lo, spread := random.Int64N(200)-100, random.Int64N(50)+1
		shape := random.IntN(4)
		for i := range y {
			x[i] = lo + random.Int64N(spread)
			y[i] = 10 + random.Int64N(spread)
			switch shape {
			case 0:
				y[i] = 7 - 3*x[i] // a line
			case 1:
				x[i] = lo // a constant
			case 2:
				y[i], x[i] = []int64{1, 40}[i%2], lo+[]int64{0, 1}[i%2] // two points
			}
		}
		d, c := int64(20), lo+spread/2
		of := Statistic(random.IntN(9))
		p, name := pairOf(of, d, c), statistics[of]
		truth, known := naivePair(of, y, x)
		scale := random.Float64() * random.Float64()
		r, noisy := &row{confidence: 0.95}, &row{confidence: 0.95}
		for i, m := range pairAnswers(y, x, d, c) {
			w := []float64{3, 90, 90, 1000, 1000, 1000}[i] * scale
			r.answers = append(r.answers, within(m, Within(0)))
			middle := m + int64(w*(2*random.Float64()-1))
			moved := int64(w * random.Float64())
			noisy.answers = append(noisy.answers, within(middle+moved, Within(w).Plus(-float64(moved))))
		}
		got, slack := p.value(r), 1e-7*(1+math.Abs(truth))
		if got.IsNull() == known || known && math.Abs(got.Float()-truth) > slack {
			t.Fatalf("%s of %v and %v: got %v, want %v", name, y, x, got.Any(), truth)
		}
		v := p.value(noisy)
		if (of == Corr || of == R2) && !v.IsNull() && math.Abs(v.Float()) > 1 {
			t.Fatalf("%s is %v", name, v.Any())
		}
		e, some := errorOf(p, v, noisy)
		if !some {
			continue
		}
		margins[of]++
		if !known || truth < e.Low-slack || truth > e.High+slack || math.Abs(v.Float()-truth) > e.margin+slack {
			t.Fatalf("%s of %v and %v: %v in %v, and it is %v", name, y, x, v.Any(), e, truth)
		}
		if (of == Corr || of == R2) && (e.Low < -1 || e.High > 1) {
			t.Fatalf("%s is within %v", name, e)
		}
		if e.High-e.Low < math.Abs(truth) {
			close[of]++
		}
	}
	for of, name := range statistics {
		if margins[of] < draws/120 || close[of] < 1 {
			t.Errorf("%s: %d margins, %d of them narrower than the value", name, margins[of], close[of])
		}
	}
}

// TestPairWithoutMargin has counts that may be too few, and variances that may be 0. Then
// the value may be NULL, and nothing is known of it.
func TestPairWithoutMargin(t *testing.T) {
	for _, c := range []struct {
		of      Statistic
		n       int64
		w       float64
		squares int64 // of both columns
		value   any
		margin  bool
	}{
		{CovarPop, 0, 0, 0, nil, false},
		{CovarPop, -3, 1, 0, nil, false},
		{CovarPop, 1, 0, 0, 0.0, true},
		{CovarSamp, 1, 0, 0, nil, false},
		{CovarSamp, 2, 1, 0, 0.0, false},
		{Corr, 10, 0, 0, nil, false},
		{Corr, 10, 0, 50, 0.0, true},
		{Corr, 10, 60, 50, 0.0, false},
		{Corr, 10, 0, -50, nil, false},
		{Slope, 10, 0, 0, nil, false},
		{Slope, 10, 0, 50, 0.0, true},
		{Slope, 100, 60, 50, 0.0, false},
		{Intercept, 10, 0, -1, nil, false},
		{Intercept, 10, 0, 50, 5.0, true},
		{R2, 10, 0, 0, nil, false},
		{R2, 10, 0, 50, 0.0, true},
		{Sxx, 0, 0, 0, nil, false},
		{Sxx, 10, 0, -5, 0.0, true},
		{Syy, 10, 0, 50, 50.0, true},
		{Sxy, 10, 0, 50, 0.0, true},
	} {
		r := &row{confidence: 0.95, answers: []Answer{noisy(c.n, c.w), noisy(5*c.n, c.w), noisy(5*c.n, c.w), noisy(c.squares, c.w), noisy(c.squares, c.w), noisy(0, c.w)}}
		p := pairOf(c.of, 5, 5)
		value := p.value(r)
		if _, known := errorOf(p, value, r); value.Any() != c.value || known != c.margin {
			t.Errorf("%s %+v: got %v, margin known: %v", statistics[c.of], c, value.Any(), known)
		}
	}
}

// TestConstantOfLine fits a line to a y that is constant: R2 is 1 and CORR is NULL, as in
// PostgreSQL.
func TestConstantOfLine(t *testing.T) {
	r := &row{confidence: 0.95}
	for _, n := range pairAnswers([]int64{4, 4, 4}, []int64{1, 2, 3}, 4, 2) {
		r.answers = append(r.answers, noisy(n, 0))
	}
	for of, want := range map[Statistic]any{R2: 1.0, Corr: nil, Slope: 0.0, Intercept: 4.0} {
		if got := pairOf(of, 4, 2).value(r).Any(); got != want {
			t.Errorf("%s is %v, want %v", statistics[of], got, want)
		}
	}
}

// TestStatisticsAtTheirEnds takes the answers of variances and of statistics of two columns
// to all corners of their box, and for variances to the values nearest to 0. The interval must
// hold what the statistic is there, for sums of all signs; with an exact count the intervals of
// variances and covariances end there.
func TestStatisticsAtTheirEnds(t *testing.T) {
	sums := []Interval{{-60, -20}, {-30, 40}, {-50, 10}, {20, 70}}
	var corners func(r *row, done []Answer, use func(*row))
	corners = func(r *row, done []Answer, use func(*row)) {
		if len(done) == len(r.answers) {
			use(&row{answers: done})
			return
		}
		a := r.answers[len(done)]
		miss, _ := a.Error(0.95)
		i := miss.Plus(float64(a.Value))
		ends := []float64{i.Low, i.High}
		if len(r.answers) == 3 && i.Low < 0 && i.High > 0 {
			ends = append(ends, 0)
		}
		for _, x := range ends {
			corners(r, append(slices.Clone(done), exact(int64(x))), use)
		}
	}
	answer := func(i Interval) Answer { return within(int64(i.Low), Interval{0, i.High - i.Low}) }
	check := func(name string, e Expr, r *row, ends bool) bool {
		got, ok := errorOf(e, e.value(r), r)
		if !ok {
			return false
		}
		least, most := math.Inf(1), math.Inf(-1)
		corners(r, nil, func(at *row) {
			v := e.value(at)
			if v.IsNull() {
				t.Errorf("%s is NULL at a corner, and %v", name, got.Interval)
				return
			}
			least, most = min(least, v.Float()), max(most, v.Float())
		})
		const slack = 1e-9
		if got.Low > least+slack || got.High < most-slack || ends && (got.Low < least-slack || got.High > most+slack) {
			t.Errorf("%s is from %v to %v, and in %v", name, least, most, got.Interval)
		}
		return true
	}
	found := make(map[string]int)
	for _, n := range []Interval{{10, 10}, {8, 13}} {
		for _, y := range sums {
			for _, x := range sums {
				for _, xy := range sums {
					r := &row{confidence: 0.95, answers: []Answer{answer(n), answer(y), answer(x), answer(Interval{700, 900}), answer(Interval{800, 990}), answer(xy)}}
					for of, name := range statistics {
						ends := n.Low == n.High && (of == CovarPop || of == CovarSamp || of == Sxy)
						if check(name, pairOf(of, 2, 3), r, ends) {
							found[name]++
						}
					}
				}
				r := &row{confidence: 0.95, answers: []Answer{answer(n), answer(y), answer(Interval{300, 500})}}
				for _, v := range kinds {
					if check("a variance", v.shiftedBy(0), r, n.Low == n.High) {
						found["a variance"]++
					}
				}
			}
		}
	}
	for _, name := range append(slices.Collect(maps.Values(statistics)), "a variance") {
		if found[name] < 30 {
			t.Errorf("%s: %d intervals", name, found[name])
		}
	}
}
