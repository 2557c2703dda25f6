-- Integer arithmetic and parities, compiled over the declared domains.
SELECT COUNT(*) FROM visits WHERE age + score = 4;
--> count
--> 52
--> under dense:
--> count
--> 13
SELECT COUNT(*) FROM visits WHERE (age + score) % 2 = 1;
--> count
--> 60
--> under dense:
--> count
--> 140
--> under smw, classes:
--> count
--> 61
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 372, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE (age + score) % 2 <> 0;
--> count
--> 60
--> under dense:
--> count
--> 174
--> under smw, classes:
--> count
--> 61
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE age * score >= 4;
--> count
--> 76
--> under dense:
--> count
--> -42
--> under smw, uniform:
--> count
--> 71
SELECT COUNT(*) FROM visits WHERE age / 2 = 1;
--> count
--> 64
--> under dense:
--> count
--> 40
SELECT COUNT(*) FROM visits WHERE age / 0 = 1;
--> count
--> 0
--> warning: a condition on age matches nothing in the declared domains
SELECT COUNT(*) FROM visits WHERE age / 2.0 = 1.5;
--> count
--> 52
--> under dense:
--> count
--> 29
SELECT COUNT(*) FROM visits WHERE -score > 1;
--> count
--> 24
--> under dense:
--> count
--> 18
SELECT COUNT(*) FROM visits WHERE ABS(score) = 2;
--> count
--> 48
--> under dense:
--> count
--> 72
--> under smw, uniform:
--> count
--> 52
SELECT COUNT(*) FROM visits WHERE CASE WHEN sex = 'F' THEN age ELSE score END > 2;
--> count
--> 88
--> under dense:
--> count
--> 14
--> under smw, uniform:
--> count
--> 89
SELECT COUNT(*) FROM visits WHERE (sex = 'F') + (age > 2) + (score = 0) = 2;
--> count
--> 116
--> under dense:
--> count
--> 140
--> under smw, classes; smw release:
--> count
--> 115
SELECT COUNT(*) FROM visits WHERE age + 9223372036854775807 > 0;
--> count
--> 240
--> under dense:
--> count
--> 314
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE age = '3';
--> count
--> 52
--> under dense:
--> count
--> 29
SELECT COUNT(*) FROM visits WHERE age = 3.0;
--> count
--> 52
--> under dense:
--> count
--> 29
SELECT COUNT(*) FROM visits WHERE zip + 1 = 15214;
--> error unsupported at 35: arithmetic with a text is outside the dialect
--> hint: compute it in a view and declare it as a column
SELECT COUNT(*) FROM visits WHERE CAST(age AS TEXT) = 4 OR CAST(age AS INTEGER) = '3';
--> count
--> 104
--> under dense:
--> count
--> 130
SELECT CAST(age / 5 AS TEXT) AS half, COUNT(*) FROM visits WHERE CAST(town AS TEXT) = 'Elm' GROUP BY CAST(age / 5 AS TEXT);
--> half | count
--> '0' | 110
--> '1' | 70
--> under dense:
--> half | count
--> '0' | 30
--> '1' | -45
--> under smw, classes; smw release:
--> half | count
--> '0' | 109
--> '1' | 72
SELECT SUM(CAST(age + 1 AS INTEGER)) FROM visits WHERE CAST(sex AS TEXT) IS NULL;
--> sum
--> 390
--> under dense:
--> sum
--> 569
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.075; the interactive budget left pays for 55 such answers
--> under smw release:
--> sum
--> 396
--> under direct:
--> sum
--> 390
--> warning: this takes 23 % of what is left for direct answers: ρ = 0.019 of 0.081
