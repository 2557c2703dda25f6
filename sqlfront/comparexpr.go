package sqlfront

import (
	"slices"

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

// pair compiles two operands that are compared with each other.
func (b *binder) pair(left, right sqlparser.Expr) (x, y *expr, err error) {
	if x, y, err = b.both(left, right); err != nil {
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
