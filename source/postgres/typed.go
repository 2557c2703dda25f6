package postgres

// use is a value of some type where only some types cannot fail.
type use struct {
	from, to string // the numbers of types; to is "" where a value stays what it is
	what     string // what it is used for, in words
	types    map[string]bool
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
		v.uses = append(v.uses, use{typeOf(n.node("arg")), typeOf(n), "a cast", nil})
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
var (
	onlyText   = wordsOf("text")
	printable  = wordsOf("text int2 int4 int8 float4 float8 numeric bool date time timestamp timestamptz uuid enum")
	comparable = wordsOf("text int2 int4 int8 float4 float8 numeric bool date time timestamp timestamptz uuid enum bytea interval timetz oid")
)
