package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"dpsql/query"
	"dpsql/source"
)

// TestSharedSnapshot reads many partitions by several connections, while others
// change the rows and end all connections but the one that has the snapshot.
func TestSharedSnapshot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	const parts = 40
	execute(t, conn, "CREATE TABLE a (x int, y text) PARTITION BY HASH (x)")
	for i := range parts {
		execute(t, conn, fmt.Sprintf("CREATE TABLE a%d PARTITION OF a FOR VALUES WITH (MODULUS %d, REMAINDER %d)", i, parts, i))
	}
	execute(t, conn, "INSERT INTO a SELECT i % 3000, 'y' || i % 2 FROM generate_series(1, 30000) AS i", "ANALYZE a", "UPDATE pg_class SET reltuples = 1e6 WHERE relname = 'a0'")
	number, err := query.NewRange(0, 1999, false)
	must(t, err)
	table := source.Table{Source: "public.a", Columns: []query.Column{{Name: "x", Domain: number}, {Name: "y", Domain: query.Unbounded()}}}
	u, err := query.NewUniverse(table.Columns)
	must(t, err)
	coder := query.NewCoder(u, [16]byte{1})
	want := make(map[query.Element]int64)
	for i := 1; i <= 30000; i++ {
		if e, ok := coder.Code([]query.Value{query.Int(int64(i % 3000)), query.Text(fmt.Sprintf("y%d", i%2))}); ok {
			want[e]++
		}
	}
	var read int
	table.Progress = func(done, all int) {
		if read = done; all != parts {
			t.Errorf("%d parts are to be read, want %d", all, parts)
		}
	}
	for round := range 6 {
		must(t, pool.Snapshot(ctx, func(reading source.Reader) error {
			r := reading.(*reader)
			_, err := r.Check(ctx, table)
			must(t, err)
			if rel, err := r.open(ctx, table); err != nil || len(rel.shares) != parts {
				t.Fatalf("%d parts, %v", len(rel.shares), err)
			}
			if round == 5 {
				_, err := r.Cells(ctx, anyone{}, table, []int{0, 1}, coder, 1500)
				if !errors.Is(err, source.ErrTooManyCells) {
					t.Errorf("too many cells: %v", err)
				}
				if n, err := r.Count(ctx, anyone{}, table, query.All(u)); err != nil || n != 20000 {
					t.Errorf("after that %d rows, %v", n, err)
				}
				return nil
			}
			_, err = conn.Exec(ctx, "SELECT") // a snapshot begins with its first statement
			must(t, err)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for range 10 * (round % 3) {
					_, _ = conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpsql' AND datname = current_database() AND pid <> "+fmt.Sprint(r.conn.Conn().PgConn().PID()))
					_, _ = conn.Exec(ctx, "INSERT INTO a VALUES (1, 'new')")
					time.Sleep(time.Millisecond)
				}
			}()
			got, err := r.Cells(ctx, anyone{}, table, []int{0, 1}, coder, 10_000)
			<-ended
			if err != nil || !maps.Equal(maps.Collect(got.All()), want) {
				t.Errorf("round %d: other cells, %v", round, err)
			}
			if !r.alone && read != parts {
				t.Errorf("round %d: %d of %d parts are said to be read", round, read, parts)
			}
			execute(t, conn, "DELETE FROM a WHERE y = 'new'")
			return nil
		}))
	}
}

// TestUnsharedSnapshot reads all by one connection where the server does not
// share the snapshot, as within a subtransaction.
func TestUnsharedSnapshot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int) PARTITION BY HASH (x)", "CREATE TABLE a0 PARTITION OF a FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
		"CREATE TABLE a1 PARTITION OF a FOR VALUES WITH (MODULUS 2, REMAINDER 1)", "INSERT INTO a SELECT generate_series(1, 100)", "ANALYZE a", "UPDATE pg_class SET reltuples = 1e6 WHERE relname = 'a0'")
	table, q := counting(t, "public.a")
	must(t, pool.Snapshot(ctx, func(reading source.Reader) error {
		r := reading.(*reader)
		_, err := r.Check(ctx, table)
		must(t, err)
		must(t, r.run(ctx, "SAVEPOINT outer_one"))
		h, err := r.Cells(ctx, anyone{}, table, []int{0}, query.NewCoder(q.Universe(), [16]byte{}), 1000)
		if err != nil || h.Len() != 100 || !r.alone {
			t.Errorf("%v, alone %v", err, r.alone)
		}
		return nil
	}))
}

// TestLostSnapshot ends the connection that has the snapshot amid a shared read:
// the read starts over, on a new snapshot.
func TestLostSnapshot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int) PARTITION BY HASH (x)")
	for i := range 8 {
		execute(t, conn, fmt.Sprintf("CREATE TABLE a%d PARTITION OF a FOR VALUES WITH (MODULUS 8, REMAINDER %d)", i, i))
	}
	execute(t, conn, "INSERT INTO a SELECT i % 1000 FROM generate_series(1, 400000) AS i", "ANALYZE a", "UPDATE pg_class SET reltuples = 1e6 WHERE relname = 'a0'")
	table, q := counting(t, "public.a")
	coder := query.NewCoder(q.Universe(), [16]byte{})
	must(t, pool.Snapshot(ctx, func(reading source.Reader) error {
		r := reading.(*reader)
		_, err := r.Check(ctx, table)
		must(t, err)
		leader := r.conn.Conn().PgConn().PID()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			time.Sleep(5 * time.Millisecond)
			_, _ = conn.Exec(ctx, fmt.Sprintf("SELECT pg_terminate_backend(%d)", leader))
		}()
		got, err := r.Cells(ctx, anyone{}, table, []int{0}, coder, 10_000)
		<-ended
		if err != nil || got.Len() != 1000 {
			t.Fatalf("the read did not start over: %v", err)
		}
		if n, ok := got.Count(q); !ok || n != 400_000 {
			t.Errorf("%d rows", n)
		}
		if r.conn.Conn().PgConn().PID() == leader {
			t.Log("the connection was not lost in time")
		}
		return nil
	}))
}
