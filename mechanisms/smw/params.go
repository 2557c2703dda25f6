package smw

import (
	"math"
	"math/big"
	"sort"

	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Request holds the curator's wishes and what is public about the table. At
// most one of MaxUpdates and Alpha is above 0.
type Request struct {
	MaxUpdates int64   // B, the number of runs; 0: Plan chooses it, or Alpha determines it
	Alpha      float64 // the accuracy to guarantee, as a fraction of the rows

	MaxSupport uint64  // m, the largest support of a query
	Queries    int64   // k, the number of comparisons that the bounds cover
	Class      int64   // if above 0, the number of queries in the class of Passes, and k = (B+1)·Class
	Beta       float64 // β, the probability with which the bounds may fail

	NHat      int64 // N̂, the noisy number of rows, at least 1
	NHatBound int64 // e, with |N̂ − n| ≤ e except with probability β/2; in rows

	Update       Update   // "" stands for Projection
	UniverseSize *big.Int // |X|, nil when infinite
	Prior        bool     // the hypothesis starts from Classes, or from Fitted
	Fitted       bool     // it starts from Fitted
	Remeasure    bool     // a query that fires is counted anew, with a third of a run's ε

	Sensitivity int64 // L, the rows one unit can change
	MaxWeight   int64 // W, the largest weight of a query

	// RunEpsilon returns the ε of one run, in nats, when the mechanism's
	// reserve is divided into the given number of equal runs.
	RunEpsilon func(runs int64) *big.Rat
}

// mostQueries is the largest k.
const mostQueries = 1e15

// normal returns the request with its defaults filled in. It returns an error
// for a request that cannot be accepted.
func (r Request) normal() (Request, error) {
	if r.Update == "" {
		r.Update = Projection
	}
	if err := r.checkOptions(); err != nil {
		return r, err
	}
	if r.NHat < 1 || r.NHatBound < 0 || r.Sensitivity < 1 || r.MaxWeight < 1 || r.RunEpsilon == nil {
		return r, sqlerr.New(sqlerr.Internal, "smw: the table's parameters are incomplete")
	}
	if r.NHat > limit/r.MaxWeight || r.NHatBound >= limit/r.MaxWeight || r.Sensitivity > limit/r.MaxWeight {
		return r, sqlerr.New(sqlerr.Unsupported, "the weights are too large for this number of rows")
	}
	r.Prior = r.Prior || r.Fitted
	if r.Prior && r.UniverseSize == nil {
		return r, sqlerr.New(sqlerr.Invalid, "a prior needs a domain for every column")
	}
	if u := r.universe(); u < r.MaxSupport {
		r.MaxSupport = u
	}
	return r, nil
}

func (r Request) checkOptions() error {
	switch {
	case r.MaxUpdates > 0 && r.Alpha > 0 || r.MaxUpdates < 0 || r.Alpha < 0 || math.IsNaN(r.Alpha):
		return sqlerr.New(sqlerr.Invalid, "max_updates and alpha exclude each other, and are above 0")
	case r.MaxUpdates > 1e9:
		return sqlerr.New(sqlerr.Invalid, "max_updates must be at most 1e9")
	case r.Alpha > 1:
		return sqlerr.New(sqlerr.Invalid, "alpha is a fraction of the rows: it must be at most 1")
	case r.MaxSupport < 1 || r.MaxSupport > maxSize:
		return sqlerr.New(sqlerr.Invalid, "max_support must be at least 1 and at most 2^62")
	case r.Class < 0 || r.Class > 0 && r.Queries > 0:
		return sqlerr.New(sqlerr.Internal, "smw: the number of queries is given twice")
	case r.Class == 0 && r.Queries < 1 || r.Queries > mostQueries || r.Class > mostQueries:
		return sqlerr.New(sqlerr.Invalid, "queries must be at least 1 and at most 1e15")
	case !(r.Beta >= 1e-30 && r.Beta < 1):
		return sqlerr.New(sqlerr.Invalid, "beta must be at least 1e-30 and below 1")
	case r.Update != Projection && r.Update != Paper:
		return sqlerr.New(sqlerr.Invalid, "update must be projection or paper")
	case r.UniverseSize != nil && r.UniverseSize.Sign() <= 0:
		return sqlerr.New(sqlerr.Invalid, "the universe is empty")
	}
	return nil
}

// universe returns |X|, but no more than the largest size a hypothesis can
// have.
func (r Request) universe() uint64 {
	if r.UniverseSize == nil || !r.UniverseSize.IsUint64() {
		return maxSize
	}
	return min(r.UniverseSize.Uint64(), maxSize)
}

// logUniverse returns ln |X| of a finite universe.
func (r Request) logUniverse() float64 {
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(r.UniverseSize).MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log(m) + float64(exponent)*math.Ln2
}

// Admits returns an error unless the query's m and W are within the parameters.
// Every other function that takes a query relies on it.
func (p Params) Admits(q query.Query) error {
	if _, ok := q.SizeWithin(p.MaxSupport); !ok {
		return sqlerr.New(sqlerr.Uncovered, "the support of the query is larger than max_support = %d", p.MaxSupport)
	}
	if q.MaxWeight() > p.MaxWeight {
		return sqlerr.New(sqlerr.Uncovered, "the weights of the query are larger than the mechanism's largest, %d", p.MaxWeight)
	}
	return nil
}

// Params are the public parameters of one mechanism. They encode to JSON and
// back exactly: rationals as text, floats by their shortest decimals.
type Params struct {
	S          uint64 `json:"s"`           // number of variables of the hypothesis
	Updates    int64  `json:"updates"`     // B, the number of runs
	MaxSupport uint64 `json:"max_support"` // m
	MaxWeight  int64  `json:"max_weight"`  // W
	Queries    int64  `json:"queries"`     // k
	NHat       int64  `json:"n_hat"`       // N̂, rows
	// Sensitivity is L, the rows one unit can change.
	Sensitivity int64   `json:"sensitivity"`
	Beta        float64 `json:"beta"`

	// Eps1 and Eps2 are the shares of one run's ε spent on τ and on the
	// comparisons; the sum of all shares is at most Request.RunEpsilon(Updates).
	Eps1 *big.Rat `json:"eps1"`
	Eps2 *big.Rat `json:"eps2"`
	// Eps3 is the share with which a query that fires is counted anew, within
	// that sum. It is nil where it is not counted anew.
	Eps3 *big.Rat `json:"eps3,omitempty"`

	Threshold int64 `json:"threshold"` // T, counts
	Bound     int64 `json:"bound"`     // counts: SimultaneousBound of Beta, or of Beta/2 with Alpha

	// Alpha is the accuracy guaranteed for all k answers with probability at
	// least 1 − β, as a fraction of the rows. It is 0 where B was given. Then
	// answers are within T + x_β as long as runs last, and nothing is promised
	// about how long they last.
	Alpha float64 `json:"alpha"`

	Update Update  `json:"update"`
	Eta    float64 `json:"eta"`    // η of the paper's step
	Floor  int64   `json:"floor"`  // noisy counts are clipped to [Floor, N̂·W − Floor] before a projection
	Replay int64   `json:"replay"` // an earlier pair that is off by more counts is projected again
}

// mass returns N̂·W, the count that the whole hypothesis stands for.
func (p Params) mass() float64 { return float64(p.NHat) * float64(p.MaxWeight) }

// maxBits bounds the numerators and denominators of stored shares of ε. The
// shares that split makes are far shorter.
const maxBits = 2048

// Check refuses as corrupt parameters that Plan cannot have made. Every other
// method relies on it.
func (p Params) Check() error {
	in := func(n, least, most int64) bool { return least <= n && n <= most }
	most := limit / max(p.MaxWeight, 1)
	switch {
	case p.S < 1 || p.S > maxSize || p.MaxSupport < 1 || p.MaxSupport > maxSize,
		!in(p.Updates, 1, mostRuns) || !in(p.Queries, 1, 1e15),
		!in(p.MaxWeight, 1, limit) || !in(p.NHat, 1, most) || !in(p.Sensitivity, 1, most),
		!in(p.Threshold, 1, limit) || !in(p.Bound, 1, limit) || !in(p.Floor, 1, limit) || !in(p.Replay, 0, limit),
		!(p.Beta >= 1e-30 && p.Beta < 1) || !(p.Eta >= 0 && p.Eta <= 0.5) || !(p.Alpha >= 0 && p.Alpha <= 1),
		p.Update != Projection && p.Update != Paper,
		!isShare(p.Eps1) || !isShare(p.Eps2) || p.Eps3 != nil && !isShare(p.Eps3):
		return errParams()
	}
	if _, _, err := p.laws(); err != nil {
		return errParams()
	}
	if _, err := p.FiredLaw(); err != nil {
		return errParams()
	}
	return nil
}

func isShare(eps *big.Rat) bool {
	return eps != nil && eps.Sign() > 0 && eps.Num().BitLen() <= maxBits && eps.Denom().BitLen() <= maxBits
}

func errParams() error {
	return sqlerr.New(sqlerr.Corrupt, "the stored parameters of a mechanism cannot be right")
}

// SimultaneousBound returns x_γ, in counts. With probability at least 1 − γ,
// none of the first k comparisons over B runs has |ν − τ| above it, nor has the
// noise of any count that is taken anew. It is stated before the run, for all k
// answers at once: an answer that did not fire is within T + x_γ of its true
// count, and one that fired within x_γ. It is a sound upper bound on that
// quantile, within about 1/50 of the noise's scale. It does not fall when γ
// falls or when k or B grow. It is math.MaxInt64 when there is no such bound.
func (p Params) SimultaneousBound(gamma float64) int64 {
	tau, nu, err := p.laws()
	recount, aerr := p.FiredLaw()
	if err != nil || aerr != nil || !(gamma > 0) {
		return math.MaxInt64
	}
	// The laws are symmetric: P(some |ν−τ| > x) ≤ 2·P(max ν + max τ > x) over
	// 2k draws of ν and B of τ, whichever ν meets which τ.
	m := newMaxima(tau, float64(p.Updates), gamma*1e-15)
	n := 2 * float64(p.Queries)
	step := max(int64(deviation(nu)/512), 1)
	// The union bound over both laws exceeds the answer, except for the
	// rounding to blocks.
	high := addCapped(oneSided(tau, float64(p.Updates), gamma/4), oneSided(nu, n, gamma/4))
	ok := func(j int64) bool {
		above := 2 * m.sumAbove(nu, n, j*step, gamma/2)
		if recount != nil {
			above += 2 * float64(p.Updates) * recount.Tail(j*step+1)
		}
		return above <= gamma
	}
	return leastMultiple(ok, step, high/step+1)
}

// UnfiredMargin returns a half-width, in counts, for a single answer that does
// not fire, valid with the given confidence. It is T + a + b, where any of the
// B draws of τ exceeds a, and a ν exceeds b, with a chance of at most (1 −
// confidence)/2 each. It is stated before the comparison: it says nothing
// conditional on not having fired.
func (p Params) UnfiredMargin(confidence float64) int64 {
	tau, nu, err := p.laws()
	half := (1 - confidence) / 2 * (1 - 1e-12)
	if err != nil || !(half > 0) {
		return math.MaxInt64
	}
	a := oneSided(tau, float64(p.Updates), half)
	b := oneSided(nu, 1, half)
	return addCapped(p.Threshold, addCapped(a, b))
}

// FiredMargin returns a half-width, in counts, for an answer that fired, valid
// with the given confidence for all answers of the mechanism at once: x_γ at γ
// = 1 − confidence. A single fired answer has no smaller one, because firing
// selects large noise. An answer that was counted anew does: given that it
// fired, its half-width is that of the fresh noise.
func (p Params) FiredMargin(confidence float64) int64 {
	if fired, err := p.FiredLaw(); err == nil && fired != nil {
		return law.HalfWidth(fired, confidence)
	}
	return p.SimultaneousBound((1 - confidence) * (1 - 1e-12))
}

// oneSided returns the smallest a ≥ 0 with draws·P(X > a) ≤ gamma.
func oneSided(l law.Law, draws, gamma float64) int64 {
	return leastMultiple(func(a int64) bool { return draws*l.Tail(a+1) <= gamma }, 1, 1)
}

// leastMultiple returns step times the smallest j ≥ 0 at which ok holds, and
// math.MaxInt64 when there is none below the limit. ok must be monotone. The
// search starts below hi.
func leastMultiple(ok func(j int64) bool, step, hi int64) int64 {
	for !ok(hi) {
		if hi > limit/step/2 {
			return math.MaxInt64
		}
		hi *= 2
	}
	return step * int64(sort.Search(int(hi), func(j int) bool { return ok(int64(j)) }))
}

func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func deviation(l law.Law) float64 { return math.Sqrt(l.Variance()) }

// maximumAbove returns P(max of n draws ≥ y).
func maximumAbove(l law.Law, n float64, y int64) float64 {
	return -math.Expm1(n * math.Log1p(-l.Tail(y)))
}

// maxima is the law of the largest of several draws, rounded up to the tops of
// blocks of equal width: P(top) is the chance of a maximum in (top−width, top].
type maxima struct {
	tops   []int64
	chance []float64
	beyond float64 // the chance of a maximum above the last top
}

// negligible is a probability that is added to a bound instead of being
// computed. No γ comes near it.
const negligible = 1e-40

// newMaxima returns the law of the largest of n draws of l, up to a value that it exceeds with a
// chance of at most beyond.
func newMaxima(l law.Law, n, beyond float64) maxima {
	width := max(int64(deviation(l)/64), 1)
	top := -8 * int64(deviation(l)) // lower maxima are rounded up to it
	above := maximumAbove(l, n, top+1)
	m := maxima{tops: []int64{top}, chance: []float64{1 - above}}
	for above > beyond {
		top += width
		next := maximumAbove(l, n, top+1)
		if c := above - next; c > 0 {
			m.tops = append(m.tops, top)
			m.chance = append(m.chance, c)
		}
		above = next
	}
	m.beyond = above
	return m
}

// sumAbove returns an upper bound on P(M + M' > x). M is the largest of n draws
// of l, and M' is the maximum that m describes. A bound above enough is not added
// up to its end.
func (m maxima) sumAbove(l law.Law, n float64, x int64, enough float64) float64 {
	sum := m.beyond
	for i, top := range m.tops {
		if sum > enough {
			break
		}
		if m.chance[i] < negligible {
			sum += m.chance[i]
			continue
		}
		sum += m.chance[i] * maximumAbove(l, n, x-top+1)
	}
	return sum * (1 + 1e-9) // covers the rounding of the terms
}

// Scaled is a query as a mechanism of weights up to W compares it, with its
// weights multiplied. The noise of a comparison is scaled to a change of L·W,
// whatever the query's own weights are. So a query of weights up to w is
// compared ⌊W/w⌋ times over, which changes by at most L·W, and its answer is
// divided by that factor again. A count in a mechanism of W = 1000 is thus as
// exact as in one of W = 1.
type Scaled struct {
	Query  query.Query
	Factor int64
}

// Factor returns the factor by which a query's weights are multiplied.
func (p Params) Factor(q query.Query) int64 {
	if p.MaxWeight == 1 {
		return 1
	}
	return max(1, p.MaxWeight/q.MaxWeight())
}

// Scaled returns the query as it is compared. A query of weights above W, which
// no mechanism admits, is returned unchanged.
func (p Params) Scaled(q query.Query) (Scaled, error) {
	s := Scaled{q, p.Factor(q)}
	var err error
	if s.Factor > 1 {
		s.Query, err = q.Times(s.Factor)
	}
	return s, err
}

// Count converts a count of the scaled query to one of the query itself. It
// rounds to the nearest integer.
func (s Scaled) Count(scaled int64) int64 {
	n, rest := scaled/s.Factor, scaled%s.Factor
	switch half := s.Factor - s.Factor/2; {
	case rest >= half:
		n++
	case rest <= -half:
		n--
	}
	return n
}

// Margin converts a margin of the scaled count to one of Count: at most the
// margin over the factor, and 1/2 for rounding. The query's true count is an
// integer.
func (s Scaled) Margin(scaled int64) int64 {
	return scaled/s.Factor + (scaled%s.Factor+s.Factor/2)/s.Factor
}
