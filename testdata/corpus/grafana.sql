-- Panels and alerts of Grafana: few columns, aliases "time" and "value", variables filled in.
SELECT year AS "time", COUNT(*) AS "value" FROM visits GROUP BY year ORDER BY 1;
--> sqlite
SELECT year AS "time", diagnosis AS metric, COUNT(*) AS "value" FROM visits WHERE diagnosis IN ('I10','J45') GROUP BY 1, 2 ORDER BY 1, 2;
--> sqlite
SELECT COUNT(*) AS "value" FROM visits WHERE days > 14;
--> sqlite
SELECT 100.0 * COUNT(*) FILTER (WHERE days > 14) / COUNT(*) AS "value" FROM visits;
--> sqlite
SELECT COUNT(*) > 5000 AS alert FROM visits;
--> sqlite
SELECT date_trunc('day', day::timestamp) AS "time", sum(cost) AS cost FROM events WHERE day BETWEEN '2024-02-01' AND '2024-03-31' GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT extract(epoch from day::date) AS "time", cost AS "value" FROM events ORDER BY 1 LIMIT 5;
--> sqlite
SELECT "time", SUM(n) OVER (ORDER BY "time") AS "value" FROM (SELECT year AS "time", COUNT(*) AS n FROM visits GROUP BY 1) AS s ORDER BY 1;
--> sqlite
SELECT d.chapter AS metric, SUM(v.days) AS "value" FROM visits v JOIN diagnoses d ON v.diagnosis = d.code GROUP BY d.chapter ORDER BY 2 DESC, 1 LIMIT 3;
--> sqlite
SELECT now() AS "time", COUNT(*) AS "value" FROM visits;
--> sqlite
SELECT COUNT(*) AS n FROM events WHERE day::date >= CURRENT_DATE - INTERVAL '90 days';
--> sqlite
SELECT sex AS __text, sex AS __value FROM visits GROUP BY sex;
--> sqlite
SELECT code AS __value, name AS __text FROM diagnoses ORDER BY 2;
--> sqlite
SELECT 1;
--> sqlite
SELECT histogram.bucket, histogram.n FROM (SELECT age / 20 * 20 AS bucket, COUNT(*) AS n FROM visits GROUP BY 1) histogram WHERE histogram.n > 0 ORDER BY 1;
--> sqlite
