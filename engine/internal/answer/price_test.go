package answer

import (
	"testing"

	"dpsql/accounting"
)

// TestLeast finds the tightest accuracy that a purse pays for, of a price that falls with its square.
func TestLeast(t *testing.T) {
	const unit = 1e15
	for _, tt := range []struct {
		scale, most              float64 // the price of ±1, and the purse
		wanted, affordable, want float64
	}{
		{1.1 * 200 * 200, 0.083, 200, 5000, 730},
		{1.1 * 200 * 200, 0.083, 200, 700, 700},
		{2, 0.5, 1, 50, 2},
		{2, 2.5, 0.1, 50, 0.9},
		{0.01, 2.5, 0.011, 5, 0.064},
		{1, 0.0001, 50, 200, 100},
		{1, 0.000099, 50, 200, 110},
	} {
		cost := func(accuracy float64) (accounting.Rho, bool) {
			return accounting.Rho(unit * tt.scale / (accuracy * accuracy)), true
		}
		p := purse{most: accounting.Rho(tt.most * unit)}
		rho, _ := cost(tt.affordable)
		if got := least(tt.wanted, tt.affordable, rho, p, cost); got != tt.want {
			t.Errorf("a price of %g/accuracy² and a purse of %g: ±%g, want ±%g", tt.scale, tt.most, got, tt.want)
		}
	}
}
