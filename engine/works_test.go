package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dpsql/accounting"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// slow has each read take so long, unless its context ends before.
func (f *far) slow(long time.Duration) {
	f.wait = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(long):
			return nil
		}
	}
}

// sessionOf opens a file whose rows are far for a role. Answers are bought.
func sessionOf(t *testing.T, f *far, path string, o engine.Options) *engine.Session {
	t.Helper()
	db := open(t, path, o)
	f.dial(db)
	s := db.NewSession()
	s.Set("accuracy", "8") // less than half of the account can pay for two of them
	return s
}

// deadlines are SELECTs that read rows once, with what is done with each of their texts.
var deadlines = []string{bought[4], bought[5],
	`SELECT a.n - b.n FROM (SELECT COUNT(*) AS n FROM admissions WHERE age = 3) a, (SELECT COUNT(*) AS n FROM admissions WHERE age = 3) b`,
	`SELECT /*+ accuracy(60) */ MEDIAN(age) FROM admissions`}

// TestDeadlineIsChargedOnce asks what takes 7.5 seconds to read, with a deadline of one second, until it is answered: the eighth
// time. The first is charged, and its reading goes on; the others wait for it. It is charged like one that has no deadline.
func TestDeadlineIsChargedOnce(t *testing.T) {
	t.Parallel()
	for _, role := range []engine.Role{engine.Curator, engine.Analyst} {
		for _, text := range deadlines {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "clinic.db")
				f := newFar(t)
				curator := outsideClinicAt(t, f, path)
				s := sessionOf(t, f, path, engine.Options{Role: role})
				p, err := engine.Prepare(text)
				if err != nil {
					t.Fatal(err)
				}
				before := lines(t, curator)
				f.slow(7500 * time.Millisecond)
				var r *engine.Result
				try := 1
				for ; ; try++ {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					r, err = s.ExecPrepared(ctx, p, nil)
					cancel()
					if err == nil || try == 20 {
						break
					}
					if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, sqlerr.Cancelled) || strings.Contains(err.Error(), "its answer is being read") != (try == 1) {
						t.Errorf("%s, %s, try %d: %v", role, text, try, err)
					}
				}
				if err != nil || try != 8 || r.Answer.Cost != (engine.Cost{}) {
					t.Fatalf("%s, %s: try %d: %v, %v", role, text, try, r, err)
				}
				if n := lines(t, curator); n != before+1 {
					t.Errorf("%s, %s: %d charges\n%s", role, text, n-before, ledger(t, curator))
				}
			})
		}
	}
}

// TestDeadlinesOfBuilds gives builds and comparisons too little time, eight times, and then enough. They
// cost what those cost that have the time at once. Without -long every second is tried.
func TestDeadlinesOfBuilds(t *testing.T) {
	t.Parallel()
	for _, text := range some(t, 2, []string{bought[0], bought[3], bought[6], `SELECT /*+ mechanism(asked), accuracy(default) */ COUNT(*) FROM admissions WHERE age = 3`}) {
		synctest.Test(t, func(t *testing.T) {
			var costs [2]accounting.Amount
			for i := range costs {
				f := newFar(t)
				s := buys(t, f)
				must(t, s, `CREATE MECHANISM asked ON admissions (sex, age) USING SMW WITH (epsilon = 0.4, max_updates = 3)`)
				before := lines(t, s)
				f.slow(2500 * time.Millisecond)
				for try := 0; i == 1 && try < 8; try++ {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					if _, err := s.Exec(ctx, text, nil); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s: %v", text, err)
					}
					cancel()
				}
				must(t, s, text)
				costs[i], _ = charged(t, s, before)
				s.DB().Close()
			}
			if costs[0] != costs[1] || costs[0] == (accounting.Amount{}) && !strings.Contains(text, "asked") {
				t.Errorf("%s: %v at once, and %v with deadlines", text, costs[0], costs[1])
			}
		})
	}
}

// TestSurplusArguments gives statements an argument more than they have parameters. Nothing is charged.
func TestSurplusArguments(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `SET accuracy = 200`)
	before := ledger(t, s)
	for _, text := range []string{`SELECT COUNT(*) FROM admissions WHERE sex = ?`, `SELECT COUNT(*) FROM admissions WHERE sex = :s OR sex = :s`, `SELECT COUNT(*) FROM admissions WHERE sex IN ($1)`,
		`EXPLAIN SELECT COUNT(*) FROM admissions WHERE sex = ?`, `SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM admissions WHERE sex = ?)`,
		`SELECT * FROM (VALUES (?))`, `SELECT COUNT(*) FROM admissions`, `SHOW TABLES`} {
		p, err := engine.Prepare(text)
		if err != nil {
			t.Fatal(text, err)
		}
		args := []query.Value{query.Text("F"), query.Text("M")}[:len(p.Parameters())+1]
		for _, run := range []func() (*engine.Result, error){
			func() (*engine.Result, error) { return s.ExecPrepared(t.Context(), p, args) },
			func() (*engine.Result, error) { return s.Exec(t.Context(), text, args) },
		} {
			if r, err := run(); !errors.Is(err, sqlerr.Invalid) {
				t.Errorf("%s: %v, %v", text, r, err)
			}
		}
	}
	if ledger(t, s) != before {
		t.Error("something was charged")
	}
}

// TestCancelOfAnAnalyst cancels what is read for an analyst, whose ledger does not tell when, and for a curator, whose reading
// stops. Both are charged once.
func TestCancelOfAnAnalyst(t *testing.T) {
	t.Parallel()
	for role, said := range map[engine.Role]string{engine.Curator: "and waits, for nothing was drawn", engine.Analyst: "its answer is being read"} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "clinic.db")
			f := newFar(t)
			curator := outsideClinicAt(t, f, path)
			s := sessionOf(t, f, path, engine.Options{Role: role})
			before := lines(t, curator)
			f.slow(2 * time.Second)
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			if _, err := s.Exec(ctx, bought[4], nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), said) {
				t.Errorf("%s: %v", role, err)
			}
			must(t, s, bought[4])
			if n := lines(t, curator); n != before+map[engine.Role]int{engine.Curator: 3, engine.Analyst: 1}[role] {
				t.Errorf("%s: the ledger has\n%s", role, ledger(t, curator))
			}
		})
	}
}

// TestCloseCostsNothing closes a database while statements read, and while a reading goes on whose statement has ended. They end
// with the code closed, and what they were charged serves the same statement when the file is opened again.
func TestCloseCostsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role     engine.Role
		text     string
		deadline time.Duration
	}{
		{engine.Curator, bought[4], time.Hour}, {engine.Analyst, bought[5], time.Hour}, {engine.Curator, bought[0], time.Hour},
		{engine.Curator, bought[4], time.Second}, {engine.Analyst, bought[4], time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "clinic.db")
			f := newFar(t)
			curator := outsideClinicAt(t, f, path)
			s := sessionOf(t, f, path, engine.Options{Role: c.role})
			before := lines(t, curator)
			f.slow(time.Minute)
			ended := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), c.deadline)
				defer cancel()
				_, err := s.Exec(ctx, c.text, nil)
				ended <- err
			}()
			time.Sleep(2 * time.Second)
			if err := s.DB().Close(); err != nil {
				t.Error(err)
			}
			code := sqlerr.Closed
			if c.deadline == time.Second {
				code = sqlerr.Cancelled
			}
			if err := <-ended; !errors.Is(err, code) || !strings.Contains(err.Error(), "was charged for it") {
				t.Errorf("%v: %v", c, err)
			}
			if _, err := s.Exec(context.Background(), c.text, nil); !errors.Is(err, sqlerr.Closed) {
				t.Errorf("%v: after it was closed: %v", c, err)
			}
			f.wait = nil
			once, _ := charged(t, curator, before)
			must(t, sessionOf(t, f, path, engine.Options{Role: c.role}), c.text)
			if got, _ := charged(t, curator, before); got != once || got == (accounting.Amount{}) {
				t.Errorf("%v: it cost %v, and %v in all", c, once, got)
			}
		})
	}
}

// TestCloseEndsImports closes a database while a file is imported: it ends with the code closed, and leaves no table. So do
// imports, drafts and checks that begin later.
func TestCloseEndsImports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "big.db")
		s := open(t, path, engine.Options{}).NewSession()
		im := engine.Import{Path: filepath.Join(t.TempDir(), "rows.csv"), Table: "raw"}
		if err := os.WriteFile(im.Path, []byte("n\n"+strings.Repeat("1234567\n", 200_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		closed := make(chan error, 1)
		im.Progress = func(done, all int64) {
			once.Do(func() {
				go func() { closed <- s.DB().Close() }()
				synctest.Wait()
			})
		}
		report, err := s.Import(context.Background(), im)
		if !errors.Is(err, sqlerr.Closed) || report.Rows != 0 {
			t.Errorf("%d rows: %v", report.Rows, err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		for name, do := range map[string]func() error{
			"import": func() error { _, err := s.Import(context.Background(), im); return err },
			"draft":  func() error { _, err := s.Draft(context.Background(), "raw"); return err },
			"check":  func() error { _, err := s.Check(context.Background(), "raw", ""); return err },
		} {
			if err := do(); !errors.Is(err, sqlerr.Closed) {
				t.Errorf("%s after it was closed: %v", name, err)
			}
		}
		again := open(t, path, engine.Options{}).NewSession()
		if _, err := again.Draft(context.Background(), "raw"); !errors.Is(err, sqlerr.Unknown) {
			t.Errorf("the table after the import: %v", err)
		}
	})
}

// TestTenShareOneReading asks one new query in ten goroutines. It is read for longer than others wait for another process, and the
// account cannot pay for it twice.
func TestTenShareOneReading(t *testing.T) {
	t.Parallel()
	for _, accuracy := range []string{"8", "6"} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "clinic.db")
			f := newFar(t)
			curator := outsideClinicAt(t, f, path)
			db := sessionOf(t, f, path, engine.Options{Role: engine.Analyst, BusyTimeout: 100 * time.Millisecond}).DB()
			before := lines(t, curator)
			f.slow(time.Minute)
			answers := make([]string, 10)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() {
					time.Sleep(time.Duration(i) * time.Second)
					s := db.NewSession()
					s.Set("accuracy", accuracy)
					r, err := s.Exec(context.Background(), bought[4], nil)
					if answers[i] = fmt.Sprint(err); err == nil {
						answers[i] = fmt.Sprint(r.Rows)
					}
				})
			}
			all.Wait()
			for _, a := range answers {
				if a != answers[0] || !strings.HasPrefix(a, "[[") {
					t.Errorf("accuracy %s: the answers %q", accuracy, answers)
				}
			}
			if n := lines(t, curator); n != before+1 {
				t.Errorf("accuracy %s: %d charges", accuracy, n-before)
			}
		})
	}
}

// TestSettingsTakeArguments gives a query's own settings by arguments: it does what the same query does with literals.
func TestSettingsTakeArguments(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	for _, c := range []struct {
		text    string
		args    []query.Value
		literal string // "" if it is refused
		code    sqlerr.Code
	}{
		{"EXPLAIN SELECT COUNT(*) FROM admissions WITH accuracy = ?", []query.Value{query.Int(50)}, "EXPLAIN SELECT COUNT(*) FROM admissions WITH accuracy = 50", ""},
		{"EXPLAIN SELECT COUNT(*) FROM admissions WHERE sex = :s WITH accuracy :a, confidence(:c)", []query.Value{query.Text("F"), query.Text("60"), query.Text("0.9")},
			"EXPLAIN SELECT COUNT(*) FROM admissions WHERE sex = 'F' WITH accuracy = 60, confidence = 0.9", ""},
		{"EXPLAIN SELECT COUNT(*) FROM admissions WHERE age < ?2 WITH mechanism = ?1", []query.Value{query.Text("direct"), query.Int(50)},
			"EXPLAIN SELECT COUNT(*) FROM admissions WHERE age < 50 WITH mechanism = direct", ""},
		{"EXPLAIN SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM admissions) WITH accuracy = ?", []query.Value{query.Int(40)},
			"EXPLAIN SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM admissions) WITH accuracy = 40", ""},
		{"SELECT 1 + ? WITH clamp = ?", []query.Value{query.Int(2), query.Text("on")}, "SELECT 1 + 2 WITH clamp = on", ""},
		{"SELECT 1 WITH accuracy = ?", []query.Value{query.Text("many")}, "", sqlerr.Invalid},
		{"SELECT 1 WITH accuracy = ?", []query.Value{query.Null()}, "", sqlerr.Invalid},
		{"SELECT 1 WITH accuracy = ?", nil, "", sqlerr.Invalid},
		{"SELECT 1 WITH accuracy = ?", []query.Value{query.Int(1), query.Int(2)}, "", sqlerr.Invalid},
		{"SELECT /*+ accuracy = ? */ 1", []query.Value{query.Int(1)}, "", sqlerr.Malformed},
	} {
		r, err := s.Exec(context.Background(), c.text, c.args)
		if sqlerr.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.text, err)
		} else if err == nil {
			if want := must(t, s, c.literal); fmt.Sprint(r.Rows) != fmt.Sprint(want.Rows) {
				t.Errorf("%s: %v, want %v", c.text, r.Rows, want.Rows)
			}
		}
	}
	if got := s.Settings(); got.Accuracy != engine.DefaultSettings().Accuracy {
		t.Errorf("the session has the settings %v", got)
	}
}
