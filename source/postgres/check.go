package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// Check implements source.Reader. It follows views down to tables. It refuses a table
// if reading one of its rows has failed before.
//
// A base is named by the server, the database, the schema and the table. The server is
// named by the number that initdb gave it, which its replicas share, or by host and
// port if the user may not ask for that number. A partition, and a table that inherits,
// is named by the topmost table that it is part of. So all declarations over parts of
// one table share its budget, whichever comes first and whatever partitions come later.
// Rows on other servers also have the names that farBases gives them.
func (r *reader) Check(ctx context.Context, t source.Table) (source.Schema, error) {
	if err := t.CheckUnit(); err != nil {
		return source.Schema{}, err
	}
	var schema source.Schema
	err := r.read(ctx, t, func(rel *relation) error {
		var err error
		if schema, err = r.schema(ctx, rel, t); err != nil {
			return err
		}
		if err := r.pool.unfit.Refuse(schema.Bases, t.Source); err != nil {
			return err
		}
		schema.Notes = append(schema.Notes, misfits(rel, t)...)
		return r.readable(ctx, rel, t) // planning calls functions, so it comes after vouch
	})
	if err == nil {
		r.schemas[t.Source] = schema
	}
	return schema, err
}

// misfits notes the columns whose type admits values that belong to no value of the
// declared domain. Rows with such a value are not counted, and no error mentions them.
// misfits reads types and no row.
func misfits(rel *relation, t source.Table) (notes []string) {
	for _, c := range t.Columns {
		a, err := rel.attribute(c.Name, t.Source)
		if err != nil {
			continue
		}
		if why := misfit(rel, a, c); why != "" {
			notes = append(notes, fmt.Sprintf("%s is of type %s in %s: %s", a.name, a.typ, t.Source, why))
		}
	}
	return notes
}

// misfit names the values of an attribute that belong to no value of the domain. It returns ""
// if its type does not suggest any.
func misfit(rel *relation, a attribute, c query.Column) string {
	isText := a.typ == "text" || a.typ == "varchar"
	switch k, ok := a.kind(query.TypeInteger); {
	case c.Form.IsTime() && isText:
		return "rows with a text that is no " + strings.ToLower(c.TypeName()) + " are not counted"
	case c.Form.IsStepped() && !c.Form.IsRounded() && (a.typ == "float4" || a.typ == "float8"):
		return source.MoreDigits
	case c.Form.IsTime() || c.Form.IsStepped() || c.Domain.Type() != query.TypeInteger || !ok || k.all:
		return ""
	case c.Form.IsBoolean():
		return source.NotBoolean
	}
	column := query.Quoted(a.name)
	fractional := column + " <> trunc(" + column + ")"
	if isText {
		fractional = column + " !~ '^[+-]?[0-9]+$'"
	}
	return fmt.Sprintf("rows where it is not a whole number are not counted; SELECT count(*) FROM %s.%s WHERE %s tells how many there are, and a view can bin them",
		query.Quoted(rel.schema), query.Quoted(rel.name), fractional)
}

// readable checks that the user may read the columns. It reads no row.
func (r *reader) readable(ctx context.Context, rel *relation, t source.Table) error {
	rows, err := rowsOf(rel, t)
	if err != nil {
		return err
	}
	fields := make([]string, len(rows.columns))
	for i, c := range rows.columns {
		fields[i] = c.text
	}
	if t.Unit != "" {
		u, err := rel.unit(t)
		if err != nil {
			return err
		}
		fields = append(fields, u.text)
	}
	return r.rows(ctx, statement{"SELECT " + strings.Join(fields, ", ") + rel.from() + " WHERE false", nil, ""}, func([][]byte) bool { return true })
}

// reachedWith finds the relations that make up one: those that its views read, and all
// that inherit from these.
const reachedWith = `WITH RECURSIVE reached(oid) AS (
		SELECT $1::oid
		UNION SELECT d.refobjid FROM reached AS x JOIN pg_rewrite AS w ON w.ev_class = x.oid AND w.ev_type = '1'
			JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass),
	down(oid) AS (
		SELECT x.oid FROM reached AS x JOIN pg_class AS c ON c.oid = x.oid AND c.relkind IN ('r', 'p', 'f')
		UNION SELECT i.inhrelid FROM down AS d JOIN pg_class AS c ON c.oid = d.oid AND c.relkind <> 'p' AND c.relhassubclass
			JOIN pg_inherits AS i ON i.inhparent = d.oid),
	parts(oid) AS (SELECT oid FROM down UNION SELECT i.inhrelid FROM parts AS p JOIN pg_inherits AS i ON i.inhparent = p.oid)`

// reachedText lists these relations with the stored definitions of views, the topmost
// tables of this database that they are part of, their columns that are computed when they are
// read, and where their rows are: 0 for here,
// or the number of a foreign server.
const reachedText = reachedWith + `,
	up(oid) AS (SELECT oid FROM down UNION SELECT i.inhparent FROM up AS u JOIN pg_inherits AS i ON i.inhrelid = u.oid)
SELECT x.oid::text, n.nspname::text, format('%I.%I', n.nspname, c.relname), 'definition',
	c.relkind::text || ' ' || format('%I.%I', n.nspname, c.relname) || ' (' || coalesce((` + columnsText + `), '') || ')'
		|| coalesce((SELECT ' SERVER ' || quote_ident(s.srvname) || ' ' || coalesce(array_to_string(f.ftoptions, ', '), '')
			FROM pg_foreign_table AS f JOIN pg_foreign_server AS s ON s.oid = f.ftserver WHERE f.ftrelid = c.oid), '')
		|| CASE WHEN c.relkind IN ('v', 'm') THEN ' AS' || pg_get_viewdef(c.oid) ELSE ';' END,
	(SELECT w.ev_action::text FROM pg_rewrite AS w WHERE w.ev_class = c.oid AND w.ev_type = '1')
	FROM reached AS x JOIN pg_class AS c ON c.oid = x.oid AND c.relkind IN ('r', 'p', 'f', 'v', 'm') JOIN pg_namespace AS n ON n.oid = c.relnamespace
UNION ALL SELECT c.oid::text, n.nspname::text, format('%I/%I.%I', current_database(), n.nspname, c.relname), 'base', '', NULL
	FROM up AS u JOIN pg_class AS c ON c.oid = u.oid AND c.relkind <> 'f' JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE NOT EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhrelid = u.oid)
UNION ALL SELECT '', '', '', 'generated', '', d.adbin::text FROM (SELECT oid FROM reached UNION SELECT oid FROM parts) AS x
	JOIN pg_attribute AS a ON a.attrelid = x.oid AND a.attgenerated = 'v' JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
UNION ALL SELECT DISTINCT '', '', coalesce(f.ftserver, 0)::text, CASE WHEN c.relkind = 'f' AND NOT coalesce(` + isFdw + `, false) THEN 'other wrapper' ELSE 'place' END, '', NULL
	FROM parts AS p JOIN pg_class AS c ON c.oid = p.oid AND c.relkind IN ('r', 'f') LEFT JOIN pg_foreign_table AS f ON f.ftrelid = p.oid
		LEFT JOIN pg_foreign_server AS s ON s.oid = f.ftserver LEFT JOIN pg_foreign_data_wrapper AS w ON w.oid = s.srvfdw LEFT JOIN pg_proc AS h ON h.oid = w.fdwhandler`

// columnsText describes the columns of c by all that decides their values.
const columnsText = `SELECT string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
		|| CASE WHEN t.typtype = 'd' THEN ' OF ' || format_type(t.typbasetype, t.typtypmod) ELSE '' END
		|| CASE WHEN a.attcollation NOT IN (0, 100) THEN ' COLLATE ' || a.attcollation::regcollation::text ELSE '' END
		|| coalesce((SELECT ' AS ' || pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d WHERE a.attgenerated = 'v' AND d.adrelid = a.attrelid AND d.adnum = a.attnum), '')
		|| coalesce((SELECT ' ' || array_agg(e.enumlabel ORDER BY e.enumsortorder)::text FROM pg_enum AS e WHERE e.enumtypid = a.atttypid), ''),
		', ' ORDER BY a.attnum)
	FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped`

// schema returns what the relation reads.
func (r *reader) schema(ctx context.Context, rel *relation, t source.Table) (source.Schema, error) {
	var bases, definitions []string
	var views view
	var reserved error
	var places []string
	err := r.rows(ctx, statement{reachedText, texts(rel.number()), "dpsql_reached"}, func(row [][]byte) bool {
		if err := allowed(string(row[1]), t.Source); err != nil {
			reserved = err
		}
		switch string(row[3]) {
		case "base":
			bases = append(bases, string(row[2]))
			return true
		case "generated":
			views.look("{QUERY :commandType 1 :expression " + string(row[5]) + "}") // as a SELECT
			return true
		case "place":
			places = append(places, string(row[2]))
			return true
		case "other wrapper":
			reserved = otherWrapper(t.Source)
			return true
		}
		definitions = append(definitions, string(row[4])+"\n")
		views.reach(string(row[0]), row[4][0], row[5]) // a definition begins with its kind
		return true
	})
	if err == nil {
		err = reserved
	}
	views.far = slices.ContainsFunc(places, func(place string) bool { return place != "0" })
	var known catalog
	if err == nil {
		known, err = r.vouch(ctx, views, t.Source)
	}
	if err != nil {
		return source.Schema{}, err
	}
	for _, oid := range views.relations {
		if views.kinds[oid] == 0 { // the server does not record what depends on its own tables
			return source.Schema{}, sqlerr.New(sqlerr.Forbidden, "%s reads a table of the server's own", t.Source)
		}
	}
	if err := r.whose(ctx, rel, t, views, known); err != nil {
		return source.Schema{}, err
	}
	server, err := r.server(ctx)
	if err != nil {
		return source.Schema{}, err
	}
	for i := range bases {
		bases[i] = server + "/" + bases[i]
	}
	schema := source.Schema{Bases: bases, Text: joined(definitions)}
	if t.Period != nil {
		if schema.Period, err = r.periodColumn(ctx, rel, t, views, known, places, schema.Bases); err != nil {
			return source.Schema{}, err
		}
	}
	if views.far {
		if err := r.farBases(ctx, rel, t, server, &schema); err != nil {
			return source.Schema{}, err
		}
	}
	schema.Bases, schema.Also, schema.Before = sortedOnce(schema.Bases), sortedOnce(schema.Also), sortedOnce(schema.Before)
	if len(places) > 1 && t.Unit == "" {
		schema.Text += source.Apart
	}
	return schema, nil
}

func joined(definitions []string) string {
	slices.Sort(definitions)
	return strings.Join(definitions, "")
}

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// server names the server independently of the address by which it was reached, if the
// user may ask for that. The name stays the same while the connection lasts.
func (r *reader) server(ctx context.Context) (string, error) {
	known := r.conn.Conn().PgConn().CustomData()
	if name, ok := known["dpsql"].(string); ok {
		return name, nil
	}
	ask, name := false, ""
	err := r.rows(ctx, statement{text: "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"}, func(row [][]byte) bool {
		ask = row[0][0] == 1
		return true
	})
	if err == nil && ask {
		err = r.rows(ctx, statement{text: "SELECT system_identifier::text FROM pg_control_system()"}, func(row [][]byte) bool {
			name = "postgresql:" + string(row[0])
			return true
		})
	} else {
		config := r.conn.Conn().Config()
		name = fmt.Sprintf("postgresql:%s:%d", query.FoldName(config.Host), config.Port)
	}
	if err == nil {
		known["dpsql"] = name
	}
	return name, err
}
