package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"dpsql/noise"
	"dpsql/query"
	"dpsql/source"
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
