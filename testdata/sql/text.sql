-- Texts compare byte by byte; LIKE and GLOB as SQLite has them.
SELECT COUNT(*) FROM visits WHERE town > 'B';
--> count
--> 180
--> under dense:
--> count
--> 118
--> under smw, classes:
--> count
--> 181
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE town = 'elm';
--> count
--> 0
--> warning: town = 'elm' is outside the declared domain IN ('100%', 'Ash', 'Elm', 'Oak'): it matches nothing; did you mean 'Elm'?
SELECT COUNT(*) FROM visits WHERE town LIKE 'elm';
--> count
--> 180
--> under dense:
--> count
--> -15
--> under smw, classes; smw release:
--> count
--> 181
SELECT COUNT(*) FROM visits WHERE town LIKE '%m';
--> count
--> 180
--> under dense:
--> count
--> -15
--> under smw, classes; smw release:
--> count
--> 181
SELECT COUNT(*) FROM visits WHERE town LIKE '_a%';
--> count
--> 0
--> under dense:
--> count
--> 133
--> under smw, uniform:
--> count
--> 7
SELECT COUNT(*) FROM visits WHERE town LIKE '100\%' ESCAPE '\';
--> count
--> 30
--> under dense:
--> count
--> 172
SELECT COUNT(*) FROM visits WHERE town NOT LIKE '%l%';
--> count
--> 60
--> under dense:
--> count
--> 329
--> under smw, classes:
--> count
--> 59
--> under smw, uniform:
--> count
--> 67
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 630, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE town GLOB '[AE]*';
--> count
--> 210
--> under dense:
--> count
--> 9
--> under smw, uniform:
--> count
--> 203
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 420, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE town GLOB 'e*';
--> count
--> 0
--> warning: a condition on town matches nothing in the declared domains
SELECT COUNT(*) FROM visits WHERE LENGTH(town) = 3;
--> count
--> 210
--> under dense:
--> count
--> 142
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 630, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE UPPER(town) = 'ELM' AND SUBSTR(town, 1, 1) = 'E';
--> count
--> 180
--> under dense:
--> count
--> -15
--> under smw, classes; smw release:
--> count
--> 181
SELECT COUNT(*) FROM visits WHERE 'It''s' = 'It''s' AND town = 'Elm';
--> count
--> 180
--> under dense:
--> count
--> -15
--> under smw, classes; smw release:
--> count
--> 181
SELECT COUNT(*) FROM visits WHERE "town" = 'Elm' AND [age] = 3 AND `sex` = 'F';
--> count
--> 46
--> under dense:
--> count
--> 25
--> under smw release:
--> count
--> 45

-- On text without a domain they would have to read the rows' texts.
SELECT COUNT(*) FROM visits WHERE zip LIKE '152%';
--> error unsupported at 35: LIKE of column zip, which has no domain, is outside the dialect
--> hint: pin it with = or IN
