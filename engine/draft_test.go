package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// TestDraft drafts a declaration of columns of every kind, and runs it.
func TestDraft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "draft.db")
	s := open(t, path, engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE codes (code TEXT, n INTEGER)`, `INSERT INTO codes VALUES ('a', 1), ('b', 2), ('c', 3)`,
		`CREATE TABLE raw_stays (patient TEXT, "group" TEXT, code TEXT, n INTEGER, age INTEGER, year INTEGER, kind INTEGER, came TEXT,
			cost REAL, small REAL, zip TEXT, note BLOB, blank TEXT, mixed, serial INTEGER, huge INTEGER, "odd name" TEXT, sex TEXT)`,
		`WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
			INSERT INTO raw_stays SELECT 'p' || (i / 4), iif(i % 10, 'it''s', iif(i = 500, 'rare', NULL)), substr('abc', i % 3 + 1, 1), i % 3 + 1,
			17 + i % 74, 1991 + i % 33, iif(i % 2, 1, 900), date('2021-03-01', (i % 700) || ' days'), i / 7.0, i / 1700.0 - 0.23, 'z' || (i % 60), x'00', NULL,
			iif(i % 2, i, 'x'), i, i % 90 * 18000000000000000, 'one' || char(10), iif(i % 3, 'f', '') FROM i`)
	must(t, s, `CREATE PUBLIC TABLE codes`)
	text, err := s.Draft(context.Background(), "raw_stays")
	if err != nil {
		t.Fatal(err)
	}
	const want = `-- A draft of a declaration of raw_stays, made from its 1000 rows, without noise. It tells of
-- them: review it as a text for the public before anyone else sees it or runs it.
-- Left out:
--   patient: may be the unit, which need not be declared
--   note: has blobs, which are no values
--   blank: has no values yet; declare what it can have
--   mixed: has values of several types: a view can make one of them
--   serial: every row has another value: it names rows, or the persons who have one row each
--   huge: has numbers of any size; bin it in a view
--   "odd name": no value has 10 rows; list those that can occur
CREATE PRIVATE TABLE stays (
    "group" TEXT IN ('it''s') OR OTHER OR NULL, -- each in 10 rows or more: list all that can occur
    code TEXT IN (SELECT code FROM codes), -- all values are there
    n INTEGER IN (SELECT n FROM codes), -- or a range of whole numbers
    age INTEGER BETWEEN 0 AND 90 CLAMP, -- rounded: give the bounds that can occur
    year INTEGER BETWEEN 1990 AND 2030 CLAMP, -- rounded: give the bounds that can occur
    kind INTEGER IN (1, 900), -- each in 10 rows or more: list all that can occur
    came DATE BETWEEN '2021-01-01' AND '2023-12-31', -- whole years
    cost REAL BETWEEN 0 AND 200 STEP 0.01 CLAMP, -- rounded: a row counts as the middle of its step; intervals hold what that may move
    small REAL BETWEEN -0.3 AND 0.4 STEP 0.00001 CLAMP, -- rounded: a row counts as the middle of its step; intervals hold what that may move
    zip TEXT, -- any text; list values to count by them, or publish keys
    sex TEXT IN ('', 'f') OR OTHER -- each in 10 rows or more: list all that can occur; '' is an empty field, which .import --null '' makes NULL
) FROM raw_stays WITH (
    unit = patient, max_rows = 4, -- a person, by the name and as the values repeat: 95 % have no more rows, and more of one are not counted
    epsilon = 1, -- of everything that is ever answered: choose it before anyone asks
    delta = 1e-6 -- far below 1 / rows
);
-- CREATE RELEASE counts ON stays ("group", age, year, kind) WITH (epsilon = 0.2); -- counts by these columns together, free for ever after
-- CREATE RELEASE numbers ON stays (cost) WITH (epsilon = 0.2); -- its sums, averages and quantiles, free for ever after
`
	if text != want {
		t.Errorf("the draft is\n%s", text)
	}
	runDraft(t, s, text)
	must(t, s, `SET accuracy = 1000`)
	must(t, s, `SELECT COUNT(*) FROM stays WHERE "group" = 'it''s' AND came >= '2022-01-01'`)

	for table, code := range map[string]sqlerr.Code{"dpsql_ledger": sqlerr.Forbidden, "DPSQL_ledger": sqlerr.Forbidden, "missing": sqlerr.Unknown, "": sqlerr.Unknown} {
		if _, err := s.Draft(context.Background(), table); sqlerr.CodeOf(err) != code {
			t.Errorf("%q: %v, want %s", table, err, code)
		}
	}
	if _, err := open(t, path, engine.Options{Role: engine.Analyst}).NewSession().Draft(context.Background(), "raw_stays"); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("an analyst was drafted a table: %v", err)
	}
	empty := open(t, filepath.Join(t.TempDir(), "empty.db"), engine.Options{}).NewSession()
	fill(t, empty, `CREATE TABLE raw (a INTEGER)`)
	if text, err := empty.Draft(context.Background(), "raw"); err != nil || !strings.Contains(text, "No column can be declared") {
		t.Errorf("of an empty table: %s, %v", text, err)
	}
}

// TestDraftRunsAsItStands drafts tables as people bring them and runs each draft. At an ε so
// large that there is no noise the averages of numbers are those of the rows, but for half a
// step where the draft says that it rounds. Without -long every sixth table is drafted.
func TestDraftRunsAsItStands(t *testing.T) {
	t.Parallel()
	const rows = `WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999) SELECT `
	type drafted struct {
		name, file, values string // values make a column x
		domain             string // in the draft
		average            string // the column whose average is compared
		off                float64
	}
	for _, test := range some(t, 6, []drafted{
		{name: "a digit behind the point", file: "rain.csv", domain: "NUMERIC(10, 1) BETWEEN 0 AND 200", average: "rain"},
		{name: "negative numbers", file: "temperature.csv", domain: "NUMERIC(10, 1) BETWEEN -10 AND 30", average: "temperature"},
		{name: "a long name", file: "long.csv", domain: "-- No column can be declared as it is."},
		{name: "OTHER", file: "other.csv", domain: "origin TEXT IN ('HOME', 'WORK') OR OTHER"},
		{name: "many columns", file: "wide.csv", domain: "--   c1039: a table has at most 1000 columns"},
		{name: "quarters", values: "i % 37 * 0.25", domain: "NUMERIC(10, 2) BETWEEN 0 AND 9", average: "x"},
		{name: "cents", values: "(i * 7919 % 12345 - 3000) / 100.0", domain: "NUMERIC(10, 2) BETWEEN -100 AND 100", average: "x"},
		{name: "thousandths", values: "iif(i % 10, i % 7 / 1000.0, NULL)", domain: "NUMERIC(10, 3) BETWEEN 0 AND 0.006 OR NULL", average: "x"},
		{name: "whole floats", values: "CAST(i % 90 AS REAL)", domain: "NUMERIC(10, 0) BETWEEN 0 AND 90", average: "x"},
		{name: "one fraction", values: "0.5", domain: "NUMERIC(10, 1) BETWEEN 0.5 AND 0.5", average: "x"},
		{name: "a long range", values: "iif(i % 4, i * 7919 % 60000 + 0.37, 0.0)", domain: "REAL BETWEEN 0 AND 60000 STEP 1 CLAMP, -- rounded: a row counts as the middle of its step; " +
			"intervals hold what that may move; 0 has the first step: < 1 selects it", average: "x", off: 0.5},
		{name: "thirds", values: "i / 3.0", domain: "REAL BETWEEN 0 AND 400 STEP 0.01", average: "x", off: 0.005},
		{name: "long whole numbers", values: "i / 2 * 7919", domain: "REAL BETWEEN 0 AND 4000000 STEP 100", average: "x", off: 50},
		{name: "large numbers that differ little", values: "1e12 + i % 10 + 0.5", domain: "--   x: has numbers that differ little for their size"},
		{name: "no person", values: "i % 3", domain: "-- who is a person? unit = column"},
		{name: "a person by the name", values: "i / 3 AS VisitorId, i % 5", domain: "    unit = VisitorId, max_rows = 3,"},
		{name: "a person with NULL", values: "iif(i % 5, 'K' || (i / 4), NULL) AS \"Kunden-Nr.\", i % 5", domain: "    unit = \"Kunden-Nr.\", max_rows = 4,"},
		{name: "perhaps a person", values: "'q' || (i / 4) AS tag, i % 5", domain: "    -- who is a person? unit = tag, max_rows = 4 if"},
		{name: "perhaps persons of many rows", values: "'dev-' || (i / 9) AS device, i % 5", domain: "    -- who is a person? unit = device, max_rows = 9 if"},
		{name: "numbers in dress", values: "iif(i % 9, '€ ' || i || ',50', 'NA')", domain: "x TEXT, -- any text; if these are numbers, .import says with which switch it takes them"},
		{name: "numbers with a unit", values: "(i / 2) || ',5 kg'", domain: "x TEXT, -- any text; if these are numbers, .import says with which switch it takes them"},
		{name: "postal codes", values: "'0' || (1000 + i / 2)", domain: "x TEXT, -- any text; list values to count by them"},
		{name: "shops", values: "i % 30 AS ShopId, i % 5", domain: "    ShopId INTEGER BETWEEN 0 AND 30 CLAMP"},
		{name: "many zeros", values: "iif(i % 4, i % 7 + 0.013 * i, 0)", domain: "REAL BETWEEN 0 AND 20 STEP 0.001 CLAMP", average: "x", off: 0.0005},
		{name: "zeros with a finer step", values: "iif(i % 4, 0.037 + (i % 4 = 1) * i * i / 3.0, 0)", domain: "STEP 1 CLAMP, -- rounded: a row counts as the middle of its step; intervals hold what that may move; 0 has the first step: < 1 selects it, with all that is below; for 0 alone, declare a column x = 0 of a view"},
		{name: "a most that few have", values: "min(i, 100)", domain: "x INTEGER BETWEEN 0 AND 100 CLAMP"},
		{name: "a most that one has", values: "iif(i = 7, 300, i % 100)", domain: "x INTEGER BETWEEN 0 AND 400 CLAMP"},
		{name: "moments", values: "datetime('2019-02-28 23:05:59', (i * 61) || ' minutes')", domain: "x TIMESTAMP BETWEEN '2019-01-01' AND '2019-12-31 23:00' STEP '1 hour', -- whole years"},
		{name: "moments at midnight", values: "iif(i % 9, strftime('%Y-%m-%dT00:00:00Z', '2021-12-01', (i % 90) || ' days'), NULL)", domain: "x TIMESTAMP BETWEEN '2021-01-01' AND '2022-12-31' STEP '1 day' OR NULL, -- "},
		{name: "dates and moments", values: "iif(i % 2, '2024-05-01', '2024-05-01 12:30')", domain: "x TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31 23:00'"},
		{name: "moments that repeat as persons do", values: "datetime('2019-01-01', (i / 3) || ' hours')", domain: "-- who is a person? unit = column"},
		{name: "moments with a zone", values: "'2024-05-01T12:30:00+02:00'", domain: "x TEXT IN "},
		{name: "a text with a comment", values: "iif(i % 2, ', -- ', 'b')", domain: "x TEXT IN (', -- ', 'b') OR OTHER,"},
	}) {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "many columns" && !*long {
				t.Skip("a thousand columns: with -long")
			}
			t.Parallel()
			ctx := context.Background()
			s := open(t, filepath.Join(t.TempDir(), "draft.db"), engine.Options{}).NewSession()
			if test.file != "" {
				path := filepath.Join("..", "testdata", "reports", "drafts", test.file)
				if _, err := s.Import(ctx, engine.Import{Path: path, Table: "raw_t"}); err != nil {
					t.Fatal(err)
				}
			} else {
				fill(t, s, `CREATE TABLE raw_t AS `+rows+test.values+` AS x, i % 2 AS y FROM i`)
			}
			text, err := s.Draft(ctx, "raw_t")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, test.domain) {
				t.Errorf("the draft has no %s:\n%.2000s", test.domain, text)
			}
			if !strings.Contains(text, "CREATE PRIVATE TABLE") {
				return
			}
			runDraft(t, s, strings.Replace(text, "epsilon = 1,", "epsilon = 200,", 1))
			if test.average == "" {
				return
			}
			must(t, s, `CREATE RELEASE r ON t (`+test.average+`) USING PROJECTION WITH (epsilon = 60, estimate = unbiased)`)
			got := must(t, s, `SELECT AVG(`+test.average+`) FROM t`).Rows[0][0].(float64)
			var want float64
			err = s.DB().Store().Write(ctx, func(tx *catalog.Tx) error {
				return tx.SQL().QueryRowContext(ctx, `SELECT AVG(`+test.average+`) FROM raw_t`).Scan(&want)
			})
			if err != nil || math.Abs(got-want) > test.off+1e-9*math.Abs(want) {
				t.Errorf("the average is %v, %v; want %v", got, err, want)
			}
		})
	}
}

// runDraft runs a draft as it stands, and what it proposes as comments.
func runDraft(t *testing.T, s *engine.Session, text string) {
	t.Helper()
	declaration, releases, _ := strings.Cut(text, "\n);\n")
	must(t, s, declaration+"\n);")
	for line := range strings.Lines(releases) {
		must(t, s, strings.TrimPrefix(line, "-- "))
	}
}

// TestDraftOfVisitors drafts a made-up file of the shape of a public tutorial's: visitors with one to six rows each,
// a time of day as people write it, minutes, euros, and days from 1 to 7. The visitor is the unit, whatever the
// language of the name, and no value that few rows have is in the draft.
func TestDraftOfVisitors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var file strings.Builder
	rows, few := make([][]string, 0, 5000), make([]map[string]int, 5)
	for k := range few {
		few[k] = make(map[string]int)
	}
	for visitor := range 1360 {
		for day := range 1 + visitor*visitor%101*6/101*(visitor%5)/4 {
			minute := 540 + visitor*7919%600
			at := fmt.Sprintf("%d:%02dAM", minute/60, minute%60)
			if minute >= 720 {
				at = fmt.Sprintf("%d:%02dPM", (minute/60+11)%12+1, minute%60)
			}
			spent := (visitor*31 + day*17) % 140
			rows = append(rows, []string{strconv.Itoa(visitor + 1), at, strconv.Itoa(10 + spent*spent/150), strconv.Itoa((visitor*13+day)%60 + spent*spent*spent/50_000), strconv.Itoa((visitor+day)%7 + 1)})
		}
	}
	for _, row := range rows {
		for k, v := range row {
			few[k][v]++
		}
	}
	for i, name := range some(t, 8, []string{"VisitorId", "visitor", "Kundennummer", "Patienten-Nr", "N° client", "id_cliente", "numéro d'adhérent", "患者番号", "会員ID", "用户编号", "Номер пациента", "고객번호"}) {
		s := open(t, filepath.Join(t.TempDir(), "draft.db"), engine.Options{}).NewSession()
		file.Reset()
		fmt.Fprintf(&file, "%s,Time entered,Time spent (minutes),Money spent (euros),Day\n", name)
		for _, row := range rows {
			file.WriteString(strings.Join(row, ",") + "\n")
		}
		path := filepath.Join(t.TempDir(), "week.csv")
		if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Import(ctx, engine.Import{Path: path, Table: "raw_week"}); err != nil {
			t.Fatal(err)
		}
		text, err := s.Draft(ctx, "raw_week")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "\n    unit = "+syntax.WriteName(name)+", max_rows = 5, -- ") || strings.Contains(text, "who is a person?") {
			t.Errorf("of %s: %s", name, text)
		}
		for line := range strings.Lines(text) {
			for k, column := range []string{name, "Time entered", "Time spent (minutes)", "Money spent (euros)", "Day"} {
				said, ok := strings.CutPrefix(line, "    "+syntax.WriteName(column)+" ")
				for _, word := range regexp.MustCompile(`[\d:]+(AM|PM)?`).FindAllString(said, -1) {
					if n := few[k][word]; ok && word != "0" && n > 0 && n < 10 {
						t.Errorf("%s has the value %s of %d rows", line, word, n)
					}
				}
			}
		}
		if i == 0 {
			runDraft(t, s, text)
		}
	}
}

// TestCheck holds what .check says of each column, and of a declaration that has not run, to the rows that a release
// without noise leaves out. No value that few rows have is shown, nothing is charged, and only the curator may look.
func TestCheck(t *testing.T) {
	t.Parallel()
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "check.db")
	s := open(t, path, engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (age INTEGER, sex TEXT, size TEXT COLLATE NOCASE, came TEXT, fee REAL, cost REAL, paid, any)`,
		`WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
			INSERT INTO raw SELECT iif(i % 10, i % 120, NULL), iif(i % 7, 'm', 'f' || (i % 2) || iif(i = 14, 'rare', '')), iif(i % 3, 'Large', 'large'),
			iif(i % 50, date('2023-12-20', (i % 40) || ' days'), '1.2.2024'), i % 40 / 8.0, i * 1.5 - 20, iif(i % 4, i % 2, 'yes'), x'00' FROM i`)
	const missing = "-- What the domains of %s lose, without noise. It tells of the rows: show it to nobody.\n"
	for _, c := range []struct{ column, says string }{
		{"age INTEGER BETWEEN 0 AND 99", "age: 244 rows lost; the commonest values: NULL in 100"},
		{"age INTEGER BETWEEN 0 AND 99 OR NULL CLAMP", "age: 0 rows lost"},
		{"sex TEXT IN ('m')", "sex: 143 rows lost; the commonest values: 'f0' in 71, 'f1' in 71"},
		{"sex TEXT IN ('m') OR OTHER", "sex: 0 rows lost"},
		{"size TEXT IN ('Large')", "size: 334 rows lost; the commonest values: 'large' in 334"},
		{"came DATE BETWEEN '2023-01-01' AND '2023-12-31'", "came: 710 rows lost; the commonest values: '2024-"},
		{"fee NUMERIC(4, 1) BETWEEN 0 AND 4", "fee: "},
		{"cost REAL BETWEEN 0 AND 1000 STEP 10", "cost: 333 rows lost; no value outside is in 10 rows"},
		{"paid BOOLEAN", "paid: 250 rows lost; the commonest values: 'yes' in 250"},
		{"any INTEGER BETWEEN 0 AND 1", "any: 1000 rows lost; the commonest values: X'00' in 1000"},
		{"sex TEXT OR OTHER", "sex: 0 rows lost\nmax_rows = 7: 244 rows lost"},
	} {
		declaration := "CREATE PRIVATE TABLE t (" + c.column + ") FROM raw WITH (epsilon = 1000, interactive = 0);"
		epsilon := "60"
		if strings.Contains(c.says, "max_rows") { // of rows whose budget protects units
			epsilon = "600"
			fill(t, s, `CREATE TABLE visits AS SELECT * FROM raw`)
			declaration = strings.Replace(declaration, "TEXT OR OTHER) FROM raw WITH (", "TEXT IN ('m') OR OTHER) FROM visits WITH (unit = age, max_rows = 7, ", 1)
		}
		if strings.HasPrefix(c.column, "any") {
			declaration = strings.Replace(declaration, "any", `"any"`, 1)
		}
		before, err := s.Check(ctx, "draft.sql", declaration+" -- as drafted\n")
		if err != nil {
			t.Fatal(err)
		}
		must(t, s, declaration)
		said, err := s.Check(ctx, "T", "")
		if err != nil || said != before || !strings.HasPrefix(said, fmt.Sprintf(missing, "t")+c.says) || strings.Contains(said, "rare") {
			t.Errorf("%s: %s, %v; undeclared: %s", c.column, said, err, before)
		}
		name, _, _ := strings.Cut(c.column, " ")
		must(t, s, `CREATE RELEASE r ON t ("`+name+`") USING PROJECTION WITH (epsilon = `+epsilon+`)`)
		kept := must(t, s, `SELECT COUNT(*) FROM t`).Rows[0][0].(int64)
		var lost int64
		for _, one := range regexp.MustCompile(`(\d+) rows lost`).FindAllStringSubmatch(said, -1) {
			n, _ := strconv.ParseInt(one[1], 10, 64)
			lost += n
		}
		if lost != 1000-kept {
			t.Errorf("%s: %s, and a release has %d of 1000", c.column, said, kept)
		}
		must(t, s, `DROP RELEASE r`)
		must(t, s, `DROP PRIVATE TABLE t`)
	}
	must(t, s, `CREATE PRIVATE TABLE t (age INTEGER BETWEEN 0 AND 99) FROM raw WITH (epsilon = 1000, interactive = 0)`)
	for _, c := range []struct {
		by, declaration string
		code            sqlerr.Code
	}{
		{"missing", "", sqlerr.Unknown},
		{"raw", "", sqlerr.Unknown},
		{"x.sql", "SELECT COUNT(*) FROM t", sqlerr.Invalid},
		{"x.sql", "CREATE PRIVATE TABLE", sqlerr.Malformed},
		{"x.sql", "CREATE PRIVATE TABLE u (a TEXT) FROM dpsql_ledger WITH (epsilon = 1)", sqlerr.Forbidden},
		{"x.sql", "CREATE PRIVATE TABLE u (absent TEXT) FROM raw WITH (epsilon = 1)", sqlerr.Unknown},
	} {
		if said, err := s.Check(ctx, c.by, c.declaration); sqlerr.CodeOf(err) != c.code {
			t.Errorf("%v: %s, %v", c, said, err)
		}
	}
	if said, err := open(t, path, engine.Options{Role: engine.Analyst}).NewSession().Check(ctx, "t", ""); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("an analyst was told %s, %v", said, err)
	}
	if r := must(t, s, `SHOW LEDGER`); strings.Contains(fmt.Sprint(r.Rows), "check") {
		t.Errorf("the ledger has %v", r.Rows)
	}
}
