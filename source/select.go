package source

import (
	"fmt"
	"slices"
	"strconv"

	"dpsql/query"
	"dpsql/source/definition"
)

// core resolves a SELECT up to HAVING, and the ORDER BY that follows it.
func (d *definer) core(c *definition.Core, order []*definition.Expr, e *environment, around *scope) (part, leaves, error) {
	s := &scope{definer: d, ctes: e, around: around}
	r, err := s.from(c.From)
	if err == nil {
		err = s.groupBy(c)
	}
	if err != nil {
		return part{}, 0, err
	}
	early := s.constants
	columns, aliases, err := s.columns(c.Columns)
	if err != nil {
		return part{}, 0, err
	}
	s.aliases = aliases
	if err := s.constantly(early); err != nil {
		return part{}, 0, err
	}
	if c.Having != nil {
		if _, err := s.value(c.Having); err != nil {
			return part{}, 0, err
		}
	}
	bare := s.bare
	where, err := s.condition(c.Where)
	if err == nil {
		_, _, err = s.values(order) // ORDER BY can have aggregates, too
	}
	if err != nil {
		return part{}, 0, err
	}
	filtered := *r
	filtered.where = append(filtered.where[:len(filtered.where):len(filtered.where)], where...)
	p := part{relation: &filtered, columns: columns}
	p.groups, err = s.groups(c, p, bare)
	return p, s.outside, err
}

// groupBy resolves the expressions of GROUP BY: column numbers, aliases and others. A
// column's name goes before an alias.
func (s *scope) groupBy(c *definition.Core) error {
	for _, x := range c.GroupBy {
		if x.Kind == definition.Literal {
			n, err := strconv.Atoi(x.Name)
			if err != nil || n < 1 || n > len(c.Columns) || slices.ContainsFunc(c.Columns, func(c definition.Column) bool { return c.Expr == nil }) {
				return mixedf("groups by a number that is not understood")
			}
			x = c.Columns[n-1].Expr
		} else if x.Kind == definition.Ref && x.Table == "" {
			if _, ok := s.own("", query.FoldName(x.Name)); !ok && !isRowid(query.FoldName(x.Name)) {
				for _, column := range c.Columns {
					if column.Expr != nil && query.SameName(column.Alias, x.Name) {
						x = column.Expr
						break
					}
				}
			}
		}
		v, err := s.value(x)
		if err != nil {
			return err
		}
		s.keys = append(s.keys, groupKey{x, v})
	}
	s.bare = nil
	return nil
}

// columns resolves a select list. It returns the columns by the names that other
// SELECTs use, and the names that the SELECT's own conditions may use.
func (s *scope) columns(list []definition.Column) (out []field, aliases []string, err error) {
	for _, c := range list {
		if c.Expr == nil {
			fields, ok := s.star(c.Table)
			if !ok {
				return nil, nil, mixedf("names %s.*, which is not understood", c.Table)
			}
			for _, f := range fields {
				s.bare = append(s.bare, f.value)
			}
			out = append(out, fields...)
			continue
		}
		v, err := s.value(c.Expr)
		if err != nil {
			return nil, nil, err
		}
		f := s.passed(field{nameOf(c, v), v, false})
		aliases = append(aliases, f.name, query.FoldName(c.Alias))
		f.name = columnName(f.name, len(out))
		out = append(out, f)
	}
	return out, aliases, nil
}

// nameOf returns the folded name of a column, or "" if it has none of its own. A rowid
// may also be called by the table's primary key, and a text by its quotes.
func nameOf(c definition.Column, v value) string {
	x := c.Expr
	for x.Kind == definition.Collate {
		x = x.Args[0]
	}
	if c.Alias == "" && x.Kind == definition.Ref {
		if isRowid(query.FoldName(x.Name)) && v.column != query.FoldName(x.Name) || v.reads == unresolved.reads {
			return ""
		}
		return query.FoldName(x.Name)
	}
	return query.FoldName(c.Alias)
}

// columnName returns SQLite's name for the column of a SELECT at a place. It is the
// name as written, except for truth values.
func columnName(name string, place int) string {
	if isTruth(name) {
		return fmt.Sprintf("column%d", place+1)
	}
	return name
}

// passed makes a field that other SELECTs can name. An expression becomes a column,
// whose affinity and collation are not worked out.
func (s *scope) passed(f field) field {
	if f.value.leaf == nil {
		if f.value.computed == 0 {
			s.numbers++
			f.value.computed = s.numbers
		}
		f.value.affinity, f.value.collation = unknownAffinity, unknownCollation
	}
	f.value.collates = false
	return f
}

// groups returns the ways in which a SELECT combines rows. With private rows, a group
// may show only aggregates and the values it is grouped by, because SQLite does not say
// from which row it takes another column.
func (s *scope) groups(c *definition.Core, p part, bare []value) ([]group, error) {
	var out []group
	switch {
	case len(s.keys) > 0:
		g := group{what: "groups rows"}
		for _, k := range s.keys {
			g.by = append(g.by, k.value)
		}
		for _, b := range bare {
			if p.relation.private != 0 && !slices.ContainsFunc(g.by, b.equal) {
				return nil, mixedf("shows a column of grouped rows that is neither in GROUP BY nor in an aggregate")
			}
		}
		out = append(out, g)
	case s.aggregate != "", c.Having != nil:
		out = append(out, group{what: "has the aggregate " + s.aggregate})
	}
	if len(out) > 0 && len(s.windows) > 0 && p.relation.private != 0 {
		return nil, mixedf("has a window over groups")
	}
	out = append(out, s.windows...)
	if c.Distinct {
		out = append(out, group{what: "has a DISTINCT", by: values(p.columns)})
	}
	return out, nil
}

// from resolves FROM and adds its names to the scope.
func (s *scope) from(f *definition.From) (*relation, error) {
	if f == nil { // one row without columns
		return s.leaf(&leaf{name: "a constant", keys: []key{{}}})
	}
	r, tables, err := s.join(f)
	s.tables = tables
	return r, err
}

// join resolves a table, a SELECT or a join, and returns the names in it.
func (s *scope) join(f *definition.From) (*relation, []fromItem, error) {
	if f.Left == nil {
		return s.unary(f)
	}
	left, tables, err := s.join(f.Left)
	if err != nil {
		return nil, nil, err
	}
	right, more, err := s.join(f.Right)
	if err != nil {
		return nil, nil, err
	}
	r := &relation{left: left, right: right, outer: f.Outer, leaves: left.leaves | right.leaves, private: left.private | right.private}
	r.on, err = shared(f, tables, more)
	if err != nil {
		return nil, nil, err
	}
	if f.Outer {
		for _, t := range more {
			t.beside(right.leaves)
		}
	}
	tables = append(tables, more...)
	names := s.tables
	s.tables = tables // a condition can name the tables of its join
	on, err := s.condition(f.On)
	s.tables = names
	r.on = append(r.on, on...)
	return r, tables, err
}

// beside notes that values computed on the right of a LEFT JOIN are NULL in a row
// without a match.
func (n fromItem) beside(right leaves) {
	for i := range n.fields {
		if v := &n.fields[i].value; v.leaf == nil {
			v.reads |= right
		}
	}
}

// unary resolves a table or SELECT.
func (s *scope) unary(f *definition.From) (*relation, []fromItem, error) {
	n := fromItem{alias: query.FoldName(f.Alias)}
	r, rowid, err := s.relation(f)
	if err != nil {
		return nil, nil, err
	}
	n.fields, n.rowid = slices.Clone(r.columns), rowid
	return r, []fromItem{n}, nil
}

func (s *scope) relation(f *definition.From) (*relation, *value, error) {
	if f.Select != nil {
		r, outside, err := s.query(f.Select, s.ctes, s.around)
		s.outside |= outside
		return r, nil, err
	}
	if !f.Main {
		if c, home := s.ctes.find(f.Table); c != nil {
			r, err := s.cte(c, home)
			return r, nil, err
		}
	}
	return s.table(f.Table)
}

// cte resolves one use of a common table expression. A use within its own body is
// recursive, which is refused as not understood.
func (s *scope) cte(c *definition.CTE, home *environment) (*relation, error) {
	name := query.FoldName(c.Name)
	if home.busy[name] {
		return nil, mixedf("has the recursive table %s", c.Name)
	}
	home.busy[name] = true
	defer delete(home.busy, name)
	r, outside, err := s.query(c.Select, home, s.around)
	s.outside |= outside
	if err != nil || len(c.Columns) == 0 {
		return r, err
	}
	r.columns = slices.Clone(r.columns)
	return r, r.rename(c.Columns)
}

// shared returns the equalities of USING and NATURAL, and hides the right side's
// columns from *.
func shared(f *definition.From, left, right []fromItem) ([]equality, error) {
	names := f.Using
	if (f.Natural || names != nil) && len(right) != 1 {
		return nil, mixedf("joins several tables by USING or NATURAL")
	}
	if f.Natural && !allNamed(append(slices.Clone(left), right...)) {
		return nil, mixedf("joins by NATURAL columns without a name of their own")
	}
	if f.Natural {
		for _, column := range right[0].fields {
			if _, ok := first(left, column.name); ok {
				names = append(names, column.name)
			}
		}
	}
	var out []equality
	for _, name := range names {
		l, ok := first(left, query.FoldName(name))
		r := slices.IndexFunc(right[0].fields, func(c field) bool { return c.name == query.FoldName(name) })
		if !ok || r < 0 {
			return nil, mixedf("joins by %s, which is not understood", name)
		}
		right[0].fields[r].twice = true
		out = append(out, equality{l, right[0].fields[r].value})
	}
	return out, nil
}

// first returns the leftmost column of the name.
func first(tables []fromItem, name string) (value, bool) {
	for _, t := range tables {
		if i := slices.IndexFunc(t.fields, func(f field) bool { return f.name == name }); i >= 0 {
			return t.fields[i].value, true
		}
	}
	return value{}, false
}
