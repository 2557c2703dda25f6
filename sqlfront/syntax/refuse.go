package syntax

// refuse returns an error when token i starts something that is SQL to SQLite
// but not to the MySQL parser, or that the two read differently; and for a
// reserved word that can only be a name in want of quotes.
func (g *Tokens) refuse(i int) error {
	t := g.tokens[i]
	switch {
	case t.Kind == KindBlob:
		return t.Unsupported("a blob").WithHint("columns are INTEGER or TEXT")
	case t.Kind == KindOperator:
		return g.refuseOperator(i)
	case t.Kind != KindWord || g.at(i-1).Is("."):
		return nil
	case reserved[t.Upper]:
		return g.refuseReserved(i)
	}
	return g.refuseWord(i)
}

func (g *Tokens) refuseOperator(i int) error {
	t := g.tokens[i]
	switch t.Text {
	case "||":
		return t.Unsupported("the operator || (text concatenation)").WithHint("for a disjunction write OR")
	case "&&":
		return t.Malformed("&& is not an operator").WithHint("write AND")
	case "->", "->>":
		return t.Unsupported("the operator " + t.Text).WithHint("extract the value in a view and declare it as a column")
	case "(":
		if g.at(i-1).isName() && (g.at(i-2).Is("FROM") && !g.at(i-3).Is("DISTINCT") || g.at(i-2).Is("JOIN")) {
			return g.at(i - 1).Unsupported("a table-valued function")
		}
	}
	return nil
}

// refuseReserved refuses reserved words the parser would read as names.
func (g *Tokens) refuseReserved(i int) error {
	t := g.tokens[i]
	switch t.Upper {
	case "ISNULL", "NOTNULL", "NULL":
		return nil
	case "ALL": // SELECT ALL, UNION ALL, COUNT(ALL x)
		before := g.at(i - 1)
		if before.Is("SELECT") || before.Is("UNION") || before.Is("(") && g.at(i-2).isName() {
			return nil
		}
		return t.Malformed("unexpected keyword ALL")
	case "VALUES":
		if g.skips(i) {
			return nil
		}
		if g.at(i - 2).Is("IN") {
			return t.Unsupported("VALUES with names").WithHint("list the values without VALUES")
		}
		fallthrough
	case "INTERSECT":
		return t.Unsupported(t.Upper).WithHint("ask for each count in a statement of its own")
	}
	if keywords[t.Upper] {
		return nil
	}
	return t.Malformed("unexpected keyword %s", t.Upper).
		WithHint("a name that is a keyword is quoted: \"%s\"", t.Text)
}

const filterHint = "put the condition into WHERE, or beside other aggregates into this one: SUM(x > 7) counts the rows where x > 7"

// refuseWord refuses words that are keywords to SQLite in this place.
func (g *Tokens) refuseWord(i int) error {
	t, before, next := g.tokens[i], g.at(i-1), g.at(i+1)
	infix := g.infix(i)
	switch t.Upper {
	case "REGEXP", "MATCH":
		if infix && !next.Is("(") || infix && before.Is("NOT") {
			return t.Unsupported(t.Upper).WithHint("list the values with IN, or bin them in a view")
		}
	case "OVER":
		if before.Is(")") && (next.Is("(") || next.isName()) {
			return t.Unsupported("a window function")
		}
	case "FILTER":
		if before.Is(")") && next.Is("(") {
			return t.Unsupported("FILTER").WithHint("%s", filterHint)
		}
	case "NULLS":
		if next.Is("FIRST") || next.Is("LAST") {
			return t.Unsupported("NULLS " + next.Upper)
		}
	case "INDEXED":
		if next.Is("BY") || before.Is("NOT") {
			return t.Unsupported("INDEXED")
		}
	case "FULL":
		if next.Is("JOIN") || next.Is("OUTER") {
			return t.Unsupported("a join")
		}
	case "EXCEPT":
		if next.Is("SELECT") || next.Is("VALUES") {
			return t.Unsupported("EXCEPT").WithHint("ask for each count in a statement of its own")
		}
	}
	return nil
}
