package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// surrounded are statements with private aggregates inside, whose rows SQLite gives over the
// raw rows if there is no noise.
var surrounded = []string{
	`SELECT AVG(n), MAX(n) FROM (SELECT diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis HAVING COUNT(*) > 0)`,
	`SELECT diagnosis, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM admissions) AS share FROM admissions GROUP BY diagnosis ORDER BY share DESC, diagnosis`,
	`SELECT a.diagnosis, a.n, b.n FROM (SELECT diagnosis, COUNT(*) AS n FROM admissions WHERE sex = 'F' GROUP BY diagnosis) AS a
		JOIN (SELECT diagnosis, COUNT(*) AS n FROM admissions WHERE sex = 'M' GROUP BY diagnosis) AS b USING (diagnosis) ORDER BY 1`,
	`SELECT sex, n, SUM(n) OVER (ORDER BY sex) AS running, RANK() OVER (ORDER BY n DESC) FROM (SELECT sex, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex)`,
	`SELECT age, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY age) FROM admissions WHERE age BETWEEN 20 AND 24 GROUP BY age ORDER BY age`,
	`SELECT 'women' AS who, COUNT(*) AS n FROM admissions WHERE sex = 'F' UNION ALL SELECT 'men', COUNT(*) FROM admissions WHERE sex = 'M' ORDER BY who`,
	`WITH by_code AS (SELECT diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis), top AS (SELECT * FROM by_code ORDER BY n DESC, diagnosis LIMIT 1)
		SELECT label, n FROM top JOIN icd10 ON code = diagnosis`,
	`SELECT printf('%05d', COUNT(*)), CAST(AVG(age) AS INTEGER) FROM admissions WHERE sex = 'F'`,
	`SELECT CASE WHEN n > 700 THEN 'many' ELSE 'few' END AS size, COUNT(*) FROM (SELECT sex, diagnosis, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex, diagnosis) GROUP BY 1`,
	`SELECT * FROM (SELECT sex AS s, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex) AS "source" ORDER BY s LIMIT 2000`,
	`SELECT code, (SELECT COUNT(*) FROM admissions WHERE sex = 'F') AS n FROM icd10 ORDER BY code`,
	`VALUES ((SELECT COUNT(*) FROM admissions))`,
}

// quietClinic returns a session on the clinic, without noise, in which counts are free.
func quietClinic(t testing.TB) (*engine.Session, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clinic.db")
	s := clinicAt(t, path)
	quieten(s.DB())
	must(t, s, `CREATE RELEASE all_of_it ON admissions (sex, age, diagnosis) USING PROJECTION WITH (epsilon = 1, transform = identity)`)
	return s, path
}

// TestSurroundedAggregates compares statements with private aggregates in them, without
// noise, with what SQLite computes from the rows themselves: by text, prepared, and with an
// argument in the place of a text. They read a release, and so cost nothing.
func TestSurroundedAggregates(t *testing.T) {
	t.Parallel()
	s, path := quietClinic(t)
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	before := ledger(t, s)
	for _, text := range surrounded {
		want := rowsOf(t, raw, strings.ReplaceAll(text, "admissions", "raw_admissions"))
		r := must(t, s, text)
		if got := fmt.Sprint(r.Rows); got != want {
			t.Errorf("%s\n%s, want %s", text, got, want)
		}
		if a := r.Answer; a == nil || a.Via != "all_of_it" || !a.Verified || !a.Released || a.Cost != (engine.Cost{}) || len(a.Margins) != len(r.Rows) || len(a.NotNull) != len(r.Columns) {
			t.Errorf("%s: %+v", text, a)
		}
		p, err := engine.Prepare(strings.ReplaceAll(text, "'F'", "?1"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var args []query.Value
		if strings.Contains(text, "'F'") {
			args = append(args, query.Text("F"))
		}
		foretold(t, s, p, r.Columns)
		for range 2 {
			if r, err := s.ExecPrepared(context.Background(), p, args); err != nil || fmt.Sprint(r.Rows) != want {
				t.Errorf("%s, prepared: %v, %v", text, r, err)
			}
		}
		explained := must(t, s, "EXPLAIN "+text)
		if shown := fmt.Sprint(explained.Rows); !strings.Contains(shown, "all_of_it") || !strings.Contains(shown, "SQLite runs it on the rows of the aggregates") {
			t.Errorf("EXPLAIN %s: %v", text, shown)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger grew to\n%s", after)
	}
}

// foretold compares the columns that a statement is said to have, before it runs and without
// its arguments, with those that it has.
func foretold(t *testing.T, s *engine.Session, p *engine.Prepared, want []engine.Column) {
	t.Helper()
	columns, err := s.Columns(context.Background(), p, nil)
	if err != nil || len(columns) != len(want) {
		t.Errorf("%v, %v; want %v", columns, err, want)
		return
	}
	for i, c := range columns {
		if c.Name != want[i].Name || c.Type != "" && c.Type != want[i].Type || c.SQL != want[i].SQL {
			t.Errorf("column %d is %v, and was said to be %v", i, want[i], c)
		}
	}
}

// TestColumnsBeforeTheyAreComputed: the columns of a SELECT are known before it is answered,
// which charges nothing. Types that hang on the rows are not said.
func TestColumnsBeforeTheyAreComputed(t *testing.T) {
	t.Parallel()
	s, path := quietClinic(t)
	before := ledger(t, s)
	analyst := open(t, path, engine.Options{Role: engine.Analyst, ReadOnly: true}).NewSession()
	for _, c := range []struct{ text, want string }{
		{`SELECT sex, COUNT(*) AS n, AVG(age), MARGIN(n) FROM admissions GROUP BY sex`, "[{sex TEXT} {n INTEGER} {avg REAL} {margin REAL}]"},
		{`SELECT COUNT(*) FROM admissions WHERE sex = ? AND age < :old`, "[{count INTEGER}]"},
		{`SELECT n * 1.0 / (SELECT COUNT(*) FROM admissions WHERE age < ?) AS share, rank() OVER (ORDER BY n) AS place, ? AS x, CASE n WHEN ? THEN 1 ELSE 'two' END AS y
			FROM (SELECT COUNT(*) AS n FROM admissions)`, "[{share REAL} {place INTEGER} {x TEXT} {y }]"},
		{`SELECT sex, upper(sex), CAST(COUNT(*) AS TEXT) AS t FROM admissions GROUP BY sex UNION ALL SELECT label, code, '' FROM icd10`, "[{sex TEXT} {upper(sex) TEXT} {t TEXT}]"},
		{`WITH c AS (SELECT * FROM icd10) SELECT code AS k, 1 AS one FROM c`, "[{k TEXT} {one INTEGER}]"},
		{`VALUES (1, 2.5, 'a', NULL)`, "[{column1 INTEGER} {column2 REAL} {column3 TEXT} {column4 }]"},
		{`SELECT COUNT(*) FROM nowhere`, "unknown"},
		{`SELECT age FROM admissions`, "unsupported"},
		{`SHOW SETTINGS`, "[{setting TEXT} {value TEXT}]"},
		{`DROP RELEASE all_of_it`, "[]"},
	} {
		p, err := engine.Prepare(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		for _, s := range []*engine.Session{s, analyst} {
			columns, err := s.Columns(context.Background(), p, nil)
			var told []string
			for _, c := range columns {
				told = append(told, fmt.Sprintf("{%s %s}", c.Name, c.Type))
			}
			if err != nil && string(sqlerr.CodeOf(err)) != c.want || err == nil && fmt.Sprint(told) != c.want {
				t.Errorf("%s: %v, %v, want %s", c.text, columns, err, c.want)
			}
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger grew to\n%s", after)
	}
}

func rowsOf(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var all [][]any
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return fmt.Sprint(all)
}

// twoAccounts returns the clinic with a second private table, which has a budget of its own.
func twoAccounts(t testing.TB, interactive string) *engine.Session {
	t.Helper()
	s := clinic(t)
	fill(t, s, `CREATE TABLE raw_staff (job TEXT)`, `INSERT INTO raw_staff SELECT CASE WHEN age % 3 THEN 'nurse' ELSE 'doctor' END FROM raw_admissions WHERE age < 30`)
	must(t, s, `CREATE PRIVATE TABLE staff (job TEXT IN ('nurse', 'doctor')) FROM raw_staff WITH (epsilon = 1, delta = 1e-6, interactive = `+interactive+`)`)
	return s
}

const perNurse = `SELECT (SELECT COUNT(*) FROM admissions) * 1.0 / (SELECT COUNT(*) FROM staff WHERE job = 'nurse') AS each, (SELECT COUNT(*) FROM admissions WHERE age >= 0)`

// TestTogetherOrNot buys the aggregates of one statement from two accounts: both are charged
// what each costs alone, equal queries once, and the same statement is free afterwards. Where
// one of the accounts cannot pay, or the statement is refused for any other reason, none is
// charged.
func TestTogetherOrNot(t *testing.T) {
	t.Parallel()
	s := twoAccounts(t, "0.5")
	lines := func(s *engine.Session) int { return strings.Count(ledger(t, s), "\n") }
	before := lines(s)
	must(t, s, `SET accuracy = 20`)
	for _, c := range []struct {
		code sqlerr.Code
		text string
	}{
		{sqlerr.Unsupported, strings.Replace(perNurse, "1.0", "load_extension('x')", 1)},
		{sqlerr.Unknown, strings.Replace(perNurse, "1.0", "nowhere", 1)},
		{sqlerr.Unknown, strings.Replace(perNurse, "job", "shoe", 1)},
		{sqlerr.Invalid, perNurse + ` FROM icd10 GROUP BY 1, code HAVING SUM(SUM(1)) > 0`},
		{sqlerr.Unknown, perNurse + ` FROM raw_nothing`},
		{sqlerr.Unsupported, perNurse + ` FROM raw_staff`},
	} {
		e := refused(t, s, c.code, c.text)
		if e.Position == 0 && c.code == sqlerr.Unknown {
			t.Errorf("%s: %v has no position", c.text, e)
		}
	}
	if e := refused(t, s, sqlerr.Unknown, strings.Replace(perNurse, "job", "shoe", 1)); e.Position != strings.Index(perNurse, "job")+1 {
		t.Errorf("a name inside an aggregate is found at %d", e.Position)
	}
	if after := lines(s); after != before {
		t.Errorf("refused statements wrote %d lines", after-before)
	}
	r := must(t, s, perNurse)
	if after := lines(s); after != before+2 {
		t.Errorf("the statement wrote %d lines:\n%s", after-before, ledger(t, s))
	}
	one := must(t, clinicBuying(t), `SELECT COUNT(*) FROM admissions`).Answer.Cost.Rho
	if r.Answer.Cost.Rho != 2*one || r.Answer.Via != "direct" || len(r.Warnings) > 1 {
		t.Errorf("it cost %v, and one answer costs %v: %+v, %v", r.Answer.Cost, one, r.Answer, r.Warnings)
	}
	if each := r.Rows[0][0].(float64); each < 4 || each > 6 { // 4,000 of 800; the margins are 20
		t.Errorf("%v admissions for each nurse", each)
	}
	again := must(t, s, perNurse)
	if fmt.Sprint(again.Rows) != fmt.Sprint(r.Rows) || again.Answer.Cost.Rho != 0 || lines(s) != before+2 {
		t.Errorf("the second time: %v at %v, first %v", again.Rows, again.Answer.Cost, r.Rows)
	}

	poor := twoAccounts(t, "1e-5")
	must(t, poor, `SET accuracy = 20`)
	before = lines(poor)
	e := refused(t, poor, sqlerr.Budget, perNurse)
	if lines(poor) != before || !strings.Contains(e.Message, "of 2 queries of the statement 1 cannot") {
		t.Errorf("%v; %d new lines", e, lines(poor)-before)
	}
}

func clinicBuying(t testing.TB) *engine.Session {
	s := clinic(t)
	must(t, s, `SET accuracy = 20`)
	return s
}

// TestSurroundingsFailAfterTheCharge: the surroundings reach a limit after their aggregates
// were bought. The error says what was charged; the answers are stored, and serve the next
// statement for nothing.
func TestSurroundingsFailAfterTheCharge(t *testing.T) {
	t.Parallel()
	s := clinicBuying(t)
	e := refused(t, s, sqlerr.Unsupported, `SELECT replace(printf('%060000d', COUNT(*)), '0', 'xx') FROM admissions`)
	if !strings.Contains(e.Message, "was charged for private answers, which are stored") {
		t.Errorf("the error says: %v", e)
	}
	if r := must(t, s, `SELECT COUNT(*) FROM admissions`); r.Answer.Cost.Rho != 0 || r.Answer.Via != "direct" {
		t.Errorf("the answer is not stored: %+v", r.Answer)
	}
}

// TestSurroundedRehearsal: a script with surrounded aggregates costs what its rehearsal says.
func TestSurroundedRehearsal(t *testing.T) {
	t.Parallel()
	s := twoAccounts(t, "0.5")
	must(t, s, `SET accuracy = 20`)
	r, err := s.Rehearse(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		out, err := r.Plan(context.Background(), perNurse, nil)
		if err != nil || !strings.Contains(fmt.Sprint(out.Rows), "core 2") {
			t.Fatalf("%v, %v", out, err)
		}
	}
	total := r.Total()
	t.Log(total.Rows)
	cost := must(t, s, perNurse).Answer.Cost.Rho
	if shown := fmt.Sprint(total.Rows); !strings.Contains(shown, fmt.Sprint(cost / 2)[:6]) {
		t.Errorf("the rehearsal says %s, and the statement cost %v of two accounts", shown, cost)
	}
}

// TestSettingsAroundCores: the settings of the session, and those of a statement, hold for the
// aggregates inside it as for aggregates of their own, and stay with the statement.
func TestSettingsAroundCores(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.2, transform = identity)`)
	must(t, s, `CREATE RELEASE pairs ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 0.2, delta = 1e-8, degree = 2, estimate = fitted)`)
	const women, around = `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, `SELECT n / 2.0 AS half FROM (SELECT COUNT(*) AS n FROM admissions WHERE sex = 'F')`
	half := func(settings string) (a, b *engine.Answer) {
		t.Helper()
		for _, text := range strings.Split(settings, "; ") {
			must(t, s, text)
		}
		defer s.Reset()
		return must(t, s, around).Answer, must(t, s, women).Answer
	}
	for _, settings := range []string{"SET confidence = 0.5", "SET mechanism = cells", "SET mechanism = pairs", "SET mechanism = pairs; SET margins = simulated",
		"SET mechanism = pairs; SET confidence = 0.999; SET clamp = on"} {
		a, alone := half(settings)
		margin, own := a.Margins[0][0].(float64), alone.Margins[0][0].(float64)
		if a.Via != alone.Via || a.Confidence != alone.Confidence || a.Simulated != alone.Simulated || math.Abs(margin-own/2) > 1e-9*own || a.Cost.Rho != 0 {
			t.Errorf("%s: ± %v, %+v\nalone ± %v, %+v", settings, margin, a, own, alone)
		}
	}
	for text, want := range map[string]string{
		around + ` WITH MECHANISM pairs, MARGINS simulated, CONFIDENCE 0.9`:            "pairs 0.9 true",
		`/*+ mechanism(cells) confidence(0.99) */ ` + around:                           "cells 0.99 false",
		`SELECT /*+ mechanism(cells) */ n FROM (SELECT COUNT(*) AS n FROM admissions)`: "cells 0.95 false",
	} {
		before := s.Settings()
		a := must(t, s, text).Answer
		if got := fmt.Sprint(a.Via, " ", a.Confidence, " ", a.Simulated); got != want || s.Settings() != before {
			t.Errorf("%s: %s, want %s; %+v", text, got, want, s.Settings())
		}
	}
	for _, text := range []string{around + ` WITH ACCURACY 30, MECHANISM direct`, `/*+ accuracy(30), mechanism(direct) */ ` + strings.Replace(around, "'F'", "'M'", 1)} {
		a := must(t, s, text).Answer
		again := must(t, s, text).Answer
		if a.Via != "direct" || a.Cost.Rho == 0 || a.Margins[0][0].(float64) > 15 || again.Cost.Rho != 0 {
			t.Errorf("%s: %+v, again %+v", text, a, again)
		}
	}
	before := ledger(t, s)
	for text, code := range map[string]sqlerr.Code{
		around + ` WITH MECHANISM nosuch`: sqlerr.Unknown,
		around + ` WITH CONFIDENCE 2`:     sqlerr.Invalid,
		around + ` WITH ACCURACY 0.0001`:  sqlerr.Budget,
		`/*+ mechanism(cells) */ SELECT n FROM (SELECT COUNT(*) AS n FROM admissions WHERE zip = '15210')`: sqlerr.Uncovered,
	} {
		refused(t, s, code, text)
	}
	if after := ledger(t, s); after != before {
		t.Errorf("refused statements were charged:\n%s", after)
	}
}

// TestSurroundedSchemaChanges prepares a statement before its tables change.
func TestSurroundedSchemaChanges(t *testing.T) {
	t.Parallel()
	s, _ := quietClinic(t)
	p, err := engine.Prepare(`SELECT label, n FROM (SELECT diagnosis AS d, COUNT(*) AS n FROM admissions GROUP BY diagnosis) JOIN icd10 ON code = d ORDER BY code`)
	if err != nil {
		t.Fatal(err)
	}
	run := func() (string, error) {
		r, err := s.ExecPrepared(context.Background(), p, nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(r.Rows), nil
	}
	if got, err := run(); err != nil || got != "[[type 1 1334] [type 2 1333] [pressure 1333]]" {
		t.Errorf("%s, %v", got, err)
	}
	fill(t, s, `UPDATE icd10 SET label = 'high ' || label WHERE code = 'I10'`)
	if got, err := run(); err != nil || !strings.Contains(got, "high pressure") {
		t.Errorf("%s, %v", got, err)
	}
	must(t, s, `DROP RELEASE all_of_it`)
	if _, err := run(); sqlerr.CodeOf(err) != sqlerr.Uncovered {
		t.Errorf("without the release: %v", err)
	}
	must(t, s, `DROP PRIVATE TABLE admissions`)
	if _, err := run(); sqlerr.CodeOf(err) != sqlerr.Unknown {
		t.Errorf("without the table: %v", err)
	}
}

// TestSurroundedMargins: a number that passes as it is has the margin that it has in a
// statement of its own. One that is computed from two has the interval of these two, each at
// the confidence that the union bound asks for. MARGIN and the rest of a core are columns.
func TestSurroundedMargins(t *testing.T) {
	t.Parallel()
	s, _ := quietClinic(t)
	alone := must(t, s, `SELECT sex, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex ORDER BY sex`)
	must(t, s, `SET confidence = 0.975`)
	n := must(t, s, `SELECT sex, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex ORDER BY sex`)
	total := must(t, s, `SELECT COUNT(*) FROM admissions`)
	must(t, s, `SET confidence = 0.95`)
	r := must(t, s, `SELECT sex, n, margin, (SELECT COUNT(*) FROM admissions) - n AS others, SUM(n) OVER () FROM
		(SELECT sex, COUNT(*) AS n, MARGIN(n) AS margin FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex) AS c ORDER BY sex`)
	if len(r.Rows) != 2 || r.Answer.Confidence != 0.95 {
		t.Fatalf("%v, %+v", r.Rows, r.Answer)
	}
	for i := range r.Rows {
		interval := alone.Answer.Intervals[i][1].(engine.Interval)
		if r.Answer.Intervals[i][1] != interval || r.Answer.Margins[i][1] != alone.Answer.Margins[i][1] || r.Rows[i][2] != alone.Answer.Margins[i][1] {
			t.Errorf("row %d: %v with %v ± %v, alone %v ± %v", i, r.Rows[i], r.Answer.Intervals[i], r.Answer.Margins[i], interval, alone.Answer.Margins[i][1])
		}
		own, all := n.Answer.Intervals[i][1].(engine.Interval), total.Answer.Intervals[0][0].(engine.Interval)
		if want := (engine.Interval{Low: all.Low - own.High, High: all.High - own.Low}); r.Answer.Intervals[i][3] != want {
			t.Errorf("row %d: the difference is in %v, want %v", i, r.Answer.Intervals[i][3], want)
		}
		if r.Answer.Intervals[i][0] != nil || r.Answer.Intervals[i][4] != nil || r.Answer.Margins[i][4] != nil {
			t.Errorf("row %d: a key or a window has an interval: %v", i, r.Answer.Intervals[i])
		}
	}
}

// TestSameBarsAround: a number has the same interval and margin in a UNION ALL, in what is joined and
// computed around it, and in a statement of its own. What occurs twice counts once, and a number less
// itself is 0 ± 0. Set operations that compare rows stop an interval.
func TestSameBarsAround(t *testing.T) {
	t.Parallel()
	s, _ := quietClinic(t)
	const from = `FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex`
	for _, c := range []struct{ of, v string }{ // c is the aggregate
		{`COUNT(*)`, `c`}, {`AVG(age)`, `c`}, {`SUM(age)`, `c`}, {`MEDIAN(age)`, `c`}, {`COUNT(*)`, `c / 7`}, {`COUNT(*)`, `100.0 * c / 8`}, {`COUNT(*)`, `c - c`},
		{`COUNT(*)`, `c - 0.25 * c`}, {`COUNT(*)`, `ABS(10 - c)`}, {`AVG(age)`, `ROUND(c, 1)`}, {`COUNT(*)`, `c % 9`}, {`COUNT(*)`, `-c / c`}, {`AVG(age)`, `COALESCE(c, 0)`},
	} {
		e, column := strings.ReplaceAll(c.v, "c", c.of), fmt.Sprintf(`(SELECT sex, %s AS c %s)`, c.of, from)
		alone := must(t, s, fmt.Sprintf(`SELECT sex, %s AS v %s ORDER BY sex`, e, from))
		for _, text := range []string{
			fmt.Sprintf(`SELECT sex, v FROM (SELECT 'X' AS sex, 1 AS v UNION ALL SELECT sex, %s %s) WHERE sex <> 'X' ORDER BY sex`, e, from),
			fmt.Sprintf(`SELECT sex, %s AS v FROM %s ORDER BY sex`, c.v, column),
			fmt.Sprintf(`WITH a AS %s, b AS (SELECT * FROM a WHERE sex = 'F' UNION ALL SELECT 'M', c FROM a WHERE sex = 'M') SELECT sex, %s AS v FROM b LEFT JOIN (SELECT 1) ORDER BY sex`, column, c.v),
		} {
			r := must(t, s, text)
			if fmt.Sprint(r.Rows, r.Answer.Margins, r.Answer.Intervals) != fmt.Sprint(alone.Rows, alone.Answer.Margins, alone.Answer.Intervals) {
				t.Errorf("%s: %v in %v ± %v, alone %v in %v ± %v", text, r.Rows, r.Answer.Intervals, r.Answer.Margins, alone.Rows, alone.Answer.Intervals, alone.Answer.Margins)
			}
		}
		if alone.Answer.Margins[0][1] == nil {
			t.Errorf("%s has no margin", e)
		}
	}
	for _, op := range []string{`UNION`, `EXCEPT`, `INTERSECT`} {
		r := must(t, s, fmt.Sprintf(`SELECT sex, COUNT(*) %s %s SELECT 'X', 1`, from, op))
		for _, row := range r.Answer.Intervals {
			if row[1] != nil {
				t.Errorf("%s passes %v", op, row)
			}
		}
	}
}

// BenchmarkSurrounded times statements with surroundings beside their cores alone. What the
// surroundings may cost is 1 ms.
func BenchmarkSurrounded(b *testing.B) {
	s, _ := quietClinic(b)
	const by, all, sexes = `SELECT diagnosis AS d, COUNT(*) AS n FROM admissions GROUP BY diagnosis`, `SELECT COUNT(*) FROM admissions`,
		`SELECT diagnosis AS d, COUNT(*) AS n FROM admissions WHERE sex = 'F' GROUP BY diagnosis`
	for _, c := range []struct {
		name   string
		cores  []string
		around string
	}{
		{"sorted", []string{by}, `SELECT * FROM (` + by + `) AS "source" ORDER BY n LIMIT 2000`},
		{"window", []string{by}, `SELECT diagnosis, COUNT(*) AS n, rank() OVER (ORDER BY COUNT(*) DESC) AS place FROM admissions GROUP BY diagnosis`},
		{"joined", []string{by, all}, `SELECT label, n * 100.0 / (` + all + `) FROM (` + by + `) JOIN icd10 ON code = d`},
		{"three", []string{by, all, sexes}, `SELECT a.d, f.n * 1.0 / a.n, a.n * 1.0 / (` + all + `) FROM (` + by + `) AS a JOIN (` + sexes + `) AS f ON f.d = a.d`},
	} {
		for _, run := range []struct {
			name  string
			texts []string
		}{{"cores", c.cores}, {"around", []string{c.around}}} {
			b.Run(c.name+"/"+run.name, func(b *testing.B) {
				for b.Loop() {
					for _, text := range run.texts {
						if _, err := s.Exec(context.Background(), text, nil); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// TestPublishedResults makes public tables of results: of an aggregate, of surroundings, and
// of public tables. Margins stand beside their columns. Names that clash are refused before
// anything is charged, and so are analysts.
func TestPublishedResults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clinic.db")
	s := clinicAt(t, path)
	must(t, s, `SET accuracy = 20`)
	before := ledger(t, s)
	for _, c := range []struct {
		code sqlerr.Code
		text string
	}{
		{sqlerr.Exists, `CREATE PUBLIC TABLE icd10 AS SELECT COUNT(*) AS n FROM admissions`},
		{sqlerr.Exists, `CREATE PUBLIC TABLE Admissions AS SELECT COUNT(*) AS n FROM admissions`},
		{sqlerr.Exists, `CREATE PUBLIC TABLE raw_admissions AS SELECT COUNT(*) AS n FROM admissions`},
		{sqlerr.Forbidden, `CREATE PUBLIC TABLE dpsql_x AS SELECT COUNT(*) AS n FROM admissions`},
		{sqlerr.Invalid, `CREATE PUBLIC TABLE t AS SELECT 2 * COUNT(*) FROM admissions`},
		{sqlerr.Invalid, `CREATE PUBLIC TABLE t AS SELECT COUNT(*) AS n, COUNT(*) AS N FROM admissions`},
		{sqlerr.Invalid, `CREATE PUBLIC TABLE t AS SELECT COUNT(*) AS n, 2 * COUNT(*) AS n_margin FROM admissions`},
		{sqlerr.Unknown, `CREATE PUBLIC TABLE t AS SELECT COUNT(*) AS n FROM nowhere`},
		{sqlerr.Malformed, `CREATE PUBLIC TABLE t AS SHOW TABLES`},
		{sqlerr.Malformed, `CREATE PUBLIC TABLE t AS SELECT`},
		{sqlerr.Unsupported, `CREATE PUBLIC TABLE t AS SELECT age FROM admissions`},
	} {
		if e := refused(t, s, c.code, c.text); e.Position == 0 {
			t.Errorf("%s: %v has no position", c.text, e)
		}
	}
	analyst := open(t, path, engine.Options{Role: engine.Analyst}).NewSession()
	must(t, analyst, `SET accuracy = 20`)
	refused(t, analyst, sqlerr.Forbidden, `CREATE PUBLIC TABLE t AS SELECT COUNT(*) AS n FROM admissions`)
	if after := ledger(t, s); after != before {
		t.Errorf("refused statements were charged:\n%s", after)
	}
	for _, c := range []struct{ name, text, columns string }{
		{"by_sex", `SELECT sex, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex`, "sex TEXT, n INTEGER, n_margin REAL"},
		{"shares", `WITH c AS (SELECT sex, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex)
			SELECT sex AS who, n * 1.0 / (SELECT COUNT(*) FROM admissions) AS share, RANK() OVER (ORDER BY sex) AS place FROM c`, "who TEXT, share REAL, share_margin REAL, place INTEGER"},
		{"labels", `SELECT label, length(label) AS long FROM icd10`, "label TEXT, long INTEGER"},
	} {
		alone := must(t, s, c.text)
		r := must(t, s, `CREATE PUBLIC TABLE `+c.name+` AS `+c.text+`;`)
		if len(r.Rows) > 0 || r.Answer != nil {
			t.Errorf("%s: %v", c.name, r)
		}
		out := must(t, analyst, `SELECT * FROM `+c.name)
		var columns []string
		for _, col := range out.Columns {
			columns = append(columns, col.Name+" "+col.Type)
		}
		if got := strings.Join(columns, ", "); got != c.columns || len(out.Rows) != len(alone.Rows) {
			t.Errorf("%s has %s and %d rows, want %s and %d", c.name, got, len(out.Rows), c.columns, len(alone.Rows))
		}
		for i, row := range out.Rows {
			if fmt.Sprint(row[0]) != fmt.Sprint(alone.Rows[i][0]) || alone.Answer != nil && (row[1] != alone.Rows[i][1] || row[2] != alone.Answer.Margins[i][1]) {
				t.Errorf("%s, row %d: %v, want %v", c.name, i, row, alone.Rows[i])
			}
		}
		must(t, s, `CREATE PUBLIC TABLE IF NOT EXISTS `+c.name+` AS `+c.text)
		refused(t, s, sqlerr.Exists, `CREATE PUBLIC TABLE `+c.name+` AS `+c.text)
	}
	if r := must(t, analyst, `SELECT a.sex, d.n FROM (SELECT sex, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex) AS a JOIN by_sex AS d USING (sex)`); len(r.Rows) != 2 {
		t.Errorf("a join with a published table: %v", r.Rows)
	}
	must(t, s, `DROP PUBLIC TABLE labels`)
	refused(t, analyst, sqlerr.Unknown, `SELECT * FROM labels`)

	fresh := clinicBuying(t)
	rehearsal, err := fresh.Rehearse(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rehearsal.Close()
	create := `CREATE PUBLIC TABLE by_sex AS SELECT sex, COUNT(*) AS n FROM admissions WHERE sex IN ('F', 'M') GROUP BY sex`
	if out, err := rehearsal.Plan(context.Background(), create, nil); err != nil || !strings.Contains(fmt.Sprint(out.Rows), "ρ ") {
		t.Errorf("rehearsed: %v, %v", out, err)
	}
	if out, err := rehearsal.Plan(context.Background(), `SELECT sex, n FROM by_sex`, nil); err != nil {
		t.Errorf("a SELECT of what the script publishes: %v, %v", out, err)
	}
	if warnings := must(t, fresh, create).Warnings; len(warnings) != 1 || !strings.Contains(warnings[0], "was charged") {
		t.Errorf("the warnings are %v", warnings)
	}
}
