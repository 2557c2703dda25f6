package server

import (
	"context"
	"errors"
	"strings"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/server/pgcatalog"
	"dpsql/sqlerr"
)

// arguments returns the arguments that a client sent.
func (st *statement) arguments(sent []any) (a arguments, err error) {
	if st.asked != nil {
		return arguments{sent: sent}, nil
	}
	a.values = make([]query.Value, len(sent))
	for i, v := range sent {
		if a.values[i], err = decode(st.types[i], v); err != nil {
			return a, failure("22P02", "parameter $%d: %v", i+1, err)
		}
	}
	return a, nil
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

func (c *conn) readStatement(ctx context.Context, text string, types []uint32) (*statement, error) {
	st := &statement{text: text}
	one, err := only(text)
	if err != nil || one == "" {
		return st, err
	}
	if st.verb, err = parseVerb(one); err != nil || st.verb != nil {
		return st, err
	}
	if asks := pgcatalog.Asks(one); asks || pgcatalog.Alone(one) {
		if st.asked, err = c.ask(ctx, one, types); err == nil {
			st.types = st.asked.statement.Parameters
		}
		if asks || err == nil {
			return st, err
		}
	}
	if table := emptyOf(one); table != "" {
		if columns, err := c.emptyColumns(ctx, table); err == nil && columns != nil {
			st.verb = &verb{word: "SELECT", name: table}
			return st, nil
		}
	}
	if st.prepared, err = engine.Prepare(one); err != nil {
		return nil, unknownSetting(one, err)
	}
	inferred, err := c.session.ParameterTypes(ctx, st.prepared)
	if err != nil {
		return nil, err
	}
	st.types = make([]uint32, len(inferred))
	if len(types) > len(st.types) {
		return nil, failure("08P01", "types are given for %d parameters, and the statement has %d", len(types), len(st.types))
	}
	for i := range st.types {
		if st.types[i] = oids[inferred[i]]; i < len(types) && types[i] != 0 && types[i] != oidUnknown {
			st.types[i] = types[i]
		}
		if !known(st.types[i]) {
			return nil, failure("0A000", "parameter $%d has type %d, which is not taken", i+1, st.types[i]).
				withHint("the types are int2, int4, int8, float4, float8, numeric, text, varchar, bool, date and timestamp")
		}
	}
	return st, nil
}

// unknownSetting returns the error for SHOW of what is neither a setting nor a list.
func unknownSetting(text string, err error) error {
	var e *sqlerr.Error
	if words := firstWords(text, 2); len(words) == 2 && words[0] == "SHOW" && errors.As(err, &e) {
		return failure("42704", "unrecognized configuration parameter %q", strings.ToLower(words[1])).withHint(e.Hint)
	}
	return err
}

// columnsOf returns the columns that a statement will have, none if it has no rows.
func (c *conn) columnsOf(st *statement, args []query.Value) ([]column, error) {
	switch {
	case st.empty():
		return nil, nil
	case st.verb != nil:
		return c.verbColumns(st.verb)
	case st.asked != nil:
		return st.asked.columns(), nil
	}
	var columns []engine.Column
	err := c.work(func(ctx context.Context) (err error) {
		columns, err = c.session.Columns(ctx, st.prepared, args)
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
	columns, err := c.columnsOf(st, nil)
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

func dotted(position int) error {
	return failure("42601", `syntax error at "."`).at(position).withHint("commands that begin with a point belong to the dpsql shell")
}
