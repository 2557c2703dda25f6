package postgres

import "strings"

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
var plain = wordsOf(`RANGETBLENTRY RTEPERMISSIONINFO ALIAS FROMEXPR RANGETBLREF JOINEXPR TARGETENTRY SORTGROUPCLAUSE SETOPERATIONSTMT
	COMMONTABLEEXPR GROUPINGSET QUERY VAR CONST PARAM CASE CASEEXPR WHEN CASEWHEN CASETESTEXPR COALESCE COALESCEEXPR MINMAX MINMAXEXPR
	BOOLEXPR NULLTEST BOOLEANTEST RELABELTYPE COLLATE COLLATEEXPR ARRAY ARRAYEXPR SUBLINK
	COERCEVIAIO OPEXPR DISTINCTEXPR NULLIFEXPR SCALARARRAYOPEXPR FUNCEXPR AGGREF`)

func wordsOf(text string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

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
		if !plain[n.kind] {
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
