package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func publics(t *testing.T, s *catalog.Store) string {
	t.Helper()
	var names []string
	read(t, s, func(tx *catalog.Tx) (err error) { names, err = tx.Publics(); return err })
	return strings.Join(names, " ")
}

func TestRollbackLeavesNothing(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	boom := sqlerr.New(sqlerr.Uncovered, "no")
	fail := func(tx *catalog.Tx) error {
		if err := tx.AddPublic("p"); err != nil {
			return err
		}
		a := &catalog.Account{Epsilon: "1", Delta: "0", Interactive: "0", Caps: someCaps(), Bases: []string{"rows1"}}
		if err := tx.CreateAccount(a); err != nil {
			return err
		}
		return boom
	}
	for range 2 {
		if err := s.Write(context.Background(), fail); err != error(boom) {
			t.Fatalf("got %v, want fn's own error", err)
		}
		read(t, s, func(tx *catalog.Tx) error {
			if tx.Version() != 0 {
				t.Error("a schema was left")
			}
			return nil
		})
	}
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic was lost")
			}
		}()
		s.Write(context.Background(), func(tx *catalog.Tx) error {
			tx.AddPublic("p")
			tx.SQL().QueryContext(context.Background(), `SELECT name FROM dpsql_objects`) // left open
			panic("boom")
		})
	}()
	if got := publics(t, s); got != "" {
		t.Errorf("left %q", got)
	}
	declare(t, s, "rows1") // the ledger and the Store still agree
	read(t, s, func(tx *catalog.Tx) error { return tx.VerifyLedger() })
}

func TestSchemaAppearsWithTheFirstRecord(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	write(t, s, func(tx *catalog.Tx) error {
		_, err := tx.SQL().ExecContext(context.Background(), `CREATE TABLE imported (a)`)
		return err
	})
	objects := func() (n int) {
		read(t, s, func(tx *catalog.Tx) error {
			return tx.SQL().QueryRowContext(context.Background(), `SELECT COUNT(*) FROM sqlite_schema WHERE name LIKE 'dpsql%'`).Scan(&n)
		})
		return n
	}
	if n := objects(); n != 0 {
		t.Errorf("an import made %d dpsql objects", n)
	}
	declare(t, s, "imported")
	if n := objects(); n == 0 {
		t.Error("a declaration made no dpsql objects")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	var journal string
	var synchronous, foreign int
	write(t, s, func(tx *catalog.Tx) error {
		ctx := context.Background()
		err1 := tx.SQL().QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&journal)
		err2 := tx.SQL().QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&synchronous)
		return errors.Join(err1, err2, tx.SQL().QueryRowContext(ctx, `PRAGMA foreign_keys`).Scan(&foreign))
	})
	if journal != "wal" || synchronous != 2 || foreign != 1 {
		t.Errorf("journal_mode %s, synchronous %d, foreign_keys %d", journal, synchronous, foreign)
	}
}

func TestBusyAndSnapshotBetweenStores(t *testing.T) {
	path := dbPath(t)
	a := openWith(t, path, catalog.Options{BusyTimeout: 50 * time.Millisecond})
	b := openWith(t, path, catalog.Options{BusyTimeout: 50 * time.Millisecond})
	write(t, a, func(tx *catalog.Tx) error { return tx.AddPublic("one") })
	nothing := func(*catalog.Tx) error { return nil }
	write(t, a, func(tx *catalog.Tx) error {
		if err := tx.AddPublic("two"); err != nil {
			return err
		}
		wantCode(t, b.Write(context.Background(), nothing), sqlerr.Busy) // another process's turn
		wantCode(t, a.Write(context.Background(), nothing), sqlerr.Busy) // another goroutine's
		if got := publics(t, b); got != "one" {
			t.Errorf("the other store sees %q of an open transaction", got)
		}
		return nil
	})
	read(t, b, func(tx *catalog.Tx) error {
		write(t, a, func(tx *catalog.Tx) error { return tx.AddPublic("zzz") })
		names, err := tx.Publics()
		if strings.Join(names, " ") != "one two" {
			t.Errorf("a snapshot changed: %v", names)
		}
		return err
	})
	if got := publics(t, b); got != "one two zzz" {
		t.Errorf("after the commit %q", got)
	}
}

func TestCancelled(t *testing.T) {
	path := dbPath(t)
	a, b := open(t, path), open(t, path)
	write(t, a, func(tx *catalog.Tx) error { return tx.AddPublic("one") })
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	nothing := func(*catalog.Tx) error { return nil }
	wantCode(t, a.Read(ended, nothing), sqlerr.Cancelled)
	wantCode(t, a.Write(ended, nothing), sqlerr.Cancelled)
	_, err := a.AcquireLease(ended)
	wantCode(t, err, sqlerr.Cancelled)
	_, err = catalog.Open(ended, path, catalog.Options{})
	wantCode(t, err, sqlerr.Cancelled)

	write(t, a, func(*catalog.Tx) error { // waiting for a lock hears the context
		short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		wantCode(t, b.Write(short, nothing), sqlerr.Cancelled)
		wantCode(t, a.Write(short, nothing), sqlerr.Cancelled)
		return nil
	})
	during, cancel := context.WithCancel(context.Background())
	err = a.Write(during, func(tx *catalog.Tx) error {
		err := tx.AddPublic("two")
		cancel()
		return err
	})
	wantCode(t, err, sqlerr.Cancelled)
	long, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err = a.Read(long, func(tx *catalog.Tx) error {
		var n int
		return tx.SQL().QueryRowContext(long, `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c`).Scan(&n)
	})
	wantCode(t, err, sqlerr.Cancelled)
	if got := publics(t, a); got != "one" {
		t.Errorf("left %q", got)
	}
}

// TestEndedTransactionIsNoDamage reads after a transaction was ended. If a context ends
// between two checks of it, database/sql first ends the transaction and returns
// sql.ErrTxDone. That is no damage of the file.
func TestEndedTransactionIsNoDamage(t *testing.T) {
	s := open(t, dbPath(t))
	write(t, s, func(tx *catalog.Tx) error { return tx.AddPublic("p") })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := s.Read(ctx, func(tx *catalog.Tx) error {
		if err := tx.Rollback(); err != nil {
			return err
		}
		_, err := tx.Answers(1, "q")
		cancel()
		return err
	})
	if code := sqlerr.CodeOf(err); code != sqlerr.Cancelled {
		t.Errorf("%v, want %s", err, sqlerr.Cancelled)
	}
}

// A full disk is imitated by a limit on the number of pages, which gives the
// same error of the engine.
func TestDiskFull(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	write(t, s, func(tx *catalog.Tx) error { return tx.AddPublic("one") })
	var pages int
	limit := func(tx *catalog.Tx, n int) error {
		return tx.SQL().QueryRowContext(context.Background(), fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(&pages)
	}
	write(t, s, func(tx *catalog.Tx) error { return limit(tx, 1) }) // raised by SQLite to the present size
	err := s.Write(context.Background(), func(tx *catalog.Tx) error {
		if err := tx.AddPublic("two"); err != nil {
			return err
		}
		_, table := 0, &catalog.Table{Name: strings.Repeat("x", 100_000), Columns: clinicColumns()}
		if err := tx.AddTable(table); err == nil {
			t.Error("a full file took a large row")
		}
		// The engine has rolled back; a sloppy caller goes on and hides the error.
		if err := tx.AddPublic("three"); err == nil {
			t.Error("a statement ran after the transaction was gone")
		}
		return nil
	})
	wantCode(t, err, sqlerr.IO)
	write(t, s, func(tx *catalog.Tx) error { return limit(tx, 1<<20) })
	if got := publics(t, s); got != "one" {
		t.Errorf("left %q", got)
	}
}

// Two stores make the first write to one rollback-journal file at once: both
// must turn it into a WAL database and create one schema.
func TestFirstWritesRace(t *testing.T) {
	path := dbPath(t)
	raw(t, path, `CREATE TABLE r (a)`)
	var group sync.WaitGroup
	for i := range 4 {
		s := open(t, path)
		read(t, s, func(*catalog.Tx) error { return nil })
		group.Go(func() {
			if err := s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic(fmt.Sprint("p", i)) }); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := publics(t, open(t, path)); got != "p0 p1 p2 p3" {
		t.Errorf("got %q", got)
	}
}

func TestEngineErrorsAreNotQuoted(t *testing.T) {
	s := open(t, dbPath(t))
	for _, text := range []string{
		`SELECT * FROM secret_42`,
		`CREATE TABLE u (a UNIQUE); INSERT INTO u VALUES ('secret_42'), ('secret_42')`,
		`SELECT json_extract('secret_42', '$')`,
		`not SQL secret_42`,
	} {
		err := s.Write(context.Background(), func(tx *catalog.Tx) error {
			_, err := tx.SQL().ExecContext(context.Background(), text)
			return err
		})
		wantCode(t, err, sqlerr.Internal)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: quotes %v", text, err)
		}
	}
	err := s.Write(context.Background(), func(*catalog.Tx) error { return errors.New("secret_42") })
	wantCode(t, err, sqlerr.Internal)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("quotes %v", err)
	}
}

func TestMigration(t *testing.T) {
	path := dbPath(t)
	old := open(t, path)
	declare(t, old, "rows1")
	next := open(t, path)
	next.AddVersion("dpsql_notes", `CREATE TABLE dpsql_notes (note TEXT)`)
	version := func(s *catalog.Store) (v int) {
		read(t, s, func(tx *catalog.Tx) error { v = tx.Version(); return nil })
		return v
	}
	if v := version(next); v != catalog.LatestVersion {
		t.Errorf("reading migrated to %d", v)
	}
	boom := errors.New("boom")
	next.Write(context.Background(), func(*catalog.Tx) error { return boom })
	if v := version(next); v != catalog.LatestVersion {
		t.Errorf("a failed write migrated to %d", v)
	}
	write(t, next, func(tx *catalog.Tx) error {
		_, err := tx.SQL().ExecContext(context.Background(), `INSERT INTO dpsql_notes VALUES ('n')`)
		return err
	})
	if v := version(next); v != catalog.LatestVersion+1 {
		t.Errorf("the first write left version %d", v)
	}
	nothing := func(*catalog.Tx) error { return nil }
	wantCode(t, old.Read(context.Background(), nothing), sqlerr.Unsupported)
	wantCode(t, old.Write(context.Background(), nothing), sqlerr.Unsupported)
	_, err := catalog.Open(context.Background(), path, catalog.Options{})
	wantCode(t, err, sqlerr.Unsupported)
}

func version(t *testing.T, s *catalog.Store) catalog.Version {
	t.Helper()
	v, err := s.Version(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func rowsVersion(t *testing.T, s *catalog.Store) catalog.RowsVersion {
	t.Helper()
	v, _, err := s.RowsVersion(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func addPublic(t testing.TB, s *catalog.Store, name string) {
	t.Helper()
	write(t, s, func(tx *catalog.Tx) error { return tx.AddPublic(name) })
}

func insertRow(t *testing.T, s *catalog.Store) {
	t.Helper()
	write(t, s, func(tx *catalog.Tx) error {
		_, err := tx.SQL().ExecContext(context.Background(), `INSERT INTO kept VALUES (1)`)
		return err
	})
}

// TestVersions changes a file in every way and looks at which versions notice.
func TestVersions(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	if version(t, s).Known() || rowsVersion(t, s).Known() {
		t.Fatal("a missing file has a version")
	}
	write(t, s, func(tx *catalog.Tx) error {
		_, err := tx.SQL().ExecContext(context.Background(), `CREATE TABLE kept (a)`)
		return err
	})
	other := open(t, path)
	addPublic(t, other, "first") // so that the other one has written
	for i, step := range []struct {
		what       string
		do         func()
		file, rows bool // whether the version changes
	}{
		{"nothing", func() {}, false, false},
		{"a read", func() { read(t, s, func(tx *catalog.Tx) error { _, err := tx.Publics(); return err }) }, false, false},
		{"an own record", func() { addPublic(t, s, "own") }, true, false},
		{"two own records", func() { addPublic(t, s, "own2"); addPublic(t, s, "own3") }, true, false},
		{"a write that changes nothing", func() { write(t, s, func(*catalog.Tx) error { return nil }) }, false, false},
		{"own rows", func() { insertRow(t, s) }, true, true},
		{"a record of another", func() { addPublic(t, other, "theirs") }, true, true},
		{"a table of another program", func() { raw(t, path, `CREATE TABLE theirs (a)`) }, true, true},
		{"rows of another", func() { insertRow(t, other) }, true, true},
		{"an own record after that", func() { addPublic(t, s, "own4") }, true, false},
		{"both at once", func() { addPublic(t, s, "own5"); insertRow(t, other) }, true, true},
	} {
		t.Run(fmt.Sprint(i, " ", step.what), func(t *testing.T) {
			file, rows := version(t, s), rowsVersion(t, s)
			if !file.Known() || !rows.Known() {
				t.Fatal("not known")
			}
			step.do()
			if changed := version(t, s) != file; changed != step.file {
				t.Errorf("the file's version changed: %v", changed)
			}
			if changed := rowsVersion(t, s) != rows; changed != step.rows {
				t.Errorf("the rows' version changed: %v", changed)
			}
		})
	}
}

// TestRowsVersionDuringAWrite asks for a version while a transaction of this Store has
// changed rows and is still open. No version from then may hold afterwards.
func TestRowsVersionDuringAWrite(t *testing.T) {
	s := open(t, dbPath(t))
	write(t, s, func(tx *catalog.Tx) error {
		_, err := tx.SQL().ExecContext(context.Background(), `CREATE TABLE kept (a)`)
		return err
	})
	before := rowsVersion(t, s)
	write(t, s, func(tx *catalog.Tx) error {
		if _, err := tx.SQL().ExecContext(context.Background(), `INSERT INTO kept VALUES (1)`); err != nil {
			return err
		}
		if rowsVersion(t, s).Known() {
			t.Error("rows have a version while they change")
		}
		return nil
	})
	if rowsVersion(t, s) == before {
		t.Error("changed rows have the version of before")
	}
}

// TestVersionOfReadOnlyStore sees the commits of others without a writer.
func TestVersionOfReadOnlyStore(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	addPublic(t, s, "first")
	reader, err := catalog.Open(context.Background(), path, catalog.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	before, rows := version(t, reader), rowsVersion(t, reader)
	if version(t, reader) != before || rowsVersion(t, reader) != rows {
		t.Error("versions differ though nothing happened")
	}
	addPublic(t, s, "second")
	if version(t, reader) == before || rowsVersion(t, reader) == rows {
		t.Error("a commit was not noticed")
	}
}
