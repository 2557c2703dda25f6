package syntax

import (
	"cmp"
	"slices"

	"github.com/xwb1989/sqlparser"
)

// The operators that the MySQL parser does not know reach it as others that
// are not in SQLite: GLOB as REGEXP, and IS with a value, negated or not, as
// <=>. Its tree is then given their own names.
const (
	OperatorIs      = "is"
	OperatorIsNot   = "is not"
	OperatorGlob    = "glob"
	OperatorNotGlob = "not glob"
	OperatorSame    = "is the value" // IS between values of rows, where TRUE is 1 and no test
)

// rename gives the operators of a parsed statement their names back.
func (g *Tokens) rename(node sqlparser.SQLNode) error {
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if e, ok := n.(*sqlparser.ComparisonExpr); ok {
			switch e.Operator {
			case sqlparser.RegexpStr:
				e.Operator = OperatorGlob
			case sqlparser.NotRegexpStr:
				e.Operator = OperatorNotGlob
			case sqlparser.NullSafeEqualStr:
				e.Operator = g.isOrNot(e)
			}
		}
		return true, nil
	}, node)
}

// arithmeticSigns bind closer than comparisons.
var arithmeticSigns = words("+ - * / % & | << >>")

// infix reports whether token i stands between two operands.
func (g *Tokens) infix(i int) bool {
	before, next := g.at(i-1), g.at(i+1)
	return (before.endsOperand() || before.Is("NOT")) && next.startsOperand()
}

// isGlob reports whether token i is the operator GLOB.
func (g *Tokens) isGlob(i int) bool { return g.at(i).Is("GLOB") && g.infix(i) }

// isValue returns the number of tokens of the operator that IS at i starts,
// when a value follows it: IS, IS NOT, IS [NOT] DISTINCT FROM. It is 0 for IS
// [NOT] NULL, TRUE and FALSE, which the parser knows.
func (g *Tokens) isValue(i int) int {
	if !g.at(i).Is("IS") {
		return 0
	}
	n := 1
	if g.at(i + n).Is("NOT") {
		n++
	}
	if g.at(i+n).Is("DISTINCT") && g.at(i+n+1).Is("FROM") {
		return n + 2
	}
	next := g.at(i + n)
	word := next.Is("NULL") || next.Is("TRUE") || next.Is("FALSE")
	if word && !arithmeticSigns[g.at(i+n+1).Text] || !next.startsOperand() {
		return 0
	}
	return n
}

// skips reports whether token i does not reach the parser: it belongs to an IS
// that is replaced as a whole, or is the VALUES of a list of literals.
func (g *Tokens) skips(i int) bool {
	for n := 1; n <= 3; n++ {
		if g.isValue(i-n) > n {
			return true
		}
	}
	return g.at(i).Is("VALUES") && g.at(i-1).Is("(") && g.at(i-2).Is("IN") && g.literals(i+1)
}

// literals reports whether no name stands between token i and the end of the
// parentheses around it.
func (g *Tokens) literals(i int) bool {
	for depth := 1; depth > 0; i++ {
		switch t := g.at(i); {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case t.Kind == KindEnd, t.Kind == KindQuoted, t.Kind == KindWord && t.Upper != "NULL":
			return false
		}
	}
	return true
}

// isOrNot returns the operator that the parser got to see as <=>: IS, or IS
// NOT. The nearest IS before the right operand is the one.
func (g *Tokens) isOrNot(e *sqlparser.ComparisonExpr) string {
	right := g.Place(e.Right)
	i, _ := slices.BinarySearchFunc(g.tokens, right.Position, func(t Token, p int) int { return cmp.Compare(t.Position, p) })
	for i > 0 && g.isValue(i) == 0 {
		i--
	}
	n := g.isValue(i)
	if n > 0 && g.at(i+1).Is("NOT") != g.at(i+n-1).Is("FROM") {
		return OperatorIsNot
	}
	return OperatorIs
}
