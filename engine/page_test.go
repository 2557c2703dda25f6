package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/period"
	"dpsql/page"
	"dpsql/sqlerr"
)

// pictureOf returns what a page has of the releases of a file, of each period too.
func pictureOf(t *testing.T, db *engine.DB) (page.Picture, [][]byte) {
	v, err := db.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range v.Releases {
		if r.Template == 0 {
			names = append(names, r.Name)
		}
	}
	for _, m := range v.Templates {
		names = append(names, m.Name)
	}
	p, payloads, err := db.NewSession().Page(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	return p, payloads
}

// pageOf returns a page of the releases of a file.
func pageOf(t *testing.T, db *engine.DB) *page.Desk {
	desk, err := page.Open(pictureOf(t, db))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(desk.Close)
	return desk
}

// outcomeText writes all that is said to a statement.
func outcomeText(r *engine.Result, err error) string {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return fmt.Sprintf("%s %d %s → %s", e.Code, e.Position, e.Message, e.Hint)
	case err != nil:
		return err.Error()
	case r.Answer == nil:
		brief := engine.Result{}
		if r.Brief != nil {
			brief = *r.Brief
		}
		return fmt.Sprintf("%v %v %v %v %v", r.Columns, r.Rows, brief.Columns, brief.Rows, r.Warnings)
	}
	return fmt.Sprintf("%#v %#v %#v %#v", r.Columns, r.Rows, *r.Answer, r.Warnings)
}

// left are the first words of what a page says to statements that it does not take.
var left = regexp.MustCompile(`under SET accuracy a page answers no mean`)

// pageReleases are the releases of each world that become pages.
var pageReleases = map[string][]string{
	"visits": {`CREATE RELEASE page_cells ON visits USING PROJECTION WITH (epsilon = 1)`,
		`CREATE RELEASE page_table ON visits (sex, age, town, score) USING MARGINALS WITH (epsilon = 1)`,
		`CREATE RELEASE page_learned ON visits (sex, town) USING SMW WITH (epsilon = 1, delta = 1e-8, free_columns = 1)`},
	"admissions": {`CREATE RELEASE page_cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
		`CREATE RELEASE page_table ON people (sex, age, n) USING MARGINALS WITH (epsilon = 1)`,
		`CREATE RELEASE page_days ON t USING PROJECTION WITH (epsilon = 1)`,
		`CREATE RELEASE page_shifts ON shifts USING MARGINALS WITH (epsilon = 1)`},
}

// pagePeriods are worlds whose tables have periods, and the pages of them. Each world's name begins with whose statements it is asked.
var pagePeriods = []struct {
	name    string
	raw     func(*testing.T) []string
	declare []string
	later   []string // once the page is written
}{
	{"visits by age", func(*testing.T) []string { return goldenTable }, append(slices.Clone(goldenPublic),
		fmt.Sprintf(goldenDeclaration, "epsilon = 1000, delta = 1e-6, interactive = 0.9, period = 'age'"), goldenStays,
		`CREATE RELEASE page_each ON visits (sex, age, town) USING PROJECTION WITH (epsilon = 1) EACH PERIOD`,
		`REFRESH RELEASE page_each PERIOD '0'`, `REFRESH RELEASE page_each PERIOD '1'`, `REFRESH RELEASE page_each PERIOD '2'`, `REFRESH RELEASE page_each PERIOD '3'`,
		`REFRESH RELEASE page_each PERIOD '5'`, `CREATE RELEASE page_some ON visits (sex, town) USING MARGINALS WITH (epsilon = 1, period = '2 to 6')`), []string{`REFRESH RELEASE page_each PERIOD '6'`}},
	{"visits by town", func(*testing.T) []string { return goldenTable }, append(slices.Clone(goldenPublic),
		fmt.Sprintf(goldenDeclaration, "epsilon = 1000, delta = 1e-6, interactive = 0.9, period = 'town', unit = zip, max_rows = 2"), goldenStays,
		`CREATE RELEASE page_each ON visits (sex, age, score) USING MARGINALS WITH (epsilon = 1) EACH PERIOD`,
		`REFRESH RELEASE page_each PERIOD 'Ash'`, `REFRESH RELEASE page_each PERIOD 'Oak'`), nil},
	{"admissions by month", func(*testing.T) []string {
		return []string{`CREATE TABLE raw_days AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 399) SELECT date('2024-01-01', i || ' days') AS day, i % 2 AS b FROM n`}
	}, []string{`CREATE PRIVATE TABLE t (day DATE BETWEEN '2024-01-01' AND '2024-12-31', b BOOLEAN)
			FROM raw_days WITH (epsilon = 1000, delta = 1e-6, period = 'month of day')`,
		`CREATE RELEASE page_each ON t USING PROJECTION WITH (epsilon = 1, early = on) EACH PERIOD`, `REFRESH RELEASE page_each`,
		`CREATE RELEASE page_year ON t (day) USING PROJECTION WITH (epsilon = 1, period = '2024-02 to 2024-11')`}, []string{`REFRESH RELEASE page_each`}},
}

// TestPagesOfPeriods asks pages of tables with periods the statements of testdata, and some of its own: in the running
// period too, and when others have begun since. A page answers as the engine does.
func TestPagesOfPeriods(t *testing.T) {
	t.Parallel()
	for i, w := range pagePeriods {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := new(clock)
			c.set(t, "2024-11-23T12:00:00Z")
			db := open(t, filepath.Join(t.TempDir(), "file.db"), engine.Options{})
			quieten(db)
			db.SetNow(func() time.Time { return c.now })
			s := db.NewSession()
			fill(t, s, w.raw(t)...)
			for _, text := range w.declare {
				must(t, s, text)
			}
			desk := pageOf(t, db)
			asksAlike(t, w.name, i, desk, db, false)
			for _, text := range []string{`SELECT COUNT(*) FROM t`, `SELECT day, COUNT(*) FROM t GROUP BY day`,
				`SELECT COUNT(*) FROM t WHERE day < '2024-03-17'`, `SELECT b, COUNT(*) FROM t WHERE day BETWEEN '2024-02-10' AND '2024-11-05' GROUP BY b`,
				`SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM t GROUP BY m`, `SELECT MEDIAN(day) FROM t WHERE day > '2024-02-02'`,
				`SET mechanism = page_year`, `SELECT COUNT(*) FROM t WHERE day BETWEEN '2024-02-10' AND '2024-03-05'`, `SELECT COUNT(*) FROM t WHERE day BETWEEN '2024-02-10' AND '2024-11-28'`} {
				got, err := desk.Ask(t.Context(), text)
				want, refusal := s.Exec(t.Context(), text, nil)
				if (err == nil) != (refusal == nil) || err == nil && outcomeText(got, nil) != outcomeText(want, nil) {
					t.Errorf("%s: %s\nwant %s", text, outcomeText(got, err), outcomeText(want, refusal))
				}
			}
			got, err := desk.Ask(t.Context(), `SHOW RELEASES`)
			if err != nil || w.name == "admissions by month" && !reflect.DeepEqual(got.Brief, must(t, s, `SHOW RELEASES`).Brief) {
				t.Errorf("%v %v", got, err)
			}
			p, payloads := pictureOf(t, db)
			c.set(t, "2024-12-02T12:00:00Z")
			for _, text := range w.later {
				must(t, s, text)
			}
			if err := s.Published(t.Context(), page.Card{Picture: p}, payloads); err != nil {
				t.Errorf("a page of fewer parts: %v", err)
			}
			p.Tables[0].Periods.By = period.Day
			if err := s.Published(t.Context(), page.Card{Picture: p}, payloads); sqlerr.CodeOf(err) != sqlerr.Invalid {
				t.Errorf("a page of other periods: %v", err)
			}
		})
	}
}

// TestPagesAnswerAsTheEngine asks pages the statements of testdata. A page of one release says what the engine
// says of the exported file, refusals too. One of all releases answers as the engine does that has rows, too.
// Without -long each page is asked every twelfth statement.
func TestPagesAnswerAsTheEngine(t *testing.T) {
	for _, w := range worlds {
		if pageReleases[w.name] == nil {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			db := w.make(t)
			s := db.NewSession()
			for i, create := range pageReleases[w.name] {
				must(t, s, create)
				name := strings.Fields(create)[2]
				path := filepath.Join(t.TempDir(), name+".db")
				must(t, s, `EXPORT RELEASE `+name+` TO '`+path+`'`)
				file := open(t, path, engine.Options{ReadOnly: true})
				asksAlike(t, w.name+", "+name, i+1, pageOf(t, file), file, true)
			}
			asksAlike(t, w.name, 0, pageOf(t, db), db, false)
		})
	}
}

// asksAlike asks a page and an engine the statements of a world. What the page refuses is compared if refusals are.
func asksAlike(t *testing.T, what string, number int, desk *page.Desk, db *engine.DB, refusals bool) {
	world := regexp.MustCompile(`^\w+`).FindString(what)
	text, err := os.ReadFile(filepath.Join("../testdata/statements", world+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	answered, refused, others := 0, 0, 0
	lists := []string{`SHOW TABLES`, `SHOW RELEASES`, `SHOW RELEASES FULL`, `SHOW SETTINGS`}
	for i, record := range append(lists, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"+parting+"\n")...) {
		statement, _, _ := strings.Cut(record, "\n"+mark)
		if !*long && i >= len(lists) && i%12 != number%12 { // pages in a row are asked different ones
			continue
		}
		if p, err := engine.Prepare(statement); err != nil || len(p.Parameters()) > 0 || !isQuery.MatchString(statement) || clocked.MatchString(statement) {
			continue
		}
		r, err := desk.Ask(t.Context(), statement)
		switch {
		case err == nil && r.Answer == nil && !refusals: // an engine with rows has other ways, and other tables
			others++
			continue
		case err == nil:
			answered++
		case left.MatchString(err.Error()) || !refusals:
			others++
			continue
		default:
			refused++
		}
		want := outcomeText(db.NewSession().Exec(t.Context(), statement, nil))
		if got := outcomeText(r, err); got != want {
			t.Errorf("%s: %s\npage:   %s\nengine: %s", what, statement, got, want)
		}
	}
	t.Logf("%s: %d statements answered, %d refused; %d not compared", what, answered, refused, others)
	if answered == 0 {
		t.Errorf("%s: the page answers nothing", what)
	}
}

// isQuery reports whether a statement is a query, or a list that pages have.
var isQuery = regexp.MustCompile(`(?is)^(\s|\(|--[^\n]*\n|/\*.*?\*/)*((EXPLAIN\s+(FULL\s+)?)?(\(\s*)?(SELECT|WITH|VALUES)|DESCRIBE|SHOW\s+(TABLES|RELEASES|SETTINGS))\b`)
