package engine

import (
	"context"

	"dpsql/catalog"
	"dpsql/source"
)

// heldKey is under what a context has the reader of a table outside the file.
type heldKey struct{ table int64 }

// readerOf returns the reader that onSnapshot put into the context, nil if it did not.
func readerOf(ctx context.Context, t *table) source.Reader {
	from, _ := ctx.Value(heldKey{t.ID}).(source.Reader)
	return from
}

// onSnapshot calls do while one snapshot of the server that has the table's rows
// is open: what reads the table under do's context reads there. The table was
// found to be what was declared, on that snapshot. So what is charged within do
// is not charged for a server that is away, or for a table that changed. One
// goroutine may use the context. A table of the file needs none of this: it is
// checked in the transaction that charges, and again where it is read.
func (db *DB) onSnapshot(ctx context.Context, t *table, do func(context.Context) error) error {
	if t.outside == nil || readerOf(ctx, t) != nil {
		return do(ctx)
	}
	pool, err := db.pools.get(t.outside)
	if err != nil {
		return err
	}
	return pool.Snapshot(ctx, func(from source.Reader) error {
		schema, err := sameSchema(ctx, from, t, nil)
		if err != nil {
			return err
		}
		if err := db.store.Read(ctx, func(tx *catalog.Tx) error { return covered(tx, t, schema.Bases, schema.Others()...) }); err != nil {
			return err
		}
		return do(context.WithValue(ctx, heldKey{t.ID}, from))
	})
}
