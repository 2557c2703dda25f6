package post

import (
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/internal/seeds"
)

// naiveVariance computes the definition in two passes.
func naiveVariance(values []int64, v Variance) float64 {
	mean, sum := 0.0, 0.0
	for _, x := range values {
		mean += float64(x) / float64(len(values))
	}
	for _, x := range values {
		sum += (float64(x) - mean) * (float64(x) - mean)
	}
	sum /= float64(int64(len(values)) - v.maxUndefined())
	if v.Root {
		return math.Sqrt(sum)
	}
	return sum
}

// answersOf returns n, Σx and Σ(x−c)².
func answersOf(values []int64, c int64) [3]int64 {
	var out [3]int64
	for _, x := range values {
		out[0]++
		out[1] += x
		out[2] += (x - c) * (x - c)
	}
	return out
}

// shiftedBy returns a variance whose answers are n, Σx and Σ(x−c)².
func (v Variance) shiftedBy(c int64) Variance {
	v.Mean = Mean{Terms: []Term{{Slot: 1, Factor: 1}, {Slot: 0, Factor: -c}}, Count: 0}
	v.Squares = []Term{{Slot: 2, Factor: 1}}
	return v
}

var kinds = []Variance{{}, {Sample: true}, {Root: true}, {Sample: true, Root: true}}

// TestVariance draws values and moves their three answers by random amounts within
// random intervals. Without such a move the result is the definition's. With one the
// true value always lies within the interval, if there is one. Nothing in it can fail by
// chance.
func TestVariance(t *testing.T) {
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	margins, close := 0, 0
	for range 5_000 {
		values := make([]int64, random.IntN(40))
		lo, spread := random.Int64N(2000)-1000, random.Int64N(100)+1
		for i := range values {
			values[i] = lo + random.Int64N(spread)
		}
		c := lo + spread/2
		v := kinds[random.IntN(4)].shiftedBy(c)
		truth, known := naiveVariance(values, v), int64(len(values)) > v.maxUndefined()
		exact := answersOf(values, c)
		noisy, scale := &row{confidence: 0.95}, random.Float64()
		r := &row{confidence: 0.95}
		for i, n := range exact {
			w := []float64{8, 8 * 50, 8 * 2500}[i] * scale
			r.answers = append(r.answers, within(n, Within(0)))
			middle := n + int64(w*(2*random.Float64()-1))
			moved := int64(w * random.Float64())
			noisy.answers = append(noisy.answers, within(middle+moved, Within(w).Plus(-float64(moved))))
		}
		got := v.value(r)
		if !got.IsNull() != known || known && math.Abs(got.Float()-truth) > 1e-9*(1+truth) {
			t.Fatalf("%v of %v: got %v, want %v", v, values, got.Any(), truth)
		}
		if e, _ := errorOf(v, got, r); known && e.margin > 1e-6*(1+truth) {
			t.Fatalf("%v of %v: %v around exact answers", v, values, e)
		}
		x := v.value(noisy)
		e, some := errorOf(v, x, noisy)
		if !some {
			continue
		}
		margins++
		slack := 1e-9 * (1 + truth)
		if !known || math.Abs(x.Float()-truth) > e.margin+slack || truth < e.Low-slack || truth > e.High+slack {
			t.Fatalf("%v of %v: %v in %v, and it is %v", v, values, x.Any(), e, truth)
		}
		if e.margin < 2*truth {
			close++
		}
	}
	if margins < 1000 || close < 100 {
		t.Errorf("%d margins, %d of them below twice the value", margins, close)
	}
}

// TestVarianceWithoutMargin uses a count that may be one without a variance. Then
// nothing is known of the variance, and a value below 0 becomes 0.
func TestVarianceWithoutMargin(t *testing.T) {
	for _, c := range []struct {
		n      int64
		w      float64
		v      Variance
		value  any
		margin bool
	}{
		{0, 0, Variance{}, nil, false},
		{-5, 1, Variance{}, nil, false},
		{1, 0, Variance{}, 0.0, true},
		{1, 0, Variance{Sample: true}, nil, false},
		{2, 1, Variance{Sample: true}, 0.0, false},
		{2, 2, Variance{}, 0.0, false},
		{2, 1, Variance{}, 0.0, true},
		{9, 3, Variance{Sample: true, Root: true}, 0.0, true},
	} {
		r := &row{confidence: 0.95, answers: []Answer{noisy(c.n, c.w), noisy(7*c.n, 1), noisy(-3, 1)}}
		v := c.v.shiftedBy(5)
		value := v.value(r)
		if _, known := errorOf(v, value, r); value.Any() != c.value || known != c.margin {
			t.Errorf("%+v: got %v, margin known: %v", c, value.Any(), known)
		}
	}
}

// TestRoundedRows draws rows that count as a multiple of ten within ten of what they are. The
// statistic of the rows themselves always lies within the interval, if there is one, and where
// all rows are off by that in one direction a sum and an average are at the end of theirs.
// Nothing in it can fail by chance.
func TestRoundedRows(t *testing.T) {
	random := rand.New(rand.NewPCG(seeds.Of(t), 3))
	unit, margins := big.NewRat(10, 1), make(map[string]int)
	draws := 400
	if *long {
		draws = 3000
	}
	for range draws {
		n, moved := 1+random.IntN(40), random.IntN(3) == 0
		var own, kept [2][]int64
		for i := range n {
			for k := range own {
				m, off := random.Int64N(20)-5, random.Int64N(21)-10
				if random.IntN(2) == 0 && k == 1 {
					m = kept[0][i] // they go together
				}
				if moved {
					off = 10
				}
				own[k], kept[k] = append(own[k], 10*m+off), append(kept[k], m)
			}
		}
		r := &row{confidence: 0.95}
		for _, m := range pairAnswers(kept[0], kept[1], 7, 3) {
			r.answers = append(r.answers, exact(m))
		}
		check := func(name string, e Expr, want float64, known bool) around {
			e1, some := errorOf(e, e.value(r), r)
			if slack := 1e-7 * (1 + math.Abs(want)); some && (!known || want < e1.Low-slack || want > e1.High+slack) {
				t.Fatalf("%s of %v: %v in %v, and it is %v", name, own, e.value(r).Any(), e1, want)
			}
			if some {
				margins[name]++
			}
			return e1
		}
		total := 0.0
		for _, y := range own[0] {
			total += float64(y)
		}
		of := Range{Known: true, Lo: -5, Hi: 14}
		sum := check("SUM", Sum{Terms: []Term{{1, 1}}, Unit: unit, Off: 1}, total, true)
		mean := check("AVG", Mean{Terms: []Term{{1, 1}}, Unit: unit, Off: 1, Range: of}, total/float64(n), true)
		if top := 10 * float64(n); sum.High-sum.Low != 2*top || moved && math.Abs(sum.High-total)+math.Abs(mean.High-total/float64(n)) > 1e-9 {
			t.Fatalf("%v of %d rows: %v, %v", own[0], n, sum, mean)
		}
		for _, v := range kinds {
			v = pairOf(Syy, 7, 3).Y.like(v)
			v.Mean.Unit, v.Mean.Off = unit, 1
			check("a variance", v, naiveVariance(own[0], v), int64(n) > v.maxUndefined())
		}
		for of, name := range statistics {
			p := pairOf(of, 7, 3)
			for _, m := range []*Mean{&p.Y.Mean, &p.X.Mean} {
				m.Unit, m.Off, m.Range = unit, 1, Range{Known: true, Lo: -5, Hi: 14}
			}
			want, known := naivePair(of, own[0], own[1])
			check(name, p, want, known)
		}
	}
	for _, name := range append(slices.Collect(maps.Values(statistics)), "SUM", "AVG", "a variance") {
		if margins[name] < draws/10 {
			t.Errorf("%s: %d intervals", name, margins[name])
		}
	}
}

// like returns a variance of the same answers, as another kind.
func (v Variance) like(kind Variance) Variance {
	v.Sample, v.Root = kind.Sample, kind.Root
	return v
}
