package source_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dpsql/source"
	"dpsql/sqlerr"
)

// mixesSchema has two private tables, raw and visits, and public ones with and
// without keys.
var mixesSchema = []string{
	"CREATE TABLE raw (id INTEGER PRIMARY KEY, person TEXT, age INTEGER, code TEXT, zip TEXT COLLATE NOCASE, free)",
	"CREATE TABLE visits (person TEXT, year INTEGER, ward TEXT, number INTEGER, guest TEXT COLLATE NOCASE)",
	"CREATE TABLE lists (k TEXT, v TEXT)", "CREATE INDEX lists_k ON lists (k)",
	"CREATE TABLE codes (k TEXT PRIMARY KEY, label TEXT, chapter INTEGER)",
	"CREATE TABLE years (k INTEGER PRIMARY KEY, label TEXT)",
	"CREATE TABLE pairs (a TEXT, b INTEGER, label TEXT, UNIQUE (a, b))",
	"CREATE TABLE loose (k UNIQUE, label TEXT)",
	"CREATE TABLE folded (k TEXT COLLATE NOCASE UNIQUE, label TEXT)",
	"CREATE TABLE exact (k TEXT UNIQUE COLLATE BINARY, label TEXT)",
	"CREATE TABLE partly (k TEXT, label TEXT)", "CREATE UNIQUE INDEX partly_k ON partly (k) WHERE label IS NOT NULL",
	"CREATE TABLE lowered (k TEXT, label TEXT)", "CREATE UNIQUE INDEX lowered_k ON lowered (lower(k))",
	"CREATE TABLE insensitive (k TEXT COLLATE NOCASE, label TEXT)", "CREATE UNIQUE INDEX insensitive_k ON insensitive (k COLLATE BINARY)",
	"CREATE TABLE wr (k TEXT PRIMARY KEY, label TEXT) WITHOUT ROWID",
	"CREATE VIEW seen AS SELECT id, person, age, code FROM raw WHERE age > 17",
	"CREATE VIEW chapters AS SELECT k AS key, chapter FROM codes WHERE chapter > 0",
	"CREATE VIEW twice AS SELECT a.person FROM raw AS a, raw AS b WHERE a.id = b.id",
}

var mixesPublic = []string{"lists", "codes", "years", "pairs", "loose", "folded", "exact", "partly", "lowered", "insensitive", "wr"}

// checkView declares a table over a view as far as Check goes.
func checkView(t testing.TB, q source.Querier, view, unit string) error {
	t.Helper()
	_, err := source.SQLite(q).Check(context.Background(), source.Table{Source: view, Unit: unit, MaxRows: 3, Key: []byte{1}, Public: mixesPublic})
	return err
}

// TestWhatViewsCompute lists expressions over a row that are accepted, and others that a row could
// make fail or vary, or that tell of other rows. Each is a column, a condition, and a column of a
// view below.
func TestWhatViewsCompute(t *testing.T) {
	db := memory(t, mixesSchema...)
	doubled := "person"
	for range 4 {
		doubled = "lower(" + doubled + " || " + doubled + ")" // 15 || in all
	}
	const clock, number = "could vary between calls", "which is not understood"
	for e, want := range map[string]string{
		"person || ' ' || code": "", doubled + " || " + doubled: "", doubled + " || code || " + doubled: "joins one text by ||",
		"CASE WHEN age THEN " + doubled + " ELSE '' END || " + doubled + " || 'x'":        "joins one text by ||",
		"(SELECT max(v || k) FROM lists WHERE k = code) || " + doubled + " || " + doubled: "joins one text by ||",
		"coalesce(" + doubled + ", 'x') || substr(" + doubled + ", 1) || trim(code)":      "joins one text by ||",
		"length(" + doubled + ") || '-' || code":                                          "",
		"instr(code, 'x')":                                                                "", "instr('xyz', code)": "", "trim(code, ' .')": "", "trim(code)": "", "instr(code, zip)": "could take long on a row", "rtrim(code, zip || 'a')": "could take long on a row", "ltrim(lower(code), zip)": "could take long on a row",
		"raw.id": "", "raw.rowid": "", "_rowid_": "", "oid": "", "id = rowid": "",
		"date(min(code, ':'))": "", "julianday(min(zip, ':')) - julianday(MIN(free, '9', code))": "", "date(age + 0, 'unixepoch', 'start of month')": "",
		"strftime('%Y-%m', CAST(free AS REAL))": "", "date((0 + age) || '-01-01')": clock, "date('2024-01-01', '+' || age || ' days')": "", "date('19' || age || '-01-01')": "",
		"unixepoch(date(-age))": "", "datetime(round(age), 'auto')": "", "time(+(age * 1))": "", "date('', code + 1)": "",
		"date('now')": clock, "date()": clock, "strftime('%s')": clock, "strftime('%s', 'NOW')": clock, "julianday('now', 'localtime')": clock, "date(0, 'LocalTime')": clock, "time(age + 0, 'utc')": clock,
		"date('subsec')": clock, "date('subsecond')": clock, "date(x'6e6f77')": clock, "date('n' || 'ow')": clock, "date('' || code)": clock, "date(min(code, ':') || code)": clock,
		"date(code)": clock, "date(age)": clock, "date(+age)": clock, "date(0, code)": clock, "date(min(code, 'x'))": clock, "date(min(code, zip))": clock, "date(max(code, ':'))": clock,
		"strftime('%Y', code)": clock, "strftime(code, 0)": clock, "date(CASE WHEN age > 1 THEN 'now' END)": clock, "date(CAST(code AS TEXT))": clock, "date(strftime('now', 0))": clock,
		`date("now")`: clock, "unixepoch(date(0), zip)": clock, "date(coalesce(NULL, code))": clock, "date((SELECT max(v) FROM lists))": clock, "date(code COLLATE NOCASE)": clock,
		"CURRENT_DATE": "calls the function current_date", "CURRENT_TIMESTAMP": "calls the function current_timestamp", "random()": "calls the function random", "changes()": "calls the function", "last_insert_rowid()": "calls the function",
		"row_number() OVER (PARTITION BY person)": "calls the function", "total_changes()": "calls the function", "sqlite_offset(age)": "calls the function", "max(age) OVER (PARTITION BY person ORDER BY code ROWS 1 PRECEDING)": "not understood", "max(age) OVER (PARTITION BY person ORDER BY code GROUPS 1 PRECEDING)": "", "sum(age)": "calls the function",
	} {
		for _, view := range []string{"SELECT person, %s AS x FROM raw", "SELECT person FROM raw WHERE %s IS NOT NULL", "SELECT person, x FROM (SELECT person, %s AS x FROM raw) WHERE x <> ''"} {
			text := fmt.Sprintf(view, e)
			if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if err := checkView(t, db, "made", "person"); sqlerr.CodeOf(err) != sqlerr.Invalid { // of a window in WHERE
				judged(t, text, want, err)
			}
			run(t, db, "DROP VIEW made")
		}
	}
	for _, text := range []string{"SELECT rowid AS x, person FROM visits", "SELECT person FROM visits WHERE oid % 2", "SELECT person, v._rowid_ AS x FROM visits AS v", "SELECT person FROM visits WHERE year = (SELECT max(_rowid_) FROM pairs)",
		"SELECT person, r.age FROM raw r JOIN codes c ON c.k = r.code AND c.rowid < 3", "SELECT max(rowid) AS x, person FROM visits GROUP BY person", "SELECT person, (SELECT max(rowid) FROM lists) AS x FROM raw", "SELECT v.person FROM raw JOIN visits AS v USING (person) ORDER BY v.oid"} {
		if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
			continue // SQLite knows no such rowid
		}
		judged(t, text, number, checkView(t, db, "made", "person"))
		run(t, db, "DROP VIEW made")
	}
}

// TestViewsOfViewsJoinFewTexts doubles a text in each of a chain of views, or of columns that are
// generated. Five doublings are accepted, wherever they are. A text becomes 32 times as long.
func TestViewsOfViewsJoinFewTexts(t *testing.T) {
	for _, form := range []string{"SELECT person, s || s AS s FROM v%d", "SELECT DISTINCT person, s || s AS s FROM v%d", "SELECT person, max(s || s) AS s FROM v%d GROUP BY person",
		"SELECT a.person, a.s || b.s AS s FROM v%d AS a JOIN v%[2]d AS b ON a.person = b.person", "SELECT person, s || s AS s FROM v%d UNION ALL SELECT person, code FROM raw",
		"WITH c AS (SELECT * FROM v%d) SELECT person, (SELECT c.s || c.s) AS s FROM c", "SELECT person, max(s || s) OVER (PARTITION BY person) AS s FROM v%d"} {
		db := memory(t, append(mixesSchema, "CREATE VIEW v0 AS SELECT person, code AS s FROM raw")...)
		for i := range 6 {
			run(t, db, fmt.Sprintf("CREATE VIEW v%d AS "+form, i+1, i))
			want := ""
			if i == 5 {
				want = "joins one text by || more than 31 times"
			}
			judged(t, fmt.Sprintf(form, i), want, checkView(t, db, fmt.Sprintf("v%d", i+1), "person"))
		}
	}
	generated := []string{"CREATE TABLE g0 (person, s0, s1 AS (s0 || s0), s2 AS (s1 || s1), s3 AS (s2 || s2))", "CREATE TABLE g1 (person, s0, s1 AS (s0 || s0), s2 AS (s1 || s1), s3 AS (s2 || s2), s4 AS (s3 || s3), s5 AS (s4 || s4), s6 AS (s5 || s5))",
		"CREATE VIEW g2 AS SELECT person, s3 || s3 || s3 || s3 || s3 AS s FROM g0", "CREATE VIEW g3 AS SELECT person, s3 || '' AS s FROM g0", "CREATE TABLE g4 (person, day AS (date(person)))", "CREATE VIEW g5 AS SELECT day FROM g4", "CREATE VIEW g6 AS SELECT s0 FROM g1",
		"CREATE TABLE g7 (person, x AS (instr(person, person)))", "CREATE TABLE g8 (person, x AS (trim(person)))"}
	db := memory(t, generated...)
	for i, want := range []string{"", "joins one text", "joins one text", "", "could vary", "could vary", "joins one text", "could take long", ""} {
		judged(t, generated[i], want, checkView(t, db, fmt.Sprintf("g%d", i), ""))
	}
}

// TestRowwise lists views that are accepted without a unit, and views that are refused
// with the reason.
func TestRowwise(t *testing.T) {
	db := memory(t, mixesSchema...)
	for text, want := range map[string]string{ // "" for what is accepted
		"SELECT * FROM raw":             "",
		"SELECT raw.*, 1 AS x FROM raw": "",
		"SELECT age / 10 AS decade, CASE WHEN age > 9 THEN upper(code) ELSE 'x' END AS c, -age || 'a' AS d, CAST(age AS TEXT) AS e FROM raw WHERE age BETWEEN 1 AND 99 AND code IN ('a', 'b') OR NOT zip IS NULL": "",
		"SELECT age FROM raw ORDER BY age":                                                                                     "",
		`SELECT "age", [code], ` + "`zip`" + ` AS "the ""zip""" FROM "raw" AS r -- a comment`:                                  "",
		"SELECT age FROM seen /* two */ WHERE code = 'x'":                                                                      "",
		"WITH a AS (SELECT * FROM raw), b (x) AS (SELECT age FROM a) SELECT x FROM b":                                          "",
		"SELECT x.age FROM (SELECT age, code FROM (SELECT * FROM main.raw)) AS x":                                              "",
		"SELECT age FROM raw UNION ALL SELECT year FROM visits":                                                                "",
		"SELECT code FROM raw UNION ALL SELECT k FROM codes":                                                                   "",
		"SELECT r.age, c.label FROM raw r JOIN codes c ON r.code = c.k":                                                        "",
		"SELECT r.age, c.label FROM raw r JOIN codes c ON c.k = r.code AND c.chapter > 3":                                      "",
		"SELECT r.age, c.label FROM codes c, raw r WHERE c.k = r.code":                                                         "",
		"SELECT r.age, c.label FROM raw r LEFT JOIN codes c ON r.code = c.k":                                                   "",
		"SELECT r.age, c.label FROM raw r LEFT OUTER JOIN codes c ON r.code == c.k WHERE c.k > 1":                              "",
		"SELECT age, label FROM (SELECT age, code AS k FROM raw) JOIN codes USING (k)":                                         "",
		"SELECT age, label FROM (SELECT age, code AS k FROM raw) NATURAL JOIN codes":                                           "",
		"SELECT age, y.label FROM raw JOIN years y ON y.k = raw.age":                                                           "",
		"SELECT age, y.label FROM raw JOIN years y ON y.k = raw.code":                                                          "", // the text becomes a number
		"SELECT age, y.label FROM raw JOIN years y ON raw.zip = y.k":                                                           "",
		"SELECT age FROM (SELECT age, code || 'a' FROM raw) NATURAL JOIN codes":                                                "without a name of their own",
		"SELECT age, y.label FROM raw JOIN years y ON y.rowid = raw.age / 10":                                                  "",
		"SELECT age, y.v FROM raw JOIN lists y ON y.oid = raw.age":                                                             "names oid, which is not understood",
		"SELECT age, c.label FROM raw JOIN codes c ON c.k = substr(raw.code, 1, 3)":                                            "",
		"SELECT age, p.label FROM raw JOIN pairs p ON p.a = raw.code AND p.b = 7":                                              "",
		"SELECT age, p.label FROM raw JOIN codes c ON c.k = raw.code JOIN pairs p ON p.a = c.label AND p.b = c.chapter":        "",
		"SELECT age, p.label FROM raw LEFT JOIN (codes c JOIN pairs p ON p.a = c.label AND p.b = c.chapter) ON c.k = raw.code": "",
		"SELECT age, key FROM raw JOIN chapters ON key = code":                                                                 "",
		"SELECT age, label FROM raw JOIN wr ON wr.k = code":                                                                    "",
		"SELECT age, e.label FROM raw JOIN exact e ON e.k = code":                                                              "",
		"SELECT age, f.label FROM raw JOIN folded f ON f.k = code":                                                             "",
		"SELECT age, f.label FROM raw JOIN folded f ON code = f.k":                                                             "", // BINARY
		"SELECT age, l.label FROM raw JOIN loose l ON l.k = free":                                                              "",
		"SELECT age FROM raw WHERE code IN (SELECT k FROM lists)":                                                              "",
		"SELECT age FROM raw r WHERE EXISTS (SELECT 1 FROM lists l WHERE l.k = r.code) AND NOT EXISTS (SELECT * FROM years)":   "",
		"SELECT age, (SELECT max(v) FROM lists WHERE k = code) AS m, (SELECT count(*) FROM lists) AS n FROM raw":               "",
		"SELECT age, (SELECT v FROM lists ORDER BY v LIMIT 1) AS m FROM raw":                                                   "",
		"SELECT age FROM raw WHERE code = \"E10\"":                                                                             "", // a text

		// The cases of the demonstration, and their kin.
		"SELECT r.age, m.v FROM raw r JOIN lists m ON r.code = m.k":                 "joins lists",
		"SELECT a.age FROM raw a JOIN raw b ON a.id = b.id":                         "reads the private table raw twice",
		"SELECT a.age FROM raw a, raw b":                                            "reads the private table raw twice",
		"SELECT * FROM raw UNION ALL SELECT * FROM raw UNION ALL SELECT * FROM raw": "reads raw twice",
		"SELECT age, (SELECT count(*) FROM raw) AS n FROM raw":                      "reads private rows of raw in a sub-select",
		"SELECT age FROM raw LIMIT 10":                                              "has a LIMIT",
		"SELECT age FROM raw ORDER BY age LIMIT 10 OFFSET 3":                        "has a LIMIT",

		"SELECT r.age FROM raw r JOIN lists m":                                                                                               "joins lists",
		"SELECT r.age FROM raw r LEFT JOIN lists m ON r.code = m.k":                                                                          "joins lists",
		"SELECT r.age FROM raw r JOIN codes c ON r.code IS c.k":                                                                              "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON NOT r.code = c.k":                                                                           "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.code = c.k OR 1":                                                                          "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.code = c.k IS NOT NULL":                                                                   "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.code >= c.k AND r.code <= c.k":                                                            "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.code IN (c.k)":                                                                            "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.age = c.k":                                                                                "joins codes", // '1' and '01' both equal 1
		"SELECT r.age FROM raw r JOIN codes c ON r.age + 0 = c.k":                                                                            "",            // an expression has no affinity: TEXT is applied to it
		"SELECT r.age FROM raw r JOIN codes c ON CAST(r.code AS INTEGER) = c.k":                                                              "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.code = c.k COLLATE NOCASE":                                                                "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.zip = c.k":                                                                                "joins codes", // zip's NOCASE
		"SELECT r.age FROM raw r JOIN codes c ON c.k = r.zip":                                                                                "",
		"SELECT r.age FROM raw r JOIN codes c ON r.code = c.k || ''":                                                                         "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON r.code = +c.k":                                                                              "joins codes",
		"SELECT r.age FROM raw r JOIN codes c ON c.k = c.label":                                                                              "joins codes",
		"SELECT r.age FROM raw r JOIN codes c JOIN codes d ON d.k = c.k":                                                                     "joins codes",
		"SELECT r.age FROM raw r JOIN pairs p ON p.a = r.code":                                                                               "joins pairs",
		"SELECT r.age FROM raw r JOIN loose l ON l.k = r.code":                                                                               "joins loose", // 1 and '1'
		"SELECT r.age FROM raw r JOIN loose l ON l.k = r.age":                                                                                "joins loose",
		"SELECT r.age FROM raw r JOIN partly p ON p.k = r.code":                                                                              "joins partly",
		"SELECT r.age FROM raw r JOIN lowered p ON lower(p.k) = r.code":                                                                      "joins lowered",
		"SELECT r.age FROM raw r JOIN insensitive i ON i.k = r.code":                                                                         "joins insensitive", // NOCASE over a BINARY index
		"SELECT r.age FROM raw r JOIN insensitive i ON r.code = i.k":                                                                         "",
		"SELECT r.age FROM raw r JOIN years y ON y.k = r.age LEFT JOIN codes c ON c.k = r.code JOIN lists l ON l.k = c.label":                "joins lists",
		"SELECT r.age FROM raw r JOIN lists m ON 1 LEFT JOIN codes c ON c.k = r.code AND m.v = c.chapter":                                    "joins lists",
		"SELECT r.age FROM raw r JOIN lists m LEFT JOIN codes c ON c.k = r.code AND m.v = 5 WHERE m.v = coalesce(c.chapter, 3)":              "joins lists",
		"SELECT c.label FROM codes c LEFT JOIN raw r ON c.k = r.code":                                                                        "on the right of a LEFT JOIN",
		"SELECT c.label FROM codes c LEFT JOIN (years y JOIN raw r ON y.k = r.age) ON c.k = r.code":                                          "on the right of a LEFT JOIN",
		"SELECT c.label FROM raw r RIGHT JOIN codes c ON c.k = r.code":                                                                       "is not understood",
		"SELECT c.label FROM raw r FULL JOIN codes c ON c.k = r.code":                                                                        "is not understood",
		"SELECT c.label FROM raw right JOIN codes c ON c.k = code":                                                                           "is not understood",
		"SELECT DISTINCT age FROM raw":                                                                                                       "has a DISTINCT",
		"SELECT age, count(*) AS n FROM raw GROUP BY age":                                                                                    "groups rows",
		"SELECT count(*) AS n FROM raw":                                                                                                      "has the aggregate count",
		"SELECT age, count(*) OVER () AS n FROM raw":                                                                                         "has a window function",
		"SELECT age, max(age) OVER (PARTITION BY id ORDER BY age GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM raw":                  "has a window function",
		"SELECT age FROM raw UNION SELECT year FROM visits":                                                                                  "combines rows by UNION",
		"SELECT age FROM raw INTERSECT SELECT year FROM visits":                                                                              "combines rows by INTERSECT",
		"SELECT age FROM raw EXCEPT SELECT k FROM years":                                                                                     "combines rows by EXCEPT",
		"SELECT age FROM (SELECT age FROM raw LIMIT 3)":                                                                                      "has a LIMIT",
		"SELECT r.age FROM raw r JOIN (SELECT k FROM years LIMIT (SELECT count(*) FROM raw)) y ON y.k = r.age":                               "is not understood",
		"SELECT r.age FROM raw r JOIN (SELECT 1 AS k UNION ALL SELECT 2) y":                                                                  "joins a sub-select",
		"SELECT age FROM raw JOIN twice USING (person)":                                                                                      "reads the private table raw twice",
		"SELECT r.age FROM raw r JOIN visits v ON v.person = r.person":                                                                       "reads the private tables raw and visits",
		"SELECT age FROM raw WHERE person IN (SELECT person FROM visits)":                                                                    "reads private rows of visits in a sub-select",
		"SELECT k FROM codes WHERE k IN (SELECT code FROM raw)":                                                                              "reads private rows of raw in a sub-select",
		"SELECT 'x' AS x WHERE EXISTS (SELECT 1 FROM raw)":                                                                                   "reads private rows of raw in a sub-select",
		"SELECT age FROM raw ORDER BY (SELECT max(year) FROM visits)":                                                                        "reads private rows of visits in a sub-select",
		"SELECT (SELECT max(r.age) FROM lists) AS m FROM raw r":                                                                              "has the aggregate max of columns of a SELECT around",
		"SELECT (SELECT count(r.one) FROM lists) AS m FROM (SELECT 1 AS one, age FROM raw) r":                                                "has the aggregate count of columns of a SELECT around",
		"SELECT age FROM raw JOIN (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n) ON i = age": "has the recursive table n",
		"WITH n (i) AS (SELECT age FROM raw UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n":                                      "has the recursive table n",
		"SELECT age FROM raw NOT INDEXED":                                                                                                    "is not understood",
		"VALUES (1)":                                                                                                                         "is not understood",
		"SELECT age FROM raw JOIN (VALUES (1))":                                                                                              "is not understood",
		"SELECT sum(age) OVER w AS s FROM raw WINDOW w AS ()":                                                                                "can fail on a row",
		"SELECT max(age) OVER w AS s FROM raw WINDOW w AS ()":                                                                                "is not understood",
		"SELECT abs(age) AS a FROM raw":                                                                                                      "can fail on a row",
		"SELECT age FROM raw WHERE random() % 2":                                                                                             "can fail on a row",
		"SELECT CURRENT_TIMESTAMP AS a FROM raw":                                                                                             "can fail on a row",
	} {
		if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		err := checkView(t, db, "made", "")
		judged(t, text, want, err)
		run(t, db, "DROP VIEW made")
	}
}

// judged compares a refusal with what it should say, "" for none.
func judged(t *testing.T, text, want string, err error) {
	t.Helper()
	var e *sqlerr.Error
	switch {
	case want == "" && err != nil:
		t.Errorf("%s\n%v", text, err)
	case want == "":
	case err == nil:
		t.Errorf("%s\nis accepted, want: it %s", text, want)
	default:
		e = err.(*sqlerr.Error)
		if !strings.Contains(e.Message, want) || e.Hint == "" {
			t.Errorf("%s\n%v (%s), want %q", text, e, e.Hint, want)
		}
	}
}

// TestMisread lists views in which SQLite reads a name, a type or a byte in an
// unexpected way. Each view repeats rows, or combines rows of several units.
func TestMisread(t *testing.T) {
	db := memory(t, mixesSchema...)
	const key, word, unit = "joins codes, but not by =", "which is not understood", "but not by = on the unit's column"
	for _, c := range []struct{ unit, text, want string }{
		// ON sees aliases, and the tables to its right: the names are no texts.
		{"", `SELECT r.age, c.k AS x FROM raw r JOIN codes c ON c.k = "x"`, word},
		{"", `SELECT r.age, c.k AS "true" FROM raw r JOIN codes c ON c.k = true`, word},
		{"", `SELECT r.age FROM raw r JOIN codes c ON c.k = "b" JOIN (SELECT k, label AS b FROM years) y ON y.k = c.chapter`, word},
		{"", `SELECT r.age FROM (SELECT age FROM raw) r JOIN codes c ON c.k = "rowid"`, word},
		{"", `SELECT age FROM raw r JOIN codes c ON c.k = r.code AND c.label <> "x"`, ""},
		{"", `SELECT "x" AS x, age FROM raw r JOIN codes c ON c.k = 'x'`, ""},
		// An alias stands for the expression with its COLLATE.
		{"", "SELECT r.age, c.k COLLATE NOCASE AS x FROM raw r, codes c WHERE r.code = x", key},
		{"person", "SELECT r.person, v.person COLLATE NOCASE AS x FROM raw r, visits v WHERE r.person = x", unit},
		// A column goes before an alias, also one that SQLite has named.
		{"", "SELECT r.code AS label FROM raw r JOIN (SELECT k AS key, label COLLATE BINARY FROM codes) c WHERE c.key = label", key},
		{"", "SELECT r.code AS [label||''] FROM raw r JOIN (SELECT k AS key, label||'' FROM codes) c WHERE c.key = [label||'']", word},
		{"", `SELECT r.code AS column2 FROM raw r JOIN (SELECT k AS key, label AS "true" FROM codes) c WHERE c.key = column2`, key},
		{"person", `SELECT r.person FROM raw r JOIN (SELECT person AS "true" FROM visits) v ON r.person = true`, unit},
		// A byte order mark before a word is white space.
		{"", "SELECT age FROM codes \ufeffLEFT JOIN raw ON k = code", "has private rows on the right of a LEFT JOIN"},
		// Comments are part of a type, and no type is NUMERIC.
		{"", "SELECT age FROM raw JOIN codes ON k = CAST(1 AS)", key},
		{"", `SELECT age FROM raw JOIN codes ON k = CAST(1 AS "")`, "a form that is not understood"},
		{"", `SELECT age FROM raw JOIN codes ON k = CAST(1 AS "x" TEXT)`, key},
		// A blob is no number of a column.
		{"person", "SELECT person, count(*) AS n FROM raw GROUP BY x'01'", "groups by a number"},
		{"person", "SELECT person, count(*) AS n FROM raw GROUP BY 1", ""},
		// A name can be empty, and is then still one.
		{"", `SELECT r.age FROM raw r JOIN (SELECT k, label AS code FROM codes) AS "" ON "".k = "".code`, "a form that is not understood"},
		{"", `SELECT c.k AS code FROM (SELECT age, code AS "" FROM raw) r JOIN codes c WHERE c.k = code`, "a form that is not understood"},
		// The number of a row goes before an alias, also where one of two tables has it.
		{"", "SELECT r.age AS rowid FROM (SELECT age FROM raw) r JOIN years y WHERE y.k = rowid", word},
		{"person", "SELECT person AS rowid, person, count(*) AS n FROM (SELECT person FROM raw) r JOIN years y GROUP BY rowid", word},
		// In a sub-select it is called by the primary key, and a text by its quotes.
		{"", "SELECT r.age FROM (SELECT rowid, age FROM raw) r JOIN years y ON y.k = rowid", word},
		{"", `SELECT c.k AS zz FROM (SELECT age, "zz" FROM raw) r JOIN codes c WHERE c.k = zz`, key},
		// Expressions that differ in an operator or a text are two.
		{"person", "SELECT person, age - year AS x, count(*) AS n FROM (SELECT person, age, age AS year FROM raw) GROUP BY person, age + year", "shows a column of grouped rows"},
		{"person", "SELECT person, age || 'a' AS x, count(*) AS n FROM raw GROUP BY person, age || 'b'", "shows a column of grouped rows"},
		{"person", "SELECT person, age + (SELECT v FROM lists LIMIT 1) AS x, count(*) AS n FROM raw GROUP BY person, age + (SELECT v FROM lists LIMIT 2)", "shows a column of grouped rows"},
		{"person", "SELECT person, CAST(age AS INTEGER) + (SELECT CAST(v AS INTEGER) FROM lists LIMIT 1) AS x, count(*) AS n FROM raw GROUP BY person, 2", ""},
		{"person", "SELECT person, CAST(age AS INTEGER) + 1 AS x, count(*) AS n FROM raw GROUP BY person, CAST(age AS INTEGER) + 1", ""},
		// A column of integers stores 1.5, too, so that a sum can be 3 and 3.0.
		{"person", "SELECT person, typeof(max(age + number)) AS x FROM raw JOIN visits USING (person) GROUP BY person", "values there can be equal and differ"},
		{"person", "SELECT person, age + 1 AS x, count(*) AS n FROM raw GROUP BY person, age + 1", "values there can be equal and differ"},
		{"person", "SELECT person, max(coalesce(CAST(zip AS REAL), EXISTS (SELECT NULL FROM lists))) AS x FROM raw GROUP BY person", "values there can be equal and differ"},
		// A column may have the name of an operator.
		{"person", `SELECT person, date("||" || code) AS d FROM (SELECT person, min(zip, ':') AS "||", code FROM raw)`, "could vary between calls"},
		// A sum of fractions depends on their order, which a plan decides.
		{"person", "SELECT person, total(age) AS x FROM raw GROUP BY person", "depends on the order of the rows"},
		{"person", "SELECT person, avg(CAST(age AS REAL)) OVER (PARTITION BY person) AS x FROM raw", "depends on the order of the rows"},
		{"person", "SELECT person, total(CAST(age AS INTEGER)) AS x, avg(length(zip)) AS y FROM raw GROUP BY person", ""},
		{"", "SELECT age FROM raw JOIN codes ON k = CAST(1 AS BLOB/*INT*/x)", key},
		{"", "SELECT age FROM raw JOIN codes ON k = CAST(code AS VARCHAR(10))", ""},
	} {
		if _, err := db.Exec("CREATE VIEW made AS " + c.text); err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		judged(t, c.text, c.want, checkView(t, db, "made", c.unit))
		run(t, db, "DROP VIEW made")
	}
}

// TestUnitwise is TestRowwise with the unit person.
func TestUnitwise(t *testing.T) {
	db := memory(t, mixesSchema...)
	for text, want := range map[string]string{
		"SELECT * FROM raw": "",
		"SELECT r.person, m.v FROM raw r JOIN lists m ON r.code = m.k":                                                                            "",
		"SELECT r.person, m.v FROM raw r, lists m":                                                                                                "",
		"SELECT person, v FROM lists m LEFT JOIN raw r ON r.code = m.k":                                                                           "",
		"SELECT person, v FROM raw r LEFT JOIN lists m ON r.code > m.k":                                                                           "",
		"SELECT r.person, r.age, v.year FROM raw r JOIN visits v ON r.person = v.person":                                                          "",
		"SELECT v.person, r.age, v.year FROM raw r JOIN visits v USING (person)":                                                                  "",
		"SELECT person, age, year FROM raw NATURAL JOIN visits":                                                                                   "",
		"SELECT r.person, v.year FROM raw r, visits v WHERE v.person = r.person":                                                                  "",
		"SELECT r.person, v.year FROM raw r LEFT JOIN visits v ON v.person = r.person":                                                            "",
		"SELECT v.person, v.year FROM raw r LEFT JOIN visits v ON v.person = r.person":                                                            "",
		"SELECT a.person FROM raw a JOIN raw b ON a.person = b.person":                                                                            "",
		"SELECT a.person FROM raw a JOIN visits v ON a.person = v.person JOIN raw b ON v.person = b.person":                                       "",
		"SELECT a.person FROM raw a JOIN codes c ON c.k = a.person JOIN raw b ON c.k = b.person":                                                  "",
		"SELECT person FROM raw UNION ALL SELECT person FROM raw":                                                                                 "",
		"SELECT person FROM raw UNION SELECT person FROM visits":                                                                                  "",
		"SELECT person FROM raw EXCEPT SELECT person FROM visits":                                                                                 "",
		"SELECT person FROM raw INTERSECT SELECT person FROM visits":                                                                              "",
		"SELECT person FROM raw EXCEPT SELECT guest FROM visits":                                                                                  "combines rows by EXCEPT, and values there can be equal and differ",
		"SELECT person FROM visits EXCEPT SELECT CAST(number AS TEXT) FROM visits":                                                                "combines rows by EXCEPT, but not by the unit's column",
		"SELECT person FROM raw EXCEPT SELECT k FROM codes":                                                                                       "has rows of no unit",
		"SELECT person, count(*) AS n, max(age) AS a FROM raw GROUP BY person":                                                                    "",
		"SELECT person, CAST(age AS INTEGER) / 10 AS d, count(*) AS n FROM raw GROUP BY 1, CAST(age AS INTEGER) / 10":                             "",
		"SELECT person, CAST(age AS INTEGER) / 10 AS d, count(*) AS n FROM raw GROUP BY d, person HAVING n > 2 AND avg(CAST(age AS INTEGER)) > 2": "",
		"SELECT person, d, total(d) AS n FROM (SELECT person, CAST(age AS INTEGER) / 10 AS d FROM raw) GROUP BY person, d":                        "",
		"SELECT DISTINCT person, zip FROM raw":                                                                                                    "has a DISTINCT, and values there can be equal and differ",
		"SELECT DISTINCT person, lower(zip), zip COLLATE BINARY, CAST(age AS INTEGER) / 10 FROM raw":                                              "",
		"SELECT person, free FROM raw GROUP BY person, free":                                                                                      "groups rows, and values there",
		"SELECT person, CAST(free AS INTEGER) AS f FROM raw GROUP BY person, f":                                                                   "",
		"SELECT person, CAST(free AS NUMERIC) AS f FROM raw GROUP BY 1, 2":                                                                        "groups rows, and values there",
		"SELECT person, f FROM (SELECT person, coalesce(age, round(age)) AS f FROM raw) GROUP BY person, f":                                       "groups rows, and values there",
		"SELECT person, CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS f, age * 1.5 AS g FROM raw GROUP BY person, f, age * round(age)":        "shows a column",
		"SELECT person, CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS f FROM raw GROUP BY person, f, age * round(age)":                        "",
		"SELECT person, +zip AS f FROM raw GROUP BY person, f":                                                                                    "groups rows, and values there",
		"SELECT person, zip COLLATE NOCASE || 'a' AS f FROM raw GROUP BY person, f":                                                               "groups rows, and values there",
		"SELECT person, max(zip) AS f FROM raw GROUP BY person":                                                                                   "has the aggregate max, and values there",
		"SELECT person, min(free) AS f FROM raw GROUP BY person":                                                                                  "has the aggregate min, and values there",
		"SELECT person, count(free) AS f FROM raw GROUP BY person":                                                                                "",
		"SELECT person, age FROM raw UNION SELECT person, round(year) FROM visits":                                                                "combines rows by UNION, and values there",
		"SELECT person, count(*) OVER (PARTITION BY person, free) AS n FROM raw":                                                                  "",
		"SELECT person, max(zip) OVER (PARTITION BY person) AS f FROM raw":                                                                        "has the window function max, and values there",
		"SELECT person, min(age) OVER (PARTITION BY person) AS f FROM raw":                                                                        "",
		"SELECT person, count(*) OVER (PARTITION BY person ORDER BY age) AS n FROM raw":                                                           "",
		"SELECT v.person, n.n FROM visits v JOIN (SELECT person, count(*) AS n FROM raw GROUP BY person) n ON n.person = v.person":                "",
		"SELECT CAST(person AS INTEGER) AS person, age FROM raw":                                                                                  "",
		"SELECT lower(guest) AS person FROM visits":                                                                                               "",
		"SELECT c.label AS person FROM raw r JOIN codes c ON c.k = r.code":                                                                        "", // households, say
		"SELECT guest AS person FROM visits":                                                                                                      "",
		"SELECT person COLLATE NOCASE AS person FROM raw":                                                                                         "",
		"SELECT person FROM raw UNION ALL SELECT CAST(number AS TEXT) FROM visits":                                                                "",

		"SELECT a.person FROM raw a JOIN raw b ON a.id = b.id":                                         "joins raw",
		"SELECT a.person FROM raw a, raw b":                                                            "joins raw",
		"SELECT a.person FROM raw a JOIN raw b ON a.person = b.person OR a.age = 1":                    "joins raw",
		"SELECT a.person FROM raw a JOIN raw b ON a.person = b.code":                                   "joins raw", // two units of one row
		"SELECT a.person FROM raw a LEFT JOIN raw b ON a.age = b.age":                                  "joins raw",
		"SELECT a.person FROM raw a LEFT JOIN raw b ON a.age = b.age WHERE b.person = a.person":        "",
		"SELECT a.person FROM raw a JOIN visits v ON a.person = v.person JOIN raw b ON v.year = b.age": "joins raw",
		"SELECT a.person FROM raw a JOIN visits v ON a.person = v.number":                              "joins visits", // another affinity
		"SELECT a.person FROM raw a JOIN visits v ON v.guest = a.person":                               "joins visits", // NOCASE
		"SELECT a.person FROM raw a JOIN visits v ON a.person = v.guest":                               "",
		"SELECT a.person FROM raw a JOIN visits v ON a.person IS v.person":                             "joins visits",
		"SELECT a.person FROM raw a JOIN visits v ON a.person = v.person COLLATE NOCASE":               "joins visits",
		"SELECT m.k AS person FROM lists m JOIN raw r ON m.k = r.code":                                 "takes the unit from more than the private row",
		"SELECT m.v AS person FROM lists m JOIN raw r ON m.k = r.code":                                 "takes the unit from more than the private row",
		"SELECT coalesce(r.person, 'x') AS person FROM lists m LEFT JOIN raw r ON m.k = r.code":        "takes the unit from more than the private row",
		"SELECT person FROM raw UNION ALL SELECT k FROM codes":                                         "has rows of no unit",
		"SELECT person FROM raw UNION ALL SELECT CAST(person AS TEXT) FROM raw":                        "takes the unit of raw from two",
		"SELECT person FROM raw UNION ALL SELECT code FROM raw":                                        "takes the unit of raw from two",
		"SELECT guest AS person, count(*) AS n FROM visits GROUP BY guest":                             "groups rows, and values there can be equal and differ",
		"SELECT max(person) AS person, age FROM raw GROUP BY age":                                      "groups rows, but not by the unit's column",
		"SELECT person, age FROM raw GROUP BY age":                                                     "shows a column of grouped rows",
		"SELECT person, max(age) AS a, zip FROM raw GROUP BY person":                                   "shows a column of grouped rows",
		"SELECT person, (SELECT count(*) FROM raw) AS n FROM raw":                                      "reads private rows of raw in a sub-select",
		"SELECT person, count(*) OVER () AS n FROM raw":                                                "has a window function",
		"SELECT person, count(*) OVER (PARTITION BY age) AS n FROM raw":                                "has a window function, but not by the unit's column",
		"SELECT DISTINCT guest AS person FROM visits":                                                  "has a DISTINCT, and values there can be equal and differ",
		"SELECT person FROM raw LIMIT 10":                                                              "has a LIMIT",
		"SELECT person FROM (SELECT person FROM raw ORDER BY age LIMIT 10)":                            "has a LIMIT",
		"SELECT 'all' AS person, age FROM raw JOIN visits ON raw.person = visits.person":               "joins private rows",
	} {
		if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		judged(t, text, want, checkView(t, db, "made", "person"))
		run(t, db, "DROP VIEW made")
	}
}

// FuzzDefinitions makes views of any text over the tables of mixesSchema. A view that
// SQLite and the package can both read must mean the same to both: the compiled view
// may open only tables that the package found in the text. Nothing may panic.
func FuzzDefinitions(f *testing.F) {
	for _, text := range []string{"SELECT * FROM raw", "SELECT age FROM seen AS s JOIN codes USING (k)", "SELECT r.age FROM raw r LEFT JOIN (codes c JOIN years y) ON c.k = r.code",
		"WITH a (x) AS (SELECT age FROM raw) SELECT x, (SELECT max(v) FROM lists WHERE k = x) AS m FROM a GROUP BY 1 HAVING x > 2",
		"SELECT person, count(*) OVER (PARTITION BY person ORDER BY age RANGE 1 PRECEDING) FROM raw UNION ALL SELECT guest, 1 FROM visits", "SELECT \"age\", [code] FROM `raw` /* x */ -- y"} {
		f.Add(text)
	}
	db := memory(f, mixesSchema...)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, ";") || len(text) > 1000 {
			return
		}
		if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
			return
		}
		defer run(t, db, "DROP VIEW made")
		for _, unit := range []string{"", "person"} {
			err := checkView(t, db, "made", unit)
			if sqlerr.CodeOf(err) == sqlerr.Internal || err != nil && strings.Contains(err.Error(), "more than is understood") {
				t.Errorf("CREATE VIEW made AS %s\n%v", text, err)
			}
		}
	})
}
