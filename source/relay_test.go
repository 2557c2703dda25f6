package source

import (
	"testing"

	"dpsql/query"
)

// TestRelay hands over numbers of rows about those that go at a time: all arrive,
// once and in their order.
func TestRelay(t *testing.T) {
	for _, n := range []int{0, 1, relayedRows - 1, relayedRows, relayedRows + 1, 9*relayedRows + 7} {
		for width := 1; width <= 3; width++ {
			next := int64(0)
			r := newRelay(width, func(row []query.Value) {
				for _, v := range row {
					if v.Int64() != next {
						t.Errorf("%d of %d rows: got %d, want %d", n, width, v.Int64(), next)
					}
					next++
				}
			})
			row := make([]query.Value, width)
			for i := range int64(n * width) {
				if row[i%int64(width)] = query.Int(i); i%int64(width) == int64(width)-1 {
					r.add(row)
				}
			}
			if r.end(); next != int64(n*width) {
				t.Errorf("%d of %d values arrived", next, n*width)
			}
		}
	}
}
