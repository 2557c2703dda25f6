package pgcatalog

import (
	"strings"
	"sync"

	"dpsql/sqlerr"
)

// function is a function that a statement may call.
type function struct {
	args     []uint32
	variadic bool // the last argument may come often
	out      uint32
	fields   []outColumn // of a record
	how      how
	sql      string // with the arguments for %s, and with FILTER and OVER of an aggregate for another; "" for Go
	eval     evaluation
}

// evaluation computes a function, an aggregate of its rows, or the elements of a set.
type evaluation = func(r *run, a []any) any

// how is how a function is called.
type how uint8

const (
	loose      how = 1 << iota // with NULLs too
	shared                     // the engine has it as well: a call tells nothing of who should answer
	sets                       // it returns a set
	aggregates                 // of the rows of a group
	windows                    // with OVER
)

// functionRow is a row of the table of functions. Its signatures are as in PostgreSQL's pg_proc, without
// default arguments: a|b is either name or type, […] may be left out, and what … follows may come often.
type functionRow struct {
	signatures string
	how        how
	do         any // an evaluation, or SQL, which is the name if nothing is said
}

const null = "NULL"

// functionRows is the table of functions.
func functionRows() []functionRow {
	return []functionRow{
		// What the session and the server are.
		{"version() text", 0, serverVersion},
		{"current_database|current_catalog() name", 0, databaseName},
		{"current_user|session_user|user|current_role() name", 0, userName},
		{"current_schema() name", 0, "'public'"},
		{"current_schemas(bool) name[]", 0, currentSchemas},
		{"pg_backend_pid() int4", 0, backendPID},
		{"current_setting(text[,bool]) text", 0, currentSetting},
		{"set_config(text,text,bool) text", loose, setConfig},
		{"pg_is_in_recovery|pg_is_wal_replay_paused() bool; pg_is_other_temp_schema(oid) bool", 0, "0"},
		{"txid_current() int8", 0, "1"},
		{"pg_my_temp_schema() oid; pg_trigger_depth() int4", 0, "0"},
		{"now|current_timestamp|clock_timestamp() timestamptz", shared, begun(timestampTZ)},
		{"transaction_timestamp|statement_timestamp() timestamptz", shared, begun(timestampTZ)},
		{"localtimestamp() timestamp", 0, begun(timestampOID)},
		{"current_date() date", 0, begun(dateOID)},
		{"inet_server_addr|inet_client_addr() inet; inet_server_port|inet_client_port() int4", 0, null},
		{"pg_client_encoding|getdatabaseencoding() name", 0, "'UTF8'"},
		{"pg_advisory_unlock_all() void; pg_tablespace_location(oid) text", 0, "''"},
		{"pg_encoding_to_char(int4) name", 0, encodingName},
		{"pg_char_to_encoding(name) int4", 0, encodingNumber},
		{"pg_encoding_max_length(int4) int4", 0, "4"},

		// Names and definitions of what has an OID.
		{"pg_get_userbyid(oid) name", 0, roleNamed},
		{"format_type(oid,int4) text", loose, formatType},
		{"pg_table_is_visible(oid) bool", 0, tableIsVisible},
		{"pg_type_is_visible(oid) bool", 0, typeIsVisible},
		{"pg_function_is_visible(oid) bool", 0, functionIsVisible},
		{"pg_operator_is_visible|pg_opclass_is_visible|pg_opfamily_is_visible(oid) bool", 0, null},
		{"pg_ts_parser_is_visible|pg_ts_dict_is_visible|pg_ts_config_is_visible(oid) bool", 0, null},
		{"pg_ts_template_is_visible|pg_conversion_is_visible|pg_statistics_obj_is_visible(oid) bool", 0, null},
		{"shobj_description(oid,name) text", 0, null},
		{"pg_collation_is_visible(oid) bool", 0, "1"},
		{"obj_description(oid[,name]) text", 0, described},
		{"col_description(oid,int4) text", 0, columnDescribed},
		{"to_regclass(text) regclass", 0, toReg(regclassOID)},
		{"to_regtype(text) regtype", 0, toReg(regtypeOID)},
		{"to_regproc(text) regproc", 0, toReg(regprocOID)},
		{"to_regprocedure(text) regprocedure", 0, toReg(regprocedure)},
		{"to_regnamespace(text) regnamespace", 0, toReg(regnamespace)},
		{"to_regrole(text) regrole", 0, toReg(regroleOID)},

		// Definitions of what no table here has: views, defaults, indexes, triggers, rules.
		{"pg_get_expr(pg_node_tree,oid[,bool]) text; pg_get_indexdef(oid[,int4,bool]) text", 0, null},
		{"pg_get_constraintdef|pg_get_viewdef|pg_get_triggerdef|pg_get_ruledef(oid[,bool]) text", 0, null},
		{"pg_get_viewdef(text) text; pg_get_partkeydef|pg_get_partition_constraintdef(oid) text", 0, null},
		{"pg_get_statisticsobjdef|pg_get_statisticsobjdef_columns(oid) text", 0, null},
		{"pg_get_function_sqlbody(oid) text; pg_get_serial_sequence(text,text) text", 0, null},
		{"pg_relation_filenode(regclass) oid; pg_sequence_last_value(regclass) int8", 0, null},
		{"pg_index_column_has_property(regclass,int4,text) bool", 0, null},
		{"pg_index_has_property(regclass,text) bool; pg_indexam_has_property(oid,text) bool", 0, null},
		{"pg_get_functiondef(oid) text", 0, functionDefinition},
		{"pg_get_function_result(oid) text", 0, functionResult},
		{"pg_get_function_arguments|pg_get_function_identity_arguments(oid) text", 0, functionArguments},
		{"pg_relation_is_publishable(regclass) bool", 0, isPublishable},
		{"pg_relation_is_updatable(regclass,bool) int4; pg_relation_size(regclass[,text]) int8", 0, noSize},
		{"pg_table_size|pg_total_relation_size|pg_indexes_size(regclass) int8", 0, noSize},
		{"pg_column_is_updatable(regclass,int2,bool) bool", 0, "0"},
		{"pg_database_size|pg_tablespace_size(name|oid) int8", 0, "0"},
		{"pg_stat_get_numscans|pg_stat_get_live_tuples(oid) int8", 0, "0"},
		{"pg_size_pretty(int8|numeric) text", 0, sizePretty},

		// What the user may do: read her tables.
		{"has_table_privilege|has_any_column_privilege([name|oid,]text|oid,text) bool", 0, mayTable(2)},
		{"has_column_privilege([name,]text|oid,text|int2,text) bool", 0, mayTable(3)},
		{"has_schema_privilege([name,]text|oid,text) bool", 0, may("USAGE")},
		{"has_type_privilege|has_language_privilege(text|oid,text) bool", 0, may("USAGE")},
		{"has_database_privilege([name,]text|oid,text) bool", 0, may("CONNECT")},
		{"has_function_privilege([name,]text|oid,text) bool", 0, may("EXECUTE")},
		{"has_sequence_privilege|has_tablespace_privilege(text|oid,text) bool", 0, "0"},
		{"row_security_active(text|oid) bool", 0, "0"},
		{"has_server_privilege|has_foreign_data_wrapper_privilege(oid,text) bool", 0, "0"},
		{"pg_has_role([name,]name|oid,text) bool; pg_has_role(oid,oid,text) bool", 0, isRole},

		// Texts.
		{"quote_ident(text) text", 0, ofText(quoteIdent)},
		{"quote_literal(text) text", 0, ofText(quoteLiteral)},
		{"quote_nullable(text) text", loose, quoteNullable},
		{"lower(text) text", shared, ofText(strings.ToLower)},
		{"upper(text) text", shared, ofText(strings.ToUpper)},
		{"length|char_length|character_length(text) int4", shared, length},
		{"octet_length(text) int4", shared, octetLength},
		{"replace(text,text,text) text", shared, replaced},
		{"btrim(text[,text]) text", shared, trimmed(strings.Trim)},
		{"ltrim(text[,text]) text", shared, trimmed(strings.TrimLeft)},
		{"rtrim(text[,text]) text", shared, trimmed(strings.TrimRight)},
		{"substring|substr(text,int4[,int4]) text", shared, substring},
		{"substring(text,text) text", 0, matching},
		{"strpos|position(text,text) int4", shared, position},
		{"starts_with(text,text) bool", 0, startsWith},
		{"split_part(text,text,int4) text", 0, splitPart},
		{"parse_ident(text) text[]", 0, parseIdent},
		{"left(text,int4) text", 0, left},
		{"regexp_replace(text,text,text[,text]) text", 0, regexpReplace},
		{"concat(any…) text", loose | shared, concat},
		{"concat_ws(any…) text", loose | shared, concatWithSeparator},
		{"format(any…) text", loose | shared, format},
		{"json_build_object([any…]) json", loose, jsonObject},

		// Numbers and arrays.
		{"abs(int4) int4; abs(int8) int8", shared, absolute},
		{"mod(int4,int4) int4; mod(int8,int8) int8", 0, modulo},
		{"array_upper(anyarray,int4) int4", 0, dimension((*array).upper)},
		{"array_lower(anyarray,int4) int4", 0, dimension(func(l *array) int { return l.lower })},
		{"array_length(anyarray,int4) int4", 0, dimension(func(l *array) int { return len(l.elements) })},
		{"cardinality(anyarray) int4", 0, cardinality},
		{"array_ndims(anyarray) int4", 0, dimensions},
		{"array_position(anyarray,any) int4", loose, arrayPosition},
		{"array_to_string(anyarray,text[,text]) text", loose, arrayToString},
		{"string_to_array(text,text) text[]", loose, stringToArray},

		// Sets.
		{"generate_series(int4,int4[,int4]) int4; generate_series(int8,int8[,int8]) int8", sets, series},
		{"unnest(anyarray) anyelement", sets, unnest},
		{"generate_subscripts(anyarray,int4) int4", sets, subscripts},
		{"_pg_expandarray(anyarray) (x anyelement, n int4)", sets, expandArray},
		{`pg_get_keywords() (word text, catcode "char", barelabel bool, catdesc text, baredesc text)`, sets,
			keywords},
		{"aclexplode(aclitem[]) (grantor oid, grantee oid, privilege_type text, is_grantable bool)", sets,
			aclExplode},
		{"pg_options_to_table(text[]) (option_name text, option_value text)", sets, optionsToTable},
		{"regexp_split_to_table(text,text) text", sets, regexpSplit},
		{"pg_listening_channels() text", sets, noRows},

		// Aggregates, and what is called with OVER alone.
		{"count() int8", aggregates | shared, "count(*%s)%s"},
		{"count(any) int8; min|max(anyelement) anyelement", aggregates | shared, nil},
		{"sum(int8|numeric) numeric", aggregates | shared, "CAST(sum(%s)%s AS REAL)"},
		{"sum(float4) float4; sum(float8) float8", aggregates | shared, "CAST(sum(%s)%s AS REAL)"},
		{"sum(int2|int4) int8", aggregates | shared, nil},
		{"min(anyarray) anyarray", aggregates | shared, extreme(-1)},
		{"max(anyarray) anyarray", aggregates | shared, extreme(1)},
		{"bool_and|every(bool) bool", aggregates | shared, "min(%s)%s"},
		{"bool_or(bool) bool", aggregates | shared, "max(%s)%s"},
		{"string_agg(text,text) text", aggregates, stringAgg},
		{"array_agg(anyelement) anyarray", aggregates, "nullif(json_group_array(%s)%s, '[]')"},
		{"row_number|rank|dense_rank() int8", windows | shared, nil},
	}
}

// functionTable has the functions by name.
var functionTable = sync.OnceValue(func() map[string][]*function {
	out := make(map[string][]*function)
	for _, row := range functionRows() {
		for _, s := range strings.Split(row.signatures, "; ") {
			names, rest, _ := strings.Cut(s, "(")
			args, result, _ := strings.Cut(rest, ") ")
			for _, name := range strings.Split(names, "|") {
				for _, list := range argumentLists(args) {
					f := &function{how: row.how}
					switch do := row.do.(type) {
					case evaluation:
						f.eval = do
					case string:
						f.sql = do
					default:
						f.sql = name + "(%s)%s"
					}
					f.takes(list)
					f.gives(result)
					out[name] = append(out[name], f)
				}
			}
		}
	}
	return out
})

// argumentLists returns the lists of types that a signature's arguments stand for.
func argumentLists(args string) [][]string {
	if before, rest, ok := strings.Cut(args, "["); ok && !strings.HasPrefix(rest, "]") {
		optional, after, _ := strings.Cut(rest, "]")
		return append(argumentLists(before+after), argumentLists(before+optional+after)...)
	}
	lists := [][]string{nil}
	for _, types := range strings.Split(args, ",") {
		var longer [][]string
		for _, list := range lists {
			for _, t := range strings.Split(types, "|") {
				longer = append(longer, append(list[:len(list):len(list)], t))
			}
		}
		lists = longer
	}
	return lists
}

func (f *function) takes(types []string) {
	for _, t := range types {
		if t == "" {
			continue
		}
		t, f.variadic = strings.CutSuffix(t, "…")
		f.args = append(f.args, signatureType(t))
	}
}

func (f *function) gives(result string) {
	list, ok := strings.CutPrefix(result, "(")
	if !ok {
		f.out = signatureType(result)
		return
	}
	f.out = recordOID
	for _, field := range strings.Split(strings.TrimSuffix(list, ")"), ", ") {
		name, t, _ := strings.Cut(field, " ")
		f.fields = append(f.fields, outColumn{name: name, typ: signatureType(t)})
	}
}

func signatureType(s string) uint32 {
	t := typeNamed(s)
	if t == 0 {
		panic("pgcatalog: no type " + s)
	}
	return t
}

// kindOf returns how the functions of a name are called; 0 if there are none.
func kindOf(name string) how {
	if list := functionTable()[name]; list != nil {
		return list[0].how & (sets | aggregates | windows)
	}
	return 0
}

// arg returns the type of an argument.
func (f *function) arg(i int) uint32 { return f.args[min(i, len(f.args)-1)] }

// takesAll reports whether a number of arguments can be given.
func (f *function) takesAll(n int) bool { return n == len(f.args) || f.variadic && n > len(f.args) }

// overload chooses the function of a name that the arguments fit best, and gives them its types.
func (b *binder) overload(n call, args []expr) *function {
	var found *function
	best := -1
	for _, f := range functionTable()[n.name] {
		if !f.takesAll(len(args)) {
			continue
		}
		score := 0
		for i, a := range args {
			switch want := f.arg(i); {
			case a.untyped:
				score += rank(want == textOID)
			case baseOf(a.typ) == want:
				score += 3
			case implicit(a.typ, want):
				score += 1 + rank(want == anyarrayOID)
			default:
				score = -1000
			}
		}
		if score > best {
			found, best = f, score
		}
	}
	if found == nil {
		titles := make([]string, len(args))
		for i, a := range args {
			titles[i] = b.catalog.typeTitle(a.typ)
		}
		fail(sqlerr.New(sqlerr.Unknown, "function %s(%s) does not exist", n.name, strings.Join(titles, ", ")).
			Of(sqlerr.Function).At(n.position))
	}
	for i := range args {
		args[i] = b.implied(args[i], found.arg(i), n.position)
	}
	return found
}

// result returns the type of a function's values, where it follows from that of the first argument.
func (b *binder) result(t uint32, f *function, args []expr, at int) uint32 {
	switch {
	case t == anyelementOID && f.args[0] == anyarrayOID:
		return ElementOf(args[0].typ)
	case t == anyarrayOID && f.args[0] == anyelementOID:
		t = ArrayOf(args[0].typ)
		if t == 0 {
			unsupported(at, "an array of %s", b.catalog.typeTitle(args[0].typ))
		}
	case t == anyelementOID || t == anyarrayOID:
		return args[0].typ
	}
	return t
}
