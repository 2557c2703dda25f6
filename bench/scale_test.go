package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScale runs the whole of -scale, small. Every experiment must have its results,
// and no figure may be missing. If PostgreSQL is missing the text says so.
func TestScale(t *testing.T) {
	flights := filepath.Join(t.TempDir(), "flights.csv")
	rows := "origin,destination,delay\n" + strings.Repeat("SFO,LAX,-3\nLAX,SFO,12\nSFO,JFK,7\n", 500)
	if err := os.WriteFile(flights, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run([]string{"-scale", "-quick", "-testdata", "../testdata", "-flights", flights, "-o", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "PostgreSQL was not measured") {
		checkResults(t, dir, scaleExperiments)
	}
	for _, wrong := range []string{"NaN", "%!", "!("} {
		if strings.Contains(out.String(), wrong) {
			t.Errorf("what is printed has a %s", wrong)
		}
	}
	for _, name := range []string{"scale-memory", "scale-time"} {
		if err := drawStored(*newChart(name), dir, dir); err != nil {
			t.Error(err)
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
