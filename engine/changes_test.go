package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/engine/internal/view"
	"dpsql/internal/seeds"
	"dpsql/sqlerr"
)

// sameView returns the database's present view, and compares it with one that is read from
// the file. An idle lease may be given back meanwhile, which commits. Then it tries again.
func sameView(t *testing.T, db *engine.DB) *view.View {
	t.Helper()
	ctx := context.Background()
	for {
		before, err := db.Store().Version(ctx)
		if err != nil {
			t.Fatal(err)
		}
		v, err := db.Current(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := db.View(ctx)
		if err != nil {
			t.Fatal(err)
		}
		after, err := db.Store().Version(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if after == before {
			compareViews(t, v, fresh)
			return v
		}
	}
}

// compareViews compares what views show, and not what they remember to have looked up.
func compareViews(t *testing.T, v, fresh *view.View) {
	t.Helper()
	a, b := reflect.ValueOf(*v), reflect.ValueOf(*fresh)
	for i := range a.NumField() {
		if f := a.Type().Field(i); f.IsExported() && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			t.Errorf("%s of the view is\n%+v\nand read it would be\n%+v", f.Name, a.Field(i), b.Field(i))
		}
	}
}

// firingOften makes a database on a view of rows that all have one age. Its mechanisms
// have such a large budget that they fire at most queries.
func firingOften(t *testing.T) *engine.Session {
	t.Helper()
	create := func(name string) string {
		return `CREATE MECHANISM ` + name + ` ON t USING SMW WITH (epsilon = 200, max_updates = 80, queries = 1000, prior = uniform)`
	}
	return declared(t, []string{`CREATE TABLE raw (sex TEXT, age INTEGER, code TEXT)`, `CREATE TABLE codes (code TEXT)`, `INSERT INTO codes VALUES ('E10')`,
		`CREATE UNIQUE INDEX by_code ON codes (code)`, `CREATE VIEW v AS SELECT r.sex, r.age FROM raw AS r JOIN codes AS c ON r.code = c.code`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999)
			INSERT INTO raw SELECT CASE WHEN i % 2 THEN 'F' ELSE 'M' END, 60, 'E10' FROM n`},
		`CREATE PUBLIC TABLE codes`,
		`CREATE PRIVATE TABLE t (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99) FROM v WITH (epsilon = 1000, delta = 1e-6)`,
		create("first"), create("second"))
}

// between returns a query for the ages from lo to hi.
func between(lo, hi int) string {
	return fmt.Sprintf(`SELECT COUNT(*) FROM t WHERE age BETWEEN %d AND %d`, lo, hi)
}

// TestViewIsAFreshRead asks mechanisms in two databases on one file, with declarations and
// purchases in between. After every statement the view of each is what the file says,
// whether it is new or the last one. A view that was handed out never changes. It takes 30
// statements, or 200 with -long.
func TestViewIsAFreshRead(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	s := firingOften(t)
	sessions := []*engine.Session{s, open(t, s.DB().Store().Path(), engine.Options{}).NewSession()}
	who := 0
	for i, kind := range random.Perm(sized(0, 30, 200)) {
		if random.IntN(40) == 0 {
			who = 1 - who
		}
		before := sameView(t, sessions[who].DB())
		was := fmt.Sprint(before.Mechanisms, before.Accounts)
		text := between(random.IntN(50), 50+random.IntN(50))
		switch kind % 30 { // each at least once
		case 0:
			text = fmt.Sprintf(`CREATE RELEASE r%d ON t (sex) USING PROJECTION WITH (epsilon = 1)`, i)
		case 1:
			must(t, sessions[who], `DROP PUBLIC TABLE codes`)
			sameView(t, sessions[who].DB())
			text = `CREATE PUBLIC TABLE codes`
		case 2, 3, 4, 5, 6, 7, 8, 9:
			must(t, sessions[who], `SET mechanism = direct`)
			must(t, sessions[who], `SET accuracy = 60`)
		case 10:
			fill(t, sessions[who], `INSERT OR IGNORE INTO codes VALUES ('x')`)
		default:
			must(t, sessions[who], `SET mechanism = `+[]string{"first", "second"}[random.IntN(2)])
			must(t, sessions[who], `SET accuracy = off`)
		}
		if _, err := sessions[who].Exec(context.Background(), text, nil); sqlerr.CodeOf(err) == sqlerr.Internal || sqlerr.CodeOf(err) == sqlerr.Corrupt {
			t.Fatalf("%s: %v", text, err)
		}
		for _, one := range sessions {
			sameView(t, one.DB())
		}
		if is := fmt.Sprint(before.Mechanisms, before.Accounts); is != was {
			t.Errorf("a view that others may have was changed from\n%s\nto\n%s", was, is)
		}
	}
}

// TestChangesBetweenRuns changes the schema that a mechanism reads between its runs, while
// this process holds the lease and its cells. The next run is refused and not charged.
func TestChangesBetweenRuns(t *testing.T) {
	t.Parallel()
	for _, change := range []struct {
		what string
		code sqlerr.Code
		do   func(t *testing.T, s *engine.Session)
	}{
		{"the view, here", sqlerr.Invalid, func(t *testing.T, s *engine.Session) {
			fill(t, s, `DROP VIEW v`, `CREATE VIEW v AS SELECT sex, age FROM raw WHERE age > 3`)
		}},
		{"the view, elsewhere", sqlerr.Invalid, func(t *testing.T, s *engine.Session) {
			other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
			fill(t, other, `DROP VIEW v`, `CREATE VIEW v AS SELECT sex, age FROM raw WHERE age > 3`)
		}},
		{"a public table, here", sqlerr.Unsupported, func(t *testing.T, s *engine.Session) { must(t, s, `DROP PUBLIC TABLE codes`) }},
		{"a public table, elsewhere", sqlerr.Unsupported, func(t *testing.T, s *engine.Session) {
			must(t, open(t, s.DB().Store().Path(), engine.Options{}).NewSession(), `DROP PUBLIC TABLE codes`)
		}},
		{"the key of a public table, here", sqlerr.Unsupported, func(t *testing.T, s *engine.Session) { fill(t, s, `DROP INDEX by_code`) }},
		{"the key of a public table, elsewhere", sqlerr.Unsupported, func(t *testing.T, s *engine.Session) {
			fill(t, open(t, s.DB().Store().Path(), engine.Options{}).NewSession(), `DROP INDEX by_code`)
		}},
	} {
		for _, memory := range []bool{false, true} {
			t.Run(fmt.Sprint(change.what, memory), func(t *testing.T) {
				s := firingOften(t)
				must(t, s, `SET mechanism = first`)
				state := s.DB().Rows().Cache.Get(keyOfCells(firstTable(s).ID, nil))
				if state.Price = time.Hour; memory {
					state.Spent, state.Price = 1, 1
				}
				for i := range 3 {
					must(t, s, between(0, 70+i))
					must(t, s, between(0, 20+i))
				}
				if loaded := s.DB().Rows().Cache.Get(keyOfCells(firstTable(s).ID, nil)).Histogram != nil; loaded != memory {
					t.Errorf("the cells are in memory: %v", loaded)
				}
				if m := mechanism(t, s, "first"); m.RunsEnded < 2 {
					t.Fatalf("%d runs ended", m.RunsEnded)
				}
				change.do(t, s)
				before := ledger(t, s)
				if e := refusal(t, s, between(50, 77)); e.Code != change.code {
					t.Errorf("refused with %v", e)
				}
				if after := ledger(t, s); after != before {
					t.Errorf("the ledger changed to\n%s", after)
				}
			})
		}
	}
}

// TestChangesUnderAnOpenRun changes the schema that a mechanism reads while its run is
// open and no process has the file. Continuing the run charges nothing, and is refused all
// the same.
func TestChangesUnderAnOpenRun(t *testing.T) {
	t.Parallel()
	s := firingOften(t)
	path := s.DB().Store().Path()
	must(t, s, `CREATE MECHANISM calm ON t USING SMW WITH (epsilon = 20, max_updates = 9, queries = 1e6, beta = 1e-6, prior = uniform)`)
	must(t, s, `SET mechanism = calm`)
	must(t, s, `SELECT COUNT(*) FROM t WHERE sex = 'F'`) // half of the rows, as the hypothesis expects
	if mechanism(t, s, "calm").Run == nil {
		t.Fatal("the run has fired: of a million comparisons one does so once in a million times")
	}
	if err := s.DB().Close(); err != nil {
		t.Fatal(err)
	}
	other := open(t, path, engine.Options{}).NewSession()
	fill(t, other, `DROP VIEW v`, `CREATE VIEW v AS SELECT sex, age FROM raw WHERE age > 3`)
	if err := other.DB().Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, engine.Options{}).NewSession()
	must(t, again, `SET mechanism = calm`)
	before := ledger(t, again)
	refused(t, again, sqlerr.Invalid, between(50, 77))
	if m := mechanism(t, again, "calm"); m.Run == nil || ledger(t, again) != before {
		t.Error("the run did not go on as it was")
	}
}
