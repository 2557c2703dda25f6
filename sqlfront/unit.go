package sqlfront

import (
	"math/big"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
)

// inOneUnit brings the operands of an operator to the units in which it is an
// operator on integers, and returns that of the result.
func (b *binder) inOneUnit(e *sqlparser.BinaryExpr, x, y integer) (integer, integer, *big.Rat, error) {
	if x.unit == nil && y.unit == nil {
		return x, y, nil, nil
	}
	var err error
	switch e.Operator {
	case sqlparser.PlusStr, sqlparser.MinusStr:
		x, y, err = b.sameUnit(x, y)
		return x, y, x.unit, err
	case sqlparser.MultStr:
		return x, y, new(big.Rat).Mul(x.worth(), y.worth()), nil
	}
	return x, y, nil, b.g.place(e).unsupported("dividing a REAL column inside an aggregate").WithHint("divide the aggregate instead")
}

// worth returns what a value of 1 is worth.
func (x integer) worth() *big.Rat {
	if x.unit == nil {
		return big.NewRat(1, 1)
	}
	return x.unit
}

// sameUnit returns two expressions in one unit, the largest that both are
// multiples of.
func (b *binder) sameUnit(x, y integer) (integer, integer, error) {
	if x.unit == nil && y.unit == nil {
		return x, y, nil
	}
	unit := commonUnit(x.worth(), y.worth())
	x, err := b.inUnits(x, unit)
	if err != nil {
		return x, y, err
	}
	y, err = b.inUnits(y, unit)
	return x, y, err
}

// commonUnit returns the largest number that two are multiples of.
func commonUnit(x, y *big.Rat) *big.Rat {
	over := new(big.Int).GCD(nil, nil, new(big.Int).Mul(x.Num(), y.Denom()), new(big.Int).Mul(y.Num(), x.Denom()))
	return new(big.Rat).SetFrac(over, new(big.Int).Mul(x.Denom(), y.Denom()))
}

// inUnits returns an expression in a unit that its own is a multiple of.
func (b *binder) inUnits(x integer, unit *big.Rat) (integer, error) {
	n := new(big.Rat).Quo(x.worth(), unit).Num()
	if !n.IsInt64() {
		return x, errOverflow()
	}
	x.unit = unit
	if n.Int64() == 1 {
		return x, nil
	}
	var err error
	x.value, err = x.value.Combine(query.Constant(b.u, n.Int64()), multiply)
	return x, err
}
