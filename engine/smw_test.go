package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/kind"
	"dpsql/internal/released"
	"dpsql/internal/seeds"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// TestPriorIsChargedAndKept buys a prior for three tenths of the mechanism's ρ, since the
// table has few rows. The prior has its own line in the ledger, before the mechanism's.
// The mechanism starts from it in every process, and DROP does not give it back.
func TestPriorIsChargedAndKept(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/clinic.db"
	s := clinicAt(t, path)
	must(t, s, `CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1.9, prior = classes, queries = 1e6)`)
	must(t, s, `SET mechanism = live`)
	text := ledger(t, s)
	prior, reserve := strings.Index(text, "prior of mechanism"), strings.Index(text, "reserve mechanism")
	if prior < 0 || reserve < prior {
		t.Fatalf("the prior is not charged before the mechanism:\n%s", text)
	}
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rows, m := v.Tables[0].NHat.Rho, mechanism(t, s, "live")
	bought := v.Accounts[firstTable(s).Account].Spent.Rho - rows - m.Rho
	if share := float64(bought) / float64(bought+m.Rho); math.Abs(share-0.3) > 1e-9 {
		t.Errorf("the prior cost a share of %v", share)
	}
	// In the clinic the women have odd ages. A uniform start gives 330 for each sex
	// here. The noise of the 120 counts behind the odds has deviation 90, and the test
	// does not fire at a threshold above 700.
	women, men := count(t, s, older("F", 1)), count(t, s, older("M", 1))
	t.Logf("of 1200 women and no men of those ages there are %d and %d", women, men)
	if women < men+100 {
		t.Errorf("the prior did not learn who is of odd age: %d women, %d men", women, men)
	}
	s.DB().Close()
	again := open(t, path, engine.Options{}).NewSession()
	must(t, again, `SET mechanism = live`)
	if got := count(t, again, older("M", 0)); got < count(t, again, older("F", 0))+100 {
		t.Errorf("after a restart the prior says %d of 1200 men", got)
	}
	must(t, again, `DROP MECHANISM live`)
	v, err = again.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if spent := v.Accounts[firstTable(again).Account].Spent.Rho; spent < rows+bought {
		t.Errorf("ρ = %v stays spent of the prior's %v and the rows' %v", spent, bought, rows)
	}
}

// older returns a query for a sex at the 30 ages with the given remainder modulo 2.
func older(sex string, remainder int) string {
	var ages []string
	for i := range 30 {
		ages = append(ages, fmt.Sprint(20+2*i+remainder))
	}
	return `SELECT COUNT(*) FROM admissions WHERE sex = '` + sex + `' AND age IN (` + strings.Join(ages, ", ") + `)`
}

// TestPriorChosenByPublicNumbers checks which mechanisms start from a prior by default.
func TestPriorChosenByPublicNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ columns, with, want string }{
		{"sex, age", "epsilon = 1.9, queries = 10", released.PriorOfClasses},
		{"sex, age", "epsilon = 0.05, queries = 1e6, max_support = 1", released.UniformPrior}, // too small to be off
		{"sex, age", "epsilon = 1.9, queries = 10, prior = uniform", released.UniformPrior},
		{"age, zip", "epsilon = 1.9, queries = 10", released.UniformPrior}, // infinite
		{"age", "epsilon = 1.9, queries = 10", released.UniformPrior},      // no pair of columns
	} {
		s := clinic(t)
		must(t, s, `CREATE MECHANISM live ON admissions (`+c.columns+`) USING SMW WITH (`+c.with+`)`)
		p, err := kind.ReadMechanism(new(mechanism(t, s, "live")))
		if err != nil || p.Prior != c.want {
			t.Errorf("(%s), %s: prior %q, %v; want %q", c.columns, c.with, p.Prior, err, c.want)
		}
	}
	s := clinic(t)
	before := ledger(t, s)
	for _, columns := range []string{"age, zip", "age"} {
		refused(t, s, sqlerr.Invalid, `CREATE MECHANISM live ON admissions (`+columns+`) USING SMW WITH (epsilon = 1, prior = classes)`)
	}
	refused(t, s, sqlerr.Invalid, `CREATE MECHANISM live ON admissions (age) USING SMW WITH (epsilon = 1, prior = best)`)
	if ledger(t, s) != before {
		t.Error("a refused mechanism has cost something")
	}
}

// TestPriorIsChargedBeforeItIsDrawn makes the random source fail, and then the budget. The
// first failure loses the prior's charge and creates nothing. The second costs nothing.
func TestPriorIsChargedBeforeItIsDrawn(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	const create = `CREATE MECHANISM live ON admissions (sex, age) USING SMW WITH (epsilon = 1.5, prior = classes, queries = 10)`
	must(t, s, strings.Replace(create, "live ON", "first ON", 1)) // buys N̂
	before := ledger(t, s)
	refused(t, s, sqlerr.Budget, create)
	if ledger(t, s) != before {
		t.Error("a mechanism that the budget does not allow has cost something")
	}
	must(t, s, `DROP MECHANISM first`)
	random := s.DB().Random()
	s.DB().SetRandom(func() *noise.Source { return noise.NewSourceFrom(failing{}) })
	refused(t, s, sqlerr.IO, strings.Replace(create, "1.5", "0.5", 1))
	s.DB().SetRandom(random)
	if text := ledger(t, s); strings.Count(text, "prior of mechanism") != 2 || strings.Count(text, "reserve mechanism") != 1 {
		t.Errorf("a draw was tried before it was charged, or stored after it failed:\n%s", text)
	}
	refused(t, s, sqlerr.Unknown, `DROP MECHANISM live`)
}

// TestReleaseFromPrior builds a release by SMW from a prior, inside its one charge. A
// uniform start gives 1,333 women of 2,000. The prior gives 1,970 with a deviation of 44,
// measured over 40 releases, so 1,500 and 2,500 are ten deviations away, 1e-23 by the
// normal law. The noise is the product's, so there is no seed, and the answer is logged.
func TestReleaseFromPrior(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex, age) USING SMW WITH (epsilon = 2, free_columns = 1, prior = classes)`)
	if text := ledger(t, s); strings.Contains(text, "prior") || strings.Count(text, "create release") != 1 {
		t.Errorf("the release is not one charge:\n%s", text)
	}
	r := must(t, s, `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`)
	n := r.Rows[0][0].(int64)
	t.Logf("of 2000 women there are %d ± %v", n, r.Answer.Margins[0][0])
	if n < 1500 || n > 2500 || !r.Answer.Verified {
		t.Errorf("of 2000 women there are %d, verified %v", n, r.Answer.Verified)
	}
}

// TestRemeasuredAnswer checks that an answer has the margin of its own fresh noise, at
// once and when it is used again.
func TestRemeasuredAnswer(t *testing.T) {
	t.Parallel()
	s, _ := asking(t, eager+`, remeasure = on`)
	r := must(t, s, heavy)
	m := mechanism(t, s, "live")
	p, err := kind.ReadMechanism(&m)
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.FiredLaw()
	if err != nil || l == nil {
		t.Fatalf("law %v, %v", l, err)
	}
	if len(history(t, s, "live")) != 1 {
		t.Fatal("heavy did not fire")
	}
	want := float64(law.HalfWidth(l, 0.95))
	if got := r.Answer.Margins[0][0]; got != want || p.SimultaneousBound(0.05) <= int64(want) {
		t.Errorf("margin %v, want %v, below the bound for all answers %d", got, want, p.SimultaneousBound(0.05))
	}
	if again := must(t, s, heavy); again.Answer.Margins[0][0] != want || again.Rows[0][0] != r.Rows[0][0] {
		t.Errorf("served again it is %v ± %v", again.Rows, again.Answer.Margins)
	}
	var stored []catalog.Answer
	err = s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		v, err := s.DB().View(context.Background())
		if err != nil {
			return err
		}
		q := history(t, s, "live")[0].Query
		stored, err = tx.Answers(v.Tables[0].ID, q)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range stored {
		if wanted, _ := json.Marshal(l.String()); string(a.Law) != string(wanted) {
			t.Errorf("the stored law is %s, want %s", a.Law, wanted)
		}
	}
}

// TestUsedUpMechanismIsPlannedAgain asks a mechanism of three comparisons from many
// sessions at once. Those that come too late get an answer without a margin and are not
// refused.
func TestUsedUpMechanismIsPlannedAgain(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE MECHANISM live ON admissions (age, zip) USING SMW
		WITH (epsilon = 1, max_updates = 2, max_support = 500, queries = 3)`)
	var group sync.WaitGroup
	var verified sync.Map
	for i := range 12 {
		group.Go(func() {
			own := s.DB().NewSession()
			must(t, own, `SET mechanism = live`)
			r, err := own.Exec(context.Background(), fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age = %d AND zip = '99999'`, i), nil)
			if err != nil {
				t.Errorf("query %d: %v", i, err)
			} else if r.Answer.Verified {
				verified.Store(i, true)
			}
		})
	}
	group.Wait()
	n := 0
	verified.Range(func(any, any) bool { n++; return true })
	if n > 3 || n == 0 {
		t.Errorf("%d of 3 comparisons verified an answer", n)
	}
}

// TestPriorDrawsWhatItCharges compares the stored prior with one that is learned from the
// true counts, the noise that the ledger's line pays for, K·L²/(2ρ), and the same random
// bits.
func TestPriorDrawsWhatItCharges(t *testing.T) { forEachUnit(t, priorDrawsWhatItCharges) }

func priorDrawsWhatItCharges(t *testing.T, unit int64) {
	s := clinic(t)
	fill(t, s, fmt.Sprintf(`CREATE TABLE raw_cared AS SELECT (rowid - 1) / %d AS patient, sex, age, diagnosis FROM raw_admissions`, unit))
	must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE cared (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 120, diagnosis TEXT IN (SELECT code FROM icd10))
		FROM raw_cared WITH (epsilon = 40, delta = 1e-6, interactive = 0.5, unit = patient, max_rows = %d)`, unit))
	script(t, s.DB(), 31, 32) // for N̂ and the prior
	must(t, s, `CREATE MECHANISM live ON cared (sex, age, diagnosis) USING SMW WITH (epsilon = 1, prior = classes, queries = 10)`)
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var paid accounting.Rho
	var state []byte
	err = s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		entries, err := tx.Ledger()
		for _, e := range entries {
			if e.Action == "prior of mechanism" {
				paid = e.Amount.Rho
			}
		}
		if err == nil {
			state, err = tx.MechanismState(new(mechanism(t, s, "live")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	u := v.Private("cared").Over([]int{0, 1, 2})
	tables := smw.PriorTables(u)
	raw := plain(t, s)
	for _, pair := range tables {
		a, b := u.Columns()[pair.A], u.Columns()[pair.B]
		rows, err := raw.Query(`SELECT ` + a.Name + `, ` + b.Name + ` FROM raw_admissions`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var x, y any
			if err := rows.Scan(&x, &y); err != nil {
				t.Fatal(err)
			}
			i, _ := a.Domain.Ordinal(asValue(x))
			j, _ := b.Domain.Ordinal(asValue(y))
			pair.Counts[i*b.Domain.Size()+j]++
		}
		rows.Close()
	}
	sigma2 := new(big.Rat).Quo(big.NewRat(int64(len(tables))*unit*unit, 2), paid.Rat())
	measured, err := smw.Measure(tables, sigma2, stream(32))
	if err != nil {
		t.Fatal(err)
	}
	want, err := smw.LearnClasses(u, measured, v.Private("cared").NHat.Value, coins(1))
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != 3 || !bytes.Equal(state, want.Encode()) {
		t.Errorf("the prior of %d tables is not what ρ = %v paid for", len(tables), paid)
	}
}

func asValue(x any) query.Value {
	if n, ok := x.(int64); ok {
		return query.Int(n)
	}
	return query.Text(fmt.Sprint(x))
}

// TestDrawnPriorIsKept cancels CREATE MECHANISM while it draws the prior of a table outside the file,
// whose rows are read: the mechanism has the prior that was paid for.
func TestDrawnPriorIsKept(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	random, draws := s.DB().Random(), 0
	s.DB().SetRandom(func() *noise.Source {
		if draws++; draws == 2 { // after the number of rows
			cancel()
		}
		return random()
	})
	if _, err := s.Exec(ctx, bought[3], nil); err != nil {
		t.Fatal(err)
	}
	if m := mechanism(t, s, "m"); m.RunsStarted != 0 {
		t.Errorf("%+v", m)
	}
}

// calls has 250,000 calls by hour and day, most of them in few hours.
const callRows = 250_000

func calls(t *testing.T) *engine.Session {
	t.Helper()
	return declared(t, []string{fmt.Sprintf(`CREATE TABLE raw_calls AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT i * i %% 24 AS hour, i * i * i %% 7 AS day FROM n`, callRows)},
		`CREATE PRIVATE TABLE calls (hour INTEGER BETWEEN 0 AND 23, day INTEGER BETWEEN 0 AND 6) FROM raw_calls WITH (epsilon = 400, delta = 1e-7, interactive = 0.5)`)
}

// call is a query and its true count.
type call struct {
	text string
	of   func(hour, day int64) bool
}

// far returns the error of the answer. It fails if the answer is not verified.
func (c call) far(t *testing.T, s *engine.Session, cells map[[2]int64]int64) float64 {
	t.Helper()
	r := must(t, s, c.text)
	if !r.Answer.Verified {
		t.Fatalf("%s has no error bar", c.text)
	}
	want := int64(0)
	for x, n := range cells {
		if c.of(x[0], x[1]) {
			want += n
		}
	}
	return math.Abs(float64(r.Rows[0][0].(int64) - want))
}

// callCells counts the calls by hour and day.
func callCells(t *testing.T, s *engine.Session) map[[2]int64]int64 {
	t.Helper()
	rows, err := plain(t, s).Query(`SELECT hour, day, count(*) FROM raw_calls GROUP BY hour, day`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cells := make(map[[2]int64]int64)
	for rows.Next() {
		var hour, day, n int64
		if err := rows.Scan(&hour, &day, &n); err != nil {
			t.Fatal(err)
		}
		cells[[2]int64{hour, day}] = n
	}
	return cells
}

// TestAlphaSteersMechanisms asks for three accuracies on one table, and gets three plans:
// a larger alpha has fewer runs and a larger T. Each keeps its promise for all answers,
// and has runs left. False-failure rate: β = 1e-7 each, 3e-7.
func TestAlphaSteersMechanisms(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("takes some seconds: -long")
	}
	s := calls(t)
	cells := callCells(t, s)
	alphas := []float64{0.06, 0.3, 0.55}
	lastRuns, lastWithin := int64(math.MaxInt64), int64(0)
	for i, alpha := range alphas {
		name := fmt.Sprintf("m%d", i)
		must(t, s, fmt.Sprintf(`CREATE MECHANISM %s ON calls USING SMW
			WITH (epsilon = 48, alpha = %v, queries = 100, max_support = 42, prior = uniform, beta = 1e-7)`, name, alpha))
		must(t, s, `SET mechanism = `+name)
		worst := 0.0
		for i := range int64(24) {
			worst = max(worst, call{fmt.Sprintf(`SELECT COUNT(*) FROM calls WHERE hour = %d`, i),
				func(hour, _ int64) bool { return hour == i }}.far(t, s, cells))
			worst = max(worst, call{fmt.Sprintf(`SELECT COUNT(*) FROM calls WHERE hour IN (%d, 0, 1, 9) AND day %% 2 = %d`, i, i%2),
				func(hour, day int64) bool {
					return (hour == i || hour == 0 || hour == 1 || hour == 9) && day%2 == i%2
				}}.far(t, s, cells))
		}
		m := mechanism(t, s, name)
		p, err := kind.ReadMechanism(&m)
		if err != nil {
			t.Fatal(err)
		}
		learned := len(history(t, s, name))
		t.Logf("α = %v: %d updates of %d, T = %d, x = %d, η = %.3g; the worst answer off by %.4f of the rows",
			alpha, learned, m.Updates, p.Threshold, p.Bound, p.Eta, worst/callRows)
		if worst > alpha*callRows {
			t.Errorf("α = %v: an answer is off by %v of %d rows", alpha, worst, callRows)
		}
		if within := p.Threshold + p.Bound; m.Updates >= lastRuns || within <= lastWithin || within > int64(alpha*callRows) || i == 0 && learned == 0 {
			t.Errorf("α = %v: %d runs, within %d, after %d runs, within %d", alpha, m.Updates, within, lastRuns, lastWithin)
		}
		lastRuns, lastWithin = m.Updates, p.Threshold+p.Bound
		if shown := must(t, s, `SHOW MECHANISMS`).Rows[i][9]; shown != alpha {
			t.Errorf("α = %v is shown as %v", alpha, shown)
		}
	}
}

// TestAlphaSteersReleases does the same for releases of a class, which are
// complete and good for each query of it: false-failure rate 2e-7.
func TestAlphaSteersReleases(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("takes some seconds: -long")
	}
	s := calls(t)
	cells := callCells(t, s)
	must(t, s, `SET confidence = 0.9999999`)
	last := 0.0
	for i, alpha := range []float64{0.15, 0.6} {
		name := fmt.Sprintf("r%d", i)
		must(t, s, fmt.Sprintf(`CREATE RELEASE %s ON calls USING SMW
			WITH (epsilon = 16, alpha = %v, free_columns = 1, prior = uniform, beta = 1e-7)`, name, alpha))
		must(t, s, `SET mechanism = `+name)
		worst := 0.0
		for x := range cells {
			worst = max(worst, call{fmt.Sprintf(`SELECT COUNT(*) FROM calls WHERE hour = %d`, x[0]),
				func(hour, _ int64) bool { return hour == x[0] }}.far(t, s, cells))
			worst = max(worst, call{fmt.Sprintf(`SELECT COUNT(*) FROM calls WHERE hour = %d AND day = %d`, x[0], x[1]),
				func(hour, day int64) bool { return hour == x[0] && day == x[1] }}.far(t, s, cells))
		}
		margin := must(t, s, `SELECT COUNT(*) FROM calls WHERE day = 1`).Answer.Margins[0][0].(float64)
		t.Logf("α = %v: the worst answer off by %.4f of the rows, ± %.4f", alpha, worst/callRows, margin/callRows)
		if worst > margin || margin > alpha*callRows || margin <= last {
			t.Errorf("α = %v: the worst answer off by %v of ± %v", alpha, worst, margin)
		}
		last = margin
	}
}

// TestAlphaThatIsNamedIsGranted asks for an impossible alpha, and then for the one in the
// hint: for a release, whose k depends on B, and over an infinite universe. By default it tries
// one of the four statements.
func TestAlphaThatIsNamedIsGranted(t *testing.T) {
	t.Parallel()
	s := calls(t)
	must(t, s, `CREATE PRIVATE TABLE texts (hour TEXT, day INTEGER BETWEEN 0 AND 6) FROM raw_calls WITH (epsilon = 400, delta = 1e-7, interactive = 0.5)`)
	statements := []string{
		`CREATE RELEASE r ON calls USING SMW WITH (epsilon = 4, alpha = %v, free_columns = 1, prior = uniform)`,
		`CREATE RELEASE p ON calls USING SMW WITH (epsilon = 4, alpha = %v, free_columns = 1, prior = classes)`,
		`CREATE MECHANISM m ON calls USING SMW WITH (epsilon = 4, alpha = %v, queries = 1000, max_support = 24)`,
		`CREATE MECHANISM i ON texts USING SMW WITH (epsilon = 4, alpha = %v, queries = 1000, max_support = 7)`,
	}
	if !*long {
		statements = statements[seeds.Of(t)%4:][:1]
	}
	for _, create := range statements {
		hint := refused(t, s, sqlerr.Invalid, fmt.Sprintf(create, 0.001)).Hint
		found := regexp.MustCompile(`smallest alpha that can be guaranteed is ([0-9.]+);`).FindStringSubmatch(hint)
		if found == nil {
			t.Fatalf("%s: the hint is %q", create, hint)
		}
		t.Logf("%s: %s", create, found[1])
		must(t, s, fmt.Sprintf(create, found[1]))
	}
}
