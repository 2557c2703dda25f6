package postgres

import (
	"context"

	"dpsql/source"
)

// plainText lists the columns of a table by number and name, and whether they hold what was
// stored: in the table, its partitions and the tables that inherit from it.
const plainText = `WITH RECURSIVE parts(oid) AS (SELECT $1::oid UNION SELECT i.inhrelid FROM parts AS p JOIN pg_inherits AS i ON i.inhparent = p.oid)
	SELECT a.attnum::text, a.attname::text,
		NOT EXISTS (SELECT FROM parts AS p JOIN pg_attribute AS b ON b.attrelid = p.oid AND b.attname = a.attname AND b.attgenerated <> '')
	FROM pg_attribute AS a WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// periodColumn returns the column of the base table that says in which period the rows of a
// relation lie. places are as in schema, and bases the tables that it makes up.
//
// A foreign table can give the columns of another server's table other names, by which an
// account could not tell them apart.
func (r *reader) periodColumn(ctx context.Context, rel *relation, t source.Table, v view, known catalog, places, bases []string) (string, error) {
	for _, place := range places {
		if place != "0" {
			return "", source.NoPeriods(t.Source, "has rows on another server")
		}
	}
	if len(bases) != 1 {
		return "", source.NoPeriods(t.Source, "is not part of one table")
	}
	o, found := originsOf(v, known), t.PlainColumns()
	table, numbers := rel.number(), make([]string, len(found))
	for i, c := range found {
		a, err := rel.attribute(c.Declared, t.Source)
		if err != nil {
			return "", err
		}
		if v.queries[rel.number()] == nil { // a table
			found[i].Base = a.name
			continue
		}
		number, err := rel.columnNumber(c.Declared, t.Source)
		if err != nil {
			return "", err
		}
		if table, numbers[i] = o.plain(rel.number(), number); numbers[i] == "" {
			return "", source.NoPeriods(t.Source, "computes "+c.Declared)
		}
	}
	var stored []string
	err := r.rows(ctx, statement{plainText, texts(table), "dpsql_plain"}, func(row [][]byte) bool {
		for i, number := range numbers {
			if number == string(row[0]) {
				found[i].Base = string(row[1])
			}
		}
		if row[2][0] == 1 {
			stored = append(stored, string(row[1]))
		}
		return true
	})
	if err != nil {
		return "", err
	}
	return t.PeriodColumn(found, stored)
}

// plain follows a column of a view that is row by row down to the table. It returns the numbers
// of both, or "" if an expression stands between.
func (o *origins) plain(relation, column string) (table, number string) {
	table, s, what := o.relation(nil, relation)
	for ; s != nil && what == ""; table, s, what = o.next(s) {
		entry, _ := nth(s.query.list("targetList"), column).(*tree)
		from := s.query.node("jointree")
		if entry == nil || entry.atom("resno") != column || from == nil || len(from.list("fromlist")) != 1 {
			return "", ""
		}
		ref, _ := from.list("fromlist")[0].(*tree)
		n := entry.node("expr")
		if ref == nil || n == nil || n.kind != "VAR" || n.atom("varlevelsup") != "0" || n.atom("varno") != ref.atom("rtindex") {
			return "", ""
		}
		column = n.atom("varattno")
	}
	if table == "" || what != "" {
		return "", ""
	}
	return table, column
}

// next returns what the only member of FROM reads.
func (o *origins) next(s *scope) (table string, below *scope, what string) {
	return o.member(s, s.query.node("jointree").list("fromlist")[0])
}
