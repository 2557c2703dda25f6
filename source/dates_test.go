package source_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"dpsql/query"
	"dpsql/source"
)

// dayOf returns the day of an instant, by package time.
func dayOf(at time.Time) query.Value {
	midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return query.Int(midnight.Unix() / 86_400) // exact: midnights are multiples
}

// TestStoredDates holds which stored values are dates, in columns of each affinity. The
// days come from package time.
func TestStoredDates(t *testing.T) {
	t.Parallel()
	day := func(text string) source.Cell {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return source.Cell{Value: dayOf(at), OK: true}
	}
	none, null := source.Cell{}, source.Cell{OK: true}
	cases := map[query.Stored][]struct {
		raw  any
		want source.Cell
	}{
		query.StoredISO: {
			{"2024-02-29", day("2024-02-29")}, {"0001-01-01", day("0001-01-01")}, {"9999-12-31", day("9999-12-31")}, {"1970-01-01", day("1970-01-01")},
			{"1969-12-31", day("1969-12-31")}, {"1900-02-28", day("1900-02-28")}, {nil, null},
			{"2024-02-30", none}, {"2023-02-29", none}, {"1900-02-29", none}, {"2024-13-01", none}, {"2024-00-01", none}, {"2024-01-00", none}, {"2024-01-32", none},
			{"now", none}, {"NOW", none}, {"subsec", none}, {"2024-01-01 00:00", none}, {"2024-01-01T00:00:00", none}, {"2024-01-01Z", none}, {" 2024-01-01", none},
			{"2024-01-01 ", none}, {"2024-1-1", none}, {"24-01-01", none}, {"12:00", none}, {"2460310.5", none}, {2460310.5, none}, {int64(20240101), none},
			{"-2024-01-01", none}, {"-024-01-01", none}, {"2024-01-01\x00", none}, {"2024-01-01\x00x", none}, {[]byte("2024-01-01"), none}, {"", none}, {"\xff", none},
		},
		query.StoredJulian: {
			{2460310.5, day("2024-01-01")}, {2460311.0, day("2024-01-01")}, {int64(2460311), day("2024-01-01")}, {math.Nextafter(2460311.5, 0), day("2024-01-01")},
			{2460311.5, day("2024-01-02")}, {2440587.5, day("1970-01-01")}, {math.Nextafter(2440587.5, 0), day("1969-12-31")}, {2440587.25, day("1969-12-31")},
			{1721425.5, day("0001-01-01")}, {math.Nextafter(1721425.5, 0), none}, {math.Nextafter(5373484.5, 0), day("9999-12-31")}, {5373484.5, none},
			{int64(0), none}, {-0.5, none}, {-1e300, none}, {math.Inf(1), none}, {math.Inf(-1), none}, {int64(math.MinInt64), none}, {int64(math.MaxInt64), none},
			{"x", none}, {[]byte("2460310.5"), none}, {nil, null},
		},
		query.StoredUnix: {
			{int64(0), day("1970-01-01")}, {int64(86_399), day("1970-01-01")}, {int64(86_400), day("1970-01-02")}, {int64(-1), day("1969-12-31")},
			{int64(-86_400), day("1969-12-31")}, {int64(-86_401), day("1969-12-30")}, {86_399.9999, day("1970-01-01")}, {-0.25, day("1969-12-31")}, {-5e-324, day("1969-12-31")},
			{math.Nextafter(20_000*86_400, 0), dayCell(19_999)}, {20_000.0 * 86_400, dayCell(20_000)},
			{int64(-62_135_596_800), day("0001-01-01")}, {int64(-62_135_596_801), none}, {int64(253_402_300_799), day("9999-12-31")}, {int64(253_402_300_800), none},
			{math.Nextafter(253_402_300_800, 0), day("9999-12-31")}, {math.Inf(1), none}, {math.Inf(-1), none}, {int64(math.MinInt64), none}, {int64(math.MaxInt64), none},
			{"x", none}, {[]byte("0"), none}, {nil, null},
		},
	}
	db := memory(t, "CREATE TABLE raw (c, date DATE, text TEXT)")
	for stored, all := range cases {
		for _, c := range all {
			run(t, db, "DELETE FROM raw")
			run(t, db, "INSERT INTO raw VALUES (?, ?, ?)", c.raw, c.raw, c.raw)
			columns := []string{"c", "date", "text"}
			if stored != query.StoredISO {
				columns = columns[:2] // TEXT affinity stores numbers as texts
			} else if _, ok := c.raw.(string); !ok && c.raw != nil {
				columns = columns[:1]
			}
			for _, column := range columns {
				var got source.Cell
				if err := db.QueryRow(source.CanonicalDay("raw", column, stored)).Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got != c.want {
					t.Errorf("%#v in %s stored as %v: got %v (%v), want %v (%v)", c.raw, column, stored, got.Value, got.OK, c.want.Value, c.want.OK)
				}
			}
		}
	}
}

func dayCell(n int64) source.Cell { return source.Cell{Value: query.Int(n), OK: true} }

// TestStoredDatesRandom compares random instants with package time.
func TestStoredDatesRandom(t *testing.T) {
	t.Parallel()
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewSource(seed))
	db := memory(t, "CREATE TABLE raw (iso, unix, real, julian)")
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	var want []query.Value
	for range 500 {
		at := time.Unix(first+r.Int63n(last-first), 0).UTC()
		quarters := r.Int63n(86_400 * 8) // an eighth of a second is exact in each form
		day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
		seconds := day.Unix() + quarters/8
		julian := float64(day.Unix()/86_400) + 2440587.5 + float64(quarters/8/675)/128 // 86400 = 675 · 128
		run(t, db, "INSERT INTO raw VALUES (?, ?, ?, ?)", at.Format(time.DateOnly), seconds, float64(seconds)+float64(quarters%8)/8, julian)
		want = append(want, dayOf(at))
	}
	for column, stored := range map[string]query.Stored{"iso": query.StoredISO, "unix": query.StoredUnix, "real": query.StoredUnix, "julian": query.StoredJulian} {
		rows, err := db.Query(source.CanonicalDay("raw", column, stored) + " ORDER BY r.rowid")
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; rows.Next(); i++ {
			var got source.Cell
			if err := rows.Scan(&got); err != nil {
				t.Fatal(err)
			}
			if !got.OK || got.Value != want[i] {
				t.Errorf("row %d in %s: got %v (%v), want %v", i, column, got.Value, got.OK, want[i])
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", column, err))
		}
	}
}
