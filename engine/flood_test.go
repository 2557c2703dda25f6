package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dpsql/sqlerr"
)

// toil is the context of a statement that takes 10 s where SQLite runs it.
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

const askNothing = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT MAX(i) FROM n`

// floods has a new user without grants run many long statements about no table at once, and returns when
// as many of them run as may.
func (c *timed) floods(all *sync.WaitGroup, name string) {
	must(c.T, c.curator, fmt.Sprintf(`CREATE USER %s PASSWORD 'secret'`, name))
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
