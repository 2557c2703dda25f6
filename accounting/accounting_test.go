package accounting_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpsql/accounting"
)

func TestDivide(t *testing.T) {
	cases := []struct {
		e    accounting.Epsilon
		d    accounting.Delta
		s    *big.Rat
		want accounting.Caps
	}{
		{2e15, 1e12, big.NewRat(1, 2), accounting.Caps{1e15, 5e11, accounting.RhoFor(1e15, 5e11), 5e11, 1e15}},
		{2e15, 1e12, new(big.Rat), accounting.Caps{ReleaseEpsilon: 2e15, ReleaseDelta: 1e12}},
		{2e15, 0, new(big.Rat), accounting.Caps{ReleaseEpsilon: 2e15}},
		{2e15, 1e12, big.NewRat(1, 1), accounting.Caps{0, 0, accounting.RhoFor(2e15, 1e12), 1e12, 2e15}},
		{1e15, 1e12, big.NewRat(1, 3), accounting.Caps{666666666666666, 666666666666, accounting.RhoFor(333333333333333, 333333333333), 333333333333, 333333333333333}},
		{1, 1, new(big.Rat), accounting.Caps{ReleaseEpsilon: 1, ReleaseDelta: 1}},
	}
	for _, c := range cases {
		if got, err := accounting.Divide(c.e, c.d, c.s); err != nil || got != c.want {
			t.Errorf("Divide(%s, %s, %v) = %+v, %v; want %+v", c.e, c.d, c.s, got, err, c.want)
		}
	}
}

func TestDivideRefusals(t *testing.T) {
	half := big.NewRat(1, 2)
	cases := []struct {
		e accounting.Epsilon
		d accounting.Delta
		s *big.Rat
	}{
		{0, 1e12, half}, {-1, 1e12, half}, {1e15, -1, half}, {1e15, accounting.DeltaUnits, half},
		{1e15, 1e12, nil}, {1e15, 1e12, big.NewRat(-1, 2)}, {1e15, 1e12, big.NewRat(3, 2)},
		{1e15, 0, half}, {1e15, 0, big.NewRat(1, 1)}, {1e15, 1, half}, {1, 1e12, half}, {1e15, 1e12, big.NewRat(1, 1e18)},
	}
	for _, c := range cases {
		got, err := accounting.Divide(c.e, c.d, c.s)
		checkRefused(t, "Divide", c.e.String()+" "+c.d.String(), got != accounting.Caps{}, err)
	}
}

// The two accounts never add up to more than the budget, and give away less
// than a unit each.
func TestDivideAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := accounting.Epsilon(rapid.Int64Range(1e12, int64(accounting.MaxEpsilon)).Draw(t, "epsilon"))
		d := accounting.Delta(rapid.Int64Range(1e9, accounting.DeltaUnits-1).Draw(t, "delta"))
		c, err := accounting.Divide(e, d, big.NewRat(rapid.Int64Range(1, 99).Draw(t, "percent"), 100))
		if err != nil {
			t.Fatal(err)
		}
		if lost := e - c.ReleaseEpsilon - c.InteractiveEpsilon; lost < 0 || lost > 1 {
			t.Fatalf("ε = %s divided into %+v", e, c)
		}
		if lost := d - c.ReleaseDelta - c.InteractiveDelta; lost < 0 || lost > 1 {
			t.Fatalf("δ = %s divided into %+v", d, c)
		}
		if c.InteractiveRho != accounting.RhoFor(c.InteractiveEpsilon, c.InteractiveDelta) {
			t.Fatalf("ρ of %+v", c)
		}
	})
}

func TestFits(t *testing.T) {
	caps := accounting.Caps{ReleaseEpsilon: 10, ReleaseDelta: 20, InteractiveRho: 30}
	cases := []struct {
		spent, charge accounting.Amount
		want          bool
	}{
		{accounting.Amount{}, accounting.Amount{}, true},
		{accounting.Amount{}, accounting.Amount{10, 20, 30}, true},
		{accounting.Amount{4, 5, 6}, accounting.Amount{6, 15, 24}, true}, // what is left, exactly
		{accounting.Amount{4, 5, 6}, accounting.Amount{7, 15, 24}, false},
		{accounting.Amount{4, 5, 6}, accounting.Amount{6, 16, 24}, false},
		{accounting.Amount{4, 5, 6}, accounting.Amount{6, 15, 25}, false},
		{accounting.Amount{10, 20, 30}, accounting.Amount{}, true},
		{accounting.Amount{10, 20, 30}, accounting.Amount{Rho: 1}, false},
		{accounting.Amount{11, 0, 0}, accounting.Amount{Rho: 1}, false}, // an overdrawn account stops the other
		{accounting.Amount{}, accounting.Amount{Epsilon: -1}, false},
		{accounting.Amount{Rho: -5}, accounting.Amount{Rho: 1}, false},
		{accounting.Amount{Rho: 1}, accounting.Amount{Rho: math.MaxInt64}, false}, // would wrap round
		{accounting.Amount{}, accounting.Amount{Delta: accounting.Unpayable}, false},
	}
	for _, c := range cases {
		if got := caps.Fits(c.spent, c.charge); got != c.want {
			t.Errorf("Fits(%+v, %+v) = %v", c.spent, c.charge, got)
		}
	}
	open := accounting.Caps{math.MaxInt64, math.MaxInt64, math.MaxInt64, 0, 0}
	if open.Fits(accounting.Amount{}, accounting.Amount{Rho: accounting.Unpayable}) {
		t.Error("an unpayable charge fits the widest cap")
	}
	if got, want := caps.Remaining(accounting.Amount{4, 25, 30}), (accounting.Amount{6, 0, 0}); got != want {
		t.Errorf("Left = %+v, want %+v", got, want)
	}
	if got := caps.Remaining(accounting.Amount{Epsilon: -1}); got.Epsilon != 0 {
		t.Errorf("Left of a negative sum = %+v", got)
	}
}

// What is left fits, and a unit more of anything does not.
func TestLeftIsWhatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) int64 { return rapid.Int64Range(0, math.MaxInt64-1).Draw(t, name) }
		caps := accounting.Caps{ReleaseEpsilon: accounting.Epsilon(draw("e")), ReleaseDelta: accounting.Delta(draw("d")), InteractiveRho: accounting.Rho(draw("r"))}
		spent := accounting.Amount{caps.ReleaseEpsilon / 3, caps.ReleaseDelta / 7, caps.InteractiveRho / 2}
		left := caps.Remaining(spent)
		if !caps.Fits(spent, left) {
			t.Fatalf("%+v does not fit %+v after %+v", left, caps, spent)
		}
		for _, more := range []accounting.Amount{{Epsilon: 1}, {Delta: 1}, {Rho: 1}} {
			charge, ok := left.Add(more)
			if !ok || caps.Fits(spent, charge) {
				t.Fatalf("%+v fits %+v after %+v", charge, caps, spent)
			}
		}
	})
}

func TestAmountAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		exact := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		for i, pair := range [][2]accounting.Amount{{{Epsilon: accounting.Epsilon(a)}, {Epsilon: accounting.Epsilon(b)}}, {{Delta: accounting.Delta(a)}, {Delta: accounting.Delta(b)}}, {{Rho: accounting.Rho(a)}, {Rho: accounting.Rho(b)}}} {
			sum, ok := pair[0].Add(pair[1])
			got := [3]int64{int64(sum.Epsilon), int64(sum.Delta), int64(sum.Rho)}[i]
			if ok != exact.IsInt64() || ok && got != exact.Int64() || !ok && sum != (accounting.Amount{}) {
				t.Fatalf("%+v + %+v = %+v, %v", pair[0], pair[1], sum, ok)
			}
		}
	})
}
