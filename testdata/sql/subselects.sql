-- Sub-selects and WITH that rename columns and filter rows.
SELECT COUNT(*) FROM (SELECT age, sex FROM visits WHERE town = 'Elm') t WHERE age = 3;
--> count
--> 46
--> under dense:
--> count
--> -1
--> under smw release:
--> count
--> 45
SELECT COUNT(*) FROM (SELECT age AS years FROM visits WHERE sex = 'F') WHERE years < 5;
--> count
--> 64
--> under dense:
--> count
--> 37
WITH women AS (SELECT * FROM visits WHERE sex = 'F') SELECT COUNT(*) FROM women WHERE age = 3;
--> count
--> 52
--> under dense:
--> count
--> 36
WITH a (x) AS (SELECT age FROM visits), b AS (SELECT x FROM a WHERE x > 3) SELECT x, COUNT(*) FROM b GROUP BY x HAVING x < 6;
--> x | count
--> 4 | 52
--> 5 | 52
--> under dense:
--> x | count
--> 4 | 101
--> 5 | 35
SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM visits WHERE age > 2) WHERE age < 5);
--> count
--> 104
--> under dense:
--> count
--> 130
SELECT COUNT(*) FROM (SELECT age FROM visits) WHERE sex = 'F';
--> error unknown at 53: no column sex in the sub-select
--> hint: it has the columns of its select list
SELECT COUNT(*) FROM (SELECT COUNT(*) FROM visits);
--> COUNT(*)
--> 1
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 5);
--> error unsupported at 46: LIMIT over private rows is outside the dialect
--> hint: limit the result of an aggregate
SELECT COUNT(*) FROM visits WHERE age = (SELECT 3);
--> COUNT(*)
--> 52
--> under dense:
--> COUNT(*)
--> 29
--> under smw, uniform:
--> COUNT(*)
--> 64
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM towns);
--> COUNT(*)
--> 240
--> under dense:
--> COUNT(*)
--> 314
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT 2) SELECT COUNT(*) FROM n;
--> COUNT(*)
--> 2
