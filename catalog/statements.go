package catalog

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	sqlite "modernc.org/sqlite"
)

// connector opens connections that keep their statements.
type connector struct{ driver.Connector }

func newConnector(dsn string) (driver.Connector, error) {
	c, err := sqlite.NewConnector(dsn)
	return connector{c}, err
}

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := opened.(sqliteConn)
	if !ok {
		opened.Close()
		return nil, errors.New("the SQLite driver has other connections than expected")
	}
	return &keeping{sqliteConn: conn, idle: make(map[string]driver.Stmt), name: new(connection)}, nil
}

// sqliteConn is what a connection of the driver can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keeping is a connection that keeps the statements it has compiled. Compiling
// takes a third of the time of the short transactions of which the catalog's
// work is made, and their texts are few. database/sql lets one goroutine at a
// time use a connection.
type keeping struct {
	sqliteConn
	idle map[string]driver.Stmt // by text; not those of rows that are open
	name *connection
}

// connection stands for a connection and holds nothing of it: the numbers of
// one say nothing about those of another.
type connection struct{ _ byte }

const (
	maxIdle = 256  // statements kept
	maxKept = 4096 // bytes of the text of one that is
)

// keeps reports whether a text is kept: it is short, one statement, and of a
// kind that SQLite compiles again by itself when the schema has changed. EXPLAIN,
// which says what a view reads, is not: what was compiled is its result.
func keeps(text string) bool {
	if len(text) > maxKept || strings.Contains(text, ";") {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), " ")
	switch first {
	case "SELECT", "INSERT", "UPDATE", "DELETE":
		return true
	}
	return false
}

// statement is a compiled statement in use.
type statement struct {
	driver.Stmt
	of   *keeping
	text string
}

// take returns the statement of the text, compiled if need be.
func (k *keeping) take(ctx context.Context, text string) (statement, error) {
	s, ok := k.idle[text]
	if ok {
		delete(k.idle, text)
		return statement{s, k, text}, nil
	}
	s, err := k.PrepareContext(ctx, text)
	return statement{s, k, text}, err
}

// leave gives the statement back, unless it failed.
func (s statement) leave(err error) error {
	_, twice := s.of.idle[s.text]
	if open := s.of.idle != nil; err == nil && open && !twice && len(s.of.idle) < maxIdle {
		s.of.idle[s.text] = s.Stmt
		return nil
	}
	return errors.Join(err, s.Close())
}

// ExecContext is that of the connection.
func (k *keeping) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if !keeps(text) {
		return k.sqliteConn.ExecContext(ctx, text, args)
	}
	s, err := k.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		s.Close()
		return nil, err
	}
	return result, s.leave(nil)
}

// QueryContext is that of the connection.
func (k *keeping) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if !keeps(text) {
		return k.sqliteConn.QueryContext(ctx, text, args)
	}
	s, err := k.take(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		s.Close()
		return nil, err
	}
	return &keptRows{rows, s}, nil
}

// dataVersion asks SQLite's data_version. Every statement begins with it, so it
// goes past database/sql.
func (k *keeping) dataVersion(ctx context.Context) (int64, error) {
	s, err := k.take(ctx, `PRAGMA data_version`)
	if err != nil {
		return 0, err
	}
	var got [1]driver.Value
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, nil)
	if err == nil {
		err = errors.Join(rows.Next(got[:]), rows.Close())
	}
	if err := s.leave(err); err != nil {
		return 0, err
	}
	data, ok := got[0].(int64)
	if !ok {
		return 0, errors.New("data_version is not a number")
	}
	return data, nil
}

// Close closes the connection and its statements.
func (k *keeping) Close() error {
	var errs []error
	for _, s := range k.idle {
		errs = append(errs, s.Close())
	}
	k.idle = nil
	return errors.Join(append(errs, k.sqliteConn.Close())...)
}

// keptRows gives its statement back when it is closed.
type keptRows struct {
	driver.Rows
	statement statement
}

// Close ends the rows.
func (r *keptRows) Close() error { return r.statement.leave(r.Rows.Close()) }
