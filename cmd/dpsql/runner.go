package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/cmd/dpsql/internal/terminal"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// session is what a runner needs of an engine.Session.
type session interface {
	Exec(ctx context.Context, text string, args []query.Value) (*engine.Result, error)
	Import(ctx context.Context, im engine.Import) (engine.ImportReport, error)
	Draft(ctx context.Context, table string) (string, error)
	Check(ctx context.Context, table, declaration string) (string, error)
	SetDirectory(dir string)
	SetProgress(report func(done, all int64))
	SetConfirm(confirm func(warning string) bool)
	Vocabulary(ctx context.Context) (engine.Vocabulary, error)
}

// rehearsal is what a runner needs of an engine.Rehearsal.
type rehearsal interface {
	Plan(ctx context.Context, text string, args []query.Value) (*engine.Result, error)
	Total() *engine.Result
}

// errQuit makes the loops around .quit return.
var errQuit = errors.New("quit")

// runner carries out statements and dot-commands, from wherever they come.
type runner struct {
	session   session
	role      engine.Role
	console   *console
	dir       string // file names are relative to it; "" is the working directory
	depth     int    // how many .read are open
	args      arguments
	ask       func(question string) bool // of a person, or nil
	echo      bool                       // write each statement before its result
	explain   bool                       // .explain is on: explain SELECTs and run nothing that could be charged
	rehearsal rehearsal                  // explains a whole script, for -explain; else nil
	last      *engine.Result             // the last answer, for .chart and .plot
	place     string                     // file:line of the statement
	goesOn    bool                       // after an error: .bail off
	failed    int                        // the exit status for the errors after which it went on
}

// run carries out one statement or dot-command and writes its result. A panic
// inside is an internal error of this statement alone.
func (r *runner) run(ctx context.Context, input engine.Input) error {
	return sqlerr.Guard(func() error {
		if r.echo {
			r.console.notice(render.VisibleLines(strings.TrimSpace(engine.Masked(input.Text))))
		}
		if input.Command {
			return r.command(ctx, input.Text)
		}
		return r.statement(ctx, input.Text)
	})
}

// statement runs, explains or rehearses a statement.
func (r *runner) statement(ctx context.Context, text string) error {
	switch {
	case r.explain:
		return r.explained(ctx, text)
	case r.rehearsal != nil:
		return r.rehearse(ctx, text)
	}
	return r.exec(ctx, text)
}

// exec runs a statement with its arguments and writes its result.
func (r *runner) exec(ctx context.Context, text string) error {
	values, err := r.args.forStatement(text)
	if err != nil {
		return err
	}
	result, err := r.withProgress(ctx, text, values)
	if err != nil {
		return err
	}
	if result.Answer != nil {
		r.last = result
	}
	return r.console.result(text, result)
}

// withProgress runs a statement and shows its progress.
func (r *runner) withProgress(ctx context.Context, text string, args []query.Value) (*engine.Result, error) {
	var report func(done, all int64)
	end := r.console.progress("running", &report)
	defer end()
	r.session.SetProgress(report)
	return r.session.Exec(ctx, text, args)
}

// explained runs a statement under .explain on. It explains a SELECT, runs what
// only shows or sets something, and names what it leaves out.
func (r *runner) explained(ctx context.Context, text string) error {
	run := r.exec
	if r.rehearsal != nil {
		run = r.rehearse
	}
	switch firstWord(text) {
	case "SELECT", "WITH":
		if r.rehearsal == nil { // a rehearsal writes the caption itself
			r.console.caption(text)
		}
		return run(ctx, "EXPLAIN "+text)
	case "EXPLAIN", "SHOW", "DESCRIBE", "DESC", "SET":
		return run(ctx, text)
	}
	return r.console.report("not run: " + tag(text))
}

// rehearse writes what a statement of a script would do and cost after the
// statements before it. It runs none of them, even if the script turns .explain off.
func (r *runner) rehearse(ctx context.Context, text string) error {
	values, err := r.args.forStatement(text)
	if err != nil {
		return err
	}
	result, err := r.rehearsal.Plan(ctx, text, values)
	if err != nil {
		return err
	}
	r.console.caption(strings.TrimPrefix(r.place+": ", noFile) + engine.Masked(text))
	if !r.console.format.ForPeople() {
		result = placed(r.place, result)
	}
	return r.console.result(text, result)
}

// placed returns rows with a column before them that says which statement each is of.
func placed(place string, r *engine.Result) *engine.Result {
	if len(r.Columns) == 0 || r.Answer != nil {
		return r
	}
	out := *r
	out.Columns = append([]engine.Column{{Name: "statement", Type: "TEXT"}}, r.Columns...)
	out.Rows = make([][]any, len(r.Rows))
	for i, row := range r.Rows {
		out.Rows[i] = append([]any{place}, row...)
	}
	return &out
}

// total writes what all statements of a script would cost together.
func (r *runner) total() error {
	r.console.caption("all statements together")
	return r.console.result("", r.rehearsal.Total())
}

// firstWord returns the first word of a statement, in capitals.
func firstWord(text string) string {
	text = strings.ToUpper(strings.TrimSpace(text))
	if end := strings.IndexFunc(text, func(r rune) bool { return r < 'A' || r > 'Z' }); end >= 0 {
		return text[:end]
	}
	return text
}

// maxDepth bounds the scripts that are open at once, each read by the one before it.
const maxDepth = 16

// script runs the statements of in one by one, as they arrive: each result is
// written before the next statement is read. It stops at the first error, which
// it returns with its place in the file of that name. A name of "" stands for
// text that has no file.
func (r *runner) script(ctx context.Context, name string, in io.Reader) error {
	waits := !atHand(in)
	scanner := engine.NewScanner(in)
	for {
		input, err := nextInput(ctx, scanner, waits)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return render.Locate(err, name, input)
		}
		r.place = fmt.Sprintf("%s:%d", cmp.Or(name, noFile), input.Line)
		if err = r.run(ctx, input); errors.Is(err, errQuit) {
			return err
		}
		if err == nil {
			continue
		}
		located := render.Locate(err, name, input)
		if !r.passes(ctx, located) {
			return located
		}
	}
}

// atHand reports whether a reader has its whole text, so that reading it waits for nobody.
func atHand(in io.Reader) bool {
	switch in := in.(type) {
	case *strings.Reader:
		return true
	case *os.File:
		about, err := in.Stat()
		return err == nil && about.Mode().IsRegular()
	}
	return false
}

// noFile stands for the file of a statement in the command line.
const noFile = "SQL"

// passes reports an error after which the script goes on, and remembers its exit status. After an
// interrupt, or where results cannot be written, no script goes on: what it bought would be lost.
func (r *runner) passes(ctx context.Context, err error) bool {
	if !r.goesOn || ctx.Err() != nil || r.console.flush() != nil {
		return false
	}
	r.console.fail(err)
	if status := statusOf(err); r.failed == exitOK {
		r.failed = status
	} else if r.failed != status {
		r.failed = exitFailed
	}
	return true
}

// nextInput returns the scanner's next input. A script can be interrupted between its
// statements, and while it waits for more to come through a pipe. One that is at its end is
// not interrupted: its last statement was carried out.
func nextInput(ctx context.Context, scanner *engine.Scanner, waits bool) (input engine.Input, err error) {
	if waits {
		input, err = terminal.Await(ctx, scanner.Next)
	} else {
		input, err = scanner.Next()
	}
	if err != io.EOF && ctx.Err() != nil {
		return input, sqlerr.New(sqlerr.Cancelled, "the script was interrupted")
	}
	return input, err
}

// scriptFile runs a script with file names relative to its folder.
func (r *runner) scriptFile(ctx context.Context, path string) error {
	f, err := openScript(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.scriptIn(ctx, path, f)
}

// scriptIn runs an open script with file names relative to its folder.
func (r *runner) scriptIn(ctx context.Context, path string, f io.Reader) error {
	if r.depth == maxDepth {
		return sqlerr.New(sqlerr.Unsupported, "scripts that read scripts may be nested %d deep", maxDepth).
			WithHint("does the script read itself?")
	}
	outer := r.dir
	r.enter(filepath.Dir(path), r.depth+1)
	defer func() { r.enter(outer, r.depth-1) }()
	return r.script(ctx, path, f)
}

func (r *runner) enter(dir string, depth int) {
	r.dir, r.depth = dir, depth
	r.session.SetDirectory(dir)
}

// path returns the path of a file that a command names.
func (r *runner) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

// openScript opens a file to read statements from.
func openScript(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cannotOpen(path, err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, cannotOpen(path, syscall.EISDIR)
	}
	return f, nil
}

// stdin names standard input in errors.
const stdin = "stdin"

// script is an open script of a command line.
type script struct {
	name string
	in   io.Reader
}

type scripts []script

// openScripts opens all scripts of a command line before the first is run, so that a name that is
// wrong stops none halfway.
func openScripts(paths []string, in io.Reader) (all scripts, err error) {
	for _, path := range paths {
		s := script{stdin, in}
		if path != "-" {
			f, err := openScript(path)
			if err != nil {
				all.close()
				return nil, err
			}
			s = script{path, f}
		}
		all = append(all, s)
	}
	return all, nil
}

// close closes the scripts that are files.
func (all scripts) close() {
	for _, s := range all {
		if f, ok := s.in.(io.Closer); ok && s.name != stdin {
			f.Close()
		}
	}
}

// withoutByteOrderMark skips the byte order mark that some editors write.
func withoutByteOrderMark(f io.Reader) io.Reader {
	b := bufio.NewReader(f)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3)
	}
	return b
}

// cannotOpen returns the error for a file that cannot be opened.
func cannotOpen(name string, err error) error {
	e := sqlerr.New(sqlerr.IO, "cannot open %s: %v", name, systemReason(err))
	if errors.Is(err, fs.ErrNotExist) {
		return e.WithHint("a path is relative to the script that names it, else to the working directory")
	}
	return e
}

// systemReason returns the reason alone of an error about a file.
func systemReason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}
