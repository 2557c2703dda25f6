package source_test

import (
	"context"
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
	// A left join without a use for its right side reads nothing of it.
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
