package main

import (
	"fmt"
	"runtime"

	"dpsql/bench/report"
)

// The warehouse of the arithmetic.
const (
	paperRows   = 1e12
	paperShards = 1000
	paperCores  = 8 // of a shard
)

// warehouse computes what the same release of 10¹² rows takes, from the figures
// of cost.
func (b *bench) warehouse(s *report.Section) error {
	if b.known.rows == 0 {
		if err := b.cost(&report.Section{}); err != nil {
			return err
		}
	}
	k := b.known
	if k.rows == 0 {
		s.Say("The arithmetic takes figures measured on PostgreSQL, which is missing here.")
		return nil
	}
	cells := float64(shapes[1].cells)
	core := k.rowTime / k.rows * float64(min(runtime.NumCPU(), serverProcesses))
	scan := paperRows / paperShards * core / paperCores
	s.Say(`The release of %s with %s cells, of 10¹² rows on %d shards of %d cores each, spread by a hash of origin. dpsql sends one statement, each shard groups
its own rows, and groups are all that leaves it. Measured in the run that made this section, on %s rows of PostgreSQL: %s ns of one core for a row of the GROUP BY, %s bytes for a cell over the wire,
%s µs for a cell in dpsql (receiving, tallying, noise, storing).`, shapes[1].columns, report.Number(cells), int(paperShards), int(paperCores), power(int(k.rows)),
		report.Number(1e9*core), report.Number(k.cellBytes), report.Number(1e6*k.perCell))
	t := &report.Table{Head: []string{"what", "arithmetic", "result"}}
	t.Add("rows of a shard", "10¹² / 1,000", "10⁹")
	t.Add("time of a shard", fmt.Sprintf("10⁹ × %s ns / %d cores", report.Number(1e9*core), int(paperCores)), duration(scan))
	t.Add("cells that leave the shards", "each origin is on one shard, so each cell leaves one", report.Number(cells))
	t.Add("the same, spread by a column that is not released", "each shard can have each cell: × 1,000", fmt.Sprintf("%.3g × 10⁹", cells/1e6))
	t.Add("bytes to dpsql", fmt.Sprintf("%s × %s", report.Number(cells), report.Number(k.cellBytes)), size10(cells*k.cellBytes))
	t.Add("bytes to the coordinator, spread badly", "× 1,000", size10(1000*cells*k.cellBytes))
	t.Add("time in dpsql", fmt.Sprintf("%s × %s µs", report.Number(cells), report.Number(1e6*k.perCell)), duration(cells*k.perCell))
	t.Add("noise draws, bytes stored", "one for each bucket of the identity", report.Number(cells))
	if k.memCell > 0 {
		t.Add("memory in dpsql beside the process's own", fmt.Sprintf("%s × %s bytes, as measured by growth", report.Number(cells), report.Number(k.memCell)), size10(cells*k.memCell))
	}
	t.Add("in all", "shards side by side, then dpsql", duration(scan+cells*k.perCell))
	s.Show(t)
	memory := ""
	if k.memCell > 0 {
		memory = fmt.Sprintf(" and, at %s bytes each, %s of memory", report.Number(k.memCell), size10(1e9*k.memCell))
	}
	s.Say(`A true count of 10¹² is far within 63 bits, and the noise is the one of any n: at ε = 0.1 a cell is off by about 14 rows (√2/ε), which is nothing beside 10⁶ rows a cell.
What does not scale is the number of occupied cells: a release of columns that tell each row apart (10¹² cells) would bring %s over the wire, and its tally does not fit into a
machine. A billion cells are %s%s: about the end. Beyond it, release fewer columns or coarser domains.`, size10(1e12*k.cellBytes), size10(1e9*k.cellBytes), memory)
	return nil
}

// serverProcesses scan a table here: two workers and their leader.
const serverProcesses = 3

// duration writes seconds as people do.
func duration(seconds float64) string {
	switch {
	case seconds >= 5400:
		return report.Number(seconds/3600) + " h"
	case seconds >= 90:
		return report.Number(seconds/60) + " min"
	}
	return report.Number(seconds) + " s"
}

// size10 writes bytes in powers of ten.
func size10(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for ; bytes >= 1000 && i < len(units)-1; i++ {
		bytes /= 1000
	}
	return report.Number(bytes) + " " + units[i]
}
