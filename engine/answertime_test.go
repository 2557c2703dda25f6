package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing/iotest"
	"testing/synctest"
	"time"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/noise"
	"testing"

	"dpsql/sqlerr"
)

// The answer time is an option of a table. DESCRIBE and SHOW TABLES have it where it is not the
// default.
func TestAnswerTimeOption(t *testing.T) {
	s := clinic(t)
	limits := func() (shown any) {
		r := must(t, s, `SHOW TABLES`)
		return r.Rows[0][len(r.Columns)-1]
	}
	for _, c := range []struct {
		text string
		want any
	}{{`5`, `answer_time = '5 ms'`}, {`'2 s'`, `answer_time = '2 s'`}, {`' 1500 ms '`, `answer_time = '1500 ms'`}, {`3600000`, `answer_time = '3600 s'`},
		{`'250ms'`, nil}} {
		must(t, s, `ALTER PRIVATE TABLE admissions SET (answer_time = `+c.text+`)`)
		if got := limits(); got != c.want {
			t.Errorf("after answer_time = %s: %v, want %v", c.text, got, c.want)
		}
	}
	for _, text := range []string{`0`, `-1`, `0.5`, `3600001`, `'3601 s'`, `'5'`, `'5 m'`, `ms`, `none`, `''`, `99999999999999999999`, `'s'`} {
		_, err := s.Exec(t.Context(), `ALTER PRIVATE TABLE admissions SET (answer_time = `+text+`)`, nil)
		if e, ok := err.(*sqlerr.Error); !ok || e.Code != sqlerr.Invalid && e.Code != sqlerr.Malformed || limits() != nil {
			t.Errorf("answer_time = %s: %v, %v", text, err, limits())
		}
	}
}

// timed is a clinic in which time passes only while noise is drawn, which is after rows were read
// and before anything of them is shown. There is no noise, so that all answers are known.
type timed struct {
	*testing.T
	curator, ana, bob *engine.Session
	work              time.Duration // that each draw takes
	fails             bool          // the system's random source
}

// inTime runs a test with a clock of its own. The answer time is 100 ms.
func inTime(t *testing.T, f func(*timed)) {
	path := filepath.Join(t.TempDir(), "timed.db")
	copyOf(t, path, "in time", func(s *engine.Session) {
		quieten(s.DB())
		fill(t, s, clinicRaw(4000)...)
		for _, text := range slices.Concat(clinicDeclarations, []string{`ALTER PRIVATE TABLE admissions SET (answer_time = 100)`,
			`CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1.5, max_updates = 5, queries = 1000, max_support = 4096, prior = uniform)`,
			`CREATE RELEASE free ON admissions (sex) USING PROJECTION WITH (epsilon = 1)`}) {
			must(t, s, text)
		}
		grant := `GRANT SELECT ON admissions TO %s WITH (rho = 0.05)`
		admits(t, s, grant, grant)
	})
	synctest.Test(t, func(t *testing.T) {
		c := &timed{T: t, curator: open(t, path, engine.Options{}).NewSession()}
		quieten(c.curator.DB())
		c.ana, c.bob = c.curator.DB().NewUserSession("USER0"), c.curator.DB().NewUserSession("USER1")
		random := c.curator.DB().Random()
		c.curator.DB().SetRandom(func() *noise.Source {
			if !startsRun() {
				time.Sleep(c.work)
			}
			if c.fails {
				return noise.NewSourceFrom(iotest.ErrReader(errors.New("no random bits")))
			}
			return random()
		})
		f(c)
	})
}

// startsRun reports whether the threshold of a run is drawn, which is before rows are read.
func startsRun() bool { return calledBy(".startRun") }

// calledBy reports whether a function is on the stack, by the end of its name.
func calledBy(name string) bool {
	var calls [64]uintptr
	frames := runtime.CallersFrames(calls[:runtime.Callers(1, calls[:])])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// Statements of a clinic.
const (
	askFree     = `SELECT /*+ mechanism(free) */ COUNT(*) FROM admissions WHERE sex = 'F'`
	askDirect   = `SELECT /*+ accuracy(500) */ COUNT(*) FROM admissions WHERE zip = '15210'`
	askGroups   = `SELECT /*+ accuracy(500) */ diagnosis, COUNT(*) FROM admissions GROUP BY diagnosis`
	askAgreeing = `SELECT /*+ mechanism(live) */ sex, COUNT(*) FROM admissions WHERE age < 1 GROUP BY sex`
	askFiring   = `SELECT /*+ mechanism(live) */ COUNT(*) FROM admissions WHERE age < 100`
	askAround   = `SELECT /*+ accuracy(500) */ zip, n, RANK() OVER (ORDER BY n) FROM (SELECT diagnosis AS zip, COUNT(*) AS n FROM admissions WHERE age > 1 GROUP BY diagnosis)`
)

// takes fails unless a statement takes so long, and says at its beginning, if it has a slot, that it waits
// for one. It returns the error of the statement.
func (c *timed) takes(want time.Duration, s *engine.Session, text string) error {
	c.Helper()
	begun, waits := time.Now(), 0
	s.SetWaits(func() {
		if waits++; time.Since(begun) > 0 {
			c.Errorf("%s says after %v that it waits", text, time.Since(begun))
		}
	})
	_, err := s.Exec(c.Context(), text, nil)
	if got := time.Since(begun); got != want || (waits > 0) != (want > 0) {
		c.Errorf("%s took %v, want %v, and said %d times that it waits (%v)", text, got, want, waits, err)
	}
	return err
}

// What reads no rows is answered at once. What reads them is answered at the end of a slot, however
// long it takes to read them, and so are its errors. A firing is shown at the end of its slot, too.
func TestAnswersAreHeld(t *testing.T) {
	t.Parallel()
	for _, work := range []time.Duration{0, time.Microsecond, 9 * time.Millisecond, 20 * time.Millisecond} {
		inTime(t, func(c *timed) {
			c.work = work
			for _, text := range []string{askFree, `SHOW TABLES`, `SHOW BUDGET`, `DESCRIBE admissions`, `EXPLAIN ` + askDirect, `EXPLAIN ` + askFiring,
				`SELECT COUNT(*) FROM admissions WHERE age < 0`, `SELECT code FROM icd10`} {
				if err := c.takes(0, c.ana, text); err != nil {
					c.Error(err)
				}
			}
			for _, text := range []string{`SELECT /*+ accuracy(0.001) */ COUNT(*) FROM admissions WHERE zip = '15210'`, `SELECT COUNT(*) FROM admissions WHERE zap = 3`} {
				if c.takes(0, c.ana, text) == nil {
					c.Errorf("%s is answered", text)
				}
			}
			for _, text := range []string{askDirect, askAgreeing, askFiring, askGroups, askAround} {
				if err := c.takes(125*time.Millisecond, c.ana, text); err != nil {
					c.Error(err)
				}
				if err := c.takes(0, c.bob, text); err != nil { // it is stored
					c.Error(err)
				}
			}
			if runs := must(c.T, c.curator, `SHOW MECHANISMS`).Rows[0][4]; runs != "1 of 5" {
				c.Errorf("the runs are %v", runs)
			}
			c.fails = true
			if err := c.takes(125*time.Millisecond, c.ana, strings.Replace(askDirect, "15210", "15211", 1)); sqlerr.CodeOf(err) != sqlerr.IO {
				c.Error(err)
			}
			if shown := must(c.T, c.curator, `SHOW TABLES`).Rows[0][8]; shown != "answer_time = '100 ms'" {
				c.Errorf("the limits are %v", shown)
			}
		})
	}
}

// EXPLAIN says when an answer comes, to those who have to wait for it.
func TestExplainSaysWhenAnswersCome(t *testing.T) {
	t.Parallel()
	inTime(t, func(c *timed) {
		said := func(s *engine.Session, text string) string {
			for _, row := range must(c.T, s, `EXPLAIN `+text).Rows {
				if row[0] == "answer time" {
					return row[len(row)-1].(string)
				}
			}
			return ""
		}
		const turns = ": a table has one statement at a time that reads rows"
		for text, want := range map[string]string{
			askDirect: "125 ms from when its turn comes" + turns,
			askFiring: "125 ms from when its turn comes, and as long again behind a comparison that fires" + turns,
			askFree:   "",
		} {
			if got := said(c.ana, text); got != want {
				c.Errorf("%s: %q, want %q", text, got, want)
			}
			if got := said(c.curator, text); got != "" {
				c.Errorf("%s does not wait for a curator, but %q", text, got)
			}
		}
		must(c.T, c.curator, `ALTER PRIVATE TABLE admissions SET (answer_time = 7)`)
		if got := said(c.ana, askDirect); got != "14 ms from when its turn comes"+turns {
			c.Errorf("%q", got)
		}
	})
}

// No cells are loaded in a slot, where it would be late. Those that are there are used.
func TestNoLoadInASlot(t *testing.T) {
	t.Parallel()
	inTime(t, func(c *timed) {
		loadNow(c.curator, firstTable(c.curator).ID)
		if err := c.takes(125*time.Millisecond, c.ana, askDirect); err != nil || inMemory(c.curator) {
			c.Errorf("cells are loaded in a slot (%v)", err)
		}
		must(c.T, c.curator, strings.Replace(askDirect, "15210", "15211", 1))
		if !inMemory(c.curator) {
			c.Error("a session that does not wait loads no cells, either")
		}
		if err := c.takes(125*time.Millisecond, c.ana, strings.Replace(askDirect, "15210", "15212", 1)); err != nil || !inMemory(c.curator) {
			c.Error("the cells are gone", err)
		}
	})
}

// look is what another user sees of a database: what she gets for nothing, and whether the file was
// written since she looked before.
func (c *timed) look(version *catalog.Version) string {
	var b strings.Builder
	show := func(texts ...string) {
		for _, text := range texts {
			r, err := c.bob.Exec(c.Context(), text, nil)
			if err != nil {
				c.Error(err)
				continue
			}
			fmt.Fprintln(&b, r.Rows)
		}
	}
	show(`EXPLAIN ` + strings.Replace(askAgreeing, "< 1 ", "< 3 ", 1)) // whose answers are not in the file at first
	now, err := c.curator.DB().Store().Version(c.Context())
	if err != nil {
		c.Error(err)
	}
	if now != *version {
		*version = now
		show(`EXPLAIN `+askDirect, `EXPLAIN `+askFiring, `EXPLAIN `+askGroups, `SHOW TABLES`, `SHOW MECHANISMS`, `SHOW BUDGET`)
	}
	return b.String()
}

// trace runs statements of a session, one after the other, while bob looks every 20 ms. It returns
// what there was to see, a line each, and when.
func (c *timed) trace(asking *engine.Session, statements []string) (seen []string) {
	var mu sync.Mutex
	begun := time.Now()
	say := func(what string, about ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprint(time.Since(begun), " ", what, ": ", fmt.Sprint(about...)))
	}
	var version catalog.Version
	last, done := c.look(&version), make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Millisecond) // so that bob never looks at the very moment of something else
		for _, text := range statements {
			how, text, _ := strings.Cut(text, ": ")
			ctx, cancel := context.WithCancel(c.Context())
			if how == "cancelled" { // while noise is drawn, or while the answer is held
				time.AfterFunc(7*time.Millisecond, cancel)
			}
			c.fails = how == "failing"
			r, err := asking.Exec(ctx, text, nil)
			cancel()
			if err != nil {
				say(text, err)
				continue
			}
			say(text, r.Rows)
		}
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if now := c.look(&version); now != last {
			last = now
			say("bob sees", now)
		}
		select {
		case <-done:
			return seen
		case <-look.C:
		}
	}
}

// Nothing that anyone can see, and no time at which it can be seen, depends on how long it takes to
// read rows: the answers, what is stored, what is charged, which runs have begun, and that the
// file was written. Statements that are cancelled, fail and are late are among them; the late ones
// are late by as much. Without slots all of that can be seen.
func TestNothingIsSeenBeforeTheSlotEnds(t *testing.T) {
	t.Parallel()
	var statements []string
	for i, text := range []string{"plain: " + askDirect, "plain: " + askFree, "plain: " + askAgreeing, "plain: " + askFiring, "cancelled: " + askDirect, "failing: " + askDirect,
		"cancelled: " + askAgreeing, "plain: " + askGroups, "cancelled: " + askAround, "plain: " + askDirect} {
		statements = append(statements, strings.NewReplacer("15210", fmt.Sprint(15210+i%8), "< 1 ", fmt.Sprintf("< %d ", 1+i)).Replace(text))
	}
	trace := func(work time.Duration, held bool) (seen []string) {
		inTime(t, func(c *timed) {
			c.work = work
			asking := c.ana
			if !held {
				asking = c.curator
			}
			seen = c.trace(asking, statements)
		})
		return seen
	}
	for _, works := range [][]time.Duration{{0, 23 * time.Millisecond}, {102 * time.Millisecond, 124 * time.Millisecond}} {
		first := trace(works[0], true)
		for _, work := range works[1:] {
			again := trace(work, true)
			for i := range max(len(first), len(again)) {
				if i >= min(len(first), len(again)) || first[i] != again[i] {
					t.Errorf("with %v of work there is to see\n%s\nwith %v\n%s", works[0], strings.Join(first[i:min(i+3, len(first))], "\n"), work, strings.Join(again[i:min(i+3, len(again))], "\n"))
					break
				}
			}
		}
	}
	if slices.Equal(trace(12*time.Millisecond, false), trace(23*time.Millisecond, false)) {
		t.Error("without slots the work cannot be seen, either: the test finds nothing")
	}
}
