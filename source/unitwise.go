package source

import (
	"fmt"
	"maps"
	"slices"

	"dpsql/query"
)

// unitwise refuses a relation with private rows of which a row, with v in the
// column of the unit, could depend on private rows of another unit than v.
//
// Each private table has one column that says whose its rows are. The rows of the
// relation with v there are a function of the public rows and of the private rows
// of v alone, and there are none where these are none. So one unit that comes or
// goes takes its own rows with it and leaves those of all others, however often
// a join repeats them: of each unit at most L are kept afterwards, so that nothing
// need be known of how many there are. It holds
//
//   - of a private table, for the column that was chosen; every use of the table
//     must choose the same one;
//   - of a join with public rows: what a row of v is joined with, and whether a
//     LEFT JOIN finds a match for it, the public rows say;
//   - of a join of two relations for which it holds, if the columns of the unit
//     are equal in every pair: a pair with v is made of rows of v, and a row of v
//     without a match on the right is one for which v has none there. Where the unit
//     is a column of the right side, rows without a match have NULL for it, and
//     are dropped;
//   - of rows that are grouped, made distinct, or looked at through a window, if
//     all rows taken together have the same v;
//   - of a compound, if it holds of every part.
//
// Equal means the same stored value, as it does for units: by BINARY, without an
// affinity that turns one value into another. That is an equivalence, so that it
// is followed from column to column.
func (r *relation) unitwise(unit string) error {
	i := slices.IndexFunc(r.columns, func(f field) bool { return f.name == query.FoldName(unit) })
	if i < 0 {
		return mixedf("has no column %s that is understood", unit)
	}
	return units{}.of(r, r.columns[i].value)
}

// units says which column of each private table, folded, names the unit.
type units map[string]string

// choose notes the column of a table.
func (u units) choose(table, column string) error {
	table = query.FoldName(table)
	if other, ok := u[table]; ok && other != column {
		return mixedf("takes the unit of %s from two expressions", table)
	}
	u[table] = column
	return nil
}

// of is unitwise for a value of the relation.
func (u units) of(r *relation, v value) error {
	if v.leaf != nil && v.leaf.private {
		return u.keyed(r, v, nil)
	}
	return u.computed(r, v)
}

// computed is of for an expression: it must be decided by the one private row, and
// by public rows that go with it, one of each table.
func (u units) computed(r *relation, v value) error {
	from := r.privateLeaf()
	switch {
	case r.private.count() != 1:
		return mixedf("joins private rows, or none, and takes the unit from an expression")
	case from.table == "":
		return mixedf("takes the unit from an expression over groups or a compound")
	case r.nullable(from.bit), !r.reachedFrom(from).has(v.reads):
		return mixedf("takes the unit from more than the private row")
	}
	return u.choose(from.table, fmt.Sprintf("expression %d", from.bit))
}

// keyed reports what keeps the rows with v in a column from being those of v
// alone. Only rows for which the equalities hold are asked about.
func (u units) keyed(r *relation, v value, given []equality) error {
	if r.leaf != nil {
		return u.leaf(r.leaf, v)
	}
	given = append(r.all(), given...)
	paired := given
	if r.outer {
		paired = append(append(slices.Clone(given), r.on...), r.right.all()...)
	}
	side, other, inSide := r.left, r.right, given
	if r.right.leaves.has(v.leaf.bit) {
		side, other, inSide = r.right, r.left, paired
	}
	if err := u.keyed(side, v, inSide); err != nil {
		return err
	}
	if other.private == 0 {
		return nil
	}
	for _, w := range equals(v, paired) {
		if !other.private.has(w.leaf.bit) {
			continue
		}
		try := maps.Clone(u)
		if try.keyed(other, w, paired) == nil {
			maps.Copy(u, try)
			return nil
		}
	}
	return mixedf("joins %s, but not by = on the unit's column", other.privateTables()[0])
}

// leaf is keyed for a leaf.
func (u units) leaf(l *leaf, v value) error {
	switch {
	case !l.private:
		return mixedf("takes the unit from %s, which is public", l.name)
	case l.table != "":
		return u.choose(l.table, v.column)
	}
	for _, p := range l.parts {
		var i int
		if _, err := fmt.Sscan(v.column, &i); err != nil {
			return err
		}
		w := p.columns[i].value
		if p.relation.private == 0 {
			return mixedf("has rows of no unit in a compound")
		}
		for _, g := range p.groups {
			if g.by == nil {
				return mixed(g.what)
			}
			if !g.has(w) {
				return mixedf("%s, but not by the unit's column", g.what)
			}
		}
		if err := u.of(p.relation, w); err != nil {
			return err
		}
	}
	return nil
}

// equals returns the columns that equal one wherever the equalities hold, itself
// left out.
func equals(v value, given []equality) []value {
	found := []value{v}
	for i := 0; i < len(found); i++ {
		for _, e := range given {
			if !e.stored() {
				continue
			}
			for _, pair := range [][2]value{{e.left, e.right}, {e.right, e.left}} {
				if pair[0].same(found[i]) && !slices.ContainsFunc(found, pair[1].same) {
					found = append(found, pair[1])
				}
			}
		}
	}
	return found[1:]
}
