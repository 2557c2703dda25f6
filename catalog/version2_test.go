package catalog

import (
	"context"
	"os"
	"reflect"
	"testing"

	"dpsql/sqlerr"
)

// version1File makes a database as the first version of the schema left it.
func version1File(t *testing.T) string { return fileOf(t, "version1") }

func fileOf(t *testing.T, version string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + version + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	path := dbPath(t)
	raw(t, path, string(text))
	return path
}

// everything is all that a catalog lists of one table and its mechanism.
type everything struct {
	Publics    []string
	Columns    []PublicColumn // of icd10
	Sources    []Source
	Accounts   []Account
	Unit       *string
	Tables     []Table
	Releases   []Release
	Mechanisms []Mechanism
	History    []HistoryRow
	Answers    []Answer
	Ledger     []Entry
}

func readEverything(s *Store) (all everything, err error) {
	err = s.Read(context.Background(), func(tx *Tx) error {
		var errs [12]error
		all.Publics, errs[0] = tx.Publics()
		all.Accounts, errs[1] = tx.Accounts()
		all.Unit, errs[2] = tx.AccountUnit(1)
		all.Tables, errs[3] = tx.Tables()
		all.Releases, errs[4] = tx.Releases(0)
		all.Mechanisms, errs[5] = tx.Mechanisms(0)
		all.History, errs[6] = tx.History(1, 1)
		all.Answers, errs[7] = tx.Answers(1, "age{7: 1}")
		all.Ledger, errs[8] = tx.Ledger()
		errs[9] = tx.VerifyLedger()
		all.Sources, errs[11] = tx.Sources()
		all.Columns, errs[10] = tx.PublicColumns("icd10")
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// A catalog of the first version is read as it is, and the first write takes
// it to the next: the same records, sealed.
func TestFirstVersionIsSealed(t *testing.T) {
	path := version1File(t)
	before, err := readEverything(openWith(t, path, Options{ReadOnly: true}))
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Tables) != 1 || len(before.Releases) != 1 || len(before.Mechanisms) != 1 || len(before.History) != 2 ||
		len(before.Answers) != 1 || before.Answers[0].Estimate != 95 || len(before.Ledger) != 9 {
		t.Fatalf("read %+v", before)
	}
	s := open(t, path)
	write(t, s, func(tx *Tx) error { return tx.AddPublic("zips") })
	read(t, s, func(tx *Tx) error {
		if tx.version != len(migrations) {
			t.Errorf("version %d", tx.version)
		}
		return nil
	})
	after, err := readEverything(open(t, path))
	if err != nil {
		t.Fatal(err)
	}
	before.Publics = append(before.Publics, "zips")
	if !reflect.DeepEqual(after, before) {
		t.Errorf("got %+v\nwant %+v", after, before)
	}
	raw(t, path, `UPDATE dpsql_answers SET estimate = 96 WHERE id = 3`)
	_, err = readEverything(s)
	wantCode(t, err, sqlerr.Corrupt)
	write(t, s, func(tx *Tx) error { _, err := tx.AppendHistory(1, "age{8: 1}", 3); return err })
}

// Damage that contradicts itself is not sealed.
func TestMigrationRefusesDamage(t *testing.T) {
	for _, damage := range []string{
		`UPDATE dpsql_accounts SET interactive_rho = interactive_rho + 1`,
		`DELETE FROM dpsql_bases`,
		withoutTriggers + `UPDATE dpsql_ledger SET rho = rho - 1 WHERE seq = 5`,
		`UPDATE dpsql_mechanisms SET runs_started = 1`,
		`UPDATE dpsql_mechanisms SET runs_started = 61`,
		`UPDATE dpsql_mechanisms SET runs_ended = -1`,
		`UPDATE dpsql_mechanisms SET comparisons = -1`,
		`UPDATE dpsql_mechanisms SET run_rho = run_rho * 2`,
		`UPDATE dpsql_mechanisms SET tau = NULL`,
		`UPDATE dpsql_mechanisms SET run = 2`,
		`DROP TRIGGER dpsql_history_delete; DELETE FROM dpsql_history WHERE seq = 1`,
		`UPDATE dpsql_columns SET domain = '{"range":[99,0]}'`,
	} {
		path := version1File(t)
		raw(t, path, damage)
		s := open(t, path)
		wantCode(t, s.Write(context.Background(), func(*Tx) error { return nil }), sqlerr.Corrupt)
		read(t, s, func(tx *Tx) error {
			if tx.version != 1 {
				t.Errorf("%s: sealed", damage)
			}
			return nil
		})
	}
}

// A catalog with digests does not pass for one without.
func TestVersionIsDamaged(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	declare(t, s, "rows1")
	raw(t, path, `UPDATE dpsql_schema SET version = 1`)
	_, err := readEverything(s)
	wantCode(t, err, sqlerr.Corrupt)
	wantCode(t, s.Write(context.Background(), func(*Tx) error { return nil }), sqlerr.Corrupt)
}
