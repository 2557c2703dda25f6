package catalog

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

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

// createFile makes the empty database, readable by its owner only, unless it
// exists.
func (s *Store) createFile() error {
	exists, err := s.identify()
	if err != nil || exists {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(s.path), newFile) // mode 0600
	if err != nil {
		return fileError("create", s.path, err)
	}
	defer os.Remove(temp.Name())
	if err := temp.Close(); err != nil {
		return fileError("create", s.path, err)
	}
	if err := placeNew(temp.Name(), s.path); err != nil && !os.IsExist(err) {
		return fileError("create", s.path, err)
	}
	os.Remove(temp.Name()) // now, so that the file has one name
	_, err = s.identify()
	return err
}

// placeNew gives the finished file temp the name path, unless that name is
// taken (os.IsExist). Another process never sees a half-made file.
func placeNew(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil || os.IsExist(err) {
		return err
	}
	// A file system without hard links: claim the name, then replace it.
	claim, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := claim.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}
