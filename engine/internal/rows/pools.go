package rows

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"dpsql/catalog"
	"dpsql/source"
	"dpsql/source/postgres"
	"dpsql/sqlerr"
)

// Pool reads from one database outside the file.
type Pool interface {
	// Snapshot calls read once, with a reader of one snapshot of the database.
	Snapshot(ctx context.Context, read func(source.Reader) error) error
	Close()
}

// pools keeps the pools of the declared sources, by their number. One is made
// when rows are first needed, and kept until its source is dropped or the
// database closed.
type pools struct {
	mu   sync.Mutex
	byID map[int64]Pool
}

// Look calls do with what checks schemas in a source outside the file. It reads no
// rows, so nothing is paid.
func (r *Reader) Look(ctx context.Context, s *catalog.Source, do func(source.Checker) error) error {
	pool, err := r.pool(s)
	if err != nil {
		return err
	}
	return pool.Snapshot(ctx, func(from source.Reader) error { return do(from) })
}

// openPool makes a pool, which connects when it is first used.
func openPool(kind, dsn string) (Pool, error) {
	switch kind {
	case catalog.Postgres:
		return postgres.Open(dsn)
	}
	return nil, sqlerr.New(sqlerr.Unsupported, "this dpsql knows no sources of the kind %s", kind).
		WithHint("use the newer dpsql that declared it")
}

// pool returns the pool of a source. Where its secret is missing, nothing else is
// tried.
func (r *Reader) pool(s *catalog.Source) (Pool, error) {
	p := &r.pools
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.byID[s.ID]; ok {
		return known, nil
	}
	dsn := os.Getenv(s.DSNEnv)
	if dsn == "" {
		return nil, sqlerr.New(sqlerr.Invalid, "the environment variable %s, which says how to reach the source %s, is not set", s.DSNEnv, s.Name).
			WithHint("start dpsql where it is set to a connection string, such as postgres://user@host/database")
	}
	made, err := r.Dial(s.Kind, WithTimeout(dsn, int64(s.Timeout.Seconds())))
	if err != nil {
		return nil, err
	}
	if p.byID == nil {
		p.byID = make(map[int64]Pool)
	}
	p.byID[s.ID] = made
	return made, nil
}

// CloseSource closes the connections to a source, if there are any.
func (r *Reader) CloseSource(id int64) {
	p := &r.pools
	p.mu.Lock()
	known := p.byID[id]
	delete(p.byID, id)
	p.mu.Unlock()
	if known != nil {
		known.Close()
	}
}

// Close closes the connections to all sources.
func (r *Reader) Close() {
	p := &r.pools
	p.mu.Lock()
	all := p.byID
	p.byID = nil
	p.mu.Unlock()
	for _, known := range all {
		known.Close()
	}
}

// WithTimeout puts the server's limit for one statement into a connection
// string, after one that is there: of a setting given twice the last counts.
func WithTimeout(dsn string, seconds int64) string {
	if seconds == 0 {
		return dsn
	}
	setting := fmt.Sprintf("statement_timeout=%d", 1000*seconds)
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " " + setting
	}
	url, fragment, cut := strings.Cut(dsn, "#")
	if cut {
		fragment = "#" + fragment
	}
	separator := "?"
	if _, query, ok := strings.Cut(url, "?"); ok && query == "" {
		separator = ""
	} else if ok {
		separator = "&"
	}
	return url + separator + setting + fragment
}
