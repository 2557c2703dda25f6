package sqlfront

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlvalue"
)

// relations are the comparison operators as the parser writes them.
var relations = map[string]sqlvalue.Relation{
	sqlparser.EqualStr: sqlvalue.Equal, sqlparser.NotEqualStr: sqlvalue.NotEqual,
	sqlparser.LessThanStr: sqlvalue.Less, sqlparser.LessEqualStr: sqlvalue.LessOrEqual,
	sqlparser.GreaterThanStr: sqlvalue.Greater, sqlparser.GreaterEqualStr: sqlvalue.GreaterOrEqual,
}

// mirrored returns the relation read from right to left.
func mirrored(r sqlvalue.Relation) sqlvalue.Relation {
	switch r {
	case sqlvalue.Less:
		return sqlvalue.Greater
	case sqlvalue.LessOrEqual:
		return sqlvalue.GreaterOrEqual
	case sqlvalue.Greater:
		return sqlvalue.Less
	case sqlvalue.GreaterOrEqual:
		return sqlvalue.LessOrEqual
	}
	return r
}

// compileComparison compiles =, <>, <, <=, >, >=, IN and NOT IN.
func (b *binder) compileComparison(e *sqlparser.ComparisonExpr, truth bool) (pred, error) {
	if rows, ok, err := b.splitRows(e); err != nil {
		return pred{}, err
	} else if ok {
		return b.compileCondition(rows, truth)
	}
	switch {
	case e.Operator == sqlparser.InStr:
		return b.compileIn(e, truth)
	case e.Operator == sqlparser.NotInStr:
		return b.compileIn(e, !truth)
	case relations[e.Operator] == "":
		return b.compileComputed(e, truth)
	}
	return b.compare(e, truth)
}

// compare compiles a comparison of a column with a constant as a set of the
// column's values, and any other comparison as an expression.
func (b *binder) compare(e *sqlparser.ComparisonExpr, truth bool) (pred, error) {
	l, simple, err := b.operand(e.Left)
	if err != nil {
		return pred{}, err
	}
	r, also, err := b.operand(e.Right)
	if err != nil {
		return pred{}, err
	}
	relation := relations[e.Operator]
	switch {
	case !simple || !also || l.isColumn && r.isColumn:
		if column, relation, k, ok := b.solved(e.Left, relation, e.Right); ok {
			return b.compareColumn(column, relation, k, truth)
		}
		return b.compileComputed(e, truth)
	case isOrdered(relation) && (l.isColumn && b.isPinned(l.column) || r.isColumn && b.isPinned(r.column)):
		return b.compileComputed(e, truth)
	case l.isColumn:
		return b.compareColumn(l.column, relation, r.constant, truth)
	case r.isColumn:
		return b.compareColumn(r.column, mirrored(relation), l.constant, truth)
	case l.constant.isNull() || r.constant.isNull():
		return constantPred(false), nil
	}
	return constantPred(relation.Holds(l.constant.compare(r.constant)) == truth), nil
}

// isOrdered reports whether a relation asks for more than equality.
func isOrdered(r sqlvalue.Relation) bool { return r != sqlvalue.Equal && r != sqlvalue.NotEqual }

// compareColumn compiles column relation constant; with NULL it is unknown.
func (b *binder) compareColumn(column int, relation sqlvalue.Relation, k constant, truth bool) (pred, error) {
	if k.isNull() {
		return constantPred(false), nil
	}
	yes, err := b.matching(column, relation, k)
	if err != nil || truth {
		return columnPred(column, yes), err
	}
	return columnPred(column, b.domain(column).NotNull().Minus(yes)), nil
}

// matching returns the values of a column for which the comparison is true.
func (b *binder) matching(column int, relation sqlvalue.Relation, k constant) (query.Set, error) {
	d := b.domain(column)
	switch relation {
	case sqlvalue.Equal, sqlvalue.NotEqual:
		v, ok, err := b.convert(column, k)
		if err != nil {
			return query.Set{}, err
		}
		equal := d.None()
		if ok {
			equal = d.SetOf(v)
		}
		if relation == sqlvalue.NotEqual {
			return d.NotNull().Minus(equal), nil
		}
		if equal.IsEmpty() {
			b.warnOutside(column, "= "+k.label(), "it matches")
		}
		return equal, nil
	}
	return b.ordered(column, relation, k)
}

// warnOutside warns of a literal that matches nothing.
func (b *binder) warnOutside(column int, what, matches string) {
	c := b.u.Columns()[column]
	is := "is"
	if matches == "they match" {
		is = "are"
	}
	where := "outside the declared domain " + syntax.Excerpt(c.DomainText(), 80)
	if b.joins.steps(column) != nil { // its only domain is its values
		where = "in no row of the public table"
	}
	b.warn(fmt.Sprintf("%s %s %s %s: %s nothing", c.Name, what, is, where, matches))
}

// compileBetween compiles x BETWEEN a AND b as x >= a AND x <= b.
func (b *binder) compileBetween(e *sqlparser.RangeCond, truth bool) (pred, error) {
	if e.Operator == sqlparser.NotBetweenStr {
		truth = !truth
	}
	from, to := rangeParts(e)
	low, err := b.compileComparison(from, truth)
	if err != nil {
		return pred{}, err
	}
	high, err := b.compileComparison(to, truth)
	if err != nil {
		return pred{}, err
	}
	return b.merge([]pred{low, high}, truth)
}

// convert returns the value of a column that equals a constant under the
// column's affinity; false when none can.
func (b *binder) convert(column int, k constant) (query.Value, bool, error) {
	if b.domain(column).Type() == query.TypeText {
		v, err := b.text(column, k)
		if c := b.u.Columns()[column]; err == nil && c.Form.IsNoCase() {
			v, _ = c.Canonical(v)
		}
		if err == nil {
			err = b.refuseOther(column, v, k)
		}
		return v, true, err
	}
	k, err := b.numeric(column, k)
	if err == nil {
		err = b.refuseInside(column, sqlvalue.Equal, k)
	}
	if err != nil {
		return query.Value{}, false, err
	}
	n, relation := k.integer()
	return query.Int(n), relation == 0, nil
}

// refuseOther refuses to compare a column with a text that OTHER stands for, with all the other
// texts that are not listed.
func (b *binder) refuseOther(column int, v query.Value, k constant) error {
	c := b.u.Columns()[column]
	if !c.Form.HasOther() || c.Domain.Contains(v) || v.IsNull() {
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "%s is not listed in the domain of %s, and counts as one of its other texts", k.label(), c.Name).
		WithHint("%s = '%s' selects all of these", c.Name, query.Other).At(k.source.Position)
}

// refuseReading refuses what reads the texts of a column with OR OTHER: a pattern or a function.
func (b *binder) refuseReading(e sqlparser.SQLNode) error {
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		name, ok := n.(*sqlparser.ColName)
		if !ok {
			return true, nil
		}
		column, err := b.column(name)
		if err != nil || !b.u.Columns()[column].Form.HasOther() {
			return false, nil // an error is one of the caller's, too
		}
		return false, b.g.FirstToken(name).Unsupported("reading the texts of column "+b.u.Columns()[column].Name+", which has others than are listed,").
			WithHint("compare it with the texts of its list, or with '%s'", query.Other)
	}, e)
}

// refuseInside refuses a comparison that needs to tell apart numbers of one step of a
// private column. k is in steps. Steps begin at multiples, so that < and >= such a multiple
// are decided. The domain's last step has its end too, which <= and > decide.
func (b *binder) refuseInside(column int, relation sqlvalue.Relation, k constant) error {
	c := b.u.Columns()[column]
	if !c.Form.IsRounded() {
		return nil
	}
	steps := c.Steps()
	lo, hi := steps.Bounds()
	x := k.rat()
	last := x.Cmp(new(big.Rat).SetInt64(hi))
	if x.Cmp(new(big.Rat).SetInt64(lo)) < 0 || last > 0 {
		return nil // outside the domain
	}
	switch relation {
	case sqlvalue.Less, sqlvalue.GreaterOrEqual:
		if x.IsInt() && last < 0 {
			return nil
		}
	case sqlvalue.LessOrEqual, sqlvalue.Greater:
		if last == 0 {
			return nil
		}
	}
	below := new(big.Int).Div(x.Num(), x.Denom()).Int64()
	if last == 0 {
		below--
	}
	from, to := query.Decimal(steps.Multiple(below)), query.Decimal(steps.Multiple(below+1))
	upTo, hint := "< "+to, ""
	if below+1 == hi {
		upTo = "<= " + to
	}
	switch relation {
	case sqlvalue.Less, sqlvalue.LessOrEqual:
		hint = fmt.Sprintf("write %s < %s or %[1]s %[3]s", c.Name, from, upTo)
	case sqlvalue.Greater, sqlvalue.GreaterOrEqual:
		hint = fmt.Sprintf("write %s >= %s or %[1]s >= %[3]s", c.Name, from, to)
		if below+1 == hi {
			hint = fmt.Sprintf("write %s >= %s", c.Name, from)
		}
	default:
		hint = fmt.Sprintf("write %s >= %s AND %[1]s %[3]s for the step", c.Name, from, upTo)
	}
	return sqlerr.New(sqlerr.Unsupported, "column %s has steps of %s, and %s %s would divide the step from %s to %s",
		c.Name, query.Decimal(steps.Step()), relation, k.label(), from, to).WithHint("%s", hint).At(k.source.Position)
}

// text converts a constant that is compared with a TEXT column. An integer becomes
// its digits.
func (b *binder) text(column int, k constant) (query.Value, error) {
	switch {
	case k.real != nil:
		return query.Value{}, sqlerr.New(sqlerr.Invalid, "column %s is TEXT and is compared with the number %s",
			b.u.Columns()[column].Name, k.label()).WithHint("write it in single quotes as it is stored").At(k.source.Position)
	case k.value.IsInt():
		return query.Text(k.value.String()), nil
	}
	return k.value, nil
}

// numeric converts a constant that is compared with an INTEGER, REAL, DATE or TIMESTAMP
// column. The values of the last three are counted in steps.
func (b *binder) numeric(column int, k constant) (constant, error) {
	if c := b.u.Columns()[column]; c.Form.IsTime() {
		return readTime(k, c)
	}
	steps := b.steps(column)
	if !k.isNumber() {
		n, ok, err := k.readNumber(k.value.Str())
		if !ok && err == nil && b.u.Columns()[column].Form.IsBoolean() {
			n, ok = k.readTruth() // clients of PostgreSQL write it so where a statement has no parameters
		}
		switch {
		case err != nil:
			return n, err
		case !ok && steps != nil:
			return n, sqlerr.New(sqlerr.Invalid, "column %s is %s and is compared with %s, which is not a number",
				b.u.Columns()[column].Name, b.realName(column), k.label()).WithHint("compare it with a number").At(k.source.Position)
		case !ok && b.u.Columns()[column].Form.IsBoolean():
			return n, sqlerr.New(sqlerr.Invalid, "column %s is BOOLEAN and is compared with %s", b.u.Columns()[column].Name, k.label()).
				WithHint("compare it with TRUE or FALSE").At(k.source.Position)
		case !ok:
			return n, sqlerr.New(sqlerr.Invalid, "column %s is INTEGER and is compared with %s, which is not a number",
				b.u.Columns()[column].Name, k.label()).WithHint("compare it with an integer").At(k.source.Position)
		}
		k = n
	}
	if steps != nil {
		k.real = steps.InSteps(k.rat())
	}
	return k, nil
}

// ordered returns the values of a column on one side of a constant.
func (b *binder) ordered(column int, relation sqlvalue.Relation, k constant) (query.Set, error) {
	d := b.domain(column)
	less := relation == sqlvalue.Less || relation == sqlvalue.LessOrEqual
	inclusive := relation == sqlvalue.LessOrEqual || relation == sqlvalue.GreaterOrEqual
	if d.Type() == query.TypeText {
		return b.orderedText(column, k, less, inclusive)
	}
	k, err := b.numeric(column, k)
	if err != nil {
		return query.Set{}, err
	}
	if err := b.refuseInside(column, relation, k); err != nil {
		return query.Set{}, err
	}
	n, side := k.integer()
	if side != 0 {
		// Nothing lies between n and the constant: x < 40.5 is x <= 40, and
		// x > 40.5 is x > 40.
		inclusive = less == (side > 0)
	}
	if less {
		return d.Less(query.Int(n), inclusive)
	}
	return d.Greater(query.Int(n), inclusive)
}

func (b *binder) orderedText(column int, k constant, less, inclusive bool) (query.Set, error) {
	d := b.domain(column)
	if !d.Finite() {
		return query.Set{}, sqlerr.New(sqlerr.Unsupported, "an ordered comparison of column %s, which has no domain, is outside the dialect",
			b.u.Columns()[column].Name).WithHint("pin it with = or IN").At(k.source.Position)
	}
	if c := b.u.Columns()[column]; c.Form.HasOther() {
		return query.Set{}, sqlerr.New(sqlerr.Unsupported, "an ordered comparison of column %s, which has other texts than are listed, is outside the dialect", c.Name).
			WithHint("list the values with IN").At(k.source.Position)
	}
	v, err := b.text(column, k)
	if err != nil {
		return query.Set{}, err
	}
	if b.u.Columns()[column].Form.IsNoCase() {
		return foldedOrder(d, v, less, inclusive), nil
	}
	if less {
		return d.Less(v, inclusive)
	}
	return d.Greater(v, inclusive)
}

// foldedOrder returns the texts of a list that are less or greater than one, or equal to it if
// inclusive, as COLLATE NOCASE compares them: by their lower case.
func foldedOrder(d query.Domain, v query.Value, less, inclusive bool) query.Set {
	var values []query.Value
	for t := range d.NotNull().Each() {
		side := strings.Compare(query.FoldName(t.Str()), query.FoldName(v.Str()))
		if side == 0 && inclusive || side < 0 && less || side > 0 && !less {
			values = append(values, t)
		}
	}
	return d.SetOf(values...)
}

// compileIn compiles x IN (list). It is true if x equals an element. Otherwise it is
// unknown if x or an element is NULL, and false if neither is.
func (b *binder) compileIn(e *sqlparser.ComparisonExpr, truth bool) (pred, error) {
	if sub, ok := e.Right.(*sqlparser.Subquery); ok {
		return b.compileInPublic(e, sub, truth)
	}
	list, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return pred{}, b.unsupported(e.Right)
	}
	x, simple, err := b.operand(e.Left)
	if err != nil {
		return pred{}, err
	}
	elements, constant, err := b.elements(list)
	switch {
	case err != nil:
		return pred{}, err
	case !simple || !constant:
		plain := *e
		plain.Operator = sqlparser.InStr
		return b.compileComputed(&plain, truth)
	case !x.isColumn:
		return constantIn(x.constant, elements, truth), nil
	}
	equal, null, err := b.equalToAny(x.column, elements)
	if err != nil {
		return pred{}, err
	}
	return b.among(x.column, equal, null, truth), nil
}

// among returns the records whose column is in a list if truth is set, and the
// records whose column is not in it otherwise. In the second case the list must have
// no NULL.
func (b *binder) among(column int, listed query.Set, null, truth bool) pred {
	switch {
	case truth:
		return columnPred(column, listed)
	case null:
		return constantPred(false)
	}
	return columnPred(column, b.domain(column).NotNull().Minus(listed))
}

// elements returns the constants of a list. It is false if an element is computed.
func (b *binder) elements(list sqlparser.ValTuple) ([]constant, bool, error) {
	elements := make([]constant, len(list))
	for i, e := range list {
		o, ok, err := b.operand(e)
		if err != nil || !ok || o.isColumn {
			return nil, false, err
		}
		elements[i] = o.constant
	}
	return elements, true, nil
}

// equalToAny returns the values of a column that equal an element, and whether
// an element is NULL. It warns of elements outside the domain.
func (b *binder) equalToAny(column int, elements []constant) (equal query.Set, null bool, err error) {
	d := b.domain(column)
	values := make([]query.Value, 0, len(elements))
	var outside []constant
	for _, k := range elements {
		if k.isNull() {
			null = true
			continue
		}
		v, ok, err := b.convert(column, k)
		if err != nil {
			return query.Set{}, false, err
		}
		if ok && d.Contains(v) {
			values = append(values, v)
		} else {
			outside = append(outside, k)
		}
	}
	switch n := len(outside); {
	case n == 1:
		b.warnOutside(column, "= "+outside[0].label(), "it matches")
	case n > 1:
		b.warnOutside(column, fmt.Sprintf("= %s and %d more in a list", outside[0].label(), n-1), "they match")
	}
	return d.SetOf(values...), null, nil
}

// constantIn evaluates constant IN (constants).
func constantIn(x constant, elements []constant, truth bool) pred {
	null := x.isNull()
	for _, k := range elements {
		switch {
		case k.isNull():
			null = true
		case !x.isNull() && x.compare(k) == 0:
			return constantPred(truth)
		}
	}
	return constantPred(!null && !truth)
}

// maxRow bounds the values of a row value.
const maxRow = 100

// splitRows rewrites a comparison of row values, such as (a, b) = (1, 2) or (a, b)
// IN ((0, 1), (1, 1)), as comparisons of their values. It is false if the operands
// are not rows.
func (b *binder) splitRows(e *sqlparser.ComparisonExpr) (sqlparser.Expr, bool, error) {
	left, ok := e.Left.(sqlparser.ValTuple)
	if !ok {
		return nil, false, nil
	}
	right, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return nil, false, nil
	}
	var err error
	var x sqlparser.Expr
	switch e.Operator {
	case sqlparser.InStr, sqlparser.NotInStr:
		x, err = b.rowIn(left, right)
		return notIf(e.Operator == sqlparser.NotInStr, x), true, err
	case syntax.OperatorIs, syntax.OperatorIsNot:
		x, err = b.rowEqual(syntax.OperatorSame, left, right)
		return notIf(e.Operator == syntax.OperatorIsNot, x), true, err
	case sqlparser.EqualStr, sqlparser.NotEqualStr:
		x, err = b.rowEqual(sqlparser.EqualStr, left, right)
		return notIf(e.Operator == sqlparser.NotEqualStr, x), true, err
	}
	if relations[e.Operator] == "" {
		return nil, false, nil
	}
	x, err = b.rowOrdered(e.Operator, left, right)
	return x, true, err
}

func notIf(not bool, e sqlparser.Expr) sqlparser.Expr {
	if not {
		return &sqlparser.NotExpr{Expr: e}
	}
	return e
}

// checkRows refuses rows that cannot be compared.
func (b *binder) checkRows(left, right sqlparser.ValTuple) error {
	switch {
	case len(left) != len(right):
		return sqlerr.New(sqlerr.Invalid, "a row of %d values is compared with a row of %d", len(left), len(right)).
			At(b.g.StartToken(right).Position)
	case len(left) > maxRow:
		return b.g.StartToken(left).Unsupported("a row of this many values")
	}
	return nil
}

// rowEqual is a = c AND b = d for (a, b) = (c, d), and the same with IS.
func (b *binder) rowEqual(operator string, left, right sqlparser.ValTuple) (sqlparser.Expr, error) {
	if err := b.checkRows(left, right); err != nil {
		return nil, err
	}
	var all sqlparser.Expr
	for i := range left {
		equal := &sqlparser.ComparisonExpr{Left: left[i], Operator: operator, Right: right[i]}
		if all == nil {
			all = equal
		} else {
			all = &sqlparser.AndExpr{Left: all, Right: equal}
		}
	}
	return all, nil
}

// rowOrdered is a < c OR a = c AND b < d for (a, b) < (c, d).
func (b *binder) rowOrdered(operator string, left, right sqlparser.ValTuple) (sqlparser.Expr, error) {
	if err := b.checkRows(left, right); err != nil {
		return nil, err
	}
	sharp := map[string]string{sqlparser.LessEqualStr: sqlparser.LessThanStr, sqlparser.GreaterEqualStr: sqlparser.GreaterThanStr}[operator]
	if sharp == "" {
		sharp = operator
	}
	last := len(left) - 1
	var x sqlparser.Expr = &sqlparser.ComparisonExpr{Left: left[last], Operator: operator, Right: right[last]}
	for i := last - 1; i >= 0; i-- {
		equal := &sqlparser.ComparisonExpr{Left: left[i], Operator: sqlparser.EqualStr, Right: right[i]}
		x = &sqlparser.OrExpr{
			Left:  &sqlparser.ComparisonExpr{Left: left[i], Operator: sharp, Right: right[i]},
			Right: &sqlparser.AndExpr{Left: equal, Right: x},
		}
	}
	return x, nil
}

// rowIn is the disjunction of the equalities with the rows of a list.
func (b *binder) rowIn(left, list sqlparser.ValTuple) (sqlparser.Expr, error) {
	var any sqlparser.Expr
	for _, e := range list {
		right, ok := syntax.Unwrap(e).(sqlparser.ValTuple)
		if !ok {
			return nil, sqlerr.New(sqlerr.Invalid, "a row of %d values is looked up among single values", len(left)).
				WithHint("write (a, b) IN ((1, 2), (3, 4))").At(b.g.StartToken(e).Position)
		}
		equal, err := b.rowEqual(sqlparser.EqualStr, left, right)
		switch {
		case err != nil:
			return nil, err
		case any == nil:
			any = equal
		default:
			any = &sqlparser.OrExpr{Left: any, Right: equal}
		}
	}
	return any, nil
}
