package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// typist is an editor at which the lines are typed; "^C" is the key.
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
			return "", errAborted
		}
		text += line + "\n"
		if accepted(strings.TrimSuffix(text, "\n")) {
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
		return "", errAborted
	}
	return line + "\n", nil
}

func (e *typist) Close() error { e.closed = true; return nil }

// talk types lines into a shell and returns what it did.
func talk(t *testing.T, lines ...string) (session *fakeSession, out, errs *bytes.Buffer) {
	t.Helper()
	r, session, out, errs := testRunner(formatTable)
	e := &typist{lines: lines}
	s := &shell{runner: r, database: filepath.Join(t.TempDir(), "clinic.db"), editor: e, history: &history{}}
	if err := s.run(context.Background()); err != nil || !e.closed {
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

// Before a statement that takes much the shell asks, and only a yes is one.
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

// The bar of a statement's progress leaves the screen to a question.
func TestQuestionStandsAloneOnTheScreen(t *testing.T) {
	r, _, _, errs := testRunner(formatTable)
	r.console.errTTY = true
	before, during := "", ""
	s := &shell{runner: r, database: filepath.Join(t.TempDir(), "clinic.db"), history: &history{}}
	s.editor = &typist{lines: []string{"dear;", "y"}, asked: func() {
		before = errs.String()
		r.console.meter.draw()
		during = errs.String()[len(before):]
	}}
	if err := s.run(context.Background()); err != nil {
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
	r, _, _, errs := testRunner(formatTable)
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
	r, _, _, _ := testRunner(formatTable)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	blocked, _ := io.Pipe()
	s := &shell{runner: r, editor: readerEditor{blocked}, history: &history{}}
	if err := s.run(ctx); err != nil {
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

func TestFamiliar(t *testing.T) {
	for line, want := range map[string]string{
		"exit": ".quit", " QUIT; ": ".quit", `\q`: ".quit", "help": ".help", `\d`: ".tables",
		"quit it": "quit it", "SELECT 1;": "SELECT 1;", "": "",
	} {
		if got := familiar(line); got != want {
			t.Errorf("familiar(%q) = %q, want %q", line, got, want)
		}
	}
}

// What Enter does: it ends a complete statement and goes on with another.
func TestEnterEndsCompleteStatements(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT a": false, "SELECT a;": true, "SELECT ';": false, "SELECT ';'": false, "SELECT a; -- b": true, ".tables": true, "exit": true,
		"": true, "/* ;": false, "SELECT a;\nSELECT": false,
	} {
		if got := accepted(text); got != want {
			t.Errorf("%q accepted: %v", text, got)
		}
	}
}

func TestHistoryFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for range 2 {
		h := openHistory("clinic.db")
		for _, text := range []string{"SELECT 1;", "SELECT 1;", "SELECT\n2;", "",
			"create  source w using postgres with (dsn_env =\n'postgres://u:hunter2@h/d');", "CREATE SOURCE w USING POSTGRES WITH (password = 'x');",
			"CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'host=h pass=hunter2');", "CREATE SOURCE \"h hunter2\" USING POSTGRES", "CREATE SOURCE w USING 'hunter2';",
			"CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'WDSN', timeout = 5);"} {
			if _, err := h.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		h.close()
	}
	h := openHistory("./clinic.db")
	defer h.close()
	if want := strings.Split(strings.Repeat("SELECT 1;|SELECT\n2;|CREATE SOURCE w USING POSTGRES WITH (dsn_env = 'WDSN', timeout = 5);|", 2), "|")[:6]; !slices.Equal(h.entries, want) {
		t.Errorf("remembered %q, want %q", h.entries, want)
	}
	if line, err := h.GetLine(1); err != nil || line != "SELECT\n2;" || h.Len() != 6 {
		t.Errorf("line 1 of %d is %q, %v", h.Len(), line, err)
	}
	if _, err := h.GetLine(6); err == nil {
		t.Error("line 6 of 6 exists")
	}
	if info, err := h.file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	other := openHistory("other.db")
	defer other.close()
	if other.Len() != 0 {
		t.Errorf("another database remembers %q", other.entries)
	}
}

func TestHistoryFileStaysShort(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	path, err := historyPath("clinic.db")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Repeat("\"SELECT 1;\"\nnot JSON\n\"SELECT 2;\"\n", 2*mostEntries))
	h := openHistory("clinic.db")
	h.Write("SELECT 3;")
	h.close()
	got, err := os.ReadFile(path)
	if n := bytes.Count(got, []byte("\n")); err != nil || n != mostEntries+1 || !bytes.HasSuffix(got, []byte("\n\"SELECT 3;\"\n")) {
		t.Errorf("%d lines, %v", n, err)
	}
}
