package smw

import (
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Run is one run of the private test: a noisy threshold τ, and comparisons
// until one fires. It is not safe for concurrent use, and must not be copied
// after its first use.
type Run struct {
	params     Params
	nu         law.Law
	recountLaw law.Law // of the count that is taken when a test fires; nil: none is
	tau        int64
	ended      bool
}

// Outcome is the result of one test. Noisy, in counts, is set only when the
// test fired.
type Outcome struct {
	Fired bool
	Noisy int64
}

// StartRun starts a run and draws τ. The caller has charged ε₁ + ε₂ + ε₃ for
// it, and must store Tau before the first Test.
func StartRun(p Params, src *noise.Source) (Run, error) {
	law, nu, err := p.laws()
	if err != nil {
		return Run{}, err
	}
	tau, err := noise.Draw(law, src)
	if err != nil {
		return Run{}, err
	}
	return newRun(p, nu, tau)
}

// ResumeRun returns the run that was started with this τ and has not fired.
// Resuming it costs nothing, provided that nothing has fired since. A run whose
// end may have been lost must not be resumed.
func ResumeRun(p Params, tau int64) (Run, error) {
	_, nu, err := p.laws()
	if err != nil {
		return Run{}, err
	}
	return newRun(p, nu, tau)
}

func newRun(p Params, nu law.Law, tau int64) (Run, error) {
	if p.Threshold < 1 || p.Threshold > limit || tau < -limit || tau > limit {
		return Run{}, sqlerr.New(sqlerr.Corrupt, "smw: the state of a run is out of range")
	}
	recount, err := p.FiredLaw()
	return Run{params: p, nu: nu, recountLaw: recount, tau: tau}, err
}

// Tau returns τ. It is secret: whoever knows it can learn more from the answers
// than the run's ε allows.
func (r *Run) Tau() int64 { return r.tau }

// Test compares a query's true count c with the hypothesis's answer h, both in
// counts. With fresh ν⁺ and ν⁻ it computes g⁺ = (c − h) + ν⁺ and then g⁻ = (h −
// c) + ν⁻. The first with g ≥ T + τ fires, ends the run, and gives the noisy
// count h + (g⁺ − τ) or h − (g⁻ − τ). After that every Test is refused. All
// arithmetic is on integers. τ and ν are exact draws of discrete Laplace noise
// of scales Δ/ε₁ and 2Δ/ε₂, where Δ = L·W bounds the change of c by one unit.
//
// If Params.Eps3 is set, the noisy count is c plus a fresh draw of discrete
// Laplace noise of scale Δ/ε₃ instead. That draw took part in no comparison.
//
// Privacy. A whole run, all its tests and the noisy count together, is
// (ε₁+ε₂)-differentially private, for queries and hypotheses chosen adaptively
// and however many. The argument is an alignment of the noise. Let the run on
// a database fire at its last g; on a neighbour, where c becomes c′ with
// |c − c′| ≤ Δ, take τ′ = τ + Δ, every earlier ν unchanged, and the last one
// ν′ = ν + (g's change undone) + Δ, that is ν⁺ + (c − c′) + Δ or
// ν⁻ + (c′ − c) + Δ. An earlier g grows by at most Δ, so it stays below T + τ′.
// The last becomes g + Δ: it fires as before, and g − τ, hence the noisy count,
// is the same. The map is one to one, moves τ by Δ and one ν by at most 2Δ, and
// so changes the probability by a factor of at most e^{ε₁}·e^{ε₂}. A run that
// has not fired moves τ only.
//
// With Eps3, the outcomes of the tests without the gap are
// (ε₁+ε₂)-differentially private by this argument. They name at most one query,
// and the noisy count of one query is ε₃-differentially private (Dwork,
// McSherry, Nissim and Smith 2006). So both are (ε₁+ε₂+ε₃)-differentially
// private by adaptive composition (Dwork and Roth 2014, Theorem 3.16). The
// fresh noise is independent of everything that decided the firing, so its law
// is the law of the error given that the query fired. The argument does not
// cover giving the gap as well, or ν or τ; Test gives none of them.
//
// That is the sparse vector technique: Dwork and Roth, "The Algorithmic
// Foundations of Differential Privacy" (2014), Theorem 3.23; Lyu, Su and Li,
// "Understanding the Sparse Vector Technique for Differential Privacy" (PVLDB
// 10(6), 2017), Algorithm 1, which has the two scales. Of the variants that
// they show to be broken this has none of the faults: ν is fresh for each
// comparison, τ is drawn anew for each run, the run ends at its first firing,
// and the count it gives is not the noisy g itself but its gap to the noisy
// threshold, which Ding, Wang, Zhang and Kifer, "Free Gap Information from the
// Differentially Private Sparse Vector and Noisy Max Mechanisms" (PVLDB 13(3),
// 2019), show to be free. Testing a hypothesis from both sides, and learning
// where it fails, is the reduction of Gupta, Roth and Ullman, "Iterative
// Constructions and Private Data Release" (TCC 2012), the paper's Theorem 3.3.
//
// An outcome that did not fire is shown to nobody and may be computed again. An
// outcome that fired must be committed before it is used, and must never be
// drawn again.
func (r *Run) Test(trueCount, hypothesis int64, src *noise.Source) (Outcome, error) {
	if r.ended || r.nu == nil {
		return Outcome{}, sqlerr.New(sqlerr.Internal, "smw: the run is over")
	}
	// Clamping changes no difference of counts by more than the unit does, so
	// it costs no privacy.
	d := clampCount(trueCount) - clampCount(hypothesis)
	gap, fired, err := r.above(d, src)
	if err == nil && !fired {
		gap, fired, err = r.above(-d, src)
		gap = -gap
	}
	if err != nil || !fired {
		return Outcome{}, err
	}
	r.ended = true
	if r.recountLaw != nil {
		return r.count(trueCount, src)
	}
	return Outcome{Fired: true, Noisy: clampCount(hypothesis) + gap}, nil
}

// count takes the count of the query that fired anew.
func (r *Run) count(trueCount int64, src *noise.Source) (Outcome, error) {
	draw, err := noise.Draw(r.recountLaw, src)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Fired: true, Noisy: clampCount(trueCount) + clampCount(draw)}, nil
}

// above tests d + ν ≥ T + τ with a fresh ν, and returns d + ν − τ if it holds.
func (r *Run) above(d int64, src *noise.Source) (gap int64, fired bool, err error) {
	nu, err := noise.Draw(r.nu, src)
	if err != nil {
		return 0, false, err
	}
	if nu < -limit || nu > limit { // of probability below exp(−2^16)
		return 0, false, sqlerr.New(sqlerr.Internal, "a noise draw is out of range")
	}
	gap = d + nu - r.tau
	return gap, gap >= r.params.Threshold, nil
}

// clampCount confines a count to the range in which no sum overflows.
func clampCount(count int64) int64 { return max(-limit, min(count, limit)) }

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
