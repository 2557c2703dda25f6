package main

import (
	"context"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// Every command that takes the name of a file is refused to an analyst, before
// its arguments are looked at, and under each of its abbreviations.
func TestAnalystHasNoCommandForFiles(t *testing.T) {
	files := 0
	for _, c := range commands() {
		if !strings.Contains(c.args, "FILE") {
			continue
		}
		files++
		for _, line := range []string{c.name, c.name + " x", c.name + " x.db y", c.name[:len(c.name)-1] + " /etc/passwd t", "  " + c.name + "\tx y z"} {
			r, session, out, _ := testRunner(render.CSV)
			r.role = engine.Analyst
			err := r.command(context.Background(), line)
			if code := sqlerr.CodeOf(err); code != sqlerr.Forbidden && code != sqlerr.Unknown || len(session.imports) > 0 || out.Len() > 0 {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
	if files < 5 {
		t.Errorf("only %d commands take files", files)
	}
}
