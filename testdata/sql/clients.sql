-- What the clients of PostgreSQL write: schemas, quoted names, casts, comments.

SELECT count(*)::int AS n FROM public.visits;
--> n
--> 240
--> under dense:
--> n
--> 314
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 840, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers

SELECT "visits"."sex", count(*) AS "n" FROM "public"."visits" GROUP BY "visits"."sex" ORDER BY "visits"."sex";
--> sex | n
--> NULL | 70
--> 'F' | 100
--> 'M' | 70
--> under dense:
--> sex | n
--> NULL | 150
--> 'F' | 54
--> 'M' | 111
--> under smw, uniform:
--> sex | n
--> NULL | 80
--> 'F' | 100
--> 'M' | 70

/* a tool's name */ SELECT public.visits.sex, count(*) FROM public.visits -- and a remark
GROUP BY public.visits.sex;
--> sex | count
--> NULL | 70
--> 'F' | 100
--> 'M' | 70
--> under dense:
--> sex | count
--> NULL | 150
--> 'F' | 54
--> 'M' | 111
--> under smw, uniform:
--> sex | count
--> NULL | 80
--> 'F' | 100
--> 'M' | 70

SELECT "source"."town" AS "town", count(*)::bigint AS "count" FROM (SELECT "public"."visits"."town" AS "town", "public"."visits"."age" AS "age"
	FROM "public"."visits") AS "source" WHERE "source"."age" > 3 GROUP BY "source"."town" ORDER BY "source"."town" ASC;
--> town | count
--> '100%' | 18
--> 'Ash' | 18
--> 'Elm' | 116
--> 'Oak' | 0
--> under dense:
--> town | count
--> '100%' | 86
--> 'Ash' | -12
--> 'Elm' | -1
--> 'Oak' | 86
--> under smw, classes; smw release:
--> town | count
--> '100%' | 18
--> 'Ash' | 17
--> 'Elm' | 117
--> 'Oak' | 0

SELECT name FROM public.towns WHERE height > 80;
--> name
--> 'Ash'

SELECT v.sex, count(*) FROM public.visits AS v JOIN public.towns AS t ON v.town = t.name WHERE t.region = 'north'::text GROUP BY v.sex ORDER BY v.sex;
--> sex | count
--> NULL | 70
--> 'F' | 70
--> 'M' | 70
--> under dense:
--> sex | count
--> NULL | 71
--> 'F' | -71
--> 'M' | 8
--> under smw, uniform:
--> sex | count
--> NULL | 70
--> 'F' | 71
--> 'M' | 70

SELECT count(*) FROM visits WHERE age = ANY (ARRAY[3, 4]);
--> count
--> 104
--> under dense:
--> count
--> 130

.parameter set years 3
.parameter set sex F
.parameter set most 2

SELECT count(*) FROM visits WHERE age = :years::int4 AND sex = :sex::text;
--> count
--> 52
--> under dense:
--> count
--> 36

SELECT sex, count(*) FROM visits WHERE age >= CAST(:years AS smallint) GROUP BY sex ORDER BY sex LIMIT :most::bigint;
--> sex | count(*)
--> NULL | 58
--> 'F' | 88
--> under dense:
--> sex | count(*)
--> NULL | 89
--> 'F' | 65
--> under smw, classes; smw release:
--> sex | count(*)
--> NULL | 59
--> 'F' | 88
--> under smw, uniform:
--> sex | count(*)
--> NULL | 58
--> 'F' | 90

SELECT count(*) FROM visits WHERE age = ANY (:years);
--> error unsupported at 46: an array as an argument is outside the dialect
--> hint: give each value an argument of its own: x IN ($1, $2)

SELECT count(*) FROM visits WHERE (age > :years::int) = (:most::bool);
--> count
--> 152
--> under dense:
--> count
--> 159
--> under smw, uniform:
--> count
--> 145
--> under smw release:
--> error uncovered at 0: no release or mechanism covers this query: m = 504, above max_support = 280 (cells)
--> hint: SET accuracy = 50 answers it directly within ±50 (95 %) for ρ = 0.00075; the interactive budget left pays for 476014 such answers
