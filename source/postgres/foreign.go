package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dpsql/source"
	"dpsql/sqlerr"
)

// isFdw is true of postgres_fdw, by the handler h of a wrapper.
const isFdw = `(h.prosrc = 'postgres_fdw_handler' AND h.probin LIKE '%postgres_fdw%')`

// farText lists the foreign tables that lead to the databases in which the relation has
// rows. Its columns are: where that database is, by the options of the server, and its
// name if the server is this one; the table there, which has the local name unless an
// option gives another; whether the relation reads it; and the topmost tables of this
// database that it is part of. The order of the options and the names of servers make
// no difference.
const farText = reachedWith + `,
	far(oid, name, readable, place, database, schema, address) AS (
	SELECT c.oid, format('%I.%I', n.nspname, c.relname), has_table_privilege(c.oid, 'SELECT'),
		format('%s:%s/%s%s', lower(coalesce(o.v ->> 'host', o.v ->> 'hostaddr', '')), coalesce(o.v ->> 'port', '5432'), coalesce(o.v ->> 'dbname', ''), '?' || (o.v ->> 'service')),
		CASE WHEN coalesce(o.v ->> 'port', '5432') = current_setting('port') AND (o.v ->> 'service') IS NULL AND CASE
				WHEN coalesce(o.v ->> 'hostaddr', o.v ->> 'host', '') LIKE '/%' THEN coalesce((SELECT (o.v ->> 'host') = ANY (string_to_array(replace(g.setting, ' ', ''), ','))
					FROM pg_settings AS g WHERE g.name = 'unix_socket_directories'), true)
				ELSE coalesce(o.v ->> 'hostaddr', lower(o.v ->> 'host'), '') IN ('', 'localhost', '127.0.0.1', '::1', coalesce(host(inet_server_addr()), '')) END
			THEN quote_ident(coalesce(o.v ->> 'dbname', current_database())) ELSE '' END,
		coalesce(q.v ->> 'schema_name', n.nspname), format('%I.%I', coalesce(q.v ->> 'schema_name', n.nspname), coalesce(q.v ->> 'table_name', c.relname))
	FROM pg_foreign_table AS f JOIN pg_class AS c ON c.oid = f.ftrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
		JOIN pg_foreign_server AS s ON s.oid = f.ftserver JOIN pg_foreign_data_wrapper AS w ON w.oid = s.srvfdw JOIN pg_proc AS h ON h.oid = w.fdwhandler AND ` + isFdw + `
		CROSS JOIN LATERAL (SELECT jsonb_object_agg(option_name, option_value) FROM pg_options_to_table(s.srvoptions)) AS o(v)
		CROSS JOIN LATERAL (SELECT jsonb_object_agg(option_name, option_value) FROM pg_options_to_table(f.ftoptions)) AS q(v)),
	near(place) AS (SELECT f.place FROM far AS f JOIN parts AS p ON p.oid = f.oid),
	climb(oid, at) AS (SELECT f.oid, f.oid FROM far AS f WHERE f.place IN (SELECT place FROM near)
		UNION SELECT k.oid, i.inhparent FROM climb AS k JOIN pg_inherits AS i ON i.inhrelid = k.at)
SELECT f.place, f.database, f.database = quote_ident(current_database()), f.schema::text, f.address, f.name, f.readable, EXISTS (SELECT FROM parts AS p WHERE p.oid = f.oid),
	coalesce((SELECT json_agg(format('%I/%I.%I', current_database(), n.nspname, c.relname)) FROM climb AS k JOIN pg_class AS c ON c.oid = k.at AND c.relkind <> 'f'
		JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE k.oid = f.oid AND NOT EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhrelid = k.at)), '[]')::text
	FROM far AS f WHERE f.place IN (SELECT place FROM near)`

// foreign is a foreign table.
type foreign struct {
	place, database string // where its rows are; the name of their database if it is on this server, else ""
	here            bool   // the database is this one
	schema, address string // of the table in that database
	name            string // of the foreign table here
	readable        bool
	reads           bool // the relation reads it
	tops            []string
	bases, before   []string // names of its rows, as in source.Schema
	whole           bool     // the base is the whole database
}

// farBases adds the bases of the rows that a relation has in other databases.
//
// A table there is named by the address of its database, and by its own name or those
// of the topmost tables that it is part of. The latter needs the catalog of that
// database: foreign tables that stand for its pg_class, pg_namespace and pg_inherits.
// If the catalog can be read, anything there that is not a table is refused, since what
// it makes of rows is not known. If it cannot, two names may mean the same rows. All of
// the database is then one base, whose name is a prefix of the names of all tables
// there. A server that leads back to this one has its own name, too.
//
// A foreign table that is part of a table here is named by that table. It may also have
// rows of others, so its own name is in Also, and with it the tables here that have
// foreign tables over the same rows as parts. Parts of a table, and views, may have had
// a budget from a time when fewer names were known to mean the same rows. They are in
// Before.
func (r *reader) farBases(ctx context.Context, rel *relation, t source.Table, server string, schema *source.Schema) error {
	var all []*foreign
	err := r.rows(ctx, statement{farText, texts(rel.number()), "dpsql_far"}, func(row [][]byte) bool {
		all = append(all, &foreign{place: string(row[0]), database: string(row[1]), here: row[2][0] == 1, schema: string(row[3]), address: string(row[4]), name: string(row[5]),
			readable: row[6][0] == 1, reads: row[7][0] == 1, tops: jsonTexts(row[8])})
		return true
	})
	if err != nil {
		return err
	}
	known := make(map[string]remotes)
	for _, f := range all {
		of, ok := known[f.place]
		if !ok {
			if of, err = r.remotes(ctx, f, all); err != nil {
				return err
			}
			known[f.place] = of
		}
		if err = f.find(of, t.Source, server); err != nil {
			return err
		}
	}
	var read []string
	for _, f := range all {
		if !f.reads {
			continue
		}
		read = append(read, f.bases...)
		schema.Before = append(schema.Before, f.before...)
		if len(f.tops) == 0 {
			schema.Bases = append(schema.Bases, f.bases...)
		}
		note := "what there is in the database " + f.place + " cannot be told from here: all rows there share one budget, and you vouch that foreign tables stand for tables"
		if f.whole && !slices.Contains(schema.Notes, note) {
			schema.Notes = append(schema.Notes, note)
		}
	}
	schema.Also = read
	for _, f := range all {
		if overlap(f.bases, read) {
			for _, top := range f.tops {
				schema.Also = append(schema.Also, server+"/"+top)
			}
		}
	}
	return nil
}

// find finds the bases of a foreign table's rows.
func (f *foreign) find(catalog remotes, source, server string) error {
	if there := catalog[f.address]; f.reads {
		if err := allowed(f.schema, source); err != nil {
			return err
		}
		if there != nil && (there.view || there.policies) {
			return sqlerr.New(sqlerr.Unsupported, "%s reads %s of another database, a view or a table with row security: what that makes of rows is not known", source, f.address).
				WithHint("let the foreign table stand for a table, and make the view here")
		}
	}
	var tables []string
	tables, f.whole = catalog.tops(f.address)
	names := tables
	if f.whole {
		names = append(names, "")
	}
	at, by := server+"/postgres_fdw:"+f.place, server+"/"+f.database
	if f.database == "" {
		by = at
	}
	for _, t := range names {
		f.bases = append(f.bases, joinedName(by, t))
	}
	for _, t := range append(names, catalog.alike(tables)...) {
		f.before = append(f.before, joinedName(by, t), joinedName(at, t))
	}
	return nil
}

// joinedName returns the name of a table of a database, or of the database.
func joinedName(database, table string) string {
	if table == "" {
		return database
	}
	return database + "/" + table
}

// overlap reports whether two lists of bases can have a row in common.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool {
			return x == y || strings.HasPrefix(x, y+"/") || strings.HasPrefix(y, x+"/")
		})
	})
}

// remotes are the relations of another database, by name.
type remotes map[string]*remote

type remote struct {
	view, policies, foreign bool
	parents, children       []*remote
	name                    string
}

const remotesText = `SELECT c.oid::text, format('%%I.%%I', n.nspname, c.relname), c.relkind::text, c.relrowsecurity, coalesce(i.inhparent, 0)::text
	FROM %s AS c JOIN %s AS n ON n.oid = c.relnamespace LEFT JOIN %s AS i ON i.inhrelid = c.oid
	WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')`

// remotes reads the catalog of the database that a foreign table leads to. It returns
// nil if the catalog cannot be read.
func (r *reader) remotes(ctx context.Context, to *foreign, all []*foreign) (remotes, error) {
	names := []any{"pg_catalog.pg_class", "pg_catalog.pg_namespace", "pg_catalog.pg_inherits"}
	for i, catalog := range names {
		if to.here {
			break
		}
		at := slices.IndexFunc(all, func(f *foreign) bool { return f.place == to.place && f.address == catalog && f.readable })
		if at < 0 {
			return nil, nil
		}
		names[i] = all[at].name
	}
	out, byNumber, parents := make(remotes), make(map[string]*remote), make(map[string][]string)
	err := r.rows(ctx, statement{text: fmt.Sprintf(remotesText, names...)}, func(row [][]byte) bool {
		number, kind := string(row[0]), row[2][0]
		if byNumber[number] == nil {
			t := &remote{name: string(row[1]), view: kind == 'v' || kind == 'm', foreign: kind == 'f', policies: row[3][0] == 1}
			byNumber[number], out[t.name] = t, t
		}
		parents[number] = append(parents[number], string(row[4]))
		return true
	})
	if ofRow(err) {
		return nil, sqlerr.New(sqlerr.Invalid, "the foreign tables over the catalog of %s cannot be read", to.place).
			WithHint("make them by IMPORT FOREIGN SCHEMA pg_catalog LIMIT TO (pg_class, pg_namespace, pg_inherits)")
	}
	for number, t := range byNumber {
		for _, p := range parents[number] {
			if above := byNumber[p]; above != nil {
				t.parents, above.children = append(t.parents, above), append(above.children, t)
			}
		}
	}
	return out, err
}

// tops returns the topmost tables that a table, or a table that inherits from it, is
// part of. whole is true if they are not known: some are in a third database, or the
// catalog cannot be read.
func (all remotes) tops(address string) (names []string, whole bool) {
	t := all[address]
	if t == nil || t.view {
		return nil, true
	}
	below := reachable([]*remote{t}, func(t *remote) []*remote { return t.children })
	for _, t := range reachable(below, func(t *remote) []*remote { return t.parents }) {
		if len(t.parents) == 0 {
			names = append(names, t.name)
		}
	}
	return names, slices.ContainsFunc(below, func(t *remote) bool { return t.foreign })
}

// alike returns the names of relations that can have rows of the tables: all that
// inherit from them, and all views.
func (all remotes) alike(tables []string) (names []string) {
	var tops []*remote
	for _, name := range tables {
		tops = append(tops, all[name])
	}
	for _, t := range reachable(tops, func(t *remote) []*remote { return t.children }) {
		names = append(names, t.name)
	}
	for name, t := range all {
		if t.view {
			names = append(names, name)
		}
	}
	return names
}

// reachable returns the relations that next reaches from some, these included.
func reachable(from []*remote, next func(*remote) []*remote) []*remote {
	seen := make(map[*remote]bool)
	var out []*remote
	for pending := slices.Clone(from); len(pending) > 0; {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if !seen[t] {
			seen[t] = true
			out, pending = append(out, t), append(pending, next(t)...)
		}
	}
	return out
}

// otherWrapper refuses a foreign table whose rows do not come from PostgreSQL. A
// wrapper that reads a file, for example, fails on the line that does not fit its
// columns.
func otherWrapper(source string) error {
	return sqlerr.New(sqlerr.Unsupported, "%s has rows in a foreign table that is not one of postgres_fdw: it could fail on a row", source).
		WithHint("only tables of the server itself, and foreign tables of postgres_fdw, can be declared")
}
