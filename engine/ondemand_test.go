package engine_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// large declares a table of 5.8·10⁸ possible records, and a release of its pairs of columns.
// The pair of age and stay has more than max_cells.
func large(t *testing.T, path string) *engine.Session {
	t.Helper()
	s := clinicAt(t, path)
	fill(t, s, `CREATE TABLE raw_stays AS SELECT sex, age, diagnosis, age * 37 % 400 AS stay, age % 7 AS weekday, age % 80 AS ward FROM raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE stays (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 199, diagnosis TEXT IN (SELECT code FROM icd10),
		stay INTEGER BETWEEN 0 AND 399, weekday INTEGER BETWEEN 0 AND 6, ward INTEGER BETWEEN 0 AND 79)
		FROM raw_stays WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	return s
}

const largeRelease = `CREATE RELEASE low ON stays USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 2, max_cells = 50000)`

// TestOnDemand builds a release over a universe that is too large for a table, asks it,
// and asks it again from an exported copy, and from the file after it was closed and can only be read.
//
// A proven margin at a confidence of 1 − 1e-9 misses with less than that probability, and 7 are
// compared.
func TestOnDemand(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "large.db")
	s := large(t, path)
	r := must(t, s, largeRelease)
	if warned := strings.Join(r.Warnings, "\n"); !strings.Contains(warned, "1 of 15 marginals have more than 50000 cells") {
		t.Errorf("warned %q", warned)
	}
	small := must(t, s, `CREATE RELEASE small ON stays USING MARGINALS WITH (epsilon = 0.1, delta = 1e-8, degree = 2, max_cells = 150)`)
	if warned := strings.Join(small.Warnings, "\n"); !strings.Contains(warned, "no marginal has age") {
		t.Errorf("warned %q", warned)
	}
	must(t, s, `DROP RELEASE small`)
	if n := strings.Count(ledger(t, s), "create release low"); n != 1 {
		t.Errorf("the ledger has %d lines of the release", n)
	}
	if shown := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(shown, "14 marginals of ") || !strings.Contains(shown, "1 larger ones by their parts, fitted, tables on demand") {
		t.Errorf("SHOW RELEASES has %s", shown)
	}
	asked := []struct {
		text string
		true []int64
	}{
		{`SELECT COUNT(*) FROM stays`, []int64{4000}},
		{`SELECT COUNT(*) FROM stays WHERE age < 50 AND sex = 'M'`, []int64{1000}},
		{`SELECT COUNT(*) FROM stays WHERE stay = 0 AND sex = 'M'`, []int64{40}},
		{`SELECT diagnosis, COUNT(*) FROM stays WHERE sex = 'F' GROUP BY diagnosis ORDER BY diagnosis`, []int64{667, 667, 666}},
	}
	answers := func(s *engine.Session) (out []string) {
		for _, kind := range []string{"simulated", "proven"} {
			must(t, s, `SET margins = `+kind)
			must(t, s, `SET confidence = 0.999999999`)
			for _, c := range asked {
				r := must(t, s, c.text)
				for i, row := range r.Rows {
					last := len(row) - 1
					margin, ok := r.Answer.Margins[i][last].(float64)
					if off := math.Abs(float64(row[last].(int64) - c.true[i])); !ok || kind == "proven" && off > margin || r.Answer.Simulated != (kind == "simulated") {
						t.Errorf("%s, %s: %v ± %v, want %d", kind, c.text, row, r.Answer.Margins[i], c.true[i])
					}
				}
				out = append(out, fmt.Sprint(r.Rows, r.Answer.Margins))
			}
			for _, text := range []string{`SELECT AVG(stay), SUM(weekday) FROM stays WHERE sex = 'M'`, `SELECT COUNT(*) FROM stays WHERE sex = 'M' AND weekday = 1 AND diagnosis = 'E10'`} {
				r := must(t, s, text)
				out = append(out, fmt.Sprint(r.Rows, r.Answer.Margins))
			}
		}
		return out
	}
	want := fmt.Sprint(answers(s))
	public := filepath.Join(t.TempDir(), "public.db")
	must(t, s, `EXPORT RELEASE low TO '`+public+`'`)
	for _, file := range []string{public, path} {
		if got := fmt.Sprint(answers(open(t, file, engine.Options{}).NewSession())); got != want {
			t.Errorf("%s answers\n%s, want\n%s", file, got, want)
		}
	}
}

// TestOnDemandPlans compares EXPLAIN with the answer, adds up the parts of one statement,
// and asks about too many columns. Nothing is charged.
func TestOnDemandPlans(t *testing.T) {
	t.Parallel()
	s := large(t, filepath.Join(t.TempDir(), "large.db"))
	must(t, s, largeRelease)
	before := ledger(t, s)
	const pair = `SELECT COUNT(*) FROM stays WHERE age < 50 AND sex = 'M'`
	explained, answered := must(t, s, `EXPLAIN `+pair), must(t, s, pair)
	if note := fmt.Sprint(explained.Rows[0]); explained.Rows[0][4] != answered.Answer.Margins[0][0] || !strings.Contains(note, "tables on demand over sex, age, diagnosis") {
		t.Errorf("EXPLAIN has %s, the answer ± %v", note, answered.Answer.Margins[0])
	}
	// EXPLAIN simulates no fit, nor does it show what another statement has simulated, unless the answer would be by it.
	for _, kind := range []string{"proven", "simulated", "proven"} {
		must(t, s, `SET margins = `+kind)
		if note := fmt.Sprint(must(t, s, `EXPLAIN `+pair).Rows[0]); strings.Contains(note, "simulated ±") != (kind == "simulated") {
			t.Errorf("with %s margins EXPLAIN has %s", kind, note)
		}
	}
	// Of one statement, all counts come from one table, and its parts add up but for rounding.
	r := must(t, s, `SELECT COUNT(*), SUM(CASE WHEN weekday < 3 THEN 1 ELSE 0 END), SUM(CASE WHEN weekday >= 3 THEN 1 ELSE 0 END), SUM(CASE WHEN ward < 9 THEN 1 ELSE 0 END), SUM(CASE WHEN ward >= 9 THEN 1 ELSE 0 END) FROM stays`)
	row := r.Rows[0]
	n := func(i int) int64 { return row[i].(int64) }
	if a, b := n(1)+n(2)-n(0), n(3)+n(4)-n(0); a < -1 || a > 1 || b < -1 || b > 1 {
		t.Errorf("the parts of %v do not add up", row)
	}
	const all = `SELECT COUNT(*) FROM stays WHERE age < 50 AND sex = 'M' AND stay < 9 AND ward < 9 AND diagnosis = 'E10'`
	_, err := s.Exec(t.Context(), all, nil)
	if sqlerr.CodeOf(err) != sqlerr.Uncovered || !strings.Contains(err.Error(), "5 columns have too many combinations") {
		t.Errorf("all columns: %v", err)
	}
	if text := fmt.Sprint(must(t, s, `EXPLAIN `+all).Rows[0]); !strings.Contains(text, "too many combinations") {
		t.Errorf("EXPLAIN has %s", text)
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger was\n%s\nand is\n%s", before, after)
	}
	must(t, s, `CREATE MECHANISM guard ON stays (sex, diagnosis, weekday) USING SMW WITH (epsilon = 1, prior = low, max_updates = 2, queries = 10)`)
}

// TestManyColumns builds a release of the pairs of 25 columns, which have 2·10³² possible
// records, more than a code of one word counts. The naive twin is the raw table: it counts the
// rows that each answer is about. The release answers from the closed file, too.
//
// A proven margin at a confidence of 1 − 1e-9 misses with less than that probability, and 15
// are compared.
func TestManyColumns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "many.db")
	s := clinicAt(t, path)
	var declared, made []string
	for i := range 25 {
		made = append(made, fmt.Sprintf("(age * %d + (sex = 'F') * %d) %% 20 AS c%d", 1+i%7, i%3, i))
		declared = append(declared, fmt.Sprintf("c%d INTEGER BETWEEN 0 AND 19", i))
	}
	fill(t, s, `CREATE TABLE raw_many AS SELECT `+strings.Join(made, ", ")+` FROM raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE many (`+strings.Join(declared, ", ")+`) FROM raw_many WITH (epsilon = 4, delta = 1e-6, interactive = 0)`)
	must(t, s, `CREATE RELEASE pairs ON many USING MARGINALS WITH (epsilon = 3.5, delta = 1e-7, degree = 2)`)
	shown := must(t, s, `SHOW RELEASES`).Rows[0]
	if text := fmt.Sprint(shown); shown[6] != nil || !strings.Contains(text, "300 marginals of 120000 cells, fitted, tables on demand") {
		t.Errorf("SHOW RELEASES has %s", text)
	}
	var counts []string
	asked := []string{"c3 < 7", "c0 = 1 AND c24 = 4", "c11 IN (2, 3, 19) AND c12 < 15", "c24 = 0", "1 = 1"}
	for _, where := range asked {
		counts = append(counts, "SUM("+where+")")
	}
	var truth [5]int64
	err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
		return tx.SQL().QueryRowContext(t.Context(), `SELECT `+strings.Join(counts, ", ")+` FROM raw_many`).
			Scan(&truth[0], &truth[1], &truth[2], &truth[3], &truth[4])
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := func(s *engine.Session) (all string) {
		must(t, s, `SET confidence = 0.999999999`)
		for i, where := range asked {
			r := must(t, s, `SELECT COUNT(*) FROM many WHERE `+where)
			interval, ok := r.Answer.Intervals[0][0].(engine.Interval)
			if n := float64(truth[i]); !ok || n < interval.Low || n > interval.High || interval.High-interval.Low > 1500 {
				t.Errorf("%s: %v in %v, want %d", where, r.Rows, r.Answer.Intervals, truth[i])
			}
			all += fmt.Sprint(r.Rows, r.Answer.Intervals)
		}
		if r := must(t, s, `SELECT COUNT(*) FROM many WHERE c0 = 1 AND c1 = 2 AND c2 = 3`); r.Answer.Verified {
			t.Error("a count by three columns is verified")
		}
		return all
	}
	want := answers(s)
	if got := answers(open(t, path, engine.Options{}).NewSession()); got != want {
		t.Errorf("the file answers %s, want %s", got, want)
	}
	text := fmt.Sprint(must(t, s, `EXPLAIN SELECT COUNT(*) FROM many WHERE c3 < 7`).Rows)
	if !strings.Contains(text, "chosen; 300 marginals") {
		t.Errorf("EXPLAIN has %s", text)
	}
	must(t, s, `CREATE PRIVATE TABLE most (c0 INTEGER BETWEEN 0 AND 1000000000000000000, c1 INTEGER BETWEEN 0 AND 1000000000000000000,
		c2 INTEGER BETWEEN 0 AND 1000000000000000000) FROM raw_many WITH (epsilon = 4, delta = 1e-6, interactive = 0)`)
	before := ledger(t, s)
	_, err = s.Exec(t.Context(), `CREATE RELEASE all_most ON most USING MARGINALS WITH (epsilon = 1, delta = 1e-7)`, nil)
	if sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), "fewer than 2^128 possible records") || ledger(t, s) != before {
		t.Errorf("10^54 possible records: %v", err)
	}
	public := filepath.Join(t.TempDir(), "public.db")
	must(t, s, `EXPORT RELEASE pairs TO '`+public+`'`)
	if got := answers(open(t, public, engine.Options{}).NewSession()); got != want {
		t.Errorf("the exported file answers %s, want %s", got, want)
	}
}
