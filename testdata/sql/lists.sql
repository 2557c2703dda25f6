-- Lists, and rows of values.
SELECT COUNT(*) FROM visits WHERE age IN (1, 3, 5);
--> count
--> 116
--> under dense:
--> count
--> 103
SELECT COUNT(*) FROM visits WHERE age IN (3, 3, 99);
--> count
--> 52
--> warning: age = 99 is outside the declared domain BETWEEN 0 AND 9: it matches nothing
--> under dense:
--> count
--> 29
--> warning: age = 99 is outside the declared domain BETWEEN 0 AND 9: it matches nothing
--> under smw, uniform:
--> count
--> 39
--> warning: age = 99 is outside the declared domain BETWEEN 0 AND 9: it matches nothing
SELECT COUNT(*) FROM visits WHERE age NOT IN (3, 4, 5);
--> count
--> 84
--> under dense:
--> count
--> 149
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 588, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE (sex, age) IN (('F', 3), ('M', 4));
--> count
--> 98
--> under dense:
--> count
--> 72
--> under smw, classes; smw release:
--> count
--> 97
SELECT COUNT(*) FROM visits WHERE (sex, age) NOT IN (('F', 3), ('M', 4));
--> count
--> 136
--> under dense:
--> count
--> 208
--> under smw, uniform:
--> count
--> 130
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 728, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE (sex, age) = ('F', 3);
--> count
--> 52
--> under dense:
--> count
--> 36
--> under smw, uniform:
--> count
--> 50
SELECT COUNT(*) FROM visits WHERE (age, score) < (3, 0);
--> count
--> 76
--> under dense:
--> count
--> 185
--> under smw, uniform:
--> count
--> 67
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 288, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE (age, score) >= (4, 1);
--> count
--> 112
--> under dense:
--> count
--> 131
--> under smw, uniform:
--> count
--> 100
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 456, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE (town, zip) IN (('Elm', '15213'), ('Ash', '15217'));
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse; sparse, clip:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells); no column town (zips)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse, named:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells); no column town (zips)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 17 such answers
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
--> under direct:
--> count
--> 126
SELECT COUNT(*) FROM visits WHERE zip IN ('15213', '15217') AND sex = 'F' AND age = 3;
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse; sparse, clip:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells); no column sex (zips)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse, named:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells); no column sex (zips)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 17 such answers
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
--> under direct:
--> count
--> 50
SELECT COUNT(*) FROM visits WHERE age IN ();
--> error malformed at 43: the list of IN is empty
--> hint: write at least one value
SELECT COUNT(*) FROM visits WHERE (sex, age) IN (('F', 3), ('M', 4, 5));
--> error invalid at 61: a row of 2 values is compared with a row of 3
SELECT COUNT(*) FROM visits WHERE town IN (SELECT name FROM towns) AND age = 3;
--> count
--> 52
--> under dense:
--> count
--> 29
--> under smw, uniform:
--> count
--> 39
SELECT COUNT(*) FROM visits WHERE age = 3 AND town NOT IN (SELECT DISTINCT town FROM risks);
--> count
--> 0
SELECT zip, COUNT(*) FROM visits WHERE zip IN (SELECT name FROM towns) AND age = 3 GROUP BY zip;
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells) (of 4 queries of the statement 4 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 110 such statements
--> under sparse; sparse, clip; sparse, named; direct:
--> zip | count
--> '100%' | 0
--> 'Ash' | 0
--> 'Elm' | 0
--> 'Oak' | 0
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells) (of 4 queries of the statement 4 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (99.9999 %) for ρ = 0.0047 together; the interactive budget left pays for 17 such statements
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live) (of 4 queries of the statement 4 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 5530 such statements
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells) (of 4 queries of the statement 4 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.00075 together; the interactive budget left pays for 476014 such statements
SELECT COUNT(*) FROM visits WHERE age IN (SELECT height FROM towns);
--> count
--> 0
SELECT COUNT(*) FROM visits WHERE town IN (SELECT height FROM towns);
--> error unsupported at 51: a list of values of another type is outside the dialect
--> hint: town is TEXT; the values of height must all be, or NULL
SELECT COUNT(*) FROM visits WHERE town IN (SELECT name FROM towns WHERE region = 'north');
--> COUNT(*)
--> 210
--> under dense:
--> COUNT(*)
--> 9
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE town IN (SELECT town FROM raw_visits);
--> error unknown at 61: there is no public table raw_visits to join
--> hint: CREATE PUBLIC TABLE declares one; private tables are joined in a view, and the view declared
SELECT COUNT(*) FROM visits WHERE town IN (SELECT town FROM visits);
--> error unsupported at 61: a SELECT of the rows of visits is outside the dialect
--> hint: only aggregates of private rows come out: SELECT x, COUNT(*) AS n FROM visits GROUP BY x
