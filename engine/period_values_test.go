package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestPeriodNumberZero: the first text, the value 0, and the day, week, month, quarter and year that
// are number 0 are periods as any other. Releases, parts, mechanisms and row counts over one are
// about its rows alone, and no other period pays or is paid back.
func TestPeriodNumberZero(t *testing.T) {
	t.Parallel()
	for _, step := range []struct{ name, column, by, first, second, in, notIn string }{
		{"texts", `p TEXT IN ('a', 'b')`, "p", "a", "b", `p = 'a'`, `p = 'b'`},
		{"values", `p INTEGER IN (0, 1)`, "p", "0", "1", `p = 0`, `p = 1`},
		{"days", `p DATE BETWEEN '1970-01-01' AND '1970-01-02'`, "day of p", "1970-01-01", "1970-01-02", `p = '1970-01-01'`, `p = '1970-01-02'`},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, filepath.Join(t.TempDir(), "zero.db"), engine.Options{}).NewSession()
			s.DB().SetNow(func() time.Time { return dayOf(1970, 1, 4) })
			quieten(s.DB())
			fill(t, s, `CREATE TABLE raw (p, g TEXT)`,
				`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
					INSERT INTO raw SELECT CASE WHEN i < 100 THEN '`+step.first+`' ELSE '`+step.second+`' END, CASE i % 2 WHEN 0 THEN 'x' ELSE 'y' END FROM n`)
			if step.name == "values" {
				fill(t, s, `UPDATE raw SET p = CAST(p AS INTEGER)`)
			}
			must(t, s, `CREATE PRIVATE TABLE t (`+step.column+`, g TEXT IN ('x', 'y')) FROM raw WITH (epsilon = 8, delta = 1e-6, period = '`+step.by+`')`)
			must(t, s, `CREATE RELEASE plain ON t (g) USING PROJECTION WITH (epsilon = 0.25, period = '`+step.first+`')`)
			must(t, s, `CREATE RELEASE each ON t (g) USING PROJECTION WITH (epsilon = 0.5) EACH PERIOD`)
			noted(t, s, `REFRESH RELEASE each PERIOD '`+step.first+`'`, "each: built "+step.first+"; 1 part")
			noted(t, s, `REFRESH RELEASE each PERIOD '`+step.first+`'`, "each: nothing to build; 1 part")
			must(t, s, `CREATE MECHANISM live ON t (g) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 100, prior = uniform, period = '`+step.first+`')`)
			const asked = `SELECT COUNT(*) FROM t WHERE `
			for _, via := range []string{"plain", "each", "live"} {
				must(t, s, `SET mechanism = `+via)
				if got := count(t, s, asked+step.in); via != "live" && got != 100 {
					t.Errorf("%s has %d rows of the period", via, got)
				}
				for _, where := range []string{step.notIn, `g = 'x'`} {
					refused(t, s, sqlerr.Uncovered, asked+where)
				}
			}
			other := spentIn(t, s, step.second)
			if other != (accounting.Amount{}) {
				t.Errorf("%s has spent %v", step.second, other)
			}
			must(t, s, `DROP MECHANISM live`)
			if got := spentIn(t, s, step.second); got != other {
				t.Errorf("after DROP MECHANISM %s has spent %v", step.second, got)
			}
			if step.name == "days" {
				noted(t, s, `REFRESH RELEASE each`, "each: built 1970-01-02; 2 parts")
			} else {
				noted(t, s, `REFRESH RELEASE each PERIOD '`+step.second+`'`, "each: built "+step.second+"; 2 parts")
			}
			must(t, s, `SET mechanism = auto`)
			if got := count(t, s, `SELECT COUNT(*) FROM t`); got != 300 {
				t.Errorf("both parts have %d rows", got)
			}
			noted(t, s, `REFRESH RELEASE each PERIOD '`+step.first+`' AGAIN`, "each: built "+step.first+"; 2 parts")
			must(t, s, `DROP RELEASE each PERIOD '`+step.first+`'`)
			if e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM t`); !strings.Contains(e.Message, "no part for "+step.first+":") {
				t.Error(e)
			}
		})
	}
}

// TestPeriodsOfValues: the values of a column can be the periods, which do not end.
func TestPeriodsOfValues(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "batches.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (batch INTEGER, region TEXT)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) INSERT INTO raw SELECT i % 10, CASE i % 3 WHEN 0 THEN 'north' ELSE 'south' END FROM n`)
	quieten(s.DB())
	must(t, s, `CREATE PRIVATE TABLE batches (batch INTEGER BETWEEN 0 AND 20, region TEXT IN ('north', 'south')) FROM raw
		WITH (epsilon = 4, delta = 1e-6, period = 'batch')`)
	must(t, s, `CREATE RELEASE each ON batches USING PROJECTION WITH (epsilon = 1) EACH PERIOD`)
	refused(t, s, sqlerr.Invalid, `REFRESH RELEASE each`)
	noted(t, s, `REFRESH RELEASE each PERIOD '3'`, "each: built 3; 1 part")
	noted(t, s, `REFRESH RELEASE each PERIOD '4'`, "each: built 4; 2 parts")
	if got := count(t, s, `SELECT COUNT(*) FROM batches WHERE batch IN (3, 4)`); got != 200 {
		t.Errorf("%d rows", got)
	}
	e := refused(t, s, sqlerr.Uncovered, `SELECT COUNT(*) FROM batches WHERE batch BETWEEN 3 AND 5`)
	if !strings.Contains(e.Message, "it has no part for 5: REFRESH RELEASE each PERIOD '5' builds it") {
		t.Errorf("refused by %q", e.Message)
	}
	if e := refused(t, s, sqlerr.Invalid, `REFRESH RELEASE each`); e.Hint != "name it: REFRESH RELEASE each PERIOD '0'" {
		t.Errorf("the hint is %q", e.Hint)
	}
	noted(t, s, `REFRESH RELEASE each PERIOD '0'`, "each: built 0; 3 parts")
	must(t, s, `RETIRE PERIOD '1' OF batches`)
	if e := refused(t, s, sqlerr.Invalid, `REFRESH RELEASE each`); e.Hint != "name it: REFRESH RELEASE each PERIOD '2'" {
		t.Errorf("the hint is %q", e.Hint)
	}
	fill(t, s, `CREATE TABLE odd (n INTEGER)`, `INSERT INTO odd VALUES (1), (3)`)
	odd := make([]string, 100)
	for i := range odd {
		odd[i] = fmt.Sprint(2*i + 1)
	}
	must(t, s, `CREATE PRIVATE TABLE odds (n INTEGER IN (`+strings.Join(odd, ", ")+`)) FROM odd WITH (epsilon = 4, delta = 1e-6, period = 'n')`)
	if e := refused(t, s, sqlerr.Invalid, `RETIRE PERIOD '2' OF odds`); !strings.HasSuffix(e.Hint, "those of 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 90 more") {
		t.Errorf("the hint is %q", e.Hint)
	}
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE regions (region TEXT IN ('north', 'south')) FROM raw WITH (epsilon = 4, delta = 1e-6, period = 'region')`)
}

// TestValuesAreForEver has integers and texts as periods. Texts are added.
func TestValuesAreForEver(t *testing.T) {
	t.Parallel()
	s := grows(t)
	must(t, s, visitsAs("a", `region TEXT IN ('north', 'south')`, "raw_visits", `period = 'region'`))
	must(t, s, visitsAs("b", `region TEXT IN ('west', 'north')`, "raw_visits", `period = 'region'`))
	refused(t, s, sqlerr.Invalid, visitsAs("c", `region INTEGER BETWEEN 0 AND 9`, "raw_visits", `period = 'region'`))
	refused(t, s, sqlerr.Invalid, visitsAs("c", `batch INTEGER BETWEEN 0 AND 9`, "raw_visits", `period = 'batch'`))
	many := func(from, to int) string {
		var texts []string
		for i := from; i < to; i++ {
			texts = append(texts, fmt.Sprintf("'%d'", i))
		}
		return `region TEXT IN (` + strings.Join(texts, ", ") + `)`
	}
	refused(t, s, sqlerr.Invalid, visitsAs("c", many(0, 1001), "raw_visits", `period = 'region'`))
	must(t, s, visitsAs("c", many(0, 997), "raw_visits", `period = 'region'`))
	refused(t, s, sqlerr.Invalid, visitsAs("d", many(996, 998), "raw_visits", `period = 'region'`))
	must(t, s, `DROP PRIVATE TABLE a`)
	must(t, s, `DROP PRIVATE TABLE b`)
	must(t, s, `DROP PRIVATE TABLE c`)
	refused(t, s, sqlerr.Invalid, visitsAs("c", `batch INTEGER BETWEEN 0 AND 9`, "raw_visits", `period = 'batch'`))
	must(t, s, visitsAs("c", `region TEXT IN ('west')`, "raw_visits", `period = 'region'`))
	must(t, s, visitsAs("drugs", visitedDate, "raw_drugs", `period = 'day of visited'`))
}

// texted opens a database with rows of January to March 2026 in places without a domain: ash in
// each month, elm in February and March, and few of another.
func texted(t *testing.T) *engine.Session {
	t.Helper()
	s := declared(t, []string{`CREATE TABLE raw (place TEXT, d TEXT)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 8999)
			INSERT INTO raw SELECT CASE WHEN i % 3 = 0 OR i % 2 THEN 'ash' ELSE 'elm' END, date('2026-01-15', (i % 3) || ' months') FROM n`,
		`INSERT INTO raw VALUES ('yew', '2026-01-15'), ('oak', '2026-02-15')`},
		`CREATE PRIVATE TABLE places (place TEXT, d DATE BETWEEN '2026-01-01' AND '2026-12-31') FROM raw
			WITH (epsilon = 100, delta = 1e-6, period = 'month of d')`)
	s.DB().SetNow(func() time.Time { return dayOf(2026, 4, 2) })
	return s
}

// TestTextsOfASpan: a release over some periods publishes texts, and statements that declare take
// them as those that ask do.
func TestTextsOfASpan(t *testing.T) {
	t.Parallel()
	s := texted(t)
	must(t, s, `CREATE RELEASE named ON places USING PROJECTION WITH (epsilon = 20, delta = 1e-8, heavy = named, rows = 4096, period = '2026-02 to 2026-03')`)
	file := filepath.Join(t.TempDir(), "queries.sql")
	if err := os.WriteFile(file, []byte(`SELECT place, COUNT(*) FROM places WHERE d = '2026-02-15' GROUP BY place;`), 0o600); err != nil {
		t.Fatal(err)
	}
	e := refused(t, s, sqlerr.Invalid, `CREATE RELEASE learned ON places USING SMW WITH (epsilon = 1, delta = 1e-8, workload = '`+file+`', max_updates = 2, period = '2026-02')`)
	if !strings.Contains(e.Message, "infinite support") {
		t.Error(e)
	}
}

// TestTextsOfParts: GROUP BY has a row for each text that some part publishes, and OTHER is what they
// leave of the parts of a release that counts all rows. A statement names the release and not
// its parts. It fails by chance with a probability below 1e-7: the parts publish a text of one row with
// one below 3e-8, and 200 rows are a hundred times the scale of the noise.
func TestTextsOfParts(t *testing.T) {
	t.Parallel()
	s := texted(t)
	must(t, s, `CREATE RELEASE named ON places (place) USING PROJECTION WITH (epsilon = 20, delta = 1e-8, heavy = named, rows = 4096) EACH PERIOD`)
	must(t, s, `CREATE RELEASE days ON places (d) USING PROJECTION WITH (epsilon = 20) EACH PERIOD`)
	must(t, s, `REFRESH RELEASE named PERIOD '2026-01'`)
	must(t, s, `REFRESH RELEASE days`)
	january := `SELECT place, COUNT(*) FROM places WHERE d < '2026-02-01' GROUP BY place`
	keys := func(text string) (names []string) {
		for _, row := range must(t, s, text).Rows {
			names = append(names, fmt.Sprint(row[0]))
		}
		return names
	}
	if got := keys(january); !slices.Equal(got, []string{"<nil>", "ash", "OTHER"}) {
		t.Errorf("the keys of January alone are %q", got)
	}
	must(t, s, `REFRESH RELEASE named`)
	all := `SELECT place, COUNT(*) AS n FROM places WHERE d < '2026-04-01' GROUP BY place`
	for _, text := range []string{january, all} {
		if got := keys(text); !slices.Equal(got, []string{"<nil>", "ash", "elm", "OTHER"}) {
			t.Errorf("%s: the keys are %q", text, got)
		}
	}
	r := must(t, s, all)
	for i, want := range []int64{0, 6000, 3000, 2} {
		if got := r.Rows[i][1].(int64); got < want-200 || got > want+200 {
			t.Errorf("%v, want %d", r.Rows[i], want)
		}
	}
	if want := "OTHER has the rows of every place that is not in named: rarer keys are in it"; !slices.Contains(r.Warnings, want) {
		t.Errorf("%q", r.Warnings)
	}
	if text := fmt.Sprint(must(t, s, `DESCRIBE places`).Rows); !strings.Contains(text, "keys in named ") && !strings.Contains(text, "keys in named]") {
		t.Error(text)
	}
}

// TestOnePartIsNamed: where a statement takes one release, the error about a release of each period
// names a part as the statement has to.
func TestOnePartIsNamed(t *testing.T) {
	t.Parallel()
	s := texted(t)
	must(t, s, `CREATE RELEASE k ON places (place) USING PROJECTION WITH (epsilon = 10, delta = 1e-9, heavy = clip, clip = 1) EACH PERIOD`)
	must(t, s, `CREATE RELEASE days ON places (d) USING MARGINALS WITH (epsilon = 10, degree = 1) EACH PERIOD`)
	file := filepath.Join(t.TempDir(), "x.db")
	statements := map[string]string{
		"keys":   `CREATE RELEASE m ON places USING MARGINALS WITH (epsilon = 1, degree = 2, estimate = unbiased, period = '2026-02', keys = %s)`,
		"prior":  `CREATE MECHANISM w ON places (d) USING SMW WITH (epsilon = 1, max_updates = 2, period = '2026-03', prior = %s)`,
		"export": `EXPORT RELEASE %s TO '` + file + `'`,
	}
	of := map[string]string{"keys": "k", "prior": "days", "export": "k"}
	for name, text := range statements {
		if e := refused(t, s, sqlerr.Invalid, fmt.Sprintf(text, of[name])); e.Hint != "it has none yet: REFRESH RELEASE "+of[name] {
			t.Errorf("%s: %v, hint %s", name, e, e.Hint)
		}
	}
	must(t, s, `REFRESH RELEASE k`)
	must(t, s, `REFRESH RELEASE days`)
	for name, want := range map[string]string{"keys": `keys = "k[2026-03]"`, "prior": `prior = "days[2026-03]"`, "export": `EXPORT RELEASE "k[2026-03]" TO …`} {
		if e := refused(t, s, sqlerr.Invalid, fmt.Sprintf(statements[name], of[name])); e.Hint != want {
			t.Errorf("%s: %v, hint %s, want %s", name, e, e.Hint, want)
		}
		must(t, s, fmt.Sprintf(statements[name], `"`+of[name]+`[2026-03]"`))
	}
}
