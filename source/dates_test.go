package source_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"dpsql/internal/seeds"
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
			{2460310.5, day("2024-01-01")}, {2460311.0, day("2024-01-01")}, {int64(2460311), day("2024-01-01")}, {2460311.4999999, day("2024-01-01")}, {math.Nextafter(2460311.5, 0), day("2024-01-02")},
			{2460311.5, day("2024-01-02")}, {2440587.5, day("1970-01-01")}, {2440587.4999999, day("1969-12-31")}, {2440587.25, day("1969-12-31")},
			{1721425.5, day("0001-01-01")}, {math.Nextafter(1721425.5, 0), none}, {5373484.4999999, day("9999-12-31")}, {5373484.5, none},
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
				if err := db.QueryRow(source.CanonicalTime("raw", column, query.DateForm(stored))).Scan(&got); err != nil {
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
	seed := int64(seeds.Of(t))
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
		rows, err := db.Query(source.CanonicalTime("raw", column, query.DateForm(stored)) + " ORDER BY r.rowid")
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

// TestStoredTimestamps holds which texts are timestamps. The moments come from package time.
func TestStoredTimestamps(t *testing.T) {
	t.Parallel()
	db := memory(t, "CREATE TABLE raw (c, n INTEGER, d DATE)")
	for text, want := range map[string]string{
		"2024-02-29": "2024-02-29 00:00:00", "2024-02-29 12:30": "2024-02-29 12:30:00", "2024-02-29T12:30": "2024-02-29 12:30:00", "2024-02-29 12:30Z": "2024-02-29 12:30:00",
		"2024-02-29 23:59:59": "2024-02-29 23:59:59", "2024-02-29T23:59:59Z": "2024-02-29 23:59:59", "2024-02-29 12:30:00.999999": "2024-02-29 12:30:00",
		"2024-02-29 12:30:00.5Z": "2024-02-29 12:30:00", "0001-01-01 00:00:01": "0001-01-01 00:00:01", "9999-12-31 23:59:59.9": "9999-12-31 23:59:59", "1969-12-31 23:59": "1969-12-31 23:59:00",
		"2024-02-30 12:00": "", "2024-02-29 24:00": "", "2024-02-29 12:60": "", "2024-02-29 12:00:60": "", "2024-02-29 1:00": "", "2024-02-29 12": "", "2024-02-29 12:00:": "",
		"2024-02-29 12:00:00.": "", "2024-02-29 12:00:00.x": "", "2024-02-29 12:00:00.1Z2": "", "2024-02-29 12:00ZZ": "", "2024-02-29 12:00+01:00": "", "2024-02-29Z": "",
		"2024-02-29 12:00\x00": "", "2024-02-29 12:00:00.1\x00": "", "0000-12-31 23:30": "", "now": "", "12:00": "", "": "", "2024-02-29 12:00:00 ": "", " 2024-02-29": "", "2024-02-29  12:00": "",
		"2024-02-29_12:00": "", "2460310.5": "", "2024-02-29 12:00:0é": "",
	} {
		for _, step := range []int64{1, 60, 900, 3600, 86_400} {
			f, err := query.TimestampForm(query.StoredISO, step)
			if err != nil {
				t.Fatal(err)
			}
			run(t, db, "DELETE FROM raw")
			run(t, db, "INSERT INTO raw VALUES (?, ?, ?)", text, text, text)
			var expected source.Cell
			if want != "" {
				at, err := time.Parse(time.DateTime, want)
				if err != nil {
					t.Fatal(err)
				}
				expected = source.Cell{Value: query.Int(at.Truncate(time.Duration(step)*time.Second).Unix() / step), OK: true}
			}
			for _, column := range []string{"c", "n", "d"} {
				var got source.Cell
				if err := db.QueryRow(source.CanonicalTime("raw", column, f)).Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got != expected {
					t.Errorf("%q in %s in steps of %d s: got %v (%v), want %v (%v)", text, column, step, got.Value, got.OK, expected.Value, expected.OK)
				}
			}
		}
	}
}

// TestStoredTimes compares texts of times of day with what they are declared as.
func TestStoredTimes(t *testing.T) {
	t.Parallel()
	db := memory(t, "CREATE TABLE raw (c, n TIME, d TEXT COLLATE NOCASE)")
	for raw, want := range map[any]int64{
		"00:00": 0, "09:27": 34020, "09:27:30": 34050, "09:27:30.999": 34050, "23:59:59": 86399, "23:59:59.5": 86399,
		"24:00": -1, "25:10": -1, "9:27": -1, "09:27 pm": -1, "09:60": -1, "09:27:60": -1, "09:27:3": -1, "09:27:": -1, "09:27:30.": -1, "09:27:30.x": -1, "09:27:30.1Z": -1, "09:27Z": -1, " 09:27": -1, "09:27 ": -1,
		"09:27\x00": -1, "09:27:30\x00": -1, "0927": -1, "09.27": -1, "noon": -1, "": -1, "now": -1, "2024-01-01 09:27": -1, "29:00": -1, "09:27é": -1, int64(34020): -1, 0.5: -1,
	} {
		for _, step := range []int64{1, 900, 86_400} {
			f, err := query.TimestampForm(query.StoredClock, step)
			if err != nil {
				t.Fatal(err)
			}
			run(t, db, "DELETE FROM raw")
			run(t, db, "INSERT INTO raw VALUES (?, ?, ?)", raw, raw, raw)
			var expected source.Cell
			if want >= 0 {
				expected = source.Cell{Value: query.Int(want / step), OK: true}
			}
			for _, column := range []string{"c", "n", "d"} {
				var got source.Cell
				if err := db.QueryRow(source.CanonicalTime("raw", column, f)).Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got != expected {
					t.Errorf("%q in %s in steps of %d s: got %v (%v), want %v (%v)", raw, column, step, got.Value, got.OK, expected.Value, expected.OK)
				}
			}
		}
	}
}

// TestStoredTimestampsRandom compares random moments, stored in each way, with package time.
func TestStoredTimestampsRandom(t *testing.T) {
	t.Parallel()
	seed := int64(seeds.Of(t))
	r := rand.New(rand.NewSource(seed))
	db := memory(t, "CREATE TABLE raw (iso, unix, real, julian)")
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	var moments []time.Time
	for i := range 500 {
		at := time.Unix(first+r.Int63n(last-first), 0).UTC()
		if i%2 == 0 {
			at = at.Truncate(time.Hour) // the beginning of a step
		}
		moments = append(moments, at)
		layout := []string{time.DateTime, "2006-01-02T15:04:05Z", "2006-01-02 15:04:05.25", "2006-01-02T15:04:05.000001Z"}[i%4]
		run(t, db, "INSERT INTO raw VALUES (?, ?, ?, julianday(?))", at.Format(layout), at.Unix(), float64(at.Unix())+0.25, at.Format(time.DateTime))
	}
	for _, step := range []int64{1, 60, 900, 3600, 86_400} {
		for column, stored := range map[string]query.Stored{"iso": query.StoredISO, "unix": query.StoredUnix, "real": query.StoredUnix, "julian": query.StoredJulian} {
			f, err := query.TimestampForm(stored, step)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := db.Query(source.CanonicalTime("raw", column, f) + " ORDER BY r.rowid")
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; rows.Next(); i++ {
				var got source.Cell
				if err := rows.Scan(&got); err != nil {
					t.Fatal(err)
				}
				beginning := moments[i].Truncate(time.Duration(step) * time.Second)
				if want := query.Int(beginning.Unix() / step); !got.OK || got.Value != want || f.Shown(got.Value).Str() != beginning.Format(time.DateTime) {
					t.Errorf("%v as %s in steps of %d s: got %v (%v), want %v", moments[i], column, step, got.Value, got.OK, want)
				}
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
