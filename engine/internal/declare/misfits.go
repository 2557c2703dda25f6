package declare

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/source"
)

// anyColumn stands in a text for a column's name.
const anyColumn = "\x00"

// together joins the notes that say the same of several columns: five REAL columns have one warning. A note is a
// column's name, is declared or is of type, and more, see source.Misfits.
func together(notes []string) (joined []string) {
	var all []string // what is said
	of := make(map[string][]string)
	for _, note := range notes {
		name, said, ok := strings.Cut(note, " is ")
		if !ok {
			joined = append(joined, note)
			continue
		}
		said = strings.ReplaceAll(said, query.Quoted(name), anyColumn)
		if of[said] == nil {
			all = append(all, said)
		}
		of[said] = append(of[said], name)
	}
	for _, said := range all {
		joined = append(joined, saying(of[said], said))
	}
	return joined
}

// saying returns a note of some columns. A condition on one becomes one on each.
func saying(columns []string, said string) string {
	last := len(columns) - 1
	who := columns[last] + " is "
	if last > 0 {
		who = strings.Join(columns[:last], ", ") + " and " + columns[last] + " are "
		said = strings.ReplaceAll(said, "rows where it ", "rows where one of them ")
	}
	before, after, _ := strings.Cut(said, " WHERE ")
	condition, after, ok := strings.Cut(after, " tells ")
	if !ok {
		return who + strings.ReplaceAll(said, anyColumn, query.Quoted(columns[0]))
	}
	each := make([]string, len(columns))
	for i, name := range columns {
		each[i] = strings.ReplaceAll(condition, anyColumn, query.Quoted(name))
	}
	return who + before + " WHERE " + strings.Join(each, " OR ") + " tells " + after
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
