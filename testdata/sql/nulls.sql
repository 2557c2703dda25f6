-- NULL follows SQL's three-valued logic.
SELECT COUNT(*) FROM visits WHERE sex IS NULL;
--> count
--> 70
--> under dense:
--> count
--> 150
--> under smw, uniform:
--> count
--> 80
SELECT COUNT(*) FROM visits WHERE sex IS NOT NULL;
--> count
--> 170
--> under dense:
--> count
--> 164
--> under smw, uniform:
--> count
--> 160
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 560, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE sex = NULL;
--> count
--> 0
SELECT COUNT(*) FROM visits WHERE sex <> 'F';
--> count
--> 70
--> under dense:
--> count
--> 111
--> under smw, uniform:
--> count
--> 80
SELECT COUNT(*) FROM visits WHERE NOT (sex = 'F');
--> count
--> 70
--> under dense:
--> count
--> 111
--> under smw, uniform:
--> count
--> 80
SELECT COUNT(*) FROM visits WHERE NOT (sex = 'F') OR sex IS NULL;
--> count
--> 140
--> under dense:
--> count
--> 260
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 560, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE sex IN ('F', NULL);
--> count
--> 100
--> under dense:
--> count
--> 54
SELECT COUNT(*) FROM visits WHERE sex NOT IN ('F', NULL);
--> count
--> 0
SELECT COUNT(*) FROM visits WHERE sex IS 'F';
--> count
--> 100
--> under dense:
--> count
--> 54
SELECT COUNT(*) FROM visits WHERE sex IS NOT 'F';
--> count
--> 140
--> under dense:
--> count
--> 260
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 560, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE (sex = 'F') IS NULL;
--> count
--> 70
--> under dense:
--> count
--> 150
--> under smw, uniform:
--> count
--> 80
SELECT COUNT(*) FROM visits WHERE (sex = 'F') IS NOT TRUE;
--> count
--> 140
--> under dense:
--> count
--> 260
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 560, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE COALESCE(sex, 'F') = 'F';
--> count
--> 170
--> under dense:
--> count
--> 203
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 560, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE age IS NULL;
--> count
--> 0
--> warning: age IS NULL matches nothing: NULL is not in the declared domain BETWEEN 0 AND 9

-- COUNT(column) leaves NULL out, and so do groups that no record can be in.
SELECT COUNT(*), COUNT(sex), COUNT(age) FROM visits;
--> count | count | count
--> 240 | 170 | 240
--> under dense:
--> count | count | count
--> 314 | 164 | 314
--> under smw, uniform:
--> count | count | count
--> 240 | 160 | 240
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 238007 such statements
SELECT sex, COUNT(*) FROM visits GROUP BY sex;
--> sex | count
--> NULL | 70
--> 'F' | 100
--> 'M' | 70
--> under dense:
--> sex | count
--> NULL | 150
--> 'F' | 54
--> 'M' | 111
--> under smw, uniform:
--> sex | count
--> NULL | 80
--> 'F' | 100
--> 'M' | 80
SELECT sex, COUNT(*) FROM visits WHERE sex IS NOT NULL GROUP BY sex;
--> sex | count
--> 'F' | 100
--> 'M' | 70
--> under dense:
--> sex | count
--> 'F' | 54
--> 'M' | 111
--> under smw, uniform:
--> sex | count
--> 'F' | 100
--> 'M' | 80
SELECT COUNT(NULL) FROM visits;
--> count
--> 0

-- Text without a domain includes NULL.
SELECT COUNT(*) FROM visits WHERE zip IS NULL;
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse; sparse, clip; sparse, named; direct:
--> count
--> 12
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 17 such answers
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE zip IS NULL AND age = 9;
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse; sparse, clip; sparse, named; direct:
--> count
--> 6
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 17 such answers
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
