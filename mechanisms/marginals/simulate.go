package marginals

import (
	"context"
	"math"
	"runtime"
	"sync"

	"dpsql/noise/coin"
	"dpsql/sqlerr"
)

// simulations is how many times a fit is simulated: the least for which Student's t
// does not cost much width.
const simulations = 8

// simulation is the error of one simulated fit at each cell, in steps. It is rounded to
// one of the two nearest multiples of the step at random, without bias, so that sums over
// many cells stay right.
type simulation struct {
	step   float64 // counts
	errors []int16
}

// finestStep is the step of simulated errors where they fit 16 bits.
const finestStep = 1.0 / 64

// Simulate repeats what the release is, so that answers get a simulated margin: it draws
// tables that the fitted one may have been fitted to (see truth), measures and perturbs
// their marginals, and fits each from scratch. The errors of these fits tell how large that
// of the release can be expected to be. Nothing private goes in but through the fitted table
// and how it was fitted, so it is post-processing. Each simulation has a source of its own.
// It is called before the release is shared. ctx and report are those of Fit.
func (r *Release) Simulate(ctx context.Context, random func() *coin.Source, report func(share float64)) (err error) {
	r.simulated, err = r.simulations(ctx, report, func(int) simulator {
		src := random()
		return simulator{&draws{src: src}, func(ctx context.Context, drawn []float64) (*Release, error) { return r.again(ctx, drawn, src) }}
	})
	return err
}

// simulator is what one simulation draws from, and how it measures a table that it drew.
type simulator struct {
	random *draws
	again  func(ctx context.Context, drawn []float64) (*Release, error)
}

func (r *Release) simulations(ctx context.Context, report func(share float64), each func(i int) simulator) ([]simulation, error) {
	if r.staged == nil {
		return nil, sqlerr.New(sqlerr.Internal, "a release is simulated by the process that fitted it")
	}
	lost, err := r.lost(ctx)
	if err != nil {
		return nil, err
	}
	all, errs := make([]simulation, simulations), make([]error, simulations)
	var work sync.WaitGroup
	slots := make(chan struct{}, min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	var mu sync.Mutex
	shares := make([]float64, simulations)
	for i := range all {
		by := each(i)
		done := func(share float64) {
			mu.Lock()
			defer mu.Unlock()
			shares[i] = share
			sum := 0.0
			for _, s := range shares {
				sum += s
			}
			report(sum / simulations)
		}
		if report == nil {
			done = nil
		}
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i], errs[i] = r.simulateOnce(ctx, lost, by, done)
		})
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// roughness is what a fit took away of the marginal over some columns: the counts of a
// true table may vary by so much more about those of the fitted one than Poisson draws do.
type roughness struct {
	layout layout
	shape  []float64 // of the gamma law for each cell; 0 where there is nothing to add
}

const (
	// leastShape bounds the spread of a gamma law of mean 1: its standard deviation is at
	// most 1/√leastShape. A few simulations do not show how wide a law of a longer tail is.
	leastShape = 4
	// mostSpread bounds the relative variance that the laws of all marginals together give a
	// cell of the table, in the mean over the rows. Releases of more than 1,000 rows at ε = 1
	// do not reach it.
	mostSpread = 2
)

// lost returns what the fit may have taken away.
//
// A table drawn from Poisson laws about the fitted one is smoother than the true table,
// and its fit errs less. The fit goes by a model, from which it chose λ: a count that the
// earlier stages expect to be m varies by v = m/λ, of which the noise σ_A² leaves it the share
// s = v/(v+σ_A²). About the fitted count the true one then varies by (1−s)·v. The part of it
// that is above m, the variance of a Poisson draw, is lost.
func (r *Release) lost(ctx context.Context) (all []roughness, err error) {
	lambda := make(map[int]float64) // by columns of a marginal
	for _, s := range r.stages {
		lambda[s.Order] = s.Lambda
	}
	spread := 0.0
	for _, k := range r.ordered() {
		part := r.parts[k]
		if len(part.columns) == 0 {
			continue
		}
		if err := contextError(ctx); err != nil {
			return nil, err
		}
		l := r.shape.layout(part.columns)
		shapes := make([]float64, l.size)
		sum(&l, r.staged, shapes)
		rows, weighted := 0.0, 0.0
		for c, m := range shapes {
			v := m / lambda[len(part.columns)]
			variance := v*part.variance/(v+part.variance) - m
			shapes[c] = 0
			if m > vanished && variance > 0 {
				shapes[c] = max(leastShape, m*m/variance)
				weighted += m / shapes[c]
			}
			rows += m
		}
		if weighted > 0 {
			all, spread = append(all, roughness{l, shapes}), spread+weighted/rows
		}
	}
	if spread > mostSpread {
		for _, rough := range all {
			for c := range rough.shape {
				rough.shape[c] *= spread / mostSpread
			}
		}
	}
	return all, nil
}

// truth draws a table that the fitted one may have been fitted to: the cells of each
// marginal are multiplied by gamma variables of mean 1, which bring what was lost, and those
// of the table are drawn from Poisson laws of these means. It starts from the last stage, as
// Fit scales it, and not from the fitted table: what the total takes from small cells is lost, too, and a fit to
// a drawn table loses it again.
func (r *Release) truth(ctx context.Context, lost []roughness, random *draws) ([]float64, error) {
	table := make([]float64, len(r.table))
	for i, mean := range r.staged {
		table[i] = float64(mean)
	}
	for _, rough := range lost {
		if err := contextError(ctx); err != nil {
			return nil, err
		}
		factors := make([]float64, len(rough.shape))
		for c, shape := range rough.shape {
			factors[c] = 1
			if shape > 0 {
				factors[c] = random.gamma(shape) / shape
			}
		}
		rough.layout.scale(table, factors)
	}
	for i, mean := range table {
		if i%manyCells == 0 && ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		table[i] = random.poisson(mean)
	}
	return table, nil
}

func (r *Release) simulateOnce(ctx context.Context, lost []roughness, by simulator, report func(share float64)) (simulation, error) {
	drawn, err := r.truth(ctx, lost, by.random)
	if err != nil {
		return simulation{}, err
	}
	again, err := by.again(ctx, drawn)
	if err != nil {
		return simulation{}, err
	}
	x, _, err := again.fit(ctx, report)
	if err != nil {
		return simulation{}, err
	}
	toTotal(x, max(1, again.total()))
	for i := range x {
		x[i] -= drawn[i]
	}
	s := by.random.quantised(x)
	if by.random.failed {
		return simulation{}, noRandomness()
	}
	return s, nil
}

// again measures the marginals of a drawn table, and draws their noise.
func (r *Release) again(ctx context.Context, drawn []float64, src *coin.Source) (*Release, error) {
	noisy := make([][]int64, len(r.p.Sets))
	for i, set := range r.p.Sets {
		if err := contextError(ctx); err != nil {
			return nil, err
		}
		l := r.shape.layout(set)
		sums := make([]float64, l.size)
		sum(&l, drawn, sums)
		noisy[i] = make([]int64, l.size)
		for c, s := range sums {
			noisy[i][c] = int64(s)
		}
	}
	fill := coin.InBulk(r.p.Law)
	if err := perturb(ctx, noisy, func(draws []int64) error { return fill(draws, src) }); err != nil {
		return nil, err
	}
	return newRelease(ctx, r.u, r.p, noisy)
}

// draws draws for a simulation. It notes if the source failed.
type draws struct {
	src    interface{ Uint64() (uint64, error) }
	failed bool
}

// uniform returns a draw from (0, 1).
func (d *draws) uniform() float64 {
	bits, err := d.src.Uint64()
	d.failed = d.failed || err != nil
	return (float64(bits>>12) + 0.5) / (1 << 52)
}

// normal returns a draw from the standard normal law.
func (d *draws) normal() float64 {
	return math.Sqrt(-2*math.Log(d.uniform())) * math.Cos(2*math.Pi*d.uniform())
}

// gamma draws from the gamma law of a shape of at least 1 and of scale 1 (Marsaglia and
// Tsang, "A Simple Method for Generating Gamma Variables", 2000).
func (d *draws) gamma(shape float64) float64 {
	a := shape - 1.0/3
	for !d.failed {
		x := d.normal()
		v := 1 + x/math.Sqrt(9*a)
		v = v * v * v
		if v > 0 && math.Log(d.uniform()) < x*x/2+a*(1-v+math.Log(v)) {
			return a * v
		}
	}
	return shape
}

// quantised rounds errors to steps.
func (d *draws) quantised(errors []float64) simulation {
	largest := 0.0
	for _, e := range errors {
		largest = max(largest, math.Abs(e))
	}
	s := simulation{max(finestStep, largest/(math.MaxInt16-1)), make([]int16, len(errors))}
	for i, e := range errors {
		s.errors[i] = int16(math.Floor(e/s.step + d.uniform()))
	}
	return s
}

// poisson draws from a Poisson law: by counting arrivals, and where the mean is large from
// the normal law that it is near.
func (d *draws) poisson(mean float64) float64 {
	const large, most = 64, 1000
	if mean > large {
		return max(0, math.Round(mean+math.Sqrt(mean)*d.normal()))
	}
	n := 0
	for at := -math.Log(d.uniform()); at < mean && n < most; n++ {
		at -= math.Log(d.uniform())
	}
	return float64(n)
}

// simulatedMargin returns the half-width that the simulations suggest for the fitted answer
// to a query of these weights: w·t·√((1 + Σ squared errors)/B) + 1/2 over B simulations, where t
// is Student's for B degrees of freedom. The 1, a squared count, keeps what B simulations
// got right from being called exact, and w is the widening. It is false where there are no
// simulations.
//
// No theorem stands behind it. It takes for granted that the true table lies about the
// fitted one as truth draws it.
func (r *Release) simulatedMargin(columns []int, weights []float64, confidence float64) (float64, bool) {
	if len(r.simulated) == 0 {
		return 0, false
	}
	squares := r.simulatedSquares(columns, weights)
	return r.widening()*student(len(r.simulated), confidence)*math.Sqrt(squares/float64(len(r.simulated))) + 0.5, true
}

// simulatedSquares returns 1 + Σ squared errors over the simulations.
func (r *Release) simulatedSquares(columns []int, weights []float64) float64 {
	squares := 1.0
	for b := range r.simulated {
		e := 0.0
		for c, v := range r.errorMarginal(b, columns) {
			e += weights[c] * v
		}
		squares += e * e
	}
	return squares
}

// widening returns 1 + max(12, 8√σ)/√n, at most 3, where n is the estimated number of rows and
// σ the standard deviation of the noise in a measured cell: the fewer rows there are, and the
// more noise, the less is known of the table that is simulated. The 12 was chosen on parts of
// Adult, flights and PUMS, the 8 on Adult and flights at ε = 0.1 and 0.01; what they give
// elsewhere is measured in bench/results/margins.txt.
func (r *Release) widening() float64 {
	return 1 + min(2, max(12, 8*math.Sqrt(math.Sqrt(r.p.Sigma2)))/math.Sqrt(max(1, r.total())))
}

// student returns t with P(|T| <= t) = confidence for Student's law of an even number of
// degrees of freedom, whose distribution function is a finite sum (Abramowitz and Stegun,
// 26.7.4).
func student(freedom int, confidence float64) float64 {
	within := func(t float64) float64 {
		theta := math.Atan(t / math.Sqrt(float64(freedom)))
		term, sum := 1.0, 1.0
		for k := 2; k < freedom; k += 2 {
			term *= float64(k-1) / float64(k) * math.Cos(theta) * math.Cos(theta)
			sum += term
		}
		return math.Sin(theta) * sum
	}
	low, high := 0.0, 1.0
	for within(high) < confidence && high < 1e12 {
		high *= 2
	}
	for range 100 {
		if mid := (low + high) / 2; within(mid) < confidence {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
