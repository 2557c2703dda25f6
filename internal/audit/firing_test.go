package audit

import (
	"testing"

	"dpsql/accounting"
	"dpsql/mechanisms/smw"
	"dpsql/noise"

	"gonum.org/v1/gonum/stat/distuv"
)

// goesOn starts a run that fires as often as it is asked, always with its first τ.
func goesOn(p smw.Params, src *noise.Source) (tester, error) {
	first, err := smw.StartRun(p, src)
	run := first
	return func(count, hypothesis int64, src *noise.Source) (smw.Outcome, error) {
		out, err := run.Test(count, hypothesis, src)
		if out.Fired {
			run = first
		}
		return out, err
	}, err
}

// showsNoisy starts a run that returns h + g⁺, or h − g⁻, when it fires: the noisy
// value that was compared instead of its gap to the noisy threshold. This is the fault
// of Algorithm 3 of Lyu, Su and Li.
func showsNoisy(p smw.Params, src *noise.Source) (tester, error) {
	run, err := smw.StartRun(p, src)
	return func(count, hypothesis int64, src *noise.Source) (smw.Outcome, error) {
		out, err := run.Test(count, hypothesis, src)
		switch {
		case !out.Fired:
		case out.Noisy < hypothesis:
			out.Noisy -= run.Tau()
		default:
			out.Noisy += run.Tau()
		}
		return out, err
	}, err
}

// modelOf is the model of the run that a case plans.
func modelOf(t *testing.T, comparisons int64, c Claim) model {
	t.Helper()
	p, err := smw.Plan(request(1, comparisons, 1, accounting.Epsilon(c.Epsilon*1e15)))
	if err != nil {
		t.Fatal(err)
	}
	e1, _ := p.Eps1.Float64()
	e2, _ := p.Eps2.Float64()
	return model{p, dlap(t, 1/e1), dlap(t, 2/e2)}
}

// TestRunThatGoesOn audits a run that goes on after it fired. With c firings it loses
// ε₁ + c·ε₂, here 1.16 + 10 · 1.84 and more on the suspect.
func TestRunThatGoesOn(t *testing.T) {
	t.Parallel()
	c, err := onwardWith(1, goesOn)
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Unit = "a run that goes on after firing", 1
	m := modelOf(t, rising+falling, c.Claim)
	p := func(more int64) float64 {
		return m.mean(func(tau int64) float64 {
			up := 1 - m.silent(m.params.Threshold-1+more, tau)
			down := m.below(-m.params.Threshold+more, tau)
			return distuv.Binomial{N: rising, P: up}.CDF(fewRising) *
				(1 - distuv.Binomial{N: falling, P: down}.CDF(mostFalls-1))
		})
	}
	mustCatch(t, twin{c, p(0), p(1)})
}

// TestRunThatShowsItsNoisyValue audits a run that returns g itself. It loses up to ε₂/2
// with each comparison before, 5·2.46/2, and ε₂/2 for the firing: 7.4.
func TestRunThatShowsItsNoisyValue(t *testing.T) {
	t.Parallel()
	c, err := firstGapWith(1, showsNoisy)
	if err != nil {
		t.Fatal(err)
	}
	c.Name, c.Unit = "a run that gives the noisy value itself", 1
	m := modelOf(t, before+beyond, c.Claim)
	T := m.params.Threshold
	p := func(more int64) float64 {
		return m.mean(func(tau int64) float64 {
			if tau > 0 { // g is at least T + τ
				return 0
			}
			d := -T + more
			fires := (1 - m.nu.Tail(T+tau-d)) * (m.nu.Tail(T+tau+d) - m.nu.Tail(T+1+d))
			return power(m.silent(T-1+more, tau), before) * fires * (1 + m.silent(d, tau))
		})
	}
	mustCatch(t, twin{c, p(0), p(1)})
}
