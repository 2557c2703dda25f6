package engine

import (
	"context"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/source"
)

// snapshot is one state of a table's rows that a statement charges for and then
// reads. Charge and reading belong to the same snapshot, so that nothing is
// charged for rows that cannot be reached or that are no longer what was declared.
// It is for one goroutine.
type snapshot struct {
	db      *DB
	table   *view.Table
	outside source.Reader // of rows outside the file, already checked; nil for the file
}

// onSnapshot calls do with a snapshot of the table's rows. For a table outside the
// file one transaction of its server is open meanwhile, and its schema has been
// checked there. A table of the file is checked by unchanged, in the transaction
// that charges, and again in each one that reads.
func (db *DB) onSnapshot(ctx context.Context, t *view.Table, do func(*snapshot) error) error {
	if err := db.rehearsal.errNotRead(); err != nil {
		return err
	}
	if t.Outside == nil {
		return do(&snapshot{db: db, table: t})
	}
	pool, err := db.pools.get(t.Outside)
	if err != nil {
		return err
	}
	return pool.Snapshot(ctx, func(from source.Reader) error {
		schema, err := schemas.SameSchema(ctx, from, t, nil)
		if err != nil {
			return err
		}
		if err := db.store.Read(ctx, func(tx *catalog.Tx) error { return schemas.Covered(tx, t, schema.Bases, schema.Others()...) }); err != nil {
			return err
		}
		return do(&snapshot{db, t, from})
	})
}

// unchanged refuses a table whose source is no longer what was declared. It is
// asked in every transaction that charges.
func (s *snapshot) unchanged(ctx context.Context, tx *catalog.Tx) error {
	if s.outside != nil {
		return nil // onSnapshot has looked
	}
	return schemas.Unchanged(ctx, tx, s.table)
}

// read calls f with the reader of the table's database. The caller has charged for
// what it will say of the rows.
func (s *snapshot) read(ctx context.Context, f func(source.Reader) error) error {
	if s.outside != nil {
		return f(s.outside)
	}
	return s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		if err := schemas.Unchanged(ctx, tx, s.table); err != nil {
			return err
		}
		return f(source.SQLite(tx.SQL()))
	})
}

// countRows has the database find the true count of a query.
func (s *snapshot) countRows(ctx context.Context, q query.Query) (n int64, err error) {
	err = s.read(ctx, func(from source.Reader) error {
		n, err = from.Count(ctx, s.table.Rows(), q)
		return err
	})
	return n, err
}

// cells counts the rows by the cells over some columns, nil being all, unless more
// than most are occupied. Progress is told of the parts that were read; it may be
// nil.
func (s *snapshot) cells(ctx context.Context, columns []int, coder query.Coder, most int, progress func(done, all int)) (h *source.Histogram, err error) {
	if columns == nil {
		columns = view.AllColumns(s.table)
	}
	err = s.read(ctx, func(from source.Reader) error {
		rows := s.table.Rows()
		rows.Progress = progress
		h, err = from.Cells(ctx, rows, columns, coder, most)
		return err
	})
	return h, err
}

// count returns the true count of a query, which over the columns is narrow: from
// memory if the cells are there and current, else from the database. Both are
// the count on one snapshot that is no older than the call.
func (s *snapshot) count(ctx context.Context, q query.Query, columns []int, narrow query.Query) (int64, error) {
	if s.outside != nil {
		return s.countRows(ctx, q)
	}
	h, err := s.currentCells(ctx, columns, narrow)
	if err != nil {
		return 0, err
	}
	if h != nil {
		if n, ok := h.Count(narrow); ok {
			return n, nil
		}
	}
	start := time.Now()
	n, err := s.countRows(ctx, q)
	s.db.cellCache.noteWork(keyOfCells(s.table, columns), time.Since(start))
	return n, err
}
