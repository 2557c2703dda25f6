package sqlfront

import (
	"slices"
	"sort"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// condition is a compiled condition. WHERE takes it apart, see binder.where. Other expressions
// compute with its value, see binder.valueOf.
type condition struct {
	logic    logic
	parts    []*condition // in the order of the text
	leaf     leaf
	computed *expr
	source   sqlparser.Expr // what is compiled
	value    *expr          // nil until it is asked for
}

// logic is how a condition is made of its parts.
type logic uint8

const (
	isComputed logic = iota // known by its value alone, which is computed
	isMissing               // computed, and never unknown: IS NULL of an expression that is no condition
	isLeaf
	isNot
	isAnd
	isOr
	isTrue // IS TRUE
)

// computedBy returns a condition that is known by its value alone.
func computedBy(x *expr) *condition { return &condition{computed: x} }

// not is NOT c.
func not(c *condition) *condition { return &condition{logic: isNot, parts: []*condition{c}} }

// tested is c IS TRUE.
func tested(c *condition) *condition { return &condition{logic: isTrue, parts: []*condition{c}} }

// negatedIf negates a condition, unless compiling it failed.
func negatedIf(negated bool, c *condition, err error) (*condition, error) {
	if err != nil || !negated {
		return c, err
	}
	return not(c), nil
}

// isCondition reports whether an expression is made of conditions.
func isCondition(e sqlparser.Expr) bool {
	switch e.(type) {
	case *sqlparser.ComparisonExpr, *sqlparser.RangeCond, *sqlparser.IsExpr, *sqlparser.NotExpr, *sqlparser.AndExpr, *sqlparser.OrExpr:
		return true
	}
	return false
}

// condition compiles an expression that is used as a condition.
func (b *binder) condition(e sqlparser.Expr) (*condition, error) {
	c, err := b.conditionOf(e)
	if err != nil || c.computed == nil {
		return c, err
	}
	return c, b.refuseText(c.computed, e, "a text as a condition", "compare it with a value")
}

// conditionOf is condition, and lets pass what may have no truth value.
func (b *binder) conditionOf(e sqlparser.Expr) (c *condition, err error) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ComparisonExpr:
		c, err = b.comparison(e)
	case *sqlparser.RangeCond:
		c, err = b.between(e)
	case *sqlparser.IsExpr:
		c, err = b.isTest(e)
	case *sqlparser.NotExpr:
		c, err = b.condition(e.Expr)
		c, err = negatedIf(true, c, err)
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		c, err = b.junction(e)
	default:
		var x *expr
		x, err = b.value(e)
		c = computedBy(x)
	}
	if err == nil && c.source == nil {
		c.source = e
	}
	return c, err
}

// junction compiles a chain of ANDs, or of ORs.
func (b *binder) junction(e sqlparser.Expr) (*condition, error) {
	c := &condition{logic: isOr}
	_, and := e.(*sqlparser.AndExpr)
	if and {
		c.logic = isAnd
	}
	parts := flatten(e, and)
	c.parts = make([]*condition, len(parts))
	for i, part := range parts {
		var err error
		if c.parts[i], err = b.condition(part); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// flatten returns the parts of nested ANDs, or ORs, in the order of the text.
func flatten(e sqlparser.Expr, and bool) []sqlparser.Expr {
	var parts []sqlparser.Expr
	for pending := []sqlparser.Expr{e}; len(pending) > 0; {
		last := syntax.Unwrap(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		if n, ok := last.(*sqlparser.AndExpr); ok && and {
			pending = append(pending, n.Left, n.Right)
		} else if n, ok := last.(*sqlparser.OrExpr); ok && !and {
			pending = append(pending, n.Left, n.Right)
		} else {
			parts = append(parts, last)
		}
	}
	slices.Reverse(parts)
	return parts
}

// isTest compiles IS [NOT] NULL, TRUE and FALSE, which are never unknown.
func (b *binder) isTest(e *sqlparser.IsExpr) (*condition, error) {
	null, truth, not := testOf(e)
	if null {
		c, err := b.nullTest(e.Expr)
		return negatedIf(not, c, err)
	}
	c, err := b.truthTest(e.Expr, truth)
	return negatedIf(not, c, err)
}

// testOf returns what IS [NOT] NULL, TRUE or FALSE asks.
func testOf(e *sqlparser.IsExpr) (null, truth, not bool) {
	word, not := strings.CutPrefix(strings.TrimPrefix(e.Operator, "is "), "not ")
	return word == "null", word == "true", not
}

// truthTest compiles e IS TRUE, or e IS FALSE: NOT e IS TRUE.
func (b *binder) truthTest(e sqlparser.Expr, truth bool) (*condition, error) {
	c, err := b.condition(e)
	c, err = negatedIf(!truth, c, err)
	if err != nil {
		return nil, err
	}
	return tested(c), nil
}

// nullTest compiles IS NULL. A condition is NULL if it is neither true nor false.
func (b *binder) nullTest(e sqlparser.Expr) (*condition, error) {
	if isCondition(syntax.Unwrap(e)) {
		c, err := b.conditionOf(e)
		if err != nil {
			return nil, err
		}
		return not(&condition{logic: isOr, parts: []*condition{tested(c), tested(not(c))}}), nil
	}
	if o, ok, err := b.operand(e); err != nil || ok && o.isColumn {
		return b.nullLeaf(o.column), err
	}
	x, err := b.expr(e)
	if err != nil {
		return nil, err
	}
	return &condition{logic: isMissing, computed: apply(missing, x), source: e}, nil
}

// valueOf returns a condition as an expression.
func (b *binder) valueOf(c *condition) *expr {
	if c.value == nil {
		c.value = b.valueOfParts(c)
	}
	return c.value
}

func (b *binder) valueOfParts(c *condition) *expr {
	if c.logic == isLeaf {
		return b.leafValue(&c.leaf)
	}
	values := make([]*expr, len(c.parts))
	for i, part := range c.parts {
		values[i] = b.valueOf(part)
	}
	switch c.logic {
	case isNot:
		return apply(negation, values...)
	case isTrue:
		return apply(testTrue, values...)
	case isAnd, isOr:
		return chainOf(values, c.logic == isAnd)
	}
	return c.computed
}

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

// span holds the values from lo to hi in SQLite's order.
type span struct{ lo, hi scalar }
