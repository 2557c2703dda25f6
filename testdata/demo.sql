-- A tour of dpsql on a public data set, and on an invented one. From the top of the repository:
--
--     go run ./cmd/dpsql -f testdata/demo.sql demo.db
--
-- The first run imports, declares, releases and asks. Run it again: every answer comes back as it was, and nothing is
-- charged. Afterwards `go run ./cmd/dpsql demo.db` opens a shell on the file.

-- Tables and error bars, in a pipe too. Drop this line for CSV.
.mode table

-- 1. Import. File names are relative to this script. ------------------------------------------------------------------

.import --if-missing adult/people.csv.gz raw_adult
.import --if-missing adult/countries.csv countries

-- 2. Declare. ---------------------------------------------------------------------------------------------------------

-- A public table is no secret. The domain of a column may be read from it.
CREATE PUBLIC TABLE IF NOT EXISTS countries;

-- UCI Adult: 48,842 persons of a census. A domain lists the values that a column can have. It comes from a code book,
-- never from the rows. The rows get one budget, (ε, δ) = (4, 1e-6), for everything that anybody is ever told about them:
-- half of it for releases, half for answers and mechanisms that are paid for one by one.
CREATE PRIVATE TABLE IF NOT EXISTS adult (
    age            INTEGER BETWEEN 16 AND 100,
    workclass      TEXT IN ('Private', 'Self-emp-inc', 'Self-emp-not-inc', 'Federal-gov', 'Local-gov', 'State-gov',
                            'Without-pay', 'Never-worked', 'unknown'),
    education      TEXT IN ('Preschool', '1st-4th', '5th-6th', '7th-8th', '9th', '10th', '11th', '12th', 'HS-grad',
                            'Some-college', 'Assoc-voc', 'Assoc-acdm', 'Bachelors', 'Masters', 'Prof-school', 'Doctorate'),
    marital_status TEXT IN ('Married-civ-spouse', 'Married-AF-spouse', 'Married-spouse-absent', 'Separated', 'Divorced',
                            'Widowed', 'Never-married'),
    occupation     TEXT IN ('Adm-clerical', 'Armed-Forces', 'Craft-repair', 'Exec-managerial', 'Farming-fishing',
                            'Handlers-cleaners', 'Machine-op-inspct', 'Other-service', 'Priv-house-serv',
                            'Prof-specialty', 'Protective-serv', 'Sales', 'Tech-support', 'Transport-moving', 'unknown'),
    race           TEXT IN ('White', 'Black', 'Asian-Pac-Islander', 'Amer-Indian-Eskimo', 'Other'),
    sex            TEXT IN ('Female', 'Male'),
    hours_per_week INTEGER BETWEEN 1 AND 99,
    native_country TEXT IN (SELECT name FROM countries),
    income         TEXT IN ('<=50K', '>50K')
) FROM raw_adult
  WITH (epsilon = 4, delta = 1e-6, interactive = 0.5);

-- 3. Release. A release is paid for once, here. What it answers afterwards is free. -----------------------------------

-- identity: a noisy count for each of the 16 · 7 · 2 · 2 = 448 combinations of values.
CREATE RELEASE IF NOT EXISTS degrees
    ON adult (education, marital_status, sex, income)
    USING PROJECTION WITH (epsilon = 0.6, transform = identity);

-- sparse: 10,602,900 combinations, which are hashed into fewer noisy sums. Good for queries that pin most columns: the
-- error grows with √m, where m, the support, is the number of combinations that satisfy the query.
CREATE RELEASE IF NOT EXISTS jobs
    ON adult (age, occupation, sex, hours_per_week, native_country)
    USING PROJECTION WITH (epsilon = 0.4, transform = sparse);

-- dense: the random projection of Blum and Roth, Algorithm 2, with Gaussian noise. It is here to be looked at: for these
-- 170 combinations an identity release of the same ε would be several times tighter.
CREATE RELEASE IF NOT EXISTS ages
    ON adult (age, sex)
    USING PROJECTION WITH (epsilon = 0.2, transform = dense, rows = 8192);

-- SMW, the sparse multiplicative weights of the paper's section 3, keeps a guess of the table and corrects it where the
-- rows disagree. As a release it is asked a whole class of queries until it agrees with all of them. Here it starts from
-- a uniform guess, so that it has something to learn. SHOW RELEASES says how many updates it made.
CREATE RELEASE IF NOT EXISTS incomes
    ON adult (sex, income)
    USING SMW WITH (epsilon = 0.7, max_updates = 8, free_columns = 1, prior = uniform);

-- As a mechanism it answers the queries that you ask, and pays only when one surprises it. Ten surprises are prepaid.
CREATE MECHANISM IF NOT EXISTS live
    ON adult (race, sex, income)
    USING SMW WITH (epsilon = 1.6, max_updates = 10, queries = 100);

-- 4. Ask. These are free: the release with the smallest error that covers a query answers it. --------------------------

-- MARGIN puts the error bar into the row, where programs find it.
SELECT sex, COUNT(*) AS doctorates, MARGIN(doctorates) AS margin FROM adult
 WHERE education = 'Doctorate' AND income = '>50K' GROUP BY sex;

SELECT COUNT(*) AS "men of 39, managers, 40 hours a week, US" FROM adult
 WHERE age = 39 AND occupation = 'Exec-managerial' AND sex = 'Male'
   AND hours_per_week = 40 AND native_country = 'United-States';

-- SET mechanism asks one release or mechanism by name.
SET mechanism = ages;
SELECT COUNT(*) AS "women of 20 to 29 (dense)" FROM adult WHERE sex = 'Female' AND age BETWEEN 20 AND 29;

SET mechanism = incomes;
SELECT COUNT(*) AS "women above 50K (SMW release)" FROM adult WHERE sex = 'Female' AND income = '>50K';

SET mechanism = live;
SELECT COUNT(*) AS "white women (SMW mechanism)" FROM adult WHERE race = 'White' AND sex = 'Female';
SET mechanism = auto;

-- 5. Buy. No release has workclass. Under SET accuracy a direct answer is bought; asked again, it is free. -------------

SET accuracy = 40;
SELECT COUNT(*) AS "self-employed" FROM adult WHERE workclass IN ('Self-emp-inc', 'Self-emp-not-inc');
SET accuracy = default;

-- 6. Columns as people have them. --------------------------------------------------------------------------------------

-- Admissions to a hospital, as an office has them: dates, costs with cents, several rows a patient. Fields are separated
-- by semicolons, and fractions have a decimal comma. The import finds that out, and says so.
.import --if-missing clinic/admissions.csv.gz raw_admissions

-- The unit of protection is the patient, and at most three admissions of each count. With CLAMP, a number beyond a bound
-- stands for the bound. A cost stands for the step of 250 that it lies in. A text that is not listed counts as OTHER.
CREATE PRIVATE TABLE IF NOT EXISTS admissions (
    age       INTEGER BETWEEN 0 AND 99 CLAMP,
    sex       TEXT IN ('f', 'm') OR OTHER,
    ward      TEXT IN ('cardiology', 'maternity', 'medicine', 'neurology', 'paediatrics', 'surgery'),
    admitted  DATE BETWEEN '2022-01-01' AND '2024-12-31',
    cost      NUMERIC(10, 2) BETWEEN 0 AND 15000 STEP 250 CLAMP,
    emergency BOOLEAN
) FROM raw_admissions
  WITH (epsilon = 3, delta = 1e-6, unit = patient, max_rows = 3);

CREATE RELEASE IF NOT EXISTS costs ON admissions (ward, cost) USING PROJECTION WITH (epsilon = 0.8);
CREATE RELEASE IF NOT EXISTS days ON admissions (admitted) USING PROJECTION WITH (epsilon = 0.6);

SELECT ward, COUNT(*) AS n, MEDIAN(cost) AS "median cost", QUANTILE(cost, 0.9) AS "90th percentile" FROM admissions
 GROUP BY ward ORDER BY n DESC;

SELECT DATE_TRUNC('quarter', admitted) AS quarter, COUNT(*) AS n FROM admissions WHERE admitted >= '2024-01-01'
 GROUP BY quarter;

-- How many patients, and how many admissions of them?
SET accuracy = 80;
SELECT COUNT(DISTINCT patient) AS "patients over 80", COUNT(*) AS admissions FROM admissions WHERE age > 80;
SET accuracy = default;

-- 7. What it all cost. SHOW LEDGER lists each charge, SHOW RELEASES what was built. ------------------------------------

SHOW BUDGET;

-- 8. Give it away. demo.html answers SQL from these releases in any browser, without dpsql. It costs nothing. ----------

EXPORT RELEASE IF NOT EXISTS degrees, incomes, costs, days TO '../demo.html'
  WITH (title = 'A census and a clinic', about = 'The releases of the demonstration of dpsql.', public = (countries));
