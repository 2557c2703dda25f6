package engine_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// TestReadOnlyFile uses a file that cannot be written. It answers what was paid for, and
// sells nothing. Permissions do not stop root, who instead mounts a read-only file system,
// if that is permitted.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	for name, c := range map[string]struct {
		options engine.Options
		lock    func(t *testing.T, path string) (unlock func())
	}{
		"by option":      {engine.Options{ReadOnly: true}, func(*testing.T, string) func() { return func() {} }},
		"by permissions": {engine.Options{}, withoutPermission},
		"by mount":       {engine.Options{}, remounted},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if name == "by mount" {
				dir = tmpfs(t, len(s.content)+2<<20)
			}
			path := filepath.Join(dir, "ward.db")
			restore(t, path, s.content)
			unlock := c.lock(t, path)
			db := open(t, path, c.options)
			if r := mustWith(t, db, "m0", askedOnce); r.Rows[0][0] != s.agreed.Rows[0][0] {
				t.Errorf("a stored answer became %v", r.Rows)
			}
			if r := mustWith(t, db, "r0", boughtOnce); r.Rows[0][0] != s.stored.Rows[0][0] {
				t.Errorf("a release answers %v", r.Rows)
			}
			for _, e := range exercise(1) {
				refusedWith(t, db, sqlerr.ReadOnly, e[0], e[1])
			}
			audit(t, db)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			unlock()
			if content, err := os.ReadFile(path); err != nil || !bytes.Equal(content, s.content) {
				t.Errorf("the file was changed, %v", err)
			}
			s.goesOn(t, open(t, path, engine.Options{}))
		})
	}
}

func withoutPermission(t *testing.T, path string) func() {
	if os.Geteuid() == 0 {
		t.Skip("permissions do not stop root")
	}
	chmod := func(file, dir os.FileMode) {
		if err := errors.Join(os.Chmod(path, file), os.Chmod(filepath.Dir(path), dir)); err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o400, 0o500)
	unlock := func() { chmod(0o600, 0o700) }
	t.Cleanup(unlock)
	return unlock
}

func remounted(t *testing.T, path string) func() {
	mount := func(how string) {
		for {
			out, err := exec.Command("mount", "-o", "remount,"+how, filepath.Dir(path)).CombinedOutput()
			if err == nil {
				return
			}
			if !bytes.Contains(out, []byte("busy")) { // a process that another test starts holds the file open for a moment
				t.Fatalf("%v %s", err, out)
			}
		}
	}
	mount("ro")
	return func() { mount("rw") }
}

// lockWait is the bounded wait of the tests below.
const lockWait = 100 * time.Millisecond

// locker holds a lock on a file, as another program would.
func locker(t *testing.T, path string, statements ...string) (unlock func()) {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	raw.SetMaxOpenConns(1)
	for _, text := range statements {
		if _, err := raw.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	t.Cleanup(func() { raw.Close() })
	return func() {
		raw.Exec(`ROLLBACK`)
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLockedFile meets another program's lock. Writers fail as busy, after the wait and
// not before. Readers continue unless the lock excludes them too.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	for name, c := range map[string]struct {
		lock    []string
		readers bool // readers continue
	}{
		"immediate": {[]string{`BEGIN IMMEDIATE`}, true},
		"exclusive": {[]string{`BEGIN EXCLUSIVE`}, true}, // in WAL mode the same
		"alone":     {[]string{`PRAGMA locking_mode = EXCLUSIVE`, `BEGIN IMMEDIATE`, `CREATE TABLE mine (a)`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ward.db")
			restore(t, path, s.content)
			db := open(t, path, engine.Options{BusyTimeout: lockWait})
			unlock := locker(t, path, c.lock...)
			for _, e := range exercise(1) {
				start := time.Now()
				refusedWith(t, db, sqlerr.Busy, e[0], e[1])
				if took := time.Since(start); took < lockWait-20*time.Millisecond {
					t.Errorf("%s: busy after %v", e[1], took)
				}
			}
			if c.readers {
				if r := mustWith(t, db, "m0", askedOnce); r.Rows[0][0] != s.agreed.Rows[0][0] {
					t.Errorf("a stored answer became %v", r.Rows)
				}
				mustWith(t, db, "r0", boughtOnce)
				audit(t, db)
			} else {
				refusedWith(t, db, sqlerr.Busy, "r0", boughtOnce)
			}
			unlock()
			s.goesOn(t, db)
		})
	}
}

// TestLockBetweenChargeAndStore takes the lock at the moment of the draw. The draw is not
// answered, its charge stays, and a run that fired is over.
func TestLockBetweenChargeAndStore(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	for _, c := range []struct{ mechanism, text string }{
		{"direct", askedNever},
		{"m0", firing},
		{"auto", `CREATE RELEASE x ON ward USING PROJECTION WITH (epsilon = 0.1)`},
	} {
		t.Run(c.text, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ward.db")
			restore(t, path, s.content)
			db := open(t, path, engine.Options{BusyTimeout: lockWait})
			mustWith(t, db, "m0", askedNever) // opens a run
			before := audit(t, db)
			var unlock func()
			db.SetRandom(func() *noise.Source {
				if unlock == nil {
					unlock = locker(t, path, `BEGIN IMMEDIATE`)
				}
				return noise.NewSource()
			})
			refusedWith(t, db, sqlerr.Busy, c.mechanism, c.text)
			unlock()
			db.SetRandom(noise.NewSource)
			now := audit(t, db)
			if err := now.follows(before); err != nil {
				t.Error(err)
			}
			m := before.byName["m0"]
			switch {
			case c.mechanism == "direct" && now.unstored() != before.unstored()+1, c.mechanism == "auto" && now.unbuilt() != before.unbuilt()+1:
				t.Error("the charge is not kept")
			case c.mechanism == "m0" && len(now.history) != len(before.history):
				t.Error("a firing that could not be stored is in the history")
			}
			mustWith(t, db, "m0", `SELECT COUNT(*) FROM ward WHERE age = 11`)
			after := audit(t, db).byName["m0"]
			if went := after.run != nil && *after.run == *m.run; went != (c.mechanism != "m0") {
				t.Errorf("%s: run %d of the mechanism goes on: %v", c.text, *m.run, went)
			}
			s.goesOn(t, db)
		})
	}
}

// TestWaitForATurnIsBounded makes one statement hold the turn forever. The next waits as long as its context lasts,
// and one that has no context at most as long as it would for another process.
func TestWaitForATurnIsBounded(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, s.content)
	db := open(t, path, engine.Options{BusyTimeout: lockWait})
	turns := db.Answers().Live
	turns.Turn <- struct{}{} // stands for a long statement
	defer func() { <-turns.Turn }()
	session := db.NewSession()
	session.Set("mechanism", "m0")
	ctx, cancel := context.WithTimeout(context.Background(), 20*lockWait)
	defer cancel()
	if _, err := session.Exec(ctx, askedNever, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("when its context had ended: %v, want cancelled", err)
	}
	if err := turns.Enter(context.Background()); sqlerr.CodeOf(err) != sqlerr.Busy {
		t.Errorf("when the wait for other processes was over: %v, want busy", err)
	}
}

// TestTruncatedFile cuts the file at the end of each page, and inside pages. Every
// statement is refused, and the whole file answers again.
func TestTruncatedFile(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	page := int(binary.BigEndian.Uint16(s.content[16:]))
	var sizes []int
	for at := 0; at < len(s.content)-page; at += page {
		sizes = append(sizes, at, at+1, at+99, at+page/2)
	}
	sizes = append(sizes, len(s.content)-page)
	if testing.Short() {
		sizes = slices.DeleteFunc(sizes, func(n int) bool { return n > page && n%3 != 0 && n < len(s.content)-page })
	}
	codes := tally{}
	for _, size := range sizes {
		restore(t, path, s.content[:size])
		db, err := engine.Open(path, engine.Options{})
		if err != nil {
			codes["open: "+string(sqlerr.CodeOf(err))]++
			if code := sqlerr.CodeOf(err); code != sqlerr.Corrupt && code != sqlerr.IO {
				t.Errorf("%d bytes: %v", size, err)
			}
			continue
		}
		for _, e := range [][2]string{{"direct", askedNever}, {"m0", askedNever}, {"m0", askedOnce}, {"direct", boughtOnce}, {"r0", boughtOnce}} {
			_, err := askVia(db, e[0], e[1])
			codes[string(sqlerr.CodeOf(err))]++
			empty := size <= 1 && sqlerr.CodeOf(err) == sqlerr.Unknown // to SQLite these are empty databases
			if code := sqlerr.CodeOf(err); code != sqlerr.Corrupt && code != sqlerr.IO && !empty {
				t.Errorf("%d bytes, %s by %s: %v", size, e[1], e[0], err)
			}
		}
		db.Close()
	}
	t.Logf("%d sizes:%v", len(sizes), codes)
	restore(t, path, s.content)
	s.goesOn(t, open(t, path, engine.Options{}))
}

// TestTruncatedWhileOpen cuts a file under an open database.
func TestTruncatedWhileOpen(t *testing.T) {
	t.Parallel()
	s := newSound(t)
	for _, size := range []int{0, 512, len(s.content) / 2 &^ 4095} {
		path := filepath.Join(t.TempDir(), "ward.db")
		restore(t, path, s.content)
		db := open(t, path, engine.Options{BusyTimeout: lockWait})
		mustWith(t, db, "auto", `SHOW LEDGER`)
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		for _, e := range exercise(1) {
			_, err := askVia(db, e[0], e[1])
			switch code := sqlerr.CodeOf(err); code {
			case sqlerr.Corrupt, sqlerr.IO, sqlerr.Unknown:
			default:
				t.Errorf("%d bytes, %s: %v", size, e[1], err)
			}
		}
		db.Close()
		restore(t, path, s.content)
		s.goesOn(t, open(t, path, engine.Options{}))
	}
}
