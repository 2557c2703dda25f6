package smw

import (
	"math"
	"math/big"
	"testing"

	"dpsql/noise"
)

// point is the probability of one value of a law.
func point(l noise.Law, k int64) float64 { return l.Tail(k) - l.Tail(k+1) }

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

// TestOutcomeLaw compares 60 000 first comparisons with the exact law, three times.
// By the Dvoretzky–Kiefer–Wolfowitz inequality with Massart's constant the empirical
// distribution function, silence at its end, is within 0.012 of it except with
// probability 2·exp(−2·60000·0.012²) < 6.3e-8: 1.9e-7 in all.
func TestOutcomeLaw(t *testing.T) {
	const trials, tolerance, reach = 60000, 0.012, 120
	p := noisy(big.NewRat(5, 2), big.NewRat(3, 1), 1, 1)
	p.Threshold = 6
	r := newRand(t)
	src := newSource(r)
	for _, d := range []int64{0, 5, -4} {
		want, quiet := outcomeLaw(t, p, d, reach)
		got, silent := map[int64]int{}, 0
		for range trials {
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

// TestRemeasuredLaw counts anew what fires: whatever made it fire, the noise is
// discrete Laplace of scale Δ/ε₃, by itself. Of n firings the empirical
// distribution function is within √(16/2n) of it except with probability
// 2·exp(−16) a case (Dvoretzky, Kiefer, Wolfowitz and Massart): 6.8e-7 in all.
func TestRemeasuredLaw(t *testing.T) {
	request := request()
	request.MaxUpdates, request.Queries, request.Beta, request.RunEpsilon = 1, 1, 0.9, shareOf(2)
	request.Remeasure = true
	p := must(Plan(request))(t)
	total := new(big.Rat).Add(p.Eps1, p.Eps2)
	if total.Add(total, p.Eps3).Cmp(request.RunEpsilon(1)) > 0 {
		t.Errorf("the shares sum to %v of %v", total, request.RunEpsilon(1))
	}
	law := must(p.FiredLaw())(t)
	src := newSource(newRand(t))
	for _, d := range []int64{0, p.Threshold, -2 * p.Threshold} {
		counts, n := map[int64]int{}, 0
		for range 40_000 {
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
			if exact := 1 - law.Tail(v+1); math.Abs(f-exact) > tolerance {
				t.Fatalf("d = %d: P(noise ≤ %d) is %v, exactly %v", d, v, f, exact)
			}
		}
	}
	if w, want := p.FiredMargin(0.95), noise.HalfWidth(law, 0.95); w != want {
		t.Errorf("margin %d, want %d", w, want)
	}
	plain := p
	plain.Eps3 = nil
	if p.SimultaneousBound(0.01) < plain.SimultaneousBound(0.01) {
		t.Error("the bound for all answers leaves the fresh noise out")
	}
}

// TestComparisonsShareTauAndNothingElse checks the chance that four comparisons
// all stay silent: Σ_τ P(τ)·P(silent | τ)⁴. With 100 000 runs Hoeffding bounds
// the deviation by 0.0086 except with probability 2·exp(−2·100000·0.0086²) <
// 8e-7; independent τ would be 0.02 off.
func TestComparisonsShareTauAndNothingElse(t *testing.T) {
	const trials, tolerance, reach = 100000, 0.0086, 200
	p := noisy(big.NewRat(4, 1), big.NewRat(3, 1), 1, 4)
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
		if !out.Fired || math.Abs(float64(out.Noisy)-float64(cut(c.count))) > 1000 {
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
