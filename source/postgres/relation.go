package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// relation is a table or view of the server, as the snapshot sees it.
type relation struct {
	schema, name string
	oid          int64
	kind         byte // of pg_class: r, p, f, v or m
	lockable     bool
	attributes   []attribute
	leaves       int         // number of partitions
	parts        []*relation // partitions that are read one by one instead; usually none
	shares       []*relation // partitions that several connections can read; usually none
}

// attribute is a column of a relation.
type attribute struct {
	name     string
	typ      string // name in pg_type, domains resolved
	builtIn  bool   // the type is in pg_catalog
	enum     bool
	citext   bool
	bytewise bool     // only equal bytes are equal, wherever it is compared: no row is on another server, whose collations are not known
	array    string   // of an enum, its array type
	labels   []string // of an enum, its labels
}

func (rel *relation) number() string { return strconv.FormatInt(rel.oid, 10) }

// from returns the relation in FROM, under the alias that qualifies its columns.
func (rel *relation) from() string {
	return " FROM " + query.Quoted(rel.schema) + "." + query.Quoted(rel.name) + " AS r"
}

// open returns the relation that a source names. The first relation is locked before
// the snapshot is taken, so that its schema is that of the snapshot. The lock is the
// one that reading takes.
func (r *reader) open(ctx context.Context, t source.Table) (*relation, error) {
	if rel, ok := r.relations[t.Source]; ok {
		return rel, nil
	}
	if r.conn == nil {
		conn, err := r.pool.pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		r.conn = conn
	}
	rel, err := r.resolve(ctx, t.Source)
	if err != nil {
		return nil, err
	}
	if err := r.lock(ctx, rel); err != nil {
		return nil, err
	}
	if rel.attributes, err = r.attributes(ctx, rel); err != nil {
		return nil, err
	}
	if err := r.asReported(ctx, rel, t); err != nil {
		return nil, err
	}
	if err := r.divide(ctx, rel); err != nil {
		return nil, err
	}
	r.relations[t.Source] = rel
	return rel, nil
}

// asReported refuses a relation that differs from what Check reported on a transaction
// that was lost.
func (r *reader) asReported(ctx context.Context, rel *relation, t source.Table) error {
	reported, ok := r.schemas[t.Source]
	if !ok {
		return nil
	}
	now, err := r.schema(ctx, rel, t)
	if err == nil && (now.Text != reported.Text || !slices.Equal(now.Bases, reported.Bases)) {
		return sqlerr.New(sqlerr.Busy, "the schema of %s changed while it was read", t.Source).WithHint("ask again")
	}
	return err
}

// lock begins the transaction, if it has not begun, and locks the relation if the
// server lets it. LOCK refuses foreign tables, and needs more privileges than reading
// some columns does.
func (r *reader) lock(ctx context.Context, rel *relation) error {
	if r.begun {
		return nil
	}
	r.begun = true
	text := begin
	if rel.lockable {
		text += "; LOCK TABLE " + query.Quoted(rel.schema) + "." + query.Quoted(rel.name) + " IN ACCESS SHARE MODE"
	}
	err := r.run(ctx, text)
	if state := stateOf(err); state == "42501" || state == "42809" {
		return r.run(ctx, "ROLLBACK; "+begin)
	}
	return err
}

const resolveText = `SELECT n.nspname::text, c.relname::text, c.oid::int8, c.relkind::text,
	c.relkind IN ('r', 'p', 'v') AND has_table_privilege(c.oid, 'SELECT'), current_setting('server_encoding')
	FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND `

const (
	exactName = `n.nspname = $1 AND c.relname = $2`
	upper     = `'ABCDEFGHIJKLMNOPQRSTUVWXYZ'`
	lower     = `'abcdefghijklmnopqrstuvwxyz'`
	anyCase   = `translate(n.nspname::text, ` + upper + `, ` + lower + `) = $1 AND translate(c.relname::text, ` + upper + `, ` + lower + `) = $2`
)

// resolve finds the relation. It first asks for the likely name, which an index finds.
func (r *reader) resolve(ctx context.Context, source string) (*relation, error) {
	schema, table, err := split(source)
	if err != nil {
		return nil, err
	}
	found, err := r.candidates(ctx, source, "exact", exactName, schema.likely(), table.likely())
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		found, err = r.candidates(ctx, source, "any", anyCase, query.FoldName(schema.name), query.FoldName(table.name))
		if err != nil {
			return nil, err
		}
	}
	found, err = only(found, schema, source, func(rel *relation) string { return rel.schema })
	if err == nil {
		found, err = only(found, table, source, func(rel *relation) string { return rel.name })
	}
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, sqlerr.New(sqlerr.Unknown, "no such table or view: %s", source).
			WithHint("see \\d in psql; a name with capitals may need double quotes")
	}
	return found[0], allowed(found[0].schema, source)
}

// likely returns the name that PostgreSQL itself would look for.
func (p part) likely() string {
	if p.quoted {
		return p.name
	}
	return query.FoldName(p.name)
}

// only keeps the relations whose schema or name is the one that p means.
func only(found []*relation, p part, source string, of func(*relation) string) ([]*relation, error) {
	var names []string
	seen := make(map[string]bool)
	for _, rel := range found {
		if !seen[of(rel)] {
			seen[of(rel)] = true
			names = append(names, of(rel))
		}
	}
	i := p.choose(names)
	if i == -2 {
		return nil, sqlerr.New(sqlerr.Invalid, "%s can be more than one table or view", source).
			WithHint("write it as the server does, in double quotes")
	}
	var out []*relation
	for _, rel := range found {
		if i >= 0 && of(rel) == names[i] {
			out = append(out, rel)
		}
	}
	return out, nil
}

func (r *reader) candidates(ctx context.Context, source, name, where, schema, table string) ([]*relation, error) {
	if strings.ContainsRune(schema+table, 0) {
		return nil, nil // no name contains it, and a parameter must not
	}
	var found []*relation
	encoding := "UTF8"
	err := r.rows(ctx, statement{resolveText + where, texts(schema, table), "dpsql_resolve_" + name}, func(row [][]byte) bool {
		found = append(found, &relation{schema: string(row[0]), name: string(row[1]), oid: int8Of(row[2]),
			kind: row[3][0], lockable: row[4][0] == 1})
		encoding = string(row[5])
		return true
	})
	if err == nil && encoding != "UTF8" {
		return nil, sqlerr.New(sqlerr.Unsupported, "the database of %s has the encoding %s", source, encoding).
			WithHint("only UTF8 is read: in another encoding some texts cannot be compared without errors")
	}
	return found, err
}

const attributesText = reachedWith + `, base(attnum, typ) AS (
		SELECT attnum, atttypid FROM pg_attribute WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped
		UNION ALL SELECT b.attnum, t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.typ WHERE t.typtype = 'd')
	SELECT a.attname::text, t.typname::text, n.nspname = 'pg_catalog', t.typtype = 'e',
		EXISTS (SELECT FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid WHERE d.classid = 'pg_type'::regclass
			AND d.objid = t.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'citext'),
		a.attcollation = 0 OR coalesce(c.collisdeterministic, false) AND NOT EXISTS (SELECT FROM parts AS p JOIN pg_class AS f ON f.oid = p.oid AND f.relkind = 'f'),
		coalesce(quote_ident(n.nspname) || '.' || quote_ident(l.typname), ''),
		(SELECT array_to_json(array_agg(enumlabel ORDER BY enumsortorder))::text FROM pg_enum WHERE enumtypid = t.oid)
	FROM base AS b JOIN pg_attribute AS a ON a.attrelid = $1::oid AND a.attnum = b.attnum
		JOIN pg_type AS t ON t.oid = b.typ AND t.typtype <> 'd' JOIN pg_namespace AS n ON n.oid = t.typnamespace
		LEFT JOIN pg_type AS l ON l.oid = t.typarray LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
	ORDER BY a.attnum`

func (r *reader) attributes(ctx context.Context, rel *relation) ([]attribute, error) {
	var out []attribute
	err := r.rows(ctx, statement{attributesText, texts(rel.number()), "dpsql_attributes"}, func(row [][]byte) bool {
		yes := func(i int) bool { return len(row[i]) == 1 && row[i][0] == 1 }
		out = append(out, attribute{name: string(row[0]), typ: string(row[1]), builtIn: yes(2), enum: yes(3), citext: yes(4),
			bytewise: yes(5), array: string(row[6]), labels: jsonTexts(row[7])})
		return true
	})
	return out, err
}

// columnNumber returns the number of a column of a view. Columns of views are never
// dropped, so it is the position.
func (rel *relation) columnNumber(name, source string) (string, error) {
	a, err := rel.attribute(name, source)
	return strconv.Itoa(1 + slices.IndexFunc(rel.attributes, func(b attribute) bool { return b.name == a.name })), err
}

// attribute returns the column that a declared name means.
func (rel *relation) attribute(name, source string) (attribute, error) {
	names := make([]string, len(rel.attributes))
	for i, a := range rel.attributes {
		names[i] = a.name
	}
	i := part{name: name}.choose(names)
	for j, n := range names { // an exact match goes before PostgreSQL's rule
		if n == name {
			i = j
		}
	}
	switch {
	case i == -2:
		return attribute{}, sqlerr.New(sqlerr.Invalid, "%s has several columns that %s can be", source, name).
			WithHint("write it as the server does: they are %s", strings.Join(names, ", "))
	case i < 0:
		return attribute{}, sqlerr.New(sqlerr.Unknown, "%s has no column %s", source, name).Of(sqlerr.Column).
			WithHint("its columns are %s", strings.Join(names, ", "))
	}
	return rel.attributes[i], nil
}

// part is one part of a name, as written.
type part struct {
	name   string
	quoted bool
}

// split splits schema.table.
func split(source string) (schema, table part, err error) {
	schema, rest, ok := nextPart(source)
	if ok && strings.HasPrefix(rest, ".") {
		if table, rest, ok = nextPart(rest[1:]); ok && rest == "" {
			return schema, table, allowed(schema.name, source)
		}
	}
	return schema, table, sqlerr.New(sqlerr.Invalid, "%s is not the name of a table in PostgreSQL", source).
		WithHint("name its schema and its table, as in public.flights")
}

func nextPart(s string) (p part, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, `."`)
		if end < 0 {
			end = len(s)
		}
		return part{name: s[:end]}, s[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return part{b.String(), true}, s[i+1:], b.Len() > 0
	}
	return part{}, "", false
}

// allowed refuses the server's own schemas, which tell more than the rows of a table.
func allowed(schema, source string) error {
	folded := query.FoldName(schema)
	if strings.HasPrefix(folded, "pg_") || folded == "information_schema" {
		return sqlerr.New(sqlerr.Forbidden, "%s cannot be read: the schema is the server's own", source)
	}
	return nil
}

// choose returns the index of the name that the part means. A quoted part means the
// name as written. Any other means the lower-case name, or else the only one that
// differs in case alone. choose returns -1 if there is none, and -2 if there are
// several.
func (p part) choose(names []string) int {
	folded, found := query.FoldName(p.name), -1
	for i, n := range names {
		switch {
		case p.quoted && n == p.name, !p.quoted && n == folded:
			return i
		case p.quoted || query.FoldName(n) != folded:
		case found >= 0:
			found = -2
		case found == -1:
			found = i
		}
	}
	return found
}
