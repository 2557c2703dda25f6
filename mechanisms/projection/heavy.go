package projection

import (
	"dpsql/noise"
	"dpsql/sqlerr"
)

// Form says how heavy cells are told from light ones.
type Form string

const (
	// Whole is no form: every cell is hashed with its whole count.
	Whole Form = ""
	// Clipped splits each count by value: min(D, c) is hashed, and of what is
	// above c, if it is seen through the noise, the cell is published.
	Clipped Form = "clip"
	// Named publishes cells whose whole count is seen through the noise of a
	// first step, with a second draw, and hashes the others.
	Named Form = "named"
)

// Heavy are the parameters of heavy cells, which collide expensively in a
// sketch and are published apart from it. Let L be the rows of a unit, D and D′
// neighbours with D′ = D + w, w ≥ 0, Σw ≤ L.
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
type Heavy struct {
	Form Form
	// Clip is c, at least 1; 0 unless Clipped.
	Clip int64
	// Threshold is t, what a noisy excess (or, when Named, a noisy count) has
	// to reach; at least 1.
	Threshold int64
	// NameLaw is the noise of the first step when Named, else nil.
	NameLaw noise.Law
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
func Threshold(law noise.Law, unit int64, delta float64) int64 {
	few := func(k int64) bool { return float64(unit)*law.Tail(k)*(1+1e-15) <= delta*(1-1e-15) }
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
	return unit + high
}
