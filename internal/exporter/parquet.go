package exporter

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// NewParquet returns a writer of a Parquet file, with columns of integers, floats and texts that
// may be NULL.
func NewParquet(w io.Writer, columns []Column) (Writer, error) {
	columns = Distinct(columns)
	names := make([]string, len(columns))
	group := make(parquet.Group, len(columns))
	for i, c := range columns {
		names[i] = c.Name
		group[c.Name] = parquet.Optional(c.Kind.node())
	}
	return &table{Writer: parquet.NewWriter(w, parquet.NewSchema("result", ordered{group, names})), columns: columns}, nil
}

// rowGroup is the number of rows that are in memory together.
const rowGroup = 1 << 17

type table struct {
	*parquet.Writer
	columns []Column
	rows    int
}

// Write implements Writer.
func (t *table) Write(row []any) error {
	values := make(parquet.Row, len(row))
	for i, v := range row {
		values[i] = t.columns[i].Kind.value(v, i)
	}
	if _, err := t.WriteRows([]parquet.Row{values}); err != nil {
		return err
	}
	if t.rows++; t.rows%rowGroup == 0 {
		return t.Flush()
	}
	return nil
}

// ordered is a group whose fields have an order of their own. That of parquet.Group is by
// name.
type ordered struct {
	parquet.Group
	names []string
}

func (o ordered) Fields() []parquet.Field {
	fields := o.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(o.names, a.Name()) - slices.Index(o.names, b.Name())
	})
	return fields
}

func (k Kind) node() parquet.Node {
	switch k {
	case Integers:
		return parquet.Int(64)
	case Floats:
		return parquet.Leaf(parquet.DoubleType)
	}
	return parquet.String()
}

func (k Kind) value(v any, column int) parquet.Value {
	if v == nil {
		return parquet.NullValue().Level(0, 0, column)
	}
	if n, ok := v.(int64); ok && k == Floats {
		v = float64(n)
	} else if k == Texts {
		v = Text(v)
	}
	return parquet.ValueOf(v).Level(0, 1, column)
}
