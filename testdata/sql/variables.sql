-- Arguments, and the variables that SET sets.
.parameter set years 3
.parameter set town Elm
SELECT COUNT(*) FROM visits WHERE age = :years AND town = :town;
--> count
--> 46
--> under dense:
--> count
--> -1
--> under smw release:
--> count
--> 45
SELECT COUNT(*) FROM visits WHERE age IN (:years, 4) OR town = @town;
--> count
--> 192
--> under dense:
--> count
--> 71
--> under smw, classes:
--> count
--> 194
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 336, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
.parameter set years three
SELECT COUNT(*) FROM visits WHERE age = :years;
--> error invalid at 41: column age is INTEGER and is compared with parameter 1, which is not a number
--> hint: compare it with an integer
SELECT COUNT(*) FROM visits WHERE age = :days;
--> error invalid at 0: the number of placeholders is 1 and of arguments 0

SET confidence = 0.99;
--> done
SELECT COUNT(*), MARGIN(COUNT(*)) FROM visits WHERE age = 3;
--> count | margin
--> 52 | 32.0
--> under sparse:
--> count | margin
--> 52 | 34.0
--> under sparse, named:
--> count | margin
--> 52 | 6.0
--> under dense:
--> count | margin
--> 29 | 153.0
--> under marginals:
--> count | margin
--> 52 | 123.0
--> under smw, classes:
--> count | margin
--> 52 | 29.0
--> under smw, uniform:
--> count | margin
--> 52 | 15.0
--> under smw release:
--> count | margin
--> 52 | 61.0
--> under direct:
--> count | margin
--> 52 | 100.0
SET clamp = on;
--> done
SELECT COUNT(*) FROM visits WHERE town = 'Oak' AND sex = 'M';
--> count
--> 0
--> under dense:
--> count
--> 70
--> under smw, uniform:
--> count
--> 11
SET unverified = off;
--> done
SET mechanism = projection;
--> done
SELECT COUNT(*) FROM visits WHERE age = 5;
--> count
--> 52
--> under dense:
--> count
--> 35
--> under marginals; smw, classes; smw, uniform; smw release:
--> error uncovered at 0: no release or mechanism covers this query: the table has none
--> hint: SET mechanism = auto tries every way
--> under direct:
--> error uncovered at 0: no release or mechanism covers this query within ±100: the table has none
--> hint: SET mechanism = auto tries every way
SET mechanism = smw;
--> done
SELECT COUNT(*) FROM visits WHERE age = 6;
--> error uncovered at 0: no release or mechanism covers this query: the table has none
--> hint: SET mechanism = auto tries every way
--> under smw, classes; smw release:
--> count
--> 12
--> under smw, uniform:
--> count
--> 17
--> under direct:
--> error uncovered at 0: no release or mechanism covers this query within ±100: the table has none
--> hint: SET mechanism = auto tries every way
SET mechanism = direct;
--> done
SELECT COUNT(*) FROM visits WHERE age = 7;
--> error invalid at 0: a direct answer needs an accuracy
--> hint: SET accuracy = 50 asks for answers within ±50
--> under direct:
--> count
--> 12
SET mechanism = cells;
--> done
SELECT COUNT(*) FROM visits WHERE age = 8;
--> count
--> 12
--> under dense:
--> count
--> 93
--> under smw, classes; smw, uniform; direct:
--> error unknown at 0: visits has no release or mechanism cells
--> hint: SET mechanism = auto
SET mechanism = auto;
--> done
SET accuracy = default;
--> done
SELECT COUNT(*) FROM visits WHERE age = 7;
--> count
--> 12
--> under dense:
--> count
--> 5
--> under smw, uniform:
--> count
--> 17
SHOW SETTINGS;
--> setting | value
--> 'mechanism' | 'auto'
--> 'accuracy' | 'default'
--> 'confidence' | '0.99'
--> 'clamp' | 'on'
--> 'unverified' | 'off'
--> 'margins' | 'proven'
