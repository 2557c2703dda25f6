-- A public table, joined on a key, filters and groups by what is public of a private column.
SELECT COUNT(*) FROM visits JOIN towns ON visits.town = towns.name WHERE region = 'north';
--> count
--> 210
--> under dense:
--> count
--> 9
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT region, COUNT(*) AS n FROM visits JOIN towns ON town = name GROUP BY region;
--> region | n
--> 'north' | 210
--> 'south' | 30
--> under dense:
--> region | n
--> 'north' | 9
--> 'south' | 305
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 476014 such statements
SELECT t.region, AVG(v.age) FROM visits AS v INNER JOIN towns AS t ON t.name = v.town WHERE v.sex = 'F' GROUP BY t.region ORDER BY 1 DESC;
--> region | avg
--> 'south' | 5.0
--> 'north' | 3.857142857
--> under dense:
--> region | avg
--> 'south' | 4.88
--> 'north' | NULL
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 4 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 2 answers them directly within ±2 (95 %) for ρ = 0.14 together; the interactive budget left pays for 29 such statements
--> under smw release:
--> region | avg
--> 'south' | 5.033333333
--> 'north' | 3.857142857
SELECT height, COUNT(*) FROM visits LEFT JOIN towns ON town = name GROUP BY height;
--> height | count
--> NULL | 30
--> 80 | 180
--> 120 | 30
--> under dense:
--> height | count
--> NULL | 172
--> 80 | 118
--> 120 | 24
--> under smw, classes:
--> height | count
--> NULL | 30
--> 80 | 181
--> 120 | 29
--> under smw, uniform:
--> height | count
--> NULL | 30
--> 80 | 180
--> 120 | 37
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells) (of 3 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 476014 such statements
SELECT SUM(height) FROM visits JOIN towns ON town = name WHERE age = 4;
--> sum
--> 4400
--> under dense:
--> sum
--> 7680
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 500 answers it directly within ±500 (95 %) for ρ = 0.11; the interactive budget left pays for 37 such answers, or for one within ±80
--> under direct:
--> error budget at 0: it needs ρ = 2.6 and the interactive account has 0.081 left
--> hint: SET accuracy = 2000 answers it directly within ±2000 (95 %) for ρ = 0.0068; the interactive budget left pays for 11 such answers, or for one within ±600
SELECT COUNT(*) FROM visits JOIN towns ON town = name WHERE height > 100 AND age < 5;
--> count
--> 18
--> under dense:
--> count
--> 61
--> under smw, uniform:
--> count
--> 19
SELECT COUNT(*) FROM visits, towns WHERE town = name AND region = 'south';
--> error unsupported at 30: a join is outside the dialect
--> hint: join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared
SELECT COUNT(*) FROM visits a JOIN visits b ON a.age = b.age;
--> error unsupported at 36: a join is outside the dialect
--> hint: join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared
SELECT COUNT(*) FROM visits JOIN raw_visits ON visits.age = raw_visits.age;
--> error unknown at 34: there is no public table raw_visits to join
--> hint: CREATE PUBLIC TABLE declares one; private tables are joined in a view, and the view declared
SELECT COUNT(*) FROM visits JOIN towns ON town = region;
--> error unsupported at 34: a join on region, of which a value occurs twice in towns, is outside the dialect
--> hint: join on a column whose values are unique; rows would count several times
SELECT COUNT(*) FROM towns;
--> COUNT(*)
--> 4
