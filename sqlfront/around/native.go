package around

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"dpsql/internal/calendar"
	"dpsql/sqlerr"
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
	d := &sqlite.Driver{}
	sql.Register(driver, d)
	return d.RegisterCollationUtf8("moment", func(x, y string) int { return strings.Compare(calendar.Canonical(x), calendar.Canonical(y)) })
})

func open(ctx context.Context) (*connection, error) {
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
	c := &connection{pool: pool, tables: make(map[string][]column), made: make(map[string]made)}
	c.pool.SetMaxOpenConns(1)
	if c.conn, err = c.pool.Conn(ctx); err == nil {
		_, err = c.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA main.max_page_count = %d; PRAGMA temp.max_page_count = %d", maxPages, maxResult))
	}
	for id, limit := range limits {
		if err == nil {
			_, err = sqlite.Limit(c.conn, id, limit)
		}
	}
	if err == nil {
		err = c.authorize()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *connection) close() {
	if c.conn != nil {
		c.conn.Close()
	}
	c.pool.Close()
}

// authorize sets the authorizer. SQLite asks it while it compiles. While a statement runs, it
// allows this to read, and its result to be inserted into a table of temp, which the statement
// cannot name.
func (c *connection) authorize() error {
	may := func(action sqlite.AuthorizerActionCode, arg1, arg2, database, trigger string) sqlite.AuthorizerReturnCode {
		s := c.running
		allowed := s == nil
		if allowed {
			return sqlite.AuthorizerOK
		}
		switch action {
		case sqlite.AuthSelect, sqlite.AuthRecursive:
			allowed = true
		case sqlite.AuthFunction:
			_, allowed = functions()[strings.ToLower(arg2)]
		case sqlite.AuthRead:
			allowed = c.readable(s, arg1, arg2, database)
		case sqlite.AuthInsert:
			allowed = arg1 == s.resultTable() && database == "temp"
		}
		if !allowed {
			return sqlite.AuthorizerDeny
		}
		return sqlite.AuthorizerOK
	}
	return c.conn.Raw(func(raw any) error {
		r, ok := raw.(sqlite.AuthorizerRegisterer)
		if !ok {
			return sqlerr.New(sqlerr.Internal, "the SQLite driver has no authorizer")
		}
		return r.RegisterAuthorizer(may)
	})
}

// first makes a script of a statement. The driver compiles the first statement of a text
// at once, and the others where it can stop them.
const first = "SELECT 1;\n"

// compiled compiles a statement that is allowed.
func (c *connection) compiled(limited context.Context, s *Statement, args []any) (names []string, err error) {
	if _, err := c.conn.ExecContext(limited, first+"EXPLAIN "+s.text, args...); err != nil {
		return nil, err
	}
	err = c.conn.Raw(func(raw any) error {
		describer, ok := raw.(interface {
			ColumnInfo(string) ([]sqlite.ColumnInfo, error)
		})
		if !ok {
			return errors.New("the SQLite driver does not describe columns")
		}
		infos, err := describer.ColumnInfo(s.text)
		for _, i := range infos {
			names = append(names, i.Name)
		}
		return err
	})
	return names, err
}

// unguarded runs statements of this package.
func (c *connection) unguarded(ctx context.Context, script string) error {
	if script == "" {
		return nil
	}
	_, err := c.conn.ExecContext(ctx, script)
	return err
}
