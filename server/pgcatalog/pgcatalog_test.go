package pgcatalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"dpsql/sqlerr"
)

func catalog(t testing.TB) *Catalog {
	t.Helper()
	c, err := New(clinic)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// table returns a result's rows as text, columns with "|" between them.
func table(t testing.TB, c *Catalog, sql string, args ...any) []string {
	t.Helper()
	rows, err := c.Query(context.Background(), Session{}, sql, args)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var out []string
	for _, row := range rows.Values {
		line := make([]string, len(row))
		for i, v := range row {
			if line[i] = "NULL"; v != nil {
				line[i] = string(c.AppendText(nil, rows.Columns[i].OID, v))
			}
		}
		out = append(out, strings.Join(line, "|"))
	}
	return out
}

func TestAsks(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT 1":   false,
		"SELECT 1+1": false,
		"select count(*) from visits where sex = 'pg_class'": false,
		"SELECT lower(ward), length(ward) FROM wards":        false,
		"SELECT lower('A')": false,
		"WITH pg_class AS (SELECT * FROM visits) SELECT COUNT(*) FROM pg_class": false,
		"SHOW TABLES":                   false,
		"SET search_path TO pg_catalog": false,
		"CREATE RELEASE pg_class ON visits (sex) USING PROJECTION":                  false,
		"SELECT age_group, count(*) FROM visits GROUP BY age_group":                 false,
		"SELECT tables FROM tables":                                                 false,
		"":                                                                          false,
		"SELECT 'x":                                                                 false,
		"SELECT version()":                                                          true,
		"select current_schema()":                                                   true,
		"SELECT CURRENT_USER":                                                       true,
		"SELECT VERSION ( )":                                                        true,
		"SELECT '1'::int4":                                                          true,
		"SELECT pg_advisory_unlock_all()":                                           true,
		"SELECT relname FROM pg_class":                                              true,
		"SELECT RELNAME FROM PG_CLASS":                                              true,
		"SELECT * FROM information_schema.tables":                                   true,
		"SELECT count(*) FROM visits, pg_catalog.pg_class":                          true,
		"SELECT (SELECT count(*) FROM pg_type)":                                     true,
		"SELECT * FROM unnest(current_schemas(true))":                               true,
		"SELECT 'now'::pg_catalog.regproc::pg_catalog.oid":                          true,
		"/* x */ SELECT oid FROM pg_catalog.pg_type WHERE +":                        true,
		"WITH x AS (SELECT oid FROM pg_type) SELECT * FROM x":                       true,
		`SELECT name AS "Column" FROM (VALUES ('a', '20'::oid)) s(name, tp)`:        true,
		"SELECT set_config('search_path', '', false)":                               true,
		"SELECT n.nspname FROM visits v, pg_namespace n WHERE n.nspname = v.ward":   true,
		"SELECT nspname FROM pg_namespace WHERE nspname = 'visits' AND nspname ~ '": false, // no statement at all
	} {
		if got := Asks(read(sql)); got != want {
			t.Errorf("Asks(%q) is %v", sql, got)
		}
	}
}

func TestAlone(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT 1": true, " (select 1)": true, "VALUES (1)": true, "SELECT 1 UNION SELECT 2": true, "SELECT now()": true,
		"SELECT 1 FROM wards": false, "select count(*) From visits": false, "SHOW TABLES": false, "": false, "SELEC 1": false,
		"WITH x AS (SELECT 1) TABLE x": false, "SELECT " + strings.Repeat("1", maxText): false,
	} {
		if got := Alone(read(sql)); got != want {
			t.Errorf("Alone(%.40q) is %v", sql, got)
		}
	}
}

// gives asks for rows in their order.
func gives(t *testing.T, questions map[string]string) {
	t.Helper()
	c := catalog(t)
	for sql, want := range questions {
		if got := strings.Join(table(t, c, sql), " "); got != want {
			t.Errorf("%s\ngives %s, want %s", sql, got, want)
		}
	}
}

// TestOrder: rows come in the order of ORDER BY, which TestCorpus does not look at.
func TestOrder(t *testing.T) {
	gives(t, map[string]string{
		"SELECT attname FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attnum":                         "age sex ward smoker admitted cost",
		"SELECT attname FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attname DESC":                   "ward smoker sex cost age admitted",
		"SELECT attname AS attnum FROM pg_attribute WHERE attrelid = 'wards'::regclass AND attnum > 0 ORDER BY attnum":                "area floor ward",
		"SELECT attname FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attlen, -attnum LIMIT 4":        "cost ward sex smoker",
		"SELECT attname FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY 1 OFFSET 2 FETCH NEXT ROW ONLY": "cost",
		"SELECT x FROM unnest(ARRAY[2, NULL, 1]) x ORDER BY x":                                                                        "1 2 NULL",
		"SELECT x FROM unnest(ARRAY[2, NULL, 1]) x ORDER BY x DESC":                                                                   "NULL 2 1",
		"SELECT x FROM unnest(ARRAY[2, NULL, 1]) x ORDER BY x DESC NULLS LAST":                                                        "2 1 NULL",
		"SELECT 3 AS n UNION SELECT 1 UNION ALL SELECT 2 ORDER BY n DESC":                                                             "3 2 1",
		"SELECT DISTINCT ON (x % 2) x FROM generate_series(1, 4) x ORDER BY x % 2, x DESC":                                            "4 3",
		"SELECT 10 * row_number() OVER w AS n FROM unnest(ARRAY['b', 'a']) x WINDOW w AS (ORDER BY x) ORDER BY x DESC":                "20 10",
		"SELECT 7 FROM generate_series(1, 3) x HAVING count(*) > 2":                                                                   "7",
		"SELECT 7 FROM generate_series(1, 0) x HAVING true":                                                                           "7",
		"SELECT array_to_string(array_agg(x ORDER BY x DESC), '') FROM generate_series(1, 3) x":                                       "321",
		"SELECT unnest(array_agg(x ORDER BY x DESC)) FROM generate_series(1, 4) x GROUP BY x % 2 ORDER BY 1":                          "1 2 3 4",
		"SELECT count(*), generate_series(1, 2) FROM pg_am":                                                                           "2|1 2|2",
		"SELECT array_length('{a,b}', 1)":                                                                                             "2",
		"SELECT string_agg(DISTINCT x, ',') FROM unnest('{b,a,b}') x":                                                                 "a,b",
	})
}

// TestSystemColumns: each table of the catalog has the columns that JetBrains' tools read of all of them before they show
// anything, and they are constants.
func TestSystemColumns(t *testing.T) {
	gives(t, map[string]string{
		"SELECT DISTINCT N.xmin, N.cmin, N.xmax, N.cmax, N.ctid FROM pg_catalog.pg_namespace N":                           "1|0|0|0|(0,1)",
		"SELECT DISTINCT xmin, tableoid = 'pg_class'::regclass FROM pg_class":                                             "1|t",
		"SELECT DISTINCT D.xmin::text::bigint FROM pg_database D":                                                         "1",
		"SELECT DISTINCT xmin = '1', xmin::text <> '0' FROM pg_attribute WHERE attrelid = 'visits'::regclass":             "t|t",
		"SELECT d.xmin FROM pg_class c LEFT JOIN pg_description d ON d.objoid = c.oid AND 1 = 2 WHERE relname = 'visits'": "NULL",
		"SELECT xmin FROM (SELECT oid AS xmin FROM pg_am WHERE amname = 'heap') AS q":                                     "2",
	})
}

// TestPicture: what a picture says of tables is what clients see.
func TestPicture(t *testing.T) {
	c, err := New(Picture{Database: "d", User: "Bo b", Version: "v", Tables: []Table{{Name: "Odd \"name\"", Comment: "all of them",
		Columns: []Column{{"a", "int8", false, "between 0 and 9"}, {"b", "timestamp", true, ""}, {"c", "numeric(5)", true, ""}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		`SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, col_description(a.attrelid, a.attnum) FROM pg_attribute a
			WHERE attrelid = '"Odd ""name"""'::regclass AND attnum > 0 ORDER BY attnum`: `a|bigint|t|between 0 and 9 b|timestamp without time zone|f|NULL c|numeric(5,0)|f|NULL`,
		"SELECT c.oid::regclass, obj_description(c.oid, 'pg_class'), relacl FROM pg_class c WHERE relnamespace = 2200":                            `"Odd ""name"""|all of them|{dpsql=arwdDxt/dpsql,"\"Bo b\"=r/dpsql"}`,
		"SELECT current_user, rolname FROM pg_roles WHERE rolcanlogin":                                                                            "Bo b|Bo b",
		"SELECT relname FROM pg_class WHERE relname = 'visits'":                                                                                   "",
		"SELECT has_table_privilege(oid, 'SELECT'), has_table_privilege(oid, 'INSERT') FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200": "t|f",
	} {
		if got := strings.Join(table(t, c, sql), " "); got != want {
			t.Errorf("%s\ngives %s, want %s", sql, got, want)
		}
	}
	for _, p := range []Picture{
		{Tables: []Table{{Name: "t", Columns: []Column{{"a", "blob", true, ""}}}}},
		{Tables: []Table{{Name: "t", Columns: []Column{{"a", "numeric(x)", true, ""}}}}},
		{Tables: []Table{{Name: "t"}, {Name: "t"}}},
	} {
		if _, err := New(p); err == nil {
			t.Errorf("%v is taken", p)
		}
	}
}

// TestOIDs: a table's OID does not tell which other tables there are.
func TestOIDs(t *testing.T) {
	c := catalog(t)
	one, err := New(Picture{User: "ana", Tables: clinic.Tables[1:]})
	if err != nil {
		t.Fatal(err)
	}
	const sql = "SELECT 'wards'::regclass::oid, 'ana'::regrole::oid"
	if a, b := table(t, c, sql), table(t, one, sql); !slices.Equal(a, b) {
		t.Errorf("wards and ana have the OIDs %v beside visits, and %v without", a, b)
	}
}

// TestBinary holds the binary forms to those that pgx reads and writes.
func TestBinary(t *testing.T) {
	c, m := catalog(t), pgtype.NewMap()
	s, err := c.Prepare(`SELECT true, 7::int2, -7::int4, 1::int8 << 40, 26::oid, 1.5::float4, -2.25::float8, 'text'::text, 'name'::name, 'c'::"char", 'v'::varchar,
		ARRAY[1, NULL, 3], '{a,b}'::text[], '{}'::int8[], ARRAY[true, false], 12345.678::numeric, 0::numeric, -0.001::numeric, 'pg_class'::regclass, NULL::int4, '2024-02-29'::date, '1999-12-31'::date, '2024-02-29 12:30:01.5'::timestamp, xmin FROM pg_am LIMIT 1`, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Query(context.Background(), Session{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range rows.Values[0] {
		col := rows.Columns[i]
		binary, err := c.AppendBinary(nil, col.OID, v)
		if err != nil {
			t.Errorf("column %d: %v", i, err)
		}
		if v == nil {
			continue
		}
		oid := col.OID
		if oid == regclassOID {
			oid = oidOID
			v = v.(int64)
		}
		var one, two any
		if err := m.Scan(oid, pgtype.BinaryFormatCode, binary, &one); err != nil {
			t.Errorf("column %d, OID %d: %v", i, oid, err)
		}
		if err := m.Scan(oid, pgtype.TextFormatCode, c.AppendText(nil, oid, v), &two); err != nil {
			t.Errorf("column %d, OID %d: %v", i, oid, err)
		}
		if got, want := fmt.Sprint(one), fmt.Sprint(two); numberOf(one) != numberOf(two) && got != want {
			t.Errorf("column %d, OID %d: binary %v, text %v", i, oid, got, want)
		}
		if oid != numericOID && oid != dateOID && oid != timestampOID {
			if back := c.binaryInput(binary, oid); !reflect.DeepEqual(back, v) {
				t.Errorf("column %d, OID %d: %v comes back as %v", i, oid, v, back)
			}
		}
	}
}

func numberOf(v any) float64 {
	if n, ok := v.(pgtype.Numeric); ok {
		f, _ := n.Float64Value()
		return f.Float64
	}
	return 0
}

// TestParameters: their types come from where they stand, or from the client.
func TestParameters(t *testing.T) {
	c := catalog(t)
	for sql, want := range map[string][]uint32{
		"SELECT 1 FROM pg_class WHERE relname = $1 AND oid = $2 AND relkind = ANY($3) AND relhasindex = $4": {nameOID, oidOID, 1002, boolOID},
		"SELECT $1, $2::int4 + $3, coalesce($4, 1) FROM pg_class LIMIT $5":                                  {textOID, int4OID, int4OID, int4OID, int8OID},
		"SELECT format_type($2, $1) FROM pg_class WHERE relname LIKE $3":                                    {int4OID, oidOID, textOID},
	} {
		s, err := c.Prepare(sql, nil)
		if err != nil || !slices.Equal(s.Parameters, want) {
			t.Errorf("%s: %v, %v, want %v", sql, s, err, want)
		}
	}
	s, err := c.Prepare("SELECT relname FROM pg_class WHERE oid = $1 OR relname = $2", []uint32{int8OID, 0})
	if err != nil || !slices.Equal(s.Parameters, []uint32{int8OID, nameOID}) {
		t.Fatal(s, err)
	}
	got := table(t, c, "SELECT relname FROM pg_class WHERE oid = $1 OR relname = ANY($2) ORDER BY 1", []byte{0, 0, 4, 235}, "{visits,\"wards\"}")
	if !slices.Equal(got, []string{"pg_class", "visits", "wards"}) {
		t.Error(got)
	}
	if _, err := s.Query(context.Background(), Session{}, []any{"1"}); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Error(err)
	}
	if _, err := s.Query(context.Background(), Session{}, []any{"one", nil}); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Error(err)
	}
	if _, err := s.Query(context.Background(), Session{}, []any{[]byte{1}, nil}); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Error(err)
	}
}

// TestSession: what a session has set is what its statements see, and no other's.
func TestSession(t *testing.T) {
	c := catalog(t)
	set := make(map[string]string)
	s := Session{PID: 12, Setting: func(name string) (string, bool) { v, ok := set[name]; return v, ok }, Set: func(name, value string, _ bool) error {
		if name == "bad" {
			return sqlerr.New(sqlerr.Invalid, "no such setting")
		}
		set[name] = value
		return nil
	}}
	rows, err := c.Query(context.Background(), s, "SELECT set_config('application_name', 'x', false), current_setting('application_name'), pg_backend_pid(), (SELECT setting FROM pg_settings WHERE name = 'application_name')", nil)
	if err != nil || fmt.Sprint(rows.Values) != "[[x x 12 x]]" {
		t.Error(rows, err)
	}
	if _, err := c.Query(context.Background(), s, "SELECT set_config('bad', 'x', false)", nil); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Error(err)
	}
	if got := table(t, c, "SELECT current_setting('application_name')"); got[0] != "" {
		t.Error(got)
	}
}

// TestRefusals: what the catalog does not know is refused by name, at its place.
func TestRefusals(t *testing.T) {
	c := catalog(t)
	for _, r := range []struct {
		sql, said string
		code      sqlerr.Code
		position  int
	}{
		{"SELECT * FROM pg_nothing", `relation "pg_nothing" does not exist`, sqlerr.Unknown, 15},
		{"SELECT age FROM visits, pg_class", "both the catalog and the table visits", sqlerr.Unsupported, 17},
		{"SELECT x FROM pg_class", `column "x" does not exist`, sqlerr.Unknown, 8},
		{"SELECT pg_sleep(1)", "function pg_sleep(integer) does not exist", sqlerr.Unknown, 8},
		{"SELECT pg_read_file('/etc/passwd')", "function pg_read_file(unknown) does not exist", sqlerr.Unknown, 8},
		{"SELECT rolpassword FROM pg_authid", `relation "pg_authid" does not exist`, sqlerr.Unknown, 25},
		{"SELECT relname FROM pg_class FOR UPDATE", "SELECT … FOR", sqlerr.Unsupported, 30},
		{"SELECT * INTO x FROM pg_class", "SELECT INTO", sqlerr.Unsupported, 10},
		{"SELECT count(*) FROM pg_class GROUP BY 1", "not allowed in GROUP BY", sqlerr.Invalid, 40},
		{"SELECT 1 FROM pg_class HAVING row_number() OVER () > 1", "not allowed in HAVING", sqlerr.Invalid, 52},
		{"SELECT 1 FROM pg_class WHERE count(*) > 1", "not allowed in WHERE", sqlerr.Invalid, 30},
		{"SELECT 'soon'::date", "invalid input syntax for type date", sqlerr.Invalid, 0},
		{"SELECT '1 day'::interval", "a constant of type interval", sqlerr.Unsupported, 0},
		{"DELETE FROM pg_class", "DELETE about the catalog", sqlerr.Unsupported, 1},
		{"SELECT relname ~ '(?<=a)b' FROM pg_class", "regular expression", sqlerr.Unsupported, 0},
		{"SELECT relname SIMILAR TO 'x' FROM pg_class", "SIMILAR TO", sqlerr.Unsupported, 16},
		{"SELECT relname COLLATE x AT TIME ZONE 'utc' FROM pg_class", "AT TIME ZONE", sqlerr.Unsupported, 26},
		{"SELECT oid BETWEEN SYMMETRIC 1 AND 2 FROM pg_class", "BETWEEN SYMMETRIC", sqlerr.Unsupported, 12},
		{"SELECT 1 FROM pg_class GROUP BY GROUPING SETS ((oid))", "GROUPING SETS", sqlerr.Unsupported, 33},
		{"SELECT count(*) OVER (ORDER BY oid ROWS 1 PRECEDING) FROM pg_class", "the frame of a window", sqlerr.Unsupported, 36},
		{"SELECT count(*) OVER (w) FROM pg_class WINDOW w AS ()", "a window made of another", sqlerr.Unsupported, 23},
		{"SELECT 1 + count(*) OVER v FROM pg_class", `window "v" does not exist`, sqlerr.Unknown, 12},
		{"SELECT (ARRAY[1, 2])[1:2]::text FROM pg_class", "a slice of an array", sqlerr.Unsupported, 21},
		{"SELECT ARRAY[[1], [2]] FROM pg_class", "an array of arrays", sqlerr.Unsupported, 14},
		{"SELECT * FROM (pg_class a JOIN pg_am b ON true) AS c", "an alias of a join", sqlerr.Unsupported, 15},
		{"SELECT foo 'x' FROM pg_class", `type "foo" does not exist`, sqlerr.Unknown, 8},
		{"SELECT oid = ANY (1, 2) FROM pg_class", `syntax error at or near ","`, sqlerr.Malformed, 20},
		{"SELECT $0 FROM pg_class", "there is no parameter $0", sqlerr.Malformed, 8},
		{"SELECT oid FROM pg_class GROUP BY", "syntax error at end of input", sqlerr.Malformed, 34},
		{"SELECT 1; SELECT 2", `syntax error at or near "select"`, sqlerr.Malformed, 11},
		{"SELECT 2 * unnest(array_agg(relnatts)) FROM pg_class", "returns a set beside an aggregate", sqlerr.Unsupported, 1},
		{"SELECT count(DISTINCT oid) OVER () FROM pg_class", "DISTINCT or ORDER BY of an aggregate", sqlerr.Unsupported, 8},
		{"SELECT 1 << 2.5 FROM pg_class", "operator does not exist: integer << numeric", sqlerr.Unknown, 10},
		{"SELECT rank() FROM pg_class", "requires an OVER clause", sqlerr.Invalid, 8},
		{"SELECT pg_get_functiondef(1299)", "", "", 0},
		{"SELECT pg_get_functiondef('lower'::regproc)", "definition of lower", sqlerr.Unsupported, 0},
		{"SELECT 'é', x FROM pg_class", `column "x" does not exist`, sqlerr.Unknown, 13},
	} {
		_, err := c.Query(context.Background(), Session{}, r.sql, nil)
		var e *sqlerr.Error
		if r.code == "" {
			if err != nil {
				t.Errorf("%s: %v", r.sql, err)
			}
			continue
		}
		if !errors.As(err, &e) || e.Code != r.code || !strings.Contains(e.Message, r.said) || e.Position != r.position {
			t.Errorf("%s: %v at %v", r.sql, err, e)
		}
	}
}

// bombs are statements that would take very long, or much memory.
var bombs = []string{
	"SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d",
	"SELECT 1 FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE a.attname || b.attname || c.attname = 'x'",
	"SELECT EXISTS (SELECT 1 FROM generate_series(1, 1000000000000) x WHERE x < 0)",
	"WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x) SELECT max(n) FROM x",
	"WITH RECURSIVE x AS (SELECT ARRAY[1] AS n UNION ALL SELECT n || n FROM x) SELECT cardinality(n) FROM x",
	"WITH RECURSIVE x AS (SELECT ARRAY['\"'] AS n UNION ALL SELECT ARRAY[n::text] FROM x) SELECT n::text FROM x",
	"SELECT sum(a.attnum) OVER (ORDER BY a.attname, b.relname) FROM pg_attribute a, pg_class b",
	"SELECT string_agg(a.attname::text, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') OVER (ORDER BY a.attnum, a.attname) FROM pg_attribute a, pg_namespace",
	"SELECT DISTINCT a.attname, b.attname FROM pg_attribute a, pg_attribute b",
	"SELECT * FROM pg_attribute a, pg_attribute b",
	"SELECT " + strings.Repeat("quote_ident(", 150) + "'\"'" + strings.Repeat(")", 150) + " FROM pg_class",
	"SELECT count(*) FROM pg_attribute a, pg_attribute b WHERE a.attisdropped" + strings.Repeat(" OR b.attisdropped", 2000),
	"WITH RECURSIVE x AS (SELECT 'aaaaaaaaaaaaaaaaaaaaa' AS n UNION ALL SELECT n || n FROM x) SELECT length(n) FROM x",
	"SELECT replace(replace(replace(replace(x, 'a', x), 'a', x), 'a', x), 'a', x) FROM (SELECT " + "'" + strings.Repeat("a", 200) + "'::text AS x) s",
	"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " FROM pg_class",
	"SELECT " + strings.Repeat("a.*,", 10000) + "1 FROM pg_attribute a",
	"SELECT 1 FROM pg_class WHERE relname ~ '" + strings.Repeat("(a*)*", 1000) + "'",
}

// dear is the number of the bombs that take up to two seconds before they are refused, and
// timed one that only its time ends. The rest needs too much memory, or is too large to be read.
const dear, timed = 12, 3

// TestBombs: each is refused, within the limits of steps and memory. The one that its time ends has all of it with -long.
func TestBombs(t *testing.T) {
	c := catalog(t)
	for i, sql := range bombs {
		if i < dear && i != timed && !*long {
			continue
		}
		c.time = 0
		if i == timed && !*long {
			c.time = 100 * time.Millisecond
		}
		if _, err := c.Query(context.Background(), Session{}, sql, nil); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%.80s: %v", sql, err)
		}
	}
}

// TestNesting: the time to bind and to run an expression does not double with each level of
// its nesting. It would not end if it did.
func TestNesting(t *testing.T) {
	c := catalog(t)
	for _, form := range []string{
		"(%s BETWEEN false AND true)", "(%s IN (true, false))", "CASE %s WHEN true THEN true ELSE false END", "(%s IS TRUE)", "nullif(%s, NULL)",
		"(%s IS DISTINCT FROM false)", "(%s = ANY(ARRAY[true]))", "(true = ANY(ARRAY[%s]))", "CASE true WHEN %s THEN true ELSE false END", "coalesce(%s, true)", "(NOT %s)", "(SELECT %s)", "(concat_ws(',', %s::text)::bool)",
		"(%s::text::varchar(5)::bool)", "greatest(%s, true)",
	} {
		sql := "relhasindex"
		for range 40 {
			sql = fmt.Sprintf(form, sql)
		}
		if got := table(t, c, "SELECT "+sql+" FROM pg_class WHERE relname = 'visits'"); len(got) != 1 {
			t.Errorf("%s: %v", form, got)
		}
	}
}

// TestCancelled: a statement ends with its context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := catalog(t)
	if _, err := c.Query(ctx, Session{}, "SELECT 1 FROM pg_class", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	s := Session{Setting: func(string) (string, bool) { cancel(); return "", true }}
	_, err := c.Query(ctx, s, "SELECT count(*) FROM pg_attribute a, pg_attribute b WHERE current_setting('x') <> a.attname", nil)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestConcurrent: one catalog, and one prepared statement, serve many connections at a time.
func TestConcurrent(t *testing.T) {
	c := catalog(t)
	s, err := c.Prepare("SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname ~ $1 AND a.attnum > 0 ORDER BY attnum", nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			table, want := "^visits$", 6
			if i%2 == 0 {
				table, want = "^wards$", 3
			}
			for range 5 {
				rows, err := s.Query(context.Background(), Session{}, []any{table})
				if err != nil || len(rows.Values) != want {
					t.Error(rows, err)
				}
			}
		})
	}
	all.Wait()
}

// FuzzQuery: no text makes the catalog fail, and a result's values are of its columns' types.
func FuzzQuery(f *testing.F) {
	raw, err := os.ReadFile(filepath.FromSlash(shapesFile))
	if err != nil {
		f.Fatal(err)
	}
	for _, sql := range split(string(raw)) {
		f.Add(sql)
	}
	c := catalog(f)
	f.Fuzz(func(t *testing.T, sql string) {
		Asks(read(sql))
		s, err := c.Prepare(sql, nil)
		if err == nil {
			var rows *Rows
			rows, err = s.Query(context.Background(), Session{Set: func(string, string, bool) error { return nil }}, make([]any, len(s.Parameters)))
			if err == nil {
				checkTypes(t, c, rows)
			}
		}
		var e *sqlerr.Error
		if err != nil && (!errors.As(err, &e) || e.Code == sqlerr.Internal) {
			t.Errorf("%q: %v", sql, err)
		}
	})
}

func checkTypes(t *testing.T, c *Catalog, rows *Rows) {
	t.Helper()
	for _, row := range rows.Values {
		if len(row) != len(rows.Columns) {
			t.Fatalf("%d values of %d columns", len(row), len(rows.Columns))
		}
		for i, v := range row {
			oid := rows.Columns[i].OID
			fits := map[class]bool{}
			switch v.(type) {
			case nil:
				continue
			case bool:
				fits[booleans] = true
			case int64:
				fits[integers] = true
			case float64:
				fits[floats] = true
			case string:
				fits[textual] = true
			case *array:
				fits[arrays] = true
			case record:
				fits[records] = true
			}
			if !fits[classOf(oid)] {
				t.Errorf("column %s of the type %d has the value %v (%T)", rows.Columns[i].Name, oid, v, v)
			}
			c.AppendText(nil, oid, v)
			c.AppendBinary(nil, oid, v)
		}
	}
}

// Query prepares a statement and runs it.
func (c *Catalog) Query(ctx context.Context, session Session, sql string, args []any) (*Rows, error) {
	s, err := c.Prepare(sql, nil)
	if err != nil {
		return nil, err
	}
	return s.Query(ctx, session, args)
}
