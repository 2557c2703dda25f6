package engine_test

import (
	"fmt"
	"testing"

	"dpsql/engine"
	"dpsql/query"
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
			if want := goTypes[c.SQL]; !ok || row[i] != nil && fmt.Sprintf("%T", v) != want {
				t.Errorf("%s: column %d is %s and has %v (%T), which is %T and no %s", text, i, c.SQL, row[i], row[i], v, want)
				break
			}
		}
	}
}

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
			"int8 text date date date int8 int8"},
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
		{`SELECT name, height, share, height || '' AS t, n FROM towns JOIN (SELECT zip, SUM(fee) AS n FROM v GROUP BY zip) AS c ON c.zip = towns.zip`, "text int8 float8 text numeric"},
		{`SELECT day FROM (SELECT day, COUNT(*) AS n FROM v GROUP BY day) UNION ALL SELECT name FROM towns`, "text"},
		{`SELECT * FROM towns`, "text text int8 float8"},
		{`SELECT CURRENT_DATE, CURRENT_TIMESTAMP, date(CURRENT_DATE, '-9000 years'), date('now')`, "date timestamp date text"},
		{`VALUES (1, 'a', 2.5, NULL, 1 = 1), (2, 'b', 3, 4, FALSE)`, "int8 text float8 int8 bool"},
		{`SHOW TABLES`, "text text text int8 text text int8 int8 text text"[5:]},
		{`DESCRIBE v`, "text text text int8 text text text"},
		{`SHOW SETTINGS`, "text text"},
		{`EXPLAIN SELECT COUNT(*) FROM v`, "text text text text text text text"},
		{`EXPLAIN SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM v)`, "text text text text text text text"},
		{`EXPLAIN VALUES (1)`, "text text text text text text text"},
		{`EXPLAIN CREATE RELEASE r ON v (sex) USING PROJECTION WITH (epsilon = 1)`, "text text text text text text text"},
		{`SHOW RELEASES`, "text text text text text text int8 int8 text"}, {`SHOW BUDGET`, "text text text text text text text"},
		{`SHOW MECHANISMS`, "text text text text text text int8 text int8 float8 float8 text"}, {`SHOW SOURCES`, "text text text text int8 text"},
		{`SHOW USERS`, "text int8 text"}, {`SHOW GRANTS`, "text text text text text text text"},
		{`SHOW LEDGER`, "int8 text text text text text text text text text"},
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
