package source

import (
	"fmt"
	"maps"
	"slices"

	"dpsql/query"
)

// unitwise refuses a relation if one of its rows, with v in the column of the unit,
// could depend on private rows of a unit other than v.
//
// Each private table has one column that says whose its rows are. The rows of the
// relation with v there are a function of the public rows and of the private rows of v
// alone, and there are none if v has no private rows. So adding or removing a unit
// changes its own rows and leaves those of all others. A join may repeat rows any
// number of times: at most L rows of each unit are kept afterwards. The condition holds
//
//   - of a private table, for the column that was chosen; every use of the table must
//     choose the same one;
//   - of a join with public rows: the public rows decide what a row of v is joined with,
//     and whether a LEFT JOIN finds a match for it;
//   - of a join of two relations for which it holds, if the columns of the unit are equal
//     in every pair: a pair with v is made of rows of v, and a row of v without a match
//     on the right is one for which v has no matching row there. If the unit is a column
//     of the right side, rows without a match have NULL for it and are dropped;
//   - of rows that are grouped, made distinct, or seen through a window, if all rows
//     combined have the same v;
//   - of a compound, if it holds of every part.
//
// Equal means the same stored value, as it does for units: by BINARY, without an
// affinity that turns one value into another. This is an equivalence, so it is followed
// from column to column.
func (r *relation) unitwise(unit string) error {
	i := slices.IndexFunc(r.columns, func(f field) bool { return f.name == query.FoldName(unit) })
	if i < 0 {
		return mixedf("has no column %s that is understood", unit)
	}
	return units{}.check(r, r.columns[i].value)
}

// units maps each private table, folded, to the column that names its unit.
type units map[string]string

// choose records the column of a table. It refuses a second one.
func (u units) choose(table, column string) error {
	table = query.FoldName(table)
	if other, ok := u[table]; ok && other != column {
		return mixedf("takes the unit of %s from two expressions", table)
	}
	u[table] = column
	return nil
}

// check is unitwise for one value of the relation.
func (u units) check(r *relation, v value) error {
	if v.leaf != nil && v.leaf.private {
		return u.checkColumn(r, v, nil)
	}
	return u.checkExpr(r, v)
}

// checkExpr is check for an expression. The private row and the public rows that go
// with it, one of each table, must decide the value.
func (u units) checkExpr(r *relation, v value) error {
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

// checkColumn is check for a column of a private leaf. It considers only rows for which
// the given equalities hold.
func (u units) checkColumn(r *relation, v value, given []equality) error {
	if r.leaf != nil {
		return u.checkLeaf(r.leaf, v)
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
	if err := u.checkColumn(side, v, inSide); err != nil {
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
		if try.checkColumn(other, w, paired) == nil {
			maps.Copy(u, try)
			return nil
		}
	}
	return mixedf("joins %s, but not by = on the unit's column", other.privateTables()[0])
}

// checkLeaf is checkColumn for a relation of one leaf.
func (u units) checkLeaf(l *leaf, v value) error {
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
		if err := u.check(p.relation, w); err != nil {
			return err
		}
	}
	return nil
}

// equals returns the other columns that equal v wherever the equalities hold.
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
