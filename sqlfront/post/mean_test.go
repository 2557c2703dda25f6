package post

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/internal/seeds"
)

// gaussian draws discrete Gaussian noise by rejection, for tests.
func gaussian(rng *rand.Rand, sigma2 float64) int64 {
	last := int64(math.Ceil(12 * math.Sqrt(sigma2)))
	for {
		if k := rng.Int64N(2*last+1) - last; rng.Float64() < math.Exp(-float64(k*k)/(2*sigma2)) {
			return k
		}
	}
}

// TestMeanCovers draws the sum and the count of a mean, and counts how often its interval misses the
// true mean. A miss has a probability of at most 5 %. Each of 8 cases fails falsely with a probability of at
// most 1e-7 (Hoeffding: 2,000 draws, and 6.4 % above). By default there are 500, and 12.7 % above.
func TestMeanCovers(t *testing.T) {
	draws, slack := 500, 0.127
	if *long {
		draws, slack = 2000, 0.0635 // √(ln(1e7)/(2·2000))
	}
	rng := rand.New(rand.NewPCG(seeds.Of(t), 0))
	for _, tt := range []struct {
		n, sum     int64 // of the values less the middle
		s, t       float64
		factor     int64
		confidence float64
	}{
		{898, -20_000, 6500, 1.9, 1, 0.8},
		{898, 53_880, 6500, 1.9, 1, 0.8},
		{898, 0, 6500, 1.9, -1, 0.95},
		{898, -20_000, 1, 1, 1, 0.95},
		{898, -20_000, 1e6, 278, 1, 0.95},
		{5000, 200_000, 1e8, 1e4, 1, 0.95},
		{60, 100, 50, 20, 1, 0.95},
		{40, 900, 1e4, 100, 3, 0.95},
	} {
		less := int64(60)
		m := Mean{Terms: []Term{{Slot: 0, Factor: tt.factor}, {Slot: 1, Factor: 7}}, Count: 1}
		truth := 7 + float64(tt.factor)*(float64(tt.sum)/float64(tt.n)+60)
		missed, unknown := 0, 0
		for range draws {
			r := &row{confidence: tt.confidence, answers: []Answer{
				{Value: tt.sum + gaussian(rng, tt.s), Less: &less, Variance: func() float64 { return tt.s }, Error: upTo9},
				{Value: tt.n + gaussian(rng, tt.t), Variance: func() float64 { return tt.t }, Error: upTo9},
			}}
			got, ok := errorOf(m, m.value(r), r)
			switch {
			case !ok:
				unknown++
			case truth < got.Low-1e-9 || truth > got.High+1e-9:
				missed++
			}
		}
		if share := float64(missed) / float64(draws); share > 1-tt.confidence+slack {
			t.Errorf("%+v: %.4f of the intervals miss, %d have no end", tt, share, unknown)
		}
	}
}

// upTo9 is the error of an answer that is within 9 at each confidence.
func upTo9(float64) (Interval, bool) { return Within(9), true }

// TestHalved compares with halvings alone, over noises of all sizes.
func TestHalved(t *testing.T) {
	rng := rand.New(rand.NewPCG(seeds.Of(t), 0))
	for range 300 {
		s, v, z := math.Exp(rng.Float64()*18), math.Exp(rng.Float64()*9), 1+rng.Float64()*5
		n, sum := math.Ceil(z*math.Sqrt(v)+2+math.Exp(rng.Float64()*10)), math.Round((rng.Float64()-0.5)*math.Exp(rng.Float64()*18))
		within, lo := difference(s, v), sum/n
		hi := lo + (z*math.Sqrt(s+lo*lo*v)+1+math.Abs(lo))/(n-z*math.Sqrt(v)-1)
		f := func(r float64) float64 { return within(r, r*n-sum) - math.Erf(z/math.Sqrt2) }
		got, low, want := halved(lo, hi, f), lo, hi
		for range 40 {
			if r := low/2 + want/2; f(r) < 0 {
				low = r
			} else {
				want = r
			}
		}
		if math.Abs(got-want) > 1e-9*(hi-lo) {
			t.Errorf("σ² = %v and %v, z = %v, %v of %v: %v, want %v", s, v, z, sum, n, got, want)
		}
	}
}
