// Package pgcatalog answers what PostgreSQL's clients ask about a database's schema: SELECTs
// about pg_catalog and information_schema, and calls of functions that only a PostgreSQL
// server has.
//
// A Catalog is made of a Picture, plain data about the tables that one user may see. It has no
// file, no connection and no rows of tables, so no statement can reach a private row. A
// statement is parsed, and each of its expressions is given PostgreSQL's type, because clients
// ask for the types of columns and parameters before they ask for rows. The typed tree is then
// run on the catalog's rows by this package itself.
//
// A statement about the catalog is the analyst's own SQL. The steps, the memory and the rows of
// one are limited.
package pgcatalog

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// Picture is what a Catalog shows.
type Picture struct {
	Database string
	User     string  // who asks; no other user is shown
	Version  string  // the text of version()
	Tables   []Table // that the user may see
}

// Table is a table of the picture. Private and public tables are alike: clients list relations
// of the kind "r" and nothing else by default, and what a client could do with a view, to read
// its definition, neither kind allows.
type Table struct {
	Name    string
	Comment string // "" for none
	Columns []Column
}

// Column is a column of a table. Its type is one of int8, float8, numeric, numeric(p,s), text,
// bool, date and timestamp.
type Column struct {
	Name     string
	Type     string
	Nullable bool
	Comment  string // "" for none
}

// Catalog answers statements. It does not change, it holds no resources, and it is safe for
// concurrent use.
type Catalog struct {
	picture  Picture
	tables   map[string]*relation
	byOID    map[uint32]*relation
	rowTypes map[uint32]string  // the types of tables' rows, and arrays of these
	own      map[string][][]any // the rows beyond those of system, by relation
	roles    []role
}

type role struct {
	oid   uint32
	name  string
	login bool
}

// The column types of tables.
var columnTypes = []string{"int8", "float8", "numeric", "text", "bool", "date", "timestamp"}

// New returns the catalog of a picture.
func New(p Picture) (*Catalog, error) {
	c := &Catalog{picture: p, tables: make(map[string]*relation), byOID: make(map[uint32]*relation), rowTypes: make(map[uint32]string),
		own: make(map[string][][]any)}
	c.roles = []role{{ownerRole, ownerName, false}, {databaseOwner, "pg_database_owner", false}}
	if p.User != "" && p.User != ownerName {
		c.roles = append(c.roles, role{c.newOID("user " + p.User), p.User, true})
	}
	tables := slices.Clone(p.Tables)
	slices.SortFunc(tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range tables {
		if err := c.add(t); err != nil {
			return nil, err
		}
	}
	c.addDatabase()
	c.addRoles()
	return c, nil
}

// modifierOf returns the atttypmod of a type: of numeric(p,s), or -1.
func modifierOf(typ string) (int64, bool) {
	rest, ok := strings.CutPrefix(typ, "numeric(")
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

func (c *Catalog) add(t Table) error {
	if c.tables[t.Name] != nil {
		return sqlerr.New(sqlerr.Internal, "the picture has two tables %s", t.Name)
	}
	r := &relation{oid: c.newOID(t.Name), schema: "public", name: t.Name, kind: "r"}
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
	c.rowTypes[r.oid+1], c.rowTypes[r.oid+2] = t.Name, t.Name+"[]"
	privileges := acl(ownerName + "=arwdDxt/" + ownerName)
	if c.picture.User != "" && c.picture.User != ownerName {
		privileges.elements = append(privileges.elements, quoteIdent(c.picture.User)+"=r/"+ownerName)
	}
	c.put("pg_class", map[string]any{"oid": int64(r.oid), "relname": t.Name, "relnamespace": publicSchema, "reltype": int64(r.oid + 1), "relowner": ownerRole,
		"relam": heapAM, "relfilenode": int64(r.oid), "reltuples": float64(-1), "relpersistence": "p", "relkind": "r", "relnatts": len(r.columns),
		"relreplident": "d", "relispopulated": true, "relacl": privileges})
	c.own["pg_attribute"] = append(c.own["pg_attribute"], attributes(system().relations["pg_catalog.pg_attribute"], r, false)...)
	c.put("pg_tables", map[string]any{"schemaname": "public", "tablename": t.Name, "tableowner": ownerName, "hasindexes": false, "hasrules": false,
		"hastriggers": false, "rowsecurity": false})
	c.addRowType(r)
	c.describe(r, 0, t.Comment)
	for i, col := range t.Columns {
		c.describe(r, i+1, col.Comment)
	}
	c.addStandard(t)
	return nil
}

// put adds a row to a relation.
func (c *Catalog) put(name string, values map[string]any) {
	r := system().relations["pg_catalog."+name]
	if r == nil {
		r = system().relations["information_schema."+name]
	}
	c.own[name] = append(c.own[name], r.row(values))
}

// rowsOf returns the rows of a relation of pg_catalog or information_schema: no name is in both.
func (c *Catalog) rowsOf(name string) [][]any {
	r := system().relations["pg_catalog."+name]
	if r == nil {
		r = system().relations["information_schema."+name]
	}
	own := c.own[name]
	if len(own) == 0 {
		return r.rows
	}
	if len(r.rows) == 0 {
		return own
	}
	return append(r.rows[:len(r.rows):len(r.rows)], own...)
}

func (c *Catalog) relationOf(oid uint32) *relation {
	if r := c.byOID[oid]; r != nil {
		return r
	}
	return system().byOID[oid]
}

func (c *Catalog) describe(r *relation, column int, comment string) {
	if comment != "" {
		c.put("pg_description", map[string]any{"objoid": int64(r.oid), "classoid": pgClass, "objsubid": column, "description": comment})
	}
}

// addRowType adds the type of a table's rows, and its array.
func (c *Catalog) addRowType(r *relation) {
	proc := func(name string) int64 { return int64(typeTable().procs[name]) }
	c.put("pg_type", map[string]any{"oid": int64(r.oid + 1), "typname": r.name, "typnamespace": publicSchema, "typowner": ownerRole, "typlen": -1,
		"typtype": "c", "typcategory": "C", "typisdefined": true, "typdelim": ",", "typrelid": int64(r.oid), "typarray": int64(r.oid + 2),
		"typinput": proc("record_in"), "typoutput": proc("record_out"), "typreceive": proc("record_recv"), "typsend": proc("record_send"),
		"typalign": "d", "typstorage": "x", "typtypmod": -1})
	c.put("pg_type", map[string]any{"oid": int64(r.oid + 2), "typname": "_" + r.name, "typnamespace": publicSchema, "typowner": ownerRole, "typlen": -1,
		"typtype": "b", "typcategory": "A", "typisdefined": true, "typdelim": ",", "typelem": int64(r.oid + 1),
		"typinput": proc("array_in"), "typoutput": proc("array_out"), "typreceive": proc("array_recv"), "typsend": proc("array_send"),
		"typanalyze": proc("array_typanalyze"), "typsubscript": proc("array_subscript_handler"), "typalign": "d", "typstorage": "x", "typtypmod": -1})
}

// addStandard adds a table to information_schema.
func (c *Catalog) addStandard(t Table) {
	c.put("tables", map[string]any{"table_catalog": c.picture.Database, "table_schema": "public", "table_name": t.Name, "table_type": "BASE TABLE",
		"is_insertable_into": "NO", "is_typed": "NO"})
	for _, view := range []string{"table_privileges", "role_table_grants"} {
		c.put(view, map[string]any{"grantor": ownerName, "grantee": c.picture.User, "table_catalog": c.picture.Database, "table_schema": "public",
			"table_name": t.Name, "privilege_type": "SELECT", "is_grantable": "NO", "with_hierarchy": "YES"})
	}
	for i, col := range t.Columns {
		typ, _, _ := strings.Cut(col.Type, "(")
		row := map[string]any{"table_catalog": c.picture.Database, "table_schema": "public", "table_name": t.Name, "column_name": col.Name,
			"ordinal_position": i + 1, "is_nullable": yes(col.Nullable), "data_type": c.typeTitle(typeNamed(typ)), "udt_catalog": c.picture.Database,
			"udt_schema": "pg_catalog", "udt_name": typ, "dtd_identifier": itoa(i + 1), "is_self_referencing": "NO", "is_identity": "NO",
			"identity_cycle": "NO", "is_generated": "NEVER", "is_updatable": "NO"}
		switch typ {
		case "int8":
			row["numeric_precision"], row["numeric_precision_radix"], row["numeric_scale"] = 64, 2, 0
		case "float8":
			row["numeric_precision"], row["numeric_precision_radix"] = 53, 2
		case "numeric":
			row["numeric_precision_radix"] = 10
			if m, _ := modifierOf(col.Type); m >= 0 {
				row["numeric_precision"], row["numeric_scale"] = (m-4)>>16, (m-4)&0x7ff
			}
		case "text":
			row["character_octet_length"] = 1 << 30
		case "date":
			row["datetime_precision"] = 0
		case "timestamp":
			row["datetime_precision"] = 6
		}
		c.put("columns", row)
	}
}

func yes(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

func (c *Catalog) addDatabase() {
	c.put("pg_database", map[string]any{"oid": databaseOID, "datname": c.picture.Database, "datdba": ownerRole, "encoding": 6, "datlocprovider": "c",
		"datallowconn": true, "datconnlimit": -1, "dattablespace": 1663, "datcollate": "C", "datctype": "C"})
	for _, row := range c.rowsOf("pg_namespace") {
		if row[1] != "pg_toast" {
			owner := c.roleName(uint32(row[2].(int64)))
			c.put("schemata", map[string]any{"catalog_name": c.picture.Database, "schema_name": row[1], "schema_owner": owner})
		}
	}
	c.put("pg_description", map[string]any{"objoid": publicSchema, "classoid": pgNamespace, "description": "standard public schema"})
	c.put("information_schema_catalog_name", map[string]any{"catalog_name": c.picture.Database})
}

func (c *Catalog) addRoles() {
	for _, r := range c.roles {
		c.put("pg_roles", map[string]any{"rolname": r.name, "rolsuper": false, "rolinherit": true, "rolcreaterole": false, "rolcreatedb": false,
			"rolcanlogin": r.login, "rolreplication": false, "rolconnlimit": -1, "rolpassword": "********", "rolbypassrls": false, "oid": int64(r.oid)})
		if r.login {
			c.put("pg_user", map[string]any{"usename": r.name, "usesysid": int64(r.oid), "usecreatedb": false, "usesuper": false, "userepl": false,
				"usebypassrls": false, "passwd": "********"})
			c.put("enabled_roles", map[string]any{"role_name": r.name})
		}
	}
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
