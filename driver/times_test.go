package driver_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// visits makes a database of 840 visits, 12 a day from the first of 2023 and one every 20 minutes
// from 00:00 on, with releases that have no noise. It returns its path.
func visits(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`CREATE TABLE raw (day TEXT, seen TEXT, dept TEXT, minutes INTEGER, clock TEXT);
		WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 839)
		INSERT INTO raw SELECT date('2023-01-01', (i / 12) || ' days'), datetime('2023-01-01', (i * 20) || ' minutes'), substr('abc', i % 3 + 1, 1), i % 60, time(datetime('2023-01-01', (i * 20) || ' minutes')) FROM n`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.NewSession()
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (day DATE BETWEEN '2023-01-01' AND '2023-03-31', seen TIMESTAMP BETWEEN '2023-01-01 00:00:00' AND '2023-01-31 23:50:00' STEP '10 minutes',
			dept TEXT IN ('a', 'b', 'c'), minutes INTEGER BETWEEN 0 AND 59, clock TIME STEP '10 minutes') FROM raw WITH (epsilon = 400, delta = 1e-6)`,
		`CREATE RELEASE days ON visits (day) USING PROJECTION WITH (epsilon = 60)`,
		`CREATE RELEASE hours ON visits (seen) USING PROJECTION WITH (epsilon = 60)`,
		`CREATE RELEASE clocks ON visits (clock) USING PROJECTION WITH (epsilon = 20)`,
		`CREATE RELEASE places ON visits (dept, minutes) USING PROJECTION WITH (epsilon = 60)`,
	} {
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestTimesAsArguments asks with times of each kind and zone. What is compared with a date is the day that
// the time's own zone has, and what is compared with a timestamp is the moment in UTC.
func TestTimesAsArguments(t *testing.T) {
	db := open(t, visits(t)+"?role=analyst")
	berlin := time.FixedZone("", 3600)
	day, late := time.Date(2023, 1, 3, 0, 0, 0, 0, time.UTC), time.Date(2023, 1, 3, 23, 30, 0, 999, berlin)
	early := time.Date(2023, 1, 3, 0, 30, 0, 0, berlin) // the second of January in UTC
	var none *time.Time
	for _, test := range []struct {
		where string
		args  []any
		want  int64
	}{
		{`day >= ?`, []any{day}, 816},
		{`day >= ?`, []any{&day}, 816},
		{`day >= ?`, []any{sql.NullTime{Time: day, Valid: true}}, 816},
		{`day >= ?`, []any{late}, 816},
		{`day >= ?`, []any{early}, 816},
		{`day >= ?`, []any{sql.NullTime{}}, 0},
		{`day >= ?`, []any{none}, 0},
		{`day >= :from AND day < :to`, []any{sql.Named("to", day.AddDate(0, 0, 1)), sql.Named("from", day)}, 12},
		{`day BETWEEN ? AND ?`, []any{day, late.AddDate(0, 0, 1)}, 24},
		{`day IN (?, '2023-01-09')`, []any{day}, 24},
		{`day IN (?)`, []any{[]time.Time{day, late.AddDate(0, 0, 1)}}, 24},
		{`date_trunc('month', day) = ?`, []any{day.AddDate(0, 0, -2)}, 372},
		{`date_trunc(?, day) = ?`, []any{"month", day.AddDate(0, 0, -2)}, 372},
		{`seen >= ?`, []any{day}, 696},
		{`seen >= ?`, []any{early}, 697},
		{`seen < ?`, []any{late}, 3*72 - 4},
		{`seen::date = ?`, []any{early}, 72},
		{`clock < ?`, []any{early}, 2 * 12},
		{`day >= '2023-01-05'::date - ?::interval`, []any{48 * time.Hour}, 816},
		{`day >= '2023-01-01'::date - ?::interval`, []any{-48 * time.Hour}, 816},
		{`seen < '2023-01-03'::timestamp - ?::interval`, []any{90 * time.Minute}, 140},
	} {
		var n int64
		err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE `+test.where, test.args...).Scan(&n)
		if err != nil || n != test.want {
			t.Errorf("%s of %v: %d, %v; want %d", test.where, test.args, n, err, test.want)
		}
	}
	var n int64
	err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE minutes = ?`, day).Scan(&n)
	if sqlerr.CodeOf(err) != sqlerr.Invalid || !strings.Contains(err.Error(), "argument 1 is a time.Time") {
		t.Errorf("a time beside a number: %v", err)
	}
	for _, duration := range []time.Duration{time.Hour, 1500 * time.Millisecond} {
		if err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE minutes < ?`, duration).Scan(&n); err == nil {
			t.Errorf("%v beside a number is taken", duration)
		}
	}
}

// TestTimesInRows scans dates and timestamps as times in UTC, or as texts where the data source name says so.
func TestTimesInRows(t *testing.T) {
	path := visits(t)
	db, texts := open(t, path), open(t, path+"?times=text")
	for _, test := range []struct {
		query, text string
		want        time.Time
	}{
		{`SELECT day FROM visits GROUP BY day LIMIT 1`, "2023-01-01", time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)},
		{`SELECT MAX(day) FROM visits`, "2023-03-11", time.Date(2023, 3, 11, 0, 0, 0, 0, time.UTC)},
		{`SELECT date_trunc('month', day) AS m FROM visits GROUP BY m ORDER BY m DESC LIMIT 1`, "2023-03-01", time.Date(2023, 3, 1, 0, 0, 0, 0, time.UTC)},
		{`SELECT MAX(seen) FROM visits`, "2023-01-12 15:40:00", time.Date(2023, 1, 12, 15, 40, 0, 0, time.UTC)},
		{`SELECT m FROM (SELECT date_trunc('hour', seen) AS m, COUNT(*) AS n FROM visits GROUP BY m) WHERE m > '2023-01-02' LIMIT 1`,
			"2023-01-02 01:00:00", time.Date(2023, 1, 2, 1, 0, 0, 0, time.UTC)},
	} {
		var got time.Time
		if err := db.QueryRow(test.query).Scan(&got); err != nil || !got.Equal(test.want) || got.Location() != time.UTC {
			t.Errorf("%s: %v, %v; want %v", test.query, got, err, test.want)
		}
		var text string
		if err := texts.QueryRow(test.query).Scan(&text); err != nil || text != test.text {
			t.Errorf("%s as text: %q, %v; want %q", test.query, text, err, test.text)
		}
		for asked, want := range map[*sql.DB]string{db: "time.Time", texts: "string"} {
			rows, err := asked.Query(test.query)
			if err != nil {
				t.Fatal(err)
			}
			types, err := rows.ColumnTypes()
			if err != nil || types[0].ScanType().String() != want {
				t.Errorf("%s: %v, %v; want %s", test.query, types[0].ScanType(), err, want)
			}
			rows.Close()
		}
	}
	var clock string
	if err := db.QueryRow(`SELECT MAX(clock) FROM visits`).Scan(&clock); err != nil || clock != "23:40:00" {
		t.Errorf("a time of day is %q, %v", clock, err)
	}
	var null sql.NullTime
	if err := db.QueryRow(`SELECT MAX(day) FROM visits WHERE day < ?`, time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)).Scan(&null); err != nil || null.Valid {
		t.Errorf("a date that is NULL: %v, %v", null, err)
	}
	x := sqlx.NewDb(db, "dpsql")
	var months []struct {
		Month time.Time `db:"month"`
		N     int64     `db:"n"`
	}
	err := x.Select(&months, `SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits WHERE day >= ? GROUP BY month`, time.Date(2023, 2, 1, 0, 0, 0, 0, time.UTC))
	if got := fmt.Sprint(months); err != nil || got != "[{2023-02-01 00:00:00 +0000 UTC 336} {2023-03-01 00:00:00 +0000 UTC 132}]" {
		t.Errorf("months: %s, %v", got, err)
	}
	if _, err := sql.Open("dpsql", path+"?times=rfc"); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("times=rfc: %v", err)
	}
}

// array is a text in PostgreSQL's form, as pq.Array makes one.
type array string

func (a array) Value() (driver.Value, error) { return string(a), nil }

// TestListsAsArguments asks with slices, and with arrays in text.
func TestListsAsArguments(t *testing.T) {
	db := open(t, visits(t)+"?role=analyst")
	type kind string
	for _, test := range []struct {
		where string
		args  []any
		want  int64
	}{
		{`dept IN (?)`, []any{[]string{"a", "b"}}, 560},
		{`dept NOT IN (?)`, []any{[]string{"a", "b"}}, 280},
		{`dept = ANY(?)`, []any{[]string{"a", "b"}}, 560},
		{`dept <> ALL(?)`, []any{[]string{"a", "b"}}, 280},
		{`dept IN (?)`, []any{&[]string{"c"}}, 280},
		{`dept IN (?)`, []any{[]kind{"c"}}, 280},
		{`dept IN (?, ?)`, []any{[]string{"a"}, "b"}, 560},
		{`dept IN (?)`, []any{[]string{}}, 0},
		{`dept NOT IN (?)`, []any{[]string(nil)}, 840},
		{`dept = ANY(?)`, []any{[]string{}}, 0},
		{`dept = ANY(?)`, []any{array(`{a,"b"}`)}, 560},
		{`dept = ANY(?)`, []any{nil}, 0},
		{`minutes IN (?)`, []any{[]int64{0, 1, 99}}, 28},
		{`minutes IN (?)`, []any{[]int{0, 1, 2}}, 42},
		{`minutes IN (?)`, []any{[]any{0, "1", int8(2), nil}}, 42},
		{`minutes = ANY(?)`, []any{[]int{0, 1, 2}}, 42},
		{`minutes = ANY(?)`, []any{array("{0,1,2}")}, 42},
		{`dept IN (?) AND minutes IN (?) AND dept <> ?`, []any{[]string{"a", "b"}, []int{0, 1, 3, 4}, "b"}, 28},
		{`dept IN (:depts) AND minutes < :most`, []any{sql.Named("most", 30), sql.Named("depts", []string{"a", "b"})}, 280},
	} {
		var n, around int64
		err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE `+test.where, test.args...).Scan(&n)
		if err != nil || n != test.want {
			t.Errorf("%s of %v: %d, %v; want %d", test.where, test.args, n, err, test.want)
		}
		err = db.QueryRow(`SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM visits WHERE `+test.where+`)`, test.args...).Scan(&around)
		if err != nil || around != test.want+1 {
			t.Errorf("around %s of %v: %d, %v; want %d", test.where, test.args, around, err, test.want+1)
		}
	}
	prepared, err := db.Prepare(`SELECT COUNT(*) FROM visits WHERE dept IN (?)`)
	if err != nil {
		t.Fatal(err)
	}
	defer prepared.Close()
	for i, depts := range []any{[]string{}, []string{"a"}, "b", []string{"a", "b", "c"}} {
		var n int64
		if err := prepared.QueryRow(depts).Scan(&n); err != nil || n != []int64{0, 280, 280, 840}[i] {
			t.Errorf("prepared, %v: %d, %v", depts, n, err)
		}
	}
	for _, test := range []struct {
		where string
		args  []any
		code  sqlerr.Code
	}{
		{`minutes = ?`, []any{[]int{1, 2}}, sqlerr.Unsupported},
		{`minutes = ? OR minutes IN (?)`, []any{[]int{1, 2}, 3}, sqlerr.Unsupported},
		{`minutes IN (:m) AND minutes < :m`, []any{sql.Named("m", []int{1, 2})}, sqlerr.Unsupported},
		{`minutes = ANY(?)`, []any{3}, sqlerr.Invalid},
		{`minutes = ANY(?)`, []any{"3"}, sqlerr.Invalid},
		{`minutes IN (?)`, []any{[][]int{{1}}}, sqlerr.Invalid},
		{`minutes IN (?)`, []any{[]struct{}{{}}}, sqlerr.Invalid},
		{`minutes IN (?)`, []any{[]int{1}, 2}, sqlerr.Invalid},
		{`minutes IN (?)`, nil, sqlerr.Invalid},
	} {
		var n int64
		if err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE `+test.where, test.args...).Scan(&n); sqlerr.CodeOf(err) != test.code {
			t.Errorf("%s of %v: %v, want %s", test.where, test.args, err, test.code)
		}
	}
}
