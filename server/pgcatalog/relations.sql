-- The rows of relations that follow from what there is: the relations themselves, their columns, and what a picture
-- has beside tables. Each part names its relation, and behind it what it reads: relations, which have their rows before, and
-- the lists of rows.go. It runs once with the lists of the system (own = 0), and with those of a picture (own = 1).

-- pg_class: pg_namespace relation
INSERT INTO pg_class (oid, relname, relnamespace, reltype, relowner, relam, relfilenode, reltuples, relpersistence, relkind,
  relnatts, relreplident, relhasrules, relispopulated, relacl)
SELECT r.oid, name, n.oid, own * (r.oid + 1), 10, iif(kind = 'r', 2, 0), iif(kind = 'r' AND schema <> 'pg_catalog', r.oid, 0), -1.0, 'p', kind,
  natts, iif(own, 'd', 'n'), kind = 'v', 1, acl
FROM relation r CROSS JOIN pg_namespace n WHERE nspname = schema

-- pg_tables: relation
INSERT INTO pg_tables (schemaname, tablename, tableowner, hasindexes, hasrules, hastriggers, rowsecurity)
SELECT schema, name, 'dpsql', 0, 0, 0, 0 FROM relation WHERE kind = 'r'

-- pg_attribute: pg_type attribute
INSERT INTO pg_attribute (attrelid, attname, atttypid, attstattarget, attlen, attnum, attndims, attcacheoff, atttypmod,
  attbyval, attalign, attstorage, attnotnull, attislocal, attcollation)
SELECT relation, name, type, iif(number < 0, 0, -1), typlen, number,
  kind = 'r' AND typcategory = 'A' AND typlen = -1 AND typelem <> 0 AND type NOT IN (22, 30), -1, modifier,
  typbyval, typalign, typstorage, required, 1, iif(typcollation = 100 AND kind = 'r' AND schema = 'pg_catalog', 950, typcollation)
FROM attribute LEFT JOIN pg_type ON oid = type

-- pg_type: relation
INSERT INTO pg_type (oid, typname, typnamespace, typowner, typlen, typtype, typcategory, typisdefined, typdelim, typrelid, typarray, typelem,
  typinput, typoutput, typreceive, typsend, typanalyze, typsubscript, typalign, typstorage, typtypmod)
SELECT oid + 1, name, 2200, 10, -1, 'c', 'C', 1, ',', oid, oid + 2, 0, 2290, 2291, 2402, 2403, 0, 0, 'd', 'x', -1 FROM relation WHERE own
UNION ALL
SELECT oid + 2, '_' || name, 2200, 10, -1, 'b', 'A', 1, ',', 0, 0, oid + 1, 750, 751, 2400, 2401, 3816, 6179, 'd', 'x', -1 FROM relation WHERE own

-- pg_description: comment
INSERT INTO pg_description (objoid, classoid, objsubid, description) SELECT relation, 1259, number, text FROM comment

-- pg_database: picture
INSERT INTO pg_database (oid, datname, datdba, encoding, datlocprovider, datallowconn, datconnlimit, dattablespace, datcollate, datctype)
SELECT 16384, database, 10, 6, 'c', 1, -1, 1663, 'C.UTF-8', 'C.UTF-8' FROM picture

-- pg_roles: role
INSERT INTO pg_roles (oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit,
  rolpassword, rolbypassrls)
SELECT oid, name, 0, 1, 0, 0, login, 0, -1, '********', 0 FROM role

-- pg_user: role
INSERT INTO pg_user (usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls, passwd)
SELECT name, oid, 0, 0, 0, 0, '********' FROM role WHERE login

-- pg_settings: setting
INSERT INTO pg_settings (name, setting, category, context, vartype, source, boot_val, reset_val, pending_restart)
SELECT name, value, 'Preset Options', 'user', kind, 'default', value, value, 0 FROM setting

-- information_schema.enabled_roles: role
INSERT INTO "information_schema.enabled_roles" (role_name) SELECT name FROM role WHERE login

-- information_schema.information_schema_catalog_name: picture
INSERT INTO "information_schema.information_schema_catalog_name" (catalog_name) SELECT database FROM picture

-- information_schema.character_sets: picture
INSERT INTO "information_schema.character_sets" (character_set_name, character_repertoire, form_of_use, default_collate_catalog,
  default_collate_schema, default_collate_name)
SELECT 'UTF8', 'UCS', 'UTF8', database, 'pg_catalog', 'default' FROM picture

-- information_schema.schemata: pg_namespace role picture
INSERT INTO "information_schema.schemata" (catalog_name, schema_name, schema_owner)
SELECT database, nspname, r.name FROM picture CROSS JOIN pg_namespace CROSS JOIN role r WHERE r.oid = nspowner AND nspname <> 'pg_toast'

-- information_schema.tables: relation picture
INSERT INTO "information_schema.tables" (table_catalog, table_schema, table_name, table_type, is_insertable_into, is_typed)
SELECT database, schema, name, 'BASE TABLE', 'NO', 'NO' FROM picture, relation

-- information_schema.table_privileges: relation picture
INSERT INTO "information_schema.table_privileges" (grantor, grantee, table_catalog, table_schema, table_name, privilege_type,
  is_grantable, with_hierarchy)
SELECT 'dpsql', user, database, schema, name, 'SELECT', 'NO', 'YES' FROM picture, relation

-- information_schema.role_table_grants: relation picture
INSERT INTO "information_schema.role_table_grants" (grantor, grantee, table_catalog, table_schema, table_name, privilege_type,
  is_grantable, with_hierarchy)
SELECT 'dpsql', user, database, schema, name, 'SELECT', 'NO', 'YES' FROM picture, relation

-- information_schema.columns: pg_type attribute picture
INSERT INTO "information_schema.columns" (table_catalog, table_schema, table_name, column_name, ordinal_position, is_nullable, data_type,
  udt_catalog, udt_schema, udt_name, dtd_identifier, is_self_referencing, is_identity, identity_cycle, is_generated, is_updatable,
  numeric_precision, numeric_precision_radix, numeric_scale, character_octet_length, datetime_precision)
SELECT database, schema, of, name, number, iif(required, 'NO', 'YES'), title,
  database, 'pg_catalog', typname, CAST(number AS TEXT), 'NO', 'NO', 'NO', 'NEVER', 'NO',
  CASE type WHEN 20 THEN 64 WHEN 701 THEN 53 WHEN 1700 THEN iif(modifier >= 0, modifier - 4 >> 16, NULL) END,
  CASE type WHEN 20 THEN 2 WHEN 701 THEN 2 WHEN 1700 THEN 10 END,
  CASE type WHEN 20 THEN 0 WHEN 1700 THEN iif(modifier >= 0, modifier - 4 & 2047, NULL) END,
  CASE type WHEN 25 THEN 1 << 30 END, CASE type WHEN 1082 THEN 0 WHEN 1083 THEN 6 WHEN 1114 THEN 6 END
FROM picture CROSS JOIN attribute CROSS JOIN pg_type WHERE oid = type AND number > 0
