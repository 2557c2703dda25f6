package audit

import (
	"math"
	"math/big"
	"testing"

	"dpsql/mechanisms/smw"
	"dpsql/noise"
)

// model computes exact probabilities of the private test of package smw, for one τ at a
// time.
type model struct {
	params  smw.Params
	tau, nu noise.Law
}

// newModel returns the model of one run of the given ε and a unit of one row.
func newModel(t testing.TB, epsilon int64) model {
	t.Helper()
	p, err := smw.Plan(smw.Request{
		MaxUpdates: 1, Queries: 8, MaxSupport: 1, Beta: 0.5, NHat: 1000, Sensitivity: 1, MaxWeight: 1,
		RunEpsilon: func(int64) *big.Rat { return big.NewRat(epsilon, 1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	e1, _ := p.Eps1.Float64()
	e2, _ := p.Eps2.Float64()
	return model{p, dlap(t, 1/e1), dlap(t, 2/e2)}
}

// silent returns the probability that a comparison does not fire whose count is d above
// the hypothesis.
func (m model) silent(d, tau int64) float64 {
	at := m.params.Threshold + tau
	return (1 - m.nu.Tail(at-d)) * (1 - m.nu.Tail(at+d))
}

// below returns the probability that the comparison fires as a count below the
// hypothesis.
func (m model) below(d, tau int64) float64 {
	at := m.params.Threshold + tau
	return (1 - m.nu.Tail(at-d)) * m.nu.Tail(at+d)
}

// mean returns the expectation over τ.
func (m model) mean(f func(tau int64) float64) (p float64) {
	for _, tau := range values(m.tau) {
		p += mass(m.tau, tau) * f(tau)
	}
	return p
}

func power(x float64, n int) float64 { return math.Pow(x, float64(n)) }
