package main

import (
	"context"
	"errors"
	"strings"

	"dpsql/engine"
	"dpsql/query"
)

// session is what a runner needs of an engine.Session.
type session interface {
	Exec(ctx context.Context, text string, args []query.Value) (*engine.Result, error)
	Import(ctx context.Context, im engine.Import) (engine.ImportReport, error)
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

// errQuit is how .quit leaves the loops around it.
var errQuit = errors.New("quit")

// runner carries out statements and dot-commands, from wherever they come.
type runner struct {
	session session
	role    engine.Role
	console *console
	dir     string // file names are relative to it; "" is the working directory
	depth   int    // how many .read are open
	args    arguments
	echoes  bool           // each input is written before what comes of it
	explain bool           // .explain is on: SELECTs are explained, and nothing else is run
	plans   rehearsal      // of a script that is explained as a whole; else nil
	last    *engine.Result // the last answer, for .chart and .plot
}

// run carries out one statement or dot-command and writes its result. A panic
// inside is an internal error of this statement alone.
func (r *runner) run(ctx context.Context, input engine.Input) error {
	return guard(func() error {
		if r.echoes {
			r.console.notice(visibleLines(strings.TrimSpace(input.Text)))
		}
		if input.Command {
			return r.command(ctx, input.Text)
		}
		return r.statement(ctx, input.Text)
	})
}

// statement runs one statement, with its arguments, and writes its result.
func (r *runner) statement(ctx context.Context, text string) error {
	switch {
	case r.explain:
		return r.explained(ctx, text)
	case r.plans != nil:
		return r.rehearse(ctx, text)
	}
	return r.exec(ctx, text)
}

func (r *runner) exec(ctx context.Context, text string) error {
	values, err := r.args.of(text)
	if err != nil {
		return err
	}
	result, err := r.answer(ctx, text, values)
	if err != nil {
		return err
	}
	if result.Answer != nil {
		r.last = result
	}
	if err := r.console.result(text, result); err != nil {
		return err
	}
	return r.console.after()
}

// answer runs a statement under a bar of its progress.
func (r *runner) answer(ctx context.Context, text string, args []query.Value) (*engine.Result, error) {
	var report func(done, all int64)
	end := r.console.progress("running", &report)
	defer end()
	r.session.SetProgress(report)
	return r.session.Exec(ctx, text, args)
}
