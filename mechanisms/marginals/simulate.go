package marginals

import (
	"context"
	"math"
	"runtime"
	"sync"

	"dpsql/noise"
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
// tables from Poisson laws with the means of the fitted table, measures and perturbs their
// marginals, and fits each from scratch. The errors of these fits tell how large that of
// the release can be expected to be. Nothing private goes in but through the fitted table,
// so it is post-processing. Each simulation has a source of its own. It is called before
// the release is shared. ctx and report are those of Fit.
func (r *Release) Simulate(ctx context.Context, random func() *noise.Source, report func(share float64)) (err error) {
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
	all, errs := make([]simulation, simulations), make([]error, simulations)
	var work sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
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
			all[i], errs[i] = r.simulateOnce(ctx, by, done)
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

func (r *Release) simulateOnce(ctx context.Context, by simulator, report func(share float64)) (simulation, error) {
	drawn := make([]float64, len(r.table))
	for i, mean := range r.table {
		if i%manyCells == 0 && ctx.Err() != nil {
			return simulation{}, contextError(ctx)
		}
		drawn[i] = by.random.poisson(float64(mean))
	}
	again, err := by.again(ctx, drawn)
	if err != nil {
		return simulation{}, err
	}
	x, _, err := again.fit(ctx, report)
	if err != nil {
		return simulation{}, err
	}
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
func (r *Release) again(ctx context.Context, drawn []float64, src *noise.Source) (*Release, error) {
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
	if err := perturb(ctx, noisy, r.p.Law, src); err != nil {
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

// normal returns a draw from the standard normal law.
func (d *draws) normal() float64 {
	return math.Sqrt(-2*math.Log(d.uniform())) * math.Cos(2*math.Pi*d.uniform())
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
// to a query of these weights: t·√((1 + Σ squared errors)/B) + 1/2 over B simulations, where t
// is Student's for B degrees of freedom. The 1, a squared count, keeps what B simulations
// got right from being called exact. No theorem stands behind it. It is false
// where there are no simulations.
func (r *Release) simulatedMargin(columns []int, weights []float64, confidence float64) (float64, bool) {
	if len(r.simulated) == 0 {
		return 0, false
	}
	squares := 1.0
	for b := range r.simulated {
		e := 0.0
		for c, v := range r.errorMarginal(b, columns) {
			e += weights[c] * v
		}
		squares += e * e
	}
	return student(len(r.simulated), confidence)*math.Sqrt(squares/float64(len(r.simulated))) + 0.5, true
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
