package direct

import (
	"math"
	"math/big"
	"strings"
	"sync"

	"dpsql/noise/law"
)

// Split returns the numbers of rows at the places up to one, and behind it, by the noisy
// numbers. They are not biased.
func (c Cumulative) Split(noisy []int64, place int64) (below, above float64) {
	f := root()
	last := c.Places - 1
	all := 0.0
	for j, n := range noisy {
		all += f.l[last-int64(j)] * float64(n)
		if int64(j) <= place {
			below += f.l[place-int64(j)] * float64(n)
		}
	}
	return below, all - below
}

// together returns Σlₖlₖ₊₍last−place₎, the covariance of the numbers of rows up to a place
// and in all, by σ².
func (c Cumulative) together(place int64) (sum float64) {
	f := root()
	shift := c.Places - 1 - place
	for i, x := range f.l[:place+1] {
		sum += x * f.l[int64(i)+shift]
	}
	return sum
}

// spread returns the ℓ2 norm and a bound on the ℓ1 norm of the weights of the noise in
// (1−q)·below − q·above.
func (c Cumulative) spread(place int64, q float64) (two, one float64) {
	f := root()
	square := f.squares[place+1] + q*(q*f.squares[c.Places]-2*c.together(place))
	return math.Sqrt(max(0, square)), f.lengths[place+1] + q*f.lengths[c.Places]
}

// spreads has the largest spread by number of places.
var spreads sync.Map

// most returns the largest spread of any place and q in [0, 1]. The variance is convex in q,
// so that it is largest for one of the two numbers.
func (c Cumulative) most() (two, one float64) {
	one = 2 * root().lengths[c.Places]
	if v, ok := spreads.Load(c.Places); ok {
		return v.(float64), one
	}
	for place := range c.Places {
		for q := range 2 {
			x, _ := c.spread(place, float64(q))
			two = max(two, x)
		}
	}
	spreads.Store(c.Places, two)
	return two, one
}

// Bound returns a width that the error of (1−q)·below − q·above at a place exceeds with
// at most a probability on each side. It returns false for noise that is not discrete
// Gaussian with σ² ≥ 1.
func (c Cumulative) Bound(law law.Law, place int64, q, miss float64) (float64, bool) {
	variance, ok := sigmaSquared(law)
	two, one := c.spread(place, q)
	return math.Sqrt(variance)*two*normal(miss) + one, ok && variance >= 1
}

// Most returns the largest Bound of any place and q.
func (c Cumulative) Most(law law.Law, miss float64) (float64, bool) {
	variance, ok := sigmaSquared(law)
	two, one := c.most()
	return math.Sqrt(variance)*two*normal(miss) + one, ok && variance >= 1
}

// normal returns what a Gaussian of variance 1 exceeds with a probability.
func normal(miss float64) float64 { return math.Sqrt2 * math.Erfcinv(2*miss) }

// sigmaSquared returns the σ² of a law of Gaussian noise, which may be more than its variance.
func sigmaSquared(law law.Law) (float64, bool) {
	text, ok := strings.CutPrefix(law.String(), "dgauss(")
	r, ok2 := new(big.Rat).SetString(strings.TrimSuffix(text, ")"))
	if !ok || !ok2 {
		return 0, false
	}
	f, _ := r.Float64()
	return f, true
}
