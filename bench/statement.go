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

// statementScript makes a table of n rows. a and its text k have 5,000 values, and b, c
// and d have ten each. So a = x counts about n/5,000 rows, and has the support m =
// 1,000 through the columns it leaves free.
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

// statement tabulates the time of whole statements, from text to row, beside SQLite's
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
	s.Say(`A table of %s rows, of which a = x holds for about %s; the query's support comes from the columns it leaves free. Each statement is a query that was not asked before, and goes from text to row
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

// spreads reports whether each value of a is in want rows.
func spreads(raw *sql.DB, want int) error {
	var values, least, most int
	err := raw.QueryRow(`SELECT COUNT(*), MIN(n), MAX(n) FROM (SELECT COUNT(*) AS n FROM raw GROUP BY a)`).Scan(&values, &least, &most)
	if err == nil && (values != 5000 || least != want || most != want) {
		err = fmt.Errorf("the rows have %d values, each in %d to %d of them", values, least, most)
	}
	return err
}

// asked are the conditions of the statements, by their support. VALUE and LIST are
// replaced by values of a, or of its text, and B, C and D by values of the other
// columns. So consecutive statements are different queries: a repeated one would be
// answered from store.
var asked = []struct {
	m, different int
	where        string
}{
	{1, 5_000_000, `= VALUE AND b = B AND c = C AND d = D`},
	{10, 500_000, `= VALUE AND b = B AND c = C`},
	{100, 50_000, `= VALUE AND b = B`},
	{1000, 5_000_000, `IN (LIST2) AND b BETWEEN 3 AND 7`},
	{10_000, 1_000_000, `IN (LIST10)`},
}

// condition returns the condition of a turn, on a or on its text.
func condition(where string, text bool, turn int) string {
	value, round := turn*37%5000, turn/5000
	list := func(n int) string {
		var values []string
		for i := range n {
			quote := "%d"
			if text {
				quote = "'k%d'"
			}
			values = append(values, fmt.Sprintf(quote, (value+i*(1+round))%5000))
		}
		return strings.Join(values, ", ")
	}
	column := "a "
	if text {
		column = "k "
	}
	return column + strings.NewReplacer("VALUE", list(1), "LIST2", list(2), "LIST10", list(10),
		" = B", fmt.Sprint(" = ", round%10), " = C", fmt.Sprint(" = ", round/10%10), " = D", fmt.Sprint(" = ", round/100%10)).Replace(where)
}

// warm asks the mechanism for about as long as it takes to load its cells into memory.
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
	chart := newChart("time-statement")
	t := &report.Table{Head: []string{"m", "plain SQLite", "identity", "sparse, codes", "sparse, text key", "SMW, unfired"}}
	var thousand []any // the times at m = 1,000
	for _, a := range asked {
		row := []any{report.Number(float64(a.m))}
		for _, via := range []string{"", "cells", "sketch", "texts", "live"} {
			if via != "" {
				if err := session.Set("mechanism", via); err != nil {
					return err
				}
			}
			turn := -1
			took, err := b.fastest(func() error {
				if turn++; turn >= a.different {
					return fmt.Errorf("m = %d: a query is asked again", a.m)
				}
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
	begun, of, err := runsOf(session)
	if err != nil {
		return err
	}
	if begun == of {
		return fmt.Errorf("%d of %d runs have begun: the last answers may have been compared with nothing", begun, of)
	}
	s.Draw(chart)
	s.Show("", t)
	s.Say("Of the %d runs of SMW %d had begun in the end, so that %d of its queries were updates and all others were compared and agreed.", of, begun, max(0, begun-1))
	plain, identity, codes, texts := thousand[0].(float64), thousand[1].(float64), thousand[2].(float64), thousand[3].(float64)
	s.Say(`The budget of a statement of m = 1,000 is 60 µs, text to row. Identity, which the product chooses for a table of this size, takes %s µs, codes %s, a text key %s; identity takes
%s times as long as plain SQLite. Across the ways to name records the slowest may take 3 times as long as the fastest, and takes %s times as long. (SQLite counts its 200 rows in scans
of two stretches of the index, and identity adds up two stretches; a sketch fetches its 1,000 buckets from all over its memory.)`,
		report.Number(identity), report.Number(codes), report.Number(texts), report.Number(identity/plain),
		report.Number(max(identity, codes, texts)/min(identity, codes, texts)))
	return nil
}

// state runs one statement. It is the plain count in SQLite if no release or mechanism
// is named.
func state(session *engine.Session, raw *sql.DB, via, where string, turn int) error {
	where = condition(where, via == "texts", turn)
	if via == "" {
		var n int64
		return raw.QueryRow("SELECT COUNT(*) FROM raw WHERE " + where).Scan(&n)
	}
	_, err := session.Exec(context.Background(), "SELECT COUNT(*) FROM t WHERE "+where, nil)
	return err
}

// runsOf returns how many runs of the mechanism have begun, and of how many, as SHOW
// MECHANISMS prints it: "1 of 10".
func runsOf(session *engine.Session) (begun, of int, err error) {
	r, err := session.Exec(context.Background(), "SHOW MECHANISMS", nil)
	if err != nil {
		return 0, 0, err
	}
	for i, c := range r.Columns {
		if c.Name == "runs" {
			_, err = fmt.Sscanf(fmt.Sprint(r.Rows[0][i]), "%d of %d", &begun, &of)
		}
	}
	return begun, of, err
}
