package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// towns declares 4,300 rows, with a column of texts without a domain: five texts of 800 rows,
// 200 of one row, and 100 NULLs.
func towns(t *testing.T, path string) *engine.Session {
	t.Helper()
	raw := append(clinicRaw(4000), `CREATE TABLE raw_people AS SELECT sex, age, zip, age % 3 AS plan FROM raw_admissions`,
		`INSERT INTO raw_people SELECT sex, age, 'rare ' || rowid, 3 FROM raw_people LIMIT 200`,
		`INSERT INTO raw_people SELECT sex, age, NULL, 4 FROM raw_admissions LIMIT 100`)
	return declaredAt(t, path, raw, slices.Concat(clinicDeclarations, []string{
		`CREATE PRIVATE TABLE people (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120, zip TEXT, plan TEXT)
			FROM raw_people WITH (epsilon = 8, delta = 1e-6, interactive = 0.25)`, publishZips})...)
}

const (
	publishZips  = `CREATE RELEASE zips ON people (zip) USING PROJECTION WITH (epsilon = 1, delta = 1e-9, heavy = clip, clip = 1, rows = 4096)`
	publishPlans = `CREATE RELEASE plans ON people (plan) USING PROJECTION WITH (epsilon = 1, delta = 1e-9, heavy = named, rows = 4096)`
	keyedRelease = `CREATE RELEASE low ON people (sex, age, zip) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, degree = 2, keys = zips)`
)

// TestPublishedKeys builds a release over the keys that another one published, asks it, drops
// that other one, exports it and asks again.
//
// A key of 800 rows is published but with probability e^-700, and a text of one row is with
// probability below 1e-9. A proven margin at a confidence of 1 − 1e-9 misses with less than
// that probability, and 30 are compared.
func TestPublishedKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "towns.db")
	s := towns(t, path)
	before := ledger(t, s)
	must(t, s, keyedRelease)
	if n := strings.Count(ledger(t, s), "\n") - strings.Count(before, "\n"); n > 1 || strings.Count(ledger(t, s), "create release low") != 1 {
		t.Errorf("the ledger has\n%s", ledger(t, s))
	}
	const shape = "3 marginals of 1231 cells, 5 keys of zip from zips, fitted"
	if shown := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(shown, shape) {
		t.Errorf("SHOW RELEASES has %s", shown)
	}
	asked := []struct {
		where string
		true  int64
	}{
		{"zip = '15210'", 800},
		{"zip = '15214' AND sex = 'F'", 400},
		{"zip IN ('15210', '15211') AND age < 50", 800},
		{"zip IS NULL", 100},
		{"zip IS NOT NULL", 4200},
		{"zip <> '15210'", 3400},
		{"zip NOT IN ('15210', '15211', '15212', '15213', '15214')", 200},
		{"zip = '15210' OR zip = '15214'", 1600},
		{"sex = 'M'", 2150},
		{"1 = 1", 4300},
	}
	answers := func(s *engine.Session) (all string) {
		must(t, s, `SET mechanism = low`)
		must(t, s, `SET confidence = 0.999999999`)
		for _, c := range asked {
			r := must(t, s, `SELECT COUNT(*) FROM people WHERE `+c.where)
			in, ok := r.Answer.Intervals[0][0].(engine.Interval)
			if n := float64(c.true); !ok || n < in.Low || n > in.High || in.High-in.Low > 900 {
				t.Errorf("%s: %v in %v, want %d", c.where, r.Rows, r.Answer.Intervals, c.true)
			}
			all += fmt.Sprint(r.Rows, r.Answer.Intervals)
		}
		r := must(t, s, `SELECT zip, COUNT(*), AVG(age) FROM people WHERE zip IN ('15210', '15213') GROUP BY zip`)
		if len(r.Rows) != 2 || !r.Answer.Verified || r.Rows[1][0] != "15213" {
			t.Errorf("groups: %v", r.Rows)
		}
		all += fmt.Sprint(r.Rows, r.Answer.Intervals)
		for _, where := range []string{"zip = 'rare 7'", "zip = 'nowhere'", "zip IN ('15210', 'nowhere')", "zip <> 'nowhere'"} {
			_, err := s.Exec(t.Context(), `SELECT COUNT(*) FROM people WHERE `+where, nil)
			if sqlerr.CodeOf(err) != sqlerr.Uncovered || !strings.Contains(err.Error(), "zip is compared with a text that is none of its published keys, and is in OTHER with all such texts (low)") {
				t.Errorf("%s: %v", where, err)
			}
		}
		text := fmt.Sprint(must(t, s, `EXPLAIN SELECT COUNT(*) FROM people WHERE zip = '15210'`).Rows)
		if !strings.Contains(text, "low marginals") || !strings.Contains(text, "chosen; "+shape) {
			t.Errorf("EXPLAIN has %s", text)
		}
		return all
	}
	want := answers(s)
	must(t, s, `DROP RELEASE zips`)
	public := filepath.Join(t.TempDir(), "public.db")
	must(t, s, `EXPORT RELEASE low TO '`+public+`'`)
	for _, file := range []string{path, public} {
		if got := answers(open(t, file, engine.Options{}).NewSession()); got != want {
			t.Errorf("%s answers\n%s, want\n%s", file, got, want)
		}
	}
	must(t, s, `CREATE MECHANISM guard ON people (sex, age) USING SMW WITH (epsilon = 0.5, prior = low, max_updates = 2, queries = 10)`)
}

// TestKeysOfSeveralColumns builds a release over keys of two columns, on demand.
//
// Confidences and probabilities are those of TestPublishedKeys, and 3 margins are compared.
func TestKeysOfSeveralColumns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "towns.db")
	s := towns(t, path)
	must(t, s, publishPlans)
	must(t, s, `CREATE PRIVATE TABLE longer (zip TEXT, age INTEGER BETWEEN 0 AND 499999, plan TEXT) FROM raw_people WITH (epsilon = 8, delta = 1e-6, interactive = 0.25)`)
	must(t, s, strings.ReplaceAll(strings.ReplaceAll(publishZips, "people", "longer"), "zips", "z"))
	must(t, s, strings.ReplaceAll(strings.ReplaceAll(publishPlans, "people", "longer"), "plans", "p"))
	must(t, s, `CREATE RELEASE wide ON longer USING MARGINALS WITH (epsilon = 0.5, delta = 1e-7, degree = 2, keys = (p, z))`)
	must(t, s, `SET mechanism = wide`)
	must(t, s, `SET confidence = 0.999999999`)
	if shown := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(shown, "keys of plan from p, 5 keys of zip from z, fitted, tables on demand") {
		t.Errorf("SHOW RELEASES has %s", shown)
	}
	want := ""
	for _, file := range []string{"", path} {
		if file != "" {
			s = open(t, path, engine.Options{}).NewSession()
			must(t, s, `SET mechanism = wide`)
			must(t, s, `SET confidence = 0.999999999`)
		}
		r := must(t, s, `SELECT COUNT(*) AS n, SUM(CASE WHEN plan = '0' THEN 1 ELSE 0 END) AS m, SUM(CASE WHEN zip IS NULL THEN 1 ELSE 0 END) AS k
			FROM longer WHERE zip = '15211' OR zip IS NULL`)
		for i, n := range []float64{900, 272, 100} {
			if in, ok := r.Answer.Intervals[0][i].(engine.Interval); !ok || n < in.Low || n > in.High {
				t.Errorf("%v in %v, want %v", r.Rows, r.Answer.Intervals, n)
			}
		}
		if got := fmt.Sprint(r.Rows, r.Answer.Intervals); want != "" && got != want {
			t.Errorf("the file answers %s, want %s", got, want)
		} else {
			want = got
		}
	}
}

// TestKeysAreRefused names releases that have no keys. Nothing is charged.
func TestKeysAreRefused(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	for _, text := range []string{
		`CREATE RELEASE light ON people (zip) USING PROJECTION WITH (epsilon = 0.1, heavy = none, rows = 64)`,
		`CREATE RELEASE few ON people (zip) USING PROJECTION WITH (epsilon = 0.001, delta = 1e-12, heavy = named, rows = 64)`,
		`CREATE RELEASE two ON people (zip, age) USING PROJECTION WITH (epsilon = 0.1, delta = 1e-9, heavy = named, rows = 64)`,
		`CREATE RELEASE ages ON people (age) USING PROJECTION WITH (epsilon = 0.1)`,
		`CREATE RELEASE elsewhere ON admissions (zip) USING PROJECTION WITH (epsilon = 0.1, delta = 1e-9, heavy = named, rows = 64)`,
		strings.ReplaceAll(publishZips, "zips", "again"),
		publishPlans,
	} {
		must(t, s, text)
	}
	before := ledger(t, s)
	for with, want := range map[string]string{
		"":                       "zip has no domain, and no release in keys has keys of it",
		", keys = none":          "there is no release none to take keys from",
		", keys = light":         "release light publishes no keys",
		", keys = few":           "release few found no text that enough rows have",
		", keys = two":           "release two has no keys: it is not a sketch of one column that has no domain",
		", keys = ages":          "release ages has no keys: it is not a sketch of one column that has no domain",
		", keys = elsewhere":     "release elsewhere is of the table admissions",
		", keys = plans":         "release plans has keys of plan, which is not among the columns",
		", keys = (zips, again)": "two releases have keys of zip",
		", keys = (zips, ZIPS)":  "ZIPS is listed twice",
		", keys = 3":             "keys must be the name of a release, or several in parentheses",
		", keys = ()":            "expected the name of a release",
		", degree = (zips)":      "expected a number, a word or a string",
	} {
		_, err := s.Exec(t.Context(), strings.Replace(keyedRelease, ", keys = zips", with, 1), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("WITH (…%s): %v, want %s", with, err, want)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger was\n%s\nand is\n%s", before, after)
	}
}

// TestKeysBefore rehearses scripts with keys that are known, and with keys that are not. It
// then interrupts a fit, drops the release that published the keys, and goes on.
func TestKeysBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "towns.db")
	s := towns(t, path)
	const ask, unpublished = `SELECT COUNT(*) FROM people WHERE zip = '15210' AND sex = 'F'`, `SELECT COUNT(*) FROM people WHERE zip = 'rare 7' AND sex = 'F'`
	var margin float64 // of the last query that low is planned to answer
	rehearse := func(texts ...string) string {
		r, err := s.Rehearse(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		all := ""
		for _, text := range texts {
			plan, err := r.Plan(t.Context(), text, nil)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			all += fmt.Sprint(plan.Rows)
			if m, ok := plan.Rows[0][4].(float64); ok && plan.Rows[0][0] == "low" {
				margin = m
			}
		}
		return all + fmt.Sprint(r.Total())
	}
	predicted := rehearse(keyedRelease, ask, unpublished)
	for _, want := range []string{"is created; counts err by", "chosen; is created before: its error is predicted", "zip is compared with a text that is none of its published keys"} {
		if !strings.Contains(predicted, want) {
			t.Errorf("a rehearsal says %s, want %s", predicted, want)
		}
	}
	const waits = "the keys of plan are published by plans, which is created before"
	if text := rehearse(publishPlans, `CREATE RELEASE by_plan ON people (sex, plan) USING MARGINALS WITH (epsilon = 1, delta = 1e-7, keys = plans)`,
		`SELECT COUNT(*) FROM people WHERE plan = '1'`); strings.Count(text, waits) < 2 || !strings.Contains(text, "which queries by_plan answers") {
		t.Errorf("a rehearsal of unknown keys says %s", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.SetProgress(func(done, all int64) {
		if done > 200 { // 100 are the rows, 100 the noise
			cancel()
		}
	})
	if _, err := s.Exec(ctx, keyedRelease, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Fatalf("interrupted: %v", err)
	}
	spent := ledger(t, s)
	must(t, s, strings.Replace(publishZips, "zips", "others", 1))
	if _, err := s.Exec(t.Context(), strings.Replace(keyedRelease, "keys = zips", "keys = others", 1), nil); !strings.Contains(fmt.Sprint(err), "was begun by another statement") {
		t.Errorf("other keys: %v", err)
	}
	must(t, s, `DROP RELEASE zips`)
	must(t, s, `DROP RELEASE others`)
	s.SetProgress(nil)
	must(t, s, keyedRelease)
	if now := ledger(t, s); strings.Count(now, "create release low") != strings.Count(spent, "create release low") {
		t.Errorf("the ledger was\n%s\nand is\n%s", spent, now)
	}
	if shown := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(shown, "5 keys of zip from zips, fitted") {
		t.Errorf("SHOW RELEASES has %s", shown)
	}
	must(t, s, `SET mechanism = low`)
	in := must(t, s, ask).Answer.Intervals[0][0].(engine.Interval)
	if half := (in.High - in.Low) / 2; margin == 0 || math.Abs(half-margin) > 1 {
		t.Errorf("the interval %v has the half-width %v, and ± %v was predicted", in, half, margin)
	}
}

// TestWorkloadOfMarginals names the marginals by statements that no sketch and no hypothesis
// could hold: one leaves a column of texts free, and one has more than 2²⁴ possible records.
func TestWorkloadOfMarginals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := towns(t, filepath.Join(dir, "towns.db"))
	fill(t, s, `CREATE TABLE raw_longer AS SELECT * FROM raw_people`)
	must(t, s, `CREATE PRIVATE TABLE longer (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99999999, zip TEXT) FROM raw_longer WITH (epsilon = 8, delta = 1e-6)`)
	must(t, s, strings.ReplaceAll(strings.ReplaceAll(publishZips, "people", "longer"), "zips", "z"))
	const asked = `SELECT COUNT(*) FROM longer WHERE zip = '15210'; SELECT sex, COUNT(*) FROM longer GROUP BY sex;`
	if err := os.WriteFile(filepath.Join(dir, "asked.sql"), []byte(asked), 0o600); err != nil {
		t.Fatal(err)
	}
	s.SetDirectory(dir)
	must(t, s, `CREATE RELEASE w ON longer USING MARGINALS WITH (epsilon = 1, delta = 1e-7, workload = 'asked.sql', keys = z)`)
	if shown := fmt.Sprint(must(t, s, `SHOW RELEASES`).Rows); !strings.Contains(shown, "2 marginals of 9 cells, 5 keys of zip from z, fitted, tables on demand") {
		t.Errorf("SHOW RELEASES has %s", shown)
	}
	must(t, s, `SET mechanism = w`)
	for _, text := range strings.Split(strings.TrimSuffix(asked, ";"), ";") {
		if r := must(t, s, text); !r.Answer.Verified {
			t.Errorf("%s has no error bar", text)
		}
	}
}

// times is how often each row of a test stands in its table, so that the keys are told from rare texts.
const times = 1000

// multiplied makes raw of the rows of another table, in SQLite and PostgreSQL.
const multiplied = `CREATE TABLE raw AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT few.* FROM few, n`

// TestGroupByPublishedTexts groups by the keys that releases published, over rows in the file and on
// a server. There is no noise: keys of 1,000 rows are published, and a text of one row is not. Counts lie
// within a tenth of the multiple of 1,000, since the rows of rare texts are fewer than 100.
func TestGroupByPublishedTexts(t *testing.T) {
	t.Parallel()
	const texts = `('ASH', 'X', 1), ('ash', 'x', 1), ('Ash', 'y', 2), ('ELM', 'Z', 2), (NULL, 'OTHER', 3), ('box', NULL, 3)`
	const rare = `INSERT INTO raw VALUES ('oak', 'rare 1', 1), ('OAK', 'rare 2', 1), ('yew', 'rare 3', 2)`
	file := []string{`CREATE TABLE few (tree TEXT, code TEXT, n INTEGER)`, `INSERT INTO few VALUES ` + texts, multiplied, rare}
	server := []string{`CREATE TABLE few (tree text, code varchar, n integer)`, `INSERT INTO few VALUES ` + texts, multiplied, rare}
	overBoth(t, `tree TEXT COLLATE NOCASE, code TEXT, n INTEGER IN (1, 2, 3)`, file, server, func(t *testing.T, s *engine.Session) {
		const trees = `SELECT tree, COUNT(*) AS c FROM rows GROUP BY tree`
		refused(t, s, sqlerr.Unsupported, trees)
		must(t, s, `CREATE RELEASE trees ON rows (tree) USING PROJECTION WITH (epsilon = 50, delta = 1e-9, heavy = named, memory = '4 KiB')`)
		must(t, s, `CREATE RELEASE codes ON rows (code, n) USING PROJECTION WITH (epsilon = 50, delta = 1e-9, heavy = named, rows = 4096)`)
		must(t, s, `SET confidence = 0.999999999`)
		before := ledger(t, s)
		about := func(text, want string) {
			t.Helper()
			r := must(t, s, text)
			got := ""
			for i, row := range r.Rows {
				last := len(row) - 1
				in, ok := r.Answer.Intervals[i][last].(engine.Interval)
				thousands := math.Round(float64(row[last].(int64)) / times)
				if math.Abs(float64(row[last].(int64))-times*thousands) > times/10 || !ok || in.Low > times*thousands+3 || in.High < times*thousands {
					t.Errorf("%s: %v in %v", text, row, in)
				}
				got += fmt.Sprint(row[:last], int64(thousands), " ")
			}
			if got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
		// The number of rows was bought for the release. OTHER is what the keys leave of it.
		about(trees, "[<nil>] 1 [ash] 3 [box] 1 [elm] 1 [OTHER] 0 ")
		if r := must(t, s, trees); !slices.Contains(r.Warnings, "OTHER has the rows of every tree that is not in trees: rarer keys are in it") || r.Answer.Via != "trees, the number of rows" {
			t.Errorf("%q, by %s", r.Warnings, r.Answer.Via)
		}
		refused(t, s, sqlerr.Uncovered, `SELECT code, COUNT(*) FROM rows WHERE n < 3 GROUP BY code`) // no release has all rows with n < 3
		if after := ledger(t, s); after != before {
			t.Errorf("charged\n%s", after)
		}
		must(t, s, `CREATE RELEASE ns ON rows (n) USING PROJECTION WITH (epsilon = 50)`)
		before = ledger(t, s)
		about(trees+` HAVING tree <> 'ash' OR tree IS NULL`, "[<nil>] 1 [box] 1 [elm] 1 [OTHER] 0 ")
		about(`SELECT code, COUNT(*) FROM rows WHERE n < 3 GROUP BY code`, "[<nil>] 0 [X] 1 [Z] 1 [x] 1 [y] 1 [OTHER] 0 ")
		about(`SELECT code, n, COUNT(*) FROM rows WHERE code NOT IN ('X', 'Z') GROUP BY code, n`, "[x 1] 1 [x 2] 0 [x 3] 0 [y 1] 0 [y 2] 1 [y 3] 0 [OTHER 1] 0 [OTHER 2] 0 [OTHER 3] 1 ")
		about(`SELECT SUM(n) FROM rows WHERE code <> 'X'`, "[] 8 ")
		about(`SELECT COUNT(*) FROM rows WHERE tree NOT IN ('ASH', 'ELM') OR tree IS NULL`, "[] 2 ")
		if r := must(t, s, `DESCRIBE rows`); !strings.Contains(fmt.Sprint(r.Rows), "any text or NULL COLLATE NOCASE, keys in trees") || !strings.Contains(fmt.Sprint(r.Rows), "any text or NULL, keys in codes") {
			t.Error(r.Rows)
		}
		if text := fmt.Sprint(must(t, s, `EXPLAIN SELECT COUNT(*) FROM rows WHERE tree <> 'ash'`).Rows); !strings.Contains(text, "all texts of tree by ns, less those named by trees") {
			t.Error(text)
		}
		public := filepath.Join(t.TempDir(), "public.db")
		must(t, s, `EXPORT RELEASE codes TO '`+public+`'`)
		if after := ledger(t, s); after != before {
			t.Errorf("charged\n%s", after)
		}

		// An exported file has the texts, and nothing that counts all rows.
		s = open(t, public, engine.Options{}).NewSession()
		must(t, s, `SET confidence = 0.999999999`)
		if e := refused(t, s, sqlerr.Uncovered, `SELECT code, COUNT(*) FROM rows WHERE n = 1 GROUP BY code`); !strings.Contains(e.Message, "of 6 queries of the statement 1 cannot be answered") {
			t.Error(e)
		}
		about(`SELECT code, COUNT(*) FROM rows WHERE n = 1 AND code IN ('x', 'y') GROUP BY code`, "[x] 1 [y] 0 ")
	})
}

// TestPublishedTextsOfUnits has a text of which one unit has nearly all rows. It is not published:
// two rows are kept of each unit. A text of 2,000 units is, but with probability below e^-700.
func TestPublishedTextsOfUnits(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (patient INTEGER, zip TEXT)`, `INSERT INTO raw SELECT i, 'town' FROM `+numbers(2000), `INSERT INTO raw SELECT -1, 'lonely' FROM `+numbers(2000))
	must(t, s, `CREATE PRIVATE TABLE visits (zip TEXT) FROM raw WITH (epsilon = 100, delta = 1e-6, unit = patient, max_rows = 2)`)
	must(t, s, `CREATE RELEASE zips ON visits (zip) USING PROJECTION WITH (epsilon = 40, delta = 1e-10, heavy = named, memory = '4 KiB')`)
	if r := must(t, s, `SELECT zip, COUNT(*) FROM visits GROUP BY zip`); len(r.Rows) != 3 || r.Rows[1][0] != "town" {
		t.Errorf("%v", r.Rows)
	}
}

// TestPublishedTextsInARehearsal plans a statement over keys that the script has published.
func TestPublishedTextsInARehearsal(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	refused(t, s, sqlerr.Unsupported, `SELECT zip, COUNT(*) FROM people GROUP BY zip`) // the cells are clipped
	must(t, s, `CREATE RELEASE named ON people (zip) USING PROJECTION WITH (epsilon = 1, delta = 1e-9, heavy = named, rows = 4096)`)
	r := rehearsal(t, s)
	out, err := r.Plan(t.Context(), `SELECT zip, COUNT(*) FROM people GROUP BY zip`, nil)
	if err != nil || strings.Contains(fmt.Sprint(out.Rows), "unknown") {
		t.Errorf("keys that are known: %v, %v", out, err)
	}
	if _, err := r.Plan(t.Context(), publishPlans, nil); err != nil {
		t.Fatal(err)
	}
	out, err = r.Plan(t.Context(), `SELECT plan, COUNT(*) FROM people GROUP BY plan`, nil)
	if err != nil || !strings.Contains(fmt.Sprint(out.Rows), "the keys that plans publishes are not known yet") {
		t.Errorf("%v, %v", out, err)
	}
}

// TestTextsThatAreNotNamed buys all counts that texts of three columns name, and asks for free for the
// records without any of these texts. Of four columns that would be too many parts.
func TestTextsThatAreNotNamed(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "texts.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (a TEXT, b TEXT, c TEXT, d TEXT)`, `INSERT INTO raw SELECT 'a' || (i % 3), 'b' || (i % 5), 'c' || (i % 7), 'd' || (i % 2) FROM `+numbers(2100))
	must(t, s, `CREATE PRIVATE TABLE t (a TEXT, b TEXT, c TEXT, d TEXT) FROM raw WITH (epsilon = 1000, delta = 1e-6)`)
	must(t, s, `SET accuracy = 3`)
	for _, columns := range []string{"", "a", "b", "c", "d", "ab", "ac", "ad", "bc", "bd", "cd", "abc", "abd", "acd", "bcd", "abcd"} {
		where := "1 = 1"
		for _, c := range columns {
			where += fmt.Sprintf(" AND (%c = '%c1' OR %c IS NULL)", c, c, c)
		}
		must(t, s, `SELECT COUNT(*) FROM t WHERE `+where)
	}
	must(t, s, `SET accuracy = default`)
	const three = `SELECT COUNT(*) FROM t WHERE a <> 'a1' AND b <> 'b1' AND c <> 'c1'`
	if r := must(t, s, three); math.Abs(float64(r.Rows[0][0].(int64)-960)) > 24 { // 2100 · 2/3 · 4/5 · 6/7, from eight answers
		t.Errorf("%v of 960", r.Rows[0][0])
	}
	refused(t, s, sqlerr.Uncovered, three+` AND d <> 'd1'`)
}
