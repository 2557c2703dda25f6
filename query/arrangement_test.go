package query_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

// finite draws a query of finite support, with weights up to 3.
func finite(t *rapid.T, u *query.Universe) query.Query {
	q, _ := predicate(t, u, 2)
	for i, c := range u.Columns() {
		if !c.Domain.Finite() {
			listed := rapid.SliceOfN(rapid.SampledFrom(values(c.Domain)), 0, 4).Draw(t, "listed")
			q = must(q.And(query.Where(u, i, c.Domain.SetOf(listed...))))
		}
		if c.Domain.Finite() && rapid.IntRange(0, 3).Draw(t, "weighted") == 0 {
			w := rapid.SliceOfN(rapid.Int64Range(0, 3), int(c.Domain.Size()), int(c.Domain.Size())).Draw(t, "weights")
			q = must(q.And(must(query.Weighted(u, i, w))))
		}
	}
	return q
}

// Each record of a support lies in one cell, and has there the weights that the
// cell says, in the query that is cut and in every query of the list.
func TestArrangementAgainstRecordByRecord(t *testing.T) {
	cells, shared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		u := small(t)
		a := query.NewArrangement(u)
		var list []query.Query
		for range 6 {
			q := finite(t, u)
			sizes, records := map[string]uint64{}, map[string]uint64{}
			a.Cells(q, func(c *query.Cell) {
				cells++
				if c.Size > 1 {
					shared++
				}
				sizes[signature(u, list, c)] += c.Size
			})
			for _, x := range tuples(u) {
				if w := q.Weight(x); w > 0 {
					records[meaning(list, x, w)]++
				}
			}
			if fmt.Sprint(sizes) != fmt.Sprint(records) {
				t.Fatalf("%v cut by %v:\ncells   %v\nrecords %v", q, list, sizes, records)
			}
			a.Cells(q, func(c *query.Cell) { checkSets(t, u, list, q, c) })
			list = append(list, q)
			a.Add(q)
		}
	})
	if cells == shared || shared == 0 {
		t.Errorf("%d cells, %d of them of more than one record", cells, shared)
	}
}

// signature writes the weights of a cell, in the order of the list.
func signature(u *query.Universe, list []query.Query, c *query.Cell) string {
	weights := make([]int64, len(list)+1)
	weights[len(list)] = c.Weight
	for _, m := range c.In {
		weights[m.Query] = m.Weight
	}
	return fmt.Sprint(weights)
}

func meaning(list []query.Query, x []query.Value, w int64) string {
	var weights []int64
	for _, q := range list {
		weights = append(weights, q.Weight(x))
	}
	return fmt.Sprint(append(weights, w))
}

// checkSets holds the sets of a cell over a finite universe to its size and
// weights.
func checkSets(t *rapid.T, u *query.Universe, list []query.Query, q query.Query, c *query.Cell) {
	n := uint64(0)
	for _, x := range tuples(u) {
		inside := true
		for i, col := range u.Columns() {
			if !col.Domain.Finite() {
				return
			}
			o, _ := col.Domain.Ordinal(x[i])
			in := c.Sets[i] == nil
			for _, r := range c.Sets[i] {
				in = in || r.First <= o && o <= r.Last
			}
			inside = inside && in
		}
		if inside {
			n++
			if got := meaning(list, x, q.Weight(x)); got != signature(u, list, c) {
				t.Fatalf("record %v of a cell has weights %s, the cell %s", x, got, signature(u, list, c))
			}
		}
	}
	if n != c.Size {
		t.Fatalf("a cell of %d records says %d", n, c.Size)
	}
}

func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "a"), rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "b")
		slices.Sort(a)
		slices.Sort(b)
		s := append(slices.Clone(a), b...)
		query.Merge(s, len(a), cmp.Compare[int])
		if !slices.IsSorted(s) || len(s) != len(a)+len(b) {
			t.Fatalf("%v and %v are merged to %v", a, b, s)
		}
	})
}

// Lists of many values, single and in runs of all lengths, are cut as by their
// weights.
func TestArrangementOfLongLists(t *testing.T) {
	d := must(query.NewRange(0, 299, false))
	u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: d}, {Name: "b", Domain: must(query.NewRange(0, 2, false))}}))
	rapid.Check(t, func(t *rapid.T) {
		a := query.NewArrangement(u)
		var list []query.Query
		for range 5 {
			set := d.None()
			for range rapid.IntRange(1, 30).Draw(t, "runs") {
				first := rapid.Uint64Range(0, 299).Draw(t, "first")
				set = set.Union(d.Ordinals(first, min(300, first+rapid.Uint64Range(1, 25).Draw(t, "length"))))
			}
			q := query.Where(u, 0, set)
			if rapid.Bool().Draw(t, "both") {
				q = must(q.And(query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(rapid.Int64Range(0, 2).Draw(t, "b"))))))
			}
			sizes, records := map[string]uint64{}, map[string]uint64{}
			a.Cells(q, func(c *query.Cell) { sizes[signature(u, list, c)] += c.Size })
			for _, x := range tuples(u) {
				if w := q.Weight(x); w > 0 {
					records[meaning(list, x, w)]++
				}
			}
			if fmt.Sprint(sizes) != fmt.Sprint(records) {
				t.Fatalf("cells %v, records %v", sizes, records)
			}
			list = append(list, q)
			a.Add(q)
		}
	})
}

func TestSeek(t *testing.T) {
	for n := range 40 {
		for at := range n + 1 {
			for from := range at + 1 {
				if got := query.Seek(from, n, func(i int) bool { return i < at }); got != at {
					t.Fatalf("seek(%d, %d) to %d: %d", from, n, at, got)
				}
			}
		}
	}
}
