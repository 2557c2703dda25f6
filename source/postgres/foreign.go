package postgres

import "dpsql/sqlerr"

// farText lists the foreign tables of postgres_fdw with the address of their
// rows: the options that say where the server is, and the schema and the table
// there, which are called as here unless it is said otherwise. The order in which
// options were given, and the names of servers, make no difference.
const farText = `far(oid, address) AS (
	SELECT f.ftrelid, (SELECT format('%s:%s/%s%s', lower(coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'host'), max(o.option_value) FILTER (WHERE o.option_name = 'hostaddr'), '')),
				coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'port'), '5432'), coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'dbname'), ''),
				'?' || max(o.option_value) FILTER (WHERE o.option_name = 'service'))
			FROM pg_options_to_table(s.srvoptions) AS o) || '/'
		|| (SELECT format('%I.%I', coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'schema_name'), n.nspname),
				coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'table_name'), c.relname))
			FROM pg_options_to_table(f.ftoptions) AS o)
	FROM pg_foreign_table AS f JOIN pg_class AS c ON c.oid = f.ftrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
		JOIN pg_foreign_server AS s ON s.oid = f.ftserver JOIN pg_foreign_data_wrapper AS w ON w.oid = s.srvfdw JOIN pg_proc AS h ON h.oid = w.fdwhandler
	WHERE h.prosrc = 'postgres_fdw_handler' AND h.probin LIKE '%postgres_fdw%')`

// otherWrapper refuses a foreign table that is not another PostgreSQL's: what
// reads a file, for one, fails on the line that does not fit its columns.
func otherWrapper(source string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s has rows in a foreign table that is not one of postgres_fdw: it could fail on a row", source).
		WithHint("only tables of the server itself, and foreign tables of postgres_fdw, can be declared")
}
