-- Queries with weights in [0, 1]: a public table of keys and REAL weights, declared with bounds and a step, is joined.
SELECT SUM(weight) FROM visits JOIN risks ON visits.town = risks.town;
--> sum
--> 90.0
--> under dense:
--> sum
--> 267.85
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00077; the interactive budget left pays for 5426 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00077; the interactive budget left pays for 467043 such answers
--> under smw, weights; smw release, weights:
--> sum
--> 90.4
SELECT SUM(weight), COUNT(*) FROM visits JOIN risks ON visits.town = risks.town WHERE sex = 'F';
--> sum | count
--> 48.5 | 100
--> under dense:
--> sum | count
--> 84.25 | 54
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00077 together; the interactive budget left pays for 5426 such statements
--> under smw, weights:
--> sum | count
--> 48.45 | 100
SELECT AVG(weight) FROM visits JOIN risks ON visits.town = risks.town WHERE age = 3;
--> avg
--> 0.4019230769
--> under dense:
--> avg
--> 0.5724137931
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 1 answers them directly within ±1 (95 %) for ρ = 0.37 together; the interactive budget left pays for 11 such statements
--> under smw, weights:
--> avg
--> 0.4009615385
SELECT ROUND(MARGIN(SUM(weight)), 2) >= 0 AS known FROM visits JOIN risks ON visits.town = risks.town WHERE sex = 'F' AND age = 3 AND score = -1;
--> known
--> 1
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00077; the interactive budget left pays for 5426 such answers
--> under smw release; smw release, weights:
--> known
--> NULL
SELECT sex, SUM(weight) AS risk FROM visits JOIN risks ON visits.town = risks.town WHERE sex IS NOT NULL GROUP BY sex ORDER BY sex;
--> sex | risk
--> 'F' | 48.5
--> 'M' | 17.0
--> under dense:
--> sex | risk
--> 'F' | 84.25
--> 'M' | 107.1
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00077 together; the interactive budget left pays for 5426 such statements
--> under smw release; smw release, weights:
--> sex | risk
--> 'F' | 48.5
--> 'M' | 17.3
--> under smw, weights:
--> sex | risk
--> 'F' | 48.45
--> 'M' | 17.25
SELECT SUM(cost), COUNT(cost), TOTAL(cost) FROM visits JOIN risks ON visits.town = risks.town WHERE age = 4;
--> sum | count | total
--> -14.0 | 52 | -14.0
--> under dense:
--> sum | count | total
--> 71.5 | 83 | 71.5
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.063 together; the interactive budget left pays for 66 such statements
--> under smw release; smw, weights; smw release, weights:
--> sum | count | total
--> -13.5 | 52 | -13.5
--> under direct:
--> sum | count | total
--> -14.0 | 52 | -14.0
--> warning: this takes 20 % of what is left for direct answers: ρ = 0.016 of 0.08
SELECT SUM(weight * age) FROM visits JOIN risks ON visits.town = risks.town WHERE sex = 'M' AND age > 5;
--> sum
--> 8.4
--> under dense:
--> sum
--> 373.85
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.062; the interactive budget left pays for 66 such answers
--> under smw release; smw release, weights:
--> sum
--> 9.9
--> under smw, weights:
--> sum
--> 10.0
--> under direct:
--> sum
--> 8.4
--> warning: this takes 24 % of what is left for direct answers: ρ = 0.016 of 0.064
SELECT SUM(1 - weight), SUM(weight - cost) FROM visits JOIN risks ON visits.town = risks.town WHERE town = 'Elm' AND age = 3;
--> error malformed at 101: the name town is ambiguous
--> hint: qualify it by its table, or rename one of the columns
SELECT SUM(1 - weight), SUM(weight - cost) FROM visits JOIN risks ON visits.town = risks.town WHERE visits.town = 'Elm' AND age = 3;
--> sum | sum
--> 29.9 | 39.1
--> under dense:
--> sum | sum
--> -0.85 | -1.1
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0032 together; the interactive budget left pays for 1292 such statements
--> under smw release; smw release, weights:
--> sum | sum
--> 29.55 | 38.65
--> under smw, weights:
--> sum | sum
--> 29.65 | 38.8
SELECT SUM(CASE WHEN age < 5 THEN weight ELSE cost END) FROM visits JOIN risks ON visits.town = risks.town WHERE sex = 'F';
--> sum
--> 18.8
--> under dense:
--> sum
--> 133.15
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.065 together; the interactive budget left pays for 63 such statements
--> under smw release; smw release, weights:
--> sum
--> 18.6
--> under smw, weights:
--> sum
--> 18.65
--> under direct:
--> sum
--> 18.8
--> warning: this takes 34 % of what is left for direct answers: ρ = 0.016 of 0.048
SELECT STDDEV_POP(weight) FROM visits JOIN risks ON visits.town = risks.town WHERE age = 3;
--> stddev_pop
--> 0.1437684899
--> under dense:
--> stddev_pop
--> 0.09199532119
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 2712 such statements
--> under smw release; smw release, weights:
--> stddev_pop
--> 0.14360119
--> under smw, weights:
--> stddev_pop
--> 0.142602994
SELECT COUNT(*) FROM visits JOIN risks ON visits.town = risks.town WHERE weight > 0.3 AND weight < 1 AND age = 7;
--> count
--> 12
--> under dense:
--> count
--> 47
SELECT weight, COUNT(*) FROM visits JOIN risks ON visits.town = risks.town WHERE age = 9 GROUP BY weight HAVING COUNT(*) > 0;
--> weight | count
--> 0.35 | 6
--> 0.8 | 6
--> under dense:
--> weight | count
--> 1.0 | 9
--> under smw, uniform:
--> weight | count
--> 0.1 | 6
--> 0.35 | 6
--> 0.8 | 6
--> 1.0 | 6
SELECT COUNT(*) FROM visits JOIN risks ON visits.town = risks.town WHERE weight = 0.55;
--> count
--> 0
--> warning: weight = 0.55 is in no row of the public table: it matches nothing
SELECT SUM(weight * weight) FROM visits JOIN risks ON visits.town = risks.town WHERE age = 2;
--> sum
--> 0.795
--> under dense:
--> sum
--> 17.3675
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00077; the interactive budget left pays for 5421 such answers
--> under smw release; smw release, weights:
--> sum
--> 0.8225
--> under smw, weights:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 180 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00077; the interactive budget left pays for 5421 such answers
SELECT region, SUM(weight) FROM visits JOIN towns ON visits.town = name JOIN risks ON visits.town = risks.town WHERE age = 4 GROUP BY region;
--> region | sum
--> 'north' | 16.7
--> 'south' | 0.0
--> under dense:
--> region | sum
--> 'north' | 18.0
--> 'south' | 28.05
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00077 together; the interactive budget left pays for 5426 such statements
--> under smw release; smw, weights; smw release, weights:
--> region | sum
--> 'north' | 16.6
--> 'south' | 0.0
SELECT SUM(weight) FROM visits JOIN risks ON visits.town = risks.town WHERE weight + 1 > 1;
--> error unsupported at 77: computing with REAL column weight in a condition or function is outside the dialect
--> hint: compare it with a number, or add it up
SELECT SUM(weight / 2) FROM visits JOIN risks ON visits.town = risks.town;
--> sum
--> 45.0
--> under dense:
--> sum
--> 133.925
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00019; the interactive budget left pays for 21695 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00019; the interactive budget left pays for 1867238 such answers
--> under smw, weights; smw release, weights:
--> sum
--> 45.2
SELECT SUM(weight) FROM visits JOIN risks ON age = weight;
--> error unsupported at 37: a join on anything but a private column that equals a public one is outside the dialect
--> hint: join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared
CREATE PUBLIC TABLE towns (height REAL BETWEEN 0 AND 200 STEP 0.5);
--> error exists at 21: towns is already public
DROP PUBLIC TABLE towns;
--> done
CREATE PUBLIC TABLE towns (height REAL BETWEEN 0 AND 100 STEP 0.5 OR NULL);
--> error invalid at 28: column height: 120 is not in the declared domain BETWEEN 0 AND 100 STEP 0.5 OR NULL
CREATE PUBLIC TABLE towns (height REAL BETWEEN 0 AND 200 STEP 50 OR NULL);
--> error invalid at 28: column height: 120 is no multiple of the step 50
--> hint: declare a smaller step, or round the values to multiples of it
CREATE PUBLIC TABLE towns (height REAL BETWEEN 0 AND 200 STEP 0.5);
--> error invalid at 28: column height: NULL is not in the declared domain BETWEEN 0 AND 200 STEP 0.5
--> hint: declare it with OR NULL where values are missing
CREATE PUBLIC TABLE towns (height REAL BETWEEN 0 AND 200);
--> error invalid at 57: column height is REAL and has no STEP
--> hint: write REAL BETWEEN lowest AND highest STEP step, as in REAL BETWEEN 0 AND 1 STEP 0.001
CREATE PUBLIC TABLE towns (height TEXT);
--> error invalid at 28: column height has 120, which is not TEXT
--> hint: declare the type that the values have; numbers with fractions are REAL BETWEEN … AND … STEP …
CREATE PUBLIC TABLE towns (depth REAL BETWEEN 0 AND 200 STEP 1);
--> error unknown at 28: towns has no column depth
CREATE PUBLIC TABLE towns (region REAL BETWEEN 0 AND 200 STEP 1);
--> error invalid at 28: column region: a value is no number
CREATE PUBLIC TABLE towns (name TEXT, height REAL BETWEEN -1e2 AND 2e2 STEP 40 OR NULL);
--> error invalid at 51: the domain of column height: the bound -100 is no multiple of the step 40
--> hint: give a smaller step, such that the bounds and all values are multiples of it
CREATE PUBLIC TABLE towns (name TEXT, height REAL BETWEEN -80 AND 2e2 STEP 40 OR NULL);
--> done
SELECT TOTAL(height), AVG(height) FROM visits JOIN towns ON town = name WHERE age = 3;
--> total | avg
--> 3680.0 | 80.0
--> under dense:
--> total | avg
--> -800.0 | NULL
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 500 answers them directly within ±500 (95 %) for ρ = 0.11 together; the interactive budget left pays for 37 such statements, or for one within ±80
--> under smw release; smw, weights; smw release, weights:
--> total | avg
--> 3640.0 | 80.0
--> under direct:
--> error budget at 0: it needs ρ = 2.6 and the interactive account has 0.029 left (of 3 queries of the statement 1 cannot be answered); ρ 0.00075 was charged for private answers, which are stored
--> hint: SET accuracy = 5000 answers them directly within ±5000 (95 %) for ρ = 0.0011 together; the interactive budget left pays for 26 such statements, or for one within ±960
