package sqlfront

import (
	"math/big"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// line is factor times a private REAL or NUMERIC column, plus an offset. It is computed
// exactly, as PostgreSQL computes with numeric.
type line struct {
	column         int // -1 for a constant
	factor, offset *big.Rat
	whole          bool     // a constant that is an INTEGER, with which / cuts off
	source         constant // of one of its numbers, if it has any
}

// lineOf reads an expression as a line. It returns false for any other expression.
func (b *binder) lineOf(e sqlparser.Expr) (line, bool) {
	e = syntax.Unwrap(e)
	if o, ok, err := b.operand(e); ok || err != nil {
		switch {
		case err != nil:
			return line{}, false
		case o.isColumn:
			return line{column: o.column, factor: big.NewRat(1, 1), offset: new(big.Rat)}, b.u.Columns()[o.column].Form.IsStepped()
		}
		k := o.constant
		if !k.isNumber() {
			return line{}, false
		}
		return line{column: -1, factor: new(big.Rat), offset: k.decimal(), whole: k.real == nil, source: k}, true
	}
	switch e := e.(type) {
	case *sqlparser.UnaryExpr:
		x, ok := b.lineOf(e.Expr)
		switch e.Operator {
		case sqlparser.UPlusStr:
			return x, ok
		case sqlparser.UMinusStr:
			return x.times(big.NewRat(-1, 1)), ok
		}
	case *sqlparser.BinaryExpr:
		x, ok := b.lineOf(e.Left)
		if !ok {
			return line{}, false
		}
		y, ok := b.lineOf(e.Right)
		if !ok {
			return line{}, false
		}
		out, ok := x.combined(e.Operator, y)
		if out.source = x.source; y.source.source.Text != "" {
			out.source = y.source
		}
		return out, ok && isShort(out.offset) && isShort(out.factor)
	}
	return line{}, false
}

// isShort reports whether SQLite would compute a number without going over to REAL.
func isShort(x *big.Rat) bool { return x.Num().BitLen() < 60 && x.Denom().BitLen() < 60 }

// times returns the line times a number.
func (x line) times(k *big.Rat) line {
	if x.factor == nil {
		return x
	}
	x.factor, x.offset = new(big.Rat).Mul(x.factor, k), new(big.Rat).Mul(x.offset, k)
	return x
}

// combined returns x + y, x - y, x * y or x / y if it is a line.
func (x line) combined(operator string, y line) (line, bool) {
	out := line{column: max(x.column, y.column), whole: x.whole && y.whole}
	switch operator {
	case sqlparser.PlusStr, sqlparser.MinusStr:
		if operator == sqlparser.MinusStr {
			y = y.times(big.NewRat(-1, 1))
		}
		out.factor, out.offset = new(big.Rat).Add(x.factor, y.factor), new(big.Rat).Add(x.offset, y.offset)
		return out, x.column == y.column || x.column < 0 || y.column < 0
	case sqlparser.MultStr:
		if x.column >= 0 {
			x, y = y, x
		}
		y = y.times(x.offset)
		out.factor, out.offset = y.factor, y.offset
		return out, x.column < 0
	case sqlparser.DivStr:
		if y.column >= 0 || y.offset.Sign() == 0 {
			return out, false
		}
		quotient := x.times(new(big.Rat).Inv(y.offset))
		if out.whole {
			quotient.offset = new(big.Rat).SetInt(new(big.Int).Quo(quotient.offset.Num(), quotient.offset.Denom()))
		}
		out.factor, out.offset = quotient.factor, quotient.offset
		return out, true
	}
	return out, false
}

// solved reads a comparison of two lines in one column as a comparison of the column with a
// number: cost * 2 > 100 is cost > 50. It returns false if they are none.
func (b *binder) solved(left sqlparser.Expr, relation sqlvalue.Relation, right sqlparser.Expr) (column int, r sqlvalue.Relation, k constant, ok bool) {
	x, ok := b.lineOf(left)
	if !ok {
		return 0, relation, k, false
	}
	y, ok := b.lineOf(right)
	if !ok || x.column >= 0 && y.column >= 0 && x.column != y.column {
		return 0, relation, k, false
	}
	factor := new(big.Rat).Sub(x.factor, y.factor)
	if factor.Sign() == 0 {
		return 0, relation, k, false
	}
	if factor.Sign() < 0 {
		relation = mirrored(relation)
	}
	value := new(big.Rat).Sub(y.offset, x.offset)
	value.Quo(value, factor)
	if k = y.source; k.source.Text == "" {
		k = x.source
	}
	at := k.source
	if at.Text == "" {
		at = b.g.StartToken(right)
	}
	if at.Kind != syntax.KindParameter { // whose value is never shown
		if at.Text = value.RatString(); isDecimal(value) {
			at.Text = query.Decimal(value)
		}
	}
	return max(x.column, y.column), relation, constant{real: value, source: at}, true
}

func isDecimal(x *big.Rat) bool {
	_, exact := x.FloatPrec()
	return exact
}

// exactly compiles a comparison that names NUMERIC columns without a rounding: both sides are
// integers in a common unit. It returns false where they are not.
func (b *binder) exactly(operator string, left, right sqlparser.Expr) (*expr, bool) {
	if !b.areExact(left, right) {
		return nil, false
	}
	summing := b.summing
	b.summing = true
	x, unitX, err := b.amount(left)
	var y *expr
	var unitY *big.Rat
	if err == nil {
		y, unitY, err = b.amount(right)
	}
	b.summing = summing
	if err != nil || !x.full.integral || !y.full.integral {
		return nil, false
	}
	if x, y, _, err = inCommonUnits(x, unitX, y, unitY); err != nil || !x.full.integral || !y.full.integral {
		return nil, false
	}
	return comparedBy(operator, x, y), true
}

// areExact reports whether expressions name a private NUMERIC column, and no REAL column or
// NUMERIC in steps.
func (b *binder) areExact(es ...sqlparser.Expr) bool {
	exact, other := false, false
	for _, e := range es {
		sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
			if c, ok := n.(*sqlparser.ColName); ok {
				if column, err := b.column(c); err == nil && b.steps(column) != nil {
					form := b.u.Columns()[column].Form
					exact, other = exact || form.IsStepped() && !form.IsRounded(), other || !form.IsStepped() || form.IsRounded()
				}
			}
			return true, nil
		}, e)
	}
	return exact && !other
}

// argument compiles an argument of a function, with others behind it. A number of a NUMERIC column
// is a REAL there. Of a column in steps it is the middle of a step: so it takes a function that
// changes between steps only.
func (b *binder) argument(e sqlparser.Expr, name string, more []sqlparser.Expr) (*expr, error) {
	l, ok := b.lineOf(e)
	if !ok || l.column < 0 {
		return b.expr(e)
	}
	step := b.steps(l.column).Step()
	factor, offset := step.Mul(step, l.factor), l.offset
	if b.u.Columns()[l.column].Form.IsRounded() {
		if !b.changesBetween(name, more, l, factor) {
			return nil, b.refuseSteps(l.column, e)
		}
		offset = new(big.Rat).Add(offset, new(big.Rat).Mul(factor, big.NewRat(1, 2)))
	}
	unit := commonUnit(factor, offset)
	a, c := new(big.Rat).Quo(factor, unit).Num(), new(big.Rat).Quo(offset, unit).Num()
	of, _ := new(big.Rat).SetInt(unit.Denom()).Float64()
	if a.Mul(a, unit.Num()); !a.IsInt64() || !c.Mul(c, unit.Num()).IsInt64() {
		return nil, b.placedAt(errOverflow(), e)
	}
	whole := sum(times(b.columnExpr(l.column), numberExpr(a.Int64())), numberExpr(c.Int64()), false)
	return apply(arithmetical(sqlvalue.Over), whole, constantOf(exactly(realOf(of)))), nil
}

// changesBetween reports whether a function of a line changes only where a step begins. A step is
// factor wide, and one of them begins at the line's offset.
func (b *binder) changesBetween(name string, more []sqlparser.Expr, l line, factor *big.Rat) bool {
	var numbers []*big.Rat
	for _, e := range more {
		o, ok, err := b.operand(e)
		if err != nil || !ok || o.isColumn || !o.constant.isNumber() {
			return false
		}
		numbers = append(numbers, o.constant.decimal())
	}
	width, from := big.NewRat(1, 1), new(big.Rat)
	switch lo, _ := b.steps(l.column).Bounds(); {
	case name == "width_bucket" && len(numbers) == 3 && numbers[2].Sign() > 0:
		from = numbers[0]
		width.Sub(numbers[1], from).Quo(width, numbers[2])
	case name == "floor":
	case name == "trunc", name == "round":
		if lowest := new(big.Rat).Mul(factor, big.NewRat(lo, 1)); lowest.Add(lowest, l.offset).Sign() < 0 {
			return false // where steps end at what is rounded away from 0
		}
		if len(numbers) == 1 && numbers[0].IsInt() && numbers[0].Num().BitLen() < 5 {
			width = powerOfTen(-numbers[0].Num().Int64())
		}
		if name == "round" {
			from.Quo(width, big.NewRat(2, 1))
		}
	default:
		return false
	}
	from = new(big.Rat).Sub(from, l.offset)
	return factor.Sign() > 0 && from.Quo(from, factor).IsInt() && width.Quo(width, factor).IsInt()
}

// refuseSteps refuses to compute with a REAL or NUMERIC column.
func (b *binder) refuseSteps(column int, e sqlparser.Expr) error {
	c := b.u.Columns()[column]
	refused := b.g.StartToken(e).Unsupported("computing with " + b.realName(column) + " column " + c.Name + " in a condition or function")
	switch {
	case !c.Form.IsStepped(): // of a public table
		return refused.WithHint("compare it with a number, or add it up")
	case !c.Form.IsRounded():
		return refused.WithHint("compare it, a multiple of it or a sum with numbers and other such columns, or add it up")
	}
	lo, hi, step := c.Steps().Texts()
	return refused.WithHint("a row of %[1]s is anywhere in a step of %[2]s, the first of which begins at %[3]s and the last of which ends at %[4]s: compare %[1]s, or a multiple of it, with such a bound", c.Name, step, lo, hi)
}
