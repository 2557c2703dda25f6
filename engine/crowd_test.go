package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/internal/seeds"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// crowdWait is how long the processes of a crowd wait for each other.
const crowdWait = 2 * time.Second

// crowdPatience is far longer than any statement of a crowd should take. A statement that
// takes longer counts as a deadlock.
const crowdPatience = 2 * time.Minute

// did is one line of output of a crowd's process: a finished statement.
type did struct {
	Kind, Text string
	Code       sqlerr.Code
	Message    string
	Value      int64
	Via        string
	Verified   bool
	Rho        accounting.Rho
	Took       time.Duration
	Cut        bool // it was to be cancelled early
}

// crowd is a process of many goroutines on one file.
type crowd struct {
	db      *engine.DB
	process int
	names   atomic.Int64
	output  sync.Mutex
}

func crowdChild() {
	var process, goroutines int
	var seed uint64
	var length time.Duration
	fmt.Sscan(os.Getenv("ENGINE_TEST_CROWD"), &process, &goroutines, &seed, (*int64)(&length))
	db, err := engine.Open(os.Getenv("ENGINE_TEST_PATH"), engine.Options{BusyTimeout: crowdWait})
	if err != nil {
		panic(err)
	}
	c := &crowd{db: db, process: process}
	end := time.Now().Add(length)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(process)<<32|uint64(g)))
			for time.Now().Before(end) {
				c.act(random, g%3)
			}
		})
	}
	all.Wait()
	start := time.Now()
	if err := db.Close(); err != nil {
		c.say(did{Kind: "close", Code: sqlerr.CodeOf(err), Message: err.Error(), Took: time.Since(start)})
	}
}

func (c *crowd) say(d did) {
	line, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	c.output.Lock()
	defer c.output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// run executes one statement in a session, and cancels one in 30 early.
func (c *crowd) run(r *rand.Rand, s *engine.Session, kind, text string) *engine.Result {
	patience, cut := crowdPatience, r.IntN(30) == 0
	if cut {
		patience = time.Duration(r.Int64N(int64(20 * time.Millisecond)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	start := time.Now()
	result, err := s.Exec(ctx, text, nil)
	d := did{Kind: kind, Text: text, Took: time.Since(start), Cut: cut}
	if err != nil {
		d.Code, d.Message = sqlerr.CodeOf(err), err.Error()
	} else if a := result.Answer; a != nil {
		d.Value, d.Via, d.Verified, d.Rho = result.Rows[0][0].(int64), a.Via, a.Verified, accounting.Rho(math.Round(a.Cost.Rho*1e15))
	}
	c.say(d)
	return result
}

// act runs a random statement of a trade. Queries mostly wait for each other, so they are
// only a third.
func (c *crowd) act(r *rand.Rand, trade int) {
	s := c.db.NewSession()
	switch n := r.IntN(100); {
	case trade == 0:
		s.Set("mechanism", c.mechanism(r, s))
		c.run(r, s, "ask", crowdQuery(r))
	case trade == 1 && n < 60:
		s.Set("mechanism", "direct")
		s.Set("accuracy", []string{"10", "12", "15"}[r.IntN(3)])
		c.run(r, s, "direct", crowdQuery(r))
	case trade == 1 && n < 80:
		text := []string{`CREATE RELEASE r%d ON ward USING PROJECTION WITH (epsilon = 0.2)`,
			`CREATE RELEASE IF NOT EXISTS r%d ON t%[1]d (age, sex) USING PROJECTION WITH (epsilon = 0.1)`, `DROP RELEASE r%d`}[r.IntN(3)]
		c.run(r, s, "release", fmt.Sprintf(text, r.IntN(3)))
	case trade == 1:
		c.run(r, s, "look", []string{`SHOW LEDGER`, `SHOW BUDGET`, `SHOW MECHANISMS`, `SHOW RELEASES`, `SHOW TABLES`, `DESCRIBE ward`,
			`EXPLAIN ` + crowdQuery(r)}[r.IntN(7)])
	case n < 40:
		c.run(r, s, "create mechanism", crowdMechanism(c.name(), []string{"ward", "t0", "t1", "t2"}[r.IntN(4)]))
	case n < 75:
		if name := c.mechanism(r, s); name != "m0" {
			c.run(r, s, "drop mechanism", `DROP MECHANISM `+name)
		}
	default:
		c.run(r, s, "table", fmt.Sprintf([]string{crowdTable("t%d"), `DROP PRIVATE TABLE t%d`}[r.IntN(2)], r.IntN(3)))
	}
}

func (c *crowd) name() string { return fmt.Sprintf("x%d_%d", c.process, c.names.Add(1)) }

// mechanism returns the common mechanism, or one of the temporary ones.
func (c *crowd) mechanism(r *rand.Rand, s *engine.Session) string {
	if r.IntN(4) > 0 {
		return "m0"
	}
	shown := c.run(r, s, "look", `SHOW MECHANISMS`)
	if shown == nil || len(shown.Rows) == 0 {
		return "m0"
	}
	return shown.Rows[r.IntN(len(shown.Rows))][0].(string)
}

// crowdQuery draws one of 60 queries, so that equal ones meet.
func crowdQuery(r *rand.Rand) string {
	k := r.IntN(60)
	return fmt.Sprintf(`SELECT COUNT(*) FROM ward WHERE age IN (%d, %d) AND diagnosis <> 'E1%d'`, k%20*5, k, k%3)
}

func crowdTable(name string) string {
	return `CREATE PRIVATE TABLE ` + name + ` (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99, diagnosis TEXT IN ('E10', 'E11', 'E12'))
		FROM raw_ward WITH (epsilon = 40, delta = 1e-6, interactive = 0.6)`
}

func crowdMechanism(name, table string) string {
	return `CREATE MECHANISM ` + name + ` ON ` + table + ` USING SMW WITH (epsilon = 3, max_updates = 20, max_support = 600, queries = 1000, beta = 0.5)`
}

// crowdCodes are the errors that concurrent statements may get.
var crowdCodes = []sqlerr.Code{sqlerr.Busy, sqlerr.Budget, sqlerr.Invalid, sqlerr.Unknown, sqlerr.Exists}

// TestCrowd makes four processes of four goroutines each use one file for 150 ms, or eight of eight for four seconds with -long. Only a fault can fail it, and no
// random draw.
func TestCrowd(t *testing.T) {
	t.Parallel()
	processes, length := sized(0, 4, 8), time.Duration(sized(0, 150, 4000))*time.Millisecond
	seed := seeds.Of(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	fillWard(t, path, crowdTable("ward"), `CREATE MECHANISM m0 ON ward USING SMW
		WITH (epsilon = 10, max_updates = 60, max_support = 600, queries = 1000, beta = 0.5)`)
	var all sync.WaitGroup
	said := make([][]did, processes)
	for p := range said {
		all.Go(func() {
			var err error
			if said[p], err = crowdProcess(path, fmt.Sprintf("%d %d %d %d", p, processes, seed, int64(length))); err != nil {
				t.Errorf("process %d: %v", p, err)
			}
		})
	}
	all.Wait()
	done := slices.Concat(said...)
	crowdReport(t, said)
	crowdErrors(t, done)
	db := open(t, path, engine.Options{})
	now, err := photograph(db)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []func() error{now.checkBudget, now.checkRecords} {
		if err := check(); err != nil {
			t.Error(err)
		}
	}
	crowdCharges(t, now, done)
	crowdAnswers(t, db, done)
	for _, text := range []string{`SHOW BUDGET`, `SHOW MECHANISMS`, `SHOW RELEASES`, `SHOW TABLES`, `SELECT COUNT(*) FROM ward WHERE age = 99`} {
		if _, err := askVia(db, "auto", text); err != nil { // the file is still usable
			t.Errorf("%s: %.300v", text, err)
		}
	}
}

// crowdProcess runs one process to its end.
func crowdProcess(path, about string) (all []did, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*crowdPatience)
	defer cancel()
	c := childCommand("crowd", "ENGINE_TEST_PATH="+path, "ENGINE_TEST_CROWD="+about)
	var out, faults bytes.Buffer
	c.Stdout, c.Stderr = &out, &faults
	if err := c.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Process.Kill() })
	defer stop()
	if err := c.Wait(); err != nil {
		err = fmt.Errorf("%v\n%.4000s", err, faults.String())
		return nil, err
	}
	scanner := bufio.NewScanner(&out)
	for scanner.Scan() {
		var d did
		if err := json.Unmarshal(scanner.Bytes(), &d); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, scanner.Err()
}

// crowdReport logs what the processes did.
func crowdReport(t *testing.T, said [][]did) {
	counts := tally{}
	for p, all := range said {
		var longest did
		for _, d := range all {
			if d.Took > longest.Took {
				longest = d
			}
			counts[d.Kind+" "+string(d.Code)]++
			if d.Kind == "ask" && d.Code == "" {
				counts[fmt.Sprintf("ask, in process %d", p)]++
			}
			if d.Kind == "ask" && d.Code == sqlerr.Busy {
				counts[fmt.Sprintf("ask busy, in process %d", p)]++
			}
		}
		t.Logf("process %d: %d statements, the longest %s for %v (%s)", p, len(all), longest.Kind, longest.Took.Round(time.Millisecond), longest.Code)
	}
	t.Log(counts)
}

// crowdErrors checks that every refusal has a reason in the crowd, and that no statement
// is busy without having waited.
func crowdErrors(t *testing.T, done []did) {
	early := 0
	for _, d := range done {
		switch {
		case d.Code == "", slices.Contains(crowdCodes, d.Code) && d.Code != sqlerr.Busy, d.Code == sqlerr.Cancelled && d.Cut:
		case d.Code == sqlerr.Busy:
			if d.Took < crowdWait-50*time.Millisecond { // SQLite's sleeps are in milliseconds
				if early++; early <= 3 {
					t.Errorf("%s %s: busy after %v: %s", d.Kind, d.Text, d.Took, d.Message)
				}
			}
		case d.Code == sqlerr.Cancelled:
			t.Errorf("%s %s: nothing for %v, a deadlock", d.Kind, d.Text, d.Took)
		default:
			t.Errorf("%s %s: %s", d.Kind, d.Text, d.Message)
		}
	}
	if early > 3 {
		t.Errorf("%d statements were busy before their time", early)
	}
}

// crowdCharges checks that each direct answer that was given was charged.
func crowdCharges(t *testing.T, now *picture, done []did) {
	given := map[accounting.Rho]int{}
	for _, d := range done {
		if d.Code == "" && d.Via == "direct" && d.Rho > 0 {
			given[d.Rho]++
		}
	}
	charged := map[accounting.Rho]int{}
	for _, e := range now.entries {
		if e.Action == "direct answer" {
			charged[e.Amount.Rho]++
		}
	}
	for rho, n := range given {
		if charged[rho] < n {
			t.Errorf("%d direct answers of ρ = %v were given and %d charged", n, rho, charged[rho])
		}
	}
	t.Logf("direct answers given %v, charged %v", given, charged)
}

// crowdAnswers checks that each mechanism gives one answer to each query, and has stored
// that answer.
func crowdAnswers(t *testing.T, db *engine.DB, done []did) {
	v, err := db.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]map[int64]int{}
	for _, d := range done {
		if d.Kind != "ask" || d.Code != "" || !d.Verified || d.Via == "constant" {
			continue
		}
		q, err := canonical(v, d.Text)
		if err != nil {
			t.Fatal(err)
		}
		key := d.Via + "|" + q
		if answers[key] == nil {
			answers[key] = map[int64]int{}
		}
		answers[key][d.Value]++
	}
	different, repeated := 0, 0
	for key, values := range answers {
		for _, n := range values {
			repeated += n - 1
		}
		if len(values) > 1 {
			if different++; different <= 3 {
				t.Errorf("%s got the answers %v", key, values)
			}
		}
	}
	t.Logf("%d queries were answered by mechanisms, and then %d times more", len(answers), repeated)
	if different > 0 {
		t.Errorf("%d of %d queries got different answers from one mechanism", different, len(answers))
	}
}

// TestDropMeetsStatement makes another process drop the table while a statement on it
// draws its noise, between the charge and the store. Nothing may be stored on the dropped
// table: the lists could not name it, and a later table of that name, over other rows,
// would get the budget back.
func TestDropMeetsStatement(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`CREATE MECHANISM x ON t1 USING SMW WITH (epsilon = 3, max_updates = 20)`,
		`CREATE MECHANISM x ON t2 USING SMW WITH (epsilon = 3, max_updates = 20)`, // buys the number of rows first
		`CREATE RELEASE x ON t1 (age, sex) USING PROJECTION WITH (epsilon = 0.2)`,
		`CREATE RELEASE x ON t1 (age, sex) USING SMW WITH (epsilon = 0.2, free_columns = 0, max_updates = 4)`,
		`SELECT COUNT(*) FROM t1 WHERE age = 5`,
	} {
		t.Run(text, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ward.db")
			fillWard(t, path, crowdTable("t1"), crowdTable("t2"), crowdMechanism("y", "t1"), `DROP MECHANISM y`)
			db, other := open(t, path, engine.Options{}), open(t, path, engine.Options{})
			db.SetRandom(func() *noise.Source {
				for _, name := range []string{"t1", "t2"} {
					other.NewSession().Exec(context.Background(), `DROP PRIVATE TABLE `+name, nil)
				}
				return noise.NewSource()
			})
			r, err := askVia(db, "direct", text)
			if code := sqlerr.CodeOf(err); (r == nil || r.Answer == nil) && code != sqlerr.Unknown && code != sqlerr.Invalid {
				t.Errorf("on a table that was dropped meanwhile: %v, want a refusal", err)
			}
			for _, list := range []string{`SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`} {
				if _, err := askVia(other, "auto", list); err != nil {
					t.Errorf("%s: %.300v", list, err)
				}
			}
			s := other.NewSession()
			fill(t, s, `CREATE TABLE raw_else (sex TEXT, age INTEGER, diagnosis TEXT)`)
			for _, name := range []string{"t1", "t2"} {
				must(t, s, strings.Replace(crowdTable(name), "raw_ward", "raw_else", 1))
			}
			must(t, s, crowdMechanism("z", "t1"))
			spent := must(t, s, `SHOW BUDGET`).Rows
			s.Exec(context.Background(), `DROP MECHANISM x`, nil)
			if now := must(t, s, `SHOW BUDGET`).Rows; fmt.Sprint(now) != fmt.Sprint(spent) {
				t.Errorf("dropping a mechanism of other rows changed the budget from\n%v to\n%v", spent, now)
			}
		})
	}
}

// TestLeaseIsHandedOver makes one process ask a mechanism without pause, from four
// goroutines. Another process, which waits its five seconds, gets its turn twice: a
// lease is held for at most half a second.
func TestLeaseIsHandedOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ward.db")
	fillWard(t, path, wardTable("ward"), wardMechanism("m0", "ward"))
	busy, patient := open(t, path, engine.Options{}), open(t, path, engine.Options{})
	seed := seeds.Of(t)
	stop := make(chan struct{})
	var all sync.WaitGroup
	var asked atomic.Int64
	for g := range 4 {
		all.Go(func() {
			for random := rand.New(rand.NewPCG(seed, uint64(g))); ; {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := askVia(busy, "m0", wardQuery(random)); err != nil {
					t.Error(err)
					return
				}
				asked.Add(1)
			}
		})
	}
	for asked.Load() < 4 {
		time.Sleep(time.Millisecond)
	}
	for turn := 0; turn < 2 && !t.Failed(); turn++ {
		if _, err := askVia(patient, "m0", fmt.Sprintf(`SELECT COUNT(*) FROM ward WHERE age = %d AND sex = 'F'`, 80+turn)); err != nil {
			t.Errorf("turn %d, while another process asked %d times: %v", turn+1, asked.Load(), err)
		}
		if err := patient.Answers().Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("the other process asked %d times", asked.Load())
	close(stop)
	all.Wait()
}

// askVia executes a query under SET mechanism, and SET accuracy for direct ones,
// and turns a panic into an error.
func askVia(db *engine.DB, mechanism, text string) (r *engine.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	s := db.NewSession()
	s.Set("mechanism", mechanism)
	if mechanism == "direct" {
		s.Set("accuracy", "10")
	}
	ctx, cancel := context.WithTimeout(context.Background(), crowdPatience)
	defer cancel()
	return s.Exec(ctx, text, nil)
}
