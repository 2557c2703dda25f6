package definition

import (
	"slices"
	"strings"
)

// maxDepth bounds the nesting of a definition.
const maxDepth = 200

// ParseView reads the text of a CREATE VIEW. An error means that it is not
// understood.
func ParseView(text string) (View, error) {
	tokens, err := scan(text)
	if err != nil {
		return View{}, err
	}
	p := &parser{tokens: tokens, comments: strings.Contains(text, "--") || strings.Contains(text, "/*")}
	p.expect("CREATE")
	p.expect("VIEW")
	p.name()
	v := View{Columns: p.names()}
	p.expect("AS")
	v.Select = p.query()
	if p.failed || p.at < len(p.tokens) {
		return View{}, errText
	}
	return v, nil
}

// parser reads tokens. When it meets something that it does not understand, it sets
// failed and behaves as if at the end of the text.
type parser struct {
	tokens []token
	at     int
	depth  int
	failed bool

	comments bool // the text may have comments
}

func (p *parser) fail() {
	p.failed = true
	p.at = len(p.tokens)
}

// peek returns the token that is ahead tokens away, without passing it.
func (p *parser) peek(ahead int) token {
	if p.at+ahead < len(p.tokens) {
		return p.tokens[p.at+ahead]
	}
	return token{}
}

// sees reports whether the next tokens are these words or signs.
func (p *parser) sees(these ...string) bool {
	for i, s := range these {
		t := p.peek(i)
		if t.kind != word && t.kind != sign || len(t.text) != len(s) || !strings.EqualFold(t.text, s) { // folds ASCII only; EqualFold alone would fold ſ to s
			return false
		}
	}
	return true
}

// takes passes the words or signs and returns true, if they are next.
func (p *parser) takes(these ...string) bool {
	if !p.sees(these...) {
		return false
	}
	p.at += len(these)
	return true
}

// takesOne passes one of the words or signs and returns it, or returns "" if none is
// next.
func (p *parser) takesOne(these ...string) string {
	for _, s := range these {
		if p.takes(s) {
			return s
		}
	}
	return ""
}

func (p *parser) expect(s string) {
	if !p.takes(s) {
		p.fail()
	}
}

// isName reports whether the next token is a name.
func (p *parser) isName() bool {
	t := p.peek(0)
	return t.kind == name || t.kind == word && !isKeyword(t.text)
}

// name passes a name. It refuses an empty name, which the tree could not tell from
// none.
func (p *parser) name() string {
	if !p.isName() || p.peek(0).text == "" {
		p.fail()
		return ""
	}
	p.at++
	return p.tokens[p.at-1].text
}

// names reads a list of names in parentheses, if one is next.
func (p *parser) names() []string {
	if !p.takes("(") {
		return nil
	}
	out := list(p, p.name)
	p.expect(")")
	return out
}

// list reads items separated by commas.
func list[T any](p *parser, one func() T) []T {
	out := []T{one()}
	for p.takes(",") {
		out = append(out, one())
	}
	return out
}

// deeper enters a level of nesting. The function that it returns leaves it.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		p.fail()
	}
	return func() { p.depth-- }
}

// query reads a SELECT with its WITH, ORDER BY and LIMIT.
func (p *parser) query() *Select {
	defer p.deeper()()
	s := &Select{}
	if p.takes("WITH") {
		p.takes("RECURSIVE") // the word changes nothing: a name is recursive if its own body uses it
		s.With = list(p, p.cte)
	}
	s.Cores = []*Core{p.core()}
	for {
		operator := p.takesOne("UNION", "INTERSECT", "EXCEPT")
		if operator == "" {
			break
		}
		if operator == "UNION" && p.takes("ALL") {
			operator = "UNION ALL"
		}
		s.Operators = append(s.Operators, operator)
		s.Cores = append(s.Cores, p.core())
	}
	if p.takes("ORDER", "BY") {
		s.OrderBy = list(p, p.orderTerm)
	}
	if p.takes("LIMIT") {
		s.Limited = true
		p.constant()
		if p.takesOne("OFFSET", ",") != "" {
			p.constant()
		}
	}
	return s
}

// constant passes a number. A LIMIT that is computed would read more, so it is refused.
func (p *parser) constant() {
	p.takes("-")
	if p.peek(0).kind != literal {
		p.fail()
		return
	}
	p.at++
}

func (p *parser) orderTerm() *Expr {
	e := p.expr()
	p.takesOne("ASC", "DESC")
	if p.takes("NULLS") && !p.takes("FIRST") && !p.takes("LAST") {
		p.fail()
	}
	return e
}

func (p *parser) cte() CTE {
	c := CTE{Name: p.name(), Columns: p.names()}
	p.expect("AS")
	if p.takes("NOT") {
		p.expect("MATERIALIZED")
	} else {
		p.takes("MATERIALIZED")
	}
	p.expect("(")
	c.Select = p.query()
	p.expect(")")
	return c
}

func (p *parser) core() *Core {
	c := &Core{}
	p.expect("SELECT")
	if c.Distinct = p.takes("DISTINCT"); !c.Distinct {
		p.takes("ALL")
	}
	c.Columns = list(p, p.column)
	if p.takes("FROM") {
		c.From = p.from()
	}
	if p.takes("WHERE") {
		c.Where = p.expr()
	}
	if p.takes("GROUP", "BY") {
		c.GroupBy = list(p, p.expr)
	}
	if p.takes("HAVING") {
		c.Having = p.expr()
	}
	return c
}

func (p *parser) column() Column {
	if p.takes("*") {
		return Column{}
	}
	if p.isName() && p.peek(1) == (token{kind: sign, text: "."}) && p.peek(2) == (token{kind: sign, text: "*"}) {
		table := p.name()
		p.at += 2
		return Column{Table: table}
	}
	return Column{Expr: p.expr(), Alias: p.alias()}
}

// alias reads an alias, with AS or without. It returns "" if there is none.
func (p *parser) alias() string {
	if p.takes("AS") || p.isName() {
		return p.name()
	}
	return ""
}

// from reads tables and their joins. Joins bind from left to right.
func (p *parser) from() *From {
	f := p.table()
	for {
		j := &From{Left: f}
		if !p.operator(j) {
			return f
		}
		j.Right = p.table()
		if p.takes("ON") {
			j.On = p.expr()
		} else if p.takes("USING") {
			if j.Using = p.names(); j.Using == nil {
				p.fail()
			}
		}
		f = j
	}
}

// operator passes the operator that joins two tables. It returns false if there is
// none.
func (p *parser) operator(j *From) bool {
	if p.takes(",") {
		return true
	}
	start := p.at
	j.Natural = p.takes("NATURAL")
	if p.takes("LEFT") {
		j.Outer = true
		p.takes("OUTER")
	} else {
		p.takesOne("INNER", "CROSS")
	}
	if p.takes("JOIN") {
		return true
	}
	if p.at > start {
		p.fail()
	}
	return false
}

// table reads one side of a join. A join in parentheses must not have an alias.
func (p *parser) table() *From {
	defer p.deeper()()
	if p.takes("(") {
		var f *From
		if p.sees("SELECT") || p.sees("WITH") {
			f = &From{Select: p.query()}
			p.expect(")")
			f.Alias = p.alias()
		} else {
			f = p.from()
			p.expect(")")
		}
		return f
	}
	f := &From{Table: p.name()}
	if p.takes(".") {
		if !strings.EqualFold(f.Table, "main") {
			p.fail()
		}
		f.Table, f.Main = p.name(), true
	}
	if f.Alias = p.alias(); f.Alias == "" {
		f.Alias = f.Table
	}
	return f
}

// Collations returns the collations of the columns of a table, by folded name, from the
// text of CREATE TABLE. Columns with BINARY are left out. It returns false if it does
// not understand the text.
func Collations(createTable string, fold func(string) string) (map[string]string, bool) {
	tokens, err := scan(createTable)
	start := slices.Index(tokens, token{kind: sign, text: "("})
	if err != nil || start < 0 {
		return nil, false
	}
	out := make(map[string]string)
	depth, column := 0, ""
	for i, t := range tokens[start:] {
		at := start + i
		switch {
		case t == token{kind: sign, text: ")"}:
			depth--
		case t == token{kind: sign, text: "("}:
			depth++
		}
		first := t == token{kind: sign, text: "("} || t == token{kind: sign, text: ","}
		if depth == 1 && first && at+1 < len(tokens) {
			column = fold(tokens[at+1].text)
		}
		if depth == 1 && t.kind == word && strings.EqualFold(t.text, "COLLATE") {
			if at+1 == len(tokens) {
				return nil, false
			}
			out[column] = strings.ToUpper(tokens[at+1].text)
		}
	}
	return out, true
}
