package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"dpsql/engine"
	"dpsql/internal/audit"
	"dpsql/sqlerr"
)

// auditUnits are the rows of a unit, L, with which every mechanism is audited.
var auditUnits = [...]int64{1, 4}

// auditOptions are what the command line of an audit asks for.
type auditOptions struct {
	audit.Options
	format format
	help   bool
}

// auditing carries out "audit" and "help audit"; false for any other command
// line.
func auditing(args []string, s streams) (status int, ok bool) {
	switch {
	case len(args) > 1 && args[0] == "help" && args[1] == "audit":
		c := newConsole(s, "")
		return finish(c, c.print(auditHelp)), true
	case len(args) == 0 || args[0] != "audit":
		return 0, false
	}
	o, err := parseAuditFlags(args[1:])
	c := newConsole(s, o.format)
	switch {
	case err != nil:
		c.fail(err)
		return exitUsage, true
	case o.help:
		return finish(c, c.print(auditHelp)), true
	}
	return finish(c, guard(func() error { return o.run(c) })), true
}

func parseAuditFlags(args []string) (auditOptions, error) {
	o := auditOptions{format: formatTable}
	o.Runs, o.Confidence = audit.DefaultRuns, audit.DefaultConfidence
	fs := flag.NewFlagSet("dpsql audit", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.Runs, "runs", o.Runs, "")
	fs.Float64Var(&o.Confidence, "confidence", o.Confidence, "")
	fs.BoolFunc("json", "", func(value string) error {
		on, err := strconv.ParseBool(value)
		if on {
			o.format = formatJSON
		}
		return err
	})
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		o.help = true
		return o, nil
	case err != nil:
		return o, auditUsage(flagError(err))
	case fs.NArg() > 0:
		return o, auditUsage(sqlerr.New(sqlerr.Invalid, "an audit takes no arguments besides its flags"))
	}
	if err := o.Check(); err != nil {
		return o, auditUsage(err)
	}
	return o, nil
}

func auditUsage(err error) error {
	return public(err).WithHint("dpsql help audit explains the flags")
}

// run audits every mechanism and writes what was found. A violation is an
// error, so that the exit status says it.
func (o auditOptions) run(c *console) error {
	var cases []audit.Case
	for _, unit := range auditUnits {
		more, err := audit.Cases(unit)
		if err != nil {
			return err
		}
		cases = append(cases, more...)
	}
	return o.runOn(cases, c)
}

func (o auditOptions) runOn(cases []audit.Case, c *console) error {
	ctx, stop := untilSignal(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if c.errTTY {
		o.Progress = progressOn(c.err)
	}
	start := time.Now()
	results, err := audit.Run(ctx, cases, o.Options)
	if c.errTTY {
		io.WriteString(c.err, clearLine)
	}
	if err != nil {
		return err
	}
	if err := c.result("", auditTable(results, c.format)); err != nil {
		return err
	}
	return o.verdict(results, time.Since(start), c)
}

// verdict says how it went in a line for people, and fails on a violation.
func (o auditOptions) verdict(results []audit.Result, took time.Duration, c *console) error {
	violations := 0
	for _, r := range results {
		if !r.Violation() {
			continue
		}
		if violations++; c.format.forPeople() {
			c.line(fmt.Sprintf("VIOLATION of %s: %s has probability %.4g or more on one database and %.4g or less on its neighbour",
				r.Case.Name, r.Event.What, r.Event.Low, r.Event.High))
		}
	}
	if violations > 0 {
		return sqlerr.New(sqlerr.Internal, "the audit refutes %s of %s, at confidence %s", plural(int64(violations), "claim"),
			strconv.Itoa(len(results)), number(o.Confidence)).
			WithHint("a correct dpsql fails so once in %.0f audits: run it again with more -runs before you report it", 1/(1-o.Confidence))
	}
	if c.format.forPeople() {
		c.line(fmt.Sprintf("no claim refuted at confidence %s · %s · dpsql help audit says what that shows", number(o.Confidence), duration(took)))
	}
	return c.flush()
}

// clearLine returns to the beginning of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

// progressOn shows what is being audited on a line of the terminal.
func progressOn(w io.Writer) func(name string, done, total int) {
	shown := ""
	return func(name string, done, total int) {
		text := fmt.Sprintf("%s%3d %%  %s", clearLine, 100*done/max(total, 1), name)
		if text != shown {
			io.WriteString(w, text)
			shown = text
		}
	}
}

// auditTable lists the results. In json the events and the times are there,
// too.
func auditTable(results []audit.Result, f format) *engine.Result {
	table := &engine.Result{Columns: []engine.Column{
		{Name: "mechanism", Type: "TEXT"}, {Name: "unit", Type: "INTEGER"},
		{Name: "epsilon", Type: "REAL"}, {Name: "delta", Type: "REAL"},
		{Name: "bound", Type: "REAL"}, {Name: "runs", Type: "INTEGER"}, {Name: "verdict", Type: "TEXT"},
	}}
	if f == formatJSON {
		for _, name := range []string{"event", "likelier_on", "at_least", "at_most", "seconds"} {
			table.Columns = append(table.Columns, engine.Column{Name: name})
		}
	}
	for _, r := range results {
		verdict, likelier := "ok", "D"
		if r.Violation() {
			verdict = "VIOLATION"
		}
		if r.Event.Changed {
			likelier = "D'"
		}
		row := []any{r.Case.Name, r.Case.Unit, upTo(r.Case.Claim.Epsilon), r.Case.Claim.Delta, downTo(r.Bound), int64(r.Runs), verdict}
		if f == formatJSON {
			row = append(row, r.Event.What, likelier, r.Event.Low, r.Event.High, r.Took.Seconds())
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// upTo and downTo round to four places, a claim up and a bound down, so that a
// violation that rounding hides is only one too small to see.
func upTo(x float64) float64 { return math.Ceil(x*1e4-1e-6) / 1e4 }

func downTo(x float64) float64 { return math.Floor(x*1e4) / 1e4 }
