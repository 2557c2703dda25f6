package syntax

import (
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
)

// guarded is a SELECT that the MySQL parser may see. Every node which that
// returns tells its place among the tokens.
type Tokens struct {
	tokens []Token         // those of the statement
	subs   map[int]*Select // the sub-selects in FROM, by the position of the name that stands for each
}

// isSubselect reports whether a token stands for a sub-select in FROM.
func (g *Tokens) IsSubselect(t Token) bool { return g.subs[t.Position] != nil }

// disguise is a guarded SELECT as the MySQL parser gets to see it. Identifiers
// become `iN` and literals and parameters :vN, where N is the index of the token:
// no name, string or number of the statement is ever read by that parser.
type disguise struct {
	*Tokens
	text    strings.Builder
	starts  []int // byte offset in text of each emitted token
	source  []int // its index in tokens
	renamed bool  // some operator was emitted as another
}

// Limits on what the parser and the compiler recurse into.
const (
	maxNesting  = 150 // parentheses
	maxPrefixes = 100 // prefix operators in a row
)

// disguised rewrites the tokens of a SELECT, refusing what the parser would
// misread and what it cannot read although SQLite can.
func (g *Tokens) disguised() (*disguise, error) {
	if err := checkDepth(g.tokens); err != nil {
		return nil, err
	}
	d := &disguise{Tokens: g}
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
				return t.Unsupported("an expression nested this deeply").
					WithHint("at most %d parentheses and %d NOTs or signs stand inside each other", maxNesting, maxPrefixes)
			}
			continue
		}
		run = 0
	}
	return nil
}

// at returns a token by its index, and an end outside the statement.
func (g *Tokens) at(i int) Token {
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
	before := g.at(i - 1)
	return g.tokens[i].Kind == KindString && (before.Is("AS") || before.endsOperand() && !g.isGlob(i-1))
}

// emitWord writes an unquoted word as keyword, constant or identifier.
func (g *disguise) emitWord(i int) {
	t := g.tokens[i]
	switch {
	case g.at(i-1).Is(".") || g.at(i-1).Is("AS") && !reserved[t.Upper]:
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
	case t.Upper == "ALL" && !g.at(i-1).Is("UNION"):
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
	if g.at(is).Is("NOT") {
		is--
	}
	return g.at(is).Is("IS") && g.isValue(is) == 0
}

// isNotNull reports whether the tokens from i on are the NOT NULL of
// "x NOT NULL", SQLite's short form of IS NOT NULL.
func (g *Tokens) isNotNull(i int) bool {
	return g.at(i).Is("NOT") && g.at(i+1).Is("NULL") && g.at(i-1).endsOperand()
}

// parse hands the guarded text to the MySQL parser.
func (g *disguise) parse() (node sqlparser.Statement, err error) {
	defer func() {
		if r := recover(); r != nil {
			node, err = nil, sqlerr.New(sqlerr.Internal, "the parser failed on this statement").At(g.at(0).Position)
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

// token returns the token that an emitted name or placeholder stands for.
func (g *Tokens) Token(placeholder string) (Token, bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(placeholder, ":v"), "i")
	if digits == "" { // the statement has none here
		return Token{}, false
	}
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= len(g.tokens) {
		return Token{}, false
	}
	return g.tokens[i], true
}
