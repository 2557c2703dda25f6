package engine_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"dpsql/engine"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// marginOf returns the margin in the row of EXPLAIN with a name, and false if it has none.
func marginOf(t *testing.T, r *engine.Result, name string) (float64, bool) {
	t.Helper()
	for _, row := range r.Rows {
		if row[0] != name {
			continue
		}
		switch m := row[4].(type) {
		case float64:
			return m, true
		case string:
			f, err := strconv.ParseFloat(m, 64)
			return f, err == nil
		}
	}
	return 0, false
}

// TestExplainCreateForetells compares the margins of EXPLAIN CREATE RELEASE with those that the
// release has when it is built. Those of counts are the same but for rounding, and those of sums, whose weights
// are not all looked at, within a quarter. Nothing is drawn and nothing charged before.
func TestExplainCreateForetells(t *testing.T) {
	t.Parallel()
	workload := []string{`SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, `SELECT COUNT(*) FROM admissions WHERE age < 30`, `SELECT SUM(age) FROM admissions`}
	for _, create := range []string{
		`CREATE RELEASE x ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE RELEASE x ON admissions (sex, age, diagnosis) USING MARGINALS WITH (epsilon = 0.5, degree = 2, estimate = unbiased)`,
	} {
		s := clinic(t)
		file := filepath.Join(t.TempDir(), "w.sql")
		if err := os.WriteFile(file, []byte(workload[0]+";"+workload[1]+";"+workload[2]+";"), 0o600); err != nil {
			t.Fatal(err)
		}
		random, before := s.DB().Random(), ledger(t, s)
		s.DB().SetRandom(func() *noise.Source {
			t.Error("EXPLAIN draws")
			return noise.NewSource()
		})
		said := must(t, s, `EXPLAIN `+create+` FOR '`+file+`'`)
		s.DB().SetRandom(random)
		if ledger(t, s) != before || len(must(t, s, `SHOW RELEASES`).Rows) > 0 {
			t.Errorf("EXPLAIN %s changed the catalog", create)
		}
		must(t, s, create)
		for i, text := range workload {
			foretold, known := marginOf(t, said, "statement "+strconv.Itoa(i+1))
			built, has := marginOf(t, must(t, s, `EXPLAIN `+text), "x")
			if !known || !has || math.Abs(foretold-built) > 1 && (i < 2 || foretold/built < 0.75 || foretold/built > 1.25) {
				t.Errorf("%s\n%s: foretold %v (%v), built %v (%v)", create, text, foretold, known, built, has)
			}
		}
	}
}

// TestExplainCreateReadsNoRows explains declarations on tables with the rows, without rows and
// with other rows.
func TestExplainCreateReadsNoRows(t *testing.T) {
	t.Parallel()
	first := ""
	for _, change := range []string{``, `DELETE FROM raw_admissions`, `UPDATE raw_admissions SET age = 3, diagnosis = NULL`} {
		s := clinic(t)
		if change != "" {
			fill(t, s, change)
		}
		said := ""
		for _, text := range []string{
			`EXPLAIN CREATE RELEASE x ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`,
			`EXPLAIN CREATE RELEASE x ON admissions (sex, zip) USING PROJECTION WITH (epsilon = 0.5)`,
			`EXPLAIN CREATE RELEASE x ON admissions (sex, age) USING MARGINALS WITH (epsilon = 50)`,
			`EXPLAIN CREATE RELEASE x ON admissions (sex, age) USING SMW WITH (epsilon = 0.5, free_columns = 1)`,
			`EXPLAIN CREATE RELEASE x ON admissions (sex) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`,
			`EXPLAIN CREATE MECHANISM x ON admissions (sex, age) USING SMW WITH (epsilon = 0.2)`,
			`EXPLAIN CREATE PUBLIC TABLE x AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 0.2, delta = 1e-8)`,
		} {
			for _, line := range (outcome{result: must(t, s, text)}).lines() {
				said += line + "\n"
			}
		}
		if first == "" {
			first = said
		}
		if said != first {
			t.Errorf("after %q\n%s\nand not\n%s", change, said, first)
		}
	}
}

// TestExplainCreateForetellsAverages buys N̂, and compares the margin of an average with that of
// the release, which has the average of its rows and not the middle of the domain. Over the
// 4,000 rows their noise moves it by less than a twentieth, except with a probability far below
// 1e-6: that is six deviations of the sum.
func TestExplainCreateForetellsAverages(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE MECHANISM m ON admissions (sex, age) USING SMW WITH (epsilon = 0.2)`)
	create := `CREATE RELEASE x ON admissions (sex, age) USING PROJECTION WITH (epsilon = 2)`
	foretold, known := marginOf(t, must(t, s, `EXPLAIN `+create), "average of age")
	must(t, s, create)
	must(t, s, `SET mechanism = x`)
	built := must(t, s, `SELECT AVG(age) AS a, MARGIN(a) AS m FROM admissions`).Rows[0][1].(float64)
	if !known || foretold/built < 0.8 || foretold/built > 1.35 {
		t.Errorf("foretold %v (%v), built %v", foretold, known, built)
	}
}

func TestExplainCreateIsForCurators(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clinic.db")
	clinicAt(t, path)
	analyst := open(t, path, engine.Options{Role: engine.Analyst}).NewSession()
	refused(t, analyst, sqlerr.Forbidden, `EXPLAIN CREATE RELEASE x ON admissions (sex) USING PROJECTION WITH (epsilon = 0.5)`)
	refused(t, analyst, sqlerr.Forbidden, `EXPLAIN CREATE PUBLIC TABLE x AS SELECT DISTINCT zip FROM nobody WITH (epsilon = 0.5)`)
	refused(t, analyst, sqlerr.Forbidden, `EXPLAIN CREATE MECHANISM x ON nobody USING SMW WITH (epsilon = 0.5) FOR 'x'`)
}

// TestExplained: EXPLAIN of a prepared statement is that of its text.
func TestExplained(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE r ON admissions (sex, age) WITH (epsilon = 0.5)`)
	for _, text := range []string{`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`, `SELECT ROUND(COUNT(*) / 2.0) FROM admissions WHERE age < 9`, `SELECT 1`, `SELECT colour FROM admissions`,
		`SELECT n FROM (SELECT colour AS n FROM admissions) AS t`, `CREATE RELEASE x ON admissions (sex) WITH (epsilon = 0.1)`, `CREATE MECHANISM m ON admissions (sex, age) USING SMW WITH (epsilon = 0.1)`} {
		p, err := engine.Prepare(text)
		if err != nil || !p.Query() {
			t.Fatal(text, err)
		}
		explained, err := p.Explained()
		if err != nil {
			t.Fatal(text, err)
		}
		got, err := s.ExecPrepared(t.Context(), explained, nil)
		want, failed := s.Exec(t.Context(), `EXPLAIN `+text, nil)
		if place := func(at int) int { return at - len(`EXPLAIN `) }; !reflect.DeepEqual(err, sqlerr.Move(failed, place)) {
			t.Errorf("%s: %v, want %v", text, err, failed)
		} else if err == nil && !reflect.DeepEqual([]any{got.Rows, got.Price, got.Warnings}, []any{want.Rows, want.Price, want.Warnings}) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
