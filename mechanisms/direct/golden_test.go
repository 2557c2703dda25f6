package direct_test

import (
	"math/big"
	"strings"
	"testing"

	"dpsql/accounting/goldentest"
	"dpsql/mechanisms/direct"
)

// TestGolden holds the price of Gaussian noise to published figures.
func TestGolden(t *testing.T) {
	gaussian := func(in goldentest.Inputs) float64 { return in.Number("alpha") * rhoOfAll(in["sigma"]) }
	goldentest.Run(t, "mechanisms/direct", map[string]goldentest.Check{
		"gaussian_rho": goldentest.Exact(func(in goldentest.Inputs) float64 {
			sigma := rational(in["sigma"])
			return rhoOf(int64(in.Number("l2")), sigma.Mul(sigma, sigma))
		}),
		"rdp_gaussian":          goldentest.Exact(gaussian),
		"rdp_gaussian_composed": goldentest.Exact(gaussian),
		"rdp_discrete_gaussian_exact": goldentest.Above(func(in goldentest.Inputs) float64 {
			return in.Number("alpha") * rhoOf(1, rational(in["sigma2"]))
		}),
		"countsketch_sigma2_for_rho": goldentest.Exact(func(in goldentest.Inputs) float64 {
			sigma2, _ := direct.SigmaSquared(int64(in.Number("rho")*direct.Unit), 1).Float64()
			return in.Number("rows") * sigma2
		}),
	})
}

func rational(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("malformed number")
	}
	return x
}

// rhoOf is the cost at which SigmaSquared gives the noise: it is Δ²/(2ρ).
func rhoOf(sensitivity int64, sigma2 *big.Rat) float64 {
	one := direct.SigmaSquared(direct.Unit, sensitivity)
	cost, _ := one.Quo(one, sigma2).Float64()
	return cost
}

// rhoOfAll adds up the costs of several noises of sensitivity 1.
func rhoOfAll(sigmas string) (sum float64) {
	for text := range strings.SplitSeq(sigmas, ",") {
		sigma := rational(text)
		sum += rhoOf(1, sigma.Mul(sigma, sigma))
	}
	return sum
}
