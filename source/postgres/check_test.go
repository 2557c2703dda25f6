package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"dpsql/internal/pgtest"
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

// TestFormsAreNoted has a note where a BOOLEAN can be more than 0 and 1, and an exact NUMERIC
// have any digits, as in SQLite.
func TestFormsAreNoted(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	execute(t, dialled(t, dsn), "CREATE TABLE mixed (i int, b bool, n numeric, f float8, v varchar(9))")
	file := memory(t)
	_, err := file.Exec("CREATE TABLE mixed (i int, b bool, n numeric, f double, v varchar(9))")
	must(t, err)
	steps, err := query.NewSteps(big.NewRat(0, 1), big.NewRat(5, 1), big.NewRat(1, 100), false)
	must(t, err)
	declared := func(rounded bool) query.Column {
		d, f, err := steps.Column(rounded, 4, 2)
		must(t, err)
		return query.Column{Domain: d, Form: f}
	}
	boolean := query.Column{Domain: query.NewBoolean(false), Form: query.BooleanForm()}
	for _, c := range []struct {
		column query.Column
		name   string
		note   string
	}{
		{boolean, "i", ""}, {boolean, "b", ""}, {boolean, "f", source.NotBoolean}, {boolean, "v", source.NotBoolean},
		{declared(false), "i", ""}, {declared(false), "n", ""}, {declared(false), "f", source.MoreDigits}, {declared(true), "n", ""}, {declared(true), "f", ""},
	} {
		c.column.Name = c.name
		table := source.Table{Source: "public.mixed", Columns: []query.Column{c.column}}
		schema, err := check(pool, table)
		must(t, err)
		table.Source = "mixed"
		also, err := source.Misfits(t.Context(), file, table)
		must(t, err)
		for _, notes := range [][]string{schema.Notes, also} {
			if got := strings.Join(notes, " "); got != "" != (c.note != "") || !strings.HasSuffix(got, c.note) {
				t.Errorf("%s as %s is noted %q, want %q", c.name, c.column.TypeName(), got, c.note)
			}
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	clock := stepped(query.StoredClock, 1)
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	prepare(t, conn)
	execute(t, conn, "CREATE TABLE a (x int, y text, n numeric, j json, b boolean, f float8, ts timestamptz, k bytea, m mood, c citext, tz timetz)", `CREATE TABLE "A" (x int)`, `CREATE TABLE "Twice" (x int, "X" int)`, `CREATE TABLE "tWice" (x int)`,
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
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "b", Domain: query.Unbounded()}}}, sqlerr.Unsupported, "declare it BOOLEAN"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "ts", Domain: query.Unbounded()}}}, sqlerr.Unsupported, "timestamptz"},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "tz", Domain: clock.NewDay(false), Form: clock}}}, sqlerr.Unsupported, `make a view that has it as "tz"::time`},
		{source.Table{Source: "public.a", Columns: []query.Column{{Name: "ts", Domain: clock.NewDay(false), Form: clock}}}, sqlerr.Unsupported, `make a view that has it as "ts"::time`},
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

// TestSchemaText changes parts of a source, and things that are not parts of it.
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

// TestTooManyCellsKeepTheSnapshot: the reader stops a statement to find out that there
// are too many cells. It must then go on with the same snapshot, because a later error
// would reveal something about the rows.
func TestTooManyCellsKeepTheSnapshot(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, `CREATE TABLE wide (a integer, u integer)`, `INSERT INTO wide SELECT i, i / 2 FROM generate_series(1, 40000) AS i`)
	domain, err := query.NewRange(0, 1<<20, false)
	must(t, err)
	columns := []query.Column{{Name: "a", Domain: domain}}
	u, err := query.NewUniverse(columns)
	must(t, err)
	for _, table := range []source.Table{{Source: "public.wide", Columns: columns},
		{Source: "public.wide", Columns: columns, Unit: "u", MaxRows: 2, Key: []byte("k")}} {
		for _, first := range []bool{false, true} { // whether something was answered before
			err := pool.Snapshot(context.Background(), func(r source.Reader) error {
				count := func() int64 {
					n, err := r.Count(context.Background(), anyone{}, table, query.All(u))
					must(t, err)
					return n
				}
				want := int64(40000)
				if first && count() != want {
					t.Error("not all rows are counted")
				}
				for range 3 {
					if _, err := r.Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), 1000); !errors.Is(err, source.ErrTooManyCells) {
						t.Fatalf("40,000 cells of at most 1,000: %v", err)
					}
					if first {
						execute(t, conn, `INSERT INTO wide VALUES (0, -1)`) // is not on the snapshot
					}
					if n := count(); n != want {
						t.Errorf("%d rows after too many cells, want %d", n, want)
					}
				}
				h, err := r.Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(u, [16]byte{}), math.MaxInt)
				must(t, err)
				if h.Len() != int(want) {
					t.Errorf("%d cells", h.Len())
				}
				return nil
			})
			must(t, err)
			execute(t, conn, `DELETE FROM wide WHERE a = 0`)
		}
	}
}

// TestTextsAsIntegers reads texts that are nearly numbers as SQLite does.
func TestTextsAsIntegers(t *testing.T) {
	db := memory(t)
	_, err := db.Exec("CREATE TABLE n (x INTEGER)")
	must(t, err)
	digits := rapid.StringOfN(rapid.RuneFrom([]rune("0001234999")), 0, 22, -1)
	sometimes := func(s ...string) *rapid.Generator[string] { return rapid.SampledFrom(append(s, "", "")) }
	rapid.Check(t, func(t *rapid.T) {
		parts := []string{sometimes(" ", "\t", "\n ", "\v", "\f", "\r", "\u00a0", "\x1f", "_").Draw(t, "before"), sometimes("-", "+", "- ").Draw(t, "sign"),
			digits.Draw(t, "whole"), sometimes(".").Draw(t, "point"), digits.Draw(t, "fraction"), sometimes("e", "E", "e+", "e-", "x").Draw(t, "exponent"),
			sometimes("1", "3", "18", "19", "400", "0").Draw(t, "power"), sometimes(" ", "a", "\n").Draw(t, "behind")}
		text := strings.Join(parts, "")
		var stored any
		must(t, db.QueryRowContext(context.Background(), "INSERT INTO n VALUES (?) RETURNING x", text).Scan(&stored))
		want, isInteger := stored.(int64)
		if got, ok := integerOfText([]byte(text)); ok != isInteger || ok && got != query.Int(want) {
			t.Fatalf("%q is %v (%v), in SQLite %v", text, got, ok, stored)
		}
		_, err := db.Exec("DELETE FROM n")
		must(t, err)
	})
}

// TestRealBounds finds the reals of an interval's ends by trying.
func TestRealBounds(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 1024, -1<<53 - 1, -1, 0, 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1024, math.MaxInt64 - 1, math.MaxInt64}
	for _, lo := range ends {
		for _, hi := range ends {
			var c column
			c.array, c.text, c.between = "float8[]", "x", "$lo $hi"
			var w writer
			w.interval(c, query.Interval{First: lo, Last: hi})
			var a, b float64
			if _, err := fmt.Sscan(string(w.args[0]), &a); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(string(w.args[1]), &b); err != nil {
				t.Fatal(err)
			}
			for _, x := range []float64{float64(lo), float64(hi), math.Nextafter(float64(lo), 0), math.Nextafter(float64(hi), 0), -1 << 63, 1 << 63} {
				if x != math.Trunc(x) {
					continue
				}
				n, ok := integerOfReal(x)
				if want, got := ok && lo <= n && n <= hi, a <= x && x <= b; got != want {
					t.Errorf("%v in %d..%d is %v, want %v", x, lo, hi, got, want)
				}
			}
		}
	}
}

// extremes are values of the types that the functions of views take.
var extremes = map[string][]string{
	"field":    strings.Fields(string(dateFields)),
	"smallint": {"-32768", "32767", "0"}, "integer": {"-2147483648", "2147483647", "0", "-1"}, "bigint": {"-9223372036854775808", "9223372036854775807", "0"},
	"real": {"NaN", "Infinity", "-Infinity", "3.4e38", "-1e-45"}, "double precision": {"NaN", "Infinity", "-Infinity", "1.7e308", "-4.9e-324", "0.5"},
	"numeric": {"NaN", "Infinity", "-Infinity", "1e131071", "-9.9e131071", "1e-16383", "0.5", strings.Repeat("9", 131072) + ".5", "-" + strings.Repeat("9", 131072) + ".5"}, "text": {"", "é", "x", "%", `\`, "ß", "İ", "٣", "NaN"}, "character varying": {"", "x"}, "character": {"", "x "},
	"name": {"", "x"}, `"char"`: {"", "x"}, "boolean": {"true", "false"}, "bytea": {``, `\x00`, `\xff`}, "oid": {"0", "4294967295"},
	"date":                        {"infinity", "-infinity", "4713-11-24 BC", "5874897-12-31", "0001-01-01 BC"},
	"timestamp without time zone": {"infinity", "-infinity", "4713-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999"},
	"timestamp with time zone":    {"infinity", "-infinity", "4713-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"},
	"time without time zone":      {"00:00", "24:00", "23:59:59.999999"}, "time with time zone": {"00:00+15:59", "24:00-15:59"},
	"interval": {"178000000 years", "-178000000 years", "0"}, "uuid": {"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
}

// TestTotalFunctionsDoNotFail calls every function of the server that views may
// call, by name, with what is most likely to make it fail.
func TestTotalFunctionsDoNotFail(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "SET search_path = pg_catalog", "SET timezone = 'UTC'")
	found, err := conn.Query(ctx, `SELECT p.oid::regprocedure::text, p.proname::text, array_to_string(ARRAY(SELECT format_type(u, NULL) FROM unnest(p.proargtypes) AS u), ';')
		FROM pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.provolatile <> 'v' AND p.pronargs BETWEEN 1 AND 2 AND p.provariadic = 0`)
	must(t, err)
	type function struct {
		name string
		args []string
	}
	var all []function
	for found.Next() {
		var signature, name, args string
		must(t, found.Scan(&signature, &name, &args))
		if total.MatchString(signature) || byField.MatchString(signature) {
			all = append(all, function{name, strings.Split(args, ";")})
		}
	}
	must(t, found.Err())
	calls := 0
	call := func(text string) {
		calls++
		_, err := conn.PgConn().ExecParams(ctx, text, nil, nil, nil, []int16{1}).Close()
		var pg *pgconn.PgError
		if errors.As(err, &pg) && (pg.Code == "42804" || pg.Code == "42725") {
			return // the types of an any are not known: an error of the statement
		}
		if err != nil {
			t.Errorf("%.200s: %v", text, err)
		}
	}
	for _, f := range all {
		if f.name == "extract" || f.name == "date_part" {
			f.args[0] = "field"
		}
		for _, args := range tuplesOf(t, f.args) {
			call("SELECT " + query.Quoted(f.name) + "(" + strings.Join(args, ", ") + ")")
			for _, collation := range []string{`"C"`, `"POSIX"`, `"en-x-icu"`, `"tr-x-icu"`} {
				if f.args[0] == "text" || f.args[0] == "character" {
					call("SELECT " + query.Quoted(f.name) + "(" + strings.Join(append([]string{args[0] + " COLLATE " + collation}, args[1:]...), ", ") + ")")
				}
			}
		}
	}
	if t.Logf("%d calls of %d functions", calls, len(all)); len(all) < 100 {
		t.Errorf("only %d functions are allowed", len(all))
	}
}

// TestTotalAggregatesDoNotFail gives every aggregate that views may call all of the
// values that are most likely to make it fail, at once and many times.
func TestTotalAggregatesDoNotFail(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, dsn := opened(t)
	conn := dialled(t, dsn)
	found, err := conn.Query(ctx, `SELECT p.oid::regprocedure::text, p.proname::text, format_type(p.proargtypes[0], NULL) FROM pg_proc AS p
		WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'a' AND p.pronargs = 1`)
	must(t, err)
	texts := make(map[string]string)
	for found.Next() {
		var signature, name, typ string
		must(t, found.Scan(&signature, &name, &typ))
		if !total.MatchString(signature) || typ == `"any"` {
			continue
		}
		if len(extremes[typ]) == 0 {
			t.Errorf("no values of type %s", typ)
		}
		rows := "SELECT '" + strings.Join(extremes[typ], "'::"+typ+" AS x UNION ALL SELECT '") + "'::" + typ
		texts[signature] = "SELECT " + name + "(x), " + name + "(DISTINCT x), count(x) FROM (" + rows + ") AS a, generate_series(1, 20)"
	}
	must(t, found.Err())
	for signature, text := range texts {
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Errorf("%s: %v", signature, err)
		}
	}
	if len(texts) < 20 {
		t.Errorf("only %d aggregates are allowed", len(texts))
	}
}

// TestNotTotal lists functions that fail on some argument, or need an order that
// not every type has, though they look harmless.
func TestNotTotal(t *testing.T) {
	for _, name := range []string{"avg(double precision)", "avg(real)", "avg(numeric)", "sum(integer)", "round(numeric)", "ceil(numeric)", "ceiling(numeric)", "floor(numeric)", "round(numeric,integer)",
		"date_part(text,date)", "date(text)", "max(anyarray)", "min(anyenum)", "max(inet)", "concat(\"any\")", "array_eq(anyarray,anyarray)", "record_eq(record,record)", "int4(bigint)", "int4(text)", "text(name)", "int4pl(integer,integer)",
		"int4div(integer,integer)", "numeric_add(numeric,numeric)", "date_lt_timestamp(date,timestamp without time zone)", "length(bytea,name)", "nameeq(name,name)", "texteq(text,text) ", "xtexteq(text,text)", "like_escape(text,text)"} {
		if total.MatchString(name) {
			t.Errorf("%s is said never to fail", name)
		}
	}
}

func tuplesOf(t *testing.T, types []string) [][]string {
	if len(types) == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for _, rest := range tuplesOf(t, types[1:]) {
		for _, v := range extremes[types[0]] {
			out = append(out, append([]string{"'" + v + "'::" + strings.Replace(types[0], "field", "text", 1)}, rest...))
		}
	}
	if extremes[types[0]] == nil && !strings.HasPrefix(types[0], "any") {
		t.Errorf("no values of type %s", types[0])
	}
	return out
}

// loop makes a foreign table of integers over a table of the same server that
// has others.
func loop(t testing.TB) *Pool {
	t.Helper()
	pool, conn, _ := spread(t, 0)
	far := dialled(t, strings.Replace(pgtest.Shared(t).DSN(), "dbname=postgres", "dbname="+strings.ToLower(t.Name())+"_shard", 1))
	execute(t, far, "CREATE TABLE halves (p text, x numeric)", "INSERT INTO halves VALUES ('whole', 1), ('half', 1.5)")
	execute(t, conn, "CREATE FOREIGN TABLE halves (p text, x int) SERVER shard", "CREATE TABLE sound (p text, x int)", "CREATE VIEW seen AS SELECT * FROM halves")
	return pool
}

// TestUnfitRowIsToldOnce reads a foreign table with a row that does not fit. A statement
// that meets the row fails, and none is tried again.
func TestUnfitRowIsToldOnce(t *testing.T) {
	ctx := context.Background()
	pool := loop(t)
	number, err := query.NewList(query.TypeInteger, []query.Value{query.Int(0), query.Int(1), query.Int(2)})
	must(t, err)
	table := source.Table{Columns: []query.Column{{Name: "p", Domain: query.Unbounded()}, {Name: "x", Domain: number}}}
	u, err := query.NewUniverse(table.Columns)
	must(t, err)
	cells := func(name string) error {
		table.Source = "public." + name
		return pool.Snapshot(ctx, func(r source.Reader) error {
			if _, err := r.Check(ctx, table); err != nil {
				return err
			}
			_, err := r.Cells(ctx, anyone{}, table, []int{0, 1}, query.NewCoder(u, [16]byte{}), 10)
			return err
		})
	}
	must(t, cells("sound"))
	first := cells("halves")
	fails(t, first, sqlerr.Invalid, "1.5", "half")
	_, again := check(pool, source.Table{Source: "public.halves"})
	if again == nil || again.Error() != first.Error() {
		t.Errorf("at first %v, later %v", first, again)
	}
	_, err = check(pool, source.Table{Source: "public.seen"})
	fails(t, err, sqlerr.Invalid)
	must(t, cells("sound"))
}

// TestErrorsOfRowsAreOne gives every error that can depend on a row the same
// words.
func TestErrorsOfRowsAreOne(t *testing.T) {
	for _, state := range []string{"0A000", "21000", "22003", "22012", "22P02", "22021", "23514", "2F005", "38000", "39000", "42804", "42883", "42P22", "42601", "44000", "P0001", "P0003", "XX000"} {
		err := &pgconn.PgError{Code: state, Message: "hunter22"}
		if f := faultOf(context.Background(), err); f != faultRow || !ofRow(err) {
			t.Errorf("%s is %v", state, f)
		}
	}
	for _, state := range []string{"", "08006", "25006", "28000", "3D000", "40001", "42501", "53200", "54001", "57014", "57P01", "58030", "XX001"} {
		err := &pgconn.PgError{Code: state}
		if f := faultOf(context.Background(), err); f == faultRow || ofRow(err) {
			t.Errorf("%s is said to depend on a row", state)
		}
	}
}
