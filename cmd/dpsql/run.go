package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"dpsql/engine"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // a statement failed, or a file could not be read
	exitUsage  = 2 // the command line makes no sense
)

// run carries out a command line and returns the exit status.
func run(args []string, s streams) int {
	if status, ok := auditing(args, s); ok {
		return status
	}
	if len(args) > 0 {
		if text, ok := subcommand(args[0]); ok {
			c := newConsole(s, "")
			return finish(c, c.print(text))
		}
	}
	o, err := parseFlags(args)
	c := newConsole(s, o.format)
	switch {
	case err != nil:
		c.fail(err)
		return exitUsage
	case o.help:
		return finish(c, c.print(usageText()))
	case o.version:
		return finish(c, c.print(versionText()))
	}
	return finish(c, guard(func() error { return work(o, s, c) }))
}

// subcommand returns what the sub-command of that name prints.
func subcommand(name string) (string, bool) {
	switch name {
	case "help":
		return usageText(), true
	case "version":
		return versionText(), true
	}
	return "", false
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
	ctx, stop := untilSignal(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	session := db.NewSession()
	r := &runner{session: session, role: o.role, console: c, args: o.args, explain: o.explain}
	if !o.hasSQL && o.script == "" && s.interactive() {
		return newShell(r, o.database).run(ctx)
	}
	ctx, stop = untilSignal(ctx, os.Interrupt)
	defer stop()
	if o.explain {
		if r.plans, err = session.Rehearse(ctx); err != nil {
			return err
		}
		r.explain = false
	}
	return r.batch(ctx, o, in)
}

// batch runs what is to be run without a shell.
func (r *runner) batch(ctx context.Context, o options, in io.Reader) (err error) {
	switch {
	case o.hasSQL:
		err = r.script(ctx, "", strings.NewReader(o.sql))
	case o.script == "" || o.script == "-":
		err = r.script(ctx, "stdin", in)
	default:
		err = r.scriptIn(ctx, o.script, in)
	}
	if r.plans != nil && (err == nil || errors.Is(err, errQuit)) {
		return r.total()
	}
	return err
}

// untilSignal returns a context that one of the signals ends. A second signal
// has its usual effect.
func untilSignal(ctx context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
