package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// toil is the context of a statement that takes 10 s where SQLite runs it, or while it is compiled for long.
type toil struct {
	context.Context
	once *sync.Once
}

func (c toil) Done() <-chan struct{} {
	if calledBy(".(*connection).run") {
		c.once.Do(func() { time.Sleep(10 * time.Second) })
	}
	return c.Context.Done()
}

func (c toil) Err() error {
	if calledBy(".joinable.Working") {
		c.once.Do(func() { time.Sleep(10 * time.Second) })
	}
	return c.Context.Err()
}

const askNothing = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT MAX(i) FROM n`

// floods has a new user without grants run many long statements about no table at once, and returns when
// as many of them run as may.
func (c *timed) floods(all *sync.WaitGroup, name string) {
	must(c.T, c.curator, fmt.Sprintf(`CREATE USER %s PASSWORD 'secretive'`, name))
	for range 8 {
		s := c.curator.DB().NewUserSession(strings.ToUpper(name))
		all.Go(func() {
			if _, err := s.Exec(toil{c.Context(), new(sync.Once)}, askNothing, nil); err != nil {
				c.Error(err)
			}
		})
	}
	synctest.Wait()
}

func (c *timed) wantAnswerTime(want any) {
	c.Helper()
	if shown := must(c.T, c.curator, `SHOW TABLES`).Rows[0][8]; shown != want {
		c.Errorf("the limits are %v, want %v", shown, want)
	}
}

// However many long statements one user has, another's that needs the same engine is answered at its time. A
// statement is compiled before its turn, so a place that it has to wait for makes no slot late, not even where
// all places are taken while it waits for its turn, and its plan is an old one by then.
func TestFloodOfStatements(t *testing.T) {
	t.Parallel()
	inTime(t, func(c *timed) {
		var all sync.WaitGroup
		c.floods(&all, "eve")
		if err := c.takes(125*time.Millisecond, c.ana, askAround); err != nil {
			c.Error(err)
		}
		all.Wait()
		c.wantAnswerTime("answer_time = '100 ms'")
	})
	inTime(t, func(c *timed) {
		var all sync.WaitGroup
		all.Go(func() { c.takes(125*time.Millisecond, c.bob, askDirect) })
		synctest.Wait()
		all.Go(func() { // bob's answer is stored meanwhile; then her turn comes, and then a place
			if err := c.takes(10*time.Second, c.ana, askAround); err != nil {
				c.Error(err)
			}
		})
		synctest.Wait()
		c.floods(&all, "eve")
		c.floods(&all, "carl")
		time.Sleep(time.Second)
		c.wantAnswerTime("answer_time = '100 ms'")
		all.Wait()
	})
}

// A statement that waits for its turn on a table is compiled again if the table is gone then.
func TestTableGoesWhileAStatementWaits(t *testing.T) {
	t.Parallel()
	inTime(t, func(c *timed) {
		var all sync.WaitGroup
		all.Go(func() { c.takes(125*time.Millisecond, c.bob, askDirect) })
		synctest.Wait()
		all.Go(func() {
			if _, err := c.ana.Exec(c.Context(), askAround, nil); sqlerr.CodeOf(err) != sqlerr.Unknown {
				c.Error(err)
			}
		})
		synctest.Wait()
		time.Sleep(110 * time.Millisecond)
		for _, text := range []string{`DROP RELEASE free`, `DROP MECHANISM live`, `DROP PRIVATE TABLE admissions`} {
			must(c.T, c.curator, text)
		}
		all.Wait()
	})
}

// wide makes a table of a large domain, and gives it to users.
func (c *timed) wide(users ...string) (sessions []*engine.Session) {
	fill(c.T, c.curator, `CREATE TABLE raw_wide (k INTEGER, v INTEGER)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO raw_wide SELECT i % 997, i % 19999 FROM n`)
	must(c.T, c.curator, `CREATE PRIVATE TABLE wide (k INTEGER BETWEEN 0 AND 2999, v INTEGER BETWEEN 0 AND 19999)
		FROM raw_wide WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9, answer_time = 100)`)
	for _, name := range users {
		must(c.T, c.curator, fmt.Sprintf(`CREATE USER %s PASSWORD 'secretive'`, name))
		must(c.T, c.curator, fmt.Sprintf(`GRANT SELECT ON wide TO %s WITH (rho = 100)`, name))
		sessions = append(sessions, c.curator.DB().NewUserSession(strings.ToUpper(name)))
	}
	return sessions
}

const explainLong = `EXPLAIN SELECT COUNT(*) FROM wide WHERE (v * 7919) % 9973 < 500`

// What takes long to compile is compiled one statement of a user at a time, and ends when nobody waits for it. What
// takes a moment waits for no place, and neither does another user.
func TestFloodOfExplains(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles what is large, four times")
	}
	t.Parallel()
	inTime(t, func(c *timed) {
		users := c.wide("eve", "carl")
		var all sync.WaitGroup
		begun := time.Now()
		for range 4 {
			s := c.curator.DB().NewUserSession("EVE")
			all.Go(func() {
				if _, err := s.Exec(toil{c.Context(), new(sync.Once)}, explainLong, nil); err != nil {
					c.Error(err)
				}
			})
		}
		synctest.Wait()
		c.takes(0, users[0], `EXPLAIN SELECT COUNT(*) FROM wide WHERE v < 7`)
		c.takes(0, users[1], explainLong)
		gone, leave := context.WithTimeout(c.Context(), time.Second)
		defer leave()
		if _, err := users[0].Exec(gone, explainLong, nil); sqlerr.CodeOf(err) != sqlerr.Cancelled || time.Since(begun) != time.Second {
			c.Errorf("who leaves waits %v (%v)", time.Since(begun), err)
		}
		all.Wait()
		if took := time.Since(begun); took != 40*time.Second {
			c.Errorf("four took %v, want one after another", took)
		}
	})
}

// A sum in many groups takes the memory of its column's values once, and not for each group, where rows are
// counted: that is after the charge.
func TestSumInManyGroupsIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles what is large")
	}
	inTime(t, func(c *timed) {
		s := c.wide("eve")[0]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := must(c.T, s, `SELECT /*+ accuracy(1e9) */ k, SUM(v) FROM wide WHERE k < 100 GROUP BY k`)
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; len(r.Rows) != 100 || mib > 30 {
			c.Errorf("%d groups took %d MiB", len(r.Rows), mib)
		}
	})
}

// Explaining sums of a column of a million values, or of a twentieth without -long, takes at most so much memory. Before, a
// plain sum of a million took 1,074 MiB, a variance 3,796, and a sum under a condition on a later column 4,634.
func TestSumOfManyValuesIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles what is large")
	}
	s := open(t, filepath.Join(t.TempDir(), "x.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (v INTEGER, h INTEGER)`, `INSERT INTO raw VALUES (1, 2)`)
	share := uint64(sized(0, 20, 1))
	must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE big (v INTEGER BETWEEN 0 AND %d, h INTEGER BETWEEN 0 AND 7)
		FROM raw WITH (epsilon = 2, delta = 1e-6)`, 1_000_000/share-1))
	for text, most := range map[string]uint64{`SUM(v) FROM big`: 300, `VARIANCE(v) FROM big`: 900, `SUM(v * 2 + 1) FROM big`: 550, `AVG(v) FROM big WHERE h < 3`: 1150} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must(t, s, `EXPLAIN SELECT `+text)
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > most/share {
			t.Errorf("%s takes %d MiB", text, mib)
		}
	}
}

// days makes a table with a column of as many values as can be counted, and gives it to users.
func (c *timed) days(users ...string) {
	must(c.T, c.curator, `CREATE PRIVATE TABLE days (k INTEGER BETWEEN 0 AND 999, v INTEGER BETWEEN 0 AND 9999)
		FROM raw_wide WITH (epsilon = 1000, delta = 1e-6, interactive = 0.9, answer_time = 100)`)
	for _, name := range users {
		must(c.T, c.curator, fmt.Sprintf(`GRANT SELECT ON days TO %s WITH (rho = 100)`, name))
	}
}

// The numbers of a statement are those of all SELECTs that are answered for it, and each value that COUNT(DISTINCT)
// looks for is one of them. More are refused to everybody, whether they are many groups or many columns.
func TestNumbersOfAllSelects(t *testing.T) {
	t.Parallel()
	inTime(t, func(c *timed) {
		c.wide()
		c.days()
		for _, asks := range []struct {
			selects, groups int
			refused         bool
		}{{2, 5, false}, {2, 6, true}, {5, 2, false}, {5, 3, true}, {10, 0, false}, {11, 0, true}} {
			var from []string
			for i := range asks.selects {
				text := fmt.Sprintf(`(SELECT k, COUNT(DISTINCT v) AS n FROM days WHERE v > %d AND k < %d GROUP BY k) t%[1]d`, i, asks.groups)
				if asks.groups == 0 {
					text = fmt.Sprintf(`(SELECT COUNT(DISTINCT v) AS n FROM days WHERE v > %d) t%[1]d`, i)
				}
				from = append(from, text)
			}
			_, err := c.curator.Exec(c.Context(), `EXPLAIN SELECT SUM(t0.n) FROM `+strings.Join(from, ", "), nil)
			if (err != nil) != asks.refused || err != nil && (sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), "more than 100000 numbers")) {
				c.Errorf("%+v: %v", asks, err)
			}
		}
	})
}

// A statement of a user asks the rows for no more numbers than the answer time of its table has room for: it is
// refused at once, before a charge. A place of a distribution is less than a number. Who has the file may ask for all.
func TestFloodOfGroups(t *testing.T) {
	t.Parallel()
	inTime(t, func(c *timed) {
		s := c.wide("eve")[0]
		c.days("eve")
		const groups = `SELECT /*+ accuracy(1e9) */ k, COUNT(*) FROM wide WHERE k < %d GROUP BY k`
		ledger := func() int { return len(must(c.T, c.curator, `SHOW LEDGER`).Rows) }
		limits := func() any {
			rows := must(c.T, c.curator, `SHOW TABLES`).Rows
			return rows[slices.IndexFunc(rows, func(row []any) bool { return row[0] == "wide" })][8]
		}
		begun, lines, shown := time.Now(), ledger(), limits()
		for _, text := range []string{fmt.Sprintf(groups, 3_000), fmt.Sprintf(groups, 401), `SELECT /*+ accuracy(1e9) */ MEDIAN(v) FROM wide`,
			`SELECT /*+ accuracy(1e9) */ k, COUNT(*), SUM(v) FROM wide WHERE k < 201 GROUP BY k`,
			`SELECT /*+ accuracy(1e9) */ a.k, a.n, b.n FROM (SELECT k, COUNT(*) AS n FROM wide WHERE k < 201 GROUP BY k) a JOIN (SELECT k, SUM(v) AS n FROM wide WHERE k < 201 GROUP BY k) b ON a.k = b.k`,
			`SELECT /*+ accuracy(1e9) */ k, COUNT(DISTINCT v) FROM days WHERE k < 9 GROUP BY k`, `SELECT /*+ accuracy(1e9) */ COUNT(DISTINCT v) FROM days WHERE v < 9`} {
			const want = "numbers at once, at most 400 in an answer time of 100 ms"
			err := c.takes(0, s, text)
			if sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), want) {
				c.Errorf("%.80s: %v", text, err)
			}
			if why := fmt.Sprint(must(c.T, s, `EXPLAIN `+text).Rows); !strings.Contains(why, want) {
				c.Errorf("%.80s: EXPLAIN does not say why", text)
			}
		}
		if time.Since(begun) != 0 || ledger() != lines {
			c.Errorf("refusals take %v and %d lines of the ledger", time.Since(begun), ledger()-lines)
		}
		must(c.T, c.curator, fmt.Sprintf(groups, 401))
		must(c.T, c.curator, `ALTER PRIVATE TABLE wide SET (answer_time = 101)`)
		must(c.T, c.curator, `ALTER PRIVATE TABLE days SET (answer_time = 101)`)
		for _, text := range []string{strings.Replace(fmt.Sprintf(groups, 404), "WHERE", "WHERE v > 7 AND", 1), fmt.Sprintf(groups, 700), // of these 401 are stored
			`SELECT /*+ accuracy(1e9) */ MEDIAN(v) FROM wide WHERE v < 3000`, `SELECT /*+ accuracy(1e9) */ COUNT(DISTINCT k) FROM days WHERE v > 7`} {
			if err := c.takes(126*time.Millisecond, s, text); err != nil {
				c.Error(err)
			}
		}
		if now := limits(); now == shown || now != "answer_time = '101 ms'" {
			c.Errorf("the limits are %v", now)
		}
	})
}
