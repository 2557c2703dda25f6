package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScale runs the whole of -scale, small. Every experiment must have its section,
// and no figure may be missing. If PostgreSQL is missing the text says so.
func TestScale(t *testing.T) {
	dir := t.TempDir()
	flights := filepath.Join(t.TempDir(), "flights.csv")
	rows := "origin,destination,delay\n" + strings.Repeat("SFO,LAX,-3\nLAX,SFO,12\nSFO,JFK,7\n", 500)
	if err := os.WriteFile(flights, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-scale", "-quick", "-testdata", "../testdata", "-flights", flights, "-o", dir}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, scaleReport.file))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range scaleExperiments {
		if !bytes.Contains(text, []byte("## "+e.title+"\n")) || !bytes.Contains(text, []byte("-scale -only "+e.name)) {
			t.Errorf("no section %q", e.title)
		}
	}
	for _, wrong := range []string{"NaN", "%!", "!("} {
		if strings.Contains(string(text), wrong) {
			t.Errorf("the text has a %s", wrong)
		}
	}
	for _, plot := range []string{"scale-memory.svg", "scale-time.svg"} {
		if _, err := os.Stat(filepath.Join(dir, plot)); err != nil || !bytes.Contains(text, []byte("("+plot+")")) {
			t.Errorf("%s is not shown: %v", plot, err)
		}
	}
}

// TestOccupied checks that the rows of a place are those that occupied counts.
func TestOccupied(t *testing.T) {
	p, err := newFilePlace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if err := p.grow(700); err != nil {
		t.Fatal(err)
	}
	if err := p.grow(3000); err != nil {
		t.Fatal(err)
	}
	for _, sh := range shapes {
		var cells int
		if err := p.raw.QueryRow("SELECT COUNT(*) FROM (SELECT DISTINCT " + sh.columns + " FROM raw)").Scan(&cells); err != nil {
			t.Fatal(err)
		}
		if got := occupied(3000, sh); got != cells {
			t.Errorf("%s: %d cells, the table has %d", sh.name, got, cells)
		}
	}
}
