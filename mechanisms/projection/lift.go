package projection

import (
	"math"

	"dpsql/noise"
)

// lift is what an unpublished cell is expected to have above the clip, by its
// light estimate: without it every cell within the threshold of the clip would
// be estimated too low, and queries that follow the rows would add these errors
// up. It is the posterior mean of the excess where every count about the clip
// was as likely as any other; whatever the counts are, an answer is computed
// from what is public.
//
// With k the light estimate less the clip, a cell of count c + e, e ≥ 0, is seen
// there and unpublished with probability P(ν = k)·P(ν < t − e), and one of count
// below c with P(ν = k + j), j ≥ 1. Summed over e, P(ν < t − e) is t and
// e·P(ν < t − e) is (t² − t + Var ν)/2, but for the draws beyond t.
type lift struct {
	clip   int64
	tail   func(k int64) float64 // P(ν ≥ k)
	cells  float64               // Σ P(ν < t − e)
	excess float64               // Σ e·P(ν < t − e)
	from   int64                 // the least light estimate that is lifted
}

// noLift lifts nothing.
var noLift = lift{from: math.MaxInt64}

// liftOf returns the lift of clipped releases, and of others one that lifts
// nothing.
func (h Heavy) liftOf(law noise.Law) lift {
	if h.Form != Clipped {
		return noLift
	}
	t := float64(h.Threshold)
	l := lift{clip: h.Clip, tail: law.Tail, cells: t, excess: (t*t - t + law.Variance()) / 2}
	least := 0.05 * math.Sqrt(law.Variance()) // less is not worth a look
	low, high := int64(0), h.Clip/2+1         // below the clip: lifted at low
	for high-low > 1 {
		if mid := low + (high-low)/2; l.of(l.clip-mid) >= least {
			low = mid
		} else {
			high = mid
		}
	}
	l.from = l.clip - low
	return l
}

// of returns the expected excess at a light estimate.
func (l lift) of(light int64) float64 {
	if light < l.from {
		return 0
	}
	k := min(light-l.clip, l.clip) // beyond, the lift is the same
	above := l.tail(k + 1)
	here := l.tail(k) - above
	if !(here > 0) {
		return 0
	}
	return l.excess * here / (l.cells*here + above)
}
