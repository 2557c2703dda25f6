package accounting

import (
	"math/big"
	"testing"
)

// TestBigFunctions holds the reference functions to published digits, so that
// the tests that lean on them stand on something.
func TestBigFunctions(t *testing.T) {
	cases := []struct {
		name string
		got  *big.Float
		want string
	}{
		{"pi", bigPi(bigPrecision), "3.14159265358979323846264338327950288419716939937510582097494459230781640629"},
		{"e", bigExp(bigFloat(bigPrecision, 1)), "2.71828182845904523536028747135266249775724709369995957496696762772407663035"},
		{"ln 2", bigLn(bigFloat(bigPrecision, 2)), "0.69314718055994530941723212145817656807550013436025525412068000949339362196"},
		{"ln 10", bigLn(bigFloat(bigPrecision, 10)), "2.30258509299404568401799145468436420760110148862877297603332790096757260967"},
		{"Phi(-1)", bigPhi(bigFloat(bigPrecision, -1)), "0.158655253931457051414767454367962077522087"},
		{"Phi(-10)", bigPhi(bigFloat(bigPrecision, -10)), "7.61985302416052606597337e-24"},
	}
	for _, c := range cases {
		want, _, err := big.ParseFloat(c.want, 10, 300, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		gap := new(big.Float).Quo(new(big.Float).Sub(c.got, want), want)
		limit := big.NewFloat(1)
		for range significantDigits(c.want) - 2 {
			limit.Quo(limit, big.NewFloat(10))
		}
		if gap.Abs(gap).Cmp(limit) > 0 {
			t.Errorf("%s = %.75g, off by %.3g of it", c.name, c.got, gap)
		}
	}
}

func significantDigits(s string) (n int) {
	for _, c := range s {
		switch {
		case c == 'e':
			return n
		case c >= '1' && c <= '9' || c == '0' && n > 0:
			n++
		}
	}
	return n
}
