package postgres

import (
	"context"
	"math"
	"slices"
	"strconv"

	"dpsql/internal/calendar"
	"dpsql/query"
	"dpsql/source"
)

// partOf narrows rows to those of the periods that are read, by a condition on the stored value
// that is true of every row that counts. The server can use an index for it, and leave partitions
// out. For that partitions are read through their table: a statement over one partition alone
// reads all of it.
func partOf(rel *relation, t source.Table, rows rowset) rowset {
	part, few := t.Few()
	if !few {
		return rows
	}
	a, err := rel.attribute(part.Name, t.Source)
	if err != nil {
		return rows // the column was found
	}
	w := writer{slices.Clip(rows.args)}
	condition, ok := w.stored(a, part)
	if c := rows.columns[t.Period.Column]; !ok {
		condition, ok = w.within(c, valuesOf(c.Domain, part.Domain))
	}
	if ok {
		rows.from, rows.few, rows.limit, rows.args = []string{rel.from()}, true, condition, w.args
	}
	return rows
}

// valuesOf returns the values of a part of a domain as a set.
func valuesOf(d, part query.Domain) query.Set {
	if !d.IsRange() {
		return d.SetOf(slices.Collect(part.All().Each())...)
	}
	lo, hi := part.Bounds()
	from, _ := d.Greater(query.Int(lo), true) // a range is ordered
	to, _ := d.Less(query.Int(hi), true)
	return from.Intersect(to)
}

// stored returns a condition on the stored value of a DATE or TIMESTAMP that is true wherever it
// stands for a value of the domain. It returns false for other columns.
func (w *writer) stored(a attribute, c query.Column) (string, bool) {
	if !c.Form.IsTime() || !c.Domain.IsRange() || c.Domain.HasNull() || c.Form.IsClamped() {
		return "", false
	}
	lo, hi := c.Domain.Bounds()
	first, last := lo*c.Form.Step(), (hi+1)*c.Form.Step()-1 // moments
	firstDay, lastDay := calendar.Format(calendar.DayOf(first)), calendar.Format(calendar.DayOf(last))
	text, stored := "r."+query.Quoted(a.name), c.Form.Stored()
	between := func(operator, typ, least, most string) (string, bool) {
		return text + " >= " + w.arg(least, typ) + " AND " + text + operator + w.arg(most, typ), true
	}
	whole := a.typ == "int2" || a.typ == "int4" || a.typ == "int8"
	const slack = 1 // second; rounding to milliseconds moves no value so far
	switch {
	case a.typ == "date":
		return between(" <= ", "date", firstDay, lastDay)
	case a.typ == "timestamp":
		return between(" <= ", "timestamp", calendar.FormatMoment(first), calendar.FormatMoment(last)+".999999")
	case a.typ == "timestamptz":
		return between(" <= ", "timestamptz", calendar.FormatMoment(first)+"+00", calendar.FormatMoment(last)+".999999+00")
	case stored == query.StoredISO: // a time follows a blank or T, and all characters are below ~
		text = "(" + text + `) COLLATE "C"`
		return between(" <= ", "text", firstDay, lastDay+"~")
	case stored == query.StoredUnix && whole:
		return between(" <= ", "int8", strconv.FormatInt(first, 10), strconv.FormatInt(last, 10))
	case stored == query.StoredUnix:
		return between(" < ", "float8", formatReal(float64(first)), formatReal(float64(last+1)))
	case whole:
		return between(" <= ", "int8", strconv.FormatInt(int64(math.Floor(julianDay(first-slack))), 10), strconv.FormatInt(int64(math.Ceil(julianDay(last+slack))), 10))
	}
	return between(" < ", "float8", formatReal(julianDay(first-slack)), formatReal(julianDay(last+1+slack)))
}

func julianDay(moment int64) float64 { return float64(moment)/86_400 + 2440587.5 }

// accessText finds the tables that a relation reads, and what finds rows by a column of theirs. Of
// a view they are those that it and the views below depend on.
const accessText = `WITH RECURSIVE seen(oid) AS (SELECT $1::oid UNION SELECT d.refobjid FROM seen AS v JOIN pg_rewrite AS w ON w.ev_class = v.oid
			JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid),
		base AS (SELECT c.oid, c.relname::text AS name, n.nspname::text AS nspname, a.attnum FROM seen AS s JOIN pg_class AS c ON c.oid = s.oid AND c.relkind IN ('r', 'p')
			JOIN pg_namespace AS n ON n.oid = c.relnamespace LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $2)
	SELECT 'table', nspname, name FROM base
	UNION ALL SELECT 'partitions of ', '', b.name FROM base AS b JOIN pg_partitioned_table AS p ON p.partrelid = b.oid
	WHERE p.partstrat IN ('r', 'l') AND p.partattrs[0] = b.attnum
	UNION ALL SELECT 'index ', '', c.relname::text FROM base AS b JOIN pg_index AS i ON i.indrelid = b.oid JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS m ON m.oid = c.relam
	WHERE i.indisvalid AND i.indpred IS NULL AND m.amname IN ('btree', 'brin') AND i.indkey[0] = b.attnum
		AND ($3 = '' OR i.indcollation[0] = (SELECT oid FROM pg_collation WHERE collname = 'C' AND collnamespace = 'pg_catalog'::regnamespace))
	ORDER BY 1 DESC, 3`

// Access implements source.Checker. Whether the server uses an index is for it to say, by what
// ANALYZE has found.
func (r *reader) Access(ctx context.Context, t source.Table) (source.Access, error) {
	part, few := t.Few()
	if !few {
		return source.Access{}, nil
	}
	var out source.Access
	err := r.read(ctx, t, func(rel *relation) error {
		out = source.Access{}
		a, err := rel.attribute(part.Name, t.Source)
		if err != nil {
			return err
		}
		column, bytewise, text := a.name, "", a.typ == "text" || a.typ == "varchar"
		if rel.kind == 'v' {
			column = t.Period.Partition.Column
		}
		if text && part.Form.IsTime() && part.Form.Stored() == query.StoredISO {
			bytewise = ` COLLATE "C"`
		}
		var tables []string
		err = r.rows(ctx, statement{accessText, texts(rel.number(), column, bytewise), "dpsql_access"}, func(row [][]byte) bool {
			if what, schema, name := string(row[0]), string(row[1]), string(row[2]); what == "table" {
				tables = append(tables, query.Quoted(schema)+"."+query.Quoted(name))
			} else if out.By == "" {
				out.By = what + name
			}
			return true
		})
		switch {
		case err != nil:
		case len(tables) != 1: // with periods there is one
			out = source.Access{}
		case out.By == "" && (!text || bytewise != "" || part.Domain.Type() == query.TypeText):
			out.Hint = "CREATE INDEX ON " + tables[0] + " (" + query.Quoted(column) + bytewise + ")"
		}
		return err
	})
	return out, err
}
