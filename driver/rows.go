package driver

import (
	"database/sql/driver"
	"io"
	"reflect"
	"strings"

	"dpsql/engine"
)

// rows are the rows of a result. The result is complete before the first row is
// read.
type rows struct {
	result *engine.Result
	next   int
}

var (
	_ driver.RowsColumnTypeDatabaseTypeName = (*rows)(nil)
	_ driver.RowsColumnTypeScanType         = (*rows)(nil)
	_ driver.RowsColumnTypeNullable         = (*rows)(nil)
)

func (r *rows) Columns() []string {
	names := make([]string, len(r.result.Columns))
	for i, c := range r.result.Columns {
		names[i] = c.Name
	}
	return names
}

func (r *rows) Close() error { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if r.next == len(r.result.Rows) {
		return io.EOF
	}
	for i, v := range r.result.Rows[r.next] {
		dest[i] = v
	}
	r.next++
	return nil
}

// ColumnTypeDatabaseTypeName returns INT8, FLOAT8, NUMERIC, TEXT, BOOL, DATE or TIMESTAMP.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	return strings.ToUpper(string(r.result.Columns[i].SQL))
}

// ColumnTypeScanType returns a Go type that the column's values can be scanned into. Dates and
// timestamps are texts.
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	switch r.result.Columns[i].SQL {
	case engine.Int8:
		return reflect.TypeFor[int64]()
	case engine.Float8, engine.Numeric:
		return reflect.TypeFor[float64]()
	case engine.Bool:
		return reflect.TypeFor[bool]()
	}
	return reflect.TypeFor[string]()
}

// ColumnTypeNullable reports whether a column can be NULL. Counts and sums cannot;
// margins, means, the values of groups, and columns of SHOW and EXPLAIN can.
func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	a := r.result.Answer
	return a == nil || i >= len(a.NotNull) || !a.NotNull[i], true
}
