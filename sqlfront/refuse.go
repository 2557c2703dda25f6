package sqlfront

// refuse returns an error when token i starts something that is SQL to SQLite
// but not to the MySQL parser, or that the two read differently; and for a
// reserved word that can only be a name in want of quotes.
func (g *guarded) refuse(i int) error {
	t := g.tokens[i]
	switch {
	case t.kind == kindBlob:
		return t.unsupported("a blob").WithHint("columns are INTEGER or TEXT")
	case t.kind == kindOperator:
		return g.refuseOperator(i)
	case t.kind != kindWord || g.at(i-1).is("."):
		return nil
	case reserved[t.upper]:
		return g.refuseReserved(i)
	}
	return g.refuseWord(i)
}

func (g *guarded) refuseOperator(i int) error {
	t := g.tokens[i]
	switch t.text {
	case "||":
		return t.unsupported("the operator || (text concatenation)").WithHint("for a disjunction write OR")
	case "&&":
		return t.malformed("&& is not an operator").WithHint("write AND")
	case "->", "->>":
		return t.unsupported("the operator " + t.text).WithHint("extract the value in a view and declare it as a column")
	case "(":
		if g.at(i-1).isName() && (g.at(i-2).is("FROM") && !g.at(i-3).is("DISTINCT") || g.at(i-2).is("JOIN")) {
			return g.at(i - 1).unsupported("a table-valued function")
		}
	}
	return nil
}

// refuseReserved refuses reserved words the parser would read as names.
func (g *guarded) refuseReserved(i int) error {
	t := g.tokens[i]
	switch t.upper {
	case "ISNULL", "NOTNULL", "NULL":
		return nil
	case "ALL": // SELECT ALL, UNION ALL, COUNT(ALL x)
		before := g.at(i - 1)
		if before.is("SELECT") || before.is("UNION") || before.is("(") && g.at(i-2).isName() {
			return nil
		}
		return t.malformed("unexpected keyword ALL")
	case "VALUES":
		if g.skips(i) {
			return nil
		}
		if g.at(i - 2).is("IN") {
			return t.unsupported("VALUES with names").WithHint("list the values without VALUES")
		}
		fallthrough
	case "INTERSECT":
		return t.unsupported(t.upper).WithHint("ask for each count in a statement of its own")
	}
	if keywords[t.upper] {
		return nil
	}
	return t.malformed("unexpected keyword %s", t.upper).
		WithHint("a name that is a keyword is quoted: \"%s\"", t.text)
}

const filterHint = "put the condition into WHERE, or beside other aggregates into this one: SUM(x > 7) counts the rows where x > 7"

// refuseWord refuses words that are keywords to SQLite in this place.
func (g *guarded) refuseWord(i int) error {
	t, before, next := g.tokens[i], g.at(i-1), g.at(i+1)
	infix := g.infix(i)
	switch t.upper {
	case "REGEXP", "MATCH":
		if infix && !next.is("(") || infix && before.is("NOT") {
			return t.unsupported(t.upper).WithHint("list the values with IN, or bin them in a view")
		}
	case "OVER":
		if before.is(")") && (next.is("(") || next.isName()) {
			return t.unsupported("a window function")
		}
	case "FILTER":
		if before.is(")") && next.is("(") {
			return t.unsupported("FILTER").WithHint("%s", filterHint)
		}
	case "NULLS":
		if next.is("FIRST") || next.is("LAST") {
			return t.unsupported("NULLS " + next.upper)
		}
	case "INDEXED":
		if next.is("BY") || before.is("NOT") {
			return t.unsupported("INDEXED")
		}
	case "FULL":
		if next.is("JOIN") || next.is("OUTER") {
			return t.unsupported("a join")
		}
	case "EXCEPT":
		if next.is("SELECT") || next.is("VALUES") {
			return t.unsupported("EXCEPT").WithHint("ask for each count in a statement of its own")
		}
	}
	return nil
}
