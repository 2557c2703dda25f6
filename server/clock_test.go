package server_test

import (
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

// clockHours declares a table with a time of day, of which there are 40 rows in each hour, and a release of it.
func clockHours(t *testing.T, c *server.Config) {
	s := c.Database.NewSession()
	var rows strings.Builder
	for i := range 960 {
		rows.WriteString("\n" + time.UnixMicro(int64(i)*90e6).UTC().Format(time.TimeOnly))
	}
	path := filepath.Join(t.TempDir(), "shifts.csv")
	if err := os.WriteFile(path, []byte("began"+rows.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), engine.Import{Path: path, Table: "raw_shifts"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`CREATE PRIVATE TABLE shifts (began TIME STEP '15 minutes' OR NULL) FROM raw_shifts WITH (epsilon = 400, delta = 1e-6)`,
		`CREATE RELEASE by_time ON shifts USING PROJECTION WITH (epsilon = 60)`, `GRANT SELECT ON shifts TO ana WITH (rho = 0.1)`} {
		if _, err := s.Exec(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTimesOverTheWire: a time of day is of PostgreSQL's type time, in results, parameters and the catalog.
func TestTimesOverTheWire(t *testing.T) {
	t.Parallel()
	url, _ := start(t, func(c *server.Config) { clockHours(t, c) })
	c := connect(t, url)
	const grouped = `SELECT date_trunc('hour', began) AS h, COUNT(*) AS n FROM shifts WHERE began IS NOT NULL GROUP BY 1`
	for text, want := range map[string]string{
		grouped + ` HAVING date_trunc('hour', began) = '9:00'`:                            "09:00:00",
		`SELECT h FROM (` + grouped + `) AS q WHERE h > '9:30' ORDER BY 1`:                "10:00:00",
		`SELECT MAX(h) FROM (` + grouped + `) AS q`:                                       "23:00:00",
		`SELECT began FROM shifts WHERE began >= '9:15 PM' GROUP BY began ORDER BY began`: "21:15:00",
		`SELECT date_trunc('hour', TIME '9:27'), COUNT(*) > 0 FROM shifts`:                "09:00:00",
	} {
		for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
			r := c.PgConn().ExecParams(t.Context(), text, nil, nil, nil, []int16{format}).Read()
			if r.Err != nil {
				t.Errorf("%s: %v", text, r.Err)
				continue
			}
			var at pgtype.Time
			if err := c.TypeMap().Scan(pgtype.TimeOID, format, r.Rows[0][0], &at); err != nil || r.FieldDescriptions[0].DataTypeOID != pgtype.TimeOID || r.FieldDescriptions[0].DataTypeSize != 8 ||
				time.UnixMicro(at.Microseconds).UTC().Format(time.TimeOnly) != want {
				t.Errorf("%s in format %d: %v of type %d, want %s (%v)", text, format, at, r.FieldDescriptions[0].DataTypeOID, want, err)
			}
		}
	}
	nine := pgtype.Time{Microseconds: 9 * 3600e6, Valid: true}
	for text, want := range map[string]int64{
		`SELECT COUNT(*) FROM shifts WHERE began < $1`: 360, `SELECT COUNT(*) FROM shifts WHERE date_trunc('hour', began) = $1`: 40, `SELECT COUNT(*) FROM shifts WHERE $1 <= began`: 600,
		`SELECT SUM(n) FROM (` + grouped + `) AS q WHERE h = $1`: 40, `SELECT COUNT(*) FROM shifts WHERE began = ANY($1)`: 10,
	} {
		var arg any = nine
		if strings.Contains(text, "ANY") {
			arg = []pgtype.Time{nine}
		}
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheStatement} {
			var got int64
			if err := c.QueryRow(t.Context(), text, mode, arg).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %d, want %d (%v)", text, got, want, err)
			}
		}
	}
	for text, want := range map[string]string{
		`SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'shifts'::regclass AND attname = 'began'`: "time without time zone",
		`SELECT data_type FROM information_schema.columns WHERE table_name = 'shifts'`:                                        "time without time zone",
		`SELECT CAST(datetime_precision AS text) FROM information_schema.columns WHERE table_name = 'shifts'`:                 "6",
	} {
		var got string
		if err := c.QueryRow(t.Context(), text).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s, want %s (%v)", text, got, want, err)
		}
	}
	for _, sent := range []string{"09:00", "9:00:00", "09:00:00+01", "09:00:00.000000-05:30"} {
		if r := c.PgConn().ExecParams(t.Context(), `SELECT COUNT(*) FROM shifts WHERE began < $1`, [][]byte{[]byte(sent)}, nil, nil, nil).Read(); r.Err != nil || string(r.Rows[0][0]) != "360" {
			t.Errorf("before %s: %v", sent, r)
		}
	}
	if _, err := c.Exec(t.Context(), `SELECT COUNT(*) FROM shifts WHERE began = $1`, pgx.QueryExecModeExec, "25:10"); err == nil {
		t.Error("25:10 is taken for a time")
	}
	for _, raw := range [][]byte{{0, 0, 0, 20, 29, 215, 96, 0}, {255, 255, 255, 255, 255, 255, 255, 255}, {1}} { // 24:00, below 0, short
		if r := c.PgConn().ExecParams(t.Context(), `SELECT COUNT(*) FROM shifts WHERE began < $1`, [][]byte{raw}, []uint32{pgtype.TimeOID}, []int16{1}, nil).Read(); r.Err == nil {
			t.Error(fmt.Sprint(raw), "is taken for a time")
		}
	}
}
