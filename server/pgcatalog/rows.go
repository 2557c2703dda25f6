package pgcatalog

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

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

// perTable guesses how many rows the picture has in a relation for each table.
func perTable(name string) int {
	switch name {
	case "pg_class", "pg_tables", "tables", "table_privileges", "role_table_grants":
		return 1
	case "pg_attribute", "columns", "pg_description":
		return 10
	case "pg_type":
		return 2
	}
	return 0
}

// ownRows returns the rows that a system's relation has for the picture.
func (c *Catalog) ownRows(r *relation) (out [][]any) {
	put := func(values map[string]any) { out = append(out, r.row(values)) }
	switch r.name {
	case "pg_attribute":
		for _, t := range c.sorted {
			out = append(out, attributes(r, t, false)...)
		}
	case "pg_database":
		put(map[string]any{"oid": databaseOID, "datname": c.picture.Database, "datdba": ownerRole, "encoding": 6, "datlocprovider": "c",
			"datallowconn": true, "datconnlimit": -1, "dattablespace": 1663, "datcollate": "C.UTF-8", "datctype": "C.UTF-8"})
	case "information_schema_catalog_name":
		put(map[string]any{"catalog_name": c.picture.Database})
	case "schemata":
		for _, row := range sharedCatalog().relations["pg_catalog.pg_namespace"].rows {
			if row[1] != "pg_toast" {
				put(map[string]any{"catalog_name": c.picture.Database, "schema_name": row[1], "schema_owner": c.roleName(uint32(row[2].(int64)))})
			}
		}
	case "pg_roles", "pg_user", "enabled_roles":
		for _, one := range c.roles {
			if one.login || r.name == "pg_roles" {
				put(one.row())
			}
		}
	case "character_sets":
		put(map[string]any{"character_set_name": "UTF8", "character_repertoire": "UCS", "form_of_use": "UTF8",
			"default_collate_catalog": c.picture.Database, "default_collate_schema": "pg_catalog", "default_collate_name": "default"})
	}
	if perTable(r.name) > 0 && r.name != "pg_attribute" {
		for _, t := range c.sorted {
			c.tableRows(r.name, t, put)
		}
	}
	return out
}

// row returns what pg_roles, pg_user and enabled_roles say of a role.
func (r role) row() map[string]any {
	return map[string]any{"oid": int64(r.oid), "rolname": r.name, "rolsuper": false, "rolinherit": true, "rolcreaterole": false, "rolcreatedb": false,
		"rolcanlogin": r.login, "rolreplication": false, "rolconnlimit": -1, "rolpassword": "********", "rolbypassrls": false,
		"usename": r.name, "usesysid": int64(r.oid), "usecreatedb": false, "usesuper": false, "userepl": false, "usebypassrls": false, "passwd": "********",
		"role_name": r.name}
}

// tableRows puts a table's rows into a relation that has some for each table.
func (c *Catalog) tableRows(name string, t *relation, put func(map[string]any)) {
	switch name {
	case "pg_class":
		privileges := textArray(ownerName + "=arwdDxt/" + ownerName)
		if c.picture.User != "" && c.picture.User != ownerName {
			privileges.elements = append(privileges.elements, quoteIdent(c.picture.User)+"=r/"+ownerName)
		}
		put(map[string]any{"oid": int64(t.oid), "relname": t.name, "relnamespace": publicSchema, "reltype": int64(t.oid + 1), "relowner": ownerRole,
			"relam": heapAM, "relfilenode": int64(t.oid), "reltuples": float64(-1), "relpersistence": "p", "relkind": "r", "relnatts": len(t.columns),
			"relreplident": "d", "relispopulated": true, "relacl": privileges})
	case "pg_tables":
		put(map[string]any{"schemaname": "public", "tablename": t.name, "tableowner": ownerName, "hasindexes": false, "hasrules": false,
			"hastriggers": false, "rowsecurity": false})
	case "pg_type":
		rowTypes(t, put)
	case "pg_description":
		for i := range len(t.columns) + 1 {
			if s := t.description(i); s != "" {
				put(map[string]any{"objoid": int64(t.oid), "classoid": pgClass, "objsubid": i, "description": s})
			}
		}
	case "tables":
		put(map[string]any{"table_catalog": c.picture.Database, "table_schema": "public", "table_name": t.name, "table_type": "BASE TABLE",
			"is_insertable_into": "NO", "is_typed": "NO"})
	case "table_privileges", "role_table_grants":
		put(map[string]any{"grantor": ownerName, "grantee": c.picture.User, "table_catalog": c.picture.Database, "table_schema": "public",
			"table_name": t.name, "privilege_type": "SELECT", "is_grantable": "NO", "with_hierarchy": "YES"})
	case "columns":
		c.standardColumns(t, put)
	}
}

// rowTypes puts the type of a table's rows, and its array, into pg_type.
func rowTypes(t *relation, put func(map[string]any)) {
	proc := func(name string) int64 { return int64(typeTable().procs[name]) }
	put(map[string]any{"oid": int64(t.oid + 1), "typname": t.name, "typnamespace": publicSchema, "typowner": ownerRole, "typlen": -1,
		"typtype": "c", "typcategory": "C", "typisdefined": true, "typdelim": ",", "typrelid": int64(t.oid), "typarray": int64(t.oid + 2),
		"typinput": proc("record_in"), "typoutput": proc("record_out"), "typreceive": proc("record_recv"), "typsend": proc("record_send"),
		"typalign": "d", "typstorage": "x", "typtypmod": -1})
	put(map[string]any{"oid": int64(t.oid + 2), "typname": "_" + t.name, "typnamespace": publicSchema, "typowner": ownerRole, "typlen": -1,
		"typtype": "b", "typcategory": "A", "typisdefined": true, "typdelim": ",", "typelem": int64(t.oid + 1),
		"typinput": proc("array_in"), "typoutput": proc("array_out"), "typreceive": proc("array_recv"), "typsend": proc("array_send"),
		"typanalyze": proc("array_typanalyze"), "typsubscript": proc("array_subscript_handler"), "typalign": "d", "typstorage": "x", "typtypmod": -1})
}

// standardColumns puts a table's columns into information_schema.columns.
func (c *Catalog) standardColumns(t *relation, put func(map[string]any)) {
	for i, col := range t.columns {
		typ := typeTable().types[col.typ].name
		row := map[string]any{"table_catalog": c.picture.Database, "table_schema": "public", "table_name": t.name, "column_name": col.name,
			"ordinal_position": i + 1, "is_nullable": yesOrNo(!col.notNull), "data_type": c.typeTitle(col.typ), "udt_catalog": c.picture.Database,
			"udt_schema": "pg_catalog", "udt_name": typ, "dtd_identifier": itoa(i + 1), "is_self_referencing": "NO", "is_identity": "NO",
			"identity_cycle": "NO", "is_generated": "NEVER", "is_updatable": "NO"}
		switch col.typ {
		case int8OID:
			row["numeric_precision"], row["numeric_precision_radix"], row["numeric_scale"] = 64, 2, 0
		case float8OID:
			row["numeric_precision"], row["numeric_precision_radix"] = 53, 2
		case numericOID:
			row["numeric_precision_radix"] = 10
			if m := t.modifiers[i]; m >= 0 {
				row["numeric_precision"], row["numeric_scale"] = (m-4)>>16, (m-4)&0x7ff
			}
		case textOID:
			row["character_octet_length"] = 1 << 30
		case dateOID:
			row["datetime_precision"] = 0
		case timestampOID:
			row["datetime_precision"] = 6
		}
		put(row)
	}
}

func yesOrNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
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
