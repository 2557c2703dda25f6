package main

import (
	"context"
	"errors"

	"dpsql/engine"
	"dpsql/query"
)

// session is what a runner needs of an engine.Session.
type session interface {
	Exec(ctx context.Context, text string, args []query.Value) (*engine.Result, error)
	Import(ctx context.Context, im engine.Import) (engine.ImportReport, error)
	SetDirectory(dir string)
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
}

// run carries out one statement or dot-command and writes its result. A panic
// inside is an internal error of this statement alone.
func (r *runner) run(ctx context.Context, input engine.Input) error {
	return guard(func() error {
		if input.Command {
			return r.command(ctx, input.Text)
		}
		return r.statement(ctx, input.Text)
	})
}

func (r *runner) statement(ctx context.Context, text string) error {
	result, err := r.session.Exec(ctx, text, nil)
	if err != nil {
		return err
	}
	return r.console.result(text, result)
}
