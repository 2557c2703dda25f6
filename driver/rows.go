package driver

import (
	"database/sql/driver"
	"io"
	"reflect"
	"strings"
	"time"

	"dpsql/engine"
)

// rows are the rows of a result. The result is complete before the first row is
// read.
type rows struct {
	result *engine.Result
	texts  bool // dates and timestamps are texts
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
		if dest[i] = r.result.Columns[i].Value(v); r.times(i) {
			shown, _ := r.typeOf(i).ValueOf(v)
			if dest[i] = v; shown != nil {
				dest[i] = Time(shown)
			}
		}
	}
	r.next++
	return nil
}

// times reports whether a column has values of type time.Time.
func (r *rows) times(i int) bool {
	typ := r.typeOf(i)
	return !r.texts && (typ == engine.Date || typ == engine.Timestamp)
}

// typeOf returns the type of a column. Numbers of SHOW and EXPLAIN are numbers, as Column.Value returns them.
func (r *rows) typeOf(i int) engine.Type {
	c := r.result.Columns[i]
	switch {
	case c.SQL == engine.Text && c.Type == "INTEGER":
		return engine.Int8
	case c.SQL == engine.Text && c.Type == "REAL":
		return engine.Float8
	}
	return c.SQL
}

// Time returns the time.Time in UTC of the text of a date or timestamp. What is none stays as it is.
func Time(v any) any {
	text, _ := v.(string)
	for _, layout := range []string{time.DateOnly, time.DateTime} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	return v
}

// ColumnTypeDatabaseTypeName returns INT8, FLOAT8, NUMERIC, TEXT, BOOL, DATE, TIMESTAMP or TIME.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	return strings.ToUpper(string(r.typeOf(i)))
}

// ColumnTypeScanType returns a Go type that the column's values can be scanned into. A time of day is a string.
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	if r.times(i) {
		return reflect.TypeFor[time.Time]()
	}
	switch r.typeOf(i) {
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
