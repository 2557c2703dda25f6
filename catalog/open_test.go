package catalog_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestMissingFileIsAnEmptyCatalog(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	read(t, s, func(tx *catalog.Tx) error {
		tables, err1 := tx.Tables()
		publics, err2 := tx.Publics()
		releases, err3 := tx.Releases(0)
		mechanisms, err4 := tx.Mechanisms(0)
		answers, err5 := tx.Answers(1, "q")
		history, err6 := tx.History(1, 0)
		entries, err7 := tx.Ledger()
		accounts, err8 := tx.Accounts()
		account, err9 := tx.AccountFor([]string{"a"})
		for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, tx.VerifyLedger()} {
			if err != nil {
				t.Error(err)
			}
		}
		if n := len(tables) + len(publics) + len(releases) + len(mechanisms) + len(answers) + len(history) + len(entries) + len(accounts); n != 0 || account != nil {
			t.Errorf("%d records in a missing file", n)
		}
		var one int
		if err := tx.SQL().QueryRowContext(context.Background(), `SELECT 1`).Scan(&one); err != nil || one != 1 {
			t.Errorf("SELECT 1 = %d, %v", one, err)
		}
		return nil
	})
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("reading made the file: %v", err)
	}
	if s.ReadOnly() {
		t.Error("a missing file in a writable directory is read-only")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.db")
	if err := os.WriteFile(junk, bytes.Repeat([]byte("secret value "), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	raw(t, newer, `CREATE TABLE dpsql_schema (version INTEGER)`, `INSERT INTO dpsql_schema VALUES (99)`)
	versionless := filepath.Join(dir, "versionless.db")
	raw(t, versionless, `CREATE TABLE dpsql_schema (version INTEGER)`)
	foreign := filepath.Join(dir, "foreign.db")
	raw(t, foreign, `CREATE TABLE dpsql_tables (a)`)
	for _, c := range []struct {
		path    string
		code    sqlerr.Code
		message string
	}{
		{junk, sqlerr.Corrupt, junk + " is not an SQLite database"},
		{dir, sqlerr.IO, dir + " is a directory"},
		{filepath.Join(junk, "x.db"), sqlerr.IO, ""},
		{"/dev/null", sqlerr.IO, ""},
		{"", sqlerr.Invalid, ""},
		{"a\x00b", sqlerr.Invalid, ""},
		{newer, sqlerr.Unsupported, fmt.Sprintf("the catalog has version 99 and this dpsql knows versions up to %d", catalog.LatestVersion)},
		{versionless, sqlerr.Corrupt, ""},
		{foreign, sqlerr.Corrupt, ""},
	} {
		_, err := catalog.Open(context.Background(), c.path, catalog.Options{})
		wantCode(t, err, c.code)
		if e := err.(*sqlerr.Error); c.message != "" && e.Message != c.message {
			t.Errorf("%q: message %q, want %q", c.path, e.Message, c.message)
		}
	}
}

func TestSpecialCharactersInPath(t *testing.T) {
	for _, name := range []string{"a b.db", "what?mode=memory.db", "50%.db", "50%41.db", "#1.db", "a&b=c;d.db", "é語.db", "file:x", "'\"\\.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path)
		write(t, s, func(tx *catalog.Tx) error { return tx.AddPublic("icd10") })
		read(t, s, func(tx *catalog.Tx) error {
			if p, err := tx.Publics(); err != nil || len(p) != 1 {
				t.Errorf("%q: publics %v, %v", name, p, err)
			}
			return nil
		})
		s.Close()
		entries, _ := os.ReadDir(filepath.Dir(path))
		if len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%q: the directory holds %v", name, entries)
		}
	}
}

// state returns the names, sizes, times and bytes of a directory's files.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, _ := e.Info()
		all[e.Name()] = info.ModTime().String() + info.Mode().String() + string(data)
	}
	return all
}

func TestOpeningAndReadingChangeNothing(t *testing.T) {
	for name, setUp := range map[string]func(path string){
		"rollback journal": func(path string) { raw(t, path, `CREATE TABLE r (a)`, `INSERT INTO r VALUES (1)`) },
		"wal":              func(path string) { raw(t, path, `PRAGMA journal_mode = wal`, `CREATE TABLE r (a)`) },
		"catalog": func(path string) {
			s := open(t, path)
			declare(t, s, "r1")
			s.Close()
		},
		"empty file": func(path string) { os.WriteFile(path, nil, 0o644) },
	} {
		for _, o := range []catalog.Options{{}, {ReadOnly: true}} {
			path := dbPath(t)
			setUp(path)
			before := state(t, filepath.Dir(path))
			s := openWith(t, path, o)
			opened := state(t, filepath.Dir(path))
			read(t, s, func(tx *catalog.Tx) error { _, err := tx.Tables(); return err })
			s.Close()
			closed := state(t, filepath.Dir(path))
			for when, after := range map[string]map[string]string{"open": opened, "read and close": closed} {
				if len(after) != len(before) {
					t.Errorf("%s: %s changed the directory", name, when)
				}
				for file, was := range before {
					if after[file] != was {
						t.Errorf("%s: %s changed %s", name, when, file)
					}
				}
			}
		}
	}
}

func TestReadOnlyOption(t *testing.T) {
	path := dbPath(t)
	writer := open(t, path)
	declare(t, writer, "rows1")
	s := openWith(t, path, catalog.Options{ReadOnly: true})
	if !s.ReadOnly() || writer.ReadOnly() {
		t.Error("ReadOnly is wrong")
	}
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("p") }), sqlerr.ReadOnly)
	_, err := s.AcquireLease(context.Background())
	wantCode(t, err, sqlerr.ReadOnly)
	err = s.Read(context.Background(), func(tx *catalog.Tx) error {
		_, err := tx.SQL().ExecContext(context.Background(), `CREATE TABLE x (a)`)
		return err
	})
	wantCode(t, err, sqlerr.ReadOnly)
	err = writer.Read(context.Background(), func(tx *catalog.Tx) error {
		_, err := tx.SQL().ExecContext(context.Background(), `CREATE TABLE x (a)`)
		return err
	})
	wantCode(t, err, sqlerr.ReadOnly)
	wantCode(t, writer.Read(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("p") }), sqlerr.Internal)
}

func TestFileReplacedWhileOpen(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	declare(t, s, "rows1")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	nothing := func(*catalog.Tx) error { return nil }
	wantCode(t, s.Read(context.Background(), nothing), sqlerr.IO)
	wantCode(t, s.Write(context.Background(), nothing), sqlerr.IO)
	raw(t, path, `CREATE TABLE other (a)`)
	wantCode(t, s.Read(context.Background(), nothing), sqlerr.IO)
}

// A file read without locks is compared before and after.
func TestImmutableSnapshotNoticesAWriter(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	declare(t, s, "rows1")
	s.Close()
	s = open(t, path)
	for name, disturb := range map[string]func(){
		"nothing": func() {},
		"wal":     func() { os.WriteFile(path+"-wal", []byte("x"), 0o600) },
		"size":    func() { os.Truncate(path, 1<<20) },
	} {
		os.Remove(path + "-wal")
		version, end, err := s.OpenImmutable(context.Background())
		if err != nil || version != catalog.LatestVersion {
			t.Fatalf("%s: version %d, %v", name, version, err)
		}
		disturb()
		err = end()
		if want := map[bool]sqlerr.Code{true: "", false: sqlerr.Busy}[name == "nothing"]; sqlerr.CodeOf(err) != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestClosedStore(t *testing.T) {
	s := open(t, dbPath(t))
	write(t, s, func(tx *catalog.Tx) error { return tx.AddPublic("p") })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	nothing := func(*catalog.Tx) error { return nil }
	wantCode(t, s.Read(context.Background(), nothing), sqlerr.Closed)
	wantCode(t, s.Write(context.Background(), nothing), sqlerr.Closed)
}

func TestMissingDirectory(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "no", "such", "x.db"))
	read(t, s, func(*catalog.Tx) error { return nil })
	err := s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("p") })
	if code := sqlerr.CodeOf(err); code != sqlerr.IO {
		t.Errorf("write in a missing directory: %v", err)
	}
}
