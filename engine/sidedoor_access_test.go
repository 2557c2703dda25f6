package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// spellings are the ways to write a table's name.
func spellings(name string) []string {
	up := strings.ToUpper(name)
	return []string{name, up, `"` + name + `"`, "`" + name + "`", `[` + up + `]`, `'` + name + `'`, `main.` + name, `MAIN."` + up + `"`,
		`temp.` + name, `"temp".` + name, `other.` + name, name + ` AS admissions`, name + ` admissions`, `(` + name + `)`,
		`(SELECT * FROM ` + name + `)`, `(SELECT * FROM ` + name + `) AS admissions`, name + `('raw_admissions')`,
		`admissions, ` + name, `admissions JOIN ` + name, `admissions LEFT JOIN ` + name + ` ON 1`, `admissions NATURAL JOIN ` + name}
}

// closed are the tables that an analyst may not count: raw, undeclared and public tables,
// those of SQLite and dpsql, and functions that are written like tables.
var closed = []string{"raw_admissions", "secret", "lens", "sqlite_schema", "sqlite_master", "sqlite_temp_master", "sqlite_temp_schema",
	"sqlite_sequence", "sqlite_stat1", "dpsql_ledger", "dpsql_objects", "dpsql_objects_live", "dpsql_answers", "dpsql_payloads", "dpsql_schema",
	"pragma_table_info", "pragma_table_list", "pragma_database_list", "dbstat", "sqlite_dbpage", "json_each", "bytecode", "tables_used"}

// attempts are statements that would read or change the table if they were allowed.
func attempts(name string) []string {
	list := []string{
		`DESCRIBE ` + name, `DESCRIBE "` + strings.ToUpper(name) + `"`, `SHOW ` + name, `TABLE ` + name, `PRAGMA table_info(` + name + `)`,
		`SELECT * FROM ` + name, `SELECT MAX(zip) FROM ` + name, `SELECT COUNT(*) FROM admissions WHERE ` + name + `.age = 3`,
		`SELECT COUNT(` + name + `.age) FROM admissions`, `SELECT COUNT(*), (SELECT COUNT(*) FROM ` + name + `) FROM admissions`,
		`SELECT COUNT(*) FROM admissions WHERE age IN (SELECT age FROM ` + name + `)`, `SELECT COUNT(*) FROM admissions WHERE age IN ` + name,
		`SELECT COUNT(*) FROM admissions WHERE EXISTS (SELECT 1 FROM ` + name + `)`, `SELECT COUNT(*) FROM admissions WHERE age = (SELECT MAX(age) FROM ` + name + `)`,
		`SELECT COUNT(*) FROM admissions UNION SELECT COUNT(*) FROM ` + name, `SELECT COUNT(*) FROM admissions EXCEPT SELECT 1 FROM ` + name,
		`SELECT COUNT(*) FROM admissions; SELECT COUNT(*) FROM ` + name, `WITH admissions AS (SELECT * FROM ` + name + `) SELECT COUNT(*) FROM admissions`,
		`SELECT COUNT(*) FROM admissions ORDER BY (SELECT 1 FROM ` + name + `)`, `SELECT COUNT(*) FROM admissions LIMIT (SELECT 1 FROM ` + name + `)`,
		`SELECT COUNT(*) FROM admissions GROUP BY (SELECT 1 FROM ` + name + `)`, `VALUES ((SELECT 1 FROM ` + name + `))`,
		`CREATE TEMP VIEW admissions AS SELECT * FROM ` + name, `CREATE VIEW v AS SELECT * FROM ` + name, `CREATE TABLE copy AS SELECT * FROM ` + name,
		`INSERT INTO ` + name + ` VALUES (1)`, `REPLACE INTO ` + name + ` VALUES (1)`, `UPDATE ` + name + ` SET age = 1`, `DELETE FROM ` + name,
		`DROP TABLE ` + name, `ALTER TABLE ` + name + ` RENAME TO x`, `REINDEX ` + name, `ANALYZE ` + name, `EXPLAIN DELETE FROM ` + name,
		`CREATE PUBLIC TABLE ` + name, `CREATE PUBLIC TABLE IF NOT EXISTS ` + name, `DROP PUBLIC TABLE IF EXISTS ` + name, `DROP PRIVATE TABLE IF EXISTS ` + name,
		`CREATE PRIVATE TABLE x (age INTEGER BETWEEN 0 AND 9) FROM ` + name + ` WITH (epsilon = 4, delta = 1e-6)`,
		`CREATE PRIVATE TABLE x (age TEXT IN (SELECT sex FROM ` + name + `)) FROM icd10 WITH (epsilon = 4, delta = 1e-6)`,
		`CREATE RELEASE x ON ` + name + ` USING PROJECTION WITH (epsilon = 0.1)`, `CREATE MECHANISM x ON ` + name + ` USING SMW WITH (epsilon = 0.1)`,
		`CREATE RELEASE IF NOT EXISTS cells ON ` + name + ` USING PROJECTION WITH (epsilon = 0.1)`,
		`EXPORT RELEASE cells TO '` + name + `.db'`, `EXPORT RELEASE cells TO '/dev/stdout'`, `VACUUM INTO '` + name + `.db'`, `ATTACH '` + name + `.db' AS x`,
		`CREATE RELEASE x ON admissions (sex) USING SMW WITH (epsilon = 0.1, workload = '` + name + `.sql')`,
		`DROP RELEASE cells`, `DROP RELEASE IF EXISTS nowhere`, `DROP MECHANISM IF EXISTS nowhere`, `DROP PRIVATE TABLE admissions`,
	}
	for _, from := range spellings(name) {
		list = append(list, `SELECT COUNT(*) FROM `+from, `EXPLAIN SELECT COUNT(*) FROM `+from)
	}
	return list
}

// TestAnalystDoors tries every statement and spelling, as an analyst, on every table that
// is closed to him. All are refused and none shows a row. The catalog and the folder do
// not change.
func TestAnalystDoors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "clinic.db")
	curator := clinicAt(t, path)
	fill(t, curator, `CREATE TABLE secret (age, sex)`, `INSERT INTO secret VALUES ('MARKER', 'MARKER')`, `CREATE TABLE counted (i INTEGER PRIMARY KEY AUTOINCREMENT)`,
		`CREATE VIEW lens AS SELECT * FROM raw_admissions`, `INSERT INTO raw_admissions VALUES ('MARKER', 'MARKER', 'MARKER', 'MARKER')`, `ANALYZE`)
	must(t, curator, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`)
	if err := os.WriteFile(filepath.Join(dir, "secret.sql"), []byte(`SELECT COUNT(*) FROM admissions;`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, engine.Options{Role: engine.Analyst}).NewSession()
	s.SetDirectory(dir)
	before, files := catalogOf(t, path), folder(t, dir)
	tried := 0
	for _, name := range closed {
		for _, text := range attempts(name) {
			tried++
			e := refusal(t, s, text)
			if strings.Contains(fmt.Sprint(*e), marker) {
				t.Errorf("%s\nshows %v", text, *e)
			}
			if !slices.Contains([]sqlerr.Code{sqlerr.Forbidden, sqlerr.Unsupported, sqlerr.Malformed, sqlerr.Unknown}, e.Code) {
				t.Errorf("%s\nis refused with %v", text, e)
			}
		}
	}
	for _, im := range []engine.Import{{Path: "secret.sql", Table: "x"}, {Path: "nowhere.csv", Table: "x"}, {Path: "nowhere.csv", Table: "secret", Append: true}, {Path: "/etc/passwd", Table: "icd10", IfMissing: true}} {
		if _, err := s.Import(context.Background(), im); sqlerr.CodeOf(err) != sqlerr.Forbidden {
			t.Errorf("importing %+v: %v, want forbidden", im, err)
		}
	}
	if catalogOf(t, path) != before {
		t.Error("an analyst has changed the catalog")
	}
	if now := folder(t, dir); now != files {
		t.Errorf("the folder held %s and holds %s", files, now)
	}
	t.Logf("%d statements on %d tables", tried, len(closed))
}

// refusal runs a statement and fails the test unless there is an error.
func refusal(t *testing.T, s *engine.Session, text string) *sqlerr.Error {
	t.Helper()
	r, err := s.Exec(context.Background(), text, nil)
	if err == nil {
		t.Errorf("%s\nis not refused, and shows %v", text, r.Rows)
		return &sqlerr.Error{Code: sqlerr.Forbidden}
	}
	return err.(*sqlerr.Error)
}

// folder lists a directory without SQLite's side files.
func folder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-wal") && !strings.HasSuffix(e.Name(), "-shm") {
			names = append(names, e.Name())
		}
	}
	return fmt.Sprint(names)
}

// TestForbiddenLooksNothingUp gives an analyst the same refusal for names that exist and
// names that do not.
func TestForbiddenLooksNothingUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clinic.db")
	must(t, clinicAt(t, path), `CREATE RELEASE cells ON admissions (sex) USING PROJECTION WITH (epsilon = 0.5)`)
	s := open(t, path, engine.Options{Role: engine.Analyst}).NewSession()
	var first *sqlerr.Error
	for _, name := range []string{"cells", "raw_admissions", "admissions", "icd10", "nowhere"} {
		for _, text := range []string{`DROP RELEASE `, `DROP PUBLIC TABLE `, `CREATE PUBLIC TABLE `, `DROP MECHANISM `} {
			e := refusal(t, s, text+name)
			if first == nil {
				first = e
			}
			if *e != *first || e.Code != sqlerr.Forbidden {
				t.Errorf("%s%s: %+v, elsewhere %+v", text, name, *e, *first)
			}
		}
	}
}

// TestAnalystMakesNoFile opens a file that does not exist.
func TestAnalystMakesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "none.db"), engine.Options{Role: engine.Analyst}).NewSession()
	for _, text := range attempts("secret") {
		refusal(t, s, text)
	}
	must(t, s, `SHOW TABLES`)
	must(t, s, `SHOW LEDGER`)
	if files := folder(t, dir); files != "[]" {
		t.Errorf("an analyst has made %s", files)
	}
}

// domainOf declares a private table over raw_admissions with a column whose domain comes
// from a table.
func domainOf(column, from string) string {
	return `CREATE PRIVATE TABLE x (zip TEXT IN (SELECT ` + column + ` FROM ` + from + `)) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`
}

// TestDomainsReadPublicTablesOnly tries every other table as the origin of a domain, under
// any spelling, and every way to declare private rows public. All are refused.
func TestDomainsReadPublicTablesOnly(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE TABLE secret (code TEXT)`, `CREATE VIEW lens AS SELECT zip AS code FROM raw_admissions`,
		`CREATE VIEW lens2 AS SELECT c.code FROM icd10 c WHERE EXISTS (SELECT 1 FROM lens WHERE code = '15213')`,
		`CREATE VIEW "icd10 " AS SELECT * FROM lens`)
	before := catalogOf(t, s.DB().Store().Path())
	for _, name := range []string{"secret", "lens", "lens2", `"icd10 "`, "raw_admissions", "admissions", "dpsql_ledger", "sqlite_schema", "pragma_table_list", "nowhere"} {
		for _, from := range []string{name, strings.ToUpper(name)} {
			refused(t, s, sqlerr.Forbidden, domainOf("code", from))
		}
		for _, from := range []string{"main." + name, "temp." + name, name + " AS icd10", "icd10, " + name, "icd10 JOIN " + name, "(SELECT * FROM " + name + ")"} {
			refusal(t, s, domainOf("code", from))
		}
	}
	for _, column := range []string{"shoe", "rowid", `"(SELECT zip FROM raw_admissions)"`, `"code FROM lens --"`, "code || ''", "lens.code", "COUNT(*)"} {
		refusal(t, s, domainOf(column, "icd10"))
	}
	for _, name := range []string{"raw_admissions", "RAW_ADMISSIONS", "lens", "lens2", "admissions", "dpsql_objects", "sqlite_schema", "pragma_table_list"} {
		refusal(t, s, `CREATE PUBLIC TABLE `+name)
	}
	if catalogOf(t, s.DB().Store().Path()) != before {
		t.Error("a refused declaration has changed the catalog")
	}
	must(t, s, domainOf("code", `"ICD10"`))
}

// TestPublicViewOverRowsThatBecomePrivate declares a view public while the rows behind it
// are not private, and then declares the rows private. Their values must not become a
// domain, in that statement or in a later one.
func TestPublicViewOverRowsThatBecomePrivate(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "late.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (code TEXT)`, `INSERT INTO raw VALUES ('MARKER')`, `CREATE VIEW codes AS SELECT DISTINCT code FROM raw`)
	must(t, s, `CREATE PUBLIC TABLE codes`)
	refusal(t, s, `CREATE PRIVATE TABLE p (code TEXT IN (SELECT code FROM codes)) FROM raw WITH (epsilon = 1)`)
	s.Exec(context.Background(), `DROP PRIVATE TABLE IF EXISTS p`, nil)
	// If the rows become private nevertheless, codes is no longer public.
	if _, err := s.Exec(context.Background(), `CREATE PRIVATE TABLE q (code TEXT) FROM raw WITH (epsilon = 1)`, nil); err == nil {
		refusal(t, s, `CREATE PRIVATE TABLE p (code TEXT IN (SELECT code FROM codes)) FROM raw WITH (epsilon = 1)`)
	}
}

// TestViewInPlaceOfAPublicTable replaces a table that was declared public by a view over
// private rows.
func TestViewInPlaceOfAPublicTable(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `DROP TABLE icd10`, `CREATE VIEW icd10 AS SELECT DISTINCT zip AS code FROM raw_admissions`)
	r, err := s.Exec(context.Background(), domainOf("code", "icd10"), nil)
	if err == nil {
		t.Errorf("a domain was read off private rows through a view named as a public table: %v\n%v", r.Rows, must(t, s, `DESCRIBE x`).Rows)
	}
}

// TestArgumentsAreNotShown keeps arguments out of errors and warnings. A front end may get
// them from anywhere.
func TestArgumentsAreNotShown(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	for _, text := range []string{`SELECT COUNT(*) FROM admissions WHERE age = ?`, `SELECT COUNT(*) FROM admissions WHERE sex = ?`,
		`SELECT COUNT(*) FROM admissions WHERE age < ? AND zip > ?1`, `SELECT COUNT(*) FROM admissions WHERE sex IN ('F', ?)`} {
		if shown := seen(s, nil, text, query.Text(marker)); strings.Contains(shown, marker) {
			t.Errorf("%s shows its argument: %s", text, shown)
		}
	}
}

// A stray is a value that any column of SQLite can hold, with its meaning under either
// type: the value that a column of INTEGER or TEXT affinity stores, or none if that has
// another type.
type stray struct {
	stored  any
	integer *query.Value
	text    *query.Value
}

func pointer(v query.Value) *query.Value { return &v }

var null = pointer(query.Null())

// strays are wrong types, NULLs, huge numbers, and invalid text.
var straysInColumns = []stray{
	{int64(40), pointer(query.Int(40)), pointer(query.Text("40"))},
	{40.0, pointer(query.Int(40)), pointer(query.Text("40.0"))},
	{"40", pointer(query.Int(40)), pointer(query.Text("40"))},
	{" 4e1\n", pointer(query.Int(40)), pointer(query.Text(" 4e1\n"))},
	{"+40.000", pointer(query.Int(40)), pointer(query.Text("+40.000"))},
	{40.5, nil, pointer(query.Text("40.5"))},
	{"40x", nil, pointer(query.Text("40x"))},
	{"0x28", nil, pointer(query.Text("0x28"))},
	{"", nil, pointer(query.Text(""))},
	{[]byte("40"), nil, nil},
	{[]byte{0}, nil, nil},
	{[]byte{}, nil, nil},
	{nil, null, null},
	{math.NaN(), null, null},
	{math.Inf(1), nil, pointer(query.Text("Inf"))},
	{1e300, nil, pointer(query.Text("1.0e+300"))},
	{int64(math.MaxInt64), pointer(query.Int(math.MaxInt64)), pointer(query.Text("9223372036854775807"))},
	{int64(math.MinInt64), pointer(query.Int(math.MinInt64)), pointer(query.Text("-9223372036854775808"))},
	{"9223372036854775807", pointer(query.Int(math.MaxInt64)), pointer(query.Text("9223372036854775807"))},
	{"9223372036854775808", nil, pointer(query.Text("9223372036854775808"))},
	{strings.Repeat("9", 400), nil, pointer(query.Text(strings.Repeat("9", 400)))},
	{"\xff", nil, pointer(query.Text("\xff"))},
	{"F\x00", nil, pointer(query.Text("F\x00"))},
	{"f", nil, pointer(query.Text("f"))},
	{"F ", nil, pointer(query.Text("F "))},
	{"F", nil, pointer(query.Text("F"))},
	{"\u0130É", nil, pointer(query.Text("\u0130É"))},
	{int64(-1), pointer(query.Int(-1)), pointer(query.Text("-1"))},
	{int64(121), pointer(query.Int(121)), pointer(query.Text("121"))},
}

// messyColumns are the declared columns: an INTEGER list with NULL and the
// ends of the range, an INTEGER range, a TEXT list, and any TEXT.
const messyColumns = `a INTEGER IN (40, -1, 9223372036854775807, -9223372036854775808, NULL), b INTEGER BETWEEN 0 AND 120,
	c TEXT IN ('F', '40', '40.0', 'Inf', ''), d TEXT`

// inside reports whether the values are in the declared domains.
func inside(row [4]*query.Value) bool {
	for _, v := range row {
		if v == nil {
			return false
		}
	}
	a, b, c := *row[0], *row[1], *row[2]
	inA := a.IsNull() || a == query.Int(40) || a == query.Int(-1) || a == query.Int(math.MaxInt64) || a == query.Int(math.MinInt64)
	inB := b.IsInt() && b.Int64() >= 0 && b.Int64() <= 120
	inC := c.IsText() && strings.Contains("|F|40|40.0|Inf||", "|"+c.Str()+"|")
	return inA && inB && inC
}

// messyRows puts each stray twice into each column of an ordinary row.
func messyRows() (stored [][]any, meant [][4]*query.Value) {
	for _, s := range straysInColumns {
		for column := range 4 {
			row := []any{int64(40), int64(7), "F", "d"}
			mean := [4]*query.Value{pointer(query.Int(40)), pointer(query.Int(7)), pointer(query.Text("F")), pointer(query.Text("d"))}
			row[column], mean[column] = s.stored, s.integer
			if column > 1 {
				mean[column] = s.text
			}
			stored, meant = append(stored, row, row), append(meant, mean, mean)
		}
	}
	return stored, meant
}

// TestMessyRowsChangeCountsOnly compares true counts on such rows with a count in Go: in
// columns with and without affinity, with and without an index, and through a view. It
// also runs every kind of statement on them, without -long on those of one table.
func TestMessyRowsChangeCountsOnly(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "messy.db"), engine.Options{}).NewSession()
	fixed(s.DB(), 1)
	fill(t, s, `CREATE TABLE bare (a, b, c, d)`, `CREATE TABLE none (a INTEGER, b TEXT, c, d REAL)`, `CREATE TABLE typed (a INTEGER, b NUMERIC, c TEXT, d VARCHAR COLLATE NOCASE)`,
		`CREATE INDEX ia ON typed (a)`, `CREATE INDEX ib ON typed (b, c)`, `CREATE INDEX id ON typed (d)`,
		`CREATE VIEW seen AS SELECT c COLLATE NOCASE AS c, d, b, a FROM bare UNION ALL SELECT c, d, b, a FROM none`)
	stored, meant := messyRows()
	raw := plain(t, s)
	for _, row := range stored {
		for _, table := range []string{"bare", "typed"} {
			if _, err := raw.Exec(`INSERT INTO `+table+` VALUES (?, ?, ?, ?)`, row...); err != nil {
				t.Fatal(err)
			}
		}
	}
	must(t, s, `CREATE PUBLIC TABLE none`)
	must(t, s, `CREATE PRIVATE TABLE p_bare (`+messyColumns+`) FROM bare WITH (epsilon = 20, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE p_seen (`+messyColumns+`) FROM seen WITH (epsilon = 20, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE p_typed (`+messyColumns+`) FROM typed WITH (epsilon = 20, delta = 1e-6)`)
	names := []string{"p_bare", "p_seen", "p_typed"}
	for _, name := range names {
		countsAgree(t, s, name, meant)
	}
	for _, name := range some(t, 3, names) {
		everyStatement(t, s, name)
	}
}

// countsAgree compares the reader's Count with a count in Go. It does so for every value
// in every column, and for its negation together with another condition.
func countsAgree(t *testing.T, s *engine.Session, name string, meant [][4]*query.Value) {
	t.Helper()
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	table, err := v.Table(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, q query.Query, holds func([4]*query.Value) bool) {
		want := int64(0)
		for _, row := range meant {
			if inside(row) && holds(row) {
				want++
			}
		}
		err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
			got, err := source.SQLite(tx.SQL()).Count(context.Background(), anyone{}, table.Rows(), q)
			if err == nil && got != want {
				t.Errorf("%s, %s: counted %d, want %d", name, what, got, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s, %s: %v", name, what, err)
		}
	}
	u := table.Universe
	check("all", query.All(u), func([4]*query.Value) bool { return true })
	seven := query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(7)))
	for column, c := range u.Columns() {
		for _, st := range straysInColumns {
			value := st.text
			if c.Domain.Type() == query.TypeInteger {
				value = st.integer
			}
			if value == nil {
				continue
			}
			set := c.Domain.SetOf(*value)
			check(fmt.Sprintf("%s = %v", c.Name, *value), query.Where(u, column, set), func(r [4]*query.Value) bool { return *r[column] == *value })
			either, err := query.Where(u, column, set.Complement()).Or(seven) // streamed, not pushed down
			if err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("not %s = %v or b = 7", c.Name, *value), either,
				func(r [4]*query.Value) bool { return *r[column] != *value || *r[1] == query.Int(7) })
		}
	}
}

// everyStatement runs every kind of statement that reads private rows.
func everyStatement(t *testing.T, s *engine.Session, name string) {
	t.Helper()
	for _, text := range []string{
		`CREATE RELEASE %s_i ON %[1]s (a, c) USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE RELEASE %s_s ON %[1]s USING PROJECTION WITH (epsilon = 0.5, rows = 128)`,
		`CREATE RELEASE %s_d ON %[1]s (b, c) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`,
		`CREATE RELEASE %s_c ON %[1]s (a, c) USING SMW WITH (epsilon = 0.5, free_columns = 1, max_updates = 2)`,
		`CREATE MECHANISM %s_m ON %[1]s (b, d) USING SMW WITH (epsilon = 1, max_updates = 3, max_support = 200, queries = 10, beta = 0.5)`,
		`SET mechanism = %s_m`,
		`SELECT COUNT(*) FROM %s WHERE d = 'd'`, `SELECT COUNT(*) FROM %s WHERE d IS NULL AND b < 100`, `SELECT COUNT(d) FROM %s WHERE d IN ('F', 'f') AND b = 7`,
		`SET mechanism = auto`, `SET accuracy = 60`,
		`SELECT COUNT(*) FROM %s`, `SELECT COUNT(*) FROM %s WHERE a IS NULL`, `SELECT COUNT(*) FROM %s WHERE a = 9223372036854775807 OR d <> 'd'`,
		`EXPLAIN SELECT COUNT(*) FROM %s WHERE a = -9223372036854775808`, `DESCRIBE %s`, `SET accuracy = default`,
	} {
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, name)
		}
		must(t, s, text)
	}
}

// TestHugeValues has blobs that SQLite cannot sort or convert within its own limits. As units and
// in columns they are outside. In a view that groups by them the first statement fails, when it
// was charged, and after it everything that reads the table is refused before a charge.
func TestHugeValues(t *testing.T) {
	if !*long {
		t.Skip("it takes two gigabytes: run with -args -long, as .ci/long does")
	}
	s := open(t, filepath.Join(t.TempDir(), "state.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (unit, v INTEGER, s)`, `INSERT INTO raw VALUES (1, 1, 'a'), (2, 2, 'b'), (zeroblob(510000000), 4, 'a'), (3, 4, zeroblob(510000000))`,
		`CREATE TABLE below (unit, v INTEGER, s)`, `INSERT INTO below VALUES (1, 1, 'a'), (2, 4, zeroblob(510000000))`, `CREATE VIEW grouped AS SELECT unit, max(v) AS v FROM below GROUP BY unit, s, lower(s)`)
	must(t, s, `CREATE PRIVATE TABLE seen (v INTEGER BETWEEN 0 AND 9, s TEXT) FROM raw WITH (epsilon = 100, delta = 1e-6, interactive = 0.5, unit = unit, max_rows = 1)`)
	must(t, s, `CREATE PRIVATE TABLE groups (v INTEGER BETWEEN 0 AND 9) FROM grouped WITH (epsilon = 100, delta = 1e-6, interactive = 0.5, unit = unit, max_rows = 1)`)
	must(t, s, `SET accuracy = 100`)
	must(t, s, `SELECT SUM(v) FROM seen WHERE s <> 'b'`)
	before := len(entries(t, s.DB()))
	refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM groups WHERE v = 3`)
	told := len(entries(t, s.DB()))
	for _, text := range []string{`SELECT COUNT(*) FROM groups WHERE v = 4`, `SELECT COUNT(*) FROM groups`, `CREATE RELEASE r ON groups USING PROJECTION WITH (epsilon = 1)`} {
		refused(t, s, sqlerr.Invalid, text)
	}
	if n := len(entries(t, s.DB())); told == before || n != told {
		t.Errorf("%d lines before, %d when it was told, %d later: %v", before, told, n, entries(t, s.DB())[before:])
	}
}
