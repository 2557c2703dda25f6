package engine_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// million makes a database whose universe has 2^20 cells, with a release of
// 2^20 rows over it and a mechanism, and returns a session.
func million(b *testing.B, transform string) *engine.Session {
	b.Helper()
	db, err := engine.Open(filepath.Join(b.TempDir(), "million.db"), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	s := db.NewSession()
	fill(b, s, `CREATE TABLE raw (a INTEGER, b INTEGER, c INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO raw SELECT (i * i) % 32, (i * 7) % 32, i % 1024 FROM n`)
	for _, text := range []string{
		`CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 31, b INTEGER BETWEEN 0 AND 31, c INTEGER BETWEEN 0 AND 1023)
			FROM raw WITH (epsilon = 8, delta = 1e-6)`,
		fmt.Sprintf(`CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 1, transform = %s, rows = 1048576)`, transform),
		`CREATE MECHANISM m ON t USING SMW WITH (epsilon = 1, max_updates = 10)`,
	} {
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkReleaseQuery answers a query of m = 1,000 elements, which come from columns
// that are not fixed, from SQL text to row.
func BenchmarkReleaseQuery(b *testing.B) {
	for _, transform := range []string{"identity", "sparse"} {
		b.Run(transform, func(b *testing.B) {
			s := million(b, transform)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				text := fmt.Sprintf(`SELECT COUNT(*) FROM t WHERE a = %d AND b = %d AND c < 1000`, i%32, i/32%32)
				if _, err := s.Exec(context.Background(), text, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStages times the parts of a release answer.
func BenchmarkStages(b *testing.B) {
	s := million(b, "sparse")
	ctx := context.Background()
	const text = `SELECT COUNT(*) FROM t WHERE a = 3 AND b = 5 AND c < 1000`
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := syntax.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("view", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.DB().View(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	st, _ := syntax.Parse(text)
	v, err := s.DB().View(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bind", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Bind(ctx, v, st.(*syntax.Select), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	bound, err := s.Bind(ctx, v, st.(*syntax.Select), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			if err := bound.Plan(ctx, answer.Planning{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUnfired asks a mechanism new queries that do not fire.
func BenchmarkUnfired(b *testing.B) {
	s := million(b, "sparse")
	if err := s.Set("mechanism", "m"); err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		i++
		text := fmt.Sprintf(`SELECT COUNT(*) FROM t WHERE a = %d AND b = %d AND c < %d`, i%32, i/32%32, 1000-i/1024%1000)
		if _, err := s.Exec(context.Background(), text, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// crowded makes a database of a million rows, and returns a session. Each of
// the 4,096 pairs (a, b) has about 244 rows, with c spread evenly over 1,200
// values, so that a query of 1,000 elements counts about 200. The index covers it.
func crowded(b *testing.B, statements ...string) *engine.Session {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "crowded.db"), engine.Options{}).NewSession()
	fill(b, s, `CREATE TABLE raw (a INTEGER, b INTEGER, c INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
			INSERT INTO raw SELECT i % 64, i / 64 % 64, (i / 4096 * 5 + i % 4096 * 37) % 1200 FROM n`,
		`CREATE INDEX covering ON raw (a, b, c)`)
	must(b, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 63, b INTEGER BETWEEN 0 AND 63, c INTEGER BETWEEN 0 AND 1199)
		FROM raw WITH (epsilon = 8, delta = 1e-6)`)
	for _, text := range statements {
		must(b, s, text)
	}
	return s
}

// thousand returns the i-th of 800,000 queries of m = 1,000.
func thousand(table string, i int) string {
	lo := i / 4096 % 200
	return fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE a = %d AND b = %d AND c BETWEEN %d AND %d`, table, i%64, i/64%64, lo, lo+999)
}

// ask times queries of m = 1,000, from SQL text to row.
func ask(b *testing.B, s *engine.Session, text func(i int) string) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if _, err := s.Exec(context.Background(), text(i), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// askPrepared times the queries thousand as one prepared statement.
func askPrepared(b *testing.B, s *engine.Session) {
	p, err := engine.Prepare(`SELECT COUNT(*) FROM t WHERE a = ? AND b = ? AND c BETWEEN ? AND ?`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := int64(0)
	for b.Loop() {
		i++
		lo := i / 4096 % 200
		args := []query.Value{query.Int(i % 64), query.Int(i / 64 % 64), query.Int(lo), query.Int(lo + 999)}
		if _, err := s.ExecPrepared(context.Background(), p, args); err != nil {
			b.Fatal(err)
		}
	}
}

// plainSQL times the same predicates as plain SQL on a connection of its own.
func plainSQL(b *testing.B, s *engine.Session, text func(i int) string) {
	db, err := sql.Open("sqlite", s.DB().Store().Path())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	b.ReportAllocs()
	i, total := 0, int64(0)
	for b.Loop() {
		i++
		var n int64
		if err := db.QueryRow(text(i)).Scan(&n); err != nil {
			b.Fatal(err)
		}
		total += n
	}
	b.ReportMetric(float64(total)/float64(i), "rows/op")
}

// BenchmarkAnswer compares answers of releases of 2^23 buckets with plain SQL, which has a
// covering index. The queries have one condition, which leaves 1,000 elements by the
// columns that it does not fix, or three.
func BenchmarkAnswer(b *testing.B) {
	b.Run("1 condition", func(b *testing.B) {
		s := spread(b)
		where := func(table, column string) func(int) string {
			return func(i int) string { return fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE `+column, table, i*37%5000) }
		}
		b.Run("plain", func(b *testing.B) { plainSQL(b, s, where("raw", "a = %d")) })
		for _, name := range []string{"cells", "sketch", "texts"} {
			b.Run(name, func(b *testing.B) {
				must(b, s, `SET mechanism = `+name)
				if name == "texts" {
					ask(b, s, where("t", "k = 'k%d'"))
				} else {
					ask(b, s, where("t", "a = %d"))
				}
			})
		}
	})
	b.Run("3 conditions", func(b *testing.B) {
		s := crowded(b,
			`CREATE RELEASE sketch ON t USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 8388608)`,
			`CREATE RELEASE cells ON t USING PROJECTION WITH (epsilon = 1, transform = identity)`)
		b.Run("plain", func(b *testing.B) { plainSQL(b, s, queriesOf("raw")) })
		for _, name := range []string{"cells", "sketch"} {
			b.Run(name, func(b *testing.B) {
				must(b, s, `SET mechanism = `+name)
				ask(b, s, queriesOf("t"))
			})
			b.Run(name+" prepared", func(b *testing.B) { askPrepared(b, s) })
		}
	})
}

// queriesOf returns the queries of thousand for a table.
func queriesOf(table string) func(int) string {
	return func(i int) string { return thousand(table, i) }
}

// spread makes a table of a million rows. a = x holds for about 200 of them, as does k =
// 'kx'. It builds releases over a or k and the columns b, c and d of ten values.
func spread(b *testing.B) *engine.Session {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "spread.db"), engine.Options{}).NewSession()
	fill(b, s, `CREATE TABLE raw (a INTEGER, k TEXT, b INTEGER, c INTEGER, d INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
			INSERT INTO raw SELECT i % 5000, 'k' || (i % 5000), i / 5000 % 10, i / 50000 % 10, i / 500000 % 10 FROM n`,
		`CREATE INDEX covering ON raw (a, b, c, d)`)
	must(b, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 4999, k TEXT, b INTEGER BETWEEN 0 AND 9, c INTEGER BETWEEN 0 AND 9, d INTEGER BETWEEN 0 AND 9)
		FROM raw WITH (epsilon = 8, delta = 1e-6)`)
	for _, text := range []string{
		`CREATE RELEASE cells ON t (a, b, c, d) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
		`CREATE RELEASE sketch ON t (a, b, c, d) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 8388608)`,
		`CREATE RELEASE texts ON t (k, b, c, d) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 8388608)`,
	} {
		must(b, s, text)
	}
	return s
}

// BenchmarkMechanism times comparisons that do not fire, by push-down and with the cells
// in memory.
func BenchmarkMechanism(b *testing.B) {
	s := crowded(b, `CREATE MECHANISM m ON t USING SMW WITH (epsilon = 1, max_updates = 10, max_support = 491520)`, `SET mechanism = m`)
	b.Run("plain", func(b *testing.B) { plainSQL(b, s, queriesOf("raw")) })
	b.Run("pushdown", func(b *testing.B) {
		s.DB().Rows().Cache.Get(keyOfCells(firstTable(s).ID, nil)).Price = 1 << 60
		ask(b, s, queriesOf("t"))
	})
	b.Run("memory", func(b *testing.B) {
		state := s.DB().Rows().Cache.Get(keyOfCells(firstTable(s).ID, nil))
		state.Spent, state.Price = 1, 1
		must(b, s, thousand("t", 800_000))
		if state.Histogram == nil {
			b.Fatal("the cells are not in memory")
		}
		ask(b, s, queriesOf("t"))
	})
}

// BenchmarkFiring times comparisons that all fire: half of the pairs (a, b) have all rows.
// Each makes three durable commits: the run's charge, its τ and the answer. The first and the
// last write a line of the ledger, whose mark is written and synced too. For comparison it
// times, on separate files, three commits of one row, without and with these marks.
func BenchmarkFiring(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "halves.db"), engine.Options{}).NewSession()
	fill(b, s, `CREATE TABLE raw (a INTEGER, b INTEGER, c INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
			INSERT INTO raw SELECT 2 * (i % 32), i / 32 % 64, (i / 2048 * 5 + i % 2048 * 37) % 1200 FROM n`,
		`CREATE INDEX covering ON raw (a, b, c)`)
	must(b, s, `CREATE PRIVATE TABLE t (a INTEGER BETWEEN 0 AND 63, b INTEGER BETWEEN 0 AND 63, c INTEGER BETWEEN 0 AND 1199)
		FROM raw WITH (epsilon = 1000, delta = 1e-6)`)
	must(b, s, `CREATE MECHANISM m ON t USING SMW WITH (epsilon = 499, max_updates = 1000, max_support = 1000, queries = 10000, prior = uniform)`)
	must(b, s, `SET mechanism = m`)
	state := s.DB().Rows().Cache.Get(keyOfCells(firstTable(s).ID, nil))
	state.Spent, state.Price = 1, 1
	trueCount(b, s, thousand("t", 0))
	if state.Histogram == nil {
		b.Fatal("the cells are not in memory")
	}
	b.Run("commits", func(b *testing.B) { commits(b, false) })
	b.Run("commits and mark", func(b *testing.B) { commits(b, true) })
	b.Run("firing", func(b *testing.B) {
		i := 0
		for b.Loop() {
			if i++; i > 1000 {
				b.Fatal("the runs are spent: use a smaller -benchtime")
			}
			must(b, s, thousand("t", i))
		}
		ran := must(b, s, `SHOW MECHANISMS`).Rows[0][4]
		b.Logf("runs: %v after %d queries", ran, i)
	})
}

// commits times three durable transactions of one row each, the least that a firing could
// do. With marks it also writes and syncs 64 bytes of another file after the first and the last.
func commits(b *testing.B, marked bool) {
	path := filepath.Join(b.TempDir(), "commits.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE t (a INTEGER)`); err != nil {
		b.Fatal(err)
	}
	mark, err := os.Create(path + "-mark")
	if err != nil {
		b.Fatal(err)
	}
	defer mark.Close()
	var slots int64
	for b.Loop() {
		for i := range 3 {
			if _, err := db.Exec(`INSERT INTO t VALUES (1)`); err != nil {
				b.Fatal(err)
			}
			if marked && i != 1 {
				slots++
				if _, err := mark.WriteAt(make([]byte, 64), slots%64*64); err != nil {
					b.Fatal(err)
				}
				if err := mark.Sync(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// BenchmarkBuild builds a release over five columns of a million rows, and for comparison
// reads the same columns through database/sql.
func BenchmarkBuild(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "five.db"), engine.Options{}).NewSession()
	fill(b, s, `CREATE TABLE raw (sex INTEGER, age INTEGER, educ INTEGER, diagnosis TEXT, zip TEXT)`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
			INSERT INTO raw SELECT i % 2, i * 7 % 100, i * 11 % 16, 'd' || (i * 7919 % 500), 10000 + i * 104729 % 90000 FROM n`)
	must(b, s, `CREATE PRIVATE TABLE t (sex INTEGER BETWEEN 0 AND 1, age INTEGER BETWEEN 0 AND 99, educ INTEGER BETWEEN 0 AND 15,
		diagnosis TEXT, zip TEXT) FROM raw WITH (epsilon = 100, delta = 1e-6)`)
	b.Run("streaming", func(b *testing.B) {
		db, err := sql.Open("sqlite", s.DB().Store().Path())
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		for b.Loop() {
			streamRows(b, db)
		}
	})
	b.Run("release", func(b *testing.B) {
		for b.Loop() {
			must(b, s, `CREATE RELEASE r ON t USING PROJECTION WITH (epsilon = 0.1, rows = 8388608)`)
			b.StopTimer()
			must(b, s, `DROP RELEASE r`)
			b.StartTimer()
		}
	})
}

func streamRows(b *testing.B, db *sql.DB) {
	rows, err := db.Query(`SELECT sex, age, educ, diagnosis, zip FROM raw`)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var sex, age, educ int64
	var diagnosis, zip string
	for rows.Next() {
		if err := rows.Scan(&sex, &age, &educ, &diagnosis, &zip); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen times opening a database, and then the first query on a release of 2^23
// buckets.
func BenchmarkOpen(b *testing.B) {
	s := crowded(b, `CREATE RELEASE sketch ON t USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 8388608)`)
	path := s.DB().Store().Path()
	if err := s.DB().Close(); err != nil {
		b.Fatal(err)
	}
	first := func(b *testing.B, ask bool) {
		for b.Loop() {
			db, err := engine.Open(path, engine.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if ask {
				must(b, db.NewSession(), thousand("t", 1))
			}
			b.StopTimer()
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
	b.Run("open", func(b *testing.B) { first(b, false) })
	b.Run("and first query", func(b *testing.B) { first(b, true) })
}

// BenchmarkFirst times the first statement of a session on a file that is open for the first time: what
// is read of the catalog, of ten tables with a release each, and a count from a release of few cells.
func BenchmarkFirst(b *testing.B) {
	s := clinic(b)
	for i := range 9 {
		fill(b, s, fmt.Sprintf(`CREATE TABLE raw%d (a INTEGER)`, i))
		must(b, s, fmt.Sprintf(`CREATE PRIVATE TABLE t%d (a INTEGER BETWEEN 0 AND 9) FROM raw%[1]d WITH (epsilon = 1, delta = 1e-6)`, i))
		must(b, s, fmt.Sprintf(`CREATE RELEASE r%d ON t%[1]d USING PROJECTION WITH (epsilon = 0.5)`, i))
	}
	path := s.DB().Store().Path()
	if err := s.DB().Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		db, err := engine.Open(path, engine.Options{})
		if err != nil {
			b.Fatal(err)
		}
		must(b, db.NewSession(), `SELECT COUNT(*) FROM t3 WHERE a < 4`)
		b.StopTimer()
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkGroups answers statements of many groups, from SQL text to rows.
func BenchmarkGroups(b *testing.B) {
	for _, transform := range []string{"identity", "sparse"} {
		s := million(b, transform)
		for _, c := range []struct{ name, text string }{
			{"1024", `SELECT a, b, COUNT(*) FROM t GROUP BY a, b`},
			{"10000", `SELECT a, c, COUNT(*) FROM t WHERE c < 313 GROUP BY a, c ORDER BY 3 DESC LIMIT 10`},
			{"10000/mean", `SELECT a, c, AVG(b), COUNT(*) FROM t WHERE c < 313 GROUP BY a, c`},
		} {
			b.Run(transform+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Exec(context.Background(), c.text, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGranted asks a release from a session that sees all of ten tables, and in turn
// from those of a hundred users, who see one of them.
func BenchmarkGranted(b *testing.B) {
	s := clinic(b)
	for i := range 9 {
		fill(b, s, fmt.Sprintf(`CREATE TABLE raw%d (a INTEGER)`, i))
		must(b, s, fmt.Sprintf(`CREATE PRIVATE TABLE t%d (a INTEGER BETWEEN 0 AND 9) FROM raw%[1]d WITH (epsilon = 1, delta = 1e-6)`, i))
		must(b, s, fmt.Sprintf(`CREATE RELEASE r%d ON t%[1]d USING PROJECTION WITH (epsilon = 0.5)`, i))
	}
	must(b, s, `CREATE RELEASE cells ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1)`)
	users := make([]string, 100)
	for i := range users {
		users[i] = `GRANT SELECT ON admissions TO %s WITH (rho = 0.001)`
	}
	p, err := engine.Prepare(`SELECT COUNT(*) FROM admissions WHERE sex = 'F' AND age < ?`)
	if err != nil {
		b.Fatal(err)
	}
	run := func(sessions []*engine.Session) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := sessions[i%len(sessions)].ExecPrepared(context.Background(), p, []query.Value{query.Int(int64(i % 90))}); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	granted := admits(b, s, users...)
	b.Run("all tables", run([]*engine.Session{s}))
	b.Run("granted", run(granted))
}
