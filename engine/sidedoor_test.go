package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/source"
	"dpsql/sqlerr"
)

// Each test of the sidedoor files watches one way around the mechanisms: one by which
// private rows could leave, or a budget could be spent twice. None of them is random.

// marker occurs in private rows only.
const marker = "MARKER"

// numbers is a table expression with the integers i from 1 to n.
func numbers(n int) string {
	return fmt.Sprintf(`(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT i FROM n)`, n)
}

// vault returns a file with a table of good rows, a release and a mechanism.
func vault(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vault.db")
	copyOf(t, path, "vault", func(s *engine.Session) { declareVault(t, s) })
	return path
}

func declareVault(t *testing.T, s *engine.Session) {
	t.Helper()
	fixed(s.DB(), 1000)
	fill(t, s, `CREATE TABLE raw (sex, age, note)`, `CREATE VIEW lens AS SELECT sex, age, lower(note) AS note FROM raw`,
		`INSERT INTO raw SELECT 'F', i, 'a' FROM `+numbers(50))
	for _, text := range []string{
		`CREATE PRIVATE TABLE p (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99, note TEXT) FROM raw WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE PRIVATE TABLE q (sex TEXT, age INTEGER BETWEEN 0 AND 99, note TEXT IN ('a', 'b')) FROM lens WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE RELEASE r ON p (sex, age) USING PROJECTION WITH (epsilon = 0.1)`,
		`CREATE MECHANISM m ON q (age) USING SMW WITH (epsilon = 1)`,
	} {
		must(t, s, text)
	}
}

// odd are private rows whose values have no declared type or lie in no declared domain.
func odd(id string) change {
	return change{`INSERT INTO raw VALUES (?1, 9, 'a'), ('F', ?1, 'a'), ('F', 3, ?1), (?2, ?3, ?4), (CAST(?2 AS TEXT), -8.125, ?2), (?1, ?1, ?1)`,
		[]any{marker + id, []byte(marker + id), "'" + marker + id + ";--", "\xff" + marker + id}}
}

// TestErrorsCarryNoRow runs every kind of statement on rows outside all domains. The
// errors name no value, and are the same whatever the values are.
func TestErrorsCarryNoRow(t *testing.T) {
	t.Parallel()
	d := vault(t)
	got, want := confess(t, neighbour(t, d, odd("one"))), confess(t, neighbour(t, d, odd("another")))
	for i := range want {
		if strings.Contains(strings.ToUpper(got[i]), marker) || strings.Contains(got[i], "8.125") {
			t.Errorf("a private value is in %s", got[i])
		}
		if got[i] != want[i] {
			t.Errorf("the values of rows decide between %s\nand %s", got[i], want[i])
		}
	}
}

// confess runs statements that read the rows, and returns everything that a user can see
// afterwards.
func confess(t *testing.T, path string) (shown []string) {
	t.Helper()
	db := open(t, path, engine.Options{})
	fixed(db, 2000)
	s := db.NewSession()
	for _, text := range []string{
		`SET accuracy = 100`, `SELECT COUNT(*) FROM p`, `SELECT COUNT(*) FROM p WHERE note <> 'x' OR age = 3`, `SELECT COUNT(*) FROM q WHERE sex = 'F'`,
		`EXPLAIN SELECT COUNT(*) FROM q`, `SET accuracy = default`, `SET mechanism = m`, `SELECT COUNT(*) FROM q WHERE age = 9`,
		`CREATE RELEASE a ON q (age) USING PROJECTION WITH (epsilon = 0.1)`,
		`CREATE RELEASE b ON q USING PROJECTION WITH (epsilon = 0.1, rows = 64)`,
		`CREATE RELEASE c ON q (note) USING PROJECTION WITH (epsilon = 0.1, transform = dense, rows = 64)`,
		`CREATE RELEASE d ON q (note) USING SMW WITH (epsilon = 0.5, free_columns = 1, max_updates = 2)`,
		`CREATE RELEASE e ON p (note) USING PROJECTION WITH (epsilon = 0.1, rows = 64)`,
		`CREATE MECHANISM g ON p (sex, age) USING SMW WITH (epsilon = 0.5)`,
		`CREATE PRIVATE TABLE x (note TEXT IN (SELECT note FROM raw)) FROM raw WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE PRIVATE TABLE x (note INTEGER IN (SELECT note FROM lens)) FROM raw WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE PUBLIC TABLE lens`, `SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`, `SHOW LEDGER`, `DESCRIBE p`,
	} {
		if err := db.Answers().Close(); err != nil { // so that no timer decides when counters are stored
			t.Fatal(err)
		}
		shown = append(shown, text+"\n"+seen(s, []string{"at", "hash", "created"}, text))
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte("a,b\n"+marker+",1\n"+marker+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Import(context.Background(), engine.Import{Path: file, Table: "loaded"})
	if err == nil {
		t.Error("a file with a short line was imported")
	}
	return append(shown, strings.ReplaceAll(fmt.Sprintf("%+v", err), file, ""))
}

// fragile are expressions over raw's columns that SQLite cannot compute on
// every row, and some that it can.
var fragile = []string{
	`json_extract(note, '$.a')`, `json_extract('{}', note)`, `json(note)`, `json_type(note)`, `note -> 'a'`, `note ->> 'a'`, `json_array_length(note)`,
	`abs(age)`, `'x' LIKE note`, `'x' GLOB note`, `like(note, 'x')`, `note LIKE 'x' ESCAPE note`, `note LIKE 'a%'`, `note GLOB 'a*'`,
	`zeroblob(age)`, `randomblob(age)`, `printf('%*d', age, 1)`, `format(note, 1)`, `replace(note, 'a', note)`, `hex(note)`, `quote(note)`,
	`substr(note, age, age)`, `char(age, age)`, `unicode(note)`, `round(age, age)`, `instr(note, note)`, `trim(note, note)`, `sign(note)`,
	`strftime(note, age)`, `date(age, note)`, `julianday(note)`, `unixepoch(age, note)`, `max(age, note)`, `nullif(age, note)`, `iif(note, age, 1)`,
	`-age`, `age + 1`, `age * age`, `age / 0`, `age % 0`, `age << age`, `~age`, `age || note`, `CAST(note AS INTEGER)`, `CAST(age AS BLOB)`,
	`(SELECT age FROM json_each(note))`, `age IN (SELECT value FROM json_each(note))`, `note COLLATE NOCASE = 'a'`,
	`CASE WHEN age < 0 THEN abs(age) ELSE 0 END`, `EXISTS (SELECT 1 FROM raw r WHERE r.age = abs(raw.age))`,
}

// folds are expressions over the rows of a unit, which a view may combine.
var folds = []string{`sum(age)`, `total(age)`, `avg(age)`, `count(note)`, `min(age)`, `max(age)`, `group_concat(note)`, `json_group_array(age)`,
	`json_group_object(note, age)`, `sum(age) FILTER (WHERE age > 0)`, `sum(sum(age)) OVER ()`, `round(avg(age))`, `max(abs(age))`}

// poison are rows on which some of these expressions fail.
var poison = [][]any{{int64(math.MinInt64), "b"}, {int64(math.MaxInt64), marker}, {int64(math.MaxInt64), marker}, {int64(1), `{"` + marker + `": `},
	{int64(2e9), "%2000000000d"}, {int64(1), strings.Repeat("%a", 1<<16)}, {[]byte{0}, "b"}, {"now", "now"}}

// TestNoRowFails uses each expression as a column or condition of a view, or as a column
// of the table itself. Either the declaration is refused, whatever the rows are, or no row
// makes an answer fail. An error would reveal that row without noise.
func TestNoRowFails(t *testing.T) {
	t.Parallel()
	for _, unit := range []bool{false, true} {
		s := open(t, filepath.Join(t.TempDir(), "views.db"), engine.Options{}).NewSession()
		columns := "age, note"
		forms := map[string][]string{` AS SELECT %s AS a FROM raw`: fragile, ` AS SELECT 1 AS a FROM raw WHERE %s`: fragile}
		if unit {
			columns = "age INTEGER, note TEXT" // no view groups by what may be 1 and 1.0
			forms = map[string][]string{` AS SELECT note, %s AS a FROM raw GROUP BY note`: folds}
		}
		fill(t, s, `CREATE TABLE raw (`+columns+`)`, `INSERT INTO raw VALUES (1, 'a')`)
		accepted, made := make(map[string]string), 0
		for form, list := range forms {
			for i, e := range some(t, 2, list) {
				view := fmt.Sprintf("v%d_%d", len(form), i)
				fill(t, s, `CREATE VIEW `+view+fmt.Sprintf(form, e))
				if made++; declaredOver(t, s, view, e, unit) {
					accepted[view] = fmt.Sprintf(form, e)
				}
			}
		}
		poisoned(t, s, accepted)
		if t.Logf("%d of %d views are accepted", len(accepted), made); len(accepted) == 0 {
			t.Error("no view is accepted")
		}
	}
	for _, e := range some(t, 2, fragile) {
		s := declared(t, []string{`CREATE TABLE raw (age, note)`, `INSERT INTO raw VALUES (1, 'a')`})
		_, err := plain(t, s).Exec(`ALTER TABLE raw ADD COLUMN a AS (` + e + `)`)
		if err == nil && declaredOver(t, s, "raw", e, false) { // SQLite itself refuses some
			poisoned(t, s, map[string]string{"raw": e})
		}
	}
}

// declaredOver declares a private table over a source, with or without the unit note. It
// reports whether the declaration was accepted.
func declaredOver(t *testing.T, s *engine.Session, from, about string, unit bool) bool {
	t.Helper()
	with := ` WITH (epsilon = 10, delta = 1e-6)`
	if unit {
		with = ` WITH (epsilon = 10, delta = 1e-6, unit = note, max_rows = 2)`
	}
	_, err := s.Exec(context.Background(), `CREATE PRIVATE TABLE p_`+from+` (a INTEGER IN (0, 1)) FROM `+from+with, nil)
	if err != nil && sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("%s: the declaration is refused with %v", about, err)
	}
	return err == nil
}

// poisoned adds the rows and queries the tables over the sources.
func poisoned(t *testing.T, s *engine.Session, sources map[string]string) {
	t.Helper()
	raw := plain(t, s)
	for _, row := range poison {
		if _, err := raw.Exec(`INSERT INTO raw (age, note) VALUES (?, ?)`, row...); err != nil && sources["raw"] == "" { // a column can refuse a row
			t.Fatal(err)
		}
	}
	must(t, s, `SET accuracy = 100`)
	for from, about := range sources {
		if _, err := s.Exec(context.Background(), `SELECT COUNT(*) FROM p_`+from+` WHERE a = 1`, nil); err != nil {
			t.Errorf("%s: a private row makes an answer fail with %v", about, err)
		}
	}
}

// TestStoreErrorsAreReplaced makes every write of the catalog fail with a text of
// SQLite's, which could quote a row. No user sees the text.
func TestStoreErrorsAreReplaced(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE MECHANISM live ON admissions (age) USING SMW WITH (epsilon = 1)`)
	for _, table := range []string{"answers", "objects", "history", "ledger"} {
		for _, event := range []string{"INSERT", "UPDATE"} {
			fill(t, s, fmt.Sprintf(`CREATE TRIGGER %s_%s BEFORE %[2]s ON dpsql_%[1]s BEGIN SELECT RAISE(ABORT, 'MARKER'); END`, table, event))
		}
	}
	must(t, s, `SET accuracy = 100`)
	for _, text := range []string{`SELECT COUNT(*) FROM admissions`, `CREATE RELEASE r ON admissions (age) USING PROJECTION WITH (epsilon = 0.1)`,
		`CREATE MECHANISM m ON admissions (age) USING SMW WITH (epsilon = 0.1)`, `CREATE PUBLIC TABLE raw_other`, `DROP MECHANISM live`,
		`CREATE PRIVATE TABLE x (sex TEXT) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`} {
		if e := refusal(t, s, text); strings.Contains(fmt.Sprintf("%+v", *e), marker) {
			t.Errorf("%s\nquotes the database: %+v", text, *e)
		}
	}
}

// TestNoTrueCountIsHeld asks queries with recognisable true counts in every way. It finds
// none of these counts in anything that a user of the package can hold, reach, print or
// encode. The random bits have fixed seeds, and with these no answer happens to be exact.
func TestNoTrueCountIsHeld(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "counts.db"), engine.Options{}).NewSession()
	fixed(s.DB(), 200)
	fill(t, s, `CREATE TABLE raw (sex TEXT, zip TEXT)`,
		`INSERT INTO raw SELECT iif(i <= 27182, 'F', 'M'), iif(i <= 11113, '15211', '15212') FROM `+numbers(31337))
	truths := regexp.MustCompile(`\b(31337|27182|11113|4155|16069)\b`) // all, F, F and M by zip
	held := []any{s.DB(), s}
	for _, text := range []string{
		`CREATE PRIVATE TABLE p (sex TEXT IN ('F', 'M'), zip TEXT) FROM raw WITH (epsilon = 4, delta = 1e-6)`,
		`CREATE RELEASE cells ON p (sex) USING PROJECTION WITH (epsilon = 0.1)`,
		`CREATE RELEASE zips ON p USING PROJECTION WITH (epsilon = 0.1, rows = 64)`,
		`CREATE RELEASE dense ON p (sex) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`,
		`CREATE RELEASE cube ON p (sex) USING SMW WITH (epsilon = 0.5, free_columns = 1, max_updates = 2)`,
		`CREATE MECHANISM live ON p USING SMW WITH (epsilon = 1, max_updates = 3, max_support = 9, queries = 10)`,
		`SHOW TABLES`, `SELECT COUNT(*) FROM p WHERE sex = 'F'`, `SET mechanism = live`, `SELECT COUNT(*) FROM p WHERE sex = 'F' AND zip = '15211'`,
		`SELECT COUNT(*) FROM p WHERE sex = 'F' AND zip = '15212'`, `SELECT COUNT(*) FROM p WHERE zip = '15212' AND sex = 'M'`,
		`SET mechanism = direct`, `SET accuracy = 90`, `SELECT COUNT(*) FROM p`, `SELECT COUNT(*) FROM p WHERE sex <> 'F'`,
		`EXPLAIN SELECT COUNT(*) FROM p`, `SHOW LEDGER`, `SHOW MECHANISMS`,
	} {
		held = append(held, must(t, s, text))
	}
	held = append(held, refused(t, s, sqlerr.Unknown, `SELECT COUNT(*) FROM nowhere`), s.Settings())
	if err := s.DB().Answers().Close(); err != nil { // nothing changes after this
		t.Fatal(err)
	}
	address := regexp.MustCompile(`0x[0-9a-f]+`)
	for _, v := range held {
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
		}
		for _, text := range []string{fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v), string(encoded)} {
			if found := truths.FindString(address.ReplaceAllString(text, "")); found != "" {
				t.Errorf("%T prints the true count %s: %.300s", v, found, text)
			}
		}
		w := walk{truths: truths, been: make(map[visit]bool)}
		w.into(reflect.ValueOf(v), fmt.Sprintf("%T", v))
		for _, where := range w.found {
			t.Errorf("a true count is held in %s", where)
		}
		if db, ok := v.(*engine.DB); ok && (!w.been[visit{reflect.ValueOf(db.Answers().Live).Pointer(), reflect.TypeFor[answer.LiveMechanisms]()}] || len(w.been) < 50) {
			t.Errorf("only %d places of the database were looked into", len(w.been))
		}
	}
	exportedTypes(t)
}

// walk looks for true counts in everything that can be reached from a value, including
// unexported fields. It leaves out SQLite's connections: their pages are the file itself.
type walk struct {
	truths *regexp.Regexp
	been   map[visit]bool
	found  []string
}

type visit struct {
	pointer uintptr
	of      reflect.Type
}

func (w *walk) into(v reflect.Value, where string) {
	switch k := v.Kind(); {
	case k == reflect.Pointer && !v.IsNil():
		at := visit{v.Pointer(), v.Type().Elem()}
		if pkg := v.Type().Elem().PkgPath(); !w.been[at] && pkg != "database/sql" && !strings.HasPrefix(pkg, "modernc.org/") {
			w.been[at] = true
			w.into(v.Elem(), where)
		}
	case k == reflect.Interface && !v.IsNil():
		w.into(v.Elem(), where)
	case v.Type() == reflect.TypeFor[source.Histogram]():
		// The cells in memory are true counts, and print only their type: see
		// TestCellsArePrintedNowhere.
	case k == reflect.Struct:
		for i := range v.NumField() {
			w.into(v.Field(i), where+"."+v.Type().Field(i).Name)
		}
	case k == reflect.Map:
		for each := v.MapRange(); each.Next(); {
			w.into(each.Key(), where+"[key]")
			w.into(each.Value(), where+"[]")
		}
	case (k == reflect.Slice || k == reflect.Array) && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			w.into(v.Index(i), where+"[]")
		}
	case v.CanInt(), v.CanUint(), v.CanFloat(), k == reflect.String:
		if text := fmt.Sprint(v); w.truths.MatchString(text) {
			w.found = append(w.found, where+" = "+text)
		}
	}
}

// exportedTypes fails if the package exports a type that is not listed here. Each type in
// the list was checked for true counts. ImportReport.Rows is the number of rows that a
// curator loaded from a file of his own.
func exportedTypes(t *testing.T) {
	t.Helper()
	known := []string{"Answer", "Column", "Cost", "DB", "Import", "ImportReport", "Input", "Options", "Result", "Role", "Scanner", "Session", "Settings",
		"Vocabulary", "Shape", "ShapeColumn", // declared names and values
		"Interval", "Span", // bounds of a noisy answer
		"Bound",                // how one of them is rounded
		"ImportDialect",        // how a file separates fields
		"Kept",                 // part of a declaration
		"Prepared",             // a text
		"Type",                 // a name
		"Price",                // of a plan, from public data
		"Unknown",              // a reason, from the form of a statement
		"Shape", "ShapeColumn", // declared names, types and domains
		"Rehearsal"} // the public catalog; see TestRehearsalReadsNoRows
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() && !slices.Contains(known, spec.Name.Name) {
				t.Errorf("%s: can the exported type %s hold a true count? Add it to the list if not", name, spec.Name.Name)
			}
			return true
		})
	}
}

// TestExportHoldsNothingPrivate searches the bytes of exported files for markers of
// private rows, live and deleted, for the name of their table, and for anything else that
// the release does not need.
func TestExportHoldsNothingPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "origin.db"), engine.Options{}).NewSession()
	s.SetDirectory(dir)
	fill(t, s, `CREATE TABLE MARKER_source (sex TEXT, zip TEXT, MARKER_column TEXT)`, `CREATE TABLE MARKER_other (a)`,
		`INSERT INTO MARKER_source SELECT iif(i % 2, 'F', 'MARKER_M'), 'MARKER_' || (i % 7), zeroblob(90) FROM `+numbers(3000),
		`DELETE FROM MARKER_source WHERE rowid % 3 = 0`,
		`CREATE VIEW MARKER_view AS SELECT sex, zip FROM MARKER_source WHERE MARKER_column <> 'MARKER'`)
	for _, text := range []string{
		`CREATE PRIVATE TABLE p (sex TEXT IN ('F', 'M'), zip TEXT) FROM MARKER_view WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE RELEASE cells ON p (sex) USING PROJECTION WITH (epsilon = 0.1)`,
		`CREATE RELEASE zips ON p USING PROJECTION WITH (epsilon = 0.1, rows = 512)`,
		`CREATE RELEASE thick ON p (sex) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`,
		`CREATE RELEASE cube ON p (sex) USING SMW WITH (epsilon = 0.5, free_columns = 1, max_updates = 2)`,
		`CREATE MECHANISM MARKER_live ON p USING SMW WITH (epsilon = 1, max_support = 9)`,
		`SET accuracy = 100`, `SELECT COUNT(*) FROM p WHERE zip = 'MARKER_1' OR sex = 'F'`,
	} {
		must(t, s, text)
	}
	for name, where := range map[string]string{"cells": "", "zips": " AND zip = '15213'", "thick": "", "cube": ""} {
		must(t, s, `EXPORT RELEASE `+name+` TO '`+name+`.db'`)
		file, err := os.ReadFile(filepath.Join(dir, name+".db"))
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(bytes.ToUpper(file), []byte(marker)); at >= 0 {
			t.Errorf("%s.db holds %q", name, file[at:min(at+40, len(file))])
		}
		out := open(t, filepath.Join(dir, name+".db"), engine.Options{Role: engine.Analyst, ReadOnly: true}).NewSession()
		must(t, out, `SELECT COUNT(*) FROM p WHERE sex = 'F'`+where)
		for rows, want := range map[string]int{"objects": 3, "objects WHERE kind = 'column list'": 1, "objects WHERE kind = 'private table'": 1, "objects WHERE kind = 'release'": 1, "ledger": 0, "answers": 0, "history": 0} {
			var n int
			if err := plain(t, out).QueryRow(`SELECT COUNT(*) FROM dpsql_` + rows).Scan(&n); err != nil || n != want {
				t.Errorf("%s.db: dpsql_%s are %d rows, want %d (%v)", name, rows, n, want, err)
			}
		}
	}
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	if origin, err := os.ReadFile(filepath.Join(dir, "origin.db")); err != nil || !bytes.Contains(origin, []byte("MARKER_6")) {
		t.Errorf("the markers are not in the file that was exported from: %v", err)
	}
}

// served are statements that are charged. Each has only one way to be answered, so no
// output decides which way it is.
var served = []string{
	`CREATE RELEASE a ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.1)`, `SET mechanism = a`,
	`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age = 3`, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE zip = '15211'`,
	`CREATE RELEASE b ON admissions (diagnosis, zip) USING PROJECTION WITH (epsilon = 0.1, rows = 512)`, `SET mechanism = b`,
	`SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E10' AND zip = '15211'`, `SELECT COUNT(*) FROM admissions WHERE zip IN ('1', NULL)`,
	`CREATE RELEASE c ON admissions (sex) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`, `SET mechanism = c`,
	`SELECT COUNT(*) FROM admissions`, `SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions WHERE sex IS NULL`,
	`CREATE MECHANISM m ON admissions (age) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 5)`, `SET mechanism = m`,
	`SELECT COUNT(*) FROM admissions WHERE age = 5`, `SELECT COUNT(*) FROM admissions WHERE age = 5 OR age = 5`,
	`CREATE RELEASE d ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 0.5, free_columns = 1, max_updates = 2)`, `SET mechanism = d`,
	`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND diagnosis = 'E10'`,
	`SET mechanism = direct`, `SET accuracy = 70`, `SELECT COUNT(*) FROM admissions WHERE zip <> 'x' OR age = 4`, `SELECT COUNT(*) FROM admissions`,
	`SELECT COUNT(*) FROM admissions WHERE age = 500`, `SELECT COUNT(*) FROM admissions WHERE zip`, `SHOW BUDGET`, `SHOW LEDGER`, `SHOW RELEASES`,
}

// TestEmptyTableAnswersLikeAnyOther charges a table without rows, and the clinic, with the
// same random bits. Everything but the outputs is the same: columns, the release or
// mechanism that answers, cost, warnings, refusals, the ledger.
func TestEmptyTableAnswersLikeAnyOther(t *testing.T) {
	t.Parallel()
	d := clinicAt(t, t.TempDir()+"/clinic.db")
	path := d.DB().Store().Path()
	if err := d.DB().Close(); err != nil {
		t.Fatal(err)
	}
	want := outlines(t, neighbour(t, path, change{text: `SELECT 1`}))
	for i, got := range outlines(t, neighbour(t, path, change{text: `DELETE FROM raw_admissions`})) {
		if got != want[i] {
			t.Errorf("without rows\n%s\nis\n%s", want[i], got)
		}
	}
	if n := strings.Count(strings.Join(want, ""), "Via:"); n != 11 {
		t.Errorf("%d queries were answered, want 11:\n%s", n, strings.Join(want, "\n"))
	}
}

// outlines returns what the statements show, except outputs: estimates, margins, how many
// cells a release published, and whether a hypothesis learned enough to state a margin.
func outlines(t *testing.T, path string) (shown []string) {
	t.Helper()
	s := open(t, path, engine.Options{}).NewSession()
	fixed(s.DB(), 6000)
	for _, text := range served {
		r, err := s.Exec(context.Background(), text, nil)
		if err == nil && r.Answer != nil {
			a := *r.Answer
			a.Margins, a.Intervals, a.Bounds, a.Verified = nil, nil, nil, false
			r = &engine.Result{Columns: r.Columns, Answer: &a, Warnings: r.Warnings}
		}
		line := written(r, err, []string{"at", "hash", "created", "bytes", "margin"})
		line = regexp.MustCompile(`, \d+ updates, (in)?complete|\d+ heavy cells`).ReplaceAllString(line, "")
		shown = append(shown, text+"\n"+regexp.MustCompile(`"the runs ended before [^"]*"`).ReplaceAllString(line, ""))
	}
	return shown
}

// TestNothingIsLogged runs statements of every kind, including some that fail, on rows
// outside all domains. Nothing is written to the standard streams or the standard logger.
func TestNothingIsLogged(t *testing.T) {
	d := vault(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "streams"))
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	log.SetOutput(&logged)
	defer func() {
		os.Stdout, os.Stderr = out, errs
		log.SetOutput(os.Stderr)
	}()
	shown := confess(t, neighbour(t, d, odd("one")))
	os.Stdout, os.Stderr = out, errs
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file.Name())
	if err != nil || len(written)+logged.Len() > 0 || len(shown) < 20 {
		t.Errorf("%d statements wrote %q and logged %q (%v)", len(shown), written, logged.String(), err)
	}
}
