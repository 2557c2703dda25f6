package engine_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/internal/seeds"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// execDescribed runs a statement. Before, it asks for the columns without the arguments, and compares
// them with those of the result: their names and types, and whether the values have the types.
func execDescribed(t *testing.T, s *engine.Session, text string, args []query.Value) (*engine.Result, error) {
	t.Helper()
	p, err := engine.Prepare(text)
	if err != nil {
		return nil, err
	}
	columns, foreseen := s.Columns(t.Context(), p, nil)
	types, untyped := s.ParameterTypes(t.Context(), p)
	if (foreseen == nil) != (untyped == nil) && len(p.Parameters()) > 0 || untyped == nil && len(types) != len(p.Parameters()) {
		t.Errorf("%s: %v for the columns, and %v, %v for the parameters", text, foreseen, types, untyped)
	}
	r, err := s.ExecPrepared(t.Context(), p, args)
	switch {
	case foreseen != nil && err == nil:
		t.Errorf("%s: answered, and it was said: %v", text, foreseen)
	case foreseen != nil && len(p.Parameters()) == 0 && foreseen.Error() != err.Error():
		t.Errorf("%s: %v, and it was said: %v", text, err, foreseen)
	case foreseen == nil && err == nil:
		if len(args) > 0 {
			for i := range columns {
				columns[i].Type = "" // it may be that of an argument
			}
		}
		sameColumns(t, text, columns, r)
	}
	return r, err
}

// sameColumns compares columns that a statement was said to have with those that it has.
func sameColumns(t *testing.T, text string, columns []engine.Column, r *engine.Result) {
	t.Helper()
	if len(columns) != len(r.Columns) {
		t.Errorf("%s has the columns %v, and was said to have %v", text, r.Columns, columns)
		return
	}
	for i, said := range columns {
		c := r.Columns[i]
		if c.Name != said.Name || said.Type != "" && c.Type != said.Type || c.SQL != said.SQL || c.SQL == "" {
			t.Errorf("%s: column %d is %v, and was said to be %v", text, i, c, said)
		}
		for _, row := range r.Rows {
			v, ok := c.SQL.ValueOf(row[i])
			if before, isText := row[i].(string); ok && v == nil && isText && beforeYear1.MatchString(before) {
				continue // SQLite's date(0), which is no date of ours
			}
			if want := goTypes[c.SQL]; !ok || row[i] != nil && fmt.Sprintf("%T", v) != want {
				t.Errorf("%s: column %d is %s and has %v (%T), which is %T and no %s", text, i, c.SQL, row[i], row[i], v, want)
				break
			}
		}
	}
}

var beforeYear1 = regexp.MustCompile(`^(-|0000-)`)

var goTypes = map[engine.Type]string{engine.Int8: "int64", engine.Float8: "float64", engine.Numeric: "float64",
	engine.Text: "string", engine.Bool: "bool", engine.Date: "string", engine.Timestamp: "string"}

// TestColumnTypes asks for the types of columns.
func TestColumnTypes(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir()+"/types.db", engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (sex TEXT, age INTEGER, day TEXT, at TEXT, cost REAL, fee REAL, lit INTEGER, zip TEXT, tree TEXT)`,
		`INSERT INTO raw VALUES ('F', 3, '2024-01-02', '2024-01-02 06:00', 20, 1.5, 1, '15213', 'ash')`,
		`CREATE TABLE towns (zip TEXT, name TEXT, height INTEGER, share REAL)`, `INSERT INTO towns VALUES ('15213', 'Oak', 7, 0.25)`)
	must(t, s, `CREATE PUBLIC TABLE towns (share REAL BETWEEN 0 AND 1 STEP 0.05)`)
	must(t, s, `CREATE PRIVATE TABLE v (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 9, day DATE BETWEEN '2024-01-01' AND '2024-01-31',
		at TIMESTAMP BETWEEN '2024-01-01' AND '2024-01-05' STEP '6 hours', cost REAL BETWEEN 0 AND 100 STEP 10, fee NUMERIC(4,1) BETWEEN 0 AND 2, lit BOOLEAN,
		zip TEXT IN ('15213'), tree TEXT IN ('ash') OR OTHER) FROM raw WITH (epsilon = 100, delta = 1e-6, interactive = 0.5)`)
	must(t, s, `SET accuracy = 10000`)
	for _, c := range []struct{ list, rest, want string }{
		{`COUNT(*), COUNT(sex), COUNT(DISTINCT age), SUM(age), SUM(cost), SUM(fee), TOTAL(age), AVG(age), AVG(fee)`, ``, "int8 int8 int8 int8 float8 numeric float8 float8 float8"},
		{`SUM(lit), SUM(fee * age), SUM(fee * cost), SUM(age * 0.5), SUM(CASE WHEN lit THEN 1 ELSE 0 END)`, ``, "int8 numeric float8 float8 int8"},
		{`MEDIAN(age), MEDIAN(day), MEDIAN(at), MEDIAN(cost), MEDIAN(fee), PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY fee)`, ``, "float8 date timestamp float8 float8 numeric"},
		{`QUANTILE(age, 0.5), QUANTILE(day, 0.5), MIN(age), MAX(day), MIN(at), MAX(cost), MIN(fee), MAX(lit)`, ``, "int8 date int8 date timestamp float8 numeric bool"},
		{`MARGIN(COUNT(*)), LOW(COUNT(*)), MEDIAN(day) AS d, MARGIN(d), LOW(d), HIGH(MAX(at))`, ``, "float8 float8 date float8 date timestamp"},
		{`VARIANCE(age), STDDEV(cost), CORR(age, cost), REGR_COUNT(age, cost), REGR_AVGX(age, cost)`, ``, "float8 float8 float8 int8 float8"},
		{`COUNT(*) > 5, COUNT(*) + 1, COUNT(*) * 1.0, COUNT(*) / 2, -SUM(fee), ROUND(AVG(age), 1), ABS(COUNT(*)), NOT COUNT(*) > 1`, ``, "bool int8 float8 int8 numeric float8 int8 bool"},
		{`COALESCE(AVG(age), 0), COALESCE(MIN(day), MAX(at)), IFNULL(MIN(day), '2024-01-01'), CASE WHEN COUNT(*) > 3 THEN 'many' END, NULL, 'x', 7, 2.5, TRUE, CURRENT_DATE`, ``,
			"float8 timestamp text text text text int8 float8 bool date"},
		{`CASE WHEN COUNT(*) > 3 THEN COUNT(*) ELSE 'few' END, CASE WHEN COUNT(*) > 3 THEN NULL ELSE 2 END`, ``, "text int8"},
		{`sex, age, lit, tree, COUNT(*)`, `GROUP BY sex, age, lit, tree`, "text int8 bool text int8"},
		{`day, at, COUNT(*)`, `GROUP BY day, at`, "date timestamp int8"},
		{`cost, fee, GROUPING(fee), COUNT(*)`, `GROUP BY ROLLUP (cost, fee)`, "float8 numeric int8 int8"},
		{`EXTRACT(YEAR FROM day) AS y, strftime('%m', day), date_trunc('month', day), at::date, day + 1, day - '2024-01-01', COUNT(*)`, `GROUP BY 1, 2, 3, 4, 5, 6`,
			"int8 text timestamp date date int8 int8"},
		{`datetime(at, '+1 hour'), age > 3, age + 1, age * fee, substr(sex, 1, 1), length(sex), CASE WHEN age < 5 THEN 'young' ELSE 'old' END, COUNT(*)`, `WHERE age = 3 AND fee = 1.5 GROUP BY 1, 2, 3, 4, 5, 6, 7 LIMIT 3`,
			"timestamp bool int8 numeric text int8 text int8"},
		{`substr(sex, 1, 1), COUNT(*)`, `WHERE age > 9 GROUP BY 1`, "text int8"}, // no row is possible
		{`name, height, share, COUNT(*)`, `JOIN towns ON v.zip = towns.zip GROUP BY name, height, share`, "text int8 float8 int8"},
	} {
		r, err := execDescribed(t, s, `SELECT `+c.list+` FROM v `+c.rest, nil)
		if err != nil {
			t.Errorf("%s: %v", c.list, err)
			continue
		}
		if got := typesOf(r.Columns); got != c.want {
			t.Errorf("%s has the types\n%s, want\n%s", c.list, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`SELECT x.*, n > 3 AS many, day IS NULL, CASE WHEN n > 1 THEN day END AS d, date(at, '+1 day') AS t, fee * 2 AS f, fee * 0.5 AS g, rank() OVER (ORDER BY n) AS place
			FROM (SELECT day, lit, fee, at, COUNT(*) AS n FROM v WHERE fee < 0.2 AND day < '2024-01-05' GROUP BY day, lit, fee, at LIMIT 3) AS x`, "date bool numeric timestamp int8 bool bool date date numeric float8 int8"},
		{`SELECT a, a BETWEEN a AND b AS within FROM (SELECT MIN(day) AS a, MAX(day) AS b FROM v)`, "date bool"},
		{`SELECT name, height, share, height || '' AS t, n FROM towns JOIN (SELECT zip, SUM(fee) AS n FROM v GROUP BY zip) AS c ON c.zip = towns.zip`, "text int8 float8 text numeric"},
		{`SELECT day FROM (SELECT day, COUNT(*) AS n FROM v GROUP BY day) UNION ALL SELECT name FROM towns`, "text"},
		{`SELECT * FROM towns`, "text text int8 float8"},
		{`SELECT CURRENT_DATE, CURRENT_TIMESTAMP, date(CURRENT_DATE, '-9000 years'), date('now')`, "date timestamp date date"},
		{`VALUES (1, 'a', 2.5, NULL, 1 = 1), (2, 'b', 3, 4, FALSE)`, "int8 text float8 int8 bool"},
		{`SHOW TABLES`, "text text text int8 text text int8 int8 text text"[5:]},
		{`DESCRIBE v`, "text text text int8 text text text"},
		{`SHOW SETTINGS`, "text text"},
		{`EXPLAIN SELECT COUNT(*) FROM v`, "text text text text text text text"},
		{`EXPLAIN SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM v)`, "text text text text text text text"},
		{`EXPLAIN VALUES (1)`, "text text text text text text text"},
		{`EXPLAIN CREATE RELEASE r ON v (sex) USING PROJECTION WITH (epsilon = 1)`, "text text text text text text text"},
		{`SHOW RELEASES`, "text text text text text text int8 int8 text text"}, {`SHOW BUDGET`, "text text text text text text text"},
		{`SHOW MECHANISMS`, "text text text text text text int8 text int8 float8 float8 text"}, {`SHOW SOURCES`, "text text text text int8 text"},
		{`SHOW USERS`, "text int8 text"}, {`SHOW GRANTS`, "text text text text text text text"},
		{`SHOW LEDGER`, "int8 text text text text text text text text text text"}, {`SHOW BUDGET FOR v`, "text int8 text text text text text text text text"},
		{`SET accuracy = 100`, ""}, {`CREATE RELEASE r ON v (sex) USING PROJECTION WITH (epsilon = 1)`, ""}, {`DROP RELEASE r`, ""},
	} {
		r, err := execDescribed(t, s, c.text, nil)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := typesOf(r.Columns); got != c.want {
			t.Errorf("%s has the types\n%s, want\n%s", c.text, got, c.want)
		}
	}
}

func typesOf(columns []engine.Column) (all string) {
	for i, c := range columns {
		if i > 0 {
			all += " "
		}
		all += string(c.SQL)
	}
	return all
}

// described makes a private table with a column of each type, and a release of each.
func described(t testing.TB) *engine.Session {
	s := open(t, t.TempDir()+"/types.db", engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw (sex TEXT, age INTEGER, day TEXT, at TEXT, cost REAL, fee REAL, lit INTEGER, zip TEXT)`,
		`INSERT INTO raw WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT substr('FM', i % 2 + 1, 1), i % 10, date('2024-01-01', (i % 31) || ' days'),
			datetime('2024-01-01', (i % 16 * 6) || ' hours'), i % 11 * 10, i % 21 / 10.0, i % 3 = 0, 15210 + i % 5 FROM n`,
		`CREATE TABLE towns (zip TEXT, height INTEGER, share REAL)`, `INSERT INTO towns VALUES ('15210', 7, 0.25), ('15211', 8, 0.5), ('15212', 9, 0.75)`)
	for _, text := range []string{`CREATE PUBLIC TABLE towns (share REAL BETWEEN 0 AND 1 STEP 0.05)`,
		`CREATE PRIVATE TABLE v (sex TEXT IN ('F', 'M', NULL), age INTEGER BETWEEN 0 AND 9, day DATE BETWEEN '2024-01-01' AND '2024-01-31',
			at TIMESTAMP BETWEEN '2024-01-01' AND '2024-01-05' STEP '6 hours', cost REAL BETWEEN 0 AND 100 STEP 10, fee NUMERIC(4,1) BETWEEN 0 AND 2, lit BOOLEAN, zip TEXT)
			FROM raw WITH (epsilon = 100, delta = 1e-6, interactive = 0.5)`,
		`CREATE RELEASE a ON v (sex, age, lit) USING PROJECTION WITH (epsilon = 5, transform = identity)`,
		`CREATE RELEASE b ON v (day) USING PROJECTION WITH (epsilon = 5, transform = identity)`, `CREATE RELEASE c ON v (at) USING PROJECTION WITH (epsilon = 5, transform = identity)`,
		`CREATE RELEASE d ON v (cost) USING PROJECTION WITH (epsilon = 5, transform = identity)`, `CREATE RELEASE e ON v (fee) USING PROJECTION WITH (epsilon = 5, transform = identity)`,
		`CREATE RELEASE f ON v (zip) USING PROJECTION WITH (epsilon = 5, transform = sparse, heavy = none, rows = 4096)`} {
		must(t, s, text)
	}
	if n := count(t, s, `SELECT COUNT(*) FROM v`); n < 500 || n > 1500 { // σ of the noise is below 3
		t.Fatalf("the table has %d rows", n)
	}
	return s
}

// TestParameterTypes asks for the type of a placeholder, and puts a value of this type into its
// place: the result is that of the literal. It is so for the text of the value, and for the value
// that a client sends in binary.
func TestParameterTypes(t *testing.T) {
	t.Parallel()
	s := described(t)
	// Each column with a value of its type, as a literal and as the text that a client sends.
	columns := []struct {
		name, literal, text string
		typ                 engine.Type
		value               any
	}{
		{"sex", "'F'", "F", engine.Text, "F"}, {"age", "4", " 4", engine.Int8, int64(4)}, {"day", "'2024-01-15'", "2024-01-15", engine.Date, "2024-01-15"},
		{"at", "'2024-01-02 06:00:00'", "2024-01-02T06:00:00.000+01", engine.Timestamp, "2024-01-02 06:00:00"}, {"cost", "30.0", "3e1", engine.Float8, 30.0},
		{"fee", "0.7", "0.70", engine.Numeric, 0.7}, {"lit", "TRUE", "t", engine.Bool, true}, {"zip", "'15213'", "15213", engine.Text, "15213"},
	}
	type question struct {
		text, literal, sent string
		typ                 engine.Type
		value               any
	}
	var all []question
	for _, c := range columns {
		for _, where := range []string{"x = ?1", "?1 = x", "x <> ?1", "x < ?1", "x >= ?1", "x IN (?1)", "x NOT IN (?1, ?1)", "x BETWEEN ?1 AND ?1", "NOT x BETWEEN ?1 AND ?1",
			"x IS ?1", "(x, x) = (?1, ?1)", "(x) IN (?1)", "CASE x WHEN ?1 THEN 1 ELSE 0 END = 1", "CASE WHEN x IS NULL THEN ?1 ELSE ?1 END = x", "coalesce(x, ?1) = x", "nullif(x, ?1) IS NULL"} {
			all = append(all, question{`SELECT COUNT(*) FROM v WHERE ` + strings.ReplaceAll(where, "x", c.name), c.literal, c.text, c.typ, c.value})
		}
		all = append(all,
			question{`SELECT COUNT(*) FILTER (WHERE ` + c.name + ` = ?1) AS n FROM v HAVING n > 0`, c.literal, c.text, c.typ, c.value},
			question{`SELECT ` + c.name + `, COUNT(*) FROM v WHERE ` + c.name + ` = ?1 GROUP BY 1 HAVING ` + c.name + ` = ?1`, c.literal, c.text, c.typ, c.value},
			question{`SELECT * FROM (SELECT ` + c.name + ` AS x, COUNT(*) AS n FROM v WHERE ` + c.name + ` = ?1 GROUP BY 1) WHERE n > 0`, c.literal, c.text, c.typ, c.value},
			question{`SELECT n FROM (SELECT ` + c.name + ` AS x, COUNT(*) AS n FROM v WHERE ` + c.name + ` = ` + c.literal + ` GROUP BY 1) WHERE x BETWEEN ?1 AND ?1`, c.literal, c.text, c.typ, c.value})
	}
	integer := func(text string) question { return question{text, "3", "3", engine.Int8, int64(3)} }
	real := func(text string) question { return question{text, "2.5", "2.5", engine.Float8, 2.5} }
	date := func(text string) question {
		return question{text, "'2024-01-03'", "2024-01-03", engine.Date, "2024-01-03"}
	}
	texts := func(text string) question { return question{text, "'F'", "F", engine.Text, "F"} }
	fraction := func(text string) question { return question{text, "0.25", "0.25", engine.Float8, 0.25} }
	truth := func(text string) question { return question{text, "TRUE", "true", engine.Bool, true} }
	all = append(all, integer(`SELECT age, COUNT(*) FROM v GROUP BY 1 ORDER BY 1 LIMIT ?1`), integer(`SELECT age, COUNT(*) FROM v GROUP BY 1 ORDER BY 1 LIMIT 2 OFFSET ?1`),
		integer(`SELECT age, COUNT(*) FROM v GROUP BY 1 ORDER BY 1 FETCH FIRST ?1 ROWS ONLY`), integer(`SELECT * FROM (SELECT age, COUNT(*) FROM v GROUP BY 1) ORDER BY 1 LIMIT ?1`),
		integer(`SELECT COUNT(*) FROM v WHERE age + ?1 > 5`), integer(`SELECT COUNT(*) FROM v WHERE age % ?1 = 1`), integer(`SELECT COUNT(*) FROM v WHERE age & ?1 = 1`),
		integer(`SELECT COUNT(*) FROM v WHERE length(sex) < ?1`), integer(`SELECT COUNT(*) FROM v WHERE substr(sex, ?1) = ''`), integer(`SELECT SUM(age * ?1) FROM v`),
		integer(`SELECT COUNT(*) * ?1 FROM v`), integer(`SELECT age, COUNT(*) AS n FROM v GROUP BY age HAVING n > ?1`), integer(`SELECT COUNT(*) FROM v WHERE CAST(strftime('%m', day) AS INTEGER) <= ?1`),
		integer(`SELECT COUNT(*) FROM v WHERE EXTRACT(MONTH FROM day) = ?1`), integer(`SELECT COUNT(*) FROM v WHERE age = ?1::int4`), integer(`SELECT COUNT(*), CAST(?1 AS BIGINT) FROM v`),
		integer(`SELECT COUNT(*) FROM v WHERE day + ?1 > '2024-01-20'`), question{`SELECT COUNT(*) FROM v WHERE -age < -?1`, "3", "3", engine.Float8, 3.0}, integer(`SELECT ROUND(AVG(age), ?1) FROM v`),
		integer(`SELECT SUM(CASE WHEN age > 2 THEN ?1 ELSE 1 END) FROM v`), integer(`SELECT lag(n, ?1) OVER (ORDER BY n) FROM (SELECT age, COUNT(*) AS n FROM v GROUP BY 1)`),
		integer(`SELECT height FROM towns WHERE height > ?1`), integer(`SELECT ?1 + 1`), integer(`SELECT ?1::int`), integer(`VALUES (1, ?1::int8)`), integer(`SELECT n FROM (SELECT COUNT(*) AS n FROM v) WHERE n BETWEEN ?1 AND 1000000`),
		integer(`SELECT CASE WHEN height > 7 THEN ?1 ELSE 1 END FROM towns`), integer(`SELECT coalesce(height, ?1) FROM towns`), integer(`SELECT COUNT(*) FROM v JOIN towns ON v.zip = towns.zip WHERE height > ?1`),
		integer(`SELECT COUNT(*) FROM v WHERE age > (SELECT AVG(age) FROM v WHERE age > ?1)`), integer(`SELECT COUNT(*) FROM v WHERE age > (SELECT AVG(n) FROM (SELECT age, COUNT(*) AS n FROM v GROUP BY 1) WHERE n > ?1)`),
		integer(`SELECT COUNT(*) FROM v WHERE EXTRACT(YEAR FROM day) - 2020 > ?1`), integer(`EXPLAIN SELECT COUNT(*) FROM v WHERE age = ?1`),
		real(`SELECT AVG(age) > ?1 FROM v`), real(`SELECT COUNT(*) * 1.0 * ?1 FROM v`), real(`SELECT sex, AVG(age) AS a FROM v GROUP BY sex HAVING a < ?1`), real(`SELECT COUNT(*) * ?1::float8 FROM v`),
		real(`SELECT n FROM (SELECT AVG(age) AS n FROM v) WHERE n > ?1`), real(`SELECT share * ?1 FROM towns`), real(`SELECT MARGIN(COUNT(*)) > ?1 FROM v`), real(`SELECT power(height, ?1) FROM towns`),
		integer(`SELECT COUNT(*) FROM v WHERE cost >= 20 * ?1`), real(`SELECT SUM(cost * ?1) FROM v`),
		fraction(`SELECT QUANTILE(age, ?1) FROM v`), fraction(`SELECT PERCENTILE_CONT(?1) WITHIN GROUP (ORDER BY age) FROM v`), fraction(`SELECT share FROM towns WHERE share = ?1`),
		fraction(`SELECT COUNT(*) FROM v JOIN towns ON v.zip = towns.zip WHERE share > ?1`),
		date(`SELECT COUNT(*) FROM v WHERE date(at) = ?1`), date(`SELECT COUNT(*) FROM v WHERE day - ?1 > 5`), date(`SELECT MIN(day) > ?1 FROM v`), date(`SELECT COUNT(*) FROM v WHERE day > ?1::date`),
		date(`SELECT COUNT(*) FROM v WHERE day > date(?1, '+1 day')`),
		question{`SELECT COUNT(*) FROM v WHERE date_trunc('month', day) < ?1`, "'2024-01-03 00:00:00'", "2024-01-03 00:00:00", engine.Timestamp, "2024-01-03 00:00:00"}, date(`SELECT day FROM (SELECT day, COUNT(*) FROM v GROUP BY day) WHERE day <= ?1`),
		texts(`SELECT COUNT(*) FROM v WHERE sex LIKE ?1`), texts(`SELECT COUNT(*) FROM v WHERE sex NOT LIKE ?1 || '%'`), texts(`SELECT COUNT(*) FROM v WHERE sex GLOB ?1`), texts(`SELECT COUNT(*), ?1 AS label FROM v`),
		texts(`SELECT ?1`), texts(`SELECT COUNT(*) FROM v WHERE upper(sex) = ?1`), texts(`SELECT CASE WHEN sex = 'M' THEN ?1 ELSE 'x' END AS y, COUNT(*) FROM v GROUP BY 1`), texts(`SELECT COUNT(*) FROM v WHERE ?1 = 'F' AND sex = 'F'`),
		texts(`SELECT zip FROM towns WHERE zip > ?1`), texts(`SELECT zip || ?1 FROM towns`), texts(`SELECT COUNT(*) FROM v WHERE ?1::text = sex`), texts(`SELECT sex, n FROM (SELECT sex, COUNT(*) AS n FROM v GROUP BY 1) WHERE sex IN (?1, 'M')`),
		truth(`SELECT COUNT(*) FROM v WHERE lit = (?1 AND age > 3)`), truth(`SELECT COUNT(*) FROM v WHERE age > 3 AND ?1`), truth(`SELECT COUNT(*) FROM v WHERE ?1 OR age = 2`), truth(`SELECT COUNT(*) FROM v WHERE ?1::bool`),
		truth(`SELECT height FROM towns WHERE ?1`), truth(`SELECT COUNT(*) FROM v WHERE NOT ?1`), truth(`SELECT COUNT(*) FROM v WHERE iif(?1, age, 3) = 3`))
	same := 0
	all = some(t, 2, all)
	for _, q := range all {
		p, err := engine.Prepare(q.text)
		if err != nil {
			t.Errorf("%s: %v", q.text, err)
			continue
		}
		types, err := s.ParameterTypes(t.Context(), p)
		want, refused := s.Exec(t.Context(), strings.ReplaceAll(q.text, "?1", q.literal), nil)
		if err != nil || len(types) != 1 || types[0] != q.typ {
			if refused == nil {
				t.Errorf("%s: the type is %v, %v; want %s", q.text, types, err, q.typ)
			}
			continue
		}
		parsed, err := q.typ.Parse(q.sent)
		value, ok := query.Argument(q.value)
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", q.text, err, value)
		}
		for _, v := range []query.Value{parsed, value} {
			got, err := execDescribed(t, s, q.text, []query.Value{v})
			switch {
			case refused != nil || err != nil:
				if sqlerr.CodeOf(err) != sqlerr.CodeOf(refused) {
					t.Errorf("%s with %v: %v, and with the literal: %v", q.text, v, err, refused)
				}
			case !reflect.DeepEqual(got.Rows, want.Rows):
				if strings.HasPrefix(q.text, "EXPLAIN") {
					continue
				}
				t.Errorf("%s with %v: %v, and with the literal: %v", q.text, v, got.Rows, want.Rows)
			default:
				same++
			}
		}
	}
	if t.Logf("%d questions, %d equal results", len(all), same); same < 3*len(all)/2 {
		t.Error("too few of the questions were answered")
	}
}

// writer writes random statements about the table of described.
type writer struct {
	*rand.Rand
	keys []string // of GROUP BY
}

// one returns one of some texts. A letter in a circle stands for a number, a date, a text, a
// condition, or anything.
func (w *writer) one(depth int, texts ...string) string {
	var b strings.Builder
	for _, r := range texts[w.IntN(len(texts))] {
		switch r {
		case 'Ⓝ':
			b.WriteString(w.number(depth - 1))
		case 'Ⓓ':
			b.WriteString(w.date(depth - 1))
		case 'Ⓣ':
			b.WriteString(w.text(depth - 1))
		case 'Ⓒ':
			b.WriteString(w.condition(depth - 1))
		case 'Ⓐ':
			b.WriteString(w.any(depth - 1))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (w *writer) number(depth int) string {
	if depth <= 0 {
		return w.one(0, "3", "2.5", "?", "COUNT(*)", "COUNT(*)", "SUM(age)", "SUM(fee)", "AVG(cost)", "MAX(age)", "NULL", "SUM(lit)", "MAX(lit)", "MEDIAN(fee)", "TRUE")
	}
	return w.one(depth, "Ⓝ + Ⓝ", "(Ⓝ - Ⓝ)", "Ⓝ * Ⓝ", "Ⓝ / Ⓝ", "-(Ⓝ)", "ABS(Ⓝ)", "ROUND(Ⓝ)", "ROUND(Ⓝ, ?)", "COALESCE(Ⓝ, Ⓝ)", "CASE WHEN Ⓒ THEN Ⓝ ELSE Ⓝ END", "CASE Ⓝ WHEN Ⓝ THEN Ⓝ END",
		"MARGIN(COUNT(*))", "HIGH(AVG(age))", "SUM(age * ?)", "SUM(CASE WHEN sex = ? THEN fee ELSE ? END)", "COUNT(*) FILTER (WHERE day > ?)", "QUANTILE(age, 0.25)", "CORR(age, cost)", "Ⓒ")
}

func (w *writer) date(depth int) string {
	if depth <= 0 {
		return w.one(0, "MIN(day)", "MAX(at)", "MEDIAN(day)", "?", "NULL", "LOW(MAX(day))", "HIGH(MEDIAN(at))")
	}
	return w.one(depth, "COALESCE(Ⓓ, Ⓓ)", "CASE WHEN Ⓒ THEN Ⓓ END", "CASE WHEN Ⓒ THEN Ⓓ ELSE Ⓓ END", "IFNULL(Ⓓ, '2024-01-01')")
}

func (w *writer) text(depth int) string {
	if depth <= 0 {
		return w.one(0, "'x'", "?", "NULL")
	}
	return w.one(depth, "COALESCE(Ⓣ, Ⓣ)", "CASE WHEN Ⓒ THEN Ⓣ ELSE Ⓣ END")
}

func (w *writer) condition(depth int) string {
	if depth <= 0 {
		return w.one(0, "COUNT(*) > ?", "? < AVG(fee)", "MIN(day) = ?", "MEDIAN(at) IS NULL", "TRUE")
	}
	return w.one(depth, "Ⓝ < Ⓝ", "Ⓝ IN (Ⓝ, Ⓝ)", "Ⓓ >= Ⓓ", "Ⓓ BETWEEN ? AND Ⓓ", "Ⓣ = Ⓣ", "NOT Ⓒ", "(Ⓒ AND Ⓒ)", "Ⓐ IS NOT NULL", "(Ⓒ) IS TRUE")
}

func (w *writer) any(depth int) string {
	if len(w.keys) > 0 && w.IntN(2) == 0 {
		return w.keys[w.IntN(len(w.keys))]
	}
	return w.one(depth, "Ⓝ", "Ⓓ", "Ⓣ", "Ⓒ", "CASE WHEN Ⓒ THEN Ⓐ ELSE Ⓐ END", "COALESCE(Ⓐ, Ⓐ)")
}

func (w *writer) statement() string {
	w.keys = nil
	for range w.IntN(3) {
		w.keys = append(w.keys, w.one(0, "sex", "age", "day", "at", "cost", "fee", "lit", "substr(sex, 1, ?)", "substr(sex, 1)", "age + ?", "age > ?", "age * fee", "strftime('%m', day)", "date(at)", "datetime(at, '+1 day')",
			"CASE WHEN age > ? THEN 'old' ELSE 1 END", "CASE WHEN age > ? THEN 'old' END", "CASE WHEN lit THEN day ELSE date(at) END", "day + ?", "day - ?", "coalesce(sex, ?)", "iif(lit, age, ?)", "nullif(age, ?)",
			"CAST(age AS TEXT)", "EXTRACT(MONTH FROM day)", "length(sex) = ?", "julianday(day) > ?", "unixepoch(at)", "age / ?", "fee = ?", "age IN (?, 3)", "(sex = ? AND lit)"))
	}
	text := "SELECT " + w.any(3) + " AS a, " + w.any(2) + " AS b, COUNT(*) AS n FROM v WHERE " + w.one(0, "age < ?", "TRUE", "age > 100", "day = ?", "sex IN (?, 'M')", "lit = ?", "fee >= ? AND cost < ?")
	if len(w.keys) > 0 {
		text += " GROUP BY " + strings.Join(w.keys, ", ")
	}
	text += w.one(0, "", "", " HAVING n > ?", " ORDER BY a LIMIT ?")
	if w.IntN(3) == 0 {
		text = "SELECT " + w.one(0, "a", "CASE WHEN n > ? THEN a ELSE b END", "coalesce(a, b, ?)", "a || ?", "n + ?", "max(a) OVER ()", "rank() OVER (ORDER BY a)", "a > ?", "nullif(a, b)", "sum(n) OVER ()", "date(a)", "CAST(b AS REAL)") +
			" AS y, b IS NULL AS z" + w.one(0, "", ", x.*") + " FROM (" + text + ") AS x" + w.one(0, "", " WHERE n > ?", " LIMIT ?", " WHERE a = ? OR TRUE", " UNION SELECT height, zip FROM towns")
	}
	return text
}

// TestTypesOfGeneratedStatements runs random statements with arguments of the types that their
// placeholders are said to have. Each has the columns that it was said to have, whatever the
// arguments are, and each value has its column's type. The statements are the same each time, but
// with -long.
func TestTypesOfGeneratedStatements(t *testing.T) {
	t.Parallel()
	s := described(t)
	must(t, s, `SET accuracy = 10000`)
	n, seed := 25, uint64(1)
	if *long {
		n, seed = 5000, seeds.Of(t)
	}
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 0))}
	samples := map[engine.Type][]string{engine.Int8: {"1", "7", "-3"}, engine.Float8: {"0.5", "2"}, engine.Numeric: {"0.7", "1"}, engine.Text: {"F", "abc", ""}, engine.Bool: {"t", "f"},
		engine.Date: {"2024-01-05", "2030-01-01"}, engine.Timestamp: {"2024-01-02 06:00:00", "2020-01-01 00:00:00"}}
	answered := 0
	for range n {
		text := w.statement()
		p, err := engine.Prepare(text)
		if sqlerr.CodeOf(err) == sqlerr.Unsupported {
			continue // a window around what GROUP BY does not make
		} else if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		types, err := s.ParameterTypes(t.Context(), p)
		if err != nil {
			types = make([]engine.Type, len(p.Parameters()))
		}
		args := make([]query.Value, len(types))
		for i, typ := range types {
			if all := samples[typ]; all != nil && w.IntN(6) > 0 {
				if args[i], err = typ.Parse(all[w.IntN(len(all))]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := execDescribed(t, s, text, args); err == nil {
			answered++
		} else if code := sqlerr.CodeOf(err); code == sqlerr.Internal || code == sqlerr.Malformed {
			t.Errorf("%s: %v", text, err)
		}
	}
	if t.Logf("%d of %d were answered", answered, n); answered < n/5 {
		t.Error("too few statements were answered")
	}
}

// kindsOfStatements are statements of every kind on the tables of described. Many would charge.
var kindsOfStatements = []string{
	`SELECT COUNT(*) FROM v WHERE cost = 10 AND age = ?`, `SELECT sex, AVG(age), MEDIAN(day), MAX(at) FROM v WHERE lit = ? GROUP BY sex`, `SELECT COUNT(DISTINCT age) FROM v`,
	`SELECT COUNT(*) FROM v WHERE age + fee > ?`, `SELECT n * 2 FROM (SELECT COUNT(*) AS n FROM v WHERE day < ?) WHERE n > ?`,
	`SELECT COUNT(*) FROM v WHERE age > (SELECT AVG(age) FROM v WHERE cost > ?)`, `SELECT COUNT(*) FROM v JOIN towns ON v.zip = towns.zip WHERE height > ?`,
	`SELECT zip FROM towns WHERE height = ?`, `VALUES (1, ?)`, `EXPLAIN SELECT COUNT(*) FROM v WHERE age < ?`, `EXPLAIN SELECT n FROM (SELECT COUNT(*) AS n FROM v WHERE age < ?)`,
	`EXPLAIN CREATE RELEASE r ON v (sex, age) USING PROJECTION WITH (epsilon = 1)`, `ADVISE 'x.workload' WITH (epsilon = 1)`, `SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`,
	`SHOW LEDGER`, `SHOW SETTINGS`, `SHOW SOURCES`, `SHOW USERS`, `SHOW GRANTS`, `DESCRIBE v`, `SET accuracy = 5`, `CREATE RELEASE r ON v (sex, age) USING PROJECTION WITH (epsilon = 1)`,
	`CREATE MECHANISM m ON v (sex, age) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 10)`, `CREATE PUBLIC TABLE p AS SELECT sex, COUNT(*) AS n FROM v WHERE cost = 20 GROUP BY sex`,
	`CREATE PUBLIC TABLE k AS SELECT DISTINCT zip FROM v WITH (epsilon = 1)`, `CREATE PRIVATE TABLE w (sex TEXT IN ('F')) FROM raw WITH (epsilon = 1, delta = 1e-6)`, `CREATE VIEW x AS SELECT sex FROM raw`,
	`DROP RELEASE a`, `DROP PRIVATE TABLE v`, `EXPORT RELEASE a TO 'a.release'`, `ALTER PRIVATE TABLE v SET (max_rho = 0.001)`, `CREATE USER eva PASSWORD 'secretive'`, `GRANT SELECT ON v TO eva`, `DROP USER eva`,
	`SELECT COUNT(*) FROM nowhere`, `SELECT nothing FROM v`, `DESCRIBE nowhere`, `SELECT sex FROM v`,
}

// TestDescribingRunsNothing describes statements of every kind without private rows: their table
// is gone. Nothing is drawn, and the file stays as it is, to the byte. What a session is told is
// what it was told while there were rows, and no more than it is told when it runs the statement.
func TestDescribingRunsNothing(t *testing.T) {
	t.Parallel()
	s := described(t)
	must(t, s, `CREATE MECHANISM live ON v (age, cost) USING SMW WITH (epsilon = 1, max_updates = 2, queries = 10)`)
	must(t, s, `CREATE USER eva PASSWORD 'secretive'`)
	must(t, s, `CREATE USER ana PASSWORD 'secretive'`)
	must(t, s, `GRANT SELECT ON v TO ana WITH (rho = 0.1)`)
	db := s.DB()
	sessions := map[string]*engine.Session{"curator": s, "ana": db.NewUserSession("ana"), "eva": db.NewUserSession("eva"), "nobody": db.NewUserSession("nobody")}
	for _, of := range sessions {
		if err := of.Set("accuracy", "100"); err != nil {
			t.Fatal(err)
		}
	}
	tell := func() (told []string) {
		for _, text := range kindsOfStatements {
			p, err := engine.Prepare(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, who := range slices.Sorted(maps.Keys(sessions)) {
				columns, err := sessions[who].Columns(t.Context(), p, nil)
				types, also := sessions[who].ParameterTypes(t.Context(), p)
				told = append(told, fmt.Sprint(who, ": ", text, ": ", columns, err, types, also))
			}
		}
		return told
	}
	with := tell()
	fill(t, s, `DROP TABLE raw`)
	db.SetRandom(func() *noise.Source { t.Error("something is drawn"); return noise.NewSource() })
	before := bytesOf(t, db)
	without := tell()
	if !bytes.Equal(before, bytesOf(t, db)) {
		t.Error("the file has changed")
	}
	for i := range with {
		if with[i] != without[i] {
			t.Errorf("told with rows:\n%s\nand without:\n%s", with[i], without[i])
		}
	}
	// Statements that a session may not run are refused with the same error, and do not show what
	// it may not see.
	for _, text := range kindsOfStatements {
		p, err := engine.Prepare(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"ana", "eva", "nobody"} {
			args := make([]query.Value, len(p.Parameters()))
			_, ran := sessions[who].ExecPrepared(t.Context(), p, args)
			columns, told := sessions[who].Columns(t.Context(), p, nil)
			if told != nil && (ran == nil || ran.Error() != told.Error()) || told == nil && columns != nil && who == "nobody" {
				t.Errorf("%s is told about %s: %v, %v, and when it runs: %v", who, text, columns, told, ran)
			}
			if code := sqlerr.CodeOf(ran); told == nil && columns != nil && (code == sqlerr.Forbidden || code == sqlerr.Unknown) {
				t.Errorf("%s is told that %s has %v, and may not run it: %v", who, text, columns, ran)
			}
			if who == "eva" && strings.Contains(text, " v") && (columns != nil || told == nil) && !strings.Contains(text, "CREATE") && !strings.Contains(text, "DROP") && !strings.Contains(text, "ALTER") && !strings.Contains(text, "GRANT") {
				t.Errorf("eva is told that %s has %v", text, columns)
			}
		}
	}
}

// bytesOf returns the bytes of a database's file and of its log.
func bytesOf(t *testing.T, db *engine.DB) (all []byte) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(db.Store().Path() + suffix)
		if err != nil && suffix == "" {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

// BenchmarkDescribe asks a prepared count, and what drivers ask before: its columns and the types
// of its parameters.
func BenchmarkDescribe(b *testing.B) {
	s := described(b)
	p, err := engine.Prepare(`SELECT sex, COUNT(*) AS n FROM v WHERE age BETWEEN ? AND ? AND lit = ? GROUP BY sex`)
	if err != nil {
		b.Fatal(err)
	}
	args := []query.Value{query.Int(2), query.Int(7), query.Int(1)}
	b.Run("run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.ExecPrepared(b.Context(), p, args); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("columns", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Columns(b.Context(), p, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parameters", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.ParameterTypes(b.Context(), p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
