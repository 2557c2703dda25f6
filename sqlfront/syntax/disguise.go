package syntax

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
)

// Tokens are the tokens of a SELECT. The names and placeholders in the MySQL
// parser's tree point into them, see Token.
type Tokens struct {
	tokens []Token         // those of the statement
	subs   map[int]*Select // the sub-selects in FROM, by the position of the name that stands for each
}

// IsSubselect reports whether a token stands for a sub-select in FROM.
func (g *Tokens) IsSubselect(t Token) bool { return g.subs[t.Position] != nil }

// disguise is a SELECT as the MySQL parser sees it. Identifiers become `iN`, and
// literals and parameters :vN, where N is the index of the token. Thus the parser
// never reads a name, a string or a number of the statement.
type disguise struct {
	*Tokens
	text    strings.Builder
	starts  []int // byte offset in text of each emitted token
	source  []int // its index in tokens
	renamed bool  // some operator was emitted as another
}

// Limits on the recursion of the parser and the compiler.
const (
	maxNesting  = 150 // parentheses
	maxPrefixes = 100 // prefix operators in a row
)

// disguised rewrites the tokens of a SELECT. It refuses constructs that the parser
// would misread, and those of SQLite that it cannot read.
func (g *Tokens) disguised() (*disguise, error) {
	if err := checkDepth(g.tokens); err != nil {
		return nil, err
	}
	n := len(g.tokens)
	d := &disguise{Tokens: g, starts: make([]int, 0, n), source: make([]int, 0, n)}
	d.text.Grow(7 * n)
	for i := range g.tokens {
		if err := g.refuse(i); err != nil {
			return nil, err
		}
		d.emit(i)
	}
	return d, nil
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

func errTooDeep(t Token) *sqlerr.Error {
	return t.Unsupported("an expression nested this deeply").
		WithHint("at most %d parentheses and %d NOTs or signs stand inside each other", maxNesting, maxPrefixes)
}

// tokenAt returns a token by its index, and an end outside the statement.
func (g *Tokens) tokenAt(i int) Token {
	if i < 0 || i >= len(g.tokens) {
		return Token{Kind: KindEnd}
	}
	return g.tokens[i]
}

// emit writes one token for the parser.
func (g *disguise) emit(i int) {
	t := g.tokens[i]
	switch {
	case t.Kind == KindEnd:
		g.write(i, "")
	case g.skips(i):
	case g.isFilter(i):
		g.write(i, ",")
		g.renamed = true
	case g.isEmptySet(i):
		g.write(i, "(NULL")
	case g.isAlias(i) || t.Kind == KindQuoted:
		g.write(i, "`i"+strconv.Itoa(i)+"`")
	case t.Kind == KindWord:
		g.emitWord(i)
	case t.Kind != KindOperator:
		g.write(i, ":v"+strconv.Itoa(i))
	case t.Text == "==":
		g.write(i, "=")
	case t.Text == "!=":
		g.write(i, "<>")
	default:
		g.write(i, t.Text)
	}
}

// write appends text for the token with index i.
func (g *disguise) write(i int, text string) {
	g.starts = append(g.starts, g.text.Len())
	g.source = append(g.source, i)
	g.text.WriteString(text)
	g.text.WriteByte(' ')
}

// isAlias reports whether a string stands where only an alias can.
func (g *Tokens) isAlias(i int) bool {
	before := g.tokenAt(i - 1)
	return g.tokens[i].Kind == KindString && (before.Matches("AS") || before.endsOperand() && !g.isGlob(i-1))
}

// emitWord writes an unquoted word as keyword, constant or identifier.
func (g *disguise) emitWord(i int) {
	t := g.tokens[i]
	switch {
	case g.tokenAt(i-1).Matches(".") || g.tokenAt(i-1).Matches("AS") && !reserved[t.Upper]:
		g.write(i, "`i"+strconv.Itoa(i)+"`")
	case t.Upper == "NULL" || t.Upper == "TRUE" || t.Upper == "FALSE":
		if g.afterIs(i) || t.Upper == "NULL" && g.isNotNull(i-1) {
			g.write(i, t.Upper)
		} else {
			g.write(i, ":v"+strconv.Itoa(i))
		}
	case g.isGlob(i):
		g.write(i, "REGEXP")
		g.renamed = true
	case g.isValue(i) > 0:
		g.write(i, "<=>")
		g.renamed = true
	case t.Upper == "ISNULL":
		g.write(i, "IS NULL")
	case t.Upper == "NOTNULL":
		g.write(i, "IS NOT NULL")
	case t.Upper == "NOT" && g.isNotNull(i):
		g.write(i, "IS NOT")
	case t.Upper == "ALL" && !g.tokenAt(i-1).Matches("UNION"):
		// SELECT ALL and COUNT(ALL x) are the default.
	case keywords[t.Upper]:
		g.write(i, t.Upper)
	default:
		g.write(i, "`i"+strconv.Itoa(i)+"`")
	}
}

// afterIs reports whether token i follows IS or IS NOT.
func (g *Tokens) afterIs(i int) bool {
	is := i - 1
	if g.tokenAt(is).Matches("NOT") {
		is--
	}
	return g.tokenAt(is).Matches("IS") && g.isValue(is) == 0
}

// isNotNull reports whether the tokens from i on are the NOT NULL of
// "x NOT NULL", SQLite's short form of IS NOT NULL.
func (g *Tokens) isNotNull(i int) bool {
	return g.tokenAt(i).Matches("NOT") && g.tokenAt(i+1).Matches("NULL") && g.tokenAt(i-1).endsOperand()
}

// parse hands the guarded text to the MySQL parser.
func (g *disguise) parse() (node sqlparser.Statement, err error) {
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, sqlerr.New(sqlerr.Internal, "the parser failed on this statement").At(g.tokenAt(0).Position)
		}
	}()
	node, perr := sqlparser.Parse(g.text.String())
	if perr != nil {
		return nil, g.diagnose(g.failed(perr.Error()))
	}
	if !g.renamed {
		return node, nil
	}
	return node, g.rename(node)
}

// failed returns the index of the token at which the parser gave up. Its
// message states how far it had read: one character past that token.
func (g *disguise) failed(message string) int {
	read := g.text.Len() + 1
	if _, rest, found := strings.Cut(message, " at position "); found {
		digits, _, _ := strings.Cut(rest, " ")
		if n, err := strconv.Atoi(digits); err == nil {
			read = n
		}
	}
	last := 0
	for k, start := range g.starts {
		if start < read-1 {
			last = g.source[k]
		}
	}
	return last
}

// Token returns the token behind an emitted name or placeholder.
func (g *Tokens) Token(placeholder string) (Token, bool) {
	i, ok := g.index(placeholder)
	return g.tokenAt(i), ok
}

// index returns the index of the token behind an emitted name or placeholder.
func (g *Tokens) index(placeholder string) (int, bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(placeholder, ":v"), "i")
	if digits == "" { // the statement has none here
		return -1, false
	}
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= len(g.tokens) {
		return -1, false
	}
	return i, true
}

// The MySQL parser lacks some operators of SQLite. They reach it as operators that
// SQLite lacks: GLOB as REGEXP, and IS with a value, negated or not, as <=>. Method
// rename restores their names in the tree.
const (
	OperatorIs      = "is"
	OperatorIsNot   = "is not"
	OperatorGlob    = "glob"
	OperatorNotGlob = "not glob"
	OperatorSame    = "is the value" // IS between values of rows, where TRUE is the value 1 and not a test
)

// rename gives the operators of a parsed statement their names back.
func (g *Tokens) rename(node sqlparser.SQLNode) error {
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		switch e := n.(type) {
		case *sqlparser.FuncExpr:
			if g.isFiltered(e) {
				e.Qualifier = sqlparser.NewTableIdent(filterQualifier)
			}
		case *sqlparser.ComparisonExpr:
			switch e.Operator {
			case sqlparser.RegexpStr:
				e.Operator = OperatorGlob
			case sqlparser.NotRegexpStr:
				e.Operator = OperatorNotGlob
			case sqlparser.NullSafeEqualStr:
				e.Operator = g.isOrNot(e)
			}
		}
		return true, nil
	}, node)
}

// filterQualifier marks a call that has a FILTER clause. No name of a statement reaches
// the parser as this word.
const filterQualifier = "filter"

// Filter returns the condition of a call's FILTER clause, and the call without it. The
// condition is nil if there is none.
//
// The MySQL parser lacks FILTER. The condition reaches it as the call's last argument,
// and method rename qualifies the call's name. So whoever does not ask for the filter
// meets a qualified function, which is refused.
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

// isGroupingSets reports whether token i is the second word of GROUPING SETS (…). That
// word reaches the parser as the name of a function.
func (g *Tokens) isGroupingSets(i int) bool {
	return g.tokenAt(i).Matches("SETS") && g.tokenAt(i-1).Matches("GROUPING") && g.tokenAt(i+1).Matches("(")
}

// isEmptySet reports whether token i opens the () of GROUPING SETS. NULL is in it for the
// parser, which no NULL of a statement reaches outside IS NULL.
func (g *Tokens) isEmptySet(i int) bool {
	if !g.tokenAt(i).Matches("(") || !g.tokenAt(i+1).Matches(")") {
		return false
	}
	open := g.opening(i - 1)
	return open > 0 && g.isGroupingSets(open-1)
}

// IsGroupingSets reports whether a call is what the parser saw of GROUPING SETS (…).
func (g *Tokens) IsGroupingSets(f *sqlparser.FuncExpr) bool {
	i, ok := g.index(f.Name.String())
	return ok && g.isGroupingSets(i)
}

// isFiltered reports whether FILTER follows a call.
func (g *Tokens) isFiltered(f *sqlparser.FuncExpr) bool {
	i, ok := g.index(f.Name.String())
	if !ok {
		return false
	}
	depth := 0
	for i++; i < len(g.tokens); i++ {
		switch t := g.tokens[i]; {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			if depth--; depth <= 0 {
				return g.isFilter(i + 1)
			}
		}
	}
	return false
}

// arithmeticSigns bind closer than comparisons.
var arithmeticSigns = words("+ - * / % & | << >>")

// infix reports whether token i stands between two operands.
func (g *Tokens) infix(i int) bool {
	before, next := g.tokenAt(i-1), g.tokenAt(i+1)
	return (before.endsOperand() || before.Matches("NOT")) && next.startsOperand()
}

// isGlob reports whether token i is the operator GLOB.
func (g *Tokens) isGlob(i int) bool { return g.tokenAt(i).Matches("GLOB") && g.infix(i) }

// isValue returns the number of tokens of the operator that starts with IS at i and
// takes a value: IS, IS NOT, IS [NOT] DISTINCT FROM. It is 0 for IS [NOT] NULL, TRUE
// and FALSE, which the parser knows.
func (g *Tokens) isValue(i int) int {
	if i < 0 || i >= len(g.tokens) || !g.tokens[i].Matches("IS") {
		return 0
	}
	n := 1
	if g.tokenAt(i + n).Matches("NOT") {
		n++
	}
	if g.tokenAt(i+n).Matches("DISTINCT") && g.tokenAt(i+n+1).Matches("FROM") {
		return n + 2
	}
	next := g.tokenAt(i + n)
	word := next.Matches("NULL") || next.Matches("TRUE") || next.Matches("FALSE")
	if word && !arithmeticSigns[g.tokenAt(i+n+1).Text] || !next.startsOperand() {
		return 0
	}
	return n
}

// skips reports whether token i is kept from the parser. Such a token belongs to an
// IS or a FILTER that is replaced as a whole, or is the VALUES of a list of literals.
func (g *Tokens) skips(i int) bool {
	for n := 1; n <= 3; n++ {
		if g.isValue(i-n) > n {
			return true
		}
	}
	switch t := g.tokenAt(i); {
	case t.Matches(")"):
		return g.isFilter(i + 1)
	case t.Matches("("):
		return g.isFilter(i - 1)
	case t.Matches("WHERE"):
		return g.isFilter(i - 2)
	case t.Matches("GROUPING"):
		return g.isGroupingSets(i + 1)
	}
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

// isOrNot returns the operator that the parser saw as <=>: IS or IS NOT. It starts
// with the nearest IS before the right operand.
func (g *Tokens) isOrNot(e *sqlparser.ComparisonExpr) string {
	right := g.FirstToken(e.Right)
	i, _ := slices.BinarySearchFunc(g.tokens, right.Position, func(t Token, p int) int { return cmp.Compare(t.Position, p) })
	for i > 0 && g.isValue(i) == 0 {
		i--
	}
	n := g.isValue(i)
	if n > 0 && g.tokenAt(i+1).Matches("NOT") != g.tokenAt(i+n-1).Matches("FROM") {
		return OperatorIsNot
	}
	return OperatorIs
}

// refuse returns an error if token i starts a construct that the MySQL parser cannot
// read, or reads differently from SQLite. It also returns one for a reserved word that
// could only be a name and lacks quotes.
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
		if err := g.foreignClause(i); err != nil {
			return err
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
	if err := g.foreignClause(i); err != nil {
		return err
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
			return t.Unsupported("a window function")
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
func (g *Tokens) diagnose(i int) error {
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

// foreignClause refuses a clause of another system at which the parser gave up, if it is
// one that is known.
func (g *Tokens) foreignClause(i int) error {
	t, before := g.tokenAt(i), g.tokenAt(i-1)
	switch {
	case before.Matches("TABLESAMPLE"):
		return before.Unsupported("TABLESAMPLE").WithHint("leave it out: an answer about all rows costs no more")
	case t.Matches("(") && before.Matches("GROUP") && g.tokenAt(i-2).Matches("WITHIN"):
		return g.tokenAt(i - 2).Unsupported("WITHIN GROUP").
			WithHint("SELECT x, COUNT(*) FROM table GROUP BY x counts the rows of each value; take it from these counts")
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
