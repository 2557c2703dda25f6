package source_test

import (
	"context"
	"database/sql"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// TestErrorsCarryNoValues: SQLite quotes the value that an expression failed on.
func TestErrorsCarryNoValues(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a TEXT)", "INSERT INTO raw VALUES ('secret')",
		"CREATE VIEW v AS SELECT json_extract('{}', a) AS a FROM raw")
	if err := db.QueryRow("SELECT a FROM v").Scan(new(any)); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Fatalf("the test needs an error of SQLite that quotes a value, got %v", err)
	}
	table := source.Table{Source: "v", Columns: []query.Column{{Name: "a", Domain: query.Unbounded()}}}
	u := universe(t, table.Columns)
	_, counted := source.SQLite(db).Count(context.Background(), anyone{}, table, query.All(u))
	_, streamed := source.CountStreamed(context.Background(), db, table, query.All(u))
	_, celled := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), math.MaxInt)
	_, valued := source.Values(context.Background(), db, "v", "a", query.TypeText, 9)
	for _, err := range []error{counted, streamed, celled, valued} {
		if sqlerr.CodeOf(err) != sqlerr.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want invalid without the value", err)
		}
	}
}

func TestCancelled(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 9)}}}
	u := universe(t, table.Columns)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, checked := source.SQLite(db).Check(ctx, table)
	_, counted := source.SQLite(db).Count(ctx, anyone{}, table, query.All(u))
	_, celled := source.SQLite(db).Cells(ctx, anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), math.MaxInt)
	_, valued := source.Values(ctx, db, "raw", "a", query.TypeInteger, 9)
	for _, err := range []error{checked, counted, celled, valued} {
		if sqlerr.CodeOf(err) != sqlerr.Cancelled {
			t.Errorf("got %v, want cancelled", err)
		}
	}
}

// TestCancelledMidway cancels a count that would otherwise not end.
func TestCancelledMidway(t *testing.T) {
	db := memory(t, "CREATE VIEW forever AS WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT a FROM n")
	table := source.Table{Source: "forever", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 9)}}}
	u := universe(t, table.Columns)
	for name, count := range map[string]func(context.Context) (int64, error){
		"pushed": func(ctx context.Context) (int64, error) {
			return source.SQLite(db).Count(ctx, anyone{}, table, query.All(u))
		},
		"streamed": func(ctx context.Context) (int64, error) { return source.CountStreamed(ctx, db, table, query.All(u)) },
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 50e6)
		if _, err := count(ctx); sqlerr.CodeOf(err) != sqlerr.Cancelled {
			t.Errorf("%s: %v, want cancelled", name, err)
		}
		cancel()
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	open := func() *sql.DB {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		db.SetMaxOpenConns(1)
		return db
	}
	writer, reader := open(), open()
	run(t, writer, "CREATE TABLE raw (a INTEGER)")
	run(t, writer, "BEGIN EXCLUSIVE")
	defer run(t, writer, "ROLLBACK")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 9)}}}
	if _, err := countAll(context.Background(), reader, table); sqlerr.CodeOf(err) != sqlerr.Busy {
		t.Errorf("got %v, want busy", err)
	}
}

func TestNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = source.SQLite(db).Check(context.Background(), source.Table{Source: "raw"})
	if sqlerr.CodeOf(err) != sqlerr.IO {
		t.Errorf("got %v, want io", err)
	}
}
