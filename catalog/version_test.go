package catalog_test

import (
	"context"
	"fmt"
	"testing"

	"dpsql/catalog"
)

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

// TestRowsVersionDuringAWrite asks while a transaction of this Store has
// changed rows and is not over: no version may be given that holds afterwards.
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
