package main

import (
	"io"
	"time"

	"dpsql/bench/report"
	"dpsql/bench/workload"
)

// bench is one run of the command.
type bench struct {
	quick    bool
	seed     uint64
	reps     int
	testdata string
	flights  string // a file of real ones
	progress io.Writer
	start    time.Time
	upto     int      // the most rows of the scale experiments
	known    measured // what those have found
}

// experiment answers one question. Its name selects it on the command line.
type experiment struct {
	name, title string
	run         func(*bench, *report.Section) error
}

// experiments are in the order of the report.
var experiments = []experiment{
	{"adult", "W2: 5,000 conjunctions on Adult", (*bench).adult},
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
