package engine_test

import (
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/sqlerr"
)

const discoverZips = `CREATE PUBLIC TABLE zips AS SELECT DISTINCT zip FROM people WITH (epsilon = 0.5, delta = 1e-8)`

// fiveZips are the texts of 800 rows in towns.
const fiveZips = "[[15210] [15211] [15212] [15213] [15214]]"

// TestDiscover makes a list of keys and uses it: reads it, declares a domain with it and groups by
// that. The five texts of 800 rows are found but with probability e^-370, the 200 of one row are
// with probability below 1e-8 in all.
func TestDiscover(t *testing.T) {
	t.Parallel()
	for _, outside := range []bool{false, true} {
		s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
		if outside {
			s = outsideClinic(t, newFar(t))
			must(t, s, `DROP PRIVATE TABLE admissions`)
			must(t, s, `CREATE PRIVATE TABLE people (sex TEXT IN ('F', 'M', NULL), zip TEXT) FROM warehouse.raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
		}
		before := lines(t, s)
		if r := must(t, s, discoverZips); len(r.Rows) != 0 || len(r.Warnings) != 0 {
			t.Errorf("%v", r)
		}
		if got := fmt.Sprint(must(t, s, `SELECT * FROM zips`).Rows); got != fiveZips {
			t.Errorf("found %s", got)
		}
		if n := lines(t, s) - before; n != 1 || !strings.Contains(ledger(t, s), "releases discover keys zips 0.5 1e-8") {
			t.Errorf("%d lines\n%s", n, ledger(t, s))
		}
		must(t, s, strings.Replace(discoverZips, "TABLE", "TABLE IF NOT EXISTS", 1))
		refused(t, s, sqlerr.Exists, discoverZips)
		if n := lines(t, s) - before; n != 1 {
			t.Errorf("%d lines are charged", n)
		}
		if outside {
			continue
		}
		must(t, s, `CREATE PRIVATE TABLE listed (zip TEXT IN (SELECT zip FROM zips)) FROM raw_people WITH (epsilon = 8, delta = 1e-6, interactive = 0.25)`)
		must(t, s, `CREATE PRIVATE TABLE all_of (zip TEXT IN (SELECT zip FROM zips) OR OTHER OR NULL) FROM raw_people WITH (epsilon = 8, delta = 1e-6, interactive = 0.25)`)
		must(t, s, `CREATE RELEASE a ON all_of USING PROJECTION WITH (epsilon = 2)`)
		if r := must(t, s, `SELECT zip, COUNT(*) AS n FROM all_of GROUP BY zip HAVING zip = 'OTHER'`); len(r.Rows) != 1 || r.Rows[0][1].(int64) < 150 || r.Rows[0][1].(int64) > 250 {
			t.Errorf("200 rows of other texts: %v", r.Rows)
		}
		must(t, s, `CREATE RELEASE r ON listed USING PROJECTION WITH (epsilon = 1)`)
		if r := must(t, s, `SELECT zip, COUNT(*) AS n FROM listed GROUP BY zip ORDER BY zip`); len(r.Rows) != 5 || r.Rows[4][0] != "15214" {
			t.Errorf("%v", r.Rows)
		}
	}
}

// TestDiscoverDrawsWhatItCharges discovers 40 keys of as many units as the threshold that L, ε and
// δ of the ledger line give, each unit with two rows of its key. By the law that the line pays
// for, each key is found with probability 0.562, so that fewer than 5 or more than 37 are found
// with probability below 1e-7. If rows were counted, or the noise were not for units of two keys,
// all of them would be found, or none.
func TestDiscoverDrawsWhatItCharges(t *testing.T) {
	t.Parallel()
	law, err := law.NewLaplace(big.NewRat(2*2, 1)) // L/ε
	if err != nil {
		t.Fatal(err)
	}
	d := projection.NewDiscovery(law, 2, 1e-9)
	if p := d.Chance(d.Threshold); math.Abs(p-0.562) > 0.001 {
		t.Fatalf("the chance is %v", p)
	}
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	insert := `INSERT INTO raw SELECT i, 'k' || (i % 40) FROM ` + numbers(int(40*d.Threshold))
	fill(t, s, `CREATE TABLE raw (patient INTEGER, zip TEXT)`, insert, insert)
	must(t, s, `CREATE PRIVATE TABLE visits (zip TEXT) FROM raw WITH (epsilon = 4, delta = 1e-6, unit = patient, max_rows = 2)`)
	before, drawn := len(entries(t, s.DB())), 0
	s.DB().SetRandom(func() *noise.Source {
		if drawn++; len(entries(t, s.DB())) != before+1 {
			t.Error("drawn before the charge")
		}
		return noise.NewSource()
	})
	must(t, s, `CREATE PUBLIC TABLE zips AS SELECT DISTINCT zip FROM visits WITH (epsilon = 0.5, delta = 1e-9)`)
	line := entries(t, s.DB())[before]
	if drawn != 1 || view.Amount(line.Amount) != "ε 0.5, δ 1e-9" || line.Kind != catalog.KindReleases {
		t.Errorf("%d draws, %+v", drawn, line)
	}
	if n := count(t, s, `SELECT COUNT(*) FROM zips`); n < 5 || n > 37 {
		t.Errorf("%d of 40 keys are found", n)
	}
}

func TestDiscoverIsRefused(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	fill(t, s, `CREATE TABLE raw_few (zip TEXT)`, `CREATE VIEW raw_joined AS SELECT zip FROM raw_people`)
	must(t, s, `CREATE PRIVATE TABLE few (zip TEXT) FROM raw_few WITH (epsilon = 1)`)
	before := ledger(t, s)
	with := ` WITH (epsilon = 0.5, delta = 1e-8)`
	for text, code := range map[string]sqlerr.Code{
		`z AS SELECT DISTINCT sex FROM people` + with:                        sqlerr.Invalid,
		`z AS SELECT DISTINCT town FROM people` + with:                       sqlerr.Unknown,
		`z AS SELECT DISTINCT zip FROM nobody` + with:                        sqlerr.Unknown,
		`z AS SELECT DISTINCT code FROM icd10` + with:                        sqlerr.Unsupported,
		`z AS SELECT DISTINCT zip FROM people WHERE age < 3` + with:          sqlerr.Malformed,
		`z AS SELECT DISTINCT CAST(zip AS TEXT) FROM people` + with:          sqlerr.Malformed,
		`z AS SELECT DISTINCT zip, sex FROM people` + with:                   sqlerr.Malformed,
		`z AS SELECT zip FROM people GROUP BY zip` + with:                    sqlerr.Malformed,
		`z AS SELECT DISTINCT zip FROM people LIMIT 3` + with:                sqlerr.Malformed,
		`z AS VALUES (1)` + with:                                             sqlerr.Malformed,
		`z AS SELECT DISTINCT zip FROM people WITH (delta = 1e-8)`:           sqlerr.Invalid,
		`z AS SELECT DISTINCT zip FROM people WITH (epsilon = 1, heavy = 3)`: sqlerr.Invalid,
		`z AS SELECT DISTINCT zip FROM people WITH (epsilon = 1, delta = 0)`: sqlerr.Invalid,
		`z AS SELECT DISTINCT zip FROM people WITH (epsilon = 7)`:            sqlerr.Budget,
		`z AS SELECT DISTINCT zip FROM few WITH (epsilon = 0.1)`:             sqlerr.Invalid, // the account has no δ
		`icd10 AS SELECT DISTINCT zip FROM people` + with:                    sqlerr.Exists,
		`people AS SELECT DISTINCT zip FROM people` + with:                   sqlerr.Exists,
		`raw_people AS SELECT DISTINCT zip FROM people` + with:               sqlerr.Exists,
		`raw_joined AS SELECT DISTINCT zip FROM people` + with:               sqlerr.Exists,
		`dpsql_z AS SELECT DISTINCT zip FROM people` + with:                  sqlerr.Forbidden,
	} {
		if e := refused(t, s, code, `CREATE PUBLIC TABLE `+text); e.Hint == "" && code == sqlerr.Malformed {
			t.Errorf("%s: %v has no hint", text, e)
		}
	}
	for text, code := range map[string]sqlerr.Code{
		`EXPLAIN CREATE PUBLIC TABLE z AS SELECT DISTINCT zip FROM people`:                     sqlerr.Unsupported,
		`EXPLAIN CREATE PUBLIC TABLE z`:                                                        sqlerr.Unsupported,
		`EXPLAIN CREATE PUBLIC TABLE z AS SELECT DISTINCT sex FROM people` + with:              sqlerr.Invalid,
		`EXPLAIN CREATE PUBLIC TABLE z AS SELECT DISTINCT zip FROM people` + with + ` FOR 'x'`: sqlerr.Malformed,
	} {
		refused(t, s, code, text)
	}
	if after := ledger(t, s); after != before {
		t.Errorf("refusals charged\n%s", after)
	}
	analyst := open(t, s.DB().Store().Path(), engine.Options{Role: engine.Analyst}).NewSession()
	refused(t, analyst, sqlerr.Forbidden, `CREATE PUBLIC TABLE z AS SELECT DISTINCT zip FROM nobody`+with)
}

// TestDiscoverAndCrash stops the machine between the charge and the list. The charge is lost and
// nothing is published; the same statement pays again and finishes.
func TestDiscoverAndCrash(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	before := lines(t, s)
	crashed := copiedAtDraw(t, s)
	must(t, s, discoverZips)
	s = open(t, crashed, engine.Options{}).NewSession()
	if n := lines(t, s) - before; n != 1 {
		t.Errorf("%d lines after the crash", n)
	}
	refused(t, s, sqlerr.Unknown, `SELECT * FROM zips`)
	must(t, s, discoverZips)
	if got := fmt.Sprint(must(t, s, `SELECT * FROM zips`).Rows); got != fiveZips || lines(t, s)-before != 2 {
		t.Errorf("found %s, and\n%s", got, ledger(t, s))
	}
}

// TestDiscoverBesideAnother has another process take the name between the charge and the list. The
// statement fails and says what it cost, IF NOT EXISTS or not: that table is not its list.
func TestDiscoverBesideAnother(t *testing.T) {
	t.Parallel()
	for _, text := range []string{discoverZips, strings.Replace(discoverZips, "TABLE", "TABLE IF NOT EXISTS", 1)} {
		s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
		other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
		random := s.DB().Random()
		s.DB().SetRandom(func() *noise.Source {
			must(t, other, `CREATE PUBLIC TABLE zips AS SELECT 'mine' AS zip`)
			return random()
		})
		if e := refused(t, s, sqlerr.Exists, text); !strings.Contains(e.Message, "ε 0.5, δ 1e-8 was charged for it and is gone") {
			t.Errorf("%v", e)
		}
		if got := fmt.Sprint(must(t, s, `SELECT * FROM zips`).Rows); got != "[[mine]]" {
			t.Errorf("the table has %s", got)
		}
	}
}

// TestDiscoverInVain asks for the keys of 12 rows, once their number is known. None can be found: a
// script is refused before it is charged, a person is asked, and who insists pays.
func TestDiscoverInVain(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	fill(t, s, `CREATE TABLE raw_few (zip TEXT, sex TEXT)`, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12) INSERT INTO raw_few SELECT 'z', 'F' FROM n`)
	must(t, s, `CREATE PRIVATE TABLE few (zip TEXT, sex TEXT IN ('F', 'M')) FROM raw_few WITH (epsilon = 100, delta = 1e-5)`)
	const text = `CREATE PUBLIC TABLE few_zips AS SELECT DISTINCT zip FROM few WITH (epsilon = 0.2, delta = 1e-8)`
	must(t, s, strings.Replace(text, "few_zips", "unknown", 1)) // nobody knows the number of rows
	must(t, s, `CREATE RELEASE sized ON few (sex) USING PROJECTION WITH (epsilon = 40, transform = sparse, rows = 64)`)
	before := ledger(t, s)
	e := refused(t, s, sqlerr.Invalid, text)
	if !strings.Contains(e.Message, "no key is likely to be found: one of 80 rows is found with probability 0.05, and there are about ") || !strings.Contains(e.Hint, "insist = on") {
		t.Errorf("%v, %s", e, e.Hint)
	}
	if out, err := rehearsal(t, s).Plan(t.Context(), text, nil); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a rehearsal says %v, %v", out, err)
	}
	if out := fmt.Sprint(must(t, s, `EXPLAIN `+text).Rows); !strings.Contains(out, "no key is likely to be found") {
		t.Error(out)
	}
	var asked []string
	agrees := false
	s.SetConfirm(func(warning string) bool {
		asked = append(asked, warning)
		return agrees
	})
	refused(t, s, sqlerr.Cancelled, text)
	if after := ledger(t, s); after != before || len(asked) != 1 || asked[0] != e.Message {
		t.Errorf("asked %q; the ledger has\n%s", asked, after)
	}
	agrees = true
	must(t, s, text)
	must(t, s, strings.Replace(strings.Replace(text, "few_zips", "insisted", 1), "1e-8", "1e-8, insist = on", 1))
	must(t, s, strings.Replace(strings.Replace(text, "few_zips", "enough", 1), "0.2", "5", 1))
	if got := lines(t, s) - strings.Count(before, "\n"); got != 3 || len(asked) != 2 {
		t.Errorf("%d lines more, asked %q", got, asked)
	}
}

// TestDiscoverForetold compares the plan of a script with what it then does.
func TestDiscoverForetold(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	r := rehearsal(t, s)
	for text, cost := range map[string]string{discoverZips: "ε 0.5, δ 1e-8"} {
		out, err := r.Plan(t.Context(), text, nil)
		if err != nil || out.Rows[0][0] != "zips" || out.Rows[0][2] != "zip" || out.Rows[0][5] != cost {
			t.Fatalf("%s: %v, %v", text, out, err)
		}
	}
	for _, text := range []string{`CREATE PUBLIC TABLE IF NOT EXISTS zips AS SELECT DISTINCT zip FROM people WITH (epsilon = 100)`,
		`CREATE PRIVATE TABLE listed (zip TEXT IN (SELECT zip FROM zips)) FROM raw_people WITH (epsilon = 8, delta = 1e-6, interactive = 0.25)`} {
		if out, err := r.Plan(t.Context(), text, nil); err != nil || out.Rows[0][5] != "0" {
			t.Errorf("%s: %v, %v", text, out, err)
		}
	}
	for _, text := range []string{`CREATE PUBLIC TABLE z AS SELECT DISTINCT zip FROM people WITH (epsilon = 5)`, discoverZips} {
		if _, err := r.Plan(t.Context(), text, nil); err == nil {
			t.Errorf("%s is planned", text)
		}
	}
	if total := fmt.Sprint(r.Total().Rows); !strings.Contains(total, "people releases ε 5 0.5") {
		t.Errorf("%s", total)
	}
	if slices.ContainsFunc(entries(t, s.DB()), func(e catalog.Entry) bool { return e.Action == "discover keys" }) {
		t.Error("a rehearsal charged")
	}
}

// TestGroupByListedKeys groups a column without a domain by the keys of lists, without noise. Each
// row is in one group: that of its key, of NULL, or OTHER, which a key of that name is in too. The
// answers are those of SQLite over the rows.
func TestGroupByListedKeys(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	fill(t, s, `INSERT INTO raw_people SELECT sex, age, 'OTHER', 1 FROM raw_people LIMIT 300`)
	quieten(s.DB())
	must(t, s, `SET accuracy = 2000`)
	must(t, s, `SET mechanism = direct`)
	grouped := `SELECT zip, COUNT(*) AS n FROM people GROUP BY zip`
	e := refused(t, s, sqlerr.Unsupported, grouped)
	if !strings.Contains(e.Hint, "CREATE PUBLIC TABLE keys AS SELECT DISTINCT zip FROM people WITH") {
		t.Errorf("the hint is %s", e.Hint)
	}
	must(t, s, discoverZips)
	want := func(text string) string {
		rows, err := plain(t, s).Query(strings.NewReplacer("people", `(SELECT sex, age, CASE WHEN zip IN (SELECT zip FROM zips) OR zip IS NULL THEN zip ELSE 'OTHER' END AS zip FROM raw_people)`).Replace(text))
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var all [][]any
		for rows.Next() {
			row := make([]any, 2)
			if err := rows.Scan(&row[0], &row[1]); err != nil {
				t.Fatal(err)
			}
			all = append(all, row)
		}
		return fmt.Sprint(all)
	}
	for _, text := range []string{grouped, grouped + ` ORDER BY n DESC, zip LIMIT 3`, `SELECT zip, SUM(age) FROM people GROUP BY zip`,
		`SELECT zip, COUNT(*) FROM people WHERE sex = 'F' AND age < 50 GROUP BY 1`, `SELECT upper(zip) AS z, COUNT(*) FROM people GROUP BY zip`,
		`SELECT zip, COUNT(*) FROM people WHERE zip IS NOT NULL AND zip <> '15212' GROUP BY zip HAVING COUNT(*) > 100`,
		`SELECT zip, COUNT(*) FROM people WHERE zip NOT IN ('15210', '15214') OR zip IS NULL GROUP BY zip`,
		`SELECT zip, n FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS g WHERE n > 200 ORDER BY n, zip`} {
		r := must(t, s, text)
		if got := fmt.Sprint(r.Rows); got != want(text) {
			t.Errorf("%s: %s, want %s", text, got, want(text))
		}
		if !slices.Contains(r.Warnings, "OTHER has the rows of every zip that is not in zips: rarer keys are in it") {
			t.Errorf("%s: %q", text, r.Warnings)
		}
	}
	if r := must(t, s, `SELECT COUNT(*) FROM people WHERE zip = 'OTHER' OR zip NOT IN (SELECT zip FROM zips)`); r.Rows[0][0] != int64(500) || r.Answer.Cost != (engine.Cost{}) {
		t.Errorf("all that are in OTHER: %v at %v", r.Rows, r.Answer.Cost)
	}
	if r := must(t, s, `DESCRIBE people`); fmt.Sprint(r.Rows[2][:3]) != "[zip TEXT any text or NULL, keys in zips]" {
		t.Errorf("DESCRIBE has %v", r.Rows)
	}
	if r := must(t, s, `SELECT zip, COUNT(*) FROM people WHERE zip IN ('15211', 'rare 7') GROUP BY zip`); fmt.Sprint(r.Rows) != "[[15211 800] [rare 7 1]]" || len(r.Warnings) != 0 {
		t.Errorf("listed by WHERE: %v, %q", r.Rows, r.Warnings)
	}
	if r := must(t, s, `SELECT zip, sex, COUNT(*) FROM people GROUP BY ROLLUP (zip, sex)`); len(r.Rows) != 7*3+7+1 {
		t.Errorf("%d rows of ROLLUP", len(r.Rows))
	}

	// Of two lists all keys count. What a list holds is read when it is used.
	must(t, s, strings.Replace(discoverZips, "TABLE zips", "TABLE again", 1))
	fill(t, s, `DELETE FROM zips WHERE zip <> '15210'`, `INSERT INTO again VALUES (NULL), ('nowhere'), (15213)`, `DELETE FROM again WHERE zip = '15214'`)
	if r := must(t, s, grouped); len(r.Rows) != 7 || fmt.Sprint(r.Rows[5:]) != "[[nowhere 0] [OTHER 1300]]" || !strings.Contains(fmt.Sprint(r.Warnings), "not in again, zips") {
		t.Errorf("%v, %q", r.Rows, r.Warnings)
	}

	// A list is of the table of that name, and until it is dropped.
	must(t, s, `CREATE PRIVATE TABLE others (zip TEXT, sex TEXT IN ('F', 'M')) FROM raw_people WITH (epsilon = 8, delta = 1e-6, interactive = 0.25)`)
	refused(t, s, sqlerr.Unsupported, `SELECT zip, COUNT(*) FROM others GROUP BY zip`)
	must(t, s, `DROP PUBLIC TABLE again`)
	if r := must(t, s, grouped); len(r.Rows) != 3 {
		t.Errorf("after DROP %v", r.Rows)
	}
	must(t, s, `DROP PUBLIC TABLE zips`)
	refused(t, s, sqlerr.Unsupported, grouped)
}

// TestListedKeysInARehearsal plans a statement over a list that the script makes.
func TestListedKeysInARehearsal(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	r := rehearsal(t, s)
	for _, text := range []string{discoverZips, `SET accuracy = 2000`} {
		if _, err := r.Plan(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.Plan(t.Context(), `SELECT zip, COUNT(*) FROM people GROUP BY zip`, nil)
	if err != nil || out.Rows[0][0] != "unknown" || !strings.Contains(fmt.Sprint(out.Rows), "zips") {
		t.Errorf("%v, %v", out, err)
	}
}

// TestListedKeysByARelease groups by listed keys that a release of marginals has published too. It
// answers all groups, OTHER as well, and nothing is charged. A proven margin at a confidence of
// 1 − 1e-9 misses with less than that probability, and 14 are compared. A release without one of
// the listed keys does not tell it from OTHER.
func TestListedKeysByARelease(t *testing.T) {
	t.Parallel()
	s := towns(t, filepath.Join(t.TempDir(), "towns.db"))
	must(t, s, keyedRelease)
	must(t, s, discoverZips)
	must(t, s, `SET mechanism = low`)
	must(t, s, `SET confidence = 0.999999999`)
	before := ledger(t, s)
	for where, want := range map[string][]float64{"1 = 1": {100, 800, 800, 800, 800, 800, 200}, "sex = 'F'": {50, 400, 400, 400, 400, 400, 100}} {
		r := must(t, s, `SELECT zip, COUNT(*) FROM people WHERE `+where+` GROUP BY zip`)
		if len(r.Rows) != len(want) || r.Rows[0][0] != nil || r.Rows[6][0] != "OTHER" {
			t.Fatalf("%s: %v", where, r.Rows)
		}
		for i, n := range want {
			if in, ok := r.Answer.Intervals[i][1].(engine.Interval); !ok || n < in.Low || n > in.High {
				t.Errorf("%s: %v in %v, want %v", where, r.Rows[i], r.Answer.Intervals[i], n)
			}
		}
	}
	fill(t, s, `INSERT INTO zips VALUES ('rare 7')`)
	if e := refused(t, s, sqlerr.Uncovered, `SELECT zip, COUNT(*) FROM people GROUP BY zip`); !strings.Contains(e.Message, "none of its published keys") {
		t.Error(e)
	}
	if after := ledger(t, s); after != before {
		t.Errorf("charged\n%s", after)
	}
}
