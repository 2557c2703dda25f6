package smw

import (
	"iter"
	"math/big"

	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Run is one run of the private test: a noisy threshold τ, and comparisons
// until one fires. It is not safe for concurrent use, and must not be copied
// after its first use.
type Run struct {
	params  Params
	nu      noise.Sampler
	recount *noise.Sampler // of the count that is taken when a test fires; nil: none is
	tau     int64
	open    bool
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
	r := Run{params: p, nu: noise.Of(nu), tau: tau, open: true}
	recount, err := p.FiredLaw()
	if recount != nil {
		r.recount = new(noise.Of(recount))
	}
	return r, err
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
	if !r.open {
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
	r.open = false
	if r.recount != nil {
		return r.count(trueCount, src)
	}
	return Outcome{Fired: true, Noisy: clampCount(hypothesis) + gap}, nil
}

// count takes the count of the query that fired anew.
func (r *Run) count(trueCount int64, src *noise.Source) (Outcome, error) {
	draw, err := r.recount.Draw(src)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Fired: true, Noisy: clampCount(trueCount) + clampCount(draw)}, nil
}

// above tests d + ν ≥ T + τ with a fresh ν, and returns d + ν − τ if it holds.
func (r *Run) above(d int64, src *noise.Source) (gap int64, fired bool, err error) {
	nu, err := r.nu.Draw(src)
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

// change returns L·W, which bounds the change of a count by one unit.
func (p Params) change() *big.Rat {
	l := new(big.Int).Mul(big.NewInt(p.Sensitivity), big.NewInt(p.MaxWeight))
	return new(big.Rat).SetInt(l)
}

// laws returns the discrete Laplace laws of τ, of scale L·W/ε₁, and of ν, of
// scale 2·L·W/ε₂.
func (p Params) laws() (tau, nu law.Law, err error) {
	if p.Eps1 == nil || p.Eps2 == nil || p.Eps1.Sign() <= 0 || p.Eps2.Sign() <= 0 {
		return nil, nil, sqlerr.New(sqlerr.Corrupt, "smw: the stored parameters lack the ε of a run")
	}
	tau, err = law.NewLaplace(new(big.Rat).Quo(p.change(), p.Eps1))
	if err != nil {
		return nil, nil, err
	}
	twice := new(big.Rat).Add(p.change(), p.change())
	nu, err = law.NewLaplace(twice.Quo(twice, p.Eps2))
	return tau, nu, err
}

// FiredLaw returns the law of the noise in an answer that fired and was counted
// anew (Request.Remeasure): discrete Laplace of scale L·W/ε₃. Otherwise it
// returns nil: the answer is then the gap of the comparison, and given that it
// fired no law is known for its noise.
func (p Params) FiredLaw() (law.Law, error) {
	if p.Eps3 == nil {
		return nil, nil
	}
	if p.Eps3.Sign() <= 0 {
		return nil, sqlerr.New(sqlerr.Corrupt, "smw: the stored parameters lack the ε of a run")
	}
	return law.NewLaplace(new(big.Rat).Quo(p.change(), p.Eps3))
}

// tauShare is 1/(1 + 2^(2/3)), the share of ε₁ in ε₁ : ε₂ = 1 : 2^(2/3). That
// ratio minimises the variance of ν − τ (Lyu, Su and Li 2017).
var tauShare = [2]int64{386488, 1000000}

// split sets Eps1, Eps2 and Eps3 for runs of the given ε. It rounds the scales
// of the noise up to rationals of about 20 bits, which samplers handle in
// machine words, and computes the shares from the scales. The sum of the shares
// is at most eps, and within 2⁻¹⁹ of it.
func (p *Params) split(eps *big.Rat, remeasure bool) error {
	if eps == nil || eps.Sign() <= 0 {
		return errNoBudget()
	}
	if remeasure { // a third is for counting anew
		third := new(big.Rat).Quo(eps, big.NewRat(3, 1))
		p.Eps3 = new(big.Rat).Quo(p.change(), roundedScale(new(big.Rat).Quo(p.change(), third)))
		eps = new(big.Rat).Sub(eps, p.Eps3)
	}
	part := new(big.Rat).Mul(eps, big.NewRat(tauShare[0], tauShare[1]))
	tau := roundedScale(new(big.Rat).Quo(p.change(), part))
	p.Eps1 = new(big.Rat).Quo(p.change(), tau)

	rest := new(big.Rat).Sub(eps, p.Eps1)
	twice := new(big.Rat).Add(p.change(), p.change())
	nu := roundedScale(new(big.Rat).Quo(twice, rest))
	p.Eps2 = new(big.Rat).Quo(twice, nu)
	if nu.Cmp(new(big.Rat).SetInt64(limit>>16)) > 0 {
		return errNoBudget()
	}
	return nil
}

func errNoBudget() error {
	return sqlerr.New(sqlerr.Budget, "the mechanism's epsilon, divided into this many runs, leaves no usable noise").
		WithHint("ask for fewer updates or a larger epsilon")
}

// roundedScale returns the smallest multiple of 2^−j that is at least r, where j ≥ 0
// is the smallest with r·2^j ≥ 2^20.
func roundedScale(r *big.Rat) *big.Rat {
	num, den := new(big.Int).Set(r.Num()), r.Denom()
	one := big.NewInt(1)
	least := new(big.Int).Lsh(den, 20)
	j := uint(0)
	for num.Cmp(least) < 0 && j < 1<<10 {
		num.Lsh(num, 1)
		j++
	}
	num.Add(num, new(big.Int).Sub(den, one)).Quo(num, den)
	return new(big.Rat).SetFrac(num, new(big.Int).Lsh(one, j))
}

// Result is the outcome of a non-interactive run.
type Result struct {
	// Steps are the updates, in order: all there is to store and publish.
	Steps []Step
	// Complete reports whether a whole pass over the class fired nothing. Only
	// then is the hypothesis good within T + x_β for every query of the class,
	// with probability at least 1 − β.
	Complete bool
	// Runs is the number of runs begun, those of earlier calls included.
	Runs int64
	// Comparisons is the number of queries tested.
	Comparisons int64
}

// Passes is the non-interactive mechanism of the paper's section 3.1: the
// interactive mechanism, asked every query of a class. It passes over the class
// until a whole pass fires nothing or all B runs are spent, and leaves h as the
// hypothesis to publish. That takes at most B + 1 passes, so parameters
// computed for Queries = (B+1)·|class| cover every comparison. It stops after
// Params.Queries comparisons; the result is then not complete.
//
// The class must yield the same queries each time. Count returns a query's true
// count. The caller has charged all B runs beforehand. Before a run draws its
// threshold, begin is called with the result so far, which counts the run. It
// stores Steps and Runs durably. Passes returns an error of count or begin
// unchanged; the result is then worthless.
//
// A call that ended early, by a crash too, is gone on with by another. Its h has
// learned the steps that begin stored, and begun is the number of runs. Both are
// new, and begun is 0, if none was stored.
//
// Privacy. A run that has begun never begins again, and what it drew is lost if it
// was not stored. So at most B runs begin in all calls together. Each is private
// for queries and hypotheses chosen adaptively, see Run.Test, whatever ends it.
// Nor are there more than B + 1 passes: each but the last one either fired, or was
// cut short with a run open that has not fired, and these runs are distinct.
func Passes(h *Hypothesis, begun int64, class iter.Seq[query.Query], count func(query.Query) (int64, error),
	begin func(Result) error, src *noise.Source) (Result, error) {
	p := passing{h: h, count: count, keep: begin, src: src, result: Result{Runs: begun}}
	for {
		fired, more, err := p.pass(class)
		if err != nil {
			return Result{}, err
		}
		if !more || !fired {
			p.result.Complete = more
			return p.result, nil
		}
	}
}

type passing struct {
	h      *Hypothesis
	count  func(query.Query) (int64, error)
	keep   func(Result) error
	src    *noise.Source
	run    Run
	open   bool
	result Result
}

// pass tests every query once. more is false when runs or comparisons ran out
// before the end of the class, or with its last query.
func (p *passing) pass(class iter.Seq[query.Query]) (fired, more bool, err error) {
	for q := range class {
		if !p.open && p.result.Runs == p.h.params.Updates ||
			p.result.Comparisons == p.h.params.Queries {
			return fired, false, nil
		}
		hit, err := p.test(q)
		if err != nil {
			return fired, false, err
		}
		fired = fired || hit
	}
	return fired, true, nil
}

func (p *passing) test(q query.Query) (fired bool, err error) {
	if err := p.h.params.Admits(q); err != nil {
		return false, err
	}
	if err := p.begin(); err != nil {
		return false, err
	}
	c, err := p.count(q)
	if err != nil {
		return false, err
	}
	p.result.Comparisons++
	out, err := p.run.Test(c, p.h.Count(q), p.src)
	if err != nil || !out.Fired {
		return false, err
	}
	p.open = false
	p.result.Steps = append(p.result.Steps, Step{q, out.Noisy})
	return true, p.h.Update(q, out.Noisy)
}

// begin starts a run unless one is open.
func (p *passing) begin() (err error) {
	if p.open {
		return nil
	}
	p.result.Runs++
	if err = p.keep(p.result); err == nil {
		p.run, err = StartRun(p.h.params, p.src)
	}
	p.open = err == nil
	return err
}

// worthTable is the number of draws from which on a bulk sampler's table pays.
const worthTable = 4096

// Measured are tables of counts with noise, which are public.
type Measured struct {
	tables []Table
	sigma2 *big.Rat // the variance of the noise in a count
}

// Measure adds discrete Gaussian noise of variance σ² to every count of the
// tables, in place. A unit of L rows moves each of the K tables by at most L in the ℓ2
// norm, and all of them together by at most √K·L. For σ² = K·L²/(2ρ) this is
// ρ-zCDP, whatever the number of cells (Canonne, Kamath and Steinke 2020). The
// caller has charged ρ. Everything computed from the tables afterwards is
// public.
func Measure(tables []Table, sigma2 *big.Rat, src *noise.Source) (Measured, error) {
	law, err := law.NewGaussian(sigma2)
	if err != nil {
		return Measured{}, err
	}
	cells := 0
	for _, t := range tables {
		cells += len(t.Counts)
	}
	var bulk *noise.Table
	if cells >= worthTable {
		bulk, _ = noise.NewTable(law) // nil if the law is too wide
	}
	for _, t := range tables {
		if err := addNoise(t.Counts, law, bulk, src); err != nil {
			return Measured{}, errSource()
		}
	}
	return Measured{tables, sigma2}, nil
}

func errSource() error { return sqlerr.New(sqlerr.IO, "the system's random source failed") }

// addNoise adds a draw to each count. Both samplers follow the law exactly.
func addNoise(counts []int64, law law.Law, bulk *noise.Table, src *noise.Source) error {
	draws := make([]int64, len(counts))
	if bulk != nil {
		if err := bulk.Fill(draws, src); err != nil {
			return err
		}
	}
	for i, n := range counts {
		if bulk == nil {
			var err error
			if draws[i], err = noise.Draw(law, src); err != nil {
				return err
			}
		}
		counts[i] = clampCount(n) + draws[i]
	}
	return nil
}
