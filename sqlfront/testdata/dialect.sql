-- Statements that the reference list of the repository's testdata does not have,
-- marked as there.
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
-- ok
SELECT sex, COUNT(*) FILTER (WHERE age > 64) * 100.0 / COUNT(*) AS old, SUM(age) FILTER (WHERE sex = 1 AND age > 3) FROM pums GROUP BY sex HAVING COUNT(*) FILTER (WHERE age IS NULL) > 3;
