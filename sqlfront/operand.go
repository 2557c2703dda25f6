package sqlfront

import (
	"math/big"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// operand is one side of a comparison: a column or a constant.
type operand struct {
	isColumn bool
	column   int
	constant constant
}

// value returns the operand that an expression is, or refuses it.
func (b *binder) value(e sqlparser.Expr) (operand, error) {
	o, ok, err := b.operand(e)
	if err == nil && !ok {
		err = b.unsupported(e)
	}
	return o, err
}

// operand returns the column or constant that an expression is; false when it
// is something else.
func (b *binder) operand(e sqlparser.Expr) (operand, bool, error) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ColName:
		column, err := b.column(e)
		return operand{isColumn: true, column: column}, err == nil, err
	case *sqlparser.SQLVal:
		return b.literal(e)
	case *sqlparser.UnaryExpr:
		o, ok, err := b.operand(e.Expr)
		if err != nil || !ok || o.isColumn || !o.constant.isNumber() {
			return operand{}, false, err
		}
		switch e.Operator {
		case sqlparser.UMinusStr:
			o.constant = o.constant.negated()
		case sqlparser.UPlusStr:
		default:
			return operand{}, false, nil
		}
		return o, true, nil
	}
	return operand{}, false, nil
}

// literal returns the constant behind a placeholder. TRUE and FALSE are 1 and
// 0, unless a column has that name, as in SQLite.
func (b *binder) literal(v *sqlparser.SQLVal) (operand, bool, error) {
	t, ok := b.g.Token(string(v.Val))
	if !ok || v.Type != sqlparser.ValArg {
		return operand{}, false, nil
	}
	k := constant{source: t}
	switch t.Kind {
	case syntax.KindString:
		k.value = query.Text(t.Value)
	case syntax.KindParameter:
		k.value = b.args[t.Parameter-1]
	case syntax.KindInteger, syntax.KindDecimal:
		var err error
		if k, err = k.number(t.Text); err != nil {
			return operand{}, false, err
		}
	case syntax.KindWord:
		if columns := b.scope.named("", t.Value); len(columns) == 1 && columns[0] != notBound && t.Upper != "NULL" {
			err := b.decided(columns[0])
			return operand{isColumn: true, column: columns[0]}, err == nil, err
		}
		switch t.Upper {
		case "TRUE":
			k.value = query.Int(1)
		case "FALSE":
			k.value = query.Int(0)
		}
	}
	return operand{constant: k}, true, nil
}

// constant is a literal or an argument.
type constant struct {
	value  query.Value // unless real is set
	real   *big.Rat    // a number written as a decimal, or beyond 64 bits
	minus  bool        // the source stands behind a minus
	source syntax.Token
}

func (k constant) isNull() bool { return k.real == nil && k.value.IsNull() }

func (k constant) isNumber() bool { return k.real != nil || k.value.IsInt() }

// label shows the constant in a message; an argument is named by its number
// and never shown.
func (k constant) label() string {
	text := syntax.Excerpt(k.source.Text, 40)
	if k.source.Kind == syntax.KindParameter {
		text = "parameter " + query.Int(int64(k.source.Parameter)).String()
	}
	if k.minus {
		return "-" + text
	}
	return text
}
