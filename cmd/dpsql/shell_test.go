package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/cmd/dpsql/internal/terminal"
)

// typist is an editor whose lines are given. "^C" is the key.
type typist struct {
	lines  []string
	closed bool
	asked  func() // nil, or what happens while a question waits for its answer
}

// Read returns lines up to one at which Enter ends the text.
func (e *typist) Read() (string, error) {
	var text string
	for len(e.lines) > 0 {
		line := e.lines[0]
		e.lines = e.lines[1:]
		if line == "^C" {
			return "", terminal.ErrAborted
		}
		text += line + "\n"
		if terminal.Complete(strings.TrimSuffix(text, "\n")) {
			return text, nil
		}
	}
	return "", io.EOF
}

// Ask takes the next line, whatever it is.
func (e *typist) Ask(string) (string, error) {
	if e.asked != nil {
		e.asked()
	}
	if len(e.lines) == 0 {
		return "", io.EOF
	}
	line := e.lines[0]
	e.lines = e.lines[1:]
	if line == "^C" {
		return "", terminal.ErrAborted
	}
	return line + "\n", nil
}

func (e *typist) Close() error { e.closed = true; return nil }

// talk types lines into a shell and returns what it did.
func talk(t *testing.T, lines ...string) (session *fakeSession, out, errs *bytes.Buffer) {
	t.Helper()
	r, session, out, errs := testRunner(render.Table)
	e := &typist{lines: lines}
	if err := r.talk(context.Background(), filepath.Join(t.TempDir(), "clinic.db"), e); err != nil || !e.closed {
		t.Errorf("left with %v, editor closed: %v", err, e.closed)
	}
	return session, out, errs
}

func TestShellReadsStatements(t *testing.T) {
	session, out, _ := talk(t,
		"SELECT a", "FROM t;", "", "-- a remark", "b; c;", "d", "^C", "e -- not f;", ";", ".tables", "quit", "never;")
	if want := []string{"SELECT a\nFROM t", "b", "c", "e -- not f;\n", "SHOW TABLES"}; !slices.Equal(session.seen, want) {
		t.Errorf("ran %q, want %q", session.seen, want)
	}
	if !strings.HasPrefix(out.String(), "dpsql ") || !strings.Contains(out.String(), "clinic.db (does not exist yet) · .help for help\n") {
		t.Errorf("banner: %s", out)
	}
}

// An error ends the line it is in, and the shell goes on.
func TestShellSurvivesErrors(t *testing.T) {
	session, _, errs := talk(t, "wrong; a;", "panic;", ".nonsense", "b;")
	if want := []string{"wrong", "panic", "b"}; !slices.Equal(session.seen, want) {
		t.Errorf("ran %q", session.seen)
	}
	if n := strings.Count(errs.String(), "error "); n != 3 || strings.Contains(errs.String(), "424242") {
		t.Errorf("%d errors:\n%s", n, errs)
	}
}

// Before an expensive statement the shell asks. Only yes means yes.
func TestShellAsksBeforeItSpends(t *testing.T) {
	for answer, want := range map[string]bool{"y": true, " Yes ": true, "n": false, "": false, "SELECT 2;": false, "^C": false} {
		_, out, errs := talk(t, "dear;", answer)
		if !strings.Contains(out.String(), "warning: this takes 20 %\n") {
			t.Errorf("%q: no warning:\n%s", answer, out)
		}
		if refused := strings.Contains(errs.String(), "nothing was charged"); refused == want {
			t.Errorf("%q: refused: %v\n%s", answer, refused, errs)
		}
	}
}

// The shell asks how dates are to be read that have two forms.
func TestShellAsksForDates(t *testing.T) {
	for answers, want := range map[string]string{"y": "d/m/Y", "n\ny": "m/d/Y"} {
		session, out, errs := talk(t, append([]string{".import two.csv t"}, strings.Split(answers, "\n")...)...)
		if last := session.imports[len(session.imports)-1]; !slices.Equal(last.Dialect.Dates, []string{want}) || errs.Len() > 0 || !strings.Contains(out.String(), "imported 1 row into t") {
			t.Errorf("%q: %+v\n%s%s", answers, last, out, errs)
		}
	}
}

// No progress bar is drawn over a question.
func TestQuestionStandsAloneOnTheScreen(t *testing.T) {
	r, _, _, errs := testRunner(render.Table)
	r.console.errTTY = true
	before, during := "", ""
	e := &typist{lines: []string{"dear;", "y"}, asked: func() {
		before = errs.String()
		r.console.meter.draw()
		during = errs.String()[len(before):]
	}}
	if err := r.talk(context.Background(), filepath.Join(t.TempDir(), "clinic.db"), e); err != nil {
		t.Fatal(err)
	}
	if during != "" {
		t.Errorf("over the question is drawn %q", during)
	}
	if r.console.meter != nil {
		t.Error("a bar is left behind")
	}
}

// A bar that is paused draws again afterwards.
func TestPausedProgressGoesOn(t *testing.T) {
	r, _, _, errs := testRunner(render.Table)
	r.console.errTTY = true
	var report func(done, all int64)
	end := r.console.progress("running", &report)
	defer end()
	report(1, 2)
	r.console.meter.draw()
	if !strings.Contains(errs.String(), "running") {
		t.Fatalf("no bar is drawn: %q", errs)
	}
	resume := r.console.pauseProgress()
	errs.Reset()
	r.console.meter.draw()
	if errs.Len() != 0 {
		t.Errorf("while paused %q is drawn", errs)
	}
	resume()
	r.console.meter.draw()
	if !strings.Contains(errs.String(), "running") {
		t.Error("nothing is drawn after the pause")
	}
}

func TestShellEndsWithItsContext(t *testing.T) {
	r, _, _, _ := testRunner(render.Table)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	blocked, _ := io.Pipe()
	if err := r.talk(ctx, "", readerEditor{blocked}); err != nil {
		t.Error(err)
	}
}

// readerEditor waits for a reader that never delivers.
type readerEditor struct{ r io.Reader }

func (e readerEditor) Read() (string, error) {
	_, err := e.r.Read(make([]byte, 1))
	return "", err
}

func (e readerEditor) Ask(string) (string, error) { return e.Read() }

func (e readerEditor) Close() error { return nil }
