-- Explores of Looker: aliases "view.field", symmetric aggregates apart, LIMIT 500, totals by ROLLUP.
SELECT visits.sex AS "visits.sex", COUNT(*) AS "visits.count" FROM public.visits AS visits GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500;
--> sqlite
SELECT visits.year AS "visits.year", COALESCE(SUM(visits.days), 0) AS "visits.total_days", AVG(visits.days) AS "visits.average_days" FROM visits GROUP BY 1 ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY;
--> sqlite
SELECT diagnoses.chapter AS "diagnoses.chapter", COUNT(*) AS "visits.count" FROM visits INNER JOIN diagnoses ON visits.diagnosis = diagnoses.code WHERE (visits.age >= 18 OR visits.age IS NULL) GROUP BY 1 HAVING COUNT(*) >= 100 ORDER BY 2 DESC, 1 LIMIT 500;
--> sqlite
SELECT COUNT(CASE WHEN visits.sex = 'F' THEN 1 ELSE NULL END) AS "visits.women", COUNT(CASE WHEN (visits.days > 7) THEN 1 ELSE NULL END) AS "visits.long" FROM visits LIMIT 500;
--> sqlite
SELECT CASE WHEN visits.age < 18 THEN '0' WHEN visits.age < 40 THEN '1' WHEN visits.age < 65 THEN '2' ELSE '3' END AS "visits.tier__sort_", CASE WHEN visits.age < 18 THEN 'Below 18' WHEN visits.age < 40 THEN '18 to 39' WHEN visits.age < 65 THEN '40 to 64' ELSE '65 or above' END AS "visits.tier", COUNT(*) AS "visits.count" FROM visits GROUP BY 1, 2 ORDER BY 1;
--> sqlite
WITH top_diagnoses AS (SELECT visits.diagnosis, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5) SELECT diagnoses.name AS "diagnoses.name", top_diagnoses.n AS "n" FROM top_diagnoses JOIN diagnoses ON diagnoses.code = top_diagnoses.diagnosis ORDER BY 2 DESC, 1;
--> sqlite
SELECT "visits.year", "visits.sex", "visits.count" FROM (SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) AS z___pivot_row_rank FROM (SELECT *, MIN(z___rank) OVER (PARTITION BY "visits.year") AS z___min_rank FROM (SELECT *, RANK() OVER (ORDER BY "visits.count" DESC, "visits.year", "visits.sex") AS z___rank FROM (SELECT visits.year AS "visits.year", visits.sex AS "visits.sex", COUNT(*) AS "visits.count" FROM visits WHERE sex IS NOT NULL GROUP BY 1, 2) ww) aa) bb) cc WHERE z___pivot_row_rank <= 50 ORDER BY 1, 2;
--> sqlite
SELECT year, sex, COUNT(*) AS n FROM visits WHERE sex IS NOT NULL GROUP BY ROLLUP (year, sex) ORDER BY year, sex, n;
--> postgres
SELECT year, sex, GROUPING(year) AS gy, GROUPING(sex) AS gs, COUNT(*) AS n, SUM(days) AS nights FROM visits WHERE sex IS NOT NULL GROUP BY CUBE (year, sex) ORDER BY gy, gs, year, sex;
--> postgres
SELECT diagnosis, sex, COUNT(*) AS n FROM visits WHERE sex IS NOT NULL AND diagnosis IN ('I10', 'E11') GROUP BY GROUPING SETS ((diagnosis, sex), (diagnosis), ()) ORDER BY n;
--> postgres
SELECT COUNT(DISTINCT visits.sex) AS "visits.sexes" FROM visits LIMIT 500;
--> sqlite
SELECT visits.diagnosis AS "visits.diagnosis", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY visits.days) AS "visits.median_days" FROM visits GROUP BY 1;
--> postgres
SELECT DATE_TRUNC('quarter', events.day::timestamp) AS "events.quarter", COUNT(*) AS "events.count" FROM events GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT TO_CHAR(DATE_TRUNC('month', events.day::timestamp), 'YYYY-MM') AS "events.month", COALESCE(SUM(events.cost), 0) AS "events.cost" FROM events GROUP BY 1 ORDER BY 1 LIMIT 500;
--> sqlite
SELECT AVG(visits.days) AS "mean", STDDEV_POP(visits.days) AS "sd" FROM visits;
--> postgres
