package postgres

import (
	"slices"
	"strings"
)

// view collects what the definitions of views contain.
type view struct {
	queries   map[string]*tree // the views' queries, by number
	kinds     map[string]byte  // the kinds of all relations reached, tables included, by number
	relations []string         // the numbers of the relations read
	calls     []call
	operators []string // the numbers of the operators that sort or group rows
	uses      []use
	collated  []collated
	refused   string // something that a view must not have; "" if it has none
	far       bool   // some rows are on other servers
	groups    bool   // it combines rows, of which it may show any of several equal values
	texts     int    // how many texts one text can be joined of, on any way through the SELECTs
}

// maxTexts bounds view.texts. Without it a chain of views that each double a text would make a short
// one too long for the server.
const maxTexts = 32

// plain lists the kinds of nodes that a definition may have, under the names of several
// versions of the server: those that cannot fail, and those whose needs look and
// lookAtTypes collect.
const plain = wordList(`RANGETBLENTRY RTEPERMISSIONINFO ALIAS FROMEXPR RANGETBLREF JOINEXPR TARGETENTRY SORTGROUPCLAUSE SETOPERATIONSTMT
	COMMONTABLEEXPR GROUPINGSET QUERY VAR CONST PARAM CASE CASEEXPR WHEN CASEWHEN CASETESTEXPR COALESCE COALESCEEXPR MINMAX MINMAXEXPR
	BOOLEXPR NULLTEST BOOLEANTEST RELABELTYPE COLLATE COLLATEEXPR ARRAY ARRAYEXPR SUBLINK
	COERCEVIAIO OPEXPR DISTINCTEXPR NULLIFEXPR SCALARARRAYOPEXPR FUNCEXPR AGGREF`)

// wordList is a list of words with white space between them.
type wordList string

func (l wordList) has(word string) bool { return slices.Contains(strings.Fields(string(l)), word) }

// reach adds a relation of a kind, as in pg_class, and its definition if it is a view.
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

// look adds what a definition contains, and returns its tree.
func (v *view) look(definition string) any {
	root, ok := readTree(definition)
	if !ok {
		v.refuse("a definition that is not understood")
	}
	v.joined(root)
	each(root, func(n *tree) {
		if !plain.has(n.kind) {
			v.refuse("an expression of the kind " + n.kind)
		}
		switch n.kind {
		case "QUERY":
			v.refuse(partsOf(n))
			v.merged(n, n.node("setOperations"))
			v.groups = v.groups || n.atom("hasAggs") == "true" || n.has("groupClause") || n.has("distinctClause") || n.has("setOperations")
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
		case "VAR":
			if strings.HasPrefix(n.atom("varattno"), "-") {
				v.refuse("a column of storage, such as ctid or tableoid")
			}
		}
		v.lookAtTypes(n)
	})
	return root
}

// joined returns how many texts a text in a value joins by ||, at most, and multiplies texts by that
// number for each SELECT within: a text passes each at most once.
func (v *view) joined(value any) (texts int) {
	const operator, function = "654", "1258" // textcat, in pg_operator and pg_proc of every server
	texts = 1
	below, _ := value.([]any)
	n, _ := value.(*tree)
	if n != nil && (n.atom("opno") == operator || n.atom("funcid") == function) && len(n.list("args")) == 2 {
		return v.joined(n.list("args")[0]) + v.joined(n.list("args")[1])
	} else if n != nil {
		for _, values := range n.fields {
			below = append(below, values)
		}
	}
	for _, each := range below {
		texts = max(texts, v.joined(each))
	}
	if n == nil || n.kind != "QUERY" {
		return texts
	}
	if v.texts = min(max(v.texts, 1)*texts, 2*maxTexts); v.texts > maxTexts {
		v.refuse("texts joined by || of too many others, in it and below it")
	}
	return 1
}

func (v *view) refuse(what string) {
	if v.refused == "" {
		v.refused = what
	}
}

// partsOf names a part of a SELECT that does not work row by row, or varies between
// runs.
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

// lookAtRange adds a member of FROM: a table, a subquery, a join, VALUES, a common
// table expression, or nothing.
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
// compares. Types that only hash have no operator to sort by.
func (v *view) lookAtOrder(n *tree) {
	v.operators = append(v.operators, n.atom("eqop"))
	if by := n.atom("sortop"); by != "0" {
		v.operators = append(v.operators, by)
	}
}

const anySubLink = "2" // the type of x IN (SELECT …)

// subLink refuses a subquery that fails if it has more than one row.
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

// use is a value whose use cannot fail for some types only.
type use struct {
	from, to string // the numbers of types; to is "" if the value is not converted
	what     string // the use, in words
	types    wordList
}

// collated is a value's type and collation.
type collated struct{ typ, collation string }

// holder names the fields in which a node has its type and its collation.
type holder struct{ typ, collation string }

// holders are the nodes that have a value, under the names of several versions of the
// server. A node without a field for its type is a boolean.
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

// typeOf returns the number of an expression's type, or "" if it is not known.
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

// typeOfSubLink returns the type of the column of (SELECT …), or boolean for EXISTS,
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

// lookAtTypes adds what a node needs of its types and collations.
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
			if n.has("groupClauses") && i > 0 { // after the letter that marks a list of numbers
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

// merged adds the conversions that UNION, INTERSECT and EXCEPT make of the columns of their sides.
// The server makes them when it runs the statement: no stored definition has them. merged returns
// the types of a side's columns after a letter, as the server lists numbers.
func (v *view) merged(query, n *tree) (types []any) {
	if n == nil || n.kind != "SETOPERATIONSTMT" {
		types = []any{"o"}
		if entry := entryOf(&scope{query: query}, n); entry != nil && entry.node("subquery") != nil {
			for _, column := range entry.node("subquery").list("targetList") { // those that only sort are last
				types = append(types, typeOf(column))
			}
		}
		return types
	}
	types = n.list("colTypes")
	for _, side := range []string{"larg", "rarg"} {
		of := slices.Concat(v.merged(query, n.node(side)), make([]any, len(types)))
		for i := 1; i < len(types); i++ {
			v.uses = append(v.uses, use{atomOf(of[i]), atomOf(types[i]), "a conversion by UNION, INTERSECT or EXCEPT", ""})
		}
	}
	return types
}

// compare adds a value that is compared with others of its column.
func (v *view) compare(typ, collation string) {
	v.calls = append(v.calls, call{types: []string{typ}, collation: collation})
}

func atomOf(value any) string {
	s, _ := value.(string)
	return s
}

// collationOf returns the number of a value's collation.
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

// Types by their names in pg_type, with domains resolved. "text" stands for every type
// that is stored and written as a text is, and "enum" for every enumeration. A text is not
// relabelled as bpchar, the type of char(n), for which the blanks at the end of a value do not count.
const (
	onlyText   = wordList("text")
	printable  = wordList("text int2 int4 int8 float4 float8 numeric bool date time timestamp timestamptz uuid enum")
	unlike     = wordList("numeric float4 float8 bpchar") // equal values are written in several ways, as 1 and 1.0, or with more blanks
	comparable = wordList("text bpchar int2 int4 int8 float4 float8 numeric bool date time timestamp timestamptz uuid enum bytea interval timetz oid")
	widened    = wordList("int2>int4 int2>int8 int4>int8 int2>numeric int4>numeric int8>numeric int2>float8 int4>float8 float4>float8 bpchar>text") // conversions that do not fail and keep values apart
)
