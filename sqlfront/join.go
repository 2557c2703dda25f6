package sqlfront

import (
	"slices"
	"strconv"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Publics is a Table whose SELECTs may join public tables.
type Publics interface {
	// Public returns the content of a public table, as it is in the same
	// snapshot of the catalog; nil where no public table has the name.
	Public(name string) (*PublicRows, error)
}

// PublicRows is the content of a public table. A column that was declared with
// steps has its values in them, as integers.
type PublicRows struct {
	Columns []string
	Steps   []*query.Steps // one a column, nil for one without; or nil for none
	Rows    [][]any        // int64, float64, string, []byte or nil
}

func (t *PublicRows) steps(column int) *query.Steps {
	if t.Steps == nil {
		return nil
	}
	return t.Steps[column]
}

// join is a public table in FROM. While a statement is bound, the table's columns
// stand behind the private columns in the universe. Then resolve replaces them by
// functions of the private column that the table is joined on.
type join struct {
	table   *PublicRows
	columns []int // of the universe, one a public column; notBound for the unusable
	key     int   // the public column joined on
	lookup  query.Lookup
}

// notBound marks a public column whose values no column of a universe can have.
const notBound = -1

// joins are the public tables of a statement, by their items of FROM.
type joins map[*syntax.FromItem]*join

// steps returns the steps in which the universe has a REAL column of a public
// table, nil for other columns.
func (all joins) steps(column int) *query.Steps {
	for _, j := range all {
		if i := slices.Index(j.columns, column); i >= 0 {
			return j.table.steps(i)
		}
	}
	return nil
}

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

// public returns the content of a public table, which is read once a statement.
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
	if len(t.Rows) == 0 {
		return nil, place.Unsupported("a join with an empty table").WithHint("fill %s first", syntax.Excerpt(name.Text, 40))
	}
	b.read[folded] = t
	return t, nil
}

// domain returns the values of a column; false where they are not all integers,
// or all texts, NULL aside.
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

// bindOn binds the condition of a join: an equality of a private column with a
// public one whose values are unique, and what else a row must meet.
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
		p, err := b.compileCondition(c, true)
		if err != nil {
			return pred{}, err
		}
		rest = append(rest, p)
	}
	keys := make([]query.Value, len(j.lookup.Rows))
	for i, r := range j.lookup.Rows {
		keys[i] = r.Key
	}
	return b.merge(append(rest, columnPred(j.lookup.Key, b.domain(j.lookup.Key).Of(keys...))), true)
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
		if column == r && l < len(b.table.Universe().Columns()) && j.table.steps(i) == nil {
			return l, i, true
		}
	}
	return 0, 0, false
}

// lookUp reads a public table by its key.
func (b *binder) lookUp(from *syntax.FromItem, j *join, private, key int) error {
	d := b.domain(private)
	name := syntax.Excerpt(j.table.Columns[key], 40)
	if public := b.domain(j.columns[key]); public.Type() != d.Type() {
		return from.Token.Unsupported("a join of columns of different types").
			WithHint("%s is %v and %s is %v", b.u.Columns()[private].Name, d.Type(), name, public.Type())
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
		if seen[k] {
			return from.Token.Unsupported("a join on " + name + ", of which a value occurs twice in " + from.Name.Text + ",").
				WithHint("join on a column whose values are unique; rows would count several times")
		}
		seen[k] = true
		r := query.LookupRow{Key: k}
		for _, i := range bound {
			v, _ := publicValue(row[i])
			r.Values = append(r.Values, v)
		}
		j.lookup.Rows = append(j.lookup.Rows, r)
	}
	return nil
}

// resolve replaces the columns of public tables by what they are.
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
	q, ok := q.Within(b.table.Universe())
	if !ok {
		return query.Query{}, sqlerr.New(sqlerr.Internal, "a joined column is not resolved")
	}
	return q, nil
}

// joined returns the public table that a column of the universe is of, and the
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
