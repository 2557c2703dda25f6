package accounting

import (
	"math/big"
	"strconv"
	"strings"
)

// Epsilon is a privacy parameter ε in units of 1e-15 nats.
type Epsilon int64

// Delta is a privacy parameter δ, a probability, in units of 1e-18.
type Delta int64

// Rho is a zCDP parameter ρ ([BS16], Definition 1.1) in units of 1e-15.
type Rho int64

// Rat returns ε in nats, exactly.
func (e Epsilon) Rat() *big.Rat { return big.NewRat(int64(e), epsilonUnits) }

// Rat returns δ, exactly.
func (d Delta) Rat() *big.Rat { return big.NewRat(int64(d), deltaUnits) }

// Rat returns ρ, exactly.
func (r Rho) Rat() *big.Rat { return big.NewRat(int64(r), rhoUnits) }

// Float returns ε in nats, correct to one part in 2^52: for display and for
// predictions, not for charging.
func (e Epsilon) Float() float64 { return float64(e) / epsilonUnits }

// Float returns δ, correct to one part in 2^52: for display and for
// predictions, not for charging.
func (d Delta) Float() float64 { return float64(d) / deltaUnits }

// Float returns ρ, correct to one part in 2^52: for display and for
// predictions, not for charging.
func (r Rho) Float() float64 { return float64(r) / rhoUnits }

// String returns ε in nats as the shortest exact decimal: plain from 1e-4 up
// ("0.5"), scientific below ("2.5e-6"). [ParseEpsilon] reads it back.
func (e Epsilon) String() string { return decimalString(int64(e), 15) }

// String returns δ as the shortest exact decimal, in the form of
// [Epsilon.String]. [ParseDelta] reads it back.
func (d Delta) String() string { return decimalString(int64(d), 18) }

// String returns ρ as the shortest exact decimal, in the form of
// [Epsilon.String].
func (r Rho) String() string { return decimalString(int64(r), 15) }

// decimalString writes n · 10^-places without trailing zeros.
func decimalString(n int64, places int) string {
	if n == 0 {
		return "0"
	}
	sign, digits := "", strconv.FormatInt(n, 10)
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	point := len(digits) - places // digits before the decimal point; may be negative
	digits = strings.TrimRight(digits, "0")
	switch {
	case point < -3:
		return sign + scientific(digits, point-1)
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case len(digits) <= point:
		return sign + digits + strings.Repeat("0", point-len(digits))
	}
	return sign + digits[:point] + "." + digits[point:]
}

func scientific(digits string, exponent int) string {
	mantissa := digits[:1]
	if len(digits) > 1 {
		mantissa += "." + digits[1:]
	}
	return mantissa + "e" + strconv.Itoa(exponent)
}
