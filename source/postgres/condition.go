package postgres

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dpsql/internal/calendar"
	"dpsql/query"
)

// Limits on conditions that are pushed down. Beyond them the server counts by value,
// and the values are weighed here.
const (
	maxIntervals = 64      // BETWEENs of one condition
	maxExpanded  = 100_000 // values in a list that replaces the intervals
	maxTerms     = 64      // conjunctions of one statement
	maxLevels    = 16      // different weights of one statement
)

// writer collects the parameters of a statement.
type writer struct{ args [][]byte }

// conjunction returns the condition that each column lies in its set. It returns false
// if SQL cannot express it. The most selective conditions come first.
func (w *writer) conjunction(columns []column, sets []query.Set) (string, bool) {
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(share(sets[i]), share(sets[j])) })
	conditions := make([]string, len(columns))
	for at, i := range order {
		var ok bool
		if conditions[at], ok = w.within(columns[i], sets[i]); !ok {
			return "", false
		}
	}
	return allOf(conditions), true
}

// share returns the size of a set as a share of its domain. The server tests conditions
// of equal cost in their order, and stops at the first that is false.
func share(s query.Set) float64 {
	size, finite := s.Size()
	switch {
	case s.IsAll():
		return 1
	case !finite:
		return 0.99
	case !s.Domain().Finite():
		return 0
	}
	return float64(size) / float64(s.Domain().Size())
}

// domains returns the declared domain of each column as a set.
func domains(columns []column) []query.Set {
	sets := make([]query.Set, len(columns))
	for i, c := range columns {
		sets[i] = c.Domain.All()
	}
	return sets
}

// arg adds a parameter and returns the expression for it, of the given type.
func (w *writer) arg(value, typ string) string {
	w.args = append(w.args, []byte(value))
	return "$" + strconv.Itoa(len(w.args)) + "::" + typ
}

const (
	always = ""      // the condition that is true of every row
	never  = "false" // the condition that is true of no row
)

// within returns the condition that the column's value is in a set of its domain. It
// returns false if SQL cannot express it.
func (w *writer) within(c column, set query.Set) (string, bool) {
	if c.array == "" {
		return "", false
	}
	values, except := []query.Value(nil), false
	var intervals []query.Interval
	if !set.Domain().Finite() {
		values, except = set.Listed()
	} else if c.Domain.Type() == query.TypeText {
		for v := range set.Each() {
			values = append(values, v)
		}
	} else {
		var ok bool
		if values, intervals, ok = integersOf(c, set); !ok {
			return "", false
		}
	}
	return w.members(c, values, intervals, except), true
}

// members returns the condition that the value is listed or in an interval. If except,
// it returns the condition that the value is not listed.
func (w *writer) members(c column, values []query.Value, intervals []query.Interval, except bool) string {
	null, elements := false, []string(nil)
	for _, v := range values {
		if v.IsNull() {
			null = true
		} else if s, ok := c.literal(v); ok {
			elements = append(elements, s)
		}
	}
	if except {
		return w.except(c, elements, null)
	}
	var parts []string
	for _, i := range intervals {
		parts = append(parts, "("+w.interval(c, i)+")")
	}
	if len(elements) > 0 {
		parts = append(parts, w.oneOf(c, elements))
	}
	if null {
		parts = append(parts, c.text+" IS NULL")
	}
	return anyOf(parts)
}

// oneOf compares with a list. A single value is compared directly, which takes the
// server half the time.
func (w *writer) oneOf(c column, elements []string) string {
	if single, ok := strings.CutSuffix(c.array, "[]"); ok && len(elements) == 1 {
		return c.text + " = " + w.arg(elements[0], single)
	}
	return c.text + " = ANY (" + w.arg(array(elements), c.array) + ")"
}

func (w *writer) except(c column, elements []string, null bool) string {
	parts := []string{c.fits}
	if len(elements) > 0 {
		parts = append(parts, "("+c.text+" <> ALL ("+w.arg(array(elements), c.array)+") OR "+c.text+" IS NULL)")
	}
	if null {
		parts = append(parts, c.text+" IS NOT NULL")
	}
	return allOf(parts)
}

func (w *writer) interval(c column, i query.Interval) string {
	lo, hi := strconv.FormatInt(i.First, 10), strconv.FormatInt(i.Last, 10)
	switch c.array {
	case "float8[]":
		lo, hi = realBounds(i)
	case "date[]":
		lo, hi = calendar.Format(i.First), calendar.Format(i.Last)
	}
	w.args = append(w.args, []byte(lo), []byte(hi))
	n := len(w.args)
	return strings.NewReplacer("?", c.text, "$lo", "$"+strconv.Itoa(n-1), "$hi", "$"+strconv.Itoa(n)).Replace(c.between)
}

// array writes an array literal of the server, each element in quotes.
func array(elements []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, e := range elements {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		for _, r := range []byte(e) {
			if r == '"' || r == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(r)
		}
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

func anyOf(parts []string) string {
	switch len(parts) {
	case 0:
		return never
	case 1:
		return parts[0]
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// allOf joins conditions and drops those that are always true.
func allOf(parts []string) string {
	var kept []string
	for _, p := range parts {
		if p != always {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return "true"
	}
	return strings.Join(kept, " AND ")
}

// integersOf takes a set of integers apart into values and intervals. It returns false
// if the set is too scattered. A type without intervals gets everything as values.
func integersOf(c column, set query.Set) (values []query.Value, longer []query.Interval, ok bool) {
	null, all := set.Integers()
	if null {
		values = append(values, query.Null())
	}
	size, long := uint64(0), 0
	for _, i := range all {
		size += min(uint64(i.Last)-uint64(i.First)+1, maxExpanded+1)
		if i.First < i.Last {
			long++
		}
	}
	expand := long > maxIntervals
	if expand && size > maxExpanded {
		return nil, nil, false
	}
	for _, i := range all {
		switch {
		case i.First < i.Last && c.between != "" && !expand:
			longer = append(longer, i)
		case c.between == "": // of type boolean
			for _, n := range []int64{0, 1} {
				if i.First <= n && n <= i.Last {
					values = append(values, query.Int(n))
				}
			}
		default:
			for v := i.First; ; v++ {
				values = append(values, query.Int(v))
				if v == i.Last {
					break
				}
			}
		}
	}
	return values, longer, true
}
