package post_test

import (
	"testing"

	"dpsql/sqlfront/post"
)

// TestDivideByNothing: no interval of quotients is given where a divisor may be 0, however near to an end.
func TestDivideByNothing(t *testing.T) {
	for _, by := range []post.Interval{{Low: 0, High: 0}, {Low: 0, High: 7}, {Low: -7, High: 0}, {Low: -3, High: 0.5}, {Low: -0.5, High: 3}, {Low: -1e-300, High: 1e-300}} {
		if out, ok := (post.Interval{Low: 1, High: 2}).Divide(by, false); ok {
			t.Errorf("1 … 2 by %v is %v", by, out)
		}
	}
	for _, c := range []struct{ of, by, want post.Interval }{
		{post.Interval{Low: 1, High: 2}, post.Interval{Low: 0.5, High: 4}, post.Interval{Low: 0.25, High: 4}},
		{post.Interval{Low: -1, High: 2}, post.Interval{Low: 0.5, High: 4}, post.Interval{Low: -2, High: 4}},
		{post.Interval{Low: 1, High: 2}, post.Interval{Low: -4, High: -0.5}, post.Interval{Low: -4, High: -0.25}},
		{post.Interval{Low: -2, High: -1}, post.Interval{Low: -4, High: -0.5}, post.Interval{Low: 0.25, High: 4}},
	} {
		if got, ok := c.of.Divide(c.by, false); !ok || got != c.want {
			t.Errorf("%v by %v is %v, want %v", c.of, c.by, got, c.want)
		}
	}
}
