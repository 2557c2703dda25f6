-- Questions, models and dashboards of Metabase: everything is quoted and qualified, and a
-- saved question stands in FROM as "source".
SELECT "public"."visits"."sex" AS "sex", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."sex" ORDER BY "public"."visits"."sex" ASC;
--> sqlite
SELECT COUNT(*) AS "count" FROM "public"."visits";
--> sqlite
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE "public"."visits"."diagnosis" = 'I10';
--> sqlite
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE ("public"."visits"."sex" = 'F') AND ("public"."visits"."age" >= 65) AND ("public"."visits"."age" < 80);
--> sqlite
SELECT "source"."sex" AS "sex", "source"."count" AS "count" FROM (SELECT "public"."visits"."sex" AS "sex", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."sex") AS "source" WHERE "source"."count" > 100 LIMIT 2000;
--> sqlite
SELECT * FROM (SELECT year, COUNT(*) AS n FROM visits GROUP BY year) AS "source" LIMIT 2000;
--> sqlite
SELECT * FROM (SELECT year, sex, COUNT(*) AS n FROM visits GROUP BY year, sex ORDER BY year, sex) AS "source" LIMIT 1048575;
--> sqlite
SELECT AVG("source"."count") AS "avg" FROM (SELECT "public"."visits"."year" AS "year", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."year") AS "source";
--> sqlite
SELECT "public"."visits"."year" AS "year", CAST(SUM(CASE WHEN "public"."visits"."days" > 7 THEN 1 ELSE 0.0 END) AS float) / NULLIF(COUNT(*), 0) AS "share" FROM "public"."visits" GROUP BY "public"."visits"."year" ORDER BY "public"."visits"."year" ASC;
--> sqlite
SELECT "public"."visits"."year" AS "year", SUM("public"."visits"."days") AS "sum", AVG("public"."visits"."days") AS "avg" FROM "public"."visits" GROUP BY "public"."visits"."year" ORDER BY "avg" DESC, "year" ASC;
--> sqlite
SELECT FLOOR(("public"."visits"."age" / 10.0)) * 10 AS "age", COUNT(*) AS "count" FROM "public"."visits" GROUP BY FLOOR(("public"."visits"."age" / 10.0)) * 10 ORDER BY 1;
--> sqlite, and empty groups
--: SELECT "public"."visits"."age" / 10 * 10 AS "age", COUNT(*) AS "count" FROM "public"."visits" GROUP BY 1 ORDER BY 1;
SELECT ("public"."visits"."age" / 10) * 10 AS "age", COUNT(*) AS "count" FROM "public"."visits" GROUP BY ("public"."visits"."age" / 10) * 10 ORDER BY ("public"."visits"."age" / 10) * 10 ASC;
--> sqlite, and empty groups
SELECT "Diagnoses"."chapter" AS "Diagnoses__chapter", COUNT(*) AS "count" FROM "public"."visits" INNER JOIN "public"."diagnoses" AS "Diagnoses" ON "public"."visits"."diagnosis" = "Diagnoses"."code" GROUP BY "Diagnoses"."chapter" ORDER BY "Diagnoses"."chapter" ASC;
--> sqlite
SELECT "Diagnoses"."chapter" AS "Diagnoses__chapter", COUNT(*) AS "count" FROM "public"."visits" LEFT JOIN "public"."diagnoses" AS "Diagnoses" ON "public"."visits"."diagnosis" = "Diagnoses"."code" GROUP BY "Diagnoses"."chapter" ORDER BY "Diagnoses"."chapter" ASC;
--> sqlite
SELECT DATE_TRUNC('month', CAST("public"."events"."day" AS timestamp)) AS "day", SUM("public"."events"."cost") AS "sum" FROM "public"."events" GROUP BY DATE_TRUNC('month', CAST("public"."events"."day" AS timestamp)) ORDER BY 1 ASC;
--> sqlite
SELECT "public"."visits"."sex", "public"."visits"."age" FROM "public"."visits" LIMIT 2000;
--> refused unsupported at 17: a bare column in the select list is outside the dialect
--> hint: write SELECT COUNT(*) FROM table WHERE …; SELECT "sex", COUNT(*) FROM table GROUP BY "sex" counts by its values
--: SELECT "public"."visits"."sex", "public"."visits"."age", COUNT(*) FROM "public"."visits" GROUP BY 1, 2 LIMIT 2000;
SELECT COUNT(DISTINCT "public"."visits"."zip") AS "count" FROM "public"."visits";
--> refused unsupported at 32: COUNT(DISTINCT …) of column zip, which has no domain, is outside the dialect
--> hint: declare its values: TEXT IN ('a', 'b'), or those of a public table
--: SELECT COUNT(*) AS "count" FROM (SELECT zip, COUNT(*) AS n FROM visits WHERE zip IN ('15213', '15217', '15232') GROUP BY zip) AS z WHERE n > 5;
SELECT SUM(CASE WHEN "public"."visits"."sex" = 'F' THEN 1 ELSE 0 END) AS "women", SUM(CASE WHEN "public"."visits"."sex" = 'M' THEN 1 ELSE 0 END) AS "men" FROM "public"."visits";
--> sqlite
SELECT "source"."year" AS "year", "source"."count" AS "count", SUM("source"."count") OVER (ORDER BY "source"."year" ASC ROWS UNBOUNDED PRECEDING) AS "running" FROM (SELECT year, COUNT(*) AS "count" FROM visits GROUP BY year) AS "source" ORDER BY "source"."year" ASC;
--> sqlite
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE LOWER("public"."visits"."diagnosis") LIKE '%j4%';
--> sqlite
SELECT "public"."visits"."diagnosis" AS "diagnosis", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."diagnosis" ORDER BY "count" DESC, "public"."visits"."diagnosis" ASC LIMIT 5;
--> sqlite
