package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	"dpsql/noise"
	"dpsql/sqlerr"
)

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

// crowdErrors checks that every refusal has a reason that lies in the crowd, and
// that nobody is told busy who has not waited.
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

// crowdCharges checks that each direct answer that was given is charged.
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

// crowdAnswers checks that each mechanism says one thing to each query, and what
// it stored is what it said.
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

// TestDropMeetsStatement has another process drop the table at the moment when
// a statement on it draws its noise, between the charge and the store. Nothing
// may be stored on a table that is gone: the lists could not name its table, and
// a later table of that name, over other rows, would be given the budget back.
func TestDropMeetsStatement(t *testing.T) {
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

// TestLeaseIsHandedOver has one process ask a mechanism without pause, from
// four goroutines. Another process, which waits its five seconds, gets its turn,
// four times over: a lease is held half a second at most.
func TestLeaseIsHandedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ward.db")
	fillWard(t, path, wardTable("ward"), wardMechanism("m0", "ward"))
	busy, patient := open(t, path, engine.Options{}), open(t, path, engine.Options{})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
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
	for turn := 0; turn < 4 && !t.Failed(); turn++ {
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
