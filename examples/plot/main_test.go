package main

import (
	"context"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
)

// clinic makes a database of 6,000 invented visits with a release.
func clinic(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clinic.db")
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.NewSession()
	if _, err := s.Import(context.Background(), engine.Import{Path: "../../testdata/clinic/visits.csv", Table: "raw"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M', NULL), days INTEGER BETWEEN 0 AND 30) FROM raw WITH (epsilon = 1)`,
		`CREATE RELEASE r ON visits USING PROJECTION WITH (epsilon = 1)`,
	} {
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// count returns how many elements of a name a file of XML has, and its text.
func count(t *testing.T, path, name string) (n int, text string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if err == io.EOF {
			return n, text
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == name {
				n++
			}
		case xml.CharData:
			text += string(token) + "\n"
		}
	}
}

func TestPlot(t *testing.T) {
	db := clinic(t)
	for _, c := range []struct{ text, label string }{
		{`SELECT days, COUNT(*) AS visits, LOW(visits), HIGH(visits) FROM visits GROUP BY days`, "visits, with error bars"},
		{`SELECT sex, COUNT(*) AS n, LOW(n), HIGH(n) FROM visits GROUP BY sex`, "NULL"},
	} {
		file := filepath.Join(t.TempDir(), "out.svg")
		if err := run([]string{db, file, c.text}); err != nil {
			t.Errorf("%s: %v", c.text, explained(err))
			continue
		}
		paths, text := count(t, file, "path")
		if !strings.Contains(text, c.label) {
			t.Errorf("%s: the plot does not say %q", c.text, c.label)
		}
		if without, _ := count(t, empty(t, db), "path"); paths <= without {
			t.Errorf("%s: %d lines are drawn, %d without points", c.text, paths, without)
		}
	}
}

// empty draws an answer of one point without an error bar.
func empty(t *testing.T, db string) string {
	file := filepath.Join(t.TempDir(), "empty.svg")
	if err := (answer{points: []point{{label: "1"}}}).draw(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFailures(t *testing.T) {
	db := clinic(t)
	out := filepath.Join(t.TempDir(), "out.svg")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage: plot"},
		{[]string{db, out}, "unknown: there is no private table adult"},
		{[]string{db, out, `SELECT COUNT(*) FROM visits`}, "returns 1 columns"},
		{[]string{db, out, `SELECT sex, AVG(days), NULL, NULL FROM visits WHERE days > 30 GROUP BY sex`}, "no value"},
		{[]string{db, filepath.Join(out, "x"), `SELECT sex, COUNT(*) AS n, LOW(n), HIGH(n) FROM visits GROUP BY sex`}, "no such file"},
		{[]string{db, out, `DROP RELEASE r`}, "forbidden: the analyst role may not"},
	} {
		if err := run(c.args); err == nil || !strings.Contains(explained(err), c.want) {
			t.Errorf("%v: %v, want %s", c.args, err, c.want)
		}
	}
}
