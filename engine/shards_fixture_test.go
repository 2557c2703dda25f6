package engine_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/pgtest"
)

// warehouse is a coordinator with two shards of flights and bookings.
type warehouse struct {
	*pgtest.Shards
	front *pgtest.Proxy // between dpsql and the coordinator
	file  string        // has the same flights
}

// flightRows is how many of the 300,000 flights the warehouse has.
func flightRows() int { return sized(0, 30_000, 300_000) }

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

// bookings are seven of each of some 2,900 passengers, on 60 days.
const bookings = `SELECT i * 7919 % 2861, i * 31 % 60, CASE i % 3 WHEN 0 THEN 'A' WHEN 1 THEN 'B' ELSE NULL END FROM `

const bookingRows = 20_000

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
	w.Generate(t, "bookings", bookings+"generate_series(1, 20000) AS i")
	return w
}

// flights are the private tables of both sides; those of the file are called
// raw there.
const (
	declareFlights = `CREATE PRIVATE TABLE flights (dow TEXT IN ('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'),
		dep_hour INTEGER BETWEEN 0 AND 23, origin TEXT IN (SELECT iata FROM airports), destination TEXT IN (SELECT iata FROM airports),
		origin_state TEXT, distance INTEGER BETWEEN 0 AND 3000) FROM `
	declareBookings = `CREATE PRIVATE TABLE bookings (day INTEGER BETWEEN 0 AND 59, class TEXT IN ('A', 'B', NULL)) FROM `
	withBudget      = ` WITH (epsilon = 900, delta = 1e-6`
	withUnit        = withBudget + `, unit = passenger, max_rows = 3)`
)

// remote returns a session of a new file whose private tables are the shards'.
func (w *warehouse) remote(t *testing.T) *engine.Session {
	t.Helper()
	return w.remoteWith(t, "")
}

// remoteWith is remote with more options of the source.
func (w *warehouse) remoteWith(t *testing.T, options string) *engine.Session {
	t.Helper()
	s := airports(t)
	must(t, s, `CREATE SOURCE shards USING POSTGRES WITH (dsn_env = 'SHARDS_DSN'`+options+`)`)
	must(t, s, declareFlights+`shards.public.flights`+withBudget+`, placement = fixed)`)
	must(t, s, declareBookings+`shards.public.bookings`+withUnit)
	return s
}

// local returns a session of a new file that has the same rows itself.
func (w *warehouse) local(t *testing.T) *engine.Session {
	t.Helper()
	s := airports(t)
	if _, err := s.Import(context.Background(), engine.Import{Path: w.file, Table: "raw_flights"}); err != nil {
		t.Fatal(err)
	}
	fill(t, s, `CREATE TABLE raw_bookings (passenger INTEGER, day INTEGER, class TEXT)`, `INSERT INTO raw_bookings `+bookings+numbers(bookingRows))
	must(t, s, declareFlights+`raw_flights`+withBudget+`)`)
	must(t, s, declareBookings+`raw_bookings`+withUnit)
	return s
}

// airports returns a session of a new file with the public table of that name,
// whose random bits are those of a seed.
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

// payload returns a release as it is stored.
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
