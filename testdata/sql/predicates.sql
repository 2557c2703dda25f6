-- Conditions on declared columns, in any nesting.
SELECT COUNT(*) FROM visits;
--> count
--> 240
--> under dense:
--> count
--> 314
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE sex = 'F';
--> count
--> 100
--> under dense:
--> count
--> 54
SELECT COUNT(*) AS women FROM visits v WHERE v.sex = 'F' AND NOT (v.age >= 4);
--> women
--> 64
--> under dense:
--> women
--> 25
SELECT COUNT(*) FROM visits WHERE sex = 'F' OR age < 4 AND town = 'Elm';
--> count
--> 112
--> under dense:
--> count
--> 52
--> under smw, uniform:
--> count
--> 120
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 336, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE (sex = 'F' OR age < 4) AND town = 'Elm';
--> count
--> 82
--> under dense:
--> count
--> -56
SELECT COUNT(*) FROM visits WHERE age BETWEEN 3 AND 5 AND score <> 0;
--> count
--> 116
--> under dense:
--> count
--> 118
SELECT COUNT(*) FROM visits WHERE age NOT BETWEEN 3 AND 5;
--> count
--> 84
--> under dense:
--> count
--> 149
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 588, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE NOT (NOT (age <= 3 AND (town = 'Ash' OR NOT town = 'Elm')));
--> count
--> 24
--> under dense:
--> count
--> 169

-- Columns are compared with each other and with constants on either side.
SELECT COUNT(*) FROM visits WHERE age > score;
--> count
--> 240
--> under dense:
--> count
--> 324
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 720, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE 4 = age;
--> count
--> 52
--> under dense:
--> count
--> 101
--> under smw, uniform:
--> count
--> 50
SELECT COUNT(*) FROM visits WHERE age = score OR age = -score;
--> count
--> 12
--> under dense:
--> count
--> 21
--> under smw, uniform:
--> count
--> 20

-- A constant that no record can have is no error, and a condition that nothing satisfies is answered exactly.
SELECT COUNT(*) FROM visits WHERE age = 99;
--> count
--> 0
--> warning: age = 99 is outside the declared domain BETWEEN 0 AND 9: it matches nothing
SELECT COUNT(*) FROM visits WHERE town IN ('Elm', 'Nowhere');
--> count
--> 180
--> warning: town = 'Nowhere' is outside the declared domain IN ('100%', 'Ash', 'Elm', 'Oak'): it matches nothing
--> under dense:
--> count
--> -15
--> warning: town = 'Nowhere' is outside the declared domain IN ('100%', 'Ash', 'Elm', 'Oak'): it matches nothing
--> under smw, classes; smw release:
--> count
--> 181
--> warning: town = 'Nowhere' is outside the declared domain IN ('100%', 'Ash', 'Elm', 'Oak'): it matches nothing
SELECT COUNT(*) FROM visits WHERE age < 3 AND age > 5;
--> count
--> 0
SELECT COUNT(*) FROM visits WHERE 1 = 1;
--> count
--> 240
--> under dense:
--> count
--> 314
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE FALSE;
--> count
--> 0

-- A text column without a domain is pinned to values, or no release of the finite columns covers it.
SELECT COUNT(*) FROM visits WHERE zip = '15213';
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse; sparse, clip; sparse, named; direct:
--> count
--> 152
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 17 such answers
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE zip = '15213' AND age = 3;
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse; sparse, clip; sparse, named; direct:
--> count
--> 33
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 17 such answers
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE zip <> '15213' AND age = 3;
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 110 such answers
--> under sparse; sparse, clip; sparse, named; direct:
--> count
--> 17
--> under dense:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (99.9999 %) for ρ = 0.0047; the interactive budget left pays for 17 such answers
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 5530 such answers
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: no column zip (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
