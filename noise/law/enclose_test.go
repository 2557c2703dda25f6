package law

import (
	"math"
	"math/big"
	"testing"

	"dpsql/noise/law/lawtest"
)

// holds reports whether x lies in a, and how many bits wide a is at most.
func holds(a Interval, x *big.Float) bool {
	scaled := lawtest.Float(0).SetMantExp(x, int(a.bits))
	return lawtest.Float(0).SetInt(a.lo).Cmp(scaled) <= 0 && lawtest.Float(0).SetInt(a.hi).Cmp(scaled) >= 0
}

func width(a Interval) int { return new(big.Int).Sub(a.hi, a.lo).BitLen() }

func TestExpNegEncloses(t *testing.T) {
	for _, text := range []string{"0", "1/1000000000000000000000", "1/3", "1", "5/2", "100", "299", "1000"} {
		x := lawtest.Rat(text)
		want := lawtest.ExpNeg(x)
		for _, bits := range []uint{16, 64, 300, 1100} {
			got := expNeg(x, bits)
			if !holds(got, want) || width(got) > 3 {
				t.Errorf("expNeg(%s, %d) = [%d, %d], not a narrow enclosure of %g", text, bits, got.lo, got.hi, want)
			}
		}
	}
}

func TestPiEncloses(t *testing.T) {
	const digits = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
	for _, bits := range []uint{20, 128, 320} {
		got := pi(bits)
		if !holds(got, lawtest.Float(0).SetRat(lawtest.Rat(digits))) || width(got) > 3 {
			t.Errorf("pi(%d) = [%d, %d]", bits, got.lo, got.hi)
		}
	}
}

func TestBernoulliNumbers(t *testing.T) {
	b := bernoulliNumbers(12)
	for n, want := range map[int]string{0: "1", 2: "1/6", 4: "-1/30", 6: "1/42", 8: "-1/30", 10: "5/66", 12: "-691/2730"} {
		if b[n].Cmp(lawtest.Rat(want)) != 0 {
			t.Errorf("B%d = %s, want %s", n, b[n], want)
		}
	}
}

// TestIntervalSigns multiplies intervals of all signs and compares with the
// extreme products of their ends.
func TestIntervalSigns(t *testing.T) {
	const bits = 4
	for code := range 7 * 7 * 7 * 7 {
		v := [4]int64{}
		for i := range v {
			v[i], code = int64(code%7-3)*5, code/7
		}
		if v[0] > v[1] || v[2] > v[3] {
			continue
		}
		a := Interval{big.NewInt(v[0]), big.NewInt(v[1]), bits}
		b := Interval{big.NewInt(v[2]), big.NewInt(v[3]), bits}
		p := []float64{float64(v[0] * v[2]), float64(v[0] * v[3]), float64(v[1] * v[2]), float64(v[1] * v[3])}
		lo := math.Floor(min(p[0], p[1], p[2], p[3]) / 16)
		hi := math.Ceil(max(p[0], p[1], p[2], p[3]) / 16)
		if got := a.mul(b); float64(got.lo.Int64()) != lo || float64(got.hi.Int64()) != hi {
			t.Errorf("%v times %v = [%d, %d], want [%v, %v]", v[:2], v[2:], got.lo, got.hi, lo, hi)
		}
	}
}

func TestIntervalDivisionAndRoot(t *testing.T) {
	a := Interval{big.NewInt(16), big.NewInt(33), 4} // [1, 33/16]
	b := Interval{big.NewInt(48), big.NewInt(49), 4} // [3, 49/16]
	if q := a.div(b); q.lo.Int64() != 5 || q.hi.Int64() != 11 {
		t.Errorf("quotient [%d, %d], want [5, 11]", q.lo, q.hi)
	}
	if r := a.sqrt(); r.lo.Int64() != 16 || r.hi.Int64() != 23 {
		t.Errorf("root [%d, %d], want [16, 23]", r.lo, r.hi)
	}
	if r := a.round(1); r.lo.Int64() != 2 || r.hi.Int64() != 5 {
		t.Errorf("rounded to [%d, %d], want [2, 5]", r.lo, r.hi)
	}
}

// TestEnclosuresAgainstSums compares both forms of P(|X| <= k), and for the
// Gaussian both ways to compute it, with sums of exact weights.
func TestEnclosuresAgainstSums(t *testing.T) {
	for text, n := range map[string]int{
		"dlap(1/100)": 20, "dlap(3/10)": 60, "dlap(5/2)": 200, "dlap(10)": 300, "dgauss(1/4)": 20, "dgauss(17/3)": 60,
		"dgauss(255)": 200, "dgauss(256)": 200, "dgauss(1501/2)": 300,
	} {
		l := mustParse(t, text)
		tails := lawtest.Tails(l, n+1, 10*n)
		for _, bits := range []uint{64, 200} {
			k := 0
			for _, p := range l.Cumulative(bits) {
				want := lawtest.Float(1)
				want.Sub(want, tails[k+1]).Sub(want, tails[k+1])
				if !holds(p, want) || width(p) > int(p.bits-bits) {
					t.Fatalf("%s: cumulative at %d with %d bits is no narrow enclosure", text, k, bits)
				}
				if k%10 == 0 {
					if q := l.within(int64(k), bits); !holds(q, want) || width(q) > 8 {
						t.Fatalf("%s: within at %d with %d bits is no narrow enclosure of %.40g", text, k, bits, want)
					}
				}
				if k++; k > n {
					break
				}
			}
		}
	}
}
