package catalog_test

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

func epsilon(e accounting.Epsilon, d accounting.Delta) accounting.Amount {
	return accounting.Amount{Epsilon: e, Delta: d}
}

func rho(r accounting.Rho) accounting.Amount { return accounting.Amount{Rho: r} }

func charge(s *catalog.Store, account int64, kind catalog.Kind, a accounting.Amount) error {
	return s.Write(context.Background(), func(tx *catalog.Tx) error {
		return tx.Charge(account, kind, "create release adm", "adm", a)
	})
}

func TestCaps(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	other, _ := declare(t, s, "others")
	for i, step := range []struct {
		kind catalog.Kind
		cost accounting.Amount
		code sqlerr.Code
	}{
		{catalog.KindReleases, epsilon(1001, 0), sqlerr.Budget},
		{catalog.KindReleases, epsilon(0, 501), sqlerr.Budget},
		{catalog.KindReleases, epsilon(600, 500), ""},
		{catalog.KindReleases, epsilon(401, 0), sqlerr.Budget},
		{catalog.KindReleases, epsilon(400, 1), sqlerr.Budget},
		{catalog.KindReleases, epsilon(400, 0), ""}, // exactly what is left
		{catalog.KindReleases, epsilon(1, 0), sqlerr.Budget},
		{catalog.KindReleases, epsilon(0, 0), ""},
		{catalog.KindInteractive, rho(301), sqlerr.Budget},
		{catalog.KindInteractive, rho(300), ""},
		{catalog.KindInteractive, rho(1), sqlerr.Budget},
		{catalog.KindInteractive, rho(math.MaxInt64), sqlerr.Budget},
		{catalog.KindInteractive, rho(0), ""},
		{catalog.KindReleases, rho(0), ""},
		{catalog.KindInteractive, epsilon(1, 0), sqlerr.Budget},
		{"other", rho(0), sqlerr.Internal},
		{catalog.KindReleases, epsilon(-1, 0), sqlerr.Internal},
		{catalog.KindInteractive, rho(-1), sqlerr.Internal},
	} {
		err := charge(s, account, step.kind, step.cost)
		if sqlerr.CodeOf(err) != step.code {
			t.Errorf("step %d: %v, want %q", i, err, step.code)
		}
	}
	wantCode(t, charge(s, other, catalog.KindReleases, rho(1)), sqlerr.Internal) // it fits, but not there
	wantCode(t, charge(s, other, catalog.KindInteractive, epsilon(1, 0)), sqlerr.Internal)
	wantCode(t, charge(s, 99, catalog.KindReleases, epsilon(1, 0)), sqlerr.Corrupt)
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.Spent(account)
		if want := (accounting.Amount{Epsilon: 1000, Delta: 500, Rho: 300}); spent != want {
			t.Errorf("spent %+v, want %+v", spent, want)
		}
		if spent, err := tx.Spent(other); spent != (accounting.Amount{}) || err != nil {
			t.Errorf("the other account spent %+v, %v", spent, err)
		}
		return err
	})
}

func TestBudgetMessage(t *testing.T) {
	s := open(t, dbPath(t))
	a := &catalog.Account{Bases: []string{"raw_admissions", "visits"}, Caps: accounting.Caps{
		ReleaseEpsilon: 1e15, ReleaseDelta: 5e11, InteractiveRho: 7700000000000, InteractiveDelta: 1, InteractiveEpsilon: 1}}
	write(t, s, func(tx *catalog.Tx) error { return tx.CreateAccount(a) })
	if err := charge(s, a.ID, catalog.KindReleases, epsilon(8e14, 0)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind catalog.Kind
		cost accounting.Amount
		want string
	}{
		{catalog.KindReleases, epsilon(5e14, 0), "create release adm needs ε = 0.5; the releases account of raw_admissions, visits has ε = 0.2 left"},
		{catalog.KindReleases, epsilon(5e14, 1e12), "create release adm needs ε = 0.5 and δ = 1e-6; the releases account of raw_admissions, visits has ε = 0.2 and δ = 5e-7 left"},
		{catalog.KindReleases, epsilon(2e14+1, 0), "create release adm needs ε = 0.2001; the releases account of raw_admissions, visits has ε = 0.2 left"},
		{catalog.KindInteractive, rho(7712345678901), "create release adm needs ρ = 0.007713; the interactive account of raw_admissions, visits has ρ = 0.0077 left"},
	} {
		err := charge(s, a.ID, c.kind, c.cost)
		wantCode(t, err, sqlerr.Budget)
		if e := err.(*sqlerr.Error); e.Message != c.want || e.Hint == "" {
			t.Errorf("got  %q\nwant %q", e.Message, c.want)
		}
	}
}

func TestReturn(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	giveBack := func(kind catalog.Kind, a accounting.Amount) error {
		return s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Return(account, kind, "return unused runs of m", "m", a)
		})
	}
	wantCode(t, giveBack(catalog.KindInteractive, rho(1)), sqlerr.Corrupt)
	if err := charge(s, account, catalog.KindInteractive, rho(300)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, giveBack(catalog.KindInteractive, rho(301)), sqlerr.Corrupt)
	wantCode(t, giveBack(catalog.KindInteractive, rho(-1)), sqlerr.Internal)
	if err := giveBack(catalog.KindInteractive, rho(100)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, charge(s, account, catalog.KindInteractive, rho(101)), sqlerr.Budget)
	if err := charge(s, account, catalog.KindInteractive, rho(100)); err != nil {
		t.Fatal(err)
	}
	read(t, s, func(tx *catalog.Tx) error {
		entries, err := tx.Ledger()
		if len(entries) != 4 || entries[2].Amount.Rho != -100 {
			t.Errorf("ledger %+v", entries)
		}
		return err
	})
}

// What is charged in a transaction that fails is not spent, nor remembered.
func TestRolledBackCharge(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	for range 3 {
		err := s.Write(context.Background(), func(tx *catalog.Tx) error {
			if err := tx.Charge(account, catalog.KindReleases, "a", "b", epsilon(900, 0)); err != nil {
				return err
			}
			if spent, err := tx.Spent(account); err != nil || spent.Epsilon != 900 {
				t.Errorf("inside: %+v, %v", spent, err)
			}
			return sqlerr.New(sqlerr.Uncovered, "no")
		})
		wantCode(t, err, sqlerr.Uncovered)
	}
	if err := charge(s, account, catalog.KindReleases, epsilon(1000, 0)); err != nil {
		t.Error(err)
	}
}

// A snapshot older than what the process has verified since must not look like
// a truncated ledger.
func TestSpentInOldSnapshot(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	read(t, s, func(tx *catalog.Tx) error {
		if err := charge(s, account, catalog.KindReleases, epsilon(7, 0)); err != nil {
			t.Fatal(err)
		}
		spent, err := tx.Spent(account)
		if spent != (accounting.Amount{}) {
			t.Errorf("the snapshot shows %+v", spent)
		}
		return err
	})
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.Spent(account)
		if spent.Epsilon != 7 {
			t.Errorf("afterwards %+v", spent)
		}
		return err
	})
}

func TestConcurrentChargesNeverExceedTheCap(t *testing.T) {
	path := dbPath(t)
	first := open(t, path)
	account, _ := declare(t, first, "raws")
	var accepted atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		s := open(t, path)
		for g := range 8 {
			group.Go(func() {
				for i := range 12 {
					cost := accounting.Epsilon(3 + (g*i)%11)
					switch err := charge(s, account, catalog.KindReleases, epsilon(cost, 0)); sqlerr.CodeOf(err) {
					case "":
						accepted.Add(int64(cost))
					case sqlerr.Budget:
					default:
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	read(t, first, func(tx *catalog.Tx) error {
		spent, err := tx.Spent(account)
		if int64(spent.Epsilon) != accepted.Load() || spent.Epsilon > 1000 || spent.Epsilon < 1000-13 {
			t.Errorf("spent %d, accepted %d, cap 1000", spent.Epsilon, accepted.Load())
		}
		if err != nil {
			return err
		}
		return tx.VerifyLedger()
	})
}
