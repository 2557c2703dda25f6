package around_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/internal/seeds"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/post"
)

// traced runs a statement twice: over noisy cores with intervals, and over the cores as they
// are. Each number of the noisy cores lies in an interval that holds the true one.
func traced(t testing.TB, text string, noise func() (by, low, high float64)) (noisy, exact *around.Result) {
	t.Helper()
	plain, db := rowsDB(t), database(t)
	s, err := around.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	cores, left, err := s.Cut(private)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	from := source(0)
	from.Cores = answerCores(t, plain, cores)
	for i, c := range from.Cores {
		c.Keys, c.Single = cores[i].Keys, cores[i].Single
	}
	if exact, err = db.Run(context.Background(), left, from, nil); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	_, l, err := db.Compile(context.Background(), left, from, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if l == nil {
		return exact, exact
	}
	from.Lineage = l
	for _, c := range from.Cores {
		needs := len(l.Needs)
		rows := make([][]any, len(c.Rows))
		for r, row := range c.Rows {
			rows[r] = append([]any(nil), row...)
			ends := make(map[int][3]any)
			for n := c.Keys; n < len(row); n++ {
				by, low, high := noise()
				switch v := row[n].(type) {
				case int64:
					rows[r][n] = v + int64(by)
					ends[n] = [3]any{rows[r][n], float64(v) - low, float64(v) + high}
				case float64:
					rows[r][n] = v + by
					ends[n] = [3]any{rows[r][n], v - low, v + high}
				}
			}
			for _, need := range l.Needs[:needs] {
				if need.Core == c.Name {
					rows[r] = append(rows[r], ends[need.Column][need.End])
				}
			}
		}
		for _, need := range l.Needs {
			if need.Core == c.Name {
				c.Hidden = append(c.Hidden, need.Name)
			}
		}
		c.Rows = rows
	}
	if noisy, err = db.Run(context.Background(), left, from, nil); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return noisy, exact
}

// held reports how many cells have intervals, and fails where one misses the exact value.
func held(t testing.TB, text string, noisy, exact *around.Result) (cells int) {
	t.Helper()
	if len(noisy.Rows) != len(exact.Rows) {
		t.Errorf("%s: %d rows, want %d", text, len(noisy.Rows), len(exact.Rows))
		return 0
	}
	for r, row := range noisy.Intervals {
		if len(row) != len(exact.Columns) || len(noisy.Rows[r]) != len(exact.Columns) {
			t.Fatalf("%s: %d intervals and %d columns, want %d", text, len(row), len(noisy.Rows[r]), len(exact.Columns))
		}
		for n, v := range row {
			i, ok := v.(post.Interval)
			if !ok {
				continue
			}
			cells++
			truth := math.NaN()
			switch v := exact.Rows[r][n].(type) {
			case int64:
				truth = float64(v)
			case float64:
				truth = v
			}
			if slack := 1e-9 * max(1, math.Abs(truth)); !(i.Low-slack <= truth && truth <= i.High+slack) {
				t.Errorf("%s\nrow %d, column %s: %v is not in %v; the noisy value is %v", text, r, exact.Columns[n].Name, exact.Rows[r][n], i, noisy.Rows[r][n])
			}
		}
	}
	return cells
}

// TestLineage looks which columns of a statement have intervals.
func TestLineage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, with string }{
		{`SELECT year, COUNT(*) AS n, 2 * COUNT(*) + year, COUNT(*) || 'x' FROM visits GROUP BY year ORDER BY year`, "0110"},
		{`SELECT year, n, n * 100.0 / (SELECT COUNT(*) FROM visits) FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) ORDER BY year`, "011"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year), total AS (SELECT SUM(n) AS all_of_it, COUNT(*) AS years FROM c)
			SELECT c.*, n / all_of_it, (SELECT years FROM total) FROM c, total ORDER BY year`, "0100"},
		{`WITH c (y, m) AS (SELECT year, COUNT(*) FROM visits GROUP BY year) SELECT a.y, a.m - b.m AS growth, SUM(a.m) OVER (ORDER BY a.y) FROM c a LEFT JOIN c b ON a.y = b.y + 1 ORDER BY 1`, "010"},
		{`SELECT * FROM (SELECT town, COUNT(*) AS n FROM visits GROUP BY town) AS "source" ORDER BY town LIMIT 2000`, "01"},
		{`SELECT a.*, height, n * height FROM (SELECT town, COUNT(*) AS n FROM visits GROUP BY town) a JOIN towns ON name = town ORDER BY town`, "0101"},
		{`SELECT DISTINCT n FROM (SELECT town, COUNT(*) AS n FROM visits GROUP BY town)`, "0"},
		{`SELECT year, n FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) GROUP BY 1, 2`, "00"},
		{`SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits WHERE sex = 'F'`, "0"},
		{`SELECT (SELECT COUNT(*) FROM visits) - (SELECT COUNT(*) FROM visits WHERE sex = 'F'), ABS(COUNT(*)), -COUNT(*), CAST(COUNT(*) AS REAL) / 7 FROM visits`, "1011"},
		{`SELECT (SELECT n FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) LIMIT 1)`, "0"},
		{`WITH total AS (SELECT COUNT(*) AS n FROM visits) SELECT name, (SELECT n FROM total) AS n, height FROM towns ORDER BY name`, "010"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT year, n FROM c WHERE n IN (SELECT n FROM c) AND (SELECT COUNT(*) FROM (SELECT * FROM c)) > 0`, "00"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT year, n FROM c WHERE n IN (SELECT n FROM c)`, "01"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT * FROM c AS a NATURAL JOIN c AS b`, "00"},
	} {
		noisy, exact := traced(t, c.text, func() (by, low, high float64) { return 0, 1, 1 })
		held(t, c.text, noisy, exact)
		got := make([]byte, len(exact.Columns))
		for n := range got {
			got[n] = '0'
			for r := range noisy.Intervals {
				if noisy.Intervals[r][n] != nil {
					got[n] = '1'
				}
			}
		}
		if string(got) != c.with {
			t.Errorf("%s\nhas intervals %s, want %s", c.text, got, c.with)
		}
		if fmt.Sprint(noisy.Rows) != fmt.Sprint(exact.Rows) {
			t.Errorf("%s\nwithout noise %v, want %v", c.text, noisy.Rows, exact.Rows)
		}
	}
}

// TestLineageHoldsTheTruth writes random expressions over cores with noise. Their intervals
// hold what SQLite computes from the cores without noise, whenever those of the cores hold
// theirs. Nothing is left to chance but the statements.
func TestLineageHoldsTheTruth(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	var value func(depth int) string
	value = func(depth int) string {
		if depth == 0 || r.IntN(4) == 0 {
			return []string{"n", "s", "q.year", "m", "(SELECT COUNT(*) FROM visits)", "(SELECT AVG(age) FROM visits WHERE sex = 'F')", "7", "2.5", "0.01", "height", "k"}[r.IntN(11)]
		}
		switch r.IntN(8) {
		case 0:
			return "(- " + value(depth-1) + ")"
		case 1:
			return "CAST(" + value(depth-1) + " AS REAL)"
		}
		text := value(depth-1) + " " + []string{"+", "-", "*", "/"}[r.IntN(4)] + " " + value(depth-1)
		if r.IntN(3) > 0 {
			return "(" + text + ")"
		}
		return text
	}
	cells := 0
	for range *cuts {
		a, b := value(3), value(3)
		text := fmt.Sprintf(`WITH p AS (SELECT year AS y, COUNT(*) AS m FROM visits WHERE sex = 'M' GROUP BY year)
			SELECT z.*, x1 %s %s AS last FROM (SELECT q.year, q.town, %s AS x1, %s AS x2 FROM
			(SELECT year, town, COUNT(*) AS n, SUM(days) AS s, COUNT(*) - 1 AS k FROM visits GROUP BY year, town) AS q LEFT JOIN p ON y = q.year JOIN towns ON name = town) AS z ORDER BY z.year, z.town`,
			[]string{"+", "-", "*", "/"}[r.IntN(4)], []string{"x2", "3", "x1"}[r.IntN(3)], a, b)
		noisy, exact := traced(t, text, func() (by, low, high float64) {
			by = float64(r.IntN(21) - 10)
			return by, float64(r.IntN(12)), float64(r.IntN(12))
		})
		cells += held(t, text, noisy, exact)
		if t.Failed() {
			return
		}
	}
	// Each of the three columns has a number in it with a probability above 1/2, and nine rows.
	if cells < *cuts {
		t.Errorf("only %d cells have intervals", cells)
	}
}
