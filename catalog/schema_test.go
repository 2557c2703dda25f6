package catalog_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

// version4File makes a database as version 4 of the schema left it, with what
// stocked puts into one.
func version4File(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/version4.sql")
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
	Columns    []catalog.PublicColumn // of icd10
	Sources    []catalog.Source
	Accounts   []catalog.Account
	Unit       *string
	Tables     []catalog.Table
	Releases   []catalog.Release
	Mechanisms []catalog.Mechanism
	History    []catalog.HistoryRow
	Answers    []catalog.Answer
	Ledger     []catalog.Entry
}

func readEverything(s *catalog.Store) (all everything, err error) {
	err = s.Read(context.Background(), func(tx *catalog.Tx) error {
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

// A catalog of the first version is read as it is, and the first write takes it
// to the latest: the same records, and its answers counted.
func TestFirstVersionIsMigrated(t *testing.T) {
	path := version4File(t)
	before, err := readEverything(openWith(t, path, catalog.Options{ReadOnly: true}))
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Tables) != 2 || len(before.Releases) != 1 || len(before.Mechanisms) != 1 || len(before.History) != 3 || len(before.Sources) != 1 ||
		len(before.Answers) != 1 || before.Answers[0].Estimate != 3 || len(before.Ledger) != 2 || len(before.Columns) != 2 {
		t.Fatalf("read %+v", before)
	}
	s := open(t, path)
	if all, err := s.Answers(context.Background(), 1, "age{7: 1}"); err != nil || len(all) != 1 {
		t.Errorf("%d answers, %v", len(all), err)
	}
	write(t, s, func(*catalog.Tx) error { return nil })
	read(t, s, func(tx *catalog.Tx) error {
		if tx.Version() != catalog.AnswerCountsVersion {
			t.Errorf("version %d", tx.Version())
		}
		return nil
	})
	after, err := readEverything(open(t, path))
	if err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("got %+v (%v)\nwant %+v", after, err, before)
	}
	write(t, s, func(tx *catalog.Tx) error {
		return tx.PutAnswer(&catalog.Answer{TableID: 1, Query: "age{7: 1}", Kind: catalog.AnswerDirect, Via: "direct"})
	})
	raw(t, path, `DELETE FROM dpsql_answers WHERE id = 1`)
	_, err = s.Answers(context.Background(), 1, "age{7: 1}")
	wantCode(t, err, sqlerr.Corrupt)
}

// A new catalog has the schema of one that was migrated.
func TestNewSchemaIsTheMigrated(t *testing.T) {
	columns := func(path string) (all []string) {
		s := open(t, path)
		write(t, s, func(tx *catalog.Tx) error { return tx.AddPublic("other") })
		read(t, s, func(tx *catalog.Tx) (err error) {
			all, err = tx.Texts(`SELECT m.type || ' ' || m.name || ' ' || COALESCE(c.name || ' ' || c.type || ' ' || c."notnull" || ' ' ||
				COALESCE(c.dflt_value, '-') || ' ' || c.pk, '') FROM sqlite_schema AS m LEFT JOIN pragma_table_info(m.name) AS c ORDER BY m.name, c.cid`)
			return err
		})
		return all
	}
	migrated, made := columns(version4File(t)), columns(dbPath(t))
	if len(made) < 100 || !slices.Equal(migrated, made) {
		t.Errorf("migrated:\n%s\nnew:\n%s", strings.Join(migrated, "\n"), strings.Join(made, "\n"))
	}
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
	for version := range catalog.AnswerCountsVersion {
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
