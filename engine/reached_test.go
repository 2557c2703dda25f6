package engine_test

import (
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
