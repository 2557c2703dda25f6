package main

import (
	"fmt"
	"math"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/noise"
)

// support plots error against the sparsity m of queries that list cells of
// Zipf(1.05) over 2^26 cells.
func (b *bench) support(s *report.Section) error {
	table, err := b.zipf()
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	k := size(b, 100, 20)
	s.Say(`Zipf(1.05) over 2^26 cells, n = 10⁶ (seed %d); queries that list m cells drawn from the occupied ones; ε = 1, δ = 10⁻⁶. A release answers any number of
queries, the one with heavy cells from 64 MiB, what identity takes; direct answers share the budget among %d. The baselines that hold a weight for each of the 2^26 cells are left out here: see "Time and error against
|X|".`, b.seed, k)
	list := []mechanism{identity(), heavyLight(b.memory(someMemory)), sparse(b.buckets()), gaussianDense(size[uint64](b, 256, 64)), paperDense(size[uint64](b, 256, 64)), directGaussian(), directLaplace(), stability(), zeros()}
	chart := &report.Chart{Name: "error-support", Title: fmt.Sprintf("RMS error against m: Zipf(1.05), 2^26 cells, n = 10⁶, ε = 1, k = %d", k), X: "m", Y: "RMS error in counts"}
	t := &report.Table{Head: append([]string{"m"}, mechanismNames(list)...)}
	t.Head = append(t.Head, "exact noise")
	supports := size(b, []int{1, 4, 16, 64, 256, 1024, 4096}, []int{1, 16})
	parts, err := b.points(table, []workload.Family{workload.Occupied}, supports, func(int) int { return k })
	if err != nil {
		return err
	}
	all, err := b.compareAll(parts, spend, list)
	if err != nil {
		return err
	}
	for i, m := range supports {
		row := []any{m}
		for _, r := range all[i] {
			chart.Add(r.name, float64(m), r.rms)
			row = append(row, r.rms)
		}
		exact := exactNoise(spend, m)
		chart.Refer("exact noise √(m·Var)", float64(m), exact)
		t.Add(append(row, exact)...)
	}
	s.Draw(chart)
	s.Show(t)
	for i, m := range supports {
		s.Say("m = %s: %s", report.Number(float64(m)), verdict(all[i]))
	}
	return nil
}

// buckets is T of the sparse releases.
func (b *bench) buckets() uint64 { return size[uint64](b, 1<<23, 1<<14) }

// exactNoise is √(m·Var DLap(1/ε)): the error of a table of unlimited size.
func exactNoise(spend budget, m int) float64 {
	law, err := noise.NewLaplace(spend.epsilonScale())
	if err != nil {
		return math.NaN()
	}
	return math.Sqrt(float64(m) * law.Variance())
}

func mechanismNames(list []mechanism) (names []string) {
	for _, m := range list {
		names = append(names, m.name)
	}
	return names
}

// ratio tabulates the releases' errors over those of an unlimited table.
func (b *bench) ratio(s *report.Section) error {
	tables, err := b.lines()
	if err != nil {
		return err
	}
	spend, err := newBudget(1)
	if err != nil {
		return err
	}
	s.Say(`RMS error over √(m·Var DLap(1/ε)), that of a noisy count for every cell, at ε = 1, δ = 10⁻⁶, for queries that list m cells drawn from the universe, from the
occupied cells, or half of them by rows. The aim is at most 1.10 for the first two, 1.20 for the third, and 1.02 for identity. Heavy and light are the product's defaults: at most 256 MiB.`)
	t := &report.Table{Head: []string{"table", "mechanism", "cells drawn", "m = 1", "m = 16", "m = 256", "m = 4096"}}
	for _, table := range tables {
		list := []mechanism{heavyLight(b.memory(fullMemory)), sparse(b.buckets())}
		if table.Size() <= 1<<26 {
			list = append(list, identity())
		}
		b.note(" %s", table.Name)
		if err := b.ratios(t, table, list, spend); err != nil {
			return err
		}
	}
	s.Show(t)
	return nil
}

// ratios adds a row for each mechanism and family of queries.
func (b *bench) ratios(t *report.Table, table *workload.Table, list []mechanism, spend budget) error {
	families := []workload.Family{workload.Uniform, workload.Occupied, workload.ByRows}
	supports := []int{1, 16, 256, 4096}
	parts, err := b.points(table, families, supports, func(m int) int { return size(b, max(400, 1<<17/m), 10) })
	if err != nil {
		return err
	}
	all, err := b.compareAll(parts, spend, list)
	if err != nil {
		return err
	}
	for i, f := range families {
		for j, m := range list {
			row := []any{table.Name, m.name, string(f)}
			for k, support := range supports {
				rms, exact := all[i*len(supports)+k][j].rms, exactNoise(spend, support)
				row = append(row, report.Estimate{Mean: rms.Mean / exact, Half: rms.Half / exact, N: rms.N})
			}
			t.Add(row...)
		}
	}
	return nil
}

// points returns a workload for each family and support, of so many queries: a
// few cells that meet large ones make up much of the error, and it takes many
// cells to have seen some.
func (b *bench) points(table *workload.Table, families []workload.Family, supports []int, k func(m int) int) ([]*workload.Workload, error) {
	var parts []*workload.Workload
	for _, f := range families {
		for _, m := range supports {
			w, err := workload.Points(table, f, m, k(m), b.seed+uint64(m))
			if err != nil {
				return nil, err
			}
			w.Name = fmt.Sprintf("%s, m = %d", f, m)
			parts = append(parts, w)
		}
	}
	return parts, nil
}

// lines returns the tables of the ratio experiment, each on a line.
func (b *bench) lines() ([]*workload.Table, error) {
	zipf, err := b.zipf()
	if err != nil {
		return nil, err
	}
	flights, err := workload.Flights(b.testdata+"/flights/flights.csv.gz", b.testdata+"/flights/airports.csv")
	if err != nil {
		return nil, err
	}
	adult, err := workload.Adult(b.testdata + "/adult/adult.csv")
	if err != nil {
		return nil, err
	}
	out := []*workload.Table{zipf, flights, adult}
	for i := range out {
		if out[i], err = out[i].OnLine(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
