package engine_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// ownRows makes a private table t of rows with a budget that pays for every statement, and SQLite's
// own table of them. The noise is always 0, so answers are exact.
func ownRows(t testing.TB, columns, declared string, rows []string) (*engine.Session, *sql.DB) {
	db := open(t, filepath.Join(t.TempDir(), "asked.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	own, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	own.SetMaxOpenConns(1)
	t.Cleanup(func() { own.Close() })
	insert := func(table string) string { return "INSERT INTO " + table + " VALUES " + strings.Join(rows, ", ") }
	fill(t, s, "CREATE TABLE raw ("+columns+")", insert("raw"))
	for _, text := range []string{"CREATE TABLE t (" + columns + ")", insert("t")} {
		if _, err := own.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s, "CREATE PRIVATE TABLE t ("+declared+") FROM raw WITH (epsilon = 1000, delta = 1e-6)")
	must(t, s, "SET accuracy = 1000")
	return s, own
}

// groups writes the groups that have rows as value:count.
func groups(rows [][]any) string {
	var all []string
	for _, row := range rows {
		if row[1] != int64(0) {
			all = append(all, strings.Replace(fmt.Sprintf("%v:%v", row[0], row[1]), "-0:", "0:", 1))
		}
	}
	return strings.Join(all, " ")
}

// visited makes the table visits of testdata/visits.
func visited(t *testing.T) *engine.Session {
	var rows []string
	for _, line := range recordsOf(t, "../testdata/visits/visits.csv") {
		rows = append(rows, fmt.Sprintf("('%s', '%s', '%s', %s, %s)", line[1], line[2], line[3], line[4], line[5]))
	}
	s, _ := ownRows(t, "day TEXT, seen TEXT, dept TEXT, minutes INTEGER, cost REAL",
		`day DATE BETWEEN '2023-01-01' AND '2023-12-31', seen TIMESTAMP BETWEEN '2023-01-01' AND '2023-01-28 23:00' STEP '1 hour',
		dept TEXT IN ('a', 'b', 'c'), minutes INTEGER BETWEEN 0 AND 119, cost REAL BETWEEN 0 AND 1000 STEP 10`, rows)
	return s
}

// TestBins asks for bins as people write them, and as programs do: without -long for every third.
func TestBins(t *testing.T) {
	t.Parallel()
	s := visited(t)
	cases, err := os.ReadFile("../testdata/visits/bins.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range some(t, 3, strings.Split(strings.TrimSpace(string(cases)), "\n")[1:]) {
		text, want, _ := strings.Cut(line, "\t")
		if got := groups(must(t, s, strings.ReplaceAll(text, "visits", "t")).Rows); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	type bin struct{ key, want string }
	for _, c := range some(t, 3, []bin{
		{"ROUND(minutes, -2)", "0:350 100:490"},
		{"minutes - MOD(minutes, 50)", "0:350 50:350 100:140"},
		{"TRUNC(cost / 500)", "0:435 1:405"},
		{"ROUND(cost, -3)", "0:435 1000:405"},
		{"ROUND(minutes, -2) / 8", "0:350 12.5:490"}, // a REAL in SQLite and PostgreSQL
		{"ROUND(minutes / 60) / 2", "0:420 0.5:420"},
		{"FLOOR(minutes / 60) / 2", "0:840"}, // an integer in SQLite
		{"DIV(minutes, 60)", "0:420 1:420"},
		{"minutes BETWEEN SYMMETRIC 59 AND 0", "0:420 1:420"},
		{"TO_CHAR(seen, 'YYYY-MM-01 00:00')", "2023-01-01 00:00:840"},
		{"WIDTH_BUCKET(cost, 0, 1000, 2)", "1:435 2:405"},
		{"LPAD(CAST(minutes / 60 AS TEXT), 2, '0')", "00:420 01:420"},
		{"FLOOR(minutes / 60.0) / 2", "0:420 0.5:420"},
		{"minutes / 240.0 > 0.25", "0:427 1:413"},
		{"FLOOR(EXTRACT(EPOCH FROM seen) / 1000000)", "1672:171 1673:360 1674:309"}, {"EXTRACT(YEAR FROM seen) / 2", "1011.5:840"},
		{"CASE WHEN FLOOR(minutes / 30.0) IN (1, 2) THEN 'mid' ELSE 'end' END", "end:420 mid:420"},
	}) {
		core := "SELECT " + c.key + " AS k, COUNT(*) AS n FROM t GROUP BY 1"
		for _, text := range []string{core + " ORDER BY 1", "SELECT k, n FROM (" + core + ") AS q WHERE n > 0 ORDER BY 1"} {
			if got := groups(must(t, s, text).Rows); got != c.want {
				t.Errorf("%s: %s, want %s", text, got, c.want)
			}
		}
	}
	for _, c := range []struct{ text, want string }{
		{"COUNT(*) FROM t WHERE FLOOR(minutes / 30.0) IN (1, 2)", "420"},
		{"SUM(FLOOR(minutes / 30.0) * 30) FROM t", "37800"},
		{"SUM(CASE WHEN CEIL(minutes / 60.0) = 1 THEN ROUND(minutes, -1) END) FROM t", "13020"},
		{"ROUND(SUM(minutes / 8.0), 2) FROM t", "6247.5"},
		{"ROUND(AVG(SQRT(minutes)), 4) FROM t", "7.2556"},
	} {
		if got := fmt.Sprint(must(t, s, "SELECT "+c.text).Rows[0][0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	for text, hint := range map[string]string{
		"FLOOR(cost / 75)": "step of 10", "CEIL(cost / 100)": "step of 10", "SQRT(cost)": "step of 10", "random()": "", "replace(dept)": "",
		"replace(dept, 'a', minutes)": "one column", "width_bucket(minutes, 5, 5, 1)": "", "dept || minutes": "GROUP BY x, y",
		"age(seen)": "a number of days", "date_format(day, '%Y')": "TO_CHAR", "date_bin('1 hour', seen, day)": "DATE_TRUNC", "NTILE(4) OVER (ORDER BY minutes)": "bins",
	} {
		before := len(ledgerOf(t, s))
		_, err := s.Exec(t.Context(), "SELECT "+text+" AS k, COUNT(*) FROM t GROUP BY 1", nil)
		if e, ok := err.(*sqlerr.Error); !ok || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %+v", text, err)
		}
		if len(ledgerOf(t, s)) != before {
			t.Errorf("%s was charged", text)
		}
	}
}

// TestFunctionsOfValues holds functions of a column to what SQLite makes of the rows themselves: of
// NULLs, of integers that are no float64, of texts that look like numbers, and of dates.
func TestFunctionsOfValues(t *testing.T) {
	t.Parallel()
	s, own := ownRows(t, "n INTEGER, s TEXT, d TEXT, big INTEGER", `n INTEGER BETWEEN -5 AND 5 OR NULL, s TEXT IN ('', 'ab', 'É é', '12', ' x ', NULL),
		d DATE BETWEEN '1969-12-30' AND '1970-01-03', big INTEGER IN (-9007199254740993, 9007199254740993, 9223372036854775807)`,
		[]string{"(-5, '', '1969-12-30', 9007199254740993)", "(-1, 'ab', '1969-12-31', -9007199254740993)", "(0, 'É é', '1970-01-01', 9223372036854775807)",
			"(NULL, NULL, '1970-01-01', 9223372036854775807)", "(3, '12', '1970-01-02', 9007199254740993)", "(5, ' x ', '1970-01-03', 9007199254740993)"})
	for _, key := range []string{"replace(s, 'a', 'z')", "trim(s)", "ltrim(s, ' 1')", "rtrim(s)", "instr(s, 'b')", "hex(s)", "quote(s)", "quote(n)", "unicode(s)", "typeof(s)",
		"concat(s, '-', 1)", "concat_ws('/', s, 'x')", "format('%03d', n)", "printf('%.2f', n)", "octet_length(s)", "char(n + 70)", "upper(trim(s))", "like('%a%', s)",
		"replace(d, '-', '')", "substr(replace(d, '-', ''), 1, 6)", "replace(big, '9', '8')", "format('%d', big)", "length(hex(n))", "coalesce(trim(s), '?')",
		"nullif(replace(s, 'ab', ''), '')", "floor(n / 2.0)", "ceil(n / 2.0) * 2", "trunc(n / 2.0)", "floor(n)", "sign(n)", "sign(n / 2.0)", "round(n / 8.0, 2)", "round(n / 2.0)",
		"sqrt(n)", "round(ln(n), 9)", "round(log(n), 9)", "round(log(2, abs(n)), 9)", "log(0.5, n)", "log(0, n)", "log(1, n)", "log(-2, n)", "power(n, 2)", "1.0 / n", "floor(1.0 / n)", "n * -0.0", "floor(big / 2.0) > 0", "floor(big)", "sign(big)",
		"floor(CASE WHEN n > 0 THEN n ELSE n / 2.0 END) / 2", "exp(n) > 1", "round(exp(n), 3)", "replace(s, '1', '') = '2'",
		"s || '!'", "'<' || s || '>'", "n || ''", "'x' || NULL || n", "substr(d, 1, 4) || '-' || length(d)", "s LIKE '%' || 'b'", "n / '2' = 1", "n + '1' > 0", "'2' * n = 6", "n % '3' = 2", "substr(s, '1', '1')", "round(n / 8.0, '2')",
		"round(degrees(n))", "round(radians(n), 6)", "round(atan2(n, 2), 6)", "round(pi() * n, 6)"} {
		text := "SELECT " + key + " AS k, COUNT(*) FROM t GROUP BY 1 ORDER BY 1"
		rows, err := own.Query(text)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]any
		for rows.Next() {
			row := make([]any, 2)
			if err := rows.Scan(&row[0], &row[1]); err != nil {
				t.Fatal(err)
			}
			want = append(want, row)
		}
		if got := groups(must(t, s, text).Rows); got != groups(want) {
			t.Errorf("%s: %s, want %s", key, got, groups(want))
		}
	}
	for _, key := range []string{"instr(s, n)", "repeat(s, 9223372036854775807)", "rpad(s, 9223372036854775806)", "lpad(s, 'x')", "split_part(s, ' ', 0)", "width_bucket(n, 5, 1, 3)", "exp(big)"} {
		refused(t, s, sqlerr.Unsupported, "SELECT "+key+" AS k, COUNT(*) FROM t GROUP BY 1")
	}
	for _, c := range []struct{ key, want string }{ // as in PostgreSQL
		{"round(n, -1)", "<nil>:1 -10:1 0:3 10:1"}, {"mod(n, 3)", "<nil>:1 -2:1 -1:1 0:2 2:1"}, {"width_bucket(n, -4, 4, 2)", "<nil>:1 0:1 1:1 2:2 3:1"},
		{"round(big % 9223372036854775807, -1)", "-9007199254740990:1 0:2 9007199254740990:3"}, {"cbrt(n) > 1", "<nil>:1 0:3 1:2"},
		{"initcap(s)", "<nil>:1 :1  X :1 12:1 Ab:1 É é:1"}, {"reverse(s)", "<nil>:1 :1  x :1 21:1 ba:1 é É:1"}, {"left(s, 1)", "<nil>:1 :1  :1 1:1 a:1 É:1"},
		{"right(s, 1)", "<nil>:1 :1  :1 2:1 b:1 é:1"}, {"split_part(s, ' ', 2)", "<nil>:1 :3 x:1 é:1"}, {"split_part(s, ' ', -1)", "<nil>:1 :2 12:1 ab:1 é:1"},
		{"lpad(s, 3, '0')", "<nil>:1  x :1 000:1 012:1 0ab:1 É é:1"}, {"rpad(s, 1, '0')", "<nil>:1  :1 0:1 1:1 a:1 É:1"}, {"repeat(s, 2)", "<nil>:1 :1  x  x :1 1212:1 abab:1 É éÉ é:1"},
		{"strpos(s, 'b')", "<nil>:1 0:4 2:1"}, {"btrim(s)", "<nil>:1 :1 12:1 ab:1 x:1 É é:1"}, {"greatest(n, 0)", "0:4 3:1 5:1"}, {"max(n, 0)", "<nil>:1 0:3 3:1 5:1"},
		{"coalesce(n, '0') = 0", "0:4 1:2"}, {"greatest(n, '4')", "4:5 5:1"}, {"nvl(s, '1')", ":1  x :1 1:1 12:1 ab:1 É é:1"}, {"width_bucket(n, '-4', '4', '2')", "<nil>:1 0:1 1:1 2:2 3:1"},
		{"n = ANY (ARRAY['3', '5']::int[])", "<nil>:1 0:3 1:2"},
		{"to_char(d, 'Mon DD, YYYY')", "Dec 30, 1969:1 Dec 31, 1969:1 Jan 01, 1970:2 Jan 02, 1970:1 Jan 03, 1970:1"}, {"to_char(d, 'FMDay')", "Friday:1 Saturday:1 Thursday:2 Tuesday:1 Wednesday:1"},
		{"to_char(d, 'DY')", "FRI:1 SAT:1 THU:2 TUE:1 WED:1"}, {"to_char(d, 'Month') || '|'", "December |:2 January  |:4"},
		{`to_char(d, 'IYYY-"W"IW')`, "1970-W01:6"}, {`to_char(d, '"Q"Q YYYY')`, "Q1 1970:4 Q4 1969:2"}, {"to_char(d, 'DDD ID')", "001 4:2 002 5:1 003 6:1 364 2:1 365 3:1"},
		{"extract(decade from d)", "196:2 197:4"}, {"trunc(n / 8.0, 1)", "<nil>:1 -0.6:1 -0.1:1 0:1 0.3:1 0.6:1"}, {"trunc(n, 2)", "<nil>:1 -5:1 -1:1 0:1 3:1 5:1"},
		{"trunc(big, -18)", "0:4 9000000000000000000:2"}, {"trunc(n * 7.0, -1)", "<nil>:1 -30:1 0:2 20:1 30:1"}, {"round(n * 0.057, 2)", "<nil>:1 -0.29:1 -0.06:1 0:1 0.17:1 0.29:1"},
		{"left(s, -1)", "<nil>:1 :1  x:1 1:1 a:1 É :1"}, {"right(s, -1)", "<nil>:1 :1  é:1 2:1 b:1 x :1"}, {"substring(s for 1)", "<nil>:1 :1  :1 1:1 a:1 É:1"},
		{"starts_with(s, 'a')", "<nil>:1 0:4 1:1"}, {"ascii(s)", "<nil>:2 32:1 49:1 97:1 201:1"}, {"n::varchar(1)", "<nil>:1 -:2 0:1 3:1 5:1"}, {"cast(s as char(1))", "<nil>:1 :1  :1 1:1 a:1 É:1"},
	} {
		core := "SELECT " + c.key + " AS k, COUNT(*) AS n FROM t GROUP BY 1"
		for _, text := range []string{core + " ORDER BY 1", "SELECT k, n FROM (" + core + ") AS q WHERE n > 0 ORDER BY 1"} {
			if got := groups(must(t, s, text).Rows); got != c.want {
				t.Errorf("%s: %s, want %s", text, got, c.want)
			}
		}
	}
}

// TestQuotientsOfNamed divides what a sub-select names, as PostgreSQL does: a number that is no INTEGER there is not cut.
func TestQuotientsOfNamed(t *testing.T) {
	t.Parallel()
	s, _ := ownRows(t, "n INTEGER, d TEXT", `n INTEGER BETWEEN 0 AND 9, d DATE BETWEEN '2024-01-01' AND '2024-12-31'`, []string{"(3, '2024-03-05')", "(8, '2024-06-09')"})
	for key, want := range map[string]string{
		"EXTRACT(MONTH FROM d)": "1.5:1 3:1", "date_part('day', d)": "2.5:1 4.5:1", "n::numeric": "1.5:1 4:1", "n::float8": "1.5:1 4:1",
		"CEIL(n / 7.0)": "0.5:1 1:1", "ROUND(n / 2.0)": "1:1 2:1", "n": "1:1 4:1", "EXTRACT(MONTH FROM d)::int": "1:1 3:1",
	} {
		for _, text := range []string{"SELECT k / 2 AS h, SUM(c) FROM (SELECT %s AS k, COUNT(*) AS c FROM t GROUP BY 1) x WHERE c > 0 GROUP BY 1 ORDER BY 1",
			"WITH x AS (SELECT %s AS k, COUNT(*) AS c FROM t GROUP BY 1) SELECT k / 2 AS h, c FROM x WHERE c > 0 ORDER BY 1"} {
			if got := groups(must(t, s, fmt.Sprintf(text, key)).Rows); got != want {
				t.Errorf("%s: %s, want %s", key, got, want)
			}
		}
	}
}

// BenchmarkFunctionOfValues binds a function of a column with a million values, as EXPLAIN does.
func BenchmarkFunctionOfValues(b *testing.B) {
	s, _ := ownRows(b, "n INTEGER", "n INTEGER BETWEEN 0 AND 999999", []string{"(1)", "(2)"})
	for _, where := range []string{"floor(n / 30.0) = 7", "sqrt(n) > 3", "substr(format('%06d', n), 1, 2) = '07'"} {
		b.Run(where, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Exec(b.Context(), "EXPLAIN SELECT COUNT(*) FROM t WHERE "+where, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
