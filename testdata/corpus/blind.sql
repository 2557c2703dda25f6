-- Forty statements in the manner of Superset, Metabase, Tableau, Looker, dbt, Power BI and Mode, all written before one
-- of them was tried.
SELECT year AS year, diagnosis AS diagnosis, COUNT(*) AS "COUNT(*)" FROM public.visits JOIN (SELECT diagnosis AS diagnosis__, COUNT(*) AS mme_inner__ FROM public.visits GROUP BY diagnosis ORDER BY mme_inner__ DESC LIMIT 5) AS series_limit ON diagnosis = diagnosis__ GROUP BY year, diagnosis ORDER BY "COUNT(*)" DESC LIMIT 10000;
--> refused unsupported at 93: a join of private rows with a sub-select is outside the dialect
--> hint: select rows by it, WHERE x IN (SELECT …); or aggregate the private rows in a sub-select of their own, and join its result
--: SELECT year AS year, diagnosis AS diagnosis, COUNT(*) AS "COUNT(*)" FROM public.visits WHERE diagnosis IN (SELECT diagnosis FROM public.visits GROUP BY diagnosis ORDER BY COUNT(*) DESC LIMIT 5) GROUP BY year, diagnosis ORDER BY "COUNT(*)" DESC LIMIT 10000;
SELECT CASE WHEN diagnosis IN (SELECT diagnosis FROM visits GROUP BY diagnosis ORDER BY COUNT(*) DESC LIMIT 3) THEN diagnosis ELSE 'Others' END AS diagnosis, COUNT(*) AS count FROM visits GROUP BY 1 ORDER BY count DESC LIMIT 1000;
--> sqlite
SELECT sex AS sex, year AS year, sum(days) AS "SUM(days)" FROM (SELECT * FROM visits WHERE days > 0) AS virtual_table WHERE ((sex IN ('F', 'M'))) AND ((age >= 18)) GROUP BY sex, year ORDER BY "SUM(days)" DESC LIMIT 1000;
--> sqlite
SELECT COUNT(*) AS count, SUM(CASE WHEN days > 7 THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS "long stays" FROM visits WHERE year = 2025 HAVING ((COUNT(*) > 10)) LIMIT 50000;
--> sqlite
SELECT sex, sum(sum(days)) OVER (PARTITION BY sex) AS contribution, sum(days) AS nights FROM visits WHERE sex IS NOT NULL GROUP BY sex, year;
--> sqlite
SELECT ((FLOOR((("public"."visits"."age" - 0.0) / 10.0)) * 10.0) + 0.0) AS "age", COUNT(*) AS "count" FROM "public"."visits" GROUP BY ((FLOOR((("public"."visits"."age" - 0.0) / 10.0)) * 10.0) + 0.0) ORDER BY ((FLOOR((("public"."visits"."age" - 0.0) / 10.0)) * 10.0) + 0.0) ASC;
--> sqlite, and empty groups
--: SELECT "public"."visits"."age" / 10 * 10 AS "age", COUNT(*) AS "count" FROM "public"."visits" GROUP BY 1 ORDER BY 1;
SELECT "source"."Group" AS "Group", COUNT(*) AS "count" FROM (SELECT "public"."visits"."sex" AS "sex", CASE WHEN "public"."visits"."age" < 18 THEN 'child' ELSE 'adult' END AS "Group" FROM "public"."visits") AS "source" WHERE ("source"."sex" <> 'F') OR ("source"."sex" IS NULL) GROUP BY "source"."Group" ORDER BY "source"."Group" ASC;
--> sqlite
SELECT "public"."visits"."year" AS "year", SUM(COUNT(*)) OVER (ORDER BY "public"."visits"."year" ASC ROWS UNBOUNDED PRECEDING) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."year" ORDER BY "public"."visits"."year" ASC;
--> sqlite
SELECT "public"."visits"."year" AS "year", COUNT(*) - LAG(COUNT(*), 1) OVER (ORDER BY "public"."visits"."year") AS "difference" FROM "public"."visits" GROUP BY "public"."visits"."year" ORDER BY 1;
--> sqlite
SELECT "source"."year" AS "year", MAX("source"."count") AS "max", SUM("source"."count") AS "sum" FROM (SELECT "public"."visits"."year" AS "year", "public"."visits"."diagnosis" AS "diagnosis", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."year", "public"."visits"."diagnosis") AS "source" GROUP BY "source"."year" ORDER BY 1;
--> sqlite
SELECT COUNT(*) AS "count" FROM "public"."visits" LEFT JOIN "public"."diagnoses" AS "Diagnoses - Diagnosis" ON "public"."visits"."diagnosis" = "Diagnoses - Diagnosis"."code" WHERE ("Diagnoses - Diagnosis"."chapter" LIKE 'circ%') AND ("public"."visits"."year" BETWEEN 2024 AND 2025);
--> sqlite
SELECT SUM(CASE WHEN "public"."visits"."days" > 10 THEN "public"."visits"."days" ELSE 0 END) / NULLIF(SUM("public"."visits"."days"), 0.0) AS "share" FROM "public"."visits";
--> sqlite
SELECT "public"."visits"."sex" AS "sex", AVG(CASE WHEN "public"."visits"."days" > 2 THEN "public"."visits"."days" END) AS "avg" FROM "public"."visits" GROUP BY "public"."visits"."sex" ORDER BY "avg" DESC, 1;
--> sqlite
SELECT "visits"."sex" AS "sex", "t0"."__measure__0" AS "total", COUNT(1) AS "n" FROM "visits" CROSS JOIN (SELECT COUNT(1) AS "__measure__0" FROM "visits") "t0" GROUP BY 1, 2;
--> refused unsupported at 106: a join of private rows with a sub-select is outside the dialect
--> hint: select rows by it, WHERE x IN (SELECT …); or aggregate the private rows in a sub-select of their own, and join its result
--: SELECT "visits"."sex" AS "sex", (SELECT COUNT(1) FROM "visits") AS "total", COUNT(1) AS "n" FROM "visits" GROUP BY 1;
SELECT "t0"."year" AS "year", "t0"."n" / "t1"."n" AS "ratio" FROM (SELECT "visits"."year" AS "year", CAST(COUNT(1) AS DOUBLE PRECISION) AS "n" FROM "visits" WHERE "visits"."sex" = 'F' GROUP BY 1) "t0" FULL JOIN (SELECT "visits"."year" AS "year", CAST(COUNT(1) AS DOUBLE PRECISION) AS "n" FROM "visits" GROUP BY 1) "t1" ON "t0"."year" = "t1"."year" ORDER BY 1;
--> sqlite
SELECT FLOOR("visits"."age" / 5) * 5 AS "age (bin)", COUNT(1) AS "n" FROM "visits" GROUP BY 1 ORDER BY 1;
--> sqlite, and empty groups
--: SELECT "visits"."age" / 5 * 5 AS "age (bin)", COUNT(1) AS "n" FROM "visits" GROUP BY 1 ORDER BY 1;
SELECT CASE "visits"."sex" WHEN 'F' THEN 'women' WHEN 'M' THEN 'men' ELSE 'not said' END AS "who", SUM("visits"."days") AS "nights" FROM "visits" GROUP BY 1 HAVING ((SUM("visits"."days") >= 100) AND (SUM("visits"."days") <= 1000000)) ORDER BY 1;
--> sqlite
SELECT SUBSTRING("visits"."diagnosis" FROM 1 FOR 1) AS "letter", COUNT(1) AS "n" FROM "public"."visits" "visits" GROUP BY 1 ORDER BY 1;
--> sqlite
SELECT CONCAT("visits"."sex", '-', "visits"."year") AS "combined", COUNT(1) AS "n" FROM "visits" WHERE "visits"."sex" IS NOT NULL GROUP BY "visits"."sex", "visits"."year" ORDER BY 1;
--> sqlite
WITH visits_facts AS (SELECT visits.year AS year, COUNT(*) AS n, SUM(visits.days) AS nights FROM visits WHERE 1 = 1 GROUP BY 1) SELECT visits_facts.year AS "visits_facts.year", AVG(visits_facts.nights / NULLIF(visits_facts.n, 0)) AS "visits_facts.avg" FROM visits_facts GROUP BY 1 ORDER BY 1 DESC LIMIT 500;
--> sqlite
SELECT CASE WHEN (visits.age >= 65) THEN 'Yes' ELSE 'No' END AS "visits.is_senior", COUNT(*) FILTER (WHERE visits.days >= 1) AS "visits.stays", ROUND(AVG(visits.days)::numeric, 2) AS "visits.mean" FROM visits WHERE ((visits.diagnosis LIKE 'I%' OR visits.diagnosis LIKE 'J%')) GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
--> sqlite
SELECT COALESCE(COALESCE(CAST((SUM(visits.days) * 1.0) AS DOUBLE PRECISION), 0), 0) AS "visits.total", COUNT(*) AS "visits.count" FROM visits WHERE visits.sex = 'F' AND NOT COALESCE(visits.year = 2023, FALSE) LIMIT 500;
--> sqlite
SELECT "diagnoses.chapter", "visits.count", 100.0 * "visits.count" / SUM("visits.count") OVER () AS "percent" FROM (SELECT diagnoses.chapter AS "diagnoses.chapter", COUNT(*) AS "visits.count" FROM visits LEFT JOIN diagnoses ON visits.diagnosis = diagnoses.code GROUP BY 1) ww ORDER BY 2 DESC LIMIT 500;
--> sqlite
SELECT diagnoses.name AS "diagnoses.name", diagnoses.chapter AS "diagnoses.chapter", COUNT(*) AS "n" FROM visits LEFT JOIN diagnoses ON visits.diagnosis = diagnoses.code WHERE diagnoses.chapter IN ('circulatory', 'respiratory') GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20;
--> sqlite
with source as (select * from visits), renamed as (select sex, age, days as nights, year from source), final as (select year, count(*) as visits, sum(nights) as nights from renamed group by 1) select * from final order by year;
--> sqlite
with grouped as (select diagnosis, count(*) as n from visits group by 1), ranked as (select *, row_number() over (order by n desc, diagnosis) as rn, sum(n) over () as total from grouped) select diagnosis, n, round(100.0 * n / total, 1) as pct from ranked where rn <= 3 order by rn;
--> sqlite
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select sex from visits where sex is null) dbt_internal_test;
--> sqlite
select count(*) as failures from (select diagnosis from visits where diagnosis is not null and diagnosis not in (select code from diagnoses)) dbt_internal_test;
--> sqlite
with all_values as (select sex as value_field, count(*) as n_records from visits group by sex) select * from all_values where value_field not in ('F', 'M');
--> sqlite
select year, sum(case when sex = 'F' then 1 else 0 end) as f, sum(case when sex = 'M' then 1 else 0 end) as m from visits group by year having count(*) > 0 order by year;
--> sqlite
SELECT TOP (1000001) * FROM (SELECT [t0].[sex], [t0].[year], SUM([t0].[days]) AS [a0], COUNT_BIG(*) AS [a1] FROM (SELECT [$Table].[sex] AS [sex], [$Table].[year] AS [year], [$Table].[days] AS [days] FROM [visits] AS [$Table]) AS [t0] WHERE [t0].[year] IN (2024, 2025) GROUP BY [t0].[sex], [t0].[year]) AS [MainTable] WHERE (NOT ([a0] IS NULL) OR NOT ([a1] IS NULL));
--> sqlite
SELECT [basetable0].[chapter], COUNT(*) AS [a0] FROM ([visits] AS [t1] LEFT OUTER JOIN [diagnoses] AS [basetable0] ON ([t1].[diagnosis] = [basetable0].[code])) GROUP BY [basetable0].[chapter];
--> sqlite
SELECT COUNT_BIG([t0].[days]) AS [a0], AVG(CAST([t0].[days] AS FLOAT)) AS [a1], STDEVP([t0].[days]) AS [a2] FROM [visits] AS [t0];
--> answers
SELECT [semijoin1].[c1] AS [year], SUM([semijoin1].[a0]) AS [n] FROM (SELECT [year] AS [c1], [sex] AS [c2], COUNT(*) AS [a0] FROM [visits] GROUP BY [year], [sex]) AS [semijoin1] INNER JOIN ((SELECT 'F' AS [c2]) UNION ALL (SELECT 'M' AS [c2])) AS [filter] ON [semijoin1].[c2] = [filter].[c2] GROUP BY [semijoin1].[c1];
--> refused unsupported at 212: UNION is outside the dialect
--> hint: ask for each count in a statement of its own
--: SELECT [semijoin1].[c1] AS [year], SUM([semijoin1].[a0]) AS [n] FROM (SELECT [year] AS [c1], [sex] AS [c2], COUNT(*) AS [a0] FROM [visits] GROUP BY [year], [sex]) AS [semijoin1] INNER JOIN (SELECT 'F' AS [c2] UNION ALL SELECT 'M' AS [c2]) AS [filter] ON [semijoin1].[c2] = [filter].[c2] GROUP BY [semijoin1].[c1];
SELECT width_bucket(age, 0, 120, 12) AS bucket, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
--> answers
--: SELECT age / 10 + 1 AS bucket, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
WITH bounds AS (SELECT AVG(days) AS mean FROM visits) SELECT COUNT(*) AS above FROM visits, bounds WHERE visits.days > bounds.mean;
--> refused unsupported at 93: a join of private rows with a sub-select is outside the dialect
--> hint: select rows by it, WHERE x IN (SELECT …); or aggregate the private rows in a sub-select of their own, and join its result
--: SELECT COUNT(*) AS above FROM visits WHERE visits.days > (SELECT AVG(days) FROM visits);
SELECT v.year, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / (SELECT COUNT(*) FROM visits), 2) AS pct FROM visits v GROUP BY v.year ORDER BY v.year;
--> sqlite
SELECT d.chapter, x.n FROM diagnoses d, LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.diagnosis = d.code) x ORDER BY 2 DESC;
--> refused unsupported at 41: LATERAL is outside the dialect
--> hint: aggregate by group, and join the result: … JOIN (SELECT x, COUNT(*) AS n FROM t GROUP BY x) AS c ON c.x = …
--: SELECT d.chapter, x.n FROM diagnoses d JOIN (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis) x ON x.diagnosis = d.code ORDER BY 2 DESC;
SELECT first.year, first.n AS n, second.n AS before, ROUND((first.n - second.n) * 100.0 / second.n, 1) AS pct FROM (SELECT year, COUNT(*) n FROM visits GROUP BY year) first LEFT JOIN (SELECT year + 1 AS year, COUNT(*) n FROM visits GROUP BY year) second ON first.year = second.year ORDER BY 1;
--> sqlite
SELECT age / 10 * 10 AS decade, COUNT(*) AS n, NTILE(4) OVER (ORDER BY COUNT(*) DESC) AS quartile, PERCENT_RANK() OVER (ORDER BY COUNT(*)) AS pr FROM visits WHERE age IS NOT NULL GROUP BY decade ORDER BY decade;
--> answers
