package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What was looked up is not looked up again, unless it may be answered, is of another table or does not fit.
func TestUnanswered(t *testing.T) {
	var u unanswered
	for _, c := range []struct {
		table   int64
		queries []string
		found   []bool // by the look-up; nil if there is none
	}{
		{1, []string{"a", "b"}, []bool{true, false}},
		{1, []string{"a"}, nil},
		{1, []string{"b"}, []bool{false}},
		{1, []string{"a", "c"}, []bool{true, true}},
		{1, []string{"c", "a"}, nil},
		{2, []string{"a"}, []bool{true}},
		{1, []string{strings.Repeat("x", maxUnanswered)}, []bool{true}},
		{1, []string{strings.Repeat("x", maxUnanswered)}, []bool{true}},
		{1, nil, nil},
	} {
		want := c.found
		if want == nil {
			want = slices.Repeat([]bool{true}, len(c.queries))
		}
		lookedUp := false
		got := u.among(c.table, c.queries, func() []bool { lookedUp = true; return c.found })
		if lookedUp != (c.found != nil) || !slices.Equal(got, want) {
			t.Errorf("table %d, %.20q: %v, looked up %v", c.table, c.queries, got, lookedUp)
		}
	}
	for i := range 1 << 17 {
		u.among(3, []string{fmt.Sprintf("%016d", i)}, func() []bool { return []bool{true} })
	}
	if u.size > maxUnanswered || len(u.queries) > maxUnanswered/16+3 {
		t.Errorf("%d queries of %d bytes are remembered", len(u.queries), u.size)
	}
}
