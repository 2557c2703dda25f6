package driver

import (
	"context"
	"database/sql/driver"
	"slices"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Answerer is what sql.Conn.Raw passes for connections of this driver. It describes
// an answer beyond its rows:
//
//	err := conn.Raw(func(c any) error {
//		answer = c.(driver.Answerer).LastAnswer()
//		return nil
//	})
type Answerer interface {
	// LastAnswer describes the last answer on this connection: its margins in
	// counts, its origin and its cost. It is nil if the last statement failed or
	// was not an answer.
	LastAnswer() *engine.Answer
}

// conn is a connection. It has a session, and database/sql uses it from one
// goroutine at a time.
type conn struct {
	session *engine.Session
	last    *engine.Answer // of the last statement; nil if that was not an answer
}

var (
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.NamedValueChecker  = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ Answerer                  = (*conn)(nil)
)

// LastAnswer implements Answerer.
func (c *conn) LastAnswer() *engine.Answer { return c.last }

func (c *conn) Close() error { return nil }

// Ping reaches nothing, because the file is open.
func (c *conn) Ping(ctx context.Context) error { return ctx.Err() }

// ResetSession restores the settings of the data source name.
func (c *conn) ResetSession(context.Context) error {
	c.last = nil
	c.session.Reset()
	return nil
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx returns an error, because a charge cannot be rolled back.
func (c *conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return nil, sqlerr.New(sqlerr.Unsupported, "there are no transactions: what an answer costs is spent at once").
		WithHint("run the statement on the sql.DB or on a sql.Conn")
}

func (c *conn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

// PrepareContext parses the statement. Running it does not parse it again.
func (c *conn) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	p, err := engine.Prepare(text)
	if err != nil {
		return nil, err
	}
	return &statement{c, p}, nil
}

func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.last = nil
	st, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.(*statement).QueryContext(ctx, args)
}

func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.last = nil
	st, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.(*statement).ExecContext(ctx, args)
}

// run runs a statement and keeps its answer.
func (c *conn) run(ctx context.Context, p *engine.Prepared, args []driver.NamedValue) (*engine.Result, error) {
	c.last = nil
	values, err := arguments(p.Parameters(), args)
	if err != nil {
		return nil, err
	}
	r, err := c.session.ExecPrepared(ctx, p, values)
	if err == nil {
		c.last = r.Answer
	}
	return r, err
}

// CheckNamedValue converts an argument to a value of the dialect: a number, a text or NULL.
func (c *conn) CheckNamedValue(nv *driver.NamedValue) error {
	if v, ok := nv.Value.(query.Value); ok {
		nv.Value = v
		return nil
	}
	plain, err := driver.DefaultParameterConverter.ConvertValue(nv.Value)
	if err != nil {
		return unusable(nv)
	}
	if b, ok := plain.([]byte); ok {
		plain = string(b)
	}
	value, ok := query.Argument(plain)
	if !ok {
		return unusable(nv)
	}
	nv.Value = value
	return nil
}

func unusable(nv *driver.NamedValue) error {
	return sqlerr.New(sqlerr.Invalid, "argument %d has type %T, which no column holds", nv.Ordinal, nv.Value).
		WithHint("pass a number, a string, a bool or nil")
}

// arguments returns the values of a statement's parameters in their order.
// Either all arguments have a name, as sql.Named gives it, or none has.
func arguments(names []string, args []driver.NamedValue) ([]query.Value, error) {
	named := slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name != "" })
	if named {
		return byName(names, args)
	}
	values := make([]query.Value, len(args))
	for i, a := range args {
		values[i] = a.Value.(query.Value)
	}
	return values, nil
}

// byName puts named arguments in the order of the statement's parameters.
func byName(names []string, args []driver.NamedValue) ([]query.Value, error) {
	if slices.Contains(names, "") || slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name == "" }) {
		return nil, sqlerr.New(sqlerr.Invalid, "arguments with and without names are mixed").
			WithHint("write :name and pass sql.Named, or ? and pass the values in order")
	}
	values, given := make([]query.Value, len(names)), make([]bool, len(names))
	for _, a := range args {
		i := slices.Index(names, a.Name)
		switch {
		case i < 0:
			return nil, sqlerr.New(sqlerr.Invalid, "the statement has no parameter :%s", a.Name)
		case given[i]:
			return nil, sqlerr.New(sqlerr.Invalid, "the argument %s is given twice", a.Name)
		}
		values[i], given[i] = a.Value.(query.Value), true
	}
	if i := slices.Index(given, false); i >= 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "the parameter :%s has no argument", names[i]).
			WithHint("pass sql.Named(%q, value)", names[i])
	}
	return values, nil
}

// statement is a prepared statement.
type statement struct {
	conn     *conn
	prepared *engine.Prepared
}

func (s *statement) Close() error  { return nil }
func (s *statement) NumInput() int { return len(s.prepared.Parameters()) }

func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r, err := s.conn.run(ctx, s.prepared, args)
	if err != nil {
		return nil, err
	}
	return &rows{result: r}, nil
}

func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if _, err := s.conn.run(ctx, s.prepared, args); err != nil {
		return nil, err
	}
	return driver.ResultNoRows, nil
}

// Query and Exec are never called, because database/sql prefers the methods with a
// context.
func (s *statement) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }
func (s *statement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
