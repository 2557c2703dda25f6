package postgres

// subqueries names what keeps a subquery in an expression from being of the rows
// of one unit, given the variables around it that carry that.
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

// subLinks returns the subqueries in expressions, without those inside their
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

// isMember reports whether a subquery is u IN (SELECT …), both of which carry the
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

// correlated names what keeps a subquery from being of the rows of the unit of the
// row that it is computed for.
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
