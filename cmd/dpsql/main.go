// Command dpsql asks differentially private questions of an SQLite database from
// a shell, a script or a command line. It parses its arguments, cuts scripts into
// statements, hands each to dpsql/engine and renders the result. It knows nothing
// of privacy.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/mattn/go-isatty"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/cmd/dpsql/internal/terminal"
	"dpsql/engine"
	"dpsql/internal/importer"
	"dpsql/query"
	"dpsql/sqlerr"
)

func main() {
	os.Exit(run(os.Args[1:], system()))
}

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1   // a statement failed, or a file could not be read
	exitUsage  = 2   // the command line makes no sense
	exitBudget = 3   // the budget cannot pay for a statement
	exitSignal = 128 // and the number of the signal that ended the run
)

// run carries out a command line and returns the exit status.
func run(args []string, s streams) int {
	if len(args) > 0 {
		switch {
		case args[0] == "audit":
			return runAudit(args[1:], s)
		case args[0] == "serve":
			return runServe(args[1:], s)
		case args[0] == "web":
			return runWeb(args[1:], s)
		case args[0] == "help" && len(args) > 1 && args[1] == "web":
			return show(s, webHelp)
		case args[0] == "verify":
			return runVerify(args[1:], s)
		case args[0] == "help" && len(args) > 1 && args[1] == "audit":
			return show(s, auditHelp)
		case args[0] == "help" && len(args) > 1 && args[1] == "serve":
			return show(s, serveHelp)
		case args[0] == "help" && len(args) > 1 && args[1] == "verify":
			return show(s, verifyHelp)
		case args[0] == "help":
			return show(s, usageText())
		case args[0] == "version":
			return show(s, versionText())
		}
	}
	o, err := parseFlags(args)
	c := newConsole(s, o.format)
	c.quiet = o.quiet
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
	if failed, ok := err.(statusError); ok { // its errors were reported
		return int(failed)
	}
	c.fail(err)
	return statusOf(err)
}

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	var stopped stoppedError
	switch {
	case errors.As(err, &stopped):
		return exitSignal + int(stopped.signal)
	case sqlerr.CodeOf(err) == sqlerr.Budget:
		return exitBudget
	}
	return exitFailed
}

// statusError is the exit status of a script that went on after its errors, which were reported.
type statusError int

func (statusError) Error() string { return "a statement failed" }

// stoppedError is the error of a run that a signal ended.
type stoppedError struct {
	error
	signal syscall.Signal
}

func (s stoppedError) Unwrap() error { return s.error }

// stopped says of an error that a signal was its cause, if one was.
func stopped(ctx context.Context, err error) error {
	var s terminal.Signalled
	if sqlerr.CodeOf(err) != sqlerr.Cancelled || !errors.As(context.Cause(ctx), &s) {
		return err
	}
	number, _ := s.Signal.(syscall.Signal)
	return stoppedError{err, number}
}

// work opens the database and runs the statement, the script or the shell.
func work(o options, s streams, c *console) (err error) {
	scripts, err := openScripts(o.scripts, s.in)
	if err != nil {
		return err
	}
	defer scripts.close()
	if err := missing(o.database); err != nil {
		return err
	}
	db, err := engine.Open(o.database, engine.Options{Role: o.role, ReadOnly: o.readonly})
	if err != nil {
		return noDatabase(o.database, err)
	}
	defer func() {
		if cerr := db.Close(); cerr != nil && (err == nil || errors.Is(err, errQuit)) {
			err = cerr
		}
	}()
	if err := c.send(o); err != nil {
		return err
	}
	defer func() {
		if cerr := c.restore(); cerr != nil && (err == nil || errors.Is(err, errQuit)) {
			err = cerr
		}
	}()
	ctx, stop := terminal.UntilSignal(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	session := db.NewSession()
	r := &runner{session: session, role: o.role, console: c, args: o.args, explain: o.explain}
	if !o.hasSQL && len(scripts) == 0 && s.interactive() {
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
	if !o.hasSQL && len(scripts) == 0 {
		scripts = append(scripts, script{stdin, s.in})
	}
	return stopped(ctx, r.batch(ctx, o, scripts))
}

// hasRows reports whether a file is one of rows, by its name without .gz, and returns the ending.
func hasRows(path string) (ending string, ok bool) {
	ending = filepath.Ext(strings.TrimSuffix(path, ".gz"))
	return ending, slices.Contains([]string{".csv", ".tsv", ".txt", ".parquet"}, strings.ToLower(ending))
}

// missing refuses to make a database with the name of a file of rows.
func missing(path string) error {
	if _, ok := hasRows(path); !ok {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return sqlerr.New(sqlerr.IO, "file %s does not exist", path).WithHint("a new database is named so that it is no file of rows: dpsql my.db")
	case err == nil && !info.Mode().IsRegular() && !info.IsDir():
		return sqlerr.New(sqlerr.IO, "%s is no ordinary file", path)
	case err == nil && info.Size() == 0:
		return sqlerr.New(sqlerr.IO, "file %s is empty", path).WithHint("there are no rows to import, and a new database is named otherwise: dpsql my.db")
	}
	return nil
}

// databases are endings of names under which a file is taken for a damaged database.
var databases = []string{"", ".db", ".db3", ".sqlite", ".sqlite3"}

// noDatabase says of a file of rows that was named in place of a database what to type instead.
func noDatabase(path string, err error) error {
	var e *sqlerr.Error
	ending, ok := hasRows(path)
	if !errors.As(err, &e) || e.Code != sqlerr.Corrupt || slices.Contains(databases, strings.ToLower(ending)) {
		return err
	}
	if refused := importer.NoTable(path); refused != nil {
		return refused
	} else if !ok {
		return err
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ending)
	table := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, filepath.Base(stem))
	return e.WithHint("its rows can be imported into a database: type dpsql %s, and there .import %s %s", inQuotes(stem+".db"), inQuotes(path), table)
}

// inQuotes returns a file name as a shell and .import take it.
func inQuotes(path string) string {
	if strings.ContainsAny(path, " \"$&();<>|*?`\\") {
		return "'" + path + "'"
	}
	return path
}

// batch runs a statement or scripts, one after the other.
func (r *runner) batch(ctx context.Context, o options, scripts scripts) (err error) {
	if o.hasSQL {
		err = r.script(ctx, "", strings.NewReader(o.sql))
	}
	for i := 0; i < len(scripts) && err == nil; i++ {
		err = r.scriptIn(ctx, scripts[i].name, scripts[i].in)
	}
	if r.rehearsal != nil && (err == nil || errors.Is(err, errQuit)) {
		err = r.total()
	}
	if r.failed != exitOK && (err == nil || errors.Is(err, errQuit)) {
		return statusError(r.failed)
	}
	return err
}

// startShell runs a shell on the process's terminal.
func startShell(ctx context.Context, r *runner, database string) error {
	r.pages(true)
	return r.talk(ctx, database, terminal.NewEditor(terminal.Config{
		Database: database, Commands: commandNames(), Formats: formatNames(),
		Vocabulary: r.session.Vocabulary, Color: r.console.color, Confined: r.role != engine.Curator,
	}))
}

// talk runs a shell until the person leaves or ctx is done. An error ends a
// statement, never the shell.
func (r *runner) talk(ctx context.Context, database string, e terminal.Editor) error {
	if !r.console.quiet {
		if err := r.console.print(r.banner(database)); err != nil {
			e.Close()
			return err
		}
	}
	shell := terminal.NewShell(e)
	r.session.SetConfirm(func(warning string) bool {
		defer r.console.pauseProgress()()
		r.console.notice("warning: " + render.Visible(warning))
		r.console.flush()
		return shell.Confirm("run it anyway? [y/N] ")
	})
	r.ask = func(question string) bool {
		r.console.flush()
		return shell.Confirm(question)
	}
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
	parts := []string{"dpsql " + engine.Version(), render.Visible(database)}
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

// options are what a command line asks for.
type options struct {
	database string
	sql      string // run this, when hasSQL
	hasSQL   bool
	scripts  []string      // run these files; "-" is standard input
	output   string        // write results into this file, or with %n each into its own; "" is standard output
	quiet    bool          // say nothing but results, warnings and errors
	format   render.Format // "" if none was named
	role     engine.Role
	readonly bool
	explain  bool
	assigned []string // name=value, for args
	args     arguments
	version  bool
	help     bool
}

// parseFlags parses the arguments after the program's name. Flags may stand
// before, between and after the database and the statement; after "--" nothing is
// a flag. An error means wrong usage. The options then hold what was read up to
// it, so that the error can be written in the format asked for.
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
	return o, o.takeWords(words)
}

func (o *options) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("dpsql", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Func("f", "", func(path string) error { o.scripts = append(o.scripts, path); return nil })
	fs.StringVar(&o.output, "o", "", "")
	fs.BoolVar(&o.quiet, "q", false, "")
	fs.BoolVar(&o.readonly, "readonly", false, "")
	fs.BoolVar(&o.explain, "explain", false, "")
	fs.Func("v", "", func(text string) error { o.assigned = append(o.assigned, text); return nil })
	fs.BoolVar(&o.version, "version", false, "")
	fs.BoolVar(&o.help, "help", false, "")
	fs.StringVar((*string)(&o.role), "role", string(o.role), "")
	fs.StringVar((*string)(&o.format), "format", "", "")
	for _, f := range []render.Format{render.JSON, render.CSV, render.Markdown} {
		fs.BoolFunc(string(f), "", o.formatSwitch(f))
	}
	return fs
}

// formatSwitch returns the function of a short form: -json for -format json.
func (o *options) formatSwitch(f render.Format) func(string) error {
	return func(value string) error {
		on, err := strconv.ParseBool(value)
		if err == nil && on {
			o.format = f
		}
		return err
	}
}

// positional returns the arguments that are not flags. An argument that begins
// with an SQL comment, such as "-- all of them", is a statement.
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

// check refuses flags with values that make no sense, and reads those of -v.
func (o *options) check() error {
	if o.format != "" {
		if _, err := render.ParseFormat(string(o.format)); err != nil {
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

// takeWords takes the arguments that are not flags: a database and a statement.
func (o *options) takeWords(words []string) error {
	switch {
	case len(words) == 0 || words[0] == "":
		return sqlerr.New(sqlerr.Invalid, "no database is named").
			WithHint("dpsql clinic.db opens a shell on that file; dpsql help shows the rest")
	case len(words) > 2:
		return sqlerr.New(sqlerr.Invalid, "%d arguments follow the database, where one statement may stand", len(words)-1).
			WithHint("quote the whole statement: dpsql clinic.db 'SELECT COUNT(*) FROM t'")
	case len(words) == 2 && len(o.scripts) > 0:
		return sqlerr.New(sqlerr.Invalid, "both -f and a statement are given").
			WithHint("put the statement into the script")
	}
	o.database = words[0]
	if len(words) == 2 {
		o.sql, o.hasSQL = words[1], true
	}
	return nil
}

// flagError returns an error of package flag in dpsql's words.
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

// arguments are the values of named parameters, from -v and .parameter. They are
// values and not text, so nothing in them can change the meaning of a statement.
type arguments map[string]query.Value

// assign sets name to value. A value that reads as an integer is one, NULL is
// NULL, and anything else is a text, with or without SQL's quotes.
func (a arguments) assign(name, value string) error {
	name = strings.TrimLeft(name, ":@$")
	if !isParameterName(name) {
		return sqlerr.New(sqlerr.Invalid, "%q is not a name for a parameter", name).
			WithHint("a name has letters, digits and _, and stands as :name in a statement")
	}
	a[name] = argumentValue(value)
	return nil
}

func isParameterName(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

func argumentValue(text string) query.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return query.Int(n)
	}
	if strings.EqualFold(text, "NULL") {
		return query.Null()
	}
	if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
		text = strings.ReplaceAll(text[1:n-1], "''", "'")
	}
	return query.Text(text)
}

// forStatement returns the arguments of a statement in the order of its
// parameters.
func (a arguments) forStatement(statement string) ([]query.Value, error) {
	names, err := engine.Parameters(statement)
	if err != nil || len(names) == 0 {
		return nil, nil // running the statement gives the better error
	}
	values := make([]query.Value, len(names))
	for i, name := range names {
		v, ok := a[name]
		switch {
		case name == "":
			return nil, sqlerr.New(sqlerr.Invalid, "the statement has a parameter without a name").
				WithHint("write :name, and give it a value by -v name=value or .parameter set name value")
		case !ok:
			return nil, sqlerr.New(sqlerr.Invalid, "the parameter :%s has no value", name).
				WithHint("give it one by -v %s=value or .parameter set %s value", name, name)
		}
		values[i] = v
	}
	return values, nil
}

// names returns the names of the parameters in order.
func (a arguments) names() []string { return slices.Sorted(maps.Keys(a)) }

const usage = `dpsql asks differentially private questions of an SQLite database.

usage: dpsql [flags] DB [SQL]     run SQL, or the script on standard input; on a terminal, open a shell
       dpsql [flags] -f FILE DB   run a script, or several, in order
       dpsql serve [flags] DB     answer clients of PostgreSQL, such as psql: see dpsql help serve
       dpsql web [flags] DB       open the console in a browser of this machine: see dpsql help web
       dpsql verify PAGE [DB]     hold a page that EXPORT RELEASE wrote to what was written: see dpsql help verify
       dpsql audit [flags]        test the privacy that dpsql claims: see dpsql help audit
       dpsql help [serve | web | verify | audit] | version

Flags may stand before or after DB.

  -f FILE                        run the statements of FILE ("-" is standard input); may be repeated
  -o FILE                        write results into FILE; %n in its name is the number of the result, each in a file of its own
  -q                             write results, warnings and errors, and nothing else
  -v NAME=VALUE                  give :NAME, or the name :"NAME", a value in the statements; may be repeated
  -explain                       show what each statement would do and cost, and the total; spend nothing
  -format FORMAT                 table, csv, json or markdown (default: table on a terminal, else csv)
  -json, -csv, -markdown         short for -format json, csv, markdown
  -role ROLE                     curator (default), or analyst, who may only ask
  -readonly                      refuse every write to the file
  -version                       print the version
  -help                          print this text

The exit status is 0; 1 if a statement failed (a script stops there, but for .bail off); 2 if the usage is wrong;
3 if a statement failed because the budget is out; or 130 and 143 after SIGINT and SIGTERM.
If a database is named like a sub-command, write it with its folder: dpsql ./help
Rows may also be in PostgreSQL. CREATE SOURCE name USING POSTGRES WITH (dsn_env = 'VARIABLE') names the
environment variable that holds the connection string.

In the shell, in scripts and on standard input:

`

// usageText returns the text of dpsql help.
func usageText() string { return usage + commandHelp() }

func versionText() string {
	return fmt.Sprintf("dpsql %s %s %s/%s\n", engine.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
