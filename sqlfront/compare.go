package sqlfront

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
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

// plain compiles a comparison of a column with a constant as a leaf, and one of two constants. It
// is false for any other comparison, and for one that no list of values decides: of a column
// without a domain by order.
func (b *binder) plain(operator string, left, right sqlparser.Expr) (*condition, bool, error) {
	l, simple, err := b.operand(left)
	if err != nil {
		return nil, false, err
	}
	r, also, err := b.operand(right)
	if err != nil {
		return nil, false, err
	}
	column, relation, k := l.column, relations[operator], r.constant
	switch {
	case !simple || !also || l.isColumn && r.isColumn:
		var ok bool
		if column, relation, k, ok = b.solved(left, relation, right); !ok {
			return nil, false, nil
		}
	case r.isColumn:
		column, relation, k = r.column, mirrored(relation), l.constant
	case !l.isColumn && relation != "":
		return computedBy(constantComparison(relation, l.constant, r.constant)), true, nil
	}
	switch {
	case relation == "" && (!l.isColumn && !r.isColumn || b.steps(column) != nil):
		return nil, false, nil
	case isOrdered(relation) && !k.isNull() && !b.domain(column).Finite():
		return nil, false, nil
	}
	c, err := b.compareColumn(column, relation, k)
	return c, true, err
}

// constantComparison compares two constants.
func constantComparison(relation sqlvalue.Relation, x, y constant) *expr {
	if x.isNull() || y.isNull() {
		return constantOf(exactly(scalar{}))
	}
	return constantOf(conditionBounds(relation.Holds(x.compare(y))))
}

// isOrdered reports whether a relation asks for more than equality. That of IS is "".
func isOrdered(r sqlvalue.Relation) bool {
	return r != "" && r != sqlvalue.Equal && r != sqlvalue.NotEqual
}

// compareColumn compiles column relation constant. With NULL it is unknown, and IS NULL is never.
func (b *binder) compareColumn(column int, relation sqlvalue.Relation, k constant) (*condition, error) {
	if k.isNull() && relation == "" {
		return b.nullLeaf(column), nil
	} else if k.isNull() {
		return b.listedLeaf(column, b.domain(column).None(), true, ""), nil
	}
	yes, err := b.matching(column, relation, k)
	if err != nil {
		return nil, err
	}
	l := leaf{column: column, yes: yes, other: canBeFalse, null: canBeUnknown}
	switch {
	case relation == "":
		l.null = canBeFalse
	case relation == sqlvalue.Equal && yes.IsEmpty():
		l.warning = b.outside(column, "= "+k.label(), "it matches", k)
	}
	return leafCondition(l), nil
}

// matching returns the values of a column for which the comparison is true.
func (b *binder) matching(column int, relation sqlvalue.Relation, k constant) (query.Set, error) {
	if isOrdered(relation) {
		return b.ordered(column, relation, k)
	}
	d := b.domain(column)
	equal := d.None()
	v, ok, err := b.convert(column, k)
	switch {
	case err != nil:
		return equal, err
	case ok:
		equal = d.SetOf(v)
	}
	if relation == sqlvalue.NotEqual {
		return d.NotNull().Minus(equal), nil
	}
	return equal, nil
}

// outside returns a warning of literals that match nothing, of which k is the first.
func (b *binder) outside(column int, what, matches string, k constant) string {
	c := b.u.Columns()[column]
	is := "is"
	if matches == "they match" {
		is = "are"
	}
	where := "outside the declared domain " + syntax.Excerpt(c.DomainText(), 80)
	if b.joins.steps(column) != nil { // its only domain is its values
		where = "in no row of the public table"
	}
	text := fmt.Sprintf("%s %s %s %s: %s nothing", c.Name, what, is, where, matches)
	if near := nearby(c.Domain, k); near != "" {
		text += "; " + near
	}
	return text
}

// nearby asks whether a declared text was meant by one that is none, as 'Large' by 'large'.
func nearby(d query.Domain, k constant) string {
	const most = 1 << 12 // declared values looked at
	if d.Type() != query.TypeText || !d.Finite() || d.Size() > most || k.source.Kind != syntax.KindString {
		return ""
	}
	near := sqlerr.Closest(k.source.Value, func(yield func(string) bool) {
		for i := uint64(0); i < d.Size() && (d.Value(i).IsNull() || yield(d.Value(i).Str())); i++ {
		}
	})
	if near == "" {
		return ""
	}
	return "did you mean '" + syntax.Excerpt(strings.ReplaceAll(near, "'", "''"), 40) + "'?"
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
	hint := fmt.Sprintf("%s = '%s' selects all of these", c.Name, query.Other)
	if near := nearby(c.Domain, k); near != "" {
		hint = near + " " + hint
	}
	return sqlerr.New(sqlerr.Unsupported, "%s is not listed in the domain of %s, and counts as one of its other texts", k.label(), c.Name).
		WithHint("%s", hint).At(k.source.Position)
}

// refuseOthers refuses to compare what can be OTHER with a text that OTHER stands for, or with the
// texts of another column, or by their order.
func (b *binder) refuseOthers(operator string, x, y *expr, at sqlparser.Expr) error {
	for _, p := range [][2]*expr{{x, y}, {y, x}} {
		for _, column := range p[0].others {
			known := p[1].full.isNumber() || p[1].column == column || p[1].isConstant() && b.isListed(column, p[1].full.lo)
			if known && (p[1].column == column || operator == sqlparser.EqualStr || operator == sqlparser.NotEqualStr || operator == syntax.OperatorSame) {
				continue
			}
			return b.othersRead(column, b.g.StartToken(at))
		}
	}
	return nil
}

func (b *binder) othersRead(column int, at syntax.Token) error {
	return at.Unsupported("reading the texts of column "+b.u.Columns()[column].Name+", which has others than are listed,").
		WithHint("compare it with the texts of its list, or with '%s'", query.Other)
}

// isListed reports whether a column has a text itself, and not OTHER in its place.
func (b *binder) isListed(column int, v scalar) bool {
	c := b.u.Columns()[column]
	if !v.isText() {
		return true
	}
	if !c.Form.IsNoCase() {
		return c.Domain.Contains(query.Text(v.value.Str()))
	}
	for t := range c.Domain.NotNull().Each() {
		if strings.EqualFold(t.Str(), v.value.Str()) {
			return true
		}
	}
	return false
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
		return false, b.othersRead(column, b.g.FirstToken(name))
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

// elements returns the constants of a list, and its other elements.
func (b *binder) elements(list sqlparser.ValTuple) (constants []constant, rest sqlparser.ValTuple, err error) {
	constants = make([]constant, 0, len(list))
	for _, e := range list {
		o, ok, err := b.operand(e)
		switch {
		case err != nil:
			return nil, nil, err
		case ok && !o.isColumn:
			constants = append(constants, o.constant)
		default:
			rest = append(rest, e)
		}
	}
	return constants, rest, nil
}

// among compiles column IN (constants). It warns of elements outside the domain.
func (b *binder) among(column int, elements []constant) (*condition, error) {
	d := b.domain(column)
	values := make([]query.Value, 0, len(elements))
	var outside []constant
	null := false
	for _, k := range elements {
		if k.isNull() {
			null = true
			continue
		}
		v, ok, err := b.convert(column, k)
		if err != nil {
			return nil, err
		}
		if ok && d.Contains(v) {
			values = append(values, v)
		} else {
			outside = append(outside, k)
		}
	}
	warning := ""
	switch n := len(outside); {
	case n == 1:
		warning = b.outside(column, "= "+outside[0].label(), "it matches", outside[0])
	case n > 1:
		listed := fmt.Sprintf("= %s and %d more in a list", outside[0].label(), n-1)
		warning = b.outside(column, listed, "they match", outside[0])
	}
	return b.listedLeaf(column, d.SetOf(values...), null, warning), nil
}

// listedLeaf compiles column IN (values). It is true for the values. For others it is false, or
// unknown if NULL is listed.
func (b *binder) listedLeaf(column int, values query.Set, null bool, warning string) *condition {
	other := canBeFalse
	if null {
		other = canBeUnknown
	}
	return leafCondition(leaf{column: column, yes: values, other: other, null: canBeUnknown, warning: warning})
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
