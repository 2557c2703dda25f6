package accounting

import (
	"math/big"
	"strings"
)

const (
	maxNumberLength = 100 // characters; the shortest exact forms need 25
	maxMagnitude    = 60  // powers of ten either side of 1
	noNumber        = "is not a plain decimal number"
)

// parseDecimal reads DIGITS [. DIGITS] [e [sign] DIGITS] exactly. The fault is
// "" or ends the sentence "NAME TEXT …". The size of the number is bounded
// before it is built, so that 1e999999999 costs nothing.
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

// splitExponent splits at e or E. The exponent is cut off at ±10^6, beyond
// which only its sign matters.
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
