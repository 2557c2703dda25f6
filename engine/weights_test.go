package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/internal/released"
	"dpsql/noise"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// The weights of towns, in steps of 0.05, and costs of both signs.
const riskRows = `INSERT INTO risks VALUES ('Ash', 0.1, 1.5), ('Elm', 0.35, -0.5), ('Oak', 1, 4), ('Yew', 0.8, -1)`

// weighted makes a table of 9,000 rows in four towns, and a public table of weights. It
// copies the file, and adds one row of the town to the copy unless the town is "".
func weighted(t testing.TB, more string) *engine.Session {
	t.Helper()
	raw := []string{`CREATE TABLE raw (town TEXT, age INTEGER)`, `CREATE TABLE risks (name TEXT, weight REAL, cost REAL)`, riskRows,
		`INSERT INTO raw SELECT substr('AshElmElmYew', 1 + 3 * (i % 4), 3), i % 10 FROM ` + numbers(9000)}
	s := declared(t, raw,
		`CREATE PUBLIC TABLE risks (name TEXT, weight REAL BETWEEN 0 AND 1 STEP 0.05, cost REAL BETWEEN -1 AND 4 STEP 0.5)`,
		`CREATE PRIVATE TABLE visits (town TEXT IN ('Ash', 'Elm', 'Oak', 'Yew', 'Fir'), age INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 40, delta = 1e-6)`)
	if more != "" {
		fill(t, s, `INSERT INTO raw VALUES ('`+more+`', 3)`)
	}
	return s
}

const sumOfWeights = `SELECT SUM(weight) FROM visits JOIN risks ON town = name`

// TestChargeCoversAnyRow buys a sum of weights on two databases that differ in one row,
// with the same random bits. The answers then differ by the change that the row makes to
// the sum. A sum that changes by Δ, with the Gaussian noise that was drawn, is
// Δ²/(2σ²)-zCDP. The ledger must have at least that for every possible row, and no more
// than that for the row with the largest weight. Nothing is random.
func TestChargeCoversAnyRow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ statement, step string }{{sumOfWeights, "1/20"}, {`SELECT SUM(cost) FROM visits JOIN risks ON town = name`, "1/2"},
		{`SELECT SUM(weight) FROM visits JOIN risks ON town = name WHERE town <> 'Oak'`, "1/20"}} {
		answer := func(more string) (value, rho float64, laws []*big.Rat) {
			s := weighted(t, more)
			fixed(s.DB(), 7)
			must(t, s, `SET accuracy = 30`)
			r := must(t, s, c.statement)
			v, err := s.DB().View(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, sum := range strings.Split(strings.TrimSpace(answersOf(t, s)), "\n") {
				variance, ok := new(big.Rat).SetString(strings.TrimSuffix(strings.TrimPrefix(sum, `"dgauss(`), `)"`))
				if !ok {
					t.Fatalf("the law is %s", sum)
				}
				laws = append(laws, variance)
			}
			return r.Rows[0][0].(float64), v.Accounts[v.Tables[0].Account].Spent.Rho.Float(), laws
		}
		base, rho, variances := answer("")
		unit, _ := new(big.Rat).SetString(c.step)
		step, _ := unit.Float64()
		largest := 0.0
		for _, town := range []string{"Ash", "Elm", "Oak", "Yew", "Fir"} {
			value, _, _ := answer(town)
			change := math.Abs(value-base) / step
			// A row changes one of the parts of a sum. The charge must cover
			// the most expensive.
			least := math.Inf(1)
			for _, v := range variances {
				f, _ := v.Float64()
				least = min(least, f)
			}
			loss := change * change / 2 / least
			largest = max(largest, loss)
			if loss > rho*(1+1e-9) {
				t.Errorf("%s: a row of %s changes the answer by %.3f steps, which is %.3g-zCDP; charged was %.3g", c.statement, town, change, loss, rho)
			}
		}
		if len(variances) == 1 && largest < rho*0.999 {
			t.Errorf("%s: no row is worth more than %.3g, and charged was %.3g", c.statement, largest, rho)
		}
	}
}

// TestChargeCoversAnyGroup buys numbers of groups whose weights differ, on databases that
// differ in one row, with the same random bits: whichever group the row is in and whatever its
// value, Σ Δ²/(2σ²) over all that is stored is at most the charge, and for one row it is most of
// it. Nothing is random.
func TestChargeCoversAnyGroup(t *testing.T) {
	t.Parallel()
	statements := []string{
		`SELECT v / 50, SUM(v) FROM t GROUP BY 1`,
		`SELECT v / 20, SUM(-v) FROM t GROUP BY 1`,
		`SELECT v / 50, SUM(v) FROM t WHERE v < 5 GROUP BY 1`,
		`SELECT v / 30, TOTAL(v), COUNT(*) FROM t GROUP BY 1`,
		`SELECT v / 40, AVG(v) FROM t GROUP BY 1`,
		`SELECT v / 45, VARIANCE(v) FROM t GROUP BY 1`,
		`SELECT v % 3, COVAR_POP(v, w) FROM t GROUP BY 1`,
		`SELECT v / 50, MEDIAN(w) FROM t GROUP BY 1`,
		`SELECT w, SUM(CASE WHEN v < 0 THEN -v * w ELSE 1 END) FROM t GROUP BY 1`,
		`SELECT SUM(v), (SELECT SUM(w) FROM t) FROM t`,
	}
	type stored struct {
		estimate, variance float64
		noisy              []int64
	}
	run := func(more string) (all [][]stored, charged []float64) {
		s := declared(t, []string{`CREATE TABLE raw (v INTEGER, w INTEGER)`, `INSERT INTO raw SELECT i % 111 - 100, i % 3 FROM ` + numbers(300)},
			`CREATE PRIVATE TABLE t (v INTEGER BETWEEN -100 AND 10, w INTEGER BETWEEN 0 AND 2) FROM raw WITH (epsilon = 400, delta = 1e-6)`)
		if more != "" {
			fill(t, s, `INSERT INTO raw VALUES (`+more+`)`)
		}
		must(t, s, `SET mechanism = direct`)
		must(t, s, `SET accuracy = 500`)
		fixed(s.DB(), 7)
		last := int64(0)
		for _, text := range statements {
			before := len(entries(t, s.DB()))
			must(t, s, text)
			rho := 0.0
			for _, line := range entries(t, s.DB())[before:] {
				rho += line.Amount.Rho.Float()
			}
			charged = append(charged, rho)
			var bought []stored
			err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
				rows, err := tx.SQL().QueryContext(context.Background(), `SELECT id, estimate, law FROM dpsql_answers WHERE id > ? ORDER BY id`, last)
				if err != nil {
					return err
				}
				defer rows.Close()
				for rows.Next() {
					var estimate int64
					var law string
					if err := rows.Scan(&last, &estimate, &law); err != nil {
						return err
					}
					var m struct {
						Law   string
						Noisy []int64
					}
					if json.Unmarshal([]byte(law), &m) != nil {
						m.Law = strings.Trim(law, `"`)
					}
					variance, ok := new(big.Rat).SetString(strings.TrimSuffix(strings.TrimPrefix(m.Law, "dgauss("), ")"))
					if !ok {
						t.Fatalf("%s: the law is %s", text, law)
					}
					f, _ := variance.Float64()
					bought = append(bought, stored{float64(estimate), f, m.Noisy})
				}
				return rows.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, bought)
		}
		return all, charged
	}
	base, charged := run("")
	largest := make([]float64, len(statements))
	rows := []string{"-100, 2", "-99, 2", "4, 2", "10, 2"} // for each statement one that is worth much
	if *long {
		rows = append(rows, "-100, 0", "-51, 1", "-50, 2", "-49, 2", "-1, 2", "0, 2", "1, 0", "9, 2", "10, 0")
	}
	for _, more := range rows {
		changed, _ := run(more)
		for i, text := range statements {
			if len(changed[i]) != len(base[i]) || len(base[i]) == 0 {
				t.Fatalf("%s: %d and %d numbers are stored", text, len(base[i]), len(changed[i]))
			}
			loss := 0.0
			for n, a := range base[i] {
				b := changed[i][n]
				if len(a.noisy) == 0 {
					loss += (a.estimate - b.estimate) * (a.estimate - b.estimate) / 2 / a.variance
				}
				for k := range a.noisy {
					loss += math.Pow(float64(a.noisy[k]-b.noisy[k]), 2) / 2 / a.variance
				}
			}
			largest[i] = max(largest[i], loss)
			if loss > charged[i]*(1+1e-9) {
				t.Errorf("%s: a row (%s) changes what is stored by %.3g-zCDP; charged was %.3g", text, more, loss, charged[i])
			}
		}
	}
	for i, text := range statements {
		if largest[i] < charged[i]/2 {
			t.Errorf("%s: no row is worth more than %.3g, and charged was %.3g", text, largest[i], charged[i])
		}
	}
}

// TestChangedWeights changes a public table after its declaration. Every join checks the
// declared values of its REAL columns, and the charge follows the present weights. Only
// the noise is random.
func TestChangedWeights(t *testing.T) {
	t.Parallel()
	s := weighted(t, "")
	must(t, s, `SET accuracy = 30`)
	rho := func() float64 {
		v, err := s.DB().View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return v.Accounts[v.Tables[0].Account].Spent.Rho.Float()
	}
	price := func() float64 { before := rho(); must(t, s, sumOfWeights); return rho() - before }
	heavy := price()
	fill(t, s, `UPDATE risks SET weight = 0.9 WHERE name = 'Oak'`)
	if lighter := price(); math.Abs(lighter-heavy*0.81) > heavy*0.01 {
		t.Errorf("a largest weight of 0.9 costs %g, and one of 1 %g", lighter, heavy)
	}
	before := rho()
	for _, change := range []string{`UPDATE risks SET weight = 1.05 WHERE name = 'Oak'`, `UPDATE risks SET weight = -0.05 WHERE name = 'Oak'`,
		`UPDATE risks SET weight = 0.333 WHERE name = 'Oak'`, `UPDATE risks SET weight = NULL WHERE name = 'Oak'`,
		`UPDATE risks SET weight = 'much' WHERE name = 'Oak'`, `ALTER TABLE risks RENAME COLUMN weight TO burden`} {
		fill(t, s, change)
		refused(t, s, sqlerr.Invalid, sumOfWeights)
	}
	if rho() != before {
		t.Error("a refused statement was charged")
	}
}

// answersOf lists the laws of the stored answers.
func answersOf(t *testing.T, s *engine.Session) (laws string) {
	t.Helper()
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		return tx.SQL().QueryRowContext(context.Background(), `SELECT group_concat(law, char(10)) FROM dpsql_answers`).Scan(&laws)
	})
	if err != nil {
		t.Fatal(err)
	}
	return laws
}

// mostMisses is how often of a number of draws the truth may be outside a margin that holds with
// probability 0.9. More misses have probability 5·10⁻⁷, by the exact binomial law. Of 10,000 draws that
// is 1,150: a margin of Gaussian noise that is a tenth too narrow misses 1,388 times.
func mostMisses(draws int) int {
	n := draws / 10
	for (distuv.Binomial{N: float64(draws), P: 0.1}).CDF(float64(n)) < 1-5e-7 {
		n++
	}
	return n
}

// fewestMisses is how often the truth must be outside, or the margin is too wide. Fewer
// misses have that probability if the margin misses with probability 0.07, as rounding can
// make it.
func fewestMisses(draws int) int {
	n := 0
	for (distuv.Binomial{N: float64(draws), P: 0.07}).CDF(float64(n)) < 5e-7 {
		n++
	}
	return n
}

// plannedAt returns a planned statement at a confidence of 0.9.
func plannedAt(t *testing.T, s *engine.Session, text string) *answer.Statement {
	t.Helper()
	must(t, s, `SET confidence = 0.9`)
	parsed, err := syntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Plan(context.Background(), parsed.(*syntax.Select), nil, answer.Planning{})
	if err == nil {
		err = st.Choose()
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestDirectMarginsOfWeights draws direct answers to sums of weights. The
// false-failure rate of each case is below 10⁻⁶, see mostMisses and fewestMisses.
func TestDirectMarginsOfWeights(t *testing.T) {
	t.Parallel()
	draws := sized(0, 1000, 10_000)
	for _, c := range []struct {
		column string
		truth  float64
		one    bool // the margin is of one answer, and not of two together
	}{{"weight", 0.1*2250 + 0.35*4500 + 0.8*2250, true}, {"cost", 1.5*2250 - 0.5*4500 - 2250, false}} {
		s := weighted(t, "")
		must(t, s, `SET accuracy = 20`)
		st := plannedAt(t, s, strings.Replace(sumOfWeights, "weight", c.column, 1))
		purchases, src := st.Purchases(), noise.NewSource()
		counts := make([]int64, len(st.Asks))
		for i := range counts {
			n, err := countNow(s.DB(), st.Asks[i].Request, nil, st.Asks[i].Query)
			if err != nil {
				t.Fatal(err)
			}
			counts[i] = n
		}
		n := 0
		answers := make([]released.Estimate, len(st.Asks))
		for range draws {
			for _, p := range purchases {
				for _, i := range p.Asks {
					answers[i] = drawn(t, st, p, i, counts[i], src)
				}
			}
			r := st.Joint(answers).Result()
			if margin := r.Answer.Margins[0][0].(float64); math.Abs(r.Rows[0][0].(float64)-c.truth) > margin*(1+1e-12) {
				n++
			}
		}
		t.Logf("%s: the truth is outside %d times of %d", c.column, n, draws)
		if n > mostMisses(draws) {
			t.Errorf("%s: the truth is outside %d times of %d, and the limit is %d", c.column, n, draws, mostMisses(draws))
		}
		if c.one && n < fewestMisses(draws) {
			t.Errorf("%s: the truth is outside only %d times", c.column, n)
		}
	}
}

// drawn is a direct answer to one of the queries of a purchase.
func drawn(t *testing.T, st *answer.Statement, p answer.Purchase, ask int, count int64, src *noise.Source) released.Estimate {
	t.Helper()
	value, err := p.Price.Answer(count, src)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Price.Stored(st.Asks[ask].Request, value)
	if err != nil {
		t.Fatal(err)
	}
	margin, err := st.Database.Margin(a.Kind, a.Law, st.Asks[ask].Settings.Confidence)
	if err != nil {
		t.Fatal(err)
	}
	return st.Database.Estimate(a, margin)
}

// TestReleaseMarginsOfWeights asks releases for sums of weights in 1,000 groups, or 10,000 with -long, each
// with its own noise. The false-failure rate of each case is below 10⁻⁶, see mostMisses
// and fewestMisses. The groups of a sketch are not independent, but two share a bucket
// only once in thousands of times.
func TestReleaseMarginsOfWeights(t *testing.T) {
	t.Parallel()
	draws := sized(0, 1000, 10_000)
	s := open(t, filepath.Join(t.TempDir(), "weighted.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (town TEXT, k INTEGER)`, `CREATE TABLE risks (name TEXT, weight REAL, cost REAL)`, riskRows,
		fmt.Sprintf(`INSERT INTO raw SELECT substr('AshElmElmYewFir', 1 + 3 * (i %% 5), 3), (i * 7919) %% %d FROM %s`, draws, numbers(draws*5/2)))
	must(t, s, `CREATE PUBLIC TABLE risks (name TEXT, weight REAL BETWEEN 0 AND 1 STEP 0.05, cost REAL BETWEEN -1 AND 4 STEP 0.5)`)
	must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE visits (town TEXT IN ('Ash', 'Elm', 'Oak', 'Yew', 'Fir'), k INTEGER BETWEEN 0 AND %d) FROM raw WITH (epsilon = 40, delta = 1e-6)`, draws-1))
	must(t, s, `SET confidence = 0.9`)
	raw := plain(t, s)
	for _, transform := range []string{"identity", "sparse, heavy = none, rows = 524288"} {
		must(t, s, `CREATE RELEASE cells ON visits USING PROJECTION WITH (epsilon = 0.5, transform = `+transform+`)`)
		for _, column := range []string{"weight", "cost"} {
			if column == "cost" && transform != "identity" {
				continue
			}
			truth := make(map[int64]float64)
			rows, err := raw.Query(fmt.Sprintf(`SELECT k, SUM(%s) FROM raw JOIN risks ON town = name GROUP BY k`, column))
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var k int64
				var sum float64
				if err := rows.Scan(&k, &sum); err != nil {
					t.Fatal(err)
				}
				truth[k] = sum
			}
			rows.Close()
			r := must(t, s, fmt.Sprintf(`SELECT k, SUM(%s) FROM visits JOIN risks ON town = name GROUP BY k`, column))
			if len(r.Rows) != draws {
				t.Fatalf("%d groups", len(r.Rows))
			}
			n := 0
			for i, row := range r.Rows {
				if math.Abs(row[1].(float64)-truth[row[0].(int64)]) > r.Answer.Margins[i][1].(float64)*(1+1e-12) {
					n++
				}
			}
			t.Logf("%s, %s: the truth is outside %d times of %d", transform, column, n, draws)
			if n > mostMisses(draws) {
				t.Errorf("%s, %s: the truth is outside %d times of %d, and the limit is %d", transform, column, n, draws, mostMisses(draws))
			}
			if column == "weight" && n < fewestMisses(draws) {
				t.Errorf("%s, %s: the truth is outside only %d times", transform, column, n)
			}
		}
		must(t, s, `DROP RELEASE cells`)
	}
}

// TestMechanismOfWeights asks a mechanism of weights up to 20 for sums of weights and for
// counts, with real noise. Every answer must be within its margin, at a confidence that
// fails once in 10⁹ answers. A count must be as exact as from a mechanism of counts, up to
// rounding.
func TestMechanismOfWeights(t *testing.T) {
	t.Parallel()
	s := weighted(t, "")
	const with = ` ON visits (town, age) USING SMW WITH (epsilon = 8, max_updates = 20, queries = 1000, prior = uniform`
	must(t, s, `CREATE MECHANISM weights`+with+`, max_weight = 20)`)
	must(t, s, `CREATE MECHANISM counts`+with+`)`)
	raw := plain(t, s)
	must(t, s, `SET confidence = 0.999999999`)
	fired := 0
	margins := map[string]float64{}
	for _, mechanism := range []string{"weights", "counts"} {
		must(t, s, `SET mechanism = `+mechanism)
		for age := range 10 {
			for _, of := range []string{"COUNT(*)", "SUM(weight)", "SUM(weight) FILTER"} {
				where := fmt.Sprintf(" WHERE age >= %d", age)
				if strings.HasSuffix(of, " FILTER") {
					where += " AND town <> 'Elm'"
				}
				of = strings.TrimSuffix(of, " FILTER")
				from := ` FROM %s JOIN risks ON town = name` + where
				r, err := s.Exec(context.Background(), `SELECT `+of+fmt.Sprintf(from, "visits"), nil)
				if mechanism == "counts" && of != "COUNT(*)" {
					if sqlerr.CodeOf(err) != sqlerr.Uncovered {
						t.Fatalf("a mechanism of counts: %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				var want float64
				if err := raw.QueryRow(`SELECT ` + of + fmt.Sprintf(from, "raw")).Scan(&want); err != nil {
					t.Fatal(err)
				}
				got, margin := asFloat(r.Rows[0][0]), r.Answer.Margins[0][0].(float64)
				if math.Abs(got-want) > margin+1e-9 {
					t.Errorf("%s%s from %s: %v ± %v, and the truth is %v", of, where, mechanism, got, margin, want)
				}
				margins[mechanism+of] = max(margins[mechanism+of], margin)
			}
		}
	}
	if w, c := margins["weightsCOUNT(*)"], margins["countsCOUNT(*)"]; w > 1.05*c+1 || w < 0.9*c {
		t.Errorf("the margin of a count is %v from the mechanism of weights, and %v from that of counts", w, c)
	}
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range v.Mechanisms {
		fired += int(m.RunsStarted)
	}
	t.Logf("%d runs, margins %v", fired, margins)
	if fired < 4 { // both starts are off by 1,800 rows; a run misses that with probability below 10⁻⁹
		t.Errorf("only %d runs were started: nothing fired", fired)
	}
}

// TestLongList asks for 33,000 keys, more than fit into a statement, and for as many
// weights by a join. One column has no domain, and the domain of the other is the list.
// The noise is quiet, so the answers must be SQLite's.
func TestLongList(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "long.db"), engine.Options{}).NewSession()
	quieten(s.DB())
	fill(t, s, `CREATE TABLE raw (k TEXT, age INTEGER)`, `CREATE TABLE list (k TEXT, weight REAL)`,
		`INSERT INTO list SELECT printf('key-%07d', i * 2), (i * 37 % 1001) / 1000.0 FROM `+numbers(33_000),
		`INSERT INTO raw SELECT printf('key-%07d', (i * 7919) % 120000), i % 10 FROM `+numbers(5_000))
	must(t, s, `CREATE PUBLIC TABLE list (k TEXT, weight REAL BETWEEN 0 AND 1 STEP 0.001)`)
	must(t, s, `CREATE PRIVATE TABLE visits (k TEXT, age INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 10, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE listed (k TEXT IN (SELECT k FROM list)) FROM raw WITH (epsilon = 10, delta = 1e-6)`)
	must(t, s, `CREATE RELEASE cells ON listed USING PROJECTION WITH (epsilon = 1, transform = identity, max_support = 33000)`)
	raw := plain(t, s)
	type asked struct{ table, query string }
	for _, c := range some(t, 4, []asked{
		{"listed", `SELECT SUM(weight) FROM %s JOIN list ON %[1]s.k = list.k`}, // from the release
		{"visits", `SELECT COUNT(*) FROM %s JOIN list ON %[1]s.k = list.k WHERE age < 5`},
		{"visits", `SELECT COUNT(*) FROM %s WHERE k IN (SELECT k FROM list) AND age >= 5`},
		{"visits", `SELECT SUM(weight) FROM %s JOIN list ON %[1]s.k = list.k`},
	}) {
		if c.table == "visits" {
			must(t, s, `SET accuracy = 100`)
		}
		var want float64
		if err := raw.QueryRow(fmt.Sprintf(c.query, "raw")).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if got := asFloat(must(t, s, fmt.Sprintf(c.query, c.table)).Rows[0][0]); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.query, got, want)
		}
	}
}
