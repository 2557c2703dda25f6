package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"dpsql/catalog"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// reading reads private rows on one snapshot, after checking that the source is
// still what was declared. The caller has charged for what it will say of them.
func reading[T any](ctx context.Context, db *DB, t *table, read func(source.Reader) (T, error)) (T, error) {
	var out T
	err := db.snapshot(ctx, t, func(from source.Reader) error {
		var err error
		out, err = read(from)
		return err
	})
	return out, err
}

// snapshot calls read with the reader of the database that has the table's rows.
// What is checked before and what is read are on one snapshot there.
func (db *DB) snapshot(ctx context.Context, t *table, read func(source.Reader) error) error {
	if t.outside != nil {
		return db.onSnapshot(ctx, t, func(ctx context.Context) error { return read(readerOf(ctx, t)) })
	}
	return db.store.Read(ctx, func(tx *catalog.Tx) error {
		if err := db.unchanged(ctx, tx, t); err != nil {
			return err
		}
		return read(source.SQLite(tx.SQL()))
	})
}

// countRows lets the database find the true count of a request.
func (db *DB) countRows(ctx context.Context, r request) (int64, error) {
	return reading(ctx, db, r.table, func(from source.Reader) (int64, error) {
		return from.Count(ctx, r.table.rows(), r.query)
	})
}

// countAll returns the true counts of queries over one table, on one snapshot:
// of several from the cells over the columns that they name, read once, where
// these are not too many.
func (db *DB) countAll(ctx context.Context, t *table, queries []query.Query) ([]int64, error) {
	if len(queries) == 1 {
		n, err := db.count(ctx, request{table: t, query: queries[0]}, nil, queries[0])
		return []int64{n}, err
	}
	if counts, ok, err := db.countCells(ctx, t, queries); err != nil || ok {
		return counts, err
	}
	return reading(ctx, db, t, func(from source.Reader) ([]int64, error) {
		counts := make([]int64, len(queries))
		for i, q := range queries {
			var err error
			if counts[i], err = from.Count(ctx, t.rows(), q); err != nil {
				return nil, err
			}
		}
		return counts, nil
	})
}

// countCells counts from cells; false where that cannot be done.
func (db *DB) countCells(ctx context.Context, t *table, queries []query.Query) ([]int64, bool, error) {
	columns := columnsOf(queries)
	if len(columns) == 0 {
		return nil, false, nil
	}
	narrow := make([]query.Query, len(queries))
	for i, q := range queries {
		narrow[i], _ = q.Project(columns)
		if _, ok := narrow[i].SizeWithin(maxProbes); !narrow[i].Universe().Coded() && !ok {
			return nil, false, nil
		}
	}
	var key [16]byte
	if err := noise.NewSource().Bytes(key[:]); err != nil {
		return nil, false, errRandom()
	}
	h, err := db.cells(ctx, t, columns, query.NewCoder(t.over(columns), key), maxCells)
	if errors.Is(err, source.ErrTooManyCells) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	counts := make([]int64, len(queries))
	for i, q := range narrow {
		n, ok := h.Count(q)
		if !ok {
			return nil, false, nil
		}
		counts[i] = n
	}
	return counts, true, nil
}

// columnsOf returns the columns that queries depend on, ascending.
func columnsOf(queries []query.Query) []int {
	used := make(map[int]bool)
	for _, q := range queries {
		for _, c := range q.Columns() {
			used[c] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// cells reads the counts of the cells over some columns, nil being all, unless
// more than most are occupied.
func (db *DB) cells(ctx context.Context, t *table, columns []int, coder query.Coder, most int) (*source.Histogram, error) {
	if columns == nil {
		columns = allColumns(t)
	}
	return reading(ctx, db, t, func(from source.Reader) (*source.Histogram, error) {
		rows := t.rows()
		rows.Progress = partsRead(ctx)
		return from.Cells(ctx, rows, columns, coder, most)
	})
}

func allColumns(t *table) []int {
	columns := make([]int, len(t.Columns))
	for i := range columns {
		columns[i] = i
	}
	return columns
}

// sameSchema refuses a source whose schema is no longer the declared one, or
// that is not understood any more, and returns what it reads. Publics are the
// tables of the file that are public now.
func sameSchema(ctx context.Context, from source.Reader, t *table, publics []string) (schema source.Schema, err error) {
	if t.Source == "" {
		return schema, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).
			WithHint("it is an exported release: only its queries are answered here")
	}
	rows := t.rows()
	rows.Public = publics
	if schema, err = from.Check(ctx, rows); err != nil {
		return schema, err
	}
	if schema.Text != t.SourceSchema {
		return schema, sqlerr.New(sqlerr.Invalid, "the schema of %s changed since %s was declared", t.place(), t.Name).
			WithHint("DROP PRIVATE TABLE %s and declare it again; its budget goes on", t.Name)
	}
	return schema, nil
}

// covered refuses tables that the budget of t does not cover and that are not
// public. What may have the same rows, too, must not have another budget.
func covered(tx *catalog.Tx, t *table, bases []string, also ...string) error {
	private := distinct(bases)
	if t.outside == nil {
		var err error
		if private, err = privateBases(tx, bases); err != nil {
			return err
		}
	}
	a, err := tx.AccountFor(private, also...)
	switch {
	case err != nil:
		return err
	case a != nil && a.ID == t.Account:
		return nil
	case t.outside != nil:
		return sqlerr.New(sqlerr.Invalid, "%s reads tables that the budget of %s does not cover", t.place(), t.Name).
			WithHint("does %s name another database now? DROP PRIVATE TABLE %s and declare it anew for what is there; if these are the same rows, "+
				"carried there, the new budget does not know what was spent on them", t.outside.DSNEnv, t.Name)
	}
	return sqlerr.New(sqlerr.Invalid, "%s reads tables that are no longer public, which its budget does not cover", t.Source).
		WithHint("declare them public again, or DROP PRIVATE TABLE %s and declare it anew", t.Name)
}
