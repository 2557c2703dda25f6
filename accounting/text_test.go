package accounting_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/accounting"
	"dpsql/sqlerr"
)

func TestParseEpsilon(t *testing.T) {
	good := map[string]accounting.Epsilon{
		"0.5": 5e14, ".5": 5e14, "2": 2e15, "2.": 2e15, "1e-6": 1e9, "1E-6": 1e9, "1e+2": 1e17, "0.10": 1e14,
		"1e-15": 1, "1000": 1e18, "1e3": 1e18, "0001.5e0": 15e14, "0.3": 3e14,
		"0.1234567890123459":                  123456789012345, // rounded down
		"0.000000000000000000000000000001e30": 1e15,
	}
	for text, want := range good {
		if got, err := accounting.ParseEpsilon(text); err != nil || got != want {
			t.Errorf("ParseEpsilon(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	bad := []string{
		"", " ", ".", "e", "e5", "1e", "1e+", "1 ", " 1", "+1", "-1", "-0", "-0.0", "-.5", "0", "0.0", "0e5", ".0e-9",
		"NaN", "nan", "Inf", "inf", "+Inf", "-Inf", "infinity", "0x1", "0x1p-2", "0b1", "1_000", "1,5", "1/2", "½", "१",
		"1e-16", "9.99e-16", "1e-999999999999999999999", "1000.0000000000000000001", "1001", "1e999999999", "1e99999999999999999999",
		"1.2.3", "1e1e1", "1e1.5", strings.Repeat("9", 101), "0." + strings.Repeat("0", 101) + "1",
	}
	for _, text := range bad {
		got, err := accounting.ParseEpsilon(text)
		checkRefused(t, "ParseEpsilon", text, got != 0, err)
		if negative := strings.HasPrefix(text, "-"); negative != strings.Contains(err.Error(), "negative") {
			t.Errorf("ParseEpsilon(%q): %v", text, err)
		}
	}
}

func TestParseRho(t *testing.T) {
	for text, want := range map[string]accounting.Rho{
		"0.001": 1e12, "1e-4": 1e11, ".5": 5e14, "1e-15": 1, "1000": 1e18, "1.9e-15": 1, "0.0000000000000019": 1, // rounded down
	} {
		if got, err := accounting.ParseRho("max_charge", text); err != nil || got != want {
			t.Errorf("ParseRho(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "0.0", "-1", "-0", "+1", "1e-16", "1000.0000000001", "1e9", "NaN", "Inf", "0x1", "none"} {
		got, err := accounting.ParseRho("max_charge", text)
		checkRefused(t, "ParseRho", text, got != 0, err)
	}
}

func TestParseDelta(t *testing.T) {
	good := map[string]accounting.Delta{
		"0": 0, "0.0": 0, "0e9": 0, "1e-6": 1e12, ".5": 5e17, "1e-18": 1, "0.999999999999999999": 1e18 - 1,
		"1.9999e-18": 1, "0.9999999999999999999": 1e18 - 1, // rounded down
	}
	for text, want := range good {
		if got, err := accounting.ParseDelta(text); err != nil || got != want {
			t.Errorf("ParseDelta(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-0", "-1e-6", "1", "1.0", "2", "1e9", "1e-19", "NaN", "Inf", "0x0", "+0", "1e-99999999999"} {
		got, err := accounting.ParseDelta(text)
		checkRefused(t, "ParseDelta", text, got != 0, err)
	}
}

func TestParseShare(t *testing.T) {
	for text, want := range map[string]string{"0": "0/1", "1": "1/1", "0.5": "1/2", ".3": "3/10", "1e-20": "1/100000000000000000000"} {
		if got, err := accounting.ParseShare(text); err != nil || got.String() != want {
			t.Errorf("ParseShare(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-0", "-0.5", "1.0000000000000000001", "2", "50%", "NaN", "1e9", "1e-99"} {
		got, err := accounting.ParseShare(text)
		checkRefused(t, "ParseShare", text, got != nil, err)
	}
}

func checkRefused(t *testing.T, what, text string, value bool, err error) {
	t.Helper()
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != sqlerr.Invalid || e.Hint == "" || value {
		t.Errorf("%s(%q): error %#v, value given: %v; want code invalid, a hint and no value", what, text, err, value)
		return
	}
	if len(e.Message) > 120 {
		t.Errorf("%s(%.20q…): message of %d bytes", what, text, len(e.Message))
	}
}

func TestString(t *testing.T) {
	cases := []struct{ got, want string }{
		{accounting.Epsilon(0).String(), "0"},
		{accounting.Epsilon(5e14).String(), "0.5"},
		{accounting.Epsilon(2e15).String(), "2"},
		{accounting.Epsilon(1e18).String(), "1000"},
		{accounting.Epsilon(1).String(), "1e-15"},
		{accounting.Epsilon(12345e14).String(), "1234.5"},
		{accounting.Epsilon(1e11).String(), "0.0001"},
		{accounting.Epsilon(99999999999).String(), "9.9999999999e-5"},
		{accounting.Epsilon(-25e14).String(), "-2.5"},
		{accounting.Epsilon(math.MinInt64).String(), "-9223.372036854775808"},
		{accounting.Delta(1e12).String(), "1e-6"},
		{accounting.Delta(5e11).String(), "5e-7"},
		{accounting.Delta(1e18 - 1).String(), "0.999999999999999999"},
		{accounting.Rho(24362305478134).String(), "0.024362305478134"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("String = %q, want %q", c.got, c.want)
		}
	}
}

// Reading back what was written gives the same number of units.
func TestStringRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := accounting.Epsilon(rapid.Int64Range(1, int64(accounting.MaxEpsilon)).Draw(t, "epsilon") / pow10(rapid.IntRange(0, 17).Draw(t, "cut")))
		if e > 0 {
			if back, err := accounting.ParseEpsilon(e.String()); err != nil || back != e {
				t.Fatalf("%d -> %q -> %d, %v", e, e, back, err)
			}
		}
		d := accounting.Delta(rapid.Int64Range(0, accounting.DeltaUnits-1).Draw(t, "delta") / pow10(rapid.IntRange(0, 17).Draw(t, "cut")))
		if back, err := accounting.ParseDelta(d.String()); err != nil || back != d {
			t.Fatalf("%d -> %q -> %d, %v", d, d, back, err)
		}
	})
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// Whatever the text, parsing neither panics nor lets a number through that is
// out of range.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0.5", "1e-6", "-0", "1e999999999", ".", "e", "0x1p3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := accounting.ParseEpsilon(text); err == nil && (e <= 0 || e > accounting.MaxEpsilon) {
			t.Errorf("ParseEpsilon(%q) = %d", text, e)
		}
		if d, err := accounting.ParseDelta(text); err == nil && (d < 0 || d >= accounting.DeltaUnits) {
			t.Errorf("ParseDelta(%q) = %d", text, d)
		}
		if s, err := accounting.ParseShare(text); err == nil && (s.Sign() < 0 || s.Cmp(accounting.One) > 0) {
			t.Errorf("ParseShare(%q) = %v", text, s)
		}
	})
}
