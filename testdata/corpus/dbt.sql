-- Models and tests of dbt: a chain of common table expressions that ends in SELECT * FROM final.
WITH source AS (SELECT * FROM visits), renamed AS (SELECT sex AS gender, age AS age_years, diagnosis AS diagnosis_code, days AS nights, year AS visit_year FROM source) SELECT visit_year, gender, COUNT(*) AS visits FROM renamed GROUP BY 1, 2 ORDER BY 1, 2;
--> sqlite
WITH visits_by_year AS (SELECT year, COUNT(*) AS visits, SUM(days) AS nights FROM visits GROUP BY year), final AS (SELECT year, visits, nights, 1.0 * nights / visits AS mean_stay FROM visits_by_year) SELECT * FROM final ORDER BY year;
--> sqlite
WITH totals AS (SELECT COUNT(*) AS n FROM visits), women AS (SELECT COUNT(*) AS n FROM visits WHERE sex = 'F') SELECT women.n AS women, totals.n AS total, 1.0 * women.n / totals.n AS share FROM women CROSS JOIN totals;
--> sqlite
WITH current_year AS (SELECT diagnosis, COUNT(*) AS n FROM visits WHERE year = 2025 GROUP BY diagnosis), last_year AS (SELECT diagnosis, COUNT(*) AS n FROM visits WHERE year = 2024 GROUP BY diagnosis) SELECT c.diagnosis, c.n AS now, l.n AS before, c.n - l.n AS change FROM current_year c JOIN last_year l ON c.diagnosis = l.diagnosis ORDER BY c.diagnosis;
--> sqlite
WITH ranked AS (SELECT diagnosis, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, diagnosis) AS rn FROM visits GROUP BY diagnosis) SELECT CASE WHEN rn <= 3 THEN diagnosis ELSE 'others' END AS diagnosis, SUM(n) AS n FROM ranked GROUP BY 1 ORDER BY n DESC;
--> sqlite
WITH final AS (SELECT d.chapter, COUNT(*) AS visits FROM visits v LEFT JOIN diagnoses d ON d.code = v.diagnosis GROUP BY d.chapter) SELECT * FROM final ORDER BY chapter;
--> sqlite
WITH final AS (SELECT d.chapter, COUNT(*) AS visits FROM visits v JOIN diagnoses d ON d.code = v.diagnosis GROUP BY d.chapter) SELECT * FROM final WHERE visits > 300 ORDER BY chapter;
--> sqlite
SELECT COUNT(*) AS failures, COUNT(*) <> 0 AS should_warn, COUNT(*) <> 0 AS should_error FROM (SELECT sex FROM visits WHERE sex IS NULL) dbt_internal_test;
--> sqlite
SELECT COUNT(*) AS failures FROM (SELECT diagnosis AS from_field FROM visits WHERE diagnosis IS NOT NULL AND diagnosis NOT IN (SELECT code FROM diagnoses)) dbt_internal_test;
--> sqlite
WITH all_values AS (SELECT sex AS value_field, COUNT(*) AS n_records FROM visits GROUP BY sex) SELECT * FROM all_values WHERE value_field NOT IN ('F', 'M');
--> sqlite
WITH child AS (SELECT diagnosis AS from_field FROM visits), parent AS (SELECT code AS to_field FROM diagnoses) SELECT COUNT(*) FROM child LEFT JOIN parent ON child.from_field = parent.to_field WHERE parent.to_field IS NULL;
--> refused unsupported at 149: a join of private rows with a sub-select is outside the dialect
--> hint: select rows by it, WHERE x IN (SELECT …); or aggregate the private rows in a sub-select of their own, and join its result
--: SELECT COUNT(*) FROM visits WHERE diagnosis NOT IN (SELECT code FROM diagnoses WHERE code IS NOT NULL);
WITH stays AS (SELECT year, SUM(days) AS nights FROM visits GROUP BY year) SELECT year, nights, SUM(nights) OVER (ORDER BY year) AS running_total, AVG(nights) OVER (ORDER BY year ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS moving_average FROM stays ORDER BY year;
--> sqlite
WITH pivoted AS (SELECT year, SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS f, SUM(CASE WHEN sex = 'M' THEN 1 ELSE 0 END) AS m FROM visits GROUP BY year) SELECT year, f, m, f + m AS known FROM pivoted ORDER BY year;
--> sqlite
WITH unioned AS (SELECT 'women' AS what, COUNT(*) AS n FROM visits WHERE sex = 'F' UNION ALL SELECT 'men', COUNT(*) FROM visits WHERE sex = 'M' UNION ALL SELECT 'all', COUNT(*) FROM visits) SELECT * FROM unioned ORDER BY what;
--> sqlite
WITH spine AS (SELECT 2023 AS year UNION ALL SELECT 2024 UNION ALL SELECT 2025 UNION ALL SELECT 2026), counted AS (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) SELECT spine.year, COALESCE(counted.n, 0) AS n FROM spine LEFT JOIN counted ON spine.year = counted.year ORDER BY spine.year;
--> sqlite
WITH RECURSIVE ages(a) AS (SELECT 0 UNION ALL SELECT a + 20 FROM ages WHERE a < 100), counted AS (SELECT age / 20 * 20 AS a, COUNT(*) AS n FROM visits GROUP BY 1) SELECT ages.a, COALESCE(counted.n, 0) AS n FROM ages LEFT JOIN counted ON counted.a = ages.a ORDER BY ages.a;
--> sqlite
SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 500 ORDER BY diagnosis;
--> sqlite
