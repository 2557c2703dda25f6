-- Worksheets of Tableau: aliases such as TEMP(…), casts, HAVING (COUNT(1) > 0), and SELECT TOP.
SELECT "visits"."sex" AS "sex", SUM(1) AS "sum:Number of Records:ok" FROM "public"."visits" "visits" GROUP BY 1;
--> sqlite
SELECT "visits"."sex" AS "sex", COUNT(1) AS "cnt:visits:ok" FROM "public"."visits" "visits" GROUP BY "visits"."sex" HAVING (COUNT(1) > 0);
--> sqlite
SELECT "visits"."year" AS "year", AVG(CAST("visits"."days" AS DOUBLE PRECISION)) AS "avg:days:ok" FROM "public"."visits" "visits" GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT "visits"."year" AS "year", SUM(CAST("visits"."days" AS BIGINT)) AS "sum:days:ok" FROM "public"."visits" "visits" GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT (CASE WHEN ("visits"."age" < 18) THEN 'minor' WHEN NOT ("visits"."age" < 18) THEN 'adult' ELSE NULL END) AS "Calculation_1", COUNT(1) AS "n" FROM "visits" GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT CAST("visits"."year" AS TEXT) AS "yr", COUNT(1) AS "n" FROM "public"."visits" "visits" WHERE (CAST("visits"."year" AS TEXT) IN ('2024', '2025')) GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT TOP 3 "visits"."diagnosis" AS "diagnosis", COUNT(1) AS "n" FROM "visits" GROUP BY "visits"."diagnosis" ORDER BY "n" DESC, "diagnosis";
--> sqlite
SELECT "visits"."diagnosis" AS "diagnosis", COUNT(1) AS "n" FROM "visits" INNER JOIN (SELECT "visits"."diagnosis" AS "diagnosis", COUNT(1) AS "$__alias__0" FROM "visits" GROUP BY 1 ORDER BY 2 DESC, 1 ASC LIMIT 3) "t0" ON "visits"."diagnosis" = "t0"."diagnosis" GROUP BY 1;
--> refused unsupported at 86: a join of private rows with a sub-select is outside the dialect
--> hint: select rows by it, WHERE x IN (SELECT …); or aggregate the private rows in a sub-select of their own, and join its result
--: SELECT "visits"."diagnosis" AS "diagnosis", COUNT(1) AS "n" FROM "visits" WHERE "visits"."diagnosis" IN (SELECT "visits"."diagnosis" FROM "visits" GROUP BY 1 ORDER BY COUNT(1) DESC, 1 ASC LIMIT 3) GROUP BY 1;
SELECT "t0"."diagnosis", "t0"."n" FROM (SELECT diagnosis, COUNT(1) AS n FROM visits GROUP BY 1) "t0" WHERE "t0"."n" >= 500 ORDER BY 1;
--> sqlite
SELECT SUM("visits"."days") AS "TEMP(x)", COUNT("visits"."days") AS "TEMP(y)" FROM "visits" HAVING (COUNT(1) > 0);
--> sqlite
SELECT "diagnoses"."chapter" AS "chapter", "visits"."sex" AS "sex", SUM("visits"."days") AS "sum:days:ok" FROM "visits" INNER JOIN "diagnoses" ON ("visits"."diagnosis" = "diagnoses"."code") GROUP BY 1, 2 ORDER BY 1, 2;
--> sqlite
SELECT 100 * (SUM(CASE WHEN "visits"."sex" = 'F' THEN 1 ELSE 0 END) / CAST(NULLIF(COUNT(1), 0) AS DOUBLE PRECISION)) AS "pct" FROM "visits";
--> sqlite
SELECT SUM(100.0 * n) / MIN(t.total) AS pct FROM (SELECT COUNT(*) AS n FROM visits WHERE sex = 'F') a CROSS JOIN (SELECT COUNT(*) AS total FROM visits) t;
--> sqlite
SELECT EXTRACT(YEAR FROM "events"."day"::date) AS "yr", EXTRACT(QUARTER FROM "events"."day"::date) AS "qr", SUM("events"."cost") AS "cost" FROM "events" GROUP BY 1, 2 ORDER BY 1, 2;
--> sqlite
SELECT "visits"."zip" AS "zip", COUNT(1) AS "n" FROM "visits" GROUP BY 1;
--> refused unsupported at 8: GROUP BY zip, which has no declared domain, is outside the dialect
--> hint: list the values to group by: WHERE zip IN ('…', '…') GROUP BY zip; or have the curator find them: CREATE PUBLIC TABLE keys AS SELECT DISTINCT zip FROM visits WITH (epsilon = …), or CREATE RELEASE r ON visits (zip) USING PROJECTION WITH (epsilon = …, heavy = named)
--: SELECT "visits"."zip" AS "zip", COUNT(1) AS "n" FROM "visits" WHERE "visits"."zip" IN ('15213', '15217') GROUP BY 1;
SELECT "visits"."zip" AS "zip", COUNT(1) AS "n" FROM "visits" WHERE ("visits"."zip" IN ('15213', '15217')) GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT CASE WHEN (GROUPING("visits"."year") = 1) THEN 'Grand total' ELSE CAST("visits"."year" AS TEXT) END AS "yr", COUNT(1) AS "n" FROM "visits" GROUP BY ROLLUP ("visits"."year") ORDER BY "n";
--> postgres
