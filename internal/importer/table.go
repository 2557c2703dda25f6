package importer

import (
	"context"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// columnsOf returns the columns of a table that can be inserted into, or nil if there
// is no such table. It refuses any other kind of object of that name.
func columnsOf(ctx context.Context, db DB, table string) ([]Column, error) {
	found, err := db.QueryContext(ctx, `SELECT l.type, x.name, x.type
		FROM pragma_table_list AS l LEFT JOIN pragma_table_xinfo(l.name, 'main') AS x ON x.hidden = 0
		WHERE l.schema = 'main' AND l.name = ? COLLATE NOCASE ORDER BY x.cid`, table)
	if err != nil {
		return nil, failure(ctx, err, table)
	}
	defer found.Close()
	var columns []Column
	for found.Next() {
		var kind string
		var name, typ *string
		if err := found.Scan(&kind, &name, &typ); err != nil {
			return nil, failure(ctx, err, table)
		}
		if kind != "table" || name == nil {
			return nil, sqlerr.New(sqlerr.Invalid, "%s is not an ordinary table", table)
		}
		columns = append(columns, Column{*name, *typ})
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, table)
	}
	return columns, nil
}

func create(ctx context.Context, db DB, table string, columns []Column) error {
	defs := make([]string, len(columns))
	for i, c := range columns {
		defs[i] = query.Quoted(c.Name) + " " + c.Type
	}
	_, err := db.ExecContext(ctx, "CREATE TABLE main."+query.Quoted(table)+" ("+strings.Join(defs, ", ")+")")
	if err != nil {
		return failure(ctx, err, table)
	}
	return nil
}

// matched returns the columns of a file in the file's order, with types that fit the
// columns of the table. Both must have the same names.
func matched(table string, names []string, kinds []seen, existing []Column) ([]Column, error) {
	types := make(map[string]string)
	for _, c := range existing {
		types[folded(c.Name)] = c.Type
	}
	out := make([]Column, len(names))
	for i, name := range names {
		declared, ok := types[folded(name)]
		if !ok {
			return nil, sqlerr.New(sqlerr.Invalid, "table %s has no column %s", table, name)
		}
		typ, ok := kinds[i].fitting(declared)
		if !ok {
			return nil, sqlerr.New(sqlerr.Invalid, "column %s is %s in table %s, and not all of the file's fields are", name, declared, table)
		}
		out[i] = Column{name, typ}
	}
	if len(names) < len(existing) {
		return nil, sqlerr.New(sqlerr.Invalid, "table %s has columns that the file does not have", table)
	}
	return out, nil
}
