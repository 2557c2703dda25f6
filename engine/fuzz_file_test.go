package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// damageAsked are statements that open and use every kind of record, and change
// nothing.
var damageAsked = []string{
	`SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`, `SHOW LEDGER`, `DESCRIBE visits`, `SHOW SOURCES`, `DESCRIBE afar`,
	`SELECT COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE day < 3`, `EXPLAIN SELECT COUNT(*) FROM visits WHERE day = 1`,
	`SET mechanism = cells`, `SELECT COUNT(*) FROM visits WHERE day = 2`, `SET mechanism = hashed`, `SELECT COUNT(*) FROM visits WHERE day = 2`,
	`SET mechanism = learned`, `SELECT COUNT(*) FROM visits WHERE day = 2`, `SET mechanism = live`, `EXPLAIN SELECT COUNT(*) FROM visits WHERE day = 5`,
}

// losable are those of them that a stored answer serves. Damage can lose it: then
// others serve, or it must be bought anew.
var losable = map[string]bool{
	`SELECT COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE day < 3`: true, `EXPLAIN SELECT COUNT(*) FROM visits WHERE day = 5`: true,
}

// damageable returns the bytes of a database that has one of each.
func damageable(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.db")
	s := open(t, path, engine.Options{}).NewSession()
	fixed(s.DB(), 8000)
	fill(t, s, `CREATE TABLE raw (patient INTEGER, day INTEGER)`, `INSERT INTO raw SELECT i, i % 10 FROM `+numbers(200))
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (day INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 400, delta = 1e-6)`,
		`CREATE RELEASE cells ON visits USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE RELEASE hashed ON visits USING PROJECTION WITH (epsilon = 0.5, transform = sparse, rows = 64, delta = 0)`,
		`CREATE RELEASE learned ON visits USING SMW WITH (epsilon = 20, delta = 1e-8, free_columns = 1, max_updates = 2)`,
		`CREATE MECHANISM live ON visits USING SMW WITH (epsilon = 20, max_updates = 3, queries = 30, beta = 0.5)`,
		`SET mechanism = live`, `SELECT COUNT(*) FROM visits WHERE day = 5`, `SELECT COUNT(*) FROM visits WHERE day < 9`,
		`SET mechanism = direct`, `SET accuracy = 20`, `SELECT COUNT(*) FROM visits WHERE day < 3`,
	} {
		must(t, s, text)
	}
	outsideOf(t, s.DB())
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sights returns what is to be seen of a file, an error for what is refused.
func sights(t testing.TB, path string) (seen []any) {
	t.Helper()
	db, err := engine.Open(path, engine.Options{ReadOnly: true})
	if err != nil {
		return slices.Repeat([]any{err}, len(damageAsked))
	}
	defer db.Close()
	s := db.NewSession()
	for _, text := range damageAsked {
		r, err := s.Exec(context.Background(), text, nil)
		if err != nil {
			seen = append(seen, err)
			continue
		}
		seen = append(seen, fmt.Sprint(r.Columns, r.Rows))
	}
	return seen
}

// FuzzFile damages the bytes of a whole database. Nothing makes dpsql fail
// otherwise than with an error of a code other than internal; what is said is what
// was said before, or is refused; and rows that have a budget do not get another.
func FuzzFile(f *testing.F) {
	data := damageable(f)
	path := filepath.Join(f.TempDir(), "base.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.Fatal(err)
	}
	want := sights(f, path)
	for i, seen := range want {
		if err, refused := seen.(error); refused {
			f.Fatalf("%s: %v", damageAsked[i], err)
		}
	}
	for at := 16; at < len(data); at += len(data) / 40 {
		f.Add([]byte{byte(at >> 16), byte(at >> 8), byte(at), 0x40, byte(at >> 17), byte(at >> 9), 5, 0xff}, uint32(len(data)))
	}
	f.Add([]byte{0, 0, 47, 2}, uint32(len(data))) // a format of the schema that SQLite does not know
	f.Add([]byte{}, uint32(4096))
	f.Add([]byte{}, uint32(511))
	f.Fuzz(func(t *testing.T, edits []byte, size uint32) {
		bytes := slices.Clone(data[:min(int(size), len(data))])
		for ; len(edits) >= 4; edits = edits[4:] {
			if at := int(edits[0])<<16 | int(edits[1])<<8 | int(edits[2]); at < len(bytes) {
				bytes[at] ^= edits[3]
			}
		}
		path := filepath.Join(t.TempDir(), "damaged.db")
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		for i, seen := range sights(t, path) {
			var e *sqlerr.Error
			err, refused := seen.(error)
			switch {
			case refused && (!errors.As(err, &e) || e.Code == sqlerr.Internal):
				t.Errorf("%s: %v", damageAsked[i], err)
			case !refused && seen != want[i] && len(bytes) >= 512 && !losable[damageAsked[i]]: // less than 512 bytes are empty to SQLite
				t.Errorf("%s\nsays %s\nand said %s", damageAsked[i], seen, want[i])
			}
		}
		oneBudget(t, path)
	})
}

// oneBudget declares the rows once more, and fails if they then have a second
// budget.
func oneBudget(t *testing.T, path string) {
	t.Helper()
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return
	}
	defer db.Close()
	s := db.NewSession()
	if _, err := s.Exec(context.Background(), `CREATE PRIVATE TABLE again (day INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 400, delta = 1e-6)`, nil); err != nil {
		return
	}
	r, err := s.Exec(context.Background(), `SHOW LEDGER`, nil)
	if err != nil {
		return
	}
	if n := strings.Count(fmt.Sprint(r.Rows), "raw releases budget declared"); n != 1 {
		t.Errorf("%d budgets are declared: %v", n, r.Rows)
	}
}
