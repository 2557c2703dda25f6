package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"dpsql/engine"
)

// writeParquet writes the rows of a result as a Parquet file, with columns of integers,
// floats and texts that may be NULL. Like CSV it has all that a list has, and no margins but
// those in the rows. A name that another column has gets a number, as in "n:1".
func writeParquet(w io.Writer, r *engine.Result) error {
	group := make(parquet.Group, len(r.Columns))
	names := make([]string, len(r.Columns))
	kinds := make([]kind, len(r.Columns))
	taken := make(map[string]bool)
	for i, c := range r.Columns {
		names[i] = c.Name
		for n := 1; taken[strings.ToLower(names[i])]; n++ {
			names[i] = fmt.Sprintf("%s:%d", c.Name, n)
		}
		taken[strings.ToLower(names[i])] = true
		kinds[i] = kindOf(r, i)
		group[names[i]] = parquet.Optional(kinds[i].node())
	}
	out := parquet.NewWriter(w, parquet.NewSchema("result", ordered{group, names}))
	for _, row := range r.Rows {
		values := make(parquet.Row, len(row))
		for i, v := range row {
			values[i] = kinds[i].value(v, i)
		}
		if _, err := out.WriteRows([]parquet.Row{values}); err != nil {
			return err
		}
	}
	return out.Close()
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

// kind is the type of a column in a file.
type kind byte

const (
	integers kind = iota
	floats
	texts
)

// kindOf returns the kind of a column that holds all of its values: a column of SQLite may
// have values of any type, whatever its own.
func kindOf(r *engine.Result, column int) kind {
	k := texts
	switch r.Columns[column].Type {
	case "INTEGER":
		k = integers
	case "REAL":
		k = floats
	}
	for _, row := range r.Rows {
		switch row[column].(type) {
		case nil, int64:
		case float64:
			k = max(k, floats)
		default:
			return texts
		}
	}
	return k
}

func (k kind) node() parquet.Node {
	switch k {
	case integers:
		return parquet.Int(64)
	case floats:
		return parquet.Leaf(parquet.DoubleType)
	}
	return parquet.String()
}

func (k kind) value(v any, column int) parquet.Value {
	if v == nil {
		return parquet.NullValue().Level(0, 0, column)
	}
	if n, ok := v.(int64); ok && k == floats {
		v = float64(n)
	} else if k == texts {
		v = CellText(v)
	}
	return parquet.ValueOf(v).Level(0, 1, column)
}
