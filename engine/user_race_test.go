package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// userChild is a process of a user: it asks a number of questions, most of them new, of
// direct answers and of a mechanism, and says what each cost.
func userChild() {
	var seed uint64
	var questions int
	fmt.Sscan(os.Getenv("ENGINE_TEST_USER"), &seed, &questions)
	db, err := engine.Open(os.Getenv("ENGINE_TEST_PATH"), engine.Options{BusyTimeout: 10 * time.Minute})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	r := rand.New(rand.NewPCG(seed, 7))
	for range questions {
		s := db.NewUserSession(os.Getenv("ENGINE_TEST_NAME"))
		text := fmt.Sprintf(`SELECT COUNT(*) FROM ward WHERE age IN (%d, %d) AND diagnosis <> 'E1%d'`, r.IntN(100), r.IntN(100), r.IntN(4))
		if r.IntN(4) > 0 {
			text += ` WITH ACCURACY 20`
		}
		done := said{Done: true, Text: text}
		result, err := s.Exec(context.Background(), text, nil)
		if err != nil {
			done.Code, done.Via = sqlerr.CodeOf(err), err.Error()
		} else {
			done.Rho = accounting.Rho(math.Round(result.Answer.Cost.Rho * 1e15))
		}
		say(done)
	}
}

// TestUsersRace lets two users buy from one table in many processes, of which some are
// killed. Together their quotas are more than the budget, or less. What each spent is what
// the ledger has, to the unit; it covers every answer that was given, of killed processes
// too; and no quota and no cap is passed, so users who act together take no more than the cap.
// The questions differ from run to run in nothing but their order, and the noise decides no
// charge but those of runs: nothing here fails by chance.
func TestUsersRace(t *testing.T) {
	t.Parallel()
	processes, questions := sized(0, 2, 8), sized(0, 10, 30)
	for _, c := range []struct {
		name  string
		share float64 // of the cap, for each of the two
	}{{"quotas above the cap", 0.7}, {"quotas below the cap", 0.3}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ward.db")
			fillWard(t, path, `CREATE PRIVATE TABLE ward (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99, diagnosis TEXT IN ('E10', 'E11', 'E12'))
				FROM raw_ward WITH (epsilon = 4, delta = 1e-6)`,
				`ALTER PRIVATE TABLE ward SET (answer_time = 20)`, `CREATE MECHANISM m0 ON ward USING SMW WITH (epsilon = 0.5, max_updates = 3, queries = 1000, prior = uniform)`)
			s := open(t, path, engine.Options{}).NewSession()
			v, err := s.DB().View(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			a := v.Accounts[v.Tables[0].Account]
			quota, reserved := accounting.Rho(c.share*float64(a.Remaining().Rho)), a.Spent.Rho
			grant := fmt.Sprintf(`GRANT SELECT ON ward TO %%s WITH (rho = %v)`, quota)
			admits(t, s, grant, grant)

			var told [2]accounting.Rho // what the processes of each user said that answers cost
			var all sync.WaitGroup
			var lock sync.Mutex
			refusals := 0
			for i := range 2 * processes {
				child := childCommand("user", "ENGINE_TEST_PATH="+path, fmt.Sprintf("ENGINE_TEST_NAME=user%d", i%2), fmt.Sprintf("ENGINE_TEST_USER=%d %d", i, questions))
				child.Stderr = os.Stderr
				out, err := child.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := child.Start(); err != nil {
					t.Fatal(err)
				}
				killed := i%4 == 3
				all.Go(func() {
					lines := bufio.NewScanner(out)
					for n := 1; lines.Scan(); n++ {
						var d said
						if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
							t.Error(err)
							continue
						}
						if d.Code != "" && d.Code != sqlerr.Uncovered && d.Code != sqlerr.Budget {
							t.Errorf("%s: %s", d.Text, d.Via)
						}
						lock.Lock()
						told[i%2] += d.Rho
						if d.Code == sqlerr.Budget {
							refusals++
						}
						lock.Unlock()
						if killed && n == questions/2 {
							child.Process.Kill()
						}
					}
					if err := child.Wait(); err != nil && !killed {
						t.Error(err)
					}
				})
			}
			all.Wait()

			if v, err = s.DB().View(t.Context()); err != nil {
				t.Fatal(err)
			}
			a, run := v.Accounts[v.Tables[0].Account], v.Mechanism("m0").RunRho
			if left := a.Remaining().Rho; left < 0 {
				t.Errorf("the account has %v left", left)
			}
			var direct, price accounting.Rho
			for i := range 2 {
				_, spent := quotaOf(t, s, fmt.Sprintf("user%d", i))
				var bought, runs accounting.Rho
				for _, l := range interactiveLines(t, s, fmt.Sprintf("for user%d", i)) {
					if bought += l.rho; strings.HasPrefix(l.action, "run ") {
						runs += run
					}
					price = max(price, l.rho)
				}
				if spent != bought+runs || spent > quota || told[i] > bought {
					t.Errorf("user%d has spent %v of %v, the ledger has %v and runs for %v, and answers were given for %v", i, spent, quota, bought, runs, told[i])
				}
				direct += bought
			}
			if a.Spent.Rho != reserved+direct {
				t.Errorf("the account has spent %v, and users %v", a.Spent.Rho-reserved, direct)
			}
			if refusals == 0 {
				t.Error("nothing was refused: the test says nothing")
			}
			if c.share > 0.5 && a.Remaining().Rho >= price {
				t.Errorf("%v was refused, and %v is left", price, a.Remaining().Rho)
			}
			err = s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error { return tx.VerifyLedger() })
			if err != nil {
				t.Error(err)
			}
		})
	}
}
