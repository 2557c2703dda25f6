package sqlfront

import (
	"fmt"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlfront/syntax"
)

// meaning writes an expression so that two of one meaning have one text, up to
// parentheses and the names of columns.
func (o *outputs) meaning(e sqlparser.Expr) (string, error) {
	var b strings.Builder
	err := o.write(&b, e)
	return b.String(), err
}

func (o *outputs) write(b *strings.Builder, e sqlparser.Expr) error {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ColName:
		column, err := o.column(e)
		fmt.Fprintf(b, "column %d", column)
		return err
	case *sqlparser.SQLVal:
		v, ok, err := o.literal(e)
		if !ok {
			return o.outside(e)
		}
		if v.isColumn {
			fmt.Fprintf(b, "column %d", v.column)
		} else if k := v.constant; k.real != nil {
			fmt.Fprintf(b, "real %v", k.real)
		} else {
			fmt.Fprintf(b, "%v", k.value)
		}
		return err
	case *sqlparser.UnaryExpr:
		b.WriteString(e.Operator)
		return o.writeParts(b, e.Expr)
	case *sqlparser.BinaryExpr:
		b.WriteString(e.Operator)
		return o.writeParts(b, e.Left, e.Right)
	case *sqlparser.ComparisonExpr:
		b.WriteString(e.Operator)
		if e.Escape != nil {
			return o.writeParts(b, e.Left, e.Right, e.Escape)
		}
		return o.writeParts(b, e.Left, e.Right)
	case *sqlparser.FuncExpr:
		return o.writeCall(b, e)
	case sqlparser.ValTuple:
		return o.writeParts(b, e...)
	case *sqlparser.RangeCond:
		b.WriteString(e.Operator)
		return o.writeParts(b, e.Left, e.From, e.To)
	case *sqlparser.IsExpr:
		b.WriteString(e.Operator)
		return o.writeParts(b, e.Expr)
	case *sqlparser.NotExpr:
		b.WriteString("not")
		return o.writeParts(b, e.Expr)
	case *sqlparser.AndExpr:
		b.WriteString("and")
		return o.writeParts(b, e.Left, e.Right)
	case *sqlparser.OrExpr:
		b.WriteString("or")
		return o.writeParts(b, e.Left, e.Right)
	case *sqlparser.CaseExpr:
		return o.writeCase(b, e)
	}
	return o.outside(e)
}

func (o *outputs) writeCase(b *strings.Builder, e *sqlparser.CaseExpr) error {
	b.WriteString("case")
	all := []sqlparser.Expr{}
	if e.Expr != nil {
		b.WriteString(" of")
		all = append(all, e.Expr)
	}
	for _, w := range e.Whens {
		all = append(all, w.Cond, w.Val)
	}
	if e.Else != nil {
		b.WriteString(" else")
		all = append(all, e.Else)
	}
	return o.writeParts(b, all...)
}

// writeCall writes a call of a function on values; an aggregate is no key.
func (o *outputs) writeCall(b *strings.Builder, e *sqlparser.FuncExpr) error {
	if !o.isFunction(e) {
		return o.outside(e)
	}
	name, _ := o.calledFunction(e)
	b.WriteString(name)
	for _, a := range e.Exprs {
		aliased, ok := a.(*sqlparser.AliasedExpr)
		if !ok {
			return o.outside(e)
		}
		if err := o.writeParts(b, aliased.Expr); err != nil {
			return err
		}
	}
	return nil
}

// writeParts writes operands in parentheses.
func (o *outputs) writeParts(b *strings.Builder, es ...sqlparser.Expr) error {
	for _, e := range es {
		b.WriteByte('(')
		if err := o.write(b, e); err != nil {
			return err
		}
		b.WriteByte(')')
	}
	return nil
}
