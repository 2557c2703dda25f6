// Command dpsql asks differentially private questions of an SQLite database from
// a shell, a script or a command line. It parses its arguments, cuts scripts into
// statements, hands each to dpsql/engine and renders the result. It knows nothing
// of privacy.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/cmd/dpsql/internal/terminal"
	"dpsql/engine"
	"dpsql/sqlerr"
)

func main() {
	os.Exit(run(os.Args[1:], system()))
}

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // a statement failed, or a file could not be read
	exitUsage  = 2 // the command line makes no sense
)

// run carries out a command line and returns the exit status.
func run(args []string, s streams) int {
	if len(args) > 0 {
		switch {
		case args[0] == "audit":
			return runAudit(args[1:], s)
		case args[0] == "help" && len(args) > 1 && args[1] == "audit":
			return show(s, auditHelp)
		case args[0] == "help":
			return show(s, usageText())
		case args[0] == "version":
			return show(s, versionText())
		}
	}
	o, err := parseFlags(args)
	c := newConsole(s, o.format)
	switch {
	case err != nil:
		c.fail(err)
		return exitUsage
	case o.help:
		return show(s, usageText())
	case o.version:
		return show(s, versionText())
	}
	return finish(c, sqlerr.Guard(func() error { return work(o, s, c) }))
}

// show prints a text and returns the exit status.
func show(s streams, text string) int {
	c := newConsole(s, "")
	return finish(c, c.print(text))
}

// finish reports the error, if any, and returns the exit status.
func finish(c *console, err error) int {
	if err == nil || errors.Is(err, errQuit) {
		return exitOK
	}
	c.fail(err)
	return exitFailed
}

// work opens the database and runs the statement, the script or the shell.
func work(o options, s streams, c *console) (err error) {
	in := s.in
	if o.script != "" && o.script != "-" {
		f, err := openScript(o.script)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	db, err := engine.Open(o.database, engine.Options{Role: o.role, ReadOnly: o.readonly})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := db.Close(); cerr != nil && (err == nil || errors.Is(err, errQuit)) {
			err = cerr
		}
	}()
	ctx, stop := terminal.UntilSignal(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	session := db.NewSession()
	r := &runner{session: session, role: o.role, console: c, args: o.args, explain: o.explain}
	if !o.hasSQL && o.script == "" && s.interactive() {
		return startShell(ctx, r, o.database)
	}
	ctx, stop = terminal.UntilSignal(ctx, os.Interrupt)
	defer stop()
	if o.explain {
		rehearsal, err := session.Rehearse(ctx)
		if err != nil {
			return err
		}
		defer rehearsal.Close()
		r.rehearsal = rehearsal
		r.explain = false
	}
	return r.batch(ctx, o, in)
}

// batch runs a statement or a script.
func (r *runner) batch(ctx context.Context, o options, in io.Reader) (err error) {
	switch {
	case o.hasSQL:
		err = r.script(ctx, "", strings.NewReader(o.sql))
	case o.script == "" || o.script == "-":
		err = r.script(ctx, "stdin", in)
	default:
		err = r.scriptIn(ctx, o.script, in)
	}
	if r.rehearsal != nil && (err == nil || errors.Is(err, errQuit)) {
		return r.total()
	}
	return err
}

// startShell runs a shell on the process's terminal.
func startShell(ctx context.Context, r *runner, database string) error {
	if p := terminal.NewPager(); p != nil {
		r.console.pager = p
	}
	return r.talk(ctx, database, terminal.NewEditor(terminal.Config{
		Database: database, Commands: commandNames(), Formats: formatNames(),
		Vocabulary: r.session.Vocabulary, Color: r.console.color,
	}))
}

// talk runs a shell until the person leaves or ctx is done. An error ends a
// statement, never the shell.
func (r *runner) talk(ctx context.Context, database string, e terminal.Editor) error {
	if err := r.console.print(r.banner(database)); err != nil {
		e.Close()
		return err
	}
	shell := terminal.NewShell(e)
	r.session.SetConfirm(func(warning string) bool {
		defer r.console.pauseProgress()()
		r.console.notice("warning: " + render.Visible(warning))
		r.console.flush()
		return shell.Confirm("run it anyway? [y/N] ")
	})
	err := shell.Run(ctx, func(ctx context.Context, text string) (more bool) {
		err := r.script(ctx, "", strings.NewReader(text))
		if err != nil && !errors.Is(err, errQuit) {
			r.console.fail(err)
		}
		return !errors.Is(err, errQuit)
	})
	if err == io.EOF {
		return r.console.print("\n")
	}
	return err
}

// banner returns the line a shell starts with.
func (r *runner) banner(database string) string {
	parts := []string{"dpsql " + version(), render.Visible(database)}
	if _, err := os.Stat(database); errors.Is(err, os.ErrNotExist) {
		parts[1] += " (does not exist yet)"
	}
	if r.role != engine.Curator {
		parts = append(parts, string(r.role))
	}
	return strings.Join(append(parts, ".help for help"), " · ") + "\n"
}

// streams are the standard streams, and which of them are terminals.
type streams struct {
	in       io.Reader
	out, err io.Writer
	inTTY    bool
	outTTY   bool
	errTTY   bool
	color    bool       // err shows colours
	width    func() int // characters on a line of out; 0 is no limit
	errWidth func() int // the same of err
}

// system returns the streams of the process.
func system() streams {
	return streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY: isTerminal(os.Stdin), outTTY: isTerminal(os.Stdout), errTTY: isTerminal(os.Stderr),
		color: isTerminal(os.Stderr) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		width: lineWidth(os.Stdout), errWidth: lineWidth(os.Stderr),
	}
}

func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

// lineWidth returns how many characters fit on a line of f. The lines of a file
// have no limit.
func lineWidth(f *os.File) func() int {
	if !isTerminal(f) {
		return func() int { return 0 }
	}
	return func() int { width, _ := terminal.Size(f); return width }
}

// interactive reports whether a person sits at both ends, so that a shell makes
// sense. Otherwise standard input is a script.
func (s streams) interactive() bool { return s.inTTY && s.outTTY }
