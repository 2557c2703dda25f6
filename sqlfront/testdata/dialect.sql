-- The dialect by example. The line before a statement says what must happen:
--   table              a declaration of the table that the queries are bound to
--   ok                 accepted
--   same A             accepted, and every statement of group A means the same
--   later              refused as unsupported by this version
--   refused CODE       refused with that code and a position
-- table
CREATE PRIVATE TABLE pums (
  age INTEGER BETWEEN 0 AND 100, sex INTEGER IN (0, 1), educ INTEGER BETWEEN 1 AND 16,
  race INTEGER BETWEEN 1 AND 6, income INTEGER BETWEEN 0 AND 500000, married INTEGER IN (0, 1)
) FROM raw_pums WITH (epsilon = 4, delta = 1e-6);
-- ok
CREATE RELEASE pums_cells ON pums (age, sex, educ, race, married) USING PROJECTION WITH (epsilon = 1, transform = identity, max_support = 100000);
-- ok
SELECT COUNT(*) FROM pums;
-- same A
SELECT COUNT(*) FROM pums WHERE age = 40 AND sex = 1;
-- same A
SELECT count( * ) AS n FROM pums p WHERE (sex = 1) AND (p.age = 40);
-- same A
SELECT COUNT(*) FROM pums WHERE age IN (40, 40) AND NOT (sex <> 1);
-- same A
SELECT COUNT(*) FROM "pums" WHERE "age" = 40 AND "sex" IN (1);
-- same A
SELECT COUNT(*) FROM pums WHERE age BETWEEN 40 AND 40 AND sex > 0;
-- same A
SELECT COUNT(*) FROM pums WHERE NOT (age <> 40 OR sex = 0) /* the same again */;
-- same A
SELECT COUNT(*) FROM pums WHERE age >= 40 AND age < 41 AND sex != 0 AND educ BETWEEN 1 AND 16;
-- same A
SELECT COUNT(1) FROM pums WHERE age = 40 AND sex = 1;
-- ok
SELECT COUNT(age) FROM pums WHERE race IN (2, 3) AND married = 1;
-- ok
SELECT COUNT(*) FROM pums WHERE age IN (20, 21, 22) OR educ = 16;
-- same B
SELECT COUNT(*) FROM pums WHERE (sex + married) % 2 = 1;
-- same B
SELECT COUNT(*) FROM pums WHERE sex <> married;
-- same B
SELECT COUNT(*) FROM pums WHERE (sex = 1 AND married = 0) OR (sex = 0 AND married = 1);
-- ok
SELECT COUNT(*) FROM pums WHERE (sex, married) IN ((0, 1), (1, 1)) AND age > 90;
-- ok
SELECT COUNT(*), MARGIN(COUNT(*)) FROM pums WHERE educ >= 13;
-- ok
SELECT SUM(age), AVG(age), COUNT(*) FROM pums WHERE sex = 0;
-- ok
SELECT SUM(CASE WHEN married = 1 THEN 1 ELSE 0 END) AS m, COUNT(*) AS n FROM pums WHERE race = 1;
-- ok
SELECT sex, COUNT(*) FROM pums GROUP BY sex;
-- ok
SELECT race, married, COUNT(*) AS n FROM pums WHERE age BETWEEN 18 AND 65 GROUP BY race, married HAVING n > 5 ORDER BY n DESC LIMIT 3;
-- ok
SELECT educ, AVG(age) FROM pums GROUP BY 1 ORDER BY 1;
-- ok
SELECT COUNT(*) / 1000.0 FROM pums WHERE sex = 1;
-- ok
SELECT COUNT(*) FROM (SELECT age, sex FROM pums WHERE race = 1) t WHERE age = 30;
-- ok
SELECT COUNT(*) FROM pums WHERE age = 1000;
-- ok
EXPLAIN SELECT COUNT(*) FROM pums WHERE age = 40;
-- ok
SHOW BUDGET;
-- ok
SHOW LEDGER;
-- ok
DESCRIBE pums;
-- refused unsupported
SELECT * FROM pums;
-- refused unsupported
SELECT age FROM pums WHERE sex = 1;
-- refused unsupported
SELECT MAX(age) FROM pums;
-- refused unsupported
SELECT COUNT(DISTINCT age) FROM pums;
-- refused unsupported
SELECT COUNT(*) FROM pums a JOIN pums b ON a.age = b.age;
-- refused unsupported
SELECT COUNT(*) FROM pums WHERE age = (SELECT 40);
-- refused unsupported
SELECT COUNT(*) FROM pums UNION SELECT COUNT(*) FROM pums;
-- refused unsupported
SELECT COUNT(*) FROM pums WHERE random() > 0;
-- refused unsupported
UPDATE pums SET age = 1;
-- refused unsupported
DELETE FROM pums;
-- refused unsupported
INSERT INTO pums VALUES (1);
-- refused unknown
SELECT COUNT(*) FROM pums WHERE height = 1;
-- refused unknown
SELECT COUNT(*) FROM pums WHERE "heigth" = 'x';
-- refused malformed
SELECT COUNT(* FROM pums;
-- refused malformed
SELECT COUNT(*) FROM pums WHERE;
-- refused malformed
SELEC COUNT(*) FROM pums;
-- refused malformed
SELECT COUNT(*) FROM pums WHERE age IN ();
-- ok
CREATE PUBLIC TABLE icd10;
-- ok
CREATE PRIVATE TABLE IF NOT EXISTS admissions (
    sex        TEXT     IN ('F', 'M', NULL),
    age        INTEGER  BETWEEN 0 AND 120,
    diagnosis  TEXT     IN (SELECT code FROM icd10),
    zip        TEXT
) FROM raw_admissions
  WITH (epsilon = 2, delta = 1e-6, interactive = 0.5);
-- ok
CREATE RELEASE adm_cells ON admissions (sex, age, diagnosis, zip)
    USING PROJECTION WITH (epsilon = 0.5, transform = auto, max_support = 65536);
-- ok
CREATE MECHANISM adm_live ON admissions (sex, age, diagnosis)
    USING SMW WITH (epsilon = 0.5, max_updates = 50, max_support = 65536, queries = 1e6, beta = 0.05);
-- ok
SET mechanism = auto;
-- ok
SET accuracy = 25;
-- ok
SHOW TABLES;
-- ok
SHOW RELEASES;
-- ok
SHOW MECHANISMS;
-- ok
SHOW SETTINGS;
-- ok
DROP RELEASE r;
-- ok
DROP MECHANISM m;
-- ok
DROP PRIVATE TABLE t;
-- ok
EXPORT RELEASE adm_cells TO 'adm_cells.db';
-- refused malformed
SELECT COUNT(*) FROM pums WHERE age = 'abc;
