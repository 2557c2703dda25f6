package rows

import (
	"context"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/source"
)

// Access says how the rows of a table are reached that count in some queries: all rows that count
// if none are given. It reads the schema alone. It is false if that is not known, and of a table
// without periods, which is read whole.
func (r *Reader) Access(ctx context.Context, t *view.Table, queries ...query.Query) (a source.Access, ok bool) {
	if r.never != nil || !t.HasPeriods() {
		return a, false
	}
	look := func(from source.Checker) (err error) {
		a, err = from.Access(ctx, t.Rows().For(queries...))
		return err
	}
	var err error
	if t.Outside != nil {
		err = r.Look(ctx, t.Outside, look)
	} else {
		err = r.store.Read(ctx, func(tx *catalog.Tx) error { return look(source.Schemas(tx.SQL())) })
	}
	return a, err == nil
}

// Reached says it for people. The rows are those of some periods, which a text names.
func Reached(a source.Access, periods string) string {
	switch {
	case a.By != "":
		return a.By
	case a.Hint != "":
		return "whole table; " + a.Hint + " would let it read " + periods + " alone"
	}
	return "whole table"
}
