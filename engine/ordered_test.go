package engine_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// forms makes a table of 2,000 rows with a column of each form whose values have an order, in
// three wards and in a fourth that is empty. It returns the numbers of the rows, by ward and
// column: days or quarters of a day since the first, or the numbers themselves.
func forms(t testing.TB) (*engine.Session, map[string]map[string][]float64) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 2)) // the data are fixed
	rows := make(map[string]map[string][]float64)
	var values []string
	for i := range 2000 {
		ward := []string{"A", "A", "B", "C"}[i%4]
		day := math.Floor(random.Float64() * random.Float64() * 400)
		switch {
		case ward == "B": // two values
			day = 3 + 300*float64(i/4%2)
		case i%5 == 0: // an atom
			day = 31
		}
		at, cost, fee := random.Int64N(100*86_400), random.ExpFloat64()*30, math.Round(random.Float64()*500)/100
		came := "NULL"
		if rows[ward] == nil {
			rows[ward] = make(map[string][]float64)
		}
		if i%3 > 0 || ward != "C" {
			came = "'" + firstDay.AddDate(0, 0, int(day)).Format(time.DateOnly) + "'"
			rows[ward]["came"] = append(rows[ward]["came"], day)
		}
		rows[ward]["at"] = append(rows[ward]["at"], math.Floor(float64(at)/21_600))
		rows[ward]["cost"] = append(rows[ward]["cost"], min(cost, 100))
		rows[ward]["fee"] = append(rows[ward]["fee"], fee)
		values = append(values, fmt.Sprintf("('%s', %s, %d, %v, %v)", ward, came, firstDay.Unix()+at, cost, fee))
	}
	for _, columns := range rows {
		for _, x := range columns {
			slices.Sort(x)
		}
	}
	return declared(t, []string{`CREATE TABLE raw (ward TEXT, came TEXT, at INTEGER, cost REAL, fee NUMERIC(6,2))`, `INSERT INTO raw VALUES ` + strings.Join(values, ",")},
		`CREATE PRIVATE TABLE stays (ward TEXT IN ('A', 'B', 'C', 'D'), came DATE BETWEEN '2023-12-01' AND '2025-06-30' OR NULL,
			at TIMESTAMP BETWEEN '2024-01-01' AND '2024-04-30 18:00' STEP '6 hours' STORED AS unix, cost REAL BETWEEN 0 AND 100 STEP 2.5 CLAMP,
			fee NUMERIC(6,2) BETWEEN 0 AND 5) FROM raw WITH (epsilon = 400, delta = 1e-6)`), rows
}

var firstDay = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// shownForms are the forms in which quantiles of a number are shown.
var shownForms = map[string]func(x float64) any{
	"came": func(x float64) any { return firstDay.AddDate(0, 0, int(x)).Format(time.DateOnly) },
	"at": func(x float64) any {
		return firstDay.Add(time.Duration(math.Floor(x)) * 6 * time.Hour).Format(time.DateTime)
	},
	"cost": func(x float64) any { return x },
	"fee":  func(x float64) any { return x },
}

func percentileDisc(sorted []float64, q float64) float64 {
	return sorted[max(1, int(math.Ceil(q*float64(len(sorted)))))-1]
}

func percentileCont(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low, high := sorted[int(math.Floor(at))], sorted[int(math.Ceil(at))]
	return low + (at-math.Floor(at))*(high-low)
}

// sameOrNear reports whether two results are the same text, or numbers but for rounding.
func sameOrNear(a, b any) bool {
	x, real := a.(float64)
	y, also := b.(float64)
	return a == b || real && also && math.Abs(x-y) < 1e-9
}

// holds reports whether an interval has a value.
func holds(interval, v any) bool {
	switch i := interval.(type) {
	case engine.Interval:
		return v.(float64) >= i.Low-1e-9 && v.(float64) <= i.High+1e-9
	case engine.Span:
		return cmp.Compare(i.Low, v.(string)) <= 0 && cmp.Compare(v.(string), i.High) <= 0
	}
	return false
}

// TestOrderedWithoutNoise compares quantiles of dates, timestamps, steps and exact numbers with
// those of the sorted rows, where all noise is 0, from releases and bought. A row of a step
// counts as its middle, and the interval has the quantile of the rows' own numbers.
func TestOrderedWithoutNoise(t *testing.T) {
	t.Parallel()
	fractions := []float64{0.25}
	if *long {
		fractions = []float64{0, 0.1, 0.25, 0.5, 0.9, 1}
	}
	middle := map[string]func(x float64) float64{"cost": func(x float64) float64 { return 2.5*min(39, math.Floor(x/2.5)) + 1.25 }}
	type way struct {
		name  string
		first []string
	}
	for _, way := range some(t, 3, []way{
		{"direct", []string{`SET accuracy = 150`}},
		{"identity", []string{`CREATE RELEASE a ON stays (ward, came) USING PROJECTION WITH (epsilon = 5)`, `CREATE RELEASE b ON stays (ward, at) USING PROJECTION WITH (epsilon = 5)`,
			`CREATE RELEASE c ON stays (ward, cost) USING PROJECTION WITH (epsilon = 5)`, `CREATE RELEASE d ON stays (ward, fee) USING PROJECTION WITH (epsilon = 5)`}},
		{"marginals", []string{`CREATE RELEASE m ON stays USING MARGINALS WITH (epsilon = 10, delta = 1e-7, degree = 2, estimate = unbiased)`}},
	}) {
		s, rows := forms(t)
		quieten(s.DB())
		for _, text := range way.first {
			must(t, s, text)
		}
		for column, shown := range shownForms {
			for _, q := range fractions {
				r := must(t, s, fmt.Sprintf(`SELECT ward, PERCENTILE_DISC(%[1]s, %[2]g), PERCENTILE_CONT(%[1]s, %[2]g), QUANTILE(%[1]s, %[2]g), MEDIAN(%[1]s) FROM stays GROUP BY ward ORDER BY ward`, column, q))
				for i, ward := range []string{"A", "B", "C"} {
					own := rows[ward][column]
					x := slices.Clone(own)
					for j := range x {
						if middle[column] != nil {
							x[j] = middle[column](x[j])
						}
					}
					of := func(x []float64) []any {
						return []any{nil, shown(percentileDisc(x, q)), shown(percentileCont(x, q)), shown(percentileDisc(x, q)), shown(percentileCont(x, 0.5))}
					}
					for j, want := range of(x)[1:] {
						if got := r.Rows[i][j+1]; !sameOrNear(got, want) || !holds(r.Answer.Intervals[i][j+1], want) || !holds(r.Answer.Intervals[i][j+1], of(own)[j+1]) {
							t.Errorf("%s, q = %g of %s, ward %s: column %d is %v in %v, want %v; the rows' own is %v",
								way.name, q, column, ward, j+1, got, r.Answer.Intervals[i][j+1], want, of(own)[j+1])
						}
					}
				}
				if got := r.Rows[3]; got[1] != nil || got[4] != nil || r.Answer.Intervals[3][1] != nil {
					t.Errorf("%s: quantiles of no rows of %s are %v with %v", way.name, column, got, r.Answer.Intervals[3])
				}
			}
		}
		for _, c := range []struct{ text, want string }{
			{`SELECT MIN(came), MAX(came) FROM stays WHERE ward = 'B'`, `[[2024-01-04 2024-10-30]]`},
			{`SELECT MEDIAN(came) < '2024-03-01' AS early, MAX(came) > '2024-03-01' AS late, ward FROM stays GROUP BY ward HAVING MEDIAN(came) > '2024-01-01' AND ward = 'B'`, `[[0 1 B]]`},
			{`SELECT QUANTILE(came, 0.25) AS q, LOW(q) <= '2024-01-04' AS low, HIGH(q) >= '2024-01-04' AS high, MARGIN(q) >= 0 AS margin FROM stays WHERE ward = 'B'`, `[[2024-01-04 1 1 1]]`},
			{`SELECT m, date(m, '+1 day') AS next FROM (SELECT QUANTILE(came, 0.25) AS m FROM stays WHERE ward = 'B') AS x`, `[[2024-01-04 2024-01-05]]`},
			{`SELECT strftime('%Y-%m', came) AS month, QUANTILE(came, 0.5) AS d FROM stays WHERE ward = 'B' AND came IS NOT NULL GROUP BY 1 HAVING d IS NOT NULL`, `[[2024-01 2024-01-04] [2024-10 2024-10-30]]`},
		} {
			if got := fmt.Sprint(must(t, s, c.text).Rows); got != c.want {
				t.Errorf("%s: %s gives %s, want %s", way.name, c.text, got, c.want)
			}
		}
		// Intervals of dates pass through surroundings with the dates, and margins are in days.
		plain := must(t, s, `SELECT ward, MEDIAN(came) AS m FROM stays GROUP BY ward ORDER BY ward`)
		around := must(t, s, `SELECT x.ward, x.m, substr(x.m, 1, 4) FROM (SELECT ward, MEDIAN(came) AS m FROM stays GROUP BY ward) AS x ORDER BY 1`)
		for i := range plain.Rows {
			if fmt.Sprint(around.Rows[i][:2]) != fmt.Sprint(plain.Rows[i]) || around.Answer.Intervals[i][1] != plain.Answer.Intervals[i][1] ||
				around.Answer.Margins[i][1] != plain.Answer.Margins[i][1] || around.Answer.Intervals[i][2] != nil {
				t.Errorf("%s: %v in %v around %v in %v", way.name, around.Rows[i], around.Answer.Intervals[i], plain.Rows[i], plain.Answer.Intervals[i])
			}
		}
		if span, ok := plain.Answer.Intervals[0][1].(engine.Span); !ok || plain.Answer.Margins[0][1] != span.Reach(plain.Rows[0][1].(string)) {
			t.Errorf("%s: the margin is %v, the interval %v", way.name, plain.Answer.Margins[0], plain.Answer.Intervals[0])
		}
	}
}

// TestComputingWithDatesAround holds that arithmetic with dates of private aggregates, which
// SQLite would do with their years, is refused where it stands (the sign ‸) before anything is
// charged, and what a user writes in its place.
func TestComputingWithDatesAround(t *testing.T) {
	t.Parallel()
	s, _ := forms(t)
	quieten(s.DB())
	must(t, s, `SET accuracy = 150`)
	charged := len(entries(t, s.DB()))
	for _, text := range []string{
		`SELECT MEDIAN(came) ‸+ 1 FROM stays`,
		`SELECT MAX(came) ‸- MIN(at) FROM stays`,
		`SELECT LOW(MEDIAN(came)) ‸* 2 FROM stays`,
		`SELECT came ‸+ 1.5, COUNT(*) FROM stays GROUP BY came`,
		`SELECT CASE WHEN n > 9 THEN d ELSE 'few' END ‸+ 1 FROM (SELECT came AS d, COUNT(*) AS n FROM stays GROUP BY came)`,
		`SELECT x ‸+ 1 FROM (SELECT CASE WHEN COUNT(*) > 9 THEN came ELSE 'few' END AS x FROM stays GROUP BY came)`,
		`SELECT 2 ‸* COALESCE(MAX(came), 'none') FROM stays`,
		`SELECT ‸SUM(m) FROM (SELECT ward, MEDIAN(at) AS m FROM stays GROUP BY ward UNION ALL SELECT 'x', 'y') AS x`,
		`SELECT ‸-date(came, 'start of month'), COUNT(*) FROM stays GROUP BY date(came, 'start of month')`,
		`SELECT ward FROM (SELECT ward, MEDIAN(came) AS m FROM stays GROUP BY ward) AS x WHERE m ‸+ 1 > '2024'`,
		`SELECT ‸AVG(m) FROM (SELECT ward, MEDIAN(at) AS m FROM stays GROUP BY ward) AS x`,
		`WITH x AS (SELECT date(came, 'start of year') AS y, COUNT(*) AS n FROM stays GROUP BY 1), z AS (SELECT y AS v FROM x) SELECT n FROM x ORDER BY (SELECT max(v) ‸- 1 FROM z)`,
		`SELECT date(m, '+1 day') ‸- '2024-01-01' FROM (SELECT MEDIAN(came) AS m FROM stays) AS x`,
	} {
		before, _, _ := strings.Cut(text, "‸")
		e := refused(t, s, sqlerr.Unsupported, strings.Replace(text, "‸", "", 1))
		if e.Position != len([]rune(before))+1 || !strings.Contains(e.Hint, "julianday(x) - julianday(y)") {
			t.Errorf("%s: at %d: %v", text, e.Position, e)
		}
	}
	for _, text := range []string{`SELECT MEDIAN(came) > 20240301 FROM stays`, `SELECT ward FROM (SELECT ward, MEDIAN(came) AS m FROM stays GROUP BY ward) AS x WHERE 2024.5 <= m`} {
		refused(t, s, sqlerr.Invalid, text)
	}
	if n := len(entries(t, s.DB())); n != charged {
		t.Errorf("%d charges for statements that are refused", n-charged)
	}
	for text, want := range map[string]string{
		`SELECT julianday(MAX(came)) - julianday(MIN(came)) AS days, date(MIN(came), '+1 day') AS next FROM stays WHERE ward = 'B'`:                    `[[300 2024-01-05]]`,
		`SELECT substr(m, 1, 4) + 1 AS year, m || '!' AS text, m > '2024-01-01' AS late FROM (SELECT MIN(came) AS m FROM stays WHERE ward = 'B') AS x`: `[[2025 2024-01-04! 1]]`,
	} {
		if got := fmt.Sprint(must(t, s, text).Rows); got != want {
			t.Errorf("%s gives %s, want %s", text, got, want)
		}
	}
}

// TestDistinctOrdered compares the numbers of days, steps and exact numbers with SQLite's, from
// releases and bought. A release shows the values that are certain, which are all that many
// rows have.
func TestDistinctOrdered(t *testing.T) {
	t.Parallel()
	s, _ := forms(t)
	quieten(s.DB())
	columns := []struct{ name, of string }{{"came", "came"}, {"at", "at / 21600"}, {"cost", "min(39, CAST(cost / 2.5 AS INTEGER))"}, {"fee", "fee"}}
	want := make(map[string][]int64)
	raw := plain(t, s)
	for _, c := range columns {
		for _, ward := range []string{"A", "B", "C", "D"} {
			var n int64
			if err := raw.QueryRow(`SELECT COUNT(DISTINCT `+c.of+`) FROM raw WHERE ward = ?`, ward).Scan(&n); err != nil {
				t.Fatal(err)
			}
			want[c.name] = append(want[c.name], n)
		}
	}
	must(t, s, `SET accuracy = 20`)
	for _, c := range columns {
		r := must(t, s, `SELECT ward, COUNT(DISTINCT `+c.name+`) AS n, MARGIN(n) FROM stays GROUP BY ward ORDER BY ward`)
		for k, row := range r.Rows {
			if row[1] != want[c.name][k] || row[2].(float64) > 20 {
				t.Errorf("direct: %s in ward %v: %v, want %d", c.name, row[0], row, want[c.name][k])
			}
		}
		if again := must(t, s, `SELECT COUNT(DISTINCT `+c.name+`) FROM stays WHERE ward = 'A'`); again.Answer.Cost.Rho != 0 || again.Rows[0][0] != want[c.name][0] {
			t.Errorf("direct: a group of %s is %v for ρ = %g", c.name, again.Rows, again.Answer.Cost.Rho)
		}
	}
	must(t, s, `SET accuracy = default`)
	for i, c := range columns { // the noise is 0, and the margins are not
		must(t, s, fmt.Sprintf(`CREATE RELEASE r%d ON stays (ward, %s) USING PROJECTION WITH (epsilon = 30)`, i, c.name))
		must(t, s, fmt.Sprintf(`SET mechanism = r%d`, i))
		r := must(t, s, `SELECT ward, COUNT(DISTINCT `+c.name+`) AS n, LOW(n), HIGH(n) FROM stays GROUP BY ward ORDER BY ward`)
		for k, row := range r.Rows {
			if n := float64(want[c.name][k]); row[2].(float64) > n || row[3].(float64) < n || float64(row[1].(int64)) != row[2] {
				t.Errorf("a release: %s in ward %v: %v, want %g", c.name, row[0], row, n)
			}
		}
		if b := r.Rows[1]; c.name == "came" && (b[1] != int64(2) || b[3] != 2.0) { // two days with 250 rows each
			t.Errorf("a release: ward B came on %v days", b)
		}
	}
}

// TestStepsInSums compares sums, variances and correlations of numbers in steps with those of
// the rows, each of which counts as the middle of its step. There is no noise. The intervals
// hold what the rows' own numbers give. Without -long every third is asked.
func TestStepsInSums(t *testing.T) {
	t.Parallel()
	s, _ := forms(t)
	quieten(s.DB())
	must(t, s, `CREATE RELEASE r ON stays (cost, fee) USING PROJECTION WITH (epsilon = 30)`)
	raw := plain(t, s)
	const middle = `2.5 * min(39, CAST(cost / 2.5 AS INTEGER)) + 1.25`
	const middles = `(SELECT ` + middle + ` AS y, CAST(fee AS REAL) AS x FROM raw)`
	const means = `(SELECT avg(y) AS my, avg(x) AS mx, avg(y*y) AS yy, avg(x*x) AS xx, avg(x*y) AS xy FROM ` + middles + `)`
	asked := map[string]string{
		`SELECT SUM(cost) FROM stays`:                                       `SELECT sum(y) FROM ` + middles,
		`SELECT AVG(cost) FROM stays WHERE fee >= 2.5`:                      `SELECT avg(y) FROM ` + middles + ` WHERE x >= 2.5`,
		`SELECT SUM(fee) FROM stays WHERE cost < 50`:                        `SELECT sum(x) FROM ` + middles + ` WHERE y < 50`,
		`SELECT AVG(2 * cost - fee + 1) FROM stays`:                         `SELECT avg(2 * y - x + 1) FROM ` + middles,
		`SELECT SUM(cost * fee) FROM stays`:                                 `SELECT sum(x * y) FROM ` + middles,
		`SELECT AVG(CASE WHEN cost < 10 THEN fee ELSE cost END) FROM stays`: `SELECT avg(CASE WHEN y < 10 THEN x ELSE y END) FROM ` + middles,
		`SELECT VAR_POP(cost) FROM stays`:                                   `SELECT yy - my * my FROM ` + means,
		`SELECT COVAR_POP(cost, fee) FROM stays`:                            `SELECT xy - mx * my FROM ` + means,
		`SELECT CORR(cost, fee) FROM stays`:                                 `SELECT (xy - mx * my) / sqrt((xx - mx * mx) * (yy - my * my)) FROM ` + means,
		`SELECT REGR_SLOPE(cost, fee) FROM stays`:                           `SELECT (xy - mx * my) / (xx - mx * mx) FROM ` + means,
		`SELECT REGR_INTERCEPT(cost, fee) FROM stays`:                       `SELECT my - mx * (xy - mx * my) / (xx - mx * mx) FROM ` + means,
		`SELECT REGR_AVGX(cost, fee) FROM stays`:                            `SELECT mx FROM ` + means,
	}
	for _, text := range some(t, 3, slices.Sorted(maps.Keys(asked))) {
		by := asked[text]
		var want, own float64
		if err := raw.QueryRow(by).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if err := raw.QueryRow(strings.ReplaceAll(by, middle, `min(cost, 100.0)`)).Scan(&own); err != nil {
			t.Fatal(err)
		}
		r := must(t, s, text)
		got, _ := r.Rows[0][0].(float64)
		in, ok := r.Answer.Intervals[0][0].(engine.Interval)
		if math.Abs(got-want) > 1e-7*(1+math.Abs(want)) || !ok || min(want, own) < in.Low-1e-9 || max(want, own) > in.High+1e-9 {
			t.Errorf("%s is %v in %v, want %v and %v", text, r.Rows[0][0], r.Answer.Intervals[0][0], want, own)
		}
	}
}
