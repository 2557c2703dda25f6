package engine_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/pgtest"
)

// reached returns the row rows of EXPLAIN, and "" if there is none.
func reached(t *testing.T, r [][]any) string {
	t.Helper()
	for _, row := range r {
		if row[0] == "rows" {
			return row[len(row)-1].(string)
		}
	}
	return ""
}

// TestExplainSaysHowRowsAreReached: by an index on the period's column, or by none, with the one
// that is missing; and not where nothing is read.
func TestExplainSaysHowRowsAreReached(t *testing.T) {
	t.Parallel()
	s, _ := growing(t, "")
	const month, both = `SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-10-01' AND '2026-10-31'`, `SELECT sex, COUNT(*) FROM visits WHERE visited BETWEEN '2026-09-01' AND '2026-10-31' GROUP BY sex`
	const hint = `CREATE INDEX "raw_visits_visited" ON "raw_visits" ("visited")`
	explain := func(text, want string) {
		t.Helper()
		if got := reached(t, must(t, s, "EXPLAIN "+text).Rows); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	explain(month, "whole table; "+hint+" would let it read 2026-10 alone")
	explain(both, "whole table; "+hint+" would let it read 2026-09 to 2026-10 alone")
	explain(`SELECT COUNT(*) FROM visits`, "whole table")
	made := must(t, s, `CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.4) EACH PERIOD`)
	if want := "REFRESH reads the whole table for each part; " + hint + " would let it read one month alone"; !slices.Contains(made.Warnings, want) {
		t.Errorf("warnings %q, want %q", made.Warnings, want)
	}
	fill(t, s, hint)
	explain(month, "index raw_visits_visited")
	explain(both, "index raw_visits_visited")
	if made := must(t, s, `CREATE RELEASE again ON visits (sex) USING PROJECTION WITH (epsilon = 0.4) EACH PERIOD`); strings.Contains(strings.Join(made.Warnings, ""), "REFRESH") {
		t.Errorf("warnings %q with an index", made.Warnings)
	}
	must(t, s, "SET accuracy = 100")
	must(t, s, month)
	explain(month, "")
}

// TestExplainSaysHowAServerReachesRows: by partitions, through a view as well, or by none.
func TestExplainSaysHowAServerReachesRows(t *testing.T) {
	t.Parallel()
	c := pgtest.SharedDatabase(t)
	c.MustExec(t, `CREATE TABLE raw_visits (sex text, visited date) PARTITION BY RANGE (visited); CREATE TABLE later PARTITION OF raw_visits DEFAULT;
		CREATE VIEW women AS SELECT sex, visited AS came FROM raw_visits WHERE sex = 'F'; CREATE TABLE other_visits (sex text, visited date)`)
	s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
	s.DB().SetNow(func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) })
	must(t, s, warehouseOf(t, c))
	must(t, s, `SET accuracy = 100`)
	for _, table := range []struct{ source, column, want string }{
		{"raw_visits", "visited", "partitions of raw_visits"}, {"women", "came", "partitions of raw_visits"},
		{"other_visits", "visited", `whole table; CREATE INDEX ON "public"."other_visits" ("visited") would let it read 2026-10 alone`},
	} {
		must(t, s, `CREATE PRIVATE TABLE my_`+table.source+` (sex TEXT IN ('F', 'M'), `+table.column+` DATE BETWEEN '2026-01-01' AND '2027-12-31')
			FROM warehouse.public.`+table.source+` WITH (epsilon = 4, delta = 1e-6, period = 'month of `+table.column+`')`)
		if got := reached(t, must(t, s, `EXPLAIN SELECT COUNT(*) FROM my_`+table.source+` WHERE `+table.column+` BETWEEN '2026-10-01' AND '2026-10-31'`).Rows); got != table.want {
			t.Errorf("%s: %q, want %q", table.source, got, table.want)
		}
	}
}

// TestOnlyTheRowsOfAPeriodAreRead asks the server which partitions were scanned for releases and
// direct answers of one month.
func TestOnlyTheRowsOfAPeriodAreRead(t *testing.T) {
	t.Parallel()
	c := pgtest.SharedDatabase(t)
	partitions := ""
	for month := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); month.Year() < 2028; month = month.AddDate(0, 1, 0) {
		partitions += fmt.Sprintf("CREATE TABLE %s PARTITION OF raw_visits FOR VALUES FROM ('%s') TO ('%s');", month.Format("m2006_01"), month.Format(time.DateOnly), month.AddDate(0, 1, 0).Format(time.DateOnly))
	}
	c.MustExec(t, `CREATE TABLE raw_visits (patient int, sex text, age int, visited date) PARTITION BY RANGE (visited);`+partitions+`
		INSERT INTO raw_visits SELECT i % 97, CASE i % 2 WHEN 0 THEN 'F' ELSE 'M' END, i % 50, '2026-01-01'::date + i % 700 FROM generate_series(0, 20000) AS i`)
	ask := func(text string) string {
		out, err := c.Exec(text)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	for _, unit := range []string{"", ", unit = patient, max_rows = 3"} {
		db := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{})
		s := db.NewSession()
		db.SetNow(func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) })
		for _, text := range []string{
			warehouseOf(t, c),
			`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99, visited DATE BETWEEN '2026-01-01' AND '2027-12-31')
				FROM warehouse.public.raw_visits WITH (epsilon = 40, delta = 1e-6, period = 'month of visited'` + unit + `)`,
			`CREATE RELEASE monthly ON visits (sex) USING PROJECTION WITH (epsilon = 0.4) EACH PERIOD`,
			`REFRESH RELEASE monthly PERIOD '2026-10'`,
			`CREATE RELEASE one ON visits (sex, age) USING MARGINALS WITH (epsilon = 1, period = '2026-10')`,
			`CREATE MECHANISM live ON visits (sex, age) USING SMW WITH (epsilon = 1, max_updates = 3, period = '2026-10')`,
			`SET accuracy = 200`,
			`SET mechanism = direct`,
			`SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2026-10-01' AND '2026-10-31' AND age < 30`,
			`SELECT sex, COUNT(*), AVG(age) FROM visits WHERE visited BETWEEN '2026-10-05' AND '2026-10-31' GROUP BY sex`,
			`SELECT MEDIAN(age) FROM visits WHERE visited = '2026-10-05' OR visited = '2026-10-06'`,
		} {
			must(t, s, text)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		// A connection tells what it scanned before it ends.
		for ask(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`) != "0" {
			time.Sleep(20 * time.Millisecond)
		}
		got := ask(`SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_stat_user_tables WHERE relname LIKE 'm20%' AND seq_scan + coalesce(idx_scan, 0) > 0`)
		if got != "m2026_10" {
			t.Errorf("the partitions %q were scanned, want m2026_10%s", got, unit)
		}
		c.MustExec(t, `SELECT pg_stat_reset()`)
	}
}
