package around_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"dpsql/internal/scratch"
	"dpsql/internal/seeds"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/post"
)

func TestMain(m *testing.M) {
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// surrounded is a statement around cores that SQLite answered.
type surrounded struct {
	text  string
	db    *around.Database
	left  *around.Statement
	cores []*around.Table
	l     *around.Lineage
}

func surround(t testing.TB, plain *sql.DB, db *around.Database, text string) *surrounded {
	t.Helper()
	s, err := around.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	cores, left, err := s.Cut(private)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out := &surrounded{text: text, db: db, left: left, cores: answerCores(t, plain, cores)}
	for i, c := range out.cores {
		c.Keys, c.Single = cores[i].Keys, cores[i].Single
	}
	from := source(0)
	from.Cores = out.cores
	if _, out.l, err = db.Compile(context.Background(), left, from, nil); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// numbers are what stands in the place of the numbers of the cores: for each core, row and column.
// The keys are left out.
type numbers [][][]any

// each returns numbers made of those of the cores, in a fixed order.
func (s *surrounded) each(number func(v any) any) numbers {
	all := make(numbers, len(s.cores))
	for c, core := range s.cores {
		all[c] = make([][]any, len(core.Rows))
		for r, row := range core.Rows {
			for _, v := range row[core.Keys:] {
				all[c][r] = append(all[c][r], number(v))
			}
		}
	}
	return all
}

// run runs the statement over numbers, which are in ends. Without ends there are no intervals.
func (s *surrounded) run(t testing.TB, of, ends numbers) *around.Result {
	t.Helper()
	from := source(0)
	if ends != nil {
		from.Lineage, from.Confidence = s.l, 0.95
	}
	for c, core := range s.cores {
		table := *core
		table.Rows = make([][]any, len(core.Rows))
		known := make([][]any, len(core.Rows))
		for r, row := range core.Rows {
			table.Rows[r] = append(slices.Clone(row[:core.Keys]), of[c][r]...)
			if ends != nil {
				known[r] = append(make([]any, core.Keys), ends[c][r]...)
			}
		}
		table.Ends = func(float64) [][]any { return known }
		from.Cores = append(from.Cores, &table)
	}
	out, err := s.db.Run(context.Background(), s.left, from, nil)
	if err != nil {
		t.Fatalf("%s: %v", s.text, err)
	}
	return out
}

// traced runs a statement twice: over noisy cores with intervals, and over the cores as they
// are. Each number of the noisy cores lies in an interval that holds the true one.
func traced(t testing.TB, plain *sql.DB, db *around.Database, text string, noise func() (by, low, high float64)) (noisy, exact *around.Result) {
	t.Helper()
	s := surround(t, plain, db, text)
	ends := make(map[any]any)
	key := 0
	of := s.each(func(v any) any { return v })
	noised := s.each(func(v any) any {
		key++
		by, low, high := noise()
		switch v := v.(type) {
		case int64:
			ends[key] = post.Interval{Low: float64(v) - low, High: float64(v) + high}
			return v + int64(by)
		case float64:
			ends[key] = post.Interval{Low: v - low, High: v + high}
			return v + by
		}
		return v
	})
	key = 0
	known := s.each(func(any) any { key++; return ends[key] })
	return s.run(t, noised, known), s.run(t, of, nil)
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
	plain, db := rowsDB(t), database(t)
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
		{`SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits WHERE sex = 'F'`, "1"},
		{`SELECT (SELECT COUNT(*) FROM visits) - (SELECT COUNT(*) FROM visits WHERE sex = 'F'), ABS(COUNT(*)), -COUNT(*), CAST(COUNT(*) AS REAL) / 7 FROM visits`, "1111"},
		{`SELECT (SELECT n FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) LIMIT 1)`, "0"},
		{`WITH total AS (SELECT COUNT(*) AS n FROM visits) SELECT name, (SELECT n FROM total) AS n, height FROM towns ORDER BY name`, "010"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT year, n FROM c WHERE n IN (SELECT n FROM c) AND (SELECT COUNT(*) FROM (SELECT * FROM c)) > 0`, "00"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT year, n FROM c WHERE n IN (SELECT n FROM c)`, "01"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT * FROM c AS a NATURAL JOIN c AS b`, "00"},
		{`SELECT 'all' AS what, AVG(age) AS a, 1 FROM visits UNION ALL SELECT year, COUNT(*), MAX(age) FROM visits GROUP BY year UNION ALL SELECT name, height, 2 FROM towns ORDER BY 1`, "011"},
		{`WITH u (what, n) AS (SELECT sex, COUNT(*) FROM visits GROUP BY sex UNION ALL SELECT name, height FROM towns), v AS (SELECT * FROM u UNION ALL SELECT 'years', year FROM visits GROUP BY year)
			SELECT v.*, v.n + (SELECT COUNT(*) FROM visits), u.n FROM v JOIN u USING (what)`, "0111"},
		{`SELECT n FROM (SELECT DISTINCT sex, COUNT(*) AS n FROM visits GROUP BY sex UNION ALL SELECT town, COUNT(*) FROM visits GROUP BY town)`, "1"},
		{`SELECT n FROM (SELECT DISTINCT n FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) UNION ALL SELECT COUNT(*) FROM visits)`, "1"},
		{`SELECT n FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex UNION SELECT town, COUNT(*) FROM visits GROUP BY town)`, "0"},
		{`SELECT COUNT(*) FROM visits UNION SELECT 1 UNION ALL SELECT COUNT(*) FROM visits WHERE sex = 'F'`, "0"},
		{`SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits WHERE sex = 'F' EXCEPT SELECT 1`, "0"},
		{`WITH RECURSIVE c AS (SELECT COUNT(*) AS n FROM visits), r (n, i) AS (SELECT n, 1 FROM c UNION ALL SELECT n + 1, i + 1 FROM r WHERE i < 3) SELECT n, i, (SELECT n FROM c) FROM r`, "001"},
		{`SELECT where_, COALESCE(n, 0) FROM (SELECT 'nowhere' AS where_) LEFT JOIN (SELECT town, SUM(age - age) AS n FROM visits GROUP BY town) ON where_ = town`, "00"},
		{`WITH c AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT n, a.n FROM c AS a JOIN c AS b USING (n)`, "01"},
		{`SELECT name, COALESCE(n, 0), IFNULL(n * 2, -1), ROUND(n / 3.0, 1), n % 7, MAX(n) OVER () FROM towns LEFT JOIN (SELECT town, COUNT(*) AS n FROM visits GROUP BY town) ON name = town`, "011110"},
	} {
		noisy, exact := traced(t, plain, db, c.text, func() (by, low, high float64) { return 0, 1, 1 })
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
	plain, db := rowsDB(t), database(t)
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
		noisy, exact := traced(t, plain, db, text, func() (by, low, high float64) {
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

// TestLineageBombs: an expression that sub-selects double has no interval, and takes no time.
func TestLineageBombs(t *testing.T) {
	t.Parallel()
	plain, db := rowsDB(t), database(t)
	for _, c := range []struct {
		form  string
		depth int
		known bool
	}{{"n + n", 6, true}, {"n + n", 12, false}, {"n + 0", 30, true}, {"n + n", 40, false}, {"(1 + n) * (n - n)", 40, false}, {"0 * (n + n) + 1", 40, false}} {
		text := "SELECT COUNT(*) AS n FROM visits"
		for range c.depth {
			text = fmt.Sprintf("SELECT %s AS n FROM (%s) LIMIT 9", c.form, text)
		}
		noisy, exact := traced(t, plain, db, text, func() (by, low, high float64) { return 0, 1, 1 })
		if known := held(t, text, noisy, exact) > 0; known != c.known {
			t.Errorf("%s, %d times: %v", c.form, c.depth, noisy.Intervals)
		}
	}
}

// TestLineageHoldsEveryTruth writes random statements over noisy cores, whose true numbers are
// anywhere in boxes: at their corners, at random, and NULL where nothing is known. What SQLite
// computes from each of these truths is in the intervals that were computed from the noise. The
// statements repeat numbers, join cores with themselves, and pass unions in unions. Nothing is left
// to chance but the statements.
func TestLineageHoldsEveryTruth(t *testing.T) {
	t.Parallel()
	plain, db := rowsDB(t), database(t)
	r := rand.New(rand.NewPCG(seeds.Of(t), 1))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	var value func(depth int, of ...string) string
	value = func(depth int, of ...string) string {
		if depth == 0 || r.IntN(5) == 0 {
			return one(of...)
		}
		x, y := value(depth-1, of...), value(depth-1, of...)
		switch r.IntN(12) {
		case 0:
			return "-(" + x + ")"
		case 1:
			return "ABS(" + x + ")"
		case 2:
			return "ROUND(" + x + one("", ", 1", ", 3") + ")"
		case 3:
			return one("COALESCE", "IFNULL") + "(" + x + ", " + y + ")"
		case 4:
			return "CAST(" + x + " AS REAL)"
		case 5:
			return "(" + x + " - " + x + one("", " / 2", " * 0.5") + ")"
		}
		return "(" + x + " " + one("+", "-", "*", "/", "%") + " " + y + ")"
	}
	// box returns what is known of a number.
	box := func(v any) any {
		x, y := float64(r.IntN(12)), float64(r.IntN(12))
		switch v := v.(type) {
		case int64:
			if r.IntN(12) > 0 {
				return post.Interval{Low: float64(v) - x, High: float64(v) + y}
			}
		case float64:
			return post.Interval{Low: v - x/4, High: v + y/4}
		}
		return post.Unproven
	}
	// truth returns a number's true value: at the low ends of all boxes, at the high ones, at the corners
	// in turn, at random ones, or anywhere.
	truth := func(v, box any, corner int) any {
		in, known := box.(post.Interval)
		x := in.Low + r.Float64()*(in.High-in.Low)
		switch {
		case !known:
			return [...]any{nil, int64(-1), int64(40), v}[r.IntN(4)]
		case corner == 0 || corner == 2 && r.IntN(2) == 0:
			x = in.Low
		case corner <= 2:
			x = in.High
		}
		if _, whole := v.(int64); whole {
			return int64(math.Floor(x))
		}
		return x
	}
	cells, statements := 0, *cuts/3
	for range statements {
		core := []string{"n", "n", "s", "a", "m", "k", "7", "2.5", "0.01", "-3", "(SELECT COUNT(*) FROM visits)"}
		union := []string{"u.v", "u.w", "b.v", "q", "x.n", "x.s", "1", "2.5", "(SELECT AVG(age) FROM visits WHERE sex = 'F')"}
		text := fmt.Sprintf(`WITH c AS (SELECT year, town, COUNT(*) AS n, SUM(days) AS s, AVG(age) AS a, year %% 4 AS k FROM visits GROUP BY year, town),
			p AS (SELECT year AS y, COUNT(*) AS m FROM visits WHERE sex = 'M' AND year > 2020 GROUP BY year),
			u (k, i, v, w) AS (SELECT year, town, %s, %s FROM c %s JOIN p ON y = year UNION ALL SELECT y, 'p', %s, m FROM p UNION ALL SELECT DISTINCT 2020, 'in ' || name, height, 3 FROM towns),
			b AS (SELECT %s FROM u UNION ALL SELECT year, 'b', n, s, a FROM c WHERE town = 'Ash')
			SELECT u.k, u.i, b.i, %s, %s, u.v FROM u JOIN b ON b.k = u.k LEFT JOIN c AS x ON x.year = b.k + 1 AND x.town = 'Elm' ORDER BY 1, 2, 3`,
			value(2, core...), value(3, core...), one("LEFT", ""), value(2, "m", "m", "y", "2"), one("*, v / 2 AS q", "k, i, w AS v, v AS w, w - v AS q"), value(3, union...), value(2, union...))
		s := surround(t, plain, db, text)
		var boxes []any
		ends := s.each(func(v any) any {
			boxes = append(boxes, box(v))
			return boxes[len(boxes)-1]
		})
		noisy := s.run(t, s.each(func(v any) any { return v }), ends)
		for corner := range 6 {
			n := -1
			exact := s.run(t, s.each(func(v any) any {
				n++
				return truth(v, boxes[n], corner)
			}), nil)
			cells += held(t, text, noisy, exact)
		}
		if t.Failed() {
			return
		}
	}
	if t.Logf("%d numbers in intervals", cells); cells < 100*statements {
		t.Errorf("only %d numbers have intervals", cells)
	}
}
