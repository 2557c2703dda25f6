// Package catalog stores everything dpsql persists: declared tables, releases,
// mechanisms with their histories, answers, and the accounts with their ledger.
// It lives in dpsql_* tables of the user's SQLite file, beside the raw tables.
//
// All access is by transactions. Store.Read runs a function on one snapshot,
// Store.Write runs one in a durable transaction, and the methods of Tx read and
// write records.
//
// The package promises:
//
//   - A Write that returned nil is on disk. A Write that did not leaves nothing.
//   - A Read sees one snapshot.
//   - The ledger is append-only and hash-chained. It never exceeds an account's
//     caps, however many goroutines and processes charge it.
//   - A record that was read is as it was written, and a listing is complete;
//     otherwise the error is Corrupt. See package ledger for how.
//
// It keeps no secrets from anyone who can read the file. It does not notice a file
// that was restored from an older backup together with its marks.
//
// Every error that leaves the package is a *sqlerr.Error. The text of SQLite's own
// errors is never quoted, since it can carry values of rows.
package catalog

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/catalog/internal/ledger"
	"dpsql/sqlerr"
)

// DefaultBusyTimeout bounds the wait for another process's lock.
const DefaultBusyTimeout = 5 * time.Second

// Options configures a Store. The zero value is a writable store with the default
// timeout.
type Options struct {
	ReadOnly    bool          // refuse every Write
	BusyTimeout time.Duration // how long to wait for other writers; 0 means DefaultBusyTimeout, below 0 no wait
}

// Store is an open catalog. Its methods may be called by several goroutines.
type Store struct {
	path     string // absolute, symbolic links resolved
	options  Options
	journal  string           // the journal mode of files this Store writes
	schema   []migration      // in order of their versions
	partSize int              // the most bytes of a stored part of a payload
	now      func() time.Time // the clock of ledger rows and creation dates
	writing  chan struct{}    // holds a token while this Store writes
	flights  sync.Map         // the *Flight of each digest that this Store has the right to, or waits for
	probe    probe
	erase    atomic.Bool // runs have ended since Erase
	memory   string      // SQLite's name of a copy in memory; "" for a file

	mu     sync.Mutex
	closed bool
	file   fs.FileInfo // which file this is; nil until it exists
	reader *sql.DB
	writer *sql.DB
	chain  *ledger.Chain // the committed ledger as far as this Store verified it; nil at first
	rows   rowsState
	marks  ledger.MarkFile
}

// Open opens the catalog of the SQLite file at path. It changes nothing on disk. A
// missing file is an empty catalog, which the first Write creates. Errors: IO for a
// directory or an unreadable file, Corrupt for a file that is not an SQLite
// database, Unsupported for a catalog of a newer dpsql or from before the first
// release, Cancelled.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	resolved, err := resolve(path)
	if err != nil {
		return nil, err
	}
	s := newStore(resolved, o)
	if err := s.Read(ctx, func(*Tx) error { return nil }); err != nil {
		s.Close()
		return nil, err
	}
	// An idle connection to a WAL database keeps two side files alive.
	s.closePools()
	return s, nil
}

func newStore(resolved string, o Options) *Store {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	return &Store{path: resolved, options: o, journal: "wal", schema: migrations, partSize: maxPart,
		now: time.Now, writing: make(chan struct{}, 1), probe: probe{turn: make(chan struct{}, 1)}}
}

// Path returns the absolute path of the database file.
func (s *Store) Path() string { return s.path }

// Missing reports whether there is no file at the path.
func (s *Store) Missing() bool {
	_, err := os.Stat(s.path)
	return os.IsNotExist(err)
}

// Close closes the connections. It does not wait for transactions. Later calls
// fail.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.closePools()
}

func (s *Store) closePools() error {
	s.probe.close()
	s.marks.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	var first error
	for _, pool := range []*sql.DB{s.writer, s.reader} {
		if pool == nil {
			continue
		}
		if err := pool.Close(); err != nil && first == nil {
			first = s.translate(context.Background(), err)
		}
	}
	s.writer, s.reader = nil, nil
	return first
}

// translate is the one place where SQLite's errors become dpsql's. SQLite's text is
// dropped, since it can quote values of rows.
func (s *Store) translate(ctx context.Context, err error) error {
	var known *sqlerr.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case ctx.Err() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		return fileError(file.Op, file.Path, err)
	}
	if _, ok := engineCode(err); ok {
		return s.engineError(err)
	}
	return sqlerr.New(sqlerr.Internal, "a step of the database engine failed")
}

func (s *Store) engineError(err error) error {
	code, _ := engineCode(err)
	if extendedCode(err) == sqlite3.SQLITE_IOERR_SHMSIZE {
		code = sqlite3.SQLITE_FULL // what stands beside the file did not get its space
	}
	switch code {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return s.busy()
	case sqlite3.SQLITE_READONLY:
		return s.readOnly()
	case sqlite3.SQLITE_INTERRUPT:
		return sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	case sqlite3.SQLITE_NOTADB:
		return sqlerr.New(sqlerr.Corrupt, "%s is not an SQLite database", s.path).
			WithHint("name an SQLite database, or a file that does not exist yet, which is made")
	case sqlite3.SQLITE_CORRUPT:
		return sqlerr.New(sqlerr.Corrupt, "the SQLite file %s is damaged", s.path)
	case sqlite3.SQLITE_FULL:
		return sqlerr.New(sqlerr.IO, "no space is left for %s", s.path).WithHint("free space on its disk")
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return sqlerr.New(sqlerr.IO, "%s cannot be opened", s.path).WithHint("check that the file and its directory exist and are readable")
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOLFS:
		return sqlerr.New(sqlerr.IO, "reading or writing %s failed", s.path).WithHint("check its disk; the system's log may tell why")
	case sqlite3.SQLITE_TOOBIG:
		return sqlerr.New(sqlerr.Invalid, "a value is larger than SQLite can store")
	}
	return sqlerr.New(sqlerr.Internal, "a step of the database engine failed (SQLite code %d)", extendedCode(err))
}

func (s *Store) busy() error {
	return sqlerr.New(sqlerr.Busy, "another process is writing %s", s.path).WithHint("try again")
}

func (s *Store) readOnly() error {
	if s.options.ReadOnly {
		return sqlerr.New(sqlerr.ReadOnly, "%s was opened for reading only", s.path)
	}
	return sqlerr.New(sqlerr.ReadOnly, "%s or its directory cannot be written", s.path)
}

// engineCode returns SQLite's primary result code. It reports false for other errors.
func engineCode(err error) (int, bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code() & 0xff, true
}

func extendedCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}

// fileError names the file and the system's reason, never file contents.
func fileError(verb, path string, err error) *sqlerr.Error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return sqlerr.New(sqlerr.IO, "cannot %s %s: %v", verb, path, err)
}

// corrupt returns the error for stored state that does not verify.
func corrupt(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.Corrupt, format, args...).
		WithHint("the file was changed outside dpsql or is damaged; restore a backup")
}

// migration takes a catalog to a version from the one before. A migration, once
// shipped, never changes; a new one is appended. What it adds to the objects of an earlier version
// is optional in their JSON.
type migration struct {
	version    int
	adds       string // a table or an index that earlier versions do not have
	statements string
}

// firstVersion is the oldest version that this dpsql knows. Earlier ones were
// never released.
const firstVersion = 11

var migrations = []migration{{firstVersion, "dpsql_objects", version11}}

// latest returns the version of the catalogs that this Store writes.
func (s *Store) latest() int { return s.schema[len(s.schema)-1].version }

// readVersion returns the version of the catalog's schema, or 0 if there is no
// catalog. Errors: Unsupported for a version before the first known one or after the
// latest; Corrupt.
func (s *Store) readVersion(ctx context.Context, q Querier) (int, error) {
	latest := s.latest()
	version, exists, err := storedVersion(ctx, q)
	if !exists {
		if tables, failed := countNames(ctx, q, `name LIKE 'dpsql\_%' ESCAPE '\'`); failed != nil || tables == 0 {
			return 0, unreadable(failed)
		}
		// Another process may have made the table since the first attempt. That
		// attempt failed, so it fixed no snapshot.
		version, exists, err = storedVersion(ctx, q)
	}
	switch {
	case !exists, errors.Is(err, sql.ErrNoRows), err == nil && version < 1:
		return 0, corrupt("the version of the catalog is missing")
	case err != nil:
		return 0, unreadable(err)
	case version > latest:
		return 0, sqlerr.New(sqlerr.Unsupported, "the catalog has version %d and this dpsql knows versions up to %d", version, latest).
			WithHint("use the newer dpsql that wrote it")
	case version < latest:
		if err := s.confirmOld(ctx, q, version); err != nil {
			return 0, err
		}
	}
	if version < firstVersion {
		return 0, sqlerr.New(sqlerr.Unsupported, "the catalog has version %d, from before the first release, and this dpsql knows versions from %d on",
			version, firstVersion).WithHint("use the dpsql that wrote it: what it released, answered and charged cannot be taken over")
	}
	return version, nil
}

// storedVersion reads the version. Exists is false if the file has no table for it.
func storedVersion(ctx context.Context, q Querier) (version int, exists bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT version FROM dpsql_schema`).Scan(&version)
	code, ok := engineCode(err)
	return version, !ok || code != sqlite3.SQLITE_ERROR, err
}

// countNames counts the tables and indexes of a file for which a condition holds.
func countNames(ctx context.Context, q Querier, condition string) (names int, err error) {
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE `+condition).Scan(&names)
	return names, err
}

// confirmOld refuses a catalog whose version is lower than its tables say. The
// additions of the later version would not be verified in it.
func (s *Store) confirmOld(ctx context.Context, q Querier, version int) error {
	for _, later := range s.schema {
		if version >= later.version {
			continue
		}
		names, err := countNames(ctx, q, `name = '`+later.adds+`'`)
		if err == nil && names > 0 {
			err = corrupt("the version of the catalog is not the one it has")
		}
		if err != nil {
			return unreadable(err)
		}
	}
	return nil
}

// migrate brings the catalog to the latest version, in this transaction.
func (tx *Tx) migrate() error {
	for _, step := range tx.store.schema {
		if step.version <= tx.version {
			continue
		}
		if _, err := tx.sql.ExecContext(tx.ctx, step.statements); err != nil {
			return err
		}
		if _, err := tx.sql.ExecContext(tx.ctx, `UPDATE dpsql_schema SET version = ?`, step.version); err != nil {
			return err
		}
		tx.version = step.version
	}
	return nil
}

// version11 is the whole schema of the first version. An object says by its kind what it is, and its
// body has the fields of the kind as JSON. Rows of dropped objects stay: their ids are never used
// again, and what was learned through them stays on record. Every record that matters has a digest;
// the rolls say which records there are. Payloads are covered by the objects they belong to. The
// counts of answers tell a query whose answer is missing from one that has none. A line of
// the ledger is about a range of periods, or about all where the range is NULL.
const version11 = `
CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO dpsql_schema VALUES (0);

CREATE TABLE dpsql_objects (
	id         INTEGER PRIMARY KEY,
	kind       TEXT NOT NULL,
	name       TEXT COLLATE NOCASE,
	parent     INTEGER REFERENCES dpsql_objects (id),
	dropped_at TEXT,
	digest     BLOB NOT NULL,
	body       TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX dpsql_objects_live ON dpsql_objects (kind, name) WHERE dropped_at IS NULL;

CREATE TABLE dpsql_payloads (
	object INTEGER NOT NULL REFERENCES dpsql_objects (id),
	part   INTEGER NOT NULL,
	data   BLOB NOT NULL,
	PRIMARY KEY (object, part)
) STRICT;

CREATE TABLE dpsql_history (
	mechanism INTEGER NOT NULL REFERENCES dpsql_objects (id),
	seq       INTEGER NOT NULL,
	query     TEXT NOT NULL,
	noisy     INTEGER NOT NULL,
	digest    BLOB NOT NULL DEFAULT x'',
	PRIMARY KEY (mechanism, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE dpsql_answers (
	id         INTEGER PRIMARY KEY,
	table_id   INTEGER NOT NULL REFERENCES dpsql_objects (id),
	sha256     BLOB NOT NULL,
	kind       TEXT NOT NULL,
	via        TEXT NOT NULL,
	mechanism  INTEGER REFERENCES dpsql_objects (id),
	estimate   INTEGER NOT NULL,
	law        TEXT NOT NULL,
	created_at TEXT NOT NULL,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE INDEX dpsql_answers_query ON dpsql_answers (table_id, sha256);

CREATE TABLE dpsql_answer_counts (
	table_id INTEGER NOT NULL REFERENCES dpsql_objects (id),
	sha256   BLOB NOT NULL,
	answers  INTEGER NOT NULL,
	PRIMARY KEY (table_id, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE dpsql_ledger (
	seq          INTEGER PRIMARY KEY,
	at           TEXT NOT NULL,
	account      INTEGER NOT NULL REFERENCES dpsql_objects (id),
	kind         TEXT NOT NULL,
	action       TEXT NOT NULL,
	object       TEXT NOT NULL,
	epsilon      INTEGER NOT NULL,
	delta        INTEGER NOT NULL,
	rho          INTEGER NOT NULL,
	hash         BLOB NOT NULL,
	period_first INTEGER,
	period_last  INTEGER
) STRICT;

CREATE TABLE dpsql_rolls (
	owner INTEGER NOT NULL,
	name  TEXT NOT NULL,
	count INTEGER NOT NULL,
	sum   BLOB NOT NULL,
	PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_rolls VALUES (0, 'catalog', 0, randomblob(32));

CREATE TRIGGER dpsql_ledger_update BEFORE UPDATE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_delete BEFORE DELETE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_insert BEFORE INSERT ON dpsql_ledger
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_ledger)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;

CREATE TRIGGER dpsql_history_update BEFORE UPDATE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_delete BEFORE DELETE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_insert BEFORE INSERT ON dpsql_history
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_history WHERE mechanism = NEW.mechanism)
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
`
