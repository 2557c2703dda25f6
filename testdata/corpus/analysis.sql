-- Analysis by hand: buckets, shares, comparisons, rates, top n with others.
SELECT CASE WHEN age < 20 THEN '0-19' WHEN age < 40 THEN '20-39' WHEN age < 60 THEN '40-59' WHEN age < 80 THEN '60-79' ELSE '80+' END AS bucket, COUNT(*) AS n, ROUND(AVG(days), 2) AS stay FROM visits GROUP BY bucket ORDER BY bucket;
--> sqlite
SELECT diagnosis, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM visits), 1) AS percent FROM visits GROUP BY diagnosis ORDER BY n DESC, diagnosis;
--> sqlite
SELECT year, COUNT(*) AS n, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY year) AS more FROM visits GROUP BY year ORDER BY year;
--> sqlite
SELECT a.year, a.n AS now, b.n AS before, ROUND(100.0 * (a.n - b.n) / b.n, 1) AS growth FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) a JOIN (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) b ON a.year = b.year + 1 ORDER BY a.year;
--> sqlite
SELECT (SELECT COUNT(*) FROM visits WHERE sex = 'F') * 1.0 / (SELECT COUNT(*) FROM visits WHERE sex = 'M') AS ratio;
--> sqlite
SELECT SUM(CASE WHEN sex = 'F' THEN 1 END) * 1.0 / SUM(CASE WHEN sex = 'M' THEN 1 END) AS ratio FROM visits;
--> sqlite
SELECT sex, year, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY year), 1) AS percent FROM visits WHERE sex IS NOT NULL GROUP BY sex, year ORDER BY year, sex;
--> sqlite
SELECT diagnosis FROM (SELECT diagnosis, year, COUNT(*) AS n FROM visits GROUP BY diagnosis, year) GROUP BY diagnosis HAVING MIN(n) > 100 ORDER BY diagnosis;
--> sqlite
SELECT year, diagnosis, n FROM (SELECT year, diagnosis, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY year ORDER BY COUNT(*) DESC, diagnosis) AS r FROM visits GROUP BY year, diagnosis) WHERE r = 1 ORDER BY year;
--> sqlite
SELECT COUNT(*) FROM visits WHERE diagnosis IN (SELECT code FROM diagnoses WHERE chapter = 'circulatory');
--> sqlite
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM diagnoses d WHERE d.code = v.diagnosis AND d.chapter = 'circulatory');
--> sqlite
SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits);
--> sqlite
SELECT d.name, COUNT(*) AS n FROM visits v JOIN diagnoses d ON d.code = v.diagnosis GROUP BY d.name ORDER BY n DESC, d.name;
--> sqlite
SELECT d.chapter, d.name, COUNT(*) AS n FROM diagnoses d JOIN visits v ON v.diagnosis = d.code GROUP BY d.chapter, d.name ORDER BY d.chapter, d.name;
--> sqlite
SELECT p.sex, 1000.0 * v.n / p.people AS per_thousand FROM (SELECT sex, COUNT(*) AS n FROM visits WHERE sex IS NOT NULL GROUP BY sex) v JOIN population p ON p.sex = v.sex ORDER BY p.sex;
--> sqlite
SELECT AVG(age) AS mean, STDDEV(age) AS sd, COUNT(*) AS n FROM visits WHERE diagnosis = 'I10';
--> postgres
SELECT MEDIAN(age) FROM visits;
--> answers
SELECT CORR(age, days) FROM visits;
--> postgres
SELECT age, COUNT(*) AS n FROM visits WHERE age BETWEEN 30 AND 35 GROUP BY age ORDER BY age;
--> sqlite
SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) AS cumulative FROM visits WHERE age BETWEEN 30 AND 35 GROUP BY age ORDER BY age;
--> sqlite
SELECT COUNT(*) FROM visits WHERE (sex = 'F' OR sex IS NULL) AND NOT (days BETWEEN 1 AND 7) AND diagnosis LIKE 'J%';
--> sqlite
SELECT sex IS NULL AS missing, COUNT(*) AS n FROM visits GROUP BY sex IS NULL ORDER BY 1;
--> sqlite
SELECT COUNT(*) AS all_rows, COUNT(sex) AS known, COUNT(*) - COUNT(sex) AS missing FROM visits;
--> sqlite
SELECT COUNT(*) FROM visits a JOIN visits b ON a.zip = b.zip;
--> refused unsupported at 36: a join is outside the dialect
--> hint: join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared
--: SELECT SUM(n * n) AS pairs FROM (SELECT zip, COUNT(*) AS n FROM visits WHERE zip IN ('15213', '15217') GROUP BY zip) AS z;
SELECT printf('%d visits', COUNT(*)) AS text FROM visits;
--> sqlite
SELECT year || ': ' || COUNT(*) AS label FROM visits GROUP BY year ORDER BY year;
--> sqlite
SELECT sex, COUNT(*) AS n, MARGIN(n) AS margin FROM visits GROUP BY sex;
--> answers
SELECT COUNT(*) AS n FROM visits WHERE sex IS NOT DISTINCT FROM NULL;
--> sqlite
SELECT year FROM visits GROUP BY year ORDER BY SUM(days) / COUNT(*) DESC LIMIT 1;
--> postgres
SELECT COUNT(*) FROM visits WHERE sex = 'F' INTERSECT SELECT COUNT(*) FROM visits WHERE sex = 'F';
--> sqlite
SELECT 'F' AS sex, COUNT(*) AS n FROM visits WHERE sex = 'F' UNION ALL SELECT 'M', COUNT(*) FROM visits WHERE sex = 'M' ORDER BY 1;
--> sqlite
SELECT days, COUNT(*) AS n FROM visits WHERE days <= 3 GROUP BY days HAVING COUNT(*) > 100 ORDER BY days;
--> sqlite
SELECT AVG(n) FROM (SELECT sex, year, COUNT(*) AS n FROM visits WHERE sex IS NOT NULL GROUP BY sex, year);
--> sqlite
SELECT COUNT(*) FROM visits WITH ACCURACY 200000, CONFIDENCE 0.9;
--> sqlite
/*+ accuracy(200000) */ SELECT year, COUNT(*) FROM visits GROUP BY year;
--> sqlite
SELECT MAX(age) FROM visits;
--> answers
SELECT zip, COUNT(*) FROM visits GROUP BY zip ORDER BY 2 DESC LIMIT 10;
--> refused unsupported at 43: GROUP BY zip, which has no declared domain, is outside the dialect
--> hint: list the values to group by: WHERE zip IN ('…', '…') GROUP BY zip; or have the curator find them: CREATE PUBLIC TABLE keys AS SELECT DISTINCT zip FROM visits WITH (epsilon = …), or CREATE RELEASE r ON visits (zip) USING PROJECTION WITH (epsilon = …, heavy = named)
--: SELECT zip, COUNT(*) FROM visits WHERE zip IN ('15213', '15217', '15232') GROUP BY zip ORDER BY 2 DESC LIMIT 10;
SELECT age FROM visits ORDER BY age DESC LIMIT 1;
--> refused unsupported at 8: a bare column in the select list is outside the dialect
--> hint: write SELECT COUNT(*) FROM table WHERE …; SELECT age, COUNT(*) FROM table GROUP BY age counts by its values
--: SELECT age FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY age) AS a WHERE n > 5 ORDER BY age DESC LIMIT 1;
SELECT v.sex, r.region, COUNT(*) AS n FROM visits v JOIN regions r ON v.zip = r.zip WHERE v.sex IS NOT NULL GROUP BY v.sex, r.region ORDER BY 1, 2;
--> sqlite
SELECT NTILE(2) OVER (ORDER BY n) AS half, diagnosis FROM (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis) ORDER BY n, diagnosis;
--> sqlite
SELECT ROUND(SQRT(COUNT(*)), 3) AS root, LN(COUNT(*)) > 8 AS many FROM visits;
--> sqlite
SELECT json_object('n', COUNT(*)) FROM visits;
--> refused unsupported at 8: the function json_object() in the select list is outside the dialect
--> hint: the aggregates are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN, MAX, CORR and the others of docs/sql/aggregates.md; around them stand ROUND, ABS, COALESCE, CASE and arithmetic
--: SELECT printf('{"n":%d}', COUNT(*)) FROM visits;
SELECT random() FROM visits;
--> refused unsupported at 8: the function random() in the select list is outside the dialect
--> hint: the aggregates are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN, MAX, CORR and the others of docs/sql/aggregates.md; around them stand ROUND, ABS, COALESCE, CASE and arithmetic
--: none: random numbers for each private row say how many rows there are
INSERT INTO visits VALUES ('F', 1, 'I10', '15213', 1, 2025);
--> refused unsupported at 1: INSERT is outside the dialect
--> hint: load rows with .import or another SQLite client
--: none: a private table is filled by the curator, by .import or another client
SELECT * FROM raw_visits;
--> refused unsupported at 15: raw_visits holds private rows
--> hint: ask the private table visits instead
--: SELECT sex, year, COUNT(*) FROM visits GROUP BY sex, year;
SELECT COUNT(*) FROM raw_visits;
--> refused unsupported at 22: raw_visits holds private rows
--> hint: ask the private table visits instead
--: SELECT COUNT(*) FROM visits;
SELECT sex, COUNT(*) FROM visits GROUP BY sex FOR UPDATE;
--> refused unsupported at 47: FOR UPDATE is outside the dialect
--> hint: leave it out: nothing is locked
--: SELECT sex, COUNT(*) FROM visits GROUP BY sex;
