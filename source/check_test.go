package source_test

import (
	"context"
	"database/sql"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

func TestBasesAreResolved(t *testing.T) {
	db := memory(t,
		"CREATE TABLE a (x INTEGER PRIMARY KEY, y TEXT, z)", "CREATE INDEX ay ON a (y)", "CREATE INDEX az ON a (z)",
		"CREATE TABLE b (k TEXT PRIMARY KEY, v) WITHOUT ROWID", `CREATE TABLE "odd ""name" (x UNIQUE)`, "CREATE TABLE unread (x)",
		"CREATE VIEW one AS SELECT * FROM a WHERE y = 'unread'", "CREATE VIEW covered AS SELECT y FROM a WHERE y > 'm'",
		"CREATE VIEW either AS SELECT * FROM a WHERE y = 'p' OR z = 'q'", "CREATE VIEW nested AS SELECT n.x FROM one AS n JOIN b ON b.k = n.y",
		"CREATE VIEW both AS SELECT x FROM a UNION ALL SELECT v FROM b", "CREATE VIEW grouped AS SELECT y, COUNT(*) AS x FROM a GROUP BY y",
		"CREATE VIEW sub AS SELECT x, (SELECT MAX(k) FROM b) AS m FROM a", "CREATE VIEW semi AS SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE k = y)",
		`CREATE VIEW cte AS WITH c AS (SELECT x FROM "odd ""name") SELECT c.x FROM c LEFT JOIN a ON a.x = c.x`,
		"CREATE VIEW inlist AS SELECT x FROM a WHERE x IN (SELECT v FROM b)", "CREATE VIEW constant AS SELECT 1 AS x",
		`CREATE VIEW a_view_of_view AS SELECT * FROM nested UNION SELECT x FROM "odd ""name" ORDER BY 1`)
	tests := map[string][]string{
		"a": {"a"}, "A": {"a"}, "b": {"b"}, `odd "name`: {`odd "name`}, "one": {"a"}, "ONE": {"a"}, "covered": {"a"}, "either": {"a"}, "nested": {"a", "b"},
		"both": {"a", "b"}, "grouped": {"a"}, "sub": {"a", "b"}, "semi": {"a", "b"}, "inlist": {"a", "b"}, "constant": {},
		"a_view_of_view": {"a", "b", `odd "name`},
	}
	for name, want := range tests {
		if got, err := source.Bases(context.Background(), db, name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s reads %q, %v; want %q", name, got, err, want)
		}
	}
	// A left join reads nothing of its right side if it does not use it.
	if got, err := source.Bases(context.Background(), db, "cte"); err != nil || !slices.Contains(got, `odd "name`) {
		t.Errorf("cte reads %q, %v", got, err)
	}
}

func TestCheckColumns(t *testing.T) {
	db := memory(t, "CREATE TABLE a (x INTEGER, [Odd Name] TEXT, g AS (x + 1))")
	ok := source.Table{Source: "a", Columns: []query.Column{{Name: "X"}, {Name: "odd name"}, {Name: "g"}}}
	if _, err := source.SQLite(db).Check(context.Background(), ok); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"nosuch", "rowid", "", `x"`} {
		_, err := source.SQLite(db).Check(context.Background(), source.Table{Source: "a", Columns: []query.Column{{Name: name}}})
		if sqlerr.CodeOf(err) != sqlerr.Unknown {
			t.Errorf("column %q: %v, want unknown", name, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	db := memory(t, "CREATE TABLE a (x)", "CREATE TABLE dpsql_ledger (x)", "CREATE VIRTUAL TABLE f USING fts5 (x)",
		"CREATE VIEW vf AS SELECT * FROM f", "CREATE VIEW vj AS SELECT value FROM a, json_each(a.x)",
		"CREATE VIEW vp AS SELECT name FROM pragma_table_list", "CREATE VIEW vs AS SELECT name FROM sqlite_schema", "CREATE VIEW vd AS SELECT a.x FROM a JOIN dpsql_ledger",
		"CREATE VIEW gone AS SELECT y FROM nosuch", "CREATE VIEW lost AS SELECT a.y FROM a",
		"CREATE TEMP TABLE tmp (x)", "CREATE TEMP VIEW tv AS SELECT * FROM a", "ATTACH ':memory:' AS other", "CREATE TABLE other.o (x)",
		"CREATE TEMP VIEW across AS SELECT * FROM other.o")
	tests := map[string]sqlerr.Code{
		"": sqlerr.Unknown, "nosuch": sqlerr.Unknown, "tmp": sqlerr.Unknown, "tv": sqlerr.Unknown, "o": sqlerr.Unknown, "across": sqlerr.Unknown,
		"temp.tmp": sqlerr.Unknown, "other.o": sqlerr.Unknown, "json_each": sqlerr.Unknown,
		"dpsql_ledger": sqlerr.Forbidden, "DPSQL_x": sqlerr.Forbidden, "sqlite_schema": sqlerr.Forbidden, "Sqlite_master": sqlerr.Forbidden,
		"vs": sqlerr.Forbidden, "vd": sqlerr.Forbidden,
		"f": sqlerr.Unsupported, "f_content": sqlerr.Unsupported, "vf": sqlerr.Unsupported, "vj": sqlerr.Unsupported, "vp": sqlerr.Unsupported,
		"gone": sqlerr.Invalid, "lost": sqlerr.Invalid,
	}
	for name, want := range tests {
		_, err := source.SQLite(db).Check(context.Background(), source.Table{Source: name})
		if sqlerr.CodeOf(err) != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

// TestTemporaryTableDoesNotShadow: SQLite resolves a bare name to a temporary
// table first.
func TestTemporaryTableDoesNotShadow(t *testing.T) {
	db := memory(t, "CREATE TABLE a (x INTEGER)", "INSERT INTO a VALUES (1)", "CREATE VIEW v AS SELECT * FROM a", "CREATE TEMP TABLE a (x INTEGER)")
	for _, name := range []string{"a", "v"} {
		table := source.Table{Source: name, Columns: []query.Column{{Name: "x", Domain: between(t, 0, 9)}}}
		if _, err := source.SQLite(db).Check(context.Background(), table); err != nil {
			t.Error(err)
		}
		if n, err := countAll(context.Background(), db, table); err != nil || n != 1 {
			t.Errorf("%s: %d rows, %v, want the one of the main database", name, n, err)
		}
	}
}

func TestSchemaText(t *testing.T) {
	db := memory(t, "CREATE TABLE a (x)", "CREATE TABLE b (x)", "CREATE VIEW inner_view AS SELECT * FROM a", "CREATE VIEW v AS SELECT x FROM INNER_VIEW")
	text := func() string {
		s, err := source.SQLite(db).Check(context.Background(), source.Table{Source: "v"})
		if err != nil {
			t.Fatal(err)
		}
		return s.Text
	}
	before := text()
	for _, part := range []string{"CREATE TABLE a (x)", "CREATE VIEW inner_view", "CREATE VIEW v "} {
		if !strings.Contains(before, part) {
			t.Errorf("%q is not in %q", part, before)
		}
	}
	run(t, db, "ALTER TABLE b ADD COLUMN y")
	run(t, db, "CREATE INDEX i ON a (x)")
	if text() != before {
		t.Error("a table that is not read, or an index, changed the text")
	}
	run(t, db, "DROP VIEW inner_view")
	run(t, db, "CREATE VIEW inner_view AS SELECT * FROM a WHERE x > 0")
	if text() == before {
		t.Error("a changed view between left the text as it was")
	}
	between := text()
	run(t, db, "ALTER TABLE a ADD COLUMN y")
	if text() == between {
		t.Error("a changed base table left the text as it was")
	}
}

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
