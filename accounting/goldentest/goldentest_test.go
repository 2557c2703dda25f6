package goldentest

import (
	"math"
	"slices"
	"testing"
)

// TestEveryKindIsListed: each quantity has a package whose test computes it, or a
// reason, and so has each fact that is left out.
func TestEveryKindIsListed(t *testing.T) {
	kinds := Kinds(t)
	facts := make(map[string][]string) // ids by quantity
	for _, f := range Facts(t) {
		facts[f.Quantity] = append(facts[f.Quantity], f.ID)
		if _, ok := kinds[f.Quantity]; !ok {
			t.Errorf("%s: kinds.csv says neither who computes %s nor why nobody does", f.ID, f.Quantity)
		}
	}
	computed := make(map[string]int)
	total := 0
	for quantity, k := range kinds {
		n := len(facts[quantity])
		total += n
		if n == 0 {
			t.Errorf("there is no fact about %s", quantity)
		}
		if (k.Package == "" || len(k.Without) > 0) != (k.Why != "") {
			t.Errorf("%s: package %q, without %v, and the reason %q", quantity, k.Package, k.Without, k.Why)
		}
		for _, id := range k.Without {
			if !slices.Contains(facts[quantity], id) {
				t.Errorf("%s: there is no fact %s to leave out", quantity, id)
			}
		}
		if k.Package != "" {
			n -= len(k.Without)
		}
		computed[k.Package] += n
	}
	t.Logf("of %d facts, by package: %v", total, computed)
}

// TestRules shows that each rule can fail.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		got  float64
		rule string
		want bool
	}{
		{1, "exact", true}, {1.001, "exact", false}, {1.001, "abs:1e-2", true}, {1.1, "abs:1e-2", false},
		{0.999, "rel:1e-2", true}, {0.9, "rel:1e-2", false}, {0.9, "le", true}, {1.1, "le", false}, {1.1, "ge", true}, {0.9, "ge", false},
		{math.NaN(), "ge", false}, {math.NaN(), "le", false}, {math.NaN(), "rel:1", false},
	} {
		if got := within(c.got, 1, c.rule); got != c.want {
			t.Errorf("%v against 1 by %s: %v", c.got, c.rule, got)
		}
	}
	wrong := Fact{"x", "x", "a=2*ln3;b=sqrt(3) (remark)", "2", "exact"}
	if err := wrong.holds(Exact(func(in Inputs) float64 { return in.Number("b") * in.Number("b") })); err == nil {
		t.Error("3 is taken for 2")
	}
	if err := wrong.holds(Exact(func(in Inputs) float64 { return in.Number("c") })); err == nil {
		t.Error("a missing input is taken for a number")
	}
	if err := wrong.holds(Above(func(in Inputs) float64 { return in.Number("a") })); err != nil {
		t.Error(err)
	}
}
