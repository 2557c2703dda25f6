package engine_test

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// corpusTables are the tables beside visits and diagnoses that the corpus asks.
var corpusTables = []string{
	`CREATE TABLE events (day TEXT, note TEXT, cost INTEGER)`,
	`CREATE TABLE population (sex TEXT, people INTEGER)`,
	`INSERT INTO population VALUES ('F', 160000), ('M', 150000)`,
	`CREATE TABLE regions (zip TEXT, region TEXT)`,
	`INSERT INTO regions VALUES ('15213', 'east'), ('15217', 'east'), ('15232', 'west')`,
}

// corpusRaw makes the tables of the corpus.
func corpusRaw(t *testing.T) []string {
	return slices.Concat(corpusTables,
		importOf(t, "raw_visits", "visits.csv", "patient INTEGER, sex TEXT, age INTEGER, diagnosis TEXT, zip TEXT, days INTEGER, year INTEGER"),
		importOf(t, "diagnoses", "diagnoses.csv", "code TEXT, name TEXT, chapter TEXT"))
}

// corpusDeclared declares them.
var corpusDeclared = []string{`CREATE PUBLIC TABLE diagnoses`, `CREATE PUBLIC TABLE events`, `CREATE PUBLIC TABLE population`, `CREATE PUBLIC TABLE regions`,
	`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120, diagnosis TEXT IN (SELECT code FROM diagnoses), zip TEXT,
		days INTEGER BETWEEN 0 AND 30, year INTEGER IN (2023, 2024, 2025)) FROM raw_visits WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9)`}

// corpus is what the statements of testdata/corpus are asked of.
type corpus struct {
	session *engine.Session
	sqlite  *sql.DB
	server  *pgx.Conn // nil without PostgreSQL
}

// newCorpus makes the clinic of docs/sql with a budget that pays for every statement, in
// three databases. Its noise is always 0, and answers are bought, so they are exact.
func newCorpus(t *testing.T) *corpus {
	db := open(t, filepath.Join(t.TempDir(), "corpus.db"), engine.Options{})
	quieten(db)
	c := &corpus{session: db.NewSession()}
	var err error
	if c.sqlite, err = sql.Open("sqlite", ":memory:"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.sqlite.Close() })
	c.sqlite.SetMaxOpenConns(1)
	script := corpusRaw(t)
	for day := range 60 {
		script = append(script, fmt.Sprintf(`INSERT INTO events VALUES ('2024-%02d-%02d', 'event %d', %d)`, 1+day/10, 1+(day*3)%28, day, 100+day*day%37))
	}
	fill(t, c.session, script...)
	const view = `CREATE VIEW visits AS SELECT sex, age, diagnosis, zip, days, year FROM raw_visits WHERE (sex IN ('F', 'M') OR sex IS NULL)
		AND age BETWEEN 0 AND 120 AND diagnosis IN (SELECT code FROM diagnoses) AND days BETWEEN 0 AND 30 AND year IN (2023, 2024, 2025)`
	for _, text := range append(slices.Clone(script), view) {
		if _, err := c.sqlite.Exec(text); err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
	}
	if config, err := serverOf(t); err == nil {
		if c.server, err = pgx.ConnectConfig(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.server.Close(t.Context()) })
		if _, err := c.server.Exec(t.Context(), strings.Join(append(script, view), ";\n"), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range append(slices.Clone(corpusDeclared), `SET accuracy = 100000`) {
		must(t, c.session, text)
	}
	return c
}

// serverOf returns a database of its own on the shared server, or an error if there is none
// or the corpus does without.
func serverOf(t *testing.T) (config *pgx.ConnConfig, err error) {
	err = pgtest.ErrMissing
	if !*long && !*update {
		return nil, err
	}
	t.Run("server", func(sub *testing.T) { // which is skipped without PostgreSQL
		pgtest.Shared(sub)
		err = nil
	})
	if err != nil {
		return nil, err
	}
	return pgx.ParseConfig(pgtest.SharedDatabase(t).DSN())
}

// importOf returns statements that make a table of a file of testdata/clinic.
func importOf(t *testing.T, table, file, columns string) []string {
	statements := []string{"CREATE TABLE " + table + " (" + columns + ")"}
	types := strings.Split(columns, ", ")
	for chunk := range slices.Chunk(recordsOf(t, "../testdata/clinic/"+file), 1000) {
		var rows []string
		for _, line := range chunk {
			values := make([]string, len(line))
			for i, v := range line {
				switch {
				case v == "":
					values[i] = "NULL"
				case strings.HasSuffix(types[i], "INTEGER"):
					values[i] = v
				default:
					values[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
				}
			}
			rows = append(rows, "("+strings.Join(values, ", ")+")")
		}
		statements = append(statements, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
	}
	return statements
}

// The ways in which a statement of the corpus is answered. What is behind "refused" is the
// error.
const (
	asSQLite      = "sqlite"                   // the rows of SQLite for the same statement, forms of other systems rewritten
	andEmpty      = "sqlite, and empty groups" // and rows of groups that are declared and have no rows
	asPostgres    = "postgres"                 // the rows of PostgreSQL for the statement as it is written
	onlyAnswers   = "answers"                  // a form that neither has, or a time
	corpusRefused = "refused "
)

// TestCorpus runs the statements of testdata/corpus: what tools for reports send, and what
// people write by hand, over the clinic of docs/sql. Below each statement stands what
// becomes of it. Below one that is refused, "--: " has another statement that answers what was
// meant, or says why there is none. Nothing in the test is random. With -long all statements run, and in
// PostgreSQL too; else one in twelve, which are others in each file.
//
// go test ./engine -run TestCorpus -update writes the outcomes anew.
func TestCorpus(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("two hundred statements in three databases")
	}
	paths, err := filepath.Glob("../testdata/corpus/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatal("no corpus: ", err)
	}
	c := newCorpus(t)
	seen, all, answered := 0, 0, 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		n, ok := 0, 0
		for i, line := range lines {
			if strings.HasPrefix(line, "--> ") {
				continue
			}
			out = append(out, line)
			if strings.HasPrefix(line, "--") {
				continue
			}
			if seen++; !*long && !*update && seen%12 != 0 {
				continue
			}
			var want []string
			for _, l := range lines[i+1:] {
				said, is := strings.CutPrefix(l, "--> ")
				if !is {
					break
				}
				want = append(want, said)
			}
			got := c.outcome(t, line, want)
			if n++; !strings.HasPrefix(got[0], corpusRefused) {
				ok++
			} else if instead := insteadOf(lines[i+1:]); instead == "" {
				t.Errorf("%s: %s\nis refused, and nothing says what to write instead", filepath.Base(path), line)
			} else if out := c.outcome(t, instead, nil); !strings.HasPrefix(instead, "none: ") && strings.HasPrefix(out[0], corpusRefused) {
				t.Errorf("%s: %s\ninstead of %s\n%s", filepath.Base(path), instead, line, strings.Join(out, "\n"))
			}
			if !*update && !slices.Equal(got, want) {
				t.Errorf("%s: %s\n got %s\nwant %s", filepath.Base(path), line, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
			}
			for _, l := range got {
				out = append(out, "--> "+l)
			}
		}
		t.Logf("%s: %d of %d statements are answered", filepath.Base(path), ok, n)
		all, answered = all+n, answered+ok
		if *update {
			if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("the corpus: %d of %d statements are answered (%.0f %%)", answered, all, 100*float64(answered)/float64(all))
	if seen < 150 {
		t.Errorf("the corpus has %d statements", seen)
	}
}

// insteadOf returns what the lines below a statement say to write instead of it.
func insteadOf(below []string) string {
	for _, line := range below {
		if said, is := strings.CutPrefix(line, "--: "); is {
			return said
		}
		if !strings.HasPrefix(line, "--") {
			return ""
		}
	}
	return ""
}

// outcome runs a statement and says what becomes of it, in one second, since dpsql and the
// others may read the clock.
func (c *corpus) outcome(t *testing.T, text string, want []string) []string {
	for {
		second := time.Now().Unix()
		if out := c.outcomeOnce(t, text, want); time.Now().Unix() == second {
			return out
		}
	}
}

func (c *corpus) outcomeOnce(t *testing.T, text string, want []string) []string {
	r, err := c.session.Exec(t.Context(), text, nil)
	if err != nil {
		e, ok := err.(*sqlerr.Error)
		if !ok || e.Code == sqlerr.Internal || e.Position > len([]rune(text)) {
			t.Errorf("%s: %v", text, err)
		}
		out := []string{fmt.Sprintf("refused %s at %d: %s", e.Code, e.Position, e.Message)}
		if e.Hint != "" {
			out = append(out, "hint: "+e.Hint)
		}
		return out
	}
	ordered := strings.LastIndex(text, " ORDER BY ") > strings.LastIndex(text, ")")
	if rows, err := c.fromSQLite(text); err == nil {
		if sameRowsAs(r.Rows, rows, ordered, false) {
			return []string{asSQLite}
		}
		if sameRowsAs(r.Rows, rows, false, true) {
			return []string{andEmpty}
		}
	}
	if c.server == nil && slices.Equal(want, []string{asPostgres}) {
		return want
	}
	if rows, err := c.fromServer(t, text); err == nil && sameRowsAs(r.Rows, rows, false, false) { // it sorts NULL behind, and SQLite before
		return []string{asPostgres}
	}
	return []string{onlyAnswers}
}

func (c *corpus) fromSQLite(text string) (out [][]any, err error) {
	read, err := syntax.Read(text)
	if err != nil {
		return nil, err
	}
	rows, err := c.sqlite.Query(read.Query.String())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, into := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// fromServer returns rows with integers, floats and texts, as SQLite has them.
func (c *corpus) fromServer(t *testing.T, text string) (out [][]any, err error) {
	if c.server == nil {
		return nil, pgtest.ErrMissing
	}
	rows, err := c.server.Query(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		row := make([]any, len(raw))
		for i, v := range raw {
			if v == nil {
				continue
			}
			row[i] = string(v)
			if x, err := strconv.ParseFloat(string(v), 64); err == nil && rows.FieldDescriptions()[i].DataTypeOID != 25 { // text
				row[i] = x
			}
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// sameRowsAs compares rows, in order or not. More rows may be ours if more is set.
func sameRowsAs(ours, theirs [][]any, ordered, more bool) bool {
	if len(ours) < len(theirs) || !more && len(ours) != len(theirs) {
		return false
	}
	texts := func(rows [][]any) []string {
		out := make([]string, len(rows))
		for i, row := range rows {
			for _, v := range row {
				out[i] += cellText(v) + " | "
			}
		}
		if !ordered {
			slices.Sort(out)
		}
		return out
	}
	a, b := texts(ours), texts(theirs)
	if !more {
		return slices.Equal(a, b)
	}
	for _, row := range b {
		i := slices.Index(a, row)
		if i < 0 {
			return false
		}
		a = slices.Delete(a, i, i+1)
	}
	return true
}

// cellText writes a value; numbers to ten digits, since sums of REALs depend on their order.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		return cellText(float64(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 10, 64)
	case string:
		return "'" + v + "'"
	}
	return fmt.Sprint(v)
}
