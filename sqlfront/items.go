package sqlfront

import (
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
)

// ItemKind says what an item of the select list asks for.
type ItemKind uint8

// The kinds of items.
const (
	Count  ItemKind = iota + 1 // the count itself
	Margin                     // the half-width of its confidence interval
)

// Item is one column of a SELECT's result.
type Item struct {
	Kind ItemKind
	Name string // the column's heading: the alias, or count or margin
}

// item is an Item with what it counts.
type item struct {
	Item
	of    sqlparser.Expr // nil for COUNT(*); else NULLs of it are not counted
	place token
}

const countHint = "write SELECT COUNT(*) FROM table WHERE …"

// items accepts a select list of counts and their margins.
func (g *guarded) items(exprs sqlparser.SelectExprs) ([]item, error) {
	items := make([]item, len(exprs))
	for pass := range 2 { // margins may name counts that stand behind them
		for i, e := range exprs {
			if err := g.item(items, i, e, pass == 1); err != nil {
				return nil, err
			}
		}
	}
	return items, nil
}

// item fills the count, or the margin, with index i.
func (g *guarded) item(items []item, i int, e sqlparser.SelectExpr, margins bool) error {
	aliased, ok := e.(*sqlparser.AliasedExpr)
	if !ok {
		return g.find("*").unsupported("SELECT *").WithHint(countHint)
	}
	name, f := g.function(aliased.Expr)
	switch {
	case name != "count" && name != "margin":
		construct, _ := g.construct(aliased.Expr)
		return g.start(aliased.Expr).unsupported(construct + " in the select list").WithHint(countHint)
	case margins != (name == "margin"):
		return nil
	}
	it := item{Item: Item{Kind: Count, Name: name}, place: g.place(f)}
	if t, ok := g.token(aliased.As.String()); ok {
		it.Name = t.value
	}
	var err error
	if margins {
		it.Kind = Margin
		it.of, err = g.marginOf(items, f)
	} else {
		it.of, err = g.countOf(f)
	}
	items[i] = it
	return err
}

// function returns the lower-case name of a plain function call, else "".
func (g *guarded) function(e sqlparser.Expr) (string, *sqlparser.FuncExpr) {
	f, ok := unwrap(e).(*sqlparser.FuncExpr)
	if !ok || !f.Qualifier.IsEmpty() {
		return "", nil
	}
	if t, ok := g.token(f.Name.String()); ok {
		return lowerASCII(t.value), f
	}
	return strings.ToLower(f.Name.String()), f
}

// countOf returns what a COUNT counts: nil for rows, else a column or literal.
func (g *guarded) countOf(f *sqlparser.FuncExpr) (sqlparser.Expr, error) {
	at := g.place(f)
	if f.Distinct {
		return nil, at.unsupported("COUNT(DISTINCT …)").WithHint("COUNT(*) counts rows")
	}
	if len(f.Exprs) != 1 {
		return nil, at.malformed("COUNT takes one argument").WithHint("write COUNT(*)")
	}
	switch e := f.Exprs[0].(type) {
	case *sqlparser.StarExpr:
		if e.TableName.IsEmpty() {
			return nil, nil
		}
	case *sqlparser.AliasedExpr:
		switch inner := unwrap(e.Expr).(type) {
		case *sqlparser.ColName, *sqlparser.SQLVal, *sqlparser.UnaryExpr:
			if e.As.IsEmpty() {
				return inner, nil // Bind refuses signs before anything but a literal
			}
		}
		construct, _ := g.construct(e.Expr)
		return nil, at.unsupported("COUNT of " + construct).WithHint("write COUNT(*) and put the condition into WHERE")
	}
	return nil, at.malformed("COUNT takes * or one column").WithHint("write COUNT(*)")
}

// marginOf returns what the count inside a MARGIN counts.
func (g *guarded) marginOf(items []item, f *sqlparser.FuncExpr) (sqlparser.Expr, error) {
	at := g.place(f)
	if len(f.Exprs) != 1 || f.Distinct {
		return nil, at.malformed("MARGIN takes one argument").WithHint("write MARGIN(COUNT(*))")
	}
	arg, ok := f.Exprs[0].(*sqlparser.AliasedExpr)
	if !ok || !arg.As.IsEmpty() {
		return nil, at.malformed("MARGIN takes an aggregate or its alias").WithHint("write MARGIN(COUNT(*))")
	}
	if name, count := g.function(arg.Expr); name == "count" {
		return g.countOf(count)
	}
	if column, ok := arg.Expr.(*sqlparser.ColName); ok && column.Qualifier.IsEmpty() {
		return g.marginOfAlias(items, g.place(column))
	}
	construct, _ := g.construct(arg.Expr)
	return nil, at.unsupported("MARGIN of " + construct).WithHint("write MARGIN(COUNT(*)), or MARGIN(n) behind COUNT(*) AS n")
}

func (g *guarded) marginOfAlias(items []item, alias token) (sqlparser.Expr, error) {
	for _, it := range items {
		if it.Kind == Count && equalFold(it.Name, alias.value) {
			return it.of, nil
		}
	}
	return nil, sqlerr.New(sqlerr.Unknown, "no aggregate of the select list is named %s", excerpt(alias.value, 40)).
		WithHint("write MARGIN(COUNT(*)), or MARGIN(n) behind COUNT(*) AS n").At(alias.position)
}
