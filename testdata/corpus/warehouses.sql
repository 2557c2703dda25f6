-- BigQuery and Snowflake, as people write them there.
SELECT sex, COUNTIF(days > 7) AS long, SAFE_DIVIDE(COUNTIF(days > 7), COUNT(*)) AS share FROM visits WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex;
--> sqlite
SELECT `sex`, COUNT(*) AS n FROM `visits` GROUP BY `sex` ORDER BY n DESC;
--> sqlite
SELECT diagnosis, COUNT_IF(sex = 'F') AS women, DIV0NULL(SUM(days), COUNT(*)) AS mean FROM visits GROUP BY diagnosis ORDER BY women DESC, diagnosis LIMIT 4;
--> sqlite
SELECT year, COUNT(*) AS n FROM visits GROUP BY ALL;
--> sqlite
SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 3;
--> sqlite
SELECT DATE_TRUNC(day, MONTH) AS month, SUM(cost) AS cost FROM events GROUP BY month ORDER BY month;
--> sqlite
SELECT EXTRACT(ISOYEAR FROM day) AS y, EXTRACT(WEEK FROM day) AS w, COUNT(*) AS n FROM events GROUP BY 1, 2 ORDER BY 1, 2;
--> sqlite
SELECT NVL(sex, 'unknown') AS sex, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT IF(age < 18, 'child', 'adult') AS who, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT IFF(age < 18, 'child', 'adult') AS who, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT APPROX_COUNT_DISTINCT(zip) FROM visits;
--> refused unsupported at 8: the aggregate APPROX_COUNT_DISTINCT in the select list is outside the dialect
--> hint: SELECT x, COUNT(*) FROM table GROUP BY x lists the declared values with their counts
--: SELECT COUNT(*) FROM (SELECT zip, COUNT(*) AS n FROM visits WHERE zip IN ('15213', '15217', '15232') GROUP BY zip) AS z WHERE n > 5;
SELECT GREATEST(COUNT(*), 0) AS n, LEAST(COUNT(*), 10000) AS m FROM visits;
--> sqlite
SELECT * FROM visits TABLESAMPLE SYSTEM (10 PERCENT);
--> refused unsupported at 22: TABLESAMPLE is outside the dialect
--> hint: leave it out: an answer about all rows costs no more
--: SELECT sex, year, COUNT(*) FROM visits GROUP BY sex, year;
SELECT COUNT(*) FROM visits TABLESAMPLE SYSTEM (10 PERCENT);
--> refused unsupported at 29: TABLESAMPLE is outside the dialect
--> hint: leave it out: an answer about all rows costs no more
--: SELECT COUNT(*) FROM visits;
SELECT STRING_AGG(diagnosis, ', ') FROM (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 1000 ORDER BY diagnosis);
--> sqlite
SELECT ARRAY_AGG(sex) FROM visits;
--> refused unsupported at 8: the aggregate ARRAY_AGG in the select list is outside the dialect
--> hint: SELECT x, COUNT(*) FROM table GROUP BY x lists the declared values with their counts
--: SELECT group_concat(sex) FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) AS s;
SELECT year, COUNT(*)::FLOAT / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY year ORDER BY year;
--> sqlite
SELECT RATIO_TO_REPORT(COUNT(*)) OVER () FROM visits GROUP BY year;
--> sqlite
SELECT sex, AVG(days) AS mean FROM visits WHERE sex IS NOT NULL GROUP BY sex ORDER BY mean DESC LIMIT 1;
--> sqlite
SELECT LEFT(diagnosis, 1) AS chapter, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
--> sqlite
