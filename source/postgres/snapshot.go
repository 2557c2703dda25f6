package postgres

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpsql/source"
)

// Snapshot calls f with a reader of one read-only, repeatable-read transaction,
// and ends the transaction when f returns. Where the connection is lost before
// the reader has given a count or cells, it goes on with a new transaction, a
// few times, and refuses to if the schema it reported is no longer the same;
// later a loss is an error. The reader is for one goroutine, and of no use once
// f has returned.
func (p *Pool) Snapshot(ctx context.Context, f func(source.Reader) error) error {
	r := &reader{pool: p, relations: make(map[string]*relation), schemas: make(map[string]source.Schema)}
	defer r.reset()
	return f(r)
}

// begin starts the transaction. Names are looked up in pg_catalog alone, so that
// no operator of another schema is taken for a built-in one; text forms do not
// depend on the server's settings; where row security would hide rows it is an
// error; and aggregates of partitioned tables are computed partition by
// partition, on the servers that hold them.
const (
	transaction = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	begin       = transaction + settings
	settings    = `; SET LOCAL search_path = pg_catalog; SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC';
SET LOCAL extra_float_digits = 1; SET LOCAL row_security = off; SET LOCAL enable_partitionwise_aggregate = on`
)

// maxAttempts is how often a read is begun, all in all.
const maxAttempts = 3

// reader implements source.Reader.
type reader struct {
	pool      *Pool
	conn      *pgxpool.Conn // nil before the first use
	begun     bool
	answered  bool // a count or cells were given; no later one may be of another snapshot
	relations map[string]*relation
	schemas   map[string]source.Schema // as they were reported
	alone     bool                     // the server cannot share the snapshot with other connections
}

// reset gives the connection back, its transaction ended. What was read is
// forgotten.
func (r *reader) reset() {
	if r.conn == nil {
		return
	}
	if r.begun {
		ctx, cancel := context.WithTimeout(context.Background(), cancelWithin)
		_ = r.conn.Conn().PgConn().Exec(ctx, "ROLLBACK").Close() // a connection that fails here is not used again
		cancel()
	}
	r.conn.Release()
	r.conn, r.begun = nil, false
	clear(r.relations)
}

// read calls f with the table's relation, again where the connection is lost. f
// must start over each time.
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
				r.pool.unfit.add(r.schemas[t.Source].Bases) // those of what was checked
			}
			return failure(ctx, err, t.Source)
		}
		r.reset()
	}
}

// rows runs a statement, whose parameters are texts, and calls f with each row,
// in binary, while it returns true. The row is good until f returns.
func (r *reader) rows(ctx context.Context, s statement, f func(row [][]byte) bool) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	result, err := r.result(reading, s)
	if err != nil {
		return err
	}
	stopped := false
	for result.NextRow() {
		if !stopped && !f(result.Values()) {
			stopped = true
			stop()
		}
	}
	_, err = result.Close()
	if stopped {
		return nil
	}
	return err
}

// result starts a statement. One with a name is prepared once a connection, since
// the server takes longer to plan it than to run it.
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

// run runs a statement that has no parameters and no result.
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
