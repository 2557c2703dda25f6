package smw

import (
	"math"
	"sort"
	"strconv"

	"dpsql/sqlerr"
)

// Plan computes the parameters of a mechanism.
//
// With MaxUpdates, T = x_β, the SimultaneousBound(β). s is at least m·B or |X|,
// so that FAILURE cannot happen. With the paper's step, which moves a weight by
// little and must begin near the answer, s is exactly that. A projection
// reaches any answer in one step, so with it s is as large as possible, |X| or
// 2^62: a query then begins with its share of the universe, which is 0 of an
// infinite one. Without MaxUpdates and Alpha, updates chooses B.
//
// With Alpha, all answers are within α·n·W of the truth with probability at
// least 1 − β, and runs are left at the end. Let x be x_β/2. Let e be the bound
// on |N̂ − n| that fails with probability β/2, in counts, plus the rounding of
// h to a count and of a Scaled answer to rows. Unless one of the two bounds
// fails,
//
//   - an answer is within T + x of its count c = n·W·q(D), and so within
//     αN̂W − e ≤ αnW where T + x + e ≤ αN̂W;
//   - a test fires only where |c − h| ≥ T − x, so that the hypothesis D_t is off by
//     |q(D) − q(D_t)| ≥ γ = (T−x−e)/(N̂W+e), as a fraction;
//   - the noisy count it then gives is within x of c, and within (x+e)/(N̂W) < γ
//     of q(D) as a fraction.
//
// By the last two the updates are a database update sequence for γ (Definition
// 3.1). Each lowers the potential by γ²/4: the paper's step with η = γ/2 by
// Lemma 3.7, a projection where T ≥ 3(x+e) (TestProjectionLowersThePotential).
// The potential begins at Ψ₀ ≤ ln s, or ln|X| − ln μ with a prior in which the
// uniform distribution has the share μ (Fitted has the proof), and stays above
// −1/e (Claim 3.6). So there are fewer than B(γ) = 4(Ψ₀+1)/γ² updates, and runs
// are left. An s with s/(ln s+1) ≥ 4m/γ² suffices for so many (Theorem 3.5). A
// run that a crash ended counts among them, and so does an update that would need
// more than mostAtoms.
//
// So T follows α. T = αN̂W − x − e is the largest that keeps the first. With it
// γ and η grow with α, and s and B(γ) fall. More runs mean noisier ones: x
// grows with B, and γ falls with x. So Plan takes the smallest B that suffices
// for itself. As x grows with √B, and the γ that B runs suffice for falls with
// √B, T + x + e = 2(x+e) + γ(N̂W+e) is smallest where the two terms are equal,
// at T = 3(x+e). If that is above αN̂W, Plan refuses the request and names the
// smallest α.
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

// etaOfRuns returns η = α/2. α is the accuracy for which B updates suffice by
// Theorem 3.5, B(α) = B, or T as a fraction where that is larger. A smaller η
// would spend all runs on the largest errors.
func (p Params) etaOfRuns() float64 {
	alpha := 2 * math.Sqrt((math.Log(float64(p.S))+1)/float64(p.Updates))
	return min(max(alpha, float64(p.Threshold)/p.mass()), 1) / 2
}

// withRuns returns the parameters that the number of runs alone determines.
func (r Request) withRuns(b int64) (Params, error) {
	p := Params{
		Updates: b, MaxSupport: r.MaxSupport, MaxWeight: r.MaxWeight, Queries: r.Queries,
		NHat: r.NHat, Sensitivity: r.Sensitivity, Beta: r.Beta, Update: r.Update,
	}
	if r.Class > 0 {
		p.Queries = int64(min(float64(b+1)*float64(r.Class), mostQueries))
	}
	if err := p.split(r.RunEpsilon(b), r.Remeasure); err != nil {
		return Params{}, err
	}
	beta := r.Beta
	if r.Alpha > 0 { // the other half is for |N̂ − n| > e
		beta /= 2
	}
	p.Bound = max(p.SimultaneousBound(beta), 1)
	if p.Bound >= limit/8 {
		return Params{}, errNoBudget()
	}
	return p, nil
}

func (r Request) planAlpha() (Params, error) {
	p, err := r.leastAlpha()
	if err != nil {
		return Params{}, err
	}
	if p.Alpha > r.Alpha {
		return Params{}, r.errAlpha(p.Alpha)
	}
	if p, err = r.withRuns(r.fewestRuns(p.Updates, r.Alpha)); err != nil {
		return Params{}, err
	}
	p, _ = r.guarantee(p, r.Alpha)
	p.Alpha = r.Alpha // guarantee's own is less than a count below
	return p, nil
}

// mostRuns is far above any possible number of runs.
const mostRuns = 1e12

// leastAlpha returns the parameters for the smallest α.
func (r Request) leastAlpha() (Params, error) {
	b := r.fewestRuns(1<<10, 0)
	if b > mostRuns {
		return Params{}, sqlerr.New(sqlerr.Unsupported, "alpha needs more updates than can be made")
	}
	p, err := r.withRuns(b)
	if err != nil {
		return Params{}, r.errAlpha(math.Inf(1))
	}
	p, _ = r.guarantee(p, 0)
	return p, nil
}

// fewestRuns returns the smallest B with which B runs suffice for alpha. If the
// budget cannot be divided into so many, it returns more than it can be divided
// into. The search starts below hi. The condition is monotone in B: with alpha
// = 0, at T = 3(x+e), more runs mean noisier ones, a larger γ and a smaller
// B(γ). With an alpha for which hi runs suffice at T = 3(x+e), it is monotone
// up to hi, because √B grows faster than 1/γ there.
func (r Request) fewestRuns(hi int64, alpha float64) int64 {
	return leastMultiple(func(b int64) bool {
		if b < 1 {
			return false
		}
		p, err := r.withRuns(b)
		if err != nil { // too many runs for the budget: the noise has no bound
			return true
		}
		_, need := r.guarantee(p, alpha)
		return need <= float64(b)
	}, 1, hi)
}

// guarantee completes the parameters for answers within alpha by Theorem 3.5 at
// their x, and returns the number of runs it needs. If alpha is 0 or too small,
// it uses the smallest that T = 3(x+e) allows.
func (r Request) guarantee(p Params, alpha float64) (Params, float64) {
	e := (r.NHatBound + 1) * r.MaxWeight // and at most 1/2 of rounding, and W/2 of rounding to rows
	if e >= limit/8 {
		p.Alpha = math.Inf(1)
		return p, 0
	}
	p.Floor = p.Bound + e
	p.Replay = 3 * p.Floor
	p.Threshold = max(3*p.Floor, int64(alpha*p.mass())-p.Floor)
	p.Alpha = float64(p.Threshold+p.Floor) / p.mass() * (1 + 1e-12)
	gamma := float64(p.Threshold-p.Floor) / (p.mass() + float64(e))
	p.S = r.universe()
	var start float64 // Ψ₀
	if r.Prior {
		start = r.logUniverse() - math.Log(r.uniformShare())
	} else {
		p.S = min(sizeFor(p.MaxSupport, gamma), p.S)
		start = math.Log(float64(p.S))
	}
	p.Eta = min(gamma, 1) / 2
	return p, math.Ceil(4 * (start + 1) / (gamma * gamma))
}

// uniformShare returns μ, the share of the uniform distribution in the prior.
func (r Request) uniformShare() float64 {
	if r.Fitted {
		return tableShare(r.NHat)
	}
	return uniformShare
}

// errAlpha returns the refusal of an accuracy, which names the smallest
// possible one.
func (r Request) errAlpha(least float64) error {
	err := sqlerr.New(sqlerr.Invalid, "alpha = %v cannot be guaranteed for a table of about %d rows", r.Alpha, r.NHat)
	if least > 1 {
		return err.WithHint("no alpha can be guaranteed at this epsilon: give max_updates, or a larger epsilon")
	}
	return err.WithHint("the smallest alpha that can be guaranteed is %s; max_updates promises no alpha", roundUp(least))
}

// roundUp returns x with three significant digits, rounded up.
func roundUp(x float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	for n := math.Ceil(x / unit); ; n++ {
		s := strconv.FormatFloat(n*unit, 'g', 3, 64)
		if v, err := strconv.ParseFloat(s, 64); err != nil || v >= x {
			return s
		}
	}
}

// updates chooses B when neither B nor an accuracy is given. T grows with √B,
// but a mechanism that has spent its runs verifies nothing. The number of
// updates that a hypothesis needs was measured on conjunctions over correlated
// columns, for 10⁴ to 10⁷ rows, 2,000 and 20,000 queries and supports of 1/6000
// to 1/15 of the universe (TestChosenUpdates). It grows with the largest counts
// of queries of support m, about N̂·√(m/|X|), in units of a single run's x_β,
// up to a few for each disjoint part of m records. With classes it is a fifth
// of that.
//
// Where a fitted table is blind, it may be as far off as a uniform start, but nobody knows
// where: that is not a matter of m. A parity of four columns took 1 to 3 updates, and
// structure over three of four columns that are known in pairs about 40 (go run ./bench
// guard). So B is at most usualUpdates.
func (r Request) updates() (int64, error) {
	if r.UniverseSize == nil {
		return usualUpdates, nil
	}
	e, err := r.excess()
	if err != nil {
		return 0, err
	}
	each, most := 0.75, 12.0
	switch {
	case r.Fitted:
		return int64(clip(each*e, leastUpdates, usualUpdates)), nil
	case r.Prior:
		each, most = 0.15, 3
	}
	return int64(clip(each*e, leastUpdates, min(most/r.part(), mostUpdates))), nil
}

// updates chooses between leastUpdates and mostUpdates. It returns usualUpdates
// for an infinite universe, and no more for a fitted table.
const (
	leastUpdates = 5
	usualUpdates = 50
	mostUpdates  = 1000
)

// PriorPays reports whether a hypothesis should start from classes. It should
// if N̂·√(m/|X|) is above a few times the x_β of a single run. Otherwise the
// error of a uniform hypothesis is below the test's threshold, and paying for a
// prior would only make the tests noisier.
func PriorPays(r Request) bool {
	r, err := r.normal()
	if err != nil || r.UniverseSize == nil {
		return false
	}
	e, err := r.excess()
	return err == nil && e >= 3
}

// PriorTenths returns how many tenths of a mechanism's budget its prior should
// cost. sigma is the noise of a count that one tenth buys. For a table of many
// rows one tenth measures the pairs of columns well; other tables take three.
// More would raise T by more than it improves answers (TestChosenShare).
func PriorTenths(sigma float64, rows int64) int64 {
	if float64(rows) >= 5000*sigma {
		return 1
	}
	return 3
}

// part returns m/|X|.
func (r Request) part() float64 {
	return math.Exp(math.Log(float64(r.MaxSupport)) - r.logUniverse())
}

// excess returns N̂·√(m/|X|) in units of the x_β of a single run.
func (r Request) excess() (float64, error) {
	p, err := r.withRuns(1)
	if err != nil {
		return 0, err
	}
	return float64(r.NHat) * float64(r.MaxWeight) * math.Sqrt(r.part()) / float64(p.Bound), nil
}

// maxSize is the largest s. No process can touch so many variables, so a larger
// s would behave the same.
const maxSize = uint64(1) << 62

// sizeFor returns the number of variables of Algorithm 1: the smallest s with
// s/(ln s + 1) ≥ 4m/α², at most 2^62. Alpha is a fraction above 0.
func sizeFor(m uint64, alpha float64) uint64 {
	need := 4 * float64(m) / (alpha * alpha)
	if !(need < float64(maxSize)/(math.Log(float64(maxSize))+1)) {
		return maxSize
	}
	// s/(ln s + 1) grows from 1 at s = 1, and passes need before 64·need.
	hi := int64(math.Min(64*math.Max(need, 1), float64(maxSize)))
	return 1 + uint64(sort.Search(int(hi), func(i int) bool {
		s := float64(i + 1)
		return s/(math.Log(s)+1) >= need
	}))
}

// updateBound returns B(α) = 4(ln s + 1)/α², which no database update sequence
// of Algorithm 1 exceeds (Theorem 3.5).
func updateBound(s uint64, alpha float64) float64 {
	return 4 * (math.Log(float64(s)) + 1) / (alpha * alpha)
}

// PaperParams are the parameters of the paper's Theorem 3.8.
type PaperParams struct {
	MaxSupport uint64  // m
	Queries    int64   // k
	Beta       float64 // β
	Epsilon    float64 // ε, nats
	Delta      float64 // δ
	Rows       int64   // n, or N̂
}

// PaperAlpha returns the accuracy the paper itself promises, a fraction of the
// rows: the solution of α = 3000·√B(α)·ln(4/δ)·ln(k/β)/(εn) with
// B(α) = 4(ln s + 1)/α² (Theorems 3.3 and 3.5). Above 1 it promises nothing.
func PaperAlpha(r PaperParams) float64 {
	c := 3000 * math.Log(4/r.Delta) * math.Log(float64(r.Queries)/r.Beta) / (r.Epsilon * float64(r.Rows))
	excess := func(alpha float64) float64 {
		return alpha - c*math.Sqrt(updateBound(sizeFor(r.MaxSupport, alpha), alpha))
	}
	lo, hi := 1e-9, 1.0
	for excess(hi) < 0 && hi < 1e12 {
		hi *= 2
	}
	for range 200 {
		mid := math.Sqrt(lo * hi)
		if excess(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
