package direct_test

import (
	"errors"
	"math"
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/noise/law"
)

// TestCheapestPlan reaches the accuracy, and would miss it for one unit less.
func TestCheapestPlan(t *testing.T) {
	for _, r := range []direct.Request{
		{50, 0.95, 1, 1}, {50, 0.95, 7, 1}, {50.9, 0.95, 1, 1}, {1, 0.5, 1, 1}, {10, 0.999, 3, 1}, {1e6, 0.99, 1, 1}, {0.5, 0.95, 1, 1},
	} {
		p, ok := direct.PlanFor(r)
		if !ok || float64(p.Width) > r.Accuracy {
			t.Errorf("%+v: no plan, or a half-width of %d", r, p.Width)
			continue
		}
		if p.Rho == 1 {
			continue
		}
		less, err := law.NewGaussian(direct.SigmaSquared(p.Rho-1, r.Sensitivity))
		if err != nil {
			t.Fatal(err)
		}
		if w := law.HalfWidth(less, r.Confidence); float64(w) <= r.Accuracy {
			t.Errorf("%+v: ρ = %d units suffices, one less gives ±%d too", r, p.Rho, w)
		}
	}
}

// TestPriceOfFifty is ρ = Δ²/(2σ²) with σ = 50.5/1.96.
func TestPriceOfFifty(t *testing.T) {
	p, _ := direct.PlanFor(direct.Request{50, 0.95, 1, 1})
	want := 1 / (2 * math.Pow(50.5/1.959964, 2))
	if got := float64(p.Rho) / direct.Unit; math.Abs(got/want-1) > 0.001 {
		t.Errorf("±50 at 95 %% costs ρ = %g, want %g", got, want)
	}
	q, _ := direct.PlanFor(direct.Request{50, 0.95, 3, 1})
	if ratio := float64(q.Rho) / float64(p.Rho); math.Abs(ratio-9) > 0.001 {
		t.Errorf("three times the sensitivity costs %g times as much, want 9", ratio)
	}
}

func TestImpossibleAccuracy(t *testing.T) {
	if p, ok := direct.PlanFor(direct.Request{0.5, 1 - 1e-15, 1 << 40, 1}); ok {
		t.Errorf("a plan for an exact answer: %+v", p)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("no entropy") }

func TestAnswer(t *testing.T) {
	p, _ := direct.PlanFor(direct.Request{50, 0.95, 1, 1})
	// σ = 25.8: off by 500 with probability below 1e-80.
	if n, err := p.Answer(1000, noise.NewSource()); err != nil || n < 500 || n > 1500 {
		t.Errorf("answered %d, %v", n, err)
	}
	if _, err := p.Answer(1000, noise.NewSourceFrom(broken{})); err == nil {
		t.Error("a failed draw is answered")
	}
}
