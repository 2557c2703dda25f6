package catalog_test

import (
	"context"
	"database/sql"
	"os"
	"reflect"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

// books is all that decides about budgets.
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
			if b.spent[a.ID], err = tx.Spent(a.ID); err != nil {
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
	`INSERT OR IGNORE INTO dpsql_ledger SELECT ?2, at, account, kind, action, object, epsilon, delta, rho, hash FROM dpsql_ledger WHERE seq = ?1`,
	`DELETE FROM dpsql_ledger WHERE seq = ?1 AND ?2 IS NOT 1`,
	`UPDATE dpsql_accounts SET epsilon = ?2 WHERE id = ?1`, `UPDATE dpsql_accounts SET delta = ?2 WHERE id = ?1`, `UPDATE dpsql_accounts SET interactive = ?2 WHERE id = ?1`,
	`UPDATE dpsql_accounts SET release_epsilon = ?2 WHERE id = ?1`, `UPDATE dpsql_accounts SET release_delta = ?2 WHERE id = ?1`,
	`UPDATE dpsql_accounts SET interactive_rho = ?2 WHERE id = ?1`, `UPDATE dpsql_accounts SET interactive_delta = ?2 WHERE id = ?1`,
	`UPDATE dpsql_accounts SET interactive_epsilon = ?2 WHERE id = ?1`, `UPDATE OR IGNORE dpsql_accounts SET id = ?2 WHERE id = ?1`,
	`UPDATE dpsql_accounts SET max_charge = ?2 WHERE id = ?1`, `UPDATE dpsql_accounts SET analysts_buy = ?2 WHERE id = ?1`,
	`DELETE FROM dpsql_accounts WHERE id = ?1 AND ?2 IS NOT 1`,
	`UPDATE OR IGNORE dpsql_bases SET name = ?2 WHERE rowid = ?1`, `UPDATE dpsql_bases SET account = ?2 WHERE rowid = ?1`,
	`DELETE FROM dpsql_bases WHERE rowid = ?1 AND ?2 IS NOT 1`,
}

// FuzzLedger changes a row of the ledger or of the accounts. What is read
// afterwards verifies and is what was written, or is reported as corrupt. Left out
// is what the chain cannot know: lines missing at its end, and the dates of
// accounts, which decide nothing.
func FuzzLedger(f *testing.F) {
	data := loosened(f)
	path := dbPath(f)
	restore(f, path, data)
	want, err := readBooks(f, path)
	if err != nil {
		f.Fatal(err)
	}
	for i := range edits {
		f.Add(uint8(i), uint8(1+i%7), uint8(i), int64(i), "raws")
		f.Add(uint8(i), uint8(2), uint8(0), int64(-1), "")
	}
	f.Fuzz(func(t *testing.T, edit, row, kind uint8, number int64, text string) {
		path := dbPath(t)
		restore(t, path, data)
		apply(t, path, edits[int(edit)%len(edits)], int64(row%8), value(kind, number, text))
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

// apply runs an edit; where a constraint refuses it, nothing changes.
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
