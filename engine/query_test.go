package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/engine"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// TestEqualQueriesShareAnAnswer buys one answer and asks for it again in other words. The
// number stays the same and nothing is charged.
func TestEqualQueriesShareAnAnswer(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 40`)
	first := must(t, s, `SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age BETWEEN 30 AND 34`)
	if first.Answer.Via != "direct" || first.Answer.Cost.Rho == 0 {
		t.Fatalf("the first answer came from %s at ρ = %g", first.Answer.Via, first.Answer.Cost.Rho)
	}
	before := ledger(t, s)
	for _, where := range []string{
		`age >= 30 AND age <= 34 AND sex = 'F'`,
		`NOT (sex <> 'F') AND age IN (34, 33, 32, 31, 30, 30)`,
		`"age" BETWEEN 30 AND 34 AND "sex" IN ('F') -- again`,
		`NOT (sex = 'M' OR age < 30 OR age > 34) AND sex IS NOT NULL`,
		`age > 29.5 AND '34' >= age AND sex IN ('F', 'X')`,
	} {
		r := must(t, s, `SELECT COUNT(*) FROM admissions WHERE `+where)
		if r.Rows[0][0] != first.Rows[0][0] || r.Answer.Cost != (engine.Cost{}) {
			t.Errorf("%s: %v at %v, want %v for nothing", where, r.Rows[0][0], r.Answer.Cost, first.Rows[0][0])
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger grew to\n%s", after)
	}
}

// TestDirectAnswers checks the price, the charge and the margin of a direct answer. An
// accuracy looser than a stored margin costs nothing.
func TestDirectAnswers(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 50`)
	r := must(t, s, `SELECT COUNT(*), MARGIN(COUNT(*)) FROM admissions`)
	// σ = 25.8 and there are 4,000 rows: off by 250 with a probability below 1e-20.
	if n := r.Rows[0][0].(int64); n < 3750 || n > 4250 {
		t.Errorf("counted %d of 4000 rows", n)
	}
	if rho := r.Answer.Cost.Rho; math.Abs(rho-0.00077) > 0.00003 {
		t.Errorf("±50 at 95 %% cost ρ = %g, want about 0.00077", rho)
	}
	if m := r.Rows[0][1]; m != 50.0 || r.Answer.Margins[0][0] != 50.0 {
		t.Errorf("the margins are %v and %v, want 50", m, r.Answer.Margins)
	}
	if r := must(t, s, `SELECT COUNT(*) FROM admissions`); r.Answer.Cost.Rho != 0 {
		t.Errorf("the stored answer cost %v", r.Answer.Cost)
	}
	must(t, s, `SET accuracy = 20`)
	if r := must(t, s, `SELECT COUNT(*) FROM admissions`); r.Answer.Cost.Rho == 0 {
		t.Error("a tighter answer cost nothing")
	}
	must(t, s, `SET accuracy = 50`)
	if r := must(t, s, `SELECT COUNT(*) FROM admissions`); r.Answer.Margins[0][0] != 20.0 {
		t.Errorf("the margin is %v, want that of the tightest stored answer, 20", r.Answer.Margins)
	}
	must(t, s, `SET accuracy = 0.4`)
	refused(t, s, sqlerr.Budget, `SELECT COUNT(*) FROM admissions`)
}

func TestMechanismSettings(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	const text = `SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age = 3`
	e := refused(t, s, sqlerr.Uncovered, text)
	if !strings.Contains(e.Hint, "SET accuracy = 50") || !strings.Contains(e.Hint, "ρ") {
		t.Errorf("the hint %q offers no direct answer", e.Hint)
	}
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1)`)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1, max_updates = 5)`)
	for setting, via := range map[string]string{"auto": "cells", "projection": "cells", "smw": "live", "live": "live", "CELLS": "cells"} {
		must(t, s, `SET mechanism = `+setting)
		if r := must(t, s, text); r.Answer.Via != via {
			t.Errorf("SET mechanism = %s answers by %s, want %s", setting, r.Answer.Via, via)
		}
	}
	must(t, s, `SET mechanism = nowhere`)
	refused(t, s, sqlerr.Unknown, text)
	must(t, s, `SET mechanism = direct`)
	refused(t, s, sqlerr.Invalid, text)
	must(t, s, `SET mechanism = projection`)
	must(t, s, `SET accuracy = 0.5`)
	refused(t, s, sqlerr.Uncovered, text)
}

// TestSupportDecidesCoverage checks that queries are refused by their size, before
// anything is enumerated. The second has 3·121·3 = 1,089 elements for each fixed zip.
func TestSupportDecidesCoverage(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE r ON admissions USING PROJECTION WITH (epsilon = 1, max_support = 1000, rows = 4096)`)
	e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM admissions WHERE age = 3`)
	if !strings.Contains(e.Message, "infinite") || !strings.Contains(e.Message, "zip") {
		t.Errorf("%v does not name the unpinned column", e)
	}
	e = refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM admissions WHERE zip = '15213'`)
	if !strings.Contains(e.Message, "1089") {
		t.Errorf("%v does not name the support", e)
	}
	r := must(t, s, `SELECT COUNT(*) FROM admissions WHERE zip = '15213' AND age < 100 AND sex = 'F'`)
	if r.Answer.Support != "300" {
		t.Errorf("m = %s, want 300", r.Answer.Support)
	}
}

func TestEmptyAndOutsideQueries(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	r := must(t, s, `SELECT COUNT(*) FROM admissions WHERE age = 1000`)
	if r.Rows[0][0] != int64(0) || r.Answer.Margins[0][0] != 0.0 || len(r.Warnings) != 1 {
		t.Errorf("got %v ± %v with warnings %q, want 0 ± 0 and a warning", r.Rows, r.Answer.Margins, r.Warnings)
	}
}

// TestClamp checks that negative estimates become 0 only under SET clamp.
func TestClamp(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (age) USING PROJECTION WITH (epsilon = 0.1)`)
	least := int64(math.MaxInt64)
	ask := func() {
		least = math.MaxInt64
		for age := 100; age <= 120; age++ { // no rows: the noise alone, negative with probability 0.475 each
			least = min(least, count(t, s, `SELECT COUNT(*) FROM admissions WHERE age = ?`, query.Int(int64(age))))
		}
	}
	// All 21 draws are at least 0 with probability 0.525^21 = 1.3e-6; the
	// noise of a second release brings the failure rate below 1e-11.
	if ask(); least >= 0 {
		must(t, s, `CREATE RELEASE more ON admissions (age) USING PROJECTION WITH (epsilon = 0.1)`)
		must(t, s, `SET mechanism = more`)
		ask()
	}
	if least >= 0 {
		t.Error("no estimate is negative")
	}
	must(t, s, `SET clamp = on`)
	if ask(); least != 0 {
		t.Errorf("the least clamped estimate is %d", least)
	}
}

// TestArguments binds placeholders. A wrong number of arguments is refused.
func TestArguments(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1)`)
	want := count(t, s, `SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age = 7`)
	if got := count(t, s, `SELECT COUNT(*) FROM admissions WHERE sex = ? AND age = ?`, query.Text("F"), query.Int(7)); got != want {
		t.Errorf("got %d with arguments and %d with literals", got, want)
	}
	if _, err := s.Exec(context.Background(), `SELECT COUNT(*) FROM admissions WHERE sex = ?`, nil); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a missing argument: %v, want invalid", err)
	}
	if _, err := s.Exec(context.Background(), `SHOW TABLES`, []query.Value{query.Int(1)}); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("an argument too many: %v, want invalid", err)
	}
}

// TestExplainSpendsNothing checks that EXPLAIN lists every candidate and leaves the ledger
// unchanged.
func TestExplainSpendsNothing(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1)`)
	must(t, s, `CREATE MECHANISM live ON admissions (diagnosis) USING SMW WITH (epsilon = 1, max_updates = 5)`)
	before := ledger(t, s)
	r := must(t, s, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age < 3`)
	var text strings.Builder
	for _, row := range r.Rows {
		fmt.Fprintln(&text, row...)
	}
	for _, want := range []string{"cells", "chosen", "live", "no column sex", "direct", "sex{'F': age{0 … 2: 1}}"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("EXPLAIN does not say %q:\n%s", want, &text)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("EXPLAIN changed the ledger to\n%s", after)
	}
}

func TestRandomFailureIsReported(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 50`)
	s.DB().SetRandom(func() *noise.Source { return noise.NewSourceFrom(failing{}) })
	refused(t, s, sqlerr.IO, `SELECT COUNT(*) FROM admissions`)
	if !strings.Contains(ledger(t, s), "direct answer") {
		t.Error("a draw was tried before it was charged")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("no entropy") }

// TestExportedRelease gets the same answers from the exported file as from its origin. The
// file holds no page of private data.
func TestExportedRelease(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	dir := t.TempDir()
	s.SetDirectory(dir)
	must(t, s, `CREATE RELEASE cells ON admissions (diagnosis, zip) USING PROJECTION WITH (epsilon = 1, rows = 4096)`)
	must(t, s, `EXPORT RELEASE cells TO 'cells.db'`)
	refused(t, s, sqlerr.Invalid, `EXPORT RELEASE cells TO 'cells.db'`)
	out := open(t, filepath.Join(dir, "cells.db"), engine.Options{ReadOnly: true}).NewSession()
	for _, code := range []string{"E10", "E11", "I10"} {
		text := `SELECT COUNT(*) AS n, MARGIN(n) FROM admissions WHERE zip = '15213' AND diagnosis = '` + code + `'`
		got, want := must(t, out, text), must(t, s, text)
		if fmt.Sprint(got.Rows) != fmt.Sprint(want.Rows) {
			t.Errorf("%s: the export says %v, its origin %v", code, got.Rows, want.Rows)
		}
	}
	const everyZip = `SELECT COUNT(*) FROM admissions WHERE diagnosis = 'E10'`
	for range 2 {
		e := refused(t, out, sqlerr.Uncovered, everyZip)
		if want := "the file has no rows: SHOW RELEASES lists what it answers from"; e.Hint != want {
			t.Errorf("the hint is %q, want %q", e.Hint, want)
		}
		must(t, out, `SET accuracy = 50`)
	}
}

// TestExportedTableHasTheColumnsOfItsRelease checks that the file lists only columns it
// can answer about.
func TestExportedTableHasTheColumnsOfItsRelease(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	dir := t.TempDir()
	s.SetDirectory(dir)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, diagnosis) USING PROJECTION WITH (epsilon = 1)`)
	must(t, s, `EXPORT RELEASE cells TO 'cells.db'`)
	out := open(t, filepath.Join(dir, "cells.db"), engine.Options{ReadOnly: true}).NewSession()
	var names []any
	for _, row := range must(t, out, `DESCRIBE admissions`).Rows {
		names = append(names, row[0])
	}
	if fmt.Sprint(names) != "[sex diagnosis]" {
		t.Errorf("DESCRIBE lists %v", names)
	}
	if e := refused(t, out, sqlerr.Unknown, `SELECT COUNT(*) FROM admissions WHERE age = 3`); !strings.Contains(e.Hint, "sex, diagnosis") {
		t.Errorf("the hint is %q", e.Hint)
	}
}

// TestShowTablesHasTheMarginOfItsRows checks that each noisy number has its margin.
func TestShowTablesHasTheMarginOfItsRows(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	rows := func() (n, margin any) {
		r := must(t, s, `SHOW TABLES`)
		column := func(name string) int {
			return slices.IndexFunc(r.Columns, func(c engine.Column) bool { return c.Name == name })
		}
		return r.Rows[0][column("rows")], r.Rows[0][column("margin")]
	}
	if n, margin := rows(); n != nil || margin != nil {
		t.Fatalf("before it was bought: %v, %v", n, margin)
	}
	must(t, s, `CREATE MECHANISM live ON admissions (sex) USING SMW WITH (epsilon = 1, max_updates = 5)`)
	n, margin := rows()
	if width, ok := margin.(int64); n == nil || !ok || width < 1 {
		t.Fatalf("once bought: %v ± %v", n, margin)
	}
	must(t, s, `SET confidence = 0.5`)
	if _, narrow := rows(); narrow.(int64) >= margin.(int64) {
		t.Errorf("at 50 %% ± %v, at 95 %% ± %v", narrow, margin)
	}
}

// TestResultsHaveJSONValues checks that results hold only values every front end can
// print.
func TestResultsHaveJSONValues(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE MECHANISM live ON admissions (sex) USING SMW WITH (epsilon = 1, max_updates = 5)`)
	for _, text := range []string{`SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`, `SHOW LEDGER`, `SHOW SETTINGS`,
		`DESCRIBE admissions`, `EXPLAIN SELECT COUNT(*) FROM admissions`} {
		r := must(t, s, text)
		if _, err := json.Marshal(r.Rows); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for _, row := range r.Rows {
			if len(row) != len(r.Columns) {
				t.Errorf("%s: a row has %d values for %d columns", text, len(row), len(r.Columns))
			}
		}
	}
}

// TestHintsOfferWhatCanBePaid sets the accuracy that a hint offers, for counts and for
// sums, one query and several. The statement must then be answered.
func TestHintsOfferWhatCanBePaid(t *testing.T) {
	t.Parallel()
	accuracy := regexp.MustCompile(`^SET accuracy = \d+`)
	for _, text := range []string{
		`SELECT COUNT(*) FROM admissions`,
		`SELECT SUM(age) FROM admissions`,
		`SELECT SUM(age * age), COUNT(*) FROM admissions`,
		`SELECT SUM(age * 1000000) FROM admissions`,
		`SELECT AVG(age) FROM admissions WHERE sex = 'F'`,
	} {
		for _, first := range []string{"auto", "5"} {
			s := clinic(t)
			if first != "auto" {
				must(t, s, `SET accuracy = `+first)
			}
			_, err := s.Exec(context.Background(), text, nil)
			if err == nil {
				continue // it is affordable without the hint
			}
			set := accuracy.FindString(hintOf(err))
			if set == "" {
				t.Errorf("%s at %s: %v, and the hint %q offers no accuracy", text, first, err, hintOf(err))
				continue
			}
			must(t, s, set)
			must(t, s, text)
		}
	}
}

// TestHintsKeepToMaxCharge asks for two numbers, each of which max_charge lets through and both of
// which it does not. EXPLAIN says so as the statement does, with the accuracy that both can have.
func TestHintsKeepToMaxCharge(t *testing.T) {
	t.Parallel()
	const text = `SELECT COUNT(*) FILTER (WHERE sex = 'F'), COUNT(*) FILTER (WHERE age > 5) FROM admissions`
	s := clinic(t)
	must(t, s, `SET accuracy = 20`)
	rho := 0.0
	for _, row := range must(t, s, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE sex = 'F'`).Rows {
		if row[0] == "direct" {
			fmt.Sscanf(row[5].(string), "ρ %g", &rho)
		}
	}
	must(t, s, fmt.Sprintf(`ALTER PRIVATE TABLE admissions SET (max_charge = %g)`, 1.5*rho))
	e := refused(t, s, sqlerr.Budget, text)
	if rows := fmt.Sprint(must(t, s, `EXPLAIN `+text).Rows); !strings.Contains(rows, "(none)") || !strings.Contains(rows, e.Message) {
		t.Errorf("refused with %q, and EXPLAIN says %s", e.Message, rows)
	}
	set := regexp.MustCompile(`^SET accuracy = \d+`).FindString(e.Hint)
	if set == "" {
		t.Fatalf("the hint is %q", e.Hint)
	}
	must(t, s, set)
	must(t, s, text)
}

// TestHintWithoutDelta says why a table that is declared without a δ sells no direct answers.
func TestHintWithoutDelta(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "a.db"), engine.Options{}).NewSession()
	raw := filepath.Join(t.TempDir(), "raw.csv")
	if err := os.WriteFile(raw, []byte("age\n1\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(context.Background(), engine.Import{Path: raw, Table: "raw"}); err != nil {
		t.Fatal(err)
	}
	must(t, s, `CREATE PRIVATE TABLE p (age INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 1)`)
	_, err := s.Exec(context.Background(), `SELECT COUNT(*) FROM p`, nil)
	if hint := hintOf(err); !strings.Contains(hint, "needs a delta") {
		t.Errorf("%v, with the hint %q", err, hint)
	}
	if text := fmt.Sprint(must(t, s, `EXPLAIN SELECT COUNT(*) FROM p`).Rows); !strings.Contains(text, "not: the declaration has no share of the budget for them, which needs a delta") {
		t.Errorf("EXPLAIN has %s", text)
	}
}

func hintOf(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// TestDialect runs the reference list of statements over its data. Each is answered, or
// refused with its code and a position. The statements of one group have one answer.
func TestDialect(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "pums.db"), engine.Options{}).NewSession()
	if _, err := s.Import(context.Background(), engine.Import{Path: "../testdata/pums/PUMS.csv", Table: "raw_pums"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../testdata/dialect.sql")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]string)
	statements := 0
	for want, text := range listed(string(data)) {
		statements++
		r, err := execDescribed(t, s, text, nil)
		verb, argument, _ := strings.Cut(want, " ")
		switch verb {
		case "setup", "ok":
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
		case "same":
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if got := fmt.Sprint(r.Rows, r.Answer); answers[argument] == "" {
				answers[argument] = got
			} else if got != answers[argument] {
				t.Errorf("%s: got %s, want %s", text, got, answers[argument])
			}
		case "refused":
			var e *sqlerr.Error
			if !errors.As(err, &e) || string(e.Code) != argument || e.Position < 1 || e.Position > utf8.RuneCountInString(text) {
				t.Errorf("%s: got %v, want %s with a position", text, err, argument)
			}
		default:
			t.Errorf("%s: what is %q?", text, want)
		}
	}
	if statements < 50 || len(answers) != 2 {
		t.Errorf("%d statements and %d groups were found", statements, len(answers))
	}
}

// listed yields the statements of a list with the comment line before each, which is the
// expected outcome.
func listed(text string) func(yield func(want, statement string) bool) {
	return func(yield func(want, statement string) bool) {
		want, statement := "", ""
		for _, line := range strings.Split(text+"\n-- end", "\n") {
			comment, is := strings.CutPrefix(line, "-- ")
			switch {
			case !is && line != "":
				statement += line + "\n"
				continue
			case strings.TrimSpace(statement) != "":
				if !yield(want, statement) {
					return
				}
			}
			statement = ""
			if is {
				want, _, _ = strings.Cut(comment, "  ")
			}
		}
	}
}
