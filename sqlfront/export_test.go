package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// Values returns what binder.values does for the left side of a statement's
// condition, over the universe of the table.
func Values(sel *syntax.Select, table Table, u *query.Universe) (query.Query, []query.Value, error) {
	b := &binder{s: sel, g: sel.Tokens, table: table, u: u, spent: new(effort)}
	if _, err := b.bindFrom(); err != nil {
		return query.Query{}, nil, err
	}
	x, err := b.expr(sel.Where.(*sqlparser.ComparisonExpr).Left)
	if err != nil {
		return query.Query{}, nil, err
	}
	q, values, _, err := b.values(x)
	return q, values, err
}
