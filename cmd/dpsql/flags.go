package main

import (
	"errors"
	"flag"
	"io"
	"strconv"
	"strings"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// options are what the command line asks for.
type options struct {
	database string
	sql      string // run this, when hasSQL
	hasSQL   bool
	script   string // run this file; "-" is standard input
	format   format // "" when none was named
	role     engine.Role
	readonly bool
	explain  bool
	assigned []string // name=value, for args
	args     arguments
	version  bool
	help     bool
}

// parseFlags reads the arguments after the program's name. Flags may stand
// before, between and after the database and the statement; after "--" nothing
// is a flag. An error is a wrong usage; the options then hold what was read up
// to it, so that the error can be written in the format asked for.
func parseFlags(args []string) (options, error) {
	o := options{role: engine.Curator, args: make(arguments)}
	words, err := positional(o.flagSet(), args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		o.help = true
	case err != nil:
		return o, flagError(err)
	}
	if o.help || o.version {
		return o, nil
	}
	if err := o.check(); err != nil {
		return o, err
	}
	return o, o.name(words)
}

func (o *options) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("dpsql", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.script, "f", "", "")
	fs.BoolVar(&o.readonly, "readonly", false, "")
	fs.BoolVar(&o.explain, "explain", false, "")
	fs.Func("v", "", func(text string) error { o.assigned = append(o.assigned, text); return nil })
	fs.BoolVar(&o.version, "version", false, "")
	fs.BoolVar(&o.help, "help", false, "")
	fs.StringVar((*string)(&o.role), "role", string(o.role), "")
	fs.StringVar((*string)(&o.format), "format", "", "")
	for _, f := range []format{formatJSON, formatCSV, formatMarkdown} {
		fs.BoolFunc(string(f), "", o.formatSwitch(f))
	}
	return fs
}

// formatSwitch is the short form of -format: -json for -format json.
func (o *options) formatSwitch(f format) func(string) error {
	return func(value string) error {
		on, err := strconv.ParseBool(value)
		if err == nil && on {
			o.format = f
		}
		return err
	}
}

// positional returns the arguments that are not flags. One that begins with a
// comment of SQL is a statement.
func positional(fs *flag.FlagSet, args []string) ([]string, error) {
	for i, a := range args {
		if len(a) > 2 && strings.HasPrefix(a, "--") && strings.Contains(" \t\r\n", a[2:3]) {
			before, err := positional(fs, args[:i])
			if err != nil {
				return before, err
			}
			after, err := positional(fs, args[i+1:])
			return append(append(before, a), after...), err
		}
		if a == "--" {
			break
		}
	}
	var words []string
	for {
		if err := fs.Parse(args); err != nil {
			return words, err
		}
		rest := fs.Args()
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return append(words, rest...), nil
		}
		if len(rest) == 0 {
			return words, nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}

// check refuses flags whose values make no sense.
func (o *options) check() error {
	if o.format != "" {
		if _, err := parseFormat(string(o.format)); err != nil {
			o.format = ""
			return err
		}
	}
	if o.role != engine.Curator && o.role != engine.Analyst {
		return sqlerr.New(sqlerr.Invalid, "there is no role %q", string(o.role)).
			WithHint("the roles are curator and analyst")
	}
	return o.assign()
}

// assign reads the values of -v.
func (o *options) assign() error {
	for _, text := range o.assigned {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return sqlerr.New(sqlerr.Invalid, "-v takes name=value, not %q", text).
				WithHint("dpsql -v zip=15213 -f script.sql clinic.db")
		}
		if err := o.args.assign(name, value); err != nil {
			return err
		}
	}
	return nil
}

// name assigns the arguments that are not flags.
func (o *options) name(words []string) error {
	switch {
	case len(words) == 0 || words[0] == "":
		return sqlerr.New(sqlerr.Invalid, "no database is named").
			WithHint("dpsql clinic.db opens a shell on that file; dpsql help shows the rest")
	case len(words) > 2:
		return sqlerr.New(sqlerr.Invalid, "%d arguments follow the database, and at most one statement is taken", len(words)-1).
			WithHint("quote the whole statement: dpsql clinic.db 'SELECT COUNT(*) FROM t'")
	case len(words) == 2 && o.script != "":
		return sqlerr.New(sqlerr.Invalid, "both -f and a statement are given").
			WithHint("put the statement into the script")
	}
	o.database = words[0]
	if len(words) == 2 {
		o.sql, o.hasSQL = words[1], true
	}
	return nil
}

// flagError words an error of package flag as dpsql words its own.
func flagError(err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: "); ok {
		text = "there is no flag " + name
	} else if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		text = "the flag " + name + " needs a value"
	} else if strings.HasPrefix(text, "invalid boolean value ") {
		text, _, _ = strings.Cut(text, ": ")
	}
	return sqlerr.New(sqlerr.Invalid, "%s", text).WithHint("dpsql help lists the flags")
}
