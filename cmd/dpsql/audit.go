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

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/cmd/dpsql/internal/terminal"
	"dpsql/engine"
	"dpsql/internal/answerjson"
	"dpsql/internal/audit"
	"dpsql/internal/exporter"
	"dpsql/sqlerr"
)

// auditUnits are the sizes L of a unit, in rows, with which mechanisms are audited.
var auditUnits = [...]int64{1, 4}

// auditOptions are what the command line of an audit asks for.
type auditOptions struct {
	audit.Options
	format render.Format
	help   bool
}

// runAudit carries out dpsql audit and returns the exit status.
func runAudit(args []string, s streams) int {
	o, err := parseAuditFlags(args)
	c := newConsole(s, o.format)
	switch {
	case err != nil:
		c.fail(err)
		return exitUsage
	case o.help:
		return show(s, auditHelp)
	}
	return finish(c, sqlerr.Guard(func() error { return o.run(c) }))
}

func parseAuditFlags(args []string) (auditOptions, error) {
	o := auditOptions{format: render.Table}
	o.Runs, o.Confidence = audit.DefaultRuns, audit.DefaultConfidence
	fs := flag.NewFlagSet("dpsql audit", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.Runs, "runs", o.Runs, "")
	fs.Float64Var(&o.Confidence, "confidence", o.Confidence, "")
	fs.BoolFunc("json", "", func(value string) error {
		on, err := strconv.ParseBool(value)
		if on {
			o.format = render.JSON
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
		return o, auditUsage(sqlerr.New(sqlerr.Invalid, "an audit takes flags and no arguments"))
	}
	if err := o.Check(); err != nil {
		return o, auditUsage(err)
	}
	return o, nil
}

func auditUsage(err error) error {
	return answerjson.Public(err).WithHint("dpsql help audit explains the flags")
}

// run audits every mechanism and writes the results. A violation is an error, so
// that the exit status shows it.
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
	ctx, stop := terminal.UntilSignal(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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

// verdict writes the outcome for people, and returns an error for a violation.
func (o auditOptions) verdict(results []audit.Result, took time.Duration, c *console) error {
	violations := 0
	for _, r := range results {
		if !r.Violation() {
			continue
		}
		if violations++; c.format.ForPeople() {
			c.line(fmt.Sprintf("VIOLATION of %s: %s has probability %.4g or more on one database and %.4g or less on its neighbour",
				r.Case.Name, r.Event.What, r.Event.Low, r.Event.High))
		}
	}
	if violations > 0 {
		return sqlerr.New(sqlerr.Internal, "the audit refutes %s of %s, at confidence %s", render.Plural(int64(violations), "claim"),
			strconv.Itoa(len(results)), exporter.Number(o.Confidence)).
			WithHint("a correct dpsql fails one audit in %.0f: run it again with more -runs before you report it", 1/(1-o.Confidence))
	}
	if c.format.ForPeople() {
		c.line(fmt.Sprintf("no claim refuted at confidence %s · %s · dpsql help audit says what that shows", exporter.Number(o.Confidence), render.Duration(took)))
	}
	return c.flush()
}

// clearLine empties a line of a terminal and returns to its beginning.
const clearLine = "\r\x1b[K"

// progressOn returns a function that shows the running audit on a line of the
// terminal.
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

// auditTable returns the results as a table. In JSON it also has the events and the
// times.
func auditTable(results []audit.Result, f render.Format) *engine.Result {
	table := &engine.Result{Columns: []engine.Column{
		{Name: "mechanism", Type: "TEXT"}, {Name: "unit", Type: "INTEGER"},
		{Name: "epsilon", Type: "REAL"}, {Name: "delta", Type: "REAL"},
		{Name: "bound", Type: "REAL"}, {Name: "runs", Type: "INTEGER"}, {Name: "verdict", Type: "TEXT"},
	}}
	if f == render.JSON {
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
		if f == render.JSON {
			row = append(row, r.Event.What, likelier, r.Event.Low, r.Event.High, r.Took.Seconds())
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// upTo and downTo round to four places. A claim is rounded up and a bound down, so
// that rounding never shows a violation where there is none.
func upTo(x float64) float64 { return math.Ceil(x*1e4-1e-6) / 1e4 }

func downTo(x float64) float64 { return math.Floor(x*1e4) / 1e4 }

// auditHelp is what "dpsql help audit" prints.
const auditHelp = `dpsql audit tests the privacy that dpsql claims, and tries to refute it.

usage: dpsql audit [-runs N] [-confidence C] [-json]

An audit opens no database. It runs each mechanism N times on a small database D of its own, and N times
on a neighbour D' that differs in one unit, of 1 row and of 4. It uses the samplers and the randomness
that make answers. It looks for an event that is more likely on one of the two than the claimed epsilon
and delta allow. For every mechanism it prints the claim, and a lower bound on epsilon that the runs
prove at confidence C. A bound above the claim refutes it: VIOLATION.

  -runs N                        runs on each database, 1000 to 20000000
                                 (default 120000, which takes under a minute on two cores)
  -confidence C                  confidence of all bounds together (default 0.999)
  -json                          print one line of JSON, with the events found and the times

The event is chosen on one half of the runs and counted on the other. The bound is ln((p - delta) / q),
where p is the lower confidence limit of its probability on one database, and q the upper limit on the
other (Clopper and Pearson), in both directions. If theory names the worst event, it is tried as well.

An audit can show that a claim is wrong. It accuses a correct dpsql with probability 1 - C at most.

An audit cannot show that dpsql is private. It tries one pair of databases and one setting a mechanism,
and sees only events that happen in N runs: not a leak of probability 1e-6, and not one through running
time. A bound far below its claim does not mean that the claim is loose: other databases may come nearer,
and claims by composition are conservative. Privacy is shown by the proofs that the documentation cites.
An audit guards against code that does not do what was proved. It does not cover the charging of the
budget or the reading of rows.

The exit status is 0, or 1 if a claim is refuted or the audit fails, or 2 if the usage is wrong.
`
