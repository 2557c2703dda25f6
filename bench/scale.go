package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"dpsql/bench/report"
)

// scaleExperiments are those of docs/scale.md.
var scaleExperiments = []experiment{
	{"growth", "Growth with the rows", (*bench).growth},
	{"cost", "Cost over the bare statements", (*bench).cost},
	{"flights", "Real flights", (*bench).realFlights},
	{"warehouse", "On paper: 10¹² rows", (*bench).warehouse},
}

// shape is a release whose growth is measured.
type shape struct {
	name, columns string
	cells         int // of its universe
	cell          func(origin, destination, hour uint64) uint64
}

var shapes = []shape{
	{"5,472 cells", "origin, hour", 228 * 24, func(o, d, h uint64) uint64 { return o*24 + h }},
	{"1,247,616 cells", "origin, destination, hour", 228 * 228 * 24, func(o, d, h uint64) uint64 { return (o*228+d)*24 + h }},
}

// measured is what the experiments of a run tell one another.
type measured struct {
	memCell   float64 // bytes that a cell takes in the memory of a build
	cellBytes float64 // over the wire, for one cell
	rowTime   float64 // of the bare GROUP BY at the largest n, in seconds
	rows      float64 // that n
	perCell   float64 // seconds of a build beyond its GROUP BY, for each cell
}

// growth builds the same releases of ever more rows.
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
	s.Say(`Rows of origin, destination and hour, drawn by arithmetic on their numbers, so that they are the same wherever they are. Each build is a process of its own, which
opens the database and runs one CREATE RELEASE; time is that of the statement, the least of %d where they are short, and memory the most that the process had (VmHWM), the server's not included.
A file is filled to 10⁷ rows, a server to 10⁸ or as many as -rows says.`, scaleReps)
	memory := &report.Chart{Name: "scale-memory", Title: "Peak memory of a build against n", X: "n", Y: "MiB"}
	time := &report.Chart{Name: "scale-time", Title: "Time of a build against n", X: "n", Y: "s"}
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
	s.Show(t)
	s.Say(`Memory follows the occupied cells, and stays where it is once all are: at the largest n the cells of the larger release take %s bytes each.`, report.Number(b.known.memCell))
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

// build1 returns the least time of a build in seconds and its largest peak in
// MiB.
func (b *bench) build1(p place, sh shape) (seconds, peak float64, err error) {
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

// places returns where the rows are kept; PostgreSQL only where it can be
// started, and if not the section says why.
func (b *bench) places(s *report.Section) ([]place, error) {
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
		return []place{file}, err
	}
	return []place{file, server}, nil
}
