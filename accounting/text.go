package accounting

import (
	"math/big"
	"strings"

	"dpsql/sqlerr"
)

// MaxEpsilon is the largest ε that [ParseEpsilon] accepts: 1000 nats. A larger
// number is a typing error, not a guarantee.
const MaxEpsilon Epsilon = 1000 * epsilonUnits

// ParseEpsilon reads ε from a decimal such as 0.5, .5, 2 or 1e-6, exactly, and
// rounds it down to a whole unit of 1e-15. It returns an error with code
// invalid and a hint for a text that is no plain decimal number (NaN, Inf,
// hexadecimal, signs, the empty text), and for a number that is zero, less than
// a unit, or above [MaxEpsilon].
func ParseEpsilon(text string) (Epsilon, error) {
	units, err := parseAmount("epsilon", text, "0.5", MaxEpsilon.Rat())
	return Epsilon(units), err
}

// parseAmount reads a positive ε or ρ. Both have the same units and allow at
// most 1000.
func parseAmount(name, text, example string, most *big.Rat) (int64, error) {
	value, fault := parseDecimal(text)
	if fault == "" && value.Sign() == 0 {
		fault = "must be positive"
	}
	if fault == "" && value.Cmp(most) > 0 {
		fault = "is above 1000"
	}
	var units int64
	if fault == "" {
		units = floorUnits(value, epsilonUnits)
		if units == 0 {
			fault = "is below the unit of 1e-15"
		}
	}
	if fault != "" {
		return 0, refuse(name, text, fault, "give "+name+" as a decimal number between 1e-15 and 1000, such as "+example)
	}
	return units, nil
}

// ParseDelta reads δ from a decimal such as 1e-6 or 0, exactly, and rounds it
// down to a whole unit of 1e-18. 0 means pure differential privacy. It returns
// an error with code invalid and a hint for a text that is no plain decimal
// number, and for a number that is positive but less than a unit, or not below
// 1.
func ParseDelta(text string) (Delta, error) {
	value, fault := parseDecimal(text)
	if fault == "" && value.Cmp(one) >= 0 {
		fault = "must be below 1"
	}
	var units int64
	if fault == "" {
		units = floorUnits(value, deltaUnits)
		if units == 0 && value.Sign() > 0 {
			fault = "is below the unit of 1e-18"
		}
	}
	if fault != "" {
		return 0, refuse("delta", text, fault, "give delta as 0 or a decimal number from 1e-18 to below 1, such as 1e-6")
	}
	return Delta(units), nil
}

// MaxRho is the largest ρ that [ParseRho] accepts. It exceeds any sensible
// budget.
const MaxRho Rho = 1000 * rhoUnits

// ParseRho reads ρ from a decimal such as 0.001 or 1e-4, exactly, and rounds it
// down to a whole unit of 1e-15. It returns an error with code invalid and a
// hint for a text that is no plain decimal number, and for a number that is
// zero, less than a unit, or above [MaxRho]. The error calls the number by the
// given name.
func ParseRho(name, text string) (Rho, error) {
	units, err := parseAmount(name, text, "0.001", MaxRho.Rat())
	return Rho(units), err
}

// ParseShare reads a share of the budget, a decimal from 0 to 1 such as 0.5,
// exactly. Anything else is an error with code invalid and a hint.
func ParseShare(text string) (*big.Rat, error) {
	value, fault := parseDecimal(text)
	if fault == "" && value.Cmp(one) > 0 {
		fault = "is above 1"
	}
	if fault != "" {
		return nil, refuse("share", text, fault, "give a share as a decimal number from 0 to 1, such as 0.5")
	}
	return value, nil
}

var one = big.NewRat(1, 1)

func refuse(name, text, fault, hint string) error {
	const shown = 40
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return sqlerr.New(sqlerr.Invalid, "%s %q %s", name, text, fault).WithHint("%s", hint)
}

const (
	maxNumberLength = 100 // characters; the shortest exact forms need 25
	maxMagnitude    = 60  // powers of ten either side of 1
	noNumber        = "is not a plain decimal number"
)

// parseDecimal reads DIGITS [. DIGITS] [e [sign] DIGITS] exactly. fault is ""
// or completes the sentence "NAME TEXT …". parseDecimal bounds the size of the
// number before it builds it, so that 1e999999999 costs nothing.
func parseDecimal(text string) (value *big.Rat, fault string) {
	switch {
	case text == "":
		return nil, "is empty"
	case text[0] == '-':
		return nil, "must not be negative"
	case len(text) > maxNumberLength:
		return nil, "has too many digits"
	}
	mantissa, exponent, ok := splitExponent(text)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if !ok || digits == "" || !allDigits(digits) {
		return nil, noNumber
	}
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return new(big.Rat), ""
	}
	scale := exponent - len(fraction)
	switch magnitude := len(significant) + scale; {
	case magnitude > maxMagnitude:
		return nil, "is too large"
	case magnitude < -maxMagnitude:
		return nil, "is too small"
	}
	n, _ := new(big.Int).SetString(significant, 10)
	return scaled(n, scale), ""
}

// splitExponent splits at e or E. It cuts the exponent off at ±10^6, since only
// its sign matters beyond.
func splitExponent(text string) (mantissa string, exponent int, ok bool) {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return text, 0, true
	}
	digits, negative := text[at+1:], false
	if digits != "" && (digits[0] == '+' || digits[0] == '-') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	if digits == "" || !allDigits(digits) {
		return "", 0, false
	}
	for _, c := range []byte(digits) {
		exponent = min(exponent*10+int(c-'0'), 1_000_000)
	}
	if negative {
		exponent = -exponent
	}
	return text[:at], exponent, true
}

func allDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// scaled returns n · 10^scale.
func scaled(n *big.Int, scale int) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
	if scale >= 0 {
		return new(big.Rat).SetInt(n.Mul(n, power))
	}
	return new(big.Rat).SetFrac(n, power)
}
