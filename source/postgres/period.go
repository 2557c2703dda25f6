package postgres

import (
	"context"
	"math"
	"slices"
	"strconv"

	"dpsql/calendar"
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

const accessText = `SELECT 'partitions', c.relname::text FROM pg_partitioned_table AS p JOIN pg_class AS c ON c.oid = p.partrelid
		JOIN pg_attribute AS a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
	WHERE p.partrelid = $1::oid AND p.partstrat IN ('r', 'l') AND a.attname = $2
	UNION ALL SELECT 'index', c.relname::text FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS m ON m.oid = c.relam
		JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
	WHERE i.indrelid = $1::oid AND i.indisvalid AND i.indpred IS NULL AND m.amname IN ('btree', 'brin') AND a.attname = $2
		AND ($3 = '' OR i.indcollation[0] = (SELECT oid FROM pg_collation WHERE collname = 'C' AND collnamespace = 'pg_catalog'::regnamespace))
	ORDER BY 1 DESC, 2`

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
		if err != nil || rel.kind != 'r' && rel.kind != 'p' {
			return err
		}
		bytewise := ""
		if part.Form.IsTime() && part.Form.Stored() == query.StoredISO && (a.typ == "text" || a.typ == "varchar") {
			bytewise = ` COLLATE "C"`
		}
		err = r.rows(ctx, statement{accessText, texts(rel.number(), a.name, bytewise), "dpsql_access"}, func(row [][]byte) bool {
			if what, name := string(row[0]), string(row[1]); out.By == "" && what == "index" {
				out.By = "index " + name
			} else if out.By == "" {
				out.By = "partitions of " + name
			}
			return true
		})
		if err == nil && out.By == "" && (a.typ != "text" && a.typ != "varchar" || bytewise != "" || part.Domain.Type() == query.TypeText) {
			out.Hint = "CREATE INDEX ON " + query.Quoted(rel.schema) + "." + query.Quoted(rel.name) + " (" + query.Quoted(a.name) + bytewise + ")"
		}
		return err
	})
	return out, err
}
