package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/post"
	"dpsql/sqlerr"
)

// program compiles the select list, HAVING, ORDER BY and LIMIT.
func (o *outputs) program() (post.Program, error) {
	o.columns, o.open = make([]post.Column, len(o.s.List)), make([]bool, len(o.s.List))
	p := post.Program{Distinct: o.s.Distinct, Limit: -1}
	for i := range o.s.List {
		if _, err := o.entry(i); err != nil {
			return p, err
		}
	}
	p.Columns = o.columns
	var err error
	if o.s.Having != nil {
		if p.Having, err = o.number(o.s.Having, true, "a condition"); err != nil {
			return p, err
		}
	}
	if p.Order, err = o.order(); err != nil {
		return p, err
	}
	if err := o.aggregated(); err != nil {
		return p, err
	}
	return p, o.limit(&p)
}

// aggregated refuses a SELECT that would have a row for each private row.
func (o *outputs) aggregated() error {
	if len(o.s.GroupBy) > 0 || o.aggregates > 0 {
		return nil
	}
	it := o.s.List[0]
	if it.Expr == nil {
		return o.g.PlaceOf(it).Unsupported("SELECT *").WithHint(countHint)
	}
	construct, _ := o.construct(it.Expr)
	return o.g.PlaceOf(it).Unsupported(construct + " in the select list").WithHint(countHint)
}

// order compiles ORDER BY: an ordinal or an alias is the entry of the select
// list, a number that is neither orders nothing.
func (o *outputs) order() ([]post.Order, error) {
	var terms []post.Order
	for _, t := range o.s.OrderBy {
		by, err := o.orderTerm(t.Expr)
		if err != nil {
			return nil, err
		}
		terms = append(terms, post.Order{By: by, Descending: t.Direction == sqlparser.DescScr})
	}
	return terms, nil
}

func (o *outputs) orderTerm(e sqlparser.Expr) (post.Expr, error) {
	if n, ok := o.ordinal(e); ok {
		if _, err := o.listed(n, "ORDER BY", e); err != nil {
			return nil, err
		}
		return o.columns[n-1].Of, nil
	}
	if name, ok := o.bareName(e); ok {
		if i, ok := o.aliasIndex(name); ok {
			return o.columns[i].Of, nil
		}
	}
	return o.expr(e, true)
}

// limit reads LIMIT and OFFSET, which are integers or parameters; as in SQLite a
// negative limit is none, and a negative offset 0.
func (o *outputs) limit(p *post.Program) error {
	if o.s.Limit == nil {
		return nil
	}
	var err error
	if p.Limit, err = o.rowNumber(o.s.Limit.Rowcount); err != nil || o.s.Limit.Offset == nil {
		return err
	}
	p.Offset, err = o.rowNumber(o.s.Limit.Offset)
	return err
}

func (o *outputs) rowNumber(e sqlparser.Expr) (int64, error) {
	v, ok, err := o.operand(e)
	switch {
	case err != nil:
		return 0, err
	case !ok || v.isColumn:
		construct, _ := o.construct(e)
		return 0, o.g.Start(e).Unsupported(construct + " in LIMIT").WithHint("write an integer or a parameter")
	case v.constant.real != nil || !v.constant.value.IsInt():
		return 0, sqlerr.New(sqlerr.Invalid, "LIMIT and OFFSET take an integer").At(o.g.Place(e).Position)
	}
	return v.constant.value.Int64(), nil
}
