-- Sub-selects and WITH that rename columns and filter rows.
SELECT COUNT(*) FROM (SELECT age, sex FROM visits WHERE town = 'Elm') t WHERE age = 3;
--> count
--> 46
--> under smw release:
--> count
--> 45
SELECT COUNT(*) FROM (SELECT age AS years FROM visits WHERE sex = 'F') WHERE years < 5;
--> count
--> 64
--> under dense:
--> count
--> 84
WITH women AS (SELECT * FROM visits WHERE sex = 'F') SELECT COUNT(*) FROM women WHERE age = 3;
--> count
--> 52
WITH a (x) AS (SELECT age FROM visits), b AS (SELECT x FROM a WHERE x > 3) SELECT x, COUNT(*) FROM b GROUP BY x HAVING x < 6;
--> x | count
--> 4 | 52
--> 5 | 52
--> under dense:
--> x | count
--> 4 | 58
--> 5 | 105
SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM visits WHERE age > 2) WHERE age < 5);
--> count
--> 104
--> under dense:
--> count
--> 92
SELECT COUNT(*) FROM (SELECT age FROM visits) WHERE sex = 'F';
--> error unknown at 53: no column sex in the sub-select
--> hint: the columns are age
SELECT COUNT(*) FROM (SELECT COUNT(*) FROM visits);
--> error unsupported at 30: the aggregate COUNT in the select list of a sub-select is outside the dialect
--> hint: a sub-select can rename columns and filter rows; compute outside it
SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 5);
--> error unsupported at 46: LIMIT in a sub-select is outside the dialect
--> hint: a sub-select can rename columns and filter rows; group and limit outside it
SELECT COUNT(*) FROM visits WHERE age = (SELECT 3);
--> error unsupported at 42: a sub-select is outside the dialect
--> hint: write its result as a literal; a list may be that of a public table: IN (SELECT column FROM table)
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM towns);
--> error unsupported at 35: EXISTS is outside the dialect
WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT 2) SELECT COUNT(*) FROM n;
--> COUNT(*)
--> 2
