package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/page"
	"dpsql/page/publish"
	"dpsql/sqlerr"
)

// TestExportPage writes releases as a page, which has what is public of them, and answers as the file does.
func TestExportPage(t *testing.T) {
	t.Parallel()
	var db *engine.DB
	for _, w := range worlds {
		if w.name == "visits" {
			db = w.make(t)
		}
	}
	s, dir := db.NewSession(), t.TempDir()
	s.SetDirectory(dir)
	for _, text := range pageReleases["visits"] {
		must(t, s, text)
	}
	must(t, s, `CREATE RELEASE narrow ON visits (town, age) USING PROJECTION WITH (epsilon = 1)`)
	for name, text := range map[string]string{"good.sql": "SELECT COUNT(*) FROM visits;\n SELECT sex, COUNT(*) FROM visits GROUP BY sex;\n", "bad.sql": "SELECT COUNT(*)\n FROM visit;"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{`CREATE TABLE large AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2200) SELECT hex(zeroblob(4000)) AS a FROM n`} {
		fill(t, s, text)
	}
	must(t, s, `CREATE PUBLIC TABLE large`)
	must(t, s, `EXPORT RELEASE page_table, narrow TO 'x.html' WITH (public = (towns), title = '</script>', cite = 'a', doi = 'b', publisher = 'c', contact = 'd', licence = 'e', about = 'f', examples = 'good.sql')`)
	file, err := os.ReadFile(filepath.Join(dir, "x.html"))
	if err != nil {
		t.Fatal(err)
	}
	card, payloads, own, err := publish.Verify(file)
	if err != nil || !own || card.Title != "</script>" || len(card.Examples) != 2 || len(card.Tables) != 1 || len(card.Tables[0].Columns) != 4 {
		t.Fatalf("%+v %v %v", card, own, err)
	}
	for i, want := range [][]int{nil, {1, 2}} {
		if got := card.Releases[i].Columns; !slices.Equal(got, want) {
			t.Errorf("%s is over %v, want %v", card.Releases[i].Name, got, want)
		}
	}
	lines := must(t, s, `SHOW LEDGER`).Rows
	if last := lines[len(lines)-1]; last[4] != "exported: "+card.Digest || last[5] != "page_table, narrow" || last[6] != nil || last[7] != nil || last[8] != nil {
		t.Errorf("the ledger ends with %v", last)
	}
	verified := func() error { return s.Published(t.Context(), card, payloads) }
	if err := verified(); err != nil || card.Payloads[2].Name != "public-0" || !strings.Contains(string(file), "Public table towns") {
		t.Errorf("%v: %+v", err, card.Payloads)
	}
	fill(t, s, `UPDATE towns SET height = height + 1 WHERE name = 'Ash'`)
	if err := verified(); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a public table that changed: %v", err)
	}
	fill(t, s, `UPDATE towns SET height = height - 1 WHERE name = 'Ash'`)
	desk, err := page.Open(card.Picture, payloads)
	if err != nil {
		t.Fatal(err)
	}
	defer desk.Close()
	must(t, s, `EXPORT RELEASE narrow TO 'narrow.db'`)
	alone := open(t, filepath.Join(dir, "narrow.db"), engine.Options{ReadOnly: true}).NewSession()
	for _, text := range []string{`SET mechanism = projection`, `SELECT COUNT(*) FROM visits WHERE town = 'Bonn' AND age < 30`, `SELECT town, COUNT(*) FROM visits GROUP BY town`,
		`SET accuracy = 5`, `SELECT COUNT(*) FROM visits`, `SET accuracy = 5000`, `SELECT town, COUNT(*), SUM(age) FROM visits GROUP BY town`} {
		got, err := desk.Ask(t.Context(), text)
		if want := outcomeText(alone.Exec(t.Context(), text, nil)); outcomeText(got, err) != want {
			t.Errorf("%s: %s, want %s", text, outcomeText(got, err), want)
		}
	}
	if _, err := desk.Ask(t.Context(), `SELECT AVG(age) FROM visits`); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("a mean under SET accuracy: %v", err)
	}
	for text, want := range map[string]sqlerr.Code{
		`EXPORT RELEASE page_table TO 'x.html'`:                                      sqlerr.Invalid, // it exists
		`EXPORT RELEASE page_table, narrow TO 'y.db'`:                                sqlerr.Invalid,
		`EXPORT RELEASE page_table TO 'y.csv' WITH (title = 'a')`:                    sqlerr.Invalid,
		`EXPORT RELEASE page_table, nobody TO 'y.html'`:                              sqlerr.Unknown,
		`EXPORT RELEASE page_table, page_table TO 'y.html'`:                          sqlerr.Invalid,
		`EXPORT RELEASE page_table TO 'y.html' WITH (titel = 'a')`:                   sqlerr.Invalid,
		`EXPORT RELEASE page_table TO 'y.html' WITH (title = a)`:                     sqlerr.Invalid,
		`EXPORT RELEASE page_table TO 'y.html' WITH (title = 'a'`:                    sqlerr.Malformed,
		`EXPORT RELEASE page_table TO 'y.html' WITH (examples = 'nowhere.sql')`:      sqlerr.IO,
		`EXPORT RELEASE page_table TO 'y.html' WITH (examples = 'bad.sql')`:          sqlerr.Unknown,
		`EXPORT RELEASE page_table TO 'y.html' WITH (public = nothing)`:              sqlerr.Unknown,
		`EXPORT RELEASE page_table TO 'y.html' WITH (public = raw_visits)`:           sqlerr.Unknown,
		`EXPORT RELEASE page_table TO 'y.html' WITH (public = (towns, visits))`:      sqlerr.Invalid,
		`EXPORT RELEASE page_table TO 'y.html' WITH (public = 5)`:                    sqlerr.Invalid,
		`EXPORT RELEASE page_table TO 'y.html' WITH (public = (towns, large))`:       sqlerr.Unsupported,
		`EXPORT RELEASE page_table TO 'nowhere/y.html'`:                              sqlerr.IO,
		`EXPORT RELEASE IF NOT EXISTS page_table TO 'x.html'`:                        "", // and is left alone
		`EXPORT RELEASE IF NOT EXISTS page_table TO 'narrow.db'`:                     "",
		`EXPORT RELEASE page_table TO 'y.HTML'`:                                      "",
		`EXPORT RELEASE "page_table" TO 'z.html' WITH (title = 'a', about = 'b''c')`: "",
	} {
		if _, err := s.Exec(t.Context(), text, nil); sqlerr.CodeOf(err) != want && (err != nil || want != "") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if again, err := os.ReadFile(filepath.Join(dir, "x.html")); err != nil || !bytes.Equal(again, file) {
		t.Errorf("IF NOT EXISTS wrote the file anew, %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "y*.html")); left != nil {
		t.Errorf("%v are left of what failed", left)
	}
}
