-- Sums and means of integers, several in one statement, and arithmetic over them.
SELECT SUM(age) FROM visits;
--> sum
--> 1020
--> under dense:
--> sum
--> 851
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.061; the interactive budget left pays for 68 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 756, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.061; the interactive budget left pays for 5876 such answers
--> under direct:
--> sum
--> 1020
--> warning: this takes 18 % of what is left for direct answers: ρ = 0.015 of 0.083
SELECT SUM(score), COUNT(*) FROM visits WHERE sex = 'M';
--> sum | count
--> 0 | 70
--> under dense:
--> sum | count
--> -51 | 111
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.069 together; the interactive budget left pays for 59 such statements
--> under direct:
--> sum | count
--> 0 | 70
--> warning: this takes 26 % of what is left for direct answers: ρ = 0.018 of 0.068
SELECT AVG(age) FROM visits;
--> avg
--> 4.25
--> under dense:
--> avg
--> 2.710191083
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 0.5 answers them directly within ±0.5 (95 %) for ρ = 0.0034 together; the interactive budget left pays for 1238 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 0.5 answers them directly within ±0.5 (95 %) for ρ = 0.0096 together; the interactive budget left pays for 37232 such statements
SELECT AVG(score) AS mean FROM visits WHERE age = 3;
--> mean
--> -0.5384615385
--> under dense:
--> mean
--> -3.0
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 1 answers them directly within ±1 (95 %) for ρ = 0.41 together; the interactive budget left pays for 10 such statements
--> under smw release:
--> mean
--> -0.5576923077
SELECT AVG(age + score) FROM visits WHERE town = 'Elm';
--> avg
--> 4.166666667
--> under dense:
--> avg
--> NULL
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 2 answers them directly within ±2 (95 %) for ρ = 0.13 together; the interactive budget left pays for 31 such statements
--> under smw release:
--> avg
--> 4.198895028
SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS f, SUM(CASE sex WHEN 'M' THEN 1 ELSE 0 END) AS m, COUNT(*) AS n FROM visits;
--> f | m | n
--> 100 | 70 | 240
--> under dense:
--> f | m | n
--> 54 | 111 | 314
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 3 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 476014 such statements
SELECT 100.0 * SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) / COUNT(*) FROM visits;
--> 100.0 * SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) / COUNT(*)
--> 41.66666667
--> under dense:
--> 100.0 * SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) / COUNT(*)
--> 17.19745223
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 476014 such statements
SELECT COUNT(*) / 1000.0, COUNT(*) / 7, -COUNT(*), COUNT(*) % 7, 'visits', 1 FROM visits;
--> COUNT(*) / 1000.0 | COUNT(*) / 7 | - COUNT(*) | COUNT(*) % 7 | 'visits' | 1
--> 0.24 | 34 | -240 | 2 | 'visits' | 1
--> under dense:
--> COUNT(*) / 1000.0 | COUNT(*) / 7 | - COUNT(*) | COUNT(*) % 7 | 'visits' | 1
--> 0.314 | 44 | -314 | 6 | 'visits' | 1
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT SUM(age * age) - 2 * SUM(age) FROM visits WHERE score = 1;
--> SUM(age * age) - 2 * SUM(age)
--> 1212
--> under dense:
--> SUM(age * age) - 2 * SUM(age)
--> 113
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 200 answers them directly within ±200 (95 %) for ρ = 0.32 together; the interactive budget left pays for 13 such statements, or for one within ±55
--> under smw release:
--> SUM(age * age) - 2 * SUM(age)
--> 1163
--> under direct:
--> error budget at 0: it needs ρ = 1.2 and the interactive account has 0.046 left (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 2000 answers them directly within ±2000 (95 %) for ρ = 0.0032 together; the interactive budget left pays for 14 such statements, or for one within ±530
SELECT TOTAL(age), ROUND(AVG(age), 2) FROM visits WHERE age < 5;
--> total | ROUND(AVG(age), 2)
--> 400.0 | 2.86
--> under dense:
--> total | ROUND(AVG(age), 2)
--> 551.0 | 2.15
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.012 together; the interactive budget left pays for 345 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 336, above max_support = 280 (cells) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %): their rows are counted first for ρ = 0.00075, and tell the price
SELECT SUM(age) FROM visits WHERE age > 5 AND age < 3;
--> sum
--> 0
SELECT AVG(age) FROM visits WHERE age > 5 AND age < 3;
--> avg
--> NULL
SELECT AVG(age), COUNT(*) FROM visits WHERE town = 'Oak';
--> avg | count
--> NULL | 0
--> under dense:
--> avg | count
--> 4.443609023 | 133
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00024 together; the interactive budget left pays for 17603 such statements

-- Variances and standard deviations, as PostgreSQL names them.
SELECT VAR_POP(age), VAR_SAMP(age), VARIANCE(age) FROM visits WHERE age < 5;
--> var_pop | var_samp | variance
--> 1.551020408 | 1.562178828 | 1.562178828
--> under dense:
--> var_pop | var_samp | variance
--> 3.004135132 | 3.015916054 | 3.015916054
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 2724 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells) (of 3 queries of the statement 3 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0023 together; the interactive budget left pays for 157086 such statements
SELECT STDDEV_POP(age), STDDEV_SAMP(age), STDDEV(age) FROM visits WHERE age < 5;
--> stddev_pop | stddev_samp | stddev
--> 1.245399698 | 1.249871525 | 1.249871525
--> under dense:
--> stddev_pop | stddev_samp | stddev
--> 1.733244106 | 1.736639299 | 1.736639299
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 2724 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells) (of 3 queries of the statement 3 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0023 together; the interactive budget left pays for 157086 such statements
SELECT sex, AVG(score), STDDEV(score) AS d FROM visits GROUP BY sex HAVING d > 0 ORDER BY d DESC;
--> sex | avg | d
--> 'F' | -0.4 | 1.206045378
--> NULL | 0.5714285714 | 1.057361065
--> 'M' | 0.0 | 0.9325048082
--> under dense:
--> sex | avg | d
--> NULL | 0.7133333333 | 1.658157248
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 9 queries of the statement 6 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0016 together; the interactive budget left pays for 2681 such statements
--> under smw release:
--> sex | avg | d
--> 'F' | -0.39 | 1.205165649
--> NULL | 0.5571428571 | 1.071849469
--> 'M' | -0.01428571429 | 0.9478099415
SELECT VARIANCE(age), VARIANCE(age), MARGIN(VARIANCE(age)) FROM visits WHERE town = 'Oak';
--> variance | variance | margin
--> NULL | NULL | NULL
--> under dense:
--> variance | variance | margin
--> 12.36232627 | 12.36232627 | NULL
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 2714 such statements
SELECT VARIANCE(7), STDDEV_POP(CASE WHEN sex = 'F' THEN age END) FROM visits;
--> variance | stddev_pop
--> 0.0 | 2.4
--> under dense:
--> variance | stddev_pop
--> 0.0 | 0.0
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 4 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 2714 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 4 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 476014 such statements

-- Two columns, over the rows that have both. The first argument is y.
SELECT CORR(score, age), COVAR_POP(score, age), COVAR_SAMP(score, age) FROM visits WHERE sex = 'F';
--> corr | covar_pop | covar_samp
--> 0.5833333333 | 1.68 | 1.696969697
--> under dense:
--> corr | covar_pop | covar_samp
--> NULL | 17.30246914 | 17.62893082
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 7 queries of the statement 6 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0046 together; the interactive budget left pays for 905 such statements
--> under smw release:
--> corr | covar_pop | covar_samp
--> 0.5875599081 | 1.688 | 1.705050505
SELECT REGR_COUNT(score, age), REGR_AVGX(score, age), REGR_AVGY(score, age) FROM visits;
--> regr_count | regr_avgx | regr_avgy
--> 240 | 4.25 | 0.0
--> under dense:
--> regr_count | regr_avgx | regr_avgy
--> 314 | 2.710191083 | -0.8375796178
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00013 together; the interactive budget left pays for 31247 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 3 queries of the statement 3 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00089 together; the interactive budget left pays for 404431 such statements
SELECT REGR_SLOPE(score, age) AS b, REGR_INTERCEPT(score, age) AS a, REGR_R2(score, age) AS r2 FROM visits WHERE town = 'Ash';
--> b | a | r2
--> 0.25 | -1.0 | 0.25
--> under dense:
--> b | a | r2
--> NULL | NULL | NULL
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 7 queries of the statement 6 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0046 together; the interactive budget left pays for 905 such statements
--> under smw release:
--> b | a | r2
--> 0.2182641509 | -0.8774339623 | 0.187751316
SELECT REGR_SXX(score, age), REGR_SYY(score, age), REGR_SXY(score, age) FROM visits WHERE age < 5;
--> regr_sxx | regr_syy | regr_sxy
--> 217.1428571 | 148.5714286 | 114.2857143
--> under dense:
--> regr_sxx | regr_syy | regr_sxy
--> 769.0585938 | 0.0 | -4.4609375
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 7 queries of the statement 6 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0046 together; the interactive budget left pays for 906 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells) (of 7 queries of the statement 5 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0038 together; the interactive budget left pays for 93979 such statements
SELECT CORR(age, 7), REGR_R2(7, age), REGR_SLOPE(age, age), MARGIN(CORR(age, 7)) FROM visits;
--> corr | regr_r2 | regr_slope | margin
--> NULL | 1.0 | 1.0 | NULL
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 2714 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 3 queries of the statement 3 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0023 together; the interactive budget left pays for 156718 such statements
SELECT sex, CORR(score, age) FILTER (WHERE age < 6) AS r FROM visits GROUP BY sex HAVING r < 1 ORDER BY r;
--> sex | r
--> 'F' | -0.3213422935
--> 'M' | 0.7010887417
--> NULL | 0.8677550307
--> under dense:
--> sex | r
--> NULL | 0.5624778243
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 21 queries of the statement 18 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0046 together; the interactive budget left pays for 905 such statements
--> under smw release:
--> sex | r
--> 'F' | -0.2635213324
--> 'M' | 0.6959265066
--> NULL | 0.8125406974
SELECT CORR(age) FROM visits;
--> error malformed at 8: CORR takes two arguments
--> hint: write CORR(y, x)
SELECT CORR(age, town) FROM visits;
--> error unsupported at 18: adding up column town, which is TEXT, is outside the dialect
--> hint: group by it, or declare it as INTEGER over a view

-- The margins of answers, each at the session's confidence.
SELECT COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE age = 3 AND sex = 'F';
--> count | margin
--> 52 | 14.0
--> under sparse, named:
--> count | margin
--> 52 | 0.0
--> under dense:
--> count | margin
--> 36 | 169.0
--> under marginals:
--> count | margin
--> 52 | 55.0
--> under smw, classes:
--> count | margin
--> 52 | 25.0
--> under smw release:
--> count | margin
--> 52 | 58.0
--> under direct:
--> count | margin
--> 52 | 100.0
SELECT COUNT(*) AS n, MARGIN(n), SUM(age) AS s, MARGIN(s) FROM visits WHERE town = 'Elm';
--> n | margin | s | margin
--> 180 | 39.0 | 750 | 206.0
--> under sparse:
--> n | margin | s | margin
--> 180 | 39.0 | 750 | 209.0
--> under sparse, named:
--> n | margin | s | margin
--> 180 | 6.0 | 750 | 6.0
--> under dense:
--> n | margin | s | margin
--> -15 | 461.0 | -358 | 2463.0
--> under marginals:
--> n | margin | s | margin
--> 180 | 152.0 | 750 | 811.0
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.061 together; the interactive budget left pays for 68 such statements
--> under smw release:
--> n | margin | s | margin
--> 181 | 58.0 | 760 | NULL
--> under direct:
--> n | margin | s | margin
--> 180 | 50.0 | 750 | 100.0
--> warning: this takes 43 % of what is left for direct answers: ρ = 0.015 of 0.036

-- What none is.
SELECT MODE(age) FROM visits;
--> error unsupported at 8: the aggregate MODE in the select list is outside the dialect
--> hint: SELECT x, COUNT(*) FROM table GROUP BY x counts the rows of each value; take it from these counts
SELECT PERCENTILE(age, 0.5) FROM visits;
--> error unsupported at 8: the aggregate PERCENTILE in the select list is outside the dialect
--> hint: write MEDIAN(x), QUANTILE(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)
SELECT LOW(COUNT(DISTINCT age)) <= 10 AND HIGH(COUNT(DISTINCT age)) >= 10 AS within FROM visits;
--> within
--> 1
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: values are counted on the rows, or from a release (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
SELECT COUNT(DISTINCT age), COUNT(DISTINCT town) FROM visits WHERE age > 5 AND age < 3;
--> count | count
--> 0 | 0
SELECT COUNT(DISTINCT zip) FROM visits;
--> error unsupported at 23: COUNT(DISTINCT …) of column zip, which has no domain, is outside the dialect
--> hint: declare its values: TEXT IN ('a', 'b'), or those of a public table
SELECT COUNT(DISTINCT age + 1) FROM visits;
--> error unsupported at 8: COUNT(DISTINCT …) is outside the dialect
--> hint: COUNT(*) counts rows; GROUP BY lists the declared values
SELECT AVG(DISTINCT age) FROM visits;
--> error unsupported at 8: AVG(DISTINCT …) is outside the dialect
--> hint: write AVG(x), which takes each row; for one row a unit, declare a view that has one
SELECT COUNT(DISTINCT patient) FROM visits;
--> error unknown at 23: no column patient in table visits
--> hint: the columns are sex, age, town, score, zip; persons can be counted in a table that is declared WITH (unit = person, max_rows = …)
SELECT STDEV(age) FROM visits;
--> stddev
--> 2.130668664
--> under dense:
--> stddev
--> 1.757346414
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 3 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 2714 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 3 queries of the statement 3 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0023 together; the interactive budget left pays for 156718 such statements
SELECT VARIANCE(town) FROM visits;
--> error unsupported at 17: adding up column town, which is TEXT, is outside the dialect
--> hint: group by it, or declare it as INTEGER over a view
SELECT VARIANCE(age * 1000000000) FROM visits;
--> error unsupported at 17: an expression inside an aggregate can exceed 64 bits
--> hint: narrow the columns' domains or the numbers in it
SELECT SUM(zip) FROM visits;
--> error unsupported at 12: adding up column zip, which is TEXT, is outside the dialect
--> hint: group by it, or declare it as INTEGER over a view
SELECT AVG(town) FROM visits;
--> error unsupported at 12: adding up column town, which is TEXT, is outside the dialect
--> hint: group by it, or declare it as INTEGER over a view
SELECT SUM(age) OVER () FROM visits;
--> error unsupported at 30: a SELECT of the rows of visits is outside the dialect
--> hint: only aggregates of private rows come out: SELECT x, COUNT(*) AS n FROM visits GROUP BY x
SELECT SUM(COUNT(*)) FROM visits;
--> error unsupported at 12: the aggregate COUNT inside an aggregate is outside the dialect
--> hint: SUM and AVG take integer, REAL and NUMERIC columns, numbers, + - * / % and CASE; divide the aggregate instead of its argument
SELECT COUNT(*), COUNT(*) FILTER (WHERE sex = 'F') AS f, COUNT(sex) FILTER (WHERE age > 4) AS older, MARGIN(f) > 0 FROM visits;
--> count | f | older | MARGIN(f) > 0
--> 240 | 100 | 48 | 1
--> under dense:
--> count | f | older | MARGIN(f) > 0
--> 314 | 54 | 2 | 1
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 3 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 476014 such statements
SELECT town, COALESCE(SUM(age) FILTER (WHERE sex = 'F'), 0) AS known FROM visits WHERE town <> 'Oak' GROUP BY town HAVING COUNT(*) FILTER (WHERE age = 4) < 5 ORDER BY COUNT(*) FILTER (WHERE age < 4);
--> town | known
--> '100%' | 150
--> under dense:
--> town | known
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 9 queries of the statement 3 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.061 together; the interactive budget left pays for 68 such statements
--> under smw release:
--> town | known
--> '100%' | 151
--> under direct:
--> town | known
--> '100%' | 150
--> warning: this takes 79 % of what is left for direct answers: ρ = 0.016 of 0.02
SELECT COUNT(*), COUNT(*) FILTER (WHERE COUNT(*) > 1) FROM visits;
--> error unsupported at 41: the aggregate COUNT is outside the dialect
--> hint: an aggregate stands in the select list, not in WHERE
