package sqlfront

import (
	"math"
	"math/big"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
)

// integer is an expression over the columns of a row whose values are integers,
// or multiples of a unit: what SUM adds up.
type integer struct {
	value   query.Function // in units; anything where it is NULL
	present pred           // where it is not NULL
	unit    *big.Rat       // nil: 1, and the values are INTEGER; else they are REAL
}

const sumHint = "SUM and AVG take integer columns, REAL columns of public tables, integers, + - * / % and CASE; multiply the aggregate by a fraction instead"

// integer compiles an expression of integers, or multiples of a unit.
func (b *binder) integer(e sqlparser.Expr) (integer, error) {
	switch e := unwrap(e).(type) {
	case *sqlparser.ColName, *sqlparser.SQLVal:
		return b.integerOperand(e)
	case *sqlparser.UnaryExpr:
		return b.signed(e)
	case *sqlparser.BinaryExpr:
		return b.computed(e)
	case *sqlparser.CaseExpr:
		return b.integerCase(e)
	case *sqlparser.ComparisonExpr, *sqlparser.AndExpr, *sqlparser.OrExpr, *sqlparser.NotExpr, *sqlparser.IsExpr, *sqlparser.RangeCond:
		return b.indicator(e)
	}
	if b.isFunction(e) {
		return b.integerFunction(e)
	}
	construct, _ := b.g.construct(e)
	return integer{}, b.g.start(e).unsupported(construct+" inside an aggregate").WithHint("%s", sumHint)
}

// integerOperand compiles an INTEGER column, or a literal integer.
func (b *binder) integerOperand(e sqlparser.Expr) (integer, error) {
	o, err := b.value(e)
	if err != nil {
		return integer{}, err
	}
	at := b.g.place(e)
	if !o.isColumn {
		switch k := o.constant; {
		case k.isNull():
			return integer{value: query.Constant(b.u, 0), present: truth(false)}, nil
		case k.real == nil && k.value.IsInt():
			return integer{value: query.Constant(b.u, k.value.Int64()), present: truth(true)}, nil
		case k.real != nil:
			return integer{}, at.unsupported("a number with a fraction inside an aggregate").WithHint("%s", sumHint)
		}
		return integer{}, at.unsupported("a text inside an aggregate").WithHint("%s", sumHint)
	}
	c := b.u.Columns()[o.column]
	if c.Domain.Type() != query.TypeInteger {
		return integer{}, at.unsupported("adding up column " + c.Name + ", which is TEXT,").
			WithHint("group by it, or declare it as INTEGER over a view")
	}
	f, err := query.ColumnValue(b.u, o.column)
	x := integer{value: f, present: where(o.column, c.Domain.NotNull())}
	if steps := b.joins.steps(o.column); steps != nil {
		x.unit = steps.Step()
	}
	return x, b.at(err, e)
}

// at places an error that has no place yet.
func (b *binder) at(err error, e sqlparser.Expr) error {
	if se, ok := err.(*sqlerr.Error); ok {
		return se.At(b.g.place(e).position)
	}
	return err
}

// signed compiles a sign before an integer expression.
func (b *binder) signed(e *sqlparser.UnaryExpr) (integer, error) {
	if o, ok, err := b.operand(e); err != nil || ok && !o.isColumn {
		if err != nil {
			return integer{}, err
		}
		return b.literalInteger(o.constant, e)
	}
	x, err := b.integer(e.Expr)
	switch {
	case err != nil || e.Operator == sqlparser.UPlusStr:
		return x, err
	case e.Operator != sqlparser.UMinusStr:
		return integer{}, b.g.place(e).unsupported("the operator " + e.Operator)
	}
	x.value, err = query.Constant(b.u, 0).Combine(x.value, subtract)
	return x, b.at(err, e)
}

func (b *binder) literalInteger(k constant, e sqlparser.Expr) (integer, error) {
	if k.real != nil {
		return integer{}, b.g.place(e).unsupported("a number with a fraction inside an aggregate").WithHint("%s", sumHint)
	}
	return integer{value: query.Constant(b.u, k.value.Int64()), present: truth(!k.isNull())}, nil
}

// computed compiles arithmetic. Dividing by 0 gives NULL, and a quotient is cut
// to an integer, as in SQLite.
func (b *binder) computed(e *sqlparser.BinaryExpr) (integer, error) {
	op, ok := integerOps[e.Operator]
	if !ok {
		return integer{}, b.g.place(e).unsupported("the operator "+e.Operator+" inside an aggregate").WithHint("%s", sumHint)
	}
	x, err := b.integer(e.Left)
	if err != nil {
		return integer{}, err
	}
	y, err := b.integer(e.Right)
	if err != nil {
		return integer{}, err
	}
	present := []pred{x.present, y.present}
	if e.Operator == sqlparser.DivStr || e.Operator == sqlparser.ModStr {
		q, err := y.value.Weigh(query.All(b.u), func(v int64) int64 { return of(v != 0) })
		if err != nil {
			return integer{}, b.at(err, e)
		}
		present = append(present, pred{shape: isDiagram, q: q})
	}
	var out integer
	if x, y, out.unit, err = b.inOneUnit(e, x, y); err != nil {
		return integer{}, b.at(err, e)
	}
	if out.value, err = x.value.Combine(y.value, op); err != nil {
		return integer{}, b.at(err, e)
	}
	out.present, err = b.merge(present, true)
	return out, b.at(err, e)
}

func of(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

var integerOps = map[string]func(a, b int64) (int64, error){
	sqlparser.PlusStr: add, sqlparser.MinusStr: subtract, sqlparser.MultStr: multiply,
	sqlparser.DivStr: divide, sqlparser.ModStr: remainder,
}

func add(a, b int64) (int64, error) {
	if s := a + b; (s > a) == (b > 0) {
		return s, nil
	}
	return 0, errOverflow()
}

func subtract(a, b int64) (int64, error) {
	if d := a - b; (d < a) == (b > 0) {
		return d, nil
	}
	return 0, errOverflow()
}

func multiply(a, b int64) (int64, error) {
	p := a * b
	if a != 0 && (p/a != b || a == -1 && b == math.MinInt64) {
		return 0, errOverflow()
	}
	return p, nil
}

func divide(a, b int64) (int64, error) {
	switch {
	case b == 0:
		return 0, nil // NULL
	case b == -1:
		return subtract(0, a)
	}
	return a / b, nil
}

func remainder(a, b int64) (int64, error) {
	if b == 0 || b == -1 {
		return 0, nil // NULL, and 0
	}
	return a % b, nil
}

func errOverflow() error {
	return sqlerr.New(sqlerr.Unsupported, "an expression inside an aggregate can exceed 64 bits").
		WithHint("narrow the columns' domains or the numbers in it")
}

// indicator compiles a condition as the integer 1, 0 or NULL.
func (b *binder) indicator(e sqlparser.Expr) (integer, error) {
	yes, err := b.when(e, true)
	if err != nil {
		return integer{}, err
	}
	no, err := b.when(e, false)
	if err != nil {
		return integer{}, err
	}
	present, err := b.merge([]pred{yes, no}, false)
	return integer{value: yes.query(b.u).Indicator(), present: present}, err
}

// arm is one arm of a CASE: where it is taken, and its result.
type arm struct {
	taken pred
	then  sqlparser.Expr // nil for the NULL of a missing ELSE
}

// arms divides the records by the arms of a CASE, the ELSE last.
func (b *binder) arms(e *sqlparser.CaseExpr) ([]arm, error) {
	rest := truth(true) // where no arm before is taken
	var arms []arm
	for _, w := range e.Whens {
		condition := w.Cond
		if e.Expr != nil {
			condition = &sqlparser.ComparisonExpr{Operator: sqlparser.EqualStr, Left: e.Expr, Right: w.Cond}
		}
		holds, err := b.when(condition, true)
		if err != nil {
			return nil, err
		}
		taken, err := b.merge([]pred{rest, holds}, true)
		if err != nil {
			return nil, err
		}
		arms = append(arms, arm{taken, w.Val})
		fails, err := b.not(holds)
		if err != nil {
			return nil, err
		}
		if rest, err = b.merge([]pred{rest, fails}, true); err != nil {
			return nil, err
		}
	}
	return append(arms, arm{rest, e.Else}), nil
}

// integerCase compiles a CASE whose results are integers, or multiples of a unit.
func (b *binder) integerCase(e *sqlparser.CaseExpr) (integer, error) {
	arms, err := b.arms(e)
	if err != nil {
		return integer{}, err
	}
	out := integer{value: query.Constant(b.u, 0), present: truth(false)}
	for _, a := range arms {
		if a.then == nil {
			continue
		}
		then, err := b.integer(a.then)
		if err != nil {
			return integer{}, err
		}
		if out, then, err = b.sameUnit(out, then); err != nil {
			return integer{}, b.at(err, a.then)
		}
		taken, err := then.value.Combine(a.taken.query(b.u).Indicator(), multiply)
		if err != nil {
			return integer{}, b.at(err, a.then)
		}
		if out.value, err = out.value.Combine(taken, add); err != nil {
			return integer{}, b.at(err, a.then)
		}
		present, err := b.merge([]pred{a.taken, then.present}, true)
		if err != nil {
			return integer{}, err
		}
		if out.present, err = b.merge([]pred{out.present, present}, false); err != nil {
			return integer{}, err
		}
	}
	return out, nil
}
