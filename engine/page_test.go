package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/page"
	"dpsql/sqlerr"
)

// pageOf returns a page of the releases of a file that lie in no periods.
func pageOf(t *testing.T, db *engine.DB) *page.Desk {
	v, err := db.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var p page.Picture
	for _, of := range v.Tables {
		public := page.Table{Name: of.Name, Unit: of.Unit, MaxRows: of.MaxRows}
		for _, c := range of.Columns {
			stored, err := c.Stored()
			if err != nil {
				t.Fatal(err)
			}
			public.Columns = append(public.Columns, page.Column{StoredColumn: stored})
		}
		if !of.HasPeriods() {
			p.Tables = append(p.Tables, public)
		}
	}
	var payloads [][]byte
	err = db.Store().Read(t.Context(), func(tx *catalog.Tx) error {
		for i := range v.Releases {
			r := &v.Releases[i]
			if v.TableByID(r.TableID).HasPeriods() {
				continue
			}
			payload, err := tx.ReleasePayload(r)
			if err != nil {
				return err
			}
			p.Releases = append(p.Releases, page.Release{Name: r.Name, Table: r.Table, Using: r.Using, Columns: r.Columns, MaxSupport: r.MaxSupport, About: r.Params,
				Epsilon: r.Epsilon.String(), Delta: r.Delta.String(), Created: r.CreatedAt.Format(time.RFC3339)})
			payloads = append(payloads, payload)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	desk, err := page.Open(p, payloads)
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
var left = regexp.MustCompile(`this page sells no`)

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

// TestPagesAnswerAsTheEngine asks pages the statements of testdata. A page of one release says what the engine
// says of the exported file, refusals too. One of all releases answers as the engine does that has rows, too.
// Without -long each page is asked every third statement.
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
	world, _, _ := strings.Cut(what, ",")
	text, err := os.ReadFile(filepath.Join("../testdata/statements", world+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	answered, refused, others := 0, 0, 0
	lists := []string{`SHOW TABLES`, `SHOW RELEASES`, `SHOW RELEASES FULL`, `SHOW SETTINGS`}
	for i, record := range append(lists, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"+parting+"\n")...) {
		statement, _, _ := strings.Cut(record, "\n"+mark)
		if !*long && i >= len(lists) && i%3 != number%3 { // pages in a row are asked different ones
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
