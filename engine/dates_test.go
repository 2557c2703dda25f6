package engine_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"dpsql/engine"
)

// TestCurrentDate holds that a statement has one date, that of its beginning, wherever it
// stands in it.
func TestCurrentDate(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "days.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_days AS SELECT '2024-02-28' AS d UNION ALL SELECT '2024-02-29' UNION ALL SELECT '2024-03-01' UNION ALL SELECT '2024-02-30'`)
	must(t, s, `CREATE PRIVATE TABLE days (d DATE BETWEEN '2024-01-01' AND '2024-12-31') FROM raw_days WITH (epsilon = 2)`)
	must(t, s, `CREATE RELEASE r ON days USING PROJECTION WITH (epsilon = 1)`)
	calls := 0
	db.SetNow(func() time.Time {
		calls++
		return time.Date(2024, 2, 28+calls, 23, 59, 59, 0, time.UTC)
	})
	for _, want := range []string{"[[1 1 1]]", "[[2 1 2]]"} { // the 29th, then March 1st
		r := must(t, s, `SELECT COUNT(*) FILTER (WHERE d < CURRENT_DATE) AS before, COUNT(*) FILTER (WHERE d = date('now')) AS today,
			COUNT(*) FILTER (WHERE d <= CURRENT_DATE - INTERVAL '1 day') AS yesterday FROM days`)
		if got := fmt.Sprint(r.Rows); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if calls != 2 {
		t.Errorf("two statements read the clock %d times", calls)
	}
}
