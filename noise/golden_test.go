package noise

import (
	"encoding/csv"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
)

// TestGolden checks published and independently computed figures; the source
// column of the file says where each comes from.
func TestGolden(t *testing.T) {
	file, err := os.Open("testdata/golden.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		id, quantity, inputs, expected, tolerance := row[0], row[1], row[2], row[3], row[4]
		t.Run(id, func(t *testing.T) { checkGolden(t, quantity, goldenInputs(inputs), rat(expected), tolerance) })
	}
	if len(rows) != 28 {
		t.Errorf("%d rows, want a header and 27 facts", len(rows))
	}
}

// goldenInputs reads "scale=1/0.5;k=-3 (remark)".
func goldenInputs(text string) map[string]string {
	text, _, _ = strings.Cut(text, " ")
	inputs := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		inputs[name] = value
	}
	return inputs
}

// quotientOf reads "0.3" or "1/0.5".
func quotientOf(text string) *big.Rat {
	num, den, ok := strings.Cut(text, "/")
	if !ok {
		return rat(num)
	}
	return new(big.Rat).Quo(rat(num), rat(den))
}

func goldenLaw(t *testing.T, inputs map[string]string) enclosed {
	t.Helper()
	var l Law
	var err error
	if scale, ok := inputs["scale"]; ok {
		l, err = NewLaplace(quotientOf(scale))
	} else {
		l, err = NewGaussian(quotientOf(inputs["sigma2"]))
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.(enclosed)
}

func checkGolden(t *testing.T, quantity string, inputs map[string]string, expected *big.Rat, tolerance string) {
	l := goldenLaw(t, inputs)
	integer := func(name string) int64 { return rat(inputs[name]).Num().Int64() }
	_, name, _ := strings.Cut(quantity, "_") // discrete_...
	_, name, _ = strings.Cut(name, "_")      // laplace_ or gaussian_
	var got float64
	switch name {
	case "pmf":
		got = probability(l, integer("k"))
	case "variance":
		got = l.Variance()
	case "tail_P[X>=m]", "tail_P[X>=m]_upper":
		got = l.Tail(integer("m"))
	case "smallest_m_with_P[|X|>=m]<=alpha":
		alpha, _ := rat(inputs["alpha"]).Float64()
		got = float64(HalfWidth(l, 1-alpha) + 1)
	case "entropy_bits_pmf_sum":
		for k := int64(-60); k <= 60; k++ {
			got += probability(l, k)
		}
	default:
		t.Fatalf("no check for %s", quantity)
	}
	checkTolerance(t, got, expected, tolerance)
}

// probability returns P(X = k) from the enclosures.
func probability(l enclosed, k int64) float64 {
	const bits = 200
	p, share := l.within(max(k, -k), bits), 1.0
	if k != 0 {
		p, share = p.sub(l.within(max(k, -k)-1, bits)), 0.5
	}
	f, _ := new(big.Float).SetInt(p.lo).Float64()
	return math.Ldexp(f*share, -int(p.bits))
}

func checkTolerance(t *testing.T, got float64, expected *big.Rat, tolerance string) {
	t.Helper()
	want, _ := expected.Float64()
	kind, size, _ := strings.Cut(tolerance, ":")
	off, ok := math.Abs(got-want), false
	switch kind {
	case "exact":
		ok = off == 0
	case "le":
		ok = got <= want
	case "abs", "rel":
		limit, _ := rat(size).Float64()
		if kind == "rel" {
			limit *= math.Abs(want)
		}
		ok = off <= limit
	default:
		t.Fatalf("tolerance %q", tolerance)
	}
	if !ok {
		t.Errorf("got %.17g, want %.17g (%s)", got, want, tolerance)
	}
}
