package sqlfront

import (
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlfront/syntax"
)

const binHint = "compute it in a view and declare it as a column"

// construct names an expression that is refused, with the rewrite where there
// is one.
func (b *binder) construct(e sqlparser.Expr) (name, hint string) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.FuncExpr:
		return b.constructFunction(e)
	case *sqlparser.ComparisonExpr:
		return constructComparison(e)
	case *sqlparser.ColName:
		t, _ := b.g.Token(e.Name.String())
		return "a bare column", "compare it with a value: " + t.Text + " = …"
	case *sqlparser.SQLVal:
		return "a bare literal", ""
	case *sqlparser.BinaryExpr, *sqlparser.UnaryExpr:
		return "arithmetic", binHint
	case *sqlparser.CaseExpr:
		return "CASE", "write the condition with AND, OR and NOT"
	case *sqlparser.Subquery:
		return "a sub-select", "write its result as a literal; a list may be that of a public table: IN (SELECT column FROM table)"
	case *sqlparser.ExistsExpr:
		return "EXISTS", ""
	case sqlparser.ValTuple:
		return "a row value", "compare the columns one by one, joined by AND"
	case *sqlparser.CollateExpr:
		return "COLLATE", "texts compare byte by byte"
	case *sqlparser.AndExpr, *sqlparser.OrExpr, *sqlparser.NotExpr, *sqlparser.IsExpr, *sqlparser.RangeCond:
		return "a condition as a value", "put it into WHERE"
	}
	return "this expression", ""
}

func (b *binder) constructFunction(e *sqlparser.FuncExpr) (name, hint string) {
	name, _ = b.calledFunction(e)
	switch {
	case name == "":
		return "a qualified function", ""
	case name == "cast":
		return "CAST", binHint
	case isAggregate(name):
		return "the aggregate " + strings.ToUpper(name), "an aggregate stands in the select list, not in WHERE"
	}
	return "the function " + syntax.Excerpt(name, 40) + "()", binHint
}

func constructComparison(e *sqlparser.ComparisonExpr) (name, hint string) {
	switch e.Operator {
	case sqlparser.LikeStr, sqlparser.NotLikeStr:
		return "LIKE", "list the values with IN, or bin them in a view"
	case syntax.OperatorGlob, syntax.OperatorNotGlob:
		return "GLOB", "list the values with IN, or bin them in a view"
	}
	return "a condition as a value", "put it into WHERE"
}

// calledFunction returns a call of a function with its lower-case name, "" and
// nil where the expression is none.
func (b *binder) calledFunction(e sqlparser.Expr) (string, *sqlparser.FuncExpr) {
	f, ok := syntax.Unwrap(e).(*sqlparser.FuncExpr)
	if !ok || !f.Qualifier.IsEmpty() {
		return "", nil
	}
	if t, ok := b.g.Token(f.Name.String()); ok {
		return syntax.LowerASCII(t.Value), f
	}
	return strings.ToLower(f.Name.String()), f
}
