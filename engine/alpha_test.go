package engine_test

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/kind"
	"dpsql/internal/seeds"
	"dpsql/sqlerr"
)

// calls has 250,000 calls by hour and day, most of them in few hours.
const callRows = 250_000

func calls(t *testing.T) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "calls.db"), engine.Options{}).NewSession()
	fill(t, s, fmt.Sprintf(`CREATE TABLE raw_calls AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT i * i %% 24 AS hour, i * i * i %% 7 AS day FROM n`, callRows))
	must(t, s, `CREATE PRIVATE TABLE calls (hour INTEGER BETWEEN 0 AND 23, day INTEGER BETWEEN 0 AND 6)
		FROM raw_calls WITH (epsilon = 400, delta = 1e-7, interactive = 0.5)`)
	return s
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
// two of the four statements.
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
	if n := seeds.Of(t) % 2; !*long {
		statements = []string{statements[n], statements[2+n]}
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
