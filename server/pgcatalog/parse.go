package pgcatalog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// maxText is the longest text of a statement in bytes.
const maxText = 64 << 10

// Parse reads one statement from its tokens, the last of them the end, and refuses what PostgreSQL
// has and the catalog has not.
func Parse(tokens []syntax.Token) (q *syntax.Query, err error) {
	defer caught(&err)
	if tokens[len(tokens)-1].End > maxText {
		fail(sqlerr.New(sqlerr.Unsupported, "a statement about the catalog of more than %d KiB is outside the dialect", maxText>>10))
	}
	return parse(tokens), nil
}

func parse(tokens []syntax.Token) *syntax.Query {
	first := 0
	for tokens[first].Matches(";") {
		first++
	}
	switch t := tokens[first]; {
	case t.Kind == syntax.KindEnd:
		fail(sqlerr.New(sqlerr.Malformed, "the statement is empty"))
	case t.Kind == syntax.KindWord && t.Upper != "SELECT" && t.Upper != "WITH" && t.Upper != "VALUES" && t.Upper != "TABLE":
		unsupported(t.Position, "%s about the catalog", t.Upper)
	}
	q, err := syntax.Postgres.Parse(tokens)
	if err != nil {
		fail(err)
	}
	syntax.Walk(q, func(n syntax.Node) bool {
		refuse(n)
		return true
	})
	return q
}

// refuse stops at a node that the catalog has not.
func refuse(n syntax.Node) {
	at := func(yes bool, position int, what string) {
		if yes {
			unsupported(position, "%s", what)
		}
	}
	switch n := n.(type) {
	case *syntax.Window:
		at(!n.Bare && !n.Name.None(), n.Name.Pos(), "a window made of another, or with a frame,")
	case *syntax.Frame:
		at(true, n.Pos(), "the frame of a window")
	case *syntax.ParenSource:
		at(!n.Alias.Name.None(), n.Pos(), "an alias of a join")
	case *syntax.Table:
		refuseAlias(n.Alias)
	case *syntax.Derived:
		refuseAlias(n.Alias)
	case *syntax.Function:
		refuseAlias(n.Alias)
	case *syntax.Call:
		at(n.Within != nil, n.WithinAt, "WITHIN GROUP")
		if isVariable(n.Path) && len(n.Args) > 0 {
			fail(sqlerr.New(sqlerr.Malformed, "%s takes no argument", folded(n.Path[0])).At(n.Args[0].Pos()))
		}
	case *syntax.Star:
		at(len(n.Of) > 1, n.Pos(), "a schema before a table's *")
	case *syntax.Column:
		at(len(n.Path) > 3, n.Pos(), "a name of more than three parts")
	case *syntax.Parameter:
		if n.Number < 1 || n.Number > math.MaxInt16 {
			fail(sqlerr.New(sqlerr.Malformed, "there is no parameter %s", n.Text).At(n.Pos()))
		}
	case *syntax.AtZone:
		at(true, n.Operator, "AT TIME ZONE")
	case *syntax.Interval:
		at(true, n.Pos(), "an INTERVAL")
	case *syntax.Binary:
		at(n.Op == "SIMILAR TO", n.Operator, "SIMILAR TO")
		l, ok := n.Escape.(*syntax.Literal)
		if n.Escape != nil && !(ok && l.Kind == syntax.KindString && l.Value == `\`) {
			unsupported(n.Escape.Pos(), "an ESCAPE other than a backslash")
		}
	case *syntax.Between:
		at(n.Symmetric, n.Operator, "BETWEEN SYMMETRIC")
	case *syntax.Index:
		at(n.Slice, n.Operator, "a slice of an array")
	case *syntax.Array:
		at(n.Inner, n.Pos(), "an array of arrays")
	}
}

func refuseAlias(a syntax.Alias) {
	if a.Types != nil {
		unsupported(a.Types[0].Pos(), "a list of column definitions")
	}
}

// folded returns a name as PostgreSQL folds it: in lower case unless it has quotes.
func folded(n syntax.Ident) string {
	if n.Quoted {
		return n.Text
	}
	return syntax.LowerASCII(n.Text)
}

func foldedAll(path []syntax.Ident) []string {
	if path == nil {
		return nil
	}
	out := make([]string, len(path))
	for i, n := range path {
		out[i] = folded(n)
	}
	return out
}

// schemaAndName returns a name, and what qualifies it.
func schemaAndName(path []syntax.Ident) (schema, name string) {
	parts := foldedAll(path)
	last := len(parts) - 1
	return strings.Join(parts[:last], "."), parts[last]
}

// at returns the position of an expression as PostgreSQL's errors state it: that of its operator,
// or else of the character that begins it.
func at(e syntax.Expr) int {
	switch e := syntax.Inside(e).(type) {
	case *syntax.Binary:
		return e.Operator
	case *syntax.Test:
		return e.Operator
	case *syntax.Between:
		return e.Operator
	case *syntax.In:
		return e.Operator
	case *syntax.Cast:
		return e.Operator
	case *syntax.Index:
		return e.Operator
	case *syntax.Field:
		return e.Operator
	case syntax.Expr:
		return e.Pos()
	}
	return 0
}

// constantOf returns the value of a literal, with its sign: nil, bool, int64, float64, or string
// for one whose type the context tells.
func constantOf(e syntax.Expr) (value any, ok bool) {
	switch e := e.(type) {
	case *syntax.Literal:
		return literal(e), e.Type == nil
	case *syntax.Unary:
		number, isLiteral := e.X.(*syntax.Literal)
		if e.Op != "-" || !isLiteral || number.Type != nil {
			return nil, false
		}
		switch v := literal(number).(type) {
		case int64:
			return -v, true
		case float64:
			return -v, true
		}
	}
	return nil, false
}

func literal(l *syntax.Literal) any {
	switch l.Kind {
	case syntax.KindString:
		return l.Value
	case syntax.KindWord:
		if l.Value == "NULL" {
			return nil
		}
		return l.Value == "TRUE"
	}
	if n, err := strconv.ParseInt(l.Value, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(l.Value, 64)
	if err != nil {
		fail(sqlerr.New(sqlerr.Malformed, "%s is not a number that fits", l.Value).At(l.Pos()))
	}
	return f
}

// columnRef is a name that means a column: a.b.c.
type columnRef struct {
	parts    []string
	position int
}

// columnOf returns the column that an expression names.
func columnOf(e syntax.Expr) (c columnRef, ok bool) {
	n, ok := e.(*syntax.Column)
	if !ok || isVariable(n.Path) {
		return c, false
	}
	return columnRef{foldedAll(n.Path), n.Pos()}, true
}

// isVariable reports whether a name is a function that is called without parentheses.
func isVariable(path []syntax.Ident) bool {
	return len(path) == 1 && !path[0].Quoted && syntax.IsNiladic(syntax.UpperASCII(path[0].Text))
}

// call is the call of a function.
type call struct {
	position     int
	schema, name string
	args         []syntax.Expr
	star         bool // f(*)
	distinct     bool
	order        []syntax.OrderTerm
	filter       syntax.Expr
	over         *syntax.Window
}

// callOf returns the call that an expression is: SQL's own functions with their arguments in
// order, and CURRENT_USER and the like.
func callOf(e syntax.Expr) (c call, ok bool) {
	switch e := e.(type) {
	case *syntax.Column:
		if isVariable(e.Path) {
			return call{position: e.Pos(), name: folded(e.Path[0])}, true
		}
	case *syntax.Call:
		c = call{position: e.Pos(), args: e.Args, distinct: e.Distinct, order: e.Order, filter: e.Filter, over: e.Over}
		c.schema, c.name = schemaAndName(e.Path)
		if len(c.args) == 1 {
			star, ok := c.args[0].(*syntax.Star)
			if c.star = ok && star.Of == nil; c.star {
				c.args = nil
			}
		}
		c.arrange(e)
		return c, true
	}
	return c, false
}

// sides are the functions that TRIM means by its first word.
var sides = map[string]string{"LEADING": "ltrim", "TRAILING": "rtrim"}

// arrange puts the arguments of SQL's own functions, which have words between them, into the
// order that functions have: EXTRACT(x FROM y), POSITION(x IN y), TRIM(BOTH x FROM y) and
// SUBSTRING(x FROM y FOR z).
func (c *call) arrange(e *syntax.Call) {
	if c.schema != "" && c.schema != "pg_catalog" || len(e.Args) == 0 {
		return
	}
	word := func(i int) string {
		if i < len(e.Words) {
			return e.Words[i]
		}
		return ""
	}
	switch {
	case c.name == "extract" && word(1) == "FROM":
		unit := &syntax.Literal{Kind: syntax.KindString}
		if column, ok := c.args[0].(*syntax.Column); ok {
			unit.Value = folded(column.Path[0])
		}
		c.args = []syntax.Expr{unit, c.args[1]}
	case c.name == "position" && word(1) == "IN":
		c.args = []syntax.Expr{c.args[1], c.args[0]}
	case c.name == "trim":
		side, _, _ := strings.Cut(word(0), " ")
		if c.name = sides[side]; c.name == "" {
			c.name = "btrim"
		}
		if word(1) == "FROM" {
			c.args = []syntax.Expr{c.args[1], c.args[0]}
		}
	case c.name == "substring" && word(1) == "FOR" && len(c.args) == 2:
		c.args = []syntax.Expr{c.args[0], &syntax.Literal{Kind: syntax.KindInteger, Value: "1"}, c.args[1]}
	}
}

// typeOf returns a type as a cast writes it.
func typeOf(t *syntax.Type) typeName {
	out := typeName{position: t.Path[0].Pos(), modifiers: t.Args, array: t.Array > 0}
	out.schema, out.name = schemaAndName(t.Path)
	switch {
	case t.Path[0].Quoted && out.name == "char":
		out.name = `"char"`
	case t.Word == "PRECISION":
		out.name = "float8"
	case t.Word == "VARYING":
		out.name = "varchar"
	case t.Zone == "WITH" && (out.name == "time" || out.name == "timestamp"):
		out.name += "tz"
	}
	return out
}

// typeName is a type as a cast writes it.
type typeName struct {
	schema, name string
	array        bool
	modifiers    []syntax.Expr
	position     int
}

// conjoined returns the operands of a chain of AND or OR, so that a long one does not nest.
func conjoined(b *syntax.Binary) (list []syntax.Expr) {
	for {
		list = append(list, b.Y)
		x, ok := b.X.(*syntax.Binary)
		if !ok || x.Op != b.Op {
			list = append(list, b.X)
			break
		}
		b = x
	}
	slices.Reverse(list)
	return list
}

// fault is what fail throws. The package's own functions catch it: the parser, the binder and
// the program call themselves so deep that an error handed back by each would be most of their
// text.
type fault struct{ err error }

func fail(err error) { panic(fault{err}) }

func unsupported(at int, format string, args ...any) {
	fail(sqlerr.New(sqlerr.Unsupported, "%s is outside the catalog's dialect", fmt.Sprintf(format, args...)).At(at))
}

// caught returns the error of a fault. Any other panic would be a bug: it ends the statement
// and not the server.
func caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case fault:
		*err = p.err
	default:
		*err = sqlerr.New(sqlerr.Internal, "the catalog failed on a statement: %v", p)
	}
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func excerpt(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
