-- PostgreSQL's own forms.
SELECT sex, year, COUNT(*) AS n FROM visits WHERE sex IS NOT NULL GROUP BY ROLLUP (sex, year) HAVING COUNT(*) > 10 ORDER BY sex, year, n;
--> postgres
SELECT sex, year, COUNT(*) AS n, GROUPING(sex, year) AS g FROM visits WHERE sex IS NOT NULL GROUP BY CUBE (sex, year) ORDER BY g, sex, year;
--> postgres
SELECT COALESCE(sex, 'all') AS sex, SUM(days) AS nights FROM visits WHERE sex IS NOT NULL GROUP BY GROUPING SETS ((sex), ()) ORDER BY nights;
--> postgres
SELECT year, sex, COUNT(*) AS n FROM visits WHERE sex IS NOT NULL GROUP BY year, ROLLUP (sex) ORDER BY year, sex, n;
--> postgres
SELECT COUNT(*) FILTER (WHERE sex = 'F') AS f, COUNT(*) FILTER (WHERE age >= 65 AND sex = 'M') AS old_men, SUM(days) FILTER (WHERE year = 2025) AS nights FROM visits;
--> sqlite
SELECT COUNT(*)::numeric / 3 AS third FROM visits;
--> sqlite
SELECT (100.0 * COUNT(*) FILTER (WHERE days = 0) / COUNT(*))::numeric(5, 1) AS percent FROM visits;
--> sqlite
SELECT year::text AS year, COUNT(*)::int AS n FROM visits GROUP BY year::text ORDER BY year::text;
--> sqlite
SELECT EXTRACT(YEAR FROM day::date)::int AS y, EXTRACT(MONTH FROM day::date)::int AS m, SUM(cost) AS cost FROM events GROUP BY 1, 2 ORDER BY 1, 2;
--> sqlite
SELECT TO_CHAR(day::date, 'YYYY-MM') AS month, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT day, cost FROM events WHERE day::date >= DATE '2024-06-15' - INTERVAL '1 month' AND day::date < DATE '2024-06-15' ORDER BY day;
--> sqlite
SELECT COUNT(*) AS n FROM diagnoses WHERE name ILIKE '%dis%';
--> sqlite
SELECT code FROM diagnoses ORDER BY code OFFSET 2 LIMIT 3;
--> sqlite
SELECT code FROM diagnoses ORDER BY code FETCH FIRST 2 ROWS ONLY;
--> sqlite
SELECT SUBSTRING(code FROM 1 FOR 1) AS letter, COUNT(*) AS n FROM diagnoses GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT POSITION('1' IN code) AS at, LEFT(code, 1) AS l, RIGHT(code, 2) AS r, CHAR_LENGTH(name) AS n FROM diagnoses ORDER BY code;
--> sqlite
SELECT COUNT(*) AS n FROM visits WHERE sex IS DISTINCT FROM 'F' AND diagnosis ILIKE 'i1%';
--> sqlite
SELECT generate_series(1, 3);
--> sqlite
SELECT COUNT(*) FROM visits WHERE diagnosis ~ '^J';
--> sqlite
SELECT COUNT(*) FROM visits WHERE diagnosis = ANY (ARRAY['I10', 'E11']);
--> sqlite
SELECT DISTINCT ON (sex) sex, age FROM visits;
--> refused unsupported at 17: DISTINCT ON is outside the dialect
--> hint: number the rows of an aggregate with ROW_NUMBER() OVER (PARTITION BY …), and keep the first
--: SELECT sex, MIN(age) AS age FROM (SELECT sex, age, COUNT(*) AS n FROM visits GROUP BY 1, 2) AS a WHERE n > 5 GROUP BY sex;
SELECT BOOL_OR(age > 100) FROM visits;
--> refused unsupported at 8: the function bool_or() in the select list is outside the dialect
--> hint: write COUNT(*) FILTER (WHERE …) > 0, or compare it with COUNT(*)
--: SELECT COUNT(*) FILTER (WHERE age > 100) > 5 FROM visits;
SELECT year, n FROM visits, LATERAL (SELECT 1 AS n) x;
--> refused unsupported at 21: a SELECT of the rows of visits is outside the dialect
--> hint: only aggregates of private rows come out: SELECT x, COUNT(*) AS n FROM visits GROUP BY x
--: SELECT year, 1 AS n, COUNT(*) FROM visits GROUP BY year;
SELECT MODE() WITHIN GROUP (ORDER BY diagnosis) FROM visits;
--> refused unsupported at 15: WITHIN GROUP is outside the dialect
--> hint: SELECT x, COUNT(*) FROM table GROUP BY x counts the rows of each value; take it from these counts
--: SELECT diagnosis FROM visits GROUP BY diagnosis ORDER BY COUNT(*) DESC LIMIT 1;
SELECT sex, COUNT(*) FROM visits GROUP BY sex ORDER BY COUNT(*) DESC NULLS LAST;
--> sqlite
SELECT COUNT(*) FROM visits WHERE age::text = '40';
--> sqlite
SELECT CORR(days, age) AS r, COVAR_POP(days, age) AS c, COVAR_SAMP(days, age) AS s, REGR_COUNT(days, age) AS n FROM visits;
--> postgres
SELECT diagnosis, REGR_SLOPE(days, age) AS slope, REGR_INTERCEPT(days, age) AS at0, REGR_R2(days, age) AS r2 FROM visits WHERE sex = 'F' GROUP BY diagnosis ORDER BY diagnosis;
--> postgres
SELECT REGR_AVGX(days, age) AS x, REGR_AVGY(days, age) AS y, REGR_SXX(days, age) AS sxx, REGR_SYY(days, age) AS syy, REGR_SXY(days, age) AS sxy FROM visits WHERE age > 40;
--> postgres
SELECT CORR(days, year) AS r, REGR_SLOPE(days, year) AS slope, REGR_R2(year, days) AS r2, COVAR_SAMP(year, days) AS c FROM visits WHERE year = 2024;
--> postgres
SELECT CORR(CASE WHEN age > 30 THEN days END, age - 50) FILTER (WHERE sex = 'M') AS r, CORR(age, age) AS one FROM visits;
--> postgres
SELECT ROUND(CORR(age, days)::numeric, 3) AS r, ROUND((CORR(age, days) * CORR(age, days))::numeric, 3) AS r2 FROM visits;
--> postgres
