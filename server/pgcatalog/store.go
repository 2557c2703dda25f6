package pgcatalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/sqlerr"
)

// This file keeps pg_catalog and information_schema as tables of an SQLite in memory. A process has as many of
// these as statements run at a time, and not one for each session: each holds the rows that all catalogs have,
// and those of the picture that was asked last.

// store is a connection to an SQLite in memory with the relations.
type store struct {
	pool   *sql.DB
	conn   *sql.Conn
	shows  *Catalog           // whose picture is loaded; nil for none
	tables map[*relation]bool // that are loaded; true with the rows of the picture
	guards atomic.Bool        // a statement of a client runs
}

// idle are the stores that no statement uses.
var idle = make(chan *store, cap(slots))

// driverName names the driver with the function pg, which calls what a statement needs of Go.
const driverName = "dpsql pgcatalog"

var registerDriver = sync.OnceValue(func() error {
	d := &sqlite.Driver{}
	sql.Register(driverName, d)
	return d.RegisterScalarFunction("pg", -1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		return callback(args)
	})
})

// running has the statements that run, by the number that each gives to pg.
var (
	running sync.Map
	lastRun atomic.Int64
)

// callback is the function pg: the number of the run, that of the call, and its arguments.
func callback(args []driver.Value) (out driver.Value, err error) {
	number, _ := args[0].(int64)
	found, ok := running.Load(number)
	if !ok {
		return nil, fmt.Errorf("no such run")
	}
	r := found.(*run)
	defer func() {
		if err != nil && r.err == nil {
			r.err = err
		}
	}()
	defer caught(&err)
	index, _ := args[1].(int64)
	return encode(r.calls[index].do(r, args[2:])), nil
}

// tableName returns the name of a relation's table.
func (r *relation) tableName() string { return "t" + strconv.Itoa(int(r.oid)) }

// indexed are the columns by which clients look rows up.
var indexed = map[string][]string{"pg_class": {"oid", "relname"}, "pg_attribute": {"attrelid"}, "pg_type": {"oid", "typname"},
	"pg_proc": {"oid"}, "pg_description": {"objoid"}, "pg_namespace": {"oid"}, "columns": {"table_name"}}

const storeDSN = "file:pgcatalog?vfs=memdb&_dqs=0&_defensive=1&_pragma=trusted_schema(0)&_pragma=temp_store(1)&_pragma=journal_mode(off)&_pragma=synchronous(off)"

// opened returns a store.
func opened(ctx context.Context) (*store, error) {
	select {
	case s := <-idle:
		return s, nil
	default:
	}
	if err := registerDriver(); err != nil {
		return nil, err
	}
	pool, err := sql.Open(driverName, storeDSN)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	s := &store{pool: pool, tables: make(map[*relation]bool)}
	if s.conn, err = pool.Conn(ctx); err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *store) close() {
	if s.conn != nil {
		s.conn.Close()
	}
	s.pool.Close()
}

// giveBack keeps a store for the next statement.
func giveBack(s *store) {
	select {
	case idle <- s:
	default:
		s.close()
	}
}

// storeLimits are SQLite's limits for a statement.
var storeLimits = map[int]int{sqlite3.SQLITE_LIMIT_LENGTH: maxMemory, sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 3000, sqlite3.SQLITE_LIMIT_ATTACHED: 0,
	sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0, sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1}

// begin sets what holds for all statements.
func (s *store) begin(ctx context.Context) error {
	for id, limit := range storeLimits {
		if _, err := sqlite.Limit(s.conn, id, limit); err != nil {
			return err
		}
	}
	return s.authorize()
}

// create makes a relation's table with the rows that every catalog has.
func (s *store) create(ctx context.Context, r *relation) error {
	columns := make([]string, len(r.columns))
	script := ""
	for i, c := range r.columns {
		columns[i] = "c" + strconv.Itoa(i)
		if slices.Contains(indexed[r.name], c.name) {
			script += fmt.Sprintf("; CREATE INDEX %s_%d ON %s (c%d)", r.tableName(), i, r.tableName(), i)
		}
	}
	if _, err := s.conn.ExecContext(ctx, "CREATE TABLE "+r.tableName()+" ("+strings.Join(columns, ", ")+")"+script); err != nil {
		return err
	}
	if err := s.insert(ctx, r, r.rows); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, "ANALYZE "+r.tableName())
	return err
}

func (s *store) insert(ctx context.Context, r *relation, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	row := "(?" + strings.Repeat(", ?", len(r.columns)-1) + ")"
	const most = 64
	var insert *sql.Stmt
	var values []any
	for i, one := range rows {
		for _, v := range one {
			values = append(values, encode(v))
		}
		n := len(values) / len(r.columns)
		if n < most && i < len(rows)-1 {
			continue
		}
		if insert == nil || n < most {
			if insert != nil {
				insert.Close()
			}
			var err error
			if insert, err = s.conn.PrepareContext(ctx, "INSERT INTO "+r.tableName()+" VALUES "+row+strings.Repeat(", "+row, n-1)); err != nil {
				return err
			}
		}
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			insert.Close()
			return err
		}
		values = values[:0]
	}
	return insert.Close()
}

// show loads the relations that a statement reads, of a catalog's picture and in the place of the one before.
// Without this a first question waited for all of them: 114 ms in a process, 27 ms for another user (BenchmarkFirst).
func (s *store) show(ctx context.Context, c *Catalog, reads []*relation) (err error) {
	if s.shows != c {
		for r, pictured := range s.tables {
			if pictured {
				if _, err := s.conn.ExecContext(ctx, "DELETE FROM "+r.tableName()+" WHERE rowid > ?", len(r.rows)); err != nil {
					return err
				}
				s.tables[r] = false
			}
		}
		s.shows = c
	}
	for _, r := range reads {
		pictured, made := s.tables[r]
		if !made {
			if err := s.create(ctx, r); err != nil {
				return err
			}
		}
		if !pictured {
			if err := s.insert(ctx, r, c.ownRows(r)); err != nil {
				return err
			}
		}
		s.tables[r] = true
	}
	return nil
}

// allowed are the functions of SQLite that the binder writes.
var allowed = map[string]bool{"pg": true, "json_each": true, "json_array": true, "json_group_array": true, "json_extract": true, "count": true, "sum": true,
	"min": true, "max": true, "coalesce": true, "nullif": true, "row_number": true, "rank": true, "dense_rank": true}

// authorize lets a client's statement read, and call what the binder writes.
func (s *store) authorize() error {
	may := func(action sqlite.AuthorizerActionCode, arg1, arg2, database, trigger string) sqlite.AuthorizerReturnCode {
		switch {
		case !s.guards.Load():
		case action == sqlite.AuthSelect, action == sqlite.AuthRecursive:
		case action == sqlite.AuthFunction && allowed[strings.ToLower(arg2)]:
		case action == sqlite.AuthRead && !strings.HasPrefix(arg1, "sqlite_"):
		default:
			return sqlite.AuthorizerDeny
		}
		return sqlite.AuthorizerOK
	}
	return s.conn.Raw(func(raw any) error {
		r, ok := raw.(sqlite.AuthorizerRegisterer)
		if !ok {
			return sqlerr.New(sqlerr.Internal, "the SQLite driver has no authorizer")
		}
		return r.RegisterAuthorizer(may)
	})
}

// ask runs a statement that gives one text. All of its work is in its first step, the one that the driver stops
// when the context ends.
func (s *store) ask(ctx context.Context, text string, args []any) (out string, err error) {
	s.guards.Store(true)
	defer s.guards.Store(false)
	err = s.conn.QueryRowContext(ctx, text, args...).Scan(&out)
	return out, err
}
