package catalog

import (
	"context"
	"database/sql"
	"errors"
)

// Version names a state of the file as one Store sees it. If Store.Version returns
// the same Version twice, nothing was committed in between, by this process or
// another. The zero Version names no state.
type Version struct {
	probe *connID // the connection that data is a number of
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

// Version returns the state of the file now. It is not Known where there is no file
// yet, or where SQLite cannot tell because it may not write the directory. Errors:
// those of Read.
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
	file    Version // the state of the file, where this Store has written nothing
	writer  *connID // the connection that writes, of which foreign is a number
	foreign int64   // changes with every commit of others
	own     uint64  // changes with every transaction of this Store that touched other tables
}

// Known reports whether v names a state.
func (v RowsVersion) Known() bool { return v != RowsVersion{} }

// rowsState is what a Store remembers to tell RowsVersions apart. The Store's mu
// guards it.
type rowsState struct {
	own    uint64  // counts the begins and ends of transactions that touched other tables
	active int     // those of them that are not over
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
