package pgcatalog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

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
