package engine_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/query"
)

var update = flag.Bool("update", false, "write the expectations of testdata/sql anew")

// way is one way to answer: what is declared besides the table, and how
// sessions begin. The noise is quiet in all of them.
type way struct {
	name    string
	declare []string
	begin   []string
	inexact string // why its answers may differ from the true ones, within their margins, all the same
	budget  string // of the table; smallBudget by default
	only    string // the file it is for, all by default
}

// ways are all mechanisms and transforms. A sketch of 2¹⁶ buckets is so wide
// that records that some row has share none with others that are asked for.
var ways = []way{
	{name: "identity", declare: []string{goldenRelease(`transform = identity`)}},
	{name: "sparse", declare: append(zips, goldenRelease(`transform = sparse, heavy = none, rows = 65536`))},
	{name: "sparse, clip", declare: append(zips, goldenRelease(`delta = 1e-7, transform = sparse, heavy = clip, clip = 20, rows = 65536`))},
	{name: "sparse, named", declare: append(zips,
		`CREATE RELEASE cells ON visits (sex, age, town, score) USING PROJECTION WITH (epsilon = 20, delta = 1e-7, transform = sparse, heavy = named, rows = 65536)`),
		budget: largeBudget},
	{name: "dense", declare: []string{goldenRelease(`transform = dense, rows = 512`)}, begin: []string{`SET confidence = 0.999999`},
		inexact: "a dense sketch spreads every record over all of its rows"},
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
}

// zips is a release of a column without a domain, which only a sketch can have.
var zips = []string{`CREATE RELEASE zips ON visits (age, zip) USING PROJECTION WITH (epsilon = 0.5, transform = sparse, heavy = none, rows = 65536)`}

const (
	smallBudget = "epsilon = 4, delta = 1e-6"
	largeBudget = "epsilon = 1000, delta = 1e-6" // so that thresholds are small, which are there without noise too
)

func goldenRelease(with string) string {
	return `CREATE RELEASE cells ON visits (sex, age, town, score) USING PROJECTION WITH (epsilon = 1, ` + with + `)`
}

func goldenMechanism(prior string) string {
	return `CREATE MECHANISM live ON visits (sex, age, town, score) USING SMW WITH (epsilon = 495, max_updates = 60, queries = 1000, prior = ` + prior + `)`
}

// goldenTable is 240 visits with 23 different records, three of them heavy, and
// rows that belong to no record: out of their domains, NULL where none may be.
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
	`INSERT INTO raw_visits VALUES ('F', 10, 'Elm', 0, '15213'), ('X', 1, 'Elm', 0, '15213'), ('F', 1, 'Yew', 0, '15213'), ('F', 1, 'Elm', NULL, '15213')`,
}

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
	s := db.NewSession()
	s.SetDirectory("../testdata/sql")
	fill(t, s, goldenTable...)
	must(t, s, `CREATE PUBLIC TABLE towns`)
	must(t, s, `CREATE PUBLIC TABLE risks (town TEXT, weight REAL BETWEEN 0 AND 1 STEP 0.05, cost REAL BETWEEN -1 AND 5 STEP 0.5 OR NULL)`)
	must(t, s, fmt.Sprintf(goldenDeclaration, cmp.Or(w.budget, smallBudget)))
	for _, text := range w.declare {
		must(t, s, text)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestGolden runs the statements of testdata/sql under every way to answer, from
// a fresh database for each file, and compares what they give with what stands
// under them: once where all ways agree, and under its name for a way that
// does not. That must not be the rows of an answer, unless the way's are
// inexact; those must lie within their margins. Nothing in it is random.
//
// go test ./engine -run TestGolden -update writes the files anew.
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
	outcomes := make([][]outcome, len(cases)) // of each case: of each way that is for the file
	var here []way
	for i, w := range ways {
		if w.only != "" && w.only != filepath.Base(path) {
			continue
		}
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

// outcome is what a statement gave under a way.
type outcome struct {
	result *engine.Result
	err    error
	text   []string
}

// run carries the statements of a file out.
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
			o.result, o.err = s.Exec(context.Background(), c.statement, argumentsOf(c.statement, args))
			o.text = o.lines()
		}
		all = append(all, o)
	}
	return all
}

// argumentsOf returns the values of a statement's parameters, as far as they have one.
func argumentsOf(text string, args map[string]query.Value) (values []query.Value) {
	names, _ := engine.Parameters(text) // what is malformed is refused by Exec
	for _, name := range names {
		if v, ok := args[name]; ok {
			values = append(values, v)
		}
	}
	return values
}

// check compares the outcomes of a case with what is expected, and with one
// another.
func check(t *testing.T, c *goldenCase, ways []way, outcomes []outcome) {
	var got []expectation
	for i, o := range outcomes {
		n := slices.IndexFunc(got, func(e expectation) bool { return slices.Equal(e.lines, o.text) })
		if n < 0 {
			n = len(got)
			got = append(got, expectation{lines: o.text})
		}
		got[n].ways = append(got[n].ways, ways[i].name)
		agree(t, c, ways[i], outcomes[0], o)
	}
	if *update {
		c.expected = got
	} else if want := expectations(c.expected); expectations(got) != want {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.statement, expectations(got), want)
	}
}
