package syntax

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"dpsql/sqlerr"
)

// rewritings are statements of other systems, and what they turn into.
var rewritings = []struct{ from, to string }{
	{`SELECT COUNT(*)::float / 2 FROM t`, `SELECT (1.0 * (COUNT(*))) / 2 FROM t`},
	{`SELECT COUNT(*) FILTER (WHERE a::int = 1)::numeric(10, 2) FROM t`, `SELECT ROUND(1.0 * (COUNT(*) FILTER (WHERE CAST(a AS INTEGER) = 1)), 2) FROM t`},
	{`SELECT (a + b)::int::text, CASE WHEN a THEN b END::varchar(20), b::varchar, "t"."a"::double precision FROM t`,
		`SELECT CAST(CAST((a + b) AS INTEGER) AS text), substr(CAST(CASE WHEN a THEN b END AS TEXT), 1, 20), CAST(b AS TEXT), (1.0 * ("t"."a")) FROM t`},
	{`SELECT '2024-01-31'::date, d::date, d::timestamp with time zone, 'true'::boolean, a::bool FROM t`,
		`SELECT '2024-01-31', date(d), datetime(d), TRUE, ((a) <> 0) FROM t`},
	{`SELECT CAST(a AS DECIMAL(5, 1)), CAST(a AS INTEGER), CAST(a AS BLOB) FROM t`, `SELECT ROUND(1.0 * (a), 1), CAST(a AS INTEGER), CAST(a AS BLOB) FROM t`},
	{`SELECT date_trunc('month', d::timestamp) FROM t`, `SELECT date(datetime(d), 'start of month') FROM t`},
	{`SELECT DATE_TRUNC(d, WEEK), date_trunc('quarter', ?) FROM t WHERE a = ?`,
		`SELECT date(d, 'weekday 0', '-6 days'), date(?1, 'start of month', CASE CAST(strftime('%m', ?1) AS INTEGER) % 3 WHEN 1 THEN '+0 months' WHEN 2 THEN '-1 months' ELSE '-2 months' END) FROM t WHERE a = ?2`},
	{`SELECT EXTRACT(YEAR FROM d), date_part('quarter', d), YEAR(d), year, t.month FROM t`,
		`SELECT CAST(strftime('%Y', d) AS INTEGER), ((CAST(strftime('%m', d) AS INTEGER) + 2) / 3), CAST(strftime('%Y', d) AS INTEGER), year, t.month FROM t`},
	{`SELECT TO_CHAR(d, 'YYYY-MM') FROM t WHERE d >= CURRENT_DATE - INTERVAL '3 months' AND d < date '2025-01-01' + interval '1' day AND e < f - INTERVAL 2 HOUR`,
		`SELECT strftime('%Y-%m', d) FROM t WHERE d >= date(CURRENT_DATE, '-3 months', 'floor') AND d < date('2025-01-01', '+1 days') AND e < datetime(f, '-2 hours')`},
	{`SELECT k, n FROM (VALUES (1, 2)) AS v(k, w), (SELECT COUNT(*) FROM t) c (n)`,
		`SELECT k, n FROM (WITH "named" (k, w) AS (VALUES (1, 2)) SELECT * FROM "named") AS v, (WITH "named" (n) AS (SELECT COUNT(*) FROM t) SELECT * FROM "named") AS c`},
	{`SELECT DATE '2024-12-31' - 7, (7) + DATE '2024-12-31', '2024-12-31'::date - n, d - DATE '2024-12-31', DATE '2024-12-31' - (DATE '2024-01-31'), date_trunc('day', d) - 7, '2024-12-31' - 7 FROM t`,
		`SELECT date('2024-12-31', '-7 days'), date('2024-12-31', '+7 days'), date('2024-12-31') - n, d - '2024-12-31', CAST(julianday('2024-12-31') - julianday(('2024-01-31')) AS INTEGER), date(d) - 7, '2024-12-31' - 7 FROM t`},
	{`SELECT TO_CHAR(d, 'Mon DD, IYYY'), TO_CHAR(d, 'FMDAY'), TO_CHAR(d, '"Q"Q'), TO_CHAR(d, 'DD "50% of" MM') FROM t`,
		`SELECT substr('JanFebMarAprMayJunJulAugSepOctNovDec', CAST(strftime('%m', d) AS INTEGER) * 3 - 2, 3) || strftime(' %d, %G', d), rtrim(substr('MONDAY   TUESDAY  WEDNESDAYTHURSDAY FRIDAY   SATURDAY SUNDAY   ', CAST(strftime('%u', d) AS INTEGER) * 9 - 8, 9)), strftime('Q', d) || CAST(((CAST(strftime('%m', d) AS INTEGER) + 2) / 3) AS TEXT), strftime('%d 50%% of %m', d) FROM t`},
	{`SELECT a FROM t WHERE a BETWEEN SYMMETRIC 5 AND b AND c NOT BETWEEN SYMMETRIC 5 AND 3 AND d BETWEEN ASYMMETRIC 1 AND 2 AND e BETWEEN symmetric AND 3`,
		`SELECT a FROM t WHERE (a BETWEEN 5 AND b OR a BETWEEN b AND 5) AND (c NOT BETWEEN 5 AND 3 AND c NOT BETWEEN 3 AND 5) AND d BETWEEN 1 AND 2 AND e BETWEEN symmetric AND 3`},
	{`SELECT HOUR(b), MINUTE(b), SECOND(b), DIV(a, 7), TO_CHAR(b, 'YYYY-MM-01 HH24:00'), hour FROM t`,
		`SELECT CAST(strftime('%H', b) AS INTEGER), CAST(strftime('%M', b) AS INTEGER), CAST(strftime('%S', b) AS INTEGER), trunc((a) / (7)), strftime('%Y-%m-01 %H:00', b), hour FROM t`},
	{`SELECT LEFT(x, -2), RIGHT(x, -2), SUBSTRING(x FOR 3), STARTS_WITH(x, 'a'), ASCII(x), EXTRACT(DECADE FROM d) FROM t`,
		`SELECT substr(x, 1, length(x) - 2), substr(x, 2 + 1), substr(x, 1, 3), (instr(x, 'a') = 1), unicode(x), (CAST(strftime('%Y', d) AS INTEGER) / 10) FROM t`},
	{`SELECT date_trunc('month', now()) - INTERVAL '1 quarter' FROM t`, `SELECT date(date(datetime('now'), 'start of month'), '-3 months', 'floor') FROM t`},
	{`SELECT a FROM t WHERE b >= timestamp with time zone '2024-01-31 12:00:00.000+02' AND b < TIMESTAMPTZ '2024-01-31T12:00:00Z' AND b > timestamp without time zone '2024-01-31 12:00+02'`,
		`SELECT a FROM t WHERE b >= '2024-01-31 10:00:00' AND b < '2024-01-31 12:00:00' AND b > '2024-01-31 12:00:00'`},
	{`SELECT '2024-01-31 12:00:00.5+02'::timestamptz, '2024-01-31 12:00:00.500+02'::timestamp(3), CAST('2024-01-31 23:00-05' AS date), TIMESTAMP '2024-01-31' FROM t`,
		`SELECT '2024-01-31 10:00:00.5', '2024-01-31 12:00:00.5', '2024-01-31', '2024-01-31 00:00:00' FROM t`},
	{`SELECT date_trunc('day', b AT TIME ZONE 'UTC'), date_trunc('second', b, 'Etc/UTC'), timezone('utc', b), EXTRACT(EPOCH FROM b) FROM t`,
		`SELECT date((b)), datetime((b)), (b), unixepoch(b) FROM t`},
	{`SELECT TO_TIMESTAMP('2024-01-31 12:30:00.000000', 'YYYY-MM-DD HH24:MI:SS.US'), to_timestamp('2024-01-31T12:30', 'yyyy-mm-dd"T"hh24:mi'), TO_DATE('31.01.2024', 'DD.MM.YYYY'), to_timestamp(86400), to_timestamp(b) FROM t`,
		`SELECT '2024-01-31 12:30:00', '2024-01-31 12:30:00', '2024-01-31', '1970-01-02 00:00:00', to_timestamp(b) FROM t`},
	{`SELECT a FROM t WHERE a = ANY('{a, "b c\"",null}') AND b <> ALL ('{1,2}'::int[]) AND c = ANY ('{}') AND d <> ALL (ARRAY[?, 'x', NULL])`,
		`SELECT a FROM t WHERE a IN ('a', 'b c"', NULL) AND b NOT IN ('1', '2') AND (0 <> 0) AND d NOT IN (?, 'x', NULL)`},
	{`SELECT b + INTERVAL '0 years 1 mons 3 days 0 hours -5 mins 0.0 secs', b - '1 day -00:30:00'::interval, d - INTERVAL '2 days, 0:00:00' FROM t`,
		`SELECT datetime(b, '+1 months', 'floor', '+3 days', '-5 minutes'), datetime(b, '-1 days', '+1800 seconds'), datetime(d, '-2 days') FROM t`},
	{`SELECT EXTRACT(MONTH FROM d) / 4, 1 + (DATE_PART('quarter', d) - 1) / 2, -EXTRACT(DAY FROM d) / a, a / EXTRACT(DAY FROM d), EXTRACT(DAY FROM d) % 7, EXTRACT(DAY FROM d)::int / 7, YEAR(d) / 10 FROM t`,
		`SELECT 1.0 * (CAST(strftime('%m', d) AS INTEGER)) / 4, 1 + 1.0 * ((((CAST(strftime('%m', d) AS INTEGER) + 2) / 3) - 1)) / 2, 1.0 * (-CAST(strftime('%d', d) AS INTEGER)) / a, 1.0 * (a) / CAST(strftime('%d', d) AS INTEGER), CAST(strftime('%d', d) AS INTEGER) % 7, CAST(CAST(strftime('%d', d) AS INTEGER) AS INTEGER) / 7, CAST(strftime('%Y', d) AS INTEGER) / 10 FROM t`},
	{`SELECT m / 2, x.m / 2, m % 2, COALESCE(m, 0) / 2, CASE WHEN n > 1 THEN m END / 2, n / 2 FROM (SELECT EXTRACT(MONTH FROM d) AS m, COUNT(*) AS n FROM t WHERE m / 2 = 1 GROUP BY 1) x`,
		`SELECT 1.0 * (m) / 2, 1.0 * (x.m) / 2, m % 2, 1.0 * (COALESCE(m, 0)) / 2, 1.0 * (CASE WHEN n > 1 THEN m END) / 2, n / 2 FROM (SELECT CAST(strftime('%m', d) AS INTEGER) AS m, COUNT(*) AS n FROM t WHERE m / 2 = 1 GROUP BY 1) x`},
	{`WITH y (a, b) AS (SELECT date_part('year', d), b FROM t), z AS (SELECT a + 1 AS c, b FROM y) SELECT c / 10, b / 10, MAX(c) / 10 FROM z JOIN u ON z.b = u.b`,
		`WITH y (a, b) AS (SELECT CAST(strftime('%Y', d) AS INTEGER), b FROM t), z AS (SELECT a + 1 AS c, b FROM y) SELECT 1.0 * (c) / 10, b / 10, 1.0 * (MAX(c)) / 10 FROM z JOIN u ON z.b = u.b`},
	{`SELECT a FROM t WHERE a > ANY(ARRAY[3, b]) AND c NOT LIKE 'x' AND a + 1 <= ALL ('{1,2}') AND c ILIKE ANY (ARRAY['x%', 'y']) AND a < ANY ('{}') AND a = ANY (SELECT b FROM u)`,
		`SELECT a FROM t WHERE (a > 3 OR a > b) AND c NOT LIKE 'x' AND (a + 1 <= '1' AND a + 1 <= '2') AND (c LIKE 'x%' OR c LIKE 'y') AND (0 <> 0) AND a IN (SELECT b FROM u)`},
	{`SELECT TRIM(BOTH 'x' FROM a), TRIM(LEADING FROM a), trim(trailing 'x' from a), TRIM('x' FROM a), TRIM(FROM a), TRIM(a), TRIM(a, 'x') FROM t`,
		`SELECT trim(a, 'x'), ltrim(a), rtrim(a, 'x'), trim(a, 'x'), trim(a), TRIM(a), TRIM(a, 'x') FROM t`},
	{`SELECT GREATEST(a, NULL, 3), LEAST(a, b, $1), LEAST(a) FROM t`, `SELECT max(coalesce(a, NULL, 3), coalesce(NULL, 3, a), 3), min(coalesce(a, b, $1), coalesce(b, $1, a), coalesce($1, a, b)), LEAST(a) FROM t`},
	{`SELECT b - INTERVAL '5 days 1 year 2 months', d + INTERVAL '1 quarter', d - INTERVAL '12 months -1 year' FROM t`,
		`SELECT datetime(b, '-14 months', 'floor', '-5 days'), datetime(d, '+3 months', 'floor'), datetime(d) FROM t`},
	{`SELECT b + '1 day'::interval, INTERVAL '1 day 02:30' + b, date '2024-01-31' - interval '2 weeks 1 day', b - INTERVAL '00:00:30' FROM t`,
		`SELECT datetime(b, '+1 days'), datetime(b, '+1 days', '+9000 seconds'), date('2024-01-31', '-14 days', '-1 days'), datetime(b, '-30 seconds') FROM t`},
	{`SELECT COUNT(*) FROM "public"."t" WHERE public.t.a ILIKE 'x%' AND b NOT ILIKE 'y'`, `SELECT COUNT(*) FROM "t" WHERE t.a LIKE 'x%' AND b NOT LIKE 'y'`},
	{`SELECT public.a FROM public`, `SELECT public.a FROM public`},
	{`SELECT TOP 5 a FROM (SELECT TOP (3) b FROM t) x ORDER BY a;`, `SELECT a FROM (SELECT b FROM t LIMIT 3) x ORDER BY a LIMIT 5;`},
	{`SELECT a FROM t ORDER BY a OFFSET 10 ROWS FETCH NEXT 5 ROWS ONLY`, `SELECT a FROM t ORDER BY a LIMIT 5 OFFSET 10`},
	{`SELECT a FROM t FETCH FIRST ROW ONLY`, `SELECT a FROM t LIMIT 1`},
	{`SELECT a FROM t OFFSET 2 LIMIT 3`, `SELECT a FROM t LIMIT 3 OFFSET 2`},
	{`SELECT a FROM t LIMIT ALL OFFSET 2`, `SELECT a FROM t LIMIT -1 OFFSET 2`},
	{`SELECT a FROM t ORDER BY a DESC OFFSET 2`, `SELECT a FROM t ORDER BY a DESC LIMIT -1 OFFSET 2`},
	{`SELECT a, offset FROM t LIMIT 1 OFFSET 3`, `SELECT a, offset FROM t LIMIT 1 OFFSET 3`},
	{`SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY a), percentile_disc(?) within group (order by t.b asc) FILTER (WHERE c), QUANTILE_CONT(a, 0.5) FROM t`,
		`SELECT PERCENTILE_CONT(a, 0.9), percentile_disc(t.b, ?1) FILTER (WHERE c), PERCENTILE_CONT(a, 0.5) FROM t`},
	{`SELECT WIDTH_BUCKET(a + 1, ARRAY[0, 10.5]), width_bucket(a, 0, 9, 3) FROM t`, `SELECT (((a + 1) >= (0)) + ((a + 1) >= (10.5))), width_bucket(a, 0, 9, 3) FROM t`},
	{`SELECT COUNTIF(a > 1), SAFE_DIVIDE(SUM(a), COUNT(*)), SUM(a) / NULLIF(COUNT(*), 0) FROM t`,
		`SELECT COUNT(*) FILTER (WHERE a > 1), (1.0 * (SUM(a)) / (COUNT(*))), SUM(a) / (COUNT(*)) FROM t`},
	{`SELECT GREATEST(COUNT(*), 0), NVL(a, b), IF(a, b, c), LEFT(x, 2), RIGHT(x, 2), POSITION('a' IN x), SUBSTRING(x FROM 2 FOR 3) FROM t LEFT JOIN u ON a = b`,
		`SELECT max(coalesce(COUNT(*), 0), 0), ifnull(a, b), iif(a, b, c), substr(x, 1, 2), substr(x, -2), instr(x, 'a'), substr(x, 2, 3) FROM t LEFT JOIN u ON a = b`},
	{`WITH year (a) AS (SELECT 1) SELECT '::' || date, "ILIKE", date 'x' /* ::int */ FROM year`, `WITH year (a) AS (SELECT 1) SELECT '::' || date, "ILIKE", date 'x' /* ::int */ FROM year`},
	{`SELECT b -- as it is
  , a::int, b /* kept */ FROM t`, `SELECT b -- as it is
  , CAST(a AS INTEGER), b /* kept */ FROM t`},
	{`SELECT größe::int, 'ü'::text, b FROM t`, `SELECT CAST(größe AS INTEGER), CAST('ü' AS text), b FROM t`},
	{`SELECT a FROM t WITH ACCURACY 50, CONFIDENCE = 0.9`, `SELECT a FROM t`},
	{`SELECT a FROM t WITH ACCURACY 50;`, `SELECT a FROM t;`},
	{`WITH a AS (SELECT 1) SELECT * FROM a`, `WITH a AS (SELECT 1) SELECT * FROM a`},
	{`SELECT RATIO_TO_REPORT(COUNT(*)) OVER (PARTITION BY a) FROM t`, `SELECT (1.0 * (COUNT(*)) / SUM(COUNT(*)) OVER (PARTITION BY a)) FROM t`},
	{`SELECT a, COUNT(*) AS n, b + 1 AS c, 2 FROM t GROUP BY ALL ORDER BY 1`, `SELECT a, COUNT(*) AS n, b + 1 AS c, 2 FROM t GROUP BY 1, 3 ORDER BY 1`},
	{`SELECT lower(a), max(a, b), MAX(b) FROM t GROUP BY ALL`, `SELECT lower(a), max(a, b), MAX(b) FROM t GROUP BY 1, 2`},
	{`SELECT COUNT(*) FROM t GROUP BY ALL`, `SELECT COUNT(*) FROM t`},
	{`SELECT (SELECT x FROM u LIMIT 1) AS s, COUNT(*) FROM t GROUP BY ALL`, `SELECT (SELECT x FROM u LIMIT 1) AS s, COUNT(*) FROM t GROUP BY 1`},
	{`SELECT * FROM t GROUP BY ALL`, `SELECT * FROM t GROUP BY ALL`},
	{`SELECT t.a, COUNT(*) n FROM t GROUP BY 1 QUALIFY rank() OVER (ORDER BY n DESC) <= ? ORDER BY 2 LIMIT 3`,
		`SELECT a, n FROM (SELECT t.a, COUNT(*) n, (rank() OVER (ORDER BY (COUNT(*)) DESC) <= ?1) AS "qualify" FROM t GROUP BY 1) AS "qualified" WHERE "qualify" ORDER BY 2 LIMIT 3`},
	{`SELECT qualify FROM t`, `SELECT qualify FROM t`},
	{`SELECT generate_series(1, 3)`, `WITH RECURSIVE "generate_series"(generate_series) AS (SELECT 1 WHERE 1 <= 3 UNION ALL SELECT generate_series + 1 FROM "generate_series" WHERE generate_series + 1 <= 3) SELECT generate_series FROM "generate_series"`},
	{`SELECT i FROM t, generate_series(9, ?, -2) AS g(i)`, `WITH RECURSIVE "generate_series"(i) AS (SELECT 9 WHERE 9 >= ?1 + 0 UNION ALL SELECT i - 2 FROM "generate_series" WHERE i - 2 >= ?1 + 0) SELECT i FROM t, "generate_series" AS g`},
	{`WITH a AS (SELECT 1) SELECT d FROM generate_series('2024-01-01'::date, '2024-03-01'::date, '1 month'::interval) d`,
		`WITH RECURSIVE "generate_series"(d) AS (SELECT date('2024-01-01') WHERE date('2024-01-01') <= date('2024-03-01') UNION ALL SELECT date(d, '+1 months', 'floor') FROM "generate_series" WHERE date(d, '+1 months', 'floor') <= date('2024-03-01')), a AS (SELECT 1) SELECT d FROM "generate_series" AS d`},
	{`SELECT a FROM t WHERE a = ANY (ARRAY['x', 'y']) AND b <> ALL(ARRAY[1, 2])`, `SELECT a FROM t WHERE a IN ('x', 'y') AND b NOT IN (1, 2)`},
	{`SELECT a FROM t WHERE a ~ '^J1.*' AND b ~* 'ab$' AND c = ~1`, `SELECT a FROM t WHERE a GLOB 'J1**' AND b LIKE '%ab' AND c = ~1`},
}

func TestForms(t *testing.T) {
	for _, c := range rewritings {
		r, err := Read(c.from)
		if err != nil {
			t.Errorf("%s: %v", c.from, err)
			continue
		}
		want, err := ParseQuery(c.to, Native)
		if err != nil {
			t.Fatalf("%s: %v", c.to, err)
		}
		if got := r.Query.String(); got != want.String() {
			t.Errorf("%s\n turns into %s\n and not   %s", c.from, got, want)
		}
		again, err := Read(r.Query.String())
		if err != nil || again.Query.String() != r.Query.String() {
			t.Errorf("%s turns into something else when it is read again, %v", r.Query, err)
		}
	}
}

// TestFormsAreFound: no form is made of a query without a word of formWords.
func TestFormsAreFound(t *testing.T) {
	for name := range forms() {
		if !formWords[name] && name != "PERCENTILE_CONT" && name != "PERCENTILE_DISC" { // these have WITHIN behind them
			t.Errorf("%s is no word of forms", name)
		}
	}
}

// TestPlacesOfForms: what a form turns into has its place in the text.
func TestPlacesOfForms(t *testing.T) {
	for _, text := range []string{
		`SELECT 'ü'::text, date_trunc('month', PLACE) FROM t`,
		`SELECT "ö"::int, a FROM public.PLACE`,
		`/*+ accuracy(5) */ SELECT a::int /* ß */ , PLACE FROM t`,
		`SELECT TOP 5 a FROM t WHERE COUNTIF(PLACE)`,
		`SELECT a::int FROM PLACE WITH ACCURACY 3`,
		`SELECT a FROM generate_series(1, PLACE) AS g(a)`,
		`SELECT a FROM t GROUP BY a QUALIFY RANK() OVER (ORDER BY PLACE) > 1`,
		`SELECT 'ü', x, EXTRACT(YEAR FROM PLACE) FROM t`,
		`SELECT 'ü' AS x, date_trunc('quarter', PLACE) AS y FROM t`,
	} {
		r, err := Read(text)
		if err != nil {
			t.Fatal(err)
		}
		want, found := len([]rune(text[:strings.Index(text, "PLACE")]))+1, false
		Walk(r.Query, func(n Node) bool {
			path := []Ident{}
			switch n := n.(type) {
			case *Column:
				path = n.Path
			case *Table:
				path = n.Path
			}
			for _, name := range path {
				if found = found || name.Text == "PLACE"; name.Text == "PLACE" && name.Pos() != want {
					t.Errorf("%s: PLACE of %s is at %d, want %d", text, r.Query, name.Pos(), want)
				}
			}
			if length := len([]rune(text)); n.Pos() < 1 || n.End() > length+1 {
				t.Errorf("%s: a node from %d to %d of %s", text, n.Pos(), n.End(), r.Query)
			}
			return true
		})
		if !found {
			t.Errorf("%s: PLACE is not in %s", text, r.Query)
		}
	}
}

func TestFormsRefused(t *testing.T) {
	for _, c := range []struct {
		text string // ‸ marks the position
		code sqlerr.Code
	}{
		{`SELECT a ‸:: FROM t`, sqlerr.Malformed},
		{`SELECT ‸::int FROM t`, sqlerr.Malformed},
		{`SELECT d - ‸INTERVAL '1 fortnight' FROM t`, sqlerr.Unsupported},
		{`SELECT d + ‸INTERVAL '5' FROM t`, sqlerr.Unsupported},
		{`SELECT d + ‸INTERVAL '1:2:3:4' FROM t`, sqlerr.Unsupported},
		{`SELECT d AT TIME ZONE ‸'Europe/Berlin' FROM t`, sqlerr.Unsupported},
		{`SELECT d AT TIME ZONE ‸e FROM t`, sqlerr.Unsupported},
		{`SELECT TO_DATE('31.Jan.2024', ‸'DD.Mon.YYYY') FROM t`, sqlerr.Unsupported},
		{`SELECT TO_DATE(‸'31.2.2024', 'DD.MM.YYYY') FROM t`, sqlerr.Unsupported},
		{`SELECT TO_DATE(‸'2024-02-30', 'YYYY-MM-DD') FROM t`, sqlerr.Unsupported},
		{`SELECT ‸TO_TIMESTAMP(d, 'YYYY-MM-DD') FROM t`, sqlerr.Unsupported},
		{`SELECT EXTRACT(‸CENTURY FROM d) FROM t`, sqlerr.Unsupported},
		{`SELECT DATE_TRUNC(‸'century', d) FROM t`, sqlerr.Unsupported},
		{`SELECT TO_CHAR(d, ‸'Month J') FROM t`, sqlerr.Unsupported},
		{`SELECT ‸E'a\n' FROM t`, sqlerr.Unsupported},
		{`SELECT a FROM t WHERE a ~ ‸'^(J|I)'`, sqlerr.Unsupported},
		{`SELECT COUNT(*) FROM t GROUP BY a ‸QUALIFY rank() OVER (ORDER BY a) = 1`, sqlerr.Unsupported},
		{`SELECT * FROM ‸generate_series(1, 3, 0)`, sqlerr.Unsupported},
		{`SELECT a FROM t WHERE a = ANY(‸'{a,{b}}')`, sqlerr.Unsupported},
		{`SELECT a FROM t WHERE a = ANY(‸'{a,}'::text[])`, sqlerr.Unsupported},
		{`SELECT a FROM t WHERE a > ANY(‸(SELECT b FROM u))`, sqlerr.Unsupported},
		{`SELECT a FROM t WHERE a = ANY(SELECT ‸unnest(ARRAY[1]))`, sqlerr.Unsupported},
		{`SELECT a FROM ‸unnest(ARRAY[1]) AS u(a)`, sqlerr.Unsupported},
		{`SELECT d - 3 ‸* INTERVAL '1 day', d FROM t`, sqlerr.Unsupported},
		{`SELECT d - '1 day'::interval ‸* $1 FROM t`, sqlerr.Unsupported},
		{`SELECT d - ‸make_interval(0, 0, 0, 3) FROM t`, sqlerr.Unsupported},
		{`SELECT d - make_interval(days =‸> 3) FROM t`, sqlerr.Unsupported},
		{`SELECT a ‸^ 2 FROM t`, sqlerr.Malformed},
		{`SELECT a FROM t WITH ACCURACY ‸*`, sqlerr.Malformed},
		{`SELECT a FROM t WITH ACCURACY 5, ‸ACCURACY 6`, sqlerr.Invalid},
		{`/*+ accuracy(5 ‸6) */ SELECT a FROM t`, sqlerr.Malformed},
		{`/*+ accuracy(5) ‸accuracy 6 */ SELECT a FROM t`, sqlerr.Invalid},
		{`/*+ ‸'x' */ SELECT a FROM t`, sqlerr.Malformed},
		{`/*+ accuracy(‸'x) */ SELECT a FROM t`, sqlerr.Malformed},
	} {
		position := len([]rune(c.text[:strings.Index(c.text, "‸")])) + 1
		_, err := Read(strings.Replace(c.text, "‸", "", 1))
		e, ok := err.(*sqlerr.Error)
		if !ok || e.Code != c.code || e.Position != position || c.code == sqlerr.Unsupported && e.Hint == "" {
			t.Errorf("%s: got %v at %+v, want %s at %d", c.text, err, e, c.code, position)
		}
	}
	many := `SELECT ` + strings.Repeat(`a::int, `, 2000) + `1 FROM t`
	if _, err := Read(many); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("2000 casts: %v", err)
	}
	deep := strings.Repeat(`date_trunc('quarter', `, 40) + "d" + strings.Repeat(")", 40)
	if _, err := Read(`SELECT ` + deep + ` FROM t`); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("40 quarters inside each other: %v", err)
	}
}

func TestSettingsOfAStatement(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`SELECT a FROM t WITH ACCURACY 50, CONFIDENCE = 0.9`, "accuracy=50@31 confidence=0.9@48"},
		{`SELECT a FROM t WITH MECHANISM by_age MARGINS 'simulated'`, "mechanism=by_age@32 margins=simulated@47"},
		{`/*+ accuracy(50) */ SELECT a FROM t`, "accuracy=50@14"},
		{`SELECT /*+ accuracy(50), confidence(0.9) */ a FROM t`, "accuracy=50@21 confidence=0.9@37"},
		{`WITH a AS (SELECT 1) SELECT * FROM a WITH accuracy 5;`, "accuracy=5@52"},
		{`SELECT a FROM t -- WITH accuracy 5`, ""},
		{`SELECT a FROM t /*+ */`, ""},
		{`EXPLAIN SELECT a FROM t ORDER BY a DESC WITH accuracy default`, "accuracy=default@55"},
	} {
		r, err := Read(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var got []string
		for _, o := range r.Settings {
			got = append(got, o.Name.Text+"="+o.Value+"@"+strconv.Itoa(o.Position))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.text, got, c.want)
		}
	}
}

// randomForm writes an expression of forms inside each other.
func randomForm(source *rand.Rand, depth int) string {
	if depth == 0 || source.IntN(4) == 0 {
		return []string{"a", `"ü"`, "public.t.b", "'x'", "'2024-01-01'", "1", "?", ":n", "?3", "CURRENT_DATE", "'ß'", "(a /* x */)"}[source.IntN(12)]
	}
	x := func() string { return randomForm(source, depth-1) }
	forms := []string{"%s::int", "%s::numeric(5, 2)", "%s::double precision", "CAST(%s AS date)", "EXTRACT(YEAR FROM %s)", "DATE_TRUNC('month', %s)",
		"TO_CHAR(%s, 'YYYY')", "COUNTIF(%s)", "%s + INTERVAL '1 day'", "LEFT(%s, 2)", "POSITION('x' IN %s)", "GREATEST(%s, 0)", "%s ILIKE 'x'",
		"CASE WHEN %s THEN 1 END", "a / NULLIF(%s, 0)", "(SELECT TOP 1 %s FROM public.t)", "SUM(%s) FILTER (WHERE a ~ '^x') OVER (ORDER BY b::date)",
		"YEAR(%s)", "%s = ANY (ARRAY[1, 2])", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY %s)"}
	return strings.Replace(forms[source.IntN(len(forms))], "%s", x(), 1)
}

// TestFormsOfAnything reads random forms and random tokens. Whatever they are, what they turn into
// reads back as it is, each node has a place in the statement, and errors lie in it.
func TestFormsOfAnything(t *testing.T) {
	vocabulary := strings.Fields(`SELECT WITH FROM ( ) ( ) , , . :: :: :: + - / a b "ü" public PUBLIC 'x' '2024-01-01' '1 day' 'month' 1 2.5 ? :n ?3 ; CAST AS int
		numeric text date timestamp time zone DATE TIMESTAMP INTERVAL EXTRACT YEAR FROM FOR IN DATE_TRUNC DATE_PART TO_CHAR 'YYYY' COUNTIF SAFE_DIVIDE NULLIF 0
		GREATEST LEFT RIGHT POSITION SUBSTRING ILIKE NOT TOP LIMIT ALL OFFSET FETCH FIRST ROWS ONLY CASE END FILTER OVER ACCURACY double precision /*+ /*+x(1)*/ --c`)
	source := rand.New(rand.NewPCG(1, 2))
	read := 0
	for i := range 6000 {
		words := []string{"SELECT"}
		for range 1 + source.IntN(14) {
			words = append(words, vocabulary[source.IntN(len(vocabulary))])
		}
		text := strings.Join(words, " ")
		if i%4 == 0 {
			tail := []string{"", " OFFSET 2", " FETCH FIRST ROW ONLY", " WITH ACCURACY 5", ";", " GROUP BY ALL"}[source.IntN(6)]
			text = "SELECT " + randomForm(source, 4) + ", " + randomForm(source, 2) + " AS ö FROM public.t" + tail
		}
		if readsAsItIs(t, text) {
			read++
		}
	}
	if read < 300 {
		t.Errorf("only %d statements were read", read)
	}
}

// readsAsItIs checks what holds for every text, and reports whether it is a query.
func readsAsItIs(t *testing.T, text string) bool {
	r, err := Read(text)
	length := len([]rune(text))
	placed := func(err error) {
		if e, ok := err.(*sqlerr.Error); !ok || e.Code == sqlerr.Internal || e.Position < 1 || e.Position > length+1 {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err != nil {
		placed(err)
		return false
	}
	if r.Why != nil {
		placed(r.Why)
	}
	if r.Query == nil {
		return false
	}
	Walk(r.Query, func(n Node) bool {
		if n.Pos() < 1 || n.End() < n.Pos() || n.End() > length+1 {
			t.Errorf("%q: a node from %d to %d of %s", text, n.Pos(), n.End(), r.Query)
		}
		return true
	})
	printed := r.Query.String()
	if !formed(r.Tokens) {
		d := &desugaring{tokens: r.Tokens, text: text, shapes: shapesOf(len(r.Parameters), nil, nil)}
		if err := d.desugar(r.Query); err != nil || d.count > 0 || r.Query.String() != printed {
			t.Errorf("%q has a form that is not found: %v", text, err)
		}
	}
	if len(printed) > maxStatement {
		return true
	}
	if again, err := ParseQuery(printed, Native); err != nil || again.String() != printed {
		t.Errorf("%q turns into %q, which does not read back: %v", text, printed, err)
	}
	return true
}

// FuzzRead: whatever the text is, its reading has a place for each node and error, and what forms
// turn into reads back as it is.
func FuzzRead(f *testing.F) {
	for _, c := range rewritings {
		f.Add(c.from)
	}
	f.Fuzz(func(t *testing.T, text string) { readsAsItIs(t, text) })
}
