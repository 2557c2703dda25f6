package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpsql/internal/pgtest"
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

// TestUnsharedSnapshot reads everything by one connection when the server does not
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

// TestLostSnapshot ends the connection that has the snapshot during a shared read. The
// read starts over on a new snapshot.
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

// spread makes a table of two foreign partitions whose rows are in another database of
// the same server. It is partitioned by a hash of a column that no query groups by.
func spread(t testing.TB, rows int) (*Pool, *pgx.Conn, source.Table) {
	t.Helper()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	var has bool
	must(t, conn.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw')").Scan(&has))
	if !has {
		t.Skip("postgres_fdw is missing (apt-get install postgresql-contrib)")
	}
	shard, err := pgtest.Shared(t).Database(strings.ToLower(t.Name())+"_shard", "")
	must(t, err)
	t.Cleanup(func() {
		pool.Close()
		execute(t, dialled(t, pgtest.Shared(t).DSN()), "DROP DATABASE "+strings.ToLower(t.Name())+"_shard WITH (FORCE)")
	})
	config, err := pgx.ParseConfig(shard)
	must(t, err)
	const columns = "(id int, age int, code text, day date, mark char(3), score numeric, id2 uuid, who text)"
	execute(t, conn, "CREATE EXTENSION postgres_fdw", fmt.Sprintf("CREATE SERVER shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%d', dbname '%s', async_capable 'true')", config.Host, config.Port, config.Database),
		"CREATE USER MAPPING FOR postgres SERVER shard OPTIONS (user 'postgres')", "CREATE TABLE visits "+columns+" PARTITION BY HASH (id)")
	far := dialled(t, shard)
	for i := range 2 {
		execute(t, far, fmt.Sprintf("CREATE TABLE part%d %s", i, columns))
		execute(t, conn, fmt.Sprintf("CREATE FOREIGN TABLE part%d PARTITION OF visits FOR VALUES WITH (MODULUS 2, REMAINDER %d) SERVER shard", i, i))
	}
	execute(t, conn, fmt.Sprintf("INSERT INTO visits SELECT i, i %% 7, 'c' || i %% 3, date '2024-01-01' + i %% 5, 'm' || i %% 2, i %% 4, md5((i %% 2)::text)::uuid, 'p' || i %% 50 FROM generate_series(1, %d) AS i", rows))
	execute(t, far, "ANALYZE")
	table := source.Table{Source: "public.visits"}
	number, err := query.NewRange(0, 5, true)
	must(t, err)
	list, err := query.NewList(query.TypeText, []query.Value{query.Text("c1"), query.Text("c2"), query.Null()})
	must(t, err)
	for name, d := range map[string]query.Domain{"age": number, "code": list, "day": query.Unbounded(), "mark": query.Unbounded(), "score": number, "id2": query.Unbounded()} {
		table.Columns = append(table.Columns, query.Column{Name: name, Domain: d})
	}
	return pool, conn, table
}

// explained returns the server's plan of a statement.
func explained(t testing.TB, r *reader, s statement) string {
	t.Helper()
	var plan strings.Builder
	s.text = "EXPLAIN (VERBOSE, COSTS OFF) " + s.text
	must(t, r.rows(context.Background(), s, func(row [][]byte) bool {
		fmt.Fprintf(&plan, "%s\n", row[0])
		return true
	}))
	return plan.String()
}

// TestShardsCount checks that the servers that have the rows count them, whatever the
// statement groups by. The counts equal those of a plain table of the same rows.
func TestShardsCount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, conn, table := spread(t, 3000)
	execute(t, conn, "CREATE TABLE plain AS SELECT * FROM visits")
	plain := table
	plain.Source = "public.plain"
	u, err := query.NewUniverse(table.Columns)
	must(t, err)
	coder := query.NewCoder(u, [16]byte{1})
	all := []int{0, 1, 2, 3, 4, 5}
	some := query.All(u)
	for i, c := range table.Columns {
		set := c.Domain.SetOf(query.Int(2), query.Int(3), query.Text("c1"), query.Text("2024-01-02"), query.Text("2024-01-03"), query.Text("m1"))
		if c.Name != "id2" {
			some, err = some.And(query.Where(u, i, set))
			must(t, err)
		}
	}
	must(t, pool.Snapshot(ctx, func(reading source.Reader) error {
		for _, unit := range []string{"", "who"} {
			far, near := table, plain
			far.Unit, far.MaxRows, far.Key = unit, 3, []byte("key")
			near.Unit, near.MaxRows, near.Key = unit, 3, []byte("key")
			want, err := reading.Cells(ctx, anyone{}, near, all, coder, 10_000)
			must(t, err)
			got, err := reading.Cells(ctx, anyone{}, far, all, coder, 10_000)
			must(t, err)
			if want.Len() == 0 || !maps.Equal(maps.Collect(got.All()), maps.Collect(want.All())) {
				t.Errorf("unit %q: %d cells on shards, %d in a table, or other counts", unit, got.Len(), want.Len())
			}
			for _, q := range []query.Query{query.All(u), some} {
				a, err := reading.Count(ctx, anyone{}, far, q)
				must(t, err)
				if b, err := reading.Count(ctx, anyone{}, near, q); err != nil || a != b || a == 0 {
					t.Errorf("unit %q: %s is %d on shards and %d in a table, %v", unit, q, a, b, err)
				}
			}
		}
		r := reading.(*reader)
		rel, err := r.open(ctx, table)
		must(t, err)
		rows, err := rowsOf(rel, table)
		must(t, err)
		count, _, ok := pushed(rows, some)
		if !ok {
			t.Error("the query is not pushed down")
		}
		for _, s := range []statement{newPlan(rows, all).statement(), count} {
			plan := explained(t, r, s)
			if strings.Count(plan, "Remote SQL: SELECT") != 2 || strings.Count(plan, "count(*) FROM public.part") != 2 || strings.Contains(plan, "Aggregate\n") || strings.Contains(plan, "Filter:") {
				t.Errorf("not all is done where the rows are:\n%s", plan)
			}
			if !strings.Contains(plan, "Async Foreign Scan") {
				t.Errorf("one shard waits for the other:\n%s", plan)
			}
		}
		return nil
	}))
}

// TestStepsDoNotTellOfRows reads a partitioned table twice. The server expects few rows
// first and many rows later. The number of steps is the same.
func TestStepsDoNotTellOfRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pool, dsn := opened(t)
	conn := dialled(t, dsn)
	execute(t, conn, "CREATE TABLE a (x int) PARTITION BY HASH (x)", "CREATE TABLE a0 PARTITION OF a FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
		"CREATE TABLE a1 PARTITION OF a FOR VALUES WITH (MODULUS 2, REMAINDER 1)", "INSERT INTO a SELECT generate_series(1, 100)", "ANALYZE a")
	table, q := counting(t, "public.a")
	for _, expected := range []string{"100", "2e6"} {
		execute(t, conn, "UPDATE pg_class SET reltuples = "+expected+" WHERE relname = 'a0'")
		var read, parts int
		table.Progress = func(done, all int) { read, parts = done, all }
		must(t, pool.Snapshot(ctx, func(r source.Reader) error {
			_, err := r.Cells(ctx, anyone{}, table, []int{0}, query.NewCoder(q.Universe(), [16]byte{}), 1000)
			return err
		}))
		if read != 2 || parts != 2 {
			t.Errorf("where %s rows are expected, %d of %d parts are said to be read", expected, read, parts)
		}
	}
}
