package source_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"

	"pgregory.net/rapid"
)

// TestHistogramCountsAsSQL holds counts in memory to those of SQL and of the
// definition, over all columns and over those a query needs.
func TestHistogramCountsAsSQL(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		u := universe(t, table.Columns)
		q := someQuery(rt, u)
		columns := q.Columns()
		if len(columns) == 0 || rapid.Bool().Draw(rt, "all columns") {
			columns = columns[:0]
			for i := range table.Columns {
				columns = append(columns, i)
			}
		}
		h, err := source.SQLite(db).Cells(ctx, anyone{}, table, columns, query.NewCoder(u.Project(columns), [16]byte{1}), math.MaxInt)
		must(rt, err)
		narrow, ok := q.Project(columns)
		if !ok {
			rt.Fatal("a query depends on a column it does not name")
		}
		got, ok := h.Count(narrow)
		if !ok {
			if narrow.Size() != nil {
				rt.Fatal("a finite support was not counted")
			}
			return
		}
		want, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
		must(rt, err)
		if naive := naive(t, db, table, q); got != want || got != naive {
			rt.Fatalf("%v over %v: %d in memory, %d by SQL, %d by definition", q, columns, got, want, naive)
		}
	})
}

// TestHistogramIndex counts runs of every place and length in universes whose
// cells are dense, sparse, at the ends, or none.
func TestHistogramIndex(t *testing.T) {
	for name, codes := range map[string][]uint64{"none": nil, "first": {0}, "last": {99}, "dense": {3, 4, 5, 6, 7, 8}, "ends": {0, 99},
		"some": {1, 2, 30, 31, 64, 65, 98}} {
		u := universe(t, []query.Column{{Name: "a", Domain: between(t, 0, 99)}})
		cells := source.NewTally(query.NewCoder(u, [16]byte{}), math.MaxInt)
		for _, c := range codes {
			cells.Add(query.Element{Lo: c}, int64(c)+1)
		}
		h := histogram(t, cells)
		for lo := int64(0); lo < 100; lo++ {
			for hi := lo; hi < 100; hi++ {
				d := u.Columns()[0].Domain
				from, _ := d.Greater(query.Int(lo), true)
				q := query.Where(u, 0, from.Intersect(below(d, hi+1)))
				want := int64(0)
				for _, c := range codes {
					if int64(c) >= lo && int64(c) <= hi {
						want += int64(c) + 1
					}
				}
				if got, _ := h.Count(q); got != want || h.CountByScan(q) != want {
					t.Fatalf("%s, %d to %d: %d by runs, %d by scan, want %d", name, lo, hi, got, h.CountByScan(q), want)
				}
			}
		}
	}
}

func histogram(t *testing.T, cells *source.Tally) *source.Histogram {
	t.Helper()
	h, err := cells.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTallyGrows counts many codes, some of them often.
func TestTallyGrows(t *testing.T) {
	u := universe(t, []query.Column{{Name: "a", Domain: between(t, 0, 1<<40)}})
	cells, want := source.NewTally(query.NewCoder(u, [16]byte{}), math.MaxInt), make(map[uint64]int64)
	for i := range uint64(20_000) {
		code := i * i % 9_973 << (i % 27)
		cells.Add(query.Element{Lo: code}, 1)
		want[code]++
	}
	h := histogram(t, cells)
	if h.Len() != len(want) {
		t.Errorf("%d cells, want %d", h.Len(), len(want))
	}
	last := int64(-1)
	for e, n := range h.All() {
		if want[e.Lo] != n || int64(e.Lo) <= last {
			t.Fatalf("cell %d after %d has %d, want %d", e.Lo, last, n, want[e.Lo])
		}
		last = int64(e.Lo)
	}
}

func TestCellsStopAtALimit(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)", "INSERT INTO raw VALUES (1, 'x'), (1, 'x'), (2, 'y'), (3, 'z')")
	for _, column := range []query.Column{{Name: "a", Domain: between(t, 0, 9)}, {Name: "b", Domain: query.Unbounded()}} {
		table := source.Table{Source: "raw", Columns: []query.Column{column}}
		coder := query.NewCoder(universe(t, table.Columns), [16]byte{})
		if _, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, coder, 2); !errors.Is(err, source.ErrTooManyCells) {
			t.Errorf("%s: three cells of at most two: %v", column.Name, err)
		}
		if h, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, coder, 3); err != nil || h.Len() != 3 {
			t.Errorf("%s: three cells of at most three: %v", column.Name, err)
		}
	}
}

func TestWeightedSumsSaturate(t *testing.T) {
	for _, c := range []struct{ total, w, n, want int64 }{
		{1, 2, 3, 7}, {math.MaxInt64, 1, 1, math.MaxInt64}, {math.MaxInt64 - 1, 1, 1, math.MaxInt64},
		{0, 1 << 40, 1 << 40, math.MaxInt64}, {1, math.MaxInt64, 1, math.MaxInt64}, {5, 0, 9, 5},
	} {
		if got := source.AddWeighted(c.total, c.w, c.n); got != c.want {
			t.Errorf("%d + %d·%d = %d, want %d", c.total, c.w, c.n, got, c.want)
		}
	}
}

func TestHistogramPrintsNothing(t *testing.T) {
	u := universe(t, []query.Column{{Name: "a", Domain: between(t, 0, 9)}})
	cells := source.NewTally(query.NewCoder(u, [16]byte{}), math.MaxInt)
	cells.Add(query.Element{Lo: 7}, 31337)
	h := histogram(t, cells)
	for _, format := range []string{"%v", "%+v", "%#v", "%d", "%s", "%x"} {
		if text := fmt.Sprintf(format, struct{ H *source.Histogram }{h}) + fmt.Sprintf(format, *h) + fmt.Sprintf(format, cells); strings.Contains(text, "31337") || strings.Contains(text, "7a69") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}
