package engine

import (
	"context"

	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// Type is the type of a column of a result or of a parameter, by the name that PostgreSQL has for
// it. It follows from a statement's text and from the declarations of its tables.
type Type = query.SQLType

// The types. Type.ValueOf converts values of a result to them, and Type.Parse texts of arguments.
const (
	Int8      = query.SQLInt8
	Float8    = query.SQLFloat8
	Numeric   = query.SQLNumeric
	Text      = query.SQLText
	Bool      = query.SQLBool
	Date      = query.SQLDate
	Timestamp = query.SQLTimestamp
	Time      = query.SQLTime
)

// Columns returns the columns that a statement will have, without running it. They are those that
// its Result has, whatever its arguments are, except that Type is "" where it depends on the rows:
// an expression around aggregates may have an integer in one row and a text in another. Without
// all arguments none is looked at. A statement without rows has no columns.
//
// Nothing is charged, and no private row is read. Public tables may be: a sub-select of these that
// stands inside an aggregate is run. A statement that is refused when it is bound, or that the
// session may not run, is refused here as there.
func (s *Session) Columns(ctx context.Context, p *Prepared, args []query.Value) ([]Column, error) {
	d, err := s.describeStatement(ctx, p, args)
	if err != nil {
		return nil, public(ctx, err)
	}
	return d.columns, nil
}

// ParameterTypes returns the type of each parameter of a statement, from where it stands: beside a
// column it has the column's. The first use that tells the type decides, as in PostgreSQL. Where
// none does it is Text. Arguments of these types, as Type.Parse and query.Argument make them, mean
// what the literals do that they stand for. It charges and reads as little as Columns does.
func (s *Session) ParameterTypes(ctx context.Context, p *Prepared) ([]Type, error) {
	if len(p.Parameters()) == 0 {
		return nil, nil
	}
	d, err := s.describeStatement(ctx, p, nil)
	if err != nil {
		return nil, public(ctx, err)
	}
	for i := range d.parameters {
		if d.parameters[i] == "" {
			d.parameters[i] = Text
		}
	}
	return d.parameters, nil
}

// description is what is known of a statement before it runs.
type description struct {
	columns    []Column
	parameters []Type // "" where it is not known
}

// describeStatement binds a statement. Without all arguments they are not known.
func (s *Session) describeStatement(ctx context.Context, p *Prepared, args []query.Value) (d description, err error) {
	if s.by.err != nil {
		return d, s.by.err
	}
	described := len(args) < len(p.Parameters())
	if described {
		args = make([]query.Value, len(p.Parameters()))
	}
	explained := func(d description, err error) (description, error) {
		d.columns = released.ExplanationColumns()
		return d, err
	}
	if p.read.Query != nil {
		if d, err = s.describeQuery(ctx, p, args, described); p.read.Explain {
			return explained(d, err)
		}
		return d, err
	}
	if p.read.Statement == nil { // its arguments are literals of any type
		d.parameters = make([]Type, len(args))
		switch first := p.read.Tokens[0]; {
		case first.Matches("EXPLAIN"):
			return explained(d, s.curatorOnly("explain a declaration"))
		case first.Matches("ADVISE"):
			return description{advisedColumns(), d.parameters}, s.curatorOnly("ask for advice")
		}
		return d, nil
	}
	if len(args) > 0 {
		return d, errNoArguments
	}
	switch st := p.read.Statement.(type) {
	case *syntax.Show:
		return description{columns: columnsOfList(st)}, s.mayList(st)
	case *syntax.Describe:
		v, err := s.current(ctx)
		if err == nil {
			_, err = v.Table(st.Table.Text, st.Table.Position)
		}
		return description{columns: released.DescribedColumns()}, err
	case *syntax.ExplainCreate:
		return explained(d, s.curatorOnly("explain a declaration"))
	case *syntax.Advise:
		return description{columns: advisedColumns()}, s.curatorOnly("ask for advice")
	}
	return d, nil
}

// plain are the types that people see where Column.Type says what SQLite has.
var plain = map[Type]Type{Int8: Int8, Bool: Int8, Float8: Float8, Numeric: Float8, Text: Text, Date: Text, Timestamp: Text, Time: Text}

// describeQuery binds a query: the private aggregate that it is, or those in it.
func (s *Session) describeQuery(ctx context.Context, p *Prepared, args []query.Value, described bool) (description, error) {
	return released.Either(p.query(), func(sel *syntax.Select) (description, error) {
		return s.describeSelect(ctx, released.Selection{Select: sel, Args: args, Described: described})
	}, func(st released.Surrounded) (description, error) { return s.describeAround(ctx, st, args, described) })
}

// describeSelect binds a private aggregate.
func (s *Session) describeSelect(ctx context.Context, sel released.Selection) (description, error) {
	v, err := s.current(ctx)
	if err != nil {
		return description{}, err
	}
	bound, err := s.db.answers.Bind(ctx, s.asker(), v, []released.Selection{sel})
	if err != nil {
		return description{}, err
	}
	d := description{bound.Columns()[0], bound.Parameters()[0]}
	for i, c := range d.columns {
		if sel.Described && released.ColumnOf("", c.Type).SQL != plain[c.SQL] {
			d.columns[i].Type = "" // that of an argument
		}
	}
	return d, nil
}

// describeAround binds the private aggregates of a statement, and compiles what is around them.
func (s *Session) describeAround(ctx context.Context, st released.Surrounded, args []query.Value, described bool) (description, error) {
	v, err := s.current(ctx)
	if err != nil {
		return description{}, err
	}
	d := description{parameters: make([]Type, len(args))}
	inside := func(inner *around.Statement) (*around.Result, error) {
		of, err := s.describeAround(ctx, released.Surrounded{Statement: inner}, args, described)
		d.learn(of.parameters)
		return &around.Result{Columns: make([]around.ResultColumn, 1), Rows: [][]any{{nil}}}, err
	}
	c, err := s.surroundings(v).Cut(ctx, st, args, inside)
	if err != nil {
		return description{}, err
	}
	var columns [][]Column
	if len(c.Asks) > 0 {
		for i := range c.Asks {
			c.Asks[i].Described = described
		}
		bound, err := s.db.answers.Bind(ctx, s.asker(), v, c.Asks)
		if err != nil {
			return d, err
		}
		columns = bound.Columns()
		for _, types := range bound.Parameters() {
			d.learn(types)
		}
	}
	compiled, err := c.Compiled(ctx, columns, args)
	if err != nil {
		return d, err
	}
	d.columns = released.ShownColumns(compiled)
	if len(args) == 0 {
		return d, nil
	}
	types, err := s.db.around.database.Parameters(ctx, c.Rest, c.From, len(args))
	d.learn(types)
	return d, err
}

// learn notes the types of parameters that are not known.
func (d *description) learn(types []Type) {
	for i, typ := range types {
		if d.parameters[i] == "" {
			d.parameters[i] = typ
		}
	}
}
