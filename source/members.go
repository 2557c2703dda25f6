package source

import "dpsql/query"

// Limits of what is pushed down. Beyond them rows are streamed and tested in Go,
// which is always correct.
const (
	maxIntervals = 16      // BETWEENs a column; each evaluates the canonical value again
	maxExpanded  = 100_000 // values of intervals written out as a list instead
)

// members is a set of values, taken apart for SQL.
type members struct {
	null      bool
	except    bool // the texts are those left out
	intervals []interval
	integers  []int64
	texts     []string
}

// interval is a set of consecutive integers, both ends included.
type interval struct{ first, last int64 }

// newMembers returns the members of a set, and false if it is too scattered to
// be pushed down.
func newMembers(set query.Set) (members, bool) {
	switch {
	case !set.Domain().Finite():
		return listedMembers(set)
	case set.Domain().Type() == query.TypeText:
		return textMembers(set), true
	}
	return integerMembers(set)
}

func listedMembers(set query.Set) (members, bool) {
	values, except := set.Listed()
	m := members{null: except, except: except}
	for _, v := range values {
		if v.IsNull() {
			m.null = !except
			continue
		}
		m.texts = append(m.texts, v.Str())
	}
	return m, true
}

func textMembers(set query.Set) members {
	var m members
	for _, r := range set.Ranges() {
		for o := r.First; o <= r.Last; o++ {
			v := set.Domain().Value(o)
			if v.IsNull() {
				m.null = true
				continue
			}
			m.texts = append(m.texts, v.Str())
		}
	}
	return m
}

func integerMembers(set query.Set) (members, bool) {
	d := set.Domain()
	var m members
	var all []interval
	for _, r := range set.Ranges() {
		if r.First == 0 && d.HasNull() {
			m.null = true
			if r.First++; r.First > r.Last {
				continue
			}
		}
		all = appendIntervals(all, d, r)
	}
	return m.withIntervals(all)
}

// appendIntervals adds the integers of a range of ordinals without NULL.
func appendIntervals(all []interval, d query.Domain, r query.Range) []interval {
	if d.IsRange() {
		return append(all, interval{d.Value(r.First).Int64(), d.Value(r.Last).Int64()})
	}
	for o := r.First; o <= r.Last; o++ {
		v := d.Value(o).Int64()
		if k := len(all); k > 0 && v-1 == all[k-1].last {
			all[k-1].last = v
			continue
		}
		all = append(all, interval{v, v})
	}
	return all
}

// withIntervals sorts intervals into single values and longer ones. Where there
// are too many longer ones they are written out, if they are small.
func (m members) withIntervals(all []interval) (members, bool) {
	longer, size := 0, uint64(0)
	for _, i := range all {
		if i.first < i.last {
			longer++
		}
		size += min(uint64(i.last)-uint64(i.first)+1, maxExpanded+1)
	}
	expand := longer > maxIntervals
	if expand && size > maxExpanded {
		return members{}, false
	}
	for _, i := range all {
		if i.first < i.last && !expand {
			m.intervals = append(m.intervals, i)
			continue
		}
		for v := i.first; ; v++ {
			m.integers = append(m.integers, v)
			if v == i.last {
				break
			}
		}
	}
	return m, true
}
