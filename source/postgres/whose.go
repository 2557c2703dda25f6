package postgres

import (
	"context"
	"strings"

	"dpsql/source"
)

func originsOf(v view, known catalog) *origins {
	return &origins{queries: v.queries, kinds: v.kinds, equals: func(operator string) bool {
		name := known.operators[operator]
		return total.MatchString(name) && strings.Contains(name, "eq(")
	}}
}

// whose refuses a view of which it cannot be told that a row of a table, or with
// a unit a unit, changes no more of it than is charged for (origins).
func (r *reader) whose(ctx context.Context, rel *relation, t source.Table, v view, known catalog) error {
	o := originsOf(v, known)
	_, root, what := o.relation(nil, rel.number())
	if root == nil && what == "" {
		return nil // a table
	}
	if what == "" {
		what = o.rowByRow(root)
	}
	if what == "" {
		return nil
	}
	if t.Unit == "" {
		return source.Mixes(t.Source, "", "has "+what).
			WithHint("without a unit a view takes columns and conditions of one table; with WITH (…, unit = …, max_rows = …) it may join and group by the unit's column")
	}
	number, err := rel.columnNumber(t.Unit, t.Source)
	if err != nil {
		return err
	}
	if _, what = o.unitByUnit(root, number); what == "" {
		what, err = r.oneUnitEach(ctx, o.units)
	}
	if err != nil || what == "" {
		return err
	}
	return source.Mixes(t.Source, t.Unit, "has "+what).
		WithHint("join its tables by = on their columns of the unit, and group by the unit, too")
}

// unitsText names the columns of tables, and what has the same rows as others: a
// partition has those of its partitioned table, by columns of the same names. Of
// tables that inherit, and of foreign ones, it is not told apart.
const unitsText = `SELECT a.attrelid::text, a.attnum::text, a.attname::text,
		CASE WHEN c.relkind = 'f' OR EXISTS (SELECT FROM pg_partition_tree(pg_partition_root(c.oid)) AS p JOIN pg_class AS l ON l.oid = p.relid WHERE l.relkind = 'f')
			THEN '' WHEN NOT EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)) THEN c.oid::text
			ELSE coalesce(pg_partition_root(c.oid)::oid::text, '') END
	FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0`

// oneUnitEach refuses several columns as the unit of the same rows.
func (r *reader) oneUnitEach(ctx context.Context, units []unitColumn) (what string, err error) {
	wanted, oids := make(map[unitColumn]bool), []string(nil)
	for _, u := range units {
		wanted[u] = true
		oids = append(oids, u.table)
	}
	switch {
	case wanted[unitColumn{}] && len(units) > 1:
		return noColumn, nil
	case len(wanted) < 2:
		return "", nil
	}
	chosen := make(map[string]string)
	err = r.rows(ctx, statement{unitsText, texts(array(numbered(oids))), "dpsql_units"}, func(row [][]byte) bool {
		rows, column := string(row[3]), string(row[2])
		if !wanted[unitColumn{string(row[0]), string(row[1])}] {
			return true
		}
		if other, ok := chosen[rows]; ok && other != column {
			what = "two columns as the unit of the same rows, " + min(column, other) + " and " + max(column, other)
		}
		chosen[rows] = column
		return true
	})
	return what, err
}
