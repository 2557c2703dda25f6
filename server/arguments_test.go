package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dpsql/server"
)

// TestArguments gives statements arguments of the types that clients send, in both formats, and asks the same with literals:
// what is prepared with a literal works with an argument.
func TestArguments(t *testing.T) {
	t.Parallel()
	url, _ := start(t, func(c *server.Config) { visits(t, c.Database) })
	c := connect(t, url)
	day := func(d int) time.Time { return time.Date(2023, 3, d, 0, 0, 0, 0, time.UTC) }
	const count, around = `SELECT COUNT(*) FROM moments WHERE `, `SELECT COALESCE(SUM(n), 0) FROM (SELECT %s AS m, COUNT(*) AS n FROM moments GROUP BY 1) AS q WHERE `
	for _, x := range []struct {
		text, literal string
		args          []any
		oids          []uint32
	}{
		{count + `day = ANY($1)`, count + `day IN ('2023-03-01', '2023-03-02')`, []any{[]time.Time{day(1), day(2)}}, []uint32{pgtype.DateArrayOID}},
		{count + `day = ANY($1)`, count + `day IN ('2023-03-01', '2023-03-02')`, []any{[]string{"2023-03-01", "2023-03-02"}}, []uint32{pgtype.TextArrayOID}},
		{count + `day = SOME($1::date[])`, count + `day IN ('2023-03-01', '2023-03-02')`, []any{[]time.Time{day(1), day(2)}}, []uint32{pgtype.DateArrayOID}},
		{count + `day <> ALL($1)`, count + `day NOT IN ('2023-03-01', '2023-03-02')`, []any{[]time.Time{day(1), day(2)}}, []uint32{pgtype.DateArrayOID}},
		{count + `day = ANY(ARRAY[$1, $2])`, count + `day IN ('2023-03-01', '2023-03-02')`, []any{day(1), day(2)}, []uint32{pgtype.DateOID, pgtype.DateOID}},
		{count + `day = ANY($1)`, count + `0 = 1`, []any{[]time.Time{}}, []uint32{pgtype.DateArrayOID}},
		{count + `day <> ALL($1)`, count + `1 = 1`, []any{[]time.Time{}}, []uint32{pgtype.DateArrayOID}},
		{count + `day = ANY($1)`, count + `day IN (NULL)`, []any{nil}, []uint32{pgtype.DateArrayOID}},
		{count + `day = ANY($1)`, count + `day IN ('2023-03-01', NULL)`, []any{[]any{day(1), nil}}, []uint32{pgtype.DateArrayOID}},
		{count + `seen = ANY($1)`, count + `seen IN ('2023-01-05 10:00:00')`, []any{[]time.Time{time.Date(2023, 1, 5, 10, 0, 0, 0, time.UTC)}}, []uint32{pgtype.TimestampArrayOID}},
		{count + `EXTRACT(MONTH FROM day) = ANY($1) AND day <> ALL($2) AND day >= $3`, count + `EXTRACT(MONTH FROM day) IN (3, 4) AND day NOT IN ('2023-03-01', '2023-03-02') AND day >= '2023-03-02'`,
			[]any{[]int64{3, 4}, []time.Time{day(1), day(2)}, day(2)}, []uint32{pgtype.Int8ArrayOID, pgtype.DateArrayOID, pgtype.DateOID}},
		{count + `EXTRACT(MONTH FROM day) = ANY($1) OR EXTRACT(MONTH FROM day) = ANY($1)`, count + `EXTRACT(MONTH FROM day) IN (3, 4)`, []any{[]int32{3, 4}}, []uint32{pgtype.Int4ArrayOID}},
		{fmt.Sprintf(around, `EXTRACT(MONTH FROM day)`) + `m = ANY($1)`, count + `EXTRACT(MONTH FROM day) IN (3, 4)`, []any{[]int16{3, 4}}, []uint32{pgtype.Int2ArrayOID}},
		{fmt.Sprintf(around, `day`) + `m = ANY($1)`, count + `day IN ('2023-03-01', '2023-03-02')`, []any{[]time.Time{day(1), day(2)}}, []uint32{pgtype.DateArrayOID}},
		{fmt.Sprintf(around, `EXTRACT(MONTH FROM day)`) + `m <> ALL($1)`, count + `1 = 1`, []any{[]int64{}}, []uint32{pgtype.Int8ArrayOID}},
		{count + `date_trunc($1, day) = $2`, count + `date_trunc('month', day) = '2023-03-01'`, []any{"month", day(1)}, []uint32{pgtype.TextOID, pgtype.DateOID}},
		{count + `date_trunc($1::VARCHAR, seen) = $2`, count + `date_trunc('hour', seen) = '2023-01-05 10:00:00'`, []any{"hour", "2023-01-05 10:00:00"}, []uint32{pgtype.VarcharOID, pgtype.TextOID}},
		{count + `date_part($1, day) = 3`, count + `EXTRACT(MONTH FROM day) = 3`, []any{"month"}, []uint32{pgtype.TextOID}},
		{fmt.Sprintf(around, `date_trunc($1, day)`) + `m = $2`, count + `date_trunc('month', day) = '2023-03-01'`, []any{"month", day(1)}, []uint32{pgtype.TextOID, pgtype.DateOID}},
		{count + `seen >= $1`, count + `seen >= '2023-01-05 10:00:00'`, []any{time.Date(2023, 1, 5, 12, 0, 0, 0, time.FixedZone("", 7200))}, []uint32{pgtype.TimestamptzOID}},
		{count + `seen = ANY($1)`, count + `seen = '2023-01-05 10:00:00'`, []any{[]time.Time{time.Date(2023, 1, 5, 12, 0, 0, 0, time.FixedZone("", 7200))}}, []uint32{pgtype.TimestamptzArrayOID}},
		{count + `seen >= $1`, count + `seen >= '2023-01-05 10:00:00'`, []any{"2023-01-05 12:00:00+02"}, []uint32{pgtype.TimestamptzOID}},
		{count + `seen >= $1`, count + `seen >= '2023-01-05 10:00:00'`, []any{"2023-01-05 04:30:00-05:30"}, []uint32{pgtype.TimestamptzOID}},
		{count + `seen >= $1`, count + `seen >= '2023-01-04 22:00:00'`, []any{"2023-01-05 +02"}, []uint32{pgtype.TimestamptzOID}},
		{count + `seen = ANY($1)`, count + `seen = '2023-01-05 10:00:00'`, []any{`{"2023-01-05 12:00:00+02"}`}, []uint32{pgtype.TimestamptzArrayOID}},
		{count + `day >= $1`, count + `day >= '2023-03-02'`, []any{"2023-03-02 +00"}, []uint32{pgtype.DateOID}},
		{count + `seen >= TIMESTAMP '2023-01-06 10:00' - $1::interval`, count + `seen >= '2023-01-05 10:00:00'`, []any{24 * time.Hour}, []uint32{pgtype.IntervalOID}},
		{count + `seen >= TIMESTAMP '2023-01-06 10:00' - CAST($1 AS INTERVAL)`, count + `seen >= '2023-01-05 09:00:00'`, []any{"1 day 01:00:00"}, []uint32{pgtype.TextOID}},
		{count + `seen >= $2::interval + TIMESTAMP '2023-01-06 10:00' - $1::interval`, count + `seen >= '2023-01-07 11:00:00'`, []any{pgtype.Interval{Days: 1, Microseconds: -3600e6, Valid: true}, 2 * 24 * time.Hour}, []uint32{pgtype.IntervalOID, pgtype.IntervalOID}},
		{count + `seen >= TIMESTAMP '2023-02-04 10:00' - $1::interval`, count + `seen >= '2023-01-05 10:00:00'`, []any{"0 mon 0 day 720:00:00.000000"}, []uint32{pgtype.IntervalOID}},
		{count + `day - $1::interval = TIMESTAMP '2023-02-01'`, count + `day = '2023-03-01'`, []any{pgtype.Interval{Months: 1, Valid: true}}, []uint32{pgtype.IntervalOID}},
		{count + `date_trunc($2, day) >= $3 - $1 AND day = ANY($4)`, count + `day IN ('2023-03-01', '2023-03-02')`, []any{"+1 mon 0 day 00:00:00.000000", "month", time.Date(2023, 4, 1, 0, 0, 0, 0, time.UTC), []time.Time{day(1), day(2)}},
			[]uint32{pgtype.IntervalOID, pgtype.TextOID, pgtype.TimestampOID, pgtype.DateArrayOID}},
		{fmt.Sprintf(around, `day`) + `m - $1::interval = '2023-03-01'`, count + `day = '2023-03-03'`, []any{"2 days, 0:00:00"}, []uint32{pgtype.IntervalOID}},
		{`SELECT COALESCE(SUM(n), 0) FROM generate_series('2023-03-01'::date, '2023-03-31'::date, $1::interval) AS g(d) JOIN (SELECT day AS m, COUNT(*) AS n FROM moments GROUP BY 1) AS q ON m = d`, count + `day IN ('2023-03-01', '2023-03-08', '2023-03-15', '2023-03-22', '2023-03-29')`, []any{"1 week"}, []uint32{pgtype.IntervalOID}},
		{count + `day >= $1`, count + `day >= '2023-03-02'`, []any{"2023-03-02 +00"}, []uint32{0}},
		{count + `day >= $1`, count + `day >= '2023-03-02'`, []any{"2023-03-02 +00"}, []uint32{pgtype.TimestamptzOID}},
	} {
		var want int64
		if err := c.QueryRow(t.Context(), x.literal, pgx.QueryExecModeSimpleProtocol).Scan(&want); err != nil {
			t.Errorf("%s: %v", x.literal, err)
			continue
		}
		for _, format := range []int16{pgtype.TextFormatCode, pgtype.BinaryFormatCode} {
			formats, raw := make([]int16, len(x.args)), make([][]byte, len(x.args))
			for i, a := range x.args {
				if _, text := a.(string); !text {
					formats[i] = format
				}
				if s, text := a.(string); text {
					raw[i] = []byte(s)
					continue
				}
				var err error
				if raw[i], err = c.TypeMap().Encode(x.oids[i], formats[i], a, nil); err != nil {
					t.Fatalf("%v as %d: %v", a, x.oids[i], err)
				}
			}
			r := c.PgConn().ExecParams(t.Context(), x.text, raw, x.oids, formats, nil).Read()
			got := int64(-1)
			if r.Err == nil {
				fmt.Sscan(string(r.Rows[0][0]), &got)
			}
			if got != want {
				t.Errorf("%s with %v of types %d in format %d: %d, want %d (%v)", x.text, x.args, x.oids, format, got, want, r.Err)
			}
		}
		if s, text := x.args[0].(string); text && strings.ContainsAny(s, "+-") {
			continue // pgx would write a moment as a time.Time alone
		}
		var got int64
		if err := c.QueryRow(t.Context(), x.text, x.args...).Scan(&got); err != nil || got != want {
			t.Errorf("%s with %v as it is described: %d, want %d (%v)", x.text, x.args, got, want, err)
		}
	}
}
