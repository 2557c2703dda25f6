// The command bench measures every mechanism of dpsql, those of the paper and three
// baselines on the same data. It writes docs/benchmarks.md with its plots, and the
// figures that docs/choosing.md quotes from it:
//
//	go run ./bench               all experiments
//	go run ./bench -only adult   one of them, to standard output, without plots
//	go run ./bench -only adult -o docs   one of them, in place of its section in docs/benchmarks.md
//	go run ./bench -quick        all of them, small: seconds
//	go run ./bench -redraw       nothing is measured: the plots, from their points in docs/charts.csv
//	go run ./bench -scale        docs/scale.md instead: growth with the rows, in files and in PostgreSQL
//
// Data sets are drawn with the seed of -seed. The noise is that of the product, from
// crypto/rand, so figures differ from run to run within their confidence intervals.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"dpsql/bench/report"
	"dpsql/bench/workload"
)

func main() {
	if child, code := isChild(); child {
		os.Exit(code)
	}
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if err != flag.ErrHelp {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, out, progress io.Writer) error {
	b := &bench{progress: progress, start: time.Now()}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.BoolVar(&b.quick, "quick", false, "small sizes and two repetitions: to see that it works")
	flags.Uint64Var(&b.seed, "seed", 20110101, "of the data that is drawn")
	flags.IntVar(&b.reps, "reps", 10, "repetitions of every measurement of error")
	flags.StringVar(&b.testdata, "testdata", "testdata", "where the real tables lie")
	scale := flags.Bool("scale", false, "the experiments of scale.md: "+strings.Join(names(scaleExperiments), ", "))
	flags.IntVar(&b.upto, "rows", 100_000_000, "the most rows of the experiments of scale.md")
	flags.StringVar(&b.flights, "flights", "", "a file of flights with origin, destination and delay: by default the testdata's, or the 3,000,000 of data/flights-3m.parquet in the npm package vega-datasets")
	redrawn := flags.Bool("redraw", false, "measure nothing: draw the plots again from "+pointsFile)
	only := flags.String("only", "", "experiments, separated by commas: "+strings.Join(names(experiments), ", "))
	dir := flags.String("o", "", "write benchmarks.md, or scale.md, and the plots into this folder (docs, unless -only or -quick is given)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.flights == "" {
		b.flights = b.ownFlights()
	}
	if *redrawn {
		return redraw(cmp.Or(*dir, "docs"))
	}
	kind := benchmarks
	if *scale {
		kind = scaleReport
	}
	chosen, err := choose(*only, kind.of)
	if err != nil {
		return err
	}
	if b.quick {
		b.reps, b.upto = min(b.reps, 2), min(b.upto, 10_000)
	}
	if *dir == "" && !b.quick && *only == "" {
		*dir = "docs"
	}
	sections, err := b.sections(kind, chosen)
	if err != nil {
		return err
	}
	if *dir != "" && *only != "" {
		err = b.replace(kind, sections, *dir)
	} else {
		err = b.publish(kind, sections, *dir, out)
	}
	if err != nil || *dir == "" {
		return err
	}
	if err := redraw(*dir); err != nil { // from the points as they are written, which are rounded
		return err
	}
	return quote(*dir)
}

// choose returns the experiments of a comma-separated list, or all if it is empty.
func choose(list string, of []experiment) ([]experiment, error) {
	if list == "" {
		return of, nil
	}
	var chosen []experiment
	for _, name := range strings.Split(list, ",") {
		found := false
		for _, e := range of {
			if e.name == name {
				chosen, found = append(chosen, e), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no experiment %q: there are %s", name, strings.Join(names(of), ", "))
		}
	}
	return chosen, nil
}

// sections runs the experiments one after the other.
func (b *bench) sections(kind kind, chosen []experiment) ([]*report.Section, error) {
	b.note("seed of the data %d, %d repetitions", b.seed, b.reps)
	var sections []*report.Section
	for _, e := range chosen {
		b.note("%s", e.name)
		s := &report.Section{Name: e.name, Title: e.title}
		start := time.Now()
		if err := e.run(b, s); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		s.Say("%s", b.made(kind, e.name, time.Since(start)))
		sections = append(sections, s)
	}
	return sections, nil
}

// made says by which command a section was made, when and on what machine. The sections
// of a report can be made at different times.
func (b *bench) made(kind kind, name string, took time.Duration) string {
	command := kind.command + " -only " + name
	if b.quick {
		command += " -quick"
	}
	if name == "flights" && b.flights != b.ownFlights() {
		command += " -flights " + filepath.Base(b.flights)
	}
	return fmt.Sprintf("`%s` (%.0f s; seed %d, %d repetitions; %s, %d cores, %s, %s/%s%s)", command, took.Seconds(), b.seed, b.reps,
		cpu(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, load())
}

// ownFlights is the file of flights in the repository.
func (b *bench) ownFlights() string { return filepath.Join(b.testdata, "flights", "flights.csv.gz") }

// note reports progress.
func (b *bench) note(format string, args ...any) {
	fmt.Fprintf(b.progress, "%6.0f s  %s\n", time.Since(b.start).Seconds(), fmt.Sprintf(format, args...))
}

// bench is one run of the command.
type bench struct {
	quick    bool
	seed     uint64
	reps     int
	testdata string
	flights  string // a file of real flights
	progress io.Writer
	start    time.Time
	upto     int      // the largest number of rows of the scale experiments
	known    measured // what the scale experiments have found so far
}

// experiment answers one question. Its name selects it on the command line.
type experiment struct {
	name, title string
	run         func(*bench, *report.Section) error
}

// experiments are in the order of the report.
var experiments = []experiment{
	{"adult", "W2: 5,000 conjunctions on Adult", (*bench).adult},
	{"marginals", "Low-order marginals", (*bench).marginals},
	{"margins", "Margins of fitted tables", (*bench).margins},
	{"predicted", "Errors predicted before they are made", (*bench).predicted},
	{"advised", "Advice, followed", (*bench).advised},
	{"quantiles", "Quantiles of Adult's age", (*bench).quantiles},
	{"chosen", "Where a fit answers in place of its cells", (*bench).chosen},
	{"guard", "Where a fit is blind", (*bench).guard},
	{"covid", "W3: all 34,425 products on Covid", (*bench).covid},
	{"support", "Error against m", (*bench).support},
	{"ratio", "Releases against the exact noise", (*bench).ratio},
	{"queries", "Error against k", (*bench).queries},
	{"wide", "The correlated workload at k = 20,000", (*bench).wide},
	{"parity", "Where pairs of columns say nothing", (*bench).parity},
	{"rows", "Error against n", (*bench).rows},
	{"epsilon", "Error against ε", (*bench).epsilon},
	{"time", "Time against m", (*bench).time},
	{"statement", "Time of a whole statement", (*bench).statement},
	{"universe", "Time and error against |X|", (*bench).universe},
	{"build", "Time to build against n", (*bench).build},
}

func names(of []experiment) (list []string) {
	for _, e := range of {
		list = append(list, e.name)
	}
	return list
}

// size returns the first number in a full run and the second in a quick one.
func size[T any](b *bench, full, quick T) T {
	if b.quick {
		return quick
	}
	return full
}

func (b *bench) adultWorkload() (*workload.Workload, error) {
	w, err := workload.AdultConjunctions(b.testdata + "/adult/adult.csv")
	if err != nil || !b.quick {
		return w, err
	}
	return w.First(200), nil
}

// zipf returns Zipf(1.05) over 2^26 cells, 10⁶ rows.
func (b *bench) zipf() (*workload.Table, error) {
	return workload.Zipf(1.05, size[uint](b, 26, 18), size[int64](b, 1_000_000, 100_000), b.seed)
}

// correlated returns n rows of the correlated table.
func (b *bench) correlated(n int64) (*workload.Table, error) { return workload.Correlated(n, b.seed) }
