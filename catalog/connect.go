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

// dsn names the file in the driver's syntax. SQLite reads mode and immutable only
// after a "file:" prefix. The path is escaped so that '?', '#' and '%' stay part of
// the name.
func dsn(path string, wait time.Duration, parameters ...string) string {
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' {
		slashed = "/" + slashed // a Windows drive
	}
	text := "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?_pragma=" + pragma("busy_timeout", milliseconds(wait)) + "&_pragma=" + spill(filepath.Dir(path))
	for _, p := range parameters {
		text += "&" + p
	}
	return text
}

// spill is the pragma for what a statement does not hold in memory, such as a sort of rows. SQLite writes it
// beside the file, of which it has rows, and not to a folder of all users. There it has mode 600, and no
// name from the moment it is made. Where nothing can be written it stays in memory.
func spill(dir string) string {
	if !writable(dir) {
		return pragma("temp_store", "memory")
	}
	return pragma("temp_store_directory", "'"+strings.ReplaceAll(dir, "'", "''")+"'")
}

func pragma(name, value string) string { return url.QueryEscape(name + "(" + value + ")") }

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(0, d.Milliseconds()), 10)
}

// writerPool returns the pool of the one connection that writes. Its transactions
// are immediate: a deferred transaction that reads and then writes fails for good
// when another process wrote in between. Its commits are FULL: a charge must
// survive a power cut before its answer leaves.
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
	if err := s.checkNotMounted(); err != nil {
		return nil, err
	}
	pool, err := openPool(dsn(s.path, s.options.BusyTimeout, "mode=rw", "_txlock=immediate",
		"_pragma="+pragma("foreign_keys", "1"),
		"_pragma="+pragma("secure_delete", "1"), // see Erase
		"_pragma="+pragma("journal_mode", s.journal),
		"_pragma="+pragma("synchronous", "full")), 1)
	s.writer = pool
	return pool, err
}

// readerPool returns the pool of the connections that read. A writable file is
// opened read-write with query_only. A connection in mode=ro may not remove the
// side files of a WAL database, and would leave them behind.
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

// snapshot is a read transaction.
type snapshot struct {
	tx      *sql.Tx
	version int
	check   func() error // called at the end; fails if the file changed during the transaction
	close   func()
}

// openSnapshot begins a read transaction on the file. If there is no file, it reads an
// empty database in memory. If SQLite can neither find nor make the shared memory that
// WAL mode needs, it reads the file as one that does not change.
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
	version, err := s.readVersion(ctx, tx) // its first read fixes the snapshot
	if err != nil {
		tx.Rollback()
		return nil, err
	}
	return &snapshot{tx: tx, version: version, check: func() error { return nil }, close: func() {}}, nil
}

// privateSnapshot begins a read transaction on a connection of its own.
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

// immutableSnapshot begins a read transaction without locks on a file that nobody
// is writing now. Since SQLite takes no locks, check compares the file before and
// after.
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

// needsSharedMemory reports whether SQLite could not read a WAL database because it
// may not write its directory.
func needsSharedMemory(err error) bool {
	code, ok := engineCode(err)
	return ok && (code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_CANTOPEN)
}

// connector opens connections that cache their statements.
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
	return &cachingConn{sqliteConn: conn, idle: make(map[string]driver.Stmt), name: new(connID)}, nil
}

// sqliteConn lists what a connection of the driver implements.
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

// cachingConn is a connection that caches compiled statements by their texts. There are
// few texts, and a firing of a mechanism executes dozens of short statements. Compiling
// them anew each time adds half to the processor time of the firing beyond its three
// commits: 3.6 ms became 5.5 ms at load 10 on two cores (BenchmarkFiring in engine).
// database/sql cannot hold prepared statements for the one connection that writes,
// since a transaction has that connection when it first meets their texts. Only one
// goroutine at a time uses a connection.
type cachingConn struct {
	sqliteConn
	idle map[string]driver.Stmt // by text, without the statements whose rows are open
	name *connID
}

// connID identifies a connection without keeping it alive. The data versions of one
// connection say nothing about those of another.
type connID struct{ _ byte }

const (
	maxIdle = 256  // statements in the cache of a connection
	maxKept = 4096 // bytes of the text of a cached statement
)

// cacheable reports whether a text is cached. It must be short, one statement, and of
// a kind that SQLite compiles again by itself when the schema has changed. EXPLAIN,
// which tells what a view reads, is not cached: its result is the compiled statement.
func cacheable(text string) bool {
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
	conn *cachingConn
	text string
}

// take removes the statement of the text from the cache, or compiles it.
func (k *cachingConn) take(ctx context.Context, text string) (statement, error) {
	s, ok := k.idle[text]
	if ok {
		delete(k.idle, text)
		return statement{s, k, text}, nil
	}
	s, err := k.PrepareContext(ctx, text)
	return statement{s, k, text}, err
}

// leave returns the statement to the cache. It closes the statement after an error, or
// if the cache already has one with its text.
func (s statement) leave(err error) error {
	_, twice := s.conn.idle[s.text]
	if open := s.conn.idle != nil; err == nil && open && !twice && len(s.conn.idle) < maxIdle {
		s.conn.idle[s.text] = s.Stmt
		return nil
	}
	return errors.Join(err, s.Close())
}

// ExecContext implements driver.ExecerContext.
func (k *cachingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if !cacheable(text) {
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

// QueryContext implements driver.QueryerContext.
func (k *cachingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if !cacheable(text) {
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
	return &cachingRows{rows, s}, nil
}

// dataVersion returns SQLite's data_version. Every statement of a user begins with
// it, so it bypasses database/sql.
func (k *cachingConn) dataVersion(ctx context.Context) (int64, error) {
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

// Close implements driver.Conn. It closes the cached statements too.
func (k *cachingConn) Close() error {
	var errs []error
	for _, s := range k.idle {
		errs = append(errs, s.Close())
	}
	k.idle = nil
	return errors.Join(append(errs, k.sqliteConn.Close())...)
}

// cachingRows gives its statement back when it is closed.
type cachingRows struct {
	driver.Rows
	statement statement
}

// Close implements driver.Rows.
func (r *cachingRows) Close() error { return r.statement.leave(r.Rows.Close()) }
