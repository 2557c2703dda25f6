-- The database of the examples in docs: invented visits to a clinic.
--
--     dpsql -f ~/dpsql/docs/sql/example.sql clinic.db
--
-- File names are relative to this script.

.import --null '' ../../testdata/clinic/visits.csv raw_visits
.import ../../testdata/clinic/diagnoses.csv diagnoses

CREATE PUBLIC TABLE diagnoses;

CREATE PRIVATE TABLE visits (
    sex       TEXT    IN ('F', 'M', NULL),
    age       INTEGER BETWEEN 0 AND 120,
    diagnosis TEXT    IN (SELECT code FROM diagnoses),
    zip       TEXT,                                   -- any text
    days      INTEGER BETWEEN 0 AND 30,
    year      INTEGER IN (2023, 2024, 2025)
) FROM raw_visits
  WITH (epsilon = 4, delta = 1e-6, interactive = 0.5);

CREATE RELEASE by_age   ON visits (sex, age)             USING PROJECTION WITH (epsilon = 0.4);
CREATE RELEASE by_group ON visits (sex, diagnosis, year) USING PROJECTION WITH (epsilon = 0.4);
CREATE RELEASE by_stay  ON visits (diagnosis, days)      USING PROJECTION WITH (epsilon = 0.4);
CREATE RELEASE by_zip   ON visits (diagnosis, zip)       USING PROJECTION
    WITH (epsilon = 0.4, transform = sparse, heavy = none, rows = 65536);
