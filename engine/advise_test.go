package engine_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/accounting"
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
	for _, row := range r.Brief.Rows {
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

// advice is what ADVISE says of a table in its whole form.
type advice struct {
	table     string
	proposals []proposed // in order
}

// proposed is a proposal, and the margins of the statements by their texts, 0 if none is known.
type proposed struct {
	name    string
	creates []string
	least   map[string]float64
	most    map[string]float64
	note    string
}

// adviceOf reads the whole form.
func adviceOf(t *testing.T, r *engine.Result) (all []advice) {
	t.Helper()
	for _, row := range r.Rows {
		table, name, part, text := row[0].(string), row[1].(string), row[2].(string), row[3]
		if len(all) == 0 || all[len(all)-1].table != table {
			all = append(all, advice{table: table})
		}
		a := &all[len(all)-1]
		if len(a.proposals) == 0 || a.proposals[len(a.proposals)-1].name != name {
			note, _ := row[7].(string)
			a.proposals = append(a.proposals, proposed{name: name, least: make(map[string]float64), most: make(map[string]float64), note: note})
		}
		p := &a.proposals[len(a.proposals)-1]
		if part == "create" {
			if text != nil {
				p.creates = append(p.creates, text.(string))
			}
			continue
		}
		if row[5] != nil {
			p.least[text.(string)], p.most[text.(string)] = row[5].(float64), row[6].(float64)
		}
	}
	return all
}

// spentOf returns what was spent in a table's account, and what is left.
func spentOf(t *testing.T, s *engine.Session, table string) (spent, left accounting.Amount) {
	t.Helper()
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := v.Accounts[v.Private(table).Account]
	return a.Spent, a.Remaining()
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
			if len(creates) == 0 || len(margins) != len(workload) || name == "one" && r.Brief.Rows[0][0] != "one" {
				t.Fatalf("the advice is %v", r.Rows)
			}
			for _, create := range creates {
				if name == "split" && !strings.Contains(create, "(epsilon = 0.333)") {
					t.Errorf("a share of ε is not cut to three digits: %s", create)
				}
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

// TestAdviceIsMet builds the first proposal 40 times and compares the errors of its counts with the margin that was
// said, as bench does for large workloads. The 360 errors are independent draws of one Laplace law. At most 5 % of
// them are above the margin, and 22 % above half of it. By Chernoff's bound more than 45 are above the margin with
// probability at most 3e-7, and fewer than 35 above half of it with at most 1e-8. Noise of half or twice
// the size would fail.
func TestAdviceIsMet(t *testing.T) {
	t.Parallel()
	s := declared(t, clinicRaw(400), clinicDeclarations...)
	text := `SELECT sex, diagnosis, COUNT(*) FROM admissions GROUP BY sex, diagnosis`
	first := adviceOf(t, must(t, s, `ADVISE '`+workloadOf(t, text)+`' WITH (epsilon = 0.05)`))[0].proposals[0]
	margin := first.most[text+";"]
	truth := make(map[string]int64)
	for i := range 400 {
		truth[fmt.Sprint([]string{"M", "F"}[i%2], []string{"E10", "E11", "I10"}[i%3])]++
	}
	errors, above, half := 0, 0, 0
	for n := range 40 {
		name := fmt.Sprint("advised", n)
		must(t, s, strings.Replace(first.creates[0], "RELEASE advised ", "RELEASE "+name+" ", 1))
		must(t, s, `SET mechanism = `+name)
		for _, row := range must(t, s, text).Rows {
			off := math.Abs(float64(row[2].(int64) - truth[fmt.Sprint(row[0], row[1])]))
			errors++
			if off > margin {
				above++
			}
			if off > margin/2 {
				half++
			}
		}
	}
	if errors != 360 || margin < 20 || above > 45 || half < 35 {
		t.Errorf("of %d errors %d are above the margin %v, and %d above half of it", errors, above, margin, half)
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
	if note := fmt.Sprint(r.Brief.Rows[0][3]); !strings.Contains(note, "refused: budget") {
		t.Errorf("more than the budget is advised: %s", note)
	}
}

// TestAdviceOfDirectAnswers buys a workload at the margins that ADVISE says of direct answers. The account pays
// for all of it, and has little left, since margins are whole numbers: one price a slot, however many groups it has,
// and nothing for what another statement bought.
func TestAdviceOfDirectAnswers(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE TABLE raw_stays AS SELECT age / 4 AS person, sex, age % 10 AS days FROM raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE stays (sex TEXT IN ('F', 'M'), days INTEGER BETWEEN 0 AND 9)
		FROM raw_stays WITH (epsilon = 4, delta = 1e-6, interactive = 0.5, unit = person, max_rows = 9)`)
	for table, workload := range map[string][]string{
		"admissions": {`SELECT age, COUNT(*) FROM admissions GROUP BY age`, `SELECT COUNT(*) FROM admissions WHERE age = 7`, `SELECT sex, SUM(age) FROM admissions GROUP BY sex`,
			`SELECT sex, diagnosis, COUNT(*) FROM admissions GROUP BY ROLLUP (sex, diagnosis)`, `SELECT COUNT(*) FROM admissions WHERE age > 200`},
		"stays": {`SELECT days, COUNT(*) FROM stays GROUP BY days`, `SELECT COUNT(DISTINCT person) FROM stays WHERE days > 5`, `SELECT sex, COUNT(DISTINCT person) FROM stays GROUP BY sex`,
			`SELECT COUNT(DISTINCT days) FROM stays`},
	} {
		a := adviceOf(t, must(t, s, `ADVISE '`+workloadOf(t, workload...)+`' WITH (epsilon = 1, delta = 1e-7)`))[0]
		direct := a.proposals[len(a.proposals)-1]
		_, before := spentOf(t, s, table)
		if direct.name != "direct" || len(direct.most) != len(workload) {
			t.Fatalf("%s: %+v", table, direct)
		}
		for _, text := range workload {
			if direct.least[text+";"] != direct.most[text+";"] {
				t.Fatalf("%s has several margins", text)
			}
			if err := s.Set("accuracy", fmt.Sprint(direct.most[text+";"])); err != nil {
				t.Fatal(err)
			}
			for _, row := range must(t, s, text).Answer.Margins {
				if m, ok := row[len(row)-1].(float64); ok && m > direct.most[text+";"] {
					t.Errorf("%s has the margin %v, and %v was said", text, m, direct.most[text+";"])
				}
			}
		}
		if spent, left := spentOf(t, s, table); left.Rho < 0 || left.Rho > before.Rho*2/5 || spent.Rho > before.Rho {
			t.Errorf("%s: ρ %v of %v is left", table, left.Rho, before.Rho)
		}
	}
}

// TestAdviceOfSeveralTables has a workload over three tables, two of which read the same rows and share an
// account. All first proposals can be made together, under names of their own, for ε and δ an account.
func TestAdviceOfSeveralTables(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE TABLE raw_wards AS SELECT age % 7 AS ward FROM raw_admissions`)
	must(t, s, `CREATE PRIVATE TABLE "the same" (age INTEGER BETWEEN 0 AND 99) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	must(t, s, `CREATE PRIVATE TABLE wards (ward INTEGER BETWEEN 0 AND 6) FROM raw_wards WITH (epsilon = 4)`)
	workload := []string{`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`, `SELECT COUNT(*) FROM "the same" WHERE age < 9`,
		`SELECT ward, COUNT(*) FROM wards GROUP BY ward`, `SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E10'`, `SELECT COUNT(*) FROM "the same" WHERE age > 90`}
	r := must(t, s, `ADVISE '`+workloadOf(t, workload...)+`' WITH (epsilon = 2, delta = 5e-7)`)
	all := adviceOf(t, r)
	if len(all) != 3 {
		t.Fatalf("%d tables: %v", len(all), r.Rows)
	}
	asked := 0
	for _, a := range all {
		first := a.proposals[0]
		if shares := strings.Contains(first.note, "share the account and ε: admissions, the same"); shares != (a.table != "wards") {
			t.Errorf("%s: %s", a.table, first.note)
		}
		for _, create := range first.creates {
			must(t, s, create)
		}
		for text, most := range first.most {
			asked++
			for _, row := range must(t, s, text).Answer.Margins {
				if m, ok := row[len(row)-1].(float64); !ok || m < first.least[text]-1 || m > most+1 {
					t.Errorf("%s has the margin %v, and %v to %v was said", text, row, first.least[text], most)
				}
			}
		}
	}
	if asked != len(workload) {
		t.Errorf("%d statements had margins", asked)
	}
	for _, table := range []string{"admissions", "wards"} {
		if spent, _ := spentOf(t, s, table); spent.Epsilon.Float() > 2 || spent.Epsilon.Float() < 1.99 {
			t.Errorf("%s: the account spent %v", table, spent)
		}
	}
	numbered := map[string]string{}
	for _, row := range r.Rows {
		if text, ok := row[3].(string); ok {
			numbered[text] = row[2].(string)
		}
	}
	for i, text := range workload {
		if numbered[text+";"] != fmt.Sprint("statement ", i+1) {
			t.Errorf("%s is %s", text, numbered[text+";"])
		}
	}
	// What one table of an account could pay, two cannot.
	if said := adviceOf(t, must(t, s, `ADVISE '`+workloadOf(t, workload[0], workload[1])+`' WITH (epsilon = 1)`)); !strings.Contains(said[0].proposals[0].note, "refused: budget") {
		t.Errorf("more than the account has is advised: %s", said[0].proposals[0].note)
	}
}

// TestAdviceWhole holds the whole form to whole statements, and ADVISE FULL to the whole form.
func TestAdviceWhole(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	long := `SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age BETWEEN 20 AND 40 AND diagnosis IN ('E10', 'E11')`
	path := workloadOf(t, long, `SELECT MEDIAN(age) FROM admissions`)
	r, full := must(t, s, `ADVISE '`+path+`' WITH (epsilon = 1)`), must(t, s, `advise full '`+path+`' with (epsilon = 1)`)
	if full.Brief != nil || r.Brief == nil || fmt.Sprint(full.Columns, full.Rows) != fmt.Sprint(r.Columns, r.Rows) {
		t.Errorf("FULL says %v, not %v", full.Rows, r.Rows)
	}
	for _, p := range adviceOf(t, r)[0].proposals {
		if p.most[long+";"] == 0 && p.name != "pairs" {
			t.Errorf("%s has no margin for the whole statement", p.name)
		}
		if _, known := p.most[`SELECT MEDIAN(age) FROM admissions;`]; known {
			t.Errorf("%s has a margin for a median", p.name)
		}
	}
	if said := fmt.Sprint(r.Brief.Rows); strings.Contains(said, long) || !strings.Contains(said, "the margin of a quantile depends on the rows") {
		t.Errorf("in brief: %s", said)
	}
}

// TestAdviceRehearsed rehearses a script that declares a table and asks for advice about it. The advice is
// what the script gives when it runs.
func TestAdviceRehearsed(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	script := []string{`CREATE PRIVATE TABLE young (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 30) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`,
		`CREATE RELEASE advised ON young USING PROJECTION WITH (epsilon = 0.5)`,
		`ADVISE '` + workloadOf(t, `SELECT sex, COUNT(*) FROM young GROUP BY sex`, `SELECT COUNT(*) FROM young WHERE age < 18`) + `' WITH (epsilon = 1.6)`}
	plan := rehearsal(t, s)
	for i, text := range script {
		before := ledger(t, s)
		out, err := plan.Plan(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i < len(script)-1 {
			continue
		}
		for _, create := range script[:i] {
			must(t, s, create)
		}
		if real := must(t, s, text); fmt.Sprint(out.Rows, out.Brief.Rows) != fmt.Sprint(real.Rows, real.Brief.Rows) {
			t.Errorf("rehearsed:\n%v\nand then:\n%v", out.Rows, real.Rows)
		}
		if before == ledger(t, s) {
			t.Error("the script charged nothing")
		}
		if said := fmt.Sprint(out.Rows); !strings.Contains(said, "CREATE RELEASE advised2") || !strings.Contains(said, "refused: budget") {
			t.Errorf("the rehearsal forgot the release: %s", said)
		}
	}
}
