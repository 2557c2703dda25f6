package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// These tests check the wiring between the ledger and the noise. From the line of the
// ledger, and from the declared L, they compute the law that the charge pays for. They
// draw from it again, with the same random bits, and compare the answer with the true
// count and that draw. This finds a forgotten sensitivity, a cost charged at a wrong
// scale, and a draw made before its line is written.

// watch gives a database known streams of random bits. It records the number of lines of
// the ledger at each request for one.
type watch struct {
	seed  uint64
	seeds []uint64
	lines []int
	coins uint64 // the seed of the last coins
}

func watching(t *testing.T, db *engine.DB, seed uint64) *watch {
	w := &watch{seed: seed}
	db.SetRandom(func() *noise.Source {
		w.seed++
		w.seeds, w.lines = append(w.seeds, w.seed), append(w.lines, len(entries(t, db)))
		return stream(w.seed)
	})
	w.coins = seed << 32
	db.SetCoins(func() *coin.Source {
		w.coins++
		return coins(w.coins)
	})
	return w
}

// run runs a statement and returns the lines it wrote.
func (w *watch) run(t *testing.T, s *engine.Session, text string) (*engine.Result, []catalog.Entry) {
	t.Helper()
	before := len(entries(t, s.DB()))
	w.seeds, w.lines = nil, nil
	r := must(t, s, text)
	return r, entries(t, s.DB())[before:]
}

func entries(t *testing.T, db *engine.DB) (all []catalog.Entry) {
	t.Helper()
	err := db.Store().Read(context.Background(), func(tx *catalog.Tx) (err error) {
		all, err = tx.Ledger()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// appointments makes a table of 200 patients with two visits each, 40 on each of ten days.
// Units are patients, with at most that many visits counted, so all of them; for 1, units
// are visits.
func appointments(t *testing.T, unit int64) *engine.Session {
	t.Helper()
	return declared(t, []string{`CREATE TABLE raw (patient INTEGER, day INTEGER)`,
		`INSERT INTO raw SELECT i, i % 10 FROM ` + numbers(200), `INSERT INTO raw SELECT i, (i + 3) % 10 FROM ` + numbers(200)},
		`CREATE PRIVATE TABLE visits (day INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 400, delta = 1e-6`+unitsOf(unit)+`)`)
}

// unitsOf returns the options of a table whose units are patients, or nothing for 1.
func unitsOf(unit int64) string {
	if unit == 1 {
		return ""
	}
	return fmt.Sprintf(", unit = patient, max_rows = %d", unit)
}

// gaussianFor returns the discrete Gaussian law that ρ pays for, σ² = L²/(2ρ). laplaceFor
// returns the discrete Laplace law that ε pays for, of scale L/ε.
func gaussianFor(t *testing.T, rho accounting.Rho, unit int64) string {
	t.Helper()
	if rho <= 0 {
		t.Fatalf("no ρ was charged: %d", rho)
	}
	variance := new(big.Rat).Quo(big.NewRat(unit*unit, 2), rho.Rat())
	return "dgauss(" + variance.RatString() + ")"
}

func laplaceFor(t *testing.T, epsilon *big.Rat, unit int64) string {
	t.Helper()
	if epsilon.Sign() <= 0 {
		t.Fatalf("no ε was charged: %v", epsilon)
	}
	return "dlap(" + new(big.Rat).Quo(big.NewRat(unit, 1), epsilon).RatString() + ")"
}

func forEachUnit(t *testing.T, test func(t *testing.T, unit int64)) {
	for _, unit := range []int64{1, 4} {
		t.Run(fmt.Sprintf("L = %d", unit), func(t *testing.T) { test(t, unit) })
	}
}

func TestDirectAnswersDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	forEachUnit(t, func(t *testing.T, unit int64) {
		s := appointments(t, unit)
		w := watching(t, s.DB(), 3000)
		must(t, s, `SET mechanism = direct`)
		for i := range int64(20) {
			must(t, s, fmt.Sprintf(`SET accuracy = %d`, 20*unit+7*(i%3)))
			days := 1 + i/2
			r, lines := w.run(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM visits WHERE day < %d`, days))
			if len(lines) == 0 { // an earlier answer was used
				continue
			}
			if len(lines) != 1 || len(w.seeds) != 1 || w.lines[0] != len(entries(t, s.DB())) {
				t.Fatalf("%d lines, and draws after %v of %d", len(lines), w.lines, len(entries(t, s.DB())))
			}
			want := 40*days + lawDraw(t, gaussianFor(t, lines[0].Amount.Rho, unit))(w.seeds[0])
			if got := r.Rows[0][0].(int64); got != want {
				t.Errorf("answer %d, the charge %+v pays for %d", got, lines[0].Amount, want)
			}
		}
		if n := len(entries(t, s.DB())); n < 11 {
			t.Errorf("only %d lines were written", n)
		}
	})
}

// The groups of a statement are disjoint, so one charge pays for all of them. A sum of
// values up to 9 changes by at most 9L.
func TestGroupsAndSumsDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	forEachUnit(t, func(t *testing.T, unit int64) {
		s := appointments(t, unit)
		w := watching(t, s.DB(), 3500)
		must(t, s, `SET mechanism = direct`)
		must(t, s, fmt.Sprintf(`SET accuracy = %d`, 30*unit))
		r, lines := w.run(t, s, `SELECT day, COUNT(*) FROM visits GROUP BY day ORDER BY day`)
		if len(lines) != 1 || len(w.seeds) != 10 || len(r.Rows) != 10 || w.lines[0] != len(entries(t, s.DB())) {
			t.Fatalf("%d lines for %d groups, and draws after %v of %d", len(lines), len(r.Rows), w.lines, len(entries(t, s.DB())))
		}
		draw := lawDraw(t, gaussianFor(t, lines[0].Amount.Rho, unit))
		for day, row := range r.Rows {
			if got, want := row[1].(int64), 40+draw(w.seeds[day]); got != want {
				t.Errorf("day %d has %d, the charge %+v pays for %d", day, got, lines[0].Amount, want)
			}
		}
		must(t, s, fmt.Sprintf(`SET accuracy = %d`, 200*unit))
		r, lines = w.run(t, s, `SELECT SUM(day) FROM visits`)
		if len(lines) != 1 || len(w.seeds) != 1 {
			t.Fatalf("%d lines, %d draws", len(lines), len(w.seeds))
		}
		want := 40*45 + lawDraw(t, gaussianFor(t, lines[0].Amount.Rho, 9*unit))(w.seeds[0])
		if got := r.Rows[0][0]; got != want {
			t.Errorf("the sum is %v, the charge %+v pays for %d", got, lines[0].Amount, want)
		}
	})
}

// These tests build releases again from the true cells with the law that was paid for, and
// compare the bytes.
func TestReleasesDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	gaussian := func(t *testing.T, a accounting.Amount, unit int64) string {
		sigma2, err := accounting.DiscreteSigmaSquared(a.Epsilon, a.Delta, accounting.Vector{Dimensions: 64, SquaredSensitivity: 64 * unit * unit})
		if err != nil {
			t.Fatal(err)
		}
		return "dgauss(" + sigma2.RatString() + ")"
	}
	papers := func(t *testing.T, a accounting.Amount, unit int64) string {
		scale, err := projection.PaperLaplaceScale(64, a.Epsilon.Rat(), a.Delta.Rat())
		if err != nil {
			t.Fatal(err)
		}
		return laplaceFor(t, scale.Inv(scale), unit)
	}
	pure := func(t *testing.T, a accounting.Amount, unit int64) string {
		if a.Delta != 0 {
			t.Errorf("a release without δ was charged %v", a.Delta)
		}
		return laplaceFor(t, a.Epsilon.Rat(), unit)
	}
	both := func(t *testing.T, a accounting.Amount, unit int64) string {
		return laplaceFor(t, a.Epsilon.Rat(), unit)
	}
	forEachUnit(t, func(t *testing.T, unit int64) {
		s := appointments(t, unit)
		w := watching(t, s.DB(), 4000)
		for _, c := range []struct {
			with string
			law  func(*testing.T, accounting.Amount, int64) string
		}{
			{`epsilon = 0.5, transform = identity`, pure},
			{`epsilon = 3.7, transform = identity`, pure},
			{`epsilon = 0.01, transform = identity`, pure},
			{`epsilon = 40, transform = sparse, memory = '64 KiB', delta = 0`, pure}, // buys N̂, to choose by
			{`epsilon = 0.5, transform = sparse, rows = 64, delta = 0`, pure},
			{`epsilon = 2.5, transform = sparse, rows = 4, delta = 0`, pure},
			{`epsilon = 0.123456789012345, transform = sparse, rows = 100, max_support = 64, delta = 0`, pure},
			{`epsilon = 3, transform = sparse, rows = 64, delta = 1e-8, heavy = clip, clip = 2`, both},
			{`epsilon = 2, transform = dense, rows = 64, delta = 1e-8`, gaussian},
			{`epsilon = 0.9, transform = dense, rows = 64, delta = 3e-8, noise = laplace`, papers},
			{`epsilon = 0.25, transform = dense, rows = 64, delta = 1e-9, noise = gaussian`, gaussian},
		} {
			_, lines := w.run(t, s, `CREATE RELEASE r ON visits USING PROJECTION WITH (`+c.with+`)`)
			if lines[0].Action == "number of rows" {
				numberOfRows(t, s, laplaceFor(t, lines[0].Amount.Epsilon.Rat(), unit), w.seeds[0])
				lines, w.seeds, w.lines = lines[1:], w.seeds[1:], w.lines[1:]
			}
			if len(lines) != 1 || len(w.seeds) != 1 || w.lines[0] != len(entries(t, s.DB())) {
				t.Fatalf("%s: %d lines, and draws after %v of %d", c.with, len(lines), w.lines, len(entries(t, s.DB())))
			}
			rebuilt(t, s, c.law(t, lines[0].Amount, unit), w.seeds[0], w.coins, unit, lines[0].Amount.Delta)
			must(t, s, `DROP RELEASE r`)
		}
	})
}

// rebuilt compares the release r with the one that a law and a stream of random bits give
// for the true cells. Heavy cells that a unit causes may be published with probability δ.
func rebuilt(t *testing.T, s *engine.Session, paid string, seed, matrix uint64, unit int64, delta accounting.Delta) {
	t.Helper()
	u, stored := storedRelease(t, s)
	r, err := projection.Unmarshal(u, stored)
	if err != nil {
		t.Fatal(err)
	}
	p := r.Params()
	if got := p.Law.String(); got != paid {
		t.Errorf("the release draws from %s, and %s was paid for", got, paid)
	}
	if p.Law, err = law.Parse(paid); err != nil {
		t.Fatal(err)
	}
	if few := float64(unit) * p.Law.Tail(p.Heavy.Threshold-unit); p.Heavy.Form == projection.Clipped && few > delta.Float() {
		t.Errorf("a unit's cells are published with probability %g, and %v was paid for", few, delta)
	}
	b, err := projection.NewBuilder(u, p, coins(matrix))
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Build(func(yield func(query.Element, int64) bool) {
		for e := range b.Coder().Elements(query.All(u)) {
			if !yield(e, 40) {
				return
			}
		}
	}, stream(seed))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := again.MarshalBinary(); err != nil || !bytes.Equal(data, stored) {
		t.Errorf("%s: the release is not ten cells of 40 rows with the noise that was paid for (%v)", paid, err)
	}
}

// TestMarginalsDrawWhatTheyCharge builds releases of marginals again, from the true cells with
// the law that was paid for, and compares the bytes.
func TestMarginalsDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	forEachUnit(t, func(t *testing.T, unit int64) {
		s := declared(t, []string{`CREATE TABLE raw (patient INTEGER, day INTEGER, ward INTEGER, sex INTEGER)`,
			`INSERT INTO raw SELECT i / 4, i % 3, i % 5, i % 2 FROM ` + numbers(400)}, // 1 to 400
			`CREATE PRIVATE TABLE visits (day INTEGER BETWEEN 0 AND 2, ward INTEGER BETWEEN 0 AND 4, sex INTEGER BETWEEN 0 AND 1)
				FROM raw WITH (epsilon = 400, delta = 1e-6`+unitsOf(unit)+`)`)
		w := watching(t, s.DB(), 4500)
		for _, c := range []struct {
			with           string
			cells, squared int64 // of all marginals together, and the square of what one row changes
		}{
			{`epsilon = 0.5, delta = 1e-8, degree = 1`, 10, 3},
			{`epsilon = 2, delta = 1e-8, degree = 2`, 31, 3},
			{`epsilon = 2, delta = 1e-8, degree = 2, max_cells = 6`, 11, 2}, // sex and day, and ward
			{`epsilon = 0.1, delta = 1e-9, degree = 3`, 30, 1},
		} {
			_, lines := w.run(t, s, `CREATE RELEASE r ON visits USING MARGINALS WITH (estimate = unbiased, `+c.with+`)`)
			if len(lines) != 1 || len(w.seeds) != 1 || w.lines[0] != len(entries(t, s.DB())) {
				t.Fatalf("%s: %d lines, and draws after %v of %d", c.with, len(lines), w.lines, len(entries(t, s.DB())))
			}
			sigma2, err := accounting.DiscreteSigmaSquared(lines[0].Amount.Epsilon, lines[0].Amount.Delta,
				accounting.Vector{Dimensions: c.cells, SquaredSensitivity: c.squared * unit * unit})
			if err != nil {
				t.Fatal(err)
			}
			u, payload := storedRelease(t, s)
			r, err := marginals.Unmarshal(u, payload)
			if err != nil {
				t.Fatal(err)
			}
			p := r.Params()
			if got, want := p.Law.String(), "dgauss("+sigma2.RatString()+")"; got != want {
				t.Errorf("%s: the release draws from %s, and %s was paid for", c.with, got, want)
			}
			if p.Law, err = law.NewGaussian(sigma2); err != nil {
				t.Fatal(err)
			}
			digits := make([]int, 3)
			m, err := marginals.Measure(t.Context(), u, p, func(yield func(query.Element, int64) bool) {
				coder := query.NewWideCoder(u)
				for e := range coder.Elements(query.All(u)) {
					if u.Digits(e, digits); !yield(e, trueVisits(digits)) {
						return
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			again, err := m.Perturb(stream(w.seeds[0]))
			if err == nil {
				err = again.Fit(t.Context(), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			if data, err := again.MarshalBinary(); err != nil || !bytes.Equal(data, payload) {
				t.Errorf("%s: the release is not the true marginals with the noise that was paid for (%v)", c.with, err)
			}
			must(t, s, `DROP RELEASE r`)
		}
	})
}

// trueVisits returns the number of i from 1 to 400 with i % 3, i % 5 and i % 2 as given.
func trueVisits(digits []int) (n int64) {
	for i := 1; i <= 400; i++ {
		if i%3 == digits[0] && i%5 == digits[1] && i%2 == digits[2] {
			n++
		}
	}
	return n
}

// storedRelease returns the stored bytes of the release r, and the universe of the table visits.
func storedRelease(t *testing.T, s *engine.Session) (*query.Universe, []byte) {
	t.Helper()
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	table, err := v.Table("visits", 0)
	if err != nil {
		t.Fatal(err)
	}
	var payload []byte
	err = s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) (err error) {
		payload, err = tx.ReleasePayload(v.Release("r"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return table.Universe, payload
}

// runsCost fails unless B runs of ε₁ + ε₂ each, which are B(ε₁+ε₂)²/2-zCDP, cost at most ρ
// and use most of it.
func runsCost(t *testing.T, p smw.Params, rho accounting.Rho) {
	t.Helper()
	each := new(big.Rat).Add(p.Eps1, p.Eps2)
	if p.Eps3 != nil {
		each.Add(each, p.Eps3)
	}
	cost := each.Mul(each, each).Mul(each, big.NewRat(p.Updates, 2))
	if cost.Cmp(rho.Rat()) > 0 {
		t.Errorf("%d runs cost ρ = %s, and %v was charged", p.Updates, cost.FloatString(9), rho)
	}
	if cost.Mul(cost, big.NewRat(2, 1)).Cmp(rho.Rat()) < 0 {
		t.Errorf("%d runs cost less than half of the ρ = %v that was charged", p.Updates, rho)
	}
}

func TestMechanismsDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	forEachUnit(t, func(t *testing.T, unit int64) {
		for seed := uint64(5001); seed < 5001+uint64(sized(0, 3, 6)); seed++ { // three have all that differs
			s := appointments(t, unit)
			w := watching(t, s.DB(), 100*seed)
			of := []string{`remeasure = off`, `remeasure = on`, `remeasure = on, max_weight = 9`}[seed%3]
			_, lines := w.run(t, s, fmt.Sprintf(`CREATE MECHANISM live ON visits USING SMW
				WITH (epsilon = %d, max_updates = 3, queries = 30, beta = 0.5, %s)`, 4*unit*(1+8*int64(seed%3/2)), of))
			if len(lines) < 2 || w.lines[0] != 2 || lines[0].Action != "number of rows" {
				t.Fatalf("lines %+v, draws after %v", lines, w.lines)
			}
			numberOfRows(t, s, gaussianFor(t, lines[0].Amount.Rho, unit), w.seeds[0])
			p, err := kind.ReadMechanism(new(mechanism(t, s, "live")))
			if err != nil {
				t.Fatal(err)
			}
			runsCost(t, p.Params, lines[len(lines)-1].Amount.Rho)
			fires(t, s, w, p.Params, unit)
		}
	})
}

// numberOfRows compares N̂ with the true number of rows and the draw that was paid for.
func numberOfRows(t *testing.T, s *engine.Session, law string, seed uint64) {
	t.Helper()
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if n, want := v.Tables[0].NHat, max(1, 400+lawDraw(t, law)(seed)); n == nil || n.Value != want || n.Law != law {
		t.Errorf("N̂ is %+v, and %d by %s was paid for", n, want, law)
	}
}

// fires asks the mechanism for the rows of a day, and it fires from above. It compares what is
// learned with draws of the scales L·W/ε₁ and 2L·W/ε₂ or, where the count is taken anew, with
// the next one, of the scale L·W/ε₃. A mechanism of weights up to W compares W times the count.
func fires(t *testing.T, s *engine.Session, w *watch, p smw.Params, unit int64) {
	t.Helper()
	must(t, s, `SET mechanism = live`)
	fill(t, s, `INSERT INTO raw SELECT 1000 + i, 5 FROM `+numbers(4000)) // far above the hypothesis
	_, lines := w.run(t, s, `SELECT COUNT(*) FROM visits WHERE day = 5`)
	if len(lines) != 2 || lines[1].Action != "run 1 of 3 ended: it fired" || len(w.seeds) != 2 || w.lines[0] != len(entries(t, s.DB()))-1 {
		t.Fatalf("lines %+v, draws after %v", lines, w.lines)
	}
	learned := history(t, s, "live")
	if len(learned) != 1 {
		t.Fatalf("%d firings", len(learned))
	}
	unit *= p.MaxWeight
	tau := lawDraw(t, laplaceFor(t, p.Eps1, unit))(w.seeds[0])
	src := stream(w.seeds[1])
	next := func(epsilon *big.Rat) int64 {
		law, err := law.Parse(laplaceFor(t, epsilon, unit))
		if err != nil {
			t.Fatal(err)
		}
		draw, err := noise.Draw(law, src)
		if err != nil {
			t.Fatal(err)
		}
		return draw
	}
	nu := next(new(big.Rat).Quo(p.Eps2, big.NewRat(2, 1)))
	want := 4040*p.MaxWeight + nu - tau
	if p.Eps3 != nil {
		want = 4040*p.MaxWeight + next(p.Eps3)
	}
	if got := learned[0].Noisy; got != want {
		t.Errorf("W = %d: the firing gave %d, and %d with the noise that was paid for (τ = %d, ν = %d)", p.MaxWeight, got, want, tau, nu)
	}
}

func TestHypothesesDrawWhatTheyCharge(t *testing.T) {
	t.Parallel()
	forEachUnit(t, func(t *testing.T, unit int64) {
		s := appointments(t, unit)
		w := watching(t, s.DB(), 7000)
		_, lines := w.run(t, s, `CREATE RELEASE r ON visits USING SMW WITH (epsilon = 20, delta = 1e-8, free_columns = 1, max_updates = 2)`)
		if len(lines) != 3 || lines[2].Amount != (accounting.Amount{}) || len(w.lines) != 2 || w.lines[0] != 2 || w.lines[1] != 3 {
			t.Fatalf("lines %+v, draws after %v", lines, w.lines)
		}
		numberOfRows(t, s, laplaceFor(t, lines[0].Amount.Epsilon.Rat(), unit), w.seeds[0])
		v, err := s.DB().View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var published released.HypothesisPayload
		err = s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
			payload, err := tx.ReleasePayload(v.Release("r"))
			if err != nil {
				return err
			}
			return published.Open(payload)
		})
		if err != nil {
			t.Fatal(err)
		}
		runsCost(t, published.Params.Params, accounting.RhoFor(lines[1].Amount.Epsilon, lines[1].Amount.Delta))
		if published.Params.Sensitivity != unit {
			t.Errorf("the runs are made for units of %d rows", published.Params.Sensitivity)
		}
	})
}

// bought are statements that charge and then read rows, each in a new database.
var bought = []string{
	`CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.5)`,
	`CREATE RELEASE r ON admissions (age, zip) USING PROJECTION WITH (epsilon = 0.5, delta = 1e-8, max_support = 64, memory = '64 KiB')`,
	`CREATE RELEASE r ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 0.4, max_updates = 3, free_columns = 1)`,
	`CREATE MECHANISM m ON admissions (sex, diagnosis) USING SMW WITH (epsilon = 1, max_updates = 4, prior = classes)`,
	`SELECT COUNT(*) FROM admissions WHERE age = 3`,
	`SELECT sex, COUNT(*) FROM admissions GROUP BY sex`,
	`CREATE PUBLIC TABLE found AS SELECT DISTINCT zip FROM admissions WITH (epsilon = 0.5, delta = 1e-8)`,
}

// interruptible are statements that read for long, those of bought and one that reads two tables.
var interruptible = append(slices.Clone(bought),
	`SELECT a.n + b.n FROM (SELECT COUNT(*) AS n FROM admissions WHERE age = 3) a, (SELECT COUNT(*) AS n FROM other WHERE age = 5) b`)

// buys makes a clinic outside in which each of interruptible can be bought once.
func buys(t *testing.T, f *far) *engine.Session {
	t.Helper()
	s := outsideClinic(t, f)
	must(t, s, `CREATE PRIVATE TABLE other (age INTEGER BETWEEN 0 AND 120) FROM warehouse.public.raw_admissions WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
	must(t, s, `SET accuracy = 200`)
	return s
}

// TestCancelledStatementsTellTheBill cancels statements at each of their reads in turn,
// and before the first. The error gives the charges of the ledger, and says whether their
// result is there.
func TestCancelledStatementsTellTheBill(t *testing.T) {
	t.Parallel()
	for _, text := range interruptible {
		for at := 0; ; at += sized(0, 7, 1) {
			f := newFar(t)
			s := buys(t, f)
			before := lines(t, s)
			ctx, cancel := context.WithCancel(context.Background())
			if at == 0 {
				cancel()
			}
			reads := 0
			f.wait = func(reading context.Context) error {
				if reads++; reads == at {
					cancel()
					<-reading.Done()
				}
				return reading.Err()
			}
			_, err := s.Exec(ctx, text, nil)
			cancel()
			if err == nil {
				if at < 2 {
					t.Errorf("%s: it was not cancelled", text)
				}
				break
			}
			e := err.(*sqlerr.Error)
			if want := cancelledBill(t, s, before); e.Code != sqlerr.Cancelled || e.Message != want {
				t.Errorf("%s, cancelled at read %d: got %v, want %s", text, at, err, want)
			}
			if waits := strings.Contains(e.Message, "waits"); waits != (e.Hint == "the same statement goes on, and costs nothing") {
				t.Errorf("%s: %s has the hint %q", text, e.Message, e.Hint)
			}
		}
	}
}

// cancelledBill returns what the error of a cancelled statement must say about the
// ledger's new lines. Only the number of rows may have been stored, and what does not wait.
func cancelledBill(t *testing.T, s *engine.Session, before int) string {
	t.Helper()
	bill := "the statement was cancelled"
	var idle, told accounting.Amount
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		entries, err := tx.Ledger()
		if err != nil {
			return err
		}
		table, err := tx.Table("admissions")
		if err != nil {
			return err
		}
		waits := make(map[int64]bool)
		for _, e := range entries[before:] {
			line, _ := catalog.Waits(e)
			waits[line] = true
		}
		for i, e := range entries[before:] {
			switch {
			case waits[int64(before+i+1)]:
				idle, _ = idle.Add(e.Amount)
			case e.Action == "number of rows" && table.NHat != nil:
				bill += "; " + view.Amount(e.Amount) + " was charged for the number of rows, which is kept"
			default:
				told, _ = told.Add(e.Amount)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if (idle != accounting.Amount{}) {
		bill += "; " + view.Amount(idle) + " was charged for it and waits, for nothing was drawn"
	}
	if (told != accounting.Amount{}) {
		bill += "; " + view.Amount(told) + " was charged for private answers, which are stored"
	}
	if bill == "the statement was cancelled" {
		bill += "; nothing was charged"
	}
	return bill
}

// TestPaidStatementsAreFinished cancels statements after all their rows are read. The rest
// takes too little time to waste a budget on, so they finish. Without -long every second is cancelled.
func TestPaidStatementsAreFinished(t *testing.T) {
	t.Parallel()
	for _, text := range some(t, 2, bought) {
		t.Run(text, func(t *testing.T) {
			s := clinic(t)
			must(t, s, `SET accuracy = 200`)
			must(t, s, `CREATE RELEASE first ON admissions (diagnosis) USING PROJECTION WITH (epsilon = 0.1, transform = sparse, rows = 64)`) // has N̂
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			began := lines(t, s)
			switch {
			case strings.Contains(text, "PROJECTION"):
				s.SetProgress(func(done, all int64) {
					if done == all-200 { // of the last two steps
						cancel()
					}
				})
			default:
				random := s.DB().Random()
				s.DB().SetRandom(func() *noise.Source {
					if !strings.Contains(text, "RELEASE") {
						cancel() // the draw comes after the rows
					}
					return random()
				})
			}
			if _, err := s.Exec(ctx, text, nil); err != nil {
				t.Error(err)
			}
			if n := lines(t, s) - began; n == 0 {
				t.Error("nothing was charged")
			}
		})
	}
}

// TestSumsAreCancelled: to multiply a dense matrix, or to add cells to many marginals, takes long and draws nothing. So a statement
// that is cancelled when all rows are read leaves a charge that waits, and costs nothing when it is asked again.
func TestSumsAreCancelled(t *testing.T) {
	t.Parallel()
	for _, with := range []string{`PROJECTION WITH (transform = dense, rows = 64,`, `MARGINALS WITH (degree = 1,`} {
		s, text := clinic(t), `CREATE RELEASE d ON admissions (sex, age) USING `+with+` epsilon = 0.1, delta = 1e-8)`
		ctx, cancel := context.WithCancel(t.Context())
		s.SetProgress(func(done, all int64) {
			if done == 100 { // of the first step
				cancel()
			}
		})
		_, err := s.Exec(ctx, text, nil)
		if e, ok := err.(*sqlerr.Error); !ok || e.Code != sqlerr.Cancelled || e.Message != "the statement was cancelled; ε 0.1, δ 1e-8 was charged for it and waits, for nothing was drawn" {
			t.Fatalf("%s: got %v", text, err)
		}
		s.SetProgress(nil)
		must(t, s, text)
		if all := ledger(t, s); strings.Count(all, "create release") != 1 {
			t.Errorf("%s was charged again:\n%s", text, all)
		}
	}
}

// TestFailuresTellTheBill makes the server fail at the read that was paid for.
func TestFailuresTellTheBill(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	s := outsideClinic(t, f)
	must(t, s, `SET accuracy = 200`)
	f.wait = func(context.Context) error {
		return sqlerr.New(sqlerr.IO, "the server is away").WithHint("look for it")
	}
	_, err := s.Exec(context.Background(), bought[4], nil)
	e, ok := err.(*sqlerr.Error)
	if want := "the server is away; ρ 4.8e-05 was charged for it and waits, for nothing was drawn"; !ok || e.Message != want || e.Hint != "look for it" {
		t.Errorf("got %v, %v, want %s", err, fmt.Sprint(e.Hint), want)
	}
}
