package sqlfront

import (
	"slices"
	"strconv"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// bindJoins reads the public tables that the statement names, and returns the
// universe with their columns.
func (b *binder) bindJoins() error {
	b.joins = make(joins)
	columns := b.table.Universe().Columns()
	names := make(map[string]bool)
	for _, c := range columns {
		names[query.FoldName(c.Name)] = true
	}
	add := func(name string, d query.Domain) int {
		unique := name
		for i := 2; names[query.FoldName(unique)] || unique == ""; i++ {
			unique = name + " " + strconv.Itoa(i)
		}
		names[query.FoldName(unique)] = true
		columns = append(columns[:len(columns):len(columns)], query.Column{Name: unique, Domain: d})
		return len(columns) - 1
	}
	if err := b.addJoins(b.s, add); err != nil || len(b.joins) == 0 {
		return err
	}
	u, err := query.NewUniverse(columns)
	b.u = u
	return err
}

// addJoins adds the public tables of a SELECT and its sub-selects.
func (b *binder) addJoins(s *syntax.Select, add func(string, query.Domain) int) error {
	for i := range s.From {
		from := &s.From[i]
		if from.Sub != nil {
			if err := b.addJoins(from.Sub, add); err != nil {
				return err
			}
			continue
		}
		if len(s.From) == 1 || query.SameName(from.Name.Text, b.table.Name()) {
			continue
		}
		t, err := b.public(from.Name, from.Token)
		if err != nil {
			return err
		}
		if len(t.Rows) == 0 {
			return from.Token.Unsupported("a join with an empty table").WithHint("fill %s first", syntax.Excerpt(from.Name.Text, 40))
		}
		j := &join{table: t, columns: make([]int, len(t.Columns))}
		for c, name := range t.Columns {
			j.columns[c] = notBound
			if d, ok := t.domain(c); ok {
				j.columns[c] = add(name, d)
			}
		}
		b.joins[from] = j
	}
	return nil
}

// public returns the content of a public table. A statement reads it once.
func (b *binder) public(name syntax.Name, place syntax.Token) (*PublicRows, error) {
	folded := query.FoldName(name.Text)
	if t, ok := b.read[folded]; ok {
		return t, nil
	}
	var t *PublicRows
	if p, ok := b.table.(Publics); ok {
		var err error
		if t, err = p.Public(name.Text); err != nil {
			return nil, err
		}
	}
	if t == nil {
		return nil, sqlerr.New(sqlerr.Unknown, "there is no public table %s to join", syntax.Excerpt(name.Text, 40)).
			WithHint("CREATE PUBLIC TABLE declares one; private tables are joined in a view, and the view declared").At(place.Position)
	}
	b.read[folded] = t
	return t, nil
}

// domain returns the values of a column. It is false unless they are all integers or
// all texts, NULL aside.
func (t *PublicRows) domain(column int) (query.Domain, bool) {
	typ := query.TypeText
	if t.steps(column) != nil {
		typ = query.TypeInteger
	}
	seen := make(map[query.Value]bool)
	var values []query.Value
	for _, row := range t.Rows {
		v, ok := publicValue(row[column])
		if !ok {
			return query.Domain{}, false
		}
		if v.IsInt() {
			typ = query.TypeInteger
		}
		if !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	d, err := query.NewList(typ, values) // refuses a mixture
	return d, err == nil
}

func publicValue(v any) (query.Value, bool) {
	switch v := v.(type) {
	case nil:
		return query.Null(), true
	case int64:
		return query.Int(v), true
	case string:
		return query.Text(v), true
	}
	return query.Value{}, false
}

// relation returns a public table's columns under their names.
func (j *join) relation(name string) relation {
	r := relation{name: name}
	for i, c := range j.table.Columns {
		r.columns = append(r.columns, visible{c, j.columns[i]})
	}
	return r
}

// bindOn binds the condition of a join. It must equate a private column with a public
// column whose values are unique. It may set further conditions on a row. A LEFT JOIN is a
// JOIN if every value of the private column has a row: both are public.
func (b *binder) bindOn(from *syntax.FromItem, j *join) (pred, error) {
	conditions, err := b.conditions(from)
	if err != nil {
		return pred{}, err
	}
	on := slices.IndexFunc(conditions, func(c sqlparser.Expr) bool {
		_, _, ok := b.equated(c, j)
		return ok
	})
	if on < 0 {
		return pred{}, from.Token.Unsupported("a join on anything but a private column that equals a public one").WithHint(syntax.JoinHint)
	}
	private, public, _ := b.equated(conditions[on], j)
	if err := b.lookUp(from, j, private, public); err != nil {
		return pred{}, err
	}
	var rest []pred
	for i, c := range conditions {
		if i == on {
			continue
		}
		p, err := b.compileCondition(c)
		if err != nil {
			return pred{}, err
		}
		rest = append(rest, p)
	}
	keys := make([]query.Value, len(j.lookup.Rows))
	for i, r := range j.lookup.Rows {
		keys[i] = r.Key
	}
	matched := b.domain(j.lookup.Key).SetOf(keys...)
	if from.Left && (len(rest) > 0 || !b.domain(j.lookup.Key).All().Minus(matched).IsEmpty()) {
		return pred{}, from.Token.Unsupported("a LEFT JOIN that keeps rows without a match").
			WithHint("write JOIN: it counts the rows of the values that %s has; or fill in the others", syntax.Excerpt(from.Name.Text, 40))
	}
	return b.merge(append(rest, columnPred(j.lookup.Key, matched)), true)
}

// conditions returns the parts of ON.
func (b *binder) conditions(from *syntax.FromItem) ([]sqlparser.Expr, error) {
	if from.On != nil {
		return flatten(from.On, true), nil
	}
	t, _ := b.g.Token(from.Using[0].String())
	return nil, t.Unsupported("USING").WithHint("write ON a.%s = b.%s", t.Text, t.Text)
}

// equated returns the columns of private = public.
func (b *binder) equated(e sqlparser.Expr, j *join) (private, public int, ok bool) {
	c, isEqual := syntax.Unwrap(e).(*sqlparser.ComparisonExpr)
	if !isEqual || c.Operator != sqlparser.EqualStr {
		return 0, 0, false
	}
	left, ok := syntax.Unwrap(c.Left).(*sqlparser.ColName)
	right, both := syntax.Unwrap(c.Right).(*sqlparser.ColName)
	if !ok || !both {
		return 0, 0, false
	}
	l, err := b.column(left)
	r, err2 := b.column(right)
	if err != nil || err2 != nil {
		return 0, 0, false
	}
	if l >= len(b.table.Universe().Columns()) {
		l, r = r, l
	}
	for i, column := range j.columns {
		if column == r && l < len(b.table.Universe().Columns()) && j.table.steps(i) == nil && b.steps(l) == nil {
			return l, i, true
		}
	}
	return 0, 0, false
}

// lookUp reads a public table by its key.
func (b *binder) lookUp(from *syntax.FromItem, j *join, private, key int) error {
	c := b.u.Columns()[private]
	name := syntax.Excerpt(j.table.Columns[key], 40)
	if public := b.domain(j.columns[key]); public.Type() != c.ShownType() {
		return from.Token.Unsupported("a join of columns of different types").
			WithHint("%s is %s and %s is %v", c.Name, c.TypeName(), name, public.Type())
	}
	j.lookup.Key = private
	var bound []int
	for i, c := range j.columns {
		if c != notBound {
			j.lookup.Columns = append(j.lookup.Columns, c)
			bound = append(bound, i)
		}
	}
	seen := make(map[query.Value]bool)
	for _, row := range j.table.Rows {
		k, _ := publicValue(row[key])
		if k.IsNull() {
			continue // equals nothing
		}
		canonical, ok := c.Canonical(k)
		if !ok {
			continue // no DATE equals it
		}
		if seen[canonical] {
			return from.Token.Unsupported("a join on " + name + ", of which a value occurs twice in " + from.Name.Text + ",").
				WithHint("join on a column whose values are unique; rows would count several times")
		}
		seen[canonical] = true
		r := query.LookupRow{Key: canonical}
		for _, i := range bound {
			v, _ := publicValue(row[i])
			r.Values = append(r.Values, v)
		}
		j.lookup.Rows = append(j.lookup.Rows, r)
	}
	return nil
}

// resolve replaces the columns of public tables by functions of the private columns
// that the tables are joined on.
func (b *binder) resolve(q query.Query) (query.Query, error) {
	if len(b.joins) == 0 {
		return q, nil
	}
	for _, j := range b.joins {
		var err error
		if q, err = q.Resolve(j.lookup); err != nil {
			return query.Query{}, err
		}
	}
	q, ok := q.OverPrefix(b.table.Universe())
	if !ok {
		return query.Query{}, sqlerr.New(sqlerr.Internal, "a joined column is not resolved")
	}
	return q, nil
}

// joined returns the public table that a column of the universe belongs to, and the
// column's index among those looked up.
func (b *binder) joined(column int) (*join, int, bool) {
	for _, j := range b.joins {
		for i, c := range j.lookup.Columns {
			if c == column {
				return j, i, true
			}
		}
	}
	return nil, 0, false
}

// bindFrom sets the scope of the FROM clause and returns the records that pass it.
func (b *binder) bindFrom() (pred, error) {
	all := []pred{constantPred(true)}
	private := false
	for i := range b.s.From {
		from := &b.s.From[i]
		if j := b.joins[from]; j != nil {
			b.scope = append(b.scope, j.relation(from.Alias.Text))
			continue
		}
		if private {
			return pred{}, from.Token.Unsupported("a join").WithHint(syntax.JoinHint)
		}
		r, kept, err := b.relation(from)
		if err != nil {
			return pred{}, err
		}
		b.scope, all, private = append(b.scope, r), append(all, kept), true
	}
	for i := range b.s.From {
		from := &b.s.From[i]
		if j := b.joins[from]; i > 0 && (j != nil || b.joins[&b.s.From[0]] != nil) {
			if j == nil { // the public table is written first
				j = b.joins[&b.s.From[0]]
				if from.Left {
					return pred{}, from.Token.Unsupported("a LEFT JOIN of private rows to public ones").
						WithHint("aggregate the private rows in a sub-select, and join its result")
				}
			}
			kept, err := b.bindOn(from, j)
			if err != nil {
				return pred{}, err
			}
			all = append(all, kept)
		}
	}
	return b.merge(all, true)
}

// relation binds the private table, or a sub-select of it.
func (b *binder) relation(from *syntax.FromItem) (relation, pred, error) {
	if from.Sub == nil {
		r := relation{name: from.Alias.Text, private: true}
		columns := b.table.Universe().Columns()
		for _, i := range query.Declared(columns) {
			r.columns = append(r.columns, visible{columns[i].Name, i})
		}
		return r, constantPred(true), nil
	}
	sub := &binder{s: from.Sub, g: from.Sub.Tokens, table: b.table, u: b.u, joins: b.joins, read: b.read, args: b.args, parameters: b.parameters, describing: b.describing, spent: b.spent}
	columns, kept, err := sub.subselect()
	for _, w := range sub.warnings {
		b.warn(w)
	}
	if err != nil {
		return relation{}, pred{}, placedAtWhere(from.Sub, err)
	}
	return relation{name: from.Alias.Text, columns: columns}, kept, nil
}

// subselect binds a SELECT that only renames columns and filters rows.
func (b *binder) subselect() ([]visible, pred, error) {
	s := b.s
	switch {
	case s.Distinct:
		return nil, pred{}, b.notInside("DISTINCT")
	case s.GroupBy != nil:
		return nil, pred{}, b.notInside("GROUP BY")
	case s.Having != nil:
		return nil, pred{}, b.notInside("HAVING")
	case s.Limit != nil:
		return nil, pred{}, b.notInside("LIMIT")
	}
	kept, err := b.restrict()
	if err != nil {
		return nil, pred{}, err
	}
	var columns []visible
	for _, it := range s.List {
		named, err := b.subselected(it)
		if err != nil {
			return nil, pred{}, err
		}
		columns = append(columns, named...)
	}
	columns, err = b.renamed(columns)
	return columns, kept, err
}

func (b *binder) notInside(clause string) error {
	first := clause
	if clause == "GROUP BY" {
		first = "GROUP"
	}
	return b.g.Find(first).Unsupported(clause + " in a sub-select").
		WithHint("a sub-select can rename columns and filter rows; group and limit outside it")
}

// subselected returns the columns of an entry of the select list.
func (b *binder) subselected(it syntax.ListItem) ([]visible, error) {
	if it.Star != nil {
		return b.starred(it)
	}
	name, ok := syntax.Unwrap(it.Expr).(*sqlparser.ColName)
	if !ok {
		construct, _ := b.construct(it.Expr)
		return nil, b.g.ItemToken(it).Unsupported(construct + " in the select list of a sub-select").
			WithHint("a sub-select can rename columns and filter rows; compute outside it")
	}
	column, err := b.column(name)
	if err != nil {
		return nil, err
	}
	t, _ := b.g.Token(name.Name.String())
	if it.Alias != "" {
		return []visible{{it.Alias, column}}, nil
	}
	return []visible{{t.Value, column}}, nil
}

// starred returns every column of * or t.*.
func (b *binder) starred(it syntax.ListItem) ([]visible, error) {
	qualifier, err := b.qualifier(it.Star.TableName)
	if err != nil {
		return nil, err
	}
	var columns []visible
	for _, r := range b.scope {
		if qualifier == "" || query.SameName(r.name, qualifier) {
			columns = append(columns, r.columns...)
		}
	}
	return columns, nil
}

// renamed gives the columns the names that a common table expression lists.
func (b *binder) renamed(columns []visible) ([]visible, error) {
	names := b.s.Columns
	if names == nil {
		return columns, nil
	}
	if len(names) != len(columns) {
		return nil, sqlerr.New(sqlerr.Malformed, "%d names are given to %d columns", len(names), len(columns)).At(names[0].Position)
	}
	for i, n := range names {
		columns[i].name = n.Text
	}
	return columns, nil
}

const inPublicHint = "write column IN (SELECT column FROM a public table)"

// inPublic compiles x IN (SELECT column FROM table), where x is a column and
// the table is public: x IN the list of its values.
func (b *binder) inPublic(e *sqlparser.ComparisonExpr, sub *sqlparser.Subquery) (*condition, error) {
	x, simple, err := b.operand(e.Left)
	if err != nil {
		return nil, err
	}
	table, column, ok := b.selectedColumn(sub)
	if !simple || !x.isColumn || !ok || query.SameName(table.Value, b.table.Name()) {
		return nil, b.g.StartToken(sub).Unsupported("a sub-select").WithHint(inPublicHint)
	}
	t, err := b.public(syntax.Name{Text: table.Value, Position: table.Position}, table)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(t.Columns, func(name string) bool { return query.SameName(name, column.Value) })
	if i < 0 {
		return nil, sqlerr.New(sqlerr.Unknown, "no column %s in the public table %s", syntax.Excerpt(column.Value, 40), syntax.Excerpt(table.Value, 40)).Of(sqlerr.Column).At(column.Position)
	}
	if len(t.Rows) == 0 { // of NULL too
		return computedBy(constantOf(conditionBounds(false))), nil
	}
	d, c := b.domain(x.column), b.u.Columns()[x.column]
	listed, ok := t.domain(i)
	if !ok || listed.Type() != c.ShownType() || t.steps(i) != nil || b.steps(x.column) != nil {
		return nil, column.Unsupported("a list of values of another type").
			WithHint("%s is %v; the values of %s must all be, or NULL", c.Name, c.ShownType(), syntax.Excerpt(column.Value, 40))
	}
	values := make([]query.Value, 0, listed.Size())
	for shown := range listed.NotNull().Each() {
		if v, ok := c.Canonical(shown); ok { // else no DATE equals it
			values = append(values, v)
		}
	}
	return b.listedLeaf(x.column, d.SetOf(values...), listed.HasNull(), ""), nil
}

// selectedColumn returns the table and the column of SELECT column FROM table. It is
// false for any other sub-select.
func (b *binder) selectedColumn(sub *sqlparser.Subquery) (table, column syntax.Token, ok bool) {
	s, ok := sub.Select.(*sqlparser.Select)
	if !ok || len(s.SelectExprs) != 1 || len(s.From) != 1 || s.Where != nil || s.GroupBy != nil || s.Having != nil || s.Limit != nil {
		return table, column, false
	}
	it, ok := s.SelectExprs[0].(*sqlparser.AliasedExpr)
	if !ok {
		return table, column, false
	}
	c, ok := syntax.Unwrap(it.Expr).(*sqlparser.ColName)
	if !ok || !c.Qualifier.IsEmpty() {
		return table, column, false
	}
	from, ok := s.From[0].(*sqlparser.AliasedTableExpr)
	if !ok {
		return table, column, false
	}
	name, ok := from.Expr.(sqlparser.TableName)
	if !ok || !name.Qualifier.IsEmpty() {
		return table, column, false
	}
	table, ok = b.g.Token(name.Name.String())
	if !ok || b.g.IsSubselect(name.Name) {
		return table, column, false
	}
	column, ok = b.g.Token(c.Name.String())
	return table, column, ok
}
