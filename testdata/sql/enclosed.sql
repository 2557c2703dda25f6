-- Intervals hold the true values, which are written beside them: 52, 750, 750 / 180, 70.
SELECT LOW(COUNT(*)) <= 52 AND 52 <= HIGH(COUNT(*)) AS held FROM visits WHERE age = 3 AND sex = 'F';
--> held
--> 1
SELECT LOW(SUM(age)) <= 750 AND 750 <= HIGH(SUM(age)) AS held FROM visits WHERE town = 'Elm';
--> held
--> 1
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.061; the interactive budget left pays for 68 such answers
--> under smw release:
--> held
--> NULL
--> under direct:
--> held
--> 1
--> warning: this takes 19 % of what is left for direct answers: ρ = 0.015 of 0.083
SELECT LOW(AVG(age)) <= 750 / 180.0 AND 750 / 180.0 <= HIGH(AVG(age)) AS held FROM visits WHERE town = 'Elm';
--> held
--> 1
--> under dense; smw release:
--> held
--> NULL
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live) (of 2 queries of the statement 1 cannot be answered)
--> hint: SET accuracy = 2 answers them directly within ±2 (95 %) for ρ = 0.14 together; the interactive budget left pays for 29 such statements
SELECT LOW(COUNT(*) - COUNT(sex)) <= 70 AND 70 <= HIGH(COUNT(*) - COUNT(sex)) AS held FROM visits;
--> held
--> 1
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells) (of 2 queries of the statement 2 cannot be answered)
--> hint: SET accuracy = 50 answers them directly within ±50 (95 %) for ρ = 0.0015 together; the interactive budget left pays for 238007 such statements
SELECT sex, LOW(COUNT(*)) > 10 AS many FROM visits GROUP BY sex HAVING HIGH(COUNT(*)) > 60 ORDER BY MARGIN(COUNT(*)) >= 0, sex;
--> sex | many
--> NULL | 1
--> 'F' | 1
--> 'M' | 1
--> under dense; marginals; direct:
--> sex | many
--> NULL | 0
--> 'F' | 0
--> 'M' | 0

-- The margin is the larger distance, and LOW(x) is the lesser end.
SELECT MARGIN(COUNT(*)) >= HIGH(COUNT(*)) - COUNT(*) AND MARGIN(COUNT(*)) >= COUNT(*) - LOW(COUNT(*)) AS covers, LOW(COUNT(*)) <= HIGH(COUNT(*)) AS ordered FROM visits WHERE age = 3;
--> covers | ordered
--> 1 | 1
SELECT HIGH(COUNT(*)) - COUNT(*) = COUNT(*) - LOW(COUNT(*)) AS even FROM visits WHERE age = 3;
--> even
--> 1
--> under marginals, fitted:
--> even
--> 0

-- Simulated margins are even.
SET margins = simulated;
--> done
SELECT HIGH(COUNT(*)) - COUNT(*) = COUNT(*) - LOW(COUNT(*)) AS even FROM visits WHERE age = 3;
--> even
--> 1
SELECT MARGIN(SUM(age)) > 0 AS known FROM visits WHERE sex = 'F' AND age < 5;
--> known
--> 1
--> under sparse, named:
--> known
--> 0
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.012; the interactive budget left pays for 345 such answers
--> under smw release:
--> known
--> NULL
SET margins = proven;
--> done

-- Three columns, of which a fit to pairs knows nothing.
SELECT LOW(COUNT(*)) IS NULL AND HIGH(COUNT(*)) IS NULL AND MARGIN(COUNT(*)) IS NULL AS unverified FROM visits WHERE age = 3 AND sex = 'F' AND town = 'Elm';
--> unverified
--> 0
--> under marginals, fitted:
--> unverified
--> 1
SELECT LOW(SUM(age)) IS NULL AS unverified FROM visits WHERE sex = 'F' AND town = 'Elm';
--> unverified
--> 0
--> under marginals, fitted; smw release:
--> unverified
--> 1
--> under smw, classes; smw, uniform:
--> error uncovered at 0: no release or mechanism covers this query: the weights of the query are larger than the mechanism's largest, 1 (live)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.061; the interactive budget left pays for 68 such answers
--> under direct:
--> unverified
--> 0
--> warning: this takes 24 % of what is left for direct answers: ρ = 0.015 of 0.063
