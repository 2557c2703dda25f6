package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/internal/released"
	"dpsql/internal/seeds"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// These tests check the engine against the definition of neighbours. Two databases that
// differ in one private row, and in nothing that was released, must look the same in
// everything except the outputs of mechanisms. Nothing here is random: earlier releases
// are copied, and draws are scripted.

// seen runs a statement and returns everything it shows, except the elapsed time and
// hidden columns.
func seen(s *engine.Session, hidden []string, text string, args ...query.Value) string {
	r, err := s.Exec(context.Background(), text, args)
	return written(r, err, hidden)
}

func written(r *engine.Result, err error, hidden []string) string {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return fmt.Sprintf("%#v", *e)
	case err != nil:
		return fmt.Sprintf("an error of type %T: %v", err, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", r.Columns)
	for _, row := range r.Rows {
		for i, v := range row {
			if !slices.Contains(hidden, r.Columns[i].Name) {
				fmt.Fprintf(&b, "|%T %v", v, v)
			}
		}
		b.WriteString("\n")
	}
	if r.Answer != nil {
		fmt.Fprintf(&b, "%#v", *r.Answer)
	}
	fmt.Fprintf(&b, "%q", r.Warnings)
	return b.String()
}

// hospital makes a database in which everything that can be released has been, over n rows
// whose columns can hold any value, and closes it. Its noise has fixed seeds.
func hospital(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hospital.db")
	s := open(t, path, engine.Options{}).NewSession()
	fixed(s.DB(), 1000)
	fill(t, s, `CREATE TABLE raw (sex, age, diagnosis, zip)`, `CREATE INDEX by_age ON raw (age)`,
		`CREATE TABLE icd10 (code TEXT UNIQUE, label TEXT)`, `INSERT INTO icd10 VALUES ('E10', 'type 1'), ('E11', 'type 2')`,
		`CREATE TABLE secret (name TEXT)`,
		`CREATE VIEW labelled AS SELECT r.sex, r.age, c.label FROM raw r LEFT JOIN icd10 c ON c.code = r.diagnosis`,
		`CREATE VIEW dated AS SELECT sex, age || '-' || zip AS place, CAST(julianday(min(zip, ':')) AS INTEGER) % 7 AS day, instr(diagnosis, '1') AS one FROM raw WHERE round(age) IS NOT 3`,
		`INSERT INTO raw SELECT iif(i % 2, 'F', 'M'), i % 50, iif(i % 3, 'E10', 'E11'), '1521' || (i % 5) FROM `+numbers(n),
		`ANALYZE`)
	for _, text := range []string{
		`CREATE PUBLIC TABLE icd10`,
		`CREATE PRIVATE TABLE people (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120 OR NULL,
			diagnosis TEXT IN (SELECT code FROM icd10), zip TEXT) FROM raw WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE PRIVATE TABLE labels (sex TEXT IN ('F', 'M'), label TEXT IN (SELECT label FROM icd10) OR NULL)
			FROM labelled WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE PRIVATE TABLE places (sex TEXT IN ('F', 'M'), place TEXT, day INTEGER BETWEEN 0 AND 6 OR NULL, one INTEGER IN (0, 2)) FROM dated WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE RELEASE cells ON people (sex, age) USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE RELEASE zips ON people (diagnosis, zip) USING PROJECTION WITH (epsilon = 0.5, rows = 1024, max_support = 2)`,
		`CREATE RELEASE thick ON people (sex, diagnosis) USING PROJECTION WITH (epsilon = 1, transform = dense, rows = 64)`,
		`CREATE RELEASE cube ON people (sex, diagnosis) USING SMW WITH (epsilon = 1, free_columns = 1, max_updates = 2)`,
		`CREATE PRIVATE TABLE moments (sex TEXT IN ('F', 'M'), age TIMESTAMP BETWEEN '1970-01-01' AND '1970-01-01 00:02:00' STEP '1 second' STORED AS unix) FROM raw WITH (epsilon = 10, delta = 1e-6)`,
		`CREATE RELEASE seconds ON moments USING PROJECTION WITH (epsilon = 0.2)`,
		`CREATE RELEASE coarse ON labels USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE MECHANISM live ON people (age, zip) USING SMW
			WITH (epsilon = 3, max_updates = 4, max_support = 500, queries = 50, beta = 0.5)`,
		`SET mechanism = live`,
		`SELECT COUNT(*) FROM people WHERE age < 100 AND zip = '15211'`,
		`SELECT COUNT(*) FROM people WHERE age = 3 AND zip = '99999'`,
		`SET mechanism = direct`, `SET accuracy = 60`,
		`SELECT COUNT(*) FROM people`,
		`SELECT COUNT(*) FROM people WHERE zip <> '15213' OR age IS NULL`,
		`SELECT COUNT(*) FROM labels WHERE label IS NULL`,
		`SELECT MEDIAN(age), COUNT(DISTINCT diagnosis) FROM people WHERE zip = '15213' WITH ACCURACY 100`,
	} {
		must(t, s, text)
	}
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// neighbour copies a closed database and changes the private rows of the copy.
func neighbour(t *testing.T, path string, c change) string {
	t.Helper()
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(other, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec(c.text, c.args...); err != nil {
		t.Fatalf("%s: %v", c.text, err)
	}
	if _, err := raw.Exec(`ANALYZE`); err != nil { // statistics also derive from private rows
		t.Fatal(err)
	}
	return other
}

// catalogOf writes every dpsql_ table of a file.
func catalogOf(t *testing.T, path string) string {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	var b strings.Builder
	for _, table := range []string{"objects", "payloads", "history", "answers", "ledger"} {
		rows, err := raw.Query(`SELECT * FROM dpsql_` + table)
		if err != nil {
			t.Fatal(err)
		}
		names, _ := rows.Columns()
		for rows.Next() {
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range into {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %v\n", table, values)
		}
		rows.Close()
	}
	return b.String()
}

// settings are the settings under which the selects run, the common ones first.
var settings = []string{``, `accuracy = 60; confidence = 0.9`, `mechanism = smw`, `mechanism = direct; accuracy = 0.001`,
	`accuracy = 1000; clamp = on`, `accuracy = 0.001`, `confidence = 0.9999; unverified = off`, `mechanism = projection`, `mechanism = live`,
	`mechanism = nowhere`}

const commonSettings = 4

// selects are queries of every kind: covered by one release or several, with a stored
// answer, uncovered, empty, and with a warning.
var selects = []string{
	`SELECT COUNT(*), MARGIN(COUNT(*)) FROM people WHERE sex = 'F' AND age < 40`,
	`SELECT COUNT(*) AS n, MARGIN(n) FROM main.people WHERE sex IS NULL`,
	`SELECT COUNT(age) FROM people WHERE age IS NULL OR age > 3`,
	`SELECT COUNT(*) FROM people WHERE diagnosis = 'E10' AND zip = '15213'`,
	`SELECT COUNT(*) FROM people WHERE sex = 'M' AND diagnosis = 'E11'`,
	`SELECT COUNT(*) FROM people WHERE diagnosis <> 'E10'`,
	`SELECT COUNT(*) FROM people WHERE zip IN ('15213', '15214', '15215') AND diagnosis = 'E10'`,
	`SELECT COUNT(*) FROM people WHERE age <= 99 AND zip IN ('15211')`,
	`SELECT COUNT(*) FROM people WHERE NOT (age <> 3 OR zip <> '99999')`,
	`SELECT COUNT(*) FROM people`,
	`SELECT COUNT(*) FROM people WHERE NOT (zip = '15213' AND age IS NOT NULL)`,
	`SELECT COUNT(*) FROM people WHERE zip = '15213' OR sex = 'F' AND age = 7`,
	`SELECT COUNT(*) FROM people WHERE age = 1000 OR age IN (7, 99999999999999999999)`,
	`SELECT COUNT(*) FROM people WHERE sex = 'X'`,
	`SELECT COUNT(*) FROM people WHERE 1 = 2`,
	`SELECT COUNT(*) FROM labels WHERE label = 'type 1'`,
	`SELECT COUNT(*) FROM labels WHERE label IS NULL`,
	`SELECT sex, COUNT(*), MARGIN(COUNT(*)) FROM people GROUP BY sex HAVING COUNT(*) > 10 ORDER BY 2 DESC LIMIT 2`,
	`SELECT age / 10, AVG(age), SUM(CASE WHEN sex = 'F' THEN 1 END) FROM people GROUP BY 1`,
	`SELECT zip, COUNT(*) FROM people WHERE zip IN ('15213', '15214') AND diagnosis = 'E10' GROUP BY zip`,
	`SELECT label, COUNT(*) FROM people JOIN icd10 ON diagnosis = code WHERE sex = 'M' GROUP BY label`,
	`WITH p AS (SELECT age AS a FROM people WHERE sex = 'F') SELECT AVG(a), COUNT(*) FROM p WHERE a < 40`,
	`SELECT sex, MEDIAN(age) AS m, LOW(m), HIGH(m), MIN(age), COUNT(DISTINCT age) FROM people GROUP BY sex`,
	`SELECT QUANTILE(age, 0.75), COUNT(DISTINCT diagnosis) FROM people WHERE zip = '15213'`,
	`SELECT MEDIAN(age) AS m, LOW(m), HIGH(m), MARGIN(m), MAX(age), COUNT(DISTINCT age) FROM moments WHERE sex = 'F'`,
	`SELECT COUNT(*) FROM places WHERE place = '7-15213' AND one = 2`,
	`SELECT day, COUNT(*) FROM places WHERE sex = 'M' GROUP BY day`,
}

// strays are refused under all settings.
var strays = []string{
	`SELECT COUNT(*) FROM people WHERE shoe = 3`,
	`SELECT COUNT(*) FROM people WHERE age = 'old'`,
	`SELECT COUNT(*) FROM people WHERE age = sex`,
	`SELECT COUNT(*) FROM people WHERE zip > '1'`,
	`SELECT SUM(zip) FROM people`,
	`SELECT MEDIAN(zip) FROM people`,
	`SELECT MAX(age) - MIN(age) FROM moments`,
	`SELECT COUNT(*) FROM people GROUP BY zip`,
	`SELECT COUNT(*) FROM people JOIN secret ON zip = name`,
	`SELECT COUNT(*) FROM raw`,
	`SELECT COUNT(*) FROM secret`,
	`SELECT COUNT(*) FROM icd10`,
	`SELECT COUNT(*) FROM nowhere`,
	`SELECT COUNT(*) FROM people WHERE`,
}

// commands show the catalog or are refused, for an analyst or a curator.
var commands = []string{`SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`, `SHOW LEDGER`, `SHOW SETTINGS`, `SHOW ROWS`,
	`DESCRIBE people`, `DESCRIBE labels`, `DESCRIBE icd10`, `DESCRIBE raw`, `DESCRIBE secret`, `DESCRIBE labelled`,
	`SET accuracy = 0`, `SET colour = red`, `FETCH 1`, `PRAGMA table_info(raw)`, `EXPLAIN QUERY PLAN SELECT * FROM raw`, `'`,
	`CREATE RELEASE x ON people (age) USING PROJECTION WITH (epsilon = 9)`, `CREATE RELEASE cells ON people USING PROJECTION WITH (epsilon = 1)`,
	`CREATE RELEASE x ON people USING PROJECTION WITH (epsilon = 1, transform = identity)`,
	`CREATE RELEASE x ON people (age) USING PROJECTION WITH (epsilon = 1, transform = dense, max_support = 64)`,
	`CREATE MECHANISM x ON people (age) USING SMW WITH (epsilon = 4.9)`, `CREATE MECHANISM x ON people (age) USING SMW WITH (epsilon = 0.1, alpha = 0.0001)`,
	`CREATE PRIVATE TABLE x (age INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 1)`,
	`CREATE PRIVATE TABLE x (age TEXT IN (SELECT age FROM raw)) FROM raw WITH (epsilon = 10, delta = 1e-6)`,
	`CREATE PUBLIC TABLE raw`, `CREATE PUBLIC TABLE labelled`, `DROP PRIVATE TABLE people`, `DROP RELEASE x`, `EXPORT RELEASE x TO 'x.db'`}

// free reports whether a result explains a SELECT that can cost and draw nothing: no
// candidate is chosen, or one whose answer is known.
func free(r *engine.Result) bool {
	for _, row := range r.Rows {
		note, _ := row[len(row)-1].(string)
		if strings.HasPrefix(note, "chosen") && (row[5] != "0" || row[0] == "live" && !strings.Contains(note, released.StoredNote)) {
			return false
		}
	}
	return true
}

// onlooker queries a database and keeps the outcomes.
type onlooker struct {
	s            *engine.Session
	asked, shown []string
}

// ask runs a statement. It reports whether the statement was refused, or explains a SELECT
// that is free.
func (o *onlooker) ask(under, text string, args ...query.Value) bool {
	r, err := o.s.Exec(context.Background(), text, args)
	o.asked = append(o.asked, fmt.Sprintf("[%s] %s %v", under, text, args))
	o.shown = append(o.shown, written(r, err, nil))
	return err != nil || free(r)
}

// look runs everything that costs nothing or is refused. A curator uses only one setting.
// Nothing may draw noise; a curator's statements may draw names before they are refused.
func look(t *testing.T, path string, role engine.Role, settings []string) *onlooker {
	t.Helper()
	db := open(t, path, engine.Options{Role: role})
	if role == engine.Analyst {
		db.SetRandom(func() *noise.Source {
			t.Error("a statement that is free or refused has drawn noise")
			return noise.NewSource()
		})
	}
	o := &onlooker{s: db.NewSession()}
	for _, text := range slices.Concat(commands, strays) {
		o.ask("", text)
	}
	o.ask("", `SELECT COUNT(*) FROM people WHERE zip = ? AND diagnosis = ?`, query.Text("\xff"), query.Text("E10"))
	o.ask("", `EXPLAIN SELECT COUNT(*) FROM people WHERE age = ?`, query.Int(-1))
	o.ask("", `SELECT COUNT(*) FROM people WHERE age = ?`)
	for n, under := range settings {
		if role == engine.Curator && under != "" {
			break
		}
		o.set(t, under)
		for i, text := range selects {
			if !*long && n > 0 && (i+n)%3 > 0 {
				continue
			}
			if o.ask(under, `EXPLAIN `+text) {
				o.ask(under, text)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *onlooker) set(t *testing.T, settings string) {
	t.Helper()
	o.s.Reset()
	for _, set := range strings.Split(settings, ";") {
		if set != "" {
			must(t, o.s, `SET `+set)
		}
	}
}

// A change makes a neighbour of a database.
type change struct {
	text string
	args []any
}

// additions add a row; alterations remove, rewrite or repeat one.
var (
	additions = []change{
		{`INSERT INTO raw VALUES ('F', 7, 'E10', '15213')`, nil},
		{`INSERT INTO raw VALUES (NULL, NULL, NULL, NULL)`, nil},
		{`INSERT INTO raw VALUES (1, 'seven', 2.5, x'15213f')`, nil},
		{`INSERT INTO raw VALUES ('X', -1, 'Z99', 'elsewhere')`, nil},
		{`INSERT INTO raw VALUES (9223372036854775807, -9223372036854775808, 1e308, '9' || 1e300)`, nil},
		{`INSERT INTO raw VALUES (CAST(x'ff00fe' AS TEXT), CAST(x'37ff' AS TEXT), 'E10', 'a' || char(0))`, nil},
		{`INSERT INTO raw VALUES ('now', 'localtime', zeroblob(1000000), 'NOW' || char(0) || '2')`, nil},
		{`INSERT INTO raw VALUES ('M', 3, 'E11', ?)`, []any{strings.Repeat("long ", 1<<15)}},
	}
	alterations = []change{
		{`DELETE FROM raw WHERE rowid = 7`, nil},
		{`UPDATE raw SET sex = 'M', age = 99, diagnosis = 'E11' WHERE rowid = 2`, nil},
		{`INSERT INTO raw SELECT * FROM raw WHERE rowid = 1`, nil},
		{`UPDATE raw SET age = x'00', sex = zeroblob(9), zip = 40.5 WHERE rowid = 3`, nil},
	}
)

// TestNeighboursLookAlike compares all statements that are free or refused, byte for byte,
// on databases that differ in one private row. By default it makes one of the changes of each
// database, and uses the common settings, all but the first for every third SELECT. With -long it uses all.
func TestNeighboursLookAlike(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	under := settings
	if !*long {
		under = settings[:commonSettings]
	}
	for _, c := range []struct {
		rows    int
		changes []change
	}{{400, slices.Concat(additions, alterations)}, {0, slices.Clone(additions[:3])}} {
		rows, changes := c.rows, c.changes
		random.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		changes = changes[:sized(0, 1, len(changes))]
		t.Run(fmt.Sprintf("%d rows", rows), func(t *testing.T) {
			t.Parallel()
			d := hospital(t, rows)
			before := catalogOf(t, d)
			analyst, curator := look(t, d, engine.Analyst, under), look(t, d, engine.Curator, under)
			mixed(t, analyst.shown)
			for _, c := range changes {
				other := neighbour(t, d, c)
				compare(t, c, look(t, other, engine.Analyst, under), analyst)
				compare(t, c, look(t, other, engine.Curator, under), curator)
				if catalogOf(t, other) != before {
					t.Errorf("%s: what is free or refused has changed the catalog", c.text)
				}
			}
		})
	}
}

// compare reports the first statement whose outcome differs between a neighbour and the
// original.
func compare(t *testing.T, c change, got, want *onlooker) {
	t.Helper()
	for i := range min(len(got.shown), len(want.shown)) {
		if got.shown[i] != want.shown[i] || got.asked[i] != want.asked[i] {
			t.Errorf("%s\nis seen by %s\nwas %s\nis  %s", c.text, want.asked[i], want.shown[i], got.shown[i])
			return
		}
	}
	if len(got.shown) != len(want.shown) {
		t.Errorf("%s: %d statements were free or refused, now %d", c.text, len(want.shown), len(got.shown))
	}
}

// mixed checks that statements of all kinds occurred.
func mixed(t *testing.T, shown []string) {
	t.Helper()
	all := strings.Join(shown, "\n")
	for _, code := range []sqlerr.Code{sqlerr.Malformed, sqlerr.Unsupported, sqlerr.Unknown, sqlerr.Invalid, sqlerr.Uncovered, sqlerr.Budget, sqlerr.Forbidden} {
		if !strings.Contains(all, fmt.Sprintf("Code:%q", string(code))) {
			t.Errorf("no statement was refused as %s", code)
		}
	}
	for _, via := range []string{"cells", "zips", "thick", "cube", "coarse", "live", "direct", "constant"} {
		if !strings.Contains(all, fmt.Sprintf("Via:%q", via)) {
			t.Errorf("no statement was answered by %s", via)
		}
	}
}
