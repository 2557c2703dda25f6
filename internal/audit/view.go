package audit

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// Bins cut the values of one integer into intervals, by their frequencies in a sample.
// A value with more than 1/parts of the mass is alone; the others are gathered up to
// that mass. first holds the smallest value of each interval; the first interval begins
// at the smallest integer.
type bins struct {
	name  string
	at    int // position in the Output
	first []int64
	seen  []int64 // the sample's smallest value in each interval
	last  []int64 // and its largest
}

// newBins cuts at most 2·parts + 1 bins.
func newBins(name string, at int, values []int64, parts int) bins {
	slices.Sort(values)
	b := bins{name: name, at: at}
	limit := len(values)/parts + 1
	held := 0
	for i := 0; i < len(values); {
		j := i + sort.Search(len(values)-i, func(k int) bool { return values[i+k] > values[i] })
		if held == 0 || held+j-i > limit {
			b.first = append(b.first, values[i])
			b.seen, b.last = append(b.seen, values[i]), append(b.last, values[i])
			held = 0
		}
		held += j - i
		b.last[len(b.last)-1] = values[i]
		if held >= limit {
			held = 0
		}
		i = j
	}
	b.first[0] = math.MinInt64
	return b
}

// bin returns the number of the interval that holds the output's value.
func (b bins) bin(o *Output) int {
	v := o[b.at]
	lo, hi := 0, len(b.first)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; b.first[mid] <= v {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// describe writes a set of intervals as values.
func (b bins) describe(in []bool) string {
	var parts []string
	for i := 0; i < len(in); i++ {
		if !in[i] {
			continue
		}
		j := i
		for j+1 < len(in) && in[j+1] {
			j++
		}
		parts = append(parts, b.interval(i, j))
		i = j
	}
	const most = 6
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return b.name + " " + strings.Join(parts, " or ")
}

// interval writes the values of the bins i … j.
func (b bins) interval(i, j int) string {
	switch end := len(b.first) - 1; {
	case i == 0 && j == end:
		return "anything"
	case i == 0:
		return fmt.Sprintf("≤ %d", b.last[j])
	case j == end:
		return fmt.Sprintf("≥ %d", b.seen[i])
	case b.seen[i] == b.last[j]:
		return fmt.Sprintf("= %d", b.seen[i])
	}
	return fmt.Sprintf("%d … %d", b.seen[i], b.last[j])
}

// view divides outputs into cells: the intervals of one integer, or the rectangles of
// two. Events are sets of cells.
type view struct {
	a, b bins // b has no intervals if the view is of one integer
}

// How finely a view of one integer, and of two, divides their values.
const (
	finely   = 64
	coarsely = 12
)

// views returns the views of each integer and of each pair, divided by a sample.
func (c Case) views(on, off []Output) []view {
	cut := func(at, parts int) bins {
		values := make([]int64, 0, len(on)+len(off))
		for _, sample := range [][]Output{on, off} {
			for i := range sample {
				values = append(values, sample[i][at])
			}
		}
		return newBins(c.Shows[at], at, values, parts)
	}
	var views []view
	var rough []bins
	for i := range c.Shows {
		views = append(views, view{a: cut(i, finely)})
		rough = append(rough, cut(i, coarsely))
	}
	for i := range rough {
		for j := range i {
			views = append(views, view{rough[j], rough[i]})
		}
	}
	return views
}

// size returns the number of cells of the view.
func (v view) size() int { return len(v.a.first) * max(1, len(v.b.first)) }

// cell returns the number of the cell that holds the output.
func (v view) cell(o *Output) int {
	if len(v.b.first) == 0 {
		return v.a.bin(o)
	}
	return v.a.bin(o)*len(v.b.first) + v.b.bin(o)
}

// counts returns how many of the outputs lie in each cell.
func (v view) counts(sample []Output) []int64 {
	n := make([]int64, v.size())
	for i := range sample {
		n[v.cell(&sample[i])]++
	}
	return n
}
