package catalog

import (
	"context"
	"database/sql"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"
)

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
