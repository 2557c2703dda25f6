package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// grouped is the answer to SELECT race, COUNT(*) AS n, MARGIN(n) … GROUP BY race.
func grouped() *engine.Result {
	return centred(&engine.Result{
		Columns: []engine.Column{{Name: "race", Type: "TEXT"}, {Name: "n", Type: "INTEGER"}, {Name: "margin", Type: "REAL"}},
		Rows:    [][]any{{"a <b>", int64(100), 10.0}, {nil, int64(-20), 10.0}, {"c", int64(40), 60.0}},
		Answer: &engine.Answer{Margins: [][]any{{nil, 10.0, nil}, {nil, 10.0, nil}, {nil, 60.0, nil}}, Confidence: 0.95,
			Mechanism: "projection", Verified: true},
	})
}

func TestPlotIsXML(t *testing.T) {
	r, _, _, _ := testRunner(render.Table)
	r.last, r.dir = grouped(), t.TempDir()
	if err := r.command(context.Background(), ".plot out.svg N"); err != nil {
		t.Fatal(err)
	}
	f, err := os.ReadFile(filepath.Join(r.dir, "out.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(f)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, f)
		}
	}
	if bars := bytes.Count(f, []byte(`class="error"`)); bars != 3 || !bytes.Contains(f, []byte("a &lt;b&gt;")) || !bytes.Contains(f, []byte("-20 ± 10")) {
		t.Errorf("%d error bars in\n%s", bars, f)
	}
}

func TestNothingToDraw(t *testing.T) {
	tests := []struct {
		line string
		last *engine.Result
		code sqlerr.Code
	}{
		{".chart", nil, sqlerr.Invalid},
		{".chart", &engine.Result{Columns: []engine.Column{{Name: "a", Type: "TEXT"}}, Rows: [][]any{{"x"}}}, sqlerr.Invalid},
		{".chart nothing", grouped(), sqlerr.Unknown},
		{".chart race", grouped(), sqlerr.Invalid},
		{".plot a.png", grouped(), sqlerr.Invalid},
		{".plot no/such/folder.svg", grouped(), sqlerr.IO},
	}
	for _, test := range tests {
		r, _, _, _ := testRunner(render.Table)
		r.last, r.dir = test.last, t.TempDir()
		if err := r.command(context.Background(), test.line); sqlerr.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %s", test.line, err, test.code)
		}
	}
}
