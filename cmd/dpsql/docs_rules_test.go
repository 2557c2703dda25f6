package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
)

// TestDocsAreCompared shows that each rule lets noise pass, and nothing else.
func TestDocsAreCompared(t *testing.T) {
	answer := &engine.Result{Columns: []engine.Column{{Name: "year", Type: "INTEGER"}, {Name: "n", Type: "INTEGER"}, {Name: "margin", Type: "REAL"}},
		Rows:   [][]any{{int64(2025), int64(400), 10.0}},
		Answer: &engine.Answer{Margins: [][]any{{nil, 10.0, nil}}, Confidence: 0.95}}
	table := func(row string) []string {
		return []string{"┌──────┬─────┬────────┐", "│ year │   n │ margin │", "├──────┼─────┼────────┤", row, "└──────┴─────┴────────┘",
			"± 10 at 95 % · release r (projection, m = 1) · cost 0 · 1.2 ms"}
	}
	printed := annotated(table("│ 2025 │ 400 │     10 │"), answer, false)
	for _, c := range []struct {
		row  string
		same bool
	}{
		{"│ 2025 │ 400 │     10 │", true},
		{"│ 2025 │ 480 │     10 │", true},  // 8 margins
		{"│ 2025 │ 483 │     10 │", false}, // and 1 for the rounding
		{"│ 2024 │ 400 │     10 │", false},
		{"│ 2025 │ 400 │     12 │", true},
		{"│ 2025 │ 400 │     15 │", false},
		{"│ 2025 │     │     10 │", false},
		{"│ 2025 │ 400 │", false},
	} {
		if err := compare(table(c.row), printed, false); (err == nil) != c.same {
			t.Errorf("%s: %v", c.row, err)
		}
	}
	if compare(table("│ 2025 │ 400 │     10 │")[1:], printed, false) == nil {
		t.Error("a line too few passes")
	}
	sketch := annotated(table("│ 2025 │ 400 │     10 │"), answer, true)
	if compare(table("│ 2025 │ 900 │     10 │"), sketch, false) != nil || compare(table("│ 2024 │ 900 │     10 │"), sketch, false) == nil {
		t.Error("a row of a sketch is not held to what is public in it, or to more")
	}
	listing := []printedLine{{text: "┌───┐"}, {text: "│ release │ bytes │"}, {text: "├───┤"}, {text: "│ r │ 500 │"}, {text: "└───┘"}}
	for row, same := range map[string]bool{"│ r │ 900 │": true, "│ s │ 500 │": false} {
		if err := compare([]string{"┌───┐", "│ release │ bytes │", "├───┤", row, "└───┘"}, listing, false); (err == nil) != same {
			t.Errorf("%s: %v", row, err)
		}
	}
	for _, c := range []struct {
		shown, got  string
		about, same bool
	}{
		{"error unknown: no column a", "error unknown: no column a", false, true},
		{"error unknown: no column a", "error unknown: no column b", false, false},
		{"± 10 at 95 % · direct · cost ρ 0.0012 · 3 ms", "± 10 at 95 % · direct · cost ρ 0.0012 · 20 s", false, true},
		{"± 10 at 95 % · direct · cost ρ 0.0012 · 3 ms", "± 10 at 95 % · direct · cost ρ 0.0013 · 3 ms", false, false},
		{"± 10 at 95 % · release a · cost 0 · 3 ms", "± 10 at 95 % · release b · cost 0 · 3 ms", false, false},
		{"F ██████▒┤ 100 ± 5", "F █████▒┤  130 ± 5", false, true},
		{"F ██████▒┤ 100 ± 5", "F █████▒┤  160 ± 5", false, false},
		{"F ██████▒┤ 100 ± 5", "M █████▒┤  100 ± 5", false, false},
		{"│ r │ 0.5 │ 2026-01-01T00:00:00Z │ 0123456789abcdef │", "│ r │ 0.5 │ 2027-11-21T12:34:56Z │ fedcba9876543210 │", false, true},
		{"│ r │ 0.5 │ 1000 │", "│ r │ 0.5 │ 1100 │", false, false},
		{"│ r │ 0.5 │ 1000 │", "│ r │ 0.5 │ 1100 │", true, true},
		{"│ r │ 0.5 │ 1000 │", "│ r │ 0.5 │ 1300 │", true, false},
		{"│ r │ 0.5 │ 1000 │", "│ s │ 0.5 │ 1000 │", true, false},
		{`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"r"}`,
			`{"columns":["n"],"rows":[[130]],"margins":[[5]],"confidence":0.95,"via":"r"}`, false, true},
		{`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"r"}`,
			`{"columns":["n"],"rows":[[160]],"margins":[[5]],"confidence":0.95,"via":"r"}`, false, false},
		{`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"r"}`,
			`{"columns":["n"],"rows":[[100]],"margins":[[5]],"confidence":0.95,"via":"s"}`, false, false},
	} {
		if got := same(c.shown, printedLine{text: c.got}, "", c.about); got != c.same {
			t.Errorf("%q for %q: %v", c.shown, c.got, got)
		}
	}
	rows := []printedLine{{text: "sex,n,margin"}, {text: "F,100,5"}}
	if compare([]string{"sex,n,margin", "F,130,5"}, rows, false) != nil || compare([]string{"sex,n,margin", "F,160,5"}, rows, false) == nil {
		t.Error("a row of CSV is not held to its margin")
	}
}

// TestDocument reads a page and writes it anew.
func TestDocument(t *testing.T) {
	const page = "# A\n\n```console\n$ dpsql a.db\n$ ls\nx\n```\ntext\n```sql\nSHOW BUDGET;\n```\n\n```text about\n1\n2\n```\nend\n"
	d := parseDocument(page)
	if len(d.blocks) != 3 || d.String() != page {
		t.Fatalf("%d blocks, and\n%s", len(d.blocks), d)
	}
	console, sql, text := d.blocks[0], d.blocks[1], d.blocks[2]
	if c := console.commands(); len(c) != 2 || c[1].text != "ls" || !slices.Equal(c[1].shown, []string{"x"}) {
		t.Errorf("the commands %q", c)
	}
	if !text.follows(sql) || text.follows(text) || sql.follows(console) || !text.about() {
		t.Errorf("%+v after %+v", text, sql)
	}
	d.replace(text, []string{"3"})
	if want := strings.Replace(page, "1\n2", "3", 1); d.String() != want || !d.changed {
		t.Errorf("written anew:\n%s", d)
	}
}

// TestDocsNameDataSources holds the page of the driver to its options.
func TestDocsNameDataSources(t *testing.T) {
	text := readText(t, filepath.Join(docsDir, "driver.md"))
	for _, name := range append([]string{"role", "readonly", "busy_timeout"}, engine.SettingNames...) {
		if !strings.Contains(text, "| `"+name+"` |") || !strings.Contains(text, name+"=") {
			t.Errorf("docs/driver.md has no line, or no example, of %s", name)
		}
	}
}

// link finds the links of a page that stay in the repository.
var link = regexp.MustCompile(`\]\(([^):]*)\)`)

// TestDocsLink follows the links of the pages and the README to files and
// headings.
func TestDocsLink(t *testing.T) {
	for _, name := range append(pageNames(t), "../README.md") {
		path := filepath.Join(docsDir, name)
		for _, found := range link.FindAllStringSubmatch(readText(t, path), -1) {
			file, heading, _ := strings.Cut(found[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s: %v", name, found[1], err)
			} else if heading != "" && !slices.Contains(headings(readText(t, to)), heading) {
				t.Errorf("%s: %s has no heading #%s", name, to, heading)
			}
		}
	}
}

// headings returns the names of a page's headings in links.
func headings(text string) (names []string) {
	for line := range strings.Lines(text) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			name := strings.ToLower(strings.TrimSpace(title))
			name = strings.NewReplacer(" ", "-", ",", "", ".", "", ":", "", "±", "", "\"", "").Replace(name)
			names = append(names, name)
		}
	}
	return names
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
