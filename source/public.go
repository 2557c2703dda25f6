package source

import (
	"context"
	"slices"
	"strings"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/source/definition"
	"dpsql/sqlerr"
)

// PublicColumn is a column of a public table or view, with how SQLite compares its values.
type PublicColumn struct {
	Name      string
	Affinity  string // INTEGER, REAL, TEXT, NUMERIC, or BLOB for none
	Collation string // of a table's column; BINARY for a view, whatever it reads
}

// Copy returns the columns and rows of a public table or view, with its values as SQLite
// stores them. It must not be called for other tables, since its errors depend on the rows.
// It returns an Unsupported error for more than limit rows. Values are int64, float64, string,
// []byte or nil.
func Copy(ctx context.Context, q Querier, table string, limit int) (columns []PublicColumn, rows [][]any, err error) {
	name, err := resolve(ctx, q, table)
	if err != nil {
		return nil, nil, err
	}
	if columns, err = publicColumns(ctx, q, name); err != nil {
		return nil, nil, err
	}
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = "+" + query.Quoted(c.Name) // an expression, so that the driver makes no date of a text
	}
	found, err := q.QueryContext(ctx, "SELECT "+strings.Join(list, ", ")+from(name))
	if err != nil {
		return nil, nil, failure(ctx, err, name)
	}
	defer found.Close()
	for found.Next() {
		if len(rows) == limit {
			return nil, nil, sqlerr.New(sqlerr.Unsupported, "%s has more than %d rows, too many to read", name, limit).
				WithHint("make a public view of the rows that matter")
		}
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, nil, failure(ctx, err, name)
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		return nil, nil, failure(ctx, err, name)
	}
	return columns, rows, nil
}

// publicColumns reads the columns from the schema.
func publicColumns(ctx context.Context, q Querier, name string) ([]PublicColumn, error) {
	created, err := texts(ctx, q, name, `SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ? AND sql IS NOT NULL`, name)
	if err != nil {
		return nil, err
	}
	var collations map[string]string
	if len(created) == 1 {
		collations, _ = definition.Collations(created[0], query.FoldName)
	}
	found, err := q.QueryContext(ctx, `SELECT name, type FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`, name)
	if err != nil {
		return nil, failure(ctx, err, name)
	}
	defer found.Close()
	var columns []PublicColumn
	for found.Next() {
		var column, declared string
		if err := found.Scan(&column, &declared); err != nil {
			return nil, failure(ctx, err, name)
		}
		c := PublicColumn{column, string(sqlvalue.AffinityOf(declared)), binaryCollation}
		if of, ok := collations[query.FoldName(column)]; ok {
			c.Collation = of
		}
		columns = append(columns, c)
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, name)
	}
	return columns, nil
}

// Values returns the distinct canonical values of one column of a public table,
// sorted, NULL first. They serve as the domain of a column. Values must not be called
// for other tables, since its errors depend on the rows. It returns an Invalid error
// for more than limit values, and for a value that is not of the type.
func Values(ctx context.Context, q Querier, table, column string, ty query.Type, limit int) ([]query.Value, error) {
	name, err := resolve(ctx, q, table)
	if err != nil {
		return nil, err
	}
	t := Table{Source: name, Columns: []query.Column{{Name: column}}}
	if err := haveColumns(ctx, q, t, name); err != nil {
		return nil, err
	}
	values, err := distinct(ctx, q, name, column, ty, limit)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(values, query.Value.Compare)
	return values, nil
}

func distinct(ctx context.Context, q Querier, table, column string, ty query.Type, limit int) ([]query.Value, error) {
	found, err := q.QueryContext(ctx, "SELECT DISTINCT ("+strings.ReplaceAll(canonicalOf(ty), "?", columnOf(column))+") COLLATE BINARY"+from(table))
	if err != nil {
		return nil, failure(ctx, err, table)
	}
	defer found.Close()
	values := []query.Value{}
	for found.Next() {
		var c cell
		if err := found.Scan(&c); err != nil {
			return nil, failure(ctx, err, table)
		}
		switch {
		case !c.ok:
			return nil, sqlerr.New(sqlerr.Invalid, "column %s of %s holds values that are not %s", column, table, ty)
		case len(values) == limit:
			return nil, sqlerr.New(sqlerr.Invalid, "column %s of %s has more than %d values", column, table, limit)
		}
		values = append(values, c.value)
	}
	if err := found.Err(); err != nil {
		return nil, failure(ctx, err, table)
	}
	return values, nil
}
