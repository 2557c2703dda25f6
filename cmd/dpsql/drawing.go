package main

import (
	"context"
	"io"
	"strings"

	"dpsql/sqlerr"
)

// chart draws the last answer on the screen.
func (r *runner) chart(_ context.Context, args []string) error {
	s, err := newSeries(r.last, strings.Join(args, ""))
	if err != nil {
		return err
	}
	if err := writeChart(r.console.out, s, r.console.width()); err != nil {
		return cannotWrite(err)
	}
	return r.console.flush()
}

// plot draws the last answer into an SVG file.
func (r *runner) plot(_ context.Context, args []string) error {
	if !strings.HasSuffix(strings.ToLower(args[0]), ".svg") {
		return sqlerr.New(sqlerr.Invalid, "a plot is written as SVG").WithHint(".plot counts.svg")
	}
	s, err := newSeries(r.last, strings.Join(args[1:], ""))
	if err != nil {
		return err
	}
	if err := writeFile(r.path(args[0]), func(w io.Writer) error { return writePlot(w, s) }); err != nil {
		return err
	}
	return r.console.report("drew " + s.name + " into " + args[0])
}

// output sends the results to come into a file, or back to the screen.
func (r *runner) output(_ context.Context, args []string) error {
	if len(args) == 0 || args[0] == "stdout" {
		return r.console.restore()
	}
	return r.console.redirect(r.path(args[0]), false)
}

// once sends the next result into a file.
func (r *runner) once(_ context.Context, args []string) error {
	return r.console.redirect(r.path(args[0]), true)
}
