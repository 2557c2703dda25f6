package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// Version names a state of the file as one Store sees it. Where Version
// returned the same one twice, nothing was committed in between, by this process
// or another. The zero Version is of no state.
type Version struct {
	probe uint64 // the connection that was asked: only its own numbers compare
	data  int64
}

// Known reports whether v names a state.
func (v Version) Known() bool { return v != Version{} }

// probe is the connection that is asked for the file's state. It never writes,
// so that SQLite's data_version changes for it with every commit there is.
type probe struct {
	turn   chan struct{} // holds a token while someone asks
	number uint64        // of the connection; the next one gets another
	conn   *sql.Conn
	ask    driver.StmtQueryContext // PRAGMA data_version
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

func (s *Store) version(ctx context.Context) (Version, error) {
	if exists, err := s.identify(); err != nil || !exists {
		return Version{}, err
	}
	select {
	case s.probe.turn <- struct{}{}:
	case <-ctx.Done():
		return Version{}, ctx.Err()
	}
	defer func() { <-s.probe.turn }()
	if s.probe.conn == nil {
		pool, err := s.readerPool()
		if err != nil {
			return Version{}, err
		}
		if err := s.probe.open(ctx, pool); err != nil {
			return Version{}, err
		}
	}
	data, err := s.probe.data(ctx)
	if err != nil {
		s.probe.drop()
		return Version{}, err
	}
	return Version{s.probe.number, data}, nil
}

// open takes a connection. The turn is held, as for drop.
func (p *probe) open(ctx context.Context, pool *sql.DB) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	err = conn.Raw(func(c any) error {
		stmt, err := c.(driver.ConnPrepareContext).PrepareContext(ctx, `PRAGMA data_version`)
		if err == nil {
			p.ask = stmt.(driver.StmtQueryContext)
		}
		return err
	})
	if err != nil {
		conn.Close()
		return err
	}
	p.conn = conn
	p.number++
	return nil
}

// data asks. It is asked before every statement, so it goes past database/sql,
// which takes as long again as SQLite does.
func (p *probe) data(ctx context.Context) (int64, error) {
	var got [1]driver.Value
	err := p.conn.Raw(func(any) error {
		rows, err := p.ask.QueryContext(ctx, nil)
		if err != nil {
			return err
		}
		return errors.Join(rows.Next(got[:]), rows.Close())
	})
	if err != nil {
		return 0, err
	}
	data, ok := got[0].(int64)
	if !ok {
		return 0, errors.New("data_version is not a number")
	}
	return data, nil
}

func (p *probe) drop() {
	if p.conn != nil {
		p.conn.Raw(func(any) error { return p.ask.(driver.Stmt).Close() })
		p.conn.Close()
		p.conn, p.ask = nil, nil
	}
}

// close waits for those who ask.
func (p *probe) close() {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.drop()
}
