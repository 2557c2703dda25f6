-- Charts of Apache Superset over tables and virtual datasets, and its SQL Lab.
SELECT sex AS sex, COUNT(*) AS count FROM public.visits GROUP BY sex ORDER BY count DESC LIMIT 10000;
--> sqlite
SELECT diagnosis AS diagnosis, sum(days) AS "SUM(days)" FROM visits WHERE year >= 2024 AND year < 2026 GROUP BY diagnosis ORDER BY "SUM(days)" DESC, diagnosis LIMIT 100;
--> sqlite
SELECT year AS year, sex AS sex, COUNT(*) AS "COUNT(*)" FROM visits GROUP BY year, sex ORDER BY "COUNT(*)" DESC, year, sex LIMIT 50000;
--> sqlite
SELECT chapter AS chapter, COUNT(*) AS count FROM (SELECT v.year, d.chapter FROM visits v JOIN diagnoses d ON v.diagnosis = d.code) AS virtual_table WHERE year = 2025 GROUP BY chapter ORDER BY count DESC LIMIT 10;
--> sqlite
SELECT age_group AS age_group, COUNT(*) AS count FROM (SELECT *, CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS age_group FROM visits) AS virtual_table GROUP BY age_group ORDER BY count DESC LIMIT 1000;
--> sqlite
SELECT COUNT(*) AS count FROM visits WHERE diagnosis IN ('I10', 'E11', 'J45') AND sex IS NOT NULL LIMIT 50000;
--> sqlite
SELECT year, n, n - LAG(n) OVER (ORDER BY year) AS difference FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) AS t ORDER BY year;
--> sqlite
SELECT year, n, 100.0 * (n - LAG(n) OVER (ORDER BY year)) / LAG(n) OVER (ORDER BY year) AS growth FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) AS t ORDER BY year;
--> sqlite
SELECT sex, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS "% of total" FROM visits WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex;
--> sqlite
SELECT diagnosis, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS position FROM visits GROUP BY diagnosis ORDER BY n DESC, diagnosis;
--> sqlite
SELECT sum(days) AS "SUM(days)", avg(days) AS "AVG(days)", count(*) AS "COUNT(*)" FROM visits WHERE age >= 18 AND age <= 64;
--> sqlite
SELECT min(age), max(age) FROM visits;
--> answers
SELECT DISTINCT sex FROM visits ORDER BY sex LIMIT 1000;
--> sqlite
SELECT DISTINCT diagnosis FROM visits GROUP BY diagnosis ORDER BY diagnosis LIMIT 1000;
--> sqlite
SELECT DISTINCT chapter FROM diagnoses ORDER BY chapter LIMIT 1000;
--> sqlite
SELECT count(*) AS rowcount FROM (SELECT sex, year, COUNT(*) AS n FROM visits GROUP BY sex, year) AS rowcount_qry;
--> sqlite
SELECT DATE_TRUNC('week', day::timestamp) AS __timestamp, SUM(cost) AS cost FROM events WHERE day::date >= '2024-01-01'::date AND day::date < '2024-07-01'::date GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT * FROM visits LIMIT 1000;
--> refused unsupported at 8: SELECT * is outside the dialect
--> hint: write SELECT COUNT(*) FROM table WHERE …
--: SELECT sex, year, COUNT(*) FROM visits GROUP BY sex, year;
SELECT year, AVG(n) OVER (ORDER BY year ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS rolling FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) t ORDER BY year;
--> sqlite
