package engine_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpsql/accounting"
	"dpsql/engine"
)

// shardStatements are asked of both sides. Releases are named after their place
// in the list.
var shardStatements = []string{
	`CREATE RELEASE %s ON flights (dow, dep_hour, origin) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
	`CREATE RELEASE %s ON flights (dow, dep_hour, origin) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 4096, delta = 0)`,
	`CREATE RELEASE %s ON flights (dep_hour, origin, destination) USING PROJECTION WITH (epsilon = 1, delta = 1e-8, transform = sparse, rows = 16384, heavy = clip, clip = 20)`,
	`CREATE RELEASE %s ON flights (dow, dep_hour) USING PROJECTION WITH (epsilon = 1, transform = dense, rows = 64, delta = 1e-8)`,
	`CREATE RELEASE %s ON flights (dow, distance) USING PROJECTION WITH (epsilon = 1, memory = '64 KiB')`,                              // buys N̂
	`CREATE RELEASE %s ON flights (dow, origin_state) USING PROJECTION WITH (epsilon = 1, transform = sparse, rows = 1024, delta = 0)`, // fingerprints
	`CREATE RELEASE %s ON bookings USING PROJECTION WITH (epsilon = 1)`,
	`CREATE RELEASE %s ON bookings (class) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
	`CREATE MECHANISM %s ON flights (dow, dep_hour, origin) USING SMW WITH (epsilon = 20, max_updates = 5, queries = 30)`,
	`SET mechanism = direct`,
	`SET accuracy = 20`,
	`SELECT COUNT(*) FROM flights`,
	`SELECT COUNT(*) FROM flights WHERE origin = 'LAX' AND dep_hour BETWEEN 6 AND 9`,
	`SELECT COUNT(*) FROM flights WHERE origin = 'LAX' OR destination = 'LAX'`,
	`SELECT COUNT(*) FROM flights WHERE (dep_hour + distance) % 2 = 1`,
	`SELECT dow, COUNT(*) FROM flights WHERE destination IN ('ORD', 'ATL') GROUP BY dow ORDER BY dow`,
	`SET accuracy = 100000`,
	`SELECT SUM(distance) FROM flights WHERE dow = 'Sat'`,
	`SET accuracy = 50`,
	`SELECT COUNT(*) FROM bookings`,
	`SELECT COUNT(*) FROM bookings WHERE class IS NULL AND day < 20`,
	`SELECT class, COUNT(*) FROM bookings GROUP BY class`,
	`SET mechanism = r8`,
	`SET accuracy = default`,
	`SELECT COUNT(*) FROM flights WHERE dep_hour = 8`,
	`SELECT COUNT(*) FROM flights WHERE dow = 'Mon' AND origin = 'ORD'`,
	`SELECT COUNT(*) FROM flights WHERE dep_hour < 5`,
	`SHOW BUDGET`,
}

// TestShards runs what is said of rows on several servers on three of them: a
// coordinator and two shards.
func TestShards(t *testing.T) {
	t.Parallel()
	w := newWarehouse(t)
	t.Run("equal", w.equal)
	t.Run("plans", w.plans)
	t.Run("wire", w.wire)
	t.Run("faults", w.faults)
	t.Run("changes", w.changes)
	t.Run("apart", w.apart)
}

// equal asks the shards and an SQLite file the same, under the same random
// bits. All that is stored and answered must then be the same.
func (w *warehouse) equal(t *testing.T) {
	near, far := w.local(t), w.remote(t)
	for i, text := range shardStatements {
		name := fmt.Sprintf("r%d", i)
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, name)
		}
		here, there := must(t, near, text), must(t, far, text)
		if fmt.Sprint(here.Rows) != fmt.Sprint(there.Rows) {
			t.Errorf("%s\nthe file has   %s\nthe shards say %s", text, brief(here.Rows), brief(there.Rows))
		}
		if strings.HasPrefix(text, "CREATE RELEASE") && !bytes.Equal(payload(t, near, name), payload(t, far, name)) {
			t.Errorf("%s: another release", text)
		}
	}
	if here, there := charges(t, near), charges(t, far); !slices.Equal(here, there) {
		t.Errorf("the file was charged   %q\nthe shards %q", here, there)
	}
	if all := charges(t, far); len(all) < 15 || !strings.Contains(fmt.Sprint(all), "number of rows") {
		t.Errorf("charges %q: too few, or without the number of rows", all)
	}
}

// brief writes the first of the rows.
func brief(rows [][]any) string {
	text := fmt.Sprint(rows)
	return text[:min(len(text), 500)]
}

// charges returns what the ledger has, without its times, its hashes and the
// lines of cost 0 of the declarations, which name the source.
func charges(t *testing.T, s *engine.Session) (all []string) {
	t.Helper()
	for _, e := range entries(t, s.DB()) {
		if e.Amount == (accounting.Amount{}) {
			continue
		}
		all = append(all, fmt.Sprint(e.Kind, e.Action, e.Object, e.Amount))
	}
	return all
}

// plans holds what is sent to the shards, by the plans that the coordinator
// logs, to counts: whether a release has the column that spreads the rows or
// not, and for a direct answer.
func (w *warehouse) plans(t *testing.T) {
	s := w.remote(t)
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 100`)
	for _, text := range []string{
		`CREATE RELEASE grouped ON flights (dow, origin) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
		`CREATE RELEASE scattered ON flights (dow, dep_hour) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
		`SELECT COUNT(*) FROM flights WHERE destination = 'LAX' AND distance < 999`,
		`SELECT destination, COUNT(*) FROM flights WHERE dow = 'Sun' GROUP BY destination`,
	} {
		plans := w.plansOf(t, func() { must(t, s, text) })
		counts := 0
		for line := range strings.Lines(plans) {
			_, sent, _ := strings.Cut(line, "Remote SQL: ")
			if !strings.Contains(sent, "public.flights") {
				continue
			}
			if counts++; !strings.Contains(sent, "count(*)") {
				t.Errorf("%s\na shard is asked for rows: %s", text, sent)
			}
		}
		if side := strings.Count(plans, "Async Foreign Scan"); counts != len(w.Shard) || side != counts {
			t.Errorf("%s\n%d shards are asked, %d of them at a time:\n%s", text, counts, side, plans)
		}
	}
}

// wire holds the bytes that a build receives to those of its cells.
func (w *warehouse) wire(t *testing.T) {
	s := w.remote(t)
	const cells, each = 7 * 228, 64
	before := []int64{w.front.Sent(), w.Link[0].Sent() + w.Link[1].Sent()}
	must(t, s, `CREATE RELEASE grouped ON flights (dow, origin) USING PROJECTION WITH (epsilon = 1, transform = identity)`)
	after := []int64{w.front.Sent(), w.Link[0].Sent() + w.Link[1].Sent()}
	for i, name := range []string{"dpsql received", "the coordinator received"} {
		sent := after[i] - before[i]
		t.Logf("%s %d bytes for %d cells of %d rows", name, sent, cells, flightRows())
		if sent > cells*each+20_000 {
			t.Errorf("%s %d bytes: more than cells", name, sent)
		}
	}
}

// released names the releases of a database.
func released(t *testing.T, s *engine.Session) (names []string) {
	t.Helper()
	for _, row := range must(t, s, `SHOW RELEASES`).Rows {
		names = append(names, row[0].(string))
	}
	return names
}
