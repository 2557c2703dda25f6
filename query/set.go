package query

import (
	"iter"
	"slices"
	"sort"

	"dpsql/sqlerr"
)

// Range is a set of consecutive ordinals of a finite domain, both ends included.
type Range struct{ First, Last uint64 }

// Set is an immutable set of values of one domain. Over a finite domain it is
// sorted, disjoint ranges of ordinals. Over an unbounded one it is a list of
// values, or every value except those listed.
type Set struct {
	dom    Domain
	ranges []Range
	values []Value
	except bool
}

// All returns the set of every value of the domain.
func (d Domain) All() Set {
	if !d.Finite() {
		return Set{dom: d, except: true}
	}
	return d.ordinals(0, d.Size())
}

// None returns the empty set.
func (d Domain) None() Set { return Set{dom: d} }

// ordinals returns the set of the ordinals from first up to, not including, end.
func (d Domain) ordinals(first, end uint64) Set {
	if first >= end {
		return d.None()
	}
	return Set{dom: d, ranges: []Range{{first, end - 1}}}
}

// NotNull returns the set of every value but NULL.
func (d Domain) NotNull() Set { return d.SetOf(Null()).Complement() }

// SetOf returns the set of the given values. Values outside the domain are
// ignored.
func (d Domain) SetOf(values ...Value) Set {
	if !d.Finite() {
		return d.listed(values)
	}
	ordinals := make([]uint64, 0, len(values))
	for _, v := range values {
		if o, ok := d.Ordinal(v); ok {
			ordinals = append(ordinals, o)
		}
	}
	slices.Sort(ordinals)
	s := Set{dom: d}
	for _, o := range ordinals {
		s.ranges = appendRange(s.ranges, Range{o, o})
	}
	return s
}

func (d Domain) listed(values []Value) Set {
	s := Set{dom: d}
	for _, v := range values {
		if d.Contains(v) {
			s.values = append(s.values, v)
		}
	}
	slices.SortFunc(s.values, Value.Compare)
	s.values = slices.Compact(s.values)
	return s
}

// appendRange adds r, which starts at or after the start of the last range.
func appendRange(ranges []Range, r Range) []Range {
	if n := len(ranges); n > 0 && r.First <= ranges[n-1].Last+1 {
		ranges[n-1].Last = max(ranges[n-1].Last, r.Last)
		return ranges
	}
	return append(ranges, r)
}

// Less returns the set of the values below v, or up to v if orEqual. NULL is
// never in it. Over an unbounded domain the set is neither a list nor the
// complement of one, so Less refuses it as unsupported.
func (d Domain) Less(v Value, orEqual bool) (Set, error) {
	if !d.ordered() {
		return Set{}, errOrdered()
	}
	return d.ordinals(d.firstNotNull(), d.position(v, orEqual)), nil
}

// Greater returns the set of the values above v, or from v on if orEqual. NULL
// is never in it. Unbounded domains are refused, as by Less.
func (d Domain) Greater(v Value, orEqual bool) (Set, error) {
	if !d.ordered() {
		return Set{}, errOrdered()
	}
	return d.ordinals(max(d.firstNotNull(), d.position(v, !orEqual)), d.Size()), nil
}

// ordered reports whether ordinals have the order of their values.
func (d Domain) ordered() bool { return d.Finite() && d.d.published == nil }

func errOrdered() error {
	return sqlerr.New(sqlerr.Unsupported, "a column without a domain cannot be compared by order").
		WithHint("pin it with = or IN")
}

func (d Domain) firstNotNull() uint64 {
	if d.HasNull() {
		return 1
	}
	return 0
}

// position returns how many values sort before v, or up to v if inclusive.
func (d Domain) position(v Value, inclusive bool) uint64 {
	e := d.d
	if e.list == nil {
		return e.rangePosition(v, inclusive)
	}
	return uint64(sort.Search(len(e.list), func(i int) bool {
		c := e.list[i].Compare(v)
		return c > 0 || c == 0 && !inclusive
	}))
}

func (e *domain) rangePosition(v Value, inclusive bool) uint64 {
	switch {
	case v.IsNull() || v.IsInt() && v.n < e.lo:
		return e.shift()
	case v.IsText() || v.n > e.hi:
		return e.size
	}
	n := uint64(v.n) - uint64(e.lo) + e.shift()
	if inclusive {
		n++
	}
	return n
}

// Domain returns the domain whose values the set holds.
func (s Set) Domain() Domain { return s.dom }

// Ranges returns the set over a finite domain as sorted, disjoint ranges of
// ordinals that do not touch. The slice must not be changed.
func (s Set) Ranges() []Range { return s.ranges }

// Listed returns a set over an unbounded domain: the sorted values in it or, if
// except, the sorted values not in it. The slice must not be changed.
func (s Set) Listed() (values []Value, except bool) { return s.values, s.except }

// Interval is a set of consecutive integers, both ends included.
type Interval struct{ First, Last int64 }

// Integers splits a set of a finite INTEGER domain: it reports whether NULL is
// in the set, and returns the integers as ascending intervals.
func (s Set) Integers() (null bool, intervals []Interval) {
	for _, r := range s.ranges {
		if r.First == 0 && s.dom.HasNull() {
			null = true
			if r.First++; r.First > r.Last {
				continue
			}
		}
		intervals = s.dom.appendIntervals(intervals, r)
	}
	return null, intervals
}

// appendIntervals appends the integers of a range of ordinals that excludes
// NULL.
func (d Domain) appendIntervals(all []Interval, r Range) []Interval {
	if d.IsRange() {
		return append(all, Interval{d.Value(r.First).Int64(), d.Value(r.Last).Int64()})
	}
	for o := r.First; o <= r.Last; o++ {
		v := d.Value(o).Int64()
		if k := len(all); k > 0 && v-1 == all[k-1].Last {
			all[k-1].Last = v
			continue
		}
		all = append(all, Interval{v, v})
	}
	return all
}

// Contains reports whether the set has a value.
func (s Set) Contains(v Value) bool {
	if !s.dom.Finite() {
		_, listed := slices.BinarySearchFunc(s.values, v, Value.Compare)
		return listed != s.except
	}
	o, ok := s.dom.Ordinal(v)
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].Last >= o })
	return ok && i < len(s.ranges) && s.ranges[i].First <= o
}

// IsEmpty reports whether the set has no value.
func (s Set) IsEmpty() bool { return !s.except && len(s.ranges) == 0 && len(s.values) == 0 }

// IsAll reports whether the set is the whole domain.
func (s Set) IsAll() bool {
	if !s.dom.Finite() {
		return s.except && len(s.values) == 0
	}
	return len(s.ranges) == 1 && s.ranges[0] == Range{0, s.dom.Size() - 1}
}

// Size returns the number of values, and false when it is infinite.
func (s Set) Size() (uint64, bool) {
	n := uint64(len(s.values))
	for _, r := range s.ranges {
		n += r.Last - r.First + 1
	}
	return n, !s.except
}

// Complement returns the values of the domain that are not in s.
func (s Set) Complement() Set {
	if !s.dom.Finite() {
		return Set{dom: s.dom, values: s.values, except: !s.except}
	}
	c := Set{dom: s.dom}
	next := uint64(0)
	for _, r := range s.ranges {
		if r.First > next {
			c.ranges = append(c.ranges, Range{next, r.First - 1})
		}
		next = r.Last + 1
	}
	if next < s.dom.Size() {
		c.ranges = append(c.ranges, Range{next, s.dom.Size() - 1})
	}
	return c
}

// Intersect returns the values in both s and t, which share a domain.
func (s Set) Intersect(t Set) Set {
	if !s.dom.Finite() {
		return s.intersectListed(t)
	}
	out := Set{dom: s.dom}
	for i, j := 0, 0; i < len(s.ranges) && j < len(t.ranges); {
		a, b := s.ranges[i], t.ranges[j]
		if lo, hi := max(a.First, b.First), min(a.Last, b.Last); lo <= hi {
			out.ranges = append(out.ranges, Range{lo, hi})
		}
		if a.Last < b.Last {
			i++
		} else {
			j++
		}
	}
	return out
}

func (s Set) intersectListed(t Set) Set {
	if s.except && t.except {
		return Set{dom: s.dom, except: true, values: s.dom.listed(slices.Concat(s.values, t.values)).values}
	}
	if s.except {
		s, t = t, s
	}
	out := Set{dom: s.dom}
	for _, v := range s.values {
		if _, found := slices.BinarySearchFunc(t.values, v, Value.Compare); found != t.except {
			out.values = append(out.values, v)
		}
	}
	return out
}

// Union returns the values in s, t or both, which share a domain.
func (s Set) Union(t Set) Set {
	return s.Complement().Intersect(t.Complement()).Complement()
}

// Minus returns the values of s that are not in t.
func (s Set) Minus(t Set) Set { return s.Intersect(t.Complement()) }

// Values returns the values of a column that occur in the query's support.
// GROUP BY divides the support into these.
func (q Query) Values(column int) Set {
	v := valuesOf{column: column, domain: q.u.columns[column].Domain, seen: make(map[*node]bool)}
	v.found = v.domain.None()
	v.walk(q.root)
	return v.found
}

type valuesOf struct {
	column int
	domain Domain
	found  Set
	seen   map[*node]bool
}

// walk adds the values of the column on paths through n that reach the support.
func (v *valuesOf) walk(n *node) {
	switch {
	case n.isZero() || v.seen[n]:
		return
	case n.level > v.column:
		v.found = v.domain.All()
		return
	}
	v.seen[n] = true
	if n.level == v.column {
		v.found = v.found.Union(n.support(v.domain))
		return
	}
	n.each(v.walk)
}

// support returns the values whose child is not zero.
func (n *node) support(d Domain) Set {
	s := Set{dom: d}
	for _, sp := range n.spans {
		s.ranges = appendRange(s.ranges, sp.Range)
	}
	if n.rest == nil {
		return s
	}
	s.except = !n.rest.isZero()
	for _, c := range n.cases {
		if s.except == c.to.isZero() {
			s.values = append(s.values, c.value)
		}
	}
	return s
}

// Each yields the values of a finite set in order.
func (s Set) Each() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for _, v := range s.values {
			if !yield(v) {
				return
			}
		}
		for _, r := range s.ranges {
			for o := r.First; o <= r.Last; o++ {
				if !yield(s.dom.Value(o)) {
					return
				}
			}
		}
	}
}

// Branches returns the number of branches of the diagram at the given column
// and the columns before it.
func (q Query) Branches(column int) int {
	n := 0
	q.visit(func(m *node) {
		if m.level <= column {
			n += len(m.spans) + len(m.cases)
		}
	})
	return n
}
