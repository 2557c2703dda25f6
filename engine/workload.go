package engine

import (
	"context"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// workload reads a file of SELECT statements over the table.
func (s *Session) workload(ctx context.Context, name string, t *view.Table, columns []int) (*stored.Class, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, sqlerr.New(sqlerr.IO, "cannot read the workload %s", name).WithHint("file names are relative to the script")
	}
	defer f.Close()
	var queries []query.Query
	scanner := sqlfront.NewScanner(f)
	for {
		in, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		asked, err := s.workloadQueries(ctx, in, t, columns)
		if err != nil {
			return nil, inWorkload(err, name, in)
		}
		queries = append(queries, asked...)
	}
	if len(queries) == 0 || len(queries) > stored.MaxClass {
		return nil, sqlerr.New(sqlerr.Invalid, "the workload has %d queries; it can have 1 to %d", len(queries), stored.MaxClass)
	}
	return stored.Workload(t.Over(columns), queries), nil
}

// workloadQueries returns what a statement of a workload asks: one query, or
// one for each group and aggregate.
func (s *Session) workloadQueries(ctx context.Context, in sqlfront.Input, t *view.Table, columns []int) ([]query.Query, error) {
	statement, err := sqlfront.Parse(in.Text)
	if err != nil {
		return nil, err
	}
	sel, ok := statement.(*sqlfront.Select)
	if !ok || !slices.ContainsFunc(sel.Tables, func(n sqlfront.Name) bool { return query.SameName(n.Text, t.Name) }) {
		return nil, sqlerr.New(sqlerr.Invalid, "a workload holds SELECT statements on %s only", t.Name)
	}
	b, err := sqlfront.Bind(sel, schemas.Bindable(ctx, s.db.store, t), nil)
	if err != nil {
		return nil, err
	}
	queries := make([]query.Query, len(b.Queries))
	for i, q := range b.Queries {
		see := view.Cover(q, columns, maxSupport)
		if see.Refusal != "" {
			return nil, sqlerr.New(sqlerr.Invalid, "the release cannot hold this query: %s", see.Refusal)
		}
		queries[i] = see.Query
	}
	return queries, nil
}

// inWorkload says where in the file an error is.
func inWorkload(err error, name string, in sqlfront.Input) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	line, column := in.Locate(e.Position)
	c.Message = fmt.Sprintf("%s:%d:%d: %s", name, line, column, e.Message)
	c.Position = 0
	return &c
}
