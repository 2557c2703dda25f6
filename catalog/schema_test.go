package catalog_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/internal/period"
	"dpsql/sqlerr"
)

// everything is all that a catalog lists of one table and its mechanism.
type everything struct {
	Publics    []string
	Columns    []catalog.PublicColumn // of icd10
	Lists      []catalog.KeyList
	Sources    []catalog.Source
	Users      []catalog.User
	Grants     []catalog.Grant
	Accounts   []catalog.Account
	Unit       *string
	Tables     []catalog.Table
	Releases   []catalog.Release
	Templates  []catalog.Template
	Secret     []byte
	Mechanisms []catalog.Mechanism
	History    []catalog.HistoryRow
	Answers    []catalog.Answer
	Ledger     []catalog.Entry
}

func readEverything(s *catalog.Store) (everything, error) {
	return catalog.Get(context.Background(), s, everythingIn)
}

func everythingIn(tx *catalog.Tx) (all everything, err error) {
	var errs [17]error
	all.Publics, errs[0] = tx.Publics()
	all.Accounts, errs[1] = tx.Accounts()
	all.Unit, errs[2] = tx.AccountUnit(1)
	all.Tables, errs[3] = tx.Tables()
	all.Releases, errs[4] = tx.Releases(0)
	all.Mechanisms, errs[5] = tx.Mechanisms(0)
	all.History, errs[6] = historyOf(tx, 1)
	all.Answers, errs[7] = tx.Answers(2, "age{7: 1}")
	all.Ledger, errs[8] = tx.Ledger()
	errs[9] = tx.VerifyLedger()
	all.Sources, errs[11] = tx.Sources()
	all.Lists, errs[12] = tx.KeyLists()
	all.Users, errs[13] = tx.Users()
	all.Grants, errs[14] = tx.Grants()
	all.Templates, errs[15] = tx.Templates(0)
	all.Secret, errs[16] = tx.Secret()
	all.Columns, errs[10] = tx.PublicColumns("icd10")
	for _, err := range errs {
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// What an account spent before it had periods counts in every period, and once for a unit; later
// charges have ranges.
func TestPeriodsAfterCharges(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, _ := declare(t, s, "raws")
	spent := epsilon(300, 20)
	if err := charge(s, account, catalog.KindReleases, spent); err != nil {
		t.Fatal(err)
	}
	before, err := readEverything(s)
	if err != nil || len(before.Ledger) != 2 || before.Ledger[1].Over != period.All {
		t.Fatalf("read %+v, %v", before.Ledger, err)
	}
	charge := func(over period.Ranges, e accounting.Epsilon) error {
		return s.Write(context.Background(), func(tx *catalog.Tx) error {
			return tx.Charge(account, over, catalog.KindReleases, "create release", "r", epsilon(e, 0))
		})
	}
	wantCode(t, charge(period.Of(period.Only(5)), 1), sqlerr.Internal) // the account has no periods yet
	write(t, s, func(tx *catalog.Tx) error {
		_, err := tx.SetPartition(account, "visits", months())
		return err
	})
	left := before.Accounts[0].Caps.Remaining(spent).Epsilon
	if err := charge(period.Of(period.Only(5)), left); err != nil {
		t.Fatal(err)
	}
	wantCode(t, charge(period.Of(period.Only(5)), 1), sqlerr.Budget)
	wantCode(t, charge(nil, 1), sqlerr.Budget)
	if err := charge(period.Of(period.Range{First: 6, Last: 8}), 1); err != nil {
		t.Fatal(err)
	}
	read(t, open(t, path), func(tx *catalog.Tx) error {
		lines, err := tx.Ledger()
		if err != nil || !reflect.DeepEqual(lines[:2], before.Ledger) || lines[2].Over != period.All || lines[3].Over != period.Only(5) {
			t.Errorf("lines %+v, %v", lines, err)
		}
		a, err := tx.Account(account)
		if err != nil {
			return err
		}
		if once, err := tx.CostBefore(a); err != nil || once != spent {
			t.Errorf("%+v were spent before, want %+v (%v)", once, spent, err)
		}
		want := spent.Plus(epsilon(left, 0)).Plus(epsilon(3, 0))
		if got, err := tx.UnitCost(a, period.Of(period.Range{First: 5, Last: 8})); err != nil || got != want {
			t.Errorf("a unit in four months has %+v, want %+v (%v)", got, want, err)
		}
		return tx.VerifyLedger()
	})
}

// Catalogs from before the first release are refused.
func TestUnreleasedVersionsAreRefused(t *testing.T) {
	for version := 1; version < catalog.FirstVersion; version++ {
		path := dbPath(t)
		raw(t, path, `CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT; CREATE TABLE dpsql_tables (id INTEGER PRIMARY KEY)`,
			fmt.Sprintf(`INSERT INTO dpsql_schema VALUES (%d)`, version))
		_, err := catalog.Open(context.Background(), path, catalog.Options{})
		wantCode(t, err, sqlerr.Unsupported)
		if e := err.(*sqlerr.Error); !strings.HasPrefix(e.Message, fmt.Sprintf("the catalog has version %d, from before the first release", version)) || e.Hint == "" {
			t.Errorf("got %v (%s)", e, e.Hint)
		}
	}
}

// A catalog does not pass for an older one, in which less is verified.
func TestVersionIsDamaged(t *testing.T) {
	for version := range catalog.LatestVersion {
		path := stocked(t)
		s := open(t, path)
		raw(t, path, fmt.Sprintf(`UPDATE dpsql_schema SET version = %d`, version))
		_, err := readEverything(s)
		wantCode(t, err, sqlerr.Corrupt)
		wantCode(t, s.Write(context.Background(), func(*catalog.Tx) error { return nil }), sqlerr.Corrupt)
		_, err = catalog.Open(context.Background(), path, catalog.Options{})
		wantCode(t, err, sqlerr.Corrupt)
	}
}

func TestLedgerLines(t *testing.T) {
	s := open(t, dbPath(t))
	s.SetNow(func() time.Time { return time.Date(2024, 5, 6, 7, 8, 9, 10, time.FixedZone("", 3600)) })
	account, _ := declare(t, s, "raws")
	if err := charge(s, account, catalog.KindReleases, epsilon(3, 4)); err != nil {
		t.Fatal(err)
	}
	read(t, s, func(tx *catalog.Tx) error {
		entries, err := tx.Ledger()
		if err != nil || len(entries) != 2 {
			t.Fatalf("ledger %+v, %v", entries, err)
		}
		if e := entries[0]; e.Object != "raws" || !strings.HasPrefix(e.Action, "budget declared: epsilon = 2, delta = 1e-6, interactive = 0.5; ") {
			t.Errorf("first line %+v", e)
		}
		e := entries[1]
		e.Hash = [32]byte{}
		want := catalog.Entry{Seq: 2, At: time.Date(2024, 5, 6, 6, 8, 9, 0, time.UTC), Account: account, Kind: catalog.KindReleases,
			Action: "create release adm", Object: "adm", Amount: epsilon(3, 4), Over: period.All}
		if !reflect.DeepEqual(e, want) {
			t.Errorf("line %+v, want %+v", e, want)
		}
		if got := plainHash(entries[0].Hash, entries[1]); got != entries[1].Hash {
			t.Error("the hash is not the documented one")
		}
		return tx.VerifyLedger()
	})
}

// plainHash writes the chain's encoding out once more.
func plainHash(previous [32]byte, e catalog.Entry) [32]byte {
	number := func(n int64) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	text := func(s string) string { return number(int64(len(s))) + s }
	return sha256.Sum256([]byte("dpsql ledger 1\x00" + string(previous[:]) + number(e.Seq) + text(e.At.Format("2006-01-02T15:04:05Z")) +
		number(e.Account) + text(string(e.Kind)) + text(e.Action) + text(e.Object) +
		number(int64(e.Amount.Epsilon)) + number(int64(e.Amount.Delta)) + number(int64(e.Amount.Rho))))
}

// edited is a statement that changes a field of the object with an id.
func edited(kind string, id int64, path, value string) string {
	return fmt.Sprintf(`UPDATE dpsql_objects SET body = json_set(body, '%s', %s) WHERE kind = '%s' AND id = %d`, path, value, kind, id)
}

const withoutTriggers = `DROP TRIGGER dpsql_ledger_update; DROP TRIGGER dpsql_ledger_delete; DROP TRIGGER dpsql_ledger_insert;`

func TestTampering(t *testing.T) {
	for _, c := range []struct {
		statement, message string
	}{
		{`UPDATE dpsql_ledger SET epsilon = epsilon - 1 WHERE seq = 3`, "row 3 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET delta = 0 WHERE seq = 4`, "row 4 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET rho = -1 WHERE seq = 5`, "row 5 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET at = '2000-01-01T00:00:00Z' WHERE seq = 2`, "row 2 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET action = action || object, object = '' WHERE seq = 2`, "row 2 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET account = 4 WHERE seq = 3`, "row 3 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET kind = 'releases' WHERE seq = 5`, "row 5 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET hash = zeroblob(32) WHERE seq = 5`, "row 5 of the ledger does not verify"},
		{`DELETE FROM dpsql_ledger WHERE seq = 3`, "row 4 of the ledger does not verify"},
		{`DELETE FROM dpsql_ledger WHERE seq = 1`, "row 2 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET seq = seq + 10; UPDATE dpsql_ledger SET seq = seq - 9`, "row 2 of the ledger does not verify"},
		{`DELETE FROM dpsql_ledger WHERE seq = 5`, "row 5 of the ledger is missing"},
		{`UPDATE dpsql_rolls SET count = count - 1 WHERE name = 'ledger'`, "row 5 of the ledger is not the last one"},
		{`DELETE FROM dpsql_rolls WHERE name = 'ledger'`, "row 5 of the ledger is not the last one"},
		{`DELETE FROM dpsql_objects WHERE id IN (4, 5, 6)`, "the catalog lists 2 accounts, which are not the 1 that it has"},
		{edited("account", 4, "$.bases", "json('[]')"), "the record of account 4 does not match its checksum"},
		{edited("account", 1, "$.caps.release_epsilon", "2000"), "the record of account 1 does not match its checksum"},
		{edited("account", 4, "$.caps.interactive_rho", "2000"), "the record of account 4 does not match its checksum"},
		{edited("account", 1, "$.limits.max_charge", "1"), "the record of account 1 does not match its checksum"},
		{edited("account", 4, "$.limits.buy_off", "json('true')"), "the record of account 4 does not match its checksum"},
		{edited("account", 1, "$.bases[1]", "'others'"), "the record of account 1 does not match its checksum"},
		{`INSERT INTO dpsql_ledger SELECT 0, at, account, kind, action, object, epsilon, delta, rho, hash, period_first, period_last FROM dpsql_ledger WHERE seq = 2`,
			"row 0 of the ledger does not verify"},
	} {
		var account int64 = 1
		path := tampered.copy(t, func(path string) { makeLines(t, path) })
		s := open(t, path)
		read(t, s, func(tx *catalog.Tx) error { return tx.VerifyLedger() })
		raw(t, path, withoutTriggers+c.statement)
		fresh := open(t, path)
		for name, store := range map[string]*catalog.Store{"this process": s, "another process": fresh} {
			err := store.Read(context.Background(), func(tx *catalog.Tx) error { return tx.VerifyLedger() })
			if e, ok := err.(*sqlerr.Error); !ok || e.Code != sqlerr.Corrupt || e.Message != c.message {
				t.Errorf("%s: %s says %v, want %s", c.statement, name, err, c.message)
			}
		}
		wantCode(t, charge(open(t, path), account, catalog.KindReleases, epsilon(1, 0)), sqlerr.Corrupt)
	}
}

var tampered template

// makeLines makes a ledger of five lines, of two accounts.
func makeLines(t *testing.T, path string) {
	s := open(t, path)
	account, _ := declare(t, s, "raws")
	declare(t, s, "others")
	for _, a := range []accounting.Amount{epsilon(1, 0), epsilon(0, 1)} {
		if err := charge(s, account, catalog.KindReleases, a); err != nil {
			t.Fatal(err)
		}
	}
	if err := charge(s, account, catalog.KindInteractive, rho(1)); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// A ledger cut at its end is a correct chain; the catalog knows of more.
func TestTruncation(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, _ := declare(t, s, "raws")
	for range 3 {
		if err := charge(s, account, catalog.KindReleases, epsilon(100, 0)); err != nil {
			t.Fatal(err)
		}
	}
	raw(t, path, withoutTriggers+`DELETE FROM dpsql_ledger WHERE seq > 2`)
	wantCode(t, charge(s, account, catalog.KindReleases, epsilon(1, 0)), sqlerr.Corrupt)
	err := s.Read(context.Background(), func(tx *catalog.Tx) error { return tx.VerifyLedger() })
	if e, ok := err.(*sqlerr.Error); !ok || e.Message != "row 3 of the ledger is missing" {
		t.Errorf("got %v", err)
	}
	raw(t, path, `DELETE FROM dpsql_ledger`) // all of it, which another process sees too
	_, err = spentOf(open(t, path), account)
	if e, ok := err.(*sqlerr.Error); !ok || e.Message != "row 1 of the ledger is missing" {
		t.Errorf("got %v", err)
	}
}

func spentOf(s *catalog.Store, account int64) (spent accounting.Amount, err error) {
	err = s.Read(context.Background(), func(tx *catalog.Tx) error { spent, err = tx.MostSpent(account); return err })
	return spent, err
}
