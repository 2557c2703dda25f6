package catalog_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/sqlerr"
)

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
			Action: "create release adm", Object: "adm", Amount: epsilon(3, 4)}
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
		{`UPDATE dpsql_ledger SET account = 2 WHERE seq = 3`, "row 3 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET kind = 'releases' WHERE seq = 5`, "row 5 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET hash = zeroblob(32) WHERE seq = 5`, "row 5 of the ledger does not verify"},
		{`DELETE FROM dpsql_ledger WHERE seq = 3`, "row 4 of the ledger does not verify"},
		{`DELETE FROM dpsql_ledger WHERE seq = 1`, "row 2 of the ledger does not verify"},
		{`UPDATE dpsql_ledger SET seq = seq + 10; UPDATE dpsql_ledger SET seq = seq - 9`, "row 2 of the ledger does not verify"},
		{`DELETE FROM dpsql_ledger WHERE seq = 5`, "row 5 of the ledger is missing"},
		{`UPDATE dpsql_rolls SET count = count - 1 WHERE name = 'ledger'`, "row 5 of the ledger is not the last one"},
		{`DELETE FROM dpsql_rolls WHERE name = 'ledger'`, "row 5 of the ledger is not the last one"},
		{`DELETE FROM dpsql_bases WHERE account = 2; DELETE FROM dpsql_accounts WHERE id = 2`, "the catalog lists 2 accounts, which are not the 1 that it has"},
		{`DELETE FROM dpsql_bases WHERE account = 2`, "the record of account 2 does not match its checksum"},
		{`UPDATE dpsql_accounts SET release_epsilon = 2000 WHERE id = 1`, "the record of account 1 does not match its checksum"},
		{`UPDATE dpsql_accounts SET interactive_rho = 2000 WHERE id = 2`, "the record of account 2 does not match its checksum"},
		{`UPDATE dpsql_accounts SET max_charge = max_charge + 1 WHERE id = 1`, "the record of account 1 does not match its checksum"},
		{`UPDATE dpsql_accounts SET analysts_buy = 0 WHERE id = 2`, "the record of account 2 does not match its checksum"},
		{`UPDATE dpsql_bases SET account = 1`, "the record of account 1 does not match its checksum"},
		{`INSERT INTO dpsql_ledger SELECT 0, at, account, kind, action, object, epsilon, delta, rho, hash FROM dpsql_ledger WHERE seq = 2`,
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
	err = s.Read(context.Background(), func(tx *catalog.Tx) error { spent, err = tx.Spent(account); return err })
	return spent, err
}
