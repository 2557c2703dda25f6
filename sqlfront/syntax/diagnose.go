package syntax

import (
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
)

// Limits on the recursion of the parser and the compiler.
const (
	maxNesting  = 150 // parentheses
	maxPrefixes = 100 // prefix operators in a row
)

// refused refuses constructs that no table's SELECT has.
func (g *Tokens) refused() error {
	for i := range g.tokens {
		if err := g.refuse(i); err != nil {
			return err
		}
	}
	return nil
}

// checkDepth bounds the nesting of parentheses and of prefix operators.
func checkDepth(tokens []Token) error {
	depth, run := 0, 0
	for i := range tokens {
		t := &tokens[i]
		operator := t.Kind == KindOperator
		not := t.Kind == KindWord && t.Upper == "NOT"
		switch {
		case operator && t.Text == "(":
			depth++
		case operator && t.Text == ")":
			depth--
		case not, operator && (t.Text == "-" || t.Text == "+" || t.Text == "~"):
			run++
		}
		if operator || not {
			if depth > maxNesting || run > maxPrefixes {
				return errTooDeep(*t)
			}
			continue
		}
		run = 0
	}
	return nil
}

// isNotNull reports whether the tokens from i on are the NOT NULL of
// "x NOT NULL", SQLite's short form of IS NOT NULL.
func (g *Tokens) isNotNull(i int) bool {
	return g.tokenAt(i).Matches("NOT") && g.tokenAt(i+1).Matches("NULL") && g.tokenAt(i-1).endsOperand()
}

// The operators of SQLite that the grammar of cores lacks.
const (
	OperatorIs      = "is"
	OperatorIsNot   = "is not"
	OperatorGlob    = "glob"
	OperatorNotGlob = "not glob"
	OperatorSame    = "is the value" // IS between values of rows, where TRUE is the value 1 and not a test
)

// filterQualifier marks a call that has a FILTER clause. No name of a statement reaches
// the parser as this word.
const filterQualifier = "filter"

// Filter returns the condition of a call's FILTER clause, and the call without it. The
// condition is nil if there is none.
//
// The tree of cores lacks FILTER. The condition is the call's last argument, and a
// qualifier of the call's name says so: whoever does not ask for the filter meets a
// qualified function, which is refused.
func Filter(f *sqlparser.FuncExpr) (call *sqlparser.FuncExpr, condition sqlparser.Expr) {
	last := len(f.Exprs) - 1
	if f.Qualifier.String() != filterQualifier || last < 0 {
		return f, nil
	}
	e, ok := f.Exprs[last].(*sqlparser.AliasedExpr)
	if !ok || !e.As.IsEmpty() {
		return f, nil
	}
	return &sqlparser.FuncExpr{Name: f.Name, Distinct: f.Distinct, Exprs: f.Exprs[:last]}, e.Expr
}

// isFilter reports whether token i is the FILTER of a call's FILTER (WHERE …).
func (g *Tokens) isFilter(i int) bool {
	if t := g.tokenAt(i); t.Kind != KindWord || t.Upper != "FILTER" ||
		!g.tokenAt(i-1).Matches(")") || !g.tokenAt(i+1).Matches("(") || !g.tokenAt(i+2).Matches("WHERE") {
		return false
	}
	open := g.opening(i - 1)
	name := g.tokenAt(open - 1)
	return open > 0 && name.isName() && !(name.Kind == KindWord && (keywords[name.Upper] || name.Upper == "FILTER"))
}

// opening returns the index of the parenthesis that opens the ones around token i, or
// -1 if there are none. Those that token i closes are around it.
func (g *Tokens) opening(i int) int {
	depth := 1
	if g.tokenAt(i).Matches(")") {
		i--
	}
	for ; i >= 0 && depth > 0; i-- {
		switch t := &g.tokens[i]; {
		case t.Matches(")"):
			depth++
		case t.Matches("("):
			depth--
		}
	}
	if depth > 0 {
		return -1
	}
	return i + 1
}

// IsGroupingSets reports whether a call stands for GROUPING SETS (…).
func (g *Tokens) IsGroupingSets(f *sqlparser.FuncExpr) bool {
	return slices.Contains(g.sets, f.Name.String())
}

// arithmeticSigns bind closer than comparisons.
var arithmeticSigns = words("+ - * / % & | << >>")

// infix reports whether token i stands between two operands.
func (g *Tokens) infix(i int) bool {
	before, next := g.tokenAt(i-1), g.tokenAt(i+1)
	return (before.endsOperand() || before.Matches("NOT")) && next.startsOperand()
}

// isLiteralValues reports whether token i is the VALUES of a list of literals behind IN.
func (g *Tokens) isLiteralValues(i int) bool {
	return g.tokenAt(i).Matches("VALUES") && g.tokenAt(i-1).Matches("(") && g.tokenAt(i-2).Matches("IN") && g.literals(i+1)
}

// literals reports whether no name stands between token i and the end of the
// parentheses around it.
func (g *Tokens) literals(i int) bool {
	for depth := 1; depth > 0; i++ {
		switch t := g.tokenAt(i); {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			depth--
		case t.Kind == KindEnd, t.Kind == KindQuoted, t.Kind == KindWord && t.Upper != "NULL":
			return false
		}
	}
	return true
}

// refuse returns an error if token i starts a construct that the dialect has not. It also
// returns one for a reserved word that could only be a name and lacks quotes.
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
	case "&&":
		return t.Malformed("&& is not an operator").WithHint("write AND")
	case "->", "->>":
		return t.Unsupported("the operator " + t.Text).WithHint("extract the value in a view and declare it as a column")
	case "(":
		if g.tokenAt(i-1).isName() && (g.tokenAt(i-2).Matches("FROM") && !g.tokenAt(i-3).Matches("DISTINCT") || g.tokenAt(i-2).Matches("JOIN")) {
			return g.tokenAt(i - 1).Unsupported("a table-valued function").WithHint("list values: x IN (3, 4), or x = ANY ($1) with an array; numbers are generate_series(1, 3)")
		}
	}
	return nil
}

// refuseReserved refuses reserved words that stand where a name would.
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
		if err := g.foreignClause(i); err != nil {
			return err
		}
		return t.Malformed("unexpected keyword ALL")
	case "VALUES":
		if g.isLiteralValues(i) {
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
	if err := g.foreignClause(i); err != nil {
		return err
	}
	if t.Matches("CREATE") || t.Matches("DROP") || t.Matches("ALTER") {
		return t.Malformed("unexpected keyword %s", t.Upper).WithHint("a semicolon ends the statement before it")
	}
	return t.Malformed("unexpected keyword %s", t.Upper).
		WithHint("a name that is a keyword is quoted: \"%s\"", t.Text)
}

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
			return t.Unsupported("a window function").WithHint("it stands over aggregates: SUM(COUNT(*)) OVER (), or around a SELECT in FROM; WIDTH_BUCKET and CASE make bins")
		}
	case "FILTER":
		if before.Matches(")") && next.Matches("(") && !g.isFilter(i) {
			return t.Malformed("FILTER (WHERE …) follows the call of an aggregate").WithHint("write COUNT(*) FILTER (WHERE …)")
		}
	case "QUALIFY":
		if before.endsOperand() && next.startsOperand() {
			return t.Unsupported("QUALIFY").WithHint("put the SELECT into FROM, and the condition into WHERE around it")
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

// diagnose returns the error for a token at which the parser gave up. SQLite reads
// types with sizes in CAST, and chains such as a = b = c and 1 < x < 5, which are
// unlikely to be meant. Those are Unsupported; anything else is Malformed.
func (g *Tokens) diagnose(i int) *sqlerr.Error {
	t := g.tokenAt(i)
	switch {
	case g.chained(i):
		if t.Matches("IS") {
			return t.Unsupported("a comparison of a comparison").WithHint("set parentheses around the first one")
		}
		return t.Unsupported("a comparison of a comparison").
			WithHint("write lowest <= x AND x <= highest, or x BETWEEN lowest AND highest")
	case g.foreignClause(i) != nil:
		return g.foreignClause(i)
	case t.Matches("(") && g.inCast(i):
		return t.Unsupported("CAST")
	case t.Matches(")") && g.tokenAt(i-1).Matches("(") && g.tokenAt(i-2).Matches("IN"):
		return t.Malformed("the list of IN is empty").WithHint("write at least one value")
	case t.Matches(">") && g.tokenAt(i-1).Matches("="):
		return t.Unsupported("an argument by name").WithHint("give arguments in their order; a span of time is INTERVAL '3 days'")
	case t.Kind == KindEnd && g.leavesOpen():
		return t.Malformed("the statement ends too early").WithHint("a parenthesis is not closed")
	case t.Kind == KindEnd, t.Matches(")") && g.closesQuery(i):
		return t.Malformed("the statement ends too early")
	case t.Kind == KindWord && reserved[t.Upper] || t.Matches(";"):
		return t.Malformed("unexpected %s", t.Upper)
	}
	err := t.Malformed("unexpected %s", t.describe())
	if !g.isPlain(i) {
		return err
	}
	near := sqlerr.Closest(t.Upper, slices.Values(connectives))
	if near != "" && near[0] == t.Upper[0] && t.Upper != "OF" {
		return err.WithHint("did you mean %s?", near)
	}
	if !g.isPlain(i-1) || g.tokenAt(i-2).Matches("WITH") {
		return err
	}
	before := g.tokenAt(i - 1)
	if near := sqlerr.Closest(before.Upper, slices.Values(clauses)); near != "" {
		return err.WithHint("did you mean %s instead of %s?", near, before.Text)
	}
	return err.WithHint("a name of several words is quoted: \"%s\"", g.words(i))
}

// isPlain reports whether token i is a word that is no keyword, or OF, as in Date of birth.
func (g *Tokens) isPlain(i int) bool {
	t := g.tokenAt(i)
	return t.Kind == KindWord && t.Upper != "WITH" && (t.Upper == "OF" || !keywords[t.Upper] && !reserved[t.Upper])
}

// words returns the words that stand side by side around token i, as one name.
func (g *Tokens) words(i int) string {
	for ; g.isPlain(i - 1); i-- {
	}
	name := g.tokenAt(i).Text
	for i++; g.isPlain(i); i++ {
		name += " " + g.tokenAt(i).Text
	}
	return Excerpt(name, 80)
}

// foreignClause refuses a clause of another system at which the parser gave up, if it is
// one that is known.
func (g *Tokens) foreignClause(i int) *sqlerr.Error {
	t, before := g.tokenAt(i), g.tokenAt(i-1)
	switch {
	case before.Matches("TABLESAMPLE"):
		return before.Unsupported("TABLESAMPLE").WithHint("leave it out: an answer about all rows costs no more")
	case t.Matches("(") && before.Matches("GROUP") && g.tokenAt(i-2).Matches("WITHIN"):
		return g.tokenAt(i - 2).Unsupported("WITHIN GROUP").
			WithHint("SELECT x, COUNT(*) FROM table GROUP BY x counts the rows of each value; take it from these counts")
	case t.Matches("TO") && before.Matches("SIMILAR"), t.Matches("SIMILAR") && before.Matches("NOT"):
		return g.tokenAt(i - 1).Unsupported("SIMILAR TO").WithHint("write LIKE or GLOB, or list the values with IN")
	case t.Matches("OVERLAPS"):
		return t.Unsupported("OVERLAPS").WithHint("(a, b) OVERLAPS (c, d) is a < d AND c < b")
	case t.Matches("ARRAY"), before.Matches("ARRAY"):
		return t.Unsupported("an array in this place").WithHint("list the values: x IN (3, 4), or x = ANY (ARRAY[3, 4])")
	case t.Matches("INTERVAL") && comparisons[before.Text]:
		return t.Unsupported("a comparison with an interval").WithHint("compare the days: x < DATE '2024-12-31' - INTERVAL '1 year'")
	case t.Matches("~"):
		return t.Unsupported("the operator ~ (a regular expression)").WithHint("write LIKE or GLOB, or list the values with IN")
	case t.Matches("ON") && before.Matches("DISTINCT"):
		return t.Unsupported("DISTINCT ON").WithHint("number the rows of an aggregate with ROW_NUMBER() OVER (PARTITION BY …), and keep the first")
	case before.Matches("FOR"):
		return before.Unsupported("FOR " + Excerpt(t.Upper, 40)).WithHint("leave it out: nothing is locked")
	case t.Matches("ALL") && before.Matches("BY"):
		return t.Unsupported("GROUP BY ALL").WithHint("list the keys: GROUP BY x, y")
	}
	return nil
}

// closesQuery reports whether token i closes a query in FROM or of WITH.
func (g *Tokens) closesQuery(i int) bool { return g.opensQuery(g.opening(i)) }

// opensQuery reports whether token i opens a query in FROM or of WITH.
func (g *Tokens) opensQuery(i int) bool {
	before, next := g.tokenAt(i-1), g.tokenAt(i+1)
	switch {
	case before.Matches("FROM"), before.Matches("JOIN"):
		return next.Matches("SELECT")
	case before.Matches("AS"):
		return g.tokens[0].Matches("WITH")
	}
	return false
}

// leavesOpen reports whether a query in FROM or of WITH has no end.
func (g *Tokens) leavesOpen() bool {
	for i := len(g.tokens); ; {
		if i = g.opening(i - 1); i < 0 {
			return false
		}
		if g.opensQuery(i) {
			return true
		}
	}
}

// clauses are the keywords whose misspelling reads as an alias.
var clauses = []string{"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "BETWEEN"}

// connectives are the keywords that a misspelt word after a whole expression may
// mean.
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
