package accounting

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
)

// goldenInputs are a row's inputs. Its accessors panic on a malformed row; the
// test reports that as a failure of the row.
type goldenInputs map[string]string

func (in goldenInputs) number(name string) float64 { return goldenNumber(in[name]) }

func (in goldenInputs) or(name string, otherwise float64) float64 {
	if _, ok := in[name]; !ok {
		return otherwise
	}
	return in.number(name)
}

func (in goldenInputs) epsilon() Epsilon { return must(ParseEpsilon(in["eps"])) }
func (in goldenInputs) delta() Delta     { return must(ParseDelta(in["delta"])) }

func (in goldenInputs) rho(name string) Rho {
	return Rho(must(ParseEpsilon(in[name]))) // the same unit
}

// sensitivity is the ℓ2 sensitivity: given, or √(l0)·linf.
func (in goldenInputs) sensitivity() float64 {
	return in.or("l2", math.Sqrt(in.or("l0", 1))*in.or("linf", 1))
}

func (in goldenInputs) sigma2() *big.Rat {
	sigma := must2(new(big.Rat).SetString(in["sigma"]))
	return sigma.Mul(sigma, sigma)
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

// goldenNumber reads a number or one of the two expressions that the file uses.
func goldenNumber(s string) float64 {
	switch s {
	case "ln(3)":
		return math.Log(3)
	case "sqrt(2 ln(1.25/0.1))/8":
		return math.Sqrt(2*math.Log(12.5)) / 8
	}
	return must(strconv.ParseFloat(s, 64))
}

func ratFloat(r *big.Rat) float64 { f, _ := r.Float64(); return f }

// goldenQuantities are what this package computes, by the file's names.
var goldenQuantities = map[string]func(goldenInputs) float64{
	"cdp_eps": func(in goldenInputs) float64 { return EpsilonOf(in.rho("rho"), in.delta()) },
	"cdp_rho": func(in goldenInputs) float64 { return RhoFor(in.epsilon(), in.delta()).Float() },
	"cdp_eps_sum_of_2": func(in goldenInputs) float64 {
		delta, _, _ := strings.Cut(in["delta_each"], " ")
		return 2 * EpsilonOf(in.rho("rho_each"), must(ParseDelta(delta)))
	},
	"gaussian_rho": func(in goldenInputs) float64 {
		return GaussianRho(int64(in.number("l2")), in.sigma2()).Float()
	},
	"pure_to_zcdp_plus_gaussian_rho": func(in goldenInputs) float64 {
		pure := Amount{Rho: PureRho(must(ParseEpsilon(in["laplace_eps"])))}
		total := must2(pure.Add(Amount{Rho: GaussianRho(1, in.sigma2())}))
		return total.Rho.Float()
	},
	"countsketch_sigma2_for_rho": func(in goldenInputs) float64 {
		rows := new(big.Rat).SetFloat64(in.number("rows"))
		return ratFloat(rows.Mul(rows, must(SigmaSquaredForRho(1, in.rho("rho")))))
	},
	"analytic_gaussian_sigma": func(in goldenInputs) float64 {
		return ratFloat(must(AnalyticSigma(in.epsilon(), in.delta()))) * in.sensitivity()
	},
	"classical_minus_analytic_sigma": func(in goldenInputs) float64 {
		classical := math.Sqrt(2*math.Log(1.25/in.number("delta"))) / in.number("eps")
		return classical - ratFloat(must(AnalyticSigma(in.epsilon(), in.delta())))
	},
	"gaussian_delta": func(in goldenInputs) float64 {
		return gaussianDelta(in.number("eps"), in.number("sigma")/in.sensitivity())
	},
	"gaussian_delta_of_classical_sigma": func(in goldenInputs) float64 {
		return gaussianDelta(in.number("eps"), in.number("sigma"))
	},
	"pure_composed_eps": func(in goldenInputs) float64 {
		var total Amount
		for _, e := range strings.Split(in["eps"], "+") {
			total = must2(total.Add(Amount{Epsilon: must(ParseEpsilon(e))}))
		}
		return total.Epsilon.Float()
	},
}

// TestGolden runs every row of the golden file whose quantity this package
// computes, and fails when a quantity has no row left.
func TestGolden(t *testing.T) {
	file, err := os.Open("../testdata/golden/accounting.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, row := range rows[1:] {
		id, quantity, inputs, expected, tolerance := row[0], row[1], row[2], row[3], row[4]
		if compute, ok := goldenQuantities[quantity]; ok {
			ran[quantity]++
			if err := runGolden(compute, inputs, expected, tolerance); err != nil {
				t.Errorf("%s: %s(%s): %v", id, quantity, inputs, err)
			}
		}
	}
	total := 0
	for quantity := range goldenQuantities {
		if ran[quantity] == 0 {
			t.Errorf("no row of %s", quantity)
		}
		total += ran[quantity]
	}
	t.Logf("ran %d of %d rows: %v", total, len(rows)-1, ran)
}

func runGolden(compute func(goldenInputs) float64, inputs, expected, tolerance string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("row cannot be run: %v", r)
		}
	}()
	in := goldenInputs{}
	for _, pair := range strings.Split(inputs, ";") {
		name, value, _ := strings.Cut(pair, "=")
		in[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	got, want := compute(in), goldenNumber(expected)
	if !goldenWithin(got, want, tolerance) {
		return fmt.Errorf("got %.17g, want %.17g (%s)", got, want, tolerance)
	}
	return nil
}

func goldenWithin(got, want float64, tolerance string) bool {
	kind, size, _ := strings.Cut(tolerance, ":")
	switch kind {
	case "exact":
		return got == want
	case "abs":
		return math.Abs(got-want) <= goldenNumber(size)
	case "rel":
		return math.Abs(got-want) <= goldenNumber(size)*math.Abs(want)
	case "le":
		return got <= want
	case "ge":
		return got >= want
	}
	panic("unknown tolerance " + tolerance)
}
