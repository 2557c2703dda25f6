-- A tour of dpsql on two small public data sets. Run it from the top of the repository:
--
--     go run ./cmd/dpsql -f testdata/demo.sql demo.db
--
-- The first run imports, declares, releases and asks. Run it again: every answer comes back as it was, and SHOW LEDGER
-- has no new line, for what was paid for once is kept. Afterwards, `go run ./cmd/dpsql demo.db` is a shell on the file.

-- Tables and error bars, in a pipe too; drop this line for csv or json.
.mode table

-- 1. Import. Paths are relative to this script. -----------------------------------------------------------------------

.import --if-missing adult/adult.csv raw_adult
.import --if-missing adult/countries.csv countries
.import --if-missing pums/PUMS.csv raw_pums

-- 2. Declare. ---------------------------------------------------------------------------------------------------------

-- A public table is no secret: the domain of a column may be read from it.
CREATE PUBLIC TABLE IF NOT EXISTS countries;

-- UCI Adult, 48,842 persons, coded as integers; testdata/adult/README.md says what the codes mean. Domains are declared
-- here and never read off the rows. The rows get (ε, δ) = (4, 1e-6) for everything that is ever said about them, half of
-- it for releases and half for questions asked one at a time.
CREATE PRIVATE TABLE IF NOT EXISTS adult (
    age              INTEGER BETWEEN 0 AND 84,                -- years - 16
    workclass        INTEGER BETWEEN 0 AND 8,
    fnlwgt           INTEGER BETWEEN 0 AND 99,
    "education-num"  INTEGER BETWEEN 0 AND 15,                -- 8 high school, 12 bachelor, 15 doctorate
    "marital-status" INTEGER BETWEEN 0 AND 6,                 -- 0 married, 1 divorced, 2 never married
    occupation       INTEGER BETWEEN 0 AND 14,                -- 4 managers, 5 professionals, 9 farming and fishing
    relationship     INTEGER BETWEEN 0 AND 5,                 -- 0 wife, 2 husband, 5 unmarried
    race             INTEGER BETWEEN 0 AND 4,                 -- 0 white, 4 black
    sex              INTEGER IN (0, 1),                       -- 0 female, 1 male
    "capital-gain"   INTEGER BETWEEN 0 AND 99,
    "capital-loss"   INTEGER BETWEEN 0 AND 99,
    "hours-per-week" INTEGER BETWEEN 0 AND 98,                -- hours - 1
    "native-country" INTEGER IN (SELECT code FROM countries),
    "income>50K"     INTEGER IN (0, 1)
) FROM raw_adult
  WITH (epsilon = 4, delta = 1e-6, interactive = 0.5);

-- A census sample of 1,000 persons. Without a delta the budget is pure ε, all of it for releases.
CREATE PRIVATE TABLE IF NOT EXISTS pums (
    age     INTEGER BETWEEN 0 AND 100,
    sex     INTEGER IN (0, 1),
    educ    INTEGER BETWEEN 1 AND 16,
    race    INTEGER BETWEEN 1 AND 6,
    income  INTEGER BETWEEN 0 AND 500000,
    married INTEGER IN (0, 1)
) FROM raw_pums
  WITH (epsilon = 1);

-- 3. Release. Each is paid for once, here; what is asked of it afterwards is free. ------------------------------------

-- identity: a noisy count for each of the 13,440 possible records. The thing to beat where so few are possible.
CREATE RELEASE IF NOT EXISTS adult_cells
    ON adult ("education-num", "marital-status", relationship, race, sex, "income>50K")
    USING PROJECTION WITH (epsilon = 0.6, transform = identity);

-- sparse: 10,602,900 records are possible, so they are hashed into fewer noisy sums; SHOW RELEASES below says how many.
-- Good for queries that pin most columns: the error grows with √m, where m, the support, is the number of possible
-- records that satisfy the query.
CREATE RELEASE IF NOT EXISTS adult_jobs
    ON adult (age, occupation, sex, "hours-per-week", "native-country")
    USING PROJECTION WITH (epsilon = 0.4, transform = sparse);

-- dense: the random projection of Blum and Roth, Algorithm 2, with Gaussian noise. Kept small, for a look at it: with
-- 170 possible records an identity release of the same ε would be several times tighter.
CREATE RELEASE IF NOT EXISTS adult_ages
    ON adult (age, sex)
    USING PROJECTION WITH (epsilon = 0.2, transform = dense, rows = 8192);

CREATE RELEASE IF NOT EXISTS pums_cells
    ON pums (age, sex, married)
    USING PROJECTION WITH (epsilon = 1);

-- SMW, interactive: it guesses, checks in private whether the guess is good enough, and pays only when it is not. Ten
-- such surprises are prepaid. Few columns and few queries keep its error bars below 1,000 counts at this size.
CREATE MECHANISM IF NOT EXISTS adult_live
    ON adult (race, sex, "income>50K")
    USING SMW WITH (epsilon = 1.6, max_updates = 10, queries = 100);

-- SMW, asked every conjunction that leaves at most one of three columns free, until a whole pass agrees with the rows:
-- 44 queries, good at once. It starts from a uniform guess here, so that it has something to learn: SHOW RELEASES says how
-- many updates it made. Its error does not grow with the number of possible records; for 48,842 rows it is wide.
CREATE RELEASE IF NOT EXISTS adult_cube
    ON adult (race, sex, "income>50K")
    USING SMW WITH (epsilon = 0.7, max_updates = 12, free_columns = 1, prior = uniform);

SHOW RELEASES;
SHOW TABLES;

-- 4. Ask. Nothing here costs anything: the tightest release that covers a query answers it. ----------------------------

SELECT COUNT(*) AS "doctorates above 50K" FROM adult
 WHERE "education-num" = 15 AND "income>50K" = 1;

SELECT COUNT(*) AS "husbands with a bachelor's degree or more" FROM adult
 WHERE relationship = 2 AND "education-num" >= 12;

SELECT COUNT(*) AS "widowed or divorced women above 50K" FROM adult
 WHERE sex = 0 AND "marital-status" IN (1, 4) AND "income>50K" = 1;

-- Queries of small support are what the sparse release is for: m = 5 and m = 45 of ten million.
SELECT COUNT(*) AS "male managers of 30 to 34, 40 hours a week, US" FROM adult
 WHERE age BETWEEN 14 AND 18 AND occupation = 4 AND sex = 1 AND "hours-per-week" = 39 AND "native-country" = 0;

SELECT COUNT(*) AS "farm hands of 30 to 44, 40, 50 or 60 hours a week, Mexico" FROM adult
 WHERE age BETWEEN 14 AND 28 AND occupation = 9 AND sex = 1
   AND "hours-per-week" IN (39, 49, 59) AND "native-country" = 20;

SELECT COUNT(*) AS "married and 65 or older (pums)" FROM pums WHERE age >= 65 AND married = 1;

-- MARGIN puts the error bar into the row, where programs find it.
SELECT COUNT(*) AS "men or married, not both (pums)", MARGIN(COUNT(*)) AS margin FROM pums
 WHERE age BETWEEN 30 AND 33 AND (sex = 1 AND married = 0 OR sex = 0 AND married = 1);

-- 5. Ask one release or mechanism by name. ----------------------------------------------------------------------------

SET mechanism = adult_ages;
SELECT COUNT(*) AS "women of 20 to 29 (dense)" FROM adult WHERE sex = 0 AND age BETWEEN 4 AND 13;

SET mechanism = adult_cube;
SELECT COUNT(*) AS "women above 50K, all races (SMW release)" FROM adult WHERE sex = 0 AND "income>50K" = 1;

-- A surprise is measured, and teaches the mechanism. What then follows from what it knows, as the second and the last of
-- these usually do, is only checked, with a wider error bar, and the prepaid surprise is kept for later.
SET mechanism = adult_live;
SELECT COUNT(*) AS "women (SMW)" FROM adult WHERE sex = 0;
SELECT COUNT(*) AS "men (SMW)" FROM adult WHERE sex = 1;
SELECT COUNT(*) AS "white men up to 50K (SMW)" FROM adult WHERE race = 0 AND sex = 1 AND "income>50K" = 0;
SELECT COUNT(*) AS "above 50K (SMW)" FROM adult WHERE "income>50K" = 1;
SELECT COUNT(*) AS "up to 50K (SMW)" FROM adult WHERE "income>50K" = 0;

-- 6. Buy an answer. No release has capital-gain; under SET accuracy a direct answer is bought, if nothing else reaches
--    it. Asked again, it is free. ------------------------------------------------------------------------------------

SET mechanism = auto;
SET accuracy = 40;
SELECT COUNT(*) AS "with a capital gain" FROM adult WHERE "capital-gain" > 0;
SET accuracy = default;

-- 7. Look behind it. EXPLAIN spends nothing and reads no private row. --------------------------------------------------

EXPLAIN SELECT COUNT(*) FROM adult WHERE sex = 1 AND "income>50K" = 1;

SHOW BUDGET;
SHOW LEDGER;
