package source

import (
	"context"
	"fmt"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Privacy. A row lies in one period by its own value of one column of its base table. A view
// that computed the column, or joined it from another table, would give the row to another
// period, and its budget with it. A view that mixes rows, those of one unit among them, would
// let January's rows change February's answers. So the tables that lie in periods are base
// tables, and views that show some of the rows of one base table, each once, with the columns
// of the period and of the unit as they are.

// NoPeriods returns the refusal of a source whose rows do not lie in periods. All readers use
// its words. why is the predicate of a sentence whose subject is the source.
func NoPeriods(source, why string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Invalid, "the rows of %s cannot lie in periods: it %s", source, why).
		WithHint("declare a base table, or a view of some rows of one, with the columns of the period and of the unit as they are")
}

// MixesPeriods returns the refusal of a view of which one row of a table may bring about several
// rows, or change others. what is as in Mixes.
func MixesPeriods(source, what string) *sqlerr.Error {
	return Mixes(source, "", what).
		WithHint("with periods a view takes columns and conditions of one private table, also where it has a unit; in the file it may join public tables by = on a key")
}

// Plain is a declared column, and the column of the base table that it is said to be.
type Plain struct{ Declared, Base string }

// PlainColumns returns the declared columns that must be columns of the base table as they are:
// that of the period first, then the unit's, if there is one. The table must have a Period.
func (t Table) PlainColumns() []Plain {
	out := []Plain{{Declared: t.Columns[t.Period.Column].Name}}
	if t.Unit != "" {
		out = append(out, Plain{Declared: t.Unit})
	}
	return out
}

// PeriodColumn checks what readers found for PlainColumns: the columns, in the spelling of the
// base table, among all of its columns that hold what was stored. A name is "" where a view
// computes the column. It returns the period's. Errors: Invalid.
//
// The account knows both columns by name, so no two columns of the table may share one. A unit
// of the same name that was another column would divide the rows differently.
func (t Table) PeriodColumn(found []Plain, stored []string) (string, error) {
	for _, c := range found {
		alike := 0
		for _, name := range stored {
			if query.SameName(name, c.Base) {
				alike++
			}
		}
		switch {
		case c.Base == "":
			return "", NoPeriods(t.Source, "computes "+c.Declared)
		case !slices.Contains(stored, c.Base):
			return "", NoPeriods(t.Source, "has in "+c.Declared+" a column that is generated")
		case alike > 1:
			return "", NoPeriods(t.Source, "has several columns named "+c.Base)
		}
	}
	if len(found) > 1 && !query.SameName(found[1].Base, t.Unit) {
		return "", NoPeriods(t.Source, fmt.Sprintf("calls the column %s of its base table %s, and the unit belongs to the budget by its name there", found[1].Base, t.Unit))
	}
	return found[0].Base, nil
}

// periodColumn returns the column of the base table that says in which period the rows of a
// source lie. v is the resolved view, or nil if the source is a table.
func (s sqlite) periodColumn(ctx context.Context, t Table, name string, v *relation) (string, error) {
	base, found := name, t.PlainColumns()
	for i := range found {
		found[i].Base = found[i].Declared
	}
	if v != nil {
		if tables := v.privateTables(); len(tables) != 1 {
			return "", NoPeriods(t.Source, "reads "+manyNames(v))
		}
		base = v.privateTables()[0]
		for i, c := range found {
			found[i].Base = v.stored(c.Declared)
		}
	}
	stored, err := texts(ctx, s.q, base, `SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0 ORDER BY cid`, base)
	if err != nil {
		return "", err
	}
	for i, c := range found { // as the schema spells it
		if at := slices.IndexFunc(stored, func(name string) bool { return query.SameName(name, c.Base) }); at >= 0 {
			found[i].Base = stored[at]
		}
	}
	return t.PeriodColumn(found, stored)
}

// stored returns the column of the private table that a column of the relation is, folded, or
// "" if it is none. The relation must be row by row.
func (r *relation) stored(column string) string {
	i := slices.IndexFunc(r.columns, func(f field) bool { return f.name == query.FoldName(column) })
	if i < 0 {
		return ""
	}
	return storedIn(r.columns[i].value)
}

// storedIn is stored for a value. In a UNION ALL one part has the private rows.
func storedIn(v value) string {
	switch {
	case v.leaf == nil || !v.leaf.private:
		return ""
	case v.leaf.table != "":
		return v.column
	}
	var i int
	if _, err := fmt.Sscan(v.column, &i); err != nil {
		return ""
	}
	for _, p := range v.leaf.parts {
		if p.relation.private != 0 && i < len(p.columns) {
			return storedIn(p.columns[i].value)
		}
	}
	return ""
}
