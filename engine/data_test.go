package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dpsql/engine"
)

// data is a real table in testdata, and columns of it with domains lo … hi.
type data struct {
	name, file string
	columns    []dataColumn
}

type dataColumn struct {
	name   string
	lo, hi int64
}

var adultData = data{"adult", "adult/adult.csv", []dataColumn{{"sex", 0, 1}, {"race", 0, 4}, {"education-num", 0, 15},
	{"marital-status", 0, 6}, {"relationship", 0, 5}, {"income>50K", 0, 1}}}

var pumsData = data{"pums", "pums/PUMS.csv", []dataColumn{{"age", 0, 100}, {"sex", 0, 1}, {"educ", 1, 16}, {"race", 1, 6}, {"married", 0, 1}}}

// declare imports the table and declares the columns private.
func (d data) declare(t testing.TB, with string) *engine.Session {
	t.Helper()
	s := open(t, imported(t, d.file, "raw_"+d.name), engine.Options{}).NewSession()
	var columns []string
	for _, c := range d.columns {
		columns = append(columns, fmt.Sprintf("%q INTEGER BETWEEN %d AND %d", c.name, c.lo, c.hi))
	}
	fill(t, s, `CREATE INDEX covering ON raw_`+d.name+` (`+d.list()+`)`)
	must(t, s, `CREATE PRIVATE TABLE `+d.name+` (`+strings.Join(columns, ", ")+`) FROM raw_`+d.name+` WITH (`+with+`)`)
	return s
}

// templates are databases with one imported file each. Each is imported once and then
// copied.
var templates struct {
	sync.Mutex
	dir   string
	paths map[[2]string]string
}

// imported returns the path of a new database with a table imported from testdata.
func imported(t testing.TB, file, table string) string {
	t.Helper()
	content, err := os.ReadFile(template(t, file, table))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "data.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// template returns the path of the database that imported copies.
func template(t testing.TB, file, table string) string {
	t.Helper()
	templates.Lock()
	defer templates.Unlock()
	key := [2]string{file, table}
	if path, ok := templates.paths[key]; ok {
		return path
	}
	if templates.paths == nil {
		dir, err := os.MkdirTemp("", "dpsql-engine-test")
		if err != nil {
			t.Fatal(err)
		}
		templates.dir, templates.paths = dir, make(map[[2]string]string)
	}
	path := filepath.Join(templates.dir, fmt.Sprintf("%d.db", len(templates.paths)))
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.NewSession().Import(context.Background(), engine.Import{Path: "../testdata/" + file, Table: table})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	templates.paths[key] = path
	return path
}

func (d data) list() string {
	var names []string
	for _, c := range d.columns {
		names = append(names, fmt.Sprintf("%q", c.name))
	}
	return strings.Join(names, ", ")
}

// conjunction draws a query that fixes four of the columns to one to three values each.
func (d data) conjunction(random *rand.Rand) string {
	var where []string
	for _, i := range random.Perm(len(d.columns))[:4] {
		c := d.columns[i]
		n := min(1+random.Int64N(3), c.hi-c.lo)
		var values []string
		for _, v := range random.Perm(int(c.hi - c.lo + 1))[:n] {
			values = append(values, fmt.Sprint(c.lo+int64(v)))
		}
		where = append(where, fmt.Sprintf("%q IN (%s)", c.name, strings.Join(values, ", ")))
	}
	return `SELECT COUNT(*) FROM ` + d.name + ` WHERE ` + strings.Join(where, " AND ")
}

// plain opens a session's file with SQLite alone.
func plain(t testing.TB, s *engine.Session) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", s.DB().Store().Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return raw
}

// truth counts the query's rows in the raw table.
func truth(t testing.TB, raw *sql.DB, text string) (n int64) {
	t.Helper()
	if err := raw.QueryRow(strings.Replace(text, " FROM ", " FROM raw_", 1)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
