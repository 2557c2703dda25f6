// Package postgres reads private rows of PostgreSQL and gives them the meaning that
// package source defines: the same rows in SQLite give the same counts and cells. The
// server counts, and dpsql fetches counts, or with a unit rows.
//
// A table is named schema.table. A part in double quotes is taken as written. Other
// parts ignore case: the lower-case name comes first, as in PostgreSQL, and a part is
// refused if several names differ from it in case only.
//
// Errors are *sqlerr.Error. They never quote the server, whose messages can carry
// values of rows, and never contain any part of the connection string. The package logs
// nothing. The server may log its statements, which have the conditions of queries.
package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpsql/source"
	"dpsql/sqlerr"
)

// Pool holds connections to one database. It is safe for concurrent use.
type Pool struct {
	pool     *pgxpool.Pool
	prepares bool // prepare statements; off for poolers that share connections
	unfit    source.Unfit
}

// watcher asks the server to cancel a statement whose context ends. The request may reach the server
// when the statement has ended by itself, and would hit the next one of its connection: there is none.
type watcher struct {
	*pgconn.CancelRequestContextWatcherHandler
}

const cancelled = "cancelled" // marks a connection that the pool drops

func (w watcher) HandleCancel(ctx context.Context) {
	w.Conn.CustomData()[cancelled] = true
	w.CancelRequestContextWatcherHandler.HandleCancel(ctx)
}

// cancelWithin is the time in which a server must obey a cancellation. After it the
// connection is closed.
const cancelWithin = 5 * time.Second

// Open returns a pool for a connection string: a URL, or keywords and values as libpq
// reads them. It connects at the first use. Settings in the string, such as
// statement_timeout, hold for every connection. Behind a proxy that hands transactions
// to any connection, the string needs default_query_exec_mode=exec, so that nothing is
// prepared. Errors: Invalid.
func Open(dsn string) (*Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil { // its text contains the string
		return nil, sqlerr.New(sqlerr.Invalid, "the connection string of the source cannot be read").
			WithHint("it is postgres://user@host:5432/database?sslmode=verify-full, or host=… user=… dbname=…")
	}
	config.ConnConfig.Tracer = nil
	config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return watcher{&pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelWithin}}
	}
	config.AfterRelease = func(c *pgx.Conn) bool { return c.PgConn().CustomData()[cancelled] == nil }
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

// Snapshot calls f with a reader of one read-only, repeatable-read transaction, and
// ends the transaction when f returns. If the connection is lost before the reader has
// returned a count or cells, the reader begins a new transaction, a few times. It
// returns an error if the schema it reported has changed. After a count or cells, a
// lost connection is an error. The reader serves one goroutine and must not be used
// after f returns.
func (p *Pool) Snapshot(ctx context.Context, f func(source.Reader) error) error {
	r := &reader{pool: p, relations: make(map[string]*relation), schemas: make(map[string]source.Schema)}
	defer r.reset()
	return f(r)
}

// begin starts the transaction. Names are looked up in pg_catalog alone, so that no
// operator of another schema is taken for a built-in one. Text forms do not depend on
// the server's settings. If row security would hide rows, reading is an error.
// Aggregates of partitioned tables are computed partition by partition, on the servers
// that hold them.
const (
	transaction = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	begin       = transaction + settings
	settings    = `; SET LOCAL search_path = pg_catalog; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 1; SET LOCAL row_security = off; SET LOCAL enable_partitionwise_aggregate = on`
)

// maxAttempts bounds how often a read is begun, the first time included.
const maxAttempts = 3

// reader implements source.Reader.
type reader struct {
	pool      *Pool
	conn      *pgxpool.Conn // nil before the first use
	begun     bool
	answered  bool // a count or cells were returned; later ones must be of the same snapshot
	relations map[string]*relation
	schemas   map[string]source.Schema // as Check reported them
	alone     bool                     // the server cannot share the snapshot with other connections
}

// reset ends the transaction, gives the connection back and forgets what was read.
func (r *reader) reset() {
	if r.conn == nil {
		return
	}
	if r.begun {
		ctx, cancel := context.WithTimeout(context.Background(), cancelWithin)
		_ = r.conn.Conn().PgConn().Exec(ctx, "ROLLBACK").Close() // if it fails, the pool drops the connection
		cancel()
	}
	r.conn.Release()
	r.conn, r.begun = nil, false
	clear(r.relations)
}

// read calls f with the table's relation. It calls f again if the connection is lost,
// so f must start over each time.
func (r *reader) read(ctx context.Context, t source.Table, f func(*relation) error) error {
	for attempt := 1; ; attempt++ {
		rel, err := r.open(ctx, t)
		if err == nil {
			err = f(rel)
		}
		switch {
		case err == nil || errors.Is(err, source.ErrTooManyCells):
			return err
		case r.answered || attempt == maxAttempts || !errors.Is(err, errAlone) && !lost(ctx, err):
			if ctx.Err() == nil && ofRow(err) {
				r.pool.unfit.Add(r.schemas[t.Source].Bases) // the bases that Check reported
			}
			return failure(ctx, err, t.Source)
		}
		r.reset()
	}
}

// rows runs a statement with text parameters. It calls f with each row, in binary form,
// while f returns true. The row is valid until f returns.
func (r *reader) rows(ctx context.Context, s statement, f func(row [][]byte) bool) error {
	reading, abandon := context.WithCancel(ctx)
	defer abandon()
	result, err := r.result(reading, s)
	if err != nil {
		return err
	}
	var stopped chan struct{}
	for result.NextRow() {
		if stopped == nil && !f(result.Values()) {
			stopped = make(chan struct{})
			go func() {
				defer close(stopped)
				r.stop(ctx, abandon)
			}()
			defer time.AfterFunc(cancelWithin, abandon).Stop()
		}
	}
	_, err = result.Close()
	if stopped != nil {
		<-stopped
		return nil
	}
	return err
}

// stop asks the server to cancel the running statement, and returns when the server has
// signalled its process. The process takes the signal before it reads another statement, so
// the cancellation cannot hit that one. If the server cannot be asked, stop abandons the
// statement.
func (r *reader) stop(ctx context.Context, abandon func()) {
	within, done := context.WithTimeout(ctx, cancelWithin)
	defer done()
	if err := r.conn.Conn().PgConn().CancelRequest(within); err != nil {
		abandon()
	}
}

// result starts a statement. A statement with a name is prepared once a connection,
// because planning it takes the server longer than running it.
func (r *reader) result(ctx context.Context, s statement) (*pgconn.ResultReader, error) {
	conn := r.conn.Conn()
	if s.name == "" || !r.pool.prepares {
		return conn.PgConn().ExecParams(ctx, s.text, s.args, nil, nil, []int16{1}), nil
	}
	if _, err := conn.Prepare(ctx, s.name, s.text); err != nil {
		return nil, err
	}
	return conn.PgConn().ExecPrepared(ctx, s.name, s.args, nil, []int16{1}), nil
}

// run runs a statement without parameters or result.
func (r *reader) run(ctx context.Context, text string) error {
	return r.conn.Conn().PgConn().Exec(ctx, text).Close()
}

// statement is a text with $1, $2, … and their values.
type statement struct {
	text string
	args [][]byte
	name string // of one that is prepared; "" for one that is run once
}

func texts(args ...string) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = []byte(a)
	}
	return out
}

// int8Of reads a bigint.
func int8Of(raw []byte) int64 {
	if len(raw) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(raw))
}
