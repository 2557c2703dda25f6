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

	"github.com/peterh/liner"

	"dpsql/engine"
)

// typist is an editor at which the lines are typed; "^C" is the key.
type typist struct {
	lines   []string
	prompts []string
	closed  bool
}

func (e *typist) Prompt(prompt string) (string, error) {
	e.prompts = append(e.prompts, prompt)
	if len(e.lines) == 0 {
		return "", io.EOF
	}
	line := e.lines[0]
	e.lines = e.lines[1:]
	if line == "^C" {
		return "", liner.ErrPromptAborted
	}
	return line, nil
}

func (e *typist) Close() error { e.closed = true; return nil }

// talk types lines into a shell and returns what it did.
func talk(t *testing.T, lines ...string) (session *fakeSession, e *typist, remembered []string, out, errs *bytes.Buffer) {
	t.Helper()
	r, session, out, errs := testRunner(formatTable)
	e = &typist{lines: lines}
	h := &history{remember: func(entry string) { remembered = append(remembered, entry) }}
	s := &shell{runner: r, database: filepath.Join(t.TempDir(), "clinic.db"), editor: e, history: h}
	if err := s.run(context.Background()); err != nil || !e.closed {
		t.Errorf("left with %v, editor closed: %v", err, e.closed)
	}
	return session, e, remembered, out, errs
}

func TestShellReadsStatements(t *testing.T) {
	session, e, remembered, out, _ := talk(t,
		"SELECT a", "FROM t;", "", "-- a remark", "b; c;", "d", "^C", "e -- not f;", ";", ".tables", "quit", "never;")
	if want := []string{"SELECT a\nFROM t", "b", "c", "e -- not f;\n", "SHOW TABLES"}; !slices.Equal(session.seen, want) {
		t.Errorf("ran %q, want %q", session.seen, want)
	}
	if want := []string{promptNew, promptMore, promptNew, promptNew, promptNew, promptNew, promptMore, promptNew, promptMore, promptNew, promptNew}; !slices.Equal(e.prompts, want) {
		t.Errorf("prompts %q, want %q", e.prompts, want)
	}
	if want := []string{"SELECT a FROM t;", "-- a remark", "b; c;", "e -- not f;", ";", ".tables", ".quit"}; !slices.Equal(remembered, want) {
		t.Errorf("remembered %q, want %q", remembered, want)
	}
	if !strings.HasPrefix(out.String(), "dpsql ") || !strings.Contains(out.String(), "clinic.db (does not exist yet) · .help for help\n") {
		t.Errorf("banner: %s", out)
	}
}

// An error ends the line it is in, and the shell goes on.
func TestShellSurvivesErrors(t *testing.T) {
	session, _, _, _, errs := talk(t, "wrong; a;", "panic;", ".nonsense", "b;")
	if want := []string{"wrong", "panic", "b"}; !slices.Equal(session.seen, want) {
		t.Errorf("ran %q", session.seen)
	}
	if n := strings.Count(errs.String(), "error "); n != 3 || strings.Contains(errs.String(), "424242") {
		t.Errorf("%d errors:\n%s", n, errs)
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

func (e readerEditor) Prompt(string) (string, error) {
	_, err := e.r.Read(make([]byte, 1))
	return "", err
}

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

func TestHistoryEntries(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"SELECT a\n  FROM t;\n", []string{"SELECT a FROM t;"}},
		{"SELECT a -- why\nFROM t;\n", []string{"SELECT a -- why", "FROM t;"}},
		{"SELECT 'a\nb';\n", []string{"SELECT 'a", "b';"}},
		{"SELECT 'it''s'\nFROM t;\n", []string{"SELECT 'it''s' FROM t;"}},
		{"\n", nil},
		{"", nil},
	}
	for _, test := range tests {
		if got := entries(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestHistoryFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	path, err := historyPath()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"SELECT 1;\n", "SELECT 2;\n", "SELECT 2;\n"} {
		h := openHistory(liner.NewLiner())
		h.add(text)
		h.add(text)
		h.close()
	}
	got, err := os.ReadFile(path)
	if want := "SELECT 1;\nSELECT 2;\nSELECT 2;\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestHistoryFileStaysShort(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	path, err := historyPath()
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Repeat("SELECT 1;\nSELECT 2;\n", 3*liner.HistoryLimit))
	h := openHistory(liner.NewLiner())
	h.add("SELECT 3;\n")
	h.close()
	got, err := os.ReadFile(path)
	if n := bytes.Count(got, []byte("\n")); err != nil || n > liner.HistoryLimit+1 || !bytes.HasSuffix(got, []byte("\nSELECT 3;\n")) {
		t.Errorf("%d lines, %v", n, err)
	}
}

func TestComplete(t *testing.T) {
	session := &fakeSession{results: map[string]*engine.Result{
		"SHOW TABLES":           {Columns: make([]engine.Column, 2), Rows: [][]any{{"admissions", "private"}, {nil, nil}}},
		`DESCRIBE "admissions"`: {Columns: make([]engine.Column, 1), Rows: [][]any{{"sex"}, {"diagnosis"}, {"größe"}}},
	}}
	c := newCompleter(session)
	tests := []struct {
		line string
		pos  int
		head string
		want []string
		tail string
	}{
		{"sel", 3, "", []string{"SELECT"}, ""},
		{"SELECT COUNT(*) FROM adm", 24, "SELECT COUNT(*) FROM ", []string{"admissions"}, ""},
		{"SELECT COUNT(*) FROM t WHERE (di;", 32, "SELECT COUNT(*) FROM t WHERE (", []string{"diagnosis", "direct"}, ";"},
		{"größe=gr x", 8, "größe=", []string{"GROUP", "größe"}, " x"},
		{"nothing", 7, "", nil, ""},
		{"SELECT ", 7, "SELECT ", nil, ""},
		{".he", 3, "", []string{".help"}, ""},
		{".mode j", 7, ".mode ", []string{"json"}, ""},
		{".schema ad", 10, ".schema ", []string{"admissions"}, ""},
	}
	for _, test := range tests {
		head, words, tail := c.complete(test.line, test.pos)
		if head != test.head || !slices.Equal(words, test.want) || tail != test.tail {
			t.Errorf("%q: got %q %q %q", test.line, head, words, tail)
		}
	}
	if n := len(session.seen); n != 2 {
		t.Errorf("%d statements for one round of names", n)
	}
}
