package catalog_test

import (
	"context"
	"database/sql"
	"math"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/internal/period"
	"dpsql/sqlerr"
)

func epsilon(e accounting.Epsilon, d accounting.Delta) accounting.Amount {
	return accounting.Amount{Epsilon: e, Delta: d}
}

func rho(r accounting.Rho) accounting.Amount { return accounting.Amount{Rho: r} }

func charge(s *catalog.Store, account int64, kind catalog.Kind, a accounting.Amount) error {
	return s.Write(context.Background(), func(tx *catalog.Tx) error {
		return tx.Charge(account, nil, kind, "create release adm", "adm", a)
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
		spent, err := tx.MostSpent(account)
		if want := (accounting.Amount{Epsilon: 1000, Delta: 500, Rho: 300}); spent != want {
			t.Errorf("spent %+v, want %+v", spent, want)
		}
		if spent, err := tx.MostSpent(other); spent != (accounting.Amount{}) || err != nil {
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
			return tx.Return(account, nil, kind, "return unused runs of m", "m", a)
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

// A charge in a transaction that fails is neither spent nor remembered.
func TestRolledBackCharge(t *testing.T) {
	s := open(t, dbPath(t))
	account, _ := declare(t, s, "raws")
	for range 3 {
		err := s.Write(context.Background(), func(tx *catalog.Tx) error {
			if err := tx.Charge(account, nil, catalog.KindReleases, "a", "b", epsilon(900, 0)); err != nil {
				return err
			}
			if spent, err := tx.MostSpent(account); err != nil || spent.Epsilon != 900 {
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
		spent, err := tx.MostSpent(account)
		if spent != (accounting.Amount{}) {
			t.Errorf("the snapshot shows %+v", spent)
		}
		return err
	})
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.MostSpent(account)
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
		spent, err := tx.MostSpent(account)
		if int64(spent.Epsilon) != accepted.Load() || spent.Epsilon > 1000 || spent.Epsilon < 1000-13 {
			t.Errorf("spent %d, accepted %d, cap 1000", spent.Epsilon, accepted.Load())
		}
		if err != nil {
			return err
		}
		return tx.VerifyLedger()
	})
}

// books has all records that decide about budgets.
type books struct {
	entries  []catalog.Entry
	accounts []catalog.Account
	spent    map[int64]accounting.Amount
}

// readBooks reads them through a new Store, as a new process does, and verifies
// them.
func readBooks(t testing.TB, path string) (b books, err error) {
	t.Helper()
	s, err := catalog.Open(context.Background(), path, catalog.Options{BusyTimeout: time.Second})
	if err != nil {
		return b, err
	}
	defer s.Close()
	err = s.Read(context.Background(), func(tx *catalog.Tx) (err error) {
		if b.entries, err = tx.Ledger(); err != nil {
			return err
		}
		if b.accounts, err = tx.Accounts(); err != nil {
			return err
		}
		b.spent = map[int64]accounting.Amount{}
		for _, a := range b.accounts {
			if b.spent[a.ID], err = tx.MostSpent(a.ID); err != nil {
				return err
			}
		}
		return tx.VerifyLedger()
	})
	return b, err
}

// loosened returns the bytes of a database with two accounts and some lines, in
// whose tables anything may be written: no triggers, and no STRICT.
func loosened(t testing.TB) []byte {
	t.Helper()
	path := dbPath(t)
	s := open(t, path)
	s.SetJournal("delete")
	first, _ := declare(t, s, "raws")
	second, _ := declare(t, s, "others")
	for i, amount := range []accounting.Amount{epsilon(5, 0), epsilon(0, 7), rho(9), epsilon(100, 1), rho(20)} {
		kind, account := catalog.KindReleases, first
		if amount.Rho > 0 {
			kind = catalog.KindInteractive
		}
		if i%2 == 1 {
			account = second
		}
		if err := charge(s, account, kind, amount); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s, func(tx *catalog.Tx) error {
		if _, err := tx.SetPartition(first, "visits", months()); err != nil {
			return err
		}
		if err := tx.Charge(first, period.Of(period.Range{First: 3, Last: 8}, period.Only(10)), catalog.KindReleases, "create release r", "r", epsilon(3, 4)); err != nil {
			return err
		}
		return tx.Retire(first, "visits", period.Only(3))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, path, withoutTriggers+`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '')`)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// edits are statements that change a row of the ledger or of the accounts. ?1 is
// the row, ?2 the new value.
var edits = []string{
	`UPDATE dpsql_ledger SET seq = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET at = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET account = ?2 WHERE seq = ?1`,
	`UPDATE dpsql_ledger SET kind = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET action = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET object = ?2 WHERE seq = ?1`,
	`UPDATE dpsql_ledger SET epsilon = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET delta = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET rho = ?2 WHERE seq = ?1`,
	`UPDATE dpsql_ledger SET hash = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET object = action, action = ?2 WHERE seq = ?1`,
	`INSERT OR IGNORE INTO dpsql_ledger SELECT ?2, at, account, kind, action, object, epsilon, delta, rho, hash, period_first, period_last FROM dpsql_ledger WHERE seq = ?1`,
	`DELETE FROM dpsql_ledger WHERE seq = ?1 AND ?2 IS NOT 1`,
	`UPDATE dpsql_objects SET body = json_set(body, '$.epsilon', iif(typeof(?2) = 'blob', 'b', ?2)) WHERE id = ?1`,
	`UPDATE dpsql_objects SET body = json_set(body, '$.caps.release_epsilon', iif(typeof(?2) = 'blob', 'b', ?2)) WHERE id = ?1`,
	`UPDATE dpsql_objects SET body = json_set(body, '$.caps.interactive_rho', iif(typeof(?2) = 'blob', 'b', ?2)) WHERE id = ?1`,
	`UPDATE dpsql_objects SET body = json_set(body, '$.limits.max_charge', iif(typeof(?2) = 'blob', 'b', ?2)) WHERE id = ?1`,
	`UPDATE dpsql_objects SET body = json_set(body, '$.bases[0]', iif(typeof(?2) = 'blob', 'b', ?2)) WHERE id = ?1`,
	`UPDATE dpsql_objects SET body = json_remove(body, '$.limits') WHERE id = ?1 AND ?2 IS NOT 1`,
	`UPDATE dpsql_objects SET body = ?2 WHERE id = ?1`, `UPDATE dpsql_objects SET digest = ?2 WHERE id = ?1`,
	`UPDATE dpsql_objects SET kind = ?2 WHERE id = ?1`, `UPDATE OR IGNORE dpsql_objects SET id = ?2 WHERE id = ?1`,
	`UPDATE dpsql_objects SET name = ?2 WHERE id = ?1`, `UPDATE OR IGNORE dpsql_objects SET parent = ?2 WHERE id = ?1`,
	`UPDATE dpsql_objects SET dropped_at = ?2 WHERE id = ?1`, `DELETE FROM dpsql_objects WHERE id = ?1 AND ?2 IS NOT 1`,
	`UPDATE dpsql_ledger SET period_first = ?2 WHERE seq = ?1`, `UPDATE dpsql_ledger SET period_last = ?2 WHERE seq = ?1`,
	`UPDATE dpsql_ledger SET period_first = period_last, period_last = period_first + coalesce(?2, 0) WHERE seq = ?1`,
	`UPDATE dpsql_ledger SET epsilon = delta, delta = epsilon WHERE seq = ?1 AND ?2 IS NOT 1`,
	`UPDATE dpsql_ledger SET period_first = NULL, period_last = NULL WHERE seq = ?1 AND ?2 IS NOT 1`,
	`UPDATE dpsql_objects SET body = json_set(body, '$.periods.since', iif(typeof(?2) = 'blob', 'b', ?2)) WHERE id = ?1`,
	`UPDATE dpsql_objects SET body = replace(body, '"since":8', '"since":18') WHERE id = ?1 AND ?2 IS NOT 1`,
}

// FuzzLedger changes a row of the ledger or of the accounts. A later read returns what
// was written, or reports it as corrupt. The fuzzer leaves out two changes that the
// chain cannot notice: lines missing at its end, and the dates of accounts, which
// decide nothing.
func FuzzLedger(f *testing.F) {
	data := loosened(f)
	path := dbPath(f)
	restore(f, path, data)
	want, err := readBooks(f, path)
	if err != nil {
		f.Fatal(err)
	}
	for i := range edits {
		f.Add(uint8(i), uint8(1+i%11), uint8(i), int64(i), "raws")
		f.Add(uint8(i), uint8(9), uint8(0), int64(i), "")
		f.Add(uint8(i), uint8(2), uint8(0), int64(-1), "")
	}
	f.Fuzz(func(t *testing.T, edit, row, kind uint8, number int64, text string) {
		path := dbPath(t)
		restore(t, path, data)
		apply(t, path, edits[int(edit)%len(edits)], int64(row%16), value(kind, number, text))
		got, err := readBooks(t, path)
		if err != nil {
			if sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Fatalf("got %v, want corrupt", err)
			}
			return
		}
		if n := len(got.entries); n > len(want.entries) || !reflect.DeepEqual(got.entries, want.entries[:n]) {
			t.Fatalf("lines that were not written verify: %+v", got.entries)
		}
		if len(got.entries) < len(want.entries) {
			return
		}
		for i := range got.accounts {
			got.accounts[i].CreatedAt = want.accounts[i].CreatedAt
		}
		if !reflect.DeepEqual(got.accounts, want.accounts) || !reflect.DeepEqual(got.spent, want.spent) {
			t.Fatalf("accounts %+v with %+v verify, and were %+v with %+v", got.accounts, got.spent, want.accounts, want.spent)
		}
	})
}

// value is a value of any of SQLite's types.
func value(kind uint8, number int64, text string) any {
	switch kind % 6 {
	case 0:
		return number
	case 1:
		return text
	case 2:
		return []byte(text)
	case 3:
		return nil
	case 4:
		return float64(number) / 3
	}
	return float64(number)
}

func restore(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// apply runs an edit. If a constraint refuses the edit, nothing changes.
func apply(t testing.TB, path, edit string, row int64, value any) {
	t.Helper()
	db, err := sql.Open("sqlite", catalog.DSN(path, time.Second, "_pragma="+catalog.Pragma("journal_mode", "off"), "_pragma="+catalog.Pragma("synchronous", "off")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(edit, row, value); err != nil {
		if code, ok := catalog.EngineCode(err); !ok || code != 19 && code != 20 { // constraint, mismatch
			t.Fatal(err)
		}
	}
}

// TestWaiting has charges wait for two statements. Each serves its statement alone, once, for the amount
// that was charged, and with what it charged is known from the chain, in this process and in the next.
func TestWaiting(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, _ := declare(t, s, "raws")
	pay := func(statement string, over period.Ranges, due accounting.Amount) (w catalog.Waiting, charged bool) {
		t.Helper()
		err := s.Write(t.Context(), func(tx *catalog.Tx) (err error) {
			w, err = tx.ChargeFor(statement, account, over, due, func() error {
				charged = true
				return tx.Charge(account, over, catalog.KindInteractive, "direct answer", "adm", due)
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return w, charged
	}
	first, _ := pay("statement 1", nil, rho(10))
	second, _ := pay("statement 2", nil, rho(5))
	for _, w := range []catalog.Waiting{first, second} {
		if err := s.Write(t.Context(), func(tx *catalog.Tx) error { return tx.Wait(w) }); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	s = open(t, path)
	idle := func(want accounting.Rho) {
		t.Helper()
		err := s.Read(t.Context(), func(tx *catalog.Tx) error {
			all, err := tx.Waiting()
			var got accounting.Rho
			for statement, w := range all {
				if got += w.Amount.Rho; w.Statement != statement || w.Account != account {
					t.Errorf("%+v waits for %q", w, statement)
				}
			}
			if got != want {
				t.Errorf("ρ %d waits, want %d", got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	idle(15)
	if _, charged := pay("statement 1", nil, rho(9)); !charged {
		t.Error("a charge of another amount serves")
	}
	if w, charged := pay("statement 1", nil, rho(10)); charged || w != first {
		t.Errorf("%v serves, want %v", w, first)
	}
	idle(5)
	if _, charged := pay("statement 1", nil, rho(10)); !charged {
		t.Error("a charge serves twice")
	}
	idle(5)
}
