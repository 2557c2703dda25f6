package audit

import (
	"math"
	"math/big"
	"testing"

	"dpsql/accounting"
	"dpsql/accounting/goldentest"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise/law"
)

// TestGolden compares thresholds, and the sparse vector technique in its six forms,
// with published and independently computed figures. Figures of continuous laws are
// compared with those of the discrete law that is their rounding, on a lattice so fine
// that its errors are below the figures' tolerances.
func TestGolden(t *testing.T) {
	checks := map[string]func(testing.TB, goldentest.Inputs) float64{
		"discrete_laplace_threshold_delta": func(t testing.TB, in goldentest.Inputs) float64 { return thresholdDelta(t, in, 1) },
		"laplace_threshold_delta":          func(t testing.TB, in goldentest.Inputs) float64 { return thresholdDelta(t, in, 1e12) },
		"laplace_threshold_delta_opendp":   func(t testing.TB, in goldentest.Inputs) float64 { return thresholdDelta(t, in, 1e12) },
		"gaussian_threshold_delta":         func(t testing.TB, in goldentest.Inputs) float64 { return thresholdDelta(t, in, 1e12) },
		"laplace_partition_threshold":      partitionThreshold,
		"gaussian_partition_threshold":     partitionThreshold,
		"smallest_discrete_laplace_a":      smallestRate,

		"svt_alg1_P_above_single_query": aboveAtOnce,
		"svt_alg3_log_density_ratio":    densityLoss,
		"svt_alg4_log_ratio":            func(t testing.TB, in goldentest.Inputs) float64 { return loss(t, in, 4, 6, 4) },
		"svt_alg5_event_prob_D":         func(t testing.TB, in goldentest.Inputs) float64 { return belowAbove(t, in, 0, 1) },
		"svt_alg5_event_prob_Dprime":    func(t testing.TB, in goldentest.Inputs) float64 { return belowAbove(t, in, 1, 0) },
		"svt_alg6_log_ratio":            withoutCutoff,
	}
	all := make(map[string]goldentest.Check)
	for quantity, get := range checks {
		all[quantity] = goldentest.Exact(func(in goldentest.Inputs) float64 { return get(t, in) })
	}
	all["svt_alg4_log_ratio_upper_bound"] = goldentest.Below(func(in goldentest.Inputs) float64 {
		return loss(t, in, 4, int(in.Number("l")), int(in.Number("c")))
	})
	all["svt_alg6_log_ratio_lower_bound"] = goldentest.Above(func(in goldentest.Inputs) float64 { return withoutCutoff(t, in) })
	// The scales of a run are rounded to 20 bits, and their ratio with them.
	all["svt_optimal_eps2_over_eps1_general"] = goldentest.Check{Get: func(goldentest.Inputs) float64 { return runRatio(t) }, Rule: "rel:4e-6"}
	goldentest.Run(t, "internal/audit", all)
}

// goldenLaw returns the noise of a golden figure about thresholds, with lattice points
// to one. Its scale or sigma is given, or follows from its ε.
func goldenLaw(t testing.TB, in goldentest.Inputs, lattice float64) law.Law {
	t.Helper()
	linf := in.Or("linf", 1)
	switch {
	case in["scale"] != "":
		return dlap(t, lattice*in.Number("scale"))
	case in["sigma"] != "":
		return dgauss(t, lattice*in.Number("sigma"))
	case in["noise_delta"] != "":
		return dgauss(t, lattice*linf*gaussianSigma(in.Number("eps"), in.Number("noise_delta")))
	}
	return dlap(t, lattice*linf/in.Number("eps"))
}

// gaussianSigma is the smallest σ of sensitivity 1 at which the continuous Gaussian
// mechanism is (ε, δ)-private (Balle and Wang 2018, Theorem 8).
func gaussianSigma(epsilon, delta float64) float64 {
	low, high := 1e-3, 1e3
	for range 100 {
		sigma := (low + high) / 2
		half, lift := 1/(2*sigma), epsilon*sigma
		if math.Erfc((lift-half)/math.Sqrt2)/2-math.Exp(epsilon)*math.Erfc((lift+half)/math.Sqrt2)/2 > delta {
			low = sigma
		} else {
			high = sigma
		}
	}
	return high
}

func dgauss(t testing.TB, sigma float64) law.Law {
	t.Helper()
	s := new(big.Rat).SetFloat64(sigma)
	l, err := law.NewGaussian(s.Mul(s, s))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// partitionThreshold returns the threshold of one cell. Threshold is for units of L
// rows that may fill L cells, and so takes L times the δ.
func partitionThreshold(t testing.TB, in goldentest.Inputs) float64 {
	const lattice = 1e12
	unit := lattice * in.Number("linf")
	delta := in.Or("threshold_delta", in.Or("delta", 0))
	return float64(projection.Threshold(goldenLaw(t, in, lattice), int64(unit), unit*delta)) / lattice
}

// thresholdDelta returns the smallest δ, of one cell, at which a count is published
// only above a threshold.
func thresholdDelta(t testing.TB, in goldentest.Inputs, lattice float64) float64 {
	law, unit := goldenLaw(t, in, lattice), lattice*in.Number("linf")
	above := int64(lattice*in.Number("threshold")) + 1
	low, high := -700.0, 0.0 // ln δ
	for range 70 {
		if mid := (low + high) / 2; projection.Threshold(law, int64(unit), unit*math.Exp(mid)) <= above {
			high = mid
		} else {
			low = mid
		}
	}
	return math.Exp(high)
}

// smallestRate returns 1/scale of the noise of k answers of pure privacy.
func smallestRate(t testing.TB, in goldentest.Inputs) float64 {
	law, err := laplaceFor(accounting.Epsilon(1e15*in.Number("eps")/in.Number("k")), int64(in.Number("sens")))
	if err != nil {
		t.Fatal(err)
	}
	return math.Log(law.Tail(1) / law.Tail(2))
}

// runRatio returns ε₂/ε₁ of a run of the private test.
func runRatio(t testing.TB) float64 {
	p, err := smw.Plan(request(1, 8, 1, oneEpsilon))
	if err != nil {
		t.Fatal(err)
	}
	ratio, _ := new(big.Rat).Quo(p.Eps2, p.Eps1).Float64()
	return ratio
}

// fine returns the probability that the algorithm with continuous noise answers with
// the pattern. On a lattice, the mean of the probability with ties as ⊤ and that with
// ties as ⊥ errs by a series of even powers of the lattice's width. Two widths cancel
// all terms below the fourth power.
func fine(t testing.TB, number, c int, epsilon float64, lattice int64, queries []float64, pattern []bool) float64 {
	on := func(lattice int64) float64 {
		s := algorithm(t, number, epsilon/float64(lattice), c)
		ties, none := make([]int64, len(queries)), make([]int64, len(queries))
		for i, q := range queries {
			ties[i] = int64(q) * lattice
			none[i] = ties[i] - 1
		}
		return (s.chance(ties, pattern, 0) + s.chance(none, pattern, 0)) / 2
	}
	return (4*on(2*lattice) - on(lattice)) / 3
}

func aboveAtOnce(t testing.TB, in goldentest.Inputs) float64 {
	return fine(t, 1, int(in.Number("c")), in.Number("eps"), 40, []float64{in.Number("q") - in.Number("T")}, []bool{true})
}

func belowAbove(t testing.TB, in goldentest.Inputs, first, second float64) float64 {
	return fine(t, 5, 0, in.Number("eps"), 100, []float64{first, second}, []bool{false, true})
}

// loss returns the loss of ⊥ … ⊥ ⊤ … ⊤ if all queries are 0 in D, and 1 … 1 −1 … −1 in
// D′.
func loss(t testing.TB, in goldentest.Inputs, number, belows, tops int) float64 {
	pattern := sequence(belows, false, tops, true)
	in0 := fine(t, number, tops, in.Number("eps"), 15, make([]float64, belows+tops), pattern)
	return math.Log(in0 / fine(t, number, tops, in.Number("eps"), 15, sequence(belows, 1.0, tops, -1.0), pattern))
}

func withoutCutoff(t testing.TB, in goldentest.Inputs) float64 {
	m := int(in.Number("m"))
	return loss(t, in, 6, m, m)
}

// densityLoss returns the loss of m times ⊥ and then the number 0, for queries that are
// 0 in D and, all but the last, 1 in D′. It is the same on any lattice.
func densityLoss(t testing.TB, in goldentest.Inputs) float64 {
	m := int(in.Number("m"))
	s := algorithm(t, 3, in.Number("eps"), int(in.Number("c")))
	density := func(first int64) float64 {
		queries, pattern := sequence(m, first, 1, 0), sequence(m, false, 1, true)
		return s.chance(queries, pattern, 0) - s.chance(queries, pattern, -1)
	}
	return math.Log(density(0) / density(1))
}
