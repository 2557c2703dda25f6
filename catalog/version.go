package catalog

import (
	"context"
	"database/sql"
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
