package around_test

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// towns and risks are the public tables of these tests.
var (
	towns = &around.Table{Name: "towns", Columns: []around.Column{{"name", "TEXT", "NOCASE"}, {"region", "TEXT", "BINARY"}, {"height", "INTEGER", "BINARY"}},
		Rows: [][]any{{"Ash", "north", int64(120)}, {"Elm", "north", int64(80)}, {"Oak", "south", int64(80)}, {"100%", "south", nil}}}
	risks = &around.Table{Name: "risks", Columns: []around.Column{{"town", "TEXT", "BINARY"}, {"weight", "REAL", "BINARY"}, {"code", "BLOB", "BINARY"}},
		Rows: [][]any{{"ash", 0.1, int64(1)}, {"Elm", 0.35, "x"}, {"Oak", 1.0, 2.5}, {"Yew", nil, []byte{1, 0xAB}}}}
)

// source returns the source of the two tables.
func source(version int) around.Source {
	return around.Source{Version: version, Copy: func(_ context.Context, name syntax.Name) (*around.Table, error) {
		switch query.FoldName(name.Text) {
		case "towns":
			return towns, nil
		case "risks":
			return risks, nil
		}
		return nil, sqlerr.New(sqlerr.Unknown, "there is no public table %s", name.Text)
	}}
}

func database(t testing.TB) *around.Database {
	t.Helper()
	db := new(around.Database)
	t.Cleanup(db.Close)
	return db
}

func run(db *around.Database, text string, args ...query.Value) (*around.Result, error) {
	s, err := around.Parse(text)
	if err != nil {
		return nil, err
	}
	return db.Run(context.Background(), s, source(0), args)
}

// answered are statements with the types of their columns.
var answered = []struct{ text, types string }{
	{`SELECT 1+1`, "INTEGER"},
	{`SELECT 1.5, 'it''s' AS 'y', NULL, x'00ff', 7/2, 7/2.0, 'a' || 1`, "REAL TEXT TEXT TEXT INTEGER REAL TEXT"},
	{`VALUES (1, 'a'), (2, 'b')`, "INTEGER TEXT"},
	{`SELECT * FROM towns`, "TEXT TEXT INTEGER"},
	{`SELECT * FROM towns WHERE 0`, "TEXT TEXT INTEGER"},
	{`SELECT t.* , weight w FROM [towns] AS "t" LEFT JOIN risks r ON t.name = r.town ORDER BY 1`, "TEXT TEXT INTEGER REAL"},
	{"SELECT `name`, \"height\" FROM main.towns AS \"source\" LIMIT 2000", "TEXT INTEGER"},
	{`SELECT * FROM towns JOIN risks ON name = town ORDER BY weight NULLS LAST`, "TEXT TEXT INTEGER TEXT REAL TEXT"},
	{`SELECT name, town FROM towns FULL OUTER JOIN risks ON name = town ORDER BY 1, 2`, "TEXT TEXT"},
	{`SELECT name, town FROM towns RIGHT JOIN risks ON name = town ORDER BY 2`, "TEXT TEXT"},
	{`SELECT name FROM towns WHERE name = 'ASH' OR name COLLATE BINARY = 'elm'`, "TEXT"},
	{`SELECT region, COUNT(*) AS n, SUM(height), AVG(height), MIN(name), TOTAL(height) FROM towns GROUP BY region HAVING n > 1 ORDER BY n DESC, 1`, "TEXT INTEGER INTEGER REAL TEXT REAL"},
	{`SELECT COUNT(*) FILTER (WHERE height > 100) FROM towns`, "INTEGER"},
	{`SELECT name, row_number() OVER w, lag(height, 1, 0) OVER w, SUM(height) OVER (PARTITION BY region ORDER BY name ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
		FROM towns WINDOW w AS (ORDER BY height, name) ORDER BY name`, "TEXT INTEGER INTEGER INTEGER"},
	{`SELECT 100.0 * height / SUM(height) OVER () AS percent FROM towns ORDER BY 1`, "REAL"},
	{`WITH a AS (SELECT region, AVG(height) AS h FROM towns GROUP BY 1), b (n) AS (SELECT COUNT(*) FROM a WHERE h > 90) SELECT * FROM b, a ORDER BY 2`, "INTEGER TEXT REAL"},
	{`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i, i * i FROM n ORDER BY i DESC`, "INTEGER INTEGER"},
	{`WITH t AS MATERIALIZED (SELECT * FROM towns) SELECT COUNT(*) FROM t`, "INTEGER"},
	{`SELECT name FROM towns UNION ALL SELECT town FROM risks INTERSECT SELECT 'Elm' EXCEPT SELECT 'Yew' ORDER BY 1 LIMIT 3 OFFSET 0`, "TEXT"},
	{`SELECT 1 UNION SELECT 2.5 ORDER BY 1`, "REAL"},
	{`SELECT 1 UNION ALL SELECT 'x'`, "TEXT"},
	{`SELECT (SELECT MAX(height) FROM towns) - height FROM towns ORDER BY name`, "INTEGER"},
	{`SELECT name FROM towns t WHERE EXISTS (SELECT 1 FROM risks WHERE town = t.name) AND height NOT IN (SELECT 120) ORDER BY 1`, "TEXT"},
	{`SELECT CASE WHEN height > 100 THEN 'high' ELSE 'low' END AS bucket, COUNT(*) FROM towns GROUP BY bucket ORDER BY bucket`, "TEXT INTEGER"},
	{`SELECT CAST(height AS TEXT), CAST('12' AS INTEGER), CAST(1 AS DOUBLE PRECISION), printf('%05.1f', height), height IS DISTINCT FROM 80 FROM towns ORDER BY name`, "TEXT INTEGER REAL TEXT INTEGER"},
	{`SELECT coalesce(height, 0), ifnull(height, 1.5), nullif(height, 80), round(height / 7.0, 2), abs(-2), -height FROM towns ORDER BY name`, "INTEGER REAL INTEGER REAL INTEGER INTEGER"},
	{`SELECT date('2024-02-28', '+2 days'), strftime('%Y', '2024-02-28'), julianday('2024-01-01')`, "TEXT TEXT REAL"},
	{`SELECT upper(name), length(name), substr(name, 1, 2), replace(name, 'A', 'b'), instr(name, 'k'), name LIKE '%!%' ESCAPE '!', name GLOB 'A*' FROM towns ORDER BY 1`, "TEXT INTEGER TEXT TEXT INTEGER INTEGER INTEGER"},
	{`SELECT name, height BETWEEN 70 AND 90 OR height > 100, NOT height NOT BETWEEN 1 AND CASE WHEN 1 AND 1 THEN 90 END AND 2 BETWEEN 1 AND 3 FROM towns ORDER BY 1`, "TEXT INTEGER INTEGER"},
	{`SELECT COUNT(*) AS groups, MAX(height) rows, 1 AS range, 2 AS "no", 3 AS window, 4 AS ties, 5 recursive FROM towns GROUP BY region ORDER BY rows, range`,
		"INTEGER INTEGER INTEGER INTEGER INTEGER INTEGER INTEGER"},
	{`SELECT rows BETWEEN 1 AND 2, SUM(rows) OVER (ORDER BY rows ROWS 1 PRECEDING), SUM(rows) OVER (ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES),
		SUM(rows) OVER (ORDER BY rows GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING EXCLUDE NO OTHERS) FROM (SELECT height AS rows FROM towns) AS groups ORDER BY rows`, "INTEGER INTEGER INTEGER INTEGER"},
	{`SELECT code FROM risks ORDER BY town COLLATE NOCASE`, "TEXT"},
	{`SELECT code FROM risks WHERE code IN (1, 2.5)`, "REAL"},
	{`SELECT name, name FROM towns ORDER BY height DESC, name LIMIT 1`, "TEXT TEXT"},
	{`SELECT 9223372036854775807 + 1`, "REAL"},
	{`SELECT group_concat(name, ';') FROM (SELECT name FROM towns ORDER BY name)`, "TEXT"},
	{`SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v, towns AS t WHERE t.height = 120`, "INTEGER TEXT TEXT TEXT INTEGER"},
	{`SELECT true, false, height ISNULL FROM towns ORDER BY name`, "INTEGER INTEGER INTEGER"},
	{`SELECT DISTINCT region FROM towns ORDER BY region; ;`, "TEXT"},
	{"SELECT 'é—é' AS \"naïve\", name -- a comment\nFROM towns /* another */ WHERE name = 'Elm'", "TEXT TEXT"},
}

// TestAgainstSQLite compares names, rows and types with what SQLite itself makes of the same
// statements and tables.
func TestAgainstSQLite(t *testing.T) {
	t.Parallel()
	plain, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	plain.SetMaxOpenConns(1)
	for _, text := range []string{
		`CREATE TABLE towns (name TEXT COLLATE NOCASE, region VARCHAR, height INT)`, `CREATE TABLE risks (town TEXT, weight REAL, code)`,
		`INSERT INTO towns VALUES ('Ash', 'north', 120), ('Elm', 'north', 80), ('Oak', 'south', 80), ('100%', 'south', NULL)`,
		`INSERT INTO risks VALUES ('ash', 0.1, 1), ('Elm', 0.35, 'x'), ('Oak', 1, 2.5), ('Yew', NULL, x'01AB')`,
	} {
		if _, err := plain.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	db := database(t)
	for _, c := range answered {
		got, err := run(db, c.text)
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		names, rows := read(t, plain, c.text)
		var gotNames, gotTypes []string
		for _, col := range got.Columns {
			gotNames, gotTypes = append(gotNames, col.Name), append(gotTypes, col.Type)
		}
		if !reflect.DeepEqual(gotNames, names) || fmt.Sprint(got.Rows) != fmt.Sprint(rows) {
			t.Errorf("%s\ngot  %q %v\nwant %q %v", c.text, gotNames, got.Rows, names, rows)
		}
		if types := strings.Join(gotTypes, " "); types != c.types {
			t.Errorf("%s\nhas types %s, want %s", c.text, types, c.types)
		}
	}
}

// read reads a result of SQLite itself.
func read(t testing.TB, db *sql.DB, text string, args ...any) (names []string, all [][]any) {
	t.Helper()
	rows, err := db.Query(text, args...)
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	defer rows.Close()
	if names, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = fmt.Sprintf("X'%X'", b)
			}
		}
		all = append(all, row)
	}
	return names, all
}

// TestColumnsBeforeRunning: the types that are told before a statement runs are those of its
// result, or none.
func TestColumnsBeforeRunning(t *testing.T) {
	t.Parallel()
	db, told := database(t), 0
	for _, c := range answered {
		s, err := around.Parse("EXPLAIN " + c.text)
		if err != nil || !s.Explain {
			t.Fatalf("%s: %v, explain %t", c.text, err, s.Explain)
		}
		columns, err := db.Columns(context.Background(), s, source(0), nil)
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		for i, want := range strings.Fields(c.types) {
			if columns[i].Type == want {
				told++
			} else if columns[i].Type != "" && !strings.Contains(c.text, "9223372036854775807") {
				t.Errorf("%s\ncolumn %d is told to be %s, and is %s", c.text, i+1, columns[i].Type, want)
			}
		}
	}
	if told < 70 {
		t.Errorf("%d types are told, want at least 70", told)
	}
}

// TestParameters checks that arguments reach their places however they are numbered.
func TestParameters(t *testing.T) {
	t.Parallel()
	db := database(t)
	for _, c := range []struct{ text, want string }{
		{`SELECT ?, ?`, "[[1 b]]"}, {`SELECT $2, $1, $2`, "[[b 1 b]]"}, {`SELECT :é || ?1 || 'é?' -- ?`, "[[11é?]]"}, {`SELECT ?2`, "[[b]]"},
		{`SELECT height FROM towns WHERE height > $1 + 100 AND $2 = 'b'`, "[[120]]"}, {`SELECT @a FROM (SELECT @b)`, "[[1]]"}, {`VALUES (?3)`, "[[<nil>]]"},
	} {
		r, err := run(db, c.text, query.Int(1), query.Text("b"), query.Null())
		if err != nil || fmt.Sprint(r.Rows) != c.want {
			t.Errorf("%s: %v, %v, want %s", c.text, r, err, c.want)
		}
	}
	if _, err := run(db, `SELECT ?4`, query.Int(1)); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a missing argument: %v", err)
	}
}

// TestRefusals checks codes, and the places of errors (the sign ‸).
func TestRefusals(t *testing.T) {
	t.Parallel()
	db := database(t)
	for _, c := range []struct {
		text string
		code sqlerr.Code
		says string
	}{
		{`SELECT ‸random()`, sqlerr.Unsupported, "the function random"},
		{`SELECT 1 FROM towns WHERE ‸load_extension('x') = 1`, sqlerr.Unsupported, "the function load_extension"},
		{`SELECT 1 ORDER BY ‸randomblob(9)`, sqlerr.Unsupported, "the function randomblob"},
		{`SELECT SUM(1) OVER (ORDER BY ‸zeroblob(9))`, sqlerr.Unsupported, "the function zeroblob"},
		{`SELECT ‸margin(n) FROM (SELECT COUNT(*) AS n FROM towns)`, sqlerr.Unsupported, "the function margin"},
		{`SELECT * FROM ‸json_each('[1]')`, sqlerr.Unsupported, "table-valued"},
		{`SELECT * FROM ‸pragma_table_info('towns')`, sqlerr.Unsupported, "table-valued"},
		{`SELECT * FROM ‸temp.towns`, sqlerr.Unsupported, "another database"},
		{`SELECT name ‸-> 'x' FROM towns`, sqlerr.Unsupported, "JSON"},
		{`SELECT ‸nope FROM towns`, sqlerr.Unknown, "no such column: nope"},
		{`SELECT "‸nope" FROM towns`, sqlerr.Unknown, "no such column: nope"},
		{`SELECT * FROM nowhere`, sqlerr.Unknown, "nowhere"},
		{`SELECT 1 ‸2`, sqlerr.Malformed, "unexpected 2"},
		{`SELECT 1 ‸+`, sqlerr.Malformed, "ends too early"},
		{`SELECT 1; ‸SELECT 2`, sqlerr.Unsupported, "more than one statement"},
		{`‸DELETE FROM towns`, sqlerr.Unsupported, "DELETE"},
		{`WITH a AS (SELECT 1) ‸DELETE FROM towns`, sqlerr.Unsupported, "DELETE"},
		{`SELECT rowid FROM towns`, sqlerr.Unsupported, "ROWID"},
		{`WITH a AS (SELECT * FROM ‸b), b AS (SELECT 1) SELECT * FROM a`, sqlerr.Unsupported, "before it is defined"},
		{`SELECT SUM(SUM(height)) FROM towns`, sqlerr.Invalid, "misuse of aggregate"},
		{`SELECT 1 FROM towns t JOIN towns u ON ‸name = 1`, sqlerr.Unknown, "ambiguous column"},
	} {
		before, _, placed := strings.Cut(c.text, "‸")
		_, err := run(db, strings.Replace(c.text, "‸", "", 1))
		e, ok := err.(*sqlerr.Error)
		if !ok || e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, want %s with %q", c.text, err, c.code, c.says)
			continue
		}
		at := len([]rune(strings.TrimSuffix(before, `"`))) + 1
		if placed && e.Position != at && e.Code != sqlerr.Malformed || placed && e.Position > at {
			t.Errorf("%s: at %d, want %d: %v", c.text, e.Position, at, err)
		}
	}
}

// TestAuthorizer tries texts that no parser of ours has seen: SQLite's own walls hold without
// it. The connection has the table towns, and risks in the first half of the attempts.
func TestAuthorizer(t *testing.T) {
	t.Parallel()
	db := database(t)
	path := t.TempDir() + "/other.db"
	if r, err := db.RunText(context.Background(), `SELECT COUNT(*) FROM towns, risks`, []string{"towns", "risks"}, source(0)); err != nil || r.Rows[0][0] != int64(16) {
		t.Fatalf("what is allowed: %v, %v", r, err)
	}
	for _, text := range []string{
		`SELECT * FROM risks`, `SELECT COUNT(*) FROM risks`, `SELECT name FROM towns WHERE name IN risks`, `SELECT (SELECT weight FROM risks)`,
		`SELECT * FROM sqlite_schema`, `SELECT COUNT(*) FROM sqlite_schema`, `SELECT sql FROM sqlite_master`, `SELECT * FROM sqlite_temp_schema`,
		`SELECT * FROM temp.sqlite_schema`, `SELECT * FROM sqlite_stat1`, `SELECT * FROM sqlite_stat4`, `SELECT * FROM dbstat`, `SELECT * FROM sqlite_dbpage`,
		`SELECT COUNT(*) FROM dbstat`, `SELECT COUNT(*) FROM sqlite_dbpage`, `SELECT data FROM sqlite_dbpage('main')`, `SELECT * FROM bytecode('SELECT 1')`,
		`SELECT * FROM pragma_database_list`, `SELECT * FROM pragma_table_list`, `SELECT * FROM pragma_function_list()`, `SELECT COUNT(*) FROM pragma_table_info('towns')`,
		`SELECT * FROM json_each('[1]')`, `SELECT * FROM json_tree('[1]')`, `SELECT * FROM generate_series(1, 2)`, `SELECT * FROM fsdir('.')`, `SELECT * FROM "the result"`,
		`SELECT rowid FROM towns`, `SELECT _rowid_ FROM towns`, `SELECT oid FROM towns`,
		`SELECT load_extension('x')`, `SELECT random()`, `SELECT hex(randomblob(4))`, `SELECT zeroblob(4)`, `SELECT sqlite_version()`, `SELECT sqlite_source_id()`,
		`SELECT sqlite_compileoption_get(1)`, `SELECT changes()`, `SELECT last_insert_rowid()`, `SELECT json_extract('{"a":1}', '$.a')`, `SELECT '{"a":1}' ->> 'a'`,
		`SELECT fts3_tokenizer('x')`, `SELECT readfile('/etc/passwd')`, `SELECT writefile('x', 'y')`, `SELECT edit('x')`, `SELECT vec_version()`, `SELECT likely(1)`,
		`SELECT sqlite_offset(name) FROM towns`, `SELECT sqlite_log(1, 'x')`, `SELECT * FROM main.towns, temp.towns`, `SELECT * FROM other.towns`,
		`VALUES (1) RETURNING *`, `SELECT 1; ATTACH '` + path + `' AS other`, `SELECT 1; PRAGMA writable_schema = 1`, `SELECT 1; DROP TABLE towns`,
		`SELECT 1; CREATE TABLE x (a)`, `SELECT 1; CREATE TEMP TABLE x (a)`, `SELECT 1; INSERT INTO towns (name) VALUES ('x')`, `SELECT 1; DELETE FROM towns`,
		`SELECT 1; UPDATE towns SET name = 1`, `SELECT 1; CREATE TEMP TRIGGER x AFTER INSERT ON "the result" BEGIN SELECT 1; END`, `SELECT 1; VACUUM INTO '` + path + `'`,
		`SELECT 1; CREATE VIRTUAL TABLE temp.x USING dbstat`, `SELECT 1; CREATE TEMP VIEW x AS SELECT 1`, `SELECT 1; DETACH main`, `SELECT 1; ANALYZE`,
		`SELECT 1; BEGIN`, `SELECT 1; SAVEPOINT x`, `SELECT 1; PRAGMA database_list`, `SELECT 1; EXPLAIN SELECT * FROM sqlite_schema`, `SELECT 1; ALTER TABLE towns RENAME TO x`,
		`ATTACH '` + path + `' AS other`, `PRAGMA table_info(towns)`, `DELETE FROM towns`, `VACUUM INTO '` + path + `'`,
	} {
		r, err := db.RunText(context.Background(), text, []string{"towns"}, source(0))
		if err == nil {
			t.Errorf("%s is allowed: %v", text, r.Rows)
		}
	}
	if r, err := run(db, `SELECT COUNT(*), SUM(name = 'x') FROM towns`); err != nil || fmt.Sprint(r.Rows) != "[[4 0]]" {
		t.Errorf("afterwards the table is %v, %v", r, err)
	}
}

// bombs are statements that would take forever, or all memory.
var bombs = []string{
	`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c`,
	`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c WHERE x < 3`,
	`WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x+1 FROM c) SELECT COUNT(*) FROM c`,
	`WITH RECURSIVE c(x, b) AS (SELECT 1, printf('%.60000c', 'a') UNION ALL SELECT x+1, b FROM c) SELECT x FROM c ORDER BY b, x DESC`,
	`WITH RECURSIVE c(x, b) AS (SELECT 1, printf('%.60000c', 'a') UNION ALL SELECT x+1, b FROM c) SELECT b FROM c`,
	`WITH RECURSIVE c(x, b) AS (SELECT 1, printf('%.60000c', 'a') UNION ALL SELECT x+1, b FROM c) SELECT SUM(x) OVER (ORDER BY b) FROM c`,
	`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT group_concat(x) FROM c`,
	`WITH RECURSIVE c(x) AS (SELECT 'aaaaaaaa' UNION ALL SELECT x || x FROM c) SELECT max(length(x)) FROM c`,
	`SELECT COUNT(*) FROM towns a, towns b, towns c, towns d, towns e, towns f, towns g, towns h, towns i, towns j, towns k, towns l, towns m, towns n, towns o, towns p`,
	`SELECT printf('%.1000000000c', 'a')`, `SELECT printf('%*d', 2000000000, 1)`, `SELECT printf('%.999999999f', 1.0)`, `SELECT printf('%0100000d', 1)`,
	`SELECT replace(printf('%.60000c', 'a'), 'a', printf('%.60000c', 'b'))`, `SELECT hex(hex(printf('%.60000c', 'a')))`, `SELECT concat(printf('%.40000c', 'a'), printf('%.40000c', 'a'))`,
	`SELECT '` + strings.Repeat("x", 65<<10) + `'`,
	`SELECT ` + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
	`SELECT 1` + strings.Repeat("+1", 5000), `SELECT ` + strings.Repeat("NOT ", 5000) + `1`,
	`SELECT 1` + strings.Repeat(" UNION ALL SELECT 1", 200), `SELECT 1` + strings.Repeat(", 1", 600), `SELECT coalesce(1` + strings.Repeat(", 1", 150) + `)`,
	`SELECT 1 FROM towns` + strings.Repeat(" JOIN towns", 70),
	`WITH a0 AS (SELECT 1 AS x UNION SELECT 2)` + doubled(30) + ` SELECT * FROM a30`,
	`WITH a0 AS (SELECT 1 AS x UNION SELECT 2)` + doubled(7) + ` SELECT SUM(a.x * b.x * c.x) FROM a7 a, a7 b, a7 c`,
}

// doubled returns expressions each of which names the one before it twice.
func doubled(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", a%d AS (SELECT p.x FROM a%d p, a%d q)", i+1, i, i)
	}
	return b.String()
}

// TestBombs: each ends soon, with an error of the dialect, and leaves the database usable. The
// test is over in the time of the campaign of its package; nothing asserts a time.
func TestBombs(t *testing.T) {
	t.Parallel()
	db := database(t)
	db.SetTime(20 * time.Millisecond)
	for _, text := range bombs {
		if _, err := run(db, text); sqlerr.CodeOf(err) != sqlerr.Unsupported && sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%.80s: %v", text, err)
		}
	}
	db.SetTime(0)
	if r, err := run(db, `SELECT COUNT(*) FROM towns`); err != nil || r.Rows[0][0] != int64(4) {
		t.Errorf("afterwards: %v, %v", r, err)
	}
}

// TestHungrySteps runs what a single step of SQLite takes longest for, as no clock stops a
// step. Each must finish.
func TestHungrySteps(t *testing.T) {
	t.Parallel()
	db := database(t)
	for _, text := range []string{
		`SELECT replace(printf('%.60000c', 'a'), printf('%.30000c', 'a') || 'b', 'c') = ''`, `SELECT instr(printf('%.60000c', 'a'), printf('%.30000c', 'a') || 'b')`,
		`SELECT printf('%.60000c', 'a') LIKE '` + strings.Repeat("%a", 30) + `%b'`, `SELECT printf('%.60000c', 'a') GLOB '` + strings.Repeat("*a", 30) + `*b'`,
	} {
		if r, err := run(db, text); err != nil || r.Rows[0][0] != int64(0) {
			t.Errorf("%.80s: %v, %v", text, r, err)
		}
	}
}

// TestEnds: a context that ends stops a statement, and gives its error.
func TestEnds(t *testing.T) {
	t.Parallel()
	db := database(t)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := around.Parse(bombs[1])
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := db.Run(ctx, s, source(0), nil)
		ended <- err
	}()
	runtime.Gosched()
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("a cancelled statement: %v", err)
	}
}

// TestCopiesOfAVersion: a copy is made once for a version of the file, and again for the next.
func TestCopiesOfAVersion(t *testing.T) {
	t.Parallel()
	db, copies := database(t), 0
	s, err := around.Parse(`SELECT COUNT(*) FROM towns`)
	if err != nil {
		t.Fatal(err)
	}
	for version := range 3 {
		for range 4 {
			from := source(version)
			from.Copy = func(context.Context, syntax.Name) (*around.Table, error) {
				copies++
				return &around.Table{Name: "towns", Columns: towns.Columns[:1], Rows: [][]any{{"x"}, {"y"}}[:min(2, version)]}, nil
			}
			r, err := db.Run(context.Background(), s, from, nil)
			if err != nil || r.Rows[0][0] != int64(min(2, version)) {
				t.Fatalf("version %d: %v, %v", version, r, err)
			}
		}
	}
	if copies != 3 {
		t.Errorf("%d copies of 3 versions", copies)
	}
}

// FuzzParse: whatever Parse accepts reads back as it is printed for SQLite, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, c := range answered {
		f.Add(c.text)
	}
	db := database(f)
	db.SetTime(50 * time.Millisecond)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := around.Parse(text)
		if err != nil {
			if sqlerr.CodeOf(err) == sqlerr.Internal {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again, err := around.Parse(s.Text())
		if err != nil || again.Text() != s.Text() {
			t.Errorf("%q became %q, which reads back as %v, %v", text, s.Text(), again, err)
		}
		r, err := db.Run(context.Background(), s, source(0), make([]query.Value, 8))
		if sqlerr.CodeOf(err) == sqlerr.Internal {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil && len(r.Rows) > 0 && len(r.Rows[0]) != len(r.Columns) {
			t.Errorf("%q: %d columns of %d", text, len(r.Rows[0]), len(r.Columns))
		}
	})
}

// TestSideBySide runs statements from many goroutines, over two versions of the file.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	db := database(t)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 20 {
				s, err := around.Parse(answered[(g+i)%4+3].text)
				if err != nil {
					t.Error(err)
					return
				}
				if r, err := db.Run(context.Background(), s, source(i/10), nil); err != nil || len(r.Columns) < 2 {
					t.Errorf("%v, %v", r, err)
				}
			}
		})
	}
	all.Wait()
}
