package sqlfront

import (
	"slices"
	"sort"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// comparison compiles every operator that compares.
func (b *binder) comparison(e *sqlparser.ComparisonExpr) (*condition, error) {
	if rows, ok, err := b.splitRows(e); err != nil || ok {
		if err != nil {
			return nil, err
		}
		return b.condition(rows)
	}
	switch e.Operator {
	case sqlparser.InStr, sqlparser.NotInStr:
		c, err := b.in(e)
		return negatedIf(e.Operator == sqlparser.NotInStr, c, err)
	case sqlparser.LikeStr, sqlparser.NotLikeStr:
		x, err := b.likeExpr(e)
		return negatedIf(e.Operator == sqlparser.NotLikeStr, computedBy(x), err)
	case syntax.OperatorGlob, syntax.OperatorNotGlob:
		x, err := b.globExpr(e)
		return negatedIf(e.Operator == syntax.OperatorNotGlob, computedBy(x), err)
	case syntax.OperatorIs, syntax.OperatorIsNot:
		c, err := b.isValue(e)
		return negatedIf(e.Operator == syntax.OperatorIsNot, c, err)
	}
	return b.compare(e.Operator, e.Left, e.Right)
}

// compare compiles left operator right: a leaf if one side is a column and the other a constant.
func (b *binder) compare(operator string, left, right sqlparser.Expr) (*condition, error) {
	if c, ok, err := b.plain(operator, left, right); ok || err != nil {
		return c, err
	}
	x, err := b.comparisonOf(operator, left, right)
	return computedBy(x), err
}

// comparisonOf compiles left operator right.
func (b *binder) comparisonOf(operator string, left, right sqlparser.Expr) (*expr, error) {
	if err := b.countPart(); err != nil {
		return nil, b.placedAt(err, left)
	}
	x, y, err := b.pair(left, right)
	if err != nil {
		if exact, ok := b.exactly(operator, left, right); ok {
			return exact, nil
		}
		return nil, err
	}
	if err := b.refuseOthers(operator, x, y, left); err != nil {
		return nil, err
	}
	return comparedBy(operator, x, y), nil
}

// comparedBy applies an operator that compares.
func comparedBy(operator string, x, y *expr) *expr {
	if operator != syntax.OperatorSame {
		if d := difference(x, y); d != nil {
			return apply(comparison(relations[operator]), d, numberExpr(0))
		}
	}
	of := isSame
	if operator != syntax.OperatorSame {
		of = comparison(relations[operator])
	}
	return compared(of, x, y)
}

// compared applies a comparison. It refuses to compare a computed text with an
// unnamed text of a column without a domain, because the two could be equal.
func compared(of operation, x, y *expr) *expr {
	if x.derived || y.derived {
		of = refuseUnnamed("a comparison with a computed text", of)
	}
	return apply(of, x, y)
}

// difference returns x − y if comparing it with 0 is the same as comparing x with y.
// That holds for integers whose difference cannot overflow. Otherwise it returns nil.
// Constants are compared as they are.
func difference(x, y *expr) *expr {
	if x.isConstant() || y.isConstant() || x.full.isNull() || y.full.isNull() {
		return nil
	}
	if d := sum(x, y, true); d.terms != nil {
		return d
	}
	return nil
}

// pair compiles two operands that are compared with each other.
func (b *binder) pair(left, right sqlparser.Expr) (x, y *expr, err error) {
	if x, err = b.expr(left); err != nil {
		return nil, nil, err
	}
	if y, err = b.expr(right); err != nil {
		return nil, nil, err
	}
	return b.affine(x, y, left)
}

// affine applies to each of two compared expressions the affinity of the
// other: a number meets an INTEGER column, and a text a TEXT column.
func (b *binder) affine(x, y *expr, left sqlparser.Expr) (*expr, *expr, error) {
	if x.time != 0 || y.time != 0 {
		return b.alignTimes(x, y, left)
	}
	ax, ay := x.affinity, y.affinity
	x, err := b.converted(x, ax, y, ay)
	if err != nil {
		return nil, nil, err
	}
	if y, err = b.converted(y, ay, x, ax); err != nil {
		return nil, nil, err
	}
	if x.full.isNumber() && y.full.isText() || x.full.isText() && y.full.isNumber() {
		if !x.full.isNull() && !y.full.isNull() && !(x.isConstant() && y.isConstant()) {
			return nil, nil, sqlerr.New(sqlerr.Invalid, "a number is compared with a text, which is never equal").
				WithHint("write a number without quotes, and a text in quotes").At(b.g.StartToken(left).Position)
		}
	}
	if x.noCase || x.column < 0 && y.noCase { // the collation of the left column counts
		return b.folded(x), b.folded(y), nil
	}
	return x, y, nil
}

// folded returns a text in lower case, which COLLATE NOCASE compares. Without a list a column's
// texts are in lower case already.
func (b *binder) folded(x *expr) *expr {
	if x.noCase && !b.domain(x.column).Finite() {
		return x
	}
	f, _ := functionNamed("lower", 1)
	y := apply(f.operation("lower"), x)
	y.derived = x.derived && !y.isConstant()
	return y
}

// converted converts x for a comparison with a value of the given affinity.
func (b *binder) converted(x *expr, own query.Type, other *expr, affinity query.Type) (*expr, error) {
	switch {
	case x.literal != nil && x.literal.value.IsText() && !other.isConstant() && other.full.isNumber(): // as in PostgreSQL, even beside a sum
		if other.column >= 0 {
			k, err := b.numeric(other.column, *x.literal)
			return constantExpr(k), err
		}
		k, ok, err := x.literal.readNumber(x.literal.value.Str())
		if !ok {
			return x, err
		}
		return constantExpr(k), err
	case affinity == query.TypeInteger && own != query.TypeInteger && !x.full.isNumber():
		return apply(toNumber(), x), nil
	case affinity == query.TypeText && own == 0 && !x.full.isText():
		if x.literal != nil && other.column >= 0 {
			v, err := b.text(other.column, *x.literal)
			return constantExpr(constant{value: v, source: x.literal.source}), err
		}
		x = apply(toText(), x)
		x.derived = !x.isConstant()
		return x, nil
	}
	return x, nil
}

// toNumber is the NUMERIC affinity: a text that is a number becomes one.
func toNumber() operation {
	return valueOperation("a comparison with a number", constantBounds(anything), func(args []scalar) scalar {
		if !args[0].isText() {
			return args[0]
		}
		k, ok, err := constant{}.readNumber(args[0].value.Str())
		switch {
		case err != nil:
			return refused("a number with an exponent this large")
		case !ok:
			return args[0]
		}
		return k.scalar()
	})
}

// toText is the TEXT affinity: a number becomes its digits.
func toText() operation {
	return valueOperation("", constantBounds(anyText), func(args []scalar) scalar {
		if args[0].isNull() {
			return args[0]
		}
		if s, ok := args[0].text(); ok {
			return textOf(s)
		}
		return refused("a REAL as a text")
	})
}

// isValue compiles x IS y, and x IS TRUE with a TRUE in parentheses.
func (b *binder) isValue(e *sqlparser.ComparisonExpr) (*condition, error) {
	if t, ok := b.truthWord(e.Right); ok {
		return b.truthTest(e.Left, t)
	}
	return b.compare(syntax.OperatorSame, e.Left, e.Right)
}

// truthWord reports which of the words TRUE and FALSE an expression is.
func (b *binder) truthWord(e sqlparser.Expr) (value, ok bool) {
	v, ok := syntax.Unwrap(e).(*sqlparser.SQLVal)
	if !ok {
		return false, false
	}
	o, ok, err := b.literal(v)
	if t := o.constant.source; ok && err == nil && !o.isColumn {
		return t.Matches("TRUE"), t.Matches("TRUE") || t.Matches("FALSE")
	}
	return false, false
}

// between compiles x BETWEEN a AND b as x >= a AND x <= b.
func (b *binder) between(e *sqlparser.RangeCond) (*condition, error) {
	low, high := rangeParts(e)
	c, err := b.junction(&sqlparser.AndExpr{Left: low, Right: high})
	return negatedIf(e.Operator == sqlparser.NotBetweenStr, c, err)
}

// rangeParts returns the two comparisons of a BETWEEN.
func rangeParts(e *sqlparser.RangeCond) (low, high *sqlparser.ComparisonExpr) {
	return &sqlparser.ComparisonExpr{Left: e.Left, Operator: sqlparser.GreaterEqualStr, Right: e.From},
		&sqlparser.ComparisonExpr{Left: e.Left, Operator: sqlparser.LessEqualStr, Right: e.To}
}

// refuseUnnamed makes an operation refuse the texts that the statement does not name.
func refuseUnnamed(what string, of operation) operation {
	return func(args []bounds) bounds {
		for _, x := range args {
			if x.known && x.lo.standIn == isOther {
				return exactly(noDomain(what, x.lo.column))
			}
		}
		return of(args)
	}
}

// in compiles x IN (list): a leaf of the constants if x is a column, and comparisons with the
// other elements.
func (b *binder) in(e *sqlparser.ComparisonExpr) (*condition, error) {
	if sub, ok := e.Right.(*sqlparser.Subquery); ok {
		return b.inPublic(e, sub)
	}
	list, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return nil, b.unsupported(e.Right)
	}
	x, simple, err := b.operand(e.Left)
	if err != nil {
		return nil, err
	}
	constants, computed, err := b.elements(list)
	if err != nil {
		return nil, err
	}
	var equal []*expr
	switch {
	case !simple:
		computed = list
	case x.isColumn && len(constants) > 0:
		listed, err := b.among(x.column, constants)
		if err != nil || len(computed) == 0 {
			return listed, err
		}
		equal = append(equal, b.valueOf(listed))
	case !x.isColumn:
		for _, k := range constants {
			equal = append(equal, constantComparison(sqlvalue.Equal, x.constant, k))
		}
	}
	if len(computed) > 0 {
		rest, err := b.inComputed(e.Left, computed)
		if err != nil {
			return nil, err
		}
		equal = append(equal, rest...)
	}
	return computedBy(chainOf(equal, false)), nil
}

// inComputed compiles the comparisons of x IN (list). Only the affinity of x counts, not the
// elements'.
func (b *binder) inComputed(left sqlparser.Expr, list sqlparser.ValTuple) ([]*expr, error) {
	if err := b.countPart(); err != nil {
		return nil, b.placedAt(err, left)
	}
	x, err := b.expr(left)
	if err != nil {
		return nil, err
	}
	var equal, constants []*expr
	for _, element := range list {
		z, y, err := b.element(x, element)
		switch {
		case err != nil:
			return nil, err
		case y.isConstant() && !y.full.undefined() && z == x:
			constants = append(constants, y)
		default:
			equal = append(equal, compared(comparison(sqlvalue.Equal), z, y))
		}
	}
	if len(constants) > 0 {
		equal = append(equal, x.inConstants(constants))
	}
	return equal, nil
}

// element compiles an element of a list that x is looked up in. It returns both as they
// are compared.
func (b *binder) element(x *expr, e sqlparser.Expr) (*expr, *expr, error) {
	y, err := b.expr(e)
	if err != nil {
		return nil, nil, err
	}
	plain := *y
	plain.affinity, plain.noCase = 0, false
	if x.time != 0 || y.time != 0 {
		return b.alignTimes(x, &plain, e)
	}
	like, y, err := b.affine(x, &plain, e)
	if x.noCase {
		x = like
	}
	if err == nil {
		err = b.refuseOthers(sqlparser.EqualStr, x, y, e)
	}
	return x, y, err
}

// inConstants compiles x IN (constants).
func (x *expr) inConstants(constants []*expr) *expr {
	m := &members{inside: canBeTrue, outside: canBeFalse, null: canBeUnknown}
	var mentions []string
	for _, y := range constants {
		v := y.full.lo.canonical()
		if v.isNull() {
			m.outside = canBeUnknown
			continue
		}
		m.spans = append(m.spans, span{v, v})
		if v.isText() {
			mentions = append(mentions, v.value.Str())
		}
	}
	slices.SortFunc(m.spans, func(s, t span) int { return s.lo.compare(t.lo) })
	in := apply(m.contains, x)
	in.mentions = mentions
	return in
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
