-- Questions of the kind that tools ask which cannot be run here: DBeaver, Metabase, Grafana,
-- Tableau, Power BI. They are written anew, with the constructs that the tools use. Each
-- has the number of its rows behind it, or the rows where these are few.
\pset format unaligned
\pset footer off
\pset pager off
\set VERBOSITY sqlstate
SET client_min_messages = warning;
\echo like DBeaver
SET application_name = 'DBeaver';
SELECT current_schema(), session_user;
SELECT d.oid > 0 AS has_oid, d.datname, d.datistemplate, d.datallowconn FROM pg_catalog.pg_database d WHERE 1 = 1 AND datname = 'clinic';
SELECT count(*) > 0 AS some FROM (SELECT d.oid, d.* FROM pg_catalog.pg_database d WHERE datallowconn AND NOT datistemplate) AS x;
SELECT setting FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings';
SELECT string_agg(word, ',') IS NOT NULL AS words FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,all,select}'::text[]);
SELECT n.nspname, d.description FROM pg_catalog.pg_namespace n
  LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass
 WHERE n.nspname IN ('public', 'pg_catalog') ORDER BY nspname;
SELECT count(*) > 50 AS many FROM (
  SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base, d.description
    FROM pg_catalog.pg_type t
    LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem
    LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
    LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
   WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')) AS x;
SELECT c.relname, c.relkind, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS bound, pg_catalog.pg_get_partkeydef(c.oid) AS key
  FROM pg_catalog.pg_class c
  LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind NOT IN ('i', 'I', 'c') ORDER BY 1;
SELECT c.relname, a.attname, a.attnum, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def, dsc.description, dep.objid
  FROM pg_catalog.pg_attribute a
  INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
  LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
  LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
  LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
 WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.oid = 'visits'::regclass ORDER BY a.attnum;
SELECT c.conname, t.relname, CASE WHEN c.contype = 'c' THEN substring(pg_get_constraintdef(c.oid), 7) ELSE NULL END AS text
  FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid WHERE c.conrelid = 'visits'::regclass ORDER BY c.oid;
SELECT i.*, c.relnamespace FROM pg_catalog.pg_inherits i, pg_catalog.pg_class c WHERE i.inhrelid = 'visits'::regclass AND c.oid = i.inhparent ORDER BY i.inhseqno;
SELECT r.rulename, pg_get_ruledef(r.oid) AS definition FROM pg_rewrite r WHERE r.ev_class = 'visits'::regclass AND r.rulename <> '_RETURN'::name;
SELECT r.rolname FROM pg_catalog.pg_roles r LEFT JOIN pg_catalog.pg_shdescription d ON r.oid = d.objoid WHERE r.rolname = 'ana' ORDER BY 1;
SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE datname = 'nowhere';
\echo like Metabase
WITH privileges AS (
  SELECT NULL AS role, t.schemaname AS schema, t.name AS table,
         pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.name, '"', '""') || '"', 'select') AS may_select,
         pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.name || '"', 'delete') AS may_delete
    FROM (SELECT schemaname, tablename AS name FROM pg_catalog.pg_tables
          UNION SELECT schemaname, viewname FROM pg_catalog.pg_views
          UNION SELECT schemaname, matviewname FROM pg_catalog.pg_matviews) AS t
   WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
SELECT p.* FROM privileges AS p WHERE p.may_select OR p.may_delete ORDER BY 3;
SELECT c.column_name AS name, c.udt_name AS type, c.ordinal_position - 1 AS position, c.table_schema AS schema, c.table_name AS table,
       c.is_nullable <> 'NO' AND c.column_default IS NULL AS optional, c.is_identity = 'YES' AS generated,
       col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS text), CAST(c.table_name AS text)) AS regclass) AS oid), c.ordinal_position) AS comment
  FROM information_schema.columns c WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND c.table_schema IN ('public') AND c.table_name = 'wards' ORDER BY position;
SELECT true AS readable FROM "public"."wards" WHERE 1 <> 1 LIMIT 0;
SELECT "public"."wards"."ward" AS "ward", "public"."wards"."floor" AS "floor" FROM "public"."wards" ORDER BY "public"."wards"."floor" ASC LIMIT 2;
SELECT COUNT(*) > 0 AS some FROM "public"."visits" WHERE "public"."visits"."sex" = 'F';
SELECT t.typname FROM pg_catalog.pg_type t INNER JOIN pg_catalog.pg_enum e ON t.oid = e.enumtypid GROUP BY 1;
SHOW timezone;
\echo like Grafana
SELECT CASE WHEN quote_ident(table_schema) IN (
         SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
           FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i,
                string_to_array(current_setting('search_path'), ',') s)
       THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
  FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog', '_timescaledb_catalog') ORDER BY 1;
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
 WHERE CASE WHEN array_length(parse_ident('visits'), 1) = 2
            THEN quote_ident(table_schema) = (parse_ident('visits'))[1] AND quote_ident(table_name) = (parse_ident('visits'))[2]
            ELSE quote_ident(table_name) = 'visits' AND quote_ident(table_schema) = 'public' END ORDER BY ordinal_position;
SELECT current_setting('server_version_num')::int / 100 AS version;
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';
\echo like Npgsql
SELECT version() LIKE 'PostgreSQL %' AS version;
SELECT count(*) > 50 AS many FROM (
  SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid
    FROM (
      SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind, elemtyp.oid AS elemtypoid,
             CASE WHEN elemproc.proname = 'array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype
        FROM (
          SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind,
                 CASE WHEN proc.proname = 'array_recv' THEN 'a' ELSE typ.typtype END AS typtype,
                 CASE WHEN proc.proname = 'array_recv' THEN typ.typelem
                      WHEN typ.typtype = 'r' THEN rngsubtype
                      WHEN typ.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = typ.oid)
                      WHEN typ.typtype = 'd' THEN typ.typbasetype END AS elemoid
            FROM pg_type AS typ
            LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
            LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive
            LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)) AS typ
        LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemoid
        LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)
        LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive) AS t
    JOIN pg_namespace AS ns ON (ns.oid = typnamespace)
   WHERE typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'c' AND relkind = 'c') OR (typtype = 'p' AND typname IN ('record', 'void', 'unknown'))
      OR (typtype = 'a' AND elemtyptype IN ('b', 'r', 'm', 'e', 'd'))
   ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN typtype = 'r' THEN 1 ELSE 2 END) AS x;
SELECT typ.oid, att.attname, att.atttypid FROM pg_type AS typ
  JOIN pg_namespace AS ns ON (ns.oid = typ.typnamespace) JOIN pg_class AS cls ON (cls.oid = typ.typrelid) JOIN pg_attribute AS att ON (att.attrelid = typ.typrelid)
 WHERE (typ.typtype = 'c' AND cls.relkind = 'c') AND attnum > 0 AND NOT attisdropped ORDER BY typ.oid, att.attnum;
SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid ORDER BY oid, enumsortorder;
\echo like Power BI
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.tables WHERE TABLE_SCHEMA NOT IN ('information_schema', 'pg_catalog') ORDER BY TABLE_SCHEMA, TABLE_NAME;
SELECT COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, CASE WHEN (data_type LIKE '%unsigned%') THEN DATA_TYPE || ' unsigned' ELSE DATA_TYPE END AS DATA_TYPE
  FROM INFORMATION_SCHEMA.columns WHERE TABLE_SCHEMA = 'public' AND TABLE_NAME = 'wards' ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION;
SELECT pkcol.COLUMN_NAME, fkcol.TABLE_NAME FROM INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS r
  JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE fkcol ON r.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME AND r.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA
  JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE pkcol ON r.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME AND fkcol.ORDINAL_POSITION = pkcol.ORDINAL_POSITION
 WHERE pkcol.TABLE_NAME = 'wards' ORDER BY 1, 2;
SELECT character_set_name FROM INFORMATION_SCHEMA.character_sets;
select "rows"."ward" as "ward", "rows"."floor" as "floor" from "public"."wards" "rows" order by "rows"."floor" limit 2;
\echo like Tableau
SET DateStyle = 'ISO';
SET extra_float_digits = 2;
SHOW transaction_isolation;
select typinput from pg_catalog.pg_type where typname = 'lo';
BEGIN;
DECLARE "SQL_CUR1" CURSOR WITH HOLD FOR SELECT "wards"."ward" AS "ward", SUM("wards"."floor") AS "sum:floor:ok" FROM "public"."wards" "wards" GROUP BY 1 ORDER BY 1;
FETCH 2 IN "SQL_CUR1";
CLOSE "SQL_CUR1";
COMMIT;
