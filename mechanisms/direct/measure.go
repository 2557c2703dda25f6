// Package direct answers one count with discrete Gaussian noise, at the lowest
// cost that an accuracy allows. Any count will do, sparse or not.
//
// What it promises: take integer counts that one unit changes by at most Δ in ℓ2 norm.
// Answered with the noise of a Plan it is ρ-zCDP for ρ = Δ²/(2σ²) (Canonne,
// Kamath and Steinke 2020, "The Discrete Gaussian for Differential Privacy").
// The answer is within the plan's half-width of the count, at the requested
// confidence. What it does not: it neither charges nor counts. The caller must
// have paid for the plan before it calls Answer.
package direct

import (
	"math"
	"math/big"
	"sort"
	"sync"

	"dpsql/noise"
	"dpsql/noise/law"
)

// Unit is the number of units in a ρ of 1: like the ledger, plans count ρ in
// 10⁻¹⁵.
const Unit = 1e15

// MaxRho is the largest ρ considered, 4.5, in units. Its noise is nearly always
// 0.
const MaxRho = int64(1) << 52

// Request is the accuracy and the sensitivity of an answer, or of several answers that
// have one law.
type Request struct {
	Accuracy    float64 // half-width in counts, above 0
	Confidence  float64 // that the true count lies within it, in (0, 1)
	Sensitivity int64   // the most that one unit changes the count by, at least 1
	Answers     int64   // how many of the answers one unit changes by that much, at least 1; Δ is the sensitivity times the root
}

// Plan is the law and the cost of a direct answer.
type Plan struct {
	Rho   int64   // its cost, in units of ρ
	Law   law.Law // its noise: discrete Gaussian with σ² = Δ²/(2ρ), exactly
	Width int64   // its half-width, in counts
}

// PlanFor returns the cheapest plan for a request. It returns false when no
// noise is small enough.
func PlanFor(r Request) (Plan, bool) {
	wanted := int64(math.Min(r.Accuracy, 1<<52))
	try := func(units int64) (law.Law, bool) {
		l, err := law.NewGaussian(r.sigmaSquared(units))
		return l, err == nil && law.Within(l, wanted, r.Confidence)
	}
	units := 1 + int64(sort.Search(int(MaxRho), func(i int) bool {
		_, ok := try(int64(i) + 1)
		return ok
	}))
	l, ok := try(units)
	if !ok {
		return Plan{}, false
	}
	return Plan{units, l, law.HalfWidth(l, r.Confidence)}, true
}

// sigmaSquared returns σ² for ρ in Units.
func (r Request) sigmaSquared(units int64) *big.Rat {
	squared := SigmaSquared(units, r.Sensitivity)
	return squared.Mul(squared, new(big.Rat).SetInt64(r.Answers))
}

// SigmaSquared returns σ² = Δ²/(2ρ), in counts², for ρ in Units.
func SigmaSquared(units, sensitivity int64) *big.Rat {
	squared := new(big.Rat).SetInt64(sensitivity)
	squared.Mul(squared, squared)
	return squared.Quo(squared, big.NewRat(2*units, Unit))
}

// Answers adds noise to each count, in place. source returns a source for each. An error means that
// there is none, or that the random source failed; no draw may then be shown.
func (p Plan) Answers(counts []int64, source func() (*noise.Source, error)) error {
	each := noise.Of(p.Law)
	for i := range counts {
		src, err := source()
		if err != nil {
			return err
		}
		draw, err := each.Draw(src)
		if err != nil {
			return err
		}
		counts[i] += draw
	}
	return nil
}

// Answer returns the true count plus noise. An error means that the random
// source failed; no draw may then be shown.
func (p Plan) Answer(count int64, src *noise.Source) (int64, error) {
	draw, err := noise.Draw(p.Law, src)
	return count + draw, err
}

// Cumulative measures the numbers of rows at places in a row, so that the number of rows up
// to any place is known about as well as up to any other. The noise of one such number
// grows like the logarithm of the number of places.
//
// It factors the prefix sums (Fichtenberger, Henzinger and Upadhyay 2023, "Constant Matters:
// Fine-grained Error Bound on Differentially Private Continual Observation"). Let M have ones
// on and below its diagonal, so that Mx are the prefix sums of x. As formal power series
// 1/(1−z) is the square of Σ aₖzᵏ with aₖ = C(2k, k)/4ᵏ, so that M = A² for the triangular
// matrix A that has aₖ on its kth diagonal. Here rₖ is 256·aₖ rounded to an integer, R is the
// matrix that has rₖ in place of aₖ, and the measured numbers are Rx with noise. M·R⁻¹
// makes prefix sums of them. With rₖ in place of aₖ nothing is lost but less than a percent
// of the variance: R⁻¹ is that of R itself.
//
// Privacy. A row at a place adds one column of R to Rx. The first column has the largest ℓ2
// norm, s = √Σrₖ²: the others lack its last entries. A unit of at most L rows, at whatever
// places, therefore changes Rx by at most L·s in ℓ2 norm (triangle inequality). Rx is a
// vector of integers. Independent discrete Gaussian noise of one σ² on all of it is
// L²s²/(2σ²)-zCDP (Canonne, Kamath and Steinke 2020). The measured numbers of disjoint groups
// of rows are one vector: in it, too, a row adds one column. s is then that of the most
// places. What is computed from noisy numbers is post-processing.
//
// Error. Let φ be the density of Y, Gaussian with variance σ² ≥ 1, and let the discrete
// Gaussian X have P(X = k) = φ(k)/(1+e), where e = 2·Σexp(−2π²σ²k²) by Poisson summation. For
// each integer m ≥ 1
//
//	P(Y ≥ m) ≤ P(X ≥ m) ≤ P(Y ≥ m−1).
//
// The right side holds since φ(k) is at most the integral of φ from k−1 to k. For the left
// one, φ(k) is at least φ's integral from k to k+1 divided by c = ∫exp(−u²/(2σ²))du over
// [0, 1], so that P(X ≥ m) ≥ P(Y ≥ m)/(c(1+e)). As c ≤ 1 − 1/(6σ²) + 1/(40σ⁴) and
// e ≤ 3·exp(−2π²σ²), c(1+e) < 1. With |X| and |Y| the same quantiles of their
// laws, and one sign, X is therefore at most 1 from Y, and Σwⱼxⱼ for draws xⱼ exceeds a
// Gaussian of variance σ²Σwⱼ² by at most Σ|wⱼ|. Bound is the quantile of that Gaussian plus Σ|wⱼ|.
type Cumulative struct{ Places int64 }

// MaxPlaces is the largest number of places.
const MaxPlaces = 1 << 12

// factors has, for k below MaxPlaces, rₖ, and lₖ on the kth diagonal of M·R⁻¹. squares,
// lengths and norms have the sums of lₖ², |lₖ| and rₖ² below k.
type factors struct {
	r                [MaxPlaces]int64
	l                [MaxPlaces]float64
	squares, lengths [MaxPlaces + 1]float64
	norms            [MaxPlaces + 1]int64
}

// root returns the factors. The integers are the same on every machine: products and
// quotients of float64 are rounded once, by IEEE 754.
var root = sync.OnceValue(func() *factors {
	f := new(factors)
	a := 1.0
	for k := range f.r {
		if k > 0 {
			a = a * float64(2*k-1) / float64(2*k)
		}
		f.r[k] = int64(math.Round(256 * a))
		f.norms[k+1] = f.norms[k] + f.r[k]*f.r[k]
	}
	// Σlₖzᵏ is the inverse of (1−z)·Σrₖzᵏ.
	var g [MaxPlaces]float64
	for k := 1; k < MaxPlaces; k++ {
		g[k] = float64(f.r[k] - f.r[k-1])
	}
	for k := range f.l {
		sum := 0.0
		if k == 0 {
			sum = -1
		}
		for i := 1; i <= k; i++ {
			sum += g[i] * f.l[k-i]
		}
		f.l[k] = -sum / float64(f.r[0])
		f.squares[k+1] = f.squares[k] + f.l[k]*f.l[k]
		f.lengths[k+1] = f.lengths[k] + math.Abs(f.l[k])
	}
	return f
})

// Valid reports whether there are places, and no more than MaxPlaces.
func (c Cumulative) Valid() bool { return c.Places >= 1 && c.Places <= MaxPlaces }

// Measured returns the numbers to which noise is to be added, of the numbers of rows at the
// places.
func (c Cumulative) Measured(counts []int64) []int64 {
	f := root()
	out := make([]int64, len(counts))
	for j, n := range counts { // no shorter for a 0: the time says nothing
		for i := j; i < len(out); i++ {
			out[i] += n * f.r[i-j]
		}
	}
	return out
}

// PlanForCumulative returns the cheapest plan with which no Bound of each is larger than an
// accuracy, in rows, at the probability that goes with it. The Plan's Rho pays for all, which
// are over disjoint groups of rows. It returns false when no noise is small enough.
func PlanForCumulative(each []Cumulative, misses []float64, accuracy float64, sensitivity int64) (Plan, bool) {
	var norm int64
	sigma := math.Inf(1)
	for i, c := range each {
		two, one := c.most()
		norm = max(norm, root().norms[c.Places])
		sigma = min(sigma, (accuracy-one)/(two*normal(misses[i])))
	}
	units := math.Ceil(Unit * float64(sensitivity) * float64(sensitivity) * float64(norm) / (2 * sigma * sigma))
	if !(sigma >= 1) || !(units <= float64(MaxRho)) {
		return Plan{}, false
	}
	rho := max(1, int64(units))
	variance := SigmaSquared(rho, sensitivity)
	law, err := law.NewGaussian(variance.Mul(variance, new(big.Rat).SetInt64(norm)))
	if err != nil {
		return Plan{}, false
	}
	width := 0.0
	for i, c := range each {
		w, ok := c.Most(law, misses[i])
		if !ok {
			return Plan{}, false
		}
		width = max(width, w)
	}
	return Plan{rho, law, int64(min(width, 1<<52))}, true
}
