package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// call is a use of a function by a view.
type call struct {
	function    string // its number
	first, last []byte // its arguments, where they are constants
}

// view is what the definitions of views say.
type view struct {
	relations []string // the numbers of those that are read
	calls     []call
	refused   string // what a view must not have; "" if it has none of it
}

// plain are the kinds of nodes that cannot fail, under the names of several
// versions of the server. What other kinds need is in look.
var plain = wordsOf(`RANGETBLENTRY RTEPERMISSIONINFO ALIAS FROMEXPR RANGETBLREF JOINEXPR TARGETENTRY SORTGROUPCLAUSE SETOPERATIONSTMT
	COMMONTABLEEXPR GROUPINGSET QUERY VAR CONST PARAM CASE CASEEXPR WHEN CASEWHEN CASETESTEXPR COALESCE COALESCEEXPR MINMAX MINMAXEXPR
	BOOLEXPR NULLTEST BOOLEANTEST RELABELTYPE COLLATE COLLATEEXPR ROW ROWEXPR ROWCOMPARE ROWCOMPAREEXPR ARRAY ARRAYEXPR SUBLINK
	COERCEVIAIO OPEXPR DISTINCTEXPR NULLIFEXPR SCALARARRAYOPEXPR FUNCEXPR AGGREF`)

func wordsOf(text string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		out[w] = true
	}
	return out
}

// look adds what a definition says.
func (v *view) look(definition string) {
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
		case "COERCEVIAIO":
			if !slices.Contains([]string{"25", "1042", "1043"}, n.atom("resulttype")) {
				v.refuse("a cast of a text, which can fail")
			}
		case "OPEXPR", "DISTINCTEXPR", "NULLIFEXPR", "SCALARARRAYOPEXPR":
			v.calls = append(v.calls, callOf(n, "opfuncid"))
		case "FUNCEXPR":
			v.calls = append(v.calls, callOf(n, "funcid"))
		case "AGGREF":
			v.calls = append(v.calls, call{function: n.atom("aggfnoid")})
		}
	})
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

// subLink refuses a subquery that fails where it has more than one row.
func subLink(n *tree) string {
	const exists, all, some, expression = "0", "1", "2", "4"
	switch n.atom("subLinkType") {
	case exists, all, some:
		return ""
	case expression:
		if below := n.node("subselect"); below != nil && below.atom("hasAggs") == "true" && !below.has("groupClause") && !below.has("groupingSets") {
			return ""
		}
	}
	return "a subquery that fails where it has more than one row"
}

func callOf(n *tree, field string) call {
	c, args := call{function: n.atom(field)}, n.list("args")
	if len(args) > 0 {
		c.first, c.last = constant(args[0]), constant(args[len(args)-1])
	}
	return c
}

// constant returns the bytes of an argument, if it is a constant and not NULL. A
// word of the server's machine is as long as its value is short, or longer.
func constant(argument any) []byte {
	c, ok := argument.(*tree)
	if !ok || c.kind != "CONST" || c.atom("constisnull") != "false" || len(c.fields["constvalue"]) != 2 {
		return nil
	}
	list, _ := c.fields["constvalue"][1].([]any)
	var out []byte
	for _, b := range list {
		text, _ := b.(string)
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		out = append(out, byte(n))
	}
	if length, _ := strconv.Atoi(c.atom("constlen")); length > 0 && length < len(out) && c.atom("constbyval") == "true" {
		out = out[:length] // of a machine that stores the low bytes first
	}
	return out
}

// vouch refuses views that can fail on a row, or vary. What is not looked at,
// and so vouched for by who declares the table: that a view works row by row, or
// unit by unit, where it groups or joins.
func (r *reader) vouch(ctx context.Context, v view, source string) error {
	refuse := func(what string) error {
		return sqlerr.New(sqlerr.Unsupported, "%s has %s: it could fail on a row, or vary between calls", source, what).
			WithHint("prepare the column in a table, where a fault shows before anyone asks")
	}
	if v.refused != "" {
		return refuse(v.refused)
	}
	if len(v.calls) == 0 {
		return nil
	}
	oids := make([]string, len(v.calls))
	for i, c := range v.calls {
		oids[i] = c.function
	}
	names := make(map[string]string)
	err := r.rows(ctx, statement{`SELECT oid::text, oid::regprocedure::text FROM pg_proc WHERE oid = ANY ($1::oid[])
		AND pronamespace = 'pg_catalog'::regnamespace AND oid < 16384 AND provolatile <> 'v'`, texts(array(oids)), "dpsql_functions"}, func(row [][]byte) bool {
		names[string(row[0])] = string(row[1])
		return true
	})
	if err != nil {
		return err
	}
	for _, c := range v.calls {
		if name := names[c.function]; name == "" {
			return refuse("a call of a function that is not PostgreSQL's own, or is volatile")
		} else if !c.safe(name) {
			return refuse("a call of " + name)
		}
	}
	return nil
}

// safe reports whether a call gives a value for every row.
func (c call) safe(name string) bool {
	switch {
	case total.MatchString(name):
		return true
	case byConstant.MatchString(name):
		zero := slices.IndexFunc(c.last, func(b byte) bool { return b != 0 }) < 0
		ones := slices.IndexFunc(c.last, func(b byte) bool { return b != 0xff }) < 0
		return !zero && !ones
	case byField.MatchString(name):
		const header = 4 // bytes before those of a text
		return len(c.first) > header && fields[string(c.first[header:])]
	case byPattern.MatchString(name):
		return len(c.last) > 0 && !slices.Contains(c.last, '\\')
	}
	return false
}
