package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// surroundings is where statements about public tables, and what surrounds private
// aggregates, run. It is made for the first of them.
type surroundings struct {
	once     sync.Once
	database *around.Database
	// functions computes functions of public values. It has places of its own: a statement with
	// surroundings holds one while the aggregates inside it are bound.
	functions *around.Database
	first     sync.Once
}

// evaluate implements schemas.Functions.
func (s *surroundings) evaluate(ctx context.Context, user int64, function string, rows [][]any) ([]any, error) {
	s.first.Do(func() { s.functions = new(around.Database) })
	return s.functions.Evaluate(ctx, user, function, rows)
}

func (s *surroundings) close() {
	if s.functions != nil {
		s.functions.Close()
	}
	if s.database != nil {
		s.database.Close()
	}
}

// tables are the tables that a session sees in a view. It implements released.Tables.
type tables struct {
	*Session
	view *view.View
}

// surroundings returns what runs statements with surroundings in a view.
func (s *Session) surroundings(v *view.View) released.Surroundings {
	r := &s.db.around
	r.once.Do(func() { r.database = new(around.Database) })
	return released.Surroundings{Tables: tables{s, v}, Database: r.database, From: around.Source{User: v.UserID(), Version: v.State(), Copy: s.db.copyPublic}}
}

// Columns implements released.Tables.
func (t tables) Columns(name syntax.Name) (names []string, private bool) {
	of := t.view.Private(name.Text)
	if of == nil {
		return nil, false
	}
	for _, i := range query.Declared(of.Columns) {
		names = append(names, of.Columns[i].Name)
	}
	return names, true
}

// Public implements released.Tables.
func (t tables) Public(name syntax.Name) error {
	if slices.ContainsFunc(t.view.Publics, func(p string) bool { return query.SameName(p, name.Text) }) {
		return nil
	}
	if _, err := t.view.Table(name.Text, name.Position); err != nil {
		return err
	}
	return sqlerr.New(sqlerr.Unsupported, "%s is private", syntax.Excerpt(name.Text, 40)).At(name.Position)
}

// Bind implements released.Tables.
func (t tables) Bind(ctx context.Context, all []released.Selection) ([][]Column, error) {
	bound, err := t.db.answers.Bind(ctx, t.asker(), t.view, all)
	if err != nil {
		return nil, err
	}
	return bound.Columns(), nil
}

// Together implements released.Tables.
func (t tables) Together(ctx context.Context, all []released.Selection, ready func([][]Column) error) (released.Joint, error) {
	return t.db.answers.Together(ctx, t.asker(), all, ready)
}

// Explain implements released.Tables.
func (t tables) Explain(ctx context.Context, all []released.Selection) (*Result, [][]Column, error) {
	planned, err := t.db.answers.Explain(ctx, t.asker(), all)
	if err != nil {
		return nil, nil, err
	}
	return planned.Explained(), planned.Columns(), nil
}

// surround runs a statement with private aggregates in it, or with public tables only.
func (s *Session) surround(ctx context.Context, st released.Surrounded, args []query.Value) (*Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return s.surroundings(v).Run(ctx, st, args)
}

// copyPublic reads a public table.
func (db *DB) copyPublic(ctx context.Context, name syntax.Name) (*around.Table, error) {
	columns, rows, err := schemas.Copy(ctx, db.store, name.Text)
	if err != nil {
		return nil, sqlerr.Locate(err, name.Position)
	}
	t := &around.Table{Name: name.Text, Rows: rows}
	for _, c := range columns {
		t.Columns = append(t.Columns, around.Column(c))
	}
	return t, nil
}

// published returns the text of the SELECT of CREATE PUBLIC TABLE … AS SELECT ….
func published(text string, st *syntax.CreatePublic) string {
	return string([]rune(text)[st.As-1:])
}

// shifted returns an error of a part of a statement with its place in the whole.
func shifted(err error, by int) error {
	return sqlerr.Move(err, func(position int) int { return position + by })
}

// withMargins returns the names of the columns that margins of columns would have.
func withMargins(names []string) (margins []string) {
	for _, name := range names {
		margins = append(margins, name+"_margin")
	}
	return margins
}

var errNoSelect = sqlerr.New(sqlerr.Malformed, "expected SELECT, VALUES or WITH").At(1)

// outline returns the names of the columns that a SELECT will have.
func (s *Session) outline(ctx context.Context, p *Prepared) (names []string, err error) {
	if p.read.Query == nil || p.read.Explain {
		return nil, errNoSelect
	}
	d, err := s.describeStatement(ctx, p, nil)
	for _, c := range d.columns {
		names = append(names, c.Name)
	}
	return names, err
}

// plainName is what a column of a published table may be called.
var plainName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*$`)

// publish makes a public table of a result: its columns, and behind each that has margins one
// with these. Whatever can be refused is refused before the SELECT runs, which may be charged.
func (s *Session) publish(ctx context.Context, text string, st *syntax.CreatePublic) (*Result, error) {
	if err := s.curatorOnly("declare, drop or export"); err != nil {
		return nil, err
	}
	if err := s.db.build(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.db.building }()
	d := s.declaration()
	if done, err := d.CanPublish(ctx, st); err != nil || done {
		return &Result{}, err
	}
	p, err := Prepare(published(text, st))
	if err != nil {
		return nil, shifted(err, st.As-1)
	}
	names, err := s.outline(ctx, p)
	if err != nil {
		return nil, shifted(err, st.As-1)
	}
	taken := make(map[string]bool)
	for i, name := range append(names, withMargins(names)...) {
		if i < len(names) && !plainName.MatchString(name) {
			return nil, sqlerr.New(sqlerr.Invalid, "column %d of the result needs a name", i+1).WithHint("write AS and a name behind it").At(st.As)
		}
		if taken[query.FoldName(name)] {
			return nil, sqlerr.New(sqlerr.Invalid, "two columns of the table would be called %s", syntax.Excerpt(name, 40)).
				WithHint("x_margin is the name of the margins of x").At(st.As)
		}
		taken[query.FoldName(name)] = true
	}
	r, err := s.exec(ctx, p, nil)
	if err != nil {
		return nil, shifted(err, st.As-1)
	}
	columns, rows := tabulated(r)
	if err := d.Publish(context.WithoutCancel(ctx), st, columns, rows); err != nil {
		return nil, err
	}
	out := &Result{Warnings: r.Warnings}
	if r.Answer != nil && r.Answer.Cost != (Cost{}) {
		out.Warnings = append(slices.Clone(out.Warnings), fmt.Sprintf("ρ = %.3g was charged for its answers", r.Answer.Cost.Rho))
	}
	return out, nil
}

// tabulated returns a result as the columns and rows of a table.
func tabulated(r *Result) (columns []declare.Published, rows [][]any) {
	rows = make([][]any, len(r.Rows))
	for i, c := range r.Columns {
		columns = append(columns, declare.Published{Name: c.Name, Type: c.Type})
		for n := range rows {
			rows[n] = append(rows[n], r.Rows[n][i])
		}
		if r.Answer == nil || !slices.ContainsFunc(r.Answer.Margins, func(row []any) bool { return row[i] != nil }) {
			continue
		}
		columns = append(columns, declare.Published{Name: c.Name + "_margin", Type: "REAL"})
		for n := range rows {
			rows[n] = append(rows[n], r.Answer.Margins[n][i])
		}
	}
	return columns, rows
}
