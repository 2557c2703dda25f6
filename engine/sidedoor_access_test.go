package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// spellings are ways to write a table's name.
func spellings(name string) []string {
	up := strings.ToUpper(name)
	return []string{name, up, `"` + name + `"`, "`" + name + "`", `[` + up + `]`, `'` + name + `'`, `main.` + name, `MAIN."` + up + `"`,
		`temp.` + name, `"temp".` + name, `other.` + name, name + ` AS admissions`, name + ` admissions`, `(` + name + `)`,
		`(SELECT * FROM ` + name + `)`, `(SELECT * FROM ` + name + `) AS admissions`, name + `('raw_admissions')`,
		`admissions, ` + name, `admissions JOIN ` + name, `admissions LEFT JOIN ` + name + ` ON 1`, `admissions NATURAL JOIN ` + name}
}

// closed are the tables that an analyst may not count: raw, undeclared, public
// ones, those of SQLite and dpsql, and functions that read like tables.
var closed = []string{"raw_admissions", "secret", "lens", "icd10", "sqlite_schema", "sqlite_master", "sqlite_temp_master", "sqlite_temp_schema",
	"sqlite_sequence", "sqlite_stat1", "dpsql_ledger", "dpsql_tables", "dpsql_mechanisms", "dpsql_answers", "dpsql_payloads", "dpsql_schema",
	"pragma_table_info", "pragma_table_list", "pragma_database_list", "dbstat", "sqlite_dbpage", "json_each", "bytecode", "tables_used"}

// attempts are statements that would read or change the table, if they could.
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

// TestAnalystDoors tries, as an analyst, every statement and spelling on every
// table that is closed to him. All are refused, none shows a row, and neither
// the catalog nor the folder changes.
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

// refusal runs a statement that has to fail, whatever with.
func refusal(t *testing.T, s *engine.Session, text string) *sqlerr.Error {
	t.Helper()
	r, err := s.Exec(context.Background(), text, nil)
	if err == nil {
		t.Errorf("%s\nis not refused, and shows %v", text, r.Rows)
		return &sqlerr.Error{Code: sqlerr.Forbidden}
	}
	return err.(*sqlerr.Error)
}

// folder lists a directory, SQLite's own side files aside.
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

// TestForbiddenLooksNothingUp gives an analyst the same refusal whether what
// he names exists or not.
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

// TestAnalystMakesNoFile opens a file that is not there.
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

// domainOf declares a private table over raw_admissions whose column takes its
// domain from a table.
func domainOf(column, from string) string {
	return `CREATE PRIVATE TABLE x (zip TEXT IN (SELECT ` + column + ` FROM ` + from + `)) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`
}

// TestDomainsReadPublicTablesOnly refuses every other table as the origin of a
// domain, under any spelling, and every way to declare private rows public.
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
	for _, name := range []string{"raw_admissions", "RAW_ADMISSIONS", "lens", "lens2", "admissions", "dpsql_tables", "sqlite_schema", "pragma_table_list"} {
		refusal(t, s, `CREATE PUBLIC TABLE `+name)
	}
	if catalogOf(t, s.DB().Store().Path()) != before {
		t.Error("a refused declaration has changed the catalog")
	}
	must(t, s, domainOf("code", `"ICD10"`))
}

// TestPublicViewOverRowsThatBecomePrivate declares a view public while the rows
// behind it are nobody's, and then those rows private: their values must not
// become a domain, in that statement or in a later one.
func TestPublicViewOverRowsThatBecomePrivate(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "late.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (code TEXT)`, `INSERT INTO raw VALUES ('MARKER')`, `CREATE VIEW codes AS SELECT DISTINCT code FROM raw`)
	must(t, s, `CREATE PUBLIC TABLE codes`)
	refusal(t, s, `CREATE PRIVATE TABLE p (code TEXT IN (SELECT code FROM codes)) FROM raw WITH (epsilon = 1)`)
	s.Exec(context.Background(), `DROP PRIVATE TABLE IF EXISTS p`, nil)
	// Where the rows become private nevertheless, codes is public no more.
	if _, err := s.Exec(context.Background(), `CREATE PRIVATE TABLE q (code TEXT) FROM raw WITH (epsilon = 1)`, nil); err == nil {
		refusal(t, s, `CREATE PRIVATE TABLE p (code TEXT IN (SELECT code FROM codes)) FROM raw WITH (epsilon = 1)`)
	}
}

// TestViewInPlaceOfAPublicTable puts a view over private rows where a public
// table was declared.
func TestViewInPlaceOfAPublicTable(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `DROP TABLE icd10`, `CREATE VIEW icd10 AS SELECT DISTINCT zip AS code FROM raw_admissions`)
	r, err := s.Exec(context.Background(), domainOf("code", "icd10"), nil)
	if err == nil {
		t.Errorf("a domain was read off private rows through a view named as a public table: %v\n%v", r.Rows, must(t, s, `DESCRIBE x`).Rows)
	}
}

// TestArgumentsAreNotShown keeps arguments, which a front end may take from
// anywhere, out of errors and warnings.
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
