package engine_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// wards returns a curator's session on a table with a column of each type.
func wards(t *testing.T) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "stays.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (ward TEXT, came TEXT, cost REAL, "end" INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
			INSERT INTO raw SELECT CASE i % 3 WHEN 0 THEN 'a "b", c' WHEN 1 THEN 'd''e' END, date('2024-01-01', (i % 5) || ' days'), i % 40 + 0.25, i % 4 FROM n`)
	must(t, s, `CREATE PRIVATE TABLE stays (ward TEXT IN ('a "b", c', 'd''e', NULL), came DATE BETWEEN '2024-01-01' AND '2024-01-05',
		cost REAL BETWEEN 0 AND 40 STEP 10, "end" INTEGER BETWEEN 0 AND 3) FROM raw WITH (epsilon = 20, delta = 1e-6)`)
	return s
}

// readExport returns the rows of an exported file as texts, "NULL" for NULL, and its columns.
func readExport(t *testing.T, path string) (columns []string, rows [][]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch filepath.Ext(path) {
	case ".csv":
		all, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		columns, rows = all[0], all[1:]
	case ".json":
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		expect := func(want json.Delim) {
			if token, err := d.Token(); err != nil || token != want {
				t.Fatalf("%v %v, want %v", token, err, want)
			}
		}
		expect('[')
		for d.More() {
			expect('{')
			var names, row []string
			for d.More() {
				name, _ := d.Token()
				value, err := d.Token()
				if err != nil {
					t.Fatal(err)
				}
				if value == nil {
					value = "NULL"
				}
				names, row = append(names, fmt.Sprint(name)), append(row, fmt.Sprint(value))
			}
			expect('}')
			columns, rows = names, append(rows, row)
		}
		expect(']')
	case ".parquet":
		f, err := parquet.OpenFile(strings.NewReader(string(data)), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Root().Columns() {
			columns = append(columns, c.Name())
		}
		read := make([]parquet.Row, f.NumRows())
		if n, err := f.RowGroups()[0].Rows().ReadRows(read); n != len(read) {
			t.Fatalf("%d rows of %d: %v", n, len(read), err)
		}
		for _, r := range read {
			var row []string
			for _, v := range r {
				text := v.String()
				switch {
				case v.IsNull():
					text = "NULL"
				case v.Kind() == parquet.Double:
					text = strconv.FormatFloat(v.Double(), 'f', -1, 64)
				}
				row = append(row, text)
			}
			rows = append(rows, row)
		}
	}
	for _, row := range rows {
		for i := range row {
			row[i] = cmp.Or(row[i], "NULL")
		}
	}
	return columns, rows
}

// TestExportCells exports the cells of each kind of release in each format. They are what SELECT
// answers by the release, no row is read for them, and nothing is charged.
func TestExportCells(t *testing.T) {
	t.Parallel()
	s := wards(t)
	for _, text := range []string{
		`CREATE RELEASE identity ON stays (ward, came, cost) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
		`CREATE RELEASE fitted ON stays (ward, came, cost) USING PROJECTION WITH (epsilon = 1, transform = identity, estimate = fitted)`,
		`CREATE RELEASE sparse ON stays (ward, came, cost, "end") USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 256)`,
		`CREATE RELEASE pairs ON stays USING MARGINALS WITH (epsilon = 1, delta = 1e-8, degree = 2)`,
		`CREATE RELEASE learned ON stays (ward, "end") USING SMW WITH (epsilon = 1, free_columns = 1)`,
	} {
		must(t, s, text)
	}
	before := ledger(t, s)
	fill(t, s, `ALTER TABLE raw RENAME TO gone`)
	sizes := map[string]int{"identity": 60, "fitted": 60, "sparse": 240, "pairs": 1 + 3 + 5 + 4 + 4 + 15 + 12 + 12 + 20 + 20 + 16, "learned": 12}
	dir := t.TempDir()
	for release, size := range sizes {
		var first [][]string
		for _, format := range []string{"csv", "json", "parquet"} {
			path := filepath.Join(dir, release+"."+format)
			must(t, s, `EXPORT RELEASE `+release+` TO '`+path+`'`)
			refused(t, s, sqlerr.Invalid, `EXPORT RELEASE `+release+` TO '`+path+`'`)
			columns, rows := readExport(t, path)
			if len(rows) != size {
				t.Errorf("%s: %d rows, want %d", path, len(rows), size)
			}
			if first == nil {
				first = rows
				answered(t, s, release, columns, rows)
			} else if fmt.Sprint(rows) != fmt.Sprint(first) {
				t.Errorf("%s: %v, want %v", path, rows[:3], first[:3])
			}
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger has now\n%s", after)
	}
	must(t, s, `EXPORT RELEASE pairs TO '`+filepath.Join(dir, "whole.db")+`'`)
	colleague := open(t, filepath.Join(dir, "whole.db"), engine.Options{}).NewSession()
	must(t, colleague, `EXPORT RELEASE pairs TO '`+filepath.Join(dir, "again.csv")+`'`)
	_, want := readExport(t, filepath.Join(dir, "pairs.csv"))
	if _, again := readExport(t, filepath.Join(dir, "again.csv")); fmt.Sprint(again) != fmt.Sprint(want) {
		t.Error("the exported release has other cells")
	}
}

// answered compares exported cells with what SELECT says of some of them.
func answered(t *testing.T, s *engine.Session, release string, columns []string, rows [][]string) {
	t.Helper()
	must(t, s, `SET mechanism = `+release)
	defer must(t, s, `SET mechanism = auto`)
	for n := 0; n < len(rows); n += 7 {
		cell := map[string]string{}
		for i, name := range columns {
			cell[name] = rows[n][i]
		}
		where := []string{"1 = 1"}
		for _, name := range []string{"ward", "came", "cost", "end"} {
			value, covered := cell[name]
			if marginal, ok := cell["marginal"]; ok {
				covered = strings.Contains(marginal, name)
			}
			switch {
			case !covered && value != "NULL" && value != "":
				t.Fatalf("%v has a value of %s", rows[n], name)
			case !covered:
			case value == "NULL":
				where = append(where, name+" IS NULL")
			case name == "cost":
				where = append(where, name+" >= "+value)
				if value != "30" {
					where = append(where, map[string]string{"0": "cost < 10", "10": "cost < 20", "20": "cost < 30"}[value])
				}
			case name == "end":
				where = append(where, `"end" = `+value)
			default:
				where = append(where, fmt.Sprintf("%s = '%s'", name, strings.ReplaceAll(value, "'", "''")))
			}
		}
		text := `SELECT COUNT(*), LOW(COUNT(*)), HIGH(COUNT(*)) FROM stays WHERE ` + strings.Join(where, " AND ")
		r := must(t, s, text)
		for i, name := range []string{"estimate", "low", "high"} {
			want := "NULL"
			if v := r.Rows[0][i]; v != nil {
				want = fmt.Sprint(v)
			}
			if cell[name] != want {
				t.Errorf("%s of %s is %s, and %s says %s", name, release, cell[name], text, want)
			}
		}
	}
}

// TestExportOfManyCells exports more cells than one SELECT asks for, each once, stops when it is
// cancelled, and refuses what cannot be listed.
func TestExportOfManyCells(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "costs.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (cost REAL, day INTEGER, name TEXT, wide INTEGER)`, `INSERT INTO raw VALUES (15.5, 7, 'x', 7)`)
	must(t, s, `CREATE PRIVATE TABLE costs (cost REAL BETWEEN 0 AND 1700 STEP 10 OR NULL, day INTEGER BETWEEN 1 AND 300, name TEXT, wide INTEGER BETWEEN 1 AND 100000000)
		FROM raw WITH (epsilon = 20, delta = 1e-6)`)
	must(t, s, `CREATE RELEASE cells ON costs (cost, day) USING PROJECTION WITH (epsilon = 1, transform = identity)`)
	must(t, s, `CREATE RELEASE huge ON costs (wide) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 256)`)
	must(t, s, `CREATE RELEASE names ON costs (day, name) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 256)`)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	reports := 0
	s.SetProgress(func(done, all int64) {
		if all != 171*300 || done > all {
			t.Errorf("%d of %d cells", done, all)
		}
		if reports++; reports == 3 {
			cancel()
		}
	})
	_, err := s.Exec(ctx, `EXPORT RELEASE cells TO '`+filepath.Join(dir, "part.csv")+`'`, nil)
	if files, _ := os.ReadDir(dir); sqlerr.CodeOf(err) != sqlerr.Cancelled || len(files) != 0 {
		t.Errorf("a cancelled export returned %v and left %v", err, files)
	}
	path := filepath.Join(dir, "cells.csv")
	must(t, s, `EXPORT RELEASE cells TO '`+path+`'`)
	_, rows := readExport(t, path)
	seen := make(map[string]bool)
	for _, row := range rows {
		seen[row[0]+" "+row[1]] = true
	}
	if len(rows) != 171*300 || len(seen) != len(rows) || !seen["NULL 300"] || !seen["1690 1"] {
		t.Errorf("%d cells, %d of them distinct", len(rows), len(seen))
	}
	e := refused(t, s, sqlerr.Unsupported, `EXPORT RELEASE huge TO 'huge.json'`)
	if !strings.Contains(e.Message, "100000000 cells") {
		t.Error(e)
	}
	e = refused(t, s, sqlerr.Unsupported, `EXPORT RELEASE names TO 'names.parquet'`)
	if !strings.Contains(e.Message, "over name") {
		t.Error(e)
	}
	refused(t, s, sqlerr.IO, `EXPORT RELEASE cells TO '/nowhere/at/all.csv'`)
	refused(t, asAnalyst(t, s), sqlerr.Forbidden, `EXPORT RELEASE cells TO 'x.csv'`)
}
