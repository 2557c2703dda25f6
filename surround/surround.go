// Package surround runs the SQL around private answers, and statements that name public
// tables only, such as SELECT * FROM diagnoses, or no table at all.
//
// SQLite runs them, in a database in memory that has copies of the public tables that the
// statement names, and nothing else. The package gets these copies from its caller. It
// imports no catalog and no source, opens no file and attaches nothing. So no private row
// is within reach of a statement, whatever it says, and whoever asks.
//
// A statement that names private tables is cut first: see Statement.Cut. Its private
// aggregates are answered elsewhere, and their noisy rows stand in tables beside the copies.
//
// That is the first wall. The second is an authorizer, which allows a statement to read the
// copies and to call a list of functions. Anything else is denied: PRAGMA, ATTACH, the
// schema, virtual tables, and functions that are not on the list. The third are limits of
// time, memory and size, see the constants. A limit that is reached is an error, and never
// a short result.
//
// The cost of a statement depends on its text, on public tables and on released numbers. It
// charges nothing, since its result is computed from public data.
package surround

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rqlite/sql"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Statement is a parsed statement: SELECT, VALUES, or WITH … SELECT. None of its tables
// has been looked up. It never changes: several goroutines may run it at once.
type Statement struct {
	Explain bool          // EXPLAIN came before it
	Full    bool          // EXPLAIN FULL did
	Tables  []syntax.Name // the tables that it names, each once; no common table expressions

	written string // as it was written
	text    string // as SQLite gets it, before it is typed
	typed   string // as SQLite runs it; see withTypes
	bound   []int  // for each of SQLite's parameters, the index of its argument
	tokens  []syntax.Token
	starts  []int        // the offset of each token in what the parser gets
	ranges  map[int]bool // the tokens AND of BETWEEN … AND
	tree    *sql.SelectStatement
	names   map[string]bool // folded names of the tables and common table expressions
	cores   []string        // the tables of cores that it names
	edits   map[int]string  // what tokens become; see withTypes

	large   bool  // it has too many SELECTs
	refusal error // why no such statement runs, whatever its tables are; nil if it may run
}

// Parse parses one statement. The error has code Malformed if SQLite's grammar does not
// have the statement. What is not allowed in any statement (functions that are not on the
// list, table-valued functions, databases other than main) is refused when it runs, so that
// the caller can look at its tables first.
//
// The tree serves to find names, and to infer types. SQLite gets the text itself, in which
// parameters are numbered. So a construct that the parser reads otherwise than SQLite does
// can bring about a refusal, but no other result.
func Parse(text string) (s *Statement, err error) {
	err = sqlerr.Guard(func() error {
		s, err = parse(text, nil)
		return err
	})
	return s, err
}

// about names statements of its kind in errors.
func (s *Statement) about() string {
	if len(s.cores) > 0 {
		return "a statement around private aggregates"
	}
	return "a statement about public tables"
}

// parse parses a statement that may name the tables of cores.
func parse(text string, cores []string) (*Statement, error) {
	tokens, err := syntax.Lex(text)
	if err != nil {
		return nil, err
	}
	s := &Statement{written: text, names: make(map[string]bool), cores: cores}
	for len(tokens) > 1 && tokens[0].Matches(";") {
		tokens = tokens[1:]
	}
	if tokens[0].Matches("EXPLAIN") {
		s.Explain, tokens = true, tokens[1:]
		if s.Full = tokens[0].Matches("FULL"); s.Full {
			tokens = tokens[1:]
		}
	}
	if first := tokens[0]; !first.Matches("SELECT") && !first.Matches("VALUES") && !first.Matches("WITH") {
		return nil, first.Malformed("expected SELECT, VALUES or WITH")
	}
	last := len(tokens) - 1
	for last > 0 && tokens[last-1].Matches(";") {
		last--
	}
	s.tokens = tokens[:last]
	s.ranges = ranges(s.tokens)
	for _, t := range s.tokens {
		if t.Matches(";") {
			return nil, t.Unsupported("more than one statement at a time").WithHint("send the statements one by one")
		}
	}
	if s.tree, err = s.parseTree(tokens[last]); err != nil {
		return nil, err
	}
	s.cut(text, tokens[last])
	find := walker{statement: s, found: make(map[string]bool)}
	find.selected(s.tree, nil)
	s.large = find.size > maxSize
	if s.refusal = find.err; sqlerr.CodeOf(s.refusal) == sqlerr.Malformed {
		return nil, s.refusal
	}
	return s, nil
}

// Nested reports whether the statement is more than one SELECT without windows.
func (s *Statement) Nested() bool {
	selects := 0
	for _, t := range s.tokens {
		if t.Matches("SELECT") {
			selects++
		}
		if t.Matches("OVER") {
			return true
		}
	}
	return selects != 1
}

// cut makes the text that SQLite gets: that of the statement with ?N for its parameters,
// since SQLite would number $1 and ?1 apart.
func (s *Statement) cut(text string, end syntax.Token) {
	var b strings.Builder
	offset, position := 0, 1
	upTo := func(target int, write bool) {
		from := offset
		for range text[offset:] {
			if position == target {
				break
			}
			position++
			offset++
			for offset < len(text) && text[offset]&0xC0 == 0x80 { // inside a character
				offset++
			}
		}
		if write {
			b.WriteString(text[from:offset])
		}
	}
	upTo(s.tokens[0].Position, false)
	for _, t := range s.tokens {
		if t.Parameter == 0 {
			continue
		}
		upTo(t.Position, true)
		b.WriteString("?" + strconv.Itoa(s.parameter(t.Parameter-1)))
		upTo(t.Position+len([]rune(t.Text)), false)
	}
	last := s.tokens[len(s.tokens)-1]
	upTo(last.Position+len([]rune(last.Text)), last.Parameter == 0)
	s.text = b.String()
	s.typed = s.text
}

// withTypes returns the statement with what SQLite needs to compare values as PostgreSQL does: the
// collation of moments behind dates, and numbers in the place of texts beside numbers.
func (s *Statement) withTypes(cores []*Table, tables map[string][]column) *Statement {
	w := &walker{statement: s, tables: maps.Clone(tables), parameters: make(map[int]kind), edits: make(map[int]string)}
	for _, core := range cores {
		w.tables[query.FoldName(core.Name)] = core.columns()
	}
	if w.selected(s.tree, nil); len(w.edits) == 0 {
		return s
	}
	typed := *s
	typed.edits = w.edits
	typed.typed = typed.tokensOf(0, len(s.tokens), nil, nil)
	return &typed
}

// parameter returns the number that SQLite gets for an argument. They are numbered by first
// use, since SQLite would allocate all up to the largest.
func (s *Statement) parameter(argument int) int {
	for i, a := range s.bound {
		if a == argument {
			return i + 1
		}
	}
	s.bound = append(s.bound, argument)
	return len(s.bound)
}

// arguments returns the values of SQLite's parameters.
func (s *Statement) arguments(args []query.Value) ([]any, error) {
	values := make([]any, len(s.bound))
	for i, a := range s.bound {
		switch {
		case a >= len(args):
			return nil, sqlerr.New(sqlerr.Invalid, "the statement has a parameter %d, and %d arguments are given", a+1, len(args))
		case args[a].IsNull():
			values[i] = nil
		case args[a].IsInt():
			values[i] = args[a].Int64()
		case args[a].IsNumber():
			x, err := strconv.ParseFloat(args[a].Str(), 64)
			if err != nil {
				return nil, sqlerr.New(sqlerr.Invalid, "argument %d is beyond the numbers of 64 bits", a+1)
			}
			values[i] = x
		default:
			values[i] = args[a].Str()
		}
	}
	return values, nil
}

// grammar are the words that reach the parser as they are. Every other word reaches it as
// a placeholder, so that no keyword of its own (key, index, …) is in the way of a name.
var grammar = sync.OnceValue(func() map[string]bool {
	words := make(map[string]bool)
	for _, w := range strings.Fields(grammarWords) {
		words[w] = true
	}
	return words
})

const grammarWords = `SELECT DISTINCT ALL FROM WHERE GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET UNION INTERSECT EXCEPT VALUES
	WITH AS AND OR NOT IN IS NULL ISNULL NOTNULL BETWEEN LIKE GLOB ESCAPE CASE WHEN THEN ELSE END CAST EXISTS
	JOIN LEFT INNER OUTER CROSS NATURAL ON USING PRECEDING FOLLOWING`

// parseTree parses the tokens. A name reaches the parser as n and the index of its token, a
// text as that index in quotes, and a parameter as NULL. The position of a fault is that of a
// token.
func (s *Statement) parseTree(end syntax.Token) (*sql.SelectStatement, error) {
	var b strings.Builder
	starts := make([]int, 0, len(s.tokens))
	for i := range s.tokens {
		starts = append(starts, b.Len())
		if text := s.disguised(i); text != "" {
			b.WriteString(text + " ")
		}
	}
	parser := sql.NewParser(strings.NewReader(b.String()))
	parsed, err := parser.ParseStatement()
	tree, ok := parsed.(*sql.SelectStatement)
	if err == nil && ok {
		s.starts = starts
		return tree, nil
	}
	at := end
	if fault, ok := err.(*sql.Error); ok && !strings.HasSuffix(fault.Msg, "'EOF'") {
		for i := range starts {
			if starts[i] <= fault.Pos.Offset && (i+1 == len(starts) || fault.Pos.Offset < starts[i+1]) && s.disguised(i) != "" {
				at = s.tokens[i]
			}
		}
	}
	if at.Kind == syntax.KindEnd || at.Text == "" {
		return nil, at.Malformed("the statement ends too early")
	}
	return nil, at.Malformed("unexpected %s", syntax.Excerpt(at.Text, 40))
}

// ranges finds the tokens AND that belong to a BETWEEN.
func ranges(tokens []syntax.Token) map[int]bool {
	var open []string // what waits for its end
	found := make(map[int]bool)
	for i, t := range tokens {
		switch {
		case t.Matches("BETWEEN") && frames(tokens, i): // ROWS BETWEEN …
		case t.Matches("(") || t.Matches("CASE") || t.Matches("BETWEEN"):
			open = append(open, t.Upper)
		case t.Matches("AND") && len(open) > 0 && open[len(open)-1] == "BETWEEN":
			found[i], open = true, open[:len(open)-1]
		case t.Matches(")") || t.Matches("END"):
			for closed := false; len(open) > 0 && !closed; open = open[:len(open)-1] {
				closed = open[len(open)-1] != "BETWEEN"
			}
		}
	}
	return found
}

// frames reports whether the token before one begins the frame of a window.
func frames(tokens []syntax.Token, i int) bool { return i > 0 && isFrame(tokens, i-1) }

// isFrame reports whether a token begins the frame of a window: ROWS BETWEEN …, ROWS 3 PRECEDING.
// Elsewhere ROWS, RANGE and GROUPS are names.
func isFrame(tokens []syntax.Token, i int) bool {
	t := tokens[i]
	if !t.Matches("ROWS") && !t.Matches("RANGE") && !t.Matches("GROUPS") || i+1 >= len(tokens) {
		return false
	}
	if i > 0 && slices.ContainsFunc([]string{"AS", ".", ",", "SELECT", "WHERE", "AND", "OR", "NOT", "BY", "ON", "WHEN", "THEN", "HAVING"}, tokens[i-1].Matches) {
		return false
	}
	after := tokens[i+1]
	return after.Matches("BETWEEN") || after.Matches("UNBOUNDED") || after.Matches("CURRENT") || after.Matches("(") ||
		after.Kind == syntax.KindInteger || after.Kind == syntax.KindDecimal || after.Kind == syntax.KindParameter
}

// at returns the token i places after the first, or an empty one.
func (s *Statement) at(i int) syntax.Token {
	if i < 0 || i >= len(s.tokens) {
		return syntax.Token{}
	}
	return s.tokens[i]
}

// disguised returns a token as the parser gets it. What SQLite has and the parser lacks is
// left out, or replaced by what stands in the same place of the tree: COLLATE, MATERIALIZED,
// IS DISTINCT FROM, and RIGHT and FULL joins. x BETWEEN a AND b is x = a = b to the parser,
// which has another precedence for it than SQLite.
func (s *Statement) disguised(i int) string {
	t, before, after := s.tokens[i], s.at(i-1), s.at(i+1)
	if t.Matches("(") && after.Matches(")") && (before.Matches("(") || before.Matches(",")) {
		return "(NULL" // of GROUPING SETS
	}
	switch t.Kind {
	case syntax.KindString:
		if before.Matches("AS") { // SQLite takes it for a name
			return "n" + strconv.Itoa(i)
		}
		return "'" + strconv.Itoa(i) + "'"
	case syntax.KindParameter:
		return "NULL"
	case syntax.KindQuoted:
		if before.Matches("COLLATE") {
			return ""
		}
		return "n" + strconv.Itoa(i)
	case syntax.KindWord:
		return s.word(i, t, before, after)
	}
	return t.Text
}

func (s *Statement) word(i int, t, before, after syntax.Token) string {
	keyword := grammar()[t.Upper]
	switch t.Upper {
	case "COLLATE":
		return ""
	case "MATERIALIZED":
		if after.Matches("(") && (before.Matches("AS") || before.Matches("NOT")) {
			return ""
		}
	case "NOT":
		if after.Matches("MATERIALIZED") || after.Matches("BETWEEN") {
			return ""
		}
	case "BETWEEN":
		if !frames(s.tokens, i) {
			return "="
		}
	case "AND":
		if s.ranges[i] {
			return "="
		}
	case "DISTINCT":
		if after.Matches("FROM") && (before.Matches("IS") || before.Matches("NOT") && s.at(i-2).Matches("IS")) {
			return ""
		}
	case "FROM":
		if before.Matches("DISTINCT") && s.disguised(i-1) == "" {
			return ""
		}
	case "RIGHT", "FULL":
		if after.Matches("JOIN") || after.Matches("OUTER") && s.at(i+2).Matches("JOIN") {
			return "LEFT"
		}
	case "RECURSIVE":
		keyword = before.Matches("WITH")
	case "WINDOW":
		keyword = s.at(i+2).Matches("AS") && s.at(i+3).Matches("(")
	case "ROWS", "RANGE", "GROUPS":
		keyword = isFrame(s.tokens, i)
	case "UNBOUNDED":
		keyword = after.Matches("PRECEDING") || after.Matches("FOLLOWING")
	case "EXCLUDE":
		keyword = after.Matches("NO") || after.Matches("CURRENT") || after.Matches("GROUP") || after.Matches("TIES")
	case "TIES", "NO":
		keyword = before.Matches("EXCLUDE")
	case "OTHERS":
		keyword = before.Matches("NO") && s.at(i-2).Matches("EXCLUDE")
	case "SETS":
		if before.Matches("GROUPING") && after.Matches("(") {
			return ""
		}
	case "FILTER":
		keyword = before.Matches(")") && after.Matches("(")
	case "OVER":
		keyword = before.Matches(")")
	case "PARTITION":
		keyword = after.Matches("BY")
	case "NULLS":
		keyword = after.Matches("FIRST") || after.Matches("LAST")
	case "FIRST", "LAST":
		keyword = before.Matches("NULLS")
	case "CURRENT":
		keyword = after.Matches("ROW")
	case "ROW":
		keyword = before.Matches("CURRENT")
	}
	if before.Matches("COLLATE") {
		return ""
	}
	if keyword {
		return t.Upper
	}
	return "n" + strconv.Itoa(i)
}

// token returns the token that a name or text of the tree stands for.
func (s *Statement) token(placeholder string) syntax.Token {
	i, err := strconv.Atoi(strings.TrimPrefix(placeholder, "n"))
	if err != nil {
		return syntax.Token{}
	}
	return s.at(i)
}

// name returns the token of a name of the tree.
func (s *Statement) name(i *sql.Ident) syntax.Token {
	if i == nil {
		return syntax.Token{}
	}
	return s.token(i.Name)
}

// index returns the index of the token at a place of the tree.
func (s *Statement) index(at sql.Pos) int {
	i, found := slices.BinarySearch(s.starts, at.Offset)
	if !found {
		return i - 1
	}
	for i+1 < len(s.starts) && s.starts[i+1] == at.Offset { // tokens that the parser did not get
		i++
	}
	return i
}

// firstOf returns the first token of a SELECT or VALUES, its WITH apart.
func (s *Statement) firstOf(of *sql.SelectStatement) int {
	if of.Select.IsValid() {
		return s.index(of.Select)
	}
	return s.index(of.Values)
}
