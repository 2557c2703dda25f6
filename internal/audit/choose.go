package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// set is an event: a set of cells of a view.
type set struct {
	view view
	in   []bool
}

// holds reports whether the output lies in the set.
func (s set) holds(o Output) bool { return s.in[s.view.cell(&o)] }

// String describes the set in words.
func (s set) String() string {
	if len(s.view.b.first) == 0 {
		return s.view.a.describe(s.in)
	}
	width := len(s.view.b.first)
	rows := make(map[string][]bool) // the values of a, by the set of b that goes with them
	var order []string
	for i := range s.view.a.first {
		row := s.in[i*width : (i+1)*width]
		if !slices.Contains(row, true) {
			continue
		}
		text := s.view.b.describe(row)
		if rows[text] == nil {
			rows[text] = make([]bool, len(s.view.a.first))
			order = append(order, text)
		}
		rows[text][i] = true
	}
	for i, text := range order {
		order[i] = s.view.a.describe(rows[text]) + " and " + text
	}
	const most = 3
	if more := len(order) - most; more > 0 {
		order = append(order[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(order, "; ")
}

// split is a part of the outputs on both databases.
type split struct{ more, less []Output }

// candidates bounds the number of events that choose considers: up to 3 · 129 in each
// of 4 views of one integer, and up to 625 in each of 6 views of two.
const candidates = 10_000

// choose returns the event for the final count. In each view the sample rank orders the
// cells by how much likelier they are in more than in less. The events are the sets of
// the first n cells, for every n, and in a view of one integer also the half-lines,
// which need no ranking. The sample pick then gives each event a lower bound on ε, by
// limits so wide that they hold for all candidates at once. choose returns the event
// with the largest.
func choose(views []view, rank, pick split, delta, miss float64) set {
	b := best{delta: delta, alpha: miss / (2 * candidates), n: int64(len(pick.more))}
	for _, v := range views {
		x, y := v.counts(pick.more), v.counts(pick.less)
		orders := [][]int{ranked(v.counts(rank.more), v.counts(rank.less))}
		if len(v.b.first) == 0 {
			orders = append(orders, upward(v.size()), downward(v.size()))
		}
		for _, order := range orders {
			b.consider(v, order, x, y)
		}
	}
	in := make([]bool, b.view.size())
	for _, cell := range b.cells {
		in[cell] = true
	}
	return set{b.view, in}
}

// ranked returns the cells in descending order of (x+1)/(y+1).
func ranked(x, y []int64) []int {
	order := upward(len(x))
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare((x[j]+1)*(y[i]+1), (x[i]+1)*(y[j]+1))
	})
	return order
}

func upward(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func downward(n int) []int {
	order := upward(n)
	slices.Reverse(order)
	return order
}

// best is the best event so far.
type best struct {
	delta, alpha float64
	n            int64

	found bool
	score float64
	view  view
	cells []int
}

// consider tries the first n cells of an order, for every n, given the counts of each
// cell. It computes no limits if even the observed ratio is no better than the best
// bound.
func (b *best) consider(v view, order []int, x, y []int64) {
	var above, below int64
	for k, cell := range order {
		above += x[cell]
		below += y[cell]
		observed := epsilon(float64(above)/float64(b.n), float64(max(below, 1))/float64(b.n), b.delta)
		if b.found && observed <= b.score {
			continue
		}
		score := epsilon(lower(above, b.n, b.alpha), upper(below, b.n, b.alpha), b.delta)
		if !b.found || score > b.score {
			b.found, b.score, b.view, b.cells = true, score, v, order[:k+1]
		}
	}
}
