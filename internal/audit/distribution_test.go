package audit

import (
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/noise/law"
)

// TestCatchesDistributionWithTheNoiseOfCounts audits a distribution whose noise is that of L
// rows, as if a row added 1 to what is measured. It adds 256 to the first number alone.
func TestCatchesDistributionWithTheNoiseOfCounts(t *testing.T) {
	t.Parallel()
	c := direct.Cumulative{Places: 30}
	wrong, ok := direct.PlanForCumulative([]direct.Cumulative{c}, []float64{0.05}, 800, 1)
	if !ok {
		t.Fatal("no plan")
	}
	var err error
	if wrong.Law, err = law.NewGaussian(direct.SigmaSquared(wrong.Rho, 1)); err != nil {
		t.Fatal(err)
	}
	broken := distributionAs("distribution, shift 1 for numbers of 256", wrong, c, 1)
	broken.Unit = 1
	const in, limit = 20 * 256, 20*256 + 128
	broken.Suspect = func(o Output) bool { return o[1] > limit }
	mustCatch(t, twin{broken, wrong.Law.Tail(limit + 1 - in - 256), wrong.Law.Tail(limit + 1 - in)})
}
