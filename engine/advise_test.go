package engine_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// workloadOf writes a workload and returns its path.
func workloadOf(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "workload.sql")
	if err := os.WriteFile(path, []byte(strings.Join(statements, ";\n")+";\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// advised returns the statements of the first proposal, and the margins that it has for each
// statement of the workload.
func advised(t *testing.T, r *engine.Result) (creates []string, margins []any) {
	t.Helper()
	for _, row := range r.Rows {
		text := row[1].(string)
		switch name, named := row[0].(string); {
		case named && strings.HasPrefix(name, "statement "):
			margins = append(margins, row[2])
		case len(margins) > 0:
			return creates, margins
		case strings.HasPrefix(text, "CREATE RELEASE"):
			creates = append(creates, strings.TrimSuffix(text, ";"))
		}
	}
	return creates, margins
}

// TestAdviceHolds runs what ADVISE proposes. The statements then have the margins that it said: those of
// counts are the same but for rounding, and those of sums, whose weights are not all looked at, within a quarter.
// Before that nothing is drawn or charged.
func TestAdviceHolds(t *testing.T) {
	t.Parallel()
	for name, workload := range map[string][]string{
		"split":   {`SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, `SELECT diagnosis, COUNT(*) FROM admissions GROUP BY diagnosis`, `SELECT COUNT(*) FROM admissions WHERE age < 30`},
		"one":     {`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age < 2 AND diagnosis = 'E10'`, `SELECT sex, diagnosis, COUNT(*) FROM admissions WHERE age = 40 GROUP BY sex, diagnosis`},
		"unknown": {`SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, `SELECT COUNT(*) FROM admissions WHERE length(zip) = 2`, `SELECT SUM(age) FROM admissions`},
	} {
		t.Run(name, func(t *testing.T) {
			s := clinic(t)
			random, before := s.DB().Random(), ledger(t, s)
			s.DB().SetRandom(func() *noise.Source {
				t.Error("ADVISE draws")
				return noise.NewSource()
			})
			r := must(t, s, `ADVISE '`+workloadOf(t, workload...)+`' WITH (epsilon = 1, delta = 1e-7)`)
			s.DB().SetRandom(random)
			if ledger(t, s) != before || len(must(t, s, `SHOW RELEASES`).Rows) > 0 {
				t.Error("ADVISE changed the catalog")
			}
			creates, margins := advised(t, r)
			if len(creates) == 0 || len(margins) != len(workload) || name == "one" && r.Rows[0][0] != "one" {
				t.Fatalf("the advice is %v", r.Rows)
			}
			for _, create := range creates {
				must(t, s, create)
			}
			for i, text := range workload {
				built, err := s.Exec(t.Context(), text, nil)
				if margins[i] == nil {
					if err == nil && built.Answer.Margins[0][0] != nil {
						t.Errorf("%s has the margin %v, and none was said", text, built.Answer.Margins)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				var least, most float64
				if n, _ := fmt.Sscanf(margins[i].(string), "%f to %f", &least, &most); n == 1 {
					most = least
				}
				for _, row := range built.Answer.Margins {
					m, ok := row[len(row)-1].(float64)
					if tolerance := math.Max(1, map[bool]float64{true: most / 4}[strings.Contains(text, "SUM")]); !ok || m < least-tolerance || m > most+tolerance {
						t.Errorf("%s: margin %v, and %v was said", text, row, margins[i])
					}
				}
			}
		})
	}
}

// TestAdviceReadsNoRows asks for advice on tables with the rows, without rows and with other rows,
// and is refused where it must be.
func TestAdviceReadsNoRows(t *testing.T) {
	t.Parallel()
	path := workloadOf(t, `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`, `SELECT age, AVG(age) FROM admissions WHERE diagnosis = 'E10' GROUP BY age`,
		`SELECT diagnosis, COUNT(DISTINCT sex) FROM admissions GROUP BY diagnosis`)
	advise := `ADVISE '` + path + `' WITH (epsilon = 0.5, delta = 1e-8)`
	first := ""
	for _, change := range []string{``, `DELETE FROM raw_admissions`, `UPDATE raw_admissions SET age = 3, diagnosis = NULL`} {
		s := clinic(t)
		if change != "" {
			fill(t, s, change)
		}
		said := strings.Join((outcome{result: must(t, s, advise)}).lines(), "\n")
		if first == "" {
			first = said
		}
		if said != first {
			t.Errorf("after %q\n%s\nand not\n%s", change, said, first)
		}
	}
	s := clinic(t)
	refused(t, asAnalyst(t, s), sqlerr.Forbidden, advise)
	if e := refused(t, s, sqlerr.Malformed, `ADVISE '`+workloadOf(t, `SELECT COUNT(*) FROM admissions`, `SELECT COUNT( FROM admissions`)+`' WITH (epsilon = 1)`); !strings.Contains(e.Message, "workload.sql:2:") {
		t.Error(e)
	}
	refused(t, s, sqlerr.Invalid, `ADVISE '`+workloadOf(t, `SHOW TABLES`)+`' WITH (epsilon = 1)`)
	refused(t, s, sqlerr.Invalid, `ADVISE '`+workloadOf(t, ``)+`' WITH (epsilon = 1)`)
	refused(t, s, sqlerr.Unknown, `ADVISE '`+workloadOf(t, `SELECT COUNT(*) FROM nobody`)+`' WITH (epsilon = 1)`)
	refused(t, s, sqlerr.IO, `ADVISE 'nowhere.sql' WITH (epsilon = 1)`)
	refused(t, s, sqlerr.Invalid, `ADVISE '`+path+`' WITH (delta = 1e-6)`)
	refused(t, s, sqlerr.Invalid, `ADVISE '`+path+`' WITH (epsilon = 1, degree = 2)`)
	refused(t, s, sqlerr.Malformed, `ADVISE '`+path+`'`)
	refused(t, s, sqlerr.Unsupported, `ADVISE '`+workloadOf(t, strings.Split(strings.Repeat(`SELECT COUNT(*) FROM admissions|`, 201), "|")[:201]...)+`' WITH (epsilon = 1)`)
	r := must(t, s, `ADVISE '`+path+`' WITH (epsilon = 100)`)
	if note := fmt.Sprint(r.Rows[0][3]); !strings.Contains(note, "refused: budget") {
		t.Errorf("more than the budget is advised: %s", note)
	}
}
