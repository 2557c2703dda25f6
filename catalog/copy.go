package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"dpsql/query"
)

// copies numbers the databases in memory of this process.
var copies atomic.Int64

// Copy returns a Store of a database in memory. The database has the catalog as it is
// now, without the payloads of releases and mechanisms, and the definitions of all
// other tables and views. Only the tables in withRows have their rows. Closing the copy
// discards it. The copy reads the marks beside the file and never writes them. Errors:
// those of Read.
func (s *Store) Copy(ctx context.Context, withRows []string) (*Store, error) {
	c := newStore(s.path, Options{BusyTimeout: s.options.BusyTimeout})
	c.memory = fmt.Sprintf("file:/dpsql-copy-%d?vfs=memdb&_pragma=%s", copies.Add(1), pragma("busy_timeout", milliseconds(c.options.BusyTimeout)))
	c.journal, c.now = "memory", s.now
	if err := c.fill(ctx, s, withRows); err != nil {
		c.Close()
		return nil, s.translate(ctx, err)
	}
	return c, nil
}

// fill copies from into an empty database in memory. The connection that writes keeps
// that database alive.
func (s *Store) fill(ctx context.Context, from *Store, withRows []string) error {
	pool, err := s.writerPool()
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	exists, err := from.identify()
	if err != nil || !exists {
		return err
	}
	files := "vfs=unix" // else SQLite would look for the file in memory, too
	if runtime.GOOS == "windows" {
		files = "vfs=win32"
	}
	mode := []string{files, "mode=ro"}
	if from.diskWritable() {
		mode = []string{files, "mode=rw"} // so that SQLite can remove its side files
	} else if !from.walHasContent() {
		mode = append(mode, "immutable=1")
	}
	for _, text := range []string{`PRAGMA foreign_keys = 0`, `ATTACH '` + strings.ReplaceAll(dsn(from.path, 0, mode...), `'`, `''`) + `' AS original`, `BEGIN`} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if err := copyObjects(ctx, conn, withRows); err != nil {
		return err
	}
	for _, text := range []string{`COMMIT`, `DETACH original`, `PRAGMA foreign_keys = 1`} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// copyObjects copies the attached database: its tables, then rows, then everything
// else. Triggers come after the rows, because they would refuse rows of the ledger.
func copyObjects(ctx context.Context, conn *sql.Conn, withRows []string) error {
	type object struct{ kind, name, text string }
	var all []object
	rows, err := conn.QueryContext(ctx, `SELECT type, name, sql FROM original.sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		ORDER BY type <> 'table'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.text); err != nil {
			return err
		}
		all = append(all, o)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, o := range all {
		own := strings.HasPrefix(o.name, "dpsql_")
		if o.kind == "trigger" && !own {
			continue
		}
		if _, err := conn.ExecContext(ctx, o.text); err != nil && own {
			return err
		} else if err != nil {
			continue // of a module that this SQLite lacks, or a part of such a table
		}
		if o.kind == "table" && o.name != "dpsql_payloads" && (own || slices.Contains(withRows, o.name)) {
			if err := copyRows(ctx, conn, o.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyRows copies the rows of a table. SQLite computes the generated columns.
func copyRows(ctx context.Context, conn *sql.Conn, table string) error {
	var columns string
	err := conn.QueryRowContext(ctx, `SELECT group_concat('"' || replace(name, '"', '""') || '"') FROM pragma_table_xinfo(?, 'original') WHERE hidden = 0`, table).Scan(&columns)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf(`INSERT INTO main.%s (%s) SELECT %[2]s FROM original.%[1]s`, query.Quoted(table), columns))
	return err
}
