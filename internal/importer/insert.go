package importer

import (
	"context"
	"database/sql"
	"io"
	"strconv"
	"strings"

	"dpsql/query"
)

// batchValues is the approximate number of values in one statement. It is far below
// SQLite's limit on variables. A larger number is not faster.
const batchValues = 1000

// batch collects rows until they fill a prepared statement.
type batch struct {
	db      DB
	table   string
	columns []Column
	full    *sql.Stmt
	rows    int // rows that fill the statement
	args    []any
	added   int64
}

// insert reads the file and adds its rows to the table.
func insert(ctx context.Context, db DB, f input, table string, columns []Column) (int64, error) {
	next, err := f.rows(columns)
	if err != nil {
		return 0, err
	}
	b := &batch{db: db, table: table, columns: columns, rows: max(1, batchValues/len(columns))}
	if b.full, err = db.PrepareContext(ctx, b.statement(b.rows)); err != nil {
		return 0, failure(ctx, err, table)
	}
	defer b.full.Close()
	for {
		row, err := next(ctx)
		if err == io.EOF {
			return b.added, b.rest(ctx)
		}
		if err != nil {
			return 0, err
		}
		if err := b.add(ctx, row); err != nil {
			return 0, err
		}
	}
}

// statement returns an INSERT of n rows.
func (b *batch) statement(n int) string {
	names := make([]string, len(b.columns))
	for i, c := range b.columns {
		names[i] = query.Quoted(c.Name)
	}
	row := "(" + strings.Repeat("?,", len(names)-1) + "?)"
	return "INSERT INTO main." + query.Quoted(b.table) + " (" + strings.Join(names, ", ") + ") VALUES " + strings.Repeat(row+",", n-1) + row
}

func (b *batch) add(ctx context.Context, row []any) error {
	b.args = append(b.args, row...)
	b.added++
	if len(b.args) < b.rows*len(b.columns) {
		return nil
	}
	_, err := b.full.ExecContext(ctx, b.args...)
	b.args = b.args[:0]
	if err != nil {
		return failure(ctx, err, b.table)
	}
	return nil
}

// rest inserts the last rows, which do not fill a batch.
func (b *batch) rest(ctx context.Context) error {
	if len(b.args) == 0 {
		return nil
	}
	_, err := b.db.ExecContext(ctx, b.statement(len(b.args)/len(b.columns)), b.args...)
	if err != nil {
		return failure(ctx, err, b.table)
	}
	return nil
}

// value returns a field as a column of the type stores it. detect has found that it
// fits.
func value(field, typ string) any {
	if typ == typeText {
		return field
	}
	number := strings.TrimSpace(field)
	switch {
	case number == "":
		return nil
	case typ == typeInteger:
		if n, ok := integer(number); ok {
			return n
		}
	default:
		if x, err := strconv.ParseFloat(number, 64); err == nil {
			return x
		}
	}
	return field // the file changed between the passes; the text loses nothing
}
