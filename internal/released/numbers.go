package released

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Counts writes a half-width in counts.
func Counts(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Short writes a cost to two significant digits.
func Short(x float64) string { return strconv.FormatFloat(x, 'g', 2, 64) }

// Rounded writes an amount for a table that people read, to three significant digits.
func Rounded(x float64) string {
	if math.Abs(x) >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strings.Replace(strconv.FormatFloat(x, 'g', 3, 64), "e-0", "e-", 1)
}

// mostDigits is how many digits of a number people are shown.
const mostDigits = 9

// Digits writes a natural number for people: as 6.4·10¹⁷ if it has many digits. It leaves
// other texts alone.
func Digits(text string) string {
	if len(text) <= mostDigits || strings.Trim(text, "0123456789") != "" {
		return text
	}
	n, ok := new(big.Float).SetString(text)
	if !ok {
		return text
	}
	digits, exponent, _ := strings.Cut(n.Text('e', 1), "e+")
	return digits + "·10" + superscript.Replace(strings.TrimLeft(exponent, "0"))
}

var superscript = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
