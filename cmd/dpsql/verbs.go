package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"dpsql/engine"
	"dpsql/sqlerr"
)

func (r *runner) quit(context.Context, []string) error { return errQuit }

func (r *runner) help(context.Context, []string) error { return r.console.print(commandHelp()) }

func (r *runner) tables(ctx context.Context, _ []string) error {
	return r.statement(ctx, "SHOW TABLES")
}

func (r *runner) schema(ctx context.Context, args []string) error {
	return r.statement(ctx, "DESCRIBE "+quoteName(args[0]))
}

// quoteName returns a name as a quoted identifier.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (r *runner) mode(_ context.Context, args []string) error {
	if len(args) == 0 {
		return r.console.print("mode " + string(r.console.format) + "\n")
	}
	f, err := parseFormat(args[0])
	if err == nil {
		r.console.format = f
	}
	return err
}

func (r *runner) timer(_ context.Context, args []string) error {
	switch strings.ToLower(args[0]) {
	case "on":
		r.console.timer = true
	case "off":
		r.console.timer = false
	default:
		return sqlerr.New(sqlerr.Invalid, ".timer is on or off").WithHint(".timer on")
	}
	return nil
}

// read runs another script.
func (r *runner) read(ctx context.Context, args []string) error {
	path := args[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	return r.scriptFile(ctx, path)
}

// load imports a file.
func (r *runner) load(ctx context.Context, args []string) error {
	im, err := parseImport(args)
	if err != nil {
		return err
	}
	report, err := r.session.Import(ctx, im)
	if err != nil {
		return err
	}
	return r.console.report(importReport(report))
}

// importReport says in a line what was loaded.
func importReport(r engine.ImportReport) string {
	if r.Skipped {
		return r.Table + " exists: nothing imported"
	}
	return fmt.Sprintf("imported %s into %s (%s)",
		plural(r.Rows, "row"), r.Table, plural(int64(len(r.Columns)), "column"))
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
