package definition

import "strings"

// levels lists the operators that bind alike, each line tighter than the one before.
// Comparisons with = and AND, OR and NOT bind more loosely than all of these.
var levels = [][]string{
	{"<=", "<", ">=", ">"},
	{"&", "|", "<<", ">>"},
	{"+", "-"},
	{"*", "/", "%"},
	{"||", "->>", "->"},
}

func (p *parser) expr() *Expr {
	defer p.deeper()()
	left := p.and()
	for p.takes("OR") {
		left = &Expr{Name: "OR", Args: []*Expr{left, p.and()}}
	}
	return left
}

func (p *parser) and() *Expr {
	left := p.not()
	for p.takes("AND") {
		left = &Expr{Kind: And, Args: []*Expr{left, p.not()}}
	}
	return left
}

func (p *parser) not() *Expr {
	negated := false
	for p.takes("NOT") {
		negated = true
	}
	e := p.equality()
	if negated {
		e = &Expr{Name: "NOT", Args: []*Expr{e}}
	}
	return e
}

// equality reads =, IS, IN, LIKE, BETWEEN and the like. They bind alike, from left to
// right.
func (p *parser) equality() *Expr {
	left := p.binary(0)
	for !p.failed {
		switch {
		case p.takesOne("=", "==") != "":
			left = &Expr{Kind: Equal, Args: []*Expr{left, p.binary(0)}}
			continue
		case p.takesOne("<>", "!=") != "":
			left = &Expr{Name: "<>", Args: []*Expr{left, p.binary(0)}}
			continue
		case p.takes("IS"):
			operator := "IS"
			if p.takes("NOT") {
				operator += " NOT"
			}
			if p.takes("DISTINCT") {
				operator += " DISTINCT"
				p.expect("FROM")
			}
			left = &Expr{Name: operator, Args: []*Expr{left, p.binary(0)}}
			continue
		case p.takes("ISNULL"):
			left = &Expr{Name: "ISNULL", Args: []*Expr{left}}
			continue
		case p.takes("NOTNULL"), p.takes("NOT", "NULL"):
			left = &Expr{Name: "NOTNULL", Args: []*Expr{left}}
			continue
		}
		negated, not := p.takes("NOT"), ""
		if negated {
			not = "NOT "
		}
		switch operator := p.takesOne("LIKE", "GLOB"); {
		case operator != "":
			left = &Expr{Name: not + operator, Args: []*Expr{left, p.binary(0)}}
			if p.takes("ESCAPE") {
				left.Args = append(left.Args, p.binary(0))
			}
		case p.takes("BETWEEN"):
			low := p.binary(0)
			p.expect("AND")
			left = &Expr{Name: not + "BETWEEN", Args: []*Expr{left, low, p.binary(0)}}
		case p.takes("IN"):
			left = &Expr{Name: not + "IN", Args: append([]*Expr{left}, p.members()...)}
		case negated:
			p.fail()
		default:
			return left
		}
	}
	return left
}

// members reads the list of an IN.
func (p *parser) members() []*Expr {
	p.expect("(")
	if p.takes(")") {
		return nil
	}
	var out []*Expr
	if p.sees("SELECT") || p.sees("WITH") {
		out = []*Expr{{Kind: Query, Select: p.query()}}
	} else {
		out = list(p, p.expr)
	}
	p.expect(")")
	return out
}

func (p *parser) binary(level int) *Expr {
	if level == len(levels) {
		return p.collated()
	}
	left := p.binary(level + 1)
	for {
		operator := p.takesOne(levels[level]...)
		if operator == "" {
			return left
		}
		left = &Expr{Name: operator, Args: []*Expr{left, p.binary(level + 1)}}
	}
}

func (p *parser) collated() *Expr {
	e := p.unary()
	for p.takes("COLLATE") {
		e = &Expr{Kind: Collate, Name: strings.ToUpper(p.name()), Args: []*Expr{e}}
	}
	return e
}

func (p *parser) unary() *Expr {
	if operator := p.takesOne("-", "+", "~"); operator != "" {
		defer p.deeper()()
		return &Expr{Name: operator, Args: []*Expr{p.unary()}}
	}
	return p.primary()
}

func (p *parser) primary() *Expr {
	switch t := p.peek(0); {
	case t.kind == literal:
		p.at++
		return &Expr{Kind: Literal, Name: t.text}
	case t.kind == text:
		p.at++
		return &Expr{Kind: Literal, Name: "'" + t.text}
	case p.takes("NULL"):
		return &Expr{Kind: Literal, Name: "NULL"}
	case p.takes("("):
		return p.parenthesis()
	case p.takes("CASE"):
		return p.caseOf()
	case p.takes("CAST"):
		return p.cast()
	case p.takes("EXISTS"):
		p.expect("(")
		e := &Expr{Kind: Query, Name: "EXISTS", Select: p.query()}
		p.expect(")")
		return e
	case p.isName() && p.peek(1) == token{kind: sign, text: "("}:
		return p.call()
	}
	return p.ref()
}

func (p *parser) ref() *Expr {
	e := &Expr{Kind: Ref, Quoted: p.peek(0).double, Name: p.name()}
	if p.takes(".") {
		e.Table, e.Name, e.Quoted = e.Name, p.name(), false
	}
	return e
}

// parenthesis reads what is in parentheses: an expression, a SELECT, or several values.
func (p *parser) parenthesis() *Expr {
	var e *Expr
	if p.sees("SELECT") || p.sees("WITH") {
		e = &Expr{Kind: Query, Select: p.query()}
	} else if all := list(p, p.expr); len(all) == 1 {
		e = all[0]
	} else {
		e = &Expr{Args: all}
	}
	p.expect(")")
	return e
}

func (p *parser) caseOf() *Expr {
	defer p.deeper()()
	e := &Expr{Name: "CASE"}
	if !p.sees("WHEN") {
		e.Name = "CASE OF"
		e.Args = append(e.Args, p.expr())
	}
	for p.takes("WHEN") {
		e.Args = append(e.Args, p.expr())
		p.expect("THEN")
		e.Args = append(e.Args, p.expr())
	}
	if p.takes("ELSE") {
		e.Name += " ELSE"
		e.Args = append(e.Args, p.expr())
	}
	p.expect("END")
	return e
}

func (p *parser) cast() *Expr {
	p.expect("(")
	e := &Expr{Kind: Cast, Args: []*Expr{p.expr()}}
	p.expect("AS")
	var words []string
	plain := !p.comments // SQLite takes a comment within a type for a part of it
	for p.isName() {
		plain = plain && p.peek(0).kind == word // SQLite drops the rest of a type that begins with a quoted name
		words = append(words, p.name())
	}
	if p.takes("(") { // VARCHAR(10): lengths change nothing
		list(p, func() int { p.constant(); return 0 })
		p.expect(")")
	}
	if plain {
		e.Name = strings.Join(words, " ")
	}
	p.expect(")")
	return e
}

func (p *parser) call() *Expr {
	e := &Expr{Kind: Call, Name: strings.ToLower(p.name())}
	p.expect("(")
	if !p.takes("*") && !p.sees(")") {
		e.Distinct = p.takes("DISTINCT")
		e.Args = list(p, p.expr)
	}
	p.expect(")")
	if p.takes("FILTER") {
		p.expect("(")
		p.expect("WHERE")
		e.Filter = p.expr()
		p.expect(")")
	}
	if p.takes("OVER") {
		e.Over = p.window()
	}
	return e
}

// window reads a window. It keeps only the parts that divide the rows. A frame of ROWS is refused:
// among rows that ORDER BY takes for equal, storage would decide which are in it.
func (p *parser) window() *Over {
	o := &Over{}
	p.expect("(")
	if p.takes("PARTITION", "BY") {
		o.Partition = list(p, p.expr)
	}
	if p.takes("ORDER", "BY") {
		o.OrderBy = list(p, p.orderTerm)
	}
	for p.peek(0).kind == literal || p.takesOne("RANGE", "GROUPS", "BETWEEN", "UNBOUNDED", "PRECEDING", "FOLLOWING",
		"CURRENT", "ROW", "AND", "EXCLUDE", "NO", "OTHERS", "GROUP", "TIES") != "" {
		if p.peek(0).kind == literal {
			p.at++
		}
	}
	p.expect(")")
	return o
}
