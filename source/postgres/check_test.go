package postgres

import (
	"context"
	"slices"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// check runs Check on a snapshot of its own.
func check(pool *Pool, table source.Table) (schema source.Schema, err error) {
	err = pool.Snapshot(context.Background(), func(r source.Reader) error {
		schema, err = r.Check(context.Background(), table)
		return err
	})
	return schema, err
}

func TestCheckResolvesBases(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int, y text, d date)", `CREATE TABLE "Odd ""name" (x int)`, "CREATE TABLE unread (x int)", "CREATE SCHEMA s", "CREATE TABLE s.a (x int)",
		"CREATE VIEW one AS SELECT x, y FROM a WHERE y = 'unread'", "CREATE VIEW nested AS SELECT o.x FROM one AS o JOIN s.a USING (x)",
		`CREATE VIEW cte AS WITH c AS (SELECT x FROM "Odd ""name") SELECT c.x FROM c LEFT JOIN a ON a.x = c.x UNION ALL SELECT x FROM c`,
		"CREATE VIEW binned AS SELECT x / 10 AS ten, x % 2 AS odd, extract(year FROM d) AS year, CASE WHEN y LIKE 'E1%' THEN lower(left(y, 3)) ELSE x::text END AS y, x::bigint AS big FROM a",
		"CREATE VIEW grouped AS SELECT x, count(*) AS n, min(y) AS y FROM a GROUP BY x", "CREATE VIEW constant AS SELECT 1 AS x", "CREATE MATERIALIZED VIEW kept AS SELECT x FROM a",
		"CREATE TABLE whole (x int, y int) PARTITION BY RANGE (x)", "CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (9) PARTITION BY LIST (y)",
		"CREATE TABLE leaf PARTITION OF part FOR VALUES IN (1, 2)", "CREATE TABLE heir (z int) INHERITS (unread)", "CREATE TABLE extra (q int)", "CREATE TABLE grandchild () INHERITS (heir, extra)",
		"CREATE VIEW named AS SELECT x FROM leaf", `CREATE VIEW ":relid 5" AS SELECT x AS ":limitCount" FROM a AS ":rtekind 3"`)
	tests := map[string][]string{
		"public.a": {"public.a"}, "PUBLIC.A": {"public.a"}, `"public".a`: {"public.a"}, "s.a": {"s.a"}, `public."Odd ""name"`: {`public."Odd ""name"`}, `public.odd "name`: nil,
		"public.one": {"public.a"}, "public.nested": {"public.a", "s.a"}, "public.cte": {`public."Odd ""name"`, "public.a"},
		"public.binned": {"public.a"}, "public.grouped": {"public.a"}, "public.constant": {}, "public.kept": {"public.a"},
		"public.whole": {"public.whole"}, "public.part": {"public.whole"}, "public.leaf": {"public.whole"}, "public.named": {"public.whole"},
		"public.unread": {"public.extra", "public.unread"}, "public.heir": {"public.extra", "public.unread"}, "public.grandchild": {"public.extra", "public.unread"},
		`public.":relid 5"`: {"public.a"},
	}
	for name, want := range tests {
		table := source.Table{Source: name}
		if slices.Contains([]string{"public.nested", "public.cte", "public.grouped"}, name) {
			table = ofUnit(name, "x")
		}
		got, err := check(pool, table)
		if want == nil {
			if err == nil {
				t.Errorf("%s is read", name)
			}
			continue
		}
		prefix := ""
		for i, b := range got.Bases {
			prefix = b[:strings.LastIndex(b, "/")+1]
			got.Bases[i] = strings.TrimPrefix(b, prefix)
		}
		if err != nil || !slices.Equal(got.Bases, want) {
			t.Errorf("%s reads %q, %v; want %q", name, got.Bases, err, want)
		}
		if len(want) > 0 && (!strings.HasPrefix(prefix, "postgresql:") || !strings.HasSuffix(prefix, "/testcheckresolvesbases/")) {
			t.Errorf("the bases of %s begin with %q", name, prefix)
		}
	}
}

// TestWrongTypesAreNoted has a note for each column whose type can hold more than
// whole numbers where those are declared, with a statement that runs.
func TestWrongTypesAreNoted(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE mixed (i int, b bool, n numeric, f float8, s text, v varchar(9))", "INSERT INTO mixed VALUES (1, true, 1.5, 1.5, '1.5', 'x'), (1, true, 1, 1, '1', '-1')")
	table := source.Table{Source: "public.mixed"}
	for _, name := range []string{"i", "b", "n", "f", "s", "v"} {
		domain, err := query.NewRange(0, 1, false)
		must(t, err)
		table.Columns = append(table.Columns, query.Column{Name: name, Domain: domain})
	}
	schema, err := check(pool, table)
	must(t, err)
	if len(schema.Notes) != 4 {
		t.Fatalf("%d notes, want those of n, f, s and v: %q", len(schema.Notes), schema.Notes)
	}
	for _, note := range schema.Notes {
		_, statement, _ := strings.Cut(note, "; ")
		statement, _, found := strings.Cut(statement, " tells how many")
		var n int
		if err := conn.QueryRow(t.Context(), statement).Scan(&n); err != nil || n != 1 || !found {
			t.Errorf("%s: %d rows, %v", note, n, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	prepare(t, conn)
	execute(t, conn, "CREATE TABLE a (x int, y text, n numeric, j json, b boolean, f float8, ts timestamptz, k bytea, m mood, c citext)", `CREATE TABLE "A" (x int)`, `CREATE TABLE "Twice" (x int, "X" int)`, `CREATE TABLE "tWice" (x int)`,
		"CREATE FUNCTION own(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'", "CREATE FUNCTION many(int) RETURNS SETOF int IMMUTABLE LANGUAGE sql AS 'SELECT $1'",
		"CREATE SEQUENCE seq", "CREATE DOMAIN small AS int CHECK (VALUE < 5)")
	for name, text := range map[string]string{
		"limited": "SELECT x FROM a LIMIT 3", "skipped": "SELECT x FROM a OFFSET 3", "below": "SELECT x FROM (SELECT x FROM a LIMIT 1) AS q", "ranked": "SELECT x, row_number() OVER () FROM a",
		"sampled": "SELECT x FROM a TABLESAMPLE BERNOULLI (50)", "divided": "SELECT 1 / x AS x FROM a", "overflowing": "SELECT x + 1 AS x FROM a", "byzero": "SELECT x / 0 AS x FROM a",
		"byminus": "SELECT x / -1 AS x FROM a", "casted": "SELECT y::int AS x FROM a", "narrow": "SELECT n::int AS x FROM a", "checked": "SELECT x::small AS x FROM a", "random": "SELECT random() AS x FROM a",
		"now": "SELECT now() AS x FROM a", "today": "SELECT CURRENT_DATE AS x FROM a", "own": "SELECT own(x) AS x FROM a", "many": "SELECT many(x) AS x FROM a", "many2": "SELECT q AS x FROM a, many(a.x) AS q",
		"scalar": "SELECT (SELECT b.x FROM a AS b WHERE b.x = a.x) AS x FROM a", "escaped": `SELECT y LIKE 'a%\' AS x FROM a`, "patterned": "SELECT y LIKE y AS x FROM a", "next": "SELECT nextval('seq') AS x FROM a",
		"first": "SELECT DISTINCT ON (x) y FROM a ORDER BY x", "json": "SELECT j->>'a' AS x FROM a", "recursive": "WITH RECURSIVE r AS (SELECT x FROM a UNION SELECT x FROM r) SELECT x FROM r",
		"catalog": "SELECT relpages AS x FROM pg_class", "activity": "SELECT pid AS x FROM a, pg_stat_activity", "series": "SELECT x FROM a, generate_series(1, 2)", "summed": "SELECT sum(x) AS x FROM a", "locked": "SELECT x FROM a FOR UPDATE",
		"field": "SELECT date_part(y, ts::timestamp) AS x FROM a", "nofield": "SELECT date_part('nothing', timestamp '2024-01-01') AS x FROM a", "inside": "SELECT x FROM a WHERE 1 / x = 1", "joined": "SELECT a.x FROM a JOIN a AS b ON a.x / b.x = 1", "ordered": "SELECT x FROM a ORDER BY 1 / x", "had": "SELECT x FROM a GROUP BY x HAVING 1 / x = 1",
	} {
		execute(t, conn, "CREATE VIEW "+name+" AS "+text)
		want := sqlerr.Unsupported
		if name == "catalog" || name == "activity" {
			want = sqlerr.Forbidden
		}
		if _, err := check(pool, source.Table{Source: "public." + name}); sqlerr.CodeOf(err) != want {
			if name == "activity" && err != nil {
				continue
			}
			t.Errorf("%s: %v", text, err)
		}
	}
	number, err := query.NewRange(0, 9, false)
	must(t, err)
	for _, c := range []struct {
		table source.Table
		code  sqlerr.Code
		words string
	}{
		{source.Table{Source: "a"}, sqlerr.Invalid, "schema"},
		{source.Table{Source: "public."}, sqlerr.Invalid, "schema"},
		{source.Table{Source: `public."a`}, sqlerr.Invalid, "schema"},
		{source.Table{Source: "public.none"}, sqlerr.Unknown, "no such"},
		{source.Table{Source: "none.a"}, sqlerr.Unknown, "no such"},
		{source.Table{Source: "public.twice"}, sqlerr.Invalid, "more than one"},
		{source.Table{Source: "pg_catalog.pg_class"}, sqlerr.Forbidden, "own"},
		{source.Table{Source: "Information_Schema.tables"}, sqlerr.Forbidden, "own"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "z", Domain: number}}}, sqlerr.Unknown, "no column z"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "j", Domain: query.Unbounded()}}}, sqlerr.Unsupported, "json"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "n", Domain: query.Unbounded()}}}, sqlerr.Unsupported, "numeric"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "f", Domain: query.Unbounded()}}}, sqlerr.Unsupported, "float8"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "b", Domain: query.Unbounded()}}}, sqlerr.Unsupported, "INTEGER IN (0, 1)"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "ts", Domain: query.Unbounded()}}}, sqlerr.Unsupported, "timestamptz"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "m", Domain: number}}}, sqlerr.Unsupported, "mood"},
		{source.Table{Source: "public.a", Unit: "none", MaxRows: 1, Key: []byte{1}}, sqlerr.Unknown, "none"},
		{source.Table{Source: "public.a", Unit: "f", MaxRows: 1, Key: []byte{1}}, sqlerr.Unsupported, "float8"},
		{source.Table{Source: "public.a", Unit: "x", MaxRows: 0, Key: []byte{1}}, sqlerr.Invalid, "max_rows"},
		{source.Table{Source: "public.a", Unit: "x", MaxRows: 1}, sqlerr.Invalid, "key"},
	} {
		_, err := check(pool, c.table)
		if sqlerr.CodeOf(err) != c.code {
			t.Errorf("%s %v %s: %v, want %s", c.table.Source, c.table.Columns, c.table.Unit, err, c.code)
			continue
		}
		if e := err.(*sqlerr.Error); !strings.Contains(e.Message+" "+e.Hint, c.words) {
			t.Errorf("%s: %q, %q; want %q", c.table.Source, e.Message, e.Hint, c.words)
		}
	}
}

// TestSchemaText changes what a source is made of, and what it is not.
func TestSchemaText(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	prepare(t, conn)
	execute(t, conn, "CREATE TABLE a (x int, y text, m mood) PARTITION BY LIST (x)", "CREATE VIEW v AS SELECT x, y, m FROM a WHERE x > 1", "CREATE VIEW w AS SELECT * FROM v", "CREATE TABLE other (x int)")
	text := func() string {
		t.Helper()
		s, err := check(pool, source.Table{Source: "public.w"})
		must(t, err)
		return s.Text
	}
	last := text()
	for _, same := range []string{"INSERT INTO other VALUES (1)", "CREATE TABLE p PARTITION OF a FOR VALUES IN (1, 2)", "INSERT INTO a VALUES (2)", "ANALYZE a", "DROP TABLE other", "CREATE INDEX ON a (y)"} {
		execute(t, conn, same)
		if text() != last {
			t.Errorf("%s changes the schema", same)
		}
	}
	for _, other := range []string{"CREATE OR REPLACE VIEW v AS SELECT x, y, m FROM a WHERE x > 2", "ALTER TABLE a ADD z int", "ALTER TYPE mood RENAME VALUE 'a' TO 'b'", "DROP VIEW w; ALTER TABLE a RENAME TO b; CREATE VIEW w AS SELECT * FROM v",
		`DROP VIEW w, v; ALTER TABLE b ALTER y TYPE text COLLATE "C"; CREATE VIEW v AS SELECT x, y, m FROM b WHERE x > 2; CREATE VIEW w AS SELECT * FROM v`} {
		if _, err := conn.PgConn().Exec(context.Background(), other).ReadAll(); err != nil {
			t.Fatal(err)
		}
		now := text()
		if now == last {
			t.Errorf("%s does not change the schema", other)
		}
		last = now
	}
}
