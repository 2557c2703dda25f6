package engine_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// clockRows are times of day as rows have them: 36 in the middle of quarters of an hour, and others. Those of the file
// that are no times, and the server's 24:00, stand for no row.
func clockRows() (file, server []string) {
	values := []string{"('08:00', 'a')", "('09:27:30.75', 'a')", "('23:59:59', 'b')", "(NULL, 'b')"}
	for i := range 36 {
		values = append(values, fmt.Sprintf("('%02d:%02d:%02d', '%c')", 9+i/4, i%4*15+i%15, i, "ab"[i%2]))
	}
	insert := `INSERT INTO raw VALUES ` + strings.Join(values, ", ")
	return []string{`CREATE TABLE raw (t TIME, room TEXT)`, insert,
			`INSERT INTO raw VALUES ('24:00', 'a'), ('25:10', 'a'), ('9:27', 'a'), ('09:27 pm', 'a'), ('09:60', 'a'), ('09:27:3', 'a'), ('09:27Z', 'a'), ('noon', 'a'), (9.5, 'a'), (x'30393A3237', 'a'), ('', 'a')`},
		[]string{`CREATE TABLE raw (t time, room text)`, insert, `INSERT INTO raw VALUES ('24:00', 'a')`}
}

// TestClock asks about a TIME: of rows in the file and on a server the same. What is asked of counts alone is
// asked of the file, and with -long of the server too. Without -long every third statement of more than a count is asked.
func TestClock(t *testing.T) {
	t.Parallel()
	file, server := clockRows()
	overBoth(t, `t TIME OR NULL, room TEXT IN ('a', 'b')`, file, server, func(t *testing.T, s *engine.Session) {
		must(t, s, `CREATE RELEASE cells ON rows USING PROJECTION WITH (epsilon = 300, transform = identity, max_support = 200000)`)
		all := map[string]int64{
			`t IS NULL`: 1, `t IS NOT NULL`: 39, `t = '9:27:30'`: 1, `t = TIME '09:27:30'`: 1, `t = '09:27:30'::time`: 1, `t = CAST('9:27:30 AM' AS time)`: 1,
			`t < '9:00'`: 1, `t >= '09:00' AND t < '10:00'`: 5, `t BETWEEN '9:00 am' AND '9:59:59'`: 5, `t IN ('08:00', '23:59:59', '12:00')`: 2,
			`t <> '08:00'`: 38, `t < '24:00'`: 39, `t > '09:27:29.5' AND t < '09:27:30.5'`: 1, `EXTRACT(HOUR FROM t) = 9`: 5, `EXTRACT(HOUR FROM t) IN (8, 23)`: 2,
			`EXTRACT(MINUTE FROM t) = 27 AND date_part('second', t) = 30`: 1, `EXTRACT(EPOCH FROM t) < 32400`: 1, `date_trunc('hour', t) = '09:00'`: 5,
			`date_trunc('minute', t) = '09:27'`: 1, `date_trunc('hour', t) >= TIME '17:00'`: 5, `TO_CHAR(t, 'HH24:MI') = '09:27'`: 1, `t > '12:00' AND room = 'a'`: 12,
			`strftime('%H', t) = '09'`: 5, `CASE WHEN t < '12:00' THEN 'am' ELSE 'pm' END = 'am'`: 14, `COALESCE(t, '00:00') = '00:00'`: 1, `t = time('08:00')`: 1,
		}
		short := strings.HasSuffix(t.Name(), "/server") && !*long
		if short { // what is computed of a value is so of a release, whose rows lay anywhere
			maps.DeleteFunc(all, func(where string, _ int64) bool { return strings.Contains(where, "(") })
		}
		if counts(t, s, all); short {
			return
		}
		asked := map[string]string{
			`SELECT EXTRACT(HOUR FROM t) AS h, COUNT(*) FROM rows WHERE t < '11:00' GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1`:  "[[8 1] [9 5] [10 4]]",
			`SELECT date_trunc('hour', t) AS h, COUNT(*) FROM rows WHERE t < '11:00' GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY 1`: "[[08:00:00 1] [09:00:00 5] [10:00:00 4]]",
			`SELECT CASE WHEN t < '12:00' THEN 'am' ELSE 'pm' END AS half, COUNT(*) FROM rows WHERE t IS NOT NULL GROUP BY 1`:   "[[am 14] [pm 25]]",
			`SELECT MIN(t), MAX(t), MEDIAN(t) FROM rows`:                                                                                                                "[[08:00:00 23:59:59 13:17:17]]",
			`SELECT AVG(EXTRACT(EPOCH FROM t)) FROM rows WHERE t < '09:00'`:                                                                                             "[[28800]]",
			`SELECT t, COUNT(*) FROM rows WHERE t IN ('8:00', '9:00') GROUP BY t`:                                                                                       "[[08:00:00 1] [09:00:00 1]]",
			`SELECT h, n FROM (SELECT date_trunc('hour', t) AS h, COUNT(*) AS n FROM rows GROUP BY 1) AS q WHERE h = '8:00'`:                                            "[[08:00:00 1]]",
			`SELECT SUM(n) FROM (SELECT t, COUNT(*) AS n FROM rows WHERE t BETWEEN '8:55' AND '9:59:59' GROUP BY 1) AS q WHERE t >= TIME '9:00'`:                        "[[5]]",
			`SELECT date_trunc('hour', t), EXTRACT(EPOCH FROM t), EXTRACT(MINUTE FROM t) FROM (SELECT t, COUNT(*) AS n FROM rows WHERE t = '09:27:30' GROUP BY 1) AS q`: "[[09:00:00 34050 27]]",
			`SELECT SUM(n) FROM (SELECT t, COUNT(*) AS n FROM rows WHERE t BETWEEN '8:55' AND '9:59:59' GROUP BY 1) AS q WHERE date_trunc('hour', t) = '9:00'`:          "[[5]]",
		}
		for _, text := range some(t, 3, slices.Sorted(maps.Keys(asked))) {
			if r := must(t, s, text); fmt.Sprint(r.Rows) != asked[text] {
				t.Errorf("%s\ngot %v, want %s", text, r.Rows, asked[text])
			}
		}
		if r := must(t, s, `DESCRIBE rows`); !strings.Contains(fmt.Sprint(r.Rows), "TIME BETWEEN '00:00:00' AND '23:59:59' STEP '1 second' OR NULL") {
			t.Error(r.Rows)
		}
		for text, code := range map[string]sqlerr.Code{
			`t = '25:10'`: sqlerr.Invalid, `t = 9`: sqlerr.Invalid, `t = '2024-01-01'`: sqlerr.Invalid, `t = CURRENT_DATE`: sqlerr.Invalid, `date(t) = '2000-01-01'`: sqlerr.Unsupported,
			`EXTRACT(DOW FROM t) = 1`: sqlerr.Unsupported, `date_trunc('month', t) = '09:00'`: sqlerr.Unsupported, `t + INTERVAL '1 hour' > '09:00'`: sqlerr.Unsupported, `t::timestamp > '2024-01-01'`: sqlerr.Unsupported,
			`t + 1 = 3`: sqlerr.Unsupported, `julianday(t) > 1`: sqlerr.Unsupported,
		} {
			if e := refused(t, s, code, `SELECT COUNT(*) FROM rows WHERE `+text); e.Hint == "" {
				t.Errorf("%s: %v has no hint", text, e)
			}
		}
	})
}

// TestClockSteps asks about a TIME with a step, bounds and CLAMP.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	file, server := clockRows()
	overBoth(t, `t TIME BETWEEN '08:00' AND '17:45' STEP '15 minutes' CLAMP, room TEXT IN ('a', 'b')`, file, server, func(t *testing.T, s *engine.Session) {
		must(t, s, `CREATE RELEASE cells ON rows USING PROJECTION WITH (epsilon = 300, transform = identity)`)
		counts(t, s, map[string]int64{
			`t = '08:00'`: 1, `t >= '09:00' AND t < '10:00'`: 5, `t = '09:15'`: 2, `t = '17:45'`: 2, `t > '17:30'`: 2, `t < '24:00'`: 39, `EXTRACT(HOUR FROM t) = 9`: 5, `EXTRACT(MINUTE FROM t) = 15`: 10,
		})
		for text, want := range map[string]string{
			`SELECT MIN(t), MAX(t), MEDIAN(t), COUNT(DISTINCT t) FROM rows`:                               "[[08:00:00 17:45:00 13:15:00 37]]",
			`SELECT t, COUNT(*) FROM rows GROUP BY t HAVING COUNT(*) > 1`:                                 "[[09:15:00 2] [17:45:00 2]]",
			`SELECT date_trunc('hour', t) AS h, COUNT(*) FROM rows GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3`: "[[09:00:00 5] [17:00:00 5] [10:00:00 4]]",
		} {
			if r := must(t, s, text); fmt.Sprint(r.Rows) != want {
				t.Errorf("%s\ngot %v, want %s", text, r.Rows, want)
			}
		}
		if r := must(t, s, `DESCRIBE rows`); !strings.Contains(fmt.Sprint(r.Rows), "TIME BETWEEN '08:00:00' AND '17:45:00' STEP '15 minutes' CLAMP") {
			t.Error(r.Rows)
		}
		if e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM rows WHERE t = '09:27'`); !strings.Contains(e.Hint, "'09:15:00'") {
			t.Error(e.Hint)
		}
	})
	s := quietOver(t, file)
	text, err := s.Check(t.Context(), "", `CREATE PRIVATE TABLE x (t TIME BETWEEN '09:00' AND '17:45' STEP '15 minutes' OR NULL) FROM raw `+nearlyExact)
	if err != nil || !strings.Contains(text, "t: 13 rows lost; no value outside is in 10 rows") { // 11 are no times
		t.Error(text, err)
	}
	refusedColumns(t, s, `t TIME BETWEEN '08:00' AND '24:00'`, `t TIME BETWEEN '25:10' AND '26:00'`, `t TIME BETWEEN '17:45' AND '08:00'`, `t TIME BETWEEN '08:10' AND '17:45' STEP '1 hour'`,
		`t TIME STEP '7 months'`, `t TIME STEP '1 hour' STEP '1 hour'`, `t TIME BETWEEN '08:00'`, `t TIME BETWEEN 8 AND 17`, `t TIME OR OTHER`, `t TIME STORED AS unix`, `t DATE BETWEEN '2024-01-01' AND '2024-12-31' STORED AS clock`)
	for i, column := range []string{`t TIME`, `t TIME STEP '1 hour'`, `t TIME STEP '15 minutes' BETWEEN '08:00' AND '17:45' OR NULL`, `t TIME BETWEEN '8:00 AM' AND '5:45 PM' STEP '15 minutes' OR NULL CLAMP`} {
		must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE x%d (%s) FROM raw %s`, i, column, nearlyExact))
	}
}

// TestDraftOfClocks imports a made-up file of visitors with one to six rows each and a time of day as people write it. The
// draft has the time on its own grid, and what it declares answers per hour as the file counts.
func TestDraftOfClocks(t *testing.T) {
	t.Parallel()
	for step, minutes := range map[string]int{" STEP '1 minute'": 1, " STEP '15 minutes'": 15, " STEP '1 hour'": 60} {
		var file strings.Builder
		file.WriteString("VisitorId,Time entered,Spent (minutes)\n")
		hours := make([]int, 24)
		for visitor := range 400 {
			for visit := range 1 + visitor%6 {
				minute := (540 + (visitor*7919+visit*131)%600) / minutes * minutes
				at := fmt.Sprintf("%d:%02d%s", (minute/60+11)%12+1, minute%60, [...]string{"AM", "PM"}[minute/720])
				if visitor == 0 {
					at = ""
				} else {
					hours[minute/60]++
				}
				fmt.Fprintf(&file, "%d,%s,%d\n", visitor+1, at, 10+visitor%50)
			}
		}
		path := filepath.Join(t.TempDir(), "week.csv")
		if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		s := quietOver(t, nil)
		r, err := s.Import(t.Context(), engine.Import{Path: path, Table: "raw_week"})
		if err != nil || !strings.Contains(fmt.Sprint(r.Notes), "`Time entered`: times of day") {
			t.Fatal(r, err)
		}
		text, err := s.Draft(t.Context(), "raw_week")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`    "Time entered" TIME` + step + " OR NULL, -- ", "unit = VisitorId, max_rows = 6,", `"Time entered"`} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
		declaration, _, _ := strings.Cut(text, "\n);\n")
		checked, err := s.Check(t.Context(), "", declaration+"\n)")
		if err != nil || !strings.Contains(checked, `"Time entered": 0 rows lost`) {
			t.Error(checked, err)
		}
		must(t, s, strings.Replace(declaration, "epsilon = 1,", "epsilon = 150,", 1)+"\n)")
		must(t, s, `CREATE RELEASE times ON week ("Time entered") USING PROJECTION WITH (epsilon = 60)`)
		got := make([]int, 24)
		for _, row := range must(t, s, `SELECT EXTRACT(HOUR FROM "Time entered") AS h, COUNT(*) FROM week WHERE "Time entered" IS NOT NULL GROUP BY 1`).Rows {
			n, _ := row[1].(int64)
			h, _ := row[0].(int64)
			got[h] = int(n)
		}
		if !slices.Equal(got, hours) {
			t.Errorf("in steps of %d minutes:\n%v, want\n%v", minutes, got, hours)
		}
	}
}
