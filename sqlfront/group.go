package sqlfront

import (
	"math/big"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// maxNumbers bounds the answers of one statement: groups times slots.
const maxNumbers = 100_000

// key is an expression of GROUP BY.
type key struct {
	meaning string // see meaning
	of      post.Type
	unit    *big.Rat // of REAL values, which the cells have in units
	cells   []cell
}

// cell is a value of a key and the records that have it.
type cell struct {
	value query.Value
	where pred
}

// groupBy binds the GROUP BY clause.
func (o *outputs) groupBy() error {
	total := uint64(1)
	for _, e := range o.s.GroupBy {
		e, err := o.grouped(e)
		if err != nil {
			return err
		}
		k, err := o.key(e)
		if err != nil {
			return err
		}
		if k.meaning, err = o.meaning(e); err != nil {
			return err
		}
		if slices.ContainsFunc(o.keys, func(before key) bool { return before.meaning == k.meaning }) {
			continue
		}
		o.keys = append(o.keys, k)
		if total *= uint64(len(k.cells)); total > maxNumbers {
			return o.tooMany(e)
		}
	}
	return nil
}

func (o *outputs) tooMany(e sqlparser.Expr) error {
	return o.g.Start(e).Unsupported("a statement with more than 100000 groups").
		WithHint("select fewer values in WHERE, or group by fewer columns")
}

// grouped returns the expression that an entry of GROUP BY stands for: an
// ordinal, or an alias where no column has the name, names one of the list.
func (o *outputs) grouped(e sqlparser.Expr) (sqlparser.Expr, error) {
	if n, ok := o.ordinal(e); ok {
		it, err := o.listed(n, "GROUP BY", e)
		return it.Expr, err
	}
	if name, ok := o.bareName(e); ok && len(o.scope.named("", name)) == 0 {
		if it, ok := o.aliased(name); ok {
			return it.Expr, nil
		}
	}
	return e, nil
}

// ordinal returns the number that an expression is, if it is a plain one.
func (o *outputs) ordinal(e sqlparser.Expr) (int64, bool) {
	v, ok := syntax.Unwrap(e).(*sqlparser.SQLVal)
	if !ok {
		return 0, false
	}
	t, ok := o.g.Token(string(v.Val))
	if !ok || t.Kind != syntax.KindInteger {
		return 0, false
	}
	k, err := constant{source: t}.number(t.Text)
	return k.value.Int64(), err == nil && k.real == nil
}

// listed returns the entry of the select list with a number.
func (o *outputs) listed(n int64, clause string, e sqlparser.Expr) (syntax.ListItem, error) {
	if n < 1 || n > int64(len(o.s.List)) {
		return syntax.ListItem{}, o.g.Place(e).Malformed("%s %d: the select list has %d columns", clause, n, len(o.s.List))
	}
	it := o.s.List[n-1]
	if it.Star != nil {
		return syntax.ListItem{}, o.g.PlaceOf(it).Unsupported("SELECT *").WithHint(countHint)
	}
	return it, nil
}

// bareName returns the name that an expression is, if it has no qualifier.
func (o *outputs) bareName(e sqlparser.Expr) (string, bool) {
	c, ok := syntax.Unwrap(e).(*sqlparser.ColName)
	if !ok || !c.Qualifier.IsEmpty() {
		return "", false
	}
	t, ok := o.g.Token(c.Name.String())
	return t.Value, ok
}

// aliased returns the first entry of the select list with an alias.
func (o *outputs) aliased(name string) (syntax.ListItem, bool) {
	for _, it := range o.s.List {
		if it.Expr != nil && it.Alias != "" && query.SameName(it.Alias, name) {
			return it, true
		}
	}
	return syntax.ListItem{}, false
}

// key divides the selected records by the values of an expression.
func (o *outputs) key(e sqlparser.Expr) (key, error) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ColName:
		return o.columnKey(e)
	case *sqlparser.SQLVal:
		return key{}, o.g.Place(e).Unsupported("grouping by a constant").WithHint("group by a declared column")
	}
	if name, f := o.calledFunction(e); f != nil {
		construct, _ := o.construct(e)
		if aggregates[name] || name == "margin" {
			return key{}, o.g.Place(f).Malformed("%s cannot stand in GROUP BY", syntax.UpperASCII(name))
		}
		if !o.isFunction(e) {
			return key{}, o.g.Place(f).Unsupported(construct + " in GROUP BY").WithHint(binHint)
		}
	}
	return o.computedKey(e)
}

// columnKey divides by the values of a column that the selected records can
// have; they must be finitely many.
func (o *outputs) columnKey(e *sqlparser.ColName) (key, error) {
	column, err := o.column(e)
	if err != nil {
		return key{}, err
	}
	c := o.u.Columns()[column]
	values := o.rows.Values(column)
	n, finite := values.Size()
	switch {
	case !finite:
		return key{}, o.g.Place(e).Unsupported("GROUP BY "+c.Name+", which has no declared domain,").
			WithHint("list the values to group by: WHERE %s IN ('…', '…') GROUP BY %s", c.Name, c.Name)
	case n > maxNumbers:
		return key{}, o.tooMany(e)
	}
	k := key{of: post.Integer}
	if c.Domain.Type() == query.TypeText {
		k.of = post.Text
	}
	for v := range values.Each() {
		k.cells = append(k.cells, cell{v, where(column, c.Domain.Of(v))})
	}
	if steps := o.joins.steps(column); steps != nil {
		k.of, k.unit = post.Real, steps.Step()
	}
	if j, i, ok := o.joined(column); ok {
		o.cellsOfKeys(&k, j, i)
	}
	return k, nil
}

// cellsOfKeys puts the keys that lead to a public value in the place of the
// value, which saves resolving each cell.
func (o *outputs) cellsOfKeys(k *key, j *join, column int) {
	keys := make(map[query.Value][]query.Value)
	for _, r := range j.lookup.Rows {
		keys[r.Values[column]] = append(keys[r.Values[column]], r.Key)
	}
	for i, c := range k.cells {
		k.cells[i].where = where(j.lookup.Key, o.domain(j.lookup.Key).Of(keys[c.value]...))
	}
}

// computedKey divides by the values of any other expression.
func (o *outputs) computedKey(e sqlparser.Expr) (key, error) {
	x, unit, err := o.amount(e)
	if err != nil {
		return key{}, err
	}
	q, values, err := o.values(x)
	if err != nil {
		return key{}, o.placedAt(err, e)
	}
	levels, ok, err := q.Indicator().Levels(o.rows, maxNumbers)
	switch {
	case err != nil:
		return key{}, o.placedAt(err, e)
	case !ok:
		return key{}, o.tooMany(e)
	}
	k := key{of: post.Integer}
	if unit != nil {
		k.of, k.unit = post.Real, unit
	}
	for _, l := range levels {
		v := values[l.Value-1]
		if v.IsText() {
			k.of = post.Text
		}
		k.cells = append(k.cells, cell{v, pred{shape: isDiagram, q: l.Where}})
	}
	slices.SortFunc(k.cells, func(a, b cell) int { return a.value.Compare(b.value) })
	return k, nil
}

// isFunction reports whether an expression is a call of a function on values.
func (b *binder) isFunction(e sqlparser.Expr) bool {
	name, f := b.calledFunction(e)
	if f == nil {
		return false
	}
	_, ok := functionNamed(name, len(f.Exprs))
	return ok || specials[name] > 0
}
