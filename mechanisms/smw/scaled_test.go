package smw

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

// TestScaledQueries wants a query to be compared as often as its weights fit
// into W, and no oftener: then no record weighs more than W.
func TestScaledQueries(t *testing.T) {
	r := newRand(t)
	for name, s := range spaces(t, r) {
		for range 300 {
			q, p := s.any(), Params{MaxWeight: 1 + r.Int64N(1000)}
			scaled := must(p.Scaled(q))(t)
			if w, most := q.MaxWeight(), scaled.Query.MaxWeight(); most != scaled.Factor*w || w <= p.MaxWeight && (most > p.MaxWeight || 2*most <= p.MaxWeight) {
				t.Fatalf("%s: W = %d: weights up to %d are compared %d times over, up to %d", name, p.MaxWeight, w, scaled.Factor, most)
			}
			for _, x := range s.pool {
				if q.Weight(x)*scaled.Factor != scaled.Query.Weight(x) {
					t.Fatalf("%s: %v weighs %d, and scaled by %d it weighs %d", name, x, q.Weight(x), scaled.Factor, scaled.Query.Weight(x))
				}
			}
		}
	}
}

// TestScaledMargins takes every scaled count within a margin of the truth: the
// count must be within the margin of the query itself, which some count reaches.
func TestScaledMargins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Scaled{Factor: rapid.Int64Range(1, 12).Draw(t, "factor")}
		truth, margin := rapid.Int64Range(-30, 30).Draw(t, "truth"), rapid.Int64Range(0, 40).Draw(t, "margin")
		worst := int64(0)
		for scaled := s.Factor*truth - margin; scaled <= s.Factor*truth+margin; scaled++ {
			n := s.Count(scaled)
			if 2*max(n*s.Factor-scaled, scaled-n*s.Factor) > s.Factor {
				t.Fatalf("%d over %d is rounded to %d", scaled, s.Factor, n)
			}
			worst = max(worst, n-truth, truth-n)
		}
		if worst > s.Margin(margin) {
			t.Fatalf("the count is off by %d, and the margin is %d", worst, s.Margin(margin))
		}
		if s.Margin(margin) > worst+1 {
			t.Fatalf("the margin is %d, and no count is off by more than %d", s.Margin(margin), worst)
		}
	})
}

// TestWeightedComparisonsArePrivate computes the law of a comparison of weights
// up to W = 5 exactly, on neighbours: a unit that changes the count by as much
// must not change the probability of any outcome by more than e^(ε₁+ε₂). One
// that could change it by more than W would, so the test can fail.
func TestWeightedComparisonsArePrivate(t *testing.T) {
	const weight, reach = 5, 150
	p := Params{Updates: 1, Queries: 1, Sensitivity: 1, MaxWeight: weight, Threshold: 8, Eps1: big.NewRat(3, 5), Eps2: big.NewRat(4, 5)}
	budget := 0.6 + 0.8
	// worst is the largest log ratio of the probabilities of an outcome, for
	// a firing near the threshold, where the sums of outcomeLaw are whole.
	worst := func(change int64) (loss float64) {
		for _, d := range []int64{-5, 0, 4} {
			one, quiet := outcomeLaw(t, p, d, reach)
			other, silent := outcomeLaw(t, p, d+change, reach)
			loss = max(loss, math.Abs(math.Log(quiet/silent)))
			for v := int64(-p.Threshold - 20); v <= p.Threshold+20; v++ {
				if one[v] > 0 && other[v] > 0 {
					loss = max(loss, math.Abs(math.Log(one[v]/other[v])))
				}
			}
		}
		return loss
	}
	most := 0.0
	for _, change := range []int64{1, weight} {
		most = max(most, worst(change))
	}
	if most > budget+1e-9 {
		t.Errorf("a unit of weight %d changes a probability by e^%.4f, and ε is %.1f", weight, most, budget)
	}
	if beyond := worst(2 * weight); beyond <= budget {
		t.Errorf("a unit of twice the weight changes no probability by more than e^%.4f: the test would not notice", beyond)
	}
}

// TestWeightedPassesServeTheirClass publishes sums of weights and counts
// together, as they are compared: each is good within its own margin. The
// guarantee fails with probability β = 1e-7.
func TestWeightedPassesServeTheirClass(t *testing.T) {
	const rows, beta = 20000, 1e-7
	c := newCube(t, 6, 2, rows)
	var class []query.Query
	for i, q := range c.class {
		if i%2 == 1 {
			weights := make([]int64, 2)
			weights[0], weights[1] = 3, int64(5+i%4*5)
			q = must(q.And(must(query.Weighted(c.u, i%6, weights))(t)))(t)
		}
		class = append(class, q)
	}
	request := Request{
		MaxUpdates: 1000, MaxSupport: 4, Beta: beta, NHat: rows, Update: Projection,
		UniverseSize: big.NewInt(64), Sensitivity: 1, MaxWeight: 20, RunEpsilon: shareOf(20),
	}
	request.Queries = (request.MaxUpdates + 1) * int64(len(class))
	p := must(Plan(request))(t)
	h := NewHypothesis(p, c.u, nil)
	result, err := Passes(h, func(yield func(query.Query) bool) {
		for _, q := range class {
			if !yield(must(p.Scaled(q))(t).Query) {
				return
			}
		}
	}, c.count, newSource(newRand(t)))
	if err != nil {
		t.Fatal(err)
	}
	if !result.Complete || len(result.Steps) == 0 {
		t.Fatalf("complete %v after %d updates", result.Complete, len(result.Steps))
	}
	tightest := int64(math.MaxInt64)
	for _, q := range class {
		s, n := must(p.Scaled(q))(t), must(c.count(q))(t)
		margin := s.Margin(p.Threshold + p.Bound)
		tightest = min(tightest, margin)
		if got := s.Count(h.Count(s.Query)); got < n-margin || got > n+margin {
			t.Errorf("%v: %d ± %d, and the truth is %d", q, got, margin, n)
		}
	}
	if whole := (p.Threshold + p.Bound) / p.MaxWeight; tightest > whole+1 {
		t.Errorf("the margin of a count is %d, and that of weights of %d over these is %d", tightest, p.MaxWeight, whole)
	}
	t.Logf("%d updates, T + x = %d, of a count ± %d", len(result.Steps), p.Threshold+p.Bound, tightest)
}
