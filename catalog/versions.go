package catalog

import (
	"context"
	"database/sql"
	"errors"
)

// Version names a state of the file as one Store sees it. Where Version
// returned the same one twice, nothing was committed in between, by this process
// or another. The zero Version is of no state.
type Version struct {
	probe *connection // that was asked: only its own numbers compare
	data  int64
}

// Known reports whether v names a state.
func (v Version) Known() bool { return v != Version{} }

// probe is the connection that is asked for the file's state. It never writes,
// so that SQLite's data_version changes for it with every commit there is.
type probe struct {
	turn chan struct{} // holds a token while someone asks
	conn *sql.Conn     // nil before the first use, and after an error
}

// Version returns the state of the file now. It is not Known where there is no
// file yet, or where SQLite cannot tell: in a directory that it may not write.
// Errors: those of Read.
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

// onProbe calls ask with the connection that never writes, if there is a file.
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

// close waits for those who ask.
func (p *probe) close() {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.drop()
}

// RowsVersion names a state of the tables outside the catalog, as one Store
// sees it. Where it is the same twice, no commit in between can have changed
// them; what this Store wrote into its catalog does not count. The zero
// RowsVersion is of no state.
type RowsVersion struct {
	file    Version     // where this Store has written nothing
	writer  *connection // the one that writes, which foreign is a number of
	foreign int64       // changes with the commits of others
	own     uint64      // changes with those of this Store that touched other tables
}

// Known reports whether v names a state.
func (v RowsVersion) Known() bool { return v != RowsVersion{} }

// rowsState is what a Store remembers to tell RowsVersions apart. The Store's mu
// guards it.
type rowsState struct {
	own    uint64      // begun and ended transactions that touched other tables
	active int         // those of them that are not over
	at     Version     // when latest was found out
	latest RowsVersion // of the Store that writes
}

// RowsVersion returns the state of the tables outside the catalog now, and that
// of the whole file. It may wait for a Write of this process to end, so it must
// not be called in one. Errors: those of Read.
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

// dataVersion asks the pool's connection, and says which one it was: a pool may
// replace a broken one, whose numbers do not compare with the next one's.
func dataVersion(ctx context.Context, pool *sql.DB) (which *connection, data int64, err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	return dataVersionOf(ctx, conn)
}

// dataVersionOf asks a connection.
func dataVersionOf(ctx context.Context, conn *sql.Conn) (which *connection, data int64, err error) {
	err = conn.Raw(func(c any) error {
		kept, ok := c.(*keeping)
		if !ok {
			return errors.New("a connection of another kind")
		}
		which = kept.name
		data, err = kept.dataVersion(ctx)
		return err
	})
	return which, data, err
}

// touching is a writing transaction in the hands of others: what they execute
// can change tables outside the catalog.
type touching struct {
	*guard
	tx *Tx
}

// ExecContext is that of the transaction.
func (t touching) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.tx.touch()
	return t.guard.ExecContext(ctx, query, args...)
}

// PrepareContext is that of the transaction.
func (t touching) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	t.tx.touch()
	return t.guard.PrepareContext(ctx, query)
}

// touch notes, before it happens, that the transaction changes tables outside
// the catalog.
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

// settle notes that the transaction is over, whichever way.
func (tx *Tx) settle() {
	if !tx.touched {
		return
	}
	tx.store.mu.Lock()
	defer tx.store.mu.Unlock()
	tx.store.rows.own++
	tx.store.rows.active--
}
