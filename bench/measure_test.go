package main

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/noise"
)

// off answers each query with its count plus by, and records how many it was asked.
func off(by int, asked *atomic.Int64) mechanism {
	return mechanism{name: "off", role: rival, answer: func(w *workload.Workload, _ budget, _ *noise.Source) (answers, error) {
		asked.Store(int64(len(w.Queries)))
		return eachAlone(w, func(q workload.Query) (float64, error) { return float64(q.Count) + float64(by), nil })
	}}
}

// TestDistinct repeats a query in a workload. It is asked once, and counts twice.
func TestDistinct(t *testing.T) {
	table, err := workload.Correlated(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Runs(table, []int{5}, []uint64{1}, 30, 1) // a workload of two queries
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{reps: 2, progress: io.Discard}
	var asked atomic.Int64
	results, err := b.compare(w, budget{}, []mechanism{off(7, &asked)})
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; asked.Load() != 2 || r.answered != 30 || r.rms.Mean != 7 || r.max.Mean != 7 {
		t.Errorf("%d queries were asked, %+v", asked.Load(), r.outcome)
	}
}

// TestSearch checks that the setting of smallest RMS is measured and named.
func TestSearch(t *testing.T) {
	table, err := workload.Correlated(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Runs(table, midway, short, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{reps: 3, progress: io.Discard}
	var most atomic.Int64 // the largest number of queries asked in a trial
	m := tuned("off", rival, "B", []int{30, 10, 20}, func(by int) mechanism {
		slow := off(by, &most)
		slow.most = 4
		return slow
	})
	results, err := b.compare(w, budget{}, []mechanism{m})
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.title() != "off, B = 10" || r.rms.Mean != 10 || r.rms.N != 3 || r.brief() != "10 ± 0 (B = 10)" || most.Load() != 4 || r.answered != 4 {
		t.Errorf("%s: %+v", r.title(), r.outcome)
	}
}

// TestUpdatesOff checks that a mechanism that learns is followed by itself without
// updates.
func TestUpdatesOff(t *testing.T) {
	table, err := workload.Correlated(1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Runs(table, midway, short, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	learns := mechanism{name: "SMW", role: ours, answer: func(w *workload.Workload, _ budget, src *noise.Source) (answers, error) {
		a, err := off(10, new(atomic.Int64)).answer(w, budget{}, src)
		before, _ := off(30, new(atomic.Int64)).answer(w, budget{}, src)
		a.learned = &learned{updates: 3, unverified: 1, before: before.counts}
		return a, err
	}}
	b := &bench{reps: 2, progress: io.Discard}
	results, err := b.compare(w, budget{}, []mechanism{learns})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].brief() != "10 ± 0 (3 updates)" || results[1].name != "SMW, updates off" || results[1].brief() != "30 ± 0" || results[0].unverified.Mean != 1 {
		t.Errorf("%+v", results)
	}
}

// TestEarned checks that the sentences about SMW's updates follow from the figures.
func TestEarned(t *testing.T) {
	of := func(name string, rms float64) result {
		return result{mechanism{name: name}, outcome{rms: report.Estimate{Mean: rms, Half: 1}}}
	}
	for want, rms := range map[string][3]float64{
		"The updates earn their keep.":               {10, 20, 30},
		"**SMW's updates lose to its prior:** SMW":   {20, 30, 10},
		"**SMW's updates earn nothing:** SMW made 0": {20, 20, 19},
	} {
		got := earned([]result{of("SMW", rms[0]), of("SMW, updates off", rms[1]), of("all on SMW's prior", rms[2])})
		if !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
