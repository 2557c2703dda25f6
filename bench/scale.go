package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"dpsql/bench/report"
)

// scaleExperiments are the experiments of docs/scale.md.
var scaleExperiments = []experiment{
	{"growth", "Growth with the rows", (*bench).growth},
	{"cost", "Cost over the bare statements", (*bench).cost},
	{"flights", "Real flights", (*bench).realFlights},
	{"warehouse", "On paper: 10¹² rows", (*bench).warehouse},
}

// shape is a release whose growth is measured.
type shape struct {
	name, columns string
	cells         int // size of its universe
	cell          func(origin, destination, hour uint64) uint64
}

var shapes = []shape{
	{"5,472 cells", "origin, hour", 228 * 24, func(o, d, h uint64) uint64 { return o*24 + h }},
	{"1,247,616 cells", "origin, destination, hour", 228 * 228 * 24, func(o, d, h uint64) uint64 { return (o*228+d)*24 + h }},
}

// measured is what the experiments of a run find out for later ones.
type measured struct {
	memCell   float64 // bytes of memory for each cell of a build
	cellBytes float64 // bytes sent for each cell
	rowTime   float64 // seconds of the bare GROUP BY at the largest n
	rows      float64 // the largest n
	perCell   float64 // seconds for each cell, beyond the GROUP BY
}

// growth builds the same releases over more and more rows.
func (b *bench) growth(s *report.Section) error {
	places, err := b.places(s)
	defer func() {
		for _, p := range places {
			p.close()
		}
	}()
	if err != nil {
		return err
	}
	s.Say(`Rows have an origin, a destination and an hour. Arithmetic on their numbers makes them, so they are the same everywhere. Each build is a process of its own, which
opens the database and runs one CREATE RELEASE. Time is the time of the statement, the least of %d where they are short, and memory the most that the process had (VmHWM), the server's not included.
A file has up to 10⁷ rows, a server up to 10⁸, or as many as -rows says.`, scaleReps)
	memory := newChart("scale-memory")
	time := newChart("scale-time")
	t := &report.Table{Head: []string{"rows", "source", "universe", "occupied cells", "time, s", "time a row, ns", "peak, MiB"}}
	for n := size(b, 100_000, 1_000); n <= b.upto; n *= 10 {
		for _, p := range places {
			if n > p.most() {
				continue
			}
			b.note("  %s: %d rows", p.name(), n)
			if err := p.grow(n); err != nil {
				return fmt.Errorf("%s: %w", p.name(), err)
			}
			peaks := make([]float64, len(shapes))
			for i, shape := range shapes {
				seconds, peak, err := b.build1(p, shape)
				peaks[i] = peak
				if err != nil {
					return fmt.Errorf("%s: %w", p.name(), err)
				}
				b.note("    %s: %.3g s, %.1f MiB", shape.name, seconds, peak)
				series := p.name() + ", " + shape.name
				memory.Add(series, float64(n), report.Estimate{Mean: peak, Half: math.NaN()})
				time.Add(series, float64(n), report.Estimate{Mean: seconds, Half: math.NaN()})
				t.Add(power(n), p.name(), shape.name, float64(occupied(n, shape)), seconds, 1e9*seconds/float64(n), peak)
			}
			b.known.memCell = (peaks[1] - peaks[0]) * (1 << 20) / float64(occupied(n, shapes[1])-occupied(n, shapes[0]))
		}
	}
	s.Draw(memory)
	s.Draw(time)
	s.Show("", t)
	s.Say(`Memory follows the occupied cells, and stays as it is once all cells are occupied. At the largest n the cells of the larger release take %s bytes each.`, report.Number(b.known.memCell))
	return nil
}

// power writes a power of ten.
func power(n int) string {
	digits := strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
	if e := math.Log10(float64(n)); e == math.Trunc(e) {
		return "10" + digits.Replace(strconv.Itoa(int(e)))
	}
	return report.Number(float64(n))
}

// scaleReps is how often a build is timed.
const scaleReps = 3

// build1 returns the shortest time of a build, in seconds, and its largest peak in MiB.
func (b *bench) build1(p rowPlace, sh shape) (seconds, peak float64, err error) {
	seconds = math.Inf(1)
	for range scaleReps {
		out, err := p.run(buildOf(sh, p.serial()))
		if err != nil {
			return 0, 0, err
		}
		seconds, peak = min(seconds, out.Seconds[0]), max(peak, out.Peak/(1<<20))
		if out.Seconds[0] > 5 {
			break // long enough to be exact
		}
	}
	return seconds, peak, nil
}

func buildOf(sh shape, serial int) string {
	return fmt.Sprintf("CREATE RELEASE r%d ON flights (%s) USING PROJECTION WITH (epsilon = 0.1)", serial, sh.columns)
}

// places returns the places that can hold the rows. If PostgreSQL cannot be started it
// is left out, and the section says why.
func (b *bench) places(s *report.Section) ([]rowPlace, error) {
	dir, err := os.MkdirTemp("", "dpsql-bench")
	if err != nil {
		return nil, err
	}
	file, err := newFilePlace(dir)
	if err != nil {
		return nil, err
	}
	server, err := newServerPlace()
	if err != nil {
		if err = missing(err, s); err != nil {
			file.close()
		}
		return []rowPlace{file}, err
	}
	return []rowPlace{file, server}, nil
}

// The warehouse of the arithmetic.
const (
	paperRows   = 1e12
	paperShards = 1000
	paperCores  = 8 // of a shard
)

// warehouse computes, from the figures of cost, the cost of the same release over 10¹²
// rows.
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
	s.Show("", t)
	memory := ""
	if k.memCell > 0 {
		memory = fmt.Sprintf(" and, at %s bytes each, %s of memory", report.Number(k.memCell), size10(1e9*k.memCell))
	}
	s.Say(`A true count of 10¹² is far within 63 bits. The noise is the same for any n: at ε = 0.1 a cell is off by about 14 rows (√2/ε), which is nothing beside 10⁶ rows a cell.
What does not scale is the number of occupied cells: a release of columns that tell each row apart (10¹² cells) would bring %s over the wire, and its tally does not fit into a
machine. A billion cells are %s%s: about the end. Beyond it, release fewer columns or coarser domains.`, size10(1e12*k.cellBytes), size10(1e9*k.cellBytes), memory)
	return nil
}

// serverProcesses is the number of processes that scan a table here: two workers and
// their leader.
const serverProcesses = 3

// duration writes seconds in units that people use.
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
