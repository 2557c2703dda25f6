package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/cmd/dpsql/internal/terminal"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

func (r *runner) quit(context.Context, []string) error { return errQuit }

func (r *runner) help(_ context.Context, args []string) error {
	if len(args) == 0 {
		return r.console.print(commandHelp())
	}
	c, err := findCommand("." + strings.TrimPrefix(args[0], "."))
	if err != nil {
		return err
	}
	return r.console.print(c.described())
}

// listing returns a command that runs a statement.
func listing(statement string) func(*runner, context.Context, []string) error {
	return func(r *runner, ctx context.Context, _ []string) error { return r.exec(ctx, statement) }
}

// schema describes a table, or each private one under its name.
func (r *runner) schema(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return r.exec(ctx, "DESCRIBE "+query.Quoted(args[0]))
	}
	tables, err := r.session.Exec(ctx, "SHOW TABLES", nil)
	if err != nil {
		return err
	}
	for _, row := range tables.Rows {
		if name, ok := row[0].(string); ok && row[1] == "private" {
			r.console.caption(name)
			if err := r.exec(ctx, "DESCRIBE "+query.Quoted(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// export writes a release into a public file.
func (r *runner) export(ctx context.Context, args []string) error {
	return r.exec(ctx, "EXPORT RELEASE "+query.Quoted(args[0])+" TO "+query.Text(args[1]).String())
}

// write writes the text of .print.
func (r *runner) write(_ context.Context, args []string) error {
	return r.console.print(render.Visible(strings.Join(args, "")) + "\n")
}

func (r *runner) mode(_ context.Context, args []string) error {
	if len(args) == 0 {
		return r.console.print("mode " + string(r.console.format) + "\n")
	}
	f, err := render.ParseFormat(args[0])
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
		r.console.notice("the analyst role is not told times: how long a statement takes can reveal private rows")
	}
	return nil
}

func (r *runner) setEcho(_ context.Context, args []string) error {
	on, err := onOff(".echo", args[0])
	if err == nil {
		r.echo = on
	}
	return err
}

func (r *runner) setBail(_ context.Context, args []string) error {
	on, err := onOff(".bail", args[0])
	if err == nil {
		r.goesOn = !on
	}
	return err
}

func (r *runner) headers(_ context.Context, args []string) error {
	on, err := onOff(".headers", args[0])
	if err == nil {
		r.console.noHeader = !on
	}
	return err
}

func (r *runner) pager(_ context.Context, args []string) error {
	on, err := onOff(".pager", args[0])
	if err == nil {
		r.pages(on)
	}
	return err
}

// pages shows long results in the pager, or no longer. An analyst has none: from a pager one reaches a shell,
// and so the file.
func (r *runner) pages(on bool) {
	r.console.pager = nil
	if p := terminal.NewPager(); on && r.role == engine.Curator && r.console.outTTY && p != nil {
		r.console.pager = p
	}
}

// onOff parses the argument of a switch.
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

// explainCommand explains a statement, or every further SELECT.
func (r *runner) explainCommand(ctx context.Context, args []string) error {
	switch strings.ToLower(args[0]) {
	case "on":
		r.explain = true
		return nil
	case "off":
		r.explain = false
		return nil
	}
	text := "EXPLAIN " + strings.TrimSuffix(args[0], ";")
	if r.rehearsal != nil {
		return r.rehearse(ctx, text)
	}
	return r.exec(ctx, text)
}

// parameter sets, forgets or lists the values of named parameters.
func (r *runner) parameter(_ context.Context, args []string) error {
	switch {
	case len(args) == 0 || len(args) == 1 && args[0] == "list":
		return r.listParameters()
	case len(args) == 3 && args[0] == "set":
		return r.args.assign(args[1], args[2])
	case len(args) == 2 && args[0] == "unset":
		delete(r.args, strings.TrimLeft(args[1], ":@$"))
		return nil
	case len(args) == 1 && args[0] == "clear":
		clear(r.args)
		return nil
	}
	return sqlerr.New(sqlerr.Invalid, ".parameter has wrong arguments").
		WithHint(".parameter set zip 15213 gives :zip the value 15213")
}

func (r *runner) listParameters() error {
	if len(r.args) == 0 {
		return r.console.report("no parameter has a value")
	}
	var b strings.Builder
	for _, name := range r.args.names() {
		b.WriteString(":" + name + " = " + render.Visible(r.args[name].String()) + "\n")
	}
	return r.console.print(b.String())
}

// load imports a file.
func (r *runner) load(ctx context.Context, args []string) error {
	im, err := parseImport(args)
	if err != nil {
		return err
	}
	report, err := r.imported(ctx, im)
	if err != nil {
		return err
	}
	r.console.tell(notice, importReport(report))
	r.console.tell(notice, report.Notes...)
	if err := r.console.flush(); err != nil || report.Skipped || im.Append || !r.console.outTTY {
		return err
	}
	return r.console.report("declare its columns: .draft " + syntax.WriteName(report.Table) + " writes a first declaration")
}

// imported imports a file. It asks a person how dates are to be read that have two forms.
func (r *runner) imported(ctx context.Context, im engine.Import) (engine.ImportReport, error) {
	done := r.console.progress("importing "+im.Table, &im.Progress)
	report, err := r.session.Import(ctx, im)
	done()
	if len(report.Readings) > 0 && r.ask != nil {
		r.console.notice(render.Visible(err.Error()))
	}
	for _, form := range report.Readings {
		if r.ask != nil && r.ask("are they "+form+"? [y/N] ") {
			im.Dialect.Dates = append(im.Dialect.Dates, form)
			return r.imported(ctx, im)
		}
	}
	return report, err
}

// draft writes a declaration of a table, for the curator to edit.
func (r *runner) draft(ctx context.Context, args []string) error {
	text, err := r.session.Draft(ctx, args[0])
	if err != nil {
		return err
	}
	return r.console.document(text)
}

// check counts the rows that a declaration loses, of a table or in a file, for the curator.
func (r *runner) check(ctx context.Context, args []string) error {
	var declaration []byte
	if strings.HasSuffix(args[0], ".sql") {
		f, err := openScript(r.path(args[0]))
		if err != nil {
			return err
		}
		defer f.Close()
		if declaration, err = io.ReadAll(withoutByteOrderMark(f)); err != nil {
			return cannotOpen(args[0], err)
		}
	}
	text, err := r.session.Check(ctx, args[0], string(declaration))
	if err != nil {
		return err
	}
	return r.console.document(text)
}

// importReport returns a line that says what was loaded into which columns.
func importReport(r engine.ImportReport) string {
	if r.Skipped {
		return r.Table + " exists: nothing imported"
	}
	columns := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		columns[i] = syntax.WriteName(c.Name) + " " + c.Type
	}
	text := fmt.Sprintf("imported %s into %s (%s)", render.Plural(r.Rows, "row"), r.Table, strings.Join(columns, ", "))
	if d := r.Dialect; d.Comma != 0 && d.Comma != ',' && d.Comma != '\t' {
		text += fmt.Sprintf("; fields are separated by %q", d.Comma)
	}
	if r.Dialect.Quote == '\'' {
		text += "; fields are quoted with '"
	}
	if r.Dialect.Decimal == ',' {
		text += "; fractions have a decimal comma"
	}
	if r.Dialect.NoQuote {
		text += "; quotes are characters"
	}
	for _, null := range r.Dialect.Nulls {
		text += fmt.Sprintf("; %q is NULL", null)
	}
	return text
}

// parseImport parses the arguments of .import: a file, a table, and switches with
// one dash or two anywhere among them.
func parseImport(args []string) (engine.Import, error) {
	var im engine.Import
	var words []string
	for i := 0; i < len(args); i++ {
		name, dashed := strings.CutPrefix(args[i], "-")
		if !dashed {
			words = append(words, args[i])
			continue
		}
		name = strings.TrimPrefix(name, "-")
		example, takes := importValues[name]
		if !takes {
			if err := importSwitch(&im, name); err != nil {
				return im, err
			}
			continue
		}
		if i++; i == len(args) {
			return im, sqlerr.New(sqlerr.Invalid, "--%s takes a value", name).WithHint("as in .import --%s %s FILE TABLE", name, example)
		}
		if err := im.Dialect.Set(name, args[i]); err != nil {
			return im, err
		}
	}
	if len(words) != 2 {
		return im, sqlerr.New(sqlerr.Invalid, ".import takes a file and a table").
			WithHint(".import [--csv|--tsv|--separator C] [--quote C] [--decimal C] [--null TEXT] [--skip N] [--skip-last N] [--encoding NAME] [--date FORM] [--columns A,B] [--numbers] [--append] [--replace] [--if-missing] FILE TABLE")
	}
	im.Path, im.Table = words[0], words[1]
	return im, nil
}

// importValues are the switches of .import that take a value, with examples.
var importValues = map[string]string{"separator": "';'", "quote": "''", "decimal": ",", "null": "NA", "skip": "2", "skip-last": "1", "encoding": "windows-1252", "date": "d.m.Y", "columns": "age,sex"}

// importSwitch sets a switch without a value.
func importSwitch(im *engine.Import, name string) error {
	switch name {
	case "numbers":
		return im.Dialect.Set(name, "")
	case "append":
		im.Append = true
	case "replace":
		im.Replace = true
	case "if-missing":
		im.IfMissing = true
	case "csv":
		im.Dialect.Comma = ','
	case "tsv":
		im.Dialect.Comma = '\t'
	default:
		return sqlerr.New(sqlerr.Invalid, ".import has no switch --%s", name).
			WithHint("the switches are --csv, --tsv, --separator, --quote, --decimal, --null, --skip, --skip-last, --encoding, --date, --columns, --numbers, --append, --replace and --if-missing")
	}
	return nil
}

// chart draws the last answer on the screen.
func (r *runner) chart(_ context.Context, args []string) error {
	s, err := render.NewSeries(r.last, strings.Join(args, ""))
	if err != nil {
		return err
	}
	if err := s.Chart(r.console.out, r.console.width()); err != nil {
		return cannotWrite(err)
	}
	return r.console.flush()
}

// plot draws the last answer into an SVG file.
func (r *runner) plot(_ context.Context, args []string) error {
	if !strings.HasSuffix(strings.ToLower(args[0]), ".svg") {
		return sqlerr.New(sqlerr.Invalid, "a plot is written as SVG").WithHint(".plot counts.svg")
	}
	s, err := render.NewSeries(r.last, strings.Join(args[1:], ""))
	if err != nil {
		return err
	}
	if err := writeFile(r.path(args[0]), s.Plot); err != nil {
		return err
	}
	return r.console.report("drew " + s.Name + " into " + args[0])
}

// output sends further results into a file, or back to the screen.
func (r *runner) output(_ context.Context, args []string) error {
	r.console.each = ""
	if len(args) == 0 || args[0] == "stdout" {
		return r.console.restore()
	}
	path := r.path(args[0])
	return r.console.redirect(path, render.OfFile(path, r.console.format), false)
}

// once sends the next result into a file.
func (r *runner) once(_ context.Context, args []string) error {
	path := r.path(args[0])
	return r.console.redirect(path, render.OfFile(path, r.console.format), true)
}
