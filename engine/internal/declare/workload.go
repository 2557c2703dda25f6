package declare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// Workload implements kind.Public.
func (s *Statement) Workload(ctx context.Context, name string, t *view.Table, cover func(query.Query) released.Coverage) ([]query.Query, error) {
	var queries []query.Query
	err := s.EachStatement("workload", name, func(in syntax.Input) error {
		asked, err := s.workloadQueries(ctx, in, t, cover)
		queries = append(queries, asked...)
		return InFile(err, name, in)
	})
	if err != nil {
		return nil, err
	}
	if len(queries) == 0 || len(queries) > released.MaxClass {
		return nil, sqlerr.New(sqlerr.Invalid, "the workload has %d queries; it can have 1 to %d", len(queries), released.MaxClass)
	}
	return queries, nil
}

// EachStatement calls f with each statement of a file, and says what that is where it cannot be read.
func (s *Statement) EachStatement(what, name string, f func(syntax.Input) error) error {
	file, err := os.Open(s.Path(name))
	if err != nil {
		return sqlerr.New(sqlerr.IO, "cannot read the %s %s", what, name).WithHint("file names are relative to the script")
	}
	defer file.Close()
	scanner := syntax.NewScanner(file)
	for {
		in, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(in)
		}
		if err != nil {
			return err
		}
	}
}

// workloadSelect parses a statement of a workload. It returns nil if it is no SELECT.
func workloadSelect(in syntax.Input) (*syntax.Select, error) {
	statement, err := syntax.Parse(in.Text)
	sel, _ := statement.(*syntax.Select)
	return sel, err
}

// workloadQueries returns the queries of one statement of a workload: one query, or one
// for each group and aggregate.
func (s *Statement) workloadQueries(ctx context.Context, in syntax.Input, t *view.Table, cover func(query.Query) released.Coverage) ([]query.Query, error) {
	sel, err := workloadSelect(in)
	if err != nil {
		return nil, err
	}
	if sel == nil || !slices.ContainsFunc(sel.Tables, func(n syntax.Name) bool { return query.SameName(n.Text, t.Name) }) {
		return nil, sqlerr.New(sqlerr.Invalid, "a workload holds SELECT statements on %s only", t.Name)
	}
	return s.boundQueries(ctx, sel, t, cover)
}

// boundQueries returns the queries of a SELECT of a workload.
func (s *Statement) boundQueries(ctx context.Context, sel *syntax.Select, t *view.Table, cover func(query.Query) released.Coverage) ([]query.Query, error) {
	b, err := s.bind(ctx, sel, t)
	if err != nil {
		return nil, err
	}
	queries := make([]query.Query, len(b.Queries))
	for i, q := range b.Queries {
		see := cover(q)
		if see.Refusal != "" {
			return nil, sqlerr.New(sqlerr.Invalid, "the release cannot hold this query: %s", see.Refusal)
		}
		queries[i] = see.Query
	}
	return queries, nil
}

// bind binds a SELECT of a workload.
func (s *Statement) bind(ctx context.Context, sel *syntax.Select, t *view.Table) (*sqlfront.Bound, error) {
	return sqlfront.Bind(sel, schemas.Bindable(ctx, s.Store, t, s.Now(), s.textsOf(ctx, t), nil, s.Functions), nil)
}

// InFile adds the place in the file to an error.
func InFile(err error, name string, in syntax.Input) error {
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

// textsOf returns what reads the texts that the releases of a table publish.
func (s *Statement) textsOf(ctx context.Context, t *view.Table) schemas.Texts {
	return func(column int) ([]query.Value, []string, error) {
		v, err := s.view(ctx)
		if err != nil {
			return nil, nil, err
		}
		texts, from, err := kind.Texts(v.Releases, &t.Table, column, func(all []*catalog.Release) (opened []released.Answers, err error) {
			for _, r := range all {
				payload, err := s.Payload(ctx, r)
				if err == nil && payload == nil {
					err = &view.UnreadError{Name: r.Name, Release: true}
				}
				if err != nil {
					return nil, err
				}
				of := t
				if whole := v.TableByID(t.ID); whole != nil && r.Span != t.Part { // over other periods than the statement
					if part, some := whole.Within(r.Span); some {
						of = part
					}
				}
				a, err := kind.Of(r.Using).Open(of.Over(r.Columns), r.Name, r.Params, payload)
				if err != nil {
					return nil, err
				}
				opened = append(opened, a)
			}
			return opened, nil
		})
		return texts, v.Names(from), err
	}
}

// Payload implements kind.Public.
func (s *Statement) Payload(ctx context.Context, r *catalog.Release) (payload []byte, err error) {
	if s.Unknown != nil {
		return s.Unknown.Payload(ctx, r)
	}
	return catalog.Get(ctx, s.Store, func(tx *catalog.Tx) ([]byte, error) { return Payload(tx, r) })
}

// Payload returns the bytes of a release that was in the catalog before.
func Payload(tx *catalog.Tx, r *catalog.Release) ([]byte, error) {
	current, err := tx.Release(r.Name)
	if err != nil {
		return nil, err
	}
	if current == nil || current.ID != r.ID {
		return nil, sqlerr.New(sqlerr.Unknown, "release %s was dropped meanwhile", r.Name)
	}
	return tx.ReleasePayload(current)
}
