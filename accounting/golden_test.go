package accounting

import (
	"math"
	"math/big"
	"sort"
	"strings"
	"testing"

	"dpsql/accounting/goldentest"
)

// TestGolden holds this package to published and independently computed figures.
func TestGolden(t *testing.T) {
	goldentest.Run(t, "accounting", map[string]goldentest.Check{
		"cdp_eps":          goldentest.Exact(func(in goldentest.Inputs) float64 { return EpsilonOf(rhoOf(in, "rho"), deltaOf(in)) }),
		"cdp_rho":          goldentest.Exact(func(in goldentest.Inputs) float64 { return RhoFor(epsilonOf(in), deltaOf(in)).Float() }),
		"cdp_delta":        goldentest.Exact(deltaOfRho),
		"cdp_eps_sum_of_2": goldentest.Exact(twiceFixedDelta),
		"cdp_eps_standard": goldentest.Below(func(in goldentest.Inputs) float64 { return EpsilonOf(rhoOf(in, "rho"), deltaOf(in)) }),
		"rdp_to_eps_gaussian": goldentest.Exact(func(in goldentest.Inputs) float64 {
			return EpsilonOf(gaussianRho(sigma2Of(in)), deltaOf(in))
		}),
		"rdp_to_eps_single_order":         goldentest.Exact(epsilonAtOrder),
		"rdp_to_eps_single_order_mironov": goldentest.Below(epsilonAtOrder),

		"pure_to_zcdp_plus_gaussian_rho": goldentest.Exact(pureAndGaussian),
		"rdp_laplace":                    goldentest.Above(pureRenyi),
		"rdp_laplace_kl":                 goldentest.Above(pureRenyi),
		"rdp_discrete_laplace":           goldentest.Above(pureRenyi),

		"analytic_gaussian_sigma":           goldentest.Exact(func(in goldentest.Inputs) float64 { return analytic(in) * sensitivityOf(in) }),
		"classical_minus_analytic_sigma":    goldentest.Exact(classicalMinusAnalytic),
		"gaussian_delta":                    goldentest.Exact(composedDelta),
		"gaussian_delta_composed":           goldentest.Exact(composedDelta),
		"gaussian_delta_of_classical_sigma": goldentest.Exact(composedDelta),
		"gaussian_epsilon":                  goldentest.Exact(composedEpsilon),
		"gaussian_eps_composed":             goldentest.Exact(composedEpsilon),

		"discrete_gaussian_delta":               goldentest.Exact(discreteDelta),
		"discrete_gaussian_sigma_for_eps_delta": goldentest.Exact(discreteSigma),

		"pure_composed_eps":                 goldentest.Exact(sumOfEpsilons),
		"laplace_composed_max_eps":          goldentest.Exact(sumOfEpsilons),
		"discrete_laplace_composed_max_eps": goldentest.Exact(sumOfEpsilons),
		"optimal_composition_eps":           goldentest.Above(pureComposed),
		"pure_dp_eps_composed":              goldentest.Above(pureComposed),
		"laplace_eps_composed":              goldentest.Above(pureComposed),
		"laplace_eps_composed_upper_kov":    goldentest.Above(pureComposed),
	})
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func must2[T any](x T, ok bool) T {
	if !ok {
		panic("malformed number")
	}
	return x
}

func ratOf(text string) *big.Rat             { return must2(new(big.Rat).SetString(text)) }
func ratFloat(r *big.Rat) float64            { f, _ := r.Float64(); return f }
func epsilonOf(in goldentest.Inputs) Epsilon { return must(ParseEpsilon(in["eps"])) }
func deltaOf(in goldentest.Inputs) Delta     { return must(ParseDelta(in["delta"])) }

func rhoOf(in goldentest.Inputs, name string) Rho {
	if in[name] == "0" { // no epsilon
		return 0
	}
	return Rho(must(ParseEpsilon(in[name]))) // the same unit
}

func sigma2Of(in goldentest.Inputs) *big.Rat {
	sigma := ratOf(in["sigma"])
	return sigma.Mul(sigma, sigma)
}

// sensitivityOf is the ℓ2 sensitivity: given, or √l0·linf.
func sensitivityOf(in goldentest.Inputs) float64 {
	return in.Or("l2", math.Sqrt(in.Or("l0", 1))*in.Or("linf", 1))
}

// deltaOfRho is the least δ at which EpsilonOf is at most ε.
func deltaOfRho(in goldentest.Inputs) float64 {
	rho, epsilon := rhoOf(in, "rho"), in.Number("eps")
	if EpsilonOf(rho, 0) <= epsilon {
		return 0
	}
	low, high := Delta(0), Delta(deltaUnits) // ε holds at high
	for high-low > 1 {
		if mid := low + (high-low)/2; EpsilonOf(rho, mid) <= epsilon {
			high = mid
		} else {
			low = mid
		}
	}
	return high.Float()
}

func twiceFixedDelta(in goldentest.Inputs) float64 {
	return 2 * EpsilonOf(rhoOf(in, "rho_each"), must(ParseDelta(in["delta_each"])))
}

// epsilonAtOrder is what EpsilonOf minimises over orders λ, at λ = alpha, of a
// Rényi divergence rdp instead of ρλ.
func epsilonAtOrder(in goldentest.Inputs) float64 {
	u := in.Number("alpha") - 1
	tail, _ := tailTerm(logInverse(deltaOf(in)), u)
	return in.Number("rdp") - math.Log1p(1/u) + tail
}

// pureRho returns the least ρ that pays for one ε-private step, ε²/2.
func pureRho(e Epsilon) Rho {
	return Rho(sort.Search(1<<62, func(units int) bool { return RunEpsilon(Rho(units), 1) >= e }))
}

// gaussianRho is 1/(2σ²) rounded up, the cost of the noise for sensitivity 1.
func gaussianRho(sigma2 *big.Rat) Rho {
	rho := new(big.Rat).Quo(big.NewRat(rhoUnits, 2), sigma2)
	return Rho(saturate(ceilQuo(rho.Num(), rho.Denom())))
}

func pureAndGaussian(in goldentest.Inputs) float64 {
	pure := Amount{Rho: pureRho(must(ParseEpsilon(in["laplace_eps"])))}
	return must2(pure.Add(Amount{Rho: gaussianRho(sigma2Of(in))})).Rho.Float()
}

// pureRenyi is ρα, at least the Rényi divergence of Laplace noise.
func pureRenyi(in goldentest.Inputs) float64 {
	return in.Number("alpha") * in.Or("k", 1) * pureRho(Epsilon(epsilonUnits/in.Or("b", 1))).Float()
}

func analytic(in goldentest.Inputs) float64 {
	return continuousSigma(epsilonOf(in), deltaOf(in))
}

func classicalMinusAnalytic(in goldentest.Inputs) float64 {
	return math.Sqrt(2*math.Log(1.25/in.Number("delta")))/in.Number("eps") - analytic(in)
}

// composedSigma is the σ of sensitivity 1 that k noises together are worth.
func composedSigma(in goldentest.Inputs) float64 {
	return in.Number("sigma") / sensitivityOf(in) / math.Sqrt(in.Or("k", 1))
}

func composedDelta(in goldentest.Inputs) float64 {
	return gaussianDelta(in.Number("eps"), composedSigma(in))
}

// composedEpsilon is the ε at which gaussianDelta is δ.
func composedEpsilon(in goldentest.Inputs) float64 {
	_, epsilon := bisect(1e-3, 1e3, func(epsilon float64) bool { return gaussianDelta(epsilon, composedSigma(in)) > in.Number("delta") })
	return epsilon
}

func discreteDelta(in goldentest.Inputs) float64 {
	return exactDelta(in.Number("eps"), in.Number("sigma2"), []int{int(in.Number("sens"))})
}

// discreteSigma is the least σ at which the exact δ is within the one asked for,
// which DiscreteSigmaSquared must not be below.
func discreteSigma(in goldentest.Inputs) float64 {
	shift := int(in.Number("sens"))
	_, sigma := bisect(0.1, 100, func(sigma float64) bool {
		return exactDelta(in.Number("eps"), sigma*sigma, []int{shift}) > in.Number("delta")
	})
	sound := must(DiscreteSigmaSquared(epsilonOf(in), deltaOf(in), Vector{1, int64(shift * shift)}))
	if ratFloat(sound) < sigma*sigma*(1-1e-9) {
		panic("DiscreteSigmaSquared gives too little noise")
	}
	return sigma
}

// sumOfEpsilons adds up what "1+2" lists, or ε = a or 1/b of "a=1 x3, a=0.5 x2",
// three of 1 and two of 0.5.
func sumOfEpsilons(in goldentest.Inputs) float64 {
	var total Amount
	add := func(epsilon float64, times int) {
		for range times {
			total = must2(total.Add(Amount{Epsilon: Epsilon(epsilon * epsilonUnits)}))
		}
	}
	if in["eps"] != "" {
		for e := range strings.SplitSeq(in["eps"], "+") {
			add(goldentest.Number(e), 1)
		}
	}
	for name, epsilon := range map[string]func(float64) float64{"a": func(a float64) float64 { return a }, "b": func(b float64) float64 { return 1 / b }} {
		for part := range strings.SplitSeq(in[name], ", "+name+"=") {
			if of, times, ok := strings.Cut(part, " x"); ok {
				add(epsilon(goldentest.Number(of)), int(goldentest.Number(times)))
			}
		}
	}
	return total.Epsilon.Float()
}

// pureComposed is the lesser of what the two accounts charge for k steps of pure
// differential privacy: the sum of their ε, or the ε at δ of the sum of their ρ.
func pureComposed(in goldentest.Inputs) float64 {
	each := in.Or("eps0", in.Or("eps", 1/in.Or("b", 1)))
	k := in.Number("k")
	rho := Rho(k) * pureRho(Epsilon(each*epsilonUnits))
	delta := must(ParseDelta(in["delta"]))
	if total, ok := in["total_delta"]; ok {
		delta = must(ParseDelta(total))
	}
	return min(k*each, EpsilonOf(rho, delta))
}
