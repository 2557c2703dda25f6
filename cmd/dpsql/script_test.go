package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Each result must be written before the next statement is read.
func TestScriptAnswersAsItArrives(t *testing.T) {
	in, inEnd := io.Pipe()
	outEnd, out := io.Pipe()
	r, session, _, _ := testRunner(render.CSV)
	r.console = newConsole(streams{out: out, err: io.Discard, width: func() int { return 0 }, errWidth: func() int { return 0 }}, render.CSV)
	session.results = map[string]*engine.Result{"SELECT 1": ints("one", int64(1)), "SELECT 2": ints("two", int64(2))}
	done := make(chan error, 1)
	go func() { done <- r.script(context.Background(), "stdin", in) }()
	for _, step := range []struct{ send, want string }{{"SELECT 1;", "one\n1\n"}, {" -- next\nSELECT 2;", "\ntwo\n2\n"}} {
		if _, err := io.WriteString(inEnd, step.send); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(step.want))
		if _, err := io.ReadFull(outEnd, got); err != nil || string(got) != step.want {
			t.Fatalf("after %q: %q, %v", step.send, got, err)
		}
	}
	inEnd.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestScriptLocatesErrors(t *testing.T) {
	tests := []struct {
		script       string
		line, column int
		code         sqlerr.Code
	}{
		{"SELECT wrong;", 1, 8, sqlerr.Unknown},
		{"SELECT 1;\n-- comment\n  SELECT 'é日', wrong;", 3, 16, sqlerr.Unknown},
		{"SELECT 1,\n\t2,\n\twrong;", 3, 2, sqlerr.Unknown},
		{"SELECT 1;\n  .nonsense\n", 2, 3, sqlerr.Unknown},
		{"\n\nSELECT strange;", 3, 1, sqlerr.Internal},
	}
	for _, test := range tests {
		r, _, _, _ := testRunner(render.CSV)
		err := r.script(context.Background(), "x.sql", strings.NewReader(test.script))
		var f *render.Failure
		if !errors.As(err, &f) || f.Line != test.line || f.Column != test.column || f.Err.Code != test.code || f.File != "x.sql" {
			t.Errorf("%q: got %+v, want %d:%d %s", test.script, f, test.line, test.column, test.code)
		}
	}
}

func TestScriptStopsAtFirstError(t *testing.T) {
	r, session, _, _ := testRunner(render.CSV)
	err := r.script(context.Background(), "x.sql", strings.NewReader("a; wrong; b;"))
	if err == nil || !slices.Equal(session.seen, []string{"a", "wrong"}) {
		t.Errorf("%v after %q", err, session.seen)
	}
}

// The text of a panic, or of an error of another kind, must not be shown.
func TestErrorsKeepValuesBack(t *testing.T) {
	for _, statement := range []string{"SELECT panic;", "SELECT strange;"} {
		for _, f := range []render.Format{render.Table, render.JSON} {
			r, _, _, errs := testRunner(f)
			err := r.script(context.Background(), "", strings.NewReader(statement))
			if finish(r.console, err) != exitFailed || sqlerr.CodeOf(err) != sqlerr.Internal {
				t.Errorf("%s: %v", statement, err)
			}
			if strings.Contains(errs.String(), "424242") || !strings.Contains(errs.String(), "internal") {
				t.Errorf("%s: %s", statement, errs)
			}
		}
	}
}

func TestPanicSite(t *testing.T) {
	err := sqlerr.Guard(func() error { panic("secret") })
	if !strings.Contains(err.Error(), "at script_test.go:") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	var none []int
	if err := sqlerr.Guard(func() error { return fmt.Errorf("%d", none[3]) }); !strings.Contains(err.Error(), "at script_test.go:") {
		t.Error(err)
	}
}

func TestScriptIsInterrupted(t *testing.T) {
	for _, script := range []string{"wait;", ""} {
		r, _, _, _ := testRunner(render.CSV)
		in, inEnd := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- r.script(ctx, "stdin", in) }()
		if _, err := io.WriteString(inEnd, script+" "); err != nil {
			t.Fatal(err)
		}
		cancel()
		select {
		case err := <-done:
			if sqlerr.CodeOf(err) != sqlerr.Cancelled {
				t.Errorf("%q: %v", script, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q goes on", script)
		}
	}
}

// A statement that is done although it was interrupted ends its script without an error,
// if none follows.
func TestLateInterrupt(t *testing.T) {
	for script, want := range map[string]sqlerr.Code{"SELECT 1;": "", "SELECT 1;\n -- end\n": "", "SELECT 1; SELECT 2;": sqlerr.Cancelled} {
		for _, file := range []bool{false, true} {
			r, session, out, _ := testRunner(render.CSV)
			ctx, cancel := context.WithCancel(context.Background())
			session.results = map[string]*engine.Result{"SELECT 1": ints("one", int64(1)), "SELECT 2": ints("two", int64(2))}
			session.ran = cancel
			var err error
			if file {
				err = r.scriptFile(ctx, write(t, filepath.Join(t.TempDir(), "x.sql"), script))
			} else {
				err = r.script(ctx, "", strings.NewReader(script))
			}
			if got := sqlerr.CodeOf(err); got != want || err != nil && want == "" || !strings.Contains(out.String(), "one") || strings.Contains(out.String(), "two") {
				t.Errorf("%q: %v after %q", script, err, out)
			}
		}
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadIsRelativeToItsScript(t *testing.T) {
	dir := t.TempDir()
	main := write(t, filepath.Join(dir, "main.sql"), "\ufeffa;\n.read sub/inner.sql\nb;\n")
	write(t, filepath.Join(dir, "sub", "inner.sql"), "c;\n.read leaf.sql\n")
	write(t, filepath.Join(dir, "sub", "leaf.sql"), "d;\n")
	r, session, _, _ := testRunner(render.CSV)
	if err := r.scriptFile(context.Background(), main); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	want := []string{"in " + dir, "a", "in " + sub, "c", "in " + sub, "d", "in " + sub, "in " + dir, "b", "in "}
	if !slices.Equal(session.seen, want) {
		t.Errorf("got %q\nwant %q", session.seen, want)
	}
}

func TestReadIsNotEndless(t *testing.T) {
	main := write(t, filepath.Join(t.TempDir(), "main.sql"), ".read main.sql\n")
	r, _, _, _ := testRunner(render.CSV)
	err := r.scriptFile(context.Background(), main)
	if sqlerr.CodeOf(err) != sqlerr.Unsupported || r.depth != 0 || r.dir != "" {
		t.Errorf("%v, depth %d", err, r.depth)
	}
}

// .quit in an inner script ends everything, in good order.
func TestQuitInInnerScript(t *testing.T) {
	dir := t.TempDir()
	main := write(t, filepath.Join(dir, "main.sql"), "a;\n.read inner.sql\nb;\n")
	write(t, filepath.Join(dir, "inner.sql"), ".quit\nc;\n")
	r, session, _, _ := testRunner(render.CSV)
	err := r.scriptFile(context.Background(), main)
	if finish(r.console, err) != exitOK || slices.Contains(session.seen, "b") || slices.Contains(session.seen, "c") {
		t.Errorf("%v after %q", err, session.seen)
	}
}

// An error's form: with its place in a script, with a caret on a terminal, and
// as one line of JSON.
func TestFailureForms(t *testing.T) {
	long := strings.Repeat("x", 200)
	tests := []struct {
		name, file, script string
		format             render.Format
		terminal           bool
		want               string
	}{
		{"script", "clinic.sql", "a;\nSELECT wrong;", render.Table, false,
			"clinic.sql:2:8: error unknown: there is no column wrong\nhint: did you mean right?\n"},
		{"one statement", "", "SELECT wrong;", render.CSV, false,
			"error unknown: there is no column wrong\nhint: did you mean right?\n"},
		{"terminal", "", "SELECT\n  日本 wrong\nFROM t;", render.Table, true,
			"error unknown: there is no column wrong\n    日本 wrong\n         ^\nhint: did you mean right?\n"},
		{"long line", "", long + " wrong " + long, render.Table, true,
			"error unknown: there is no column wrong\n  …" + strings.Repeat("x", 49) + " wrong " + strings.Repeat("x", 19) + "…\n" +
				strings.Repeat(" ", 53) + "^\nhint: did you mean right?\n"},
		{"json script", "clinic.sql", "a;\nSELECT wrong;", render.JSON, true,
			`{"error":{"code":"unknown","message":"there is no column wrong","hint":"did you mean right?","position":8,"file":"clinic.sql","line":2,"column":8}}` + "\n"},
		{"json statement", "", "SELECT strange;", render.JSON, false,
			`{"error":{"code":"internal","message":"the statement failed inside dpsql"}}` + "\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, _, _, errs := testRunner(test.format)
			r.console.errTTY = test.terminal
			if finish(r.console, r.script(context.Background(), test.file, strings.NewReader(test.script))) != exitFailed {
				t.Error("not reported as failed")
			}
			if errs.String() != test.want {
				t.Errorf("got\n%s\nwant\n%s", errs, test.want)
			}
		})
	}
}

// Errors and warnings break between words on a terminal, and stay whole in a pipe.
func TestMessagesWrapAtWords(t *testing.T) {
	for width, want := range map[int]string{
		0:  "error unknown: there is no column wrong\nhint: did you mean right?\n",
		24: "error unknown: there is\nno column wrong\nhint: did you mean\nright?\n",
	} {
		r, _, out, errs := testRunner(render.Table)
		r.console.width, r.console.errWidth = func() int { return width }, func() int { return width }
		finish(r.console, r.script(context.Background(), "", strings.NewReader("SELECT wrong;")))
		if errs.String() != want {
			t.Errorf("width %d: got\n%s\nwant\n%s", width, errs, want)
		}
		r.console.tell(warning, "live has no runs left at all")
		r.console.flush()
		want := "warning: live has no runs left at all\n"
		if width > 0 {
			want = "warning: live has no\nruns left at all\n"
		}
		if out.String() != want {
			t.Errorf("width %d: got %q, want %q", width, out, want)
		}
	}
}

// failing is a stream that cannot be written.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestUnwritableOutputIsAnError(t *testing.T) {
	for _, f := range render.Formats {
		r, session, _, _ := testRunner(f)
		session.results = map[string]*engine.Result{"SELECT 1": ints("one", int64(1))}
		var errs bytes.Buffer
		r.console = newConsole(streams{out: failing{}, err: &errs, width: func() int { return 0 }, errWidth: func() int { return 0 }}, f)
		err := r.script(context.Background(), "", strings.NewReader("SELECT 1;"))
		if finish(r.console, err) != exitFailed || sqlerr.CodeOf(err) != sqlerr.IO {
			t.Errorf("%s: %v", f, err)
		}
	}
}

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
	r.types(t, out, errs, shown...)        // results stand above those that are compared
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

func TestArgumentValue(t *testing.T) {
	tests := map[string]query.Value{
		"12": query.Int(12), "-3": query.Int(-3), "007": query.Int(7), "1.5": query.Text("1.5"), "": query.Text(""), "null": query.Null(),
		"'12'": query.Text("12"), "'it''s'": query.Text("it's"), "a' OR 1": query.Text("a' OR 1"), "99999999999999999999": query.Text("99999999999999999999"),
	}
	for text, want := range tests {
		if got := argumentValue(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestArgumentsOfStatements(t *testing.T) {
	tests := []struct {
		statement string
		want      []query.Value
		code      sqlerr.Code
	}{
		{"SELECT COUNT(*) FROM t WHERE a = :a AND b = @b AND c = $a", []query.Value{query.Int(1), query.Text("x"), query.Int(1)}, ""},
		{"SELECT COUNT(*) FROM t WHERE a = 1", nil, ""},
		{"SELECT COUNT(*) FROM t WHERE a = :c", nil, sqlerr.Invalid},
		{"SELECT COUNT(*) FROM t WHERE a = ?", nil, sqlerr.Invalid},
	}
	for _, test := range tests {
		got, err := arguments{"a": query.Int(1), "b": query.Text("x")}.forStatement(test.statement)
		if sqlerr.CodeOf(err) != test.code || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v", test.statement, got, err)
		}
	}
}

func TestParameterCommand(t *testing.T) {
	r, _, out, _ := testRunner(render.CSV)
	for line, code := range map[string]sqlerr.Code{
		".parameter set :zip 15213": "", ".parameter set 1 2": sqlerr.Invalid, ".parameter frobnicate": sqlerr.Invalid,
		".parameter set city 'New York'": "", ".parameter unset nothing": "",
	} {
		if err := r.command(context.Background(), line); sqlerr.CodeOf(err) != code {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := r.command(context.Background(), ".parameter list"); err != nil || out.String() != ":city = 'New York'\n:zip = 15213\n" {
		t.Errorf("listed %q, %v", out, err)
	}
	if err := r.command(context.Background(), ".parameter clear"); err != nil || len(r.args) != 0 {
		t.Errorf("%v left, %v", r.args, err)
	}
}

// Results go where they are sent, and back.
func TestRedirection(t *testing.T) {
	r, session, out, _ := testRunner(render.CSV)
	r.dir = t.TempDir()
	session.results = map[string]*engine.Result{"SELECT 1": ints("one", int64(1)), "SELECT 2": ints("two", int64(2))}
	script := ".once a.csv\nSET x = 1;\nSELECT 1;\nSELECT 2;\n.output b.csv\nSELECT 1;\nSELECT 2;\n.output\n.once c.json\nSELECT 1;\nSELECT 1;\n"
	if err := r.script(context.Background(), "", strings.NewReader(script)); err != nil {
		t.Fatal(err)
	}
	if want := "two\n2\n\none\n1\n"; out.String() != want {
		t.Errorf("on the screen %q, want %q", out, want)
	}
	for name, want := range map[string]string{"a.csv": "one\n1\n", "b.csv": "one\n1\n\ntwo\n2\n", "c.json": `{"columns":["one"],"rows":[[1]]}` + "\n"} {
		if got, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
}

// Nothing that could be charged for is run under .explain on.
func TestExplaining(t *testing.T) {
	r, session, _, _ := testRunner(render.CSV)
	script := ".explain SELECT 0;\n.explain on\nSELECT 1; WITH a AS (b) SELECT 2; SET x = 1; SHOW TABLES; DESCRIBE t; CREATE RELEASE r; DROP RELEASE r; select(3);\n.explain off\nSELECT 4;"
	if err := r.script(context.Background(), "", strings.NewReader(script)); err != nil {
		t.Fatal(err)
	}
	want := []string{"EXPLAIN SELECT 0", "EXPLAIN SELECT 1", "EXPLAIN WITH a AS (b) SELECT 2", "SET x = 1", "SHOW TABLES", "DESCRIBE t", "EXPLAIN select(3)", "SELECT 4"}
	if !slices.Equal(session.seen, want) {
		t.Errorf("ran %q, want %q", session.seen, want)
	}
}
