-- What analysts do in psql.
\pset format unaligned
\pset footer off
\pset pager off
\set VERBOSITY sqlstate
SET client_min_messages = warning;
\echo tables:
\dt
\echo visits:
\d visits
\echo wards, more:
\d+ wards
\echo none:
\d nowhere
\d
\d+
\dt+ wards
\dv
\dm
\di
\ds
\dn
\dn+
\df
\df+ nothing
\dT
\dD
\dx
\dp
\dd
\des
\dRp
\dO public.*
\dC int
\do ~~
\db
\dA
\dL
\dconfig search_path
\drds
\du
\dg
\l
\sf nothing
\encoding
SELECT COUNT(*) AS women FROM visits WHERE sex = 'F' AND smoker = TRUE \gset
\echo released women: :women
\set FETCH_COUNT 2
\pset tuples_only
\pset fieldsep ' '
\pset recordsep ', '
\echo -n 'released groups: '
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward;
\unset FETCH_COUNT
\pset fieldsep |
\pset recordsep '\n'
\pset tuples_only
SELECT ward, COUNT(*) AS n, AVG(age) AS mean FROM visits GROUP BY ward \gdesc
SELECT * FROM wards ORDER BY floor \gdesc
SELECT * FROM wards ORDER BY floor;
SELECT ward, floor, floor AS n FROM wards \crosstabview ward floor n
COPY (SELECT * FROM wards ORDER BY floor) TO STDOUT;
COPY (SELECT * FROM wards ORDER BY floor) TO STDOUT WITH (FORMAT csv, HEADER);
\copy (SELECT ward FROM wards ORDER BY floor) TO STDOUT
PREPARE old (bigint) AS SELECT COUNT(*) FROM visits WHERE age >= $1;
EXECUTE old (65) \gset
\echo released old: :count
DEALLOCATE old;
BEGIN;
DECLARE c CURSOR FOR SELECT ward FROM wards ORDER BY floor;
FETCH 2 FROM c;
FETCH ALL FROM c;
CLOSE c;
SAVEPOINT s;
SELEC 1;
SELECT 1;
ROLLBACK TO s;
SELECT 1 AS back;
COMMIT;
SHOW server_version_num \gset
\echo :server_version_num
SELECT current_user, current_database(), current_schema();
SELECT COUNT(*) FROM nowhere;
SELECT 1 AS one \; SELECT 2 AS two;
DISCARD ALL;
SELECT 1 AS again;
\echo the notice below an answer:
\set VERBOSITY default
SELECT COUNT(*) AS n FROM visits WHERE sex = 'F' \gset
