package projection

import (
	"slices"
	"testing"
)

// TestSortTerms compares the sort by digits with a stable one.
func TestSortTerms(t *testing.T) {
	_, random := seeded(t)
	var spare []term
	for _, n := range []int{0, 1, 2, 511, 512, 5000} {
		for _, rows := range []uint64{1, 100, 1 << 23, MaxRows} {
			terms := make([]term, n)
			for i := range terms {
				terms[i] = term{random.Uint64N(rows), int64(i)}
			}
			want := slices.Clone(terms)
			slices.SortStableFunc(want, func(a, b term) int {
				if a.row < b.row {
					return -1
				}
				return min(1, int(a.row-b.row))
			})
			spare = sortTerms(terms, spare)
			if !slices.Equal(terms, want) {
				t.Errorf("%d terms of %d rows are not in order", n, rows)
			}
		}
	}
}

// TestMeetingsAgainstMap compares the elements found with a map of all, whatever
// the rows and the slots.
func TestMeetingsAgainstMap(t *testing.T) {
	_, random := seeded(t)
	for _, c := range []struct{ m, rows uint64 }{{1, 1}, {40, 1 << 30}, {40, 50}, {1000, 1 << 16}, {30_000, 1 << 23}, {30_000, 1 << 31}, {30_000, 1000}} {
		var table meetings
		table.expect(c.m, c.rows, random.Uint64()|1)
		want := make(map[uint64]int)
		for i := range c.m {
			p := place(random.Uint64N(c.rows) | random.Uint64()&(1<<63))
			want[p.row()]++
			table.places = append(table.places, p)
			table.weigh(1+int64(i/100%3), 1)
			if random.IntN(100) == 0 {
				table.look()
			}
		}
		table.look()
		table.search()
		for row, n := range want {
			if n == 1 {
				delete(want, row)
			}
		}
		table.eachBucket(func(bucket []term, _ int64, _ float64) {
			if want[bucket[0].row] != len(bucket) {
				t.Fatalf("m = %d of %d: %d elements meet in %d, want %d", c.m, c.rows, len(bucket), bucket[0].row, want[bucket[0].row])
			}
			delete(want, bucket[0].row)
		})
		if len(want) > 0 {
			t.Errorf("m = %d of %d: %d meetings are not found", c.m, c.rows, len(want))
		}
	}
}
