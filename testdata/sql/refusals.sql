-- Each refusal has its code, where it is, and what to do instead.
SELECT * FROM visits;
--> error unsupported at 8: SELECT * is outside the dialect
--> hint: write SELECT COUNT(*) FROM table WHERE …
SELECT age FROM visits WHERE sex = 'F';
--> error unsupported at 8: a bare column in the select list is outside the dialect
--> hint: write SELECT COUNT(*) FROM table WHERE …; SELECT age, COUNT(*) FROM table GROUP BY age counts by its values
SELECT COUNT(*) FROM nowhere;
--> error unknown at 22: there is no private table nowhere
--> hint: SHOW TABLES lists the private tables
SELECT COUNT(*) FROM raw_visits;
--> error unsupported at 22: raw_visits holds private rows
--> hint: ask the private table visits instead
SELECT COUNT(*) FROM visits WHERE seks = 'F';
--> error unknown at 35: no column seks in table visits
--> hint: did you mean sex?
SELECT COUNT(*) FROM visits WHERE sex = "F";
--> error unknown at 41: no column F in table visits
--> hint: the columns are sex, age, town, score, zip (a text is written in single quotes: 'F')
SELECT COUNT(*) FROM visits WHERE VARIANCE(age) > 1;
--> error unsupported at 35: the aggregate VARIANCE is outside the dialect
--> hint: an aggregate stands in the select list, not in WHERE
SELECT COUNT(*) FROM visits GROUP BY STDDEV(age);
--> error malformed at 38: STDDEV cannot stand in GROUP BY
SELECT COUNT(*) FROM visits WHERE random() > 0;
--> error unsupported at 35: the function random() is outside the dialect
--> hint: compute it in a view and declare it as a column
SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits;
--> COUNT(*)
--> 240
--> under dense:
--> COUNT(*)
--> 314
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
SELECT COUNT(*) FROM visits WHERE age = ?;
--> error invalid at 0: the number of placeholders is 1 and of arguments 0
SELECT COUNT(*) FROM visits WHERE;
--> error malformed at 34: the statement ends too early
SELECT COUNT(* FROM visits;
--> error malformed at 16: unexpected FROM
SELECT COUNT(*) FROM visits WHERE town = 'Elm;
--> error malformed at 42: unterminated string
--> hint: a quote inside a string is doubled: ''
SELEC COUNT(*) FROM visits;
--> error malformed at 1: no statement starts with SELEC
--> hint: did you mean SELECT?
UPDATE visits SET age = 1;
--> error unsupported at 1: UPDATE is outside the dialect
--> hint: change rows with another SQLite client
DELETE FROM visits;
--> error unsupported at 1: DELETE is outside the dialect
--> hint: change rows with another SQLite client
INSERT INTO visits VALUES ('F', 1, 'Elm', 0, '15213');
--> error unsupported at 1: INSERT is outside the dialect
--> hint: load rows with .import or another SQLite client
DROP TABLE visits;
--> error unsupported at 6: DROP TABLE is outside the dialect
--> hint: DROP PRIVATE TABLE and DROP PUBLIC TABLE withdraw a declaration; the rows stay
PRAGMA table_info(visits);
--> error unsupported at 1: PRAGMA is outside the dialect
--> hint: settings are read by SHOW SETTINGS and written by SET name = value
BEGIN;
--> error unsupported at 1: BEGIN is outside the dialect
--> hint: every statement is a transaction of its own
ATTACH 'x.db' AS x;
--> error unsupported at 1: ATTACH is outside the dialect
--> hint: rows of a PostgreSQL database are reached by CREATE SOURCE
SET colour = red;
--> error unknown at 5: there is no setting colour
--> hint: the settings are mechanism, accuracy, confidence, clamp, unverified, margins
SET accuracy = -1;
--> error invalid at 5: accuracy must be a positive number of counts
--> hint: SET accuracy = 50 asks for answers within ±50; SET accuracy = default buys nothing
SHOW NONSENSE;
--> error unsupported at 6: SHOW NONSENSE is outside the dialect
--> hint: SHOW lists TABLES, RELEASES, MECHANISMS, BUDGET, LEDGER, SETTINGS, SOURCES, USERS, GRANTS
DESCRIBE nowhere;
--> error unknown at 10: there is no private table nowhere
--> hint: SHOW TABLES lists the private tables
CREATE RELEASE r ON visits (height) USING PROJECTION WITH (epsilon = 1);
--> error unknown at 29: visits has no column height
--> hint: DESCRIBE visits lists its columns
CREATE RELEASE r ON visits (zip) USING PROJECTION WITH (epsilon = 0.1, transform = identity);
--> error invalid at 0: the identity transform has a row for each of infinitely many possible records, more than 268435456
--> hint: use transform = sparse, fewer columns, or more memory
CREATE RELEASE r ON visits (zip) USING PROJECTION WITH (epsilon = 0.1, transform = dense);
--> error invalid at 0: the paper's T is 8.8e+12 rows at N̂ = 240, m = 65536 and k = 1000000
--> hint: give rows = …, up to 1048576: privacy does not depend on it
CREATE RELEASE r ON visits USING MAGIC WITH (epsilon = 1);
--> error invalid at 34: there is no algorithm MAGIC
--> hint: the algorithms are PROJECTION, MARGINALS and SMW
CREATE RELEASE r ON visits (age) USING PROJECTION WITH (epsilon = 1, colour = red);
--> error invalid at 70: there is no option colour here
--> hint: the options are epsilon, delta, transform, rows, max_support, memory, heavy, clip, noise, queries, beta, estimate
CREATE RELEASE r ON visits (age) USING PROJECTION WITH (epsilon = 1e6);
--> error invalid at 67: epsilon "1e6" is above 1000
--> hint: give epsilon as a decimal number between 1e-15 and 1000, such as 0.5
CREATE PRIVATE TABLE visits (age INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (epsilon = 1);
--> error invalid at 22: the rows of raw_visits already have the budget epsilon = 4, delta = 1e-6, interactive = 0.5, by visits
--> hint: a budget belongs to the rows and cannot be declared anew: give the same one to continue it, WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)
--> under sparse, named; smw, classes; smw, uniform; smw release:
--> error invalid at 22: the rows of raw_visits already have the budget epsilon = 1000, delta = 1e-6, interactive = 0.5, by visits
--> hint: a budget belongs to the rows and cannot be declared anew: give the same one to continue it, WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)
CREATE PRIVATE TABLE again (age INTEGER BETWEEN 0 AND 9) FROM raw_visits;
--> error invalid at 22: the rows of raw_visits already have the budget epsilon = 4, delta = 1e-6, interactive = 0.5, by visits
--> hint: a budget belongs to the rows and cannot be declared anew: give the same one to continue it, WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)
--> under sparse, named; smw, classes; smw, uniform; smw release:
--> error invalid at 22: the rows of raw_visits already have the budget epsilon = 1000, delta = 1e-6, interactive = 0.5, by visits
--> hint: a budget belongs to the rows and cannot be declared anew: give the same one to continue it, WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)
CREATE PRIVATE TABLE again (age INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (delta = 1e-6);
--> error invalid at 22: the rows of raw_visits already have the budget epsilon = 4, delta = 1e-6, interactive = 0.5, by visits
--> hint: a budget belongs to the rows and cannot be declared anew: give the same one to continue it, WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)
--> under sparse, named; smw, classes; smw, uniform; smw release:
--> error invalid at 22: the rows of raw_visits already have the budget epsilon = 1000, delta = 1e-6, interactive = 0.5, by visits
--> hint: a budget belongs to the rows and cannot be declared anew: give the same one to continue it, WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)
DROP RELEASE nowhere;
--> error unknown at 14: there is no release nowhere
