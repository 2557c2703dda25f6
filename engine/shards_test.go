package engine_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/schemas"
	"dpsql/internal/pgtest"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// shardStatements are run on both sides. A release is named after its place in the list.
var shardStatements = []string{
	`CREATE RELEASE %s ON flights (dow, dep_hour, origin) USING PROJECTION WITH (epsilon = 1, transform = identity, estimate = unbiased)`,
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

// TestShards checks on three servers, a coordinator and two shards, what the documentation
// promises for rows on several servers. It takes ten seconds of servers: with -long, or -run TestShards.
func TestShards(t *testing.T) {
	if !*long && !named() {
		t.Skip("three servers: with -long, or -run TestShards")
	}
	t.Parallel()
	w := newWarehouse(t)
	t.Run("equal", w.equal)
	t.Run("keys", w.keys)
	t.Run("plans", w.plans)
	t.Run("wire", w.wire)
	t.Run("faults", w.faults)
	t.Run("changes", w.changes)
	t.Run("apart", w.apart)
}

// equal runs the same statements on the shards and on an SQLite file, with the same random
// bits. Everything stored and answered must then be the same.
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

// keys measures marginals over published keys on both sides. Their noise has σ² < 0.02, and a
// cell a draw other than 0 with a probability below 1e-10, so the counts are the true ones.
func (w *warehouse) keys(t *testing.T) {
	near, far := w.local(t), w.remote(t)
	for _, text := range []string{
		`CREATE RELEASE states ON flights (origin_state) USING PROJECTION WITH (epsilon = 50, delta = 1e-8, rows = 1024, heavy = clip, clip = 1)`,
		`CREATE RELEASE low ON flights (dow, dep_hour, origin_state) USING MARGINALS WITH (epsilon = 200, delta = 1e-8, degree = 2, estimate = unbiased, keys = states)`,
		`SET mechanism = low`,
		`SELECT origin_state, COUNT(*) FROM flights WHERE origin_state IN ('CA', 'TX', 'IL') GROUP BY origin_state`,
		`SELECT COUNT(*) FROM flights WHERE origin_state = 'CA' AND dow = 'Sat'`,
		`SELECT COUNT(*) FROM flights WHERE origin_state NOT IN ('CA', 'TX') AND dep_hour < 9`,
		`SELECT COUNT(*) FROM flights`,
	} {
		here, there := must(t, near, text), must(t, far, text)
		if fmt.Sprint(here.Rows) != fmt.Sprint(there.Rows) {
			t.Errorf("%s\nthe file has   %s\nthe shards say %s", text, brief(here.Rows), brief(there.Rows))
		}
	}
}

// brief writes the first of the rows.
func brief(rows [][]any) string {
	text := fmt.Sprint(rows)
	return text[:min(len(text), 500)]
}

// charges returns the ledger without its times and hashes, and without the lines of cost 0
// of the declarations, which name the source.
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

// plans counts the rows that the shards send, in the plans that the coordinator logs: for
// releases with and without the column that spreads the rows, and for a direct answer.
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

// wire compares the bytes that a build receives with the size of its cells.
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

// releaseNames lists the releases of a database.
func releaseNames(t *testing.T, s *engine.Session) (names []string) {
	t.Helper()
	for _, row := range must(t, s, `SHOW RELEASES`).Rows {
		names = append(names, row[0].(string))
	}
	return names
}

// warehouse is a coordinator with two shards of flights and bookings.
type warehouse struct {
	*pgtest.Shards
	front *pgtest.Proxy // between dpsql and the coordinator
	file  string        // has the same flights
}

// flightRows is how many of the 300,000 flights the warehouse has.
func flightRows() int { return sized(0, 6_000, 300_000) }

// flightsFile writes the first flights into a file of a test's own.
func flightsFile(t *testing.T) string {
	t.Helper()
	packed, err := os.Open("../testdata/flights/flights.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	content, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	var some bytes.Buffer
	lines := bufio.NewScanner(content)
	for n := 0; n <= flightRows() && lines.Scan(); n++ { // and the header
		some.Write(lines.Bytes())
		some.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "flights.csv")
	if err := errors.Join(lines.Err(), os.WriteFile(path, some.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// bookings selects seven bookings for each of some 570 passengers, or 2,900 with -long, on 60 days.
func bookings(from string) string {
	return fmt.Sprintf(`SELECT i * 7919 %% %d, i * 31 %% 60, CASE i %% 3 WHEN 0 THEN 'A' WHEN 1 THEN 'B' ELSE NULL END FROM `,
		sized(0, 571, 2861)) + from
}

// bookingRows is how many of them there are.
func bookingRows() int { return sized(0, 4_000, 20_000) }

// amid is how many bytes of the flights' cells have come amid them.
func amid() int64 { return int64(sized(0, 20_000, 100_000)) }

func newWarehouse(t *testing.T) *warehouse {
	t.Helper()
	w := &warehouse{Shards: pgtest.Sharded(t, 2), file: flightsFile(t)}
	w.front = w.Cluster.Proxy(t)
	os.Setenv("SHARDS_DSN", w.front.DSN()) // t.Setenv would keep the test from being parallel; nothing else uses the name
	t.Cleanup(func() { os.Unsetenv("SHARDS_DSN") })
	w.Create(t, "flights", `date text, month integer, dow text, dep_hour integer, origin text, origin_state text,
		destination text, dest_state text, distance integer, delay integer`, "origin")
	file, err := os.Open(w.file)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w.Fill(t, "flights", file)
	w.Create(t, "bookings", "passenger bigint, day integer, class text", "passenger")
	w.Generate(t, "bookings", bookings(fmt.Sprintf("generate_series(1, %d) AS i", bookingRows())))
	return w
}

// flights are the private tables of both sides. In the file the tables are called raw.
const (
	declareFlights = `CREATE PRIVATE TABLE flights (dow TEXT IN ('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'),
		dep_hour INTEGER BETWEEN 0 AND 23, origin TEXT IN (SELECT iata FROM airports), destination TEXT IN (SELECT iata FROM airports),
		origin_state TEXT, distance INTEGER BETWEEN 0 AND 3000) FROM `
	declareBookings = `CREATE PRIVATE TABLE bookings (day INTEGER BETWEEN 0 AND 59, class TEXT IN ('A', 'B', NULL)) FROM `
	withBudget      = ` WITH (epsilon = 900, delta = 1e-6`
	withUnit        = withBudget + `, unit = passenger, max_rows = 3)`
)

// remote returns a session of a new file whose private tables are on the shards.
func (w *warehouse) remote(t *testing.T) *engine.Session {
	t.Helper()
	return w.remoteWith(t, "")
}

// remoteWith is remote with more options of the source.
func (w *warehouse) remoteWith(t *testing.T, options string) *engine.Session {
	t.Helper()
	s := airports(t)
	must(t, s, `CREATE SOURCE shards USING POSTGRES WITH (dsn_env = 'SHARDS_DSN'`+options+`)`)
	untilInTime(t, s, declareFlights+`shards.public.flights`+withBudget+`, placement = fixed)`)
	untilInTime(t, s, declareBookings+`shards.public.bookings`+withUnit)
	return s
}

// untilInTime runs a statement until the server does not stop it: a busy machine may take longer than the
// timeout of a source.
func untilInTime(t *testing.T, s *engine.Session, text string) {
	t.Helper()
	for range 20 {
		if _, err := s.Exec(t.Context(), text, nil); err == nil {
			return
		} else if sqlerr.CodeOf(err) != sqlerr.IO {
			t.Fatalf("%s\n%v", text, err)
		}
	}
	must(t, s, text)
}

// local returns a session of a new file that holds the same rows.
func (w *warehouse) local(t *testing.T) *engine.Session {
	t.Helper()
	s := airports(t)
	if _, err := s.Import(context.Background(), engine.Import{Path: w.file, Table: "raw_flights"}); err != nil {
		t.Fatal(err)
	}
	fill(t, s, `CREATE TABLE raw_bookings (passenger INTEGER, day INTEGER, class TEXT)`, `INSERT INTO raw_bookings `+bookings(numbers(bookingRows())))
	must(t, s, declareFlights+`raw_flights`+withBudget+`)`)
	must(t, s, declareBookings+`raw_bookings`+withUnit)
	return s
}

// airports returns a session of a new file with the public table airports. Its random bits
// come from a seed.
func airports(t *testing.T) *engine.Session {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "state.db"), engine.Options{}).NewSession()
	if _, err := s.Import(context.Background(), engine.Import{Path: "../testdata/flights/airports.csv", Table: "airports"}); err != nil {
		t.Fatal(err)
	}
	must(t, s, `CREATE PUBLIC TABLE airports`)
	fixed(s.DB(), 1)
	return s
}

// payload returns a release's stored form.
func payload(t *testing.T, s *engine.Session, name string) (stored []byte) {
	t.Helper()
	err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
		v, err := s.DB().View(context.Background())
		if err != nil {
			return err
		}
		stored, err = tx.ReleasePayload(v.Release(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// plansOf returns the plans that the coordinator logs while f runs.
func (w *warehouse) plansOf(t *testing.T, f func()) string {
	t.Helper()
	before, err := w.Log()
	if err != nil {
		t.Fatal(err)
	}
	f()
	after, err := w.Log()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(after, before)
}

// changes alters the tables behind the private tables, on the coordinator and on a shard.
func (w *warehouse) changes(t *testing.T) {
	const build = `CREATE RELEASE r ON seen (day) USING PROJECTION WITH (epsilon = 1)`
	for _, c := range []struct {
		name, made, changed string
		code                sqlerr.Code
		charges             int
	}{
		{"a column is dropped", `CREATE TABLE seen (day integer, class text)`, `ALTER TABLE seen DROP COLUMN class`, sqlerr.Unknown, 0},
		{"a type is changed", `CREATE TABLE seen (day integer, class text)`, `ALTER TABLE seen ALTER COLUMN class TYPE bytea USING class::bytea`, sqlerr.Unsupported, 0},
		{"a type is widened", `CREATE TABLE seen (day integer, class text)`, `ALTER TABLE seen ALTER COLUMN day TYPE bigint`, sqlerr.Invalid, 0},
		{"a view is replaced", `CREATE TABLE below (day integer, class text); CREATE VIEW seen AS SELECT * FROM below WHERE day < 30`,
			`CREATE OR REPLACE VIEW seen AS SELECT * FROM below`, sqlerr.Invalid, 0},
		{"a table is dropped", `CREATE TABLE seen (day integer, class text)`, `DROP TABLE seen`, sqlerr.Unknown, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.MustExec(t, c.made)
			defer w.MustExec(t, `DROP TABLE IF EXISTS below CASCADE; DROP TABLE IF EXISTS seen`)
			s := w.remote(t)
			must(t, s, `CREATE PRIVATE TABLE seen (day INTEGER BETWEEN 0 AND 59, class TEXT IN ('A', 'B', NULL)) FROM shards.public.seen WITH (epsilon = 2)`)
			m, declared := metered(s.DB()), len(entries(t, s.DB()))
			w.MustExec(t, c.changed)
			refused(t, s, c.code, build)
			if n := len(entries(t, s.DB())) - declared; n != c.charges || m.taken > oneRead || len(releaseNames(t, s)) > 0 {
				t.Errorf("%d lines, %d random bytes, %v stored", n, m.taken, releaseNames(t, s))
			}
		})
	}
	t.Run("a shard's column is dropped", w.changedShard)
}

// changedShard drops a column on a shard, unknown to the coordinator. The change is found
// only when the rows are read, after the charge. From then on the table is refused before
// a charge.
func (w *warehouse) changedShard(t *testing.T) {
	w.Create(t, "gone", "passenger bigint, day integer, class text", "passenger")
	w.Generate(t, "gone", bookings("generate_series(1, 1000) AS i"))
	s := w.remote(t)
	must(t, s, `CREATE PRIVATE TABLE gone (day INTEGER BETWEEN 0 AND 59) FROM shards.public.gone WITH (epsilon = 2, placement = fixed)`)
	m, declared := metered(s.DB()), len(entries(t, s.DB()))
	w.Shard[0].MustExec(t, `ALTER TABLE gone DROP COLUMN day`)
	for range 3 { // told once, for one charge
		refused(t, s, sqlerr.Invalid, `CREATE RELEASE r ON gone USING PROJECTION WITH (epsilon = 0.5)`)
		if n := len(entries(t, s.DB())) - declared; n != 2 || m.taken > oneRead || len(releaseNames(t, s)) > 0 { // it waits
			t.Errorf("%d lines, %d random bytes, %v stored", n, m.taken, releaseNames(t, s))
		}
	}
}

// apart declares rows of several servers. Without a unit this needs the curator's word
// that no row moves, and every statement that depends on it says so.
func (w *warehouse) apart(t *testing.T) {
	w.Create(t, "stays", "passenger bigint, day integer", "passenger")
	defer w.MustExec(t, `DROP TABLE stays`)
	s := w.remote(t)
	const declared = `CREATE PRIVATE TABLE stays (day INTEGER BETWEEN 0 AND 59) FROM shards.public.stays WITH (epsilon = 2, delta = 1e-6`
	e := refused(t, s, sqlerr.Invalid, declared+`)`)
	if !strings.Contains(e.Message, "several servers") || !strings.Contains(e.Hint, "max_rows = 1") || !strings.Contains(e.Hint, "placement = fixed") {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	warned := func(r *engine.Result) bool { return slices.Contains(r.Warnings, schemas.Moving) }
	if !warned(must(t, s, declared+`, placement = fixed)`)) {
		t.Error("the declaration does not say what it relies on")
	}
	for _, text := range []string{`EXPLAIN SELECT COUNT(*) FROM stays WHERE day = 3`, `EXPLAIN SELECT day, COUNT(*) FROM stays GROUP BY day`} {
		if !warned(must(t, s, text)) {
			t.Errorf("%s does not say what the table relies on", text)
		}
	}
	must(t, s, `DROP PRIVATE TABLE stays`)
	must(t, s, declared+`, placement = fixed)`)
	w.MustExec(t, `CREATE TABLE here (passenger bigint, day integer)`)
	defer w.MustExec(t, `DROP TABLE here`)
	must(t, s, `CREATE PRIVATE TABLE here (day INTEGER BETWEEN 0 AND 59) FROM shards.public.here WITH (epsilon = 2, delta = 1e-6, interactive = 1)`)
	w.MustExec(t, `CREATE FOREIGN TABLE there () INHERITS (here) SERVER shard0 OPTIONS (table_name 'stays')`)
	defer w.MustExec(t, `DROP FOREIGN TABLE there`)
	must(t, s, `SET accuracy = 200`)
	if e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM here WHERE day = 3`); !strings.Contains(e.Message, "changed since") {
		t.Error(e)
	}
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE airlines (iata TEXT) FROM airports WITH (epsilon = 2, placement = fixed)`)
	refused(t, s, sqlerr.Invalid, declared+`, unit = passenger, max_rows = 1, placement = fixed)`)
	if e := must(t, s, `EXPLAIN SELECT COUNT(*) FROM bookings WHERE day = 3`); warned(e) {
		t.Error("a table with a unit relies on no placement")
	}
}

// paid are statements that read rows, each under the first line that it writes into the
// ledger: a release, which reads many cells, and answers.
var paid = []struct{ name, text string }{
	{"release", `CREATE RELEASE r ON flights (dep_hour, origin, destination) USING PROJECTION WITH (epsilon = 1, delta = 0, transform = sparse, rows = 65536)`},
	{"direct", `SELECT COUNT(*) FROM flights WHERE destination = 'LAX' AND distance < 999`},
	{"groups", `SELECT destination, COUNT(*) FROM flights WHERE dow = 'Sun' GROUP BY destination`},
}

// fault is a failure of the servers while a statement runs.
type fault struct {
	name    string
	happen  func(t *testing.T, w *warehouse, cancel func()) (heal func())
	from    int // the statements that the fault hits, by their places in paid
	to      int
	short   int // the statement that it hits without -long; -1 for none
	limit   int // the source's limit for a statement; 0 for none
	code    sqlerr.Code
	charges int // lines of the ledger that the failed statement leaves
}

var shardFaults = []fault{
	{name: "a shard is down", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		stop(t, w.Shard[1])
		return func() { start(t, w.Shard[1]) }
	}, to: 3, short: 0, code: sqlerr.IO, charges: 0},
	{name: "a shard stops when it is asked", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		return w.stopAfter(t, w.Shard[1], 1)
	}, to: 3, short: -1, code: sqlerr.IO, charges: 0},
	{name: "a shard stops amid its cells", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		return w.stopAfter(t, w.Shard[1], amid())
	}, to: 1, short: -1, code: sqlerr.IO, charges: 1}, // fewer cells come at once
	{name: "the coordinator stops amid the cells", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		return w.stopAfter(t, w.Cluster, amid())
	}, to: 1, short: -1, code: sqlerr.IO, charges: 1},
	{name: "the coordinator is down", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		stop(t, w.Cluster)
		return func() { start(t, w.Cluster) }
	}, to: 3, short: -1, code: sqlerr.IO, charges: 0},
	{name: "a slow shard and a cancellation", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		w.Link[1].Delay(500 * time.Millisecond)
		wait := w.afterBytes(t, 1, cancel)
		return func() { wait(); w.quick() }
	}, to: 3, short: 0, code: sqlerr.Cancelled, charges: 0},
	{name: "a slow shard and the source's timeout", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		w.Link[1].Delay(6 * time.Second)
		return w.quick
	}, from: 1, to: 3, short: -1, limit: 5, code: sqlerr.IO, charges: 0}, // a whole answer takes a second or two
	{name: "a slow shard and a longer timeout", happen: func(t *testing.T, w *warehouse, cancel func()) func() {
		w.Link[1].Delay(3 * time.Second)
		return w.quick
	}, to: 1, short: -1, limit: 4, code: sqlerr.IO, charges: 0},
}

// stopAfter stops a server after more bytes from the second shard.
func (w *warehouse) stopAfter(t *testing.T, c *pgtest.Cluster, more int64) (heal func()) {
	wait := w.afterBytes(t, more, func() { stop(t, c) })
	return func() { wait(); start(t, c) }
}

func (w *warehouse) quick() { w.Link[1].Delay(0) }

func stop(t *testing.T, c *pgtest.Cluster) {
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

func start(t *testing.T, c *pgtest.Cluster) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}

// afterBytes calls f after more bytes from the second shard. It passes on the last
// of them when f has returned.
func (w *warehouse) afterBytes(t *testing.T, more int64, f func()) (wait func()) {
	done := make(chan struct{})
	w.Link[1].CallAfter(more, func() { f(); close(done) })
	return func() {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Errorf("the shard has not sent %d bytes", more)
		}
	}
}

// meter counts the random bytes that a database has taken.
type meter struct {
	from  io.Reader
	taken int
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.taken += n
	return n, err
}

func metered(db *engine.DB) *meter {
	m := &meter{from: rand.NewChaCha8([32]byte{1})}
	db.SetRandom(func() *noise.Source { return noise.NewSourceFrom(m) })
	return m
}

// oneRead is the number of bytes that a source of random bits takes at a time. A release
// takes one for its public hash function before it reads any row.
const oneRead = 1 << 13

// faults checks each statement under each fault. If the shards cannot even be asked for
// their schema, nothing is charged. Otherwise the charge comes first, once, and then an
// error that names the fault: no noise, nothing stored. After the servers are back the
// statement is charged again and answered. By default two of the faults hit one
// statement each, since TestPostgresStops and its neighbours try the others on one server, and with
// -long each hits all.
func (w *warehouse) faults(t *testing.T) {
	for _, f := range shardFaults {
		for i, p := range paid {
			if i < f.from || i >= f.to || !*long && i != f.short {
				continue
			}
			t.Run(f.name+"/"+p.name, func(t *testing.T) { w.fault(t, f, p.text) })
		}
	}
	t.Run("a connection is cut once", w.cutOnce)
}

func (w *warehouse) fault(t *testing.T, f fault, text string) {
	options := ""
	if f.limit > 0 {
		options = fmt.Sprintf(", timeout = %d", f.limit)
	}
	s := w.remoteWith(t, options)
	must(t, s, `SET mechanism = direct`)
	must(t, s, `SET accuracy = 100`)
	m, declared := metered(s.DB()), len(entries(t, s.DB()))
	ctx, cancel := context.WithCancel(context.Background())
	heal := f.happen(t, w, cancel)
	r, err := s.Exec(ctx, text, nil)
	cancel()
	heal()
	if sqlerr.CodeOf(err) != f.code {
		t.Errorf("%v, %v; want %s", r, err, f.code)
	}
	lines := func() (charges, others int) {
		for _, e := range entries(t, s.DB())[declared:] {
			if e.Amount == (accounting.Amount{}) {
				others++
			} else {
				charges++
			}
		}
		return charges, others
	}
	if charges, waits := lines(); charges != f.charges || waits != f.charges {
		t.Errorf("%d charges and %d that wait in the ledger, want %d", charges, waits, f.charges)
	}
	if m.taken > oneRead || m.taken > 0 && text[0] == 'S' {
		t.Errorf("%d random bytes were taken for a statement that failed", m.taken)
	}
	if names := releaseNames(t, s); len(names) > 0 {
		t.Errorf("%v are stored", names)
	}
	untilInTime(t, s, text)
	if charges, _ := lines(); charges != 1 { // it is charged, or what waits serves
		t.Errorf("%d charges in the ledger after the answer", charges)
	}
	if m.taken == 0 {
		t.Error("an answer without random bytes")
	}
}

// cutOnce loses the connection to the coordinator in the middle of the cells. Nothing has
// been drawn by then. So the build reads again, and the release is the same as without the
// fault.
func (w *warehouse) cutOnce(t *testing.T) {
	var stored [2][]byte
	for i := range stored {
		s := w.remote(t)
		declared := len(entries(t, s.DB()))
		if i == 1 {
			w.front.CutAfter(2 * amid())
		}
		before := w.front.Sent()
		must(t, s, paid[0].text)
		if i == 1 && w.front.Sent() < before+4*amid() {
			t.Errorf("%d bytes came: no cut and another read", w.front.Sent()-before)
		}
		if n := len(entries(t, s.DB())) - declared; n != 1 {
			t.Errorf("%d lines in the ledger", n)
		}
		stored[i] = payload(t, s, "r")
	}
	if !bytes.Equal(stored[0], stored[1]) {
		t.Error("another release after a cut")
	}
}
