package syntax

import (
	"strconv"

	"dpsql/sqlerr"
)

// ParseQuery parses one query, with or without its semicolon. Its errors are *sqlerr.Error.
func ParseQuery(text string, d Dialect) (*Query, error) {
	tokens, err := d.Lex(text)
	if err != nil {
		return nil, err
	}
	return d.Parse(tokens)
}

// Parse parses one query, with or without its semicolon, from the tokens that Lex returned.
func (d Dialect) Parse(tokens []Token) (*Query, error) {
	return (&queryParser{tokens: tokens, dialect: d}).parse()
}

// parse reads the query that all of the tokens are.
func (p *queryParser) parse() (q *Query, err error) {
	defer func() {
		switch stop := recover().(type) {
		case nil:
		case *sqlerr.Error:
			q, err = nil, stop
		default:
			panic(stop)
		}
	}()
	for p.accept(";") {
	}
	q = p.query()
	for p.accept(";") {
	}
	if p.peek().Kind != KindEnd {
		p.unexpected("the end of the statement")
	}
	return q, nil
}

// queryParser reads a query by recursive descent, and expressions by the powers of operators. It
// calls itself so deep that an error handed back by each method would be most of their text: it
// stops by a panic with a *sqlerr.Error, which Parse catches.
type queryParser struct {
	tokens  []Token
	pos     int
	dialect Dialect
	depth   int
	certain bool // the error stands, whatever else is wrong
	formed  bool // the error is about a form of another system
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

// selects reports whether a query starts n tokens ahead, behind parentheses.
func (p *queryParser) selects(n int) bool {
	for p.after(n).Matches("(") {
		n++
	}
	switch t := p.after(n); {
	case t.Matches("SELECT"), t.Matches("VALUES"):
		return true
	case t.Matches("WITH"):
		as := p.after(n + 2)
		return p.names(p.after(n+1)) && (as.Matches("AS") || as.Matches("(") || p.after(n+1).Matches("RECURSIVE"))
	default:
		return p.dialect == Postgres && t.Matches("TABLE")
	}
}

// query reads [WITH …] body [ORDER BY …] [LIMIT …] [WITH setting value].
func (p *queryParser) query() *Query {
	p.enter()
	defer p.leave()
	q := &Query{}
	from := p.peek().Position
	if p.accept("WITH") {
		q.Recursive = p.is("RECURSIVE") && p.names(p.after(1)) && p.accept("RECURSIVE")
		for more := true; more; more = p.accept(",") {
			q.With = append(q.With, p.commonTable())
		}
		if p.dialect == Native && !p.isOne("SELECT", "VALUES", "(") {
			p.noQuery()
		}
	}
	q.Body = p.body(0)
	if p.accept("ORDER", "BY") {
		q.Order = p.orderTerms()
	}
	p.limits(q)
	if p.depth == 1 && p.dialect == Native && p.is("WITH") && !p.after(1).Matches("ROLLUP") {
		q.settingsAt = p.next().Position
		q.Settings = p.settings()
	}
	q.span = p.since(from)
	return q
}

// noQuery stops at what follows WITH and begins no query.
func (p *queryParser) noQuery() {
	t := *p.peek()
	if isForeign(t) && t.Kind == KindWord {
		p.certain = true
		panic(t.Unsupported(t.Upper).WithHint("%s", foreign[t.Upper]))
	}
	p.missing("SELECT")
}

// settings reads name value, …, at the end of a statement.
func (p *queryParser) settings() []Option {
	own := &parser{tokens: p.tokens, pos: p.pos}
	list, err := own.settings(nil)
	if err != nil {
		p.certain, p.formed = true, true
		panic(err)
	}
	p.pos = own.pos
	return list
}

func (p *queryParser) commonTable() *CommonTable {
	from := p.peek().Position
	c := &CommonTable{Name: p.entryName()}
	if p.is("(") {
		c.Columns = p.nameList()
	}
	p.require("AS")
	switch {
	case p.accept("MATERIALIZED"):
		c.Materialized = "MATERIALIZED"
	case p.accept("NOT", "MATERIALIZED"):
		c.Materialized = "NOT MATERIALIZED"
	}
	p.require("(")
	if p.peek().Kind != KindEnd && !p.isOne("SELECT", "WITH", "VALUES", "TABLE", "(") {
		p.missing("SELECT")
	}
	c.Query = p.query()
	p.expect(")")
	c.span = p.since(from)
	return c
}

// entryName consumes the name of a common table expression.
func (p *queryParser) entryName() Ident {
	if p.dialect == Postgres {
		return p.name()
	}
	t := p.peek()
	if _, err := (&parser{tokens: p.tokens, pos: p.pos}).name("a name"); err != nil {
		p.certain = true
		panic(err)
	}
	p.next()
	return identOf(t)
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

// setPower says how tight a set operation binds. In SQLite all bind alike.
func (p *queryParser) setPower() int {
	switch t := p.peek(); {
	case t.Matches("UNION"), t.Matches("EXCEPT"):
		return 1
	case t.Matches("INTERSECT") && p.dialect == Postgres:
		return 2
	case t.Matches("INTERSECT"):
		return 1
	}
	return 0
}

// body reads set operations that bind tighter than least.
func (p *queryParser) body(least int) Body {
	from := p.peek().Position
	x := p.member()
	for {
		power := p.setPower()
		if power <= least {
			return x
		}
		t := p.next()
		c := &Compound{Op: t.Upper, X: x, Operator: t.Position, All: p.accept("ALL")}
		if !c.All {
			p.accept("DISTINCT")
		}
		c.Y = p.body(power)
		c.span = p.since(from)
		x = c
	}
}

// member reads what stands between set operations.
func (p *queryParser) member() Body {
	from := p.peek().Position
	switch {
	case p.is("(") && p.selects(1):
		p.next()
		q := p.query()
		p.expect(")")
		q.span = p.since(from)
		return q
	case p.accept("VALUES"):
		v := &Values{}
		for more := true; more; more = p.accept(",") {
			v.Rows = append(v.Rows, p.filled())
		}
		v.span = p.since(from)
		return v
	case p.dialect == Postgres && p.accept("TABLE"):
		b := &Block{Items: []Item{{X: &Star{span: p.since(from)}}}, From: []Source{p.source()}}
		b.span = p.since(from)
		return b
	}
	p.expect("SELECT")
	return p.block(from)
}

// tuple reads (a, b).
func (p *queryParser) tuple() *Tuple {
	from := p.peek().Position
	p.expect("(")
	t := &Tuple{Items: p.list(")")}
	t.span = p.since(from)
	return t
}

// filled reads (a, b). In SQLite it may be ().
func (p *queryParser) filled() *Tuple {
	if p.dialect == Postgres && p.is("(") && p.after(1).Matches(")") {
		p.next()
		p.unexpected("an expression")
	}
	return p.tuple()
}

// block reads what follows SELECT.
func (p *queryParser) block(from int) *Block {
	b := &Block{}
	if b.Distinct = p.accept("DISTINCT"); !b.Distinct {
		p.accept("ALL")
	} else if p.accept("ON", "(") {
		b.On = p.list(")")
	}
	if p.dialect == Native && p.isTop() {
		b.topAt = p.next().Position
		b.Top = p.primary()
	}
	b.listAt = p.peek().Position
	if !(p.dialect == Postgres && (p.is("FROM") || p.peek().Kind == KindEnd)) {
		for more := true; more; more = p.accept(",") {
			b.Items = append(b.Items, p.item())
		}
	}
	if b.fromAt = p.peek().Position; p.accept("FROM") {
		b.From = p.sources()
	}
	if p.accept("WHERE") {
		b.Where = p.expr(0)
	}
	if b.groupAt = p.peek().Position; p.accept("GROUP", "BY") {
		b.GroupAll = p.dialect == Native && !p.after(1).Matches("(") && p.accept("ALL")
		if !b.GroupAll {
			b.Group = p.exprs()
		}
	}
	if p.accept("HAVING") {
		b.Having = p.expr(0)
	}
	if p.is("WINDOW") && p.names(p.after(1)) && p.after(2).Matches("AS") {
		p.next()
		for more := true; more; more = p.accept(",") {
			name := p.name()
			p.expect("AS")
			b.Windows = append(b.Windows, NamedWindow{name, p.window()})
		}
	}
	if p.dialect == Native && p.is("QUALIFY") && !p.isAlias() {
		b.qualifyAt = p.next().Position
		b.Qualify = p.expr(0)
	}
	b.span = p.since(from)
	return b
}

// isTop reports whether TOP n comes next, and no column of this name.
func (p *queryParser) isTop() bool {
	n := p.after(1)
	if n.Matches("(") {
		n = p.after(2)
	}
	return p.is("TOP") && (n.Kind == KindInteger || n.Kind == KindParameter)
}

func (p *queryParser) item() Item {
	from := p.peek().Position
	i := Item{X: p.star()}
	if i.X == nil {
		i.X = p.expr(0)
	}
	switch t := p.peek(); {
	case p.accept("AS"):
		i.As = p.aliasName()
	case p.dialect == Postgres && p.isName() && !(t.Kind == KindWord && unaliased()[t.Upper]), p.isAlias():
		i.As = identOf(p.next())
	}
	i.span = p.since(from)
	return i
}

// star reads *, where one can stand; nil if none comes next.
func (p *queryParser) star() Expr {
	t := p.peek()
	if !p.accept("*") {
		return nil
	}
	return &Star{span: p.since(t.Position)}
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

// limits reads LIMIT, OFFSET and FETCH in any order.
func (p *queryParser) limits(q *Query) {
	from := p.peek().Position
	for {
		q.limits = p.since(from)
		switch {
		case p.accept("LIMIT", "ALL"):
			q.foreign = true
		case p.accept("LIMIT"):
			q.foreign = q.foreign || q.Offset != nil
			q.Limit = p.expr(0)
			if p.dialect == Native && p.accept(",") {
				q.Offset, q.Limit = q.Limit, p.expr(0)
			}
		case p.accept("OFFSET"):
			q.Offset = p.expr(0)
			rows := p.choose("ROWS", "ROW") != ""
			q.foreign = q.foreign || rows || q.Limit == nil
		case p.is("FETCH"):
			q.foreign = true
			q.Limit = p.fetch()
		default:
			return
		}
	}
}

// fetch reads FETCH FIRST [n] ROWS ONLY, and returns n.
func (p *queryParser) fetch() (n Expr) {
	p.expect("FETCH")
	if p.choose("FIRST", "NEXT") == "" {
		p.unexpected("FIRST or NEXT")
	}
	if t := p.peek(); p.isOne("ROW", "ROWS") {
		n = &Literal{span: span{t.Position, t.Position}, Kind: KindInteger, Value: "1"}
	} else {
		n = p.primary()
	}
	if p.choose("ROWS", "ROW") == "" {
		p.unexpected("ROWS")
	}
	p.expect("ONLY")
	return n
}

func (p *queryParser) orderTerms() (list []OrderTerm) {
	for more := true; more; more = p.accept(",") {
		t := OrderTerm{X: p.expr(0)}
		if t.Desc = p.accept("DESC"); !t.Desc {
			p.accept("ASC")
		}
		if p.accept("NULLS") {
			if t.Nulls = p.choose("FIRST", "LAST"); t.Nulls == "" {
				p.unexpected("FIRST or LAST")
			}
		}
		list = append(list, t)
	}
	return list
}

// window reads a window's name, or what it is in parentheses.
func (p *queryParser) window() *Window {
	from := p.peek().Position
	w := &Window{}
	if !p.is("(") {
		w.Name, w.Bare = p.name(), true
		w.span = p.since(from)
		return w
	}
	p.next()
	if p.isName() && !p.isOne("PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS") {
		w.Name = p.name()
	}
	if p.accept("PARTITION", "BY") {
		w.Partition = p.exprs()
	}
	if p.accept("ORDER", "BY") {
		w.Order = p.orderTerms()
	}
	if p.isOne("ROWS", "RANGE", "GROUPS") {
		w.Frame = p.frame()
	}
	p.expect(")")
	w.span = p.since(from)
	return w
}

func (p *queryParser) frame() *Frame {
	t := p.next()
	f := &Frame{Unit: t.Upper}
	if p.accept("BETWEEN") {
		f.Low = p.bound()
		p.expect("AND")
		f.High = p.bound()
	} else {
		f.Low = p.bound()
	}
	if p.accept("EXCLUDE") {
		switch {
		case p.accept("NO", "OTHERS"):
			f.Exclude = "NO OTHERS"
		case p.accept("CURRENT", "ROW"):
			f.Exclude = "CURRENT ROW"
		default:
			if f.Exclude = p.choose("GROUP", "TIES"); f.Exclude == "" {
				p.unexpected("NO OTHERS, CURRENT ROW, GROUP or TIES")
			}
		}
	}
	f.span = p.since(t.Position)
	return f
}

func (p *queryParser) bound() (b Bound) {
	if p.accept("CURRENT", "ROW") {
		return Bound{Word: "CURRENT ROW"}
	}
	before := ""
	if p.accept("UNBOUNDED") {
		before = "UNBOUNDED "
	} else {
		b.By = p.expr(p.comparing())
	}
	word := p.choose("PRECEDING", "FOLLOWING")
	if word == "" {
		p.unexpected("PRECEDING or FOLLOWING")
	}
	b.Word = before + word
	return b
}
