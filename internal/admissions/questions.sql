-- Twenty questions of a hospital's office about a raw file of admissions. No view was written by hand.
--
--     go run ./examples/office -rows 1000000 office
--     go run ./cmd/dpsql -f office/questions.sql office/office.db
--
-- The comment behind a question says how to ask SQLite for the truth. The tests compare it with the answer.

.mode table
.import --if-missing admissions.csv raw_admissions

-- 1. Declare. A patient is the unit: whatever is answered protects all of a patient's admissions together. -------------

CREATE PRIVATE TABLE IF NOT EXISTS places (postcode TEXT) FROM raw_admissions
    WITH (epsilon = 5, delta = 1e-7, unit = patient, max_rows = 3);

-- The postcodes that enough patients have become a public list. Nobody had to know them.
CREATE PUBLIC TABLE IF NOT EXISTS postcodes AS SELECT DISTINCT postcode FROM places WITH (epsilon = 0.3, delta = 1e-8);

CREATE PRIVATE TABLE IF NOT EXISTS admissions (
    age       INTEGER BETWEEN 0 AND 99 CLAMP,
    sex       TEXT IN ('f', 'm') OR OTHER OR NULL,
    ward      TEXT IN ('cardiology', 'surgery', 'medicine', 'maternity', 'paediatrics', 'neurology'),
    diagnosis TEXT IN ('A00', 'B01', 'C02', 'D03', 'E04', 'F05', 'G06', 'H07', 'I08', 'J09', 'K10', 'L11', 'M12', 'A13', 'B14') OR OTHER,
    postcode  TEXT IN (SELECT postcode FROM postcodes) OR OTHER,
    admitted  DATE BETWEEN '2022-01-01' AND '2024-12-31',
    stay      REAL BETWEEN 0 AND 40 STEP 0.5 CLAMP,
    cost      REAL BETWEEN 0 AND 20000 STEP 100 CLAMP,
    emergency BOOLEAN
) FROM raw_admissions
  WITH (epsilon = 5, delta = 1e-7, unit = patient, max_rows = 3);

-- 2. Release. What these answer is free. ------------------------------------------------------------------------------

CREATE RELEASE IF NOT EXISTS groups ON admissions (age, sex, ward, diagnosis, postcode, emergency)
    USING MARGINALS WITH (epsilon = 0.6, delta = 1e-9, degree = 2);
CREATE RELEASE IF NOT EXISTS days ON admissions (ward, admitted) USING PROJECTION WITH (epsilon = 0.4);
CREATE RELEASE IF NOT EXISTS stays ON admissions (ward, stay) USING PROJECTION WITH (epsilon = 0.4);
CREATE RELEASE IF NOT EXISTS costs ON admissions (ward, cost) USING PROJECTION WITH (epsilon = 0.4);
CREATE RELEASE IF NOT EXISTS old_and_dear ON admissions (age, cost) USING PROJECTION WITH (epsilon = 0.4);

-- 3. Ask. -------------------------------------------------------------------------------------------------------------

.print 1. How many admissions were there?
SELECT COUNT(*) AS admissions FROM admissions;
-- truth: SELECT COUNT(*) FROM raw_admissions

.print 2. How many a month in 2024?
SELECT date_trunc('month', admitted) AS month, COUNT(*) AS admissions FROM admissions WHERE admitted >= '2024-01-01' GROUP BY month ORDER BY month;
-- truth: SELECT date(admitted, 'start of month'), COUNT(*) FROM raw_admissions WHERE admitted >= '2024-01-01' GROUP BY 1 ORDER BY 1

.print 3. How many a year, and how many more than the year before?
SELECT year, n, n - LAG(n) OVER (ORDER BY year) AS more FROM (SELECT EXTRACT(YEAR FROM admitted) AS year, COUNT(*) AS n FROM admissions GROUP BY year) ORDER BY year;
-- truth: SELECT year, n, n - LAG(n) OVER (ORDER BY year) FROM (SELECT CAST(strftime('%Y', admitted) AS INTEGER) AS year, COUNT(*) AS n FROM raw_admissions GROUP BY 1) ORDER BY 1

.print 4. How many until the end of each quarter of 2023?
SELECT q, SUM(n) OVER (ORDER BY q) AS until_then FROM (SELECT (CAST(strftime('%m', admitted) AS INTEGER) + 2) / 3 AS q, COUNT(*) AS n
    FROM admissions WHERE admitted BETWEEN '2023-01-01' AND '2023-12-31' GROUP BY q) ORDER BY q;
-- truth: SELECT q, SUM(n) OVER (ORDER BY q) FROM (SELECT (CAST(strftime('%m', admitted) AS INTEGER) + 2) / 3 AS q, COUNT(*) AS n FROM raw_admissions WHERE admitted BETWEEN '2023-01-01' AND '2023-12-31' GROUP BY q) ORDER BY q

.print 5. Which day of the week is the busiest? (0 is Sunday)
SELECT strftime('%w', admitted) AS weekday, COUNT(*) AS admissions FROM admissions GROUP BY weekday ORDER BY weekday WITH ACCURACY 100;
-- truth: SELECT strftime('%w', admitted), COUNT(*) FROM raw_admissions GROUP BY 1 ORDER BY 1

.print 6. What is the median stay by ward, in days?
SELECT ward, MEDIAN(stay) AS median FROM admissions GROUP BY ward ORDER BY ward;
-- truth 0.5: SELECT ward, AVG(stay) FROM (SELECT ward, stay, ROW_NUMBER() OVER w AS i, COUNT(*) OVER (PARTITION BY ward) AS n FROM raw_admissions WINDOW w AS (PARTITION BY ward ORDER BY stay)) WHERE i IN ((n + 1) / 2, n / 2 + 1) GROUP BY 1 ORDER BY 1

.print 7. Which cost do nine of ten admissions not exceed, by ward?
SELECT ward, QUANTILE(cost, 0.9) AS cost FROM admissions GROUP BY ward ORDER BY ward;
-- truth 100: SELECT ward, MIN(cost) FROM (SELECT ward, cost, CUME_DIST() OVER (PARTITION BY ward ORDER BY cost) AS share FROM raw_admissions) WHERE share >= 0.9 GROUP BY 1 ORDER BY 1

.print 8. What does an admission cost on average, by ward?
SELECT ward, AVG(cost) AS average FROM admissions GROUP BY ward ORDER BY ward;
-- truth 50: SELECT ward, AVG(min(cost, 20000)) FROM raw_admissions GROUP BY 1 ORDER BY 1

.print 9. How long do the patients of a ward stay on average?
SELECT ward, AVG(stay) AS days FROM admissions GROUP BY ward ORDER BY ward;
-- truth 0.25: SELECT ward, AVG(stay) FROM raw_admissions GROUP BY 1 ORDER BY 1

.print 10. Which are the ten most frequent diagnoses, and how many have others?
SELECT CASE WHEN place > 10 OR diagnosis = 'OTHER' THEN 'others' ELSE diagnosis END AS diagnosis, SUM(n) AS admissions
    FROM (SELECT diagnosis, n, RANK() OVER (ORDER BY diagnosis = 'OTHER', n DESC) AS place FROM (SELECT diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis))
    GROUP BY 1 ORDER BY 1;

.print 11. How many patients were admitted, rather than how many times?
SELECT COUNT(DISTINCT patient) AS patients FROM admissions WITH ACCURACY 100;
-- truth: SELECT COUNT(DISTINCT patient) FROM raw_admissions

.print 12. How often is a patient admitted?
SELECT (SELECT COUNT(*) FROM admissions) * 1.0 / (SELECT COUNT(DISTINCT patient) FROM admissions) AS times WITH ACCURACY 100;
-- truth: SELECT COUNT(*) * 1.0 / COUNT(DISTINCT patient) FROM raw_admissions

.print 13. Which share comes as an emergency, by ward?
SELECT ward, AVG(emergency) AS share FROM admissions GROUP BY ward ORDER BY ward;
-- truth: SELECT ward, AVG(emergency) FROM raw_admissions GROUP BY 1 ORDER BY 1

.print 14. Do older patients cost more?
SELECT CORR(age, cost) AS correlation FROM admissions;
-- truth 0.01: SELECT (AVG(age * cost) - AVG(age) * AVG(cost)) / sqrt((AVG(age * age) - AVG(age) * AVG(age)) * (AVG(cost * cost) - AVG(cost) * AVG(cost))) FROM (SELECT min(age, 99) AS age, min(cost, 20000) AS cost FROM raw_admissions)

.print 15. By how much for each year of age?
SELECT REGR_SLOPE(cost, age) AS a_year FROM admissions;
-- truth 0.5: SELECT (AVG(age * cost) - AVG(age) * AVG(cost)) / (AVG(age * age) - AVG(age) * AVG(age)) FROM (SELECT min(age, 99) AS age, min(cost, 20000) AS cost FROM raw_admissions)

.print 16. How old are the patients?
SELECT age / 10 * 10 AS from_age, COUNT(*) AS admissions FROM admissions GROUP BY from_age ORDER BY from_age;
-- truth: SELECT min(age, 99) / 10 * 10, COUNT(*) FROM raw_admissions GROUP BY 1 ORDER BY 1

.print 17. How many men and women are there in each ward, in percent of the ward?
SELECT ward, sex, 100.0 * n / SUM(n) OVER (PARTITION BY ward) AS percent FROM (SELECT ward, sex, COUNT(*) AS n FROM admissions WHERE sex IN ('f', 'm') GROUP BY ward, sex) ORDER BY ward, sex;
-- truth: SELECT ward, sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY ward) FROM raw_admissions WHERE sex IN ('f', 'm') GROUP BY ward, sex ORDER BY ward, sex

.print 18. Where do the patients live? (postcodes that few have are OTHER)
SELECT postcode, COUNT(*) AS admissions FROM admissions GROUP BY postcode ORDER BY admissions DESC LIMIT 5;

.print 19. What did all admissions of 2024 cost together?
SELECT SUM(cost) AS total FROM admissions WHERE admitted >= '2024-01-01' WITH ACCURACY 3000000;
-- truth 1000000: SELECT SUM(min(cost, 20000)) FROM raw_admissions WHERE admitted >= '2024-01-01'

.print 20. How many stayed for two weeks or more, by ward?
SELECT ward, COUNT(*) FILTER (WHERE stay >= 14) AS long_stays, COUNT(*) AS admissions FROM admissions GROUP BY ward ORDER BY ward;
-- truth: SELECT ward, COUNT(*) FILTER (WHERE stay >= 14), COUNT(*) FROM raw_admissions GROUP BY 1 ORDER BY 1

SHOW BUDGET;
