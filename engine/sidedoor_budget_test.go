package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// rewrites are lists of one query in several wordings. The wordings are equal under the
// column's type and SQL's rules for NULL.
var rewrites = [][]string{
	{
		`FROM admissions WHERE sex = 'F' AND age BETWEEN 30 AND 34`,
		`FROM admissions WHERE age BETWEEN 30 AND 34 AND sex = 'F'`,
		`FROM admissions WHERE 'F' = sex AND 30 <= age AND 34 >= age`,
		`FROM admissions WHERE sex IN ('F', 'F') AND age IN (34, 30, 31, 30, 32, 33, 34)`,
		`FROM admissions WHERE NOT (sex <> 'F' OR age NOT BETWEEN 30 AND 34)`,
		`FROM admissions WHERE NOT NOT (sex = 'F') AND NOT age < 30 AND NOT age > 34`,
		`FROM admissions WHERE sex == 'F' AND age >= '30' AND age <= 34.0`,
		`FROM admissions WHERE sex = 'F' AND age > 29.999 AND age < 3.41e1`,
		`FROM admissions WHERE sex = 'F' AND (age = 30 OR age = +31 OR age BETWEEN 32 AND 33 OR age = ' 34 ')`,
		`FROM admissions WHERE sex = 'F' AND age BETWEEN 30 AND 34 AND age BETWEEN -5 AND 34 AND 1 = 1`,
		`FROM admissions WHERE sex NOT IN ('M', 'X') AND age IN (30, 31, 32, 33, 34, 1000, NULL)`,
		`FROM admissions WHERE (sex = 'F' AND age = 30) OR (sex = 'F' AND age BETWEEN 31 AND 34) OR (sex = 'F' AND age = 30)`,
		`FROM admissions AS a WHERE a.sex = 'F' AND a.age BETWEEN 30 AND 34`,
		`FROM main."ADMISSIONS" WHERE [SEX] = 'F' AND "Age" BETWEEN 30 AND 34 -- the same`,
		`/* the same */ FROM admissions WHERE/**/sex='F'AND age BETWEEN 30 AND 34;;`,
		`FROM admissions WHERE sex = 'F' AND age BETWEEN 30 AND 34 AND sex IS NOT NULL AND (age IS NULL) IS FALSE`,
	},
	{
		`FROM admissions WHERE zip = '15213'`,
		`FROM admissions WHERE zip = 15213`,
		`FROM admissions WHERE zip IN (15213, '15213')`,
		`FROM admissions WHERE NOT zip <> '15213'`,
		`FROM admissions WHERE zip = '15213' OR zip = '15213' AND age = 7`,
		`FROM admissions WHERE NOT (zip IS NULL OR zip NOT IN ('15213'))`,
	},
	{
		`FROM admissions`, `FROM admissions WHERE TRUE`, `FROM admissions WHERE zip IS NULL OR zip IS NOT NULL`,
		`FROM admissions WHERE (age = 3) IS NOT NULL`, `FROM admissions WHERE age < 60 OR age >= 60`,
	},
}

// placed are the same queries with placeholders.
var placed = []struct {
	list int
	text string
	args []query.Value
}{
	{0, `FROM admissions WHERE sex = ? AND age BETWEEN ? AND ?`, []query.Value{query.Text("F"), query.Int(30), query.Int(34)}},
	{0, `FROM admissions WHERE age BETWEEN ?2 AND ?3 AND sex = ?1`, []query.Value{query.Text("F"), query.Text("30"), query.Text(" 34.0")}},
	{1, `FROM admissions WHERE zip = ?`, []query.Value{query.Text("15213")}},
	{1, `FROM admissions WHERE zip IN (:z, :z, @n)`, []query.Value{query.Int(15213), query.Null()}},
	{2, `FROM admissions WHERE ? = ?1`, []query.Value{query.Int(1)}},
}

// TestRewritesShareOneAnswer pays once for each list.
func TestRewritesShareOneAnswer(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 60`)
	var first []any
	for _, list := range rewrites {
		r := must(t, s, `SELECT COUNT(*) `+list[0])
		if r.Answer.Cost.Rho == 0 {
			t.Fatalf("%s cost nothing", list[0])
		}
		first = append(first, r.Rows[0][0])
	}
	before := catalogOf(t, s.DB().Store().Path())
	same := func(i int, text string, args ...query.Value) {
		for _, count := range []string{`SELECT COUNT(*) `, `select all count(1) AS "n" `, `SELECT MARGIN(n), COUNT(*) n `} {
			r := must(t, s, count+text, args...)
			if got := r.Rows[0][len(r.Rows[0])-1]; got != first[i] || r.Answer.Cost != (engine.Cost{}) || r.Answer.Via != "direct" {
				t.Errorf("%s%s: %v by %s at %v, want %v for nothing", count, text, got, r.Answer.Via, r.Answer.Cost, first[i])
			}
		}
	}
	for i, list := range rewrites {
		for _, text := range list {
			same(i, text)
		}
	}
	for _, p := range placed {
		same(p.list, p.text, p.args...)
	}
	if catalogOf(t, s.DB().Store().Path()) != before {
		t.Error("a query in other words has changed the catalog")
	}
	for _, zip := range []string{"15213 ", "015213", "15213.0", "15213\x00", "15213\xff", "'15213'", "15213' OR '1"} { // other values, other queries
		for again := range 2 {
			r := must(t, s, `SELECT COUNT(*) FROM admissions WHERE zip = ?`, query.Text(zip))
			if (r.Answer.Cost == engine.Cost{}) != (again > 0) {
				t.Errorf("zip = %q, time %d, cost %v", zip, again+1, r.Answer.Cost)
			}
		}
	}
}

// TestRewritesShareOneComparison asks a mechanism one query in several wordings. The
// mechanism compares it, and counts a comparison, once.
func TestRewritesShareOneComparison(t *testing.T) {
	t.Parallel()
	s, _ := asking(t, calm)
	want := count(t, s, light)
	for range 2 { // the answer is in memory first, then in the catalog
		for _, where := range []string{`zip = 99999 AND age IN (3, 3)`, `NOT (age <> '3' OR zip <> '99999')`, `zip IN ('99999') AND 3.0 = age -- again`} {
			if got := count(t, s, `SELECT COUNT(*) FROM admissions AS x WHERE `+where); got != want {
				t.Errorf("%s: %d, want %d", where, got, want)
			}
		}
		if err := s.DB().Answers().Close(); err != nil {
			t.Fatal(err)
		}
		if m := mechanism(t, s, "live"); m.Comparisons != 1 || m.RunsStarted != 1 {
			t.Errorf("%d comparisons in %d runs, want 1 in 1", m.Comparisons, m.RunsStarted)
		}
	}
}

// TestStoredZeroIsAHit draws the noise 0 for an empty query. Its answer, 0, is stored and
// used again like any other.
func TestStoredZeroIsAHit(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 60`)
	must(t, s, `SELECT COUNT(*) FROM admissions`)
	var law string
	if err := plain(t, s).QueryRow(`SELECT json_extract(law, '$') FROM dpsql_answers`).Scan(&law); err != nil {
		t.Fatal(err)
	}
	script(t, s.DB(), seedFor(t, lawDraw(t, law), 0))
	for i := range 3 {
		r := must(t, s, `SELECT COUNT(*) FROM admissions WHERE age = 120`)
		if r.Rows[0][0] != int64(0) || r.Answer.Via != "direct" || (r.Answer.Cost == engine.Cost{}) != (i > 0) {
			t.Errorf("time %d: %v by %s at %v", i+1, r.Rows, r.Answer.Via, r.Answer.Cost)
		}
	}
}

// TestOneBudgetForTheSameRows declares the same rows again in every disguise. Each
// declaration continues the one ledger, and none opens another.
func TestOneBudgetForTheSameRows(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	const with = ` WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`
	must(t, s, `CREATE RELEASE spent ON admissions (sex) USING PROJECTION WITH (epsilon = 1.5)`)
	for i, body := range []string{
		`SELECT * FROM raw_admissions`,
		`SELECT * FROM v0 WHERE age > 9`,
		`SELECT r.sex, c.label FROM raw_admissions r JOIN icd10 c ON c.code = r.diagnosis`,
		`SELECT c.label AS sex FROM v0 LEFT JOIN icd10 c ON c.code = v0.diagnosis`,
		`SELECT CASE WHEN EXISTS (SELECT 1 FROM icd10 WHERE code = diagnosis) THEN 'F' END AS sex FROM RAW_ADMISSIONS`,
		`SELECT sex FROM v1 UNION ALL SELECT code FROM icd10`,
		`WITH w AS (SELECT * FROM main."raw_admissions") SELECT sex FROM w`,
		`SELECT v3.sex, (SELECT MAX(length(label)) FROM icd10) AS age FROM icd10 JOIN v3 ON code = v3.sex`,
	} {
		fill(t, s, fmt.Sprintf(`CREATE VIEW v%d AS %s`, i, body))
		must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE p%d (sex TEXT) FROM "V%[1]d"`, i)+with)
		e := refused(t, s, sqlerr.Invalid, fmt.Sprintf(`CREATE PRIVATE TABLE q (sex TEXT) FROM v%d WITH (epsilon = 5, delta = 1e-6)`, i))
		if !strings.Contains(e.Message, "already have the budget") {
			t.Errorf("%s: %v", body, e)
		}
		refused(t, s, sqlerr.Budget, fmt.Sprintf(`CREATE RELEASE b ON p%d USING PROJECTION WITH (epsilon = 0.500000000000001, rows = 64)`, i))
	}
	for _, source := range []string{"raw_admissions", "RAW_ADMISSIONS", `"Raw_Admissions"`} {
		must(t, s, `CREATE PRIVATE TABLE again (sex TEXT) FROM `+source+with)
		refused(t, s, sqlerr.Budget, `CREATE RELEASE b ON again USING PROJECTION WITH (epsilon = 0.6, rows = 64)`)
		must(t, s, `DROP PRIVATE TABLE again`)
	}
	must(t, s, `CREATE RELEASE rest ON p7 USING PROJECTION WITH (epsilon = 0.5, rows = 64)`)
	v, err := s.DB().View(context.Background())
	if err != nil || len(v.Accounts) != 1 {
		t.Errorf("the same rows have %d budgets (%v)", len(v.Accounts), err)
	}
}

// TestNoViewOverTwoBudgets declares sources that read rows of two budgets, or of one
// budget and of none, in any way. All are refused.
func TestNoViewOverTwoBudgets(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE TABLE staff (sex TEXT, age INTEGER)`, `CREATE TABLE loose (sex TEXT)`, `CREATE VIEW s AS SELECT * FROM staff`)
	must(t, s, `CREATE PRIVATE TABLE staff (sex TEXT) FROM staff WITH (epsilon = 4, delta = 1e-6)`)
	before := catalogOf(t, s.DB().Store().Path())
	for i, body := range []string{
		`SELECT sex FROM raw_admissions UNION ALL SELECT sex FROM staff`,
		`SELECT a.sex FROM raw_admissions a JOIN s ON a.sex = s.sex`,
		`SELECT a.sex FROM staff a LEFT JOIN icd10 c ON c.code = (SELECT MAX(diagnosis) FROM raw_admissions)`,
		`SELECT sex FROM s WHERE age IN (SELECT age FROM raw_admissions)`,
		`SELECT sex FROM staff UNION ALL SELECT sex FROM loose`,
		`SELECT sex FROM loose WHERE EXISTS (SELECT 1 FROM s)`,
		`SELECT (SELECT COUNT(*) FROM raw_admissions) AS sex FROM loose`,
	} {
		fill(t, s, fmt.Sprintf(`CREATE VIEW w%d AS %s`, i, body))
		for _, unit := range []string{"", ", unit = sex, max_rows = 1"} {
			code := sqlerr.Unsupported // refused before budgets are read
			if strings.Contains(body, "UNION ALL") || unit != "" && i == 1 {
				code = sqlerr.Invalid
			}
			refused(t, s, code, fmt.Sprintf(`CREATE PRIVATE TABLE x (sex TEXT) FROM w%d WITH (epsilon = 4, delta = 1e-6%s)`, i, unit))
		}
		refused(t, s, sqlerr.Invalid, fmt.Sprintf(`CREATE PUBLIC TABLE w%d`, i))
	}
	if catalogOf(t, s.DB().Store().Path()) != before {
		t.Error("a refused declaration has changed the catalog")
	}
}

// TestPublicTableThatBecomesPrivate joins a public table and then declares it private with
// its own budget. The view would then read rows of two budgets, and an answer from it
// would be charged to only one.
func TestPublicTableThatBecomesPrivate(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	fill(t, s, `CREATE TABLE lists (a TEXT PRIMARY KEY)`, `INSERT INTO lists VALUES ('x')`,
		`CREATE VIEW both AS SELECT r.sex, l.a FROM raw_admissions r JOIN lists l ON r.zip = l.a`)
	must(t, s, `CREATE PUBLIC TABLE lists`)
	must(t, s, `CREATE PRIVATE TABLE both (sex TEXT, a TEXT) FROM both WITH (epsilon = 4, delta = 1e-6)`)
	if _, err := s.Exec(context.Background(), `DROP PUBLIC TABLE lists`, nil); err != nil {
		return // a table that private rows are joined with remains public
	}
	if _, err := s.Exec(context.Background(), `CREATE PRIVATE TABLE l (a TEXT) FROM lists WITH (epsilon = 1, delta = 1e-7)`, nil); err != nil {
		return
	}
	before := ledger(t, s)
	refusal(t, s, `CREATE RELEASE r ON both USING PROJECTION WITH (epsilon = 1, rows = 64)`)
	must(t, s, `SET accuracy = 60`)
	refusal(t, s, `SELECT COUNT(*) FROM both`)
	if after := ledger(t, s); after != before {
		t.Errorf("rows of a second budget were read for\n%s", strings.TrimPrefix(after, before))
	}
}

// TestRowCountIsPaidOnce needs N̂ for statements that are then refused. N̂ is paid for
// once, with a hundredth of what the first of them was about to spend.
func TestRowCountIsPaidOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code sqlerr.Code
		text string
		cost accounting.Amount
	}{
		{sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex) USING PROJECTION WITH (epsilon = 0.7, transform = dense, max_support = 64)`,
			accounting.Amount{Epsilon: 7e12}},
		{sqlerr.Invalid, `CREATE MECHANISM m ON admissions (sex) USING SMW WITH (epsilon = 1, alpha = 0.0001)`,
			accounting.Amount{Rho: accounting.RhoFor(1e15, 5e11) / 100}},
	} {
		t.Run(c.text, func(t *testing.T) {
			s := clinic(t)
			fixed(s.DB(), 1)
			must(t, s, `SET accuracy = 60`)
			must(t, s, `SELECT COUNT(*) FROM admissions`) // so that not the whole budget is left
			before := lines(t, s)
			refused(t, s, c.code, c.text)
			v, err := s.DB().View(context.Background())
			if err != nil || v.Tables[0].NHat == nil {
				t.Fatalf("the number of rows was not bought (%v)", err)
			}
			if n := v.Tables[0].NHat; (accounting.Amount{Epsilon: n.Epsilon, Rho: n.Rho}) != c.cost {
				t.Errorf("the number of rows cost %v and %v, want %+v", n.Epsilon, n.Rho, c.cost)
			}
			if got := lines(t, s); got != before+1 || !strings.Contains(ledger(t, s), "number of rows") {
				t.Errorf("the refused statement wrote %d lines:\n%s", got-before, ledger(t, s))
			}
			paid := ledger(t, s)
			refused(t, s, c.code, c.text)
			if ledger(t, s) != paid {
				t.Errorf("it was paid for twice:\n%s", ledger(t, s))
			}
			must(t, s, `CREATE MECHANISM m2 ON admissions (sex) USING SMW WITH (epsilon = 0.5)`)
			if strings.Count(ledger(t, s), "number of rows") != 1 {
				t.Errorf("another statement bought it again:\n%s", ledger(t, s))
			}
		})
	}
}

// TestEpsilonSpellings tries texts that are not an ε wherever one is expected. All are
// refused.
func TestEpsilonSpellings(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	before := catalogOf(t, s.DB().Store().Path())
	for _, place := range []string{
		`CREATE PRIVATE TABLE x (sex TEXT) FROM raw_admissions WITH (epsilon = %s, delta = 1e-6)`,
		`CREATE PRIVATE TABLE x (sex TEXT) FROM icd10 WITH (epsilon = %s)`,
		`CREATE RELEASE x ON admissions (sex) USING PROJECTION WITH (epsilon = %s)`,
		`CREATE RELEASE x ON admissions USING PROJECTION WITH (epsilon = %s, rows = 64)`,
		`CREATE RELEASE x ON admissions (sex) USING PROJECTION WITH (epsilon = %s, delta = 1e-7, transform = dense, rows = 64)`,
		`CREATE RELEASE x ON admissions (sex) USING PROJECTION WITH (epsilon = %s, transform = dense)`,
		`CREATE RELEASE x ON admissions (sex) USING SMW WITH (epsilon = %s, free_columns = 1)`,
		`CREATE MECHANISM x ON admissions (sex) USING SMW WITH (epsilon = %s)`,
		`CREATE MECHANISM x ON admissions (sex) USING SMW WITH (alpha = 0.1, epsilon = %s)`,
	} {
		for _, e := range []string{"1e20", "1e999999999", "1000.000000000000001", "NaN", "Inf", "-Inf", "'NaN'", "-0", "-0.0", "0", "0e9", "+1", "-1",
			"1e-320", "1e-16", "0.0000000000000009", "0x1", "0x1p-2", "1_0", "'1'", "1e", ".", "NULL", "1 + 1", "(1)", "?"} {
			text := fmt.Sprintf(place, e)
			switch err := refusal(t, s, text); err.Code {
			case sqlerr.Invalid, sqlerr.Unsupported, sqlerr.Malformed:
			default:
				t.Errorf("%s\nis refused as %v", text, err)
			}
		}
	}
	if catalogOf(t, s.DB().Store().Path()) != before {
		t.Errorf("a refused ε has changed the catalog:\n%s", ledger(t, s))
	}
}

// TestUnaffordableBuysNoRowCount runs statements that the account can never pay for. They
// are refused before anything is bought for them.
func TestUnaffordableBuysNoRowCount(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 60`)
	must(t, s, `SELECT COUNT(*) FROM admissions`) // so that not the whole budget is left
	before := ledger(t, s)
	refused(t, s, sqlerr.Budget, `CREATE MECHANISM m ON admissions (sex) USING SMW WITH (epsilon = 2)`)
	refused(t, s, sqlerr.Budget, `CREATE RELEASE r ON admissions (sex) USING SMW WITH (epsilon = 2.5, free_columns = 1)`)
	refused(t, s, sqlerr.Invalid, `CREATE RELEASE r ON admissions (sex) USING SMW WITH (epsilon = 0.00000005, free_columns = 1)`)
	if after := ledger(t, s); after != before {
		t.Errorf("refused statements wrote into the ledger:\n%s", after)
	}
}

// TestRenamedRowsContinueABudget renames a table, and a column that is the unit, behind a spent budget.
// dpsql knows both by name, so whatever has the name now continues the budget, with a warning.
func TestRenamedRowsContinueABudget(t *testing.T) {
	t.Parallel()
	const declared = `CREATE PRIVATE TABLE people (age INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 2, delta = 1e-6, unit = who, max_rows = 2)`
	for _, c := range []struct {
		name    string
		spends  bool
		changes []string
		warns   bool
	}{
		{"nothing is spent", false, []string{`ALTER TABLE raw RENAME COLUMN who TO was`, `ALTER TABLE raw RENAME COLUMN other TO who`}, false},
		{"the unit is another", true, []string{`ALTER TABLE raw RENAME COLUMN who TO was`, `ALTER TABLE raw RENAME COLUMN other TO who`}, true},
		{"the table is another", true, []string{`ALTER TABLE raw RENAME TO old`, `CREATE TABLE raw (age INTEGER, who INTEGER)`}, true},
		{"declared anew", true, nil, true},
	} {
		s := clinic(t)
		fill(t, s, `CREATE TABLE raw (age INTEGER, who INTEGER, other INTEGER)`, `INSERT INTO raw VALUES (1, 1, 1), (2, 2, 1)`)
		must(t, s, declared)
		if c.spends {
			must(t, s, `CREATE RELEASE r ON people USING PROJECTION WITH (epsilon = 0.5)`)
			must(t, s, `DROP RELEASE r`)
		}
		if r := must(t, s, strings.Replace(declared, "TABLE people", "TABLE beside", 1)); len(r.Warnings) > 0 {
			t.Errorf("%s: beside a table of the same rows: %q", c.name, r.Warnings)
		}
		must(t, s, `DROP PRIVATE TABLE people`)
		must(t, s, `DROP PRIVATE TABLE beside`)
		fill(t, s, c.changes...)
		r := must(t, s, declared)
		if warns := strings.Contains(fmt.Sprint(r.Warnings), "the budget of raw goes on with what is spent of it"); warns != c.warns {
			t.Errorf("%s: %q", c.name, r.Warnings)
		}
	}
}
