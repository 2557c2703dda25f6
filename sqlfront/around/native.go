//go:build !js

package around

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/internal/calendar"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// fileLimit is the size in bytes of the largest file of the VFS memdb: a sort, or a database of
// copies. SQLite takes the limit for the whole process, before the first connection, so it holds
// for the copy of the catalog too that a rehearsal makes. SQLite's own is 1 GiB, and a file has
// twice its size while it grows.
var (
	fileLimit  int64 = maxPages * 4096
	isLimited        = sqlite3.Xsqlite3_config(nil, sqlite3.SQLITE_CONFIG_MEMDB_MAXSIZE, uintptr(unsafe.Pointer(&fileLimit))) == sqlite3.SQLITE_OK
	errNoLimit       = sqlerr.New(sqlerr.Internal, "SQLite does not limit its files in memory")
)

// limits are SQLite's limits for statements. What a single step of SQLite can take grows
// with the square of a text's length, as for replace and instr.
var limits = map[int]int{
	sqlite3.SQLITE_LIMIT_LENGTH:              maxLength,
	sqlite3.SQLITE_LIMIT_COLUMN:              maxColumn,
	sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          200,
	sqlite3.SQLITE_LIMIT_COMPOUND_SELECT:     100,
	sqlite3.SQLITE_LIMIT_VDBE_OP:             1 << 20,
	sqlite3.SQLITE_LIMIT_FUNCTION_ARG:        100,
	sqlite3.SQLITE_LIMIT_ATTACHED:            0,
	sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
	sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       1,
	sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
}

// name is the database in memory. The VFS memdb keeps it, and the temporary files of
// sorts, in memory, and bounds each. A name without a slash is not shared.
const name = "file:surround?vfs=memdb&_dqs=0&_defensive=1" +
	"&_pragma=trusted_schema(0)&_pragma=temp_store(1)&_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=mmap_size(0)"

// driver names the driver of SQLite with the collation moment, which compares dates as moments.
const driver = "dpsql surround"

var register = sync.OnceValue(func() error {
	d := &modernc.Driver{}
	sql.Register(driver, d)
	return d.RegisterCollationUtf8("moment", func(x, y string) int { return strings.Compare(calendar.Canonical(x), calendar.Canonical(y)) })
})

// collates says that the collation moment is there: dates and moments of one column are compared as moments.
const collates = true

// asMoments returns nil: the collation compares.
func (w *walker) asMoments(syntax.Node) syntax.Node { return nil }

// native is a connection to the program's own SQLite.
type native struct {
	pool *sql.DB
	conn *sql.Conn
}

// connect returns a connection that asks may while it compiles.
func connect(ctx context.Context, may func(do action, name, of, database string) bool) (sqlite, error) {
	if !isLimited {
		return nil, errNoLimit
	}
	if err := register(); err != nil {
		return nil, err
	}
	pool, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	c := &native{pool: pool}
	c.pool.SetMaxOpenConns(1)
	if c.conn, err = c.pool.Conn(ctx); err == nil {
		_, err = c.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA main.max_page_count = %d; PRAGMA temp.max_page_count = %d", maxPages, maxResult))
	}
	for id, limit := range limits {
		if err == nil {
			_, err = modernc.Limit(c.conn, id, limit)
		}
	}
	if err == nil {
		err = c.authorize(may)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *native) close() {
	if c.conn != nil {
		c.conn.Close()
	}
	c.pool.Close()
}

// actions are SQLite's codes of what statements may do.
var actions = map[modernc.AuthorizerActionCode]action{
	modernc.AuthSelect: selectAction, modernc.AuthRecursive: selectAction,
	modernc.AuthFunction: callAction, modernc.AuthRead: readAction, modernc.AuthInsert: insertAction,
}

// authorize sets the authorizer.
func (c *native) authorize(may func(do action, name, of, database string) bool) error {
	return c.conn.Raw(func(raw any) error {
		r, ok := raw.(modernc.AuthorizerRegisterer)
		if !ok {
			return sqlerr.New(sqlerr.Internal, "the SQLite driver has no authorizer")
		}
		return r.RegisterAuthorizer(func(action modernc.AuthorizerActionCode, name, of, database, _ string) modernc.AuthorizerReturnCode {
			if may(actions[action], name, of, database) {
				return modernc.AuthorizerOK
			}
			return modernc.AuthorizerDeny
		})
	})
}

// first makes a script of a statement. The driver compiles the first statement of a text
// at once, and the others where it can stop them.
const first = "SELECT 1;\n"

// exec implements sqlite.
func (c *native) exec(ctx context.Context, script string, rows ...[]any) error {
	if len(rows) > 1 {
		return c.each(ctx, script, rows)
	}
	var args []any
	if len(rows) == 1 {
		args = rows[0]
	}
	_, err := c.conn.ExecContext(ctx, first+script, args...)
	return err
}

// each runs a statement once for each row of arguments.
func (c *native) each(ctx context.Context, statement string, rows [][]any) error {
	tx, err := c.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	prepared, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer prepared.Close()
	for _, row := range rows {
		if _, err := prepared.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// read implements sqlite.
func (c *native) read(ctx context.Context, statement string, args []any, row func([]any) error) ([]string, error) {
	if row == nil {
		return c.names(statement)
	}
	rows, err := c.conn.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if err := row(values); err != nil {
			return nil, err
		}
	}
	return names, rows.Err()
}

// names compiles a statement, and returns the names of its columns.
func (c *native) names(statement string) (names []string, err error) {
	err = c.conn.Raw(func(raw any) error {
		describer, ok := raw.(interface {
			ColumnInfo(string) ([]modernc.ColumnInfo, error)
		})
		if !ok {
			return sqlerr.New(sqlerr.Internal, "the SQLite driver does not describe columns")
		}
		infos, err := describer.ColumnInfo(statement)
		for _, i := range infos {
			names = append(names, i.Name)
		}
		return err
	})
	return names, err
}
