package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// charged returns the sum of the ledger's lines from one on, and the actions that cost nothing.
func charged(t *testing.T, s *engine.Session, before int) (sum accounting.Amount, free []string) {
	t.Helper()
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		entries, err := tx.Ledger()
		for _, e := range entries[before:] {
			sum, _ = sum.Add(e.Amount)
			if e.Amount == (accounting.Amount{}) && e.Action != "finish release" {
				free = append(free, e.Action[:min(len(e.Action), 14)])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum, free
}

// interrupt runs a statement and cancels it at a read, from 1 on. It is false if the statement has
// not so many.
func interrupt(t *testing.T, f *far, s *engine.Session, text string, at int) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reads := 0
	f.wait = func(reading context.Context) error {
		if reads++; reads == at {
			cancel()
			<-reading.Done()
		}
		return reading.Err()
	}
	defer func() { f.wait = nil }()
	_, err := s.Exec(ctx, text, nil)
	if err != nil && sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Fatalf("%s: %v", text, err)
	}
	return err != nil
}

// TestInterruptedCostsNothing cancels statements at each of their reads, some twice, and runs them
// again. Together they cost what one costs that nobody cancels.
func TestInterruptedCostsNothing(t *testing.T) {
	t.Parallel()
	for _, text := range interruptible {
		f := newFar(t)
		s := buys(t, f)
		before := lines(t, s)
		must(t, s, text)
		want, _ := charged(t, s, before)
		for at := 1; ; at += sized(0, 7, 1) {
			f := newFar(t)
			s := buys(t, f)
			before := lines(t, s)
			if !interrupt(t, f, s, text, at) {
				break
			}
			interrupt(t, f, s, strings.Replace(text, " WITH ", "\n WITH", 1), 1)
			must(t, s, text)
			got, free := charged(t, s, before)
			if got != want {
				t.Errorf("%s, cancelled at read %d: it cost %v, want %v", text, at, got, want)
			}
			waits := slices.DeleteFunc(slices.Clone(free), func(action string) bool { return !strings.Contains(action, "waits") })
			if len(waits) == 0 || len(free) != 2*len(waits) { // each serves
				t.Errorf("%s, cancelled at read %d: the ledger says %q", text, at, free)
			}
		}
	}
}

// TestChargeWaitsForItsStatement has a charge wait, and runs other statements, and statements of
// others, which do not get it.
func TestChargeWaitsForItsStatement(t *testing.T) {
	t.Parallel()
	const text = `CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.25)`
	path := filepath.Join(t.TempDir(), "clinic.db")
	f := newFar(t)
	s := outsideClinicAt(t, f, path)
	begin := lines(t, s)
	interrupt(t, f, s, text, 1)
	quarter := accounting.Amount{Epsilon: accounting.Epsilon(25e13)}
	for _, other := range []string{
		strings.Replace(text, "RELEASE r ", "RELEASE q ", 1),
		strings.Replace(text, "age", "diagnosis", 1),
		strings.Replace(text, "0.25)", "0.25, estimate = unbiased)", 1),
	} {
		before := lines(t, s)
		must(t, s, other)
		if got, _ := charged(t, s, before); got != quarter {
			t.Errorf("%s cost %v", other, got)
		}
		if strings.Contains(other, " r ") {
			must(t, s, `DROP RELEASE r`)
		}
	}
	// The charge outlives the process that told the ledger, and serves once.
	s.DB().Close()
	db := open(t, path, engine.Options{})
	f.dial(db)
	s = db.NewSession()
	for _, want := range []accounting.Amount{{}, quarter} {
		before := lines(t, s)
		must(t, s, text)
		if got, _ := charged(t, s, before); got != want {
			t.Errorf("it cost %v, want %v", got, want)
		}
		must(t, s, `DROP RELEASE r`)
	}
	for role, want := range map[engine.Role]string{engine.Curator: "ε 0.25; serves", engine.Analyst: "ε 0.25"} {
		rows := must(t, open(t, path, engine.Options{Role: role}).NewSession(), `SHOW LEDGER`).Brief.Rows
		if cost := rows[1][len(rows[1])-1]; cost != want {
			t.Errorf("the %s sees the cost %v, want %s", role, cost, want)
		}
	}
	if _, free := charged(t, s, begin); !slices.Equal(free, []string{"line 2 waits: ", "line 2 serves:"}) {
		t.Errorf("the ledger says %q", free)
	}
}

// TestUsersGetNothingBack cancels and fails statements at their reads. The ledger has each charge of a user and nothing
// else, as if they had been answered; an analyst who has the file is charged once.
func TestUsersGetNothingBack(t *testing.T) {
	t.Parallel()
	const text = `SELECT /*+ accuracy(200) */ COUNT(*) FROM admissions WHERE age = 3`
	for _, who := range []string{"user", "analyst"} {
		f := newFar(t)
		s := outsideClinic(t, f)
		must(t, s, `ALTER PRIVATE TABLE admissions SET (answer_time = 1)`)
		asking := admits(t, s, `GRANT SELECT ON admissions TO %s WITH (rho = 0.05)`)[0]
		charges, waits := 3, []string(nil)
		if who == "analyst" {
			db := open(t, s.DB().Store().Path(), engine.Options{Role: engine.Analyst})
			f.dial(db)
			asking, charges = db.NewSession(), 1
			waits = []string{"line 3 waits: ", "line 3 serves:", "line 3 waits: ", "line 3 serves:"}
		}
		before := lines(t, s)
		for _, ends := range []error{context.Canceled, sqlerr.New(sqlerr.IO, "the server is away")} {
			f.wait = func(context.Context) error { return ends }
			if _, err := asking.Exec(context.Background(), text, nil); err == nil || strings.Contains(err.Error(), "waits") != (who == "analyst") {
				t.Errorf("%s: %v", who, err)
			}
			f.wait = nil
		}
		if _, err := asking.Exec(context.Background(), text, nil); err != nil {
			t.Errorf("%s: %v", who, err)
		}
		if _, free := charged(t, s, before); lines(t, s) != before+charges+len(waits) || !slices.Equal(free, waits) {
			t.Errorf("%s: the ledger has\n%s, %q", who, ledger(t, s), free)
		}
	}
}

// TestOldCopyServesNoCharge puts a copy of the file, from when a charge waited, in place of the one
// in which it has served. The mark beside the file refuses it.
func TestOldCopyServesNoCharge(t *testing.T) {
	t.Parallel()
	const text = `CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`
	path := filepath.Join(t.TempDir(), "clinic.db")
	f := newFar(t)
	s := outsideClinicAt(t, f, path)
	interrupt(t, f, s, text, 1)
	s.DB().Close()
	copied, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, path, engine.Options{})
	f.dial(db)
	must(t, db.NewSession(), text)
	db.Close()
	for _, beside := range []string{"-wal", "-shm"} {
		os.Remove(path + beside)
	}
	if err := os.WriteFile(path, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	db = open(t, path, engine.Options{})
	f.dial(db)
	refused(t, db.NewSession(), sqlerr.Corrupt, text)
}

// TestWaitingInAnExhaustedAccount interrupts statements that take all that an account has, until they are done.
func TestWaitingInAnExhaustedAccount(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	for _, text := range []string{
		`CREATE RELEASE r ON admissions (age, zip) USING PROJECTION WITH (epsilon = 2, transform = sparse)`,
		`CREATE MECHANISM m ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 2, max_updates = 4, prior = classes)`,
	} {
		for at := 1; interrupt(t, f, s, text, at); at++ {
		}
	}
	f = newFar(t)
	s = outsideClinic(t, f)
	must(t, s, `SET accuracy = 6`) // more than half of the account
	before := lines(t, s)
	interrupt(t, f, s, bought[4], 1)
	once, _ := charged(t, s, before)
	refused(t, s, sqlerr.Budget, `SELECT COUNT(*) FROM admissions WHERE age = 4`)
	must(t, s, bought[4])
	if got, _ := charged(t, s, before); got != once {
		t.Errorf("it cost %v, want %v", got, once)
	}
}

// TestAffordsLessWhatWaits interrupts a statement at its first charge, and spends what its other charge does not
// need. It goes on then. Another statement is refused before it charges, whatever waits for both.
func TestAffordsLessWhatWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, other, spend string }{
		{`CREATE RELEASE r ON admissions (age, zip) USING PROJECTION WITH (epsilon = 0.5, transform = sparse)`,
			`CREATE RELEASE q ON admissions (age, zip) USING PROJECTION WITH (epsilon = 1.999, transform = sparse)`,
			`CREATE RELEASE s ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1.5)`},
		{`CREATE MECHANISM m ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4, prior = classes)`,
			`CREATE MECHANISM m ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1.999, max_updates = 4, prior = classes)`, ``},
	} {
		f := newFar(t)
		s := outsideClinic(t, f)
		if !interrupt(t, f, s, c.first, 1) {
			t.Fatalf("%s was not interrupted", c.first)
		}
		before := lines(t, s)
		refused(t, s, sqlerr.Budget, c.other)
		if lines(t, s) != before {
			t.Errorf("%s was refused and charged\n%s", c.other, ledger(t, s))
		}
		if c.spend != "" {
			must(t, s, c.spend)
		}
		must(t, s, c.first)
	}
}

// TestOneNameIsPaidOnce builds releases of one name at once, in several processes' stead.
func TestOneNameIsPaidOnce(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	for _, text := range []string{
		`CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE RELEASE w ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 0.4, max_updates = 3, free_columns = 1)`,
		`CREATE MECHANISM m ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4, prior = classes)`,
		`CREATE PUBLIC TABLE found AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 0.5, delta = 1e-8)`,
	} {
		before := lines(t, s)
		var all sync.WaitGroup
		made := make(chan error, 4)
		for range 4 {
			db := open(t, s.DB().Store().Path(), engine.Options{})
			all.Go(func() {
				_, err := db.NewSession().Exec(context.Background(), text, nil)
				made <- err
			})
		}
		all.Wait()
		close(made)
		ok := 0
		for err := range made {
			if code := sqlerr.CodeOf(err); err == nil {
				ok++
			} else if code != sqlerr.Exists && code != sqlerr.Busy {
				t.Errorf("%s: %v", text, err)
			}
		}
		actions := make(map[string]int)
		err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
			entries, err := tx.Ledger()
			for _, e := range entries[before:] {
				if actions[e.Action]++; actions[e.Action] > 1 {
					t.Errorf("%s: %q is charged again", text, e.Action)
				}
			}
			return err
		})
		if err != nil || ok != 1 {
			t.Errorf("%s: %d were made, %v", text, ok, err)
		}
	}
}

// TestDeltaWaitsForItsStatement has all δ of an account wait for a release. One that names no δ is
// planned without it, and the interrupted one with it.
func TestDeltaWaitsForItsStatement(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	const sparse = `CREATE RELEASE %s ON admissions (age, zip) USING PROJECTION WITH (epsilon = 0.5, transform = sparse%s)`
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := v.Accounts[firstTable(s).Account].Remaining().Delta
	waits := fmt.Sprintf(sparse, "waits", ", max_support = 64, memory = '64 KiB', delta = "+all.String())
	if !interrupt(t, f, s, waits, 2) { // after the number of rows
		t.Fatal("it was not interrupted")
	}
	must(t, s, fmt.Sprintf(sparse, "other", ""))
	before := lines(t, s)
	must(t, s, waits)
	if got, _ := charged(t, s, before); got != (accounting.Amount{}) {
		t.Errorf("it cost %v again", got)
	}
}

// TestExplainTellsWhatWaits interrupts SELECTs that take most of an account. EXPLAIN says that the charge of each
// waits for it and that it costs nothing, and that another statement of the same price lacks it. What a charge
// that waited served costs 0.
func TestExplainTellsWhatWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, other string }{
		{`SELECT COUNT(*) FROM admissions WHERE age = 3`, `SELECT COUNT(*) FROM admissions WHERE age = 4`},
		{`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`, `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`},
		{`SELECT a.n - b.n FROM (SELECT COUNT(*) AS n FROM admissions WHERE age = 3) a, (SELECT COUNT(*) AS n FROM admissions WHERE age = 5) b`,
			`SELECT a.n - b.n FROM (SELECT COUNT(*) AS n FROM admissions WHERE age = 3) a, (SELECT COUNT(*) AS n FROM admissions WHERE age = 6) b`},
	} {
		f := newFar(t)
		s := outsideClinic(t, f)
		must(t, s, `SET accuracy = 6`) // more than half of the account
		if strings.Contains(c.text, "a.n") {
			must(t, s, `SET accuracy = 8`)
		}
		if !interrupt(t, f, s, c.text, 1) {
			t.Fatalf("%s was not interrupted", c.text)
		}
		explained := func(text string) (cost, all string) {
			r := must(t, s, "EXPLAIN "+text)
			for _, row := range r.Rows {
				if row[0] == "direct" {
					cost = fmt.Sprint(row[5])
				}
			}
			return cost, fmt.Sprint(r.Rows, r.Warnings)
		}
		if cost, all := explained(c.text); cost != "0" || !strings.Contains(all, "chosen") || !strings.Contains(all, "its charge waits, and pays") ||
			strings.Contains(all, "what is left for") {
			t.Errorf("EXPLAIN %s: %s", c.text, all)
		}
		short := "not: it needs ρ = "
		if strings.Contains(c.text, "a.n") {
			short = "budget: it needs ρ = " // each of the two could be paid for
		}
		if cost, all := explained(c.other); cost == "0" || !strings.Contains(all, short) || strings.Contains(all, "waits") || strings.Contains(all, "chosen") {
			t.Errorf("EXPLAIN %s: %s", c.other, all)
		}
		e := refused(t, s, sqlerr.Budget, c.other)
		if !strings.Contains(e.Hint, "SET accuracy = ") {
			t.Errorf("%s: %v, hint %q", c.other, e, e.Hint)
		}
		before := lines(t, s)
		if r := must(t, s, c.text); r.Answer.Cost != (engine.Cost{}) {
			t.Errorf("%s costs %v, though a charge served it", c.text, r.Answer.Cost)
		}
		if got, _ := charged(t, s, before); got != (accounting.Amount{}) {
			t.Errorf("%s was charged %v", c.text, got)
		}
	}
}

// TestExplainCreateTellsWhatWaits interrupts statements that take nearly all of an account. EXPLAIN counts the charge
// of each as left for it, and for no other statement.
func TestExplainCreateTellsWhatWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, other, left string }{
		{`CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1.5)`, `CREATE RELEASE q ON admissions (sex, age) USING PROJECTION WITH (epsilon = 1.5)`, "would leave ε 0.5 of 2"},
		{`CREATE PUBLIC TABLE found AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 1.5, delta = 1e-8)`,
			`CREATE PUBLIC TABLE other AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 1.5, delta = 1e-8)`, "would leave ε 0.5 of 2"},
	} {
		f := newFar(t)
		s := outsideClinic(t, f)
		if !interrupt(t, f, s, c.text, 1) {
			t.Fatalf("%s was not interrupted", c.text)
		}
		for text, want := range map[string]string{c.text: c.left, c.other: "refused: budget"} {
			if all := fmt.Sprint(must(t, s, "EXPLAIN "+text).Rows); !strings.Contains(all, want) || want != c.left && strings.Contains(all, c.left) {
				t.Errorf("EXPLAIN %s: %s, want %s", text, all, want)
			}
		}
		must(t, s, c.text)
	}
}
