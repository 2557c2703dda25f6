package projection

import (
	"math"

	"dpsql/noise/law"
)

// largest returns the largest |answer| of the cells, clip included.
func (h heavyCells) largest(clip int64) (most int64) {
	for _, c := range h {
		v := c.noisy + clip
		most = max(most, v, -v)
	}
	return most
}

// lift is the expected excess of an unpublished cell over the clip, given its
// light estimate. Without it, every cell within the threshold of the clip would
// be estimated too low, and queries that follow the rows would add up these
// errors. It is the posterior mean if all counts around the clip are equally
// likely. Whatever the counts are, it is computed from public values.
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
	from   int64                 // light estimates below this are not lifted
}

// noLift lifts nothing.
var noLift = lift{from: math.MaxInt64}

// liftOf returns the lift of a clipped release, and noLift for other releases.
func (h Heavy) liftOf(law law.Law) lift {
	if h.Form != Clipped {
		return noLift
	}
	t := float64(h.Threshold)
	l := lift{clip: h.Clip, tail: law.Tail, cells: t, excess: (t*t - t + law.Variance()) / 2}
	least := 0.05 * math.Sqrt(law.Variance()) // less does not matter
	low, high := int64(0), h.Clip/2+1         // below the clip: lifted at low
	for high-low > 1 {
		if mid := low + (high-low)/2; l.at(l.clip-mid) >= least {
			low = mid
		} else {
			high = mid
		}
	}
	l.from = l.clip - low
	return l
}

// at returns the expected excess at a light estimate.
func (l lift) at(light int64) float64 {
	if light < l.from {
		return 0
	}
	k := min(light-l.clip, l.clip) // beyond, the lift is constant
	above := l.tail(k + 1)
	here := l.tail(k) - above
	if !(here > 0) {
		return 0
	}
	return l.excess * here / (l.cells*here + above)
}
