package engine_test

import (
	"cmp"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

var update = flag.Bool("update", false, "write the expectations of testdata/sql anew")

// way is one way to answer: the declarations besides the table, and the first statements
// of a session. The noise of all ways is quiet.
type way struct {
	name    string
	declare []string
	begin   []string
	inexact string // why its answers may differ from the true ones, within their margins
	budget  string // the table's budget; smallBudget if empty
	only    string // the only file that it runs; all but ordered.sql and advise.sql if empty
}

// ways are all mechanisms and transforms. A sketch has 2¹⁶ buckets, so that no record with
// a row shares one with another record of a query.
var ways = []way{
	{name: "identity", declare: []string{goldenRelease(`transform = identity`)}},
	{name: "sparse", declare: append(zips, goldenRelease(`transform = sparse, heavy = none, rows = 65536`))},
	{name: "sparse, clip", declare: append(zips, goldenRelease(`delta = 1e-7, transform = sparse, heavy = clip, clip = 20, rows = 65536`))},
	{name: "sparse, named", declare: append(zips,
		`CREATE RELEASE cells ON visits (sex, age, town, score) USING PROJECTION WITH (epsilon = 20, delta = 1e-7, transform = sparse, heavy = named, rows = 65536)`),
		budget: largeBudget},
	{name: "dense", declare: []string{goldenRelease(`transform = dense, rows = 128`)}, begin: []string{`SET confidence = 0.999999`},
		inexact: "a dense sketch spreads every record over all of its rows"},
	{name: "marginals", declare: []string{goldenMarginals(`degree = 4, estimate = unbiased`)}},
	{name: "marginals, keys", declare: []string{
		`CREATE RELEASE zips ON visits (zip) USING PROJECTION WITH (epsilon = 0.5, delta = 1e-8, heavy = clip, clip = 1, rows = 65536)`,
		`CREATE RELEASE cells ON visits USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 5, estimate = unbiased, keys = zips)`}, begin: []string{`SET mechanism = cells`}, only: "keys.sql"},
	{name: "marginals, fitted", declare: []string{goldenMarginals(`degree = 2`)}, inexact: "the fit goes no further than the noise would allow", only: "enclosed.sql"},
	{name: "smw, classes", declare: []string{goldenMechanism(`classes`)}, budget: largeBudget,
		inexact: "what does not fire is answered by the hypothesis, which is within the threshold"},
	{name: "smw, uniform", declare: []string{goldenMechanism(`uniform`)}, budget: largeBudget,
		inexact: "as above"},
	{name: "smw release", declare: []string{`CREATE RELEASE cells ON visits (sex, age, town, score) USING SMW WITH (epsilon = 495, max_updates = 100, free_columns = 3)`},
		budget: largeBudget, inexact: "as above; and beyond conjunctions a hypothesis promises nothing"},
	{name: "smw, weights", declare: []string{`CREATE MECHANISM live ON visits (sex, age, town, score) USING SMW WITH (epsilon = 495, max_updates = 60, queries = 1000, max_weight = 180)`},
		budget: largeBudget, inexact: "as above", only: "weights.sql"},
	{name: "smw release, weights", declare: []string{`CREATE RELEASE cells ON visits (sex, age, town, score) USING SMW WITH (epsilon = 495, max_updates = 100, workload = 'weights.workload')`},
		budget: largeBudget, inexact: "as above", only: "weights.sql"},
	{name: "direct", begin: []string{`SET accuracy = 100`}},
	{name: "advice", declare: []string{goldenStays}, only: "advise.sql"},
	{name: "ordered", declare: []string{goldenStays, `CREATE RELEASE came ON stays (sex, came) USING PROJECTION WITH (epsilon = 20)`,
		`CREATE RELEASE at ON stays (at) USING PROJECTION WITH (epsilon = 20)`, `CREATE RELEASE cost ON stays (cost, fee) USING PROJECTION WITH (epsilon = 20)`}, only: "ordered.sql"},
	{name: "ordered, direct", declare: []string{goldenStays}, begin: []string{`SET accuracy = 20`}, inexact: "MIN and MAX are what the noise allows", only: "ordered.sql"},
}

// zips is a release of a column without a domain, which only a sketch can hold.
var zips = []string{`CREATE RELEASE zips ON visits (age, zip) USING PROJECTION WITH (epsilon = 0.5, transform = sparse, heavy = none, rows = 65536)`}

const (
	smallBudget = "epsilon = 4, delta = 1e-6"
	largeBudget = "epsilon = 1000, delta = 1e-6" // makes thresholds small, which do not vanish with the noise
)

func goldenRelease(with string) string {
	return `CREATE RELEASE cells ON visits (sex, age, town, score) USING PROJECTION WITH (epsilon = 1, ` + with + `)`
}

func goldenMarginals(with string) string {
	return `CREATE RELEASE cells ON visits (sex, age, town, score) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, ` + with + `)`
}

func goldenMechanism(prior string) string {
	return `CREATE MECHANISM live ON visits (sex, age, town, score) USING SMW WITH (epsilon = 495, max_updates = 60, queries = 1000, prior = ` + prior + `)`
}

// goldenTable is 240 visits with 23 different records, three of them heavy, and rows that
// belong to no record: out of their domains, or with a NULL that no domain has.
var goldenTable = []string{
	`CREATE TABLE raw_visits (sex TEXT, age INTEGER, town TEXT, score INTEGER, zip TEXT)`,
	`CREATE TABLE towns (name TEXT, region TEXT, height INTEGER)`,
	`INSERT INTO towns VALUES ('Ash', 'north', 120), ('Elm', 'north', 80), ('Oak', 'south', 80), ('100%', 'south', NULL)`,
	`CREATE TABLE risks (town TEXT, weight REAL, cost REAL)`,
	`INSERT INTO risks VALUES ('Ash', 0.1, 1.5), ('Elm', 0.35, -0.5), ('Oak', 1, 4), ('100%', 0.8, NULL)`,
	`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 239)
		INSERT INTO raw_visits SELECT
			CASE WHEN i < 120 THEN CASE i / 40 WHEN 0 THEN 'F' WHEN 1 THEN 'M' END WHEN i % 4 = 0 THEN NULL WHEN i % 2 THEN 'F' ELSE 'M' END,
			CASE WHEN i < 120 THEN i / 40 + 3 ELSE i % 10 END,
			CASE WHEN i < 120 OR i % 4 < 2 THEN 'Elm' WHEN i % 4 = 2 THEN 'Ash' ELSE '100%' END,
			CASE WHEN i < 120 THEN i / 40 - 1 ELSE i % 5 - 2 END,
			CASE WHEN i % 20 = 19 THEN NULL WHEN i % 3 THEN '15213' ELSE '15217' END FROM n`,
	`CREATE TABLE raw_stays AS SELECT sex, date('2024-01-01', (age * age * 4) || ' days') AS came, datetime('2024-01-01', (age * 71) || ' hours') AS at,
		CASE score WHEN 2 THEN NULL ELSE 12.5 * (score + 2) * (score + 1) END AS cost, age / 10.0 AS fee FROM raw_visits`,
	`INSERT INTO raw_visits VALUES ('F', 10, 'Elm', 0, '15213'), ('X', 1, 'Elm', 0, '15213'), ('F', 1, 'Yew', 0, '15213'), ('F', 1, 'Elm', NULL, '15213')`,
}

// goldenStays has columns whose values have an order and are no integers to a user.
const goldenStays = `CREATE PRIVATE TABLE stays (sex TEXT IN ('F', 'M', NULL), came DATE BETWEEN '2024-01-01' AND '2024-12-31',
	at TIMESTAMP BETWEEN '2024-01-01' AND '2024-01-31 18:00' STEP '6 hours', cost REAL BETWEEN 0 AND 100 STEP 10 OR NULL CLAMP, fee NUMERIC(4,1) BETWEEN 0 AND 2) FROM raw_stays WITH (epsilon = 200, delta = 1e-6)`

var goldenPublic = []string{`CREATE PUBLIC TABLE towns`,
	`CREATE PUBLIC TABLE risks (town TEXT, weight REAL BETWEEN 0 AND 1 STEP 0.05, cost REAL BETWEEN -1 AND 5 STEP 0.5 OR NULL)`}

const goldenDeclaration = `CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 9,
	town TEXT IN (SELECT name FROM towns), score INTEGER BETWEEN -3 AND 3, zip TEXT) FROM raw_visits WITH (%s)`

// make builds the database of a way.
func (w way) make(t *testing.T, path string) {
	t.Helper()
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	quieten(db)
	if strings.HasPrefix(w.name, "smw") { // the files have what these coins give
		coinsFrom(db, 102)
	}
	s := db.NewSession()
	s.SetDirectory("../testdata/sql")
	fill(t, s, goldenTable...)
	for _, text := range slices.Concat(goldenPublic, []string{fmt.Sprintf(goldenDeclaration, cmp.Or(w.budget, smallBudget))}, w.declare) {
		must(t, s, text)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestGolden runs the statements of testdata/sql under every way to answer, from a fresh
// database for each file. It compares the outcomes with the text under each statement:
// once for all ways that agree, and under its name for each way that differs. A way may
// differ in the rows of an answer only if it is inexact, and then its rows must lie within
// their margins. Nothing in the test is random. Without -long a file runs under its first way and
// under one in 24 of the others.
//
// go test ./engine -run TestGolden -update rewrites the files.
func TestGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("one statement at a time, for some seconds")
	}
	paths, err := filepath.Glob("../testdata/sql/*.sql")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	made := make([]string, len(ways))
	for i, w := range ways {
		if !slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(waysOf(path), i) }) {
			continue
		}
		made[i] = filepath.Join(t.TempDir(), "made.db")
		start := time.Now()
		w.make(t, made[i])
		t.Logf("%s: made in %v", w.name, time.Since(start))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".sql"), func(t *testing.T) {
			t.Parallel()
			goldenFile(t, path, made)
		})
	}
}

func goldenFile(t *testing.T, path string, made []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := readGolden(string(data))
	outcomes := make([][]outcome, len(cases)) // by case, then by the ways that run the file
	var here []way
	for _, i := range waysOf(path) {
		w := ways[i]
		here = append(here, w)
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := os.CopyFS(filepath.Dir(copied), os.DirFS(filepath.Dir(made[i]))); err != nil {
			t.Fatal(err)
		}
		for n, o := range w.run(t, filepath.Join(filepath.Dir(copied), "made.db"), cases) {
			outcomes[n] = append(outcomes[n], o)
		}
	}
	raw := goldenSQLite(t)
	for n := range cases {
		check(t, &cases[n], here, outcomes[n])
		sameAsSQLite(t, raw, &cases[n], outcomes[n][0])
	}
	if text := writeGolden(cases); *update && text != string(data) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// waysOf are the places of the ways that run a file.
func waysOf(path string) (here []int) {
	for i, w := range ways {
		if w.runs(filepath.Base(path)) && (len(here) == 0 || *long || *update || (i+len(path))%24 == 0) {
			here = append(here, i)
		}
	}
	return here
}

// runs reports whether a file is for a way.
func (w way) runs(file string) bool {
	return w.only == file || w.only == "" && file != "ordered.sql" && file != "advise.sql"
}

// outcome is the result of a statement under a way.
type outcome struct {
	result *engine.Result
	err    error
	text   []string
}

// run runs the statements of a file.
func (w way) run(t *testing.T, path string, cases []goldenCase) []outcome {
	s := open(t, path, engine.Options{}).NewSession()
	quieten(s.DB())
	s.SetDirectory("../testdata/sql")
	for _, text := range w.begin {
		must(t, s, text)
	}
	var all []outcome
	args := make(map[string]query.Value)
	for _, c := range cases {
		var o outcome
		if name, value, ok := c.parameter(); ok {
			args[name] = value
		} else {
			run := func(text string, args []query.Value) (*engine.Result, error) { return s.Exec(t.Context(), text, args) }
			if w.name == "identity" || w.name == "ordered" || w.only != "" {
				run = func(text string, args []query.Value) (*engine.Result, error) { return execDescribed(t, s, text, args) }
			}
			o.result, o.err = run(c.statement, argumentsOf(c.statement, args))
			o.text = o.lines()
		}
		all = append(all, o)
	}
	return all
}

// argumentsOf returns the values of a statement's parameters that have one.
func argumentsOf(text string, args map[string]query.Value) (values []query.Value) {
	names, _ := engine.Parameters(text) // Exec refuses malformed text
	for _, name := range names {
		if v, ok := args[name]; ok {
			values = append(values, v)
		}
	}
	return values
}

// check compares the outcomes of a case with the expectations and with each other.
func check(t *testing.T, c *goldenCase, ways []way, outcomes []outcome) {
	got := grouped(ways, func(i int) []string { return outcomes[i].text })
	for i, o := range outcomes {
		agree(t, c, ways[i], outcomes[0], o)
	}
	want := c.expected
	if !*long {
		want = grouped(ways, func(i int) []string { return c.under(ways[i]) })
	}
	if *update {
		c.expected = got
	} else if expectations(got) != expectations(want) {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.statement, expectations(got), expectations(want))
	}
}

// goldenCase is a statement and its expectations. The first expectation holds for the
// first way and for all ways that are not named later.
type goldenCase struct {
	before    string // comments and blank lines
	statement string
	expected  []expectation
}

type expectation struct {
	ways  []string
	lines []string
}

// grouped gathers the ways that have the same lines.
func grouped(ways []way, lines func(i int) []string) (all []expectation) {
	for i, w := range ways {
		n := slices.IndexFunc(all, func(e expectation) bool { return slices.Equal(e.lines, lines(i)) })
		if n < 0 {
			n = len(all)
			all = append(all, expectation{lines: lines(i)})
		}
		all[n].ways = append(all[n].ways, w.name)
	}
	return all
}

// under returns the lines that are expected of a way.
func (c *goldenCase) under(w way) []string {
	for i, e := range c.expected {
		if i > 0 && slices.Contains(e.ways, w.name) {
			return e.lines
		}
	}
	if len(c.expected) == 0 {
		return nil
	}
	return c.expected[0].lines
}

const (
	mark    = "--> "
	wayMark = "--> under "
)

// readGolden reads a file. It has comments, .parameter lines, and statements that end with
// a semicolon at the end of a line. Lines that begin with "-->" follow each.
func readGolden(text string) (cases []goldenCase) {
	var c goldenCase
	var open, done bool // in a statement, after one
	for _, line := range strings.SplitAfter(text, "\n") {
		body := strings.TrimRight(line, "\n")
		if done && strings.HasPrefix(body, mark) {
			c.expect(body)
			continue
		}
		if done {
			cases = append(cases, c)
			c, done = goldenCase{}, false
		}
		if !open && (body == "" || strings.HasPrefix(body, "--")) {
			c.before += line
			continue
		}
		c.statement += line
		done = strings.HasSuffix(body, ";") || strings.HasPrefix(body, ".")
		open = !done
	}
	if strings.TrimSpace(c.statement) != "" || c.before != "" {
		cases = append(cases, c)
	}
	return cases
}

// expect reads one line of an expectation.
func (c *goldenCase) expect(line string) {
	if names, ok := strings.CutPrefix(line, wayMark); ok {
		c.expected = append(c.expected, expectation{ways: strings.Split(strings.TrimSuffix(names, ":"), "; ")})
		return
	}
	if len(c.expected) == 0 {
		c.expected = []expectation{{}}
	}
	last := &c.expected[len(c.expected)-1]
	last.lines = append(last.lines, strings.TrimPrefix(line, mark))
}

// writeGolden returns the file that readGolden reads.
func writeGolden(cases []goldenCase) string {
	var b strings.Builder
	for _, c := range cases {
		b.WriteString(c.before + c.statement + expectations(c.expected))
	}
	return b.String()
}

// expectations writes expectations. The first has no names of ways.
func expectations(all []expectation) string {
	var b strings.Builder
	for i, e := range all {
		if i > 0 {
			b.WriteString(wayMark + strings.Join(e.ways, "; ") + ":\n")
		}
		for _, line := range e.lines {
			b.WriteString(mark + line + "\n")
		}
	}
	return b.String()
}

// parameter reads ".parameter set NAME VALUE".
func (c *goldenCase) parameter() (string, query.Value, bool) {
	words := strings.Fields(c.statement)
	if len(words) != 4 || words[0] != ".parameter" || words[1] != "set" {
		return "", query.Value{}, false
	}
	if n, err := strconv.ParseInt(words[3], 10, 64); err == nil {
		return words[2], query.Int(n), true
	}
	return words[2], query.Text(words[3]), true
}

var (
	timeOfDay = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	hashHex   = regexp.MustCompile(`'[0-9a-f]{16}'`)
)

// lines formats an outcome: the columns, the rows and warnings, or the error.
func (o outcome) lines() (lines []string) {
	var e *sqlerr.Error
	switch {
	case errors.As(o.err, &e):
		lines = append(lines, fmt.Sprintf("error %s at %d: %s", e.Code, e.Position, e.Message))
		if e.Hint != "" {
			lines = append(lines, "hint: "+e.Hint)
		}
		return lines
	case len(o.result.Columns) == 0:
		lines = append(lines, "done")
	default:
		var names []string
		for _, c := range o.result.Columns {
			names = append(names, c.Name)
		}
		lines = append(lines, strings.Join(names, " | "))
	}
	for _, row := range o.result.Rows {
		var values []string
		for _, v := range row {
			values = append(values, literal(v))
		}
		text := timeOfDay.ReplaceAllString(strings.Join(values, " | "), "(time)")
		lines = append(lines, hashHex.ReplaceAllString(text, "(hash)"))
	}
	for _, w := range o.result.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return lines
}

// literal writes a value as a literal of SQL.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case float64:
		text := strconv.FormatFloat(v, 'g', 10, 64)
		if !strings.ContainsAny(text, ".en") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(v)
}

// measured finds the functions of an interval, whose values differ between ways.
var measured = regexp.MustCompile(`(?i)\b(MARGIN|LOW|HIGH)\(`)

// agree compares the answer of a way with that of the first way, which is exact. It must
// be the same or refused, or, for an inexact way, within its margins. Its intervals must
// hold the true values.
func agree(t *testing.T, c *goldenCase, w way, exact, o outcome) {
	if exact.err != nil || o.err != nil || o.result == nil || o.result.Answer == nil || exact.result.Answer == nil ||
		measured.MatchString(c.statement) {
		return
	}
	if w.inexact == "" {
		if got, want := fmt.Sprint(o.result.Rows), fmt.Sprint(exact.result.Rows); got != want {
			t.Errorf("%s\n%s: got %s, want %s", c.statement, w.name, got, want)
			return
		}
	}
	public := columnsWithoutMargins(exact.result)
	for i, row := range o.result.Rows {
		n := slices.IndexFunc(exact.result.Rows, func(other []any) bool { return sameAt(public, row, other) })
		if w.inexact == "" {
			n = i
		} else if n < 0 || len(public) == 0 && len(exact.result.Rows) > 1 {
			continue // another row passed HAVING or LIMIT
		}
		for j := range row {
			held, _ := o.result.Answer.Intervals[i][j].(engine.Interval)
			m, known := o.result.Answer.Margins[i][j].(float64)
			if x, y := asFloat(row[j]), asFloat(exact.result.Rows[n][j]); known && (math.Abs(x-y) > m+1e-9 || y < held.Low-1e-9 || y > held.High+1e-9) {
				t.Errorf("%s\n%s: %v ± %v, in %v, and the true value is %v", c.statement, w.name, x, m, held, y)
			}
		}
	}
}

// columnsWithoutMargins returns the columns without a margin in any row.
func columnsWithoutMargins(r *engine.Result) (public []int) {
	for j := range r.Columns {
		if !slices.ContainsFunc(r.Answer.Margins, func(row []any) bool { return row[j] != nil }) {
			public = append(public, j)
		}
	}
	return public
}

func sameAt(columns []int, a, b []any) bool {
	return !slices.ContainsFunc(columns, func(j int) bool { return a[j] != b[j] })
}

// asFloat returns a number as a float64, or NaN for any other value.
func asFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// goldenSQLite holds the rows that belong to a record, under the private table's name.
func goldenSQLite(t *testing.T) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	raw.SetMaxOpenConns(1)
	for _, text := range append(slices.Clone(goldenTable), `CREATE VIEW visits AS SELECT * FROM raw_visits
		WHERE ifnull(sex, 'F') IN ('F', 'M') AND age <= 9 AND town IN (SELECT name FROM towns) AND score BETWEEN -3 AND 3`) {
		if _, err := raw.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

// sameAsSQLite looks up the rows that SQLite returns for a statement in the answer. The
// answer also has groups without rows.
func sameAsSQLite(t *testing.T, raw *sql.DB, c *goldenCase, o outcome) {
	upper := strings.ToUpper(c.statement)
	if o.result == nil || o.result.Answer == nil || strings.Contains(upper, "LIMIT") || strings.ContainsAny(upper, ":@?") {
		return
	}
	rows, err := raw.Query(c.statement)
	if err != nil {
		return // MARGIN
	}
	defer rows.Close()
	got := make(map[string]bool)
	for _, row := range o.result.Rows {
		got[rowText(row)] = true
	}
	for rows.Next() {
		row := make([]any, len(o.result.Columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if !got[rowText(row)] && !got[rowText(zeroSums(row))] {
			t.Errorf("%s\nSQLite has %v, and not %v", c.statement, row, o.result.Rows)
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}

// rowText writes a row; sums of REAL numbers may differ by their rounding.
func rowText(row []any) string {
	var texts []string
	for _, v := range row {
		texts = append(texts, literal(v))
	}
	return strings.Join(texts, " | ")
}

// zeroSums replaces NULL by 0. A sum of no rows is 0 in dpsql, because whether there are
// rows is private.
func zeroSums(row []any) []any {
	out := slices.Clone(row)
	for i, v := range out {
		if v == nil {
			out[i] = int64(0)
		}
	}
	return out
}
