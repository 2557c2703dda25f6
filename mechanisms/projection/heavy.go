package projection

import (
	"cmp"
	"math"
	"slices"

	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Form is the way in which heavy cells are separated from light ones.
type Form string

const (
	// Whole has no heavy cells: every cell is hashed with its whole count.
	Whole Form = ""
	// Clipped splits each count by value: min(D, c) is hashed, and the cell is
	// published if its noisy excess over c reaches the threshold.
	Clipped Form = "clip"
	// Named publishes the cells whose noisy whole count reaches the threshold
	// in a first step, with a second draw of noise. It hashes the others.
	Named Form = "named"
)

// Heavy holds the parameters of heavy cells. In a sketch they collide
// expensively, so they are published apart from it.
//
// Privacy. Let L be the rows of a unit, D and D′ neighbours with D′ = D + w,
// w ≥ 0, Σw ≤ L.
//
// Clipped. Light and excess part, min(D, c) and max(D − c, 0), are monotone in
// D and add up to it, so over all cells the light parts change by a in ℓ1 and
// the excesses by b with a + b ≤ L: both get noise of scale L/ε, and together
// lose ε. Of a cell with excess ≥ 1 one draw is made; the cell is published,
// with the very draw that was compared, when the noisy excess reaches the
// threshold t. For a cell of excess 0 nothing is drawn, stored or published,
// since of most of them (those without rows) nobody could list the names. So
// there remain the cells of excess 0 in D and ≥ 1 in D′: at most L, each with
// an excess of at most L, so that by the choice of t (Threshold)
//
//	P(any of them is published) ≤ L·P(ν ≥ t − L) ≤ δ.
//
// Let G be that none is published, O any set of outputs. On G these cells do not
// show; what is left has lost at most ε. Hence P′(O) ≤ P′(O∩G) + P′(not G) ≤
// e^ε P(O) + δ. In D, G is certain, and P(O) = P(O)·P′(G) + P(O)·P′(not G) ≤
// e^ε P′(O) + δ, as P(O)·P′(G) ≤ e^ε P′(O∩G): the cells are independent of the
// rest. So the release is (ε, δ)-differentially private, ε spent once. That is
// the stability-based histogram of Korolova, Kenthapadi, Mishra and Ntoulas
// ("Releasing search queries and clicks privately", 2009) and of Bun, Nissim
// and Stemmer ("Simultaneous private learning of multiple concepts", 2016), in
// integers, of the excesses, in parallel with the sketch.
//
// Named. A stability-based histogram of whole counts with NameLaw names the
// heavy cells and publishes nothing else: (ε₁, δ) by the same argument with
// c = 0. Given the names, named counts and the sketch of the rest are
// disjoint parts of D, which together change by at most L in ℓ1 and get noise
// of Law: (ε₂, 0). Composed, adaptively, (ε₁ + ε₂, δ).
//
// A cell is a record, and the argument is about the set of records that are
// named. So a release may say of each of them what it is, in texts as well as
// by its name. The texts follow from the record alone (query.Universe.TextsOf),
// whichever row has it, and which records are named follows from the noisy
// counts alone. It costs nothing more. Of all other records it has no text.
type Heavy struct {
	Form Form
	// Clip is c, at least 1; 0 unless Clipped.
	Clip int64
	// Threshold is t, what a noisy excess (or, when Named, a noisy count) has
	// to reach; at least 1.
	Threshold int64
	// NameLaw is the noise of the first step when Named, else nil.
	NameLaw law.Law
}

// check refuses parameters that contradict each other.
func (h Heavy) check() error {
	ok := false
	switch h.Form {
	case Whole:
		ok = h == Heavy{}
	case Clipped:
		ok = h.Clip >= 1 && h.Clip <= maxClip && h.Threshold >= 1 && h.NameLaw == nil
	case Named:
		ok = h.Clip == 0 && h.Threshold >= 1 && h.NameLaw != nil
	}
	if !ok {
		return sqlerr.New(sqlerr.Invalid, "the parameters of heavy cells contradict each other").
			WithHint("a clip must lie between 1 and %d", int64(maxClip))
	}
	return nil
}

// maxClip bounds a clip, far above any count that is worth clipping.
const maxClip = 1 << 40

// Threshold returns the least t with L·P(ν ≥ t − L) ≤ δ for noise ν of the law
// and units of L rows, t ≥ L. For discrete Laplace noise of scale L/ε it is
//
//	t = L + ⌈(L/ε)·ln(L/((1 + e^{−ε/L})δ))⌉.
//
// A cell that a unit brings about has at most L rows and there are at most L
// of them, so none is published but with probability δ.
func Threshold(law law.Law, unit int64, delta float64) int64 { return unit + rare(law, unit, delta) }

// rare returns the least k ≥ 0 with n·P(ν ≥ k) ≤ δ, or one more where that cannot be told in
// floating point. Tail is rounded up. The two factors outweigh the rounding of the products and
// of δ, which is at most 2^-53 of each, so what is compared is never below the left side and
// never above the right one.
func rare(law law.Law, n int64, delta float64) int64 {
	few := func(k int64) bool { return float64(n)*law.Tail(k)*(1+1e-15) <= delta*(1-1e-15) }
	low, high := int64(-1), int64(1) // few fails at low
	for !few(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; few(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// published is a heavy cell with its noisy excess over the clip, or its noisy count
// when Named.
type published struct {
	x     query.Element
	noisy int64
	texts string // by query.Universe.TextsOf, if the release has texts
}

// judge decides how much of one cell's count goes into the sketch and whether
// the cell is published. The count must be whole. judge draws nothing for a
// cell of excess 0 (when Named, for a cell without rows).
//
// The light part of a published cell is exactly the clip. It is not added to
// the sketch, since removing it again, once it is public, would give the same
// integers.
func (p Params) judge(count int64, src *noise.Source) (light int64, noisy int64, heavy bool, err error) {
	light = count
	compared := p.Law
	switch {
	case p.Heavy.Form == Whole:
		return light, 0, false, nil
	case p.Heavy.Form == Clipped:
		light = min(count, p.Heavy.Clip)
		count -= light
	default:
		compared = p.Heavy.NameLaw
	}
	if count == 0 {
		return light, 0, false, nil
	}
	if noisy, err = noised(count, compared, src); err != nil || noisy < p.Heavy.Threshold {
		return light, 0, false, err
	}
	if p.Heavy.Form == Named {
		noisy, err = noised(count, p.Law, src)
	}
	return 0, noisy, true, err
}

// noised returns count plus a draw.
func noised(count int64, law law.Law, src *noise.Source) (int64, error) {
	draw, err := noise.Draw(law, src)
	if err != nil {
		return 0, noRandomness()
	}
	if draw > 0 && count+draw < count {
		return 0, checkFits(false)
	}
	return count + draw, nil
}

// heavyCells are the published cells, ascending by name. The order in which
// they were found would reveal something about the rows.
type heavyCells []published

func byName(a, b published) int {
	return cmp.Or(cmp.Compare(a.x.Hi, b.x.Hi), cmp.Compare(a.x.Lo, b.x.Lo))
}

// sorted sorts the cells by name. It returns an error if a cell came twice,
// since its excess was then taken twice.
func (h heavyCells) sorted() error {
	slices.SortFunc(h, byName)
	for i := 1; i < len(h); i++ {
		if h[i].x == h[i-1].x {
			return sqlerr.New(sqlerr.Internal, "a cell came in parts")
		}
	}
	return nil
}

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
