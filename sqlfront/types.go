package sqlfront

import (
	"iter"
	"maps"
	"sync"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// dialect is that of SELECTs over private rows. As in PostgreSQL, values of two types that have no
// other in common are shown as texts. What is computed is a number.
var dialect = sync.OnceValue(func() *types.Dialect {
	const unknown, text, integer, real = types.Unknown, query.SQLText, query.SQLInt8, query.SQLFloat8
	const date, moment, clock = query.SQLDate, query.SQLTimestamp, query.SQLTime
	list := func(all ...types.Type) []types.Type { return all }
	all := types.Shared()
	for _, names := range []iter.Seq[string]{maps.Keys(aggregates), maps.Keys(pairs), maps.Keys(means)} {
		for name := range names {
			if _, shared := all[name]; !shared {
				all.Add(types.Function{Value: real}, name)
			}
		}
	}
	all.Add(types.Function{Value: integer}, "count regr_count grouping grouping_id")
	all.Add(types.Function{Args: list(integer), Result: types.Number}, "sum")
	all.Add(types.Function{Args: list(real, integer), Result: types.First}, "round")
	all.Add(types.Function{Args: list(integer), Result: numbers}, "mod")
	maps.Copy(all, types.OfRows())
	all.Add(types.Function{Args: list(unknown, real), Result: timeOr(real)}, "median percentile_cont")
	all.Add(types.Function{Args: list(unknown, real), Result: types.First}, "quantile percentile_disc")
	all.Add(types.Function{Entry: true, Value: real}, "margin")
	all.Add(types.Function{Entry: true, Result: timeOr(real)}, "low high")
	all.Add(types.Function{Args: list(date, text), Value: date}, "date")
	all.Add(types.Function{Args: list(moment, text), Value: moment}, "datetime")
	all.Add(types.Function{Args: list(clock, text), Value: clock}, "time")
	all.Add(types.Function{Args: list(moment, text), Value: integer}, "unixepoch")
	all.Add(types.Function{Args: list(moment, text), Value: real}, "julianday")
	all.Add(types.Function{Args: list(text, moment, text), Value: text}, "strftime")
	return &types.Dialect{Functions: all, Operators: types.SQLite, Mixed: text, NotNumber: integer, Long: integer}
})

// numbers is the Result of a function of numbers, of which each may be a REAL.
func numbers(args []types.Type) types.Type {
	t := query.SQLInt8
	for _, a := range args {
		t = types.Wider(t, a)
	}
	return t
}

// timeOr returns the Result of a function whose values are dates if its first argument is one.
func timeOr(other types.Type) func([]types.Type) types.Type {
	return func(args []types.Type) types.Type {
		if t := types.First(args); types.IsTime(t) {
			return t
		}
		return other
	}
}

// typePass returns the pass over the SELECT, whose FROM is bound.
func (b *binder) typePass() *types.Pass {
	if b.pass == nil {
		b.pass = &types.Pass{Dialect: dialect(), Scope: named{b}, Parameters: b.parameters}
	}
	return b.pass
}

// typeParameters finds the types of parameters in the clauses of a SELECT.
func (b *binder) typeParameters() {
	p := b.typePass()
	for i := range b.s.From {
		p.Condition(b.g.Node(b.s.From[i].On))
	}
	for _, it := range b.s.Block.Items {
		p.Of(it.X)
	}
	p.Clauses(b.s.Block, b.s.Tree)
}

// named is the scope of a SELECT's names, for types.
type named struct{ *binder }

// Query implements types.Scope. Columns of public tables tell no types.
func (named) Query(*syntax.Query) []types.Type { return nil }

// Column implements types.Scope.
func (n named) Column(c *syntax.Column) types.Type {
	name, qualifier := c.Path[len(c.Path)-1], ""
	if len(c.Path) > 1 {
		qualifier = c.Path[len(c.Path)-2].Text
	}
	switch columns := n.scope.columnsNamed(qualifier, name.Text); {
	case len(columns) == 1 && columns[0] != notBound:
		return n.typeOfColumn(columns[0])
	case len(columns) > 0 || qualifier != "":
		return types.Unknown
	}
	if t := types.Clock(name); t != types.Unknown {
		return t
	}
	return n.typeOfEntry(n.entryNamed(name.Text, aliasOf))
}

// Entry implements types.Entries.
func (n named) Entry(name syntax.Ident) types.Type {
	return n.typeOfEntry(n.entryNamed(name.Text, n.heading))
}

// typeOfEntry returns the type of an entry of the select list, if there is one. No entry refers to
// one that refers to another.
func (b *binder) typeOfEntry(i int, ok bool) types.Type {
	switch {
	case b.typing:
		return types.Null
	case !ok:
		return types.Unknown
	}
	b.typing = true
	defer func() { b.typing = false }()
	return b.typePass().Of(b.s.Block.Items[i].X)
}

// typeOf returns the type of an expression that is no literal.
func (b *binder) typeOf(e sqlparser.Expr) types.Type { return b.typePass().Of(b.g.Node(e)) }

func (b *binder) typeOfColumn(column int) types.Type {
	if b.joins.steps(column) != nil {
		return query.SQLFloat8
	}
	return b.u.Columns()[column].SQLType()
}
