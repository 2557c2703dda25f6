package pgcatalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
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
	shows  *Catalog              // whose picture is loaded; nil for none
	tables map[*relation]*loaded // that are made
	guards atomic.Bool           // a statement of a client runs
}

// loaded is a table of a store.
type loaded struct {
	system   int64 // the number of rows that all catalogs have; they come first
	pictured bool  // it has the rows of the picture
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

// key is a relation's name, with the schema if that is not pg_catalog.
func (r *relation) key() string {
	if r.schema == "pg_catalog" {
		return r.name
	}
	return r.schema + "." + r.name
}

// tableName returns the name of a relation's table in SQL.
func (r *relation) tableName() string { return `"` + r.key() + `"` }

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
	s := &store{pool: pool, tables: make(map[*relation]*loaded)}
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

// storeLimits are SQLite's limits for a statement. A text is copied when it is read.
var storeLimits = map[int]int{sqlite3.SQLITE_LIMIT_LENGTH: maxMemory / 2, sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 3000,
	sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0, sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1}

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
func (s *store) create(ctx context.Context, r *relation) (*loaded, error) {
	columns := make([]string, len(r.columns))
	script := ""
	for i, c := range r.columns {
		columns[i] = `"` + c.name + `"`
		if c.notNull {
			columns[i] += " DEFAULT " + constantSQL(zeroValue(c.typ))
		}
		if slices.Contains(indexed[r.name], c.name) {
			script += fmt.Sprintf(`; CREATE INDEX "%s %s" ON %s (%s)`, r.key(), c.name, r.tableName(), c.name)
		}
	}
	script = "CREATE TABLE " + r.tableName() + " (" + strings.Join(columns, ", ") + ")" + script
	if _, err := s.conn.ExecContext(ctx, script); err != nil {
		return nil, err
	}
	if err := s.insert(ctx, r.tableName(), len(r.columns), r.rows); err != nil {
		return nil, err
	}
	n, err := s.fill(ctx, r, nil)
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "ANALYZE "+r.tableName())
	}
	return &loaded{system: int64(len(r.rows)) + n}, err
}

// fill fills a relation with what follows from a picture, or of nil from the system itself: from lists, which are
// tables as long as that takes.
func (s *store) fill(ctx context.Context, r *relation, c *Catalog) (int64, error) {
	f, ok := fillings()[r.key()]
	if !ok {
		return 0, nil
	}
	for _, name := range f.lists {
		columns := lists[name].columns
		script := "CREATE TABLE IF NOT EXISTS " + name + " (" + strings.Join(columns, ", ") + "); DELETE FROM " + name
		if _, err := s.conn.ExecContext(ctx, script); err != nil {
			return 0, err
		}
		if err := s.insert(ctx, name, len(columns), lists[name].rows(c)); err != nil {
			return 0, err
		}
	}
	done, err := s.conn.ExecContext(ctx, f.sql)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// insert inserts rows, many by one statement: JSON takes five times as long to be read.
func (s *store) insert(ctx context.Context, table string, columns int, rows [][]any) error {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	for len(rows) > 0 {
		n := min(64, len(rows))
		insert, err := s.conn.PrepareContext(ctx, "INSERT INTO "+table+" VALUES "+row+strings.Repeat(", "+row, n-1))
		if err != nil {
			return err
		}
		for ; err == nil && len(rows) >= n; rows = rows[n:] {
			var values []any
			for _, v := range slices.Concat(rows[:n]...) {
				values = append(values, encode(v))
			}
			_, err = insert.ExecContext(ctx, values...)
		}
		if err := errors.Join(err, insert.Close()); err != nil {
			return err
		}
	}
	return nil
}

// show loads the relations that a statement reads, of a catalog's picture and in the place of the one before.
// Without this a first question waited for all of them: 114 ms in a process, 27 ms for another user
// (BenchmarkFirst).
func (s *store) show(ctx context.Context, c *Catalog, reads []*relation) error {
	if s.shows != c {
		for r, t := range s.tables {
			if t.pictured {
				own := "DELETE FROM " + r.tableName() + " WHERE rowid > ?"
				if _, err := s.conn.ExecContext(ctx, own, t.system); err != nil {
					return err
				}
				t.pictured = false
			}
		}
		s.shows = c
	}
	for _, r := range reads {
		if err := s.load(ctx, c, r); err != nil {
			return err
		}
	}
	return nil
}

// load loads a relation, and before it those that its rows are made of.
func (s *store) load(ctx context.Context, c *Catalog, r *relation) (err error) {
	t := s.tables[r]
	if t != nil && t.pictured {
		return nil
	}
	for _, name := range fillings()[r.key()].reads {
		if err := s.load(ctx, c, sharedCatalog().relations["pg_catalog."+name]); err != nil {
			return err
		}
	}
	if t == nil {
		if t, err = s.create(ctx, r); err != nil {
			return err
		}
		s.tables[r] = t
	}
	if _, err = s.fill(ctx, r, c); err == nil {
		t.pictured = true
	}
	return err
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
