package declare

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/source"
)

// misfit is what is to be said of some columns of one source.
type misfit struct {
	columns []string
	is      string // the type, and where
	why     string // with anyColumn in place of its name
}

// anyColumn stands in a text for a column's name.
const anyColumn = "\x00"

// together joins the notes that say the same of several columns: five REAL columns have one warning. A note is a
// column's name, is declared or is of type, and more, see source.Misfits.
func together(notes []string) (joined []string) {
	var all []misfit
	for _, note := range notes {
		name, is, ok := strings.Cut(note, " is ")
		is, why, found := strings.Cut(is, ": ")
		why = strings.ReplaceAll(why, query.Quoted(name), anyColumn)
		i := slices.IndexFunc(all, func(m misfit) bool { return m.is == is && m.why == why })
		switch {
		case !ok || !found:
			joined = append(joined, note)
		case i < 0:
			all = append(all, misfit{[]string{name}, is, why})
		default:
			all[i].columns = append(all[i].columns, name)
		}
	}
	for _, m := range all {
		joined = append(joined, m.String())
	}
	return joined
}

// String returns the note. A condition about one column becomes one about each.
func (m misfit) String() string {
	last := len(m.columns) - 1
	if last == 0 {
		return m.columns[0] + " is " + m.is + ": " + strings.ReplaceAll(m.why, anyColumn, query.Quoted(m.columns[0]))
	}
	why := strings.ReplaceAll(m.why, "rows where it ", "rows where one of them ")
	if before, rest, ok := strings.Cut(why, " WHERE "); ok {
		condition, after, _ := strings.Cut(rest, " tells ")
		each := make([]string, len(m.columns))
		for i, name := range m.columns {
			each[i] = strings.ReplaceAll(condition, anyColumn, query.Quoted(name))
		}
		why = before + " WHERE " + strings.Join(each, " OR ") + " tells " + after
	}
	return strings.Join(m.columns[:last], ", ") + " and " + m.columns[last] + " are " + m.is + ": " + why
}

// misfits returns what source.Misfits does, but of a column that can have none of the texts that its declaration lists,
// this alone: in a STRICT table it holds numbers, and the texts are none.
func misfits(ctx context.Context, q source.Querier, t source.Table) ([]string, error) {
	notes, err := source.Misfits(ctx, q, t)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, `SELECT x.name, x.type FROM pragma_table_list AS l, pragma_table_xinfo(l.name, 'main') AS x
		WHERE l.schema = 'main' AND l.strict AND l.name = ? COLLATE NOCASE AND x.type IN ('INT', 'INTEGER', 'REAL') COLLATE NOCASE`, t.Source)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return nil, err
		}
		for _, c := range t.Columns {
			if query.SameName(c.Name, name) && c.Domain.Type() == query.TypeText && wordsAlone(c) {
				is := c.Name + " is declared " + kind + " in " + t.Source + ": "
				notes = slices.DeleteFunc(notes, func(n string) bool { return strings.HasPrefix(n, is) })
				notes = append(notes, is+"numbers alone are stored there, and none is one of the texts declared: they match no row")
			}
		}
	}
	return together(notes), rows.Err()
}

// wordsAlone reports whether a column of texts lists them, and none is a number.
func wordsAlone(c query.Column) bool {
	if !c.Domain.Finite() || c.Form.HasOther() {
		return false
	}
	for v := range c.Domain.NotNull().Each() {
		if _, err := strconv.ParseFloat(v.Str(), 64); err == nil {
			return false
		}
	}
	return true
}
