package smw

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
)

// point is the probability of one value of a law.
func point(l law.Law, k int64) float64 { return l.Tail(k) - l.Tail(k+1) }

// outcomeLaw returns the exact law of one comparison of a fresh run, c − h = d:
// the probability of firing with noisy − h = v, and of not firing.
func outcomeLaw(t testing.TB, p Params, d, reach int64) (fired map[int64]float64, quiet float64) {
	tau, nu, err := p.laws()
	if err != nil {
		t.Fatal(err)
	}
	fired = map[int64]float64{}
	for s := -reach; s <= reach; s++ {
		ps := point(tau, s)
		first := nu.Tail(p.Threshold + s - d) // ν⁺ ≥ T + τ − d
		second := (1 - first) * nu.Tail(p.Threshold+s+d)
		quiet += ps * (1 - first - second)
		for gap := p.Threshold; gap <= p.Threshold+reach; gap++ {
			fired[gap] += ps * point(nu, gap+s-d)
			fired[-gap] += ps * (1 - first) * point(nu, gap+s+d)
		}
	}
	return fired, quiet
}

// TestOutcomeLaw compares n first comparisons with the exact law, three times.
// By the Dvoretzky–Kiefer–Wolfowitz inequality with Massart's constant the empirical
// distribution function, silence at its end, is within √(17.28/2n) of it, 0.012 with
// -long, except with probability 2·exp(−17.28) < 6.3e-8: 1.9e-7 in all.
func TestOutcomeLaw(t *testing.T) {
	t.Parallel()
	const reach = 120
	n := sized(5_000, 60_000)
	trials := float64(n)
	tolerance := math.Sqrt(17.28 / (2 * trials))
	p := noisy(big.NewRat(5, 2), big.NewRat(3, 1), 1, 1)
	p.Threshold = 6
	r := newRand(t)
	src := newSource(r)
	for _, d := range []int64{0, 5, -4} {
		want, quiet := outcomeLaw(t, p, d, reach)
		got, silent := map[int64]int{}, 0
		for range n {
			run := must(StartRun(p, src))(t)
			out := must(run.Test(1000+d, 1000, src))(t)
			if out.Fired {
				got[out.Noisy-1000]++
			} else {
				silent++
			}
		}
		t.Logf("d = %d: silent %d, expected %.1f", d, silent, quiet*trials)
		f, g, mass := 0.0, 0.0, quiet
		for v := int64(-p.Threshold - reach); v <= p.Threshold+reach; v++ {
			f, g, mass = f+want[v], g+float64(got[v])/trials, mass+want[v]
			if math.Abs(f-g) > tolerance {
				t.Fatalf("d = %d: P(fired, noisy ≤ h%+d) is %v, exactly %v", d, v, g, f)
			}
		}
		if math.Abs(mass-1) > 1e-9 {
			t.Fatalf("the exact law sums to %v", mass)
		}
		if math.Abs(float64(silent)/trials-quiet) > tolerance {
			t.Errorf("d = %d: unfired %v, exactly %v", d, float64(silent)/trials, quiet)
		}
	}
}

// TestRemeasuredLaw checks the noise of remeasured counts. Whatever made a query fire,
// the noise is discrete Laplace of scale Δ/ε₃ and nothing else. Of n firings the empirical
// distribution function is within √(16/2n) of it except with probability
// 2·exp(−16) a case (Dvoretzky, Kiefer, Wolfowitz and Massart): 6.8e-7 in all.
func TestRemeasuredLaw(t *testing.T) {
	t.Parallel()
	request := request()
	request.MaxUpdates, request.Queries, request.Beta, request.RunEpsilon = 1, 1, 0.9, shareOf(2)
	request.Remeasure = true
	p := must(Plan(request))(t)
	total := new(big.Rat).Add(p.Eps1, p.Eps2)
	if total.Add(total, p.Eps3).Cmp(request.RunEpsilon(1)) > 0 {
		t.Errorf("the shares sum to %v of %v", total, request.RunEpsilon(1))
	}
	l := must(p.FiredLaw())(t)
	src := newSource(newRand(t))
	for _, d := range []int64{0, p.Threshold, -2 * p.Threshold} {
		counts, n := map[int64]int{}, 0
		for range sized(8000, 40_000) {
			run := must(StartRun(p, src))(t)
			if out := must(run.Test(1000+d, 1000, src))(t); out.Fired {
				counts[out.Noisy-1000-d]++
				n++
			}
		}
		if n < 1000 {
			t.Fatalf("d = %d: only %d fired", d, n)
		}
		f, tolerance := 0.0, math.Sqrt(16/(2*float64(n)))
		for v := int64(-60); v <= 60; v++ {
			f += float64(counts[v]) / float64(n)
			if exact := 1 - l.Tail(v+1); math.Abs(f-exact) > tolerance {
				t.Fatalf("d = %d: P(noise ≤ %d) is %v, exactly %v", d, v, f, exact)
			}
		}
	}
	if w, want := p.FiredMargin(0.95), law.HalfWidth(l, 0.95); w != want {
		t.Errorf("margin %d, want %d", w, want)
	}
	plain := p
	plain.Eps3 = nil
	if p.SimultaneousBound(0.01) < plain.SimultaneousBound(0.01) {
		t.Error("the bound for all answers leaves the fresh noise out")
	}
}

// TestComparisonsShareTauAndNothingElse checks the chance that four comparisons
// all stay silent: Σ_τ P(τ)·P(silent | τ)⁴. With 20 000 runs Hoeffding bounds
// the deviation by 0.0192 except with probability 2·exp(−2·20000·0.0192²) <
// 8e-7. Independent τ would be 0.24 off, twice the τ or a threshold one higher 0.06,
// and half the ν 0.11.
func TestComparisonsShareTauAndNothingElse(t *testing.T) {
	const trials, tolerance, reach = 20_000, 0.0192, 200
	p := noisy(big.NewRat(4, 1), big.NewRat(2, 1), 1, 4)
	p.Threshold = 9
	tau, nu, err := p.laws()
	if err != nil {
		t.Fatal(err)
	}
	const d = 4
	want, independent := 0.0, 0.0
	for s := int64(-reach); s <= reach; s++ {
		silent := (1 - nu.Tail(p.Threshold+s-d)) * (1 - nu.Tail(p.Threshold+s+d))
		want += point(tau, s) * math.Pow(silent, 4)
		independent += point(tau, s) * silent
	}
	if math.Abs(math.Pow(independent, 4)-want) < 2*tolerance {
		t.Fatal("the test cannot tell a shared τ from a fresh one")
	}
	src, silent := newSource(newRand(t)), 0
	for range trials {
		run := must(StartRun(p, src))(t)
		fired := false
		for i := 0; i < 4 && !fired; i++ {
			fired = must(run.Test(d, 0, src))(t).Fired
		}
		if !fired {
			silent++
		}
	}
	if got := float64(silent) / trials; math.Abs(got-want) > tolerance {
		t.Errorf("four silent comparisons: %v, exactly %v", got, want)
	}
}

func TestRunRefusesAfterFiring(t *testing.T) {
	p := noisy(big.NewRat(2, 1), big.NewRat(3, 1), 1, 1)
	src := newSource(newRand(t))
	run := must(StartRun(p, src))(t)
	if out := must(run.Test(1e6, 0, src))(t); !out.Fired {
		t.Fatal("a difference of a million does not fire")
	}
	if out, err := run.Test(1e6, 0, src); err == nil || out != (Outcome{}) {
		t.Errorf("after firing: %+v, %v", out, err)
	}
	if _, err := new(Run).Test(1, 1, src); err == nil {
		t.Error("a run that was never started tests")
	}
}

func TestResumedRunIsTheSameRun(t *testing.T) {
	p := noisy(big.NewRat(20, 1), big.NewRat(25, 1), 1, 1)
	p.Threshold = 60
	r := newRand(t)
	start := newSource(r)
	for range 200 {
		run := must(StartRun(p, start))(t)
		seed := [32]byte{byte(r.Uint32()), byte(r.Uint32())}
		again := must(ResumeRun(p, run.Tau()))(t)
		one, two := sourceOf(seed), sourceOf(seed)
		for fired, i := false, 0; !fired; i++ {
			d := r.Int64N(80) - 40
			if i > 10_000 {
				d = 1e6 // fires, unless nothing does
			}
			a, b := must(run.Test(d, 0, one))(t), must(again.Test(d, 0, two))(t)
			if a != b || !a.Fired && d == 1e6 {
				t.Fatalf("τ = %d, d = %d: %+v, resumed %+v", run.Tau(), d, a, b)
			}
			fired = a.Fired
		}
	}
	if _, err := ResumeRun(p, math.MaxInt64); err == nil {
		t.Error("an absurd τ is accepted")
	}
	if _, err := ResumeRun(Params{Threshold: 1}, 0); err == nil {
		t.Error("parameters without ε are accepted")
	}
}

func TestTestBearsExtremeCounts(t *testing.T) {
	p := noisy(big.NewRat(2, 1), big.NewRat(3, 1), 1, 1)
	src := newSource(newRand(t))
	for _, c := range []struct{ count, hypothesis int64 }{
		{math.MaxInt64, math.MinInt64}, {math.MinInt64, math.MaxInt64}, {0, math.MaxInt64},
	} {
		run := must(StartRun(p, src))(t)
		out := must(run.Test(c.count, c.hypothesis, src))(t)
		if !out.Fired || math.Abs(float64(out.Noisy)-float64(clampCount(c.count))) > 1000 {
			t.Errorf("%+v: %+v", c, out)
		}
	}
}

func TestRunReportsAFailingSource(t *testing.T) {
	p := noisy(big.NewRat(2, 1), big.NewRat(3, 1), 1, 1)
	broken := noise.NewSourceFrom(noReader{})
	if _, err := StartRun(p, broken); err == nil {
		t.Error("τ was drawn from nothing")
	}
	run := must(ResumeRun(p, 0))(t)
	if out, err := run.Test(0, 0, broken); err == nil || out.Fired {
		t.Errorf("a comparison without noise: %+v, %v", out, err)
	}
}

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
	result, err := Passes(h, 0, func(yield func(query.Query) bool) {
		for _, q := range class {
			if !yield(must(p.Scaled(q))(t).Query) {
				return
			}
		}
	}, c.count, forget, newSource(newRand(t)))
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
