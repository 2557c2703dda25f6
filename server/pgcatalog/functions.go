package pgcatalog

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dpsql/sqlerr"
)

// functionList has the functions that a statement may call. A signature is as PostgreSQL's
// pg_proc has it, without default arguments.
func functionList() []listedFunction {
	return []listedFunction{
		// What the session and the server are.
		{signatures: "version() text", eval: func(r *run, a []any) any { return r.catalog.picture.Version }},
		{signatures: "current_database() name; current_catalog() name", eval: func(r *run, a []any) any { return r.catalog.picture.Database }},
		{signatures: "current_user() name; session_user() name; user() name; current_role() name", eval: func(r *run, a []any) any { return r.catalog.picture.User }},
		{signatures: "current_schema() name", eval: func(r *run, a []any) any { return "public" }},
		{signatures: "current_schemas(bool) name[]", eval: func(r *run, a []any) any {
			if a[0] == true {
				return textArray("pg_catalog", "public")
			}
			return textArray("public")
		}},
		{signatures: "pg_backend_pid() int4", eval: func(r *run, a []any) any { return int64(int32(r.session.PID)) }},
		{signatures: "current_setting(text) text; current_setting(text,bool) text", eval: currentSetting},
		{signatures: "set_config(text,text,bool) text", loose: true, eval: setConfig},
		{signatures: "pg_is_in_recovery() bool; pg_is_wal_replay_paused() bool", eval: constantly(false)},
		{signatures: "txid_current() int8", eval: constantly(int64(1))},
		{signatures: "pg_my_temp_schema() oid", eval: constantly(int64(0))},
		{signatures: "pg_is_other_temp_schema(oid) bool", eval: constantly(false)},
		{signatures: "now() timestamptz; current_timestamp() timestamptz; transaction_timestamp() timestamptz; statement_timestamp() timestamptz; clock_timestamp() timestamptz", shared: true, eval: func(r *run, a []any) any {
			return r.begun.Format(layouts[timestampTZ][0])
		}},
		{signatures: "localtimestamp() timestamp", eval: func(r *run, a []any) any { return r.begun.Format(layouts[timestampOID][0]) }},
		{signatures: "current_date() date", eval: func(r *run, a []any) any { return r.begun.Format(layouts[dateOID][0]) }},
		{signatures: "inet_server_addr() inet; inet_client_addr() inet; inet_server_port() int4; inet_client_port() int4", eval: constantly(nil)},
		{signatures: "pg_client_encoding() name; getdatabaseencoding() name", eval: constantly("UTF8")},
		{signatures: "pg_advisory_unlock_all() void", eval: constantly("")},
		{signatures: "pg_encoding_to_char(int4) name", eval: func(r *run, a []any) any {
			if a[0] == int64(6) {
				return "UTF8"
			}
			return ""
		}},
		{signatures: "pg_char_to_encoding(name) int4", eval: func(r *run, a []any) any {
			if s := strings.ToUpper(a[0].(string)); s == "UTF8" || s == "UTF-8" {
				return int64(6)
			}
			return int64(-1)
		}},
		{signatures: "pg_encoding_max_length(int4) int4", eval: constantly(int64(4))},

		// Names and definitions of what has an OID.
		{signatures: "pg_get_userbyid(oid) name", eval: func(r *run, a []any) any { return r.catalog.roleName(uint32(a[0].(int64))) }},
		{signatures: "format_type(oid,int4) text", loose: true, eval: formatType},
		{signatures: "pg_table_is_visible(oid) bool", eval: func(r *run, a []any) any {
			if rel := r.catalog.relationOf(uint32(a[0].(int64))); rel != nil {
				return rel.schema != "information_schema"
			}
			return nil
		}},
		{signatures: "pg_type_is_visible(oid) bool", eval: func(r *run, a []any) any {
			n := uint32(a[0].(int64))
			if info := typeTable().types[n]; info != nil {
				return n < firstUnpinned
			}
			if r.catalog.rowTypes[n] != "" {
				return true
			}
			return nil
		}},
		{signatures: "pg_function_is_visible(oid) bool", eval: func(r *run, a []any) any {
			if typeTable().named[uint32(a[0].(int64))] != "" {
				return true
			}
			return nil
		}},
		{signatures: "pg_operator_is_visible(oid) bool; pg_opclass_is_visible(oid) bool; pg_opfamily_is_visible(oid) bool; pg_conversion_is_visible(oid) bool; pg_statistics_obj_is_visible(oid) bool; pg_ts_parser_is_visible(oid) bool; pg_ts_dict_is_visible(oid) bool; pg_ts_config_is_visible(oid) bool; pg_ts_template_is_visible(oid) bool", eval: constantly(nil)},
		{signatures: "pg_collation_is_visible(oid) bool", eval: constantly(true)},
		{signatures: "obj_description(oid) text; obj_description(oid,name) text", eval: func(r *run, a []any) any { return r.described(a[0], 0) }},
		{signatures: "col_description(oid,int4) text", eval: func(r *run, a []any) any { return r.described(a[0], a[1].(int64)) }},
		{signatures: "shobj_description(oid,name) text", eval: constantly(nil)},
		{signatures: "to_regclass(text) regclass", eval: toReg(regclassOID)},
		{signatures: "to_regtype(text) regtype", eval: toReg(regtypeOID)},
		{signatures: "to_regproc(text) regproc", eval: toReg(regprocOID)},
		{signatures: "to_regprocedure(text) regprocedure", eval: toReg(regprocedure)},
		{signatures: "to_regnamespace(text) regnamespace", eval: toReg(regnamespace)},
		{signatures: "to_regrole(text) regrole", eval: toReg(regroleOID)},

		// Definitions of what no table here has: views, defaults, indexes, triggers, rules.
		{signatures: "pg_get_expr(pg_node_tree,oid) text; pg_get_expr(pg_node_tree,oid,bool) text; pg_get_constraintdef(oid) text; pg_get_constraintdef(oid,bool) text; pg_get_indexdef(oid) text; pg_get_indexdef(oid,int4,bool) text; pg_get_viewdef(oid) text; pg_get_viewdef(oid,bool) text; pg_get_viewdef(text) text; pg_get_triggerdef(oid) text; pg_get_triggerdef(oid,bool) text; pg_get_ruledef(oid) text; pg_get_ruledef(oid,bool) text; pg_get_partkeydef(oid) text; pg_get_serial_sequence(text,text) text; pg_get_statisticsobjdef(oid) text; pg_get_statisticsobjdef_columns(oid) text; pg_get_partition_constraintdef(oid) text; pg_get_function_sqlbody(oid) text", eval: constantly(nil)},
		{signatures: "pg_get_functiondef(oid) text", eval: func(r *run, a []any) any {
			if name := typeTable().named[uint32(a[0].(int64))]; name != "" {
				fail(sqlerr.New(sqlerr.Unsupported, "the definition of %s is outside the catalog: it is part of the server", name))
			}
			return nil
		}},
		{signatures: "pg_get_function_result(oid) text", eval: func(r *run, a []any) any {
			p := r.proc(a[0])
			if p == nil {
				return nil
			}
			s := r.catalog.typeTitle(uint32(p["prorettype"].(int64)))
			if p["proretset"] == true {
				s = "SETOF " + s
			}
			return s
		}},
		{signatures: "pg_get_function_arguments(oid) text; pg_get_function_identity_arguments(oid) text", eval: func(r *run, a []any) any {
			p := r.proc(a[0])
			if p == nil {
				return nil
			}
			return r.arguments(p)
		}},
		{signatures: "pg_relation_is_publishable(regclass) bool", eval: func(r *run, a []any) any {
			rel := r.catalog.relationOf(uint32(a[0].(int64)))
			if rel == nil {
				return nil
			}
			return rel.schema == "public"
		}},
		{signatures: "pg_relation_is_updatable(regclass,bool) int4; pg_relation_size(regclass) int8; pg_relation_size(regclass,text) int8; pg_table_size(regclass) int8; pg_total_relation_size(regclass) int8; pg_indexes_size(regclass) int8", eval: func(r *run, a []any) any {
			if r.catalog.relationOf(uint32(a[0].(int64))) == nil {
				return nil
			}
			return int64(0) // the size of a private table would tell how many rows it has
		}},
		{signatures: "pg_column_is_updatable(regclass,int2,bool) bool", eval: constantly(false)},
		{signatures: "pg_database_size(name) int8; pg_database_size(oid) int8; pg_tablespace_size(name) int8; pg_tablespace_size(oid) int8", eval: constantly(int64(0))},
		{signatures: "pg_size_pretty(int8) text; pg_size_pretty(numeric) text", eval: sizePretty},
		{signatures: "pg_tablespace_location(oid) text", eval: constantly("")},
		{signatures: "pg_relation_filenode(regclass) oid", eval: constantly(nil)},
		{signatures: "pg_stat_get_numscans(oid) int8; pg_stat_get_live_tuples(oid) int8", eval: constantly(int64(0))},
		{signatures: "pg_sequence_last_value(regclass) int8", eval: constantly(nil)},
		{signatures: "pg_trigger_depth() int4", eval: constantly(int64(0))},
		{signatures: "pg_index_column_has_property(regclass,int4,text) bool; pg_index_has_property(regclass,text) bool; pg_indexam_has_property(oid,text) bool", eval: constantly(nil)},

		// What the user may do: read her tables.
		{signatures: "has_table_privilege(text,text) bool; has_table_privilege(oid,text) bool", eval: func(r *run, a []any) any { return r.mayTable(a[0], a[1]) }},
		{signatures: "has_table_privilege(name,text,text) bool; has_table_privilege(name,oid,text) bool; has_table_privilege(oid,oid,text) bool; has_table_privilege(oid,text,text) bool", eval: func(r *run, a []any) any { return r.mayTable(a[1], a[2]) }},
		{signatures: "has_any_column_privilege(text,text) bool; has_any_column_privilege(oid,text) bool", eval: func(r *run, a []any) any { return r.mayTable(a[0], a[1]) }},
		{signatures: "has_any_column_privilege(name,text,text) bool; has_any_column_privilege(name,oid,text) bool", eval: func(r *run, a []any) any { return r.mayTable(a[1], a[2]) }},
		{signatures: "has_column_privilege(text,text,text) bool; has_column_privilege(oid,text,text) bool; has_column_privilege(oid,int2,text) bool; has_column_privilege(text,int2,text) bool", eval: func(r *run, a []any) any { return r.mayTable(a[0], a[2]) }},
		{signatures: "has_column_privilege(name,text,text,text) bool; has_column_privilege(name,oid,text,text) bool; has_column_privilege(name,oid,int2,text) bool", eval: func(r *run, a []any) any { return r.mayTable(a[1], a[3]) }},
		{signatures: "has_schema_privilege(text,text) bool; has_schema_privilege(oid,text) bool", eval: func(r *run, a []any) any { return r.may(a[1], "USAGE") }},
		{signatures: "has_schema_privilege(name,text,text) bool; has_schema_privilege(name,oid,text) bool", eval: func(r *run, a []any) any { return r.may(a[2], "USAGE") }},
		{signatures: "has_database_privilege(text,text) bool; has_database_privilege(oid,text) bool", eval: func(r *run, a []any) any { return r.may(a[1], "CONNECT") }},
		{signatures: "has_database_privilege(name,text,text) bool; has_database_privilege(name,oid,text) bool", eval: func(r *run, a []any) any { return r.may(a[2], "CONNECT") }},
		{signatures: "has_type_privilege(text,text) bool; has_type_privilege(oid,text) bool; has_language_privilege(text,text) bool; has_language_privilege(oid,text) bool", eval: func(r *run, a []any) any { return r.may(a[1], "USAGE") }},
		{signatures: "has_function_privilege(text,text) bool; has_function_privilege(oid,text) bool", eval: func(r *run, a []any) any { return r.may(a[1], "EXECUTE") }},
		{signatures: "has_function_privilege(name,text,text) bool; has_function_privilege(name,oid,text) bool", eval: func(r *run, a []any) any { return r.may(a[2], "EXECUTE") }},
		{signatures: "has_sequence_privilege(text,text) bool; has_sequence_privilege(oid,text) bool; has_tablespace_privilege(oid,text) bool; has_tablespace_privilege(text,text) bool; has_server_privilege(oid,text) bool; has_foreign_data_wrapper_privilege(oid,text) bool; row_security_active(oid) bool; row_security_active(text) bool", eval: constantly(false)},
		{signatures: "pg_has_role(name,text) bool; pg_has_role(oid,text) bool", eval: func(r *run, a []any) any { return r.isRole(a[0]) }},
		{signatures: "pg_has_role(name,name,text) bool; pg_has_role(name,oid,text) bool; pg_has_role(oid,oid,text) bool", eval: func(r *run, a []any) any { return r.isRole(a[1]) }},

		// Texts and arrays.
		{signatures: "quote_ident(text) text", eval: func(r *run, a []any) any { return r.made(quoteIdent(a[0].(string))) }},
		{signatures: "quote_literal(text) text", eval: func(r *run, a []any) any { return quoteLiteral(r, a[0].(string)) }},
		{signatures: "quote_nullable(text) text", loose: true, eval: func(r *run, a []any) any {
			if a[0] == nil {
				return "NULL"
			}
			return quoteLiteral(r, a[0].(string))
		}},
		{signatures: "array_upper(anyarray,int4) int4", eval: func(r *run, a []any) any {
			if l := a[0].(*array); a[1] == int64(1) && len(l.elements) > 0 {
				return int64(l.lower + len(l.elements) - 1)
			}
			return nil
		}},
		{signatures: "array_lower(anyarray,int4) int4", eval: func(r *run, a []any) any {
			if l := a[0].(*array); a[1] == int64(1) && len(l.elements) > 0 {
				return int64(l.lower)
			}
			return nil
		}},
		{signatures: "array_length(anyarray,int4) int4", eval: func(r *run, a []any) any {
			if l := a[0].(*array); a[1] == int64(1) && len(l.elements) > 0 {
				return int64(len(l.elements))
			}
			return nil
		}},
		{signatures: "cardinality(anyarray) int4", eval: func(r *run, a []any) any { return int64(len(a[0].(*array).elements)) }},
		{signatures: "array_ndims(anyarray) int4", eval: func(r *run, a []any) any {
			if len(a[0].(*array).elements) > 0 {
				return int64(1)
			}
			return nil
		}},
		{signatures: "array_position(anyarray,any) int4", loose: true, eval: func(r *run, a []any) any {
			l, ok := a[0].(*array)
			if !ok {
				return nil
			}
			if i := slices.IndexFunc(l.elements, func(v any) bool { return keyOf(v) == keyOf(a[1]) }); i >= 0 {
				return int64(i + l.lower)
			}
			return nil
		}},
		{signatures: "string_to_array(text,text) text[]", loose: true, eval: stringToArray},
		{signatures: "lower(text) text", shared: true, eval: func(r *run, a []any) any { return r.made(strings.ToLower(a[0].(string))) }},
		{signatures: "upper(text) text", shared: true, eval: func(r *run, a []any) any { return r.made(strings.ToUpper(a[0].(string))) }},
		{signatures: "length(text) int4; char_length(text) int4; character_length(text) int4", shared: true, eval: func(r *run, a []any) any { return int64(len([]rune(a[0].(string)))) }},
		{signatures: "octet_length(text) int4", shared: true, eval: func(r *run, a []any) any { return int64(len(a[0].(string))) }},
		{signatures: "replace(text,text,text) text", shared: true, eval: func(r *run, a []any) any {
			s, from, to := a[0].(string), a[1].(string), a[2].(string)
			if from == "" {
				return s
			}
			r.spend(len(s) + strings.Count(s, from)*len(to))
			return strings.ReplaceAll(s, from, to)
		}},
		{signatures: "btrim(text) text; btrim(text,text) text", shared: true, eval: func(r *run, a []any) any { return strings.Trim(a[0].(string), cutset(a)) }},
		{signatures: "ltrim(text) text; ltrim(text,text) text", shared: true, eval: func(r *run, a []any) any { return strings.TrimLeft(a[0].(string), cutset(a)) }},
		{signatures: "rtrim(text) text; rtrim(text,text) text", shared: true, eval: func(r *run, a []any) any { return strings.TrimRight(a[0].(string), cutset(a)) }},
		{signatures: "substring(text,int4) text; substr(text,int4) text; substring(text,int4,int4) text; substr(text,int4,int4) text", shared: true, eval: substring},
		{signatures: "substring(text,text) text", eval: func(r *run, a []any) any {
			m := r.pattern(a[1].(string), false, false).FindStringSubmatch(a[0].(string))
			switch r.work(len(a[0].(string))); len(m) {
			case 0:
				return nil
			case 1:
				return m[0]
			}
			return m[1]
		}},
		{signatures: "strpos(text,text) int4; position(text,text) int4", shared: true, eval: func(r *run, a []any) any {
			i := strings.Index(a[0].(string), a[1].(string))
			if i < 0 {
				return int64(0)
			}
			return int64(len([]rune(a[0].(string)[:i])) + 1)
		}},
		{signatures: "starts_with(text,text) bool", eval: func(r *run, a []any) any { return strings.HasPrefix(a[0].(string), a[1].(string)) }},
		{signatures: "split_part(text,text,int4) text", eval: func(r *run, a []any) any {
			parts := strings.Split(a[0].(string), a[1].(string))
			r.spend(16 * len(parts))
			if n := a[2].(int64); n >= 1 && n <= int64(len(parts)) {
				return parts[n-1]
			}
			return ""
		}},
		{signatures: "parse_ident(text) text[]", eval: func(r *run, a []any) any {
			schema, name := splitName(a[0].(string))
			if schema == "" {
				return textArray(name)
			}
			return textArray(schema, name)
		}},
		{signatures: "left(text,int4) text", eval: func(r *run, a []any) any {
			s, n := []rune(a[0].(string)), a[1].(int64)
			if n < 0 {
				n = max(0, int64(len(s))+n)
			}
			return string(s[:min(n, int64(len(s)))])
		}},
		{signatures: "regexp_replace(text,text,text) text; regexp_replace(text,text,text,text) text", eval: regexpReplace},
		{signatures: "abs(int4) int4; abs(int8) int8", shared: true, eval: func(r *run, a []any) any {
			if n := a[0].(int64); n < 0 {
				return -n
			}
			return a[0]
		}},
		{signatures: "mod(int4,int4) int4; mod(int8,int8) int8", eval: func(r *run, a []any) any {
			n, ok := calculate(a[0].(int64), "%", a[1].(int64))
			if !ok {
				fail(sqlerr.New(sqlerr.Invalid, "division by zero"))
			}
			return n
		}},
	}
}

// listedFunction is one or several functions of functionList.
type listedFunction struct {
	signatures string
	loose      bool // it is called with NULLs too
	shared     bool // the engine has it as well: a call tells nothing of who should answer
	eval       func(r *run, a []any) any
}

func constantly(v any) func(*run, []any) any { return func(*run, []any) any { return v } }

// made counts a text that a function made, and returns it.
func (r *run) made(s string) string {
	r.spend(len(s))
	return s
}

func cutset(a []any) string {
	if len(a) > 1 {
		return a[1].(string)
	}
	return " "
}

func currentSetting(r *run, a []any) any {
	name := a[0].(string)
	if v, ok := r.setting(name); ok {
		return v
	}
	if len(a) > 1 && a[1] == true {
		return nil
	}
	fail(sqlerr.New(sqlerr.Unknown, "unrecognized configuration parameter %q", excerpt(name)).Of(sqlerr.Parameter))
	return nil
}

func setConfig(r *run, a []any) any {
	name, ok := a[0].(string)
	if !ok {
		fail(sqlerr.New(sqlerr.Invalid, "SET requires parameter name"))
	}
	value, _ := a[1].(string)
	if r.session.Set == nil {
		unsupported(0, "set_config of %s", excerpt(name))
	}
	if err := r.session.Set(name, value, a[2] == true); err != nil {
		fail(err)
	}
	return value
}

func formatType(r *run, a []any) any {
	n, ok := a[0].(int64)
	if !ok {
		return nil
	}
	if n == 0 {
		return "-"
	}
	s := r.catalog.typeTitle(uint32(n))
	if m, ok := a[1].(int64); ok && m >= 4 && n == numericOID {
		return fmt.Sprintf("%s(%d,%d)", s, (m-4)>>16, (m-4)&0x7ff)
	} else if ok && m >= 0 && (n == timestampOID || n == timestampTZ) {
		return strings.Replace(s, "timestamp", fmt.Sprintf("timestamp(%d)", m), 1)
	} else if ok && m > 4 && (n == varcharOID || n == bpcharOID) {
		s += "(" + strconv.FormatInt(m-4, 10) + ")"
	} else if ok && n == bpcharOID {
		s = "bpchar"
	}
	return s
}

// described returns the comment on a relation, or on its column.
func (r *run) described(oid any, column int64) any {
	for _, row := range sharedCatalog().relations["pg_catalog.pg_description"].rows {
		if row[0] == oid && row[2] == column {
			return row[3]
		}
	}
	rel := r.catalog.relationOf(uint32(oid.(int64)))
	if rel == nil || column < 0 {
		return nil
	}
	if s := rel.description(int(column)); s != "" {
		return s
	}
	return nil
}

func toReg(t uint32) func(*run, []any) any {
	return func(r *run, a []any) any {
		if n, err := strconv.ParseUint(a[0].(string), 10, 32); err == nil {
			return int64(n)
		}
		if n := r.catalog.regLookup(a[0].(string), t); n != 0 {
			return n
		}
		return nil
	}
}

// proc returns a row of pg_proc by column, nil if there is none.
func (r *run) proc(oid any) map[string]any {
	table := sharedCatalog().relations["pg_catalog.pg_proc"]
	for _, row := range table.rows {
		if r.step(); row[0] == oid {
			out := make(map[string]any, len(row))
			for i, c := range table.columns {
				out[c.name] = row[i]
			}
			return out
		}
	}
	return nil
}

func (r *run) arguments(p map[string]any) string {
	types, _ := p["proargtypes"].(*array)
	names, _ := p["proargnames"].(*array)
	var parts []string
	for i, t := range types.elements {
		s := r.catalog.typeTitle(uint32(t.(int64)))
		if names != nil && i < len(names.elements) && names.elements[i] != "" {
			s = fmt.Sprint(names.elements[i], " ", s)
		}
		parts = append(parts, s)
	}
	if p["prokind"] == "a" && len(parts) == 0 {
		return "*"
	}
	return strings.Join(parts, ", ")
}

func sizePretty(r *run, a []any) any {
	var n float64
	switch v := a[0].(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	}
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for limit := 10240.0; math.Abs(n) >= limit && i < len(units)-1; i++ {
		n, limit = math.Round(n/1024), 10240
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + " " + units[i]
}

// mayTable reports whether the user has one of the privileges on a table, which is given by
// name or OID: she may read what the catalog shows.
func (r *run) mayTable(table, privileges any) any {
	var oid int64
	switch t := table.(type) {
	case int64:
		oid = t
	case string:
		oid = r.catalog.regInput(t, regclassOID)
	}
	if r.catalog.relationOf(uint32(oid)) == nil {
		return nil
	}
	return r.may(privileges, "SELECT")
}

func (r *run) may(privileges any, allowed string) any {
	for _, p := range strings.Split(privileges.(string), ",") {
		if strings.EqualFold(strings.TrimSpace(p), allowed) {
			return true
		}
	}
	return false
}

// isRole reports whether a role, given by name or OID, is the user.
func (r *run) isRole(role any) any {
	switch v := role.(type) {
	case int64:
		return r.catalog.roleName(uint32(v)) == r.catalog.picture.User
	}
	return role == r.catalog.picture.User
}

func quoteLiteral(r *run, s string) string {
	s = strings.ReplaceAll(s, "'", "''")
	if strings.Contains(s, `\`) {
		return r.made("E'" + strings.ReplaceAll(s, `\`, `\\`) + "'")
	}
	return r.made("'" + s + "'")
}

func stringToArray(r *run, a []any) any {
	s, ok := a[0].(string)
	if !ok {
		return nil
	}
	out := &array{lower: 1}
	separator, ok := a[1].(string)
	switch {
	case s == "":
		return out
	case !ok:
		for _, c := range s {
			out.elements = append(out.elements, string(c))
		}
	case separator == "":
		out.elements = []any{s}
	default:
		for _, part := range strings.Split(s, separator) {
			out.elements = append(out.elements, part)
		}
	}
	r.spend(32 * len(out.elements))
	return out
}

func substring(r *run, a []any) any {
	s := []rune(a[0].(string))
	from, to := a[1].(int64), int64(math.MaxInt32)
	if len(a) > 2 {
		if a[2].(int64) < 0 {
			fail(sqlerr.New(sqlerr.Invalid, "negative substring length not allowed"))
		}
		to = from + a[2].(int64)
	}
	low, high := min(max(from, 1), int64(len(s))+1), min(max(to, 1), int64(len(s))+1)
	if high < low {
		return ""
	}
	return r.made(string(s[low-1 : high-1]))
}

func regexpReplace(r *run, a []any) any {
	flags := ""
	if len(a) > 3 {
		flags = a[3].(string)
	}
	if strings.Trim(flags, "gi") != "" {
		unsupported(0, "a flag of regexp_replace other than g and i")
	}
	s, p := a[0].(string), r.pattern(a[1].(string), false, strings.Contains(flags, "i"))
	var to strings.Builder
	for i, text := 0, a[2].(string); i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && digit(text[i+1]):
			i++
			to.WriteString("${" + text[i:i+1] + "}")
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '&':
			i++
			to.WriteString("${0}")
		case text[i] == '$':
			to.WriteString("$$")
		default:
			to.WriteByte(text[i])
		}
	}
	r.spend((len(s) + 1) * (to.Len() + 1))
	if strings.Contains(flags, "g") {
		return p.ReplaceAllString(s, to.String())
	}
	m := p.FindStringSubmatchIndex(s)
	if m == nil {
		return s
	}
	return s[:m[0]] + string(p.ExpandString(nil, to.String(), s, m)) + s[m[1]:]
}

// aggregateNamed returns what binds an aggregate, and returns the type of its result; nil if
// no aggregate has the name.
func aggregateNamed(name string) func(b *binder, a *aggregate, at int) expr {
	switch name {
	case "count":
		return bindCount
	case "sum":
		return bindSum
	case "min":
		return bindExtreme(-1)
	case "max":
		return bindExtreme(1)
	case "bool_and", "every":
		return bindBool(true)
	case "bool_or":
		return bindBool(false)
	case "string_agg":
		return bindStringAgg
	case "array_agg":
		return bindArrayAgg
	}
	return nil
}

// setNamed returns what binds a function that returns a set, nil if none has the name.
func setNamed(name string) func(b *binder, args []expr, at int) *setCall {
	switch name {
	case "generate_series":
		return bindSeries
	case "unnest":
		return bindUnnest
	case "generate_subscripts":
		return bindSubscripts
	case "_pg_expandarray":
		return bindExpand
	case "pg_get_keywords":
		return bindKeywords
	case "aclexplode":
		return bindAcl
	case "pg_options_to_table":
		return bindOptions
	case "regexp_split_to_table":
		return bindSplit
	case "pg_listening_channels":
		return bindNothing
	}
	return nil
}

func needArgs(a *aggregate, name string, n int, at int) {
	if len(a.args) != n {
		fail(sqlerr.New(sqlerr.Unknown, "function %s with %d arguments does not exist", name, len(a.args)).Of(sqlerr.Function).At(at))
	}
}

func bindCount(b *binder, a *aggregate, at int) expr {
	for i := range a.args {
		a.args[i] = b.settled(a.args[i])
	}
	if len(a.args) > 1 {
		needArgs(a, "count", 1, at)
	}
	a.native = "count"
	return expr{typ: int8OID}
}

func bindSum(b *binder, a *aggregate, at int) expr {
	needArgs(a, "sum", 1, at)
	e := b.typed(a.args[0], int8OID)
	a.args[0] = e
	out := map[uint32]uint32{int2OID: int8OID, int4OID: int8OID, int8OID: numericOID, numericOID: numericOID, float4OID: float4OID, float8OID: float8OID}[baseOf(e.typ)]
	if out == 0 {
		fail(sqlerr.New(sqlerr.Unknown, "function sum(%s) does not exist", b.catalog.typeTitle(e.typ)).Of(sqlerr.Function).At(at))
	}
	a.native = "sum"
	return expr{typ: out}
}

func bindExtreme(sign int) func(b *binder, a *aggregate, at int) expr {
	return func(b *binder, a *aggregate, at int) expr {
		needArgs(a, "min", 1, at)
		a.args[0] = b.settled(a.args[0])
		out := a.args[0].typ
		if baseOf(out) == nameOID || classOf(out) == records {
			fail(sqlerr.New(sqlerr.Unknown, "function min(%s) does not exist", b.catalog.typeTitle(out)).Of(sqlerr.Function).WithHint("cast it to text").At(at))
		}
		a.native = map[int]string{-1: "min", 1: "max"}[sign]
		if listed(out) {
			a.native = ""
			a.compute = func(r *run, rows [][]any) any {
				var best any
				for _, row := range rows {
					if row[0] != nil && (best == nil || compare(row[0], best)*sign > 0) {
						best = row[0]
					}
				}
				return best
			}
		}
		return expr{typ: out}
	}
}

func bindBool(all bool) func(b *binder, a *aggregate, at int) expr {
	return func(b *binder, a *aggregate, at int) expr {
		needArgs(a, "bool_and", 1, at)
		a.args[0] = b.implied(a.args[0], boolOID, at)
		a.native = "max"
		if all {
			a.native = "min"
		}
		return expr{typ: boolOID}
	}
}

func bindStringAgg(b *binder, a *aggregate, at int) expr {
	needArgs(a, "string_agg", 2, at)
	for i := range a.args {
		a.args[i] = b.implied(a.args[i], textOID, at)
	}
	a.compute = func(r *run, rows [][]any) any {
		var out strings.Builder
		some := false
		for _, row := range rows {
			s, ok := row[0].(string)
			if !ok {
				continue
			}
			if separator, ok := row[1].(string); ok && some {
				r.spend(len(separator))
				out.WriteString(separator)
			}
			r.spend(len(s))
			out.WriteString(s)
			some = true
		}
		if !some {
			return nil
		}
		return out.String()
	}
	return expr{typ: textOID}
}

func bindArrayAgg(b *binder, a *aggregate, at int) expr {
	needArgs(a, "array_agg", 1, at)
	a.args[0] = b.settled(a.args[0])
	t := arrayOfType(a.args[0].typ)
	if t == 0 {
		unsupported(at, "an array of %s", b.catalog.typeTitle(a.args[0].typ))
	}
	a.compute = func(r *run, rows [][]any) any {
		if len(rows) == 0 {
			return nil
		}
		out := &array{lower: 1}
		for _, row := range rows {
			r.spend(16)
			out.elements = append(out.elements, row[0])
		}
		return out
	}
	return expr{typ: t}
}

func bindSeries(b *binder, args []expr, at int) *setCall {
	if len(args) < 2 || len(args) > 3 {
		return nil
	}
	t := uint32(int4OID)
	for i, e := range args {
		if baseOf(e.typ) == int8OID {
			t = int8OID
		}
		args[i] = b.implied(e, int8OID, at)
	}
	return &setCall{out: expr{typ: t}, args: args, values: func(r *run, a []any) (out []any) {
		n := [3]int64{0, 0, 1}
		for i := range a {
			v, ok := a[i].(int64)
			if !ok {
				return nil
			}
			n[i] = v
		}
		if n[2] == 0 {
			fail(sqlerr.New(sqlerr.Invalid, "step size cannot equal zero").At(at))
		}
		for v := n[0]; n[2] > 0 && v <= n[1] || n[2] < 0 && v >= n[1]; v += n[2] {
			r.step()
			r.spend(16)
			out = append(out, v)
			if n[2] > 0 && v > n[1]-n[2] || n[2] < 0 && v < n[1]-n[2] {
				break
			}
		}
		return out
	}}
}

// arrayArgument reports whether a call's first argument is an array, and how many it has.
func arrayArgument(args []expr, n int) bool { return len(args) == n && elementOf(args[0].typ) != 0 }

// itemsOf returns the elements of an argument.
func itemsOf(r *run, v any) *array {
	a, ok := v.(*array)
	if !ok {
		return &array{}
	}
	for range a.elements {
		r.step()
	}
	return a
}

func bindUnnest(b *binder, args []expr, at int) *setCall {
	if len(args) == 1 && args[0].untyped {
		args[0] = b.typed(args[0], arrayOfType(textOID))
	}
	if !arrayArgument(args, 1) {
		return nil
	}
	return &setCall{out: expr{typ: elementOf(args[0].typ)}, args: args, values: func(r *run, a []any) []any { return itemsOf(r, a[0]).elements }}
}

func bindSubscripts(b *binder, args []expr, at int) *setCall {
	if !arrayArgument(args, 2) {
		return nil
	}
	return &setCall{out: expr{typ: int4OID}, args: args, values: func(r *run, args []any) (out []any) {
		a := itemsOf(r, args[0])
		for i := range a.elements {
			out = append(out, int64(i+a.lower))
		}
		return out
	}}
}

func bindExpand(b *binder, args []expr, at int) *setCall {
	if !arrayArgument(args, 1) {
		return nil
	}
	fields := []outColumn{{name: "x", typ: elementOf(args[0].typ)}, {name: "n", typ: int4OID}}
	return &setCall{out: expr{typ: recordOID, fields: fields}, args: args, values: func(r *run, a []any) (out []any) {
		for i, v := range itemsOf(r, a[0]).elements {
			out = append(out, record{v, int64(i + 1)})
		}
		return out
	}}
}

func bindKeywords(b *binder, args []expr, at int) *setCall {
	if len(args) != 0 {
		return nil
	}
	fields := []outColumn{{name: "word", typ: textOID}, {name: "catcode", typ: charOID}, {name: "barelabel", typ: boolOID},
		{name: "catdesc", typ: textOID}, {name: "baredesc", typ: textOID}}
	return &setCall{out: expr{typ: recordOID, fields: fields}, args: args, values: func(r *run, a []any) (out []any) {
		for _, row := range sharedCatalog().keywords {
			out = append(out, row[0])
		}
		return out
	}}
}

func bindAcl(b *binder, args []expr, at int) *setCall {
	if !arrayArgument(args, 1) {
		return nil
	}
	fields := []outColumn{{name: "grantor", typ: oidOID}, {name: "grantee", typ: oidOID}, {name: "privilege_type", typ: textOID}, {name: "is_grantable", typ: boolOID}}
	return &setCall{out: expr{typ: recordOID, fields: fields}, args: args, values: func(r *run, a []any) (out []any) {
		for _, item := range itemsOf(r, a[0]).elements {
			s, _ := item.(string)
			who, rest, _ := strings.Cut(s, "=")
			letters, grantor, _ := strings.Cut(rest, "/")
			role := func(name string) int64 { return r.catalog.regLookup(name, regroleOID) }
			for _, c := range letters {
				if p := privilegeNames[c]; p != "" {
					out = append(out, record{role(grantor), role(who), p, false})
				}
			}
		}
		return out
	}}
}

// privilegeNames are the privileges by their letters in an aclitem.
var privilegeNames = map[rune]string{'r': "SELECT", 'a': "INSERT", 'w': "UPDATE", 'd': "DELETE", 'D': "TRUNCATE", 'x': "REFERENCES", 't': "TRIGGER",
	'U': "USAGE", 'C': "CREATE", 'c': "CONNECT", 'T': "TEMPORARY", 'X': "EXECUTE"}

func bindOptions(b *binder, args []expr, at int) *setCall {
	fields := []outColumn{{name: "option_name", typ: textOID}, {name: "option_value", typ: textOID}}
	if !arrayArgument(args, 1) {
		return nil
	}
	return &setCall{out: expr{typ: recordOID, fields: fields}, args: args, values: func(r *run, a []any) (out []any) {
		for _, item := range itemsOf(r, a[0]).elements {
			s, _ := item.(string)
			name, value, _ := strings.Cut(s, "=")
			out = append(out, record{name, value})
		}
		return out
	}}
}

func bindSplit(b *binder, args []expr, at int) *setCall {
	if len(args) != 2 {
		return nil
	}
	args[0], args[1] = b.implied(args[0], textOID, at), b.implied(args[1], textOID, at)
	return &setCall{out: expr{typ: textOID}, args: args, values: func(r *run, a []any) (out []any) {
		text, ok := a[0].(string)
		pattern, known := a[1].(string)
		if !ok || !known {
			return nil
		}
		for _, part := range r.pattern(pattern, false, false).Split(text, -1) {
			r.spend(16)
			out = append(out, part)
		}
		return out
	}}
}

func bindNothing(b *binder, args []expr, at int) *setCall {
	return &setCall{out: expr{typ: textOID}, values: func(*run, []any) []any { return nil }}
}

// arrayToString needs the type of its argument, which functions do not get.
func (b *binder) arrayToString(args []expr, at int) expr {
	if args[0].untyped {
		args[0] = b.typed(args[0], arrayOfType(textOID))
	}
	element := elementOf(args[0].typ)
	if element == 0 {
		fail(sqlerr.New(sqlerr.Unknown, "function array_to_string(%s, …) does not exist", b.catalog.typeTitle(args[0].typ)).Of(sqlerr.Function).At(at))
	}
	for i := range args[1:] {
		args[i+1] = b.implied(args[i+1], textOID, at)
	}
	return b.invoked(textOID, true, func(r *run, args []any) any {
		a, ok := args[0].(*array)
		separator, known := args[1].(string)
		if !ok || !known {
			return nil
		}
		var parts []string
		for _, v := range a.elements {
			switch {
			case v != nil:
				parts = append(parts, r.made(r.catalog.output(v, element)))
			case len(args) > 2:
				if s, ok := args[2].(string); ok {
					parts = append(parts, r.made(s))
				}
			}
			r.spend(len(separator) + 16)
		}
		return strings.Join(parts, separator)
	}, args...)
}

// format is format() with %s, %I, %L and %%.
func (b *binder) format(args []expr, at int) expr {
	for i := range args {
		args[i] = b.converted(args[i], textOID, at)
	}
	return b.invoked(textOID, true, func(r *run, args []any) any {
		pattern, ok := args[0].(string)
		if !ok {
			return nil
		}
		var out strings.Builder
		next := 1
		for i := 0; i < len(pattern); i++ {
			if pattern[i] != '%' {
				out.WriteByte(pattern[i])
				continue
			}
			i++
			switch {
			case i == len(pattern) || strings.IndexByte("sIL%", pattern[i]) < 0:
				unsupported(at, "a specifier of format() other than %%s, %%I and %%L")
			case pattern[i] == '%':
				out.WriteByte('%')
				continue
			}
			if next == len(args) {
				fail(sqlerr.New(sqlerr.Invalid, "too few arguments for format()").At(at))
			}
			s, known := args[next].(string)
			next++
			switch {
			case !known && pattern[i] == 'I':
				fail(sqlerr.New(sqlerr.Invalid, "null values cannot be formatted as an SQL identifier").At(at))
			case !known && pattern[i] == 'L':
				s = "NULL"
			case pattern[i] == 'I':
				s = quoteIdent(s)
			case pattern[i] == 'L':
				s = quoteLiteral(r, s)
			}
			out.WriteString(r.made(s))
		}
		return r.made(out.String())
	}, args...)
}

// jsonObject is json_build_object with the values that catalogs have.
func (b *binder) jsonObject(args []expr, at int) expr {
	if len(args)%2 != 0 {
		fail(sqlerr.New(sqlerr.Invalid, "argument list must have even number of elements").At(at))
	}
	for i := range args {
		args[i] = b.settled(args[i])
	}
	return b.invoked(jsonOID, true, func(r *run, values []any) any {
		var out strings.Builder
		out.WriteByte('{')
		for i, e := range args {
			switch v := values[i]; {
			case i > 0 && i%2 == 0:
				out.WriteString(", ")
				fallthrough
			case i == 0:
				if v == nil {
					fail(sqlerr.New(sqlerr.Invalid, "argument 1 cannot be null").At(at))
				}
				out.WriteString(strconv.Quote(r.catalog.output(v, e.typ)) + " : ")
			case v == nil:
				out.WriteString("null")
			default:
				out.WriteString(jsonValue(r.catalog, v, e.typ))
			}
		}
		out.WriteByte('}')
		return r.made(out.String())
	}, args...)
}

func jsonValue(c *Catalog, v any, t uint32) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int64:
		if !isReg(t) {
			return strconv.FormatInt(v, 10)
		}
	case float64:
		return c.output(v, t)
	}
	return strconv.Quote(c.output(v, t))
}

// builtinFunction is a function with values as arguments and result.
type builtinFunction struct {
	args   []uint32
	out    uint32 // anyelement: the type of the first argument, or of its elements
	loose  bool   // it is called with NULLs too
	shared bool   // the engine has it as well: a call tells nothing of who should answer
	eval   func(r *run, a []any) any
}

// functionTable has the functions by name, made of the texts of functionList.
var functionTable = sync.OnceValue(func() map[string][]*builtinFunction {
	out := make(map[string][]*builtinFunction)
	for _, f := range functionList() {
		for _, s := range strings.Split(f.signatures, ";") {
			open, shut := strings.Index(s, "("), strings.LastIndex(s, ")")
			name := strings.TrimSpace(s[:open])
			one := &builtinFunction{out: signatureType(s[shut+1:]), loose: f.loose, shared: f.shared, eval: f.eval}
			for _, a := range strings.Split(s[open+1:shut], ",") {
				if a != "" {
					one.args = append(one.args, signatureType(a))
				}
			}
			out[name] = append(out[name], one)
		}
	}
	return out
})

func signatureType(s string) uint32 {
	s = strings.TrimSpace(s)
	base, isArray := strings.CutSuffix(s, "[]")
	t := typeNamed(base)
	if isArray {
		t = arrayOfType(t)
	}
	if t == 0 {
		panic("pgcatalog: no type " + s)
	}
	return t
}
