package catalog

import (
	"strconv"
	"strings"
)

// shortDecimal writes units · 10^−places (units ≥ 0) with at most four
// significant digits, rounded up or down: 0.5, 12.35, 7.7e-4.
func shortDecimal(units int64, places int, up bool) string {
	if units == 0 {
		return "0"
	}
	scale, exponent := uint64(units), -places
	rounded := false
	for scale >= 10000 {
		rounded = rounded || scale%10 != 0
		scale, exponent = scale/10, exponent+1
	}
	if rounded && up {
		scale++ // 10000 still prints as one digit and zeros
	}
	for scale%10 == 0 {
		scale, exponent = scale/10, exponent+1
	}
	return placePoint(strconv.FormatUint(scale, 10), exponent)
}

// placePoint writes digits · 10^exponent, plainly unless it is small or large.
func placePoint(digits string, exponent int) string {
	point := len(digits) + exponent // digits before the point
	switch {
	case point < -2 || point > 9:
		mantissa := digits[:1]
		if len(digits) > 1 {
			mantissa += "." + digits[1:]
		}
		return mantissa + "e" + strconv.Itoa(point-1)
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	case exponent >= 0:
		return digits + strings.Repeat("0", exponent)
	}
	return digits[:point] + "." + digits[point:]
}
