package answer

import (
	"math"
	"testing"

	"dpsql/accounting"
	"dpsql/mechanisms/direct"
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
		if got := least(tt.wanted, tt.affordable, p, cost); got != tt.want {
			t.Errorf("a price of %g/accuracy² and a purse of %g: ±%g, want ±%g", tt.scale, tt.most, got, tt.want)
		}
	}
}

// TestMeanPrice compares the price of a mean with that of the best proportion of sum and count,
// found by search, from the same public numbers: the range of the values, the number of rows and the accuracy. The
// sum is about the middle. Without that it costs four times as much.
func TestMeanPrice(t *testing.T) {
	const confidence = 0.95
	price := func(sensitivity int64, width float64) float64 {
		p, ok := direct.PlanFor(direct.Request{Accuracy: width, Confidence: confidence, Sensitivity: sensitivity, Answers: 1})
		if !ok {
			return math.Inf(1)
		}
		return float64(p.Rho) / direct.Unit
	}
	best := func(sensitivity int64, most, n, accuracy float64) float64 { // over shares of the squared error
		least := math.Inf(1)
		for share := 0.01; share < 1; share += 0.01 {
			least = min(least, price(sensitivity, n*accuracy*math.Sqrt(share))+price(1, n*accuracy*math.Sqrt(1-share)/most))
		}
		return least
	}
	t.Log("range, rows, accuracy: ρ, best, ratio; best without a centre")
	for _, tt := range []struct {
		values int64
		rows   float64
	}{{120, 898}, {30, 6000}, {100_000, 50_000}, {2, 300}} {
		for _, part := range []float64{0.002, 0.01, 0.05} { // of the range
			reach, accuracy := tt.values/2, part*float64(tt.values)
			width := tt.rows * accuracy / math.Sqrt2
			got := price(reach, width) + price(1, width/float64(reach))
			want := best(reach, float64(reach), tt.rows, accuracy)
			whole := best(tt.values, float64(tt.values), tt.rows, accuracy)
			t.Logf("%d, %g, %g: %.4g, %.4g, %.3f; %.4g", tt.values, tt.rows, accuracy, got, want, got/want, whole)
			if width/float64(reach) >= 20 && !(got <= 1.05*want) { // a width of few counts is a whole number, and dearer
				t.Errorf("values 0 … %d, %g rows, ±%g: ρ = %g, and the best proportion costs %g", tt.values, tt.rows, accuracy, got, want)
			}
		}
	}
}
