package projection

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// gridQuantile returns w with P(|S| <= w) >= confidence for the sum S of the
// profile. It cuts the laws at C and counts the lost mass as outside. By
// Bernstein's inequality it bounds the probability that the sum of the cut laws
// lies beyond B, and counts that as outside. It then computes the law of the
// sum on a circle of more than 2B points from its Fourier transform. So far the
// promise is strict, up to rounding errors of about 1e-13.
//
// Where a step of 1 would need too many points, X is rounded away from 0 to a
// coarser grid. Values within one step of 0 become a normal law of the same
// variance instead. So rare jumps among many small errors cost little.
func (r *Release) gridQuantile(p profile) float64 {
	g := r.plan(p)
	return float64(g.step) * float64(r.invert(g, r.product(g, p), p.confidence+g.beyond, r.guess(g, p)))
}

// circle is the grid on which a law is transformed. C and the points are powers of
// two.
type circle struct {
	law    int
	step   int64 // counts a point
	cut    int64 // C, in steps
	points int   // of the circle
}

// grid is how the law of a sum is computed.
type grid struct {
	step   int64
	cuts   [2]int64 // by law
	bound  int64    // B, in steps
	beyond float64  // P(|S| > B) is at most this once the laws are cut
	points int
}

// maxPoints bounds the circle: 2^15 points take some milliseconds at first.
const maxPoints = 1 << 15

// plan chooses the grid. It starts with a step of at most a 64th of the law's
// spread, and gives away a 2^17th of the mass outside the confidence, or more,
// up to an eighth. If that is not enough, it takes larger steps.
func (r *Release) plan(p profile) grid {
	rest := 1 - p.confidence
	step := max(1, smallest(r.laws[0].tail, 0.3)/64)
	for lost := rest / (1 << 17); lost <= rest/8; lost *= 4 {
		if g := r.layout(p, step, lost); g.points <= maxPoints {
			return g
		}
	}
	for {
		step *= 2
		if g := r.layout(p, step, rest/32); g.points <= maxPoints {
			return g
		}
	}
}

// layout returns the grid that gives away the given mass, nine tenths of it by
// cutting. It leaves a grid of too many points unfinished.
func (r *Release) layout(p profile, step int64, lost float64) grid {
	g := grid{step: step, beyond: 0.1 * lost, points: 2 * maxPoints}
	var terms, variance, largest float64
	p.each(func(_, _ int, times float64) { terms += times })
	for law := range g.cuts {
		g.cuts[law] = 1
		for cut := smallest(r.laws[law].tail, 0.9*lost/terms); g.cuts[law]*step < cut; {
			if g.cuts[law] *= 2; g.cuts[law] > maxPoints {
				return g
			}
		}
	}
	p.each(func(law, f int, times float64) {
		jump := float64(f) * float64(g.cuts[law])
		largest = max(largest, jump)
		variance += times * float64(f*f) * r.gridVariance(law, step)
	})
	l := math.Log(2 / g.beyond)
	bound := math.Ceil(math.Sqrt(2*variance*l) + 2*largest*l/3)
	if 2*bound+1 >= maxPoints {
		return g
	}
	g.bound = int64(bound)
	for g.points = 2; int64(g.points) <= 2*g.bound+1; {
		g.points *= 2
	}
	return g
}

// gridVariance bounds the variance, in steps², of a law on the grid: rounding
// away from 0 adds less than one step to what is above one.
func (r *Release) gridVariance(law int, step int64) float64 {
	if step == 1 {
		return r.laws[law].variance
	}
	deviation := math.Sqrt(r.laws[law].variance)/float64(step) + 1
	return deviation * deviation
}

// transform returns the characteristic function of a law on a circle, at the
// first half of its points and the next one. The mass beyond the cut is lost.
func (r *Release) transform(c circle) []float64 {
	return remembered(r.widths, r.widths.transforms, maxTransforms, c, func() []float64 {
		mass, centre := discretise(r.laws[c.law].tail, c.step, c.cut)
		jumps := make([]float64, c.points)
		for i, m := range mass[1:] {
			jumps[(i+1)%c.points] += m / 2
			jumps[(c.points-(i+1)%c.points)%c.points] += m / 2
		}
		evenTransform(jumps)
		out := jumps[:c.points/2+1]
		for k := range out {
			w := 2 * math.Pi * float64(k) / float64(c.points)
			out[k] += mass[0] * math.Exp(-centre*w*w/2)
		}
		return out
	})
}

// product returns the characteristic function of the sum.
func (r *Release) product(g grid, p profile) []float64 {
	n := g.points
	out := make([]float64, n/2+1)
	for k := range out {
		out[k] = 1
	}
	p.each(func(law, f int, times float64) {
		one := r.transform(circle{law, g.step, g.cuts[law], n})
		for k := range out {
			at := f * k & (n - 1)
			out[k] *= power(one[min(at, n-at)], uint32(times))
		}
	})
	return out
}

// guess returns the quantile of a normal law of the same variance, in steps.
func (r *Release) guess(g grid, p profile) int64 {
	var variance float64
	p.each(func(law, f int, times float64) { variance += times * float64(f*f) * r.laws[law].variance })
	return int64(normalQuantile(p.confidence) * math.Sqrt(variance) / float64(g.step))
}

// invert returns the smallest w up to B with P(|S| <= w) >= target. It starts
// at a guess.
func (r *Release) invert(g grid, law []float64, target float64, guess int64) int64 {
	sines := remembered(r.widths, r.widths.sines, maxTransforms, g.points, func() []float64 { return sineTable(g.points) })
	enough := func(w int64) bool { return probabilityWithin(law, sines, w) >= target }
	low, high, step := int64(-1), g.bound, int64(1)
	for at := min(max(guess, 0), g.bound); low+1 < high; step *= 2 { // double the step until the answer is enclosed
		if enough(at) {
			high, at = at, at-step
		} else {
			low, at = at, at+step
		}
		if at <= low || at >= high {
			break
		}
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// sineTable returns sin(πj/n) for j = 0 … 2n − 1.
func sineTable(n int) []float64 {
	out := make([]float64, 2*n)
	for j := range out {
		out[j] = math.Sin(math.Pi * float64(j) / float64(n))
	}
	return out
}

// probabilityWithin returns P(|S| <= w) from the characteristic function on the circle, by
// Dirichlet's kernel.
func probabilityWithin(law, sines []float64, w int64) float64 {
	half := len(law) - 1
	n, mask := 2*half, 4*half-1
	odd := int(2*w + 1)
	sum := law[0] * float64(odd)
	for k := 1; k < half; k++ {
		sum += 2 * law[k] * sines[k*odd&mask] / sines[k]
	}
	sum += law[half] * sines[half*odd&mask]
	return sum / float64(n)
}

// discretise rounds |X| up to a grid, except values of at most one step. It
// returns the masses of the points 0 … cut, and the variance in steps² of the
// mass at point 0.
func discretise(tail func(int64) float64, step, cut int64) (mass []float64, centre float64) {
	mass = make([]float64, cut+1)
	first := int64(1) // the first point outside the centre
	if step > 1 {
		first = 2
	}
	from := tail((first-1)*step + 1)
	mass[0] = 1 - from
	if step > 1 && mass[0] > 0 {
		centre = centreVariance(tail, step) / mass[0]
	}
	for i := first; i <= cut; i++ {
		to := tail(i*step + 1)
		mass[i] = max(0, from-to)
		from = to
	}
	return mass, centre
}

// centreVariance returns E[X²; |X| <= step] in steps², |X| rounded up to one of at
// most 64 values.
func centreVariance(tail func(int64) float64, step int64) (variance float64) {
	part := (step + 63) / 64
	from := tail(1)
	for low := int64(0); low < step; low += part {
		high := min(low+part, step)
		to := tail(high + 1)
		at := float64(high) / float64(step)
		variance += max(0, from-to) * at * at
		from = to
	}
	return variance
}

// power returns x^n.
func power(x float64, n uint32) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

// smallest returns the smallest k with P(|X| > k) <= mass.
func smallest(tail func(int64) float64, mass float64) int64 {
	high := int64(1)
	for high < math.MaxInt64/4 && tail(high+1) > mass {
		high *= 2
	}
	low := int64(-1) // P(|X| > low) > mass, or low = −1
	for high-low > 1 {
		if mid := low + (high-low)/2; tail(mid+1) <= mass {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// evenTransform replaces a by Σ_j a[j]·cos(2πjk/n) for every k: the discrete
// Fourier transform of a sequence with a[j] = a[n−j], which is real. n is a power
// of two, at least 2.
//
// Pairs of neighbours are taken as complex numbers. The transform of this
// sequence of half the length contains those of the even and of the odd places.
func evenTransform(a []float64) {
	half := len(a) / 2
	c := make([]complex128, half)
	for i := range c {
		c[i] = complex(a[2*i], a[2*i+1])
	}
	roots := make([]complex128, half)
	for k := range roots {
		sin, cos := math.Sincos(-math.Pi * float64(k) / float64(half))
		roots[k] = complex(cos, sin)
	}
	fourier(c, roots)
	for k := range half {
		z, mirrored := c[k], cmplx.Conj(c[(half-k)%half])
		even, odd := z+mirrored, (z-mirrored)*-1i*roots[k]
		a[k], a[k+half] = real(even+odd)/2, real(even-odd)/2
	}
}

// fourier replaces a, whose length is a power of two, by its discrete Fourier
// transform (Cooley and Tukey 1965). roots are the first half of the roots of
// unity of twice the length.
func fourier(a, roots []complex128) {
	n := len(a)
	shift := 64 - bits.Len64(uint64(n-1))
	for i := range a {
		if j := int(bits.Reverse64(uint64(i)) >> shift); i < j {
			a[i], a[j] = a[j], a[i]
		}
	}
	for size := 2; size <= n; size *= 2 {
		half, stride := size/2, 2*n/size
		for start := 0; start < n; start += size {
			for k := range half {
				x, y := a[start+k], a[start+k+half]*roots[k*stride]
				a[start+k], a[start+k+half] = x+y, x-y
			}
		}
	}
}
