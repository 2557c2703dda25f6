package postgres

import (
	"maps"
	"slices"
)

// variable is a column of a member of FROM.
type variable struct{ member, column string }

// variableOf returns the variable that an expression is, if it is one. A cast between
// text types may surround it.
func variableOf(value any) (variable, bool) { return variableUp(value, "0") }

// variableUp is variableOf for a variable of a query that many levels up.
func variableUp(value any, levels string) (variable, bool) {
	n := uncast(value)
	if n == nil || n.kind != "VAR" || n.atom("varlevelsup") != levels {
		return variable{}, false
	}
	return variable{n.atom("varno"), n.atom("varattno")}, true
}

// uncast strips casts between text types from an expression.
func uncast(value any) *tree {
	n, _ := value.(*tree)
	for n != nil && n.kind == "RELABELTYPE" {
		n = n.node("arg")
	}
	return n
}

// carried is a set of columns that carry the unit of rows.
type carried map[variable]bool

// unitByUnit returns the columns of a query that carry the unit, given that a column,
// by its number, does. If it cannot tell, what names the reason.
func (o *origins) unitByUnit(s *scope, column string) (columns map[string]bool, what string) {
	if what := odd(s.query, quiet, byUnit); what != "" {
		return nil, what
	}
	if merged := s.query.node("setOperations"); merged != nil {
		return o.merged(s, merged, column)
	}
	wanted, _ := nth(s.query.list("targetList"), column).(*tree)
	if wanted == nil {
		return nil, noColumn
	}
	carriers, in := variables(s, wanted.node("expr")), carried(nil)
	if len(carriers) > 0 {
		in, what = o.carry(s, s.query.node("jointree"), nil, carriers[0])
	} else {
		what = o.computed(s)
	}
	if what == "" {
		what = o.subqueries(s, in)
	}
	if what != "" {
		return nil, what
	}
	grouped := s.query.has("groupClause")
	if !grouped && (s.query.atom("hasAggs") == "true" || s.query.has("havingQual")) {
		return nil, "an aggregate of all rows"
	}
	columns = make(map[string]bool)
	for _, value := range s.query.list("targetList") {
		entry, _ := value.(*tree)
		if entry == nil || grouped && !groups(s.query, entry) {
			continue
		}
		these := variables(s, entry.node("expr"))
		columns[entry.atom("resno")] = entry == wanted && in == nil || len(these) > 0 && !slices.ContainsFunc(these, func(v variable) bool { return !in[v] })
	}
	if !columns[column] {
		return nil, "a unit that is not grouped by, or not that of all tables"
	}
	return columns, ""
}

// computed checks that an expression may be the unit: it must see one row of one table.
func (o *origins) computed(s *scope) string {
	from := s.query.node("jointree")
	if from == nil || len(from.list("fromlist")) != 1 {
		return noColumn
	}
	_, below, what := o.member(s, from.list("fromlist")[0])
	if below != nil {
		what = o.rowByRow(below)
	}
	o.units = append(o.units, unitColumn{})
	return what
}

// variables returns the variables that an expression chooses among: it is the first of
// them that is not NULL. Most expressions have one.
func variables(s *scope, value any) (all []variable) {
	n, _ := value.(*tree)
	if v, ok := variableOf(n); ok {
		joined, _ := nth(s.query.list("rtable"), v.member).(*tree)
		if joined == nil || joined.atom("rtekind") != "2" {
			return []variable{v}
		}
		n, _ = nth(joined.list("joinaliasvars"), v.column).(*tree) // a column merged by USING
		if v, ok := variableOf(n); ok {
			return []variable{v}
		}
	}
	if n == nil || n.kind != "COALESCE" && n.kind != "COALESCEEXPR" {
		return nil
	}
	for _, arg := range n.list("args") {
		v, ok := variableOf(arg)
		if !ok {
			return nil
		}
		all = append(all, v)
	}
	return all
}

// groups reports whether a query groups by one of its columns.
func groups(query, column *tree) bool {
	return slices.ContainsFunc(query.list("groupClause"), func(value any) bool {
		by, ok := value.(*tree)
		return ok && by.atom("tleSortGroupRef") == column.atom("ressortgroupref")
	})
}

// merged follows a column into both sides of a UNION, INTERSECT or EXCEPT.
func (o *origins) merged(s *scope, n *tree, column string) (columns map[string]bool, what string) {
	if n == nil {
		return nil, noTable
	}
	if n.kind != "SETOPERATIONSTMT" {
		_, below, what := o.member(s, n)
		if below == nil {
			return nil, what
		}
		return o.unitByUnit(below, column)
	}
	left, what := o.merged(s, n.node("larg"), column)
	if what != "" {
		return nil, what
	}
	right, what := o.merged(s, n.node("rarg"), column)
	maps.DeleteFunc(left, func(c string, _ bool) bool { return !right[c] })
	return left, what
}

// carry returns the variables of a member of FROM that carry the unit, given that from
// does. All rows of the member must also meet the conditions.
func (o *origins) carry(s *scope, n *tree, conditions []any, from variable) (carried, string) {
	const inner = "0"
	switch {
	case n == nil:
		return nil, noTable
	case n.kind == "FROMEXPR":
		return o.join(s, n.list("fromlist"), append(conjuncts(n.node("quals")), conditions...), true, from)
	case n.kind == "JOINEXPR":
		isInner := n.atom("jointype") == inner
		of := conjuncts(n.node("quals"))
		if isInner {
			of = append(of, conditions...)
		}
		return o.join(s, []any{n.node("larg"), n.node("rarg")}, of, isInner, from)
	}
	table, below, what := o.member(s, n)
	switch {
	case what != "":
		return nil, what
	case below == nil:
		o.units = append(o.units, unitColumn{table, from.column})
		return carried{from: true}, ""
	}
	columns, what := o.unitByUnit(below, from.column)
	out := make(carried)
	for c, does := range columns {
		if does {
			out[variable{from.member, c}] = true
		}
	}
	return out, what
}

// join starts with the member that has the variable from. It adds the members that a
// condition compares with the carried variables, until all are in.
func (o *origins) join(s *scope, members []any, conditions []any, inner bool, from variable) (carried, string) {
	below := conditions
	if !inner {
		below = nil // rows without a match need not meet them
	}
	rest := slices.Clone(members)
	in := make(carried)
	for next := from; ; {
		i := slices.IndexFunc(rest, func(m any) bool { return holds(m, next.member) })
		if i < 0 {
			return nil, noColumn
		}
		n, _ := rest[i].(*tree)
		more, what := o.carry(s, n, below, next)
		if what != "" {
			return nil, what
		}
		maps.Copy(in, more)
		if rest = slices.Delete(rest, i, i+1); len(rest) == 0 {
			return in, ""
		}
		ok := false
		if next, ok = o.compared(conditions, in, rest); !ok {
			return nil, "a join that does not compare the unit's columns by ="
		}
	}
}

// compared finds a variable of the members that a condition compares, by =, with one
// that carries the unit.
func (o *origins) compared(conditions []any, in carried, members []any) (variable, bool) {
	for _, value := range conditions {
		for _, sides := range o.sides(value) {
			a, first := variableOf(sides[0])
			b, second := variableOf(sides[1])
			if first && second && in[a] && slices.ContainsFunc(members, func(m any) bool { return holds(m, b.member) }) {
				return b, true
			}
		}
	}
	return variable{}, false
}

// sides returns both sides of a comparison by =, in either order. It returns nil for
// any other expression.
func (o *origins) sides(value any) [][2]any {
	n, _ := value.(*tree)
	if n == nil || n.kind != "OPEXPR" || len(n.list("args")) != 2 || !o.equals(n.atom("opno")) {
		return nil
	}
	a, b := n.list("args")[0], n.list("args")[1]
	return [][2]any{{a, b}, {b, a}}
}

// holds reports whether a member of FROM is the one with the number, or a join with it.
func holds(member any, number string) bool {
	found := false
	each(member, func(n *tree) { found = found || n.kind == "RANGETBLREF" && n.atom("rtindex") == number })
	return found
}

// conjuncts returns the parts of a condition that must all be true.
func conjuncts(n *tree) []any {
	switch {
	case n == nil:
		return nil
	case n.kind == "BOOLEXPR" && n.atom("boolop") == "and":
		var out []any
		for _, arg := range n.list("args") {
			below, _ := arg.(*tree)
			out = append(out, conjuncts(below)...)
		}
		return out
	}
	return []any{n}
}

// subqueries names what keeps a subquery in an expression from depending on the rows of
// one unit alone. in are the variables around it that carry the unit.
func (o *origins) subqueries(s *scope, in carried) string {
	if s.query.atom("hasSubLinks") != "true" {
		return ""
	}
	from := s.query.node("jointree")
	left := append([]any{s.query.list("targetList"), s.query.node("havingQual")}, from.list("fromlist")...)
	for _, value := range conjuncts(from.node("quals")) {
		n := value.(*tree)
		if n.kind == "SUBLINK" && o.isMember(s, n, in) {
			n = n.node("testexpr")
		}
		left = append(left, n)
	}
	for _, n := range subLinks(left) {
		if what := o.correlated(s, n, in); what != "" {
			return what
		}
	}
	return ""
}

// subLinks returns the subqueries in an expression, without those nested in their
// SELECT.
func subLinks(value any) (all []*tree) {
	switch v := value.(type) {
	case []any:
		for _, below := range v {
			all = append(all, subLinks(below)...)
		}
	case *tree:
		if v != nil && v.kind == "SUBLINK" {
			return append([]*tree{v}, subLinks(v.fields["testexpr"])...)
		}
		if v != nil {
			for _, values := range v.fields {
				all = append(all, subLinks(values)...)
			}
		}
	}
	return all
}

// isMember reports whether a subquery is u IN (SELECT …) where both columns carry the
// unit.
func (o *origins) isMember(s *scope, n *tree, in carried) bool {
	below := n.node("subselect")
	if n.atom("subLinkType") != anySubLink || below == nil {
		return false
	}
	for _, value := range conjuncts(n.node("testexpr")) {
		for _, sides := range o.sides(value) {
			u, ok := variableOf(sides[0])
			if of := uncast(sides[1]); ok && in[u] && of != nil && of.kind == "PARAM" {
				_, what := o.unitByUnit(&scope{below, s, s.stored}, of.atom("paramid"))
				return what == ""
			}
		}
	}
	return false
}

// correlated names what keeps a subquery from depending only on rows of the unit whose
// row it is computed for.
func (o *origins) correlated(s *scope, n *tree, in carried) string {
	below := &scope{n.node("subselect"), s, s.stored}
	if below.query == nil || below.query.node("jointree") == nil || below.query.has("setOperations") {
		return called["hasSubLinks"]
	}
	if what := odd(below.query, quiet, byUnit); what != "" {
		return what
	}
	for _, value := range conjuncts(below.query.node("jointree").node("quals")) {
		for _, sides := range o.sides(value) {
			outer, first := variableUp(sides[0], "1")
			inner, second := variableOf(sides[1])
			if !first || !second || !in[outer] {
				continue
			}
			more, what := o.carry(below, below.query.node("jointree"), nil, inner)
			if what == "" {
				what = o.subqueries(below, more)
			}
			return what
		}
	}
	return "a subquery that does not compare the unit's columns by ="
}
