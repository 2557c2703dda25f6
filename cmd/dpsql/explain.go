package main

import (
	"context"
	"strings"

	"dpsql/sqlerr"
)

// explainCommand explains a statement, or every SELECT from now on.
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
	if r.plans != nil {
		return r.rehearse(ctx, text)
	}
	return r.exec(ctx, text)
}

// explained runs a statement of which nothing may be spent, after .explain on: a
// SELECT is explained, what only shows or sets runs, and the rest is named and
// left out.
func (r *runner) explained(ctx context.Context, text string) error {
	run := r.exec
	if r.plans != nil {
		run = r.rehearse
	}
	switch firstWord(text) {
	case "SELECT", "WITH":
		if r.plans == nil { // which writes it itself
			r.console.caption(text)
		}
		return run(ctx, "EXPLAIN "+text)
	case "EXPLAIN", "SHOW", "DESCRIBE", "DESC", "SET":
		return run(ctx, text)
	}
	return r.console.report("not run: " + tag(text))
}

// rehearse writes what a statement of a script would do and cost after those
// before it. Whatever the script itself says of .explain, none of it is run.
func (r *runner) rehearse(ctx context.Context, text string) error {
	values, err := r.args.of(text)
	if err != nil {
		return err
	}
	result, err := r.plans.Plan(ctx, text, values)
	if err != nil {
		return err
	}
	r.console.caption(text)
	return r.console.result(text, result)
}

// total writes what all statements of a script would cost together.
func (r *runner) total() error {
	r.console.caption("all statements together")
	return r.console.result("", r.plans.Total())
}

// firstWord returns the word that a statement starts with, in capitals.
func firstWord(text string) string {
	text = strings.ToUpper(strings.TrimSpace(text))
	if end := strings.IndexFunc(text, func(r rune) bool { return r < 'A' || r > 'Z' }); end >= 0 {
		return text[:end]
	}
	return text
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
	var b strings.Builder
	for _, name := range r.args.names() {
		b.WriteString(":" + name + " = " + visibleText(r.args[name].String()) + "\n")
	}
	return r.console.print(b.String())
}
