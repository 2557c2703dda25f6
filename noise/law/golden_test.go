package law

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"dpsql/accounting/goldentest"
	"dpsql/noise/law/lawtest"
)

// TestGolden holds the laws to published and independently computed figures.
func TestGolden(t *testing.T) {
	lawful := func(get func(l Enclosed, in goldentest.Inputs) float64) goldentest.Check {
		return goldentest.Exact(func(in goldentest.Inputs) float64 { return get(goldenLaw(in, 1), in) })
	}
	pmf := lawful(func(l Enclosed, in goldentest.Inputs) float64 { return probability(l, int64(in.Number("k"))) })
	variance := lawful(func(l Enclosed, _ goldentest.Inputs) float64 { return l.Variance() })
	tail := lawful(func(l Enclosed, in goldentest.Inputs) float64 { return l.Tail(int64(in.Number("m"))) })
	delta := goldentest.Exact(hockeyStick)
	goldentest.Run(t, "noise", map[string]goldentest.Check{
		"discrete_laplace_pmf":       pmf,
		"discrete_gaussian_pmf":      pmf,
		"discrete_laplace_variance":  variance,
		"discrete_gaussian_variance": variance,

		"discrete_laplace_tail_P[X>=m]":        tail,
		"discrete_gaussian_tail_P[X>=m]":       tail,
		"discrete_gaussian_tail_P[X>=m]_upper": tail,
		"discrete_laplace_smallest_m_with_P[|X|>=m]<=alpha": lawful(func(l Enclosed, in goldentest.Inputs) float64 {
			return float64(HalfWidth(l, 1-in.Number("alpha")) + 1)
		}),
		"discrete_gaussian_entropy_bits_pmf_sum": lawful(func(l Enclosed, _ goldentest.Inputs) (sum float64) {
			for k := int64(-60); k <= 60; k++ {
				sum += probability(l, k)
			}
			return sum
		}),

		"laplace_quantile":      goldentest.Exact(quantile),
		"gaussian_quantile":     goldentest.Exact(quantile),
		"gaussian_ci_halfwidth": goldentest.Exact(halfWidth),
		"laplace_ci_lower":      goldentest.Exact(func(in goldentest.Inputs) float64 { return in.Number("x") - halfWidth(in) }),
		"laplace_ci_upper":      goldentest.Exact(func(in goldentest.Inputs) float64 { return in.Number("x") + halfWidth(in) }),

		"laplace_delta":                      delta,
		"discrete_laplace_delta":             delta,
		"discrete_laplace_privacy_loss_mass": lawful(lossMass),
	})
}

// goldenLaw returns the law of a fact, stretched so many times: of a continuous
// one, b or sigma, the discrete law at a stretch is the rounding.
func goldenLaw(in goldentest.Inputs, stretch int64) Enclosed {
	s := new(big.Rat).SetInt64(stretch)
	var l Law
	var err error
	switch {
	case in["scale"] != "":
		l, err = NewLaplace(s.Mul(s, quotientOf(in["scale"])))
	case in["b"] != "":
		l, err = NewLaplace(s.Mul(s, lawtest.Rat(in["b"])))
	case in["sigma"] != "":
		s.Mul(s, lawtest.Rat(in["sigma"]))
		l, err = NewGaussian(s.Mul(s, s))
	default:
		l, err = NewGaussian(s.Mul(s, s).Mul(s, lawtest.Rat(in["sigma2"])))
	}
	if err != nil {
		panic(err)
	}
	return l.(Enclosed)
}

// quotientOf reads "0.3" or "1/0.5".
func quotientOf(text string) *big.Rat {
	num, den, ok := strings.Cut(text, "/")
	if !ok {
		return lawtest.Rat(num)
	}
	return new(big.Rat).Quo(lawtest.Rat(num), lawtest.Rat(den))
}

// probability returns P(X = k) from the enclosures.
func probability(l Enclosed, k int64) float64 {
	const bits = 200
	p, share := l.within(max(k, -k), bits), 1.0
	if k != 0 {
		p, share = p.sub(l.within(max(k, -k)-1, bits)), 0.5
	}
	f, _ := new(big.Float).SetInt(p.lo).Float64()
	return math.Ldexp(f*share, -int(p.bits))
}

// fine is a stretch at which rounding is below the tolerance of every fact about
// quantiles of continuous laws.
const fine = 1e12

func halfWidth(in goldentest.Inputs) float64 {
	return float64(HalfWidth(goldenLaw(in, fine), 1-in.Number("alpha"))) / fine
}

func quantile(in goldentest.Inputs) float64 {
	p := in.Number("p")
	return math.Copysign(float64(HalfWidth(goldenLaw(in, fine), math.Abs(1-2*p)))/fine, p-0.5)
}

// hockeyStick returns the least δ of noise on a count that changes by sens. The
// likelihood ratio is monotone, so the best event is that of a tail.
func hockeyStick(in goldentest.Inputs) (delta float64) {
	stretch := int64(1)
	if in["b"] != "" {
		stretch = 20_000
	}
	l, sens := goldenLaw(in, stretch), stretch*int64(in.Number("sens"))
	delta = max(0, -math.Expm1(in.Number("eps"))) // of the certain event
	for k := -sens; k <= 2*sens; k++ {
		delta = max(delta, l.Tail(k-sens)-math.Exp(in.Number("eps"))*l.Tail(k))
	}
	return delta
}

// lossMass returns the probability of a privacy loss, in units of 1/scale, of
// noise on a count that grows by sens: (|X − sens| − |X|)/scale is the loss at X.
func lossMass(l Enclosed, in goldentest.Inputs) (mass float64) {
	sens, loss := int64(in.Number("sens")), int64(in.Number("loss"))
	for k := int64(-200); k <= 200; k++ {
		if abs(k-sens)-abs(k) == loss {
			mass += probability(l, k)
		}
	}
	return mass
}

func abs(k int64) int64 { return max(k, -k) }
