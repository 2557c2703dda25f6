package sqlfront

import (
	"cmp"
	"fmt"
	"math"
	"math/big"

	"github.com/xwb1989/sqlparser"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// summand is the argument of an aggregate: an expression over the columns of a row.
type summand struct {
	value   query.Function // in units; 0 where it is NULL
	present pred           // where it is not NULL
	unit    *big.Rat       // nil: 1, and the values are INTEGER; else they are REAL
	off     float64        // in units: how far a value may be from that of its row, by the declared steps
}

const inAggregate = " inside an aggregate"

const sumHint = "SUM and AVG take integer, REAL and NUMERIC columns, numbers, + - * / % and CASE; divide the aggregate instead of its argument"

// summand compiles the argument of an aggregate.
//
// A plain column does not pass through the compiler of expressions, which would
// evaluate each of its values: for a domain of 2^20 values that takes about three
// times as long (BenchmarkSum).
func (b *binder) summand(e sqlparser.Expr) (summand, error) {
	if c, ok := syntax.Unwrap(e).(*sqlparser.ColName); ok {
		if column, err := b.column(c); err != nil || !b.u.Columns()[column].Form.IsRounded() {
			return b.columnSummand(c)
		}
	}
	b.summing = true
	x, unit, err := b.amount(e)
	b.summing = false
	if err != nil {
		return summand{}, err
	}
	if !x.full.undefined() && !x.full.isNumber() {
		return summand{}, b.g.StartToken(e).Unsupported("a text inside an aggregate").WithHint("%s", sumHint)
	}
	var weights map[scalar]int64 // of REALs
	off := x.off
	if !x.full.integral && !x.full.undefined() {
		if weights, unit, off, err = b.weights(x); err != nil {
			return summand{}, b.placedAt(err, e)
		}
	}
	value, err := b.diagram(x, func(r bounds) (int64, bool, error) {
		switch {
		case !r.known || r.isNull():
			return 0, r.known, nil
		case weights != nil:
			return weights[r.lo.canonical()], true, nil
		}
		return r.lo.integer(), true, nil
	})
	if err != nil {
		return summand{}, b.placedAt(err, e)
	}
	present, err := b.presence(x)
	return summand{value.Indicator(), present, unit, off}, b.placedAt(err, e)
}

// maxFraction bounds the weights of numbers with fractions: those with more digits are rounded.
const maxFraction = 1 << 31

// weights returns the values of an expression as multiples of a unit: their shortest decimals, or
// rounded where these are long. Then they are off by half a unit at most.
func (b *binder) weights(x *expr) (weights map[scalar]int64, unit *big.Rat, off float64, err error) {
	_, found, err := b.scalars(x)
	if err != nil {
		return nil, nil, 0, err
	}
	if unit, err = unitOf(found); err != nil {
		return nil, nil, 0, err
	}
	largest := 0.0
	for _, v := range found {
		largest = max(largest, math.Abs(v.value.Float()))
	}
	switch {
	case largest >= 1<<62:
		return nil, nil, 0, errOverflow()
	case unit != nil && new(big.Rat).Quo(new(big.Rat).SetFloat64(largest), unit).Cmp(big.NewRat(maxFraction, 1)) > 0:
		unit = powerOfTen(int64(math.Ceil(math.Log10(largest / maxFraction))))
		off = 0.5
	}
	weights = make(map[scalar]int64, len(found))
	for _, v := range found {
		if v.isNumber() {
			n := new(big.Rat).Quo(v.decimal(), worth(unit))
			f, _ := n.Float64()
			weights[v] = int64(math.Round(f))
		}
	}
	return weights, unit, off, nil
}

func powerOfTen(k int64) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(k, -k)), nil)
	if k < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power)
	}
	return new(big.Rat).SetInt(power)
}

func errFraction(where, hint string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "a number with a fraction%s is outside the dialect", where).WithHint("%s", hint)
}

func errOverflow() error {
	return sqlerr.New(sqlerr.Unsupported, "an expression inside an aggregate can exceed 64 bits").
		WithHint("narrow the columns' domains or the numbers in it")
}

func (b *binder) columnSummand(e *sqlparser.ColName) (summand, error) {
	column, err := b.column(e)
	if err != nil {
		return summand{}, err
	}
	c := b.u.Columns()[column]
	if c.Form.IsTime() {
		lo, _ := c.Domain.Bounds()
		days := fmt.Sprintf("AVG(%s - %s), a number of days", c.Name, c.Form.Shown(query.Int(lo)))
		if !c.Form.IsDate() {
			days = fmt.Sprintf("AVG(unixepoch(%s)), a number of seconds", c.Name)
		}
		return summand{}, b.g.FirstToken(e).Unsupported("adding up column "+c.Name+", which is "+c.TypeName()+",").WithHint("write MEDIAN(%s), or %s", c.Name, days)
	}
	if c.Domain.Type() != query.TypeInteger {
		return summand{}, b.g.FirstToken(e).Unsupported("adding up column " + c.Name + ", which is TEXT,").
			WithHint("group by it, or declare it as INTEGER over a view")
	}
	f, err := query.ColumnValue(&b.spent.sums, b.u, column)
	x := summand{value: f, present: columnPred(column, c.Domain.NotNull())}
	if steps := b.steps(column); steps != nil {
		x.unit = steps.Step()
	}
	return x, b.placedAt(err, e)
}

// counting says where an expression stands that is counted in units, and what people can write there.
func (b *binder) counting() (where, hint string) {
	if b.summing {
		return inAggregate, sumHint
	}
	return " in a key of GROUP BY", binHint
}

// worth returns the number that a value of 1 stands for.
func (x summand) worth() *big.Rat { return worth(x.unit) }

func worth(unit *big.Rat) *big.Rat {
	if unit == nil {
		return big.NewRat(1, 1)
	}
	return unit
}

// checked returns an operation on integers that refuses results beyond 64 bits.
func checked(operator sqlvalue.Operator) func(a, b int64) (int64, error) {
	return func(a, b int64) (int64, error) {
		n, ok := sqlvalue.Integers(operator, a, b)
		if !ok {
			return 0, errOverflow()
		}
		return n, nil
	}
}

// presence returns the records for which an expression is not NULL.
func (b *binder) presence(x *expr) (pred, error) {
	q, err := b.diagram(apply(missing, x), func(r bounds) (int64, bool, error) {
		switch r.truths() {
		case canBeTrue:
			return 0, true, nil
		case canBeFalse:
			return 1, true, nil
		}
		return 0, false, nil
	})
	if err != nil {
		return pred{}, err
	}
	return b.simplest(q), nil
}

// amount compiles an expression of numbers. REAL columns of public tables are
// integers in it, counted in their steps; the unit is the number that 1 stands
// for, or nil if there is no such column.
func (b *binder) amount(e sqlparser.Expr) (x *expr, unit *big.Rat, err error) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ColName:
		column, err := b.column(e)
		if err != nil {
			return nil, nil, err
		}
		if steps := b.steps(column); steps != nil {
			x, unit := b.columnExpr(column), steps.Step()
			if b.u.Columns()[column].Form.IsRounded() {
				x, unit = b.middle(column, unit)
			}
			return x, unit, nil
		}
	case *sqlparser.SQLVal:
		if o, ok, err := b.operand(e); err == nil && ok && !o.isColumn {
			x, unit := b.fraction(o.constant)
			return x, unit, nil
		}
	case *sqlparser.UnaryExpr:
		if o, ok, err := b.operand(e); err == nil && ok && !o.isColumn {
			x, unit := b.fraction(o.constant) // −2^63 is a literal
			return x, unit, nil
		}
		return b.unaryAmount(e)
	case *sqlparser.BinaryExpr:
		return b.binaryAmount(e)
	case *sqlparser.CaseExpr:
		return b.caseAmount(e)
	case *sqlparser.FuncExpr:
		if !b.isFunction(e) {
			construct, _ := b.construct(e)
			where, hint := b.counting()
			name, _ := b.calledFunction(e)
			return nil, nil, b.g.StartToken(e).Unsupported(construct+where).WithHint("%s", cmp.Or(instead[name], hint))
		}
	}
	x, err = b.expr(e)
	return x, nil, err
}

// middle returns the middle of a column's step, in units of half a step. A row may be off by one.
func (b *binder) middle(column int, step *big.Rat) (x *expr, unit *big.Rat) {
	x = b.columnExpr(column)
	x = sum(sum(x, x, false), numberExpr(1), false)
	x.off = 1
	return x, step.Quo(step, big.NewRat(2, 1))
}

// fraction returns a literal. Inside an aggregate, a number with a point is its numerator
// in units of one over its denominator.
func (b *binder) fraction(k constant) (x *expr, unit *big.Rat) {
	if x := k.decimal(); b.summing && k.real != nil && x.Num().IsInt64() && x.Denom().IsInt64() {
		return numberExpr(x.Num().Int64()), new(big.Rat).SetFrac(big.NewInt(1), x.Denom())
	}
	return constantExpr(k), nil
}

func (b *binder) unaryAmount(e *sqlparser.UnaryExpr) (*expr, *big.Rat, error) {
	x, unit, err := b.numberAmount(e.Expr)
	switch {
	case err != nil:
		return nil, nil, err
	case unit != nil && e.Operator == sqlparser.TildaStr:
		return nil, nil, b.g.FirstToken(e).Unsupported("the operator " + e.Operator + " on a REAL column")
	}
	x, err = b.unaryOf(e, x)
	return x, unit, err
}

// numberAmount compiles an operand of arithmetic.
func (b *binder) numberAmount(e sqlparser.Expr) (*expr, *big.Rat, error) {
	x, unit, err := b.amount(e)
	if err != nil {
		return nil, nil, err
	}
	return x, unit, b.refuseAmount(x, e)
}

// refuseAmount refuses a compiled operand of arithmetic that is no number.
func (b *binder) refuseAmount(x *expr, e sqlparser.Expr) error {
	if b.summing && x.literal != nil && x.literal.real != nil {
		return errFraction(b.counting()).At(b.g.FirstToken(e).Position)
	}
	where, hint := b.counting()
	return b.refuseText(x, e, "a text"+where, hint)
}

func (b *binder) binaryAmount(e *sqlparser.BinaryExpr) (*expr, *big.Rat, error) {
	x, unitX, err := b.amount(e.Left)
	if err != nil {
		return nil, nil, err
	}
	y, unitY, err := b.amount(e.Right)
	if err != nil {
		return nil, nil, err
	}
	if x, ok, err := b.dateArithmetic(e, x, y); ok || err != nil {
		return x, nil, err
	}
	if err := b.refuseAmount(x, e.Left); err != nil {
		return nil, nil, err
	}
	if err := b.refuseAmount(y, e.Right); err != nil {
		return nil, nil, err
	}
	if unitX == nil && unitY == nil {
		x, err := b.binaryOf(e, x, y)
		return x, nil, err
	}
	if b.summing && (unitX == nil && !x.full.integral && x.full.isNumber() || unitY == nil && !y.full.integral && y.full.isNumber()) {
		x, err := b.expr(e) // of REALs
		return x, nil, err
	}
	if !x.full.integral || !y.full.integral {
		return nil, nil, b.placedAt(b.notIntegral(x, y), e)
	}
	switch e.Operator {
	case sqlparser.PlusStr, sqlparser.MinusStr:
		x, y, unit, err := inCommonUnits(x, unitX, y, unitY)
		if err != nil {
			return nil, nil, b.placedAt(err, e)
		}
		return sum(x, y, e.Operator == sqlparser.MinusStr), unit, nil
	case sqlparser.MultStr:
		return times(x, y), new(big.Rat).Mul(worth(unitX), worth(unitY)), nil
	case sqlparser.DivStr:
		if n := y.full; y.isConstant() && !n.isNull() && n.lo.integer() > 0 {
			by := new(big.Rat).Mul(big.NewRat(n.lo.integer(), 1), worth(unitY))
			return x, by.Quo(worth(unitX), by), nil
		}
	}
	where, hint := b.counting()
	if b.summing {
		hint = "divide the aggregate instead"
	}
	return nil, nil, b.g.FirstToken(e).Unsupported("dividing by this"+where).WithHint("%s", hint)
}

// notIntegral refuses operands that cannot be counted in units.
func (b *binder) notIntegral(operands ...*expr) error {
	for _, x := range operands {
		if x.full.undefined() {
			return b.undefined(x.full.lo)
		}
		if !x.full.isNumber() {
			where, hint := b.counting()
			return sqlerr.New(sqlerr.Unsupported, "a text%s is outside the dialect", where).WithHint("%s", hint)
		}
	}
	return errFraction(b.counting())
}

// caseAmount compiles a CASE. It converts the results to one unit: the largest that
// all of them are multiples of.
func (b *binder) caseAmount(e *sqlparser.CaseExpr) (*expr, *big.Rat, error) {
	results := resultsOf(e)
	amounts, units := make([]*expr, len(results)), make([]*big.Rat, len(results))
	var unit *big.Rat
	for i, r := range results {
		var err error
		if amounts[i], units[i], err = b.amount(r); err != nil {
			return nil, nil, err
		}
		if units[i] != nil {
			unit = units[i]
		}
	}
	if unit == nil {
		x, err := b.caseOf(e, amounts)
		return x, nil, err
	}
	for i, u := range units {
		if !amounts[i].full.integral {
			return nil, nil, b.placedAt(b.notIntegral(amounts[i]), results[i])
		}
		unit = commonUnit(unit, worth(u))
	}
	off := 0.0
	for i, u := range units {
		var err error
		if amounts[i], err = inUnits(amounts[i], u, unit); err != nil {
			return nil, nil, b.placedAt(err, results[i])
		}
		off = max(off, amounts[i].off)
	}
	x, err := b.caseOf(e, amounts)
	if err == nil {
		x.off = off
	}
	return x, unit, err
}

// commonUnit returns the largest number that two are multiples of.
func commonUnit(x, y *big.Rat) *big.Rat {
	over := new(big.Int).GCD(nil, nil, new(big.Int).Mul(x.Num(), y.Denom()), new(big.Int).Mul(y.Num(), x.Denom()))
	return new(big.Rat).SetFrac(over, new(big.Int).Mul(x.Denom(), y.Denom()))
}

// inCommonUnits converts two expressions to the largest unit that those of both are multiples of.
func inCommonUnits(x *expr, unitX *big.Rat, y *expr, unitY *big.Rat) (*expr, *expr, *big.Rat, error) {
	unit := commonUnit(worth(unitX), worth(unitY))
	x, err := inUnits(x, unitX, unit)
	if err == nil {
		y, err = inUnits(y, unitY, unit)
	}
	return x, y, unit, err
}

// inUnits converts an expression to another unit. Its own unit must be a multiple of
// that unit.
func inUnits(x *expr, own, unit *big.Rat) (*expr, error) {
	n := new(big.Rat).Quo(worth(own), unit).Num()
	switch {
	case !n.IsInt64():
		return nil, errOverflow()
	case n.Int64() == 1:
		return x, nil
	}
	return times(x, numberExpr(n.Int64())), nil
}
