package pgcatalog

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dpsql/sqlerr"
)

// The limits of a statement's text.
const (
	maxText  = 64 << 10 // bytes
	maxDepth = 200      // of parentheses and the like
)

// parser reads a statement's tokens. It stops by fail.
type parser struct {
	tokens []token
	next   int
	depth  int
	seen   mentions
}

// mentions is what a statement names, for Asks.
type mentions struct {
	tables []named
	with   map[string]bool // the names that WITH makes
	calls  []call
	casts  int
}

// words are words that mean something of their own. They are put into sets when the first
// statement asks: a process that serves nobody does not pay for that.
var words = sync.OnceValue(func() (w struct{ reserved, closed, special map[string]bool }) {
	set := func(list string) map[string]bool {
		out := make(map[string]bool)
		for _, word := range strings.Fields(list) {
			out[word] = true
		}
		return out
	}
	w.reserved = set(`all analyse analyze and any array as asc asymmetric both case cast check collate column
		constraint create current_catalog current_date current_role current_time current_timestamp current_user default
		deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect
		into lateral leading limit localtime localtimestamp not null offset on only or order placing primary references
		returning select session_user some symmetric table then to trailing true union unique user using variadic when
		where window with authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull
		join left like natural notnull outer overlaps right similar tablesample verbose`)
	w.closed = set(`over filter within without precision year month day hour minute second array`)
	w.special = set(`current_catalog current_date current_role current_schema current_time current_timestamp
		current_user localtime localtimestamp session_user user`)
	return w
})

// reserved reports whether a word cannot be a name without AS and quotes in PostgreSQL.
func reserved(word string) bool { return words().reserved[word] }

// closed reports whether a name needs AS as an alias without quotes, though it is not reserved.
func closed(word string) bool { return words().closed[word] }

// special reports whether a word is a function that is called without parentheses.
func special(word string) bool { return words().special[word] }

// parse reads one statement.
func parse(sql string) *query {
	if len(sql) > maxText {
		fail(sqlerr.New(sqlerr.Unsupported, "a statement about the catalog of more than %d KiB is outside the dialect", maxText>>10))
	}
	return newParser(tokens(sql)).statement()
}

func newParser(tokens []token) *parser {
	return &parser{tokens: tokens, seen: mentions{with: make(map[string]bool)}}
}

func (p *parser) statement() *query {
	for p.is(";") {
		p.next++
	}
	if p.peek().kind == end {
		fail(sqlerr.New(sqlerr.Malformed, "the statement is empty"))
	}
	if t := p.peek(); t.kind == word && t.text != "select" && t.text != "with" && t.text != "values" && t.text != "table" {
		unsupported(t.position, "%s about the catalog", strings.ToUpper(t.text))
	}
	q := p.query()
	for p.is(";") {
		p.next++
	}
	if p.peek().kind != end {
		p.unexpected()
	}
	return q
}

func (p *parser) peek() token { return p.tokens[p.next] }

func (p *parser) ahead(n int) token { return p.tokens[min(p.next+n, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != end {
		p.next++
	}
	return t
}

// is reports whether the next token is a word without quotes, an operator or a mark.
func (p *parser) is(s string) bool { return p.peek().is(s) }

func (t token) is(s string) bool {
	return t.text == s && (t.kind == word || t.kind == operator || t.kind == mark)
}

// accept takes the words, if all of them come next.
func (p *parser) accept(words ...string) bool {
	for i, w := range words {
		if !p.ahead(i).is(w) {
			return false
		}
	}
	p.next += len(words)
	return true
}

func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.unexpected()
		}
	}
}

func (p *parser) unexpected() {
	t := p.peek()
	if t.kind == end {
		fail(sqlerr.New(sqlerr.Malformed, "syntax error at end of input").At(t.position))
	}
	fail(sqlerr.New(sqlerr.Malformed, "syntax error at or near %s", strconv.Quote(t.text)).At(t.position))
}

// deeper counts how far the parser has called itself; the function it returns counts back.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		unsupported(p.peek().position, "a statement nested more than %d deep", maxDepth)
	}
	return func() { p.depth-- }
}

// name takes a name. Labels may be any word.
func (p *parser) name(label bool) string {
	t := p.peek()
	if t.kind == quoted || t.kind == word && (label || !reserved(t.text)) {
		p.next++
		return t.text
	}
	p.unexpected()
	return ""
}

func (p *parser) names() []string {
	p.expect("(")
	out := []string{p.name(false)}
	for p.accept(",") {
		out = append(out, p.name(false))
	}
	p.expect(")")
	return out
}

func (p *parser) query() *query {
	defer p.deeper()()
	q := &query{}
	if p.accept("with") {
		q.recursive = p.accept("recursive")
		for {
			c := commonTable{position: p.peek().position, name: p.name(false)}
			if p.is("(") {
				c.columns = p.names()
			}
			p.expect("as")
			_ = p.accept("materialized") || p.accept("not", "materialized")
			p.expect("(")
			c.query = p.query()
			p.expect(")")
			p.seen.with[c.name] = true
			if q.with = append(q.with, c); !p.accept(",") {
				break
			}
		}
	}
	q.body = p.combination(0)
	if p.accept("order", "by") {
		q.order = p.sortKeys()
	}
	for {
		switch {
		case p.accept("limit"):
			if !p.accept("all") {
				q.limit = p.expression()
			}
		case p.accept("offset"):
			q.offset = p.expression()
			_ = p.accept("rows") || p.accept("row")
		case p.accept("fetch"):
			if !p.accept("first") {
				p.expect("next")
			}
			q.limit = node(constant{position(p.peek().position), int64(1)})
			if !p.is("row") && !p.is("rows") {
				q.limit = p.primary()
			}
			if !p.accept("rows") {
				p.expect("row")
			}
			p.expect("only")
		case p.is("for"):
			unsupported(p.peek().position, "SELECT … FOR")
		default:
			return q
		}
	}
}

// combination reads SELECTs between UNION, EXCEPT and INTERSECT, which binds tighter.
func (p *parser) combination(tight int) body {
	var left body
	if tight == 0 {
		left = p.combination(1)
	} else {
		left = p.single()
	}
	for {
		t := p.peek()
		if t.kind != word || tight == 0 && t.text != "union" && t.text != "except" || tight == 1 && t.text != "intersect" {
			return left
		}
		p.next++
		c := &combination{operator: t.text, left: left, position: t.position, all: p.accept("all")}
		if !c.all {
			p.accept("distinct")
		}
		if tight == 0 {
			c.right = p.combination(1)
		} else {
			c.right = p.single()
		}
		left = c
	}
}

func (p *parser) single() body {
	t := p.peek()
	switch {
	case p.accept("("):
		q := p.query()
		p.expect(")")
		return q
	case p.accept("values"):
		v := values{position: t.position}
		for {
			p.expect("(")
			v.rows = append(v.rows, p.expressions())
			p.expect(")")
			if !p.accept(",") {
				return v
			}
		}
	case p.accept("table"):
		return &selection{items: []item{{node: star{position: position(t.position)}}}, from: []fromItem{p.table()}, position: t.position}
	}
	p.expect("select")
	return p.selection(t.position)
}

func (p *parser) selection(at int) *selection {
	s := &selection{position: at, windows: make(map[string]*window)}
	if p.accept("distinct") {
		if s.distinct = true; p.accept("on") {
			p.expect("(")
			s.distinctOn = p.expressions()
			p.expect(")")
		}
	} else {
		p.accept("all")
	}
	if !p.is("from") && p.peek().kind != end {
		s.items = p.items()
	}
	if p.is("into") {
		unsupported(p.peek().position, "SELECT INTO")
	}
	if p.accept("from") {
		s.from = append(s.from, p.fromItem())
		for p.accept(",") {
			s.from = append(s.from, p.fromItem())
		}
	}
	if p.accept("where") {
		s.where = p.expression()
	}
	if p.accept("group", "by") {
		s.group = p.expressions()
	}
	if p.accept("having") {
		s.having = p.expression()
	}
	for p.accept("window") || len(s.windows) > 0 && p.accept(",") {
		name := p.name(false)
		p.expect("as")
		s.windows[name] = p.window()
	}
	return s
}

func (p *parser) items() []item {
	var out []item
	for {
		it := item{node: p.itemNode()}
		if p.accept("as") {
			it.name = p.name(true)
		} else if t := p.peek(); t.kind == quoted || t.kind == word && !reserved(t.text) && !closed(t.text) {
			it.name = p.name(false)
		}
		if out = append(out, it); !p.accept(",") {
			return out
		}
	}
}

func (p *parser) itemNode() node {
	if t := p.peek(); p.accept("*") {
		return star{position: position(t.position)}
	}
	return p.expression()
}

func (p *parser) expressions() []node {
	out := []node{p.expression()}
	for p.accept(",") {
		out = append(out, p.expression())
	}
	return out
}

func (p *parser) sortKeys() []sortKey {
	var out []sortKey
	for {
		k := sortKey{node: p.expression()}
		if p.is("using") {
			unsupported(p.peek().position, "ORDER BY … USING")
		}
		if p.accept("desc") {
			k.desc, k.nullsFirst = true, true
		} else {
			p.accept("asc")
		}
		switch {
		case p.accept("nulls", "first"):
			k.nullsFirst = true
		case p.accept("nulls", "last"):
			k.nullsFirst = false
		}
		if out = append(out, k); !p.accept(",") {
			return out
		}
	}
}

func (p *parser) window() *window {
	w := &window{}
	p.expect("(")
	if t := p.peek(); t.kind == quoted || t.kind == word && !reserved(t.text) && t.text != "partition" {
		unsupported(t.position, "a window made of another, or with a frame,")
	}
	if p.accept("partition", "by") {
		w.partition = p.expressions()
	}
	if p.accept("order", "by") {
		w.order = p.sortKeys()
	}
	if !p.is(")") {
		unsupported(p.peek().position, "the frame of a window")
	}
	p.expect(")")
	return w
}

// fromItem reads an item of FROM with its joins.
func (p *parser) fromItem() fromItem {
	defer p.deeper()()
	left := p.table()
	for {
		j := &joined{kind: "inner", left: left, position: p.peek().position}
		j.natural = p.accept("natural")
		switch {
		case p.accept("cross"):
			p.expect("join")
			j.right = p.table()
			left = j
			continue
		case p.is("left"), p.is("right"), p.is("full"):
			j.kind = p.take().text
			p.accept("outer")
		case p.accept("inner"):
		case !p.is("join"):
			if j.natural {
				p.unexpected()
			}
			return left
		}
		p.expect("join")
		j.right = p.table()
		// a JOIN b JOIN c ON … ON …: the first ON belongs to the inner join.
		if !j.natural && !p.is("on") && !p.is("using") {
			j.right = p.nestedJoin(j.right)
		}
		switch {
		case j.natural:
		case p.accept("using"):
			j.using = p.names()
		default:
			p.expect("on")
			j.on = p.expression()
		}
		left = j
	}
}

func (p *parser) nestedJoin(left fromItem) fromItem {
	defer p.deeper()()
	j := &joined{kind: "inner", left: left, position: p.peek().position}
	if p.is("left") || p.is("right") || p.is("full") {
		j.kind = p.take().text
		p.accept("outer")
	} else {
		p.accept("inner")
	}
	p.expect("join")
	j.right = p.table()
	if !p.is("on") && !p.is("using") {
		j.right = p.nestedJoin(j.right)
	}
	if p.accept("using") {
		j.using = p.names()
	} else {
		p.expect("on")
		j.on = p.expression()
	}
	return j
}

func (p *parser) table() fromItem {
	defer p.deeper()()
	t := p.peek()
	p.accept("only")
	lateral := p.accept("lateral")
	if p.accept("(") {
		if p.startsQuery() {
			d := derived{query: p.query(), lateral: lateral, position: t.position}
			p.expect(")")
			d.alias = p.alias()
			return d
		}
		f := p.fromItem()
		p.expect(")")
		if a := p.alias(); a.name != "" {
			unsupported(t.position, "an alias of a join")
		}
		return f
	}
	if p.is("rows") && p.ahead(1).is("from") {
		unsupported(t.position, "ROWS FROM")
	}
	schema, name := "", ""
	if first := p.peek(); first.kind == word && special(first.text) {
		name = p.take().text
	} else {
		name = p.name(false)
	}
	for p.accept(".") {
		schema, name = name, p.name(true)
	}
	if p.is("(") || special(name) && schema == "" && t.kind == word {
		c := called{call: p.call(t.position, schema, name)}
		if p.accept("with") {
			p.expect("ordinality")
			c.ordinality = true
		}
		c.alias = p.alias()
		return c
	}
	if p.is("*") {
		p.next++
	}
	n := named{schema: schema, name: name, position: t.position, alias: p.alias()}
	if p.is("tablesample") {
		unsupported(p.peek().position, "TABLESAMPLE")
	}
	p.seen.tables = append(p.seen.tables, n)
	return n
}

// startsQuery reports whether SELECT, VALUES or WITH comes next, behind parentheses.
func (p *parser) startsQuery() bool {
	n := 0
	for p.ahead(n).is("(") {
		n++
	}
	t := p.ahead(n)
	return t.is("select") || t.is("values") || t.is("with") || t.is("table")
}

func (p *parser) alias() (a alias) {
	if p.accept("as") {
		if p.is("(") {
			unsupported(p.peek().position, "a list of column definitions")
		}
		a.name = p.name(true)
	} else if t := p.peek(); t.kind == quoted || t.kind == word && !reserved(t.text) {
		a.name = p.name(false)
	} else {
		return a
	}
	if p.is("(") {
		if t := p.ahead(2); t.kind == word || t.kind == quoted {
			unsupported(t.position, "a list of column definitions")
		}
		a.columns = p.names()
	}
	return a
}

// The levels of operators, from the loosest.
const (
	levelOr = iota
	levelAnd
	levelNot
	levelIs
	levelCompare
	levelLike
	levelOther
	levelAdd
	levelMultiply
	levelPower
	levelUnary
)

func precedence(operator string) int {
	switch operator {
	case "=", "<", ">", "<=", ">=", "<>", "!=":
		return levelCompare
	case "+", "-":
		return levelAdd
	case "*", "/", "%":
		return levelMultiply
	case "^":
		return levelPower
	}
	return levelOther
}

func (p *parser) expression() node { return p.above(levelOr) }

// above reads an expression whose operators bind as tight as the level, or tighter.
func (p *parser) above(least int) node {
	defer p.deeper()()
	t := p.peek()
	at := position(t.position)
	var left node
	switch {
	case least <= levelNot && p.accept("not"):
		left = logic{at, "not", []node{p.above(levelNot)}}
	case t.kind == operator && (t.text == "-" || t.text == "+"):
		p.next++
		left = negated(at, t.text, p.above(levelUnary))
	case t.kind == operator && t.text != "::" && precedence(t.text) == levelOther:
		p.next++
		left = operation{at, t.text, nil, p.above(levelOther + 1)}
	default:
		left = p.suffixed(p.primary())
	}
	for {
		more := p.infix(left, least)
		if more == nil {
			return left
		}
		left = more
	}
}

func negated(at position, sign string, n node) node {
	if sign == "+" {
		return n
	}
	if c, ok := n.(constant); ok {
		switch v := c.value.(type) {
		case int64:
			return constant{at, -v}
		case float64:
			return constant{at, -v}
		}
	}
	return operation{at, "-", nil, n}
}

// infix reads what follows a left operand, or nothing where the operator binds looser.
func (p *parser) infix(left node, least int) node {
	t := p.peek()
	at := position(t.position)
	if t.kind == word {
		return p.wordInfix(left, least, at)
	}
	if t.kind != operator {
		return nil
	}
	name := t.text
	l := precedence(name)
	if l < least {
		return nil
	}
	p.next++
	return p.operated(at, left, name, l)
}

// operated reads the right operand of an operator.
func (p *parser) operated(at position, left node, name string, l int) node {
	if name == "!=" {
		name = "<>"
	}
	if p.is("any") || p.is("some") || p.is("all") {
		q := quantified{position: at, node: left, operator: name, all: p.take().text == "all"}
		p.expect("(")
		if p.startsQuery() {
			q.query = p.query()
		} else {
			q.array = p.expression()
		}
		p.expect(")")
		return q
	}
	return operation{at, name, left, p.above(l + 1)}
}

func (p *parser) wordInfix(left node, least int, at position) node {
	not := p.is("not")
	t := p.peek()
	if not {
		t = p.ahead(1)
	}
	started := func(l int, words ...string) bool {
		if l < least {
			return false
		}
		if not {
			words = append([]string{"not"}, words...)
		}
		return p.accept(words...)
	}
	switch {
	case t.is("and") && !not && started(levelAnd, "and"):
		return joinedBy(at, "and", left, p.above(levelAnd+1))
	case t.is("or") && !not && started(levelOr, "or"):
		return joinedBy(at, "or", left, p.above(levelOr+1))
	case t.is("is") && !not && started(levelIs, "is"):
		return p.isTest(left, at)
	case t.is("isnull") && !not && started(levelIs, "isnull"):
		return test{at, left, "null", false}
	case t.is("notnull") && !not && started(levelIs, "notnull"):
		return test{at, left, "null", true}
	case t.is("operator") && !not && p.ahead(1).is("(") && started(levelOther, "operator"):
		return p.operated(at, left, p.operatorName(), levelOther)
	case t.is("collate") && !not && started(levelOther, "collate"):
		p.name(false)
		for p.accept(".") {
			p.name(true)
		}
		return left // every collation here is that of bytes
	case t.is("at") && !not && p.ahead(1).is("time"):
		unsupported(t.position, "AT TIME ZONE")
	case t.is("like") && started(levelLike, "like"):
		return p.like(at, left, "~~", not)
	case t.is("ilike") && started(levelLike, "ilike"):
		return p.like(at, left, "~~*", not)
	case t.is("similar") && levelLike >= least:
		unsupported(t.position, "SIMILAR TO")
	case t.is("between") && started(levelLike, "between"):
		p.accept("asymmetric")
		b := between{position: at, node: left, low: p.above(levelLike + 1), not: not}
		p.expect("and")
		b.high = p.above(levelLike + 1)
		return b
	case t.is("in") && started(levelLike, "in"):
		i := in{position: at, node: left, not: not}
		p.expect("(")
		if p.startsQuery() {
			i.query = p.query()
		} else {
			i.list = p.expressions()
		}
		p.expect(")")
		return i
	}
	return nil
}

// joinedBy flattens a AND b AND c, so that a long chain does not nest.
func joinedBy(at position, operator string, left, right node) node {
	if l, ok := left.(logic); ok && l.operator == operator {
		return logic{l.position, operator, append(l.operands, right)}
	}
	return logic{at, operator, []node{left, right}}
}

func (p *parser) like(at position, left node, operator string, not bool) node {
	if not {
		operator = "!" + operator
	}
	n := p.operated(at, left, operator, levelLike)
	if p.accept("escape") {
		if escape := p.take(); escape.kind != text || escape.text != `\` {
			unsupported(escape.position, "an ESCAPE other than a backslash")
		}
	}
	return n
}

func (p *parser) isTest(left node, at position) node {
	not := p.accept("not")
	t := p.take()
	switch {
	case t.is("null"), t.is("true"), t.is("false"), t.is("unknown"):
		return test{at, left, t.text, not}
	case t.is("distinct"):
		p.expect("from")
		return distinctFrom{at, left, p.above(levelIs + 1), not}
	}
	p.next--
	p.unexpected()
	return nil
}

// operatorName reads (pg_catalog.~) behind OPERATOR.
func (p *parser) operatorName() string {
	p.expect("(")
	if p.peek().kind == word {
		p.name(false)
		p.expect(".")
	}
	t := p.take()
	if t.kind != operator {
		p.next--
		p.unexpected()
	}
	p.expect(")")
	return t.text
}

// suffixed reads casts, subscripts and fields.
func (p *parser) suffixed(n node) node {
	for {
		t := p.peek()
		at := position(t.position)
		switch {
		case p.accept("::"):
			n = cast{at, n, p.typeName()}
		case p.accept("["):
			if p.is(":") {
				unsupported(t.position, "a slice of an array")
			}
			by := p.expression()
			if p.is(":") {
				unsupported(t.position, "a slice of an array")
			}
			p.expect("]")
			n = index{at, n, by}
		case p.is(".") && subscripted(n):
			p.next++
			if p.accept("*") {
				n = field{at, n, "*"}
			} else {
				n = field{at, n, p.name(true)}
			}
		default:
			return n
		}
	}
}

// subscripted reports whether .name behind the node is a field of a value: not of a column,
// which has taken its own dots, unless that is in parentheses.
func subscripted(n node) bool {
	_, ok := n.(enclosed)
	_, more := n.(field)
	_, sub := n.(index)
	return ok || more || sub
}

// enclosed is an expression in parentheses.
type enclosed struct{ node }

func (p *parser) primary() node {
	defer p.deeper()()
	t := p.peek()
	at := position(t.position)
	switch t.kind {
	case number:
		p.next++
		return numeric(t)
	case text:
		p.next++
		s := t.text
		for p.peek().kind == text && p.tokens[p.next-1].kind == text { // 'a' 'b' is one
			s += p.take().text
		}
		return constant{at, s}
	case parameter:
		p.next++
		n, err := strconv.Atoi(t.text)
		if err != nil || n < 1 || n > math.MaxInt16 {
			fail(sqlerr.New(sqlerr.Malformed, "there is no parameter $%s", t.text).At(t.position))
		}
		return argument{at, n}
	case mark:
		if p.is("(") {
			return p.parenthesis(at)
		}
	case quoted:
		return p.nameOrCall(at)
	case word:
		return p.wordPrimary(t, at)
	}
	p.unexpected()
	return nil
}

func numeric(t token) node {
	at := position(t.position)
	if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
		return constant{at, n}
	}
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		fail(sqlerr.New(sqlerr.Malformed, "%s is not a number that fits", t.text).At(t.position))
	}
	return constant{at, f}
}

func (p *parser) parenthesis(at position) node {
	p.next++
	if p.startsQuery() {
		q := p.query()
		p.expect(")")
		return enclosed{subquery{at, "scalar", q}}
	}
	list := p.expressions()
	p.expect(")")
	if len(list) > 1 {
		return enclosed{rowOf{at, list}}
	}
	return enclosed{list[0]}
}

func (p *parser) wordPrimary(t token, at position) node {
	switch t.text {
	case "null":
		p.next++
		return constant{at, nil}
	case "true", "false":
		p.next++
		return constant{at, t.text == "true"}
	case "case":
		p.next++
		return p.caseOf(at)
	case "cast":
		p.next++
		p.expect("(")
		c := cast{position: at, node: p.expression()}
		p.expect("as")
		c.target = p.typeName()
		p.expect(")")
		return c
	case "array":
		p.next++
		if p.accept("[") {
			return p.arrayItems(at)
		}
		p.expect("(")
		q := p.query()
		p.expect(")")
		return subquery{at, "array", q}
	case "exists":
		if p.ahead(1).is("(") {
			p.next += 2
			q := p.query()
			p.expect(")")
			return subquery{at, "exists", q}
		}
	case "row":
		if p.ahead(1).is("(") {
			p.next += 2
			r := rowOf{position: at}
			if !p.is(")") {
				r.items = p.expressions()
			}
			p.expect(")")
			return r
		}
	case "interval":
		if p.ahead(1).kind == text {
			unsupported(t.position, "an INTERVAL")
		}
	}
	if special(t.text) && !p.ahead(1).is(".") {
		p.next++
		if p.accept("(") {
			p.expect(")")
		}
		c := call{position: at, name: t.text}
		p.seen.calls = append(p.seen.calls, c)
		return c
	}
	if reserved(t.text) && t.text != "left" && t.text != "right" {
		p.unexpected()
	}
	return p.nameOrCall(at)
}

func (p *parser) arrayItems(at position) node {
	a := arrayOf{position: at}
	if !p.is("]") {
		for {
			if p.is("[") {
				unsupported(p.peek().position, "an array of arrays")
			}
			if a.items = append(a.items, p.expression()); !p.accept(",") {
				break
			}
		}
	}
	p.expect("]")
	return a
}

func (p *parser) caseOf(at position) node {
	c := caseOf{position: at}
	if !p.is("when") {
		c.operand = p.expression()
	}
	for p.accept("when") {
		c.when = append(c.when, p.expression())
		p.expect("then")
		c.then = append(c.then, p.expression())
	}
	if len(c.when) == 0 {
		p.unexpected()
	}
	if p.accept("else") {
		c.otherwise = p.expression()
	}
	p.expect("end")
	return c
}

// nameOrCall reads a column, a call, or a constant of a type: regclass 'pg_class'.
func (p *parser) nameOrCall(at position) node {
	first := p.take()
	parts := []string{first.text}
	for p.is(".") {
		p.next++
		if p.accept("*") {
			if len(parts) > 1 {
				unsupported(int(at), "a schema before a table's *")
			}
			return star{at, parts[0]}
		}
		parts = append(parts, p.name(true))
	}
	if len(parts) > 3 {
		unsupported(int(at), "a name of more than three parts")
	}
	last := parts[len(parts)-1]
	schema := strings.Join(parts[:len(parts)-1], ".")
	if p.is("(") {
		c := p.call(int(at), schema, last)
		return c
	}
	if p.peek().kind == text && typeNamed(last) != 0 {
		t := p.take()
		return cast{at, constant{position(t.position), t.text}, typeName{schema: schema, name: last, position: int(at)}}
	}
	if first.kind == word && len(parts) == 1 && (last == "left" || last == "right") {
		p.next--
		p.unexpected()
	}
	return column{at, parts}
}

func (p *parser) call(at int, schema, name string) call {
	c := call{position: position(at), schema: schema, name: name}
	p.seen.calls = append(p.seen.calls, c)
	if special(name) && !p.is("(") {
		return c
	}
	p.expect("(")
	if schema == "" || schema == "pg_catalog" {
		switch name {
		case "extract", "position", "trim", "overlay", "substring":
			if p.oddArguments(&c) {
				p.expect(")")
				return p.callSuffix(c)
			}
		}
	}
	if p.accept("*") {
		c.star = true
	} else if !p.is(")") {
		if p.accept("distinct") {
			c.distinct = true
		} else {
			p.accept("all")
		}
		for {
			if p.is("variadic") {
				unsupported(p.peek().position, "VARIADIC")
			}
			if t := p.ahead(1); t.is("=>") || t.is(":=") {
				unsupported(t.position, "an argument by name")
			}
			if c.args = append(c.args, p.expression()); !p.accept(",") {
				break
			}
		}
		if p.accept("order", "by") {
			c.order = p.sortKeys()
		}
	}
	p.expect(")")
	return p.callSuffix(c)
}

func (p *parser) callSuffix(c call) call {
	if p.is("within") {
		unsupported(p.peek().position, "WITHIN GROUP")
	}
	if p.is("filter") && p.ahead(1).is("(") {
		p.expect("filter", "(", "where")
		c.filter = p.expression()
		p.expect(")")
	}
	if p.accept("over") {
		if p.is("(") {
			c.over = p.window()
		} else {
			c.over = &window{name: p.name(false)}
		}
	}
	return c
}

// oddArguments reads arguments that have words between them: EXTRACT(x FROM y),
// TRIM(BOTH x FROM y), SUBSTRING(x FROM y FOR z), POSITION(x IN y).
func (p *parser) oddArguments(c *call) bool {
	at := position(p.peek().position)
	switch c.name {
	case "extract":
		unit := p.take()
		p.expect("from")
		c.args = []node{constant{at, unit.text}, p.expression()}
		return true
	case "position":
		needle := p.above(levelOther)
		p.expect("in")
		c.args = []node{p.above(levelOther), needle}
		return true
	case "overlay":
		unsupported(int(at), "OVERLAY")
	case "trim":
		names := map[string]string{"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}
		c.name = "btrim"
		if t := p.peek(); t.kind == word && names[t.text] != "" {
			c.name = names[p.take().text]
		}
		if p.accept("from") {
			c.args = p.expressions()
			return true
		}
		c.args = p.expressions()
		if p.accept("from") {
			c.args = append(p.expressions(), c.args...)
		}
		return true
	case "substring":
		c.args = p.expressions()
		if p.accept("from") {
			c.args = append(c.args, p.expression())
		}
		if p.accept("for") {
			if len(c.args) == 1 {
				c.args = append(c.args, constant{at, int64(1)})
			}
			c.args = append(c.args, p.expression())
		}
		return true
	}
	return false
}

// typeName reads the name of a type, as in a cast.
func (p *parser) typeName() typeName {
	t := p.peek()
	p.seen.casts++
	out := typeName{position: t.position, name: p.name(true)}
	for p.accept(".") {
		out.schema, out.name = out.name, p.name(true)
	}
	if t.kind == quoted && out.name == "char" {
		out.name = `"char"`
	}
	switch out.name {
	case "double":
		p.expect("precision")
		out.name = "float8"
	case "character", "bit":
		if p.accept("varying") {
			out.name = "varchar"
		}
	case "interval":
	}
	if p.accept("(") {
		out.modifiers = p.expressions()
		p.expect(")")
	}
	if slices.Contains([]string{"time", "timestamp"}, out.name) {
		if p.accept("with", "time", "zone") {
			out.name += "tz"
		} else {
			p.accept("without", "time", "zone")
		}
	}
	for p.accept("[") {
		if p.peek().kind == number {
			p.next++
		}
		p.expect("]")
		out.array = true
	}
	if p.accept("array") {
		out.array = true
	}
	return out
}
