package syntax

import (
	"slices"

	"dpsql/sqlerr"
)

// refuse returns an error if token i starts a construct that the MySQL parser cannot
// read, or reads in another way than SQLite, or if it is a reserved word that could
// only be a name and lacks quotes.
func (g *Tokens) refuse(i int) error {
	t := g.tokens[i]
	switch {
	case t.Kind == KindBlob:
		return t.Unsupported("a blob").WithHint("columns are INTEGER or TEXT")
	case t.Kind == KindOperator:
		return g.refuseOperator(i)
	case t.Kind != KindWord || g.tokenAt(i-1).Matches("."):
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
		if g.tokenAt(i-1).isName() && (g.tokenAt(i-2).Matches("FROM") && !g.tokenAt(i-3).Matches("DISTINCT") || g.tokenAt(i-2).Matches("JOIN")) {
			return g.tokenAt(i - 1).Unsupported("a table-valued function")
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
		before := g.tokenAt(i - 1)
		if before.Matches("SELECT") || before.Matches("UNION") || before.Matches("(") && g.tokenAt(i-2).isName() {
			return nil
		}
		return t.Malformed("unexpected keyword ALL")
	case "VALUES":
		if g.skips(i) {
			return nil
		}
		if g.tokenAt(i - 2).Matches("IN") {
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
	t, before, next := g.tokens[i], g.tokenAt(i-1), g.tokenAt(i+1)
	infix := g.infix(i)
	switch t.Upper {
	case "REGEXP", "MATCH":
		if infix && !next.Matches("(") || infix && before.Matches("NOT") {
			return t.Unsupported(t.Upper).WithHint("list the values with IN, or bin them in a view")
		}
	case "OVER":
		if before.Matches(")") && (next.Matches("(") || next.isName()) {
			return t.Unsupported("a window function")
		}
	case "FILTER":
		if before.Matches(")") && next.Matches("(") {
			return t.Unsupported("FILTER").WithHint("%s", filterHint)
		}
	case "NULLS":
		if next.Matches("FIRST") || next.Matches("LAST") {
			return t.Unsupported("NULLS " + next.Upper)
		}
	case "INDEXED":
		if next.Matches("BY") || before.Matches("NOT") {
			return t.Unsupported("INDEXED")
		}
	case "FULL":
		if next.Matches("JOIN") || next.Matches("OUTER") {
			return t.Unsupported("a join")
		}
	case "EXCEPT":
		if next.Matches("SELECT") || next.Matches("VALUES") {
			return t.Unsupported("EXCEPT").WithHint("ask for each count in a statement of its own")
		}
	}
	return nil
}

// comparisons are the operators and keywords that compare.
var comparisons = words("= == <> != < <= > >= IN LIKE GLOB BETWEEN IS ISNULL NOTNULL")

// diagnose returns the error for a token at which the parser gave up: SQLite
// reads a = b = c and 1 < x < 5, which is SQL and unlikely to be meant, and
// types with sizes in CAST; anything else is malformed.
func (g *Tokens) diagnose(i int) error {
	t := g.tokenAt(i)
	switch {
	case g.chained(i):
		if t.Matches("IS") {
			return t.Unsupported("a comparison of a comparison").WithHint("set parentheses around the first one")
		}
		return t.Unsupported("a comparison of a comparison").
			WithHint("write lowest <= x AND x <= highest, or x BETWEEN lowest AND highest")
	case t.Matches("(") && g.inCast(i):
		return t.Unsupported("CAST")
	case t.Matches(")") && g.tokenAt(i-1).Matches("(") && g.tokenAt(i-2).Matches("IN"):
		return t.Malformed("the list of IN is empty").WithHint("write at least one value")
	case t.Kind == KindEnd:
		return t.Malformed("the statement ends too early")
	case t.Kind == KindWord && reserved[t.Upper] || t.Matches(";"):
		return t.Malformed("unexpected %s", t.Upper)
	}
	err := t.Malformed("unexpected %s", t.describe())
	if t.Kind == KindWord && !keywords[t.Upper] {
		if near := sqlerr.Closest(t.Upper, slices.Values(connectives)); near != "" {
			return err.WithHint("did you mean %s?", near)
		}
	}
	if before := g.tokenAt(i - 1); before.Kind == KindWord && !keywords[before.Upper] {
		if near := sqlerr.Closest(before.Upper, slices.Values(clauses)); near != "" {
			return err.WithHint("did you mean %s instead of %s?", near, before.Text)
		}
	}
	return err
}

// clauses are the keywords whose misspelling reads as an alias.
var clauses = []string{"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "BETWEEN"}

// connectives are the keywords that a misspelt word behind a whole expression
// may mean.
var connectives = append([]string{"AND", "OR", "LIKE", "ASC", "DESC", "OFFSET"}, clauses...)

// chained reports whether token i compares something that is itself a
// comparison, as the second sign in 1 < x < 5.
func (g *Tokens) chained(i int) bool {
	t := g.tokenAt(i)
	if !comparisons[t.Text] && !comparisons[t.Upper] && !t.Matches("NOT") ||
		!g.tokenAt(i-1).endsOperand() && !g.tokenAt(i-1).Matches("ISNULL") && !g.tokenAt(i-1).Matches("NOTNULL") {
		return false
	}
	depth, and := 0, false
	for i--; i >= 0; i-- {
		switch t := g.tokens[i]; {
		case t.Matches(")") || t.Matches("END"):
			depth++
		case (t.Matches("(") || t.Matches("CASE")) && depth > 0:
			depth--
		case depth > 0:
		case t.Matches("AND") && !and: // of a BETWEEN?
			and = true
		case and && t.Matches("BETWEEN"):
			return true
		case and && (comparisons[t.Text] || comparisons[t.Upper]):
			return false
		case t.Matches("(") || t.Matches(",") || t.Matches("AND") || t.Matches("OR") || t.Matches("WHERE") || t.Matches("WHEN"):
			return false
		case g.isNotNull(i):
			return true
		case t.Kind != KindQuoted && t.Kind != KindString && (comparisons[t.Text] || comparisons[t.Upper]):
			return true
		}
	}
	return false
}

// inCast reports whether token i follows the AS type of a CAST.
func (g *Tokens) inCast(i int) bool {
	for i--; i > 0 && !g.tokens[i].Matches("("); i-- {
		if g.tokens[i].Matches("AS") {
			for ; i > 0; i-- {
				if g.tokens[i].Matches("CAST") {
					return true
				}
			}
		}
	}
	return false
}
