package pgcatalog

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// systemText describes PostgreSQL's own relations, types and functions. system.sql made it of
// PostgreSQL 15 (PostgreSQL License), and says what is in it.
//
//go:embed system.txt
var systemText string

// firstUnpinned is the least OID of what initdb made by SQL: of information_schema.
const firstUnpinned = 12000

// The OIDs of what each catalog has.
const (
	ownerRole     = 10
	databaseOwner = 6171
	databaseOID   = 16384
)

// ownerName is the role that owns every table. Nobody logs in as it.
const ownerName = "dpsql"

func zeroValue(t uint32) any {
	switch classOf(t) {
	case booleans:
		return false
	case integers:
		return int64(0)
	case floats:
		return float64(0)
	case arrays:
		return &array{lower: 1}
	}
	return ""
}

// systemSections are the parts of systemText as text.
type systemSections struct {
	relations []*relation
	rows      map[string][][]string // by the name behind "rows"
}

const nullMark = `\N`

var sections = sync.OnceValue(func() *systemSections {
	s := &systemSections{rows: make(map[string][][]string)}
	part := ""
	for line := range strings.Lines(systemText) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "rows "); ok {
			part = name
			continue
		}
		if part != "" {
			s.rows[part] = append(s.rows[part], strings.Split(line, "\t"))
			continue
		}
		switch f := strings.Fields(line); f[0] {
		case "relation":
			s.relations = append(s.relations, &relation{schema: f[1], name: f[2], oid: uint32(mustInt(f[3])), kind: f[4]})
		case "column":
			r := s.relations[len(s.relations)-1]
			r.columns = append(r.columns, relationColumn{f[1], uint32(mustInt(f[2])), f[3] == "t"})
		}
	}
	return s
})

func mustInt(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("system.txt: " + err.Error())
	}
	return n
}

// The places of some columns in PostgreSQL 15's pg_type, which TestSystem checks.
const (
	typName, typLength, typCategory, typElement, typArray, typBase = 1, 4, 7, 13, 14, 25
)

var typeTable = sync.OnceValue(func() *types {
	t := &types{make(map[uint32]*typeInfo), make(map[string]uint32), make(map[string]uint32), make(map[uint32]string)}
	for _, row := range sections().rows["pg_type"] {
		number := func(column int) uint32 { return uint32(mustInt(row[column])) }
		info := known[row[typName]]
		info.oid, info.element, info.array, info.base = number(0), number(typElement), number(typArray), number(typBase)
		info.name, info.length, info.category = row[typName], mustInt(row[typLength]), row[typCategory][0]
		switch info.category {
		case 'Z': // the category of "char" and pg_node_tree: no more than texts here
			info.category = 'S'
		case 'A':
			info.class = arrays
		}
		t.types[info.oid], t.names[info.name] = &info, info.oid
	}
	for _, info := range t.types {
		if base := t.types[info.base]; base != nil {
			info.class = base.class
		}
		if info.title != "" {
			t.names[info.title] = info.oid
		}
	}
	for name, own := range spellings {
		t.names[name] = t.names[own]
	}
	for _, row := range sections().rows["pg_proc"] {
		n := uint32(mustInt(row[0]))
		t.named[n] = row[1]
		if _, known := t.procs[row[1]]; !known {
			t.procs[row[1]] = n
		}
	}
	return t
})

func sharedCatalog() *systemCatalog {
	systemOnce.Do(func() { systemShared = loadSystem() })
	return systemShared
}

// A function and not sync.OnceValue's variable: what reads system.txt uses what uses this.
var (
	systemOnce   sync.Once
	systemShared *systemCatalog
)

func loadSystem() *systemCatalog {
	s := &systemCatalog{relations: make(map[string]*relation), byOID: make(map[uint32]*relation)}
	for _, r := range sections().relations {
		s.relations[r.schema+"."+r.name], s.byOID[r.oid] = r, r
	}
	var c Catalog // of no tables, to read values with
	for name, rows := range sections().rows {
		if name == "keywords" {
			s.keywords = keywordRows(rows)
			continue
		}
		r := s.relations["pg_catalog."+name]
		for _, row := range rows {
			r.rows = append(r.rows, c.systemRow(r, row))
		}
	}
	return s
}

// systemRow reads a row of systemText.
func (c *Catalog) systemRow(r *relation, row []string) []any {
	out := make([]any, len(row))
	for i, s := range row {
		if s == nullMark {
			continue
		}
		s = strings.ReplaceAll(s, "postgres=", ownerName+"=")
		s = strings.ReplaceAll(s, "/postgres", "/"+ownerName)
		switch t := r.columns[i].typ; {
		case t == regprocOID:
			out[i] = int64(typeTable().procs[s])
		default:
			out[i] = c.input(s, t)
		}
	}
	return out
}

// textArray returns an array of texts.
func textArray(items ...string) *array {
	a := &array{lower: 1}
	for _, s := range items {
		a.elements = append(a.elements, s)
	}
	return a
}

var keywordKinds = map[string]string{"U": "unreserved", "C": "unreserved (cannot be function or type name)", "T": "reserved (can be function or type name)", "R": "reserved"}

func keywordRows(rows [][]string) [][]any {
	var out [][]any
	for _, row := range rows {
		bare := "can be bare label"
		if row[2] == "f" {
			bare = "requires AS"
		}
		out = append(out, []any{record{row[0], row[1], row[2] == "t", keywordKinds[row[1]], bare}})
	}
	return out
}

// setting is a row of pg_settings that no session changes.
type setting struct{ name, value, kind string }

// settings are those that clients read. What a session has set comes before them.
var settings = []setting{
	{"application_name", "", "string"}, {"client_encoding", "UTF8", "string"}, {"client_min_messages", "notice", "enum"},
	{"DateStyle", "ISO, MDY", "string"}, {"default_transaction_isolation", "read committed", "enum"}, {"default_transaction_read_only", "off", "bool"},
	{"extra_float_digits", "1", "integer"}, {"in_hot_standby", "off", "bool"}, {"integer_datetimes", "on", "bool"}, {"IntervalStyle", "postgres", "enum"},
	{"is_superuser", "off", "bool"}, {"lc_collate", "C.UTF-8", "string"}, {"lc_ctype", "C.UTF-8", "string"}, {"max_identifier_length", "63", "integer"},
	{"max_index_keys", "32", "integer"}, {"search_path", `"$user", public`, "string"}, {"server_encoding", "UTF8", "string"},
	{"server_version", "15.0 (dpsql)", "string"}, {"server_version_num", "150000", "integer"}, {"session_authorization", "", "string"},
	{"standard_conforming_strings", "on", "bool"}, {"statement_timeout", "0", "integer"}, {"TimeZone", "UTC", "string"},
	{"transaction_isolation", "read committed", "enum"}, {"transaction_read_only", "off", "bool"},
}

// setting returns a setting of the session.
func (r *run) setting(name string) (string, bool) {
	if r.session.Setting != nil {
		if v, ok := r.session.Setting(name); ok {
			return v, true
		}
	}
	i := slices.IndexFunc(settings, func(s setting) bool { return strings.EqualFold(s.name, name) })
	if i < 0 {
		return "", false
	}
	return settings[i].value, true
}

// lookup returns the relation of a name, nil if there is none. A name without a schema is
// looked for in pg_catalog, and then in public.
func (c *Catalog) lookup(schema, name string) *relation {
	switch schema {
	case "":
		if r := sharedCatalog().relations["pg_catalog."+name]; r != nil {
			return r
		}
		return c.tables[name]
	case "public":
		return c.tables[name]
	}
	return sharedCatalog().relations[schema+"."+name]
}

// regInput returns the OID of what a text names: a number, or a name of the type's kind.
func (c *Catalog) regInput(s string, t uint32) int64 {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		return int64(n)
	}
	if s == "-" {
		return 0
	}
	if n := c.regLookup(s, t); n != 0 {
		return n
	}
	info := infoOf(t)
	fail(sqlerr.New(sqlerr.Unknown, "%s %q does not exist", info.noun, excerpt(s)).Of(info.object))
	return 0
}

// regLookup returns the OID of what a text names, 0 if there is nothing of the name.
func (c *Catalog) regLookup(s string, t uint32) int64 {
	schema, name := splitName(s)
	switch t {
	case regclassOID:
		if r := c.lookup(schema, name); r != nil {
			return int64(r.oid)
		}
	case regtypeOID:
		found := typeNamed(name)
		for oid, own := range c.rowTypes {
			if found == 0 && own == name {
				found = oid
			}
		}
		return int64(found)
	case regprocOID:
		return int64(typeTable().procs[name])
	case regprocedure:
		name, _, _ = strings.Cut(name, "(")
		return int64(typeTable().procs[name])
	case regnamespace:
		for _, row := range sharedCatalog().relations["pg_catalog.pg_namespace"].rows {
			if row[1] == name {
				return row[0].(int64)
			}
		}
	case regroleOID:
		for _, role := range c.roles {
			if role.name == name {
				return int64(role.oid)
			}
		}
	}
	return 0
}

// splitName cuts a qualified name as SQL writes it.
func splitName(s string) (schema, name string) {
	var part strings.Builder
	inside := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' && inside && i+1 < len(s) && s[i+1] == '"':
			part.WriteByte('"')
			i++
		case c == '"':
			inside = !inside
		case inside:
			part.WriteByte(c)
		case c == '.':
			schema = part.String()
			part.Reset()
		case c >= 'A' && c <= 'Z':
			part.WriteByte(c + 'a' - 'A')
		case c != ' ':
			part.WriteByte(c)
		}
	}
	return schema, part.String()
}

// regOutput returns the text of an OID of a reg type.
func (c *Catalog) regOutput(n int64, t uint32) string {
	if n == 0 {
		return "-"
	}
	switch t {
	case regclassOID:
		if r := c.relationOf(uint32(n)); r != nil {
			if r.schema == "information_schema" {
				return r.schema + "." + quoteIdent(r.name)
			}
			return quoteIdent(r.name)
		}
	case regtypeOID:
		if s := c.typeTitle(uint32(n)); s != "???" {
			return s
		}
	case regprocOID, regprocedure:
		if s := typeTable().named[uint32(n)]; s != "" {
			return s
		}
	case regnamespace:
		for _, row := range sharedCatalog().relations["pg_catalog.pg_namespace"].rows {
			if row[0] == n {
				return quoteIdent(row[1].(string))
			}
		}
	case regroleOID:
		for _, role := range c.roles {
			if int64(role.oid) == n {
				return quoteIdent(role.name)
			}
		}
	}
	return strconv.FormatInt(n, 10)
}

// quoteIdent quotes a name where PostgreSQL would.
func quoteIdent(s string) string {
	plain := s != "" && !syntax.ReservedByPostgres(s) && (letter(s[0]) && s[0] < 0x80)
	for i := range len(s) {
		c := s[i]
		plain = plain && (c >= 'a' && c <= 'z' || c == '_' || digit(c))
	}
	if plain {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func (c *Catalog) relationOf(oid uint32) *relation {
	if r := c.byOID[oid]; r != nil {
		return r
	}
	return sharedCatalog().byOID[oid]
}
