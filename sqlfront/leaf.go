package sqlfront

import (
	"sort"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// leaf is a comparison of one column with constants, as the values for which it is true.
type leaf struct {
	column  int
	yes     query.Set
	other   truths // of a value outside yes: canBeFalse, or canBeUnknown
	null    truths // of NULL, if it is outside yes: canBeUnknown, or canBeFalse
	isNull  bool   // it is IS NULL
	warning string // that constants match nothing; for WHERE
}

func leafCondition(l leaf) *condition { return &condition{logic: isLeaf, leaf: l} }

// nullLeaf compiles column IS NULL.
func (b *binder) nullLeaf(column int) *condition {
	yes := b.domain(column).SetOf(query.Null())
	return leafCondition(leaf{column: column, yes: yes, other: canBeFalse, null: canBeFalse, isNull: true})
}

// leafRecords returns the records for which a leaf is true, or false.
func (b *binder) leafRecords(l *leaf, truth bool) pred {
	if l.warning != "" {
		b.warn(l.warning)
	}
	if l.isNull && truth && l.yes.IsEmpty() {
		c := b.u.Columns()[l.column]
		b.warn(c.Name + " IS NULL matches nothing: NULL is not in the declared domain " + syntax.Excerpt(c.DomainText(), 80))
	}
	switch {
	case truth:
		return columnPred(l.column, l.yes)
	case l.other == canBeUnknown:
		return constantPred(false)
	case l.null == canBeFalse:
		return columnPred(l.column, l.yes.Complement())
	}
	return columnPred(l.column, b.domain(l.column).NotNull().Minus(l.yes))
}

// leafValue returns a leaf as an operation on its column.
func (b *binder) leafValue(l *leaf) *expr {
	c := b.u.Columns()[l.column]
	m := &members{inside: canBeTrue, outside: l.other, null: l.null}
	if l.yes.Contains(query.Null()) {
		m.null = canBeTrue
	}
	values, except := l.yes.Listed()
	if except {
		m.inside, m.outside = l.other, canBeTrue
	}
	var mentions []string
	for _, v := range values {
		if v.IsText() {
			m.spans = append(m.spans, span{scalarOf(v), scalarOf(v)})
			mentions = append(mentions, v.Str())
		}
	}
	for _, r := range l.yes.Ranges() {
		if x := boundsOf(c, r.First, r.Last); !x.isNull() {
			m.spans = append(m.spans, span{x.lo, x.hi})
		}
	}
	x := apply(m.contains, b.columnExpr(l.column))
	x.mentions = mentions
	return x
}

// members is a condition on one value, which is true or not by where the value lies.
type members struct {
	spans                 []span // ascending and disjoint
	inside, outside, null truths // of a value in one of the spans, of any other, and of NULL
}

// span holds the values from lo to hi in SQLite's order.
type span struct{ lo, hi scalar }

// contains is the condition as an operation.
func (m *members) contains(args []bounds) bounds {
	x := args[0]
	switch {
	case x.undefined():
		return x
	case x.isNull():
		return m.null.bounds()
	}
	t := m.outside
	i := sort.Search(len(m.spans), func(i int) bool { return m.spans[i].hi.compare(x.lo) >= 0 })
	if i < len(m.spans) && m.spans[i].lo.compare(x.hi) <= 0 {
		t |= m.inside
		if m.spans[i].lo.compare(x.lo) <= 0 && x.hi.compare(m.spans[i].hi) <= 0 {
			t = m.inside
		}
	}
	if x.null {
		t |= m.null
	}
	return t.bounds()
}
