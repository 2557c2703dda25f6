package catalog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsql/catalog"
	"dpsql/catalog/internal/ledger"
	"dpsql/sqlerr"
)

// snapshotFiles reads a database and the files beside it.
func snapshotFiles(t *testing.T, path string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, beside := range []string{"", "-wal", "-mark"} {
		data, err := os.ReadFile(path + beside)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err == nil {
			files[beside] = data
		}
	}
	return files
}

// placeFiles puts them elsewhere, as a crash would have left them.
func placeFiles(t *testing.T, files map[string][]byte) string {
	t.Helper()
	path := dbPath(t)
	placeFilesAt(t, path, files)
	return path
}

func placeFilesAt(t *testing.T, path string, files map[string][]byte) {
	t.Helper()
	for beside, data := range files {
		if err := os.WriteFile(path+beside, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// charged makes an account and charges it three times, with nothing moved from
// the write-ahead log to the database since the first.
func charged(t *testing.T) (s *catalog.Store, first, last map[string][]byte) {
	t.Helper()
	path := dbPath(t)
	s = open(t, path)
	account, _ := declare(t, s, "raws")
	first = snapshotFiles(t, path)
	for range 3 {
		if err := charge(s, account, catalog.KindReleases, epsilon(100, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return s, first, snapshotFiles(t, path)
}

// Any flipped bit in the log after a crash makes SQLite drop the rest of the log. The
// ledger is then either whole, or known to be incomplete.
func TestDamagedLog(t *testing.T) {
	_, first, last := charged(t)
	wal := last["-wal"]
	lost := 0
	for at := 0; at < len(wal); at += 1 + len(wal)/60 {
		last["-wal"] = bytes.Clone(wal)
		last["-wal"][at] ^= 4
		spent, err := spentOf(open(t, placeFiles(t, last)), 1)
		switch {
		case err == nil && spent.Epsilon == 300:
		case at < len(first["-wal"]) && spent.Epsilon == 0 && err == nil:
			// not even the catalog is there, of which the mark could be
		case sqlerr.CodeOf(err) == sqlerr.Corrupt:
			lost++
		default:
			t.Errorf("byte %d of %d: %v spent, %v", at, len(wal), spent.Epsilon, err)
		}
	}
	if lost == 0 {
		t.Error("no damage was noticed")
	}
}

// markBytes is the size of a slot for a mark.
const markBytes = 64

// withMark returns a file of marks that has the mark of line 4 alone, changed.
func withMark(t *testing.T, marks []byte, change func(*ledger.Mark)) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "marks")
	if err := os.WriteFile(path, marks, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := ledger.ReadMarks(path)
	if err != nil {
		t.Fatal(err)
	}
	m := all[slices.IndexFunc(all, func(m ledger.Mark) bool { return m.Seq == 4 })]
	change(&m)
	var file ledger.MarkFile
	defer file.Close()
	if _, err := file.Write(m, path+"-changed", path, true); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path + "-changed")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMarks(t *testing.T) {
	const gone = "row 4 of the ledger was written and is gone"
	for _, c := range []struct {
		name    string
		files   func(first, last map[string][]byte) map[string][]byte
		message string // "" where nothing is wrong
	}{
		{"as it was", func(first, last map[string][]byte) map[string][]byte { return last }, ""},
		{"an older copy", func(first, last map[string][]byte) map[string][]byte {
			return map[string][]byte{"": first[""], "-wal": first["-wal"], "-mark": last["-mark"]}
		}, gone},
		{"an older copy elsewhere", func(first, last map[string][]byte) map[string][]byte { delete(first, "-mark"); return first }, ""},
		{"an older mark", func(first, last map[string][]byte) map[string][]byte {
			return map[string][]byte{"": last[""], "-wal": last["-wal"], "-mark": first["-mark"]}
		}, ""},
		{"a damaged mark", func(first, last map[string][]byte) map[string][]byte { last["-mark"][4*markBytes+20] ^= 1; return last }, ""},
		{"a short mark", func(first, last map[string][]byte) map[string][]byte {
			last["-mark"] = last["-mark"][:len(last["-mark"])-1]
			return last
		}, ""},
		{"the mark of another database", func(first, last map[string][]byte) map[string][]byte {
			last["-mark"] = withMark(t, last["-mark"], func(m *ledger.Mark) { m.Catalog[0]++; m.Seq = 1000 })
			return last
		}, ""},
		{"another line", func(first, last map[string][]byte) map[string][]byte {
			last["-mark"] = withMark(t, last["-mark"], func(m *ledger.Mark) { m.Hash[0]++ })
			return last
		}, gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, first, last := charged(t)
			s := open(t, placeFiles(t, c.files(first, last)))
			_, err := spentOf(s, 1)
			var e *sqlerr.Error
			if c.message == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &e) || e.Message != c.message || !strings.Contains(e.Hint, s.MarkPath()) {
				t.Errorf("got %v, want %s", err, c.message)
			}
			wantCode(t, charge(s, 1, catalog.KindReleases, epsilon(1, 0)), sqlerr.Corrupt)
			if err := os.Remove(s.MarkPath()); err != nil { // as the hint says
				t.Fatal(err)
			}
			if err := charge(open(t, s.Path()), 1, catalog.KindReleases, epsilon(1, 0)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A database that is deleted and made anew has a new budget for rows that may be the
// same. The mark of the old database shows this. Nothing can be declared until somebody
// accepts it by deleting the mark. If the old database had charged nothing, nothing is
// lost.
func TestBudgetOfDatabaseBefore(t *testing.T) {
	path := dbPath(t)
	refused := func(lines int) {
		t.Helper()
		s := open(t, path)
		write(t, s, func(tx *catalog.Tx) error { // what has no budget may be made
			_, err := tx.SQL().ExecContext(tx.Context(), `CREATE TABLE IF NOT EXISTS raws (a)`)
			return err
		})
		first := func(tx *catalog.Tx) error {
			a := &catalog.Account{Epsilon: "2", Delta: "1e-6", Interactive: "0.5", Caps: someCaps(), Bases: []string{"raws"}}
			return tx.CreateAccount(a)
		}
		err := s.Write(context.Background(), first)
		wantCode(t, err, sqlerr.Corrupt)
		e := err.(*sqlerr.Error)
		if want := fmt.Sprintf("another database had this name, and its ledger of %d lines is gone", lines); e.Message != want || !strings.Contains(e.Hint, s.MarkPath()) {
			t.Errorf("got %v, %s, want %s", e, e.Hint, want)
		}
		s.Close()
	}
	begin := func(charges int) {
		t.Helper()
		s := open(t, path)
		account, _ := declare(t, s, "raws")
		for range charges {
			if err := charge(s, account, catalog.KindReleases, epsilon(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		declare(t, s, "others") // in a ledger that is there
		s.Close()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path)
	declare(t, s, "raws")
	s.Close()
	if err := os.Remove(path); err != nil { // nothing was charged
		t.Fatal(err)
	}
	begin(2)
	refused(4)
	refused(4)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused(4) // in another file
	if err := errors.Join(os.Remove(path), os.Remove(path+"-mark")); err != nil {
		t.Fatal(err)
	}
	begin(70) // more than there are marks
	refused(72)
	if err := os.Remove(path + "-mark"); err != nil { // as the hint says
		t.Fatal(err)
	}
	begin(1)
}

// If the mark cannot be written, nothing is charged, however often it is tried.
func TestUnwrittenMark(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, _ := declare(t, s, "raws")
	if err := os.Remove(s.MarkPath()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.MarkPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := charge(s, account, catalog.KindReleases, epsilon(1, 0))
		wantCode(t, err, sqlerr.IO)
		if hint := err.(*sqlerr.Error).Hint; !strings.Contains(hint, "nothing was charged") {
			t.Errorf("the hint is %q", hint)
		}
	}
	if err := os.Remove(s.MarkPath()); err != nil {
		t.Fatal(err)
	}
	if spent, err := spentOf(s, account); spent.Epsilon != 0 || err != nil {
		t.Errorf("%v is spent, %v", spent, err)
	}
	if err := charge(s, account, catalog.KindReleases, epsilon(1, 0)); err != nil {
		t.Error(err)
	}
}

// Stores that charge at the same time leave the mark of the last line. A Store that
// opens meanwhile never takes a mark for one of a lost line.
func TestConcurrentMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	account, _ := declare(t, open(t, path), "raws")
	var all sync.WaitGroup
	for range 4 {
		s := open(t, path)
		all.Go(func() {
			for range 25 {
				if err := charge(s, account, catalog.KindReleases, epsilon(1, 0)); err != nil {
					t.Error(err)
				}
				if _, err := spentOf(open(t, path), account); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(path + "-mark")
	if err != nil {
		t.Fatal(err)
	}
	if last := 101 % 64 * markBytes; binary.BigEndian.Uint64(data[last+16:]) != 101 {
		t.Errorf("the slot of line 101 has line %d", binary.BigEndian.Uint64(data[last+16:]))
	}
	read(t, open(t, path), func(tx *catalog.Tx) error { return tx.VerifyLedger() })
}

// A Store keeps the file of the marks open. If that file is gone or replaced, the next
// mark goes to the file that has the name.
func TestMarksGoToTheFileOfTheName(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, _ := declare(t, s, "raws")
	for i, change := range []func() error{
		func() error { return nil },
		func() error { return os.Remove(s.MarkPath()) },
		func() error { return os.Rename(s.MarkPath(), s.MarkPath()+"-old") },
		func() error {
			return errors.Join(os.WriteFile(s.MarkPath()+"-new", nil, 0o600), os.Rename(s.MarkPath()+"-new", s.MarkPath()))
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := charge(s, account, catalog.KindReleases, epsilon(1, 0)); err != nil {
			t.Fatal(err)
		}
		all, err := s.ReadMarks()
		if err != nil {
			t.Fatal(err)
		}
		if last := int64(i) + 2; !slices.ContainsFunc(all, func(m ledger.Mark) bool { return m.Seq == last }) {
			t.Errorf("%d: line %d has no mark", i, last)
		}
	}
}
