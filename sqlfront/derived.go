package sqlfront

import (
	"fmt"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/types"
)

// extra returns a value that a group has behind those of its keys. set is its grouping set, and cells
// has the cell of each of that set's keys.
type extra func(set, cells []int) query.Value

// addExtra adds a value to each group, and returns what reads it.
func (o *outputs) addExtra(x extra, t post.Type) post.Expr {
	o.extras = append(o.extras, x)
	return post.Key{Index: len(o.keys) + len(o.extras) - 1, ValueType: t}
}

// moved compiles an expression that computes with days or moments of grouped columns alone, as came + 1
// under GROUP BY came. Texts around aggregates have no arithmetic, so the rows' own is taken: that of
// GROUP BY came + 1. It is false for any other expression.
func (o *outputs) moved(e *sqlparser.BinaryExpr) (post.Expr, bool) {
	if !types.IsTime(o.typeOf(e.Left)) && !types.IsTime(o.typeOf(e.Right)) {
		return nil, false
	}
	keys, ok := o.keysOf(e)
	if !ok {
		return nil, false
	}
	x, unit, err := o.amount(e)
	if err != nil || unit != nil {
		return nil, false
	}
	q, values, own, err := o.values(x)
	if err != nil || own != nil {
		return nil, false
	}
	t := post.Integer
	if slices.ContainsFunc(values, query.Value.IsText) {
		t = post.Text
	}
	record := anyRecord(o.u)
	return o.addExtra(func(set, cells []int) query.Value {
		for column, k := range keys {
			if !slices.Contains(set, k) {
				return query.Null()
			}
			record[column] = o.keys[k].cells[cells[k]].stored
		}
		return values[q.Weight(record)-1]
	}, t), true
}

// keysOf returns the keys that the columns of an expression are, by column. It is false if one is no
// key, or if there is none.
func (o *outputs) keysOf(e sqlparser.Expr) (map[int]int, bool) {
	keys, all := make(map[int]int), true
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		c, ok := n.(*sqlparser.ColName)
		if !ok {
			return true, nil
		}
		column, err := o.column(c)
		k := slices.IndexFunc(o.keys, func(k key) bool { return k.meaning == fmt.Sprintf("column %d", column) })
		if all = all && err == nil && k >= 0; all {
			keys[column] = k
		}
		return true, nil
	}, e)
	return keys, all && len(keys) > 0
}

// anyRecord returns a record of a universe.
func anyRecord(u *query.Universe) []query.Value {
	record := make([]query.Value, len(u.Columns()))
	for i, c := range u.Columns() {
		if record[i] = query.Text(""); c.Domain.Finite() {
			record[i] = c.Domain.Value(0)
		}
	}
	return record
}
