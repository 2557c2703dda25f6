package projection

import (
	"math"
	"testing"

	"dpsql/accounting/goldentest"
)

// TestGolden holds the sensitivity of sketches to published figures: what one
// record adds to a matrix of so many rows, each of which has it in one bucket.
func TestGolden(t *testing.T) {
	norm := func(power float64) goldentest.Check {
		return goldentest.Exact(func(in goldentest.Inputs) (norm float64) {
			p := Params{Transform: Dense, Rows: uint64(in.Number("rows")), Independence: 4, Law: silent{}}
			if p.Rows == 1 {
				p.Transform, p.Independence = Sparse, 0
			}
			r := build(t, line(t, 10), p, scripted(t), counts{7: 1}.cells())
			for i := range p.Rows {
				norm += math.Pow(math.Abs(float64(r.sketch.at(i))), power)
			}
			return math.Pow(norm, 1/power)
		})
	}
	goldentest.Run(t, "mechanisms/projection", map[string]goldentest.Check{
		"countsketch_l1_sensitivity": norm(1),
		"countsketch_l2_sensitivity": norm(2),
	})
}
