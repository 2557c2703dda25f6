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

// listing is a command that stands for a statement.
func listing(statement string) func(*runner, context.Context, []string) error {
	return func(r *runner, ctx context.Context, _ []string) error { return r.exec(ctx, statement) }
}

// schema describes a table, or each private one under its name.
func (r *runner) schema(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return r.exec(ctx, "DESCRIBE "+quoteName(args[0]))
	}
	tables, err := r.session.Exec(ctx, "SHOW TABLES", nil)
	if err != nil {
		return err
	}
	for _, row := range tables.Rows {
		if name, ok := row[0].(string); ok && row[1] == "private" {
			r.console.caption(name)
			if err := r.exec(ctx, "DESCRIBE "+quoteName(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// export writes a release into a file of its own.
func (r *runner) export(ctx context.Context, args []string) error {
	return r.exec(ctx, "EXPORT RELEASE "+quoteName(args[0])+" TO '"+strings.ReplaceAll(args[1], "'", "''")+"'")
}

// write writes a text that stands in a script, to say what comes.
func (r *runner) write(_ context.Context, args []string) error {
	return r.console.print(visibleText(strings.Join(args, "")) + "\n")
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
	on, err := onOff(".timer", args[0])
	if err != nil {
		return err
	}
	r.console.timer = on
	if on && r.role != engine.Curator {
		r.console.notice("the analyst role is told no times: how long a statement takes can tell of private rows")
	}
	return nil
}

func (r *runner) echo(_ context.Context, args []string) error {
	on, err := onOff(".echo", args[0])
	if err == nil {
		r.echoes = on
	}
	return err
}

func (r *runner) headers(_ context.Context, args []string) error {
	on, err := onOff(".headers", args[0])
	if err == nil {
		r.console.bare = !on
	}
	return err
}

func (r *runner) pager(_ context.Context, args []string) error {
	on, err := onOff(".pager", args[0])
	if err == nil {
		r.console.pager = nil
	}
	if on && r.console.outTTY {
		r.console.pager = newPager()
	}
	return err
}

// onOff reads a switch.
func onOff(command, text string) (bool, error) {
	switch strings.ToLower(text) {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, sqlerr.New(sqlerr.Invalid, "%s is on or off", command).WithHint("%s on", command)
}

// read runs another script.
func (r *runner) read(ctx context.Context, args []string) error {
	return r.scriptFile(ctx, r.path(args[0]))
}

// path returns where a file is that a command names.
func (r *runner) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}

// load imports a file.
func (r *runner) load(ctx context.Context, args []string) error {
	im, err := parseImport(args)
	if err != nil {
		return err
	}
	done := r.console.progress("importing "+im.Table, &im.Progress)
	report, err := r.session.Import(ctx, im)
	done()
	if err != nil {
		return err
	}
	return r.console.report(importReport(report))
}

// importReport says in a line what was loaded, and as what.
func importReport(r engine.ImportReport) string {
	if r.Skipped {
		return r.Table + " exists: nothing imported"
	}
	columns := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = plainName(c.Name) + " " + c.Type
	}
	return fmt.Sprintf("imported %s into %s (%s)", plural(r.Rows, "row"), r.Table, strings.Join(columns, ", "))
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
