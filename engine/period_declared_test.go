package engine_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/internal/seeds"
	"dpsql/sqlerr"
)

// grows makes a file with a table that grows, without a declaration.
func grows(t testing.TB) *engine.Session {
	t.Helper()
	s := declared(t, []string{`CREATE TABLE raw_visits (patient TEXT, doctor TEXT, sex TEXT, age INTEGER, paid REAL, visited TEXT, left_at TEXT, at TEXT, batch INTEGER, region TEXT,
			ago TEXT AS (substr(visited, 1, 7)))`,
		`CREATE TABLE raw_drugs (patient TEXT, sex TEXT, visited TEXT)`, `CREATE TABLE calendar (day TEXT PRIMARY KEY, holiday TEXT)`,
		`INSERT INTO raw_visits VALUES ('a', 'x', 'F', 30, 1.5, '2024-01-31', '2024-02-01', '2024-01-31 08:00', 17, 'north')`},
		`CREATE PUBLIC TABLE calendar`)
	must(t, s, `SET accuracy = 1000`)
	return s
}

// visitsAs declares a table over raw_visits, or another source.
func visitsAs(name, column, from, with string) string {
	return fmt.Sprintf(`CREATE PRIVATE TABLE %s (sex TEXT IN ('F', 'M'), %s) FROM %s WITH (epsilon = 4, delta = 1e-6, %s)`, name, column, from, with)
}

const (
	visitedDate = `visited DATE BETWEEN '2024-01-01' AND '2033-12-31'`
	byMonth     = `unit = patient, max_rows = 2, period = 'month of visited', time_zone = 'Europe/Berlin'`
)

// minted are declarations that would give the rows of raw_visits, whose budget belongs to each
// month of visited, a budget of other periods.
var minted = []struct {
	what       string
	view       string // the definition of the view over which the table is; "" for raw_visits
	column     string
	with, want string
}{
	{"no periods", "", visitedDate, `unit = patient, max_rows = 2`, "invalid"},
	{"no periods, through a view", `SELECT * FROM raw_visits`, visitedDate, `unit = patient, max_rows = 2`, "invalid"},
	{"no periods, without the column", "", `age INTEGER BETWEEN 0 AND 9`, `unit = patient, max_rows = 2`, "invalid"},
	{"another granularity", "", visitedDate, strings.Replace(byMonth, "month", "day", 1), "invalid"},
	{"a coarser granularity", "", visitedDate, strings.Replace(byMonth, "month", "year", 1), "invalid"},
	{"another column", "", strings.Replace(visitedDate, "visited", "left_at", 1), strings.Replace(byMonth, "visited", "left_at", 1), "invalid"},
	{"another column, renamed", `SELECT patient, sex, left_at AS visited FROM raw_visits`, visitedDate, byMonth, "invalid"},
	{"another column, by values", "", `batch INTEGER BETWEEN 0 AND 99`, `unit = patient, max_rows = 2, period = 'batch'`, "invalid"},
	{"no time zone", "", visitedDate, strings.Replace(byMonth, ", time_zone = 'Europe/Berlin'", "", 1), "invalid"},
	{"another time zone", "", visitedDate, strings.Replace(byMonth, "Berlin", "Paris", 1), "invalid"},
	{"another form", "", visitedDate + ` STORED AS unix`, byMonth, "invalid"},
	{"as moments", "", `visited TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31' STEP '1 hour'`, byMonth, "invalid"},
	{"a computed date", `SELECT patient, sex, '2024-02-01' AS visited FROM raw_visits`, visitedDate, byMonth, "invalid"},
	{"a later date", `SELECT patient, sex, date(min(visited, ':'), '+1 month') AS visited FROM raw_visits`, visitedDate, byMonth, "invalid"},
	{"a chosen date", `SELECT patient, sex, CASE sex WHEN 'F' THEN visited ELSE left_at END AS visited FROM raw_visits`, visitedDate, byMonth, "invalid"},
	{"a public date", `SELECT patient, sex, holiday AS visited FROM raw_visits JOIN calendar ON visited = day`, visitedDate, byMonth, "invalid"},
	{"a generated date", `SELECT patient, sex, ago AS visited FROM raw_visits`, visitedDate, byMonth, "invalid"},
	{"CLAMP", "", visitedDate + ` CLAMP`, byMonth, "invalid"},
	{"OR NULL", "", visitedDate + ` OR NULL`, byMonth, "invalid"},
	{"several private tables", `SELECT patient, sex, visited FROM raw_visits UNION ALL SELECT patient, sex, visited FROM raw_drugs`, visitedDate, byMonth, "invalid"},
	{"a join of private tables", `SELECT d.patient, d.sex, v.visited FROM raw_visits v JOIN raw_drugs d ON v.patient = d.patient`, visitedDate, byMonth, "unsupported"},
	{"a window over a unit", `SELECT patient, lag(sex) OVER (PARTITION BY patient ORDER BY visited) AS sex, visited FROM raw_visits`, visitedDate, byMonth, "unsupported"},
	{"groups of a unit", `SELECT patient, max(sex) AS sex, max(visited) AS visited FROM raw_visits GROUP BY patient`, visitedDate, byMonth, "unsupported"},
	{"rows of a unit at once", `SELECT DISTINCT patient, sex, visited FROM raw_visits`, visitedDate, byMonth, "unsupported"},
	{"rows twice", `SELECT * FROM raw_visits UNION ALL SELECT * FROM raw_visits`, visitedDate, byMonth, "unsupported"},
	{"no unit", "", visitedDate, `period = 'month of visited', time_zone = 'Europe/Berlin'`, "invalid"},
	{"another unit", "", visitedDate, strings.Replace(byMonth, "patient", "doctor", 1), "invalid"},
	{"another unit, renamed", `SELECT doctor AS patient, sex, visited FROM raw_visits`, visitedDate, byMonth, "invalid"},
	{"a computed unit", `SELECT patient || visited AS patient, sex, visited FROM raw_visits`, visitedDate, byMonth, "invalid"},
	{"another budget", "", visitedDate, byMonth + `, interactive = 0.25`, "invalid"},
}

// refuseMinted declares each of minted. It must be refused with a hint, and leave the ledger as it
// is.
func refuseMinted(t *testing.T, s *engine.Session) {
	t.Helper()
	before := ledger(t, s)
	for _, c := range minted {
		from := "raw_visits"
		if c.view != "" {
			from = "seen_by_minted"
			fill(t, s, `DROP VIEW IF EXISTS seen_by_minted`, `CREATE VIEW seen_by_minted AS `+c.view)
		}
		e := refused(t, s, sqlerr.Code(c.want), visitsAs("minted", c.column, from, c.with))
		if e.Hint == "" {
			t.Errorf("%s: %v has no hint", c.what, e)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger was\n%sand is\n%s", before, after)
	}
}

// TestFreshBudgets tries every way to give rows whose budget belongs to the months of a column
// another budget: as long as their table is there, and after it was dropped.
func TestFreshBudgets(t *testing.T) {
	t.Parallel()
	s := grows(t)
	must(t, s, visitsAs("visits", visitedDate, "raw_visits", byMonth))
	refuseMinted(t, s)
	must(t, s, `DROP PRIVATE TABLE visits`)
	refuseMinted(t, s)
	fill(t, s, `CREATE VIEW women AS SELECT sex, visited AS came, patient FROM raw_visits LEFT JOIN calendar ON visited = day WHERE sex = 'F'`)
	came := strings.NewReplacer("visited", "came").Replace(byMonth)
	for _, text := range []string{
		visitsAs("visits", visitedDate, "raw_visits", byMonth),
		visitsAs("more", `visited DATE BETWEEN '2030-01-01' AND '2050-12-31', age INTEGER BETWEEN 0 AND 120`, "raw_visits", strings.Replace(byMonth, "max_rows = 2", "max_rows = 9", 1)),
		visitsAs("women", strings.Replace(visitedDate, "visited", "came", 1), "women", came),
		`SELECT COUNT(*) FROM women WHERE came < '2024-02-01'`,
	} {
		must(t, s, text)
	}
	if n := strings.Count(ledger(t, s), "budget declared"); n != 1 {
		t.Errorf("%d budgets are declared", n)
	}
}

// TestPublicThatIsNoLonger declares a table over a view that joins a public table. Once that is
// public no more, the view has private rows of two tables.
func TestPublicThatIsNoLonger(t *testing.T) {
	t.Parallel()
	s := grows(t)
	fill(t, s, `CREATE VIEW v AS SELECT patient, sex, visited FROM raw_visits JOIN calendar ON visited = day`)
	must(t, s, visitsAs("visits", visitedDate, "v", byMonth))
	must(t, s, `SELECT COUNT(*) FROM visits WHERE visited < '2024-02-01'`)
	must(t, s, `DROP PUBLIC TABLE calendar`)
	refused(t, s, sqlerr.Unsupported, `SELECT COUNT(*) FROM visits WHERE visited < '2024-03-01'`)
}

// TestPeriodColumnsOfDeclarations refuses columns that cannot say in which period a row lies, and
// options that mean nothing.
func TestPeriodColumnsOfDeclarations(t *testing.T) {
	t.Parallel()
	s := grows(t)
	for _, c := range []struct{ column, with string }{
		{visitedDate + ` CLAMP`, `period = 'month of visited'`},
		{visitedDate + ` OR NULL`, `period = 'month of visited'`},
		{visitedDate, `period = 'visited'`},
		{visitedDate, `period = 'hour of visited'`},
		{visitedDate, `period = 'month visited'`},
		{visitedDate, `period = ''`},
		{visitedDate, `period = 7`},
		{visitedDate, `period = 'month of left_at'`},
		{visitedDate, `period = 'month of visited', unit = visited, max_rows = 2`},
		{visitedDate, `period = 'month of visited', time_zone = 'Mars/Olympus'`},
		{visitedDate, `period = 'month of visited', time_zone = 'Local'`},
		{visitedDate, `time_zone = 'Europe/Berlin'`},
		{`batch INTEGER BETWEEN 0 AND 99`, `period = 'month of batch'`},
		{`batch INTEGER BETWEEN 0 AND 99 OR NULL`, `period = 'batch'`},
		{`batch INTEGER BETWEEN 0 AND 99 CLAMP`, `period = 'batch'`},
		{`batch INTEGER IN (1, NULL)`, `period = 'batch'`},
		{`batch INTEGER BETWEEN 0 AND 99`, `period = 'batch', time_zone = 'Europe/Berlin'`},
		{`batch INTEGER BETWEEN 0 AND 99`, `period = 'batch', unit = batch, max_rows = 2`},
		{`region TEXT`, `period = 'region'`},
		{`region TEXT IN ('north') OR OTHER`, `period = 'region'`},
		{`region TEXT IN ('north', NULL)`, `period = 'region'`},
		{`region TEXT IN ('north', '')`, `period = 'region'`},
		{`region TEXT COLLATE NOCASE IN ('north')`, `period = 'region'`},
		{`paid REAL BETWEEN 0 AND 9 STEP 0.5`, `period = 'paid'`},
		{`age BOOLEAN`, `period = 'age'`},
	} {
		if e := refused(t, s, sqlerr.Invalid, visitsAs("p", c.column, "raw_visits", c.with)); e.Hint == "" && !strings.Contains(e.Message, "no meaning") {
			t.Errorf("%s, %s: %v has no hint", c.column, c.with, e)
		}
	}
	if text := ledger(t, s); text != "" {
		t.Errorf("the ledger is\n%s", text)
	}
}

// TestPeriodsOfASharedBudget gives no periods to rows whose budget covers other tables, too.
func TestPeriodsOfASharedBudget(t *testing.T) {
	t.Parallel()
	s := grows(t)
	fill(t, s, `CREATE VIEW joined AS SELECT d.patient, d.sex, v.visited FROM raw_visits v JOIN raw_drugs d ON v.patient = d.patient`)
	must(t, s, visitsAs("joined", visitedDate, "joined", `unit = patient, max_rows = 2`))
	refused(t, s, sqlerr.Invalid, visitsAs("visits", visitedDate, "raw_visits", byMonth))
}

// TestPeriodsDeclaredLater gives periods to rows that have a budget. The tables from before go on,
// and new ones have the periods.
func TestPeriodsDeclaredLater(t *testing.T) {
	t.Parallel()
	s := grows(t)
	must(t, s, visitsAs("before", visitedDate, "raw_visits", `unit = patient, max_rows = 2`))
	must(t, s, visitsAs("visits", visitedDate, "raw_visits", byMonth))
	refuseMinted(t, s)
	must(t, s, `SELECT COUNT(*) FROM before`)
	must(t, s, `DROP PRIVATE TABLE before`)
	refuseMinted(t, s)
}

// TestPeriodsOnAServer declares periods of rows in PostgreSQL.
func TestPeriodsOnAServer(t *testing.T) {
	t.Parallel()
	c := pgtest.SharedDatabase(t)
	c.MustExec(t, `CREATE TABLE raw_visits (patient text, sex text, left_at date, visited date) PARTITION BY RANGE (visited);
		CREATE TABLE y2024 PARTITION OF raw_visits FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
		CREATE TABLE later PARTITION OF raw_visits DEFAULT;
		INSERT INTO raw_visits VALUES ('a', 'F', '2024-02-02', '2024-01-31');
		CREATE VIEW women AS SELECT sex, visited AS came, patient FROM raw_visits WHERE sex = 'F';
		CREATE VIEW shifted AS SELECT patient, sex, left_at AS visited FROM raw_visits;
		CREATE VIEW computed AS SELECT patient, sex, coalesce(visited, left_at) AS visited FROM raw_visits;
		CREATE VIEW grouped AS SELECT patient, max(sex) AS sex, max(visited) AS visited FROM raw_visits GROUP BY patient`)
	s := open(t, filepath.Join(t.TempDir(), "grows.db"), engine.Options{}).NewSession()
	must(t, s, warehouseOf(t, c))
	must(t, s, `SET accuracy = 1000`)
	must(t, s, visitsAs("visits", visitedDate, "warehouse.public.raw_visits", byMonth))
	for _, drop := range []bool{false, true} {
		if drop {
			must(t, s, `DROP PRIVATE TABLE visits`)
		}
		for _, refusal := range []struct {
			code sqlerr.Code
			text string
		}{
			{sqlerr.Invalid, visitsAs("p", visitedDate, "warehouse.public.shifted", byMonth)},
			{sqlerr.Invalid, visitsAs("p", visitedDate, "warehouse.public.computed", byMonth)},
			{sqlerr.Unsupported, visitsAs("p", visitedDate, "warehouse.public.grouped", byMonth)},
			{sqlerr.Invalid, visitsAs("p", visitedDate, "warehouse.public.y2024", strings.Replace(byMonth, "month", "day", 1))},
			{sqlerr.Invalid, visitsAs("p", visitedDate, "warehouse.public.y2024", `unit = patient, max_rows = 2`)},
		} {
			if e := refused(t, s, refusal.code, refusal.text); e.Hint == "" {
				t.Errorf("%v has no hint", e)
			}
		}
	}
	must(t, s, visitsAs("visits", visitedDate, "warehouse.public.y2024", byMonth))
	must(t, s, visitsAs("women", strings.Replace(visitedDate, "visited", "came", 1), "warehouse.public.women", strings.Replace(byMonth, "visited", "came", 1)))
	must(t, s, `SELECT COUNT(*) FROM women WHERE came < '2024-02-01'`)
	if n := strings.Count(ledger(t, s), "budget declared"); n != 1 {
		t.Errorf("%d budgets are declared", n)
	}
}

// TestRehearsedPeriods rehearses declarations with periods: of a table that is not there yet, of one
// that is, and of rows on a server that is not asked.
func TestRehearsedPeriods(t *testing.T) {
	t.Parallel()
	s := grows(t)
	must(t, s, strings.Replace(createWarehouse, "WAREHOUSE_DSN", dsnOf(t, "WAREHOUSE", "host=127.0.0.1 port=1"), 1))
	must(t, s, visitsAs("visits", visitedDate, "raw_visits", byMonth))
	before := ledger(t, s)
	said, r := "", rehearsal(t, s)
	for _, text := range []string{
		visitsAs("more", visitedDate, "raw_visits", byMonth),
		visitsAs("soon", visitedDate, "raw_soon", byMonth),
		visitsAs("soon_too", visitedDate, "raw_soon", strings.Replace(byMonth, "max_rows = 2", "max_rows = 5", 1)),
		`CREATE VIEW women AS SELECT sex, visited AS came, patient FROM raw_visits WHERE sex = 'F'`,
		visitsAs("women", strings.Replace(visitedDate, "visited", "came", 1), "women", strings.Replace(byMonth, "visited", "came", 1)),
		visitsAs("far", visitedDate, "warehouse.public.raw_far", byMonth),
		visitsAs("far_too", visitedDate, "warehouse.public.raw_far", byMonth),
		`DESCRIBE women`,
	} {
		out, err := r.Plan(t.Context(), text, nil)
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		said += strings.Join(outcome{result: out}.lines(), "\n") + "\n"
	}
	for _, want := range []string{"its budget is ε = 4, δ = 1e-6 for each month of visited", "up to 2 rows with one value of patient, for each month of came"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	for _, text := range []string{
		visitsAs("p", visitedDate, "raw_visits", `unit = patient, max_rows = 2`),
		visitsAs("p", visitedDate, "raw_visits", strings.Replace(byMonth, "month", "day", 1)),
		visitsAs("p", visitedDate+` CLAMP`, "raw_soon", byMonth),
		visitsAs("p", visitedDate+` CLAMP`, "warehouse.public.raw_far", byMonth),
	} {
		if _, err := r.Plan(t.Context(), text, nil); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%s\n%v", text, err)
		}
	}
	if after := ledger(t, s); after != before {
		t.Errorf("the ledger was\n%sand is\n%s", before, after)
	}
}

// TestDescribedPeriods tells people and programs what the budget of a table protects.
func TestDescribedPeriods(t *testing.T) {
	t.Parallel()
	s := grows(t)
	fill(t, s, `CREATE VIEW seen_by_women AS SELECT sex, visited AS came FROM raw_visits`)
	must(t, s, visitsAs("women", strings.Replace(visitedDate, "visited", "came", 1), "seen_by_women", `period = 'quarter of came'`))
	must(t, s, visitsAs("drugs", `visited DATE BETWEEN '2024-01-01' AND '2024-12-31'`, "raw_drugs", byMonth))
	described, listed := must(t, s, `DESCRIBE women`), must(t, s, `SHOW TABLES`)
	if want := "single rows, for each quarter of came"; described.Rows[0][4] != want || listed.Rows[1][4] != want {
		t.Errorf("%v and %v, want %s", described.Rows, listed.Rows, want)
	}
	if want := "up to 2 rows with one value of patient, for each month of visited"; listed.Rows[0][4] != want {
		t.Errorf("%v, want %s", listed.Rows, want)
	}
	for table, want := range map[string][]string{"women": {"each quarter of came has", "k quarters"}, "drugs": {"each month of visited, which ends in Europe/Berlin, has a budget", "k months"}} {
		note := must(t, s, `DESCRIBE `+table).Note
		for _, part := range want {
			if !strings.Contains(note, part) {
				t.Errorf("%q is not in %q", part, note)
			}
		}
	}
}

// TestPeriodsThroughViews counts the rows of single months and of all, of a table and of a view over
// it, in the file and on a server. Of each unit max_rows rows are kept in each month, whatever a
// view calls the column. The number of kept rows does not depend on which they are.
func TestPeriodsThroughViews(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	s := open(t, filepath.Join(t.TempDir(), "views.db"), engine.Options{}).NewSession()
	s.DB().SetNow(func() time.Time { return time.Date(2024, 7, 2, 12, 0, 0, 0, time.UTC) })
	quieten(s.DB())
	var values []string
	kept := make(map[string]map[string]int) // of women, by month and patient
	for range 400 {
		sex, patient, day := []string{"F", "M", "X"}[random.IntN(3)], fmt.Sprint(random.IntN(9)), time.Date(2023, 12, 1+random.IntN(280), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		values = append(values, fmt.Sprintf("('%s', '%s', '%s')", patient, sex, day))
		if day < "2024" || day > "2024-07-31" || sex != "F" {
			continue // before the domain, or in a month to come
		}
		if kept[day[:7]] == nil {
			kept[day[:7]] = make(map[string]int)
		}
		kept[day[:7]][patient] = min(kept[day[:7]][patient]+1, 3)
	}
	want := make(map[string]int64)
	for month, units := range kept {
		for _, n := range units {
			want[month] += int64(n)
			want[""] += int64(n)
		}
	}
	create := `CREATE TABLE raw_visits (patient TEXT, sex TEXT, visited DATE)`
	insert := `INSERT INTO raw_visits VALUES ` + strings.Join(values, ", ")
	view := `CREATE VIEW women AS SELECT visited AS came, sex, patient FROM raw_visits WHERE sex = 'F'`
	fill(t, s, create, insert, view)
	c := pgtest.SharedDatabase(t)
	c.MustExec(t, create+` PARTITION BY RANGE (visited); CREATE TABLE early PARTITION OF raw_visits FOR VALUES FROM (MINVALUE) TO ('2024-03-01');
		CREATE TABLE late PARTITION OF raw_visits DEFAULT; `+insert+`; `+view)
	must(t, s, warehouseOf(t, c))
	must(t, s, `SET accuracy = 1000`)
	for name, place := range map[string]string{"own": "", "far": "warehouse.public."} {
		for table, column := range map[string]string{"raw_visits": "visited", "women": "came"} {
			must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE %s_%s (sex TEXT IN ('F'), %s DATE BETWEEN '2024-01-01' AND '2024-12-31') FROM %s%[2]s
				WITH (epsilon = 4, delta = 1e-6, unit = patient, max_rows = 3, period = 'month of %[3]s')`, name, table, column, place))
			must(t, s, fmt.Sprintf(`CREATE RELEASE %s_%s_parts ON %[1]s_%[2]s USING PROJECTION WITH (epsilon = 0.5, early = on) EACH PERIOD`, name, table))
			must(t, s, fmt.Sprintf(`REFRESH RELEASE %s_%s_parts`, name, table))
			for month, n := range want {
				where := ""
				if month != "" {
					where = fmt.Sprintf(" WHERE strftime('%%Y-%%m', %s) = '%s'", column, month)
				}
				for _, mechanism := range []string{"direct", fmt.Sprintf("%s_%s_parts", name, table)} {
					must(t, s, `SET mechanism = `+mechanism)
					if got := count(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM %s_%s`, name, table)+where); got != n {
						t.Errorf("%s_%s%s by %s has %d rows, want %d", name, table, where, mechanism, got, n)
					}
				}
			}
		}
	}
}

// TestWeeksOfMoments has TIMESTAMPs as the rows of the file and of a server store them, and compares
// the counts of ISO weeks, from their parts and from the rows, with package time.
func TestWeeksOfMoments(t *testing.T) {
	t.Parallel()
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	s := open(t, filepath.Join(t.TempDir(), "weeks.db"), engine.Options{}).NewSession()
	s.DB().SetNow(func() time.Time { return time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC) }) // in week 9
	quieten(s.DB())
	c := pgtest.SharedDatabase(t)
	var file, server []string
	want := make(map[string]int64)
	for range 300 {
		at := time.Date(2023, 12, 28, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.IntN(80*24*3600)) * time.Second)
		if at.Minute() == 0 && at.Second() == 0 {
			continue // julian days are not exact to a second, and this could fall into the hour before
		}
		file = append(file, fmt.Sprintf("('%s', %d, julianday(%[2]d, 'unixepoch'))", at.Format(time.DateTime), at.Unix()))
		server = append(server, fmt.Sprintf("('%sZ', '%[1]s')", at.Format(time.DateTime)))
		if year, week := at.ISOWeek(); at.Year() == 2024 && (week == 1 || week == 5 || week == 9) {
			want[fmt.Sprintf("%d-W%02d", year, week)]++
		}
	}
	fill(t, s, `CREATE TABLE raw (iso TEXT, unix INTEGER, julian REAL)`, `INSERT INTO raw VALUES `+strings.Join(file, ", "))
	c.MustExec(t, `CREATE TABLE raw (tz timestamptz, plain timestamp); INSERT INTO raw VALUES `+strings.Join(server, ", "))
	must(t, s, warehouseOf(t, c))
	must(t, s, `SET accuracy = 1000`)
	for _, column := range []struct{ place, name, stored string }{
		{"raw", "iso", ""}, {"raw", "unix", " STORED AS unix"}, {"raw", "julian", " STORED AS julian"},
		{"warehouse.public.raw", "tz", ""}, {"warehouse.public.raw", "plain", ""},
	} {
		table := "t" + fmt.Sprint(len(must(t, s, `SHOW TABLES`).Rows))
		place := column.place
		if place == "raw" { // each column is that of the periods of its own base table
			place = "raw_" + column.name
			fill(t, s, fmt.Sprintf(`CREATE TABLE %s AS SELECT %s FROM raw`, place, column.name))
		} else {
			place = "warehouse.public.raw_" + column.name
			c.MustExec(t, fmt.Sprintf(`CREATE TABLE raw_%s AS SELECT %[1]s FROM raw`, column.name))
		}
		must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE %s (%s TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31 23:00' STEP '1 hour'%s) FROM %s
			WITH (epsilon = 4, delta = 1e-6, period = 'week of %[2]s')`, table, column.name, column.stored, place))
		must(t, s, fmt.Sprintf(`CREATE RELEASE %s_parts ON %[1]s USING PROJECTION WITH (epsilon = 0.5, early = on) EACH PERIOD`, table))
		must(t, s, fmt.Sprintf(`REFRESH RELEASE %s_parts`, table))
		for week, n := range want {
			monday := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			for {
				if y, w := monday.ISOWeek(); fmt.Sprintf("%d-W%02d", y, w) == week {
					break
				}
				monday = monday.AddDate(0, 0, 7)
			}
			where := fmt.Sprintf("%s >= '%s' AND %[1]s < '%[3]s'", column.name, monday.Format(time.DateOnly), monday.AddDate(0, 0, 7).Format(time.DateOnly))
			for _, mechanism := range []string{"direct", table + "_parts"} {
				must(t, s, `SET mechanism = `+mechanism)
				if got := count(t, s, fmt.Sprintf(`SELECT COUNT(*) FROM %s WHERE %s`, table, where)); got != n {
					t.Errorf("%s of %s by %s has %d rows, want %d", week, place, mechanism, got, n)
				}
			}
		}
	}
}
