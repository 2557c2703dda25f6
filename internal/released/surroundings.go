package released

import (
	"context"
	"slices"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// Tables are the tables that statements name: private ones, whose aggregates are answered, and public ones.
type Tables interface {
	// Columns returns the names of a private table's columns, and false for any other name.
	Columns(name syntax.Name) (columns []string, private bool)
	// Public returns the error of a table that is not public.
	Public(name syntax.Name) error
	// Bind returns the columns of SELECTs. It charges nothing.
	Bind(ctx context.Context, all []Selection) ([][]Column, error)
	// Together answers SELECTs: all of them, or none. ready is called with the columns of each before anything is
	// charged, and may refuse.
	Together(ctx context.Context, all []Selection, ready func([][]Column) error) (Joint, error)
	// Explain returns the EXPLAIN of SELECTs that are asked together, and the columns of each.
	Explain(ctx context.Context, all []Selection) (*Result, [][]Column, error)
}

// ErrPublic is the error of a public table in the place of a private one.
func ErrPublic(name string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "%s is a public table", name).
		WithHint("public tables serve in domains and joins; SELECT * FROM %s reads it", name)
}

// Surroundings runs statements with private aggregates in them, or with public tables only.
type Surroundings struct {
	Tables
	Database *around.Database
	From     around.Source // the public tables
}

// Run runs a statement. The aggregates are answered together, as SELECTs of their own are. Whatever else it does
// reads no private row: package around sees public tables and the answers.
func (s Surroundings) Run(ctx context.Context, st Surrounded, args []query.Value) (*Result, error) {
	c, err := s.Cut(ctx, st, args, s.check(ctx, args))
	if err != nil {
		return nil, err
	}
	var before []*Result
	if c.Waits != 0 {
		if c, before, err = s.askFirst(ctx, st, args, c); err != nil {
			return nil, err
		}
	}
	if c.Rest.Explain {
		return s.explain(ctx, c, args)
	}
	if len(c.cores) == 0 {
		r, err := s.Database.Run(ctx, c.Rest, c.From, args)
		if err != nil {
			return nil, err
		}
		return &Result{Rows: r.Rows, Columns: ShownColumns(r.Columns)}, nil
	}
	answers, err := s.Together(ctx, c.Asks, func(columns [][]Column) error {
		_, err := c.Compiled(ctx, columns, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	how := answers.How()
	c.fill(answers, how.Confidence)
	r, err := s.Database.Run(ctx, c.Rest, c.From, args)
	if err != nil {
		return nil, err
	}
	out := &Result{Rows: r.Rows, Columns: ShownColumns(r.Columns), Answer: how, Warnings: answers.Warnings()}
	for _, first := range before {
		how.Cost.Rho += first.Answer.Cost.Rho
		how.Cost.Epsilon += first.Answer.Cost.Epsilon
		how.Verified = how.Verified && first.Answer.Verified
		out.Warnings = append(out.Warnings, first.Warnings...)
	}
	out.enclose(r.Intervals)
	return out, nil
}

// enclose sets the margins of the rows by their intervals; nil are none.
func (r *Result) enclose(intervals [][]any) {
	how := r.Answer
	how.NotNull = make([]bool, len(r.Columns))
	how.Margins, how.Intervals = make([][]any, len(r.Rows)), make([][]any, len(r.Rows))
	for i, row := range r.Rows {
		how.Margins[i], how.Intervals[i] = make([]any, len(r.Columns)), make([]any, len(r.Columns))
		if intervals == nil {
			continue
		}
		how.Intervals[i] = intervals[i]
		for n, v := range intervals[i] {
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
}

// askFirst answers the sub-selects that private aggregates of c wait for, and returns the statement
// with their values. It binds c before, in which NULL is in their place, so that nothing is charged
// for a statement that is refused. The aggregates are then queries that earlier answers chose: the
// charges of both add up, as those of two statements do.
func (s Surroundings) askFirst(ctx context.Context, st Surrounded, args []query.Value, c *Divided) (filled *Divided, before []*Result, err error) {
	if c.Rest.Explain {
		return nil, nil, sqlerr.New(sqlerr.Unsupported, "EXPLAIN of an aggregate that waits for another one's answer is outside the dialect").
			WithHint("EXPLAIN the inner one; then write a value in its place, and EXPLAIN the outer one").At(c.Waits)
	}
	if err := s.bindable(ctx, c, args); err != nil {
		return nil, nil, err
	}
	filled, err = s.Cut(ctx, st, args, func(inner *around.Statement) (*around.Result, error) {
		r, err := s.Run(ctx, Surrounded{Statement: inner}, args)
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
func (s Surroundings) check(ctx context.Context, args []query.Value) around.Asked {
	return func(inner *around.Statement) (*around.Result, error) {
		c, err := s.Cut(ctx, Surrounded{Statement: inner}, args, s.check(ctx, args))
		if err == nil {
			err = s.bindable(ctx, c, args)
		}
		return &around.Result{Columns: make([]around.ResultColumn, 1), Rows: [][]any{{nil}}}, err
	}
}

// bindable refuses a statement that cannot be bound. Nothing is charged.
func (s Surroundings) bindable(ctx context.Context, c *Divided, args []query.Value) error {
	var columns [][]Column
	if len(c.cores) > 0 {
		var err error
		if columns, err = s.Bind(ctx, c.Asks); err != nil {
			return err
		}
	}
	_, err := c.Compiled(ctx, columns, args)
	return err
}

// explain explains a statement: the ways to answer its private aggregates, and what SQLite runs.
func (s Surroundings) explain(ctx context.Context, c *Divided, args []query.Value) (*Result, error) {
	out := Explanation("REAL")
	out.Price = &Price{Known: true}
	var columns [][]Column
	if len(c.cores) > 0 {
		var err error
		if out, columns, err = s.Explain(ctx, c.Asks); err != nil {
			return nil, err
		}
	}
	compiled, err := c.Compiled(ctx, columns, args)
	if err != nil {
		return nil, err
	}
	if out.Explain(c.explained(compiled)...); c.Rest.Full {
		out.Brief = nil
	}
	return out, nil
}

// Divided is a statement that is cut: its private aggregates, and what reads them.
type Divided struct {
	Asks     []Selection       // its private aggregates
	Rest     *around.Statement // what is around them
	From     around.Source     // what that reads
	Waits    int               // where the first aggregate is that waits for the answers of others; 0 for none
	cores    []around.Core     // Asks, before they were parsed
	database *around.Database
}

// Cut divides a statement by what is private now. Sub-selects of public tables inside its
// aggregates are run, and those around other private aggregates are answered by asked; without
// it nothing is charged, see around.Database.Resolve.
func (s Surroundings) Cut(ctx context.Context, st Surrounded, args []query.Value, asked around.Asked) (*Divided, error) {
	c := &Divided{Rest: st.Statement, From: s.From, database: s.Database}
	if !s.NamePrivate(st.Tables) {
		return c, s.public(st.Tables)
	}
	cores, left, err := st.Cut(s.Columns)
	if err != nil {
		return nil, st.refusal(err)
	}
	if err := s.public(left.Tables); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(cores, around.Core.Waits); i >= 0 {
		c.Waits = cores[i].Position
	}
	if c.cores, err = s.Database.Resolve(ctx, cores, c.From, args, asked); err != nil {
		return nil, err
	}
	c.Rest = left
	for i := range c.cores {
		sel, err := c.cores[i].Select()
		if err != nil {
			return nil, st.refusal(err)
		}
		c.Asks = append(c.Asks, Selection{Select: sel, Args: args[:min(len(args), sel.Parameters)]})
	}
	return c, nil
}

// NamePrivate reports whether one of several tables is private.
func (s Surroundings) NamePrivate(tables []syntax.Name) bool {
	return slices.ContainsFunc(tables, func(n syntax.Name) bool {
		_, private := s.Columns(n)
		return private
	})
}

// public refuses tables that are not public.
func (s Surroundings) public(tables []syntax.Name) error {
	for _, t := range tables {
		if err := s.Public(t); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns the error for a statement that cannot be cut. What the front end says fits a
// statement of one SELECT.
func (st Surrounded) refusal(err error) error {
	if st.Why != nil && !st.Nested() {
		return st.Why
	}
	return err
}

// Compiled compiles the surroundings for aggregates with the given columns, and returns the columns of the result.
func (c *Divided) Compiled(ctx context.Context, columns [][]Column, args []query.Value) ([]around.ResultColumn, error) {
	c.From.Cores = nil
	for i := range columns {
		c.From.Cores = append(c.From.Cores, tableOf(&c.cores[i], columns[i], nil))
	}
	out, lineage, err := c.database.Compile(ctx, c.Rest, c.From, args)
	c.From.Lineage = lineage
	return out, err
}

// fill makes the tables of the cores from their answers.
func (c *Divided) fill(answers Joint, confidence float64) {
	c.From.Cores, c.From.Confidence = nil, confidence
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
		c.From.Cores = append(c.From.Cores, t)
	}
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

// ShownColumns returns the columns of a result of SQLite's.
func ShownColumns(columns []around.ResultColumn) (out []Column) {
	for _, c := range columns {
		out = append(out, Column(c))
	}
	return out
}

// explained returns the rows of EXPLAIN for what SQLite runs: that it is free, and the types
// of its columns, which are known before it runs.
func (c *Divided) explained(columns []around.ResultColumn) [][]any {
	names, types := make([]string, len(c.Rest.Tables)), make([]string, len(columns))
	for i, t := range c.Rest.Tables {
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
