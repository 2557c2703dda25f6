// The command bench measures every mechanism of dpsql, those of the paper and their
// baselines on the same data. Each experiment writes its tables as CSV files, in which each
// row names the commit at which it was measured:
//
//	go run ./bench               all experiments, into bench/results; and the pages and plots of docs from there
//	go run ./bench adult build   some of them
//	go run ./bench -quick adult  small: to see that it works; prints, and writes nothing unless -o is given
//	go run ./bench -scale        the experiments of docs/scale.md: growth with the rows, in files and in PostgreSQL
//	go run ./bench -redraw       nothing is measured: the pages and plots of docs, from bench/results
//
// Data sets are drawn with the seed of -seed. The noise is that of the product, from
// crypto/rand, so figures differ from run to run within their confidence intervals.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	b := &bench{progress: progress, start: time.Now(), commit: commit()}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.Usage = func() {
		fmt.Fprintf(progress, "usage: bench [flags] [experiment …]\nThe experiments are %s; with -scale %s.\n",
			strings.Join(names(experiments), ", "), strings.Join(names(scaleExperiments), ", "))
		flags.PrintDefaults()
	}
	flags.BoolVar(&b.quick, "quick", false, "small sizes and two repetitions: to see that it works")
	flags.Uint64Var(&b.seed, "seed", 20110101, "of the data that is drawn")
	flags.IntVar(&b.reps, "reps", 10, "repetitions of every measurement of error")
	flags.StringVar(&b.testdata, "testdata", "testdata", "where the real tables lie")
	scale := flags.Bool("scale", false, "all experiments of docs/scale.md")
	flags.IntVar(&b.upto, "rows", 100_000_000, "the most rows of the experiments of docs/scale.md")
	flags.StringVar(&b.flights, "flights", "", "a file of flights with origin, destination and delay: by default the testdata's, or the 3,000,000 of data/flights-3m.parquet in the npm package vega-datasets")
	redrawn := flags.Bool("redraw", false, "measure nothing: write the pages and plots of docs from "+resultsDir)
	dir := flags.String("o", "", "write the CSV files into this folder, and no pages; by default into "+resultsDir+", unless -quick is given")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *redrawn {
		return redraw(resultsDir, docsDir)
	}
	if b.flights == "" {
		b.flights = b.ownFlights()
	}
	if b.quick {
		b.reps, b.upto = min(b.reps, 2), min(b.upto, 10_000)
	}
	chosen, err := choose(flags.Args(), *scale)
	if err != nil {
		return err
	}
	to, pages := *dir, ""
	if to == "" && !b.quick {
		to, pages = resultsDir, docsDir
	}
	if err := b.runAll(chosen, to, out); err != nil || pages == "" {
		return err
	}
	return redraw(to, pages)
}

// choose returns the experiments of these names. Without names it returns all, or all of
// docs/scale.md.
func choose(list []string, scale bool) ([]experiment, error) {
	if len(list) == 0 {
		if scale {
			return scaleExperiments, nil
		}
		return experiments, nil
	}
	all := slices.Concat(experiments, scaleExperiments)
	var chosen []experiment
	for _, name := range list {
		i := slices.IndexFunc(all, func(e experiment) bool { return e.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no experiment %q: there are %s", name, strings.Join(names(all), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// runAll runs the experiments one after the other. Each is printed, and stored in the
// folder, if there is one, when it is done.
func (b *bench) runAll(chosen []experiment, dir string, out io.Writer) error {
	b.note("seed of the data %d, %d repetitions", b.seed, b.reps)
	for _, e := range chosen {
		b.note("%s", e.name)
		s := &report.Section{Name: e.name, Title: e.title}
		start := time.Now()
		if err := e.run(b, s); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		s.Say("%s", b.made(e.name, time.Since(start)))
		if err := s.Markdown(out); err != nil {
			return err
		}
		if dir == "" {
			continue
		}
		if err := store(s, dir, b.commit); err != nil {
			return err
		}
	}
	return nil
}

// made says by which command a section was made, when and on what machine. Experiments can
// be run at different times.
func (b *bench) made(name string, took time.Duration) string {
	command := "go run ./bench "
	if b.quick {
		command += "-quick "
	}
	if name == "flights" && b.flights != b.ownFlights() {
		command += "-flights " + filepath.Base(b.flights) + " "
	}
	where := fmt.Sprintf("%s, %d cores, %s, %s/%s%s", cpu(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, load())
	return fmt.Sprintf("`%s%s` at commit %s (%.0f s; seed %d, %d repetitions; %s). Times of answers and builds are "+
		"the least of several, in %s.", command, name, b.commit, took.Seconds(), b.seed, b.reps, where, aboutClock)
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
	commit   string // of the tree that is measured
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
