package main

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dpsql/bench/report"
	"dpsql/engine"
)

// statementScript makes a table of n rows: a and its text k have 5,000 values,
// b, c and d ten each, so that a = x counts about n/5,000 rows and has the
// support m = 1,000 through the columns it leaves free.
var statementScript = []string{
	`CREATE TABLE raw (a INTEGER, k TEXT, b INTEGER, c INTEGER, d INTEGER)`,
	`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ROWS - 1)
		INSERT INTO raw SELECT i % 5000, 'k' || (i % 5000), i / 5000 % 10, i / 50000 % 10, (i / 500000 * 5 + i % 5) % 10 FROM n`,
	`CREATE INDEX covering ON raw (a, b, c, d)`,
	`CREATE INDEX texts ON raw (k, b, c, d)`,
}

var statementReleases = []string{
	`CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 4999, k TEXT, b INTEGER BETWEEN 0 AND 9, c INTEGER BETWEEN 0 AND 9, d INTEGER BETWEEN 0 AND 9)
		FROM raw WITH (epsilon = 8, delta = 1e-6)`,
	`CREATE RELEASE cells ON t (a, b, c, d) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
	`CREATE RELEASE sketch ON t (a, b, c, d) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = BUCKETS)`,
	`CREATE RELEASE texts ON t (k, b, c, d) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = BUCKETS)`,
	`CREATE MECHANISM live ON t (a, b, c, d) USING SMW WITH (epsilon = 1, max_updates = 10)`,
}

// statement tabulates the time of whole statements, text to row, beside SQLite's
// own count of the same rows.
func (b *bench) statement(s *report.Section) error {
	dir, err := os.MkdirTemp("", "dpsql-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "statement.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer raw.Close()
	rows := size(b, 1_000_000, 5_000)
	for _, text := range statementScript {
		if _, err := raw.Exec(strings.ReplaceAll(text, "ROWS", strconv.Itoa(rows))); err != nil {
			return err
		}
	}
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	session := db.NewSession()
	for _, text := range statementReleases {
		b.note("  %.40s …", text)
		if _, err := session.Exec(context.Background(), strings.ReplaceAll(text, "BUCKETS", strconv.Itoa(size(b, 1<<23, 1<<14))), nil); err != nil {
			return err
		}
	}
	s.Say(`A table of %s rows, of which a = x holds for about %s; the query's support comes from the columns it leaves free. Each statement is new text, and goes from text to row
through the engine. Plain SQLite counts the same rows over the covering index (a, b, c, d), through database/sql. SMW is asked often enough before to have its cells
in memory. The least of %d series, in µs.`, report.Number(float64(rows)), report.Number(float64(rows)/5000), b.reps)
	if err := spreads(raw, rows/5000); err != nil {
		return err
	}
	if err := warm(session); err != nil {
		return err
	}
	return b.statements(s, session, raw)
}

// spreads reports whether each value of a is in so many rows.
func spreads(raw *sql.DB, want int) error {
	var values, least, most int
	err := raw.QueryRow(`SELECT COUNT(*), MIN(n), MAX(n) FROM (SELECT COUNT(*) AS n FROM raw GROUP BY a)`).Scan(&values, &least, &most)
	if err == nil && (values != 5000 || least != want || most != want) {
		err = fmt.Errorf("the rows have %d values, each in %d to %d of them", values, least, most)
	}
	return err
}

// asked are the conditions of the statements, by their support, on a column
// whose values differ from one statement to the next.
var asked = []struct {
	m     int
	where string
}{
	{1, `= VALUE AND b = 3 AND c = 5 AND d = 7`},
	{10, `= VALUE AND b = 3 AND c = 5`},
	{100, `= VALUE AND b = 3`},
	{1000, `= VALUE`},
	{10_000, `IN (LIST)`},
}

// warm asks the mechanism for about as long as it takes to load its cells, after
// which they are in memory.
func warm(session *engine.Session) error {
	if err := session.Set("mechanism", "live"); err != nil {
		return err
	}
	const streak, fast = 20, 150 * time.Microsecond // counting in the file takes longer
	quick := 0
	for start, i := time.Now(), 1; quick < streak && time.Since(start) < 20*time.Second; i++ {
		text := fmt.Sprintf("SELECT COUNT(*) FROM t WHERE a = %d AND b <> %d", i%5000, i/5000%10)
		begun := time.Now()
		if _, err := session.Exec(context.Background(), text, nil); err != nil {
			return err
		}
		if quick++; time.Since(begun) > fast {
			quick = 0
		}
	}
	return nil
}

func (b *bench) statements(s *report.Section, session *engine.Session, raw *sql.DB) error {
	chart := &report.Chart{Name: "time-statement", Title: "Time of a statement, text to row, against m", X: "m", Y: "µs"}
	t := &report.Table{Head: []string{"m", "plain SQLite", "identity", "sparse, codes", "sparse, text key", "SMW, unfired"}}
	turn := 0
	var thousand []any // the times at m = 1,000
	for _, a := range asked {
		row := []any{report.Number(float64(a.m))}
		for _, via := range []string{"", "cells", "sketch", "texts", "live"} {
			if via != "" {
				if err := session.Set("mechanism", via); err != nil {
					return err
				}
			}
			took, err := b.fastest(func() error {
				turn++
				return state(session, raw, via, a.where, turn)
			})
			if err != nil {
				return err
			}
			name := t.Head[len(row)]
			b.note("  m = %d, %s: %.3g µs", a.m, name, took*1e6)
			chart.Add(name, float64(a.m), report.Estimate{Mean: took * 1e6, Half: math.NaN()})
			row = append(row, took*1e6)
		}
		t.Add(row...)
		if a.m == 1000 {
			thousand = row[1:]
		}
	}
	s.Draw(chart)
	s.Show(t)
	plain, identity, codes, texts := thousand[0].(float64), thousand[1].(float64), thousand[2].(float64), thousand[3].(float64)
	s.Say(`At m = 1,000 the aim is half of the time of plain SQLite: identity, which is what the product chooses for a table of this size, has %s times it, codes %s, a text key %s. Across the
ways to name records the aim is at most 3: the slowest takes %s times as long as the fastest. (SQLite counts its 200 rows in a scan of one stretch of the index, and identity adds up one
stretch; a sketch fetches its 1,000 buckets from all over 8 MiB.)`, report.Number(identity/plain), report.Number(codes/plain), report.Number(texts/plain),
		report.Number(max(identity, codes, texts)/min(identity, codes, texts)))
	return nil
}

// state runs one statement, plain where no release or mechanism is named.
func state(session *engine.Session, raw *sql.DB, via, where string, turn int) error {
	column, quote := "a", "%d"
	if via == "texts" {
		column, quote = "k", "'k%d'"
	}
	values := make([]string, 10)
	for i := range values {
		values[i] = fmt.Sprintf(quote, (turn*37+i*500)%5000)
	}
	where = strings.ReplaceAll(where, "LIST", strings.Join(values, ", "))
	where = strings.ReplaceAll(where, "VALUE", values[0])
	from := "t"
	if via == "" {
		from = "raw"
	}
	text := "SELECT COUNT(*) FROM " + from + " WHERE " + column + " " + where
	if via == "" {
		var n int64
		return raw.QueryRow(text).Scan(&n)
	}
	_, err := session.Exec(context.Background(), text, nil)
	return err
}
