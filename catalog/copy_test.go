package catalog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

// TestCopy copies a catalog into memory and charges and declares there. The file stays
// as it was. Of the other tables, the copy has only the rows of those named.
func TestCopy(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, table := declare(t, s, "raw")
	raw(t, path, `CREATE TABLE other (a INTEGER PRIMARY KEY, "the ""b" TEXT, c AS (a + 1))`, `INSERT INTO other VALUES (7, 'x')`,
		`CREATE TABLE secret (a)`, `INSERT INTO secret VALUES (1)`, `CREATE VIEW seen AS SELECT * FROM other`,
		`CREATE TRIGGER never BEFORE INSERT ON other BEGIN SELECT RAISE(ABORT, 'no'); END`)
	write(t, s, func(tx *catalog.Tx) error {
		if err := tx.AddRelease(&catalog.Release{Name: "r", TableID: table}, []byte("payload")); err != nil {
			return err
		}
		return tx.Charge(account, nil, catalog.KindReleases, "a", "b", epsilon(1, 0))
	})
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Copy(context.Background(), []string{"other"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	write(t, c, func(tx *catalog.Tx) error {
		if err := tx.Charge(account, nil, catalog.KindReleases, "a", "b", epsilon(2, 0)); err != nil {
			return err
		}
		return tx.AddRelease(&catalog.Release{Name: "later", TableID: table}, nil)
	})
	read(t, c, func(tx *catalog.Tx) error {
		for text, want := range map[string]string{
			`SELECT a || "the ""b" || c FROM seen`: "7x8", `SELECT COUNT(*) FROM secret`: "0", `SELECT COUNT(*) FROM dpsql_payloads`: "0"} {
			var got string
			if err := tx.SQL().QueryRowContext(context.Background(), text).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %v, %v", text, got, err)
			}
		}
		spent, err := tx.MostSpent(account)
		if releases, failed := tx.Releases(0); failed != nil || len(releases) != 2 || releases[0].ID == releases[1].ID {
			t.Errorf("%d releases, %v", len(releases), failed)
		}
		if spent != epsilon(3, 0) {
			t.Errorf("spent %v", spent)
		}
		return err
	})
	if err := c.Read(context.Background(), (*catalog.Tx).VerifyLedger); err != nil {
		t.Error(err)
	}
	read(t, s, func(tx *catalog.Tx) error {
		spent, err := tx.MostSpent(account)
		if spent != epsilon(1, 0) {
			t.Errorf("of the file spent %v", spent)
		}
		return err
	})
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(files) > 4 { // the database, its log, its shared memory and its marks
		t.Errorf("files %q", files)
	}
	c.Close()
	if err := c.Read(context.Background(), func(*catalog.Tx) error { return nil }); sqlerr.CodeOf(err) != sqlerr.Closed {
		t.Errorf("after Close: %v", err)
	}
}

// TestCopyOfNothing copies a database whose file does not exist, and makes none.
func TestCopyOfNothing(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	for i := range 2 { // two copies share nothing
		c, err := s.Copy(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		write(t, c, func(tx *catalog.Tx) error {
			_, err := tx.SQL().ExecContext(context.Background(), fmt.Sprintf(`CREATE TABLE t%d (a)`, i))
			return err
		})
		declare(t, c, "raw")
	}
	if files, _ := filepath.Glob(path + "*"); len(files) > 0 {
		t.Errorf("files %q", files)
	}
}
