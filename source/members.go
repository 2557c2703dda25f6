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
	intervals []query.Interval
	integers  []int64
	texts     []string
}

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
	null, all := set.Integers()
	return members{null: null}.withIntervals(all)
}

// withIntervals sorts intervals into single values and longer ones. Where there
// are too many longer ones they are written out, if they are small.
func (m members) withIntervals(all []query.Interval) (members, bool) {
	longer, size := 0, uint64(0)
	for _, i := range all {
		if i.First < i.Last {
			longer++
		}
		size += min(uint64(i.Last)-uint64(i.First)+1, maxExpanded+1)
	}
	expand := longer > maxIntervals
	if expand && size > maxExpanded {
		return members{}, false
	}
	for _, i := range all {
		if i.First < i.Last && !expand {
			m.intervals = append(m.intervals, i)
			continue
		}
		for v := i.First; ; v++ {
			m.integers = append(m.integers, v)
			if v == i.Last {
				break
			}
		}
	}
	return m, true
}
