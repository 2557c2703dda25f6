package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"dpsql/engine/internal/answer"
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

// surrounding is a statement as package around understands it.
type surrounding struct {
	around *around.Statement
	why    error // why it is not a private aggregate
}

// refusal returns the error of a query that can be neither a private aggregate nor a statement with
// surroundings, for the reason why not the latter. No aggregate begins with VALUES.
func (p *Prepared) refusal(why error) error {
	if p.read.Tokens[0].Matches("VALUES") {
		return why
	}
	return p.read.Why
}

// meant returns the SELECT that a query is if it may be one private aggregate, or else the query as a
// statement with surroundings: if its text shows already that no SELECT of it can be bound. Binding
// it in vain took 0.3 ms where it joins a public table, a fifth of what its answer takes
// (BenchmarkSurrounded).
func (p *Prepared) meant() (*syntax.Select, surrounding) {
	var sel *syntax.Select
	switch st := p.read.Statement.(type) {
	case *syntax.Select:
		sel = st
	case *syntax.Explain:
		sel = st.Select
	}
	if sel != nil && !sel.Composed() {
		return sel, surrounding{}
	}
	parsed, err := p.around()
	if err != nil {
		return sel, surrounding{} // binding says more
	}
	return nil, surrounding{parsed, p.read.Why}
}

// instead returns a SELECT that cannot be bound, for the reason why, as a statement with
// surroundings. It is false if it can be none, or for any other error. Whether a SELECT can be bound
// follows from its text, its arguments and the catalog.
func (p *Prepared) instead(why error) (surrounding, bool) {
	var refused answer.NotBound
	if !errors.As(why, &refused) {
		return surrounding{}, false
	}
	parsed, err := p.around()
	return surrounding{parsed, why}, err == nil
}

// either has a query done alone, as the private aggregate that it may be, or else as a statement with
// surroundings.
func either[R any](p *Prepared, alone func(*syntax.Select) (R, error), around func(surrounding) (R, error)) (R, error) {
	sel, st := p.meant()
	if sel == nil {
		return around(st)
	}
	out, err := alone(sel)
	if st, ok := p.instead(err); ok {
		return around(st)
	}
	return out, err
}

func namesPrivate(v *view.View, tables []syntax.Name) bool {
	return slices.ContainsFunc(tables, func(n syntax.Name) bool { return v.Private(n.Text) != nil })
}

// surround runs a statement with private aggregates in it, or with public tables only. The
// aggregates are answered together, as SELECTs of their own are. Whatever else it does reads
// no private row: schemas.Copy reads public tables, and package around sees these and the
// answers.
func (s *Session) surround(ctx context.Context, st surrounding, args []query.Value) (*Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.db.cut(ctx, v, st, args, s.check(ctx, v, args))
	if err != nil {
		return nil, err
	}
	var before []*Result
	if c.waits != 0 {
		if c, before, err = s.askFirst(ctx, v, st, args, c); err != nil {
			return nil, err
		}
	}
	if c.around.Explain {
		return s.explainAround(ctx, c, args)
	}
	if len(c.cores) == 0 {
		r, err := s.db.around.database.Run(ctx, c.around, c.from, args)
		if err != nil {
			return nil, err
		}
		return resultOf(r), nil
	}
	answers, err := s.db.answers.Together(ctx, s.asker(), c.asks, func(columns [][]Column) error {
		_, err := c.compiled(ctx, s.db, columns, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	how := answers.How()
	c.fill(answers, how.Confidence)
	r, err := s.db.around.database.Run(ctx, c.around, c.from, args)
	if err != nil {
		return nil, err
	}
	out := resultOf(r)
	out.Answer, out.Warnings = how, answers.Warnings()
	for _, first := range before {
		how.Cost.Rho += first.Answer.Cost.Rho
		how.Cost.Epsilon += first.Answer.Cost.Epsilon
		how.Verified = how.Verified && first.Answer.Verified
		out.Warnings = append(out.Warnings, first.Warnings...)
	}
	how.NotNull = make([]bool, len(out.Columns))
	how.Margins, how.Intervals = make([][]any, len(out.Rows)), make([][]any, len(out.Rows))
	for i, row := range out.Rows {
		how.Margins[i], how.Intervals[i] = make([]any, len(out.Columns)), make([]any, len(out.Columns))
		if r.Intervals == nil {
			continue
		}
		how.Intervals[i] = r.Intervals[i]
		for n, v := range r.Intervals[i] {
			switch interval := v.(type) {
			case Interval:
				value, _ := row[n].(float64)
				if whole, ok := row[n].(int64); ok {
					value = float64(whole)
				}
				how.Margins[i][n] = interval.Plus(-value).Reach()
			case Span:
				date, _ := row[n].(string)
				how.Margins[i][n] = interval.Reach(date)
			}
		}
	}
	return out, nil
}

// askFirst answers the sub-selects that private aggregates of c wait for, and returns the statement
// with their values. It binds c before, in which NULL is in their place, so that nothing is charged
// for a statement that is refused. The aggregates are then queries that earlier answers chose: the
// charges of both add up, as those of two statements do.
func (s *Session) askFirst(ctx context.Context, v *view.View, st surrounding, args []query.Value, c *divided) (filled *divided, before []*Result, err error) {
	if c.around.Explain {
		return nil, nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN of an aggregate that waits for another one's answer is outside the dialect").
			WithHint("EXPLAIN the inner one; then write a value in its place, and EXPLAIN the outer one").At(c.waits)
	}
	if err := s.bindable(ctx, v, c, args); err != nil {
		return nil, nil, err
	}
	filled, err = s.db.cut(ctx, v, st, args, func(inner *around.Statement) (*around.Result, error) {
		r, err := s.surround(ctx, surrounding{around: inner}, args)
		if err != nil {
			return nil, err
		}
		if r.Answer != nil {
			before = append(before, r)
		}
		out := &around.Result{Rows: r.Rows}
		for _, c := range r.Columns {
			out.Columns = append(out.Columns, around.ResultColumn{Name: c.Name, Type: c.Type, SQL: c.SQL})
		}
		return out, nil
	})
	return filled, before, err
}

// check returns a function that refuses sub-selects as their answers would be refused, and
// answers NULL to all others.
func (s *Session) check(ctx context.Context, v *view.View, args []query.Value) around.Asked {
	return func(inner *around.Statement) (*around.Result, error) {
		c, err := s.db.cut(ctx, v, surrounding{around: inner}, args, s.check(ctx, v, args))
		if err == nil {
			err = s.bindable(ctx, v, c, args)
		}
		return &around.Result{Columns: make([]around.ResultColumn, 1), Rows: [][]any{{nil}}}, err
	}
}

// bindable refuses a statement that cannot be bound. Nothing is charged.
func (s *Session) bindable(ctx context.Context, v *view.View, c *divided, args []query.Value) error {
	var columns [][]Column
	if len(c.cores) > 0 {
		bound, err := s.db.answers.Bind(ctx, s.asker(), v, c.asks)
		if err != nil {
			return err
		}
		columns = bound.Columns()
	}
	_, err := c.compiled(ctx, s.db, columns, args)
	return err
}

// fill makes the tables of the cores from their answers.
func (c *divided) fill(answers answer.Answers, confidence float64) {
	c.from.Cores, c.from.Confidence = nil, confidence
	for i := range c.cores {
		r := answers.Rows(i, confidence)
		t := tableOf(&c.cores[i], r.Columns, r.Rows)
		ends := map[float64][][]any{confidence: r.Answer.Intervals}
		t.Ends = func(confidence float64) [][]any {
			if ends[confidence] == nil {
				ends[confidence] = answers.Rows(i, confidence).Answer.Intervals
			}
			return ends[confidence]
		}
		c.from.Cores = append(c.from.Cores, t)
	}
}

// divided is a statement that is cut: its private aggregates, and what reads them.
type divided struct {
	cores  []around.Core
	asks   []answer.Selection // the cores, parsed
	around *around.Statement
	from   around.Source
	waits  int // where the first aggregate is that waits for the answers of others; 0 for none
}

// cut divides a statement by what is private now. Sub-selects of public tables inside its
// aggregates are run, and those around other private aggregates are answered by asked; without
// it nothing is charged, see around.Database.Resolve.
func (db *DB) cut(ctx context.Context, v *view.View, st surrounding, args []query.Value, asked around.Asked) (*divided, error) {
	db.around.once.Do(func() { db.around.database = new(around.Database) })
	c := &divided{around: st.around, from: around.Source{User: v.UserID(), Version: v.State(), Copy: db.copyPublic}}
	if !namesPrivate(v, st.around.Tables) {
		return c, st.checkPublic(v, st.around.Tables)
	}
	cores, left, err := st.around.Cut(func(name syntax.Name) ([]string, bool) {
		t := v.Private(name.Text)
		if t == nil {
			return nil, false
		}
		names := make([]string, len(t.Columns))
		for i := range t.Columns {
			names[i] = t.Columns[i].Name
		}
		return names, true
	})
	if err != nil {
		return nil, st.refusal(err)
	}
	if err := st.checkPublic(v, left.Tables); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(cores, around.Core.Waits); i >= 0 {
		c.waits = cores[i].Position
	}
	if c.cores, err = db.around.database.Resolve(ctx, cores, c.from, args, asked); err != nil {
		return nil, err
	}
	c.around = left
	for i := range c.cores {
		sel, err := c.cores[i].Select()
		if err != nil {
			return nil, st.refusal(err)
		}
		c.asks = append(c.asks, answer.Selection{Select: sel, Args: args[:min(len(args), sel.Parameters)]})
	}
	return c, nil
}

// refusal returns the error for a statement that cannot be cut. What the front end says fits a
// statement of one SELECT.
func (st surrounding) refusal(err error) error {
	if st.why != nil && !st.around.Nested() {
		return st.why
	}
	return err
}

// compiled compiles the surroundings for cores with the given columns, and returns the columns
// of the result.
func (c *divided) compiled(ctx context.Context, db *DB, columns [][]Column, args []query.Value) ([]around.ResultColumn, error) {
	c.from.Cores = nil
	for i := range columns {
		c.from.Cores = append(c.from.Cores, tableOf(&c.cores[i], columns[i], nil))
	}
	out, lineage, err := db.around.database.Compile(ctx, c.around, c.from, args)
	c.from.Lineage = lineage
	return out, err
}

// tableOf returns the table of a core's rows. A key compares as the column does that it is
// from, and every other column as an expression does.
func tableOf(core *around.Core, columns []Column, rows [][]any) *around.Table {
	t := &around.Table{Name: core.Table, Rows: rows, Keys: core.Keys, Single: core.Single}
	for i, c := range columns {
		affinity := "BLOB"
		if core.Columns[i].Of != "" {
			affinity = c.Type
		}
		t.Columns = append(t.Columns, around.Column{Name: core.Columns[i].Name, Affinity: affinity})
		t.Types = append(t.Types, c.SQL)
	}
	return t
}

func resultOf(r *around.Result) *Result {
	out := &Result{Rows: r.Rows}
	for _, c := range r.Columns {
		out.Columns = append(out.Columns, Column(c))
	}
	return out
}

// explainAround explains a statement: the ways to answer its private aggregates, and what
// SQLite runs.
func (s *Session) explainAround(ctx context.Context, c *divided, args []query.Value) (*Result, error) {
	out := released.Explanation("REAL")
	var columns [][]Column
	if len(c.cores) > 0 {
		planned, err := s.db.answers.Explain(ctx, s.asker(), c.asks)
		if err != nil {
			return nil, err
		}
		out, columns = planned.Explained(), planned.Columns()
	}
	compiled, err := c.compiled(ctx, s.db, columns, args)
	if err != nil {
		return nil, err
	}
	if out.Explain(c.explained(compiled)...); c.around.Full {
		out.Brief = nil
	}
	return out, nil
}

// checkPublic refuses tables that are not public.
func (st surrounding) checkPublic(v *view.View, tables []syntax.Name) error {
	for _, t := range tables {
		if slices.ContainsFunc(v.Publics, func(p string) bool { return query.SameName(p, t.Text) }) {
			continue
		}
		if _, err := v.Table(t.Text, t.Position); err != nil {
			return err
		}
		return sqlerr.New(sqlerr.Unsupported, "%s is private", syntax.Excerpt(t.Text, 40)).At(t.Position)
	}
	return nil
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

// explained returns the rows of EXPLAIN for what SQLite runs: that it is free, and the types
// of its columns, which are known before it runs.
func (c *divided) explained(columns []around.ResultColumn) [][]any {
	names, types := make([]string, len(c.around.Tables)), make([]string, len(columns))
	for i, t := range c.around.Tables {
		names[i] = t.Text
	}
	for i, c := range columns {
		types[i] = c.Name + " " + c.Type
		if c.Type == "" {
			types[i] = c.Name + " of any type"
		}
	}
	note, copies := "chosen; names no private table", ": SQLite runs it on copies of "
	if len(c.cores) > 0 {
		note, copies = "what is left of the statement: SQLite runs it on the rows of the aggregates", ", and on copies of "
	}
	if len(names) > 0 {
		note += copies + strings.Join(names, ", ")
	}
	return [][]any{
		{"sqlite", "public", nil, nil, nil, "0", note},
		{"result", nil, nil, nil, nil, nil, strings.Join(types, ", ")},
	}
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
