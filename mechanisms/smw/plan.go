package smw

import (
	"math"
	"sort"
	"strconv"

	"dpsql/sqlerr"
)

// Plan computes the parameters of a mechanism.
//
// With MaxUpdates, T = x_β, the SimultaneousBound(β). So that FAILURE cannot
// happen, s is at least m·B or |X|. It is that with the paper's step, which
// moves a weight by little and must begin near; a projection reaches any answer
// in one step, and s is then as large as it can be, |X| or 2^62: a query begins
// with the share of the records that it asks for, which of an infinite universe
// is 0. Without MaxUpdates and Alpha, B is chosen by Updates.
//
// With Alpha, Theorem 3.5 is solved for the number of runs. Let x = x_β, and e
// the bound on |N̂ − n|, in counts with the rounding of the hypothesis. With
// T = 3(x+e) the private test fires only where the hypothesis is off by at
// least γ = (T−x−e)/(N̂+e), as a fraction, and then with a noisy count off by
// less: a database update sequence for γ (Definition 3.1), so that
// B(γ) = 4(Ψ₀+1)/γ² runs suffice; and every answer is good within
// T + x ≤ α·n. As x grows with the number of runs, the smallest B that
// suffices for itself is taken; T = 3(x+e) makes the resulting α smallest.
// When that α is above the one asked for, the request is refused, naming it.
func Plan(r Request) (Params, error) {
	r, err := r.normal()
	if err != nil {
		return Params{}, err
	}
	if r.Alpha > 0 {
		return r.planAlpha()
	}
	if r.MaxUpdates == 0 {
		if r.MaxUpdates, err = r.updates(); err != nil {
			return Params{}, err
		}
	}
	return r.planUpdates()
}

func (r Request) planUpdates() (Params, error) {
	p, err := r.withRuns(r.MaxUpdates)
	if err != nil {
		return Params{}, err
	}
	p.S = r.universe()
	if r.Update == Paper && !r.Prior && p.MaxSupport <= p.S/uint64(p.Updates) {
		p.S = p.MaxSupport * uint64(p.Updates)
	}
	p.Threshold = p.Bound
	p.Floor = p.Bound
	p.Replay = p.Threshold / 2
	p.Eta = p.etaOfRuns()
	return p, nil
}

// etaOfRuns returns η = α/2 for the α with B(α) = B, the accuracy that so many
// updates suffice for by Theorem 3.5, or for T as a fraction where that is
// larger. A smaller η would spend all runs on the largest errors.
func (p Params) etaOfRuns() float64 {
	alpha := 2 * math.Sqrt((math.Log(float64(p.S))+1)/float64(p.Updates))
	return min(max(alpha, float64(p.Threshold)/p.mass()), 1) / 2
}

// withRuns returns the parameters that follow from the number of runs alone.
func (r Request) withRuns(b int64) (Params, error) {
	p := Params{
		Updates: b, MaxSupport: r.MaxSupport, MaxWeight: r.MaxWeight, Queries: r.Queries,
		NHat: r.NHat, Sensitivity: r.Sensitivity, Beta: r.Beta, Update: r.Update,
	}
	if err := p.split(r.RunEpsilon(b), r.Remeasure); err != nil {
		return Params{}, err
	}
	p.Bound = max(p.SimultaneousBound(r.Beta), 1)
	if p.Bound >= limit/8 {
		return Params{}, errNoBudget()
	}
	return p, nil
}

func (r Request) planAlpha() (Params, error) {
	least, err := r.fewestRuns()
	if err != nil {
		return Params{}, err
	}
	p, err := r.withRuns(least)
	if err != nil {
		return Params{}, r.errAlpha(math.Inf(1))
	}
	p, need := r.guarantee(p)
	if need > float64(p.Updates) {
		return Params{}, sqlerr.New(sqlerr.Unsupported, "alpha needs more updates than can be made")
	}
	if p.Alpha > r.Alpha {
		return Params{}, r.errAlpha(p.Alpha)
	}
	return p, nil
}

// mostRuns is far more than can be made. Where more are needed, planAlpha finds
// that so many do not suffice.
const mostRuns = 1e12

// fewestRuns returns the smallest B with which B runs suffice. More runs mean
// noisier ones, a larger γ and a smaller B(γ): the condition is monotone.
func (r Request) fewestRuns() (int64, error) {
	p, err := r.withRuns(1)
	if err != nil {
		return 0, r.errAlpha(math.Inf(1))
	}
	_, most := r.guarantee(p)
	n := int(min(math.Ceil(most), mostRuns))
	return 1 + int64(sort.Search(n, func(i int) bool {
		p, err := r.withRuns(int64(i) + 1)
		if err != nil { // too many runs for the budget: the noise has no bound
			return true
		}
		_, need := r.guarantee(p)
		return need <= float64(p.Updates)
	})), nil
}

// guarantee completes the parameters with what Theorem 3.5 gives at their x,
// and returns the number of runs it needs.
func (r Request) guarantee(p Params) (Params, float64) {
	e := r.NHatBound*r.MaxWeight + 1 // and at most 1/2 of rounding
	if e >= limit/8 {
		p.Alpha = math.Inf(1)
		return p, 0
	}
	p.Floor = p.Bound + e
	p.Threshold = 3 * p.Floor
	p.Replay = p.Threshold
	gamma := 2 * float64(p.Floor) / (p.mass() + float64(e))
	p.S = r.universe()
	var start float64 // Ψ₀
	if r.Prior {
		start = r.logUniverse() - math.Log(uniformShare)
	} else {
		p.S = min(SizeFor(p.MaxSupport, gamma), p.S)
		start = math.Log(float64(p.S))
	}
	p.Eta = min(gamma, 1) / 2
	p.Alpha = 4 * float64(p.Floor) / p.mass() * (1 + 1e-12)
	return p, math.Ceil(4 * (start + 1) / (gamma * gamma))
}

// errAlpha refuses the accuracy asked for, naming the smallest that can be had.
func (r Request) errAlpha(least float64) error {
	err := sqlerr.New(sqlerr.Invalid, "alpha = %v cannot be guaranteed for a table of about %d rows", r.Alpha, r.NHat)
	if least > 1 {
		return err.WithHint("no alpha can be guaranteed at this epsilon: give max_updates, or a larger epsilon")
	}
	return err.WithHint("the smallest alpha that can be guaranteed is %s; max_updates promises no alpha", roundUp(least))
}

// roundUp writes x with three significant digits, not below it.
func roundUp(x float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	for n := math.Ceil(x / unit); ; n++ {
		s := strconv.FormatFloat(n*unit, 'g', 3, 64)
		if v, err := strconv.ParseFloat(s, 64); err != nil || v >= x {
			return s
		}
	}
}
