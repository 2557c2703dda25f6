package period

import (
	"iter"
	"math"
	"slices"
)

// Range is the periods from First to Last.
type Range struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// All is every period, and with them the rows that lie in none.
var All = Range{math.MinInt64, math.MaxInt64}

// Only returns the range of one period.
func Only(n int64) Range { return Range{n, n} }

// Contains reports whether a period is in the range.
func (r Range) Contains(n int64) bool { return r.First <= n && n <= r.Last }

// Within reports whether all of the range is in s.
func (r Range) Within(s Range) bool { return s.First <= r.First && r.Last <= s.Last }

// Ranges is a set of periods: ranges that ascend and are neither empty nor touch each other.
// Nil is no period.
type Ranges []Range

// Whole is the set of every period.
func Whole() Ranges { return Ranges{All} }

// Of returns the set of the periods of some ranges, in any order. Empty ones are left out.
func Of(all ...Range) (out Ranges) {
	all = slices.DeleteFunc(slices.Clone(all), func(r Range) bool { return r.First > r.Last })
	slices.SortFunc(all, func(a, b Range) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	for _, r := range all {
		if n := len(out); n > 0 && (out[n-1].Last == math.MaxInt64 || r.First <= out[n-1].Last+1) {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Union returns the periods in one of the sets.
func (s Ranges) Union(t Ranges) Ranges {
	switch {
	case len(s) == 0:
		return t
	case len(t) == 0:
		return s
	}
	return Of(append(slices.Clip(s), t...)...)
}

// Intersect returns the periods in both sets.
func (s Ranges) Intersect(t Ranges) (out Ranges) {
	for len(s) > 0 && len(t) > 0 {
		if first, last := max(s[0].First, t[0].First), min(s[0].Last, t[0].Last); first <= last {
			out = append(out, Range{first, last})
		}
		if s[0].Last < t[0].Last {
			s = s[1:]
		} else {
			t = t[1:]
		}
	}
	return out
}

// Minus returns the periods of s that are not in t.
func (s Ranges) Minus(t Ranges) Ranges { return s.Intersect(t.complement()) }

func (s Ranges) complement() (out Ranges) {
	first := int64(math.MinInt64)
	for _, r := range s {
		if r.First > first {
			out = append(out, Range{first, r.First - 1})
		}
		if r.Last == math.MaxInt64 {
			return out
		}
		first = r.Last + 1
	}
	return append(out, Range{first, math.MaxInt64})
}

// Contains reports whether a period is in the set.
func (s Ranges) Contains(n int64) bool {
	return slices.ContainsFunc(s, func(r Range) bool { return r.Contains(n) })
}

// Within reports whether every period of s is in t.
func (s Ranges) Within(t Ranges) bool { return len(s.Minus(t)) == 0 }

// Hull returns the smallest range with all periods of the set. It is false for none.
func (s Ranges) Hull() (Range, bool) {
	if len(s) == 0 {
		return Range{}, false
	}
	return Range{s[0].First, s[len(s)-1].Last}, true
}

// Count returns the number of periods, at most 2^63-1.
func (s Ranges) Count() (n int64) {
	for _, r := range s {
		size := uint64(r.Last) - uint64(r.First) // one less than there are: no overflow
		if size >= uint64(math.MaxInt64-n) {
			return math.MaxInt64
		}
		n += int64(size) + 1
	}
	return n
}

// Each yields the periods in order. The set must not be unbounded.
func (s Ranges) Each() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, r := range s {
			for n := r.First; ; n++ {
				if !yield(n) {
					return
				}
				if n == r.Last {
					break
				}
			}
		}
	}
}

// Coarse returns a set of at most most ranges, at least 1, that has all periods of s: the
// smallest gaps are filled.
func (s Ranges) Coarse(most int) Ranges {
	out := slices.Clone(s)
	for len(out) > most {
		at, least := 0, uint64(math.MaxUint64)
		for i := 1; i < len(out); i++ {
			if gap := uint64(out[i].First) - uint64(out[i-1].Last); gap < least {
				at, least = i, gap
			}
		}
		out[at-1].Last = out[at].Last
		out = slices.Delete(out, at, at+1)
	}
	return out
}
