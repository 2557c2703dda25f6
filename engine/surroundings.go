package engine

import (
	"context"
	"slices"
	"strings"
	"sync"

	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/surround"
)

// surroundings is where statements that name no private table run. It is made for the
// first of them.
type surroundings struct {
	once     sync.Once
	database *surround.Database
}

// surrounding is a statement as package surround understands it.
type surrounding struct {
	around *surround.Statement
	why    error // why it is not a private aggregate
}

// prepareSurrounding parses a statement that is no private aggregate, for the reason why.
// It may still be a statement about public tables: its tables say so when it runs.
func prepareSurrounding(text string, why error) (*Prepared, error) {
	around, err := surround.Parse(text)
	if err != nil {
		if valued(text) {
			why = err
		}
		return nil, public(context.Background(), why)
	}
	parameters, err := syntax.Parameters(text)
	if err != nil {
		return nil, public(context.Background(), err)
	}
	return &Prepared{text: text, parameters: parameters, surrounding: surrounding{around, why}}, nil
}

// valued reports whether a statement begins with VALUES, which no aggregate does.
func valued(text string) bool {
	tokens, err := syntax.Lex(text)
	return err == nil && (tokens[0].Matches("VALUES") || tokens[0].Matches("EXPLAIN") && tokens[1].Matches("VALUES"))
}

// surroundInstead runs a SELECT that names no private table in FROM. For every other it
// returns the error that answering it gave.
func (s *Session) surroundInstead(ctx context.Context, p *Prepared, sel *syntax.Select, args []query.Value, why error) (*Result, error) {
	v, err := s.db.current(ctx)
	if err != nil || namesPrivate(v, sel.Tables) {
		return nil, why
	}
	around, err := surround.Parse(p.text)
	if err != nil {
		return nil, why
	}
	return s.surround(ctx, surrounding{around: around}, args)
}

func namesPrivate(v *view.View, tables []syntax.Name) bool {
	return slices.ContainsFunc(tables, func(n syntax.Name) bool { return v.Private(n.Text) != nil })
}

// surround runs a statement, if it names public tables only. It charges nothing and reads
// no private row: schemas.Copy reads public tables, and package surround sees nothing else.
func (s *Session) surround(ctx context.Context, st surrounding, args []query.Value) (*Result, error) {
	v, err := s.db.current(ctx)
	if err != nil {
		return nil, err
	}
	if err := st.check(v); err != nil {
		return nil, err
	}
	s.db.around.once.Do(func() { s.db.around.database = new(surround.Database) })
	from := surround.Source{Version: v, Copy: s.db.copyPublic}
	if st.around.Explain {
		columns, err := s.db.around.database.Columns(ctx, st.around, from, args)
		if err != nil {
			return nil, err
		}
		return explained(st.around, columns), nil
	}
	r, err := s.db.around.database.Run(ctx, st.around, from, args)
	if err != nil {
		return nil, err
	}
	out := &Result{Rows: r.Rows}
	for _, c := range r.Columns {
		out.Columns = append(out.Columns, Column(c))
	}
	return out, nil
}

// check refuses a statement that names anything but public tables.
func (st surrounding) check(v *view.View) error {
	for _, t := range st.around.Tables {
		if v.Private(t.Text) != nil {
			if st.why != nil {
				return st.why
			}
			return sqlerr.New(sqlerr.Unsupported, "%s is private: here it would be read row by row, which is outside the dialect", syntax.Excerpt(t.Text, 40)).
				WithHint("ask for aggregates of it in a statement of its own: SELECT COUNT(*) FROM %s WHERE …", syntax.Excerpt(t.Text, 40)).At(t.Position)
		}
	}
	for _, t := range st.around.Tables {
		if slices.ContainsFunc(v.Publics, func(p string) bool { return query.SameName(p, t.Text) }) {
			continue
		}
		if _, err := v.Table(t.Text, t.Position); err != nil {
			return err
		}
	}
	return nil
}

// copyPublic reads a public table.
func (db *DB) copyPublic(ctx context.Context, name syntax.Name) (*surround.Table, error) {
	columns, rows, err := schemas.Copy(ctx, db.store, name.Text)
	if err != nil {
		return nil, sqlerr.Locate(err, name.Position)
	}
	t := &surround.Table{Name: name.Text, Rows: rows}
	for _, c := range columns {
		t.Columns = append(t.Columns, surround.Column(c))
	}
	return t, nil
}

// explained returns the rows of EXPLAIN for a statement about public tables: that it is
// free, and the types of its columns, which are known before it runs.
func explained(st *surround.Statement, columns []surround.ResultColumn) *Result {
	names, types := make([]string, len(st.Tables)), make([]string, len(columns))
	for i, t := range st.Tables {
		names[i] = t.Text
	}
	for i, c := range columns {
		types[i] = c.Name + " " + c.Type
		if c.Type == "" {
			types[i] = c.Name + " of any type"
		}
	}
	note := "chosen; names no private table"
	if len(names) > 0 {
		note += ": SQLite runs it on copies of " + strings.Join(names, ", ")
	}
	return &Result{Columns: answer.ExplainColumns("REAL"), Rows: [][]any{
		{"sqlite", "public", nil, nil, nil, "0", note},
		{"result", nil, nil, nil, nil, nil, strings.Join(types, ", ")},
	}}
}
