package publish

import (
	"encoding/json"
	"html"
	"strings"
	"testing"

	"dpsql/page"
	"dpsql/query"
)

// TestCard goes through what a card must say: to people without scripts, and to programs.
func TestCard(t *testing.T) {
	c := page.Card{Title: "Visits by group", About: "All wards", DOI: "10.5/x", Publisher: "The clinic", Contact: "data@clinic.example", Licence: "CC-BY-4.0", Version: "v1.2.3", Made: "2026-11-28",
		Picture: page.Picture{Tables: []page.Table{{Name: "visits", Unit: "patient", MaxRows: 3, Epsilon: "2", Delta: "1e-6", Each: "each month of visited",
			Columns: []page.Column{{StoredColumn: query.StoredColumn{Name: "ward", Type: "TEXT", Domain: stored("surgery")}, Shown: "IN ('surgery', NULL) OR OTHER"}}}},
			Publics: []page.Public{{Name: "codes", Rows: 7}},
			Releases: []page.Release{{Name: "by_ward", Table: "visits", Using: "projection", Method: "projection, identity, dlap(2) noise", Epsilon: "0.5", Delta: "1e-9",
				Created: "2026-01-02T03:04:05Z", Rows: "of 2025-12, as of 2026-01-02 03:04"}}}}
	var b strings.Builder
	if _, err := Write(&b, c, [][]byte{nil, nil}); err != nil {
		t.Fatal(err)
	}
	file := b.String()
	_, shown, found := strings.Cut(file, `<header id="top">`)
	shown, rest, ended := strings.Cut(shown, `<script type="application/json" id="dpsql-card">`)
	text, _, closed := strings.Cut(rest, "</script>")
	var known any
	if err := json.Unmarshal([]byte(text), &known); err != nil || !found || !ended || !closed {
		t.Fatalf("%v %v %v %v", err, found, ended, closed)
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	card := values(known, "")
	for what, of := range map[string]struct{ shown, key, value string }{
		"title":            {"<h1>Visits by group</h1>", "title", "Visits by group"},
		"about":            {"All wards", "about", "All wards"},
		"what is counted":  {"rows, at most 3 of each patient", "tables.0.max_rows", "3"},
		"unit":             {"all rows of one patient together, for each month of visited", "tables.0.unit", `"patient"`},
		"ε":                {"<td>0.5</td>", "releases.0.epsilon", "0.5"},
		"δ":                {"<td>1e-9</td>", "releases.0.delta", "1e-9"},
		"budget":           {"this table may spend at most ε = 2, δ = 1e-6, here and elsewhere, for each month of visited", "tables.0.epsilon", "2"},
		"built":            {"<td>2026-01-02T03:04:05Z</td>", "releases.0.created", "2026-01-02T03:04:05Z"},
		"as of when":       {"of 2025-12, as of 2026-01-02 03:04", "releases.0.rows", "as of 2026-01-02 03:04"},
		"columns":          {"<td>ward</td><td>TEXT</td>", "tables.0.columns.0.name", "ward"},
		"domains":          {"IN ('surgery', NULL) OR OTHER", "tables.0.columns.0.shown", "IN ('surgery', NULL) OR OTHER"},
		"OTHER, NULL":      {"NULL stands for no value, and OTHER for all values that are not listed", "tables.0.columns.0.domain", ""},
		"mechanism, noise": {"projection, identity, dlap(2) noise", "releases.0.method", "dlap(2) noise"},
		"±":                {"± is the margin at 95 %", "", ""},
		"not to be asked":  {"What cannot be asked", "", ""},
		"public table":     {"Public table codes", "publics.0.rows", "7"},
		"digest":           {c.Digest, "digest", c.Digest},
		"no signature":     {"It is not signed", "", ""},
		"version":          {"2026-11-28 by dpsql v1.2.3", "version", "v1.2.3"},
		"publisher":        {"<dd>The clinic</dd>", "publisher", "The clinic"},
		"contact":          {"<dd>data@clinic.example</dd>", "contact", "data@clinic.example"},
		"licence":          {"<dd>CC-BY-4.0</dd>", "licence", "CC-BY-4.0"},
		"citation":         {"<p>The clinic: Visits by group, 2026-11-28. https://doi.org/10.5/x</p>", "citation", "The clinic: Visits by group, 2026-11-28. https://doi.org/10.5/x"},
		"BibTeX":           {"title = {Visits by group},\n  author = {The clinic},\n  year = {2026},\n  doi = {10.5/x},", "doi", "10.5/x"},
	} {
		if !strings.Contains(html.UnescapeString(shown), of.shown) {
			t.Errorf("%s: the card does not show %q", what, of.shown)
		}
		if value, ok := card[of.key]; of.key != "" && (!ok || !strings.Contains(value, of.value)) {
			t.Errorf("%s: card.json has %q as %s, want %q", what, value, of.key, of.value)
		}
	}
	if c.Digest == "" {
		t.Error("there is no digest")
	}
}

// values returns what is in a JSON text by its path, as JSON.
func values(of any, path string) map[string]string {
	text, _ := json.Marshal(of)
	all := map[string]string{strings.TrimPrefix(path, "."): string(text)}
	add := func(key string, inner any) {
		for p, v := range values(inner, path+"."+key) {
			all[p] = v
		}
	}
	switch of := of.(type) {
	case map[string]any:
		for key, inner := range of {
			add(key, inner)
		}
	case []any:
		for i, inner := range of {
			add(string(rune('0'+i)), inner)
		}
	}
	return all
}
