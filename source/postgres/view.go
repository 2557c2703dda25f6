package postgres

import (
	"slices"
	"strings"
)

// view is what the definitions of views say.
type view struct {
	queries   map[string]*tree // by the numbers of the views
	kinds     map[string]byte  // of all that is reached, tables included, by number
	relations []string         // the numbers of those that are read
	calls     []call
	operators []string // the numbers of those by which rows are sorted or grouped
	uses      []use
	collated  []collated
	refused   string // what a view must not have; "" if it has none of it
}

// plain are the kinds of nodes that may stand in a definition, under the names of
// several versions of the server: those that cannot fail, and those of which look
// and lookAtTypes say what they need.
const plain = wordList(`RANGETBLENTRY RTEPERMISSIONINFO ALIAS FROMEXPR RANGETBLREF JOINEXPR TARGETENTRY SORTGROUPCLAUSE SETOPERATIONSTMT
	COMMONTABLEEXPR GROUPINGSET QUERY VAR CONST PARAM CASE CASEEXPR WHEN CASEWHEN CASETESTEXPR COALESCE COALESCEEXPR MINMAX MINMAXEXPR
	BOOLEXPR NULLTEST BOOLEANTEST RELABELTYPE COLLATE COLLATEEXPR ARRAY ARRAYEXPR SUBLINK
	COERCEVIAIO OPEXPR DISTINCTEXPR NULLIFEXPR SCALARARRAYOPEXPR FUNCEXPR AGGREF`)

// wordList is a list of words with white space between them.
type wordList string

func (l wordList) has(word string) bool { return slices.Contains(strings.Fields(string(l)), word) }

// reach adds a relation, of a kind of pg_class, and the definition that it has if
// it is a view.
func (v *view) reach(number string, kind byte, definition []byte) {
	if v.kinds == nil {
		v.queries, v.kinds = make(map[string]*tree), make(map[string]byte)
	}
	v.kinds[number] = kind
	if definition == nil {
		return
	}
	if actions, ok := v.look(string(definition)).([]any); ok && len(actions) == 1 {
		v.queries[number], _ = actions[0].(*tree)
	}
}

// look adds what a definition says, and returns it.
func (v *view) look(definition string) any {
	root, ok := readTree(definition)
	if !ok {
		v.refuse("a definition that is not understood")
	}
	each(root, func(n *tree) {
		if !plain.has(n.kind) {
			v.refuse("an expression of the kind " + n.kind)
		}
		switch n.kind {
		case "QUERY":
			v.refuse(partsOf(n))
		case "RANGETBLENTRY":
			v.lookAtRange(n)
		case "SUBLINK":
			v.refuse(subLink(n))
		case "OPEXPR", "DISTINCTEXPR", "NULLIFEXPR", "SCALARARRAYOPEXPR":
			v.calls = append(v.calls, callOf(n, "opno", true))
		case "FUNCEXPR":
			v.calls = append(v.calls, callOf(n, "funcid", false))
		case "AGGREF":
			v.calls = append(v.calls, callOf(n, "aggfnoid", false))
		case "SORTGROUPCLAUSE":
			v.lookAtOrder(n)
		}
		v.lookAtTypes(n)
	})
	return root
}

func (v *view) refuse(what string) {
	if v.refused == "" {
		v.refused = what
	}
}

// partsOf names a part of a SELECT that is not row by row, or not the same each
// time.
func partsOf(n *tree) string {
	switch {
	case n.atom("commandType") != "1":
		return "a statement that is no SELECT"
	case n.has("limitCount"), n.has("limitOffset"):
		return "LIMIT or OFFSET"
	case n.atom("hasWindowFuncs") == "true":
		return "a window function"
	case n.atom("hasTargetSRFs") == "true":
		return "a function that returns rows"
	case n.atom("hasDistinctOn") == "true":
		return "DISTINCT ON"
	case n.atom("hasRecursive") == "true":
		return "WITH RECURSIVE"
	case n.atom("hasForUpdate") == "true", n.atom("hasModifyingCTE") == "true":
		return "locks or changes"
	}
	return ""
}

// lookAtRange adds what stands in FROM: a table, a subquery, a join, VALUES, a
// common table expression, or nothing.
func (v *view) lookAtRange(n *tree) {
	switch n.atom("rtekind") {
	case "0":
		v.relations = append(v.relations, n.atom("relid"))
		if n.has("tablesample") {
			v.refuse("TABLESAMPLE")
		}
	case "1", "2", "5", "6", "8":
	default:
		v.refuse("a function in FROM")
	}
}

// lookAtOrder adds the operators by which GROUP BY, DISTINCT, UNION or ORDER BY
// compares. Some compare by hash alone, and have none to sort by.
func (v *view) lookAtOrder(n *tree) {
	v.operators = append(v.operators, n.atom("eqop"))
	if by := n.atom("sortop"); by != "0" {
		v.operators = append(v.operators, by)
	}
}

const anySubLink = "2" // the type of x IN (SELECT …)

// subLink refuses a subquery that fails where it has more than one row.
func subLink(n *tree) string {
	const exists, all, expression = "0", "1", "4"
	switch n.atom("subLinkType") {
	case exists, all, anySubLink:
		return ""
	case expression:
		if below := n.node("subselect"); below != nil && below.atom("hasAggs") == "true" && !below.has("groupClause") && !below.has("groupingSets") {
			return ""
		}
	}
	return "a subquery that fails where it has more than one row"
}

// use is a value of some type where only some types cannot fail.
type use struct {
	from, to string // the numbers of types; to is "" where a value stays what it is
	what     string // what it is used for, in words
	types    wordList
}

// collated is a value and the collation that it has.
type collated struct{ typ, collation string }

// holder says in which fields a node has its type and its collation.
type holder struct{ typ, collation string }

// holders are those of the nodes that have a value, under the names of several
// versions of the server. A node without a field for its type is a boolean.
var holders = map[string]holder{
	"VAR": {"vartype", "varcollid"}, "CONST": {"consttype", "constcollid"}, "PARAM": {"paramtype", "paramcollid"},
	"FUNCEXPR": {"funcresulttype", "funccollid"}, "AGGREF": {"aggtype", "aggcollid"},
	"OPEXPR": {"opresulttype", "opcollid"}, "DISTINCTEXPR": {"opresulttype", "opcollid"}, "NULLIFEXPR": {"opresulttype", "opcollid"},
	"RELABELTYPE": {"resulttype", "resultcollid"}, "COERCEVIAIO": {"resulttype", "resultcollid"},
	"CASE": {"casetype", "casecollid"}, "CASEEXPR": {"casetype", "casecollid"}, "CASETESTEXPR": {"typeId", "collation"},
	"COALESCE": {"coalescetype", "coalescecollid"}, "COALESCEEXPR": {"coalescetype", "coalescecollid"},
	"MINMAX": {"minmaxtype", "minmaxcollid"}, "MINMAXEXPR": {"minmaxtype", "minmaxcollid"},
	"ARRAY": {"array_typeid", "array_collid"}, "ARRAYEXPR": {"array_typeid", "array_collid"},
	"SCALARARRAYOPEXPR": {}, "BOOLEXPR": {}, "NULLTEST": {}, "BOOLEANTEST": {},
}

const booleanType = "16" // in pg_type, of every server

// typeOf returns the number of an expression's type, "" where it is not known.
func typeOf(value any) string {
	n, ok := value.(*tree)
	if !ok || n == nil {
		return ""
	}
	switch n.kind {
	case "TARGETENTRY":
		return typeOf(n.node("expr"))
	case "COLLATE", "COLLATEEXPR":
		return typeOf(n.node("arg"))
	case "SUBLINK":
		return typeOfSubLink(n)
	}
	s, ok := holders[n.kind]
	switch {
	case !ok:
		return ""
	case s.typ == "":
		return booleanType
	}
	return n.atom(s.typ)
}

// typeOfSubLink returns the type of the column of (SELECT …), or that of EXISTS,
// ANY and ALL.
func typeOfSubLink(n *tree) string {
	if n.atom("subLinkType") != "4" {
		return booleanType
	}
	if below := n.node("subselect"); below != nil && len(below.list("targetList")) > 0 {
		return typeOf(below.list("targetList")[0])
	}
	return ""
}

// lookAtTypes adds what a node needs of the types and the collations that it
// has.
func (v *view) lookAtTypes(n *tree) {
	if s, ok := holders[n.kind]; ok && s.typ != "" {
		v.collated = append(v.collated, collated{n.atom(s.typ), n.atom(s.collation)})
	}
	switch n.kind {
	case "COLLATE", "COLLATEEXPR":
		v.collated = append(v.collated, collated{typeOf(n), n.atom("collOid")})
	case "TARGETENTRY":
		if n.atom("ressortgroupref") != "0" {
			v.compare(typeOf(n), collationOf(n.node("expr")))
		}
	case "SETOPERATIONSTMT":
		types, collations := n.list("colTypes"), n.list("colCollations")
		for i := range min(len(types), len(collations)) {
			if n.has("groupClauses") && i > 0 { // behind the letter that says that they are numbers
				v.compare(atomOf(types[i]), atomOf(collations[i]))
			}
		}
	case "RELABELTYPE":
		v.uses = append(v.uses, use{typeOf(n.node("arg")), typeOf(n), "a cast", ""})
	case "COERCEVIAIO":
		v.uses = append(v.uses, use{typeOf(n.node("arg")), "", "a cast to text of a value", printable}, use{typeOf(n), "", "a cast of a text to a value", onlyText})
	case "ARRAY", "ARRAYEXPR":
		if n.atom("multidims") != "false" {
			v.refuse("an array of arrays")
		}
		v.uses = append(v.uses, use{n.atom("element_typeid"), "", "an array", comparable})
	case "MINMAX", "MINMAXEXPR":
		v.uses = append(v.uses, use{typeOf(n), "", "GREATEST or LEAST", comparable})
		v.compare(typeOf(n), n.atom("inputcollid"))
	}
}

// compare adds a value that is compared with others of its column.
func (v *view) compare(typ, collation string) {
	v.calls = append(v.calls, call{types: []string{typ}, collation: collation})
}

func atomOf(value any) string {
	s, _ := value.(string)
	return s
}

// collationOf returns the number of the collation that a value has.
func collationOf(n *tree) string {
	if n == nil {
		return ""
	}
	switch n.kind {
	case "COLLATE", "COLLATEEXPR":
		return n.atom("collOid")
	case "SUBLINK":
		if below := n.node("subselect"); n.atom("subLinkType") == "4" && below != nil && len(below.list("targetList")) > 0 {
			if column, ok := below.list("targetList")[0].(*tree); ok {
				return collationOf(column.node("expr"))
			}
		}
	}
	return n.atom(holders[n.kind].collation)
}

// Types by the names of pg_type, with domains resolved. "text" stands for all
// that are stored and written as a text is, and "enum" for every enumeration.
const (
	onlyText   = wordList("text")
	printable  = wordList("text int2 int4 int8 float4 float8 numeric bool date time timestamp timestamptz uuid enum")
	comparable = wordList("text int2 int4 int8 float4 float8 numeric bool date time timestamp timestamptz uuid enum bytea interval timetz oid")
)
