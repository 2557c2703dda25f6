package projection

import "math"

// sumQuantile returns w with P(|S| <= w) >= confidence for the sum S of the
// profile, X symmetric with P(|X| >= k) = tail(k). The law is cut at C, where the
// lost mass counts as outside; the sum of what is left lies beyond B with a
// probability that counts as outside (Bernstein's inequality); the law of the
// sum on a circle of more than 2B points is then computed by Fourier transform.
// So far the promise is strict, up to rounding errors of about 1e-13.
//
// Where a step of 1 would need too many points, X is rounded away from 0 to a
// coarser grid, except what lies within one step of 0, which becomes a normal
// law of the same variance: rare jumps among many small errors cost little.
func sumQuantile(p profile, tail func(int64) float64) float64 {
	g := plan(p, tail)
	law := g.convolve(p)
	target := p.confidence + g.beyond
	inside := law[0]
	w := int64(0)
	for ; inside < target && w < g.bound; w++ {
		inside += 2 * law[w+1]
	}
	return float64(g.step) * float64(w)
}

// grid is how the law of a sum is computed.
type grid struct {
	step   int64     // counts a point
	mass   []float64 // of |X| by point, 0 … C
	centre float64   // variance, in steps², of what is at point 0
	bound  int64     // B, in steps
	beyond float64   // P(|S| > B) is at most this once the law is cut
	points int       // of the circle, a power of two
}

// maxPoints bounds the circle: 2^15 points take about 5 ms.
const maxPoints = 1 << 15

// plan chooses the grid. It gives away a 128th of what the confidence leaves, or
// up to an eighth rather than take a step above a 64th of the law's spread, and
// takes a larger step in the end.
func plan(p profile, tail func(int64) float64) grid {
	rest := 1 - p.confidence
	step := max(1, smallest(tail, 0.3)/64)
	for lost := rest / 128; lost <= rest/8; lost *= 4 {
		if g := layout(p, tail, step, lost); g.points <= maxPoints {
			return g
		}
	}
	for {
		step *= 2
		if g := layout(p, tail, step, rest/32); g.points <= maxPoints {
			return g
		}
	}
}

// layout returns the grid that gives away the given mass, nine tenths of it by
// cutting; one of too many points is left unfinished.
func layout(p profile, tail func(int64) float64, step int64, lost float64) grid {
	var terms, largest, squares float64
	for _, f := range p.factors() {
		largest = float64(f)
		terms += float64(p.times[f])
		squares += float64(p.times[f]) * largest * largest
	}
	g := grid{step: step, beyond: 0.1 * lost, points: 2 * maxPoints}
	cut := (smallest(tail, 0.9*lost/terms) + step - 1) / step
	if cut > maxPoints/2 {
		return g
	}
	variance := g.discretise(tail, cut)
	l := math.Log(2 / g.beyond)
	bound := math.Ceil(math.Sqrt(2*squares*variance*l) + 2*largest*float64(cut)*l/3)
	if 2*bound+1 >= maxPoints {
		return g
	}
	g.bound = int64(bound)
	for g.points = 2; int64(g.points) <= 2*g.bound+1; {
		g.points *= 2
	}
	return g
}

// discretise sets the masses of the points 0 … cut, to which |X| is rounded up
// save for what is at most one step, and returns the variance in steps².
func (g *grid) discretise(tail func(int64) float64, cut int64) float64 {
	g.mass = make([]float64, cut+1)
	first := int64(1) // the first point off the centre
	if g.step > 1 {
		first = 2
	}
	from := tail((first-1)*g.step + 1)
	g.mass[0] = 1 - from
	if g.step > 1 && g.mass[0] > 0 {
		g.centre = centre(tail, g.step) / g.mass[0]
	}
	variance := g.mass[0] * g.centre
	for i := first; i <= cut; i++ {
		to := tail(i*g.step + 1)
		g.mass[i] = max(0, from-to)
		variance += g.mass[i] * float64(i) * float64(i)
		from = to
	}
	return variance
}

// centre returns E[X²; |X| <= step] in steps², |X| rounded up to one of at most
// 64 values.
func centre(tail func(int64) float64, step int64) (variance float64) {
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

// convolve returns the law of the sum on the circle.
func (g *grid) convolve(p profile) []float64 {
	n := g.points
	jumps := make([]float64, n) // the law of X without its centre
	for i, m := range g.mass[1:] {
		jumps[(i+1)%n] += m / 2
		jumps[(n-(i+1)%n)%n] += m / 2
	}
	evenTransform(jumps)
	product := make([]float64, n)
	factors := p.factors()
	for k := range n/2 + 1 {
		v := 1 / float64(n)
		for _, f := range factors {
			v *= power(jumps[f*k&(n-1)]+g.centreAt(float64(f*k)), p.times[f])
		}
		product[k], product[(n-k)%n] = v, v
	}
	evenTransform(product)
	return product
}

// centreAt returns the part of the centre in the characteristic function of X
// at the given multiple of 2π over the circle.
func (g *grid) centreAt(k float64) float64 {
	if g.centre == 0 {
		return g.mass[0]
	}
	w := 2 * math.Pi * k / float64(g.points)
	return g.mass[0] * math.Exp(-g.centre*w*w/2)
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
