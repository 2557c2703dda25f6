-- This script makes system.txt of a PostgreSQL 15: TestSystem runs it with -update. What it
-- reads is PostgreSQL's own catalog, as initdb made it (PostgreSQL License).
--
-- The relations that clients may ask: all tables of pg_catalog but those with secrets, the
-- views of pg_catalog that describe a schema, and information_schema.
CREATE TEMP TABLE relations AS
  SELECT c.oid, n.nspname, c.relname, c.relkind
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'information_schema' AND c.relkind IN ('r', 'v') AND c.relname NOT LIKE '\_pg\_%'
     OR n.nspname = 'pg_catalog' AND c.relkind = 'r'
        AND c.relname NOT IN ('pg_authid', 'pg_user_mapping', 'pg_statistic', 'pg_statistic_ext_data', 'pg_largeobject')
     OR n.nspname = 'pg_catalog' AND c.relname IN ('pg_available_extensions', 'pg_group', 'pg_indexes', 'pg_matviews', 'pg_policies',
        'pg_prepared_statements', 'pg_cursors', 'pg_locks', 'pg_publication_tables', 'pg_roles', 'pg_rules', 'pg_seclabels', 'pg_sequences', 'pg_settings',
        'pg_stat_activity', 'pg_stat_all_tables', 'pg_stat_database', 'pg_stat_user_indexes', 'pg_stat_user_tables', 'pg_statio_user_tables', 'pg_stats',
        'pg_tables', 'pg_timezone_abbrevs', 'pg_timezone_names', 'pg_user', 'pg_views');

-- The types: those of the relations' columns, those that dpsql sends, and their arrays.
CREATE TEMP TABLE types AS
  WITH wanted AS (
    SELECT a.atttypid AS oid FROM pg_catalog.pg_attribute a JOIN relations r ON r.oid = a.attrelid
    UNION
    SELECT t.oid FROM pg_catalog.pg_type t
    WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typname IN ('bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'text', 'varchar',
      'bpchar', 'name', 'char', 'bytea', 'date', 'time', 'timestamp', 'timestamptz', 'interval', 'json', 'oid', 'regproc', 'regprocedure', 'regclass',
      'regtype', 'regrole', 'regnamespace', 'regoper',
      'regoperator', 'regconfig', 'regdictionary', 'record', 'unknown', 'void', 'cstring', 'any', 'anyarray', 'anyelement', 'trigger', 'internal')
  ), bases AS (
    SELECT oid FROM wanted
    UNION SELECT t.typbasetype FROM pg_catalog.pg_type t JOIN wanted w ON w.oid = t.oid WHERE t.typbasetype <> 0
    UNION SELECT t.typelem FROM pg_catalog.pg_type t JOIN wanted w ON w.oid = t.oid WHERE t.typelem <> 0
  )
  SELECT oid FROM bases
  UNION SELECT t.typarray FROM pg_catalog.pg_type t JOIN bases b ON b.oid = t.oid WHERE t.typarray <> 0;

\pset format unaligned
\pset tuples_only on
SELECT CASE WHEN a.attnum IS NULL
    THEN concat_ws(' ', 'relation', r.nspname, r.relname, r.oid, r.relkind)
    ELSE concat_ws(' ', 'column', a.attname, a.atttypid, a.attnotnull) END
FROM (SELECT oid AS attrelid, NULL::name AS attname, NULL::oid AS atttypid, NULL::bool AS attnotnull, NULL::int2 AS attnum FROM relations
      UNION ALL
      SELECT attrelid, attname, atttypid, attnotnull, attnum FROM pg_catalog.pg_attribute WHERE attnum > 0) a
JOIN relations r ON r.oid = a.attrelid
ORDER BY r.nspname, r.relname, a.attnum NULLS FIRST;

\echo rows pg_type
COPY (SELECT t.* FROM pg_catalog.pg_type t JOIN types USING (oid) ORDER BY t.oid) TO STDOUT;
\echo rows pg_proc
COPY (
  SELECT p.* FROM pg_catalog.pg_proc p
  WHERE p.pronamespace = 'pg_catalog'::regnamespace
    AND (p.oid IN (SELECT unnest(ARRAY[t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout, t.typanalyze, t.typsubscript])
                   FROM pg_catalog.pg_type t JOIN types USING (oid))
      OR p.proname IN ('count', 'sum', 'avg', 'min', 'max', 'stddev', 'stddev_pop', 'stddev_samp', 'variance', 'var_pop', 'var_samp',
        'row_number', 'rank', 'dense_rank', 'lower', 'upper', 'abs', 'round', 'length', 'replace', 'version', 'current_database',
        'current_schema', 'current_schemas', 'current_setting', 'set_config', 'format_type', 'obj_description', 'col_description',
        'pg_get_userbyid', 'pg_table_is_visible', 'pg_backend_pid', 'has_table_privilege', 'has_schema_privilege', 'has_column_privilege',
        'has_database_privilege', 'array_to_string', 'quote_ident', 'generate_series'))
    AND p.prorettype IN (SELECT oid FROM types) AND NOT EXISTS (SELECT FROM unnest(p.proargtypes) a WHERE a NOT IN (SELECT oid FROM types))
  ORDER BY p.oid) TO STDOUT;
\echo rows pg_namespace
COPY (SELECT * FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_temp' AND nspname !~ '^pg_toast_temp' ORDER BY oid) TO STDOUT;
\echo rows pg_am
COPY (SELECT * FROM pg_catalog.pg_am WHERE amname IN ('heap', 'btree') ORDER BY oid) TO STDOUT;
\echo rows pg_collation
COPY (SELECT * FROM pg_catalog.pg_collation WHERE collname IN ('default', 'C', 'POSIX') ORDER BY oid) TO STDOUT;
\echo rows pg_language
COPY (SELECT * FROM pg_catalog.pg_language WHERE lanname IN ('internal', 'c', 'sql') ORDER BY oid) TO STDOUT;
\echo rows pg_tablespace
COPY (SELECT * FROM pg_catalog.pg_tablespace ORDER BY oid) TO STDOUT;
\echo rows pg_description
COPY (SELECT * FROM pg_catalog.pg_description WHERE classoid = 'pg_namespace'::regclass ORDER BY objoid) TO STDOUT;
\echo rows keywords
COPY (SELECT word, catcode, barelabel FROM pg_catalog.pg_get_keywords() ORDER BY word) TO STDOUT;
