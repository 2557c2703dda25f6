package pgcatalog

import (
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
