package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpsql/internal/pgtest"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// counting is a table of integers and the query of all its rows.
func counting(t testing.TB, name string) (source.Table, query.Query) {
	t.Helper()
	d, err := query.NewRange(0, 1<<40, false)
	must(t, err)
	table := source.Table{Source: name, Columns: []query.Column{{Name: "x", Domain: d}}}
	u, err := query.NewUniverse(table.Columns)
	must(t, err)
	return table, query.All(u)
}

// fails checks that an error has the code and that its text has none of the secrets.
func fails(t *testing.T, err error, code sqlerr.Code, secrets ...string) {
	t.Helper()
	if sqlerr.CodeOf(err) != code {
		t.Errorf("%v, want %s", err, code)
	}
	for _, s := range append(secrets, "ERROR", "SQLSTATE", "FATAL") {
		if strings.Contains(fmt.Sprintf("%+v", err), s) {
			t.Errorf("%v has %q", err, s)
		}
	}
}

func TestErrorsTellNothing(t *testing.T) {
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int)", "INSERT INTO a SELECT generate_series(0, 2000)", "CREATE VIEW failing AS SELECT 1 / (x - 7) AS x FROM a", "CREATE VIEW slow AS SELECT a.x FROM a, a AS b, a AS c",
		"DROP ROLE IF EXISTS stranger", "CREATE ROLE stranger LOGIN PASSWORD 'hunter22'", "CREATE TABLE hidden (x int)", "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY", "GRANT SELECT ON hidden TO stranger",
		"CREATE TABLE partly (x int, y int)", "INSERT INTO partly VALUES (1, 2)", "GRANT SELECT (x) ON partly TO stranger")
	t.Cleanup(func() { execute(t, conn, "DROP OWNED BY stranger", "DROP ROLE stranger") })
	count := func(dsn, name string) (n int64, err error) {
		pool := pool
		if dsn != "" {
			pool, err = Open(dsn)
			if err != nil {
				return 0, err
			}
			defer pool.Close()
		}
		table, q := counting(t, name)
		err = pool.Snapshot(ctx, func(r source.Reader) error {
			n, err = r.Count(ctx, anyone{}, table, q)
			return err
		})
		return n, err
	}
	_, err := Open("postgres://me:hunter22@db7:port/db")
	fails(t, err, sqlerr.Invalid, "hunter22", "db7", "me:")
	_, err = count("host=/nonexistent user=me password=hunter22", "public.a")
	fails(t, err, sqlerr.IO, "hunter22", "nonexistent")
	_, err = count(strings.Replace(dsn, "user=postgres", "user=nobody_here password=hunter22", 1), "public.a")
	fails(t, err, sqlerr.Forbidden, "hunter22", "nobody_here")
	_, err = count(strings.Replace(dsn, "dbname=", "dbname=no_", 1), "public.a")
	fails(t, err, sqlerr.Unknown, "no_test")
	_, err = count("", "public.failing")
	fails(t, err, sqlerr.Invalid, "zero")
	stranger := strings.Replace(dsn, "user=postgres", "user=stranger password=hunter22", 1)
	_, err = count(stranger, "public.a")
	fails(t, err, sqlerr.Forbidden, "hunter22")
	_, err = count(stranger, "public.hidden")
	fails(t, err, sqlerr.Forbidden, "hunter22")
	if n, err := count(stranger, "public.partly"); n != 1 || err != nil {
		t.Errorf("with rights on a column %d, %v", n, err)
	}
	_, err = count(dsn+" statement_timeout=20", "public.slow")
	fails(t, err, sqlerr.IO)
	if e, ok := err.(*sqlerr.Error); !ok || !strings.Contains(e.Hint, "statement_timeout") {
		t.Errorf("after the server's timeout: %v", err)
	}
	other, err := pgtest.Shared(t).Database("latin", "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
	must(t, err)
	t.Cleanup(func() { execute(t, conn, "DROP DATABASE latin WITH (FORCE)") })
	_, err = count(other, "public.a")
	fails(t, err, sqlerr.Unknown)
	execute(t, dialled(t, other), "CREATE TABLE a (x int)")
	_, err = count(other, "public.a")
	fails(t, err, sqlerr.Unsupported)
}

// TestCancel ends a read that would take hours, on the server too.
func TestCancel(t *testing.T) {
	t.Parallel()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int)", "INSERT INTO a SELECT generate_series(0, 5000)", "CREATE VIEW slow AS SELECT a.x FROM a, a AS b, a AS c")
	table, q := counting(t, "public.slow")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	err := pool.Snapshot(ctx, func(r source.Reader) error {
		_, err := r.Count(ctx, anyone{}, table, q)
		return err
	})
	fails(t, err, sqlerr.Cancelled)
	for range 100 {
		var active int
		must(t, conn.QueryRow(context.Background(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dpsql' AND datname = current_database() AND state <> 'idle'").Scan(&active))
		if active == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the server goes on")
}

// TestLateCancel has a request to cancel reach the server when its statement has ended, and the
// next of the pool runs: that one goes on.
func TestLateCancel(t *testing.T) {
	t.Parallel()
	far := pgtest.Shared(t).Proxy(t)
	far.DelayCancels(400 * time.Millisecond)
	pool, err := Open(far.DSN() + " pool_max_conns=1")
	must(t, err)
	t.Cleanup(pool.Close)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := pool.pool.Exec(ctx, "SELECT pg_sleep(0.2)"); err != nil {
		t.Logf("the statement did not end by itself: %v", err)
	}
	_, err = pool.pool.Exec(context.Background(), "SELECT pg_sleep(0.5)")
	must(t, err)
}

// cut ends the pool's connections from the server's side.
func cut(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	for {
		var n int
		must(t, conn.QueryRow(context.Background(), "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'dpsql' AND datname = current_database()").Scan(&n))
		if n == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestLostConnections checks that a reader starts over only while nothing was counted:
// two counts of one snapshot never come from two snapshots.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int)", "INSERT INTO a VALUES (1), (2)")
	table, q := counting(t, "public.a")
	coder := query.NewCoder(q.Universe(), [16]byte{})
	must(t, pool.Snapshot(ctx, func(r source.Reader) error {
		_, err := r.Check(ctx, table)
		must(t, err)
		cut(t, conn)
		if h, err := r.Cells(ctx, anyone{}, table, []int{0}, coder, 10); err != nil || h.Len() != 2 {
			t.Errorf("after a loss: %v", err)
		}
		execute(t, conn, "INSERT INTO a VALUES (3)")
		if n, err := r.Count(ctx, anyone{}, table, q); err != nil || n != 2 {
			t.Errorf("the snapshot counts %d, %v", n, err)
		}
		cut(t, conn)
		_, err = r.Count(ctx, anyone{}, table, q)
		fails(t, err, sqlerr.IO)
		return nil
	}))
	must(t, pool.Snapshot(ctx, func(r source.Reader) error {
		_, err := r.Check(ctx, table)
		must(t, err)
		cut(t, conn)
		execute(t, conn, "ALTER TABLE a ADD y int")
		_, err = r.Count(ctx, anyone{}, table, q)
		fails(t, err, sqlerr.Busy)
		return nil
	}))
	must(t, pool.Snapshot(ctx, func(r source.Reader) error { return nil }))
}

// TestSnapshotHoldsTheSchema checks that nobody can change a table that is being read.
func TestSnapshotHoldsTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int)", "SET lock_timeout = '20ms'")
	table, q := counting(t, "public.a")
	must(t, pool.Snapshot(ctx, func(r source.Reader) error {
		_, err := r.Check(ctx, table)
		must(t, err)
		if _, err := conn.Exec(ctx, "ALTER TABLE a ALTER x TYPE text"); err == nil {
			t.Error("the table changed")
		}
		_, err = r.Count(ctx, anyone{}, table, q)
		return err
	}))
	execute(t, conn, "ALTER TABLE a ALTER x TYPE text")
	var state string
	must(t, conn.QueryRow(ctx, "SELECT state FROM pg_stat_activity WHERE application_name = 'dpsql' AND datname = current_database()").Scan(&state))
	if state != "idle" {
		t.Errorf("the connection is %s", state)
	}
}
