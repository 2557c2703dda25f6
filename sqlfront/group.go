package sqlfront

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
)

// MaxNumbers bounds the numbers of one statement, in all its SELECTs: groups times slots.
const MaxNumbers = 100_000

// key is an expression of GROUP BY.
type key struct {
	meaning   string // see meaning
	valueType post.Type
	unit      *big.Rat // of REAL values; the cells hold multiples of it
	noCase    bool     // the values compare as COLLATE NOCASE compares them
	cells     []cell
}

// cell is a value of a key and the records that have it.
type cell struct {
	value  query.Value
	stored query.Value // of a column's key: as its domain has it
	where  pred
}

// maxSets bounds the grouping sets of a statement.
const maxSets = 64

// groupBy binds the GROUP BY clause. Its grouping sets are the combinations of one set
// of each entry. An entry without ROLLUP, CUBE or GROUPING SETS has one set.
func (o *outputs) groupBy() error {
	o.sets = noKeys
	for _, e := range o.s.GroupBy {
		sets, err := o.groupingSets(e)
		if err != nil {
			return err
		}
		if len(sets)*len(o.sets) > maxSets {
			return o.tooManySets(e)
		}
		var all [][]int
		for _, before := range o.sets {
			for _, s := range sets {
				all = append(all, union(before, s))
			}
		}
		o.sets = all
		if !o.fewGroups() {
			return o.tooMany(e)
		}
	}
	return nil
}

// What a statement without GROUP BY has: a grouping set without keys, and one group in it.
// They are never written to.
var (
	noKeys   = [][]int{nil}
	oneGroup = [][]query.Value{nil}
	oneSet   = []int{1}
)

// union returns the keys of two sets, ascending.
func union(a, b []int) []int {
	u := slices.Concat(a, b)
	slices.Sort(u)
	return slices.Compact(u)
}

// fewGroups reports whether there are at most as many groups as numbers are allowed.
func (o *outputs) fewGroups() bool {
	all := uint64(0)
	for _, s := range o.sets {
		groups := uint64(1)
		for _, k := range s {
			if groups *= uint64(len(o.keys[k].cells)); groups > MaxNumbers {
				return false
			}
		}
		all += groups
	}
	return all <= MaxNumbers
}

func (o *outputs) tooManySets(e sqlparser.Expr) error {
	return o.g.StartToken(e).Unsupported("a statement with more than 64 grouping sets").WithHint("list fewer in GROUPING SETS")
}

// groupingSets returns the grouping sets of an entry of GROUP BY, or of GROUPING SETS.
func (o *outputs) groupingSets(e sqlparser.Expr) ([][]int, error) {
	name, f := o.calledFunction(e)
	if f == nil || name != "rollup" && name != "cube" && !o.g.IsGroupingSets(f) {
		k, err := o.keySet(e)
		return [][]int{k}, err
	}
	args, ok := argumentsOf(f)
	if !ok || len(args) == 0 || f.Distinct {
		return nil, o.g.FirstToken(f).Malformed("%s takes expressions", syntax.UpperASCII(name))
	}
	var parts [][]int
	for _, arg := range args {
		var sets [][]int
		var err error
		if name == "sets" {
			sets, err = o.groupingSets(arg)
		} else {
			sets = make([][]int, 1)
			sets[0], err = o.keySet(arg)
		}
		if err != nil {
			return nil, err
		}
		if parts = append(parts, sets...); len(parts) > maxSets {
			return nil, o.tooManySets(f)
		}
	}
	switch name {
	case "rollup":
		return rollup(parts), nil
	case "cube":
		if len(parts) > 6 { // 2^6 = maxSets
			return nil, o.tooManySets(f)
		}
		return cube(parts), nil
	}
	return parts, nil
}

// rollup returns the unions of the first n parts, for each n, the longest first.
func rollup(parts [][]int) [][]int {
	sets := make([][]int, len(parts)+1)
	for n, p := range parts {
		at := len(parts) - n
		sets[at-1] = union(sets[at], p)
	}
	return sets
}

// cube returns the unions of all selections of parts. Those with an earlier part come
// before those without it.
func cube(parts [][]int) [][]int {
	sets := [][]int{nil}
	for _, p := range slices.Backward(parts) {
		var with [][]int
		for _, s := range sets {
			with = append(with, union(p, s))
		}
		sets = append(with, sets...)
	}
	return sets
}

// keySet binds an expression, or several in parentheses, as keys.
func (o *outputs) keySet(e sqlparser.Expr) ([]int, error) {
	inner := syntax.Unwrap(e)
	if _, empty := inner.(*sqlparser.NullVal); empty {
		return nil, nil
	}
	list, ok := inner.(sqlparser.ValTuple)
	if !ok {
		list = sqlparser.ValTuple{inner}
	}
	var set []int
	for _, e := range list {
		k, err := o.bindKey(e)
		if err != nil {
			return nil, err
		}
		set = union(set, []int{k})
	}
	return set, nil
}

// bindKey returns the index of the key that an expression is.
func (o *outputs) bindKey(e sqlparser.Expr) (int, error) {
	e, err := o.grouped(e)
	if err != nil {
		return 0, err
	}
	k, err := o.key(e)
	if err != nil {
		return 0, err
	}
	if k.meaning, err = o.meaning(e); err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(o.keys, func(before key) bool { return before.meaning == k.meaning }); i >= 0 {
		return i, nil
	}
	o.keys = append(o.keys, k)
	cells := 0
	for _, k := range o.keys {
		cells += len(k.cells)
	}
	if cells > MaxNumbers {
		return 0, o.tooMany(e)
	}
	return len(o.keys) - 1, nil
}

// grouping compiles GROUPING(a, b). Its bits tell which of the keys are rolled up; the
// last key has the lowest. The groups have the number as one more value behind their keys.
func (o *outputs) grouping(f *sqlparser.FuncExpr) (post.Expr, error) {
	at := o.g.FirstToken(f)
	args, ok := argumentsOf(f)
	if !ok || f.Distinct || len(args) == 0 || len(args) > 31 {
		return nil, at.Malformed("GROUPING takes expressions of GROUP BY")
	}
	var mask []int
	for _, arg := range args {
		e, err := o.grouped(arg)
		if err != nil {
			return nil, err
		}
		k, ok, err := o.keyed(syntax.Unwrap(e))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, o.g.StartToken(e).Malformed("GROUPING takes expressions of GROUP BY").WithHint("this one is not there")
		}
		mask = append(mask, k.(post.Key).Index)
	}
	return o.addExtra(func(set, _ []int) query.Value { return maskOf(mask, set) }, post.Integer), nil
}

// maskOf returns the number that GROUPING of some keys is in a grouping set.
func maskOf(keys, set []int) query.Value {
	n := int64(0)
	for _, k := range keys {
		n <<= 1
		if !slices.Contains(set, k) {
			n |= 1
		}
	}
	return query.Int(n)
}

func (o *outputs) tooMany(e sqlparser.Expr) error {
	return o.g.StartToken(e).Unsupported("a statement with more than 100000 groups").
		WithHint("select fewer values in WHERE, or group by fewer columns")
}

// grouped resolves an entry of GROUP BY. An ordinal names an entry of the select
// list, and so does an alias that is not a column's name.
func (o *outputs) grouped(e sqlparser.Expr) (sqlparser.Expr, error) {
	if n, ok := o.ordinal(e); ok {
		it, err := o.listed(n, "GROUP BY", e)
		return it.Expr, err
	}
	if i, ok := o.aliasIndex(e); ok {
		return o.s.List[i].Expr, nil
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
		return syntax.ListItem{}, o.g.FirstToken(e).Malformed("%s %d: the select list has %d columns", clause, n, len(o.s.List))
	}
	it := o.s.List[n-1]
	if it.Star != nil {
		return syntax.ListItem{}, o.g.ItemToken(it).Unsupported("SELECT *").WithHint(countHint)
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

// key divides the selected records by the values of an expression.
func (o *outputs) key(e sqlparser.Expr) (key, error) {
	switch e := syntax.Unwrap(e).(type) {
	case *sqlparser.ColName:
		return o.columnKey(e)
	case *sqlparser.SQLVal:
		return key{}, o.g.FirstToken(e).Unsupported("grouping by a constant").WithHint("group by a declared column")
	}
	if name, f := o.calledFunction(e); f != nil {
		construct, _ := o.construct(e)
		if isOwn(name) && !o.isFunction(e) || isMeasure(name) {
			return key{}, o.g.FirstToken(f).Malformed("%s cannot stand in GROUP BY", syntax.UpperASCII(name))
		}
		if !o.isFunction(e) {
			return key{}, o.g.FirstToken(f).Unsupported(construct+" in GROUP BY").WithHint("%s", cmp.Or(instead[name], binHint))
		}
	}
	return o.computedKey(e)
}

// columnKey divides the selected records by the values of a column. These must be
// finitely many.
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
		return o.listedKey(e, column)
	case n > MaxNumbers:
		return key{}, o.tooMany(e)
	}
	k := key{valueType: post.Integer}
	if c.ShownType() == query.TypeText {
		k.valueType = post.Text
	}
	for v := range values.Each() {
		k.cells = append(k.cells, cell{c.Form.Shown(v), v, columnPred(column, c.Domain.SetOf(v))})
	}
	if steps := o.steps(column); steps != nil {
		k.valueType, k.unit = post.Real, steps.Step()
	}
	if j, i, ok := o.joined(column); ok {
		o.cellsOfKeys(&k, j, i)
	}
	if k.noCase = c.Form.IsNoCase(); k.noCase {
		slices.SortStableFunc(k.cells, func(a, b cell) int { return folded(a.value).Compare(folded(b.value)) })
	}
	return k, nil
}

// folded returns a text in lower case, and other values unchanged.
func folded(v query.Value) query.Value {
	if v.IsText() {
		return query.Text(query.FoldName(v.Str()))
	}
	return v
}

// listedKey divides the selected records by the values of a column without a domain. A cell has
// each key that a list has, as the column compares it, another one NULL, and the last one, OTHER, all other texts: so each
// record is in one cell.
func (o *outputs) listedKey(e *sqlparser.ColName, column int) (key, error) {
	c := o.u.Columns()[column]
	var keys []query.Value
	var lists []string
	if t, ok := o.table.(Listed); ok && column < len(o.table.Universe().Columns()) {
		var err error
		if keys, lists, err = t.Keys(column); err != nil {
			return key{}, err
		}
	}
	if len(lists) == 0 {
		return key{}, o.g.FirstToken(e).Unsupported("GROUP BY "+c.Name+", which has no declared domain,").
			WithHint("list the values to group by: WHERE %s IN ('…', '…') GROUP BY %[1]s; or have the curator find them: "+
				"CREATE PUBLIC TABLE keys AS SELECT DISTINCT %[1]s FROM %[2]s WITH (epsilon = …), or CREATE RELEASE r ON %[2]s (%[1]s) USING PROJECTION WITH (epsilon = …, heavy = named)",
				c.Name, o.table.Name())
	}
	for i, v := range keys {
		keys[i], _ = c.Canonical(v)
	}
	// A key that reads OTHER is one of the others, so that the result has one such row.
	slices.SortFunc(keys, query.Value.Compare)
	keys = slices.DeleteFunc(slices.Compact(keys), func(v query.Value) bool { return v == query.Text(query.Other) })
	if len(keys) > MaxNumbers {
		return key{}, o.tooMany(e)
	}
	k := key{valueType: post.Text, noCase: c.Form.IsNoCase(), cells: []cell{{query.Null(), query.Null(), columnPred(column, c.Domain.SetOf(query.Null()))}}}
	for _, v := range keys {
		k.cells = append(k.cells, cell{v, v, columnPred(column, c.Domain.SetOf(v))})
	}
	others := c.Domain.NotNull().Minus(c.Domain.SetOf(keys...))
	k.cells = append(k.cells, cell{query.Text(query.Other), query.Text(query.Other), columnPred(column, others)})
	o.warn(query.Other + " has the rows of every " + c.Name + " that is not in " + strings.Join(lists, ", ") + ": rarer keys are in it")
	return k, nil
}

// cellsOfKeys replaces a public value by the keys that lead to it. The cells then
// need not be resolved.
func (o *outputs) cellsOfKeys(k *key, j *join, column int) {
	keys := make(map[query.Value][]query.Value)
	for _, r := range j.lookup.Rows {
		keys[r.Values[column]] = append(keys[r.Values[column]], r.Key)
	}
	for i, c := range k.cells {
		k.cells[i].where = columnPred(j.lookup.Key, o.domain(j.lookup.Key).SetOf(keys[c.value]...))
	}
}

// computedKey divides by the values of any other expression.
func (o *outputs) computedKey(e sqlparser.Expr) (key, error) {
	x, unit, err := o.amount(e)
	if err != nil {
		return key{}, err
	}
	if x.off != 0 {
		o.warn("a group of " + syntax.Excerpt(sqlparser.String(e), 80) + " shows what it is of the middle of a step")
	}
	q, values, own, err := o.values(x)
	if err != nil {
		return key{}, o.placedAt(err, e)
	}
	levels, ok, err := q.Indicator().Levels(&o.spent.sums, o.rows, MaxNumbers)
	switch {
	case err != nil:
		return key{}, o.placedAt(err, e)
	case !ok:
		return key{}, o.tooMany(e)
	}
	k := key{valueType: post.Integer, unit: unit}
	if own != nil {
		k.unit = own.Mul(own, worth(unit))
	}
	if k.unit != nil {
		k.valueType = post.Real
	}
	for _, l := range levels {
		v := values[l.Value-1]
		if v.IsText() {
			k.valueType = post.Text
		}
		k.cells = append(k.cells, cell{value: v, where: pred{shape: isDiagram, q: l.Where}})
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
	return ok || dialect().Functions[name].Public || specials[name] > 0 || name == "cast"
}

// meaning writes an expression with the parentheses that its tree has and with columns by number.
// Expressions with equal texts have equal meanings.
func (o *outputs) meaning(e sqlparser.Expr) (string, error) {
	var failed error
	buf := sqlparser.NewTrackedBuffer(func(buf *sqlparser.TrackedBuffer, n sqlparser.SQLNode) {
		if failed == nil {
			failed = o.write(buf, n)
		}
	})
	buf.WriteNode(e)
	return buf.String(), failed
}

// write writes a node of an expression. It refuses an aggregate, which cannot be a key.
func (o *outputs) write(buf *sqlparser.TrackedBuffer, n sqlparser.SQLNode) error {
	switch n := n.(type) {
	case *sqlparser.ParenExpr:
		buf.WriteNode(n.Expr)
	case *sqlparser.ColName, *sqlparser.SQLVal:
		return o.writeOperand(buf, n.(sqlparser.Expr))
	case sqlparser.ColIdent: // the type of CAST
		t, _ := o.g.Token(n.String())
		buf.WriteString(t.Upper)
	case *sqlparser.FuncExpr:
		if !o.isFunction(n) {
			return o.outside(n)
		}
		name, _ := o.calledFunction(n)
		buf.Myprintf("%s(%v)", name, n.Exprs)
	case *sqlparser.UnaryExpr:
		buf.Myprintf("(%s %v)", n.Operator, n.Expr)
	case *sqlparser.BinaryExpr, *sqlparser.CaseExpr, sqlparser.ValTuple:
		o.writeInside(buf, n)
	case sqlparser.Expr:
		if !isCondition(n) {
			return o.outside(n)
		}
		o.writeInside(buf, n)
	default:
		n.Format(buf)
	}
	return nil
}

// writeInside writes a node in parentheses.
func (o *outputs) writeInside(buf *sqlparser.TrackedBuffer, n sqlparser.SQLNode) {
	buf.WriteByte('(')
	n.Format(buf)
	buf.WriteByte(')')
}

// writeOperand writes a column or a constant.
func (o *outputs) writeOperand(buf *sqlparser.TrackedBuffer, e sqlparser.Expr) error {
	v, ok, err := o.operand(e)
	switch {
	case err != nil:
		return err
	case !ok:
		return o.outside(e)
	case v.isColumn:
		fmt.Fprintf(buf, "column %d", v.column)
	case v.constant.real != nil:
		fmt.Fprintf(buf, "real %v", v.constant.real)
	default:
		fmt.Fprintf(buf, "%v", v.constant.value)
	}
	return nil
}

// divide sets the groups that records can be in, in the order of their keys, and each
// slot's query in each of them, over the private table's columns.
func (o *outputs) divide(b *Bound) error {
	rows, err := o.resolve(o.rows)
	if err != nil {
		return err
	}
	bases, err := o.resolveAll(o.bases)
	for k := range bases {
		o.slots[k].Base = bases[k]
	}
	b.Slots = o.slots
	if err != nil || len(o.sets) == 1 && len(o.keys)+len(o.extras) == 0 {
		b.Groups, b.Queries, b.Sets = oneGroup, bases, oneSet
		return err
	}
	d := divider{binder: o.binder, none: query.None(o.table.Universe()), limit: MaxNumbers / max(1, o.numbers()), extras: o.extras,
		at: make([]int, len(o.keys))}
	for _, k := range o.keys {
		cells := make([]query.Query, len(k.cells))
		for i, c := range k.cells {
			cells[i] = c.where.query(o.u)
		}
		if cells, err = o.resolveAll(cells); err != nil {
			return err
		}
		d.cells = append(d.cells, cells)
	}
	for i, set := range o.sets {
		if err := o.affordable(d.cells, set, bases); err != nil {
			return err
		}
		values := make([]query.Value, len(o.keys))
		for k := range values {
			values[k] = query.Null()
		}
		before := len(d.groups)
		d.set = set
		if err := d.divide(o.keys, set, rows, bases, values); err != nil {
			return err
		}
		b.Sets = append(b.Sets, len(d.groups)-before)
		if i > 0 {
			b.Slots = append(b.Slots, o.slots...)
		}
	}
	if len(d.groups) > d.limit {
		return sqlerr.New(sqlerr.Unsupported, "more than %d groups of %d numbers are outside the dialect: at most %d numbers",
			d.limit, o.numbers(), MaxNumbers).
			WithHint("select fewer values in WHERE, or ask for the aggregates one by one").At(o.g.Find("GROUP").Position)
	}
	b.Groups, b.Queries = d.groups, d.queries
	return nil
}

// numbers returns how many numbers each group takes: one a slot, and for a number of values
// one a value.
func (o *outputs) numbers() int {
	n := 0
	for _, s := range o.slots {
		if s.Question == DistinctValues {
			n += int(o.domain(s.Column).Size())
			continue
		}
		n++
	}
	return n
}

func (o *outputs) resolveAll(queries []query.Query) ([]query.Query, error) {
	out := make([]query.Query, len(queries))
	for i, q := range queries {
		var err error
		if out[i], err = o.resolve(q); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxCopies bounds the branches that dividing copies. Each group copies the branches
// of a slot's query down to the last column of GROUP BY.
const maxCopies = 1 << 20

// affordable refuses to divide long diagrams into many groups.
func (o *outputs) affordable(cells [][]query.Query, set []int, bases []query.Query) error {
	groups, last := 1, 0
	for _, k := range set {
		groups *= max(1, len(cells[k]))
		for _, q := range cells[k] {
			if columns := q.Columns(); len(columns) > 0 {
				last = max(last, columns[len(columns)-1])
			}
		}
	}
	for _, b := range bases {
		if b.Branches(last)*groups > maxCopies {
			return sqlerr.New(sqlerr.Unsupported, "the sum of a column with this many values in %d groups is outside the dialect", groups).
				WithHint("group fewer values at a time (WHERE … IN …), or add up a coarser value, such as x / 10 * 10").At(o.g.Find("GROUP").Position)
		}
	}
	return nil
}

// divider collects groups.
type divider struct {
	*binder
	none    query.Query
	cells   [][]query.Query // of each key
	limit   int             // on the number of groups
	extras  []extra
	set     []int // the grouping set that is divided
	at      []int // the cell of each of its keys
	groups  [][]query.Value
	queries []query.Query
}

// divide splits records and slots by the keys of a grouping set that are left. values
// are those of the keys before; it changes them.
func (d *divider) divide(keys []key, set []int, rows query.Query, bases []query.Query, values []query.Value) error {
	if len(d.groups) > d.limit {
		return nil
	}
	if len(set) == 0 {
		group := slices.Clone(values)
		for _, x := range d.extras {
			group = append(group, x(d.set, d.at))
		}
		d.groups = append(d.groups, group)
		d.queries = append(d.queries, bases...)
		return nil
	}
	k := set[0]
	for i, in := range d.cells[k] {
		if err := d.countSteps(branchCost * (1 + len(bases))); err != nil {
			return err
		}
		here, err := d.spent.work.And(rows, in)
		if err != nil {
			return err
		}
		if here.Equal(d.none) {
			continue
		}
		split := make([]query.Query, len(bases))
		for k, b := range bases {
			if b.Equal(rows) {
				split[k] = here
			} else if split[k], err = d.spent.work.And(b, in); err != nil {
				return err
			}
		}
		values[k], d.at[k] = keys[k].cells[i].value, i
		if err := d.divide(keys, set[1:], here, split, values); err != nil {
			return err
		}
	}
	return nil
}

// keyed returns the key of GROUP BY that equals an expression, if there is one.
func (o *outputs) keyed(e sqlparser.Expr) (post.Expr, bool, error) {
	if len(o.keys) == 0 {
		return nil, false, nil
	}
	if name, ok := o.bareName(e); ok && len(o.scope.columnsNamed("", name)) == 0 {
		return nil, false, nil // an alias
	}
	m, err := o.meaning(e)
	if err != nil {
		return nil, false, nil // the compiler reports the error
	}
	i := slices.IndexFunc(o.keys, func(k key) bool { return k.meaning == m })
	if i < 0 {
		return nil, false, nil
	}
	return post.Key{Index: i, ValueType: o.keys[i].valueType, Unit: o.keys[i].unit, NoCase: o.keys[i].noCase}, true, nil
}

// outside refuses an expression outside WHERE.
func (o *outputs) outside(e sqlparser.Expr) error {
	construct, _ := o.construct(e)
	return o.g.StartToken(e).Unsupported(construct + " in the select list").WithHint(countHint)
}

func isMeasure(name string) bool {
	_, ok := measures[name]
	return ok
}
