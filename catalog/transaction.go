package catalog

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/catalog/internal/ledger"
	"dpsql/sqlerr"
)

// Tx is one transaction on the catalog. It is valid during the function that it was
// passed to. A Tx of Read sees one snapshot and refuses changes; a Tx of Write sees
// its own changes.
type Tx struct {
	store    *Store
	ctx      context.Context // the context of the Read or Write that runs this transaction
	sql      *guard
	version  int // of the catalog's schema as this transaction sees it; 0: none
	writable bool
	touched  bool                             // it may have changed tables outside the catalog
	chain    *ledger.Chain                    // the ledger as far as verified, this transaction's lines included
	atEnd    bool                             // whether chain reaches the end of the ledger
	rolls    map[int64]map[string]ledger.Roll // by owner, as far as read, this transaction's included
	objects  map[kind][]object                // the living ones, as far as read, this transaction's included
	readFew  bool                             // whether the few kinds were read together
	marks    []ledger.Mark                    // of lines that the ledger must have; nil once it was verified
	newMark  *ledger.Mark                     // of the last line this transaction wrote; nil: it wrote none
	erases   bool                             // it ended a run, whose τ is to be erased
	stamped  time.Time                        // see stamp
}

// SQL returns the transaction itself, for statements on the user's own tables.
// Statements that change anything must go through ExecContext or PrepareContext,
// which record that rows may change; QueryContext is for reading. Its errors are
// SQLite's. Read and Write translate them when their function returns them. BEGIN,
// COMMIT and ROLLBACK must not be sent.
func (tx *Tx) SQL() Querier {
	if tx.writable {
		return callersTx{tx.sql, tx}
	}
	return tx.sql
}

// Read runs fn on one consistent snapshot. On a missing file, or one without a
// catalog, every listing is empty. Errors: fn's, IO, Corrupt, Busy, Cancelled.
func (s *Store) Read(ctx context.Context, fn func(*Tx) error) error {
	return s.translate(ctx, s.read(ctx, fn))
}

// Get returns what get finds in a Read of its own.
func Get[T any](ctx context.Context, s *Store, get func(*Tx) (T, error)) (found T, err error) {
	err = s.Read(ctx, func(tx *Tx) error {
		found, err = get(tx)
		return err
	})
	return found, err
}

func (s *Store) read(ctx context.Context, fn func(*Tx) error) error {
	verified, marks, err := s.verified() // before the snapshot begins, so never ahead of it
	if err != nil {
		return err
	}
	snap, err := s.openSnapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.close()
	defer snap.tx.Rollback()
	tx := &Tx{store: s, ctx: ctx, sql: &guard{tx: snap.tx}, version: snap.version, chain: verified, marks: marks}
	if err := fn(tx); err != nil {
		return err
	}
	if err := snap.check(); err != nil {
		return err
	}
	s.keepVerified(tx.chain)
	return nil
}

// Write runs fn in an immediate transaction and commits it durably. When it returns
// nil, everything fn wrote is on disk. The transaction is rolled back when fn fails
// or panics. The first Write creates the file, readable by its owner only; the first
// record written creates the schema of the catalog. Errors: fn's, ReadOnly,
// Busy after the timeout, IO, Corrupt, Unsupported, Cancelled. After an error of
// the commit itself (IO, Cancelled) the transaction counts as rolled back. Where the
// mark of a ledger line cannot be written (IO), nothing is committed; if that shows only
// after the commit, the line stays, and what it was for must not be drawn.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	return s.translate(ctx, s.write(ctx, fn))
}

func (s *Store) write(ctx context.Context, fn func(*Tx) error) error {
	if s.ReadOnly() {
		return s.readOnly()
	}
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.writing }()
	if err := s.createFile(); err != nil {
		return err
	}
	if err := s.checkOneName(); err != nil {
		return err
	}
	pool, err := s.writerPool()
	if err != nil {
		return err
	}
	verified, marks, err := s.verified()
	if err != nil {
		return err
	}
	begun, err := s.beginWrite(ctx, pool)
	if err != nil {
		return err
	}
	tx := &Tx{store: s, ctx: ctx, sql: &guard{tx: begun}, writable: true, chain: verified, marks: marks}
	defer tx.endTouching()
	defer begun.Rollback() // does nothing after the commit
	if err := tx.run(fn); err != nil {
		return err
	}
	if err := s.writeMark(tx.newMark, false); err != nil {
		return err
	}
	if err := tx.sql.tx.Commit(); err != nil {
		return err
	}
	s.keepVerified(tx.chain)
	if tx.erases {
		s.erase.Store(true)
	}
	return s.writeMark(tx.newMark, true)
}

// Erase removes from the disk what transactions of this Store have overwritten or deleted, if
// one of them ended a run: its τ. SQLite writes zeros over such bytes of the file
// (secure_delete), but the log beside it keeps older pages until it is cut. Erase cuts it, and
// waits for nobody. Closing the last connection of a file cuts the log, too. Errors: Busy while
// others read or write, when it should be called again; those of Write.
func (s *Store) Erase(ctx context.Context) error {
	if !s.erase.Load() || s.memory != "" {
		return nil
	}
	return s.translate(ctx, s.cutLog(ctx))
}

func (s *Store) cutLog(ctx context.Context) error {
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.writing }()
	if _, err := s.identify(); err != nil {
		return err
	}
	pool, err := s.writerPool()
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA busy_timeout = `+milliseconds(s.options.BusyTimeout))
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return err
	}
	var busy bool
	var pages, moved int
	if err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved); err != nil {
		return err
	}
	if busy {
		return s.busy()
	}
	s.erase.Store(false)
	return nil
}

func (tx *Tx) run(fn func(*Tx) error) error {
	version, err := tx.store.readVersion(tx.ctx, tx.sql)
	if err != nil {
		return err
	}
	tx.version = version
	if version > 0 {
		if err := tx.migrate(); err != nil {
			return unreadable(err)
		}
	}
	if err := fn(tx); err != nil {
		return err
	}
	return tx.sql.broken()
}

// takeTurn queues the writers of this Store. They wait here and not for the lock of
// their own process, because a cancelled context ends this wait. Who has none waits as for another process.
func (s *Store) takeTurn(ctx context.Context) error {
	select {
	case s.writing <- struct{}{}:
		return nil
	default:
	}
	var late <-chan time.Time
	if ctx.Done() == nil {
		late = time.After(max(0, s.options.BusyTimeout))
	}
	select {
	case s.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return s.busy()
	}
}

// beginWrite begins the transaction. Turning a rollback-journal file into a WAL file
// needs the file alone, and SQLite does not wait for that. So an attempt that finds
// the file busy is repeated until the timeout.
func (s *Store) beginWrite(ctx context.Context, pool *sql.DB) (*sql.Tx, error) {
	deadline := time.Now().Add(s.options.BusyTimeout)
	for {
		tx, err := pool.BeginTx(ctx, nil)
		if err == nil || !isBusy(err) || !time.Now().Before(deadline) {
			return tx, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// prepare is called before the first record is written. In a new file it creates the schema.
func (tx *Tx) prepare() error {
	switch {
	case !tx.writable:
		return sqlerr.New(sqlerr.Internal, "a read transaction tried to write")
	case tx.version == 0:
		return tx.migrate()
	}
	return nil
}

// exec writes records.
func (tx *Tx) exec(query string, args ...any) (sql.Result, error) {
	if err := tx.prepare(); err != nil {
		return nil, err
	}
	result, err := tx.sql.ExecContext(tx.ctx, query, args...)
	if code, ok := engineCode(err); ok && (code == sqlite3.SQLITE_CONSTRAINT || code == sqlite3.SQLITE_MISMATCH) {
		err = corrupt("the records of the catalog contradict each other") // callers check the records that they write
	}
	return result, unreadable(err)
}

// stamp returns the present time to the second, in UTC. It is the same for all records of a
// transaction: UnitCost relies on it.
func (tx *Tx) stamp() time.Time {
	if tx.stamped.IsZero() {
		tx.stamped = tx.store.now().UTC().Truncate(time.Second)
	}
	return tx.stamped
}

// Querier runs statements on one transaction; *sql.Tx satisfies it.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// guard is a transaction that stays failed. After some errors (disk full,
// interruption) SQLite rolls the transaction back by itself; a later statement
// would then commit on its own, so it must not run.
type guard struct {
	tx *sql.Tx

	mu     sync.Mutex
	failed error
}

func (g *guard) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := g.broken(); err != nil {
		return nil, err
	}
	result, err := g.tx.ExecContext(ctx, query, args...)
	g.note(ctx, err)
	return result, err
}

func (g *guard) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := g.broken(); err != nil {
		return nil, err
	}
	rows, err := g.tx.QueryContext(ctx, query, args...)
	g.note(ctx, err)
	return rows, err
}

func (g *guard) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return g.tx.QueryRowContext(ctx, query, args...)
}

func (g *guard) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := g.broken(); err != nil {
		return nil, err
	}
	return g.tx.PrepareContext(ctx, query)
}

// broken returns the error after which the transaction may be gone, if any.
func (g *guard) broken() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed
}

func (g *guard) note(ctx context.Context, err error) {
	if err == nil || (ctx.Err() == nil && !endsTransaction(err)) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil {
		g.failed = err
	}
}

func endsTransaction(err error) bool {
	code, ok := engineCode(err)
	if !ok {
		return false
	}
	switch code {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return false
}

func isBusy(err error) bool {
	code, ok := engineCode(err)
	return ok && (code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED)
}

// Version names a state of the file as one Store sees it. If Store.Version returns
// the same Version twice, nothing was committed in between, by this process or
// another. The zero Version names no state.
type Version struct {
	probe *connID // the connection that returned data
	data  int64
}

// Known reports whether v names a state.
func (v Version) Known() bool { return v != Version{} }

// probe is the connection that is asked for the state of the file. It never writes,
// so its data_version changes with every commit.
type probe struct {
	turn chan struct{} // holds a token while someone asks
	conn *sql.Conn     // nil before the first use, and after an error
}

// Version returns the state of the file now. It is not Known if there is no file yet,
// or if SQLite cannot tell because it may not write the directory. Errors: those of
// Read.
func (s *Store) Version(ctx context.Context) (Version, error) {
	v, err := s.version(ctx)
	if err != nil && needsSharedMemory(err) {
		return Version{}, nil
	}
	return v, s.translate(ctx, err)
}

func (s *Store) version(ctx context.Context) (v Version, err error) {
	err = s.onProbe(ctx, func(conn *sql.Conn) error {
		v.probe, v.data, err = dataVersionOf(ctx, conn)
		if err != nil {
			s.probe.drop()
		}
		return err
	})
	if err != nil {
		return Version{}, err
	}
	return v, nil
}

// onProbe calls ask with the connection that never writes. Without a file it does
// not call ask.
func (s *Store) onProbe(ctx context.Context, ask func(*sql.Conn) error) error {
	if exists, err := s.identify(); err != nil || !exists {
		return err
	}
	select {
	case s.probe.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.probe.turn }()
	if s.probe.conn == nil {
		pool, err := s.readerPool()
		if err != nil {
			return err
		}
		if s.probe.conn, err = pool.Conn(ctx); err != nil {
			s.probe.conn = nil
			return err
		}
	}
	return ask(s.probe.conn)
}

func (p *probe) drop() {
	if p.conn != nil {
		p.conn.Close()
		p.conn = nil
	}
}

// close closes the connection. It waits for callers that are using it.
func (p *probe) close() {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.drop()
}

// RowsVersion names a state of the tables outside the catalog, as one Store sees it.
// If Store.RowsVersion returns the same one twice, no commit in between can have
// changed them. Records that this Store wrote into its catalog do not count. The
// zero RowsVersion names no state.
type RowsVersion struct {
	file    Version // the state of the file, if this Store has written nothing
	writer  *connID // the connection that writes, which returned foreign
	foreign int64   // changes with every commit of others
	own     uint64  // changes with every transaction of this Store that touched other tables
}

// Known reports whether v names a state.
func (v RowsVersion) Known() bool { return v != RowsVersion{} }

// rowsState is what a Store remembers to tell RowsVersions apart. The Store's mu
// guards it.
type rowsState struct {
	own    uint64  // counts the begins and ends of transactions that touched other tables
	active int     // how many of them have not ended
	at     Version // the state of the file in which latest was asked for
	latest RowsVersion
}

// RowsVersion returns the state of the tables outside the catalog now, and that of
// the whole file. It may wait for a Write of this process to end, so it must not be
// called in one. Errors: those of Read.
func (s *Store) RowsVersion(ctx context.Context) (RowsVersion, Version, error) {
	at, err := s.Version(ctx)
	if err != nil || !at.Known() {
		return RowsVersion{}, at, err
	}
	s.mu.Lock()
	own, active, writer := s.rows.own, s.rows.active, s.writer
	known, latest := s.rows.at == at && s.rows.latest.own == own, s.rows.latest
	s.mu.Unlock()
	switch {
	case active > 0:
		return RowsVersion{}, at, nil
	case writer == nil:
		return RowsVersion{file: at}, at, nil
	case known:
		return latest, at, nil
	}
	now := RowsVersion{own: own}
	if now.writer, now.foreign, err = dataVersion(ctx, writer); err != nil {
		return RowsVersion{}, at, s.translate(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows.at, s.rows.latest = at, now
	return now, at, nil
}

// dataVersion returns the data version of the pool's connection, and which
// connection it is: a pool replaces a broken one, and the numbers of two connections
// do not compare.
func dataVersion(ctx context.Context, pool *sql.DB) (which *connID, data int64, err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	return dataVersionOf(ctx, conn)
}

// dataVersionOf returns the data version of a connection.
func dataVersionOf(ctx context.Context, conn *sql.Conn) (which *connID, data int64, err error) {
	err = conn.Raw(func(c any) error {
		kept, ok := c.(*cachingConn)
		if !ok {
			return errors.New("a connection of another kind")
		}
		which = kept.name
		data, err = kept.dataVersion(ctx)
		return err
	})
	return which, data, err
}

// callersTx is a writing transaction that callers execute statements on. What they
// execute can change tables outside the catalog.
type callersTx struct {
	*guard
	tx *Tx
}

// ExecContext implements Querier.
func (t callersTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.tx.touch()
	return t.guard.ExecContext(ctx, query, args...)
}

// PrepareContext implements Querier.
func (t callersTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	t.tx.touch()
	return t.guard.PrepareContext(ctx, query)
}

// touch records that the transaction may change tables outside the catalog. It is
// called before the change.
func (tx *Tx) touch() {
	if tx.touched {
		return
	}
	tx.touched = true
	tx.store.mu.Lock()
	defer tx.store.mu.Unlock()
	tx.store.rows.own++
	tx.store.rows.active++
}

// endTouching records that the transaction has ended, committed or not.
func (tx *Tx) endTouching() {
	if !tx.touched {
		return
	}
	tx.store.mu.Lock()
	defer tx.store.mu.Unlock()
	tx.store.rows.own++
	tx.store.rows.active--
}
