package marginals

import (
	"context"
	"math"
)

// observed is a noisy estimate of a marginal that a fit is made from.
type observed struct {
	columns  []int
	cells    []float64
	variance float64 // of a cell
}

// Stage says how one stage of a fit went: that of the marginals over so many columns.
type Stage struct {
	Order  int     `json:"order"`  // columns a marginal
	Lambda float64 `json:"lambda"` // λ, the weight of what the earlier stages said
	Sweeps int     `json:"sweeps"`
	// Distance bounds how far the marginals of the table are from those at the optimum:
	// the root mean square over all cells, in standard deviations of their noise.
	Distance float64 `json:"distance"`
}

const (
	// settled is the distance from the optimum at which the last stage is done, and
	// nearby that at which an earlier one is, whose table only leads to the next.
	settled = 0.07
	nearby  = 0.4
	// mostSweeps bounds the sweeps of a stage. The later ones change little: all 3-way
	// marginals of Adult's 6 columns err by 7.63, 7.48, 7.37 and 7.34 after 8, 15, 30 and
	// 60 of each stage.
	mostSweeps = 300
)

// Converged reports whether a fit of these stages ended near the optimum.
func Converged(stages []Stage) bool {
	for i, s := range stages {
		if s.Distance > nearby || i == len(stages)-1 && s.Distance > settled {
			return false
		}
	}
	return true
}

// fit returns the table that explains the observed marginals, in stages of ascending
// order, and how each stage went. It is post-processing of the observations: it is
// deterministic and takes no other data. When ctx ends, it ends soon. report, if not nil, is
// called with the share that is done.
//
// The table starts constant. Stage r takes the marginals over r columns and replaces the
// table x by
//
//	argmin over z of λ·KL(z‖x) + Σ_A ‖M_A z − y_A‖²/(2σ_A²),
//
// so that a marginal moves the table only as far as its noise allows. λ is chosen by
// choose, from the observations and public sizes. The minimum is found by block
// ascent on the dual: each block, one marginal, is solved exactly.
func fit(ctx context.Context, s shape, total float64, stages [][]observed, choose chooser, report func(share float64)) ([]float64, []Stage, error) {
	x := make([]float64, s.cells)
	for i := range x {
		x[i] = max(1, total) / float64(s.cells)
	}
	var reports []Stage
	all, before := 0.0, 0.0 // marginals to fit, and those of stages that are over
	for _, marginals := range stages {
		all += float64(len(marginals))
	}
	for i, marginals := range stages {
		enough := nearby
		if i == len(stages)-1 {
			enough = settled
		}
		st := newStage(s, marginals)
		st.lambda = choose(ctx, x, marginals, st.layouts, s.sizes)
		went, err := st.solve(ctx, x, enough, func(share float64) {
			if report != nil {
				report((before + share*float64(len(marginals))) / all)
			}
		})
		if err != nil {
			return nil, nil, err
		}
		before += float64(len(marginals))
		reports = append(reports, went)
	}
	return x, reports, nil
}

// toTotal gives a fitted table the least-squares total of its release.
//
// A table of many cells that are nearly empty has too much in them, since none is
// negative. So one number is taken from every cell, down to 0 at most: the projection
// of the table onto those of the total (Michelot, "A Finite Algorithm for Finding the
// Projection of a Point onto the Canonical Simplex of Rⁿ", 1986). A table with too little
// is scaled.
func toTotal(x []float64, total float64) {
	taken := 0.0
	for cells := len(x) + 1; ; {
		sum, left := 0.0, 0
		for _, v := range x {
			if v > taken {
				sum, left = sum+v, left+1
			}
		}
		if taken == 0 && sum <= total {
			if sum > vanished {
				multiply(x, total/sum)
			}
			return
		}
		if left == 0 || left == cells {
			break
		}
		taken, cells = (sum-total)/float64(left), left
	}
	for i, v := range x {
		x[i] = max(0, v-taken)
	}
}

// stage is one stage of a fit at work.
type stage struct {
	marginals []observed
	layouts   []layout
	lambda    float64
	dual      [][]float64 // θ: the logarithm of what each cell of a marginal was scaled by
	sums      [][]float64 // scratch: the marginals of the table
	factors   [][]float64 // scratch: what the cells of the marginals are scaled by
}

func newStage(s shape, marginals []observed) *stage {
	st := &stage{marginals: marginals}
	for _, m := range marginals {
		st.layouts = append(st.layouts, s.layout(m.columns))
		st.dual = append(st.dual, make([]float64, len(m.cells)))
		st.sums = append(st.sums, make([]float64, len(m.cells)))
		st.factors = append(st.factors, make([]float64, len(m.cells)))
	}
	return st
}

// solve moves x to within a distance of the minimum.
//
// It ends by the duality gap. At the table of the dual variables θ the gap is
// Σ (M_A x − y_A + λσ_A²θ_A)²/(2σ_A²), over all cells of all marginals, and half the squared
// distance of the marginals from the optimal ones, in units of the noise, is at most the
// gap, by the strong convexity of the squares. Each block adds its term before it is solved.
//
// How many sweeps it takes is not known before. The share that is done is reported as if
// the logarithm of the distance fell evenly.
func (st *stage) solve(ctx context.Context, x []float64, enough float64, report func(share float64)) (Stage, error) {
	went := Stage{Order: len(st.marginals[0].columns), Lambda: st.lambda}
	cells := 0
	for _, m := range st.marginals {
		cells += len(m.cells)
	}
	sum(&st.layouts[0], x, st.sums[0])
	first, done := 0.0, 0.0
	for went.Sweeps < mostSweeps {
		scale := st.balance(st.sums[0])
		gap := 0.0
		for i := range st.marginals {
			if err := contextError(ctx); err != nil {
				return went, err
			}
			gap += st.block(i)
			if i == 0 {
				multiply(st.factors[0], scale)
			}
			next := (i + 1) % len(st.marginals)
			st.layouts[i].scaleAndSum(x, st.factors[i], &st.layouts[next], st.sums[next])
		}
		went.Sweeps, went.Distance = went.Sweeps+1, math.Sqrt(2*gap/float64(cells))
		if went.Distance <= enough {
			break
		}
		if went.Sweeps == 1 {
			first = went.Distance
		}
		done = max(done, float64(went.Sweeps)/mostSweeps, math.Log(first/went.Distance)/math.Log(first/enough))
		report(done)
	}
	report(1)
	return went, nil
}

// balance maximises the dual over numbers t_A, one for each marginal A, that θ_A grows by at
// every cell. This scales the whole table. It scales the given marginal of the table, and
// returns the factor for the rest.
//
// Counts are not negative and noise is. So what the marginals say of the total differs, and
// blocks alone negotiate it for up to a hundred sweeps.
//
// With T the table's total, n_A the cells of A, w_A = λσ_A²n_A and R_A = Σ (y_A − λσ_A²θ_A), the
// optimum has t_A = (R_A − T·e^s)/w_A and s = Σ t_A. So u = cT·e^s solves u + ln u = b + ln(cT), where
// b = Σ R_A/w_A and c = Σ 1/w_A.
func (st *stage) balance(sums []float64) float64 {
	total := 0.0
	for _, count := range sums {
		total += count
	}
	if total <= vanished {
		return 1
	}
	rests, weights := make([]float64, len(st.marginals)), make([]float64, len(st.marginals))
	b, c := 0.0, 0.0
	for i, m := range st.marginals {
		penalty := st.lambda * m.variance
		for j, y := range m.cells {
			rests[i] += y - penalty*st.dual[i][j]
		}
		weights[i] = penalty * float64(len(m.cells))
		b += rests[i] / weights[i]
		c += 1 / weights[i]
	}
	logTotal := math.Log(c * total)
	s := logOmega(b+logTotal) - logTotal
	part := min(1, longestStep/math.Abs(s))
	for i := range st.marginals {
		t := part * (rests[i] - total*math.Exp(s)) / weights[i]
		for j := range st.dual[i] {
			st.dual[i][j] += t
		}
	}
	scale := math.Exp(part * s)
	multiply(sums, scale)
	return scale
}

func multiply(values []float64, by float64) {
	for i := range values {
		values[i] *= by
	}
}

const (
	// vanished is the count below which a cell of a marginal stays as it is.
	vanished = 1e-300
	// longestStep bounds the logarithm of a factor. The dual is concave, so a shorter
	// step in the same direction ascends, too.
	longestStep = 50.0
)

// block finds the factors that solve the i-th marginal exactly, and returns the term of
// the duality gap that this removes.
//
// Where a cell of the marginal has the count m and the dual variable θ, the optimum
// u = k·z of the block solves u + ln u = ln(m k) + k·y − θ, where k = 1/(λσ²). So u is
// Wright's ω of the right-hand side (Corless and Jeffrey, "The Wright ω Function", 2002).
func (st *stage) block(i int) (gap float64) {
	m := &st.marginals[i]
	k := 1 / (st.lambda * m.variance)
	for c, count := range st.sums[i] {
		st.factors[i][c] = 1
		if count <= vanished {
			continue
		}
		logCount := math.Log(count * k)
		step := logOmega(logCount+k*m.cells[c]-st.dual[i][c]) - logCount
		step = min(max(step, -longestStep), longestStep)
		factor := math.Exp(step)
		st.dual[i][c] += step
		st.factors[i][c] = factor
		residual := count*(factor-1) + step/k
		gap += residual * residual / (2 * m.variance)
	}
	return gap
}

// logOmega returns v with v + e^v = z, the logarithm of Wright's ω(z).
func logOmega(z float64) float64 {
	if z < -40 {
		return z // e^v is lost beside v
	}
	v := z
	if z > 1 {
		v = math.Log(z - math.Log(z))
	}
	for range 60 { // Newton's method on a convex increasing function
		e := math.Exp(v)
		step := (v + e - z) / (1 + e)
		v -= step
		if math.Abs(step) <= 1e-14*(1+math.Abs(v)) {
			break
		}
	}
	return v
}

// chooser chooses λ of a stage from the table so far and the observed marginals.
// When ctx ends, what it returns is of no use.
type chooser func(ctx context.Context, x []float64, marginals []observed, layouts []layout, sizes []int) float64

const (
	// leastLambda bounds λ by risk. With 0.003, which was reached, flights at ε = 0.01 erred
	// by 77 in place of 45 over three columns, and simulations did not know. With 0.000001
	// small counts follow the noise.
	leastLambda = 0.0003
	// leastOfCells bounds λ by moments.
	leastOfCells = 0.003
	mostLambda   = 16
)

// disagreement is how an observed marginal and the table so far disagree, in the
// marginal's pure interaction, of which the earlier stages say nothing.
type disagreement struct {
	expected []float64 // the table's marginal
	squares  []float64 // the squared interaction of what is observed beyond it
	variance float64
	free     float64 // the interaction's share of a marginal's dimensions
}

func disagreements(ctx context.Context, x []float64, marginals []observed, layouts []layout, sizes []int) []disagreement {
	out := make([]disagreement, len(marginals))
	for i, m := range marginals {
		if ctx.Err() != nil {
			break
		}
		own := within(sizes, m.columns)
		d := disagreement{make([]float64, len(m.cells)), make([]float64, len(m.cells)), m.variance, freedom(own)}
		sum(&layouts[i], x, d.expected)
		for c, y := range m.cells {
			d.squares[c] = y - d.expected[c]
		}
		interaction(d.squares, own)
		for c, r := range d.squares {
			d.squares[c] = r * r
		}
		out[i] = d
	}
	return out
}

// byRisk chooses λ by Stein's unbiased estimate of risk (Stein, "Estimation of the Mean
// of a Multivariate Normal Distribution", 1981), pooled over the cells of a stage: the
// estimate s·ρ of an interaction observed as ρ with variance f·σ² has the risk
// (1−s)²ρ² + 2f·σ²s, up to a constant, and s = v/(v+σ²) where counts vary by v = m/λ.
func byRisk(ctx context.Context, x []float64, marginals []observed, layouts []layout, sizes []int) float64 {
	all := disagreements(ctx, x, marginals, layouts, sizes)
	least, best := math.Inf(1), float64(mostLambda)
	for lambda := float64(mostLambda); lambda >= leastLambda && ctx.Err() == nil; lambda /= math.Sqrt2 {
		risk := 0.0
		for _, d := range all {
			for c, m := range d.expected {
				v := m / lambda
				s := v / (v + d.variance)
				risk += (1-s)*(1-s)*d.squares[c] + 2*d.variance*d.free*s
			}
		}
		if risk < least {
			least, best = risk, lambda
		}
	}
	return best
}

// byMoments chooses the λ at which interactions vary as much as is observed: it fits
// the noise of identity releases, where Stein's estimate is too uncertain. Marginals
// weigh by their precision.
func byMoments(ctx context.Context, x []float64, marginals []observed, layouts []layout, sizes []int) float64 {
	expected, seen := 0.0, 0.0
	for _, d := range disagreements(ctx, x, marginals, layouts, sizes) {
		for c, m := range d.expected {
			expected += d.free * m / d.variance
			seen += d.squares[c]/d.variance - d.free
		}
	}
	if seen <= 0 {
		return mostLambda
	}
	return min(max(expected/seen, leastOfCells), mostLambda)
}
