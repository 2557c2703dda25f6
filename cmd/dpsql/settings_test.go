package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
)

// realShell returns a runner on a new database with a private table.
func realShell(t *testing.T, role engine.Role) (r *runner, out, errs *bytes.Buffer) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "people.db")
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	runnerFor := func(role engine.Role) *runner {
		db, err := engine.Open(path, engine.Options{Role: role})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return &runner{session: db.NewSession(), role: role, console: testConsole(out, errs, render.CSV), args: make(arguments)}
	}
	script, err := filepath.Abs("testdata/fixture/people.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := runnerFor(engine.Curator).scriptFile(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	return runnerFor(role), out, errs
}

// types runs lines in a shell and returns what it wrote.
func (r *runner) types(t *testing.T, out, errs *bytes.Buffer, lines ...string) (stdout, stderr string) {
	t.Helper()
	out.Reset()
	errs.Reset()
	if err := r.talk(context.Background(), "", &typist{lines: lines}); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ = strings.Cut(out.String(), "\n") // the banner
	return stdout, errs.String()
}

// A mistyped switch or setting stays as it was.
func TestMistakesInTheShellChangeNothing(t *testing.T) {
	r, out, errs := realShell(t, engine.Curator)
	r.types(t, out, errs, "SET mechanism = direct;", "SET accuracy = 60;", "SET confidence = 0.9;", "SET clamp = on;", "SET unverified = off;", ".timer on", ".echo on", ".headers on")
	shown := []string{"SHOW SETTINGS;", "SHOW BUDGET;", ".mode"}
	r.console.timer, r.echo = false, false // times differ
	before, _ := r.types(t, out, errs, shown...)
	for _, mistake := range []string{"SET mechanism = '';", "SET accuracy = -5;", "SET accuracy = fifty;", "SET confidence = 95;", "SET confidence = high;",
		"SET clamp = maybe;", "SET unverified = 7;", "SET colour = on;", ".mode sideways", ".headers maybe", ".pager maybe"} {
		_, stderr := r.types(t, out, errs, mistake)
		if !strings.HasPrefix(stderr, "error ") {
			t.Errorf("%s: %q", mistake, stderr)
		}
		if after, _ := r.types(t, out, errs, shown...); after != before {
			t.Errorf("after %s:\n%s\nbefore:\n%s", mistake, after, before)
		}
	}
	r.console.timer, r.echo = true, true
	r.types(t, out, errs, ".timer maybe", ".echo maybe")
	if !r.console.timer || !r.echo {
		t.Errorf("after a mistake .timer is on: %v, .echo is on: %v", r.console.timer, r.echo)
	}
}
