-- Lists of keys that nobody declared. '15213' has 152 rows, and '15217' has 76.
CREATE PUBLIC TABLE found AS SELECT DISTINCT zip FROM visits WITH (epsilon = 0.2, delta = 1e-9);
--> done
SELECT * FROM found;
--> zip
--> '15213'
CREATE PUBLIC TABLE IF NOT EXISTS found AS SELECT DISTINCT zip AS z FROM visits WITH (epsilon = 0.2, delta = 1e-9);
--> done
CREATE PUBLIC TABLE more AS SELECT DISTINCT zip AS code FROM visits WITH (epsilon = 0.29, delta = 1e-9);
--> done
SELECT code FROM more ORDER BY code DESC;
--> code
--> '15217'
--> '15213'
CREATE PUBLIC TABLE few AS SELECT DISTINCT zip FROM visits WITH (epsilon = 0.01, delta = 1e-9, insist = on);
--> done
--> warning: no key was found: one of 3317 rows is found with probability 0.999999
SELECT COUNT(*) FROM few;
--> COUNT(*)
--> 0
-- Refusals.
CREATE PUBLIC TABLE found AS SELECT DISTINCT zip FROM visits WITH (epsilon = 0.2);
--> error exists at 21: the file has a table, view or index found already
--> hint: choose another name; DROP PUBLIC TABLE leaves the rows of a table where they are
CREATE PUBLIC TABLE other AS SELECT DISTINCT town FROM visits WITH (epsilon = 0.2);
--> error invalid at 46: the values of town are declared already
--> hint: DESCRIBE visits lists them
CREATE PUBLIC TABLE other AS SELECT DISTINCT upper(zip) FROM visits WITH (epsilon = 0.2);
--> error malformed at 51: expected FROM, found (
--> hint: WITH (epsilon = …, delta = …) pays for the keys of one column as it stands: SELECT DISTINCT column FROM table WITH (…); for conditions and expressions make a view with CREATE VIEW and declare it
CREATE PUBLIC TABLE other AS SELECT DISTINCT zip FROM visits WHERE age < 5 WITH (epsilon = 0.2);
--> error malformed at 62: expected WITH, found WHERE
--> hint: WITH (epsilon = …, delta = …) pays for the keys of one column as it stands: SELECT DISTINCT column FROM table WITH (…); for conditions and expressions make a view with CREATE VIEW and declare it
CREATE PUBLIC TABLE other AS SELECT DISTINCT zip FROM visits WITH (epsilon = 0.2, rows = 3);
--> error invalid at 83: there is no option rows here
--> hint: the options are epsilon, delta, insist
EXPLAIN CREATE PUBLIC TABLE other AS SELECT DISTINCT zip FROM visits;
--> error unsupported at 9: EXPLAIN CREATE PUBLIC TABLE without WITH (…) is outside the dialect
--> hint: EXPLAIN takes the SELECT alone; a table or view is declared public at no cost
-- Groups of listed keys.
SELECT zip, COUNT(*) FROM visits GROUP BY zip WITH ACCURACY 60;
--> zip | count
--> NULL | 12
--> '15213' | 152
--> '15217' | 76
--> 'OTHER' | 0
--> warning: OTHER has the rows of every zip that is not in few, found, more: rarer keys are in it
SELECT zip, COUNT(*) FROM visits WHERE zip <> '15217' AND sex = 'F' GROUP BY zip WITH ACCURACY 60;
--> zip | count
--> '15213' | 61
--> 'OTHER' | 0
--> warning: OTHER has the rows of every zip that is not in few, found, more: rarer keys are in it
