package server_test

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dpsql/engine"
	"dpsql/server"
)

// visit is a row of testdata/visits.
type visit struct{ day, seen time.Time }

// visits loads the invented rows of testdata/visits and declares releases of their days and moments at an ε at which noise
// is 0 but with probability below 1e-20.
func visits(t *testing.T, db *engine.DB) (all []visit) {
	const path = "../testdata/visits/visits.csv"
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records[1:] {
		day, err := time.Parse(time.DateOnly, r[1])
		if err != nil {
			t.Fatal(err)
		}
		seen, err := time.Parse(time.DateTime, r[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, visit{day, seen})
	}
	s := db.NewSession()
	absolute, _ := filepath.Abs(path)
	if _, err := s.Import(t.Context(), engine.Import{Path: absolute, Table: "raw_moments"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`CREATE PRIVATE TABLE moments (day DATE BETWEEN '2023-01-01' AND '2023-12-31', seen TIMESTAMP BETWEEN '2023-01-01' AND '2023-01-28 23:00' STEP '1 hour')
		FROM raw_moments WITH (epsilon = 400, delta = 1e-6)`, `CREATE RELEASE by_day ON moments (day) USING PROJECTION WITH (epsilon = 60)`,
		`CREATE RELEASE by_seen ON moments (seen) USING PROJECTION WITH (epsilon = 60)`, `GRANT SELECT ON moments TO ana WITH (rho = 0.1)`} {
		if _, err := s.Exec(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestTruncatedOverTheWire: what date_trunc returns is a timestamp in both formats, in an aggregate and around it.
func TestTruncatedOverTheWire(t *testing.T) {
	t.Parallel()
	url, _ := start(t, func(c *server.Config) { visits(t, c.Database) })
	c := connect(t, url)
	const grouped = `SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM moments GROUP BY 1`
	for text, want := range map[string]string{
		grouped + ` ORDER BY 1 LIMIT 1`:                                                                   "2023-01-01 00:00:00",
		`SELECT m, n + 1 FROM (` + grouped + `) AS q ORDER BY 1 LIMIT 1`:                                  "2023-01-01 00:00:00",
		`SELECT MIN(m) FROM (` + grouped + `) AS q`:                                                       "2023-01-01 00:00:00",
		`SELECT date_trunc('day', TIMESTAMP '2023-01-01 10:00'), COUNT(*) > 0 FROM moments`:               "2023-01-01 00:00:00",
		`SELECT m + INTERVAL '1 month' FROM (` + grouped + `) AS q ORDER BY m - INTERVAL '1 day' LIMIT 1`: "2023-02-01 00:00:00",
	} {
		for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
			r := c.PgConn().ExecParams(t.Context(), text, nil, nil, nil, []int16{format}).Read()
			if r.Err != nil {
				t.Errorf("%s: %v", text, r.Err)
				continue
			}
			var at time.Time
			if err := c.TypeMap().Scan(pgtype.TimestampOID, format, r.Rows[0][0], &at); err != nil || r.FieldDescriptions[0].DataTypeOID != pgtype.TimestampOID || at.Format(time.DateTime) != want {
				t.Errorf("%s in format %d: %v of type %d, want %s (%v)", text, format, at, r.FieldDescriptions[0].DataTypeOID, want, err)
			}
		}
	}
}

// TestZonedOverTheWire: a client sends what is cast to timestamptz with its zone, and $1::time as a time.
func TestZonedOverTheWire(t *testing.T) {
	t.Parallel()
	var all []visit
	url, _ := start(t, func(c *server.Config) { all = visits(t, c.Database) })
	c := connect(t, url)
	at := time.Date(2023, 1, 6, 10, 0, 0, 0, time.UTC)
	later, equal := int64(0), int64(0)
	for _, v := range all {
		if !v.seen.Before(at) {
			later++
		}
		if v.seen.Equal(at) {
			equal++
		}
	}
	there := at.In(time.FixedZone("", 5*60*60))
	for _, x := range []struct {
		where string
		arg   any
		oid   uint32
		want  int64
	}{
		{"seen >= $1::timestamptz", there, pgtype.TimestamptzOID, later},
		{"seen >= CAST($1 AS timestamp with time zone)", there, pgtype.TimestamptzOID, later},
		{"seen = ANY($1::timestamptz[])", []time.Time{there}, pgtype.TimestamptzArrayOID, equal},
		{"seen >= $1::timestamp", at, pgtype.TimestampOID, later},
		{"seen::time >= $1::time", "0:00 AM", pgtype.TimeOID, int64(len(all))},
	} {
		described, err := c.Prepare(t.Context(), x.where, "SELECT COUNT(*) FROM moments WHERE "+x.where)
		if err != nil || described.ParamOIDs[0] != x.oid {
			t.Errorf("%s: %v, %v", x.where, described, err)
			continue
		}
		got := int64(-1)
		if err := c.QueryRow(t.Context(), x.where, x.arg).Scan(&got); err != nil || got != x.want {
			t.Errorf("%s: %d, want %d (%v)", x.where, got, x.want, err)
		}
	}
}

// TestMomentsOverTheWire compares dates and moments with parameters of each type that clients send, in both formats and
// protocols. The counts are those of the rows themselves: a date is the moment at which its day begins. A text, and a
// parameter without a type, has that of the other side, as in PostgreSQL, where date_trunc of a date is a moment, too.
func TestMomentsOverTheWire(t *testing.T) {
	t.Parallel()
	var all []visit
	url, _ := start(t, func(c *server.Config) { all = visits(t, c.Database) })
	c := connect(t, url)
	day, seen := func(v visit) time.Time { return v.day }, func(v visit) time.Time { return v.seen }
	trunc := func(of func(visit) time.Time, d time.Duration) func(visit) time.Time {
		return func(v visit) time.Time { return of(v).Truncate(d) }
	}
	month := func(v visit) time.Time { return v.day.AddDate(0, 0, 1-v.day.Day()) }
	const grouped = `SELECT COALESCE(SUM(n), 0) FROM (SELECT %s AS m, COUNT(*) AS n FROM moments GROUP BY 1) AS q WHERE m`
	const wholeDay, days = 24 * time.Hour, `date_trunc('day', seen)`
	turn := map[string]int{">=": 0, "<": 1, "=": 2}
	for number, x := range []struct {
		text string
		of   func(visit) time.Time
		oid  uint32 // as which the parameter is described
	}{
		{`SELECT COUNT(*) FROM moments WHERE day`, day, pgtype.DateOID},
		{`SELECT COUNT(*) FROM moments WHERE seen`, seen, pgtype.TimestampOID},
		{`SELECT COUNT(*) FROM moments WHERE seen::date`, trunc(seen, wholeDay), pgtype.DateOID},
		{`SELECT COUNT(*) FROM moments WHERE date_trunc('minute', seen)`, seen, pgtype.TimestampOID},
		{`SELECT COUNT(*) FROM moments WHERE date_trunc('hour', seen)`, trunc(seen, time.Hour), pgtype.TimestampOID},
		{`SELECT COUNT(*) FROM moments WHERE ` + days, trunc(seen, wholeDay), pgtype.TimestampOID},
		{`SELECT COUNT(*) FROM moments WHERE date_trunc('month', day)`, month, pgtype.TimestampOID},
		{fmt.Sprintf(grouped, `date_trunc('month', day)`), month, pgtype.TimestampOID},
		{fmt.Sprintf(grouped, `date_trunc('hour', seen)`), trunc(seen, time.Hour), pgtype.TimestampOID},
	} {
		for relation, holds := range map[string]func(sign int) bool{">=": func(s int) bool { return s >= 0 }, "<": func(s int) bool { return s < 0 }, "=": func(s int) bool { return s == 0 }} {
			text := x.text + " " + relation + " $1"
			described, err := c.Prepare(t.Context(), text, text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if described.ParamOIDs[0] != x.oid {
				t.Errorf("%s: its parameter has type %d, want %d", text, described.ParamOIDs[0], x.oid)
			}
			for i, at := range []time.Time{time.Date(2023, 1, 6, 0, 0, 0, 0, time.UTC), time.Date(2023, 1, 6, 10, 0, 0, 0, time.UTC), time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2023, 3, 1, 0, 0, 0, 0, time.UTC)} {
				want := func(at time.Time) (n int64) {
					for _, v := range all {
						if holds(x.of(v).Compare(at)) {
							n++
						}
					}
					return n
				}
				check := func(how string, got int64, err error, at time.Time) {
					if want := want(at); err != nil || got != want {
						t.Errorf("%s with %v as %s: %d, want %d (%v)", text, at, how, got, want, err)
					}
				}
				if !*long && (number+turn[relation]+i)%8 != 0 {
					continue // half of them, at one of the four moments, each in its turn
				}
				midnight := at.Truncate(wholeDay)
				for _, p := range []struct {
					oid    uint32
					format int16
					raw    []byte
					at     time.Time
				}{
					{pgtype.DateOID, 0, []byte(at.Format(time.DateOnly)), midnight},
					{pgtype.DateOID, 1, binary.BigEndian.AppendUint32(nil, uint32(midnight.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))/wholeDay)), midnight},
					{pgtype.TimestampOID, 0, []byte(at.Format(time.DateTime)), at},
					{pgtype.TimestampOID, 1, binary.BigEndian.AppendUint64(nil, uint64(at.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Microseconds())), at},
					{pgtype.TextOID, 0, []byte(at.Format("2006-01-02T15:04:05Z")), at},
					{pgtype.TextOID, 1, []byte(at.Format(time.DateTime)), at},
				} {
					r := c.PgConn().ExecParams(t.Context(), text, [][]byte{p.raw}, []uint32{p.oid}, []int16{p.format}, nil).Read()
					got := int64(-1)
					if r.Err == nil && len(r.Rows) == 1 {
						fmt.Sscan(string(r.Rows[0][0]), &got)
					}
					check(fmt.Sprintf("type %d in format %d", p.oid, p.format), got, r.Err, p.at)
				}
				got := int64(-1)
				err := c.QueryRow(t.Context(), text, at).Scan(&got)
				asDescribed := at
				if x.oid == pgtype.DateOID {
					asDescribed = midnight
				}
				check("it is described", got, err, asDescribed)
				err = c.QueryRow(t.Context(), text, pgx.QueryExecModeSimpleProtocol, at.Format(time.DateTime)).Scan(&got)
				check("text in the simple protocol", got, err, asDescribed)
				err = c.QueryRow(t.Context(), strings.Replace(text, "$1", "'"+at.Format(time.DateTime)+"'::timestamp", 1), pgx.QueryExecModeSimpleProtocol).Scan(&got)
				check("a moment in the simple protocol", got, err, at)
			}
		}
	}
}
