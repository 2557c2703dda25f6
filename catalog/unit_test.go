package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/internal/period"
)

// unitCost returns what a unit with rows in some periods has.
func unitCost(t *testing.T, s *catalog.Store, account int64, in ...period.Range) (cost accounting.Amount) {
	t.Helper()
	read(t, s, func(tx *catalog.Tx) error {
		a, err := tx.Account(account)
		if err == nil {
			cost, err = tx.UnitCost(a, period.Of(in...))
		}
		return err
	})
	return cost
}

// TestUnitCost charges in every way that counts for a unit in its own.
func TestUnitCost(t *testing.T) {
	s := open(t, dbPath(t))
	account, table := declare(t, s, "raws")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.SetNow(func() time.Time { return now })
	decade := period.Range{First: 1, Last: 120}
	do := func(fn func(tx *catalog.Tx) error) {
		t.Helper()
		now = now.Add(time.Second)
		write(t, s, fn)
	}
	charge := func(over period.Ranges, kind catalog.Kind, object string, a accounting.Amount) {
		t.Helper()
		do(func(tx *catalog.Tx) error { return tx.Charge(account, over, kind, "a charge", object, a) })
	}
	var want, one accounting.Amount
	check := func(step string) {
		t.Helper()
		if got := unitCost(t, s, account, decade); got != want {
			t.Errorf("%s: a unit in 120 periods has %+v, want %+v", step, got, want)
		}
		if got := unitCost(t, s, account, period.Only(7)); got != one {
			t.Errorf("%s: a unit in one period has %+v, want %+v", step, got, one)
		}
		if got := unitCost(t, s, account); got != (accounting.Amount{}) {
			t.Errorf("%s: a unit without rows has %+v", step, got)
		}
		read(t, s, func(tx *catalog.Tx) error {
			spent, err := tx.Spent(account)
			if got := spent.Most(period.Of(period.Only(7))); got != one {
				t.Errorf("%s: period 7 has spent %+v, and a unit there has %+v", step, got, one)
			}
			return err
		})
	}
	plus := func(all, single accounting.Amount) { want, one = want.Plus(all), one.Plus(single) }

	charge(nil, catalog.KindReleases, "r", epsilon(100, 5))
	charge(nil, catalog.KindInteractive, "m", rho(50))
	plus(accounting.Amount{Epsilon: 100, Delta: 5, Rho: 50}, accounting.Amount{Epsilon: 100, Delta: 5, Rho: 50})
	// An account without periods has one unit, wherever its rows are.
	if got := unitCost(t, s, account, decade); got != want {
		t.Errorf("without periods: %+v, want %+v", got, want)
	}
	do(func(tx *catalog.Tx) error {
		_, err := tx.SetPartition(account, "visits", months())
		return err
	})
	check("before there were periods")

	do(func(tx *catalog.Tx) error {
		return tx.Return(account, nil, catalog.KindInteractive, "return unused runs", "m", rho(20))
	})
	want.Rho, one.Rho = want.Rho-20, one.Rho-20
	check("runs of before come back")

	for n := range int64(120) { // in one second: the parts are told apart by their names
		write(t, s, func(tx *catalog.Tx) error {
			return tx.Charge(account, period.Of(period.Only(n+1)), catalog.KindReleases, "create release", fmt.Sprint("monthly ", n), epsilon(10, 3))
		})
	}
	plus(epsilon(1200, 360), epsilon(10, 3))
	check("month by month")

	charge(period.Of(decade), catalog.KindReleases, "r", epsilon(2, 1))
	plus(epsilon(2, 1).Group(120), epsilon(2, 1))
	check("a release that spans")

	charge(period.Of(period.Range{First: 1, Last: 3}, period.Range{First: 7, Last: 8}, period.Range{First: 500, Last: 600}), catalog.KindInteractive, "m", rho(4))
	plus(rho(25*4), rho(4))
	check("a mechanism over two ranges")
	do(func(tx *catalog.Tx) error {
		return tx.Return(account, period.Of(period.Range{First: 7, Last: 8}), catalog.KindInteractive, "return unused runs", "m", rho(1))
	})
	want.Rho, one.Rho = want.Rho-4, one.Rho-1
	check("runs come back")

	buy := func(shares ...catalog.Share) {
		t.Helper()
		do(func(tx *catalog.Tx) error {
			return tx.Buy(catalog.Buyer{}, catalog.Payment{Account: account, Table: table, Action: "direct answer", Object: "visits", Rho: 3, Shares: shares})
		})
	}
	buy(catalog.Share{Over: period.Of(period.Range{First: 7, Last: 9}), Rho: 3})
	plus(rho(9*3), rho(3))
	check("an answer over three months")
	buy(catalog.Share{Over: period.Of(period.Only(8)), Rho: 3})
	plus(rho(3), rho(0))
	check("an answer over one month")
}

// TestUnitCostIsABound buys answers whose shares overlap, in random ways, within one second and
// over many, and compares with Σ j²ρ of the shares themselves. It has no chance of failing
// without a fault.
func TestUnitCostIsABound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	histories := 30
	if testing.Short() {
		histories = 5
	}
	for range histories {
		s := open(t, dbPath(t))
		account, table := declareMonths(t, s)
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		s.SetNow(func() time.Time { // each look at the clock may be in another second
			now = now.Add(time.Duration(random.IntN(3)) * 700 * time.Millisecond)
			return now
		})
		var all []catalog.Share
		for range 1 + random.IntN(6) {
			p := catalog.Payment{Account: account, Table: table, Action: "direct answer", Object: "visits"}
			var sums [12]accounting.Rho
			for range 1 + random.IntN(4) {
				var over []period.Range
				for range 1 + random.IntN(3) {
					first := random.Int64N(10)
					over = append(over, period.Range{First: first, Last: first + random.Int64N(3)})
				}
				share := catalog.Share{Over: period.Of(over...), Rho: accounting.Rho(random.IntN(5))}
				for n := range share.Over.Each() {
					sums[n] += share.Rho
					p.Rho = max(p.Rho, sums[n])
				}
				p.Shares = append(p.Shares, share)
			}
			write(t, s, func(tx *catalog.Tx) error { return tx.Buy(catalog.Buyer{}, p) })
			all = append(all, p.Shares...)
		}
		for _, in := range []period.Ranges{period.Of(period.Range{First: 0, Last: 11}), period.Of(period.Only(3)), period.Of(period.Only(1), period.Range{First: 5, Last: 8})} {
			var want accounting.Amount
			for _, share := range all {
				want = want.Plus(accounting.Amount{Rho: share.Rho}.Group(share.Over.Intersect(in).Count()))
			}
			if got := unitCost(t, s, account, in...); got.Rho < want.Rho || in.Count() == 1 && got.Rho != want.Rho {
				t.Fatalf("a unit in %v has %v, and its answers cost %v: %+v", in, got.Rho, want.Rho, all)
			}
		}
	}
}
