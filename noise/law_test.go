package noise

import (
	"math/big"
	"strings"
	"testing"

	"dpsql/sqlerr"
)

func TestParseLawRoundTrip(t *testing.T) {
	for _, text := range []string{
		"dlap(5/2)", "dlap(1)", "dlap(1/100)", "dlap(1000000000000000)", "dgauss(17/3)", "dgauss(4)",
		"dgauss(1000000000000000000000000000000)", "dgauss(1/" + strings.Repeat("9", 100) + ")",
	} {
		l, err := ParseLaw(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if l.String() != text {
			t.Errorf("%s came back as %s", text, l)
		}
	}
}

func TestStringReduces(t *testing.T) {
	for text, r := range map[string]*big.Rat{"dlap(5/2)": rat("2.5"), "dlap(3)": rat("6/2")} {
		l, err := NewLaplace(r)
		if err != nil || l.String() != text {
			t.Errorf("NewLaplace(%s) = %v, %v; want %s", r, l, err, text)
		}
	}
}

func TestParseLawRefuses(t *testing.T) {
	for _, text := range []string{
		"", "dlap", "dlap(", "dlap()", "dlap(5/2", "dlap5/2)", "dlap(5/2))", "dlap(5/2) ", " dlap(5/2)", "DLAP(5/2)",
		"dlap(10/4)", "dlap(05/2)", "dlap(5/1)", "dlap(2.5)", "dlap(1e3)", "dlap(1e999999999)", "dlap(+1)", "dlap(-1)",
		"dlap(0)", "dlap(1/0)", "dlap(0/0)", "dlap(/)", "dlap(1/)", "dlap(/2)", "dlap(1/2/3)", "dlap(1_0)", "dlap(NaN)",
		"dlap(1000000000000001)", "dgauss(1000000000000000000000000000001)", "dgauss(0)", "lap(1)", "dlap(5/2)dlap(5/2)",
		"dlap(" + strings.Repeat("7", 1000) + ")",
	} {
		l, err := ParseLaw(text)
		if sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("ParseLaw(%.40q) = %v, %v; want code invalid", text, l, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, r := range []*big.Rat{nil, new(big.Rat), rat("-1"), rat("-1/1000"), rat("1e31")} {
		if _, err := NewLaplace(r); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("NewLaplace(%v): error %v, want code invalid", r, err)
		}
		if _, err := NewGaussian(r); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("NewGaussian(%v): error %v, want code invalid", r, err)
		}
	}
}

// TestLawsKeepTheirParameter changes the rational a law was made from.
func TestLawsKeepTheirParameter(t *testing.T) {
	r := rat("5/2")
	a, errA := NewLaplace(r)
	b, errB := NewGaussian(r)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	r.SetInt64(7)
	if a.String() != "dlap(5/2)" || b.String() != "dgauss(5/2)" {
		t.Errorf("the laws became %s and %s", a, b)
	}
}

func FuzzParseLaw(f *testing.F) {
	for _, text := range []string{"dlap(5/2)", "dgauss(17/3)", "dlap(1/0)", "dgauss(1e9)", "dlap(()"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLaw(text)
		if err == nil && l.String() != text {
			t.Errorf("%q came back as %q", text, l.String())
		}
	})
}
