package catalog_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"dpsql/catalog"
)

func TestShortDecimal(t *testing.T) {
	for _, c := range []struct {
		units  int64
		places int
		up     bool
		want   string
	}{
		{0, 15, true, "0"}, {5e14, 15, true, "0.5"}, {1e15, 15, false, "1"}, {2e15, 15, true, "2"}, {12e15, 15, true, "12"},
		{7700000000000, 15, true, "0.0077"}, {770000000000, 15, true, "7.7e-4"}, {1e12, 18, true, "1e-6"}, {1, 15, true, "1e-15"},
		{123456, 3, true, "123.5"}, {123456, 3, false, "123.4"}, {999999, 3, true, "1000"}, {999999, 3, false, "999.9"},
		{99999, 0, true, "100000"}, {1000e15 - 1, 15, false, "999.9"}, {1234567, 0, false, "1234000"}, {1, 18, true, "1e-18"}, {math.MaxInt64, 0, true, "9.224e18"},
	} {
		if got := catalog.ShortDecimal(c.units, c.places, c.up); got != c.want {
			t.Errorf("shortDecimal(%d, %d, %v) = %q, want %q", c.units, c.places, c.up, got, c.want)
		}
	}
}

// The text is on the right side of the exact value, within a part in a thousand,
// and has at most four significant digits.
func FuzzShortDecimal(f *testing.F) {
	for _, n := range []int64{1, 9, 9999, 10000, 99995, 99999, 123456789, math.MaxInt64} {
		f.Add(n, uint8(15))
	}
	f.Fuzz(func(t *testing.T, units int64, places uint8) {
		if units < 0 || places > 18 {
			t.Skip()
		}
		exact, _ := new(big.Rat).SetString(strconv.FormatInt(units, 10) + "e-" + strconv.Itoa(int(places)))
		for _, up := range []bool{true, false} {
			text := catalog.ShortDecimal(units, int(places), up)
			got, ok := new(big.Rat).SetString(text)
			if !ok {
				t.Fatalf("%q is no number", text)
			}
			if side := got.Cmp(exact); (up && side < 0) || (!up && side > 0) {
				t.Errorf("%d places %d up %v: %s is on the wrong side", units, places, up, text)
			}
			off := new(big.Rat).Sub(got, exact)
			if off.Abs(off).Mul(off, big.NewRat(1000, 1)).Cmp(exact) > 0 {
				t.Errorf("%d places %d: %s is far off", units, places, text)
			}
			mantissa, _, _ := strings.Cut(text, "e")
			if digits := strings.Trim(strings.Replace(mantissa, ".", "", 1), "0"); len(digits) > 4 {
				t.Errorf("%s has more than four digits", text)
			}
		}
	})
}
