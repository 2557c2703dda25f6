package around_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dpsql/internal/seeds"
	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

var cuts = flag.Int("cuts", 36, "statements that TestCutGenerated writes, and three times those of TestLineageHoldsEveryTruth")

// visits are the columns of the private table of these tests, with their declared types.
var visits = []struct{ name, affinity string }{{"year", "INTEGER"}, {"sex", "TEXT"}, {"age", "INTEGER"}, {"town", "TEXT"}, {"days", "INTEGER"}}

func private(name syntax.Name) (columns []string, ok bool) {
	if !query.SameName(name.Text, "visits") {
		return nil, false
	}
	for _, c := range visits {
		columns = append(columns, c.name)
	}
	return columns, true
}

// rowsDB returns SQLite with the public tables and the rows of visits.
func rowsDB(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	var rows []string
	for i := range 60 {
		sex := []string{"'F'", "'M'", "NULL"}[i*i%7%3]
		rows = append(rows, fmt.Sprintf("(%d, %s, %d, '%s', %d)", 2020+i%3, sex, i*37%90, []string{"Ash", "Elm", "Oak"}[i%5%3], i%11))
	}
	for _, text := range []string{
		`CREATE TABLE towns (name TEXT COLLATE NOCASE, region VARCHAR, height INT)`, `CREATE TABLE risks (town TEXT, weight REAL, code)`,
		`INSERT INTO towns VALUES ('Ash', 'north', 120), ('Elm', 'north', 80), ('Oak', 'south', 80), ('100%', 'south', NULL)`,
		`INSERT INTO risks VALUES ('ash', 0.1, 1), ('Elm', 0.35, 'x'), ('Oak', 1, 2.5), ('Yew', NULL, x'01AB')`,
		`CREATE TABLE visits (year INTEGER, sex TEXT, age INTEGER, town TEXT, days INTEGER)`, `INSERT INTO visits VALUES ` + strings.Join(rows, ", "),
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// answerCores answers each core by SQLite, over the rows of visits.
func answerCores(t testing.TB, plain *sql.DB, cores []around.Core, args ...any) (tables []*around.Table) {
	t.Helper()
	for _, core := range cores {
		names, rows := read(t, plain, core.Text, args...)
		table := &around.Table{Name: core.Table, Rows: rows}
		for i, c := range core.Columns {
			if c.Name != names[i] {
				t.Errorf("%s\ncolumn %d is %q, not %q", core.Text, i, names[i], c.Name)
			}
			affinity := "BLOB"
			for _, v := range visits {
				if v.name == c.Of {
					affinity = v.affinity
				}
			}
			table.Columns = append(table.Columns, around.Column{Name: c.Name, Affinity: affinity})
		}
		tables = append(tables, table)
	}
	return tables
}

// cuttable are statements about visits, with the texts of their cores.
var cuttable = []struct{ text, cores string }{
	{`SELECT COUNT(*) FROM visits`, `SELECT COUNT(*) AS "a1" FROM visits`},
	{`SELECT DISTINCT sex, age / 50 AS half FROM visits WHERE age > 3 ORDER BY half, 1`, `SELECT sex AS "sex", age / 50 AS "k2" FROM visits WHERE age > 3 GROUP BY sex, age / 50`},
	{`SELECT year, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY year) AS running FROM visits GROUP BY year ORDER BY n DESC, 1`,
		`SELECT year AS "year", COUNT(*) AS "a1" FROM visits GROUP BY year`},
	{`SELECT AVG(n), MAX(n) FROM (SELECT sex, COUNT(*) n FROM visits GROUP BY sex)`,
		`SELECT sex AS "sex", COUNT(*) AS "a1" FROM visits GROUP BY sex`},
	{`SELECT 1.0 * COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits WHERE sex = 'F'`,
		`SELECT COUNT(*) AS "a1" FROM visits | SELECT COUNT(*) AS "a1" FROM visits WHERE sex = 'F'`},
	{`SELECT a.year, a.n - b.n FROM (SELECT year, COUNT(*) n FROM visits WHERE sex = 'F' GROUP BY 1) a JOIN (SELECT year, COUNT(*) n FROM visits WHERE sex = 'M' GROUP BY 1) b USING (year) ORDER BY 1`,
		`SELECT year AS "year", COUNT(*) AS "a1" FROM visits WHERE sex = 'F' GROUP BY year | SELECT year AS "year", COUNT(*) AS "a1" FROM visits WHERE sex = 'M' GROUP BY year`},
	{`WITH c AS (SELECT town, COUNT(*) AS n FROM visits GROUP BY town) SELECT t.name, n, rank() OVER (ORDER BY n DESC) FROM towns t LEFT JOIN c ON c.town = t.name ORDER BY 1`,
		`SELECT town AS "town", COUNT(*) AS "a1" FROM visits GROUP BY town`},
	{`SELECT 'F' AS who, COUNT(*) AS n FROM visits WHERE sex = 'F' UNION ALL SELECT 'M', COUNT(*) FROM visits WHERE sex = 'M' UNION ALL SELECT 'all', COUNT(*) FROM visits ORDER BY n, who LIMIT 2`,
		`SELECT COUNT(*) AS "a1" FROM visits WHERE sex = 'F' | SELECT COUNT(*) AS "a1" FROM visits WHERE sex = 'M' | SELECT COUNT(*) AS "a1" FROM visits`},
	{`SELECT (SELECT COUNT(*) FROM visits), (SELECT COUNT(*)  FROM visits) + 1`, `SELECT COUNT(*) AS "a1" FROM visits`},
	{`SELECT sex, COUNT(*) FROM visits GROUP BY sex HAVING COUNT(*) > 10 AND sex IS NOT NULL ORDER BY -COUNT(*), sex LIMIT 1 OFFSET 1`,
		`SELECT sex AS "sex", COUNT(*) AS "a1" FROM visits GROUP BY sex`},
	{`SELECT DISTINCT COUNT(*) > 5 AS many FROM visits GROUP BY year, sex ORDER BY many`,
		`SELECT year AS "year", sex AS "sex", COUNT(*) AS "a1" FROM visits GROUP BY year, sex`},
	{`SELECT age / 10 * 10 AS decade, printf('%d rows', COUNT(*)), CAST(AVG(days) AS INTEGER), CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END FROM visits GROUP BY age / 10 ORDER BY decade`,
		`SELECT age / 10 AS "k1", COUNT(*) AS "a1", AVG(days) AS "a2" FROM visits GROUP BY age / 10`},
	{`SELECT age / 10 AS d, COUNT(*) FROM visits GROUP BY d HAVING d BETWEEN 2 AND 5 ORDER BY d DESC`,
		`SELECT age / 10 AS "k1", COUNT(*) AS "a1" FROM visits GROUP BY age / 10`},
	{`SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS who, COUNT(*) FROM visits GROUP BY who ORDER BY who = 'old'`,
		`SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS "k1", COUNT(*) AS "a1" FROM visits GROUP BY CASE WHEN age < 30 THEN 'young' ELSE 'old' END`},
	{`SELECT t.region, COUNT(*) AS n FROM visits v JOIN towns t ON v.town = t.name GROUP BY t.region HAVING n > (SELECT AVG(height) FROM towns) / 10 ORDER BY region DESC`,
		`SELECT t.region AS "region", COUNT(*) AS "a1" FROM visits AS v JOIN towns AS t ON v.town = t.name GROUP BY t.region`},
	{`SELECT town, COUNT(*), (SELECT region FROM towns WHERE name = visits.town) FROM visits GROUP BY town ORDER BY town`,
		`SELECT town AS "town", COUNT(*) AS "a1" FROM visits GROUP BY town`},
	{`SELECT name FROM towns t WHERE height < (SELECT 10 * COUNT(*) FROM visits) AND name IN (SELECT town FROM visits GROUP BY town HAVING COUNT(*) > 15) ORDER BY 1`,
		`SELECT COUNT(*) AS "a1" FROM visits | SELECT town AS "town", COUNT(*) AS "a1" FROM visits GROUP BY town`},
	{`WITH w AS (SELECT age AS years, days FROM visits WHERE sex = 'F'), n (k) AS (SELECT COUNT(*) FROM w) SELECT k, (SELECT SUM(days) FROM w WHERE years > 40) FROM n`,
		`SELECT COUNT(*) AS "a1" FROM visits WHERE sex = 'F' | SELECT SUM(days) AS "a1" FROM visits WHERE (sex = 'F') AND (age > 40)`},
	{`SELECT y, 100.0 * n / SUM(n) OVER () FROM (SELECT year AS y, COUNT(*) AS n FROM (SELECT * FROM visits WHERE age > 20) AS grown GROUP BY year) ORDER BY y`,
		`SELECT "year" AS "year", COUNT(*) AS "a1" FROM visits WHERE age > 20 GROUP BY "year"`},
	{`SELECT year, lag(COUNT(*)) OVER w, COUNT(*) - lag(COUNT(*), 1, 0) OVER w FROM visits GROUP BY year WINDOW w AS (ORDER BY year) ORDER BY year`,
		`SELECT year AS "year", COUNT(*) AS "a1" FROM visits GROUP BY year`},
	{`SELECT COUNT(*) FILTER (WHERE age > 30), MAX(age) FROM visits`,
		`SELECT COUNT(*) FILTER (WHERE age > 30) AS "a1", MAX(age) AS "a2" FROM visits`},
	{`SELECT age + 1, COUNT(*) FROM visits WHERE age < 3 GROUP BY age + 1 ORDER BY age + 1, (age + 1) * 2`,
		`SELECT age + 1 AS "k1", COUNT(*) AS "a1" FROM visits WHERE age < 3 GROUP BY age + 1`},
	{`SELECT year + 1 AS year, COUNT(*) AS sex FROM visits GROUP BY visits.year ORDER BY year`,
		`SELECT visits.year AS "year", COUNT(*) AS "a1" FROM visits GROUP BY visits.year`},
	{`SELECT sex, -COUNT(*) AS sex FROM visits GROUP BY sex ORDER BY sex`,
		`SELECT sex AS "sex", COUNT(*) AS "a1" FROM visits GROUP BY sex`},
	{`SELECT age % 3 AS d, COUNT(*) FROM visits GROUP BY d ORDER BY SUM(d) % 7 + d`,
		`SELECT age % 3 AS "k1", COUNT(*) AS "a1", SUM((age % 3)) AS "a2" FROM visits GROUP BY age % 3`},
	{`SELECT "SEX", count ( * ) "N" FROM Visits AS "V" WHERE V.year = 2021 GROUP BY v.[sex] HAVING N > 1 ORDER BY "N"`,
		`SELECT v."sex" AS "sex", count(*) AS "a1" FROM Visits AS "V" WHERE V.year = 2021 GROUP BY v."sex"`},
	{`SELECT year = '2021', town = 'ash' COLLATE NOCASE, COUNT(*) FROM visits GROUP BY year, town ORDER BY 1, town COLLATE NOCASE DESC, year`,
		`SELECT year AS "year", town AS "town", COUNT(*) AS "a1" FROM visits GROUP BY year, town`},
	{`SELECT "a1", k1 FROM (SELECT COUNT(*) a1, age AS k1 FROM visits WHERE age < 9 GROUP BY k1) ORDER BY k1`,
		`SELECT age AS "age", COUNT(*) AS "a1'" FROM visits WHERE age < 9 GROUP BY age`},
	{`SELECT "COUNT(*)" FROM (SELECT COUNT(*) FROM visits)`, `SELECT COUNT(*) AS "a1" FROM visits`},
	{`SELECT COUNT(*) AS n -- rows` + "\n" + `FROM visits /* all */ WHERE town = 'é' OR sex='F'`, `SELECT COUNT(*) AS "a1" FROM visits WHERE town = 'é' OR sex = 'F'`},
	{`SELECT COUNT(*) = 60 AS x FROM(visits)`, ``},
	{`SELECT COUNT(*) AS n FROM visits HAVING SUM(days) > 3`, `SELECT COUNT(*) AS "a1", SUM(days) AS "a2" FROM visits`},
	{`SELECT (SELECT COUNT(*) FROM visits), (age) FROM visits GROUP BY age HAVING age < 4 ORDER BY age`,
		`SELECT COUNT(*) AS "a1" FROM visits | SELECT age AS "age" FROM visits GROUP BY age`},
	{`SELECT n FROM (SELECT COUNT(*)n FROM visits GROUP BY sex)ORDER BY n`, `SELECT sex AS "sex", COUNT(*) AS "a1" FROM visits GROUP BY sex`},
	{`SELECT EXISTS (SELECT 1 FROM visits GROUP BY year HAVING COUNT(*) > 5), NOT EXISTS (SELECT COUNT(*) FROM visits)`,
		`SELECT year AS "year", COUNT(*) AS "a1" FROM visits GROUP BY year | SELECT COUNT(*) AS "a1" FROM visits`},
	{`SELECT NOT sex = 'F', COUNT(*) FROM visits WHERE sex IS NOT NULL GROUP BY sex ORDER BY 1`, `SELECT sex AS "sex", COUNT(*) AS "a1" FROM visits WHERE sex IS NOT NULL GROUP BY sex`},
	{`SELECT COUNT(*) FROM visits GROUP BY year UNION SELECT 7 UNION SELECT name FROM towns ORDER BY 1`, `SELECT year AS "year", COUNT(*) AS "a1" FROM visits GROUP BY year`},
	{`WITH a AS (SELECT year AS y FROM visits), b AS (SELECT y AS z FROM a WHERE y > 2020), c AS (SELECT z, COUNT(*) AS n FROM b GROUP BY z) SELECT * FROM c ORDER BY z`,
		`SELECT year AS "z", COUNT(*) AS "a1" FROM visits WHERE year > 2020 GROUP BY year`},
	{`WITH base AS (SELECT *, age / 10 AS decade, CASE WHEN days > 5 THEN 'long' ELSE 'short' END AS stay FROM visits) SELECT decade, stay, COUNT(*), SUM(days) FROM base WHERE decade < 4 AND stay = 'long' GROUP BY 1, stay ORDER BY 1`,
		`SELECT (age / 10) AS "decade", (CASE WHEN days > 5 THEN 'long' ELSE 'short' END) AS "stay", COUNT(*) AS "a1", SUM("days") AS "a2" FROM visits WHERE (age / 10) < 4 AND (CASE WHEN days > 5 THEN 'long' ELSE 'short' END) = 'long' GROUP BY (age / 10), (CASE WHEN days > 5 THEN 'long' ELSE 'short' END)`},
	{`SELECT region, d, COUNT(*) FROM (SELECT town AS place, age % 2 AS d FROM visits WHERE sex = 'F' OR sex = 'M') AS v JOIN towns ON place = towns.name WHERE d = 1 OR height > 0 GROUP BY region, v.d ORDER BY 1, 2`,
		`SELECT region AS "region", ("visits"."age" % 2) AS "d", COUNT(*) AS "a1" FROM visits JOIN towns ON "visits"."town" = towns.name WHERE ("visits"."sex" = 'F' OR "visits"."sex" = 'M') AND (("visits"."age" % 2) = 1 OR height > 0) GROUP BY region, ("visits"."age" % 2)`},
	{`WITH j (place, part, long) AS (SELECT v.town, t.region, days > 5 FROM visits v JOIN towns t ON v.town = t.name) SELECT part, SUM(long) FROM (SELECT * FROM j WHERE place <> 'Ash') GROUP BY part ORDER BY part`,
		``},
	{`SELECT x.region, COUNT(*) FROM (SELECT * FROM visits v JOIN towns t ON v.town = t.name) x WHERE x.height > 80 GROUP BY x.region`,
		`SELECT "t"."region" AS "region", COUNT(*) AS "a1" FROM visits AS v JOIN towns AS t ON v.town = t.name WHERE "t"."height" > 80 GROUP BY "t"."region"`},
	{`SELECT COUNT(*) FROM visits WHERE town IN (SELECT name FROM towns WHERE region = 'north') AND age > (SELECT AVG(height) FROM towns) / 4`,
		`SELECT COUNT(*) AS "a1" FROM visits WHERE town IN ('Ash', 'Elm') AND age > 93.33333333333333 / 4`},
	{`WITH n AS (SELECT name FROM towns), m (x) AS (SELECT name FROM n WHERE name LIKE '%k') SELECT sex, COUNT(*), SUM(town IN (SELECT x FROM m)), SUM(age > (SELECT 30 WHERE 0)) FROM (SELECT * FROM visits WHERE EXISTS (SELECT 1 FROM m) AND NOT EXISTS (VALUES (1) EXCEPT SELECT 1)) GROUP BY sex ORDER BY sex`,
		`SELECT "sex" AS "sex", COUNT(*) AS "a1", SUM("town" IN ('Oak')) AS "a2", SUM("age" > NULL) AS "a3" FROM visits WHERE (1 = 1) AND (1 = 1) GROUP BY "sex"`},
	{`SELECT COUNT(*) FROM visits WHERE town IN (SELECT name FROM towns) OR town NOT IN (SELECT 'Yew' UNION SELECT NULL)`,
		`SELECT COUNT(*) AS "a1" FROM visits WHERE town IN (SELECT name FROM towns) OR town NOT IN ('Yew', NULL)`},
	{`SELECT COUNT(*), SUM(age IN (SELECT height FROM towns WHERE height > 999)) FROM visits WHERE town IN (SELECT name FROM towns WHERE 0) OR NOT (town NOT IN (SELECT name FROM towns WHERE 0)) OR sex = 'F'`,
		`SELECT COUNT(*) AS "a1", SUM(age IN (NULL) IS TRUE) AS "a2" FROM visits WHERE town IN (NULL) IS TRUE OR NOT (town NOT IN (NULL) IS NULL) OR sex = 'F'`},
	{`SELECT town IS NULL AS nowhere, COUNT(*) FROM visits WHERE town NOT IN (SELECT name FROM towns WHERE 0) AND NOT town IN (SELECT name FROM towns WHERE 0) GROUP BY 1 ORDER BY 1`,
		`SELECT town IS NULL AS "k1", COUNT(*) AS "a1" FROM visits WHERE town NOT IN (NULL) IS NULL AND NOT town IN (NULL) IS TRUE GROUP BY town IS NULL`},
	{`SELECT COUNT(*) FROM visits WHERE age > (SELECT MIN(-height) FROM towns)`,
		`SELECT COUNT(*) AS "a1" FROM visits WHERE age > - 120`},
	{`SELECT COUNT(*) AS groups, MIN(year) AS window, sex rows FROM visits GROUP BY rows ORDER BY window, groups`, `SELECT sex AS "sex", COUNT(*) AS "a1", MIN(year) AS "a2" FROM visits GROUP BY sex`},
	{`SELECT k = '3', COUNT(*) FROM (SELECT age AS k FROM visits) WHERE k < 6 GROUP BY k ORDER BY k`, `SELECT age AS "k", COUNT(*) AS "a1" FROM visits WHERE age < 6 GROUP BY age`},
	{`SELECT k = 3, COUNT(*) FROM (SELECT age + 0 AS k FROM visits) WHERE k < 6 GROUP BY k ORDER BY k`, `SELECT (age + 0) AS "k", COUNT(*) AS "a1" FROM visits WHERE (age + 0) < 6 GROUP BY (age + 0)`},
}

// TestCutAgainstSQLite: where the cores have SQLite's own rows, what the surroundings make of
// them is what SQLite makes of the whole statement.
func TestCutAgainstSQLite(t *testing.T) {
	t.Parallel()
	plain, db := rowsDB(t), database(t)
	for _, c := range cuttable {
		s, err := around.Parse(c.text)
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		cores, left, err := s.Cut(private)
		if err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		from := source(0)
		if cores, err = db.Resolve(context.Background(), cores, from, nil, nil); err != nil {
			t.Errorf("%s\n%v", c.text, err)
			continue
		}
		var texts []string
		for _, core := range cores {
			texts = append(texts, core.Text)
		}
		if got := strings.Join(texts, " | "); c.cores != "" && got != c.cores {
			t.Errorf("%s\nhas the cores\n%s\nwant\n%s", c.text, got, c.cores)
		}
		if slices.ContainsFunc(left.Tables, func(n syntax.Name) bool { _, ok := private(n); return ok }) {
			t.Errorf("%s\nsurroundings with private tables: %s", c.text, left.Text())
		}
		from.Cores = answerCores(t, plain, cores)
		got, err := db.Run(context.Background(), left, from, nil)
		if err != nil {
			t.Errorf("%s\n%s\n%v", c.text, left.Text(), err)
			continue
		}
		names, rows := read(t, plain, c.text)
		var gotNames []string
		for _, col := range got.Columns {
			gotNames = append(gotNames, col.Name)
		}
		if !slices.Equal(gotNames, names) || fmt.Sprint(got.Rows) != fmt.Sprint(rows) {
			t.Errorf("%s\n%s\ngot  %q %v\nwant %q %v", c.text, left.Text(), gotNames, got.Rows, names, rows)
		}
	}
}

// TestCutParameters: parameters keep their numbers in cores and in what reads them.
func TestCutParameters(t *testing.T) {
	t.Parallel()
	plain, db := rowsDB(t), database(t)
	text := `SELECT ?, COUNT(*) > ?, ?3 FROM visits WHERE age > ? AND sex = ? GROUP BY year HAVING COUNT(*) >= ?2 ORDER BY year`
	s, err := around.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	cores, left, err := s.Cut(private)
	if err != nil || len(cores) != 1 || cores[0].Text != `SELECT year AS "year", COUNT(*) AS "a1" FROM visits WHERE age > ?4 AND sex = ?5 GROUP BY year` {
		t.Fatalf("%v, %v", cores, err)
	}
	from := source(0)
	from.Cores = answerCores(t, plain, cores, "x", 1, 2, 30, "F")
	r, err := db.Run(context.Background(), left, from, []query.Value{query.Text("x"), query.Int(1), query.Int(2), query.Int(30), query.Text("F")})
	if _, want := read(t, plain, text, "x", 1, 2, 30, "F"); err != nil || fmt.Sprint(r.Rows) != fmt.Sprint(want) || len(want) != 3 {
		t.Errorf("%v, %v, want %v", r, err, want)
	}
}

// TestCutGroupingSets: the sets of keys stay in the core. SQLite has none, so the texts are
// compared.
func TestCutGroupingSets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, core, left string }{
		{`SELECT year, sex AS s, COUNT(*), GROUPING(year) FROM visits GROUP BY ROLLUP (1, (s)) HAVING COUNT(*) > 3 ORDER BY year`,
			`SELECT year AS "year", sex AS "sex", COUNT(*) AS "a1", GROUPING(year) AS "a2" FROM visits GROUP BY ROLLUP(year, ((sex)))`,
			`SELECT "year" AS "year", "sex" AS s, "a1" AS "COUNT(*)", "a2" AS "GROUPING(year)" FROM "core 1" AS "visits" WHERE "a1" > 3 ORDER BY "year"`},
		{`SELECT rank() OVER (ORDER BY COUNT(*)) FROM visits GROUP BY GROUPING SETS ((year, sex), CUBE (age / 10), ()), town`,
			`SELECT year AS "year", sex AS "sex", age / 10 AS "k3", town AS "town", COUNT(*) AS "a1" FROM visits GROUP BY GROUPING SETS ((year, sex), CUBE(age / 10), ()), town`,
			`SELECT rank() OVER (ORDER BY "a1") AS "rank() OVER (ORDER BY COUNT(*))" FROM "core 1" AS "visits"`},
	} {
		s, err := around.Parse(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		cores, left, err := s.Cut(private)
		if err != nil || len(cores) != 1 || cores[0].Text != c.core || left.Text() != c.left {
			t.Errorf("%s: %v\n%v\n%s", c.text, err, cores, left.Text())
		}
	}
}

// TestCutRefusals checks what is refused, and where (the sign ‸).
func TestCutRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{`SELECT age FROM ‸visits`, "the rows of visits"},
		{`SELECT * FROM (SELECT age FROM ‸visits)`, "the rows of visits"},
		{`SELECT name FROM towns WHERE name IN (SELECT town FROM ‸visits)`, "the rows of visits"},
		{`SELECT age, row_number() OVER (ORDER BY age) FROM ‸visits`, "the rows of visits"},
		{`WITH w AS (SELECT age FROM visits) SELECT (SELECT * FROM ‸w)`, "the rows of visits"},
		{`SELECT DISTINCT age FROM ‸visits UNION SELECT 1`, "the rows of visits"},
		{`SELECT COUNT(*) FROM (SELECT age FROM ‸visits UNION ALL SELECT age FROM visits)`, "the rows of visits"},
		{`SELECT ‸*, COUNT(*) FROM visits GROUP BY age`, "* over private rows"},
		{`SELECT ‸v.*, COUNT(*) FROM visits v GROUP BY age`, "* over private rows"},
		{`SELECT ‸age, COUNT(*) FROM visits GROUP BY sex`, "the column age of private rows"},
		{`SELECT COUNT(*) + ‸visits.age FROM visits`, "the column age of private rows"},
		{`SELECT sex, COUNT(*) FROM visits GROUP BY sex ORDER BY ‸age`, "the column age of private rows"},
		{`SELECT 2 * ‸age + 1, COUNT(*) FROM visits GROUP BY age + 1`, "the column age of private rows"},
		{`SELECT sex, COUNT(*), (SELECT height FROM (SELECT 1 AS height) WHERE ‸visits.age = 3) FROM visits GROUP BY sex`, "the column age of private rows"},
		{`SELECT name, (SELECT COUNT(*) FROM visits v WHERE v.town = ‸t.name) FROM towns t`, "names the column name of the SELECT around it"},
		{`SELECT name, (SELECT COUNT(*) FROM visits WHERE town = ‸name) FROM towns t`, "names the column name of the SELECT around it"},
		{`SELECT name, (SELECT SUM(days > ‸height) FROM visits) FROM towns`, "names the column height of the SELECT around it"},
		{`WITH RECURSIVE ‸r(n) AS (SELECT COUNT(*) FROM visits UNION ALL SELECT n - 1 FROM r WHERE n > 0) SELECT * FROM r`, "in a recursive WITH entry"},
		{`SELECT COUNT(*) FROM visits v JOIN ‸(SELECT year, COUNT(*) n FROM visits GROUP BY year) y ON v.year = y.year`, "a join of private rows with a sub-select"},
		{`SELECT COUNT(*) FROM visits GROUP BY ‸3`, "the select list has 1 entries"},
		{`SELECT SUM(‸n) AS n, 1 FROM visits`, "n is defined by itself"},
		{`SELECT COUNT(*) FROM visits a JOIN ‸visits b ON a.age = b.age`, "a join of private rows with private rows"},
		{`SELECT COUNT(*) FROM (SELECT a.age FROM visits a, ‸visits)`, "a join of private rows with private rows"},
		{`SELECT COUNT(*) FROM (SELECT ‸DISTINCT year FROM visits)`, "DISTINCT over private rows"},
		{`SELECT COUNT(*) FROM (SELECT year FROM visits ‸LIMIT 3)`, "LIMIT over private rows"},
		{`SELECT COUNT(*) FROM (SELECT ‸row_number() OVER (ORDER BY age) AS n FROM visits) WHERE n < 9`, "a window over private rows"},
		{`SELECT COUNT(*) FROM (SELECT a.age, a.town FROM visits a) x JOIN ‸towns a ON x.town = a.name`, "a means two tables"},
	} {
		before, _, _ := strings.Cut(c.text, "‸")
		s, err := around.Parse(strings.Replace(c.text, "‸", "", 1))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		cores, _, err := s.Cut(private)
		e, ok := err.(*sqlerr.Error)
		if !ok || !strings.Contains(e.Message, c.says) || e.Position != len([]rune(before))+1 || e.Code == sqlerr.Unsupported && e.Hint == "" {
			t.Errorf("%s: %v (at %+v), want %q at %d; cores %v", c.text, err, e, c.says, len([]rune(before))+1, cores)
		}
	}
}

// lowersAsRead checks that the front end takes the tree of a core as it takes the core's text.
func lowersAsRead(t *testing.T, core *around.Core) {
	t.Helper()
	tree, err := core.Select()
	read, other := syntax.Parse(core.Text)
	if (err == nil) != (other == nil) {
		t.Errorf("%s: of its tree %v, of its text %v", core.Text, err, other)
	}
	if err != nil || other != nil {
		return
	}
	text := func(s *syntax.Select) string {
		var list sqlparser.SelectExprs
		for _, it := range s.List {
			list = append(list, &sqlparser.AliasedExpr{Expr: it.Expr})
		}
		return sqlparser.String(&sqlparser.Select{SelectExprs: list, Where: sqlparser.NewWhere("where", s.Where), GroupBy: s.GroupBy})
	}
	if got, want := text(tree), text(read.(*syntax.Select)); got != want {
		t.Errorf("%s: of its tree %s, of its text %s", core.Text, got, want)
	}
}

// TestCutPositions: each name of a core is where it stands in the statement.
func TestCutPositions(t *testing.T) {
	t.Parallel()
	text := `SELECT 'é', (SELECT age / 10 AS d FROM visits WHERE nope = ? GROUP BY d HAVING COUNT(*) > missing)`
	s, err := around.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	cores, left, err := s.Cut(private)
	if err != nil {
		t.Fatal(err)
	}
	at := func(s, word string) int { return len([]rune(s[:strings.Index(s, word)])) + 1 }
	places := make(map[string]int)
	syntax.Walk(cores[0].Query(), func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Column:
			places[n.Path[0].Text] = n.Pos()
		case *syntax.Table:
			places[n.Path[0].Text] = n.Pos()
		}
		return true
	})
	for _, word := range []string{"nope", "age", "visits"} {
		if got, want := places[word], at(text, word); got != want {
			t.Errorf("%s is at %d, want %d", word, got, want)
		}
	}
	if got, want := cores[0].Position, at(text, "SELECT age"); got != want {
		t.Errorf("the core is at %d, want %d", got, want)
	}
	from := source(0)
	from.Cores = []*around.Table{{Name: cores[0].Table, Columns: []around.Column{{Name: "k1"}, {Name: "a1"}}}}
	_, err = database(t).Run(context.Background(), left, from, []query.Value{query.Int(1)})
	if e, ok := err.(*sqlerr.Error); !ok || e.Position != at(text, "missing") {
		t.Errorf("%v", err)
	}
}

// TestCoresOfOneRun: the rows of a core are there for the statement that has it, once.
func TestCoresOfOneRun(t *testing.T) {
	t.Parallel()
	db := database(t)
	s, err := around.Parse(`SELECT COUNT(*), (SELECT COUNT(*) FROM towns) FROM visits`)
	if err != nil {
		t.Fatal(err)
	}
	cores, left, err := s.Cut(private)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		from := source(0)
		from.Cores = []*around.Table{{Name: cores[0].Table, Columns: []around.Column{{Name: "a1"}}, Types: []query.SQLType{query.SQLInt8}}}
		columns, err := db.Columns(context.Background(), left, from, nil)
		if err != nil || columns[0].Type != "INTEGER" {
			t.Fatalf("%v, %v", columns, err)
		}
		from.Cores[0].Rows = [][]any{{n}}
		if r, err := db.Run(context.Background(), left, from, nil); err != nil || fmt.Sprint(r.Rows) != fmt.Sprintf("[[%d 4]]", n) {
			t.Fatalf("%v, %v", r, err)
		}
		if _, err := db.RunText(context.Background(), `SELECT * FROM "`+cores[0].Table+`"`, []string{"towns"}, source(0)); err == nil {
			t.Fatal("the rows of a core are still there")
		}
		if _, err := db.Run(context.Background(), left, source(0), nil); sqlerr.CodeOf(err) != sqlerr.Internal {
			t.Fatalf("without rows: %v", err)
		}
	}
}

// TestCutBombs: what would take forever to cut, or all memory, is refused.
func TestCutBombs(t *testing.T) {
	t.Parallel()
	chain := func(first, form string, n int) string {
		var b strings.Builder
		b.WriteString("WITH w0 AS (" + first + ")")
		for i := range n {
			fmt.Fprintf(&b, ", w%d AS ("+strings.ReplaceAll(form, "#", "w"+strconv.Itoa(i))+")", i+1)
		}
		return b.String() + fmt.Sprintf(" SELECT COUNT(*), SUM(age) FROM w%d GROUP BY age", n)
	}
	aliases := "SELECT MARGIN(n40), COUNT(*) AS n0"
	for i := range 40 {
		aliases += fmt.Sprintf(", n%d + n%d AS n%d", i, i, i+1)
	}
	for _, text := range []string{
		chain("SELECT age FROM visits", "SELECT a.age FROM # a, # b", 60), chain("SELECT age FROM visits", "SELECT *, * FROM #", 60),
		chain("SELECT age FROM visits", "SELECT age + age AS age FROM #", 60), aliases + " FROM visits",
		`SELECT COUNT(*)` + strings.Repeat(" + 1", 10000) + ` FROM visits GROUP BY age`, `SELECT COUNT(*) FROM visits GROUP BY age` + strings.Repeat(" + 1", 10000),
		`SELECT 1` + strings.Repeat(", (SELECT COUNT(*) FROM visits WHERE age = ?)", 70), `SELECT '` + strings.Repeat("x", 70<<10) + `' FROM visits`,
		`SELECT ` + strings.Repeat("(", 3000) + `COUNT(*)` + strings.Repeat(")", 3000) + ` FROM visits GROUP BY age`,
		`SELECT COUNT(*) FROM ` + strings.Repeat("(SELECT * FROM ", 3000) + `visits` + strings.Repeat(")", 3000),
	} {
		s, err := around.Parse(text)
		if err == nil {
			var left *around.Statement
			if _, left, err = s.Cut(private); err == nil {
				from := source(0)
				from.Cores = []*around.Table{{Name: "core 1", Columns: []around.Column{{Name: "age"}, {Name: "a1"}}}}
				_, err = database(t).Run(context.Background(), left, from, nil)
			}
		}
		if code := sqlerr.CodeOf(err); code != sqlerr.Unsupported && code != sqlerr.Invalid && code != sqlerr.Unknown {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

// TestCoreWalls: SQLite's own walls hold beside the rows of a core, which it may read and
// nothing else.
func TestCoreWalls(t *testing.T) {
	t.Parallel()
	db := database(t)
	core := &around.Table{Name: "core 1", Columns: []around.Column{{Name: "n"}}, Rows: [][]any{{int64(7)}}}
	if _, err := run(db, `SELECT COUNT(*) FROM towns`); err != nil { // its copy stays on the connection
		t.Fatal(err)
	}
	if r, err := db.RunAround(context.Background(), `SELECT n, COUNT(*) FROM "core 1"`, core, source(0)); err != nil || fmt.Sprint(r.Rows) != "[[7 1]]" {
		t.Fatalf("what is allowed: %v, %v", r, err)
	}
	for _, text := range []string{
		`SELECT * FROM towns`, `SELECT COUNT(*) FROM towns, "core 1"`, `SELECT n FROM "core 1" WHERE n IN (SELECT height FROM towns)`, `SELECT rowid FROM "core 1"`,
		`SELECT * FROM sqlite_temp_schema`, `SELECT * FROM temp.sqlite_schema`, `SELECT * FROM "core 2"`, `SELECT * FROM main."core 1"`, `SELECT * FROM pragma_table_info('core 1')`,
		`SELECT n FROM "core 1"; DROP TABLE "core 1"`, `SELECT 1; UPDATE "core 1" SET n = 8`, `SELECT 1; INSERT INTO "core 1" VALUES (8)`, `SELECT 1; CREATE TABLE main.x AS SELECT * FROM "core 1"`,
		`SELECT 1; DELETE FROM temp."core 1"`, `SELECT random() FROM "core 1"`, `SELECT * FROM "core 1", dbstat`, `SELECT data FROM sqlite_dbpage('temp')`,
	} {
		if r, err := db.RunAround(context.Background(), text, core, source(0)); err == nil {
			t.Errorf("%s is allowed: %v", text, r.Rows)
		}
	}
	db.SetTime(20 * time.Millisecond)
	for _, text := range []string{
		`WITH RECURSIVE c(x) AS (SELECT n FROM "core 1" UNION ALL SELECT x + 1 FROM c) SELECT SUM(x) FROM c`,
		`WITH RECURSIVE c(x) AS (SELECT n FROM "core 1" UNION ALL SELECT x + 1 FROM c WHERE x < 1000000) SELECT SUM(a.x * b.x) FROM c a, c b`,
		`SELECT printf('%.1000000000c', n) FROM "core 1"`,
	} {
		if _, err := db.RunAround(context.Background(), text, core, source(0)); sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), "is outside the dialect") {
			t.Errorf("%s: %v", text, err)
		}
	}
	db.SetTime(0)
	if r, err := run(db, `SELECT COUNT(*) FROM towns`); err != nil || r.Rows[0][0] != int64(4) {
		t.Errorf("afterwards: %v, %v", r, err)
	}
}

// FuzzCut: what is cut names no private table outside its cores, and runs on any rows that the
// cores may have. Every character of a core has a place in the statement.
func FuzzCut(f *testing.F) {
	for _, c := range cuttable {
		f.Add(c.text)
	}
	db := database(f)
	db.SetTime(50 * time.Millisecond)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := around.Parse(text)
		if err != nil {
			return
		}
		cores, left, err := s.Cut(private)
		if err != nil {
			if sqlerr.CodeOf(err) == sqlerr.Internal {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, n := range left.Tables {
			if _, ok := private(n); ok {
				t.Errorf("%q: the surroundings %q name %s", text, left.Text(), n.Text)
			}
		}
		from := source(0)
		for _, core := range cores {
			table := &around.Table{Name: core.Table, Rows: [][]any{make([]any, len(core.Columns))}}
			for _, c := range core.Columns {
				table.Columns = append(table.Columns, around.Column{Name: c.Name})
			}
			lowersAsRead(t, &core)
			from.Cores = append(from.Cores, table)
		}
		args := make([]query.Value, 8)
		if _, err := db.Resolve(context.Background(), cores, from, args, nil); sqlerr.CodeOf(err) == sqlerr.Internal {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := db.Run(context.Background(), left, from, args); sqlerr.CodeOf(err) == sqlerr.Internal {
			t.Errorf("%q: %q: %v", text, left.Text(), err)
		}
	})
}

// writer writes statements about visits at random.
type writer struct{ *rand.Rand }

func (w writer) of(list ...string) string { return list[w.IntN(len(list))] }

// rows returns a FROM clause that has the columns year, sex, age, town and days.
func (w writer) rows(depth int) string {
	if depth > 2 || w.IntN(3) == 0 {
		return w.of("visits", "visits AS v", "w", "w2", "main.visits")
	}
	list := w.of("*", "year, sex, age, town, days", "town, days, age AS age, sex, year", "year, sex, age + 1 - 1 AS age, town, days",
		"x.year, CASE WHEN x.sex = 'F' THEN 'F' WHEN x.sex = 'M' THEN 'M' END AS sex, x.age, x.town, x.days")
	from := w.rows(depth + 1)
	if strings.HasPrefix(list, "x.") {
		from = strings.TrimSuffix(from, " AS v")
		if i := strings.LastIndex(from, " AS q"); i > 0 && strings.HasPrefix(from, "(") {
			from = from[:i]
		}
		from += " AS x"
	}
	where := ""
	if w.IntN(2) == 0 {
		where = " WHERE " + w.condition()
	}
	return "(SELECT " + list + " FROM " + from + where + ") AS q" + strconv.Itoa(depth)
}

func (w writer) condition() string {
	c := w.of("age > 30", "sex = 'F'", "sex IS NOT NULL", "year IN (2020, 2022)", "town <> 'Ash' OR days > 3", "NOT days BETWEEN 2 AND 5", "age % 7 > 2",
		"town IN (SELECT name FROM towns WHERE height > 80)", "age * 3 > (SELECT MIN(height) FROM towns)")
	if w.IntN(4) == 0 {
		return w.condition() + w.of(" AND ", " OR ") + c
	}
	return c
}

func (w writer) aggregate() string {
	return w.of("COUNT(*)", "SUM(days)", "AVG(age)", "COUNT(sex)", "SUM(days * 2 + 1)", "TOTAL(days)", "COUNT(*) FILTER (WHERE days > 3)", "SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END)")
}

// value returns an expression of a key and aggregates.
func (w writer) value(key string) string {
	switch w.IntN(8) {
	case 0:
		return key
	case 1:
		return "CASE WHEN " + w.aggregate() + " > 5 THEN " + key + " ELSE " + w.aggregate() + " END"
	case 2:
		return w.aggregate() + w.of(" + ", " - ", " / ", " * ", " || ", " > ") + w.aggregate()
	case 3:
		return "printf('%.3f', " + w.aggregate() + ")"
	case 4:
		return "SUM(" + w.aggregate() + ") OVER ()"
	case 5:
		return "rank() OVER (ORDER BY " + w.aggregate() + ", " + key + ")"
	case 6:
		return "coalesce(nullif(" + w.aggregate() + ", (SELECT COUNT(*) FROM visits WHERE " + w.condition() + ")), -1)"
	}
	return w.aggregate()
}

// block returns a SELECT with the columns g, a and b.
func (w writer) block() string {
	key := w.of("sex", "year", "age / 30", "town", "year % 2", "CASE WHEN age < 40 THEN 'young' ELSE 'old' END", "year + age / 50")
	by := w.of(key, "g", "1", key+", town", "("+key+")")
	text := "SELECT " + w.of("", "", "DISTINCT ") + key + " AS g, " + w.value(key) + " AS a, " + w.value(key) + " b FROM " + w.rows(0)
	if w.IntN(2) == 0 {
		text += " WHERE " + w.condition()
	}
	text += " GROUP BY " + by
	if w.IntN(3) == 0 {
		text += " HAVING " + w.of("COUNT(*) > 3", "g IS NOT NULL", key+" IS NOT NULL AND SUM(days) > 4", "AVG(age) < (SELECT AVG(age) FROM visits)")
	}
	return text
}

func (w writer) statement() string {
	with := "WITH w AS (SELECT * FROM visits), w2 (sex, year, age, town, days) AS (SELECT sex, year, age, town, days FROM w WHERE days < 9), n AS (SELECT 1 AS one), c AS (" + w.block() + ") "
	switch w.IntN(7) {
	case 0:
		return with + w.block() + w.of("", " ORDER BY 1, 2, 3", " ORDER BY a, g, 3 DESC", " ORDER BY COUNT(*), 1, 2, 3")
	case 1:
		return with + w.block() + w.of(" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ") + w.block()
	case 2:
		return with + "SELECT x.g, x.a, y.b FROM (" + w.block() + ") AS x " + w.of("JOIN", "LEFT JOIN") + " (" + w.block() + ") AS y ON x.g = y.g"
	case 3:
		return with + "SELECT c.*, (SELECT COUNT(*) FROM (" + w.block() + ") AS z WHERE z.a > c.a) FROM c"
	case 4:
		return with + "SELECT COUNT(*), SUM(a), MAX(b), (SELECT one FROM n) FROM (" + w.block() + ")"
	case 5:
		return with + "SELECT name, height, b FROM towns LEFT JOIN c ON c.g = name WHERE EXISTS (SELECT 1 FROM c WHERE a IS NOT NULL)"
	}
	return with + "SELECT g, COUNT(*), group_concat(DISTINCT typeof(a)) FROM c GROUP BY g"
}

// TestCutGenerated compares generated statements with SQLite, as TestCutAgainstSQLite does.
// Rows are compared as multisets, since most statements do not order them.
func TestCutGenerated(t *testing.T) {
	t.Parallel()
	plain, db := rowsDB(t), database(t)
	seed := seeds.Of(t)
	w, answered := writer{rand.New(rand.NewPCG(seed, 0))}, 0
	for range *cuts {
		text := w.statement()
		s, err := around.Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %s\n%v", seed, text, err)
		}
		cores, left, err := s.Cut(private)
		if err != nil {
			t.Fatalf("seed %d: %s\n%v", seed, text, err)
		}
		from := source(0)
		if cores, err = db.Resolve(context.Background(), cores, from, nil, nil); err != nil {
			t.Fatalf("seed %d: %s\n%v", seed, text, err)
		}
		from.Cores = answerCores(t, plain, cores)
		got, err := db.Run(context.Background(), left, from, nil)
		if err != nil {
			t.Fatalf("seed %d: %s\n%s\n%v", seed, text, left.Text(), err)
		}
		_, rows := read(t, plain, text)
		if !slices.Equal(sorted(got.Rows), sorted(rows)) {
			t.Fatalf("seed %d: %s\n%s\ngot  %v\nwant %v", seed, text, left.Text(), got.Rows, rows)
		}
		answered += len(rows)
	}
	if answered < *cuts {
		t.Errorf("seed %d: %d rows of %d statements", seed, answered, *cuts)
	}
}

func sorted(rows [][]any) []string {
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprint(r))
	}
	slices.Sort(out)
	return out
}

// TestCoreTablesOfOtherStatements: the tables of a statement's cores stay on the connection for
// the next statement. They are not in the way of one whose cores have other columns or other
// affinities, or that names a public table by the same name, and no statement reads them.
func TestCoreTablesOfOtherStatements(t *testing.T) {
	t.Parallel()
	db, from := database(t), source(0)
	from.Copy = func(_ context.Context, name syntax.Name) (*around.Table, error) {
		if name.Text != "core 1" {
			return nil, sqlerr.New(sqlerr.Unknown, "there is no public table %s", name.Text)
		}
		return &around.Table{Name: "core 1", Columns: []around.Column{{"x", "TEXT", "BINARY"}}, Rows: [][]any{{"public"}}}, nil
	}
	plain := rowsDB(t)
	for range 2 {
		for _, c := range []struct{ text, want string }{
			{`SELECT COUNT(*) || '' FROM visits`, ""},
			{`SELECT year FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) AS c WHERE year = '2023'`, ""}, // an integer column
			{`SELECT year FROM (SELECT year || '' AS year, COUNT(*) AS n FROM visits GROUP BY 1) AS c WHERE year = 2023`, ""},
			{`SELECT x FROM "core 1"`, "[[public]]"},
			{`SELECT * FROM "core 1", (SELECT COUNT(*) > 0 AS n FROM visits)`, "[[public 1]]"},
			{`SELECT COUNT(*) - (SELECT COUNT(*) FROM visits WHERE sex = 'F') FROM visits`, ""},
			{`SELECT COUNT(*) FROM "core 1"`, "[[1]]"},
		} {
			s, err := around.Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			cores, left, err := s.Cut(private)
			if err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			from := from
			if len(cores) > 0 {
				from.Cores = answerCores(t, plain, cores)
				if _, err = db.Columns(context.Background(), left, from, nil); err != nil {
					t.Fatalf("%s: %v", c.text, err)
				}
			}
			want := c.want
			if want == "" {
				_, rows := read(t, plain, c.text)
				want = fmt.Sprint(rows)
			}
			for range 2 {
				if r, err := db.Run(context.Background(), left, from, nil); err != nil || fmt.Sprint(r.Rows) != want {
					t.Errorf("%s: %v, %v, want %s", c.text, r, err, want)
				}
			}
		}
		for _, text := range []string{`SELECT * FROM "core 2"`, `SELECT * FROM temp."core 1"`, `SELECT * FROM "the result"`} {
			if r, err := db.RunText(context.Background(), text, []string{`"core 1"`}, from); err == nil {
				t.Errorf("%s: %v", text, r.Rows)
			}
		}
	}
}
