package pgcatalog

import (
	"cmp"
	_ "embed"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dpsql/sqlerr"
)

// New returns the catalog of a picture.
func New(p Picture) (*Catalog, error) {
	c := &Catalog{picture: p, tables: make(map[string]*relation), byOID: make(map[uint32]*relation), rowTypes: make(map[uint32]string)}
	c.roles = []role{{ownerRole, ownerName, false}, {databaseOwner, "pg_database_owner", false}}
	if p.User != "" && p.User != ownerName {
		c.roles = append(c.roles, role{c.newOID("user " + p.User), p.User, true})
	}
	tables := slices.Clone(p.Tables)
	slices.SortFunc(tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	for i := range tables {
		if err := c.add(&tables[i]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// modifierOf returns the atttypmod of a type: of numeric(p,s), or -1.
func modifierOf(typ string) (int64, bool) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(typ, " ", ""), "numeric(")
	if !ok {
		return -1, !strings.Contains(typ, "(")
	}
	precision, scale, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
	p, err := strconv.ParseInt(precision, 10, 16)
	q, wrong := strconv.ParseInt(cmp.Or(scale, "0"), 10, 16)
	return p<<16 | q&0x7ff + 4, err == nil && wrong == nil && strings.HasSuffix(rest, ")") && q >= 0
}

// newOID returns a free OID, of which the next two are free too. It comes from the name: it is
// the same after other tables were made or dropped, and tells nothing about tables that the
// user does not see.
func (c *Catalog) newOID(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	for n := h.Sum32() % (1 << 26); ; n = (n + 1) % (1 << 26) {
		oid := 1<<24 + n*4
		if c.byOID[oid] == nil && !slices.ContainsFunc(c.roles, func(r role) bool { return r.oid == oid }) {
			return oid
		}
	}
}

func (c *Catalog) add(t *Table) error {
	if c.tables[t.Name] != nil {
		return sqlerr.New(sqlerr.Internal, "the picture has two tables %s", t.Name)
	}
	r := &relation{oid: c.newOID(t.Name), schema: "public", name: t.Name, kind: "r", table: t}
	for _, col := range t.Columns {
		typ, _, _ := strings.Cut(col.Type, "(")
		modifier, ok := modifierOf(col.Type)
		if !ok || !slices.Contains(columnTypes, typ) {
			return sqlerr.New(sqlerr.Internal, "column %s.%s has the type %q, which the catalog does not know", t.Name, col.Name, col.Type)
		}
		r.columns = append(r.columns, relationColumn{col.Name, typeNamed(typ), !col.Nullable})
		r.modifiers = append(r.modifiers, modifier)
	}
	c.tables[t.Name], c.byOID[r.oid] = r, r
	c.sorted = append(c.sorted, r)
	c.rowTypes[r.oid+1], c.rowTypes[r.oid+2] = t.Name, t.Name+"[]"
	return nil
}

// description returns the comment on a table, or on its column of a number, "" for none.
func (r *relation) description(column int) string {
	switch {
	case r.table == nil || column > len(r.table.Columns):
		return ""
	case column == 0:
		return r.table.Comment
	}
	return r.table.Columns[column-1].Comment
}

// relationsText fills relations of what the lists below have, and says how.
//
//go:embed relations.sql
var relationsText string

// filling is a part of relationsText.
type filling struct {
	reads []string // relations
	lists []string // of what
	sql   string   // INSERT
}

// fillings are the parts of relationsText by the names of relations.
var fillings = sync.OnceValue(func() map[string]filling {
	out := make(map[string]filling)
	for _, part := range strings.Split(relationsText, "\n-- ")[1:] {
		head, text, _ := strings.Cut(part, "\n")
		name, reads, _ := strings.Cut(head, ": ")
		if !strings.HasPrefix(text, "INSERT") {
			continue
		}
		f := filling{sql: text}
		for _, read := range strings.Fields(reads) {
			if lists[read].columns == nil {
				f.reads = append(f.reads, read)
			} else {
				f.lists = append(f.lists, read)
			}
		}
		out[name] = f
	}
	return out
})

// list is what relationsText reads beside relations.
type list struct {
	columns  []string
	system   func() [][]any
	pictured func(c *Catalog) [][]any
}

// rows are those of a picture, or of nil those of the system.
func (l list) rows(c *Catalog) [][]any {
	switch {
	case c != nil:
		return l.pictured(c)
	case l.system != nil:
		return l.system()
	}
	return nil
}

// lists are the lists by name.
var lists = map[string]list{
	"relation": {strings.Fields("oid schema name kind natts acl own"),
		func() [][]any { return relationRows(sections().relations, "=r/"+ownerName) },
		func(c *Catalog) [][]any { return relationRows(c.sorted, c.grant()...) }},
	"attribute": {strings.Fields("relation of schema kind name number type title required modifier"),
		func() [][]any { return attributeRows(sections().relations) },
		func(c *Catalog) [][]any { return attributeRows(c.sorted) }},
	"comment": {strings.Fields("relation number text"), nil, (*Catalog).comments},
	"role": {strings.Fields("oid name login"), nil, func(c *Catalog) (out [][]any) {
		for _, r := range c.roles {
			out = append(out, []any{r.oid, r.name, rank(r.login)})
		}
		return out
	}},
	"picture": {strings.Fields("database user"), nil, func(c *Catalog) [][]any {
		return [][]any{{c.picture.Database, c.picture.User}}
	}},
	"setting": {strings.Fields("name value kind"), func() (out [][]any) {
		for _, s := range settings {
			out = append(out, []any{s.name, s.value, s.kind})
		}
		return out
	}, func(*Catalog) [][]any { return nil }},
}

// grant is what the user may do with a table, as an aclitem.
func (c *Catalog) grant() []string {
	if c.picture.User == "" || c.picture.User == ownerName {
		return nil
	}
	return []string{quoteIdent(c.picture.User) + "=r/" + ownerName}
}

func relationRows(list []*relation, others ...string) (out [][]any) {
	acl := textArray(append([]string{ownerName + "=arwdDxt/" + ownerName}, others...)...)
	for _, r := range list {
		out = append(out, []any{r.oid, r.schema, r.name, r.kind, len(r.columns), acl, rank(r.table != nil)})
	}
	return out
}

// hidden are the columns that each table of PostgreSQL has, in the order of their numbers
// from -1 down. Clients see them in pg_attribute and leave them out.
var hidden = []relationColumn{{"ctid", 27, true}, {"xmin", xidOID, true}, {"cmin", cidOID, true}, {"xmax", xidOID, true},
	{"cmax", cidOID, true}, {"tableoid", oidOID, true}}

func attributeRows(list []*relation) (out [][]any) {
	var c Catalog // of no tables, to name types
	for _, r := range list {
		put := func(col relationColumn, number int, modifier int64) {
			out = append(out, []any{r.oid, r.name, r.schema, r.kind, col.name, number, col.typ, c.typeTitle(col.typ),
				rank(col.notNull), modifier})
		}
		for i, col := range hidden {
			if r.kind == "r" {
				put(col, -i-1, -1)
			}
		}
		for i, col := range r.columns {
			modifier := int64(-1)
			if r.modifiers != nil {
				modifier = r.modifiers[i]
			}
			put(col, i+1, modifier)
		}
	}
	return out
}

func (c *Catalog) comments() (out [][]any) {
	for _, r := range c.sorted {
		for i := range len(r.columns) + 1 {
			if s := r.description(i); s != "" {
				out = append(out, []any{r.oid, i, s})
			}
		}
	}
	return out
}

// roleName returns a role's name, as pg_get_userbyid does.
func (c *Catalog) roleName(oid uint32) string {
	for _, r := range c.roles {
		if r.oid == oid {
			return r.name
		}
	}
	return "unknown (OID=" + itoa(int(oid)) + ")"
}
