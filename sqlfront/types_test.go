package sqlfront_test

import (
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// TestTypes holds the types of columns, and those of the parameters behind a bar; ? is unknown.
func TestTypes(t *testing.T) {
	t.Parallel()
	v := declare(t, `CREATE PRIVATE TABLE v (s TEXT IN ('a', 'b'), i INTEGER BETWEEN 0 AND 9, d DATE BETWEEN '2024-01-01' AND '2024-01-31',
		m TIMESTAMP BETWEEN '2024-01-01' AND '2024-01-05' STEP '6 hours', f REAL BETWEEN 0 AND 100 STEP 10, n NUMERIC(4,1) BETWEEN 0 AND 2, b BOOLEAN) FROM raw`)
	for _, c := range []struct{ text, want string }{
		{`SELECT COUNT(*), COUNT(s), SUM(i), SUM(b), SUM(f), SUM(n), SUM(i * n), TOTAL(i), AVG(n) FROM v`, "int8 int8 int8 int8 float8 numeric numeric float8 float8"},
		{`SELECT MIN(d), MAX(m), MIN(b), QUANTILE(n, 0.5), MEDIAN(d), MEDIAN(n), MEDIAN(i) FROM v`, "date timestamp bool numeric date float8 float8"},
		{`SELECT CORR(i, f), REGR_COUNT(i, f), REGR_AVGX(i, f), VARIANCE(i), STDDEV(f) FROM v`, "float8 int8 float8 float8 float8"},
		{`SELECT COUNT(*) AS d, MEDIAN(d) AS m, LOW(d), HIGH(m), MARGIN(m), LOW(MAX(m)), COALESCE(LOW(d), 1) FROM v`, "int8 date float8 date float8 timestamp float8"},
		{`SELECT MEDIAN(d), LOW(median) FROM v`, "date date"}, // by its heading
		{`SELECT GROUPING(s), s, i, d, f, b FROM v GROUP BY ROLLUP (s), i, d, f, b`, "int8 text int8 date float8 bool"},
		{`SELECT m, n, d + 1, d - ? FROM v GROUP BY m, n, d + 1, d - ?`, "timestamp numeric date int8 | date date"},
		{`SELECT CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 3 END, COALESCE(MIN(d), 'none'), NULL, 9223372036854775807, 9223372036854775808 FROM v`, "text text text int8 float8"},
		{`SELECT length(s), upper(s), substr(s, 1), date(m), datetime(d), time(m), unixepoch(m), strftime('%Y', d) FROM v GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
			"int8 text text date timestamp time int8 text"},
		{`SELECT COUNT(*) FROM v WHERE i = ? AND s = ? AND d > ? AND m = ? AND f = ? AND n > ? AND b = ? AND julianday(d) > ?`, "int8 | int8 text date timestamp float8 numeric bool float8"},
		{`SELECT COUNT(*) FROM v WHERE date(?) < d AND strftime('%Y', ?) = ? AND i IN (VALUES (?), (2)) AND d BETWEEN ? AND '2024-01-09'`, "int8 | date timestamp text int8 date"},
		{`SELECT SUM(i * ?), COUNT(*) FILTER (WHERE s = ?), COUNT(*) > ? FROM v HAVING ? LIMIT ?`, "int8 int8 bool | int8 text int8 bool int8"},
		{`SELECT COUNT(*) AS c FROM (SELECT i AS x, s FROM v WHERE i > ?) AS y WHERE x < ? HAVING c > ? AND ? IS NULL`, "int8 | int8 int8 int8 ?"},
	} {
		s, err := syntax.Parse(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		bound, err := sqlfront.Describe(s.(*syntax.Select), v)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		got := names(bound.Types)
		if len(bound.Parameters) > 0 {
			got += " | " + names(bound.Parameters)
		}
		if got != c.want {
			t.Errorf("%s has the types\n%s, want\n%s", c.text, got, c.want)
		}
	}
}

func names(types []query.SQLType) string {
	all := make([]string, len(types))
	for i, typ := range types {
		if all[i] = string(typ); typ == "" {
			all[i] = "?"
		}
	}
	return strings.Join(all, " ")
}
