package engine_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/internal/seeds"
	"dpsql/mechanisms/direct"
	"dpsql/noise/law"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
)

// shop makes a database with 300 rows, and a public table of a's names. Every combination
// of a in 0..4 and b in 'x', 'y', NULL has 20 rows, and v = a·10.
func shop(t testing.TB, with string) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "shop.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (a INTEGER, b TEXT, v INTEGER, who INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
			INSERT INTO raw SELECT i % 5, CASE i / 5 % 3 WHEN 0 THEN 'x' WHEN 1 THEN 'y' END, i % 5 * 10, i / 2 FROM n`,
		`CREATE TABLE names (a INTEGER, name TEXT, "group" TEXT)`,
		`INSERT INTO names VALUES (0, 'nil', 'small'), (1, 'one', 'small'), (2, 'two', 'large'), (3, 'three', 'large')`)
	must(t, s, `CREATE PUBLIC TABLE names`)
	must(t, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 4, b TEXT IN ('x', 'y', NULL), v INTEGER BETWEEN 0 AND 100)
		FROM raw WITH (`+with+`)`)
	return s
}

// ledgerOf returns the interactive lines of the ledger as action and ρ.
func ledgerOf(t *testing.T, s *engine.Session) (lines []string) {
	t.Helper()
	for _, row := range must(t, s, `SHOW LEDGER`).Rows {
		lines = append(lines, fmt.Sprint(row))
	}
	return lines
}

// TestGroupsAreOneCharge buys statements and checks the ledger. Each statement has one
// line, with one price for each aggregate, for any number of groups. Stored answers are
// not charged.
func TestGroupsAreOneCharge(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 20, delta = 1e-6`)
	must(t, s, `SET accuracy = 50`)
	one := must(t, s, `SELECT COUNT(*) FROM t WHERE a = 0 AND v < 5`).Answer.Cost.Rho
	for _, c := range []struct {
		text   string
		prices float64 // in prices of one count
		rows   int
	}{
		{`SELECT a, COUNT(*) FROM t GROUP BY a`, 1, 5},
		{`SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n DESC`, 0, 5},
		{`SELECT COUNT(*) FROM t WHERE a = 3`, 0, 1},
		{`SELECT a, b, COUNT(*), SUM(CASE WHEN v > 20 THEN 1 ELSE 0 END) FROM t GROUP BY 1, 2`, 2, 15},
		{`SELECT b, COUNT(*) FROM t WHERE a < 2 GROUP BY b HAVING COUNT(*) > 1000`, 1, 0},
		{`SELECT SUM(10 * (v > 30)) FROM t WHERE b = 'y'`, 100, 1}, // ±50 of ten times a count
	} {
		before := len(ledgerOf(t, s))
		r := must(t, s, c.text)
		if len(r.Rows) != c.rows {
			t.Errorf("%s has %d rows, want %d", c.text, len(r.Rows), c.rows)
		}
		if got := r.Answer.Cost.Rho / one; math.Abs(got-c.prices) > 0.2*c.prices { // half-widths are integers
			t.Errorf("%s costs %g counts, want %g", c.text, got, c.prices)
		}
		lines := len(ledgerOf(t, s)) - before
		if want := min(1, int(c.prices)); lines != want {
			t.Errorf("%s has %d lines in the ledger, want %d", c.text, lines, want)
		}
		for _, row := range r.Answer.Margins {
			for _, m := range row {
				if m, ok := m.(float64); ok && !strings.Contains(c.text, "AVG") && m > 50 {
					t.Errorf("%s has a margin of %g", c.text, m)
				}
			}
		}
	}
}

// TestStatementsAreRefusedAsAWhole checks that a statement with one group that cannot be
// answered is not charged, and that the error gives the cost of the whole statement.
func TestStatementsAreRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 2, delta = 1e-6`)
	must(t, s, `CREATE RELEASE r ON t (a) USING PROJECTION WITH (epsilon = 0.5)`)
	before := len(ledgerOf(t, s))
	e := refused(t, s, sqlerr.Uncovered, `SELECT a, COUNT(*), SUM(v) FROM t GROUP BY a`)
	if !strings.Contains(e.Message, "of 10 queries of the statement 5 cannot") || !strings.Contains(e.Hint, "together") {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	must(t, s, `SET accuracy = 1`)
	e = refused(t, s, sqlerr.Budget, `SELECT a, b, COUNT(*) FROM t GROUP BY a, b`)
	if !strings.Contains(e.Message, "it needs ρ") {
		t.Errorf("%v", e)
	}
	if after := len(ledgerOf(t, s)); after != before {
		t.Errorf("refused statements left %d lines in the ledger", after-before)
	}
}

// TestSharedAnswers checks that the queries of a statement are those of plain counts and
// get the same answers.
func TestSharedAnswers(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 4, delta = 1e-6`)
	must(t, s, `CREATE MECHANISM m ON t USING SMW WITH (epsilon = 1, max_updates = 20)`)
	rows := must(t, s, `SELECT a, COUNT(*), COUNT(*) * 2 FROM t GROUP BY a`).Rows
	for i, row := range rows {
		n := count(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM t WHERE a = %d`, i))
		if row[0] != int64(i) || row[1] != n || row[2] != 2*n {
			t.Errorf("group %d is %v, the count alone %d", i, row, n)
		}
	}
	again := must(t, s, `SELECT COUNT(*), a FROM t GROUP BY 2`)
	for i, row := range again.Rows {
		if row[0] != rows[i][1] {
			t.Errorf("group %d is %v, before it was %v", i, row, rows[i])
		}
	}
	if p := again.Answer; p.Via != "m" || p.Mechanism != "smw" || p.Cost.Rho != 0 {
		t.Errorf("the answer is %+v", p)
	}
}

// fewestHeld is how many of a number of margins must hold that hold in at least 95 % of cases. Fewer
// have probability at most exp(−2·7.22) = 5.4e-7 (Hoeffding): of 20,000 fewer than 93.1 %.
func fewestHeld(draws int) int {
	return int(math.Ceil(0.95*float64(draws) - math.Sqrt(7.22*float64(draws))))
}

// TestMeansAreCovered draws 5,000 means of direct answers, or 20,000 with -long. By the union bound the
// margins hold in at least 95 % of cases; see fewestHeld.
func TestMeansAreCovered(t *testing.T) {
	t.Parallel()
	sum, _ := direct.PlanFor(direct.Request{Accuracy: 1500, Confidence: 0.95, Sensitivity: 100, Answers: 1})
	rows, _ := direct.PlanFor(direct.Request{Accuracy: 14, Confidence: 0.95, Sensitivity: 1, Answers: 1})
	mean := post.Mean{Terms: []post.Term{{Slot: 0, Factor: 1}}, Count: 1}
	p := post.Program{Columns: []post.Column{{Name: "avg", Value: mean}}, Limit: -1}
	widths := make(map[float64]float64) // by law and confidence
	seed := seeds.Of(t)
	src := stream(seed)
	answer := func(plan direct.Plan, truth int64) post.Answer {
		value, err := plan.Answer(truth, src)
		if err != nil {
			t.Fatal(err)
		}
		return post.Answer{Value: value, Error: func(confidence float64) (post.Interval, bool) {
			key := confidence + float64(plan.Rho)
			if widths[key] == 0 {
				widths[key] = float64(law.HalfWidth(plan.Law, confidence))
			}
			return post.Within(widths[key]), true
		}}
	}
	draws := sized(0, 5000, 20_000)
	held := 0
	for range draws {
		out := p.Run([]post.Group{{Answers: []post.Answer{answer(sum, 15_000), answer(rows, 1000)}}}, 0.95)
		if math.Abs(out.Rows[0][0].(float64)-15) <= out.Margins[0][0].(float64) {
			held++
		}
	}
	t.Logf("%d of %d margins hold", held, draws)
	if held < fewestHeld(draws) {
		t.Errorf("only %d of %d margins hold", held, draws)
	}
}

// TestMeansAreBoughtOnce asks for averages within an accuracy twice. The noise of what the first bought is in what is known
// when it is asked again, and the second is free whatever the noise was. Rows that no free answer counts are counted
// first, in a charge of its own.
func TestMeansAreBoughtOnce(t *testing.T) {
	t.Parallel()
	for range 2 {
		s := shop(t, `epsilon = 60, delta = 1e-6`)
		must(t, s, `SELECT COUNT(*) FROM t WHERE v < 6 WITH ACCURACY 2`)
		for _, c := range []struct {
			text  string
			lines int
		}{{`SELECT AVG(v) FROM t WITH ACCURACY 2`, 2}, {`SELECT a, AVG(v), COUNT(*) FROM t GROUP BY a WITH ACCURACY 8`, 2},
			{`SELECT AVG(v) FROM t WHERE v < 6 WITH ACCURACY 0.5`, 1}, {`SELECT AVG(v), COUNT(*) FROM t WHERE b = 'x' WITH ACCURACY 8`, 2},
			{`SELECT AVG(v) FROM t WHERE a = 3 AND v < 6 WITH ACCURACY 4`, 2}} { // no rows
			before := len(ledgerOf(t, s))
			if first := must(t, s, c.text).Answer; first.Cost.Rho == 0 {
				t.Errorf("%s costs nothing", c.text)
			}
			if lines := len(ledgerOf(t, s)) - before; lines != c.lines {
				t.Errorf("%s has %d lines in the ledger, want %d", c.text, lines, c.lines)
			}
			again := must(t, s, c.text).Answer
			if again.Cost.Rho != 0 {
				t.Errorf("%s, asked again, costs ρ %v", c.text, again.Cost.Rho)
			}
		}
	}
}

// TestMeanPrice compares the prices of averages whose rows are counted with those of the best proportion of sum and count, found by
// search, from the same public numbers: the range of the values, the number of rows and the accuracy. The sum
// is about the middle of the range. From 0 it would cost up to four times as much. Without -long every second table is asked.
func TestMeanPrice(t *testing.T) {
	t.Parallel()
	price := func(sensitivity int64, width float64) float64 {
		p, ok := direct.PlanFor(direct.Request{Accuracy: width, Confidence: 0.95, Sensitivity: sensitivity, Answers: 1})
		if !ok {
			return math.Inf(1)
		}
		return float64(p.Rho) / direct.Unit
	}
	best := func(reach int64, n, accuracy float64) float64 { // over shares of the squared error
		least := math.Inf(1)
		if left := n*n*accuracy*accuracy - 100*float64(reach*reach); left > 0 { // beside a count within ±10
			least = price(reach, math.Sqrt(left))
		}
		about := func(share float64) float64 { // the sum of the two prices, but for a factor
			sum, count := math.Floor(n*accuracy*math.Sqrt(share))+0.5, math.Floor(n*accuracy*math.Sqrt(1-share)/float64(reach))+0.5
			return float64(reach*reach)/(sum*sum) + 1/(count*count)
		}
		share := 0.0
		for at := 0.02; at < 1; at += 0.02 {
			if share == 0 || about(at) < about(share) {
				share = at
			}
		}
		return min(least, price(reach, n*accuracy*math.Sqrt(share))+price(1, n*accuracy*math.Sqrt(1-share)/float64(reach)))
	}
	type prices struct{ last, rows int64 }
	t.Log("values, rows, accuracy: ρ, the best, ratio")
	for _, c := range some(t, 2, []prices{{120, 898}, {30, 6000}, {100_000, 20_000}, {2, 300}}) {
		s := open(t, filepath.Join(t.TempDir(), "means.db"), engine.Options{}).NewSession()
		fill(t, s, `CREATE TABLE raw (v INTEGER)`, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO raw SELECT i %% %d FROM n`, c.rows, c.last+1))
		must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE t (v INTEGER BETWEEN 0 AND %d) FROM raw WITH (epsilon = 900, delta = 1e-6)`, c.last))
		n := float64(must(t, s, `SELECT COUNT(*) FROM t WITH ACCURACY 10`).Rows[0][0].(int64))
		for _, part := range []float64{0.05, 0.01, 0.002} { // of the range
			accuracy := part * float64(c.last)
			answer := must(t, s, fmt.Sprintf(`SELECT AVG(v) FROM t WITH ACCURACY %g`, accuracy)).Answer
			got := answer.Cost.Rho
			if m, ok := answer.Margins[0][0].(float64); !ok || m > 1.15*accuracy { // the rows are known within 3.4 % at 95 %, and 9 % at 1 − 1e-7
				t.Errorf("values 0 … %d, %g rows: asked within %g, and it is within %v", c.last, n, accuracy, answer.Margins[0][0])
			}
			want := best(c.last/2, n, accuracy)
			t.Logf("0 … %d, %g, %g: %.4g, %.4g, %.3f", c.last, n, accuracy, got, want, got/want)
			if !(got <= 1.05*want) {
				t.Errorf("values 0 … %d, %g rows, ±%g: ρ = %g, and the best proportion costs %g", c.last, n, accuracy, got, want)
			}
		}
	}
}

// TestUnitsInGroups checks that units of L rows get noise of sensitivity L, whether or not
// their rows are spread over groups.
func TestUnitsInGroups(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 20, delta = 1e-6, unit = who, max_rows = 2`)
	must(t, s, `SET accuracy = 50`)
	one := must(t, s, `SELECT COUNT(*) FROM t WHERE v = 10`).Answer.Cost.Rho
	many := must(t, s, `SELECT a, COUNT(*) FROM t GROUP BY a`).Answer.Cost.Rho
	if one != many || math.Abs(one/(4*0.00077)-1) > 0.05 {
		t.Errorf("a count costs ρ = %g and five groups %g, want 4 × 0.00077", one, many)
	}
}

// TestHugeWeights checks that a sum whose sensitivity does not fit 64 bits is refused. It
// must not be answered with the noise of a truncated sensitivity.
func TestHugeWeights(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 20, delta = 1e-6, unit = who, max_rows = 1000`)
	must(t, s, `SET accuracy = 1e15`)
	for _, text := range []string{`SELECT SUM(v * 90000000000000000 + (a = 1)) FROM t`, `SELECT AVG(v * 90000000000000000 + (a = 1)) FROM t`} {
		refused(t, s, sqlerr.Budget, text)
	}
}

// TestJoinedPublicTable groups by a public attribute. The table is refused after it reads
// private rows.
func TestJoinedPublicTable(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 20, delta = 1e-6`)
	must(t, s, `CREATE RELEASE r ON t (a) USING PROJECTION WITH (epsilon = 10)`)
	r := must(t, s, `SELECT "group", COUNT(*) FROM t JOIN names ON t.a = names.a WHERE name <> 'one' GROUP BY "group" ORDER BY 2 DESC`)
	if len(r.Rows) != 2 || r.Rows[0][0] != "large" || math.Abs(float64(r.Rows[0][1].(int64))-120) > 30 {
		t.Errorf("the groups are %v, want large with about 120 of 180", r.Rows)
	}
	n, m := r.Rows[1][1].(int64), count(t, s, `SELECT COUNT(*) FROM t WHERE a = 0`)
	if n != m {
		t.Errorf("small is %d, and a = 0 is %d", n, m)
	}
	refused(t, s, sqlerr.Unknown, `SELECT COUNT(*) FROM t JOIN raw ON t.a = raw.a`)
	refused(t, s, sqlerr.Unknown, `SELECT COUNT(*) FROM t WHERE a IN (SELECT a FROM raw)`)
	must(t, s, `SELECT COUNT(*) FROM t WHERE a IN (SELECT a FROM names)`)
	fill(t, s, `CREATE TABLE days (a INTEGER, day DATE)`, `INSERT INTO days VALUES (0, '2024-02-28'), (1, '2024-02-29')`)
	must(t, s, `CREATE PUBLIC TABLE days`)
	if n := count(t, s, `SELECT COUNT(*) FROM t JOIN days ON t.a = days.a WHERE day < '2024-02-29'`); n != m {
		t.Errorf("on the first day there are %d, and a = 0 is %d", n, m)
	}
	fill(t, s, `ALTER TABLE names RENAME TO were`, `CREATE VIEW names AS SELECT a, b AS name, 'g' AS "group" FROM raw GROUP BY a`)
	refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM t JOIN names ON t.a = names.a`)
	refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM t WHERE a IN (SELECT a FROM names)`)
}

// TestExplainGroups shows each way once, and spends nothing.
func TestExplainGroups(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 4, delta = 1e-6`)
	must(t, s, `CREATE RELEASE r ON t (a, b) USING PROJECTION WITH (epsilon = 1)`)
	before := len(ledgerOf(t, s))
	r := must(t, s, `EXPLAIN SELECT a, COUNT(*), SUM(a * (b = 'x')) FROM t GROUP BY a`)
	var names []string
	for _, row := range r.Rows {
		names = append(names, row[0].(string))
	}
	if got := strings.Join(names, " "); got != "r direct constant query 1 query 2" {
		t.Errorf("the rows are %s:\n%v", got, r.Rows)
	}
	if got := r.Rows[0]; got[3] != "1 to 3" || !strings.Contains(got[6].(string), "chosen for 9 of 10 queries") {
		t.Errorf("the release's row is %v", got)
	}
	if got := r.Rows[3][6].(string); got != "in each of 5 groups: 1" {
		t.Errorf("the first query is %s", got)
	}
	if after := len(ledgerOf(t, s)); after != before {
		t.Error("EXPLAIN charged")
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 4, delta = 1e-6`)
	must(t, s, `SET accuracy = 50`)
	last := int64(0)
	s.SetProgress(func(done, total int64) {
		if done != last+1 || total != 30 {
			t.Errorf("%d of %d steps are done, after %d", done, total, last)
		}
		last = done
	})
	must(t, s, `SELECT a, b, COUNT(*) FROM t GROUP BY a, b`)
	if last != 30 {
		t.Errorf("%d steps were reported, want 30", last)
	}
}

// TestBuildProgress checks the steps of a build, in hundredths: reading in one part, the
// noise, storing. Of few rows they say nothing. Where a table is fitted, the fit and its
// simulations report, too.
func TestBuildProgress(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 4, delta = 1e-6`)
	steps, want := []int64(nil), int64(300)
	s.SetProgress(func(done, all int64) {
		if steps = append(steps, done); all != want {
			t.Errorf("there are %d steps, want %d", all, want)
		}
	})
	must(t, s, `CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 1)`)
	if fmt.Sprint(steps) != "[0 100 200]" {
		t.Errorf("the steps were %v", steps)
	}
	for i, using := range []string{`PROJECTION WITH (epsilon = 0.5, estimate = fitted)`, `MARGINALS WITH (epsilon = 0.5)`} {
		steps, want = nil, 600
		must(t, s, fmt.Sprintf(`CREATE RELEASE fitted%d ON t USING %s`, i, using))
		if n := len(steps); !slices.IsSorted(steps) || steps[0] != 0 || steps[n-1] != 500 || n < 12 {
			t.Errorf("the steps of %s were %v", using, steps)
		}
	}
}

// TestBuildShowsRowsRead builds from 150,000 rows, whose noisy number is known. The steps of the
// reading are hundredths of that number, each 65,536 rows.
func TestBuildShowsRowsRead(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 40, delta = 1e-6`)
	fill(t, s, `CREATE TABLE many (a INTEGER)`, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000) INSERT INTO many SELECT i % 10 FROM n`)
	must(t, s, `CREATE PRIVATE TABLE of_many (a INTEGER BETWEEN 0 AND 9) FROM many WITH (epsilon = 80, delta = 1e-6)`)
	for _, release := range []string{`sized ON of_many USING PROJECTION WITH (epsilon = 20, transform = sparse, rows = 64)`, `r ON of_many USING PROJECTION WITH (epsilon = 1)`} {
		var steps []string
		s.SetProgress(func(done, all int64) { steps = append(steps, fmt.Sprintf("%d/%d", done, all)) })
		must(t, s, `CREATE RELEASE `+release)
		if want := "[0/300 4300/10200 8700/10200 10000/10200 10100/10200]"; release[0] == 'r' && fmt.Sprint(steps) != want {
			t.Errorf("the steps were %v, want %s", steps, want)
		}
	}
}

// TestStatementWithoutQueries lists groups. Groups are declared, so this asks no query.
func TestStatementWithoutQueries(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 4, delta = 1e-6`)
	r := must(t, s, `SELECT b, 1 FROM t GROUP BY b`)
	if got := fmt.Sprint(r.Rows); got != "[[<nil> 1] [x 1] [y 1]]" || r.Answer.Via != "constant" {
		t.Errorf("the rows are %s via %s", got, r.Answer.Via)
	}
	if got := fmt.Sprint(must(t, s, `SELECT SUM(0), COUNT(NULL) FROM t`).Rows); got != "[[0 0]]" {
		t.Errorf("sums of nothing are %s", got)
	}
}

// TestCancelledGroups ends a statement of many queries between two of them.
func TestCancelledGroups(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 4, delta = 1e-6`)
	must(t, s, `CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 1)`)
	ctx, cancel := context.WithCancel(context.Background())
	s.SetProgress(func(done, total int64) {
		if done == 3 {
			cancel()
		}
	})
	if _, err := s.Exec(ctx, `SELECT a, COUNT(*) FROM t GROUP BY a`, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("%v, want it cancelled", err)
	}
}

// TestVarianceOfRows compares variances, computed from answers without noise, with those
// of the rows: of values on one side of 0 and on both, of expressions, in groups, and
// beside the mean of the same values.
func TestVarianceOfRows(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 100, delta = 1e-6`)
	quieten(s.DB())
	must(t, s, `CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 10, transform = identity)`)
	raw := plain(t, s)
	for _, x := range []string{"v", "a", "v - 20", "v + 1000000", "-a", "v * a", "a * a - 3", "CASE WHEN a > 2 THEN a END", "7", "a / 2"} {
		for _, where := range []string{"1 = 1", "a < 3", "b = 'x' AND a > 1", "v = 30", "v > 90"} {
			var n, first, second float64
			err := raw.QueryRow(fmt.Sprintf(`SELECT COUNT(%[1]s), COALESCE(SUM(%[1]s), 0), COALESCE(SUM((%[1]s) * (%[1]s)), 0) FROM raw WHERE %[2]s`, x, where)).Scan(&n, &first, &second)
			if err != nil {
				t.Fatal(err)
			}
			got := must(t, s, fmt.Sprintf(`SELECT VAR_POP(%[1]s), VAR_SAMP(%[1]s), VARIANCE(%[1]s), STDDEV_POP(%[1]s), stddev_samp(%[1]s), STDDEV(%[1]s), AVG(%[1]s) FROM t WHERE %[2]s`, x, where)).Rows[0]
			over := second - first*first/n
			want := []float64{over / n, over / (n - 1), over / (n - 1), math.Sqrt(over / n), math.Sqrt(over / (n - 1)), math.Sqrt(over / (n - 1)), first / n}
			for i, w := range want {
				if v, ok := got[i].(float64); ok != (n > 0) || ok && math.Abs(v-w) > 1e-3*(1+math.Abs(w)) {
					t.Errorf("%s where %s: got %v, want %v", x, where, got, want)
					break
				}
			}
		}
	}
	rows := must(t, s, `SELECT a, VAR_POP(v + a), STDDEV(v) AS d, MARGIN(d) FROM t GROUP BY a HAVING STDDEV(v) < 1 ORDER BY VARIANCE(v), a`).Rows
	if len(rows) != 5 || rows[4][1] != 0.0 || rows[4][2] != 0.0 || rows[4][0] != int64(4) {
		t.Errorf("in groups: %v", rows)
	}
}

// TestVarianceIsThreeCharges checks that a variance costs the count, the sum and the
// squares, whatever is computed from them and for any number of groups.
func TestVarianceIsThreeCharges(t *testing.T) {
	t.Parallel()
	s := shop(t, `epsilon = 20, delta = 1e-6`)
	must(t, s, `SET accuracy = 50`)
	one := must(t, s, `SELECT COUNT(*) FROM t WHERE v < 7`).Answer.Cost.Rho
	for text, prices := range map[string]float64{
		`SELECT VARIANCE(v) FROM t WHERE a = 0`:                                        3,
		`SELECT VAR_POP(v), STDDEV(v), MARGIN(STDDEV(v)), COUNT(v) FROM t WHERE a = 1`: 3,
		`SELECT a, STDDEV(v) FROM t WHERE v > 3 GROUP BY a`:                            3,
		`SELECT a, COUNT(v), STDDEV(v) FROM t WHERE v > 5 GROUP BY a`:                  3,
	} {
		if got := must(t, s, text).Answer.Cost.Rho / one; got < prices || got > prices*1.02 {
			t.Errorf("%s costs %g prices, want %g", text, got, prices)
		}
	}
}

// TestVariancesAreCovered draws 5,000 standard deviations of direct answers, or 20,000 with -long. By
// the union bound the margins hold in at least 95 % of cases; see fewestHeld.
func TestVariancesAreCovered(t *testing.T) {
	t.Parallel()
	const c = 50
	laws := make([]direct.Plan, 3)
	for i, w := range []int64{1, 100, c * c} { // weights; rows are within 14 at 95 % each
		laws[i], _ = direct.PlanFor(direct.Request{Accuracy: float64(14 * w), Confidence: 0.95, Sensitivity: w, Answers: 1})
	}
	truths := [3]int64{1000, 15_000, 0} // values 10 and 20, half of them each
	truths[2] = 500*(c-10)*(c-10) + 500*(c-20)*(c-20)
	deviation := post.Variance{Mean: post.Mean{Terms: []post.Term{{Slot: 1, Factor: 1}, {Slot: 0, Factor: -c}}, Count: 0},
		Squares: []post.Term{{Slot: 2, Factor: 1}}, Root: true}
	p := post.Program{Columns: []post.Column{{Name: "stddev", Value: deviation}}, Limit: -1}
	widths := make(map[[2]float64]float64) // by law and confidence
	seed := seeds.Of(t)
	src := stream(seed)
	draws := sized(0, 5000, 20_000)
	held := 0
	for range draws {
		var answers []post.Answer
		for i, plan := range laws {
			value, err := plan.Answer(truths[i], src)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, post.Answer{Value: value, Error: func(confidence float64) (post.Interval, bool) {
				key := [2]float64{float64(i), confidence}
				if widths[key] == 0 {
					widths[key] = float64(law.HalfWidth(plan.Law, confidence))
				}
				return post.Within(widths[key]), true
			}})
		}
		out := p.Run([]post.Group{{Answers: answers}}, 0.95)
		if math.Abs(out.Rows[0][0].(float64)-5) <= out.Margins[0][0].(float64) {
			held++
		}
	}
	t.Logf("%d of %d margins hold", held, draws)
	if held < fewestHeld(draws) {
		t.Errorf("only %d of %d margins hold", held, draws)
	}
}

// TestTotalsAreTighterThanTheirSums compares the total row of ROLLUP, which is asked, with
// the sum of the rows above it: its margin is never larger, whatever answers. The totals
// are also the same numbers as those of a statement without ROLLUP.
func TestTotalsAreTighterThanTheirSums(t *testing.T) {
	for _, w := range ways {
		if w.only != "" || w.name == "smw release" { // which covers no sum of all towns
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "totals.db")
			w.make(t, path)
			s := open(t, path, engine.Options{}).NewSession()
			quieten(s.DB())
			for _, text := range w.begin {
				must(t, s, text)
			}
			all := must(t, s, `SELECT town, COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE sex = 'F' GROUP BY ROLLUP (town)`).Rows
			sum := must(t, s, `SELECT COUNT(*) FILTER (WHERE town = 'Ash') + COUNT(*) FILTER (WHERE town = 'Elm') + COUNT(*) FILTER (WHERE town = 'Oak')
				+ COUNT(*) FILTER (WHERE town = '100%') AS n, MARGIN(n) FROM visits WHERE sex = 'F'`).Rows[0]
			alone := must(t, s, `SELECT COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE sex = 'F'`).Rows[0]
			total := all[len(all)-1]
			if len(all) != 5 || total[0] != nil || total[1] != alone[0] {
				t.Fatalf("rows %v, want four towns and %v", all, alone)
			}
			if asFloat(total[2]) > asFloat(sum[1]) {
				t.Errorf("the total has the margin %v, and the sum of its parts %v", total[2], sum[1])
			}
			t.Logf("total ± %v, sum of the parts ± %v", total[2], sum[1])
		})
	}
}
