// Package postgres reads private rows of PostgreSQL, with the meaning that
// package source gives them: the same rows in SQLite give the same counts and
// cells. The counting is done by the server; what is fetched is counts.
//
// A table is named schema.table. A part in double quotes is taken as written;
// any other is taken without case, the lower-case name first, as PostgreSQL
// would, and is refused where several names differ in case only.
//
// Errors are *sqlerr.Error, never quote the server, whose messages can carry
// values of rows, and never have the connection string or a part of it. The
// package logs nothing; what the server logs of its statements is for its
// administrator to see to: of a table with a unit they have the key by which
// rows are chosen as parameters.
package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpsql/sqlerr"
)

// Pool holds connections to one database. It is safe for concurrent use.
type Pool struct {
	pool     *pgxpool.Pool
	prepares bool // statements, which is of no use to some that share connections
	unfit    unfit
}

// cancelWithin is how long a server has to obey a cancellation before its
// connection is closed.
const cancelWithin = 5 * time.Second

// Open returns a pool for a connection string, a URL or keywords and values as
// libpq reads them. It connects at the first use. The settings that the string
// gives, statement_timeout for one, hold for every connection. Behind a proxy that
// hands transactions to any connection it needs default_query_exec_mode=exec, so
// that nothing is prepared. Errors: Invalid.
func Open(dsn string) (*Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil { // its text has the string
		return nil, sqlerr.New(sqlerr.Invalid, "the connection string of the source cannot be read").
			WithHint("it is postgres://user@host:5432/database?sslmode=verify-full, or host=… user=… dbname=…")
	}
	config.ConnConfig.Tracer = nil
	config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelWithin}
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 30 * time.Second
	}
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "dpsql"
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "the connection string of the source cannot be used")
	}
	return &Pool{pool: pool, prepares: config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement}, nil
}

// Close closes all connections and waits for those in use.
func (p *Pool) Close() { p.pool.Close() }
