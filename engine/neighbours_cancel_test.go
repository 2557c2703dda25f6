package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/seeds"
)

// cancelled is a statement that somebody begins at a time, and cancels some time after: 0 is before it
// begins, and none is never.
type cancelled struct {
	who          int // of ana, bob and the analyst
	text         string
	begun, after time.Duration
}

const none = time.Hour

// cancelledSelects are what is asked, of few different queries, so that most are asked again.
var cancelledSelects = []string{askFree, askDirect, askGroups, askAround,
	`SELECT /*+ accuracy(500) */ MEDIAN(age), COUNT(DISTINCT diagnosis) FROM admissions WHERE sex = 'F'`,
	`SELECT /*+ accuracy(90) */ zip, COUNT(*) FROM admissions WHERE zip IN ('15210', '15213') GROUP BY zip`,
	`SELECT /*+ accuracy(40) */ COUNT(*) FROM admissions WHERE age = %d`,
	`SELECT /*+ accuracy(0.001) */ COUNT(*) FROM admissions WHERE age = %d`,
}

// drawCancelled draws statements. Nobody asks two at a time; the analyst, whose answers are not held, cancels before
// a statement or after it.
func drawCancelled(random *rand.Rand, n int) (all []cancelled) {
	for who := range 3 {
		var at time.Duration
		for range n {
			at += time.Duration(random.IntN(int(300 * time.Millisecond)))
			text := cancelledSelects[random.IntN(len(cancelledSelects))]
			if strings.Contains(text, "%d") {
				text = fmt.Sprintf(text, random.IntN(3))
			}
			after := none
			switch k := random.IntN(4); {
			case k == 0:
				after = 0
			case k > 1 && who < 2:
				after = 1 + time.Duration(random.IntN(int(140*time.Millisecond)))
			}
			all = append(all, cancelled{who, text, at, after})
		}
	}
	return all
}

// leftBy runs statements on a clinic after a change of its rows, where reading takes a time that depends on
// the rows, and is over when it is cancelled. It returns all that they leave in the ledger, the budgets, the quotas and the marks.
func leftBy(t *testing.T, all []cancelled, change string, work time.Duration) (left string, ended [2]int) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "clinic.db")
		far, near := newFar(t, change), newFar(t, change)
		s := outsideClinicAt(t, far, path)
		for _, text := range []string{`ALTER PRIVATE TABLE admissions SET (answer_time = 100)`,
			`CREATE RELEASE free ON admissions (sex) USING PROJECTION WITH (epsilon = 1)`} {
			must(t, s, text)
		}
		const grant = `GRANT SELECT ON admissions TO %s WITH (rho = 0.002)`
		asking := admits(t, s, grant, grant)
		analyst := open(t, path, engine.Options{Role: engine.Analyst})
		near.dial(analyst)
		asking = append(asking, analyst.NewSession())
		var read time.Time
		far.wait = func(ctx context.Context) error {
			if time.Now().Equal(read) { // once a slot, however often it reads
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(work):
				read = time.Now()
				return nil
			}
		}
		var both sync.WaitGroup
		var answers, errors atomic.Int64
		for who, session := range asking {
			both.Go(func() {
				begun := time.Now()
				for _, c := range all {
					if c.who != who {
						continue
					}
					time.Sleep(time.Until(begun.Add(c.begun)))
					ctx, cancel := context.WithCancel(context.Background())
					if c.after == 0 {
						cancel()
					} else {
						defer time.AfterFunc(c.after, cancel).Stop()
					}
					if _, err := session.Exec(ctx, c.text, nil); err != nil {
						errors.Add(1)
					} else {
						answers.Add(1)
					}
					cancel()
				}
			})
		}
		both.Wait()
		synctest.Wait()
		time.Sleep(time.Second) // for what was left behind
		left = ledger(t, s) + fmt.Sprint(must(t, s, `SHOW GRANTS`).Rows, must(t, s, `SHOW BUDGET`).Rows, must(t, s, `SHOW TABLES`).Rows)
		err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error { return tx.VerifyLedger() }) // its end is the mark
		if err != nil {
			t.Fatal(err)
		}
		ended = [2]int{int(answers.Load()), int(errors.Load())}
	})
	return left, ended
}

// TestNeighboursLedgersWhateverIsCancelled runs statements of two users and an analyst on databases that differ
// in a row, and in how long it takes to read. Statements are cancelled before they begin, within their slots and after them. What they
// leave in the ledger is equal, with the times of the lines, and so are budgets, quotas and answer times.
func TestNeighboursLedgersWhateverIsCancelled(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	var ended [2]int
	for range sized(0, 1, 40) {
		all := drawCancelled(random, 24)
		changes := []string{`DELETE FROM raw_admissions WHERE rowid = 1001`, `INSERT INTO raw_admissions VALUES ('F', 1, 'E10', '15210', 5000)`,
			`UPDATE raw_admissions SET age = zeroblob(70000) WHERE rowid = 102`}
		want, n := leftBy(t, all, `SELECT 1`, 0)
		got, _ := leftBy(t, all, changes[random.IntN(len(changes))], time.Duration(random.IntN(int(90*time.Millisecond))))
		if got != want {
			t.Fatalf("with %+v\nthe ledger of the one is\n%s\nof the other\n%s", all, want, got)
		}
		ended[0], ended[1] = ended[0]+n[0], ended[1]+n[1]
	}
	if ended[0] == 0 || ended[1] == 0 {
		t.Errorf("%d statements were answered, and %d were not: the test says nothing", ended[0], ended[1])
	}
}
