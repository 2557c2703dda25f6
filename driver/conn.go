package driver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"

	"dpsql/engine"
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
	texts   bool           // dates and timestamps are texts in rows
	logger  *slog.Logger   // gets warnings; may be nil
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
	c.session.SetFree(false)
	return nil
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx begins a transaction that buys and changes nothing: free answers come as outside of one. Any other is refused,
// because a charge cannot be rolled back.
func (c *conn) BeginTx(_ context.Context, o driver.TxOptions) (driver.Tx, error) {
	if !o.ReadOnly {
		return nil, sqlerr.New(sqlerr.Unsupported, "what an answer costs is spent at once: only a read-only transaction can begin").
			WithHint("run the statement on the sql.DB, or begin with sql.TxOptions{ReadOnly: true} for free answers")
	}
	if o.Isolation > driver.IsolationLevel(sql.LevelReadCommitted) {
		return nil, sqlerr.New(sqlerr.Unsupported, "a transaction sees what other programs release: it is read committed").
			WithHint("begin with sql.TxOptions{ReadOnly: true}")
	}
	c.session.SetFree(true)
	return tx{c}, nil
}

// tx is a read-only transaction. Its end is the same either way.
type tx struct{ conn *conn }

func (t tx) Commit() error { return t.Rollback() }

func (t tx) Rollback() error {
	t.conn.session.SetFree(false)
	return nil
}

func (c *conn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

// PrepareContext parses the statement. Running it does not parse it again.
func (c *conn) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	p, err := engine.Prepare(text)
	if err == nil {
		err = lost(p)
	}
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

// run runs a statement under the settings of the context, and keeps its answer.
func (c *conn) run(ctx context.Context, p *engine.Prepared, args []driver.NamedValue) (*engine.Result, error) {
	c.last = nil
	if _, _, sets := p.Setting(); !sets {
		restore, err := c.set(ctx)
		if err != nil {
			return nil, hinted(err)
		}
		defer restore()
	}
	p, values, err := c.fill(ctx, p, args)
	if err != nil {
		return nil, err
	}
	r, err := c.session.ExecPrepared(ctx, p, values)
	if err != nil {
		return nil, hinted(err)
	}
	c.last = r.Answer
	if c.logger != nil {
		for _, w := range r.Warnings {
			c.logger.WarnContext(ctx, w)
		}
	}
	if report := callOf(ctx).report; report != nil {
		report(r)
	}
	return r, nil
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
	return &rows{result: r, texts: s.conn.texts}, nil
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
