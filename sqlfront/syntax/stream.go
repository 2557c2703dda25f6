package syntax

import (
	"slices"
	"strconv"

	"dpsql/sqlerr"
)

// parser walks the tokens of one statement, which end with a KindEnd.
type parser struct {
	text   string
	tokens []Token
	pos    int
}

func (p *parser) peek() Token { return p.tokens[p.pos] }

// after returns the token n places ahead.
func (p *parser) after(n int) Token {
	return p.tokens[min(p.pos+n, len(p.tokens)-1)]
}

// next consumes a token; the end is never passed.
func (p *parser) next() Token {
	t := p.tokens[p.pos]
	if t.Kind != KindEnd {
		p.pos++
	}
	return t
}

// accept consumes the given keywords or operators when they come next.
func (p *parser) accept(sequence ...string) bool {
	for i, s := range sequence {
		if !p.after(i).Matches(s) {
			return false
		}
	}
	p.pos += len(sequence)
	return true
}

// expect consumes the given keywords or operators, or fails at the first
// that is missing.
func (p *parser) expect(sequence ...string) error {
	for _, s := range sequence {
		if !p.accept(s) {
			return p.unexpected(s)
		}
	}
	return nil
}

// unexpected returns the syntax error for a next token that is not the wanted one.
func (p *parser) unexpected(wanted string) error {
	t := p.peek()
	return t.Malformed("expected %s, found %s", wanted, t.describe())
}

// maxName is the largest length of a name in bytes.
const maxName = 256

// name consumes an identifier.
func (p *parser) name(what string) (Name, error) {
	t := p.peek()
	switch {
	case t.Kind == KindWord && reserved[t.Upper]:
		return Name{}, t.Malformed("expected %s, found the keyword %s", what, t.Upper).
			WithHint("a name that is a keyword is quoted: \"%s\"", t.Text)
	case t.Kind == KindString:
		return Name{}, t.Malformed("expected %s, found a string", what).
			WithHint("names are quoted with \"")
	case !t.isName():
		return Name{}, p.unexpected(what)
	case t.Value == "":
		return Name{}, t.Malformed("expected %s, found an empty name", what)
	case len(t.Value) > maxName:
		return Name{}, sqlerr.New(sqlerr.Invalid, "a name has at most %d bytes", maxName).At(t.Position)
	}
	p.pos++
	return Name{t.Value, t.Position}, nil
}

// names consumes a parenthesised list of different identifiers.
func (p *parser) names(what string) ([]Name, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	names, err := p.list(what)
	if err != nil {
		return nil, err
	}
	return names, p.expectClose()
}

// list consumes different identifiers with commas between them.
func (p *parser) list(what string) ([]Name, error) {
	var names []Name
	seen := make(map[string]bool)
	for {
		n, err := p.name(what)
		if err != nil {
			return nil, err
		}
		if seen[UpperASCII(n.Text)] {
			return nil, sqlerr.New(sqlerr.Invalid, "%s is listed twice", n.Text).At(n.Position)
		}
		seen[UpperASCII(n.Text)] = true
		if names = append(names, n); !p.accept(",") {
			return names, nil
		}
	}
}

// expectClose consumes the parenthesis that ends a list.
func (p *parser) expectClose() error {
	if !p.accept(")") {
		return p.unexpected(", or )")
	}
	return nil
}

// end refuses anything after the statement.
func (p *parser) end() error {
	if t := p.peek(); t.Kind != KindEnd {
		return t.Malformed("unexpected %s after the end of the statement", t.describe())
	}
	return nil
}

// maxOptions is the largest number of options of a statement.
const maxOptions = 64

// withOptions parses an optional WITH (name = value, …).
func (p *parser) withOptions() ([]Option, error) {
	if !p.accept("WITH") {
		return nil, nil
	}
	return p.options()
}

// options parses (name = value, …).
func (p *parser) options() ([]Option, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var options []Option
	seen := make(map[string]bool)
	for {
		o, err := p.option("an option")
		if err != nil {
			return nil, err
		}
		if seen[o.Name.Text] {
			return nil, sqlerr.New(sqlerr.Invalid, "option %s is given twice", o.Name.Text).At(o.Name.Position)
		}
		seen[o.Name.Text] = true
		if options = append(options, o); len(options) > maxOptions {
			return nil, sqlerr.New(sqlerr.Unsupported, "more than %d options are outside the dialect", maxOptions).
				At(o.Name.Position)
		}
		if !p.accept(",") {
			return options, p.expectClose()
		}
	}
}

// option parses name = value. No keyword can stand in the name's place, so a
// name that is one, such as update, needs no quotes.
func (p *parser) option(what string) (Option, error) {
	t := p.peek()
	name := Name{t.Text, t.Position}
	if t.Kind == KindWord {
		p.pos++
	} else {
		var err error
		if name, err = p.name(what); err != nil {
			return Option{}, err
		}
	}
	name.Text = LowerASCII(name.Text)
	if !p.accept("=") && !p.accept("==") {
		return Option{}, p.unexpected("=")
	}
	o := Option{Name: name, Position: p.peek().Position}
	if (name.Text == "keys" || name.Text == "public") && p.peek().Matches("(") {
		var err error
		o.Kind = List
		o.Names, err = p.names(map[string]string{"keys": "the name of a release", "public": "the name of a public table"}[name.Text])
		return o, err
	}
	return o, p.value(&o)
}

// value parses the value of an option.
func (p *parser) value(o *Option) error {
	sign := ""
	if t := p.peek(); t.Matches("-") || t.Matches("+") {
		sign = p.next().Text
	}
	t := p.peek()
	switch {
	case t.Kind == KindInteger || t.Kind == KindDecimal:
		o.Kind, o.Value = Number, sign+t.Text
	case sign != "":
		return p.unexpected("a number")
	case t.Kind == KindString:
		o.Kind, o.Value = String, t.Value
	case t.Kind == KindWord || t.Kind == KindQuoted && t.Value != "":
		o.Kind, o.Value = Word, t.Value
	default:
		return p.unexpected("a number, a word or a string in single quotes")
	}
	p.next()
	return nil
}

// settings reads name value, or name = value, or name(value), with commas between them or not,
// up to the end of the statement.
func (p *parser) settings(settings []Option) ([]Option, error) {
	for {
		name, err := p.name("a setting")
		if err != nil {
			return nil, err
		}
		name.Text = LowerASCII(name.Text)
		open := p.accept("(")
		if !open && !p.accept("=") {
			p.accept("==")
		}
		o := Option{Name: name, Position: p.peek().Position}
		if t := p.peek(); t.Kind == KindParameter {
			o.Kind, o.Value, o.Parameter = Word, t.Text, p.next().Parameter
		} else if err := p.value(&o); err != nil {
			return nil, err
		}
		if open && !p.accept(")") {
			return nil, p.unexpected(")")
		}
		if slices.ContainsFunc(settings, func(have Option) bool { return have.Name.Text == name.Text }) {
			return nil, sqlerr.New(sqlerr.Invalid, "setting %s is given twice", name.Text).At(name.Position)
		}
		if settings = append(settings, o); !p.accept(",") && (p.peek().Kind == KindEnd || p.peek().Matches(";")) {
			return settings, nil
		}
	}
}

// queryParser reads a query by recursive descent, and expressions by the powers of operators. It
// calls itself so deep that an error handed back by each method would be most of their text: it
// stops by a panic with a *sqlerr.Error, see caught.
type queryParser struct {
	tokens  []Token
	pos     int
	dialect Dialect
	depth   int
	certain bool // the error stands, whatever else is wrong
	formed  bool // the error is about a form of another system
	renamed bool // a query in FROM has names for its columns
}

// caught returns the error that f stops with by a panic.
func caught(f func()) (err error) {
	defer func() {
		switch stop := recover().(type) {
		case nil:
		case *sqlerr.Error:
			err = stop
		default:
			panic(stop)
		}
	}()
	f()
	return nil
}

func (p *queryParser) peek() *Token { return &p.tokens[p.pos] }

// after returns the token n places ahead.
func (p *queryParser) after(n int) *Token { return &p.tokens[min(p.pos+n, len(p.tokens)-1)] }

// next consumes a token; the end is never passed.
func (p *queryParser) next() *Token {
	t := &p.tokens[p.pos]
	if t.Kind != KindEnd {
		p.pos++
	}
	return t
}

func (p *queryParser) is(s string) bool { return p.peek().Matches(s) }

// isOne reports whether one of the words comes next.
func (p *queryParser) isOne(words ...string) bool {
	for _, w := range words {
		if p.is(w) {
			return true
		}
	}
	return false
}

// accept consumes the keywords or operators when all of them come next.
func (p *queryParser) accept(sequence ...string) bool {
	for i, s := range sequence {
		if !p.after(i).Matches(s) {
			return false
		}
	}
	p.pos += len(sequence)
	return true
}

// expect consumes the keywords or operators, and stops at the first that is missing.
func (p *queryParser) expect(sequence ...string) {
	for _, s := range sequence {
		if !p.accept(s) {
			p.unexpected(s)
		}
	}
}

// choose consumes one of the words and returns it; "" if none comes next.
func (p *queryParser) choose(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

// unexpected stops at the token that comes next, where something else was wanted.
func (p *queryParser) unexpected(wanted string) {
	t := p.peek()
	if p.dialect != Postgres {
		g := &Tokens{tokens: p.tokens}
		p.certain = t.Kind == KindEnd && g.leavesOpen()
		panic(g.diagnose(p.pos))
	}
	if what := p.lacking(); what != "" {
		panic(outsideCatalog(what, t.Position))
	}
	if t.Kind == KindEnd {
		panic(t.Malformed("syntax error at end of input"))
	}
	panic(t.Malformed("syntax error at or near %s", strconv.Quote(lowerWord(t))))
}

// lowerWord returns a token's text as PostgreSQL names it in an error: a word in lower case.
func lowerWord(t *Token) string {
	if t.Kind == KindWord {
		return LowerASCII(t.Text)
	}
	return t.Value
}

// lacking names what PostgreSQL reads at the next token and this parser does not; "" if it reads
// nothing there either.
func (p *queryParser) lacking() string {
	t := p.peek()
	switch {
	case t.Matches("FOR"):
		return "SELECT … FOR"
	case t.Matches("INTO"):
		return "SELECT INTO"
	case t.Matches("USING"):
		return "ORDER BY … USING"
	case t.Matches("TABLESAMPLE"), t.Matches("VARIADIC"):
		return t.Upper
	case t.Matches("PLACING"):
		return "OVERLAY"
	}
	return ""
}

// maxDepth bounds how deep expressions and queries stand in each other.
const maxDepth = 300

func errTooDeep(t Token) *sqlerr.Error {
	return t.Unsupported("an expression nested this deeply").
		WithHint("at most %d parentheses and %d NOTs or signs stand inside each other", maxNesting, maxPrefixes)
}

// enter counts a level of nesting, and leave counts it back.
func (p *queryParser) enter() {
	if p.depth++; p.depth > maxDepth {
		t := p.peek()
		if p.dialect == Postgres {
			panic(outsideCatalog("a statement nested more than "+strconv.Itoa(maxDepth)+" deep", t.Position))
		}
		panic(errTooDeep(*t))
	}
}

func (p *queryParser) leave() { p.depth-- }

// since returns the place from a position to the last token that was consumed.
func (p *queryParser) since(from int) span { return span{from, p.tokens[max(p.pos-1, 0)].End} }

// isName reports whether a name comes next.
func (p *queryParser) isName() bool { return p.names(p.peek()) }

// names reports whether a token can be a name.
func (p *queryParser) names(t *Token) bool {
	if p.dialect == Postgres {
		return t.Kind == KindQuoted || t.Kind == KindWord && !reservedByPostgres()[t.Upper]
	}
	return t.isName() || t.Matches("NOTHING") // which no part of a query begins with
}

// identOf returns the name that a token is.
func identOf(t *Token) Ident {
	return Ident{span{t.Position, t.End}, t.Value, t.Kind != KindWord}
}

func (p *queryParser) name() Ident {
	if !p.isName() {
		p.unexpected("a name")
	}
	return identOf(p.next())
}

// label consumes a name where any word can be one: behind AS and a point.
func (p *queryParser) label() Ident {
	if t := p.peek(); t.Kind != KindWord && t.Kind != KindQuoted {
		p.unexpected("a name")
	}
	return identOf(p.next())
}

// aliasName consumes what follows AS: in SQLite a text too.
func (p *queryParser) aliasName() Ident {
	if p.dialect == Native && p.peek().Kind == KindString {
		return identOf(p.next())
	}
	return p.label()
}

// nameList consumes (a, b).
func (p *queryParser) nameList() (list []Ident) {
	p.expect("(")
	for more := true; more; more = p.accept(",") {
		list = append(list, p.name())
	}
	p.expect(")")
	return list
}

// path consumes a.b.c, up to a point with a star.
func (p *queryParser) path() []Ident {
	return p.pathFrom(p.name())
}

func (p *queryParser) pathFrom(first Ident) []Ident {
	path := []Ident{first}
	for p.is(".") && !p.after(1).Matches("*") {
		p.next()
		path = append(path, p.label())
	}
	return path
}

// require consumes a keyword or operator, and says so if it is missing.
func (p *queryParser) require(s string) {
	if !p.accept(s) {
		p.missing(s)
	}
}

// missing stops at the next token, and names what should stand there.
func (p *queryParser) missing(wanted string) {
	if t := p.peek(); p.dialect != Postgres {
		p.certain = true
		panic(t.Malformed("expected %s, found %s", wanted, t.describe()))
	}
	p.unexpected(wanted)
}

// isAlias reports whether an alias without AS comes next: a name, but for words that begin what
// follows, or a text.
func (p *queryParser) isAlias() bool {
	t, next := p.peek(), p.after(1)
	if p.dialect != Native || t.Kind != KindWord {
		return p.dialect == Native && (t.Kind == KindQuoted || t.Kind == KindString)
	}
	switch t.Upper {
	case "WINDOW":
		return !(p.names(next) && p.after(2).Matches("AS"))
	case "QUALIFY":
		return !next.startsOperand() && !next.Matches("NOT")
	case "WITH":
		return !p.names(next)
	case "FETCH":
		return !next.Matches("FIRST") && !next.Matches("NEXT")
	case "FULL":
		return !next.Matches("JOIN") && !next.Matches("OUTER")
	case "EXCEPT":
		return !next.Matches("SELECT") && !next.Matches("VALUES") && !next.Matches("(") && !next.Matches("ALL")
	}
	return !reserved[t.Upper] && !keywords[t.Upper]
}
