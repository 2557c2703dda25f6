package source

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsql/query"
)

// Limits on conditions that are pushed down to SQLite. Beyond them rows are streamed
// and tested in Go, which is always correct.
const (
	maxIntervals = 16      // BETWEENs on a column; each evaluates the canonical value again
	maxExpanded  = 100_000 // values in a list that replaces the intervals
)

// members is a set of values in a form that SQL can express.
type members struct {
	null      bool
	except    bool // texts lists the values that are not members
	intervals []query.Interval
	integers  []int64
	texts     []string
}

// newMembers returns the members of a set of a column's values. It returns false if the set is too scattered
// to be pushed down.
func newMembers(c query.Column, set query.Set) (members, bool) {
	m, ok := membersOf(c, set)
	if c.Form.IsNoCase() { // canonical has lower case
		for i, t := range m.texts {
			m.texts[i] = query.FoldName(t)
		}
	}
	return m, ok
}

func membersOf(c query.Column, set query.Set) (members, bool) {
	switch {
	case !set.Domain().Finite():
		return listedMembers(set)
	case c.Form.HasOther() && set.Contains(query.Text(query.Other)):
		m := textMembers(set.Domain().All().Minus(set))
		return members{null: set.Contains(query.Null()), except: true, texts: m.texts}, true
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

// withIntervals sorts intervals into single values and longer intervals. If there are
// too many longer ones, it writes them out as values, provided that they are short.
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

const (
	maxDirect    = 32     // values bound one by one; longer lists travel as one JSON array
	maxVariables = 32_766 // of a statement, SQLite's own limit
)

// condition is a Boolean SQL expression with the arguments of its placeholders.
type condition struct {
	text string
	args []any
}

// exactly returns the condition that a column's canonical value is a member.
func (m members) exactly(c query.Column) condition {
	column := columnOf(c.Name)
	return m.condition(column, "("+canonical(column, c)+") COLLATE BINARY")
}

// roughly returns a condition on the stored value that is true of every member. SQLite
// can use an index on the column for it. It is sound if the column's affinity makes
// stored and canonical values compare alike: numbers are stored as numbers and texts as
// texts. The column's own collation can only add rows.
func (m members) roughly(c query.Column) condition {
	column := columnOf(c.Name)
	return m.condition(column, column)
}

// condition returns the condition that a value is a member. The value is an expression
// for the canonical value, or for a stored value that compares like it.
func (m members) condition(column, value string) condition {
	var parts []condition
	for _, i := range m.intervals {
		parts = append(parts, condition{value + " BETWEEN ? AND ?", []any{i.First, i.Last}})
	}
	if len(m.integers) > 0 {
		parts = append(parts, oneOf(value, " IN ", m.integers))
	}
	switch {
	case m.except:
		parts = append(parts, m.exceptTexts(value))
	case len(m.texts) > 0:
		parts = append(parts, oneOf(value, " IN ", m.texts))
	}
	if m.null {
		parts = append(parts, condition{text: column + " IS NULL"})
	}
	return joined(parts, " OR ", "0")
}

func (m members) exceptTexts(value string) condition {
	parts := []condition{{text: "typeof(" + value + ") = 'text'"}}
	if len(m.texts) > 0 {
		parts = append(parts, oneOf(value, " NOT IN ", m.texts))
	}
	return joined(parts, " AND ", "1")
}

// oneOf compares a value with a list. A short list is bound value by value, a longer
// one as a single JSON array. Texts that JSON cannot carry are always bound.
func oneOf[T int64 | string](value, operator string, list []T) condition {
	if len(list) <= maxDirect {
		return bound(value, operator, list)
	}
	carried, rest := list, []T(nil)
	if texts, ok := any(list).([]string); ok {
		a, b := splitJSON(texts)
		carried, rest = any(a).([]T), any(b).([]T)
	}
	var parts []condition
	if len(carried) > 0 {
		array, _ := json.Marshal(carried) // integers and valid texts always marshal
		parts = append(parts, condition{value + operator + "(SELECT value FROM json_each(?))", []any{string(array)}})
	}
	if len(rest) > 0 {
		parts = append(parts, bound(value, operator, rest))
	}
	if operator == " IN " {
		return joined(parts, " OR ", "0")
	}
	return joined(parts, " AND ", "1")
}

// bound compares with a list that is bound value by value. A single value is compared
// with a sub-select. Given column = constant, SQLite would put the constant into other
// conditions on the column, where typeof would see the constant's type. A BETWEEN would
// keep SQLite from using the next column of an index.
func bound[T int64 | string](value, operator string, list []T) condition {
	if operator == " IN " && len(list) == 1 {
		return condition{value + " = (SELECT ?)", []any{list[0]}}
	}
	args := make([]any, len(list))
	for i, v := range list {
		args[i] = v
	}
	return condition{value + operator + "(" + strings.Repeat("?,", len(list)-1) + "?)", args}
}

// splitJSON separates the texts that survive JSON from those that do not, because
// encoding/json replaces invalid UTF-8.
func splitJSON(texts []string) (carried, rest []string) {
	for _, s := range texts {
		if utf8.ValidString(s) && !strings.ContainsRune(s, 0) {
			carried = append(carried, s)
			continue
		}
		rest = append(rest, s)
	}
	return carried, rest
}

// joined combines conditions as a balanced tree, because SQLite refuses expressions
// more than 1000 deep.
func joined(parts []condition, operator, empty string) condition {
	switch len(parts) {
	case 0:
		return condition{text: empty}
	case 1:
		return parts[0]
	}
	a := joined(parts[:len(parts)/2], operator, empty)
	b := joined(parts[len(parts)/2:], operator, empty)
	return condition{"(" + a.text + operator + b.text + ")", append(a.args[:len(a.args):len(a.args)], b.args...)}
}

// route is how SQLite reaches the rows that are read. The zero route is that of the whole table.
type route struct {
	by     string    // as in Access
	clause string    // behind the table in FROM
	hint   string    // the statement that makes an index, where there is none
	where  condition // on the stored value: true of every row that counts; without a text if there is none
}

// routeOf finds out how to reach the rows that are read.
func routeOf(ctx context.Context, q Querier, t Table) (route, error) {
	if t.Period == nil {
		return route{}, nil
	}
	return lookUp(ctx, q, t)
}

// and returns the condition that a row is to be read and meets another condition.
func (r route) and(c condition) condition {
	if r.where.text == "" {
		return c
	}
	return condition{"(" + r.where.text + ") AND " + c.text, append(slices.Clip(r.where.args), c.args...)}
}

// from returns the source in FROM.
func (r route) from(source string) string { return from(source) + r.clause }
