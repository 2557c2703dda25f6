package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/sqlerr"
)

// dsn names the file in the driver's syntax. The "file:" prefix is what makes
// SQLite read mode and immutable; the path is escaped so that '?', '#' and '%'
// stay part of the name.
func dsn(path string, wait time.Duration, parameters ...string) string {
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' {
		slashed = "/" + slashed // a Windows drive
	}
	text := "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?_pragma=" + pragma("busy_timeout", milliseconds(wait))
	for _, p := range parameters {
		text += "&" + p
	}
	return text
}

func pragma(name, value string) string { return url.QueryEscape(name + "(" + value + ")") }

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(0, d.Milliseconds()), 10)
}

// writerPool returns the one connection that writes. Immediate transactions,
// because a deferred one that reads and then writes can fail for good when
// another process wrote in between; FULL, because a charge must survive a power
// cut before its answer leaves.
func (s *Store) writerPool() (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer != nil {
		return s.writer, nil
	}
	if s.memory != "" {
		pool, err := openPool(s.memory+"&_txlock=immediate", 1)
		s.writer = pool
		return pool, err
	}
	if err := s.notMounted(); err != nil {
		return nil, err
	}
	pool, err := openPool(dsn(s.path, s.options.BusyTimeout, "mode=rw", "_txlock=immediate",
		"_pragma="+pragma("foreign_keys", "1"),
		"_pragma="+pragma("journal_mode", s.journal),
		"_pragma="+pragma("synchronous", "full")), 1)
	s.writer = pool
	return pool, err
}

// readerPool returns the connections that read. A writable file is opened
// read-write with query_only: a connection in mode=ro leaves the side files of a
// WAL database behind, since it may not remove them.
func (s *Store) readerPool() (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		return s.reader, nil
	}
	if s.memory != "" {
		pool, err := openPool(s.memory, 0)
		s.reader = pool
		return pool, err
	}
	mode := []string{"mode=ro"}
	if s.diskWritable() {
		mode = []string{"mode=rw", "_pragma=" + pragma("query_only", "1")}
	}
	pool, err := openPool(dsn(s.path, s.options.BusyTimeout, mode...), 0)
	s.reader = pool
	return pool, err
}

func openPool(name string, connections int) (*sql.DB, error) {
	c, err := newConnector(name)
	if err != nil {
		return nil, sqlerr.New(sqlerr.Internal, "the database engine did not start")
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(4)
	return pool, nil
}

// snapshot is a read transaction and what must happen when it is over.
type snapshot struct {
	tx      *sql.Tx
	version int
	check   func() error // whether what was read was one state of the file
	close   func()
}

// openSnapshot begins a read transaction: on the file, on an empty database in
// memory where there is no file, or on a file known not to change where SQLite
// can neither find nor make the shared memory that WAL mode needs.
func (s *Store) openSnapshot(ctx context.Context) (*snapshot, error) {
	exists, err := s.identify()
	if err != nil {
		return nil, err
	}
	if !exists {
		return s.privateSnapshot(ctx, "file::memory:")
	}
	pool, err := s.readerPool()
	if err != nil {
		return nil, err
	}
	snap, err := s.beginSnapshot(ctx, pool)
	if err == nil || !needsSharedMemory(err) || s.diskWritable() || s.walHasContent() {
		return snap, err
	}
	return s.immutableSnapshot(ctx)
}

func (s *Store) beginSnapshot(ctx context.Context, pool *sql.DB) (*snapshot, error) {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	version, err := readVersion(ctx, tx, s.latest()) // its first read fixes the snapshot
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	return &snapshot{tx: tx, version: version, check: func() error { return nil }, close: func() {}}, nil
}

// privateSnapshot reads through a connection of its own, opened for this once.
func (s *Store) privateSnapshot(ctx context.Context, name string) (*snapshot, error) {
	pool, err := openPool(name, 1)
	if err != nil {
		return nil, err
	}
	snap, err := s.beginSnapshot(ctx, pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	snap.close = func() { pool.Close() }
	return snap, nil
}

// immutableSnapshot reads a file that nobody is writing now. SQLite then takes
// no locks, so the file is compared before and after.
func (s *Store) immutableSnapshot(ctx context.Context) (*snapshot, error) {
	before, err := os.Stat(s.path)
	if err != nil {
		return nil, fileError("open", s.path, err)
	}
	snap, err := s.privateSnapshot(ctx, dsn(s.path, 0, "mode=ro", "immutable=1"))
	if err != nil {
		return nil, err
	}
	snap.check = func() error {
		after, err := os.Stat(s.path)
		if err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) || s.walHasContent() {
			return sqlerr.New(sqlerr.Busy, "another process began to write %s", s.path).WithHint("try again")
		}
		return nil
	}
	return snap, nil
}

func (s *Store) walHasContent() bool {
	info, err := os.Stat(s.path + "-wal")
	return err == nil && info.Size() > 0
}

// needsSharedMemory recognises how SQLite says that it cannot read a WAL
// database in a directory it may not write.
func needsSharedMemory(err error) bool {
	code, ok := engineCode(err)
	return ok && (code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_CANTOPEN)
}

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
