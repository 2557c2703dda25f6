-- Statements of the shapes that clients use which are not in the corpus: loading of types,
-- reflection by object-relational mappers, dashboards' lists of tables, completion. They were
-- written for this test. TestReplies adds them to what PostgreSQL is asked.

-- loading types, with arrays by their receive function
SELECT ns.nspname, t.oid, t.typname, t.kind, t.typnotnull, t.element
FROM (SELECT typ.oid, typ.typnamespace, typ.typname, typ.typnotnull, cls.relkind, typ.typtype,
             CASE WHEN proc.proname = 'array_recv' THEN 'a' ELSE typ.typtype END AS kind,
             CASE WHEN proc.proname = 'array_recv' THEN typ.typelem
                  WHEN typ.typtype = 'r' THEN rngsubtype
                  WHEN typ.typtype = 'd' THEN typ.typbasetype END AS element
      FROM pg_type AS typ
      LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
      LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive
      LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)) AS t
JOIN pg_namespace AS ns ON (ns.oid = t.typnamespace)
WHERE t.kind IN ('b', 'r', 'e', 'd', 'a') OR t.kind = 'c' AND t.relkind = 'c' OR t.kind = 'p' AND t.typname IN ('record', 'void', 'unknown')
ORDER BY CASE WHEN t.kind IN ('b', 'e', 'p') THEN 0 WHEN t.kind = 'd' THEN 1 ELSE 2 END, t.oid;

WITH RECURSIVE info AS (
  SELECT t.oid, n.nspname AS ns, t.typname AS name, t.typtype AS kind, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE NULL END AS basetype,
         CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE NULL END AS elemtype,
         (SELECT array_agg(a.atttypid ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) AS fields
  FROM pg_catalog.pg_type AS t INNER JOIN pg_catalog.pg_namespace n ON (n.oid = t.typnamespace)
), tree(oid, ns, name, kind, elemtype, fields, depth) AS (
  SELECT ti.oid, ti.ns, ti.name, ti.kind, ti.elemtype, ti.fields, 0 FROM info AS ti WHERE ti.oid = any('{1009,20,1016}'::oid[])
  UNION ALL
  SELECT ti.oid, ti.ns, ti.name, ti.kind, ti.elemtype, ti.fields, tt.depth + 1
  FROM info ti, tree tt
  WHERE (tt.elemtype IS NOT NULL AND ti.oid = tt.elemtype) OR (tt.fields IS NOT NULL AND ti.oid = any(tt.fields))
)
SELECT DISTINCT tree.*, oid::regtype::text AS title FROM tree ORDER BY depth DESC, oid;

SELECT t.oid, t.typname, t.typdelim, t.typtype, t.typinput, t.typelem FROM pg_type AS t WHERE t.typname IN ('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'text', 'varchar', 'char', 'name', 'bpchar', 'bool', 'bytea', 'date', 'timestamp', 'numeric', 'json') ORDER BY 1;

SELECT oid, typname FROM pg_type WHERE typname = ANY(ARRAY['int8', 'text', 'no such']) ORDER BY oid DESC;

SELECT typname, typinput::oid <> 0 AS reads, typoutput::text, typsend::regproc FROM pg_type WHERE oid IN (16, 20, 25, 701, 1082, 1700) ORDER BY oid;

-- lists of tables
SELECT c.relname, CASE WHEN c.relispartition THEN 'p' WHEN c.relkind IN ('m', 'v') THEN 'v' ELSE 't' END, obj_description(c.oid, 'pg_class')
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('f', 'm', 'p', 'r', 'v') AND n.nspname NOT IN ('pg_catalog', 'pg_toast', 'information_schema') AND pg_catalog.pg_table_is_visible(c.oid);

SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2;

SELECT t.table_name, count(c.column_name) FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
WHERE t.table_schema = 'public' GROUP BY t.table_name HAVING count(*) > 2 ORDER BY 2 DESC, 1 LIMIT 5;

SELECT n.nspname AS schema, c.relname AS name, c.relkind AS type, has_table_privilege(c.oid, 'SELECT') AS may, has_any_column_privilege(c.oid, 'INSERT, UPDATE') AS writes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname !~ '^(information_schema|pg_)' AND c.relkind IN ('r', 'p', 'v', 'f', 'm') ORDER BY 1, 2;

SELECT schemaname, tablename, tableowner FROM pg_catalog.pg_tables WHERE schemaname != ALL(ARRAY['pg_catalog', 'information_schema']) ORDER BY tablename;

SELECT table_catalog, table_schema, table_name FROM information_schema.table_privileges WHERE grantee = current_user AND privilege_type = 'SELECT' ORDER BY table_name;

SELECT viewname FROM pg_views WHERE schemaname = ANY(current_schemas(false));

SELECT EXISTS (SELECT 1 FROM pg_class c WHERE c.relname = 'visits' AND c.relkind = 'r'), EXISTS (SELECT FROM pg_class WHERE relname = 'none');

SELECT relname FROM pg_class WHERE relname IN ('visits', 'wards') AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ANY(current_schemas(false)) LIMIT 1) ORDER BY relname DESC;

SELECT string_agg(relname, ', ' ORDER BY relname DESC), count(DISTINCT relkind), bool_and(relkind = 'r'), max(relname::text), min(relnatts), sum(relnatts) FROM pg_class WHERE relnamespace = 'public'::regnamespace;

-- columns
SELECT a.attname, format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid), a.attnotnull, a.atttypid, a.atttypmod, c.collname, col_description(a.attrelid, a.attnum) AS comment, attidentity, attgenerated AS attgenerated
FROM pg_attribute a LEFT JOIN pg_attrdef d ON a.attrelid = d.adrelid AND a.attnum = d.adnum LEFT JOIN pg_type t ON a.atttypid = t.oid LEFT JOIN pg_collation c ON a.attcollation = c.oid AND a.attcollation <> t.typcollation
WHERE a.attrelid = '"visits"'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

SELECT column_name, ordinal_position, column_default, is_nullable, data_type, udt_name, character_maximum_length, numeric_precision, numeric_scale, datetime_precision
FROM information_schema.columns WHERE (table_schema, table_name) = ('public', 'visits') ORDER BY ordinal_position;

SELECT array_agg(attname ORDER BY attnum) AS names, array_to_string(array_agg(attnum ORDER BY attnum DESC), '-') FROM pg_attribute WHERE attrelid = 'public.wards'::regclass AND attnum > 0;

SELECT c.relname, a.columns FROM pg_class c CROSS JOIN LATERAL (SELECT count(*) AS columns FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0) a WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1;

SELECT c.relname, u.n, u.name FROM pg_class c, LATERAL unnest(ARRAY['a', c.relname::text]) WITH ORDINALITY AS u(name, n) WHERE c.relname IN ('visits', 'wards') ORDER BY 1, 2;

SELECT attname, row_number() OVER (ORDER BY attname DESC), rank() OVER (PARTITION BY attlen ORDER BY attnum), count(*) OVER () FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attname;

SELECT attname, sum(attnum) OVER (ORDER BY attnum), max(attname::text) OVER w FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0 WINDOW w AS (PARTITION BY attlen) ORDER BY attnum;

-- keys, indexes, constraints
SELECT tc.constraint_name, kcu.column_name, ccu.table_name FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kcu ON tc.constraint_name = kcu.constraint_name
JOIN information_schema.constraint_column_usage ccu ON ccu.constraint_name = tc.constraint_name WHERE tc.constraint_type = 'FOREIGN KEY' AND tc.table_name = 'visits';

SELECT DISTINCT i.relname, d.indisunique, d.indkey, pg_get_indexdef(d.indexrelid), t.oid, pg_catalog.obj_description(i.oid, 'pg_class') AS comment, d.indisvalid, ARRAY(SELECT pg_get_indexdef(d.indexrelid, k + 1, true) FROM generate_subscripts(d.indkey, 1) AS k ORDER BY k) AS columns
FROM pg_class t INNER JOIN pg_index d ON t.oid = d.indrelid INNER JOIN pg_class i ON d.indexrelid = i.oid LEFT JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE i.relkind IN ('i', 'I') AND d.indisprimary = 'f' AND t.relname = 'visits' AND n.nspname = ANY (current_schemas(false)) ORDER BY i.relname;

SELECT c.conname, array(SELECT attname FROM unnest(c.conkey) WITH ORDINALITY cols(colid, arridx) JOIN pg_attribute AS ca ON cols.colid = ca.attnum WHERE ca.attrelid = c.conrelid ORDER BY cols.arridx), c.contype
FROM pg_constraint AS c JOIN pg_class AS cl ON c.conrelid = cl.oid WHERE cl.relname = 'visits' AND pg_catalog.pg_table_is_visible(cl.oid);

SELECT a.attname FROM (SELECT indrelid, indkey, generate_subscripts(indkey, 1) idx FROM pg_index WHERE indrelid = 'wards'::regclass AND indisprimary) i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[i.idx] ORDER BY i.idx;

SELECT a.attname, i.x, i.n FROM pg_attribute a JOIN (SELECT (information_schema._pg_expandarray('5 2 9'::int2vector)).*) i ON i.x = a.attnum WHERE a.attrelid = 'visits'::regclass ORDER BY i.n;

-- completion
SELECT pg_catalog.quote_ident(c.relname) FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'v') AND substring(pg_catalog.quote_ident(c.relname), 1, 2) = 'vi' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
UNION SELECT pg_catalog.quote_ident(n.nspname) || '.' FROM pg_catalog.pg_namespace n WHERE substring(pg_catalog.quote_ident(n.nspname) || '.', 1, 2) = 'pu'
UNION ALL SELECT NULL ORDER BY 1 LIMIT 1000;

SELECT nspname FROM pg_namespace WHERE nspname LIKE 'p%' EXCEPT SELECT 'public' INTERSECT SELECT nspname FROM pg_namespace;

SELECT nspname FROM pg_namespace WHERE nspname ILIKE 'PUB\_%' OR nspname ~* '^PUB.IC$' OR nspname NOT LIKE '%\_%' AND nspname !~~ 'x%' ORDER BY 1;

-- the session, and expressions without tables
SELECT current_user, session_user::text, current_schema, current_schemas(true)::text, current_database() AS db;

SELECT pg_is_in_recovery(), pg_backend_pid() > 0, current_setting('search_path'), current_setting('no.such', true), current_setting('server_version_num')::int / 10000;

SELECT set_config('application_name', 'x', false), pg_encoding_to_char(6), has_schema_privilege('public', 'USAGE'), has_database_privilege(current_database(), 'CONNECT'), pg_has_role(current_user, 'USAGE');

SELECT to_regclass('visits')::text, to_regclass('none'), to_regtype('int4')::oid, 'pg_class'::regclass::oid, 1259::regclass, 'bigint'::regtype, 'int8[]'::regtype, 'array_in'::regproc, 'public'::regnamespace::text, 'ana'::regrole;

SELECT '{1,2,NULL}'::int[], ARRAY['a b', NULL, 'c"d', ''], '{a,b}'::text[] || 'c', ('{x,y}'::text[])[2], array_length(ARRAY[1, 2], 1), cardinality('{}'::text[]), 3 = ANY('{1,3}'::int[]), 'b' <> ALL(ARRAY['a', 'c']), ARRAY[1, 2] @> ARRAY[2], array_position(ARRAY['a', 'b'], 'b');

SELECT 1 + 2 AS sum, 7 / 2, 7 % 3, -5::int8, 1 | 6, 5 & 4, 1 << 3, 'a' || 1, NULL || 'x', 2 > 1 AND NULL, NOT NULL::bool, 3 BETWEEN 1 AND 5, 'x' IN ('y', NULL) FROM pg_namespace WHERE nspname = 'public';

SELECT 2 * 3.5 AS seven, current_schema();

SELECT coalesce(NULL, 'x'), nullif(1, 1), greatest(1, 5, 3), least('b', 'a'), CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END, CASE WHEN false THEN 1 END, (1, 'x') = (1, 'x'), NULL IS DISTINCT FROM 1, 1 IS NOT DISTINCT FROM 1, true IS NOT TRUE, NULL::bool IS UNKNOWN, format_type(1043, 14), format_type(1042, NULL), format_type(23, -1), pg_size_pretty(123456789::bigint) FROM pg_namespace WHERE nspname = 'public';

SELECT lower('ABC'), upper(c.relname), length('äb'), replace('aXbX', 'X', '--'), trim(both '"' from '"q"'), ltrim('  a'), substring('abcdef' from 2 for 3), substring('abcdef' from '[c-d]+'), strpos('abc', 'c'), position('b' in 'abc'), split_part('a,b,c', ',', 2), left('abc', -1), quote_ident('Ab'), quote_literal(E'a''b'), regexp_replace('aab', 'a', 'x', 'g'), concat('a', NULL, 1, true), concat_ws('-', 'a', NULL, 'b'), starts_with('abc', 'ab'), string_to_array('a,b', ',') FROM pg_class c WHERE c.relname = 'wards';

SELECT x.a, x.b::text, y FROM (VALUES (1, 'p'), (2, NULL)) AS x(a, b) LEFT JOIN generate_series(2, 3) y ON y = x.a ORDER BY 1;

SELECT * FROM (SELECT 1 AS a, 2 AS b) l FULL JOIN (SELECT 1 AS a, 3 AS c UNION ALL SELECT 9, 9) r ON l.a = r.a RIGHT JOIN generate_series(1, 2) g(n) ON g.n = r.a ORDER BY n;

SELECT n.nspname, c.relname, a.attname FROM pg_namespace n RIGHT JOIN (pg_class c LEFT JOIN (pg_attribute a JOIN pg_type t ON t.oid = a.atttypid AND t.typname = 'int8') ON a.attrelid = c.oid AND a.attnum > 0 AND c.relname <> 'none') ON n.oid = c.relnamespace AND n.nspname = 'public' WHERE c.relname IN ('visits', 'wards', 'pg_am') ORDER BY 2;

SELECT c.relname, x.n, y.m FROM pg_class c LEFT JOIN LATERAL (SELECT count(*) AS n FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 3) x ON x.n > 0 LEFT JOIN (SELECT 'wards'::name AS relname, 1 AS m) y USING (relname) WHERE c.relnamespace = 'public'::regnamespace AND (y.m IS NULL OR y.m = 1);

SELECT DISTINCT ON (relkind) relkind, relname FROM pg_class WHERE relnamespace IN ('public'::regnamespace) ORDER BY relkind, relname DESC;

SELECT generate_series(1, 3) AS n, unnest(ARRAY['a', 'b']) AS x FROM pg_namespace WHERE nspname = 'public';

SELECT count(*), count(*) FILTER (WHERE nspname LIKE 'p%'), array_agg(nspname::text ORDER BY nspname) FILTER (WHERE nspname ~ 'pu') FROM pg_namespace WHERE nspname IN ('public', 'pg_catalog');

SELECT d.datname, pg_catalog.pg_get_userbyid(d.datdba), d.datallowconn, d.oid > 0, d.encoding, has_database_privilege(d.datname, 'CREATE') FROM pg_database d WHERE d.datname = current_database();

SELECT rolname, rolsuper, rolcanlogin, rolconnlimit, rolvaliduntil FROM pg_roles WHERE rolname = current_user;

SELECT usename, usesuper FROM pg_catalog.pg_user WHERE usename = CURRENT_USER;

SELECT (aclexplode(relacl)).privilege_type, (aclexplode(relacl)).grantee::regrole::text FROM pg_class WHERE relname = 'visits' ORDER BY 2, 1;

SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,absolute,action}'::text[]) AND catcode = 'R';

SELECT c.* FROM pg_description c WHERE objoid = 'visits'::regclass;

SELECT extname, extversion FROM pg_extension WHERE extname = 'postgis';

SELECT tgname FROM pg_trigger WHERE tgrelid = 'visits'::regclass AND NOT tgisinternal ORDER BY 1;

SELECT pg_get_viewdef(c.oid, true), pg_get_constraintdef(0), pg_get_serial_sequence('visits', 'age'), pg_relation_is_publishable('visits') FROM pg_class c WHERE relname = 'visits';

SELECT no_such FROM pg_class;
SELECT * FROM pg_no_such_table, pg_class;
SELECT pg_no_such_function(1) FROM pg_class;
SELECT oid || 1 > 'x'::regclass FROM pg_class;
SELECT relname = 5 FROM pg_class;
SELECT relname FROM pg_class WHERE relname;
SELECT oid FROM pg_class a, pg_type b;
SELECT 'nope'::regclass;
SELECT * FROM pg_class ORDER BY 99;
