package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"dpsql/engine"
	"dpsql/server/pgcatalog"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// arguments returns the arguments that a client sent.
func (st *statement) arguments(sent []any) (a arguments, err error) {
	if st.asked != nil || st.prepared == nil {
		return arguments{sent: sent}, nil
	}
	args := make([]any, len(sent))
	for i, v := range sent {
		if st.shape(i) == syntax.ArrayShape {
			args[i], err = decodeArray(st.types[i], v)
		} else {
			args[i], err = decode(st.types[i], v)
		}
		if err != nil {
			return a, failure("22P02", "parameter $%d: %v", i+1, err)
		}
	}
	a.prepared, a.values, err = st.prepared.Fill(args)
	return a, err
}

// shaped reports whether a parameter is more than a value.
func (st *statement) shaped() bool { return st.prepared != nil && st.prepared.Shapes() != nil }

// shape returns what a parameter stands for.
func (st *statement) shape(parameter int) syntax.ShapeKind {
	if !st.shaped() {
		return syntax.ValueShape
	}
	return st.prepared.Shapes()[parameter].Kind
}

// newStatement parses a statement. types are those that the client gave for the parameters; 0
// is one that it left open. Nothing is executed. One that is refused is written to the log.
func (c *conn) newStatement(text string, types []uint32) (*statement, error) {
	var st *statement
	err := c.work(func(ctx context.Context) (err error) {
		st, err = c.readStatement(ctx, text, types)
		return err
	})
	if err != nil {
		c.audit(&statement{text: text}, new(engine.Result), err)
	}
	return st, err
}

// readStatement finds whose a statement is, from its tokens and, if it is a query in PostgreSQL's
// dialect, its tree.
func (c *conn) readStatement(ctx context.Context, text string, types []uint32) (*statement, error) {
	tokens, dialect := lexText(text)
	st := &statement{text: text, words: firstWords(tokens, 3)}
	if len(tokens) == 1 {
		return st, nil // the end
	}
	var err error
	if st.verb, err = parseVerb(c.verbs, text, tokens); err != nil || st.verb != nil {
		return st, err
	}
	if dialect == syntax.Postgres {
		if done, err := c.readQuestion(ctx, st, tokens, types); done || err != nil {
			return st, err
		}
	}
	if st.prepared, err = engine.Prepare(text); err == nil {
		err = st.takeIntervals(types)
	}
	if err != nil {
		return nil, unknownSetting(st, err)
	}
	return st, c.learnTypes(ctx, st, types)
}

// takeIntervals reads a statement again where a parameter's type says that it is an interval, and its text does not.
func (st *statement) takeIntervals(types []uint32) (err error) {
	intervals := make([]bool, len(st.prepared.Parameters()))
	if !slices.Contains(types, oidInterval) || len(types) > len(intervals) {
		return nil
	}
	for i, t := range types {
		intervals[i] = t == oidInterval
	}
	st.prepared, err = st.prepared.Intervals(intervals)
	return err
}

// readQuestion reads a question about the catalog, or about the columns of a table. It is not done
// if the statement is none.
func (c *conn) readQuestion(ctx context.Context, st *statement, tokens []syntax.Token, types []uint32) (done bool, err error) {
	q, err := pgcatalog.Parse(tokens)
	asks := pgcatalog.Asks(tokens, q)
	switch {
	case q == nil && asks:
		return true, err
	case q == nil:
		return false, nil
	case asks || pgcatalog.Alone(tokens, q):
		if st.asked, err = c.ask(ctx, st.text, q, types); err == nil {
			st.types = st.asked.statement.Parameters
		}
		if asks || err == nil {
			return true, err
		}
	}
	if table := emptyOf(q); table != "" {
		if columns, err := c.emptyColumns(ctx, table); err == nil && columns != nil {
			st.verb = &verb{verbForm: noRows, word: "SELECT", name: table}
		}
	}
	return st.verb != nil, nil
}

// learnTypes finds the types of the parameters of a statement of the engine. types are those that the
// client gave.
func (c *conn) learnTypes(ctx context.Context, st *statement, types []uint32) error {
	inferred, err := c.session.ParameterTypes(ctx, st.prepared)
	if err != nil {
		return err
	}
	st.types = make([]uint32, len(inferred))
	if len(types) > len(st.types) {
		return failure("08P01", "types are given for %d parameters, and the statement has %d", len(types), len(st.types))
	}
	moments := zoned(st.text)
	for i := range st.types {
		list := st.shape(i) == syntax.ArrayShape
		if st.types[i] = oids[inferred[i]]; slices.Contains(moments, i+1) {
			st.types[i] = oidTimestampTZ
		}
		switch {
		case list:
			st.types[i] = pgcatalog.ArrayOf(st.types[i])
		case st.shape(i) == syntax.IntervalShape:
			st.types[i] = oidInterval
		}
		if i < len(types) && types[i] != 0 && types[i] != oidUnknown {
			st.types[i] = types[i]
		}
		if one := pgcatalog.ElementOf(st.types[i]); !list && !known(st.types[i]) || list && !(known(one) && pgcatalog.ArrayOf(one) == st.types[i]) {
			return failure("0A000", "parameter $%d has type %d, which is not taken", i+1, st.types[i]).
				withHint("the types are int2, int4, int8, float4, float8, numeric, text, varchar, bool, date, time, timestamp, timestamptz and interval, and behind = ANY arrays of these")
		}
	}
	return nil
}

// zoned returns the numbers of the parameters that are written as $1::timestamptz. A client sends these with their zone,
// which it leaves out of a timestamp.
func zoned(text string) (all []int) {
	tokens, _ := lexText(text)
	for i := 2; i < len(tokens)-1; i++ {
		cast := tokens[i-2].Kind == syntax.KindParameter && (tokens[i-1].Matches("::") || tokens[i-1].Matches("AS"))
		if cast && (tokens[i].Matches("TIMESTAMPTZ") || tokens[i].Matches("TIMESTAMP") && tokens[i+1].Matches("WITH")) {
			all = append(all, tokens[i-2].Parameter)
		}
	}
	return all
}

// unknownSetting returns the error for SHOW of what is neither a setting nor a list.
func unknownSetting(st *statement, err error) error {
	var e *sqlerr.Error
	if len(st.words) > 1 && st.words[0] == "SHOW" && errors.As(err, &e) {
		return failure("42704", "unrecognized configuration parameter %q", syntax.LowerASCII(st.words[1])).withHint(e.Hint)
	}
	return err
}

// columnsOf returns the columns that a statement will have, none if it has no rows.
func (c *conn) columnsOf(st *statement, args arguments) ([]column, error) {
	switch {
	case st.empty():
		return nil, nil
	case st.verb != nil && st.verb.columns == nil:
		return nil, nil
	case st.verb != nil:
		return st.verb.columns(c, st.verb)
	case st.asked != nil:
		return st.asked.columns(), nil
	}
	var columns []engine.Column
	err := c.work(func(ctx context.Context) (err error) {
		columns, err = c.session.Columns(ctx, cmp.Or(args.prepared, st.prepared), args.values)
		return err
	})
	return columnsFor(columns), err
}

// queryIn returns the query inside a statement, which has rows and no parameters.
func (c *conn) queryIn(v *verb, what string) (*statement, error) {
	st, err := c.newStatement(strings.Clone(v.inner), nil)
	if err == nil && (!st.query() || len(st.types) > 0) {
		err = failure("42601", "%s needs a query without parameters", what)
	}
	if err != nil {
		return nil, err
	}
	columns, err := c.columnsOf(st, arguments{})
	if err == nil && len(columns) == 0 {
		err = failure("42601", "%s needs a query", what)
	}
	return st, err
}

// moved gives an error of a statement within another the position in the whole text.
func moved(err error, v *verb) error {
	if v.innerAt == 0 {
		return err
	}
	at := func(position int) int { return position + v.innerAt }
	if e, ok := err.(*stateError); ok {
		if e.position > 0 {
			return e.at(at(e.position))
		}
		return e
	}
	return sqlerr.Move(err, at)
}

// commanded refuses a command of a shell.
func commanded(in engine.Input) error {
	return failure("42601", `syntax error at "%s"`, in.Text[:1]).at(1).withHint("lines that begin with a point or a backslash are commands of a shell")
}
