package source

import (
	"slices"

	"dpsql/query"
	"dpsql/source/definition"
)

// from resolves what a SELECT reads, and puts its names into the scope.
func (s *scope) from(f *definition.From) (*relation, error) {
	if f == nil { // one row, which nothing needs to find
		return s.leaf(&leaf{name: "a constant", keys: []key{{}}})
	}
	r, tables, err := s.join(f)
	s.tables = tables
	return r, err
}

// join resolves a table, a SELECT or a join, with the names in it.
func (s *scope) join(f *definition.From) (*relation, []named, error) {
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
	s.tables = tables // a condition names the tables of its join
	on, err := s.condition(f.On)
	s.tables = names
	r.on = append(r.on, on...)
	return r, tables, err
}

// beside notes that values computed in the right side of a LEFT JOIN are NULL
// where that has no row.
func (n named) beside(right leaves) {
	for i := range n.fields {
		if v := &n.fields[i].value; v.leaf == nil {
			v.reads |= right
		}
	}
}

// unary resolves a table or SELECT.
func (s *scope) unary(f *definition.From) (*relation, []named, error) {
	n := named{alias: query.FoldName(f.Alias)}
	r, rowid, err := s.relation(f)
	if err != nil {
		return nil, nil, err
	}
	n.fields, n.rowid = slices.Clone(r.columns), rowid
	return r, []named{n}, nil
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

// cte resolves one use of a common table expression. Within itself it is
// recursive, which is not understood.
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
func shared(f *definition.From, left, right []named) ([]equality, error) {
	names := f.Using
	if (f.Natural || names != nil) && len(right) != 1 {
		return nil, mixedf("joins several tables by USING or NATURAL")
	}
	if f.Natural && !known(append(slices.Clone(left), right...)) {
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
func first(tables []named, name string) (value, bool) {
	for _, t := range tables {
		if i := slices.IndexFunc(t.fields, func(f field) bool { return f.name == name }); i >= 0 {
			return t.fields[i].value, true
		}
	}
	return value{}, false
}
