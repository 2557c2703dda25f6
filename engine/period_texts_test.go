package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/sqlerr"
)

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
