package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// countAll returns the true counts of queries. Those of several come from the
// cells over the columns that they name, read once, where these are not too many.
func (s *snapshot) countAll(ctx context.Context, queries []query.Query) ([]int64, error) {
	if len(queries) == 1 {
		n, err := s.count(ctx, queries[0], nil, queries[0])
		return []int64{n}, err
	}
	if counts, ok, err := s.countCells(ctx, queries); err != nil || ok {
		return counts, err
	}
	counts := make([]int64, len(queries))
	err := s.read(ctx, func(from source.Reader) (err error) {
		for i, q := range queries {
			if counts[i], err = from.Count(ctx, s.table.Rows(), q); err != nil {
				return err
			}
		}
		return nil
	})
	return counts, err
}

// countCells counts queries from cells. It returns false if they name no column or
// the cells are too many.
func (s *snapshot) countCells(ctx context.Context, queries []query.Query) ([]int64, bool, error) {
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
	h, err := s.cells(ctx, columns, query.NewCoder(s.table.Over(columns), key), maxCells, nil)
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

// sameSchema refuses a source whose schema is no longer the declared one, or
// that is not understood any more, and returns what it reads. Publics are the
// tables of the file that are public now.
func sameSchema(ctx context.Context, from source.Reader, t *view.Table, publics []string) (schema source.Schema, err error) {
	if t.Source == "" {
		return schema, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).
			WithHint("it is an exported release: only its queries are answered here")
	}
	rows := t.Rows()
	rows.Public = publics
	if schema, err = from.Check(ctx, rows); err != nil {
		return schema, err
	}
	if schema.Text != t.SourceSchema {
		return schema, sqlerr.New(sqlerr.Invalid, "the schema of %s changed since %s was declared", t.Place(), t.Name).
			WithHint("DROP PRIVATE TABLE %s and declare it again; its budget goes on", t.Name)
	}
	return schema, nil
}

// covered refuses tables that the budget of t does not cover and that are not
// public. What may have the same rows, too, must not have another budget.
func covered(tx *catalog.Tx, t *view.Table, bases []string, also ...string) error {
	private := distinct(bases)
	if t.Outside == nil {
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
	case t.Outside != nil:
		return sqlerr.New(sqlerr.Invalid, "%s reads tables that the budget of %s does not cover", t.Place(), t.Name).
			WithHint("does %s name another database now? DROP PRIVATE TABLE %s and declare it anew for what is there; if these are the same rows, "+
				"carried there, the new budget does not know what was spent on them", t.Outside.DSNEnv, t.Name)
	}
	return sqlerr.New(sqlerr.Invalid, "%s reads tables that are no longer public, which its budget does not cover", t.Source).
		WithHint("declare them public again, or DROP PRIVATE TABLE %s and declare it anew", t.Name)
}
