package driver

import (
	"database/sql/driver"
	"io"
	"reflect"

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

// ColumnTypeDatabaseTypeName returns INTEGER, REAL or TEXT.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string { return r.result.Columns[i].Type }

// ColumnTypeScanType returns the Go type of the column's values.
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	switch r.result.Columns[i].Type {
	case "INTEGER":
		return reflect.TypeFor[int64]()
	case "REAL":
		return reflect.TypeFor[float64]()
	}
	return reflect.TypeFor[string]()
}

// ColumnTypeNullable reports whether a column can be NULL. Counts and sums cannot;
// margins, means, the values of groups, and columns of SHOW and EXPLAIN can.
func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	a := r.result.Answer
	return a == nil || i >= len(a.NotNull) || !a.NotNull[i], true
}
