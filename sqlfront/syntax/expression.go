package syntax

import "slices"

// powers says how tight an operator binds, looser ones first, in SQLite with the forms of other
// systems, and in PostgreSQL; 0 where there is none.
var powers = map[string][2]int8{
	"OR":  {1, 1},
	"AND": {2, 2},
	"NOT": {3, 3},

	"IS": {4, 4}, "ISNULL": {4, 4}, "NOTNULL": {4, 4},
	"=": {4, 5}, "==": {4, 0}, "<>": {4, 5}, "!=": {4, 5},
	"<": {5, 5}, "<=": {5, 5}, ">": {5, 5}, ">=": {5, 5},
	"IN": {4, 6}, "LIKE": {4, 6}, "ILIKE": {4, 6}, "BETWEEN": {4, 6}, "SIMILAR": {4, 6},
	"GLOB": {4, 0}, "REGEXP": {4, 0}, "MATCH": {4, 0},
	"~": {4, otherPower}, "OPERATOR": {0, otherPower},

	"&": {7, otherPower}, "|": {7, otherPower}, "<<": {7, otherPower}, ">>": {7, otherPower},
	"+": {8, 8}, "-": {8, 8},
	"*": {9, 9}, "/": {9, 9}, "%": {9, 9},
	"||": {10, otherPower}, "->": {10, otherPower}, "->>": {10, otherPower}, "^": {0, 10},
	"AT":      {11, 11},
	"COLLATE": {12, 12},
	"::":      {14, 14}, "[": {15, 15}, ".": {0, 16},
}

const (
	otherPower  = 7  // of PostgreSQL's other operators
	prefixPower = 13 // of a sign before an operand
)

// power returns how tight the next token binds as an operator behind an operand; 0 for none.
func (p *queryParser) power() int {
	t := p.peek()
	if t.Kind != KindOperator && t.Kind != KindWord {
		return 0
	}
	if t.Kind == KindOperator {
		if pair, ok := powers[t.Text]; ok {
			return int(pair[p.dialect])
		}
		if p.dialect == Postgres && isSign(rune(t.Text[0])) {
			return otherPower
		}
		return 0
	}
	power := int(powers[t.Upper][p.dialect])
	if power == 0 {
		return 0
	}
	next := p.after(1)
	switch t.Upper {
	case "NOT":
		if next.Kind == KindWord && negatable[next.Upper] {
			return int(powers[next.Upper][p.dialect])
		}
		if next.Matches("NULL") && p.dialect == Native {
			return int(powers["NOTNULL"][Native])
		}
		return 0
	case "AT":
		if !next.Matches("TIME") {
			return 0
		}
	case "OPERATOR":
		if !next.Matches("(") {
			return 0
		}
	case "GLOB", "REGEXP", "MATCH", "ILIKE", "SIMILAR":
		if p.dialect == Native && !next.startsOperand() && !next.Matches("NOT") && !next.Matches("EXISTS") {
			return 0
		}
	}
	return power
}

// negatable are the operators that NOT can stand before.
var negatable = words("IN LIKE ILIKE BETWEEN SIMILAR GLOB REGEXP MATCH")

// comparing is the power of comparisons: what binds tighter can stand between BETWEEN and AND.
func (p *queryParser) comparing() int { return int(powers["BETWEEN"][p.dialect]) }

func (p *queryParser) exprs() (list []Expr) {
	for more := true; more; more = p.accept(",") {
		list = append(list, p.expr(0))
	}
	return list
}

// list reads expressions up to what closes them, which it consumes. There may be none.
func (p *queryParser) list(closing string) []Expr {
	if p.accept(closing) {
		return nil
	}
	list := p.exprs()
	p.expect(closing)
	return list
}

// expr reads an expression whose operators bind tighter than least.
func (p *queryParser) expr(least int) Expr {
	p.enter()
	defer p.leave()
	from := p.peek().Position
	x := p.prefixed()
	for {
		power := p.power()
		if power <= least {
			return x
		}
		y := p.infix(from, x, power)
		if y == nil {
			return x
		}
		x = y
	}
}

// prefixed reads an operand with the operators before it.
func (p *queryParser) prefixed() Expr {
	t := p.peek()
	least := 0
	switch {
	case t.Matches("NOT"):
		least = int(powers["NOT"][p.dialect]) - 1
	case t.Matches("-"), t.Matches("+"), t.Matches("~") && p.dialect == Native:
		least = prefixPower - 1
	case p.dialect == Postgres && t.Kind == KindOperator && isSign(rune(t.Text[0])) && p.power() == otherPower:
		least = otherPower
	default:
		return p.primary()
	}
	p.next()
	u := &Unary{Op: operatorOf(t), X: p.expr(least)}
	u.span = p.since(t.Position)
	return u
}

// operatorOf returns an operator as a tree has it.
func operatorOf(t *Token) string {
	if t.Kind == KindWord {
		return t.Upper
	}
	return t.Text
}

// infix reads an operator of a power behind x, which begins at a position, and its operand. It
// returns nil if what comes next is no operator of x.
func (p *queryParser) infix(from int, x Expr, power int) Expr {
	if p.is(".") && !p.hasFields(x) {
		return nil
	}
	t := p.next()
	switch t.Text {
	case "::":
		if !p.isName() && p.dialect == Native {
			p.halfCast(t)
		}
		c := &Cast{X: x, Type: p.typeName(), Operator: t.Position}
		c.span = p.since(from)
		return c
	case "[":
		return p.index(from, x, t.Position)
	case ".":
		f := &Field{X: x, Operator: t.Position}
		if !p.accept("*") {
			f.Name = p.label()
		}
		f.span = p.since(from)
		return f
	}
	if t.Kind == KindWord {
		return p.wordInfix(from, x, t, power)
	}
	op := t.Text
	if op == "~" && p.dialect == Native && p.accept("*") {
		op = "~*"
	}
	return p.operation(from, x, op, t.Position, power)
}

// halfCast refuses a :: without a value or a type.
func (p *queryParser) halfCast(t *Token) {
	p.formed = true
	panic(t.Malformed("a value stands before :: and a type behind it").WithHint("CAST(value AS type) is the same"))
}

// hasFields reports whether a point behind an expression asks for a field of its value.
func (p *queryParser) hasFields(x Expr) bool {
	switch x.(type) {
	case *Paren, *Field, *Index, *Subquery, *Tuple:
		return true
	}
	return false
}

func (p *queryParser) index(from int, x Expr, at int) Expr {
	i := &Index{X: x, Operator: at}
	if !p.is(":") {
		i.I = p.expr(0)
	}
	if i.Slice = p.accept(":"); i.Slice && !p.is("]") {
		i.J = p.expr(0)
	}
	p.expect("]")
	i.span = p.since(from)
	return i
}

// operation reads the right operand of an operator.
func (p *queryParser) operation(from int, x Expr, op string, at, power int) Expr {
	b := &Binary{Op: op, X: x, Operator: at}
	p.operand(b, power)
	b.span = p.since(from)
	return b
}

// operand reads the right operand of b, with ANY or ALL before it.
func (p *queryParser) operand(b *Binary, power int) {
	if p.isOne("ANY", "SOME", "ALL") && p.after(1).Matches("(") {
		if b.Quantifier = p.next().Upper; b.Quantifier == "SOME" {
			b.Quantifier = "ANY"
		}
		if p.selects(1) {
			b.Y = p.parenthesis()
			return
		}
		from := p.next().Position
		x := p.expr(0)
		p.expect(")")
		b.Y = &Paren{p.since(from), x}
		return
	}
	b.Y = p.expr(power)
}

// wordInfix reads what the word t, which is consumed, begins behind x.
func (p *queryParser) wordInfix(from int, x Expr, t *Token, power int) Expr {
	at, not := t.Position, t.Upper == "NOT"
	if not {
		if p.accept("NULL") {
			return &Test{span: p.since(from), X: x, Is: "NULL", Not: true, Operator: at}
		}
		t = p.next()
	}
	switch t.Upper {
	case "ISNULL", "NOTNULL":
		return &Test{span: p.since(from), X: x, Is: "NULL", Not: t.Upper == "NOTNULL", Operator: at}
	case "IS":
		return p.isTest(from, x, at, power)
	case "BETWEEN":
		return p.between(from, x, at, not, power)
	case "IN":
		return p.in(from, x, at, not)
	case "COLLATE":
		c := &Collate{X: x, Name: p.path()}
		c.span = p.since(from)
		return c
	case "AT":
		p.expect("TIME", "ZONE")
		z := &AtZone{X: x, Zone: p.expr(power), Operator: at}
		z.span = p.since(from)
		return z
	case "OPERATOR":
		return p.operation(from, x, p.operatorName(), at, power)
	case "AND", "OR":
		return p.operation(from, x, t.Upper, at, power)
	case "SIMILAR":
		p.expect("TO")
	}
	b := &Binary{Op: t.Upper, Not: not, X: x, Operator: at}
	if b.Op == "SIMILAR" {
		b.Op = "SIMILAR TO"
	}
	p.operand(b, power)
	if p.accept("ESCAPE") {
		b.Escape = p.expr(power)
	}
	b.span = p.since(from)
	return b
}

func (p *queryParser) isTest(from int, x Expr, at, power int) Expr {
	not := p.accept("NOT")
	if p.accept("DISTINCT", "FROM") {
		b := &Binary{Op: "IS DISTINCT FROM", Not: not, X: x, Y: p.expr(power), Operator: at}
		b.span = p.since(from)
		return b
	}
	if p.isOne("NULL", "TRUE", "FALSE", "UNKNOWN") {
		word := p.next().Upper
		value := word == "UNKNOWN" || p.power() > power // as in x IS TRUE + 1
		if p.dialect == Postgres || !value {
			return &Test{span: p.since(from), X: x, Is: word, Not: not, Operator: at}
		}
		p.pos--
	}
	if p.dialect == Postgres {
		p.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
	}
	b := &Binary{Op: "IS", Not: not, X: x, Y: p.expr(power), Operator: at}
	b.span = p.since(from)
	return b
}

func (p *queryParser) between(from int, x Expr, at int, not bool, power int) Expr {
	b := &Between{X: x, Not: not, Operator: at}
	if p.dialect == Postgres || p.after(1).startsOperand() { // else a column has the name
		if b.Symmetric = p.accept("SYMMETRIC"); !b.Symmetric {
			p.accept("ASYMMETRIC")
		}
	}
	b.Low = p.expr(power)
	p.expect("AND")
	b.High = p.expr(power)
	b.span = p.since(from)
	return b
}

func (p *queryParser) in(from int, x Expr, at int, not bool) Expr {
	i := &In{X: x, Not: not, Operator: at}
	switch {
	case p.is("(") && p.selects(1):
		i.Set = p.parenthesis()
		if paren, ok := i.Set.(*Paren); ok { // x IN ((SELECT …) + 1)
			i.Set = &Tuple{span: paren.span, Items: []Expr{paren.X}}
		}
	case p.is("("):
		i.Set = p.filled()
	case p.dialect == Native && p.isName():
		c := &Column{Path: p.path()}
		c.span = p.since(c.Path[0].from)
		i.Set = c
	default:
		p.unexpected("(")
	}
	i.span = p.since(from)
	return i
}

// operatorName reads (schema.operator) behind OPERATOR.
func (p *queryParser) operatorName() string {
	p.expect("(")
	for p.peek().Kind == KindWord || p.peek().Kind == KindQuoted {
		p.name()
		p.expect(".")
	}
	t := p.peek()
	if t.Kind != KindOperator || !isSign(rune(t.Text[0])) {
		p.unexpected("an operator")
	}
	p.next()
	p.expect(")")
	return t.Text
}

// argumentWords are the words between the arguments of SQL's own functions.
var argumentWords = []string{"FROM", "FOR", "IN", "USING", "AS"}

// call reads what follows a function's name.
func (p *queryParser) call(path []Ident) *Call {
	c := &Call{Path: path}
	p.expect("(")
	if c.Distinct = p.accept("DISTINCT"); !c.Distinct && !p.after(1).Matches("(") {
		p.accept("ALL")
	}
	if !p.accept(")") {
		p.arguments(c)
		p.expect(")")
	}
	if at := p.peek().Position; p.accept("WITHIN", "GROUP", "(", "ORDER", "BY") {
		c.WithinAt = at
		c.Within = p.orderTerms()
		p.expect(")")
	}
	if p.accept("FILTER", "(", "WHERE") {
		c.Filter = p.expr(0)
		p.expect(")")
	}
	if p.is("OVER") && (p.after(1).Matches("(") || p.names(p.after(1))) {
		p.next()
		c.Over = p.window()
	}
	c.span = p.since(path[0].from)
	return c
}

// arguments reads a call's arguments: with commas, or with the words of SQL's own functions.
func (p *queryParser) arguments(c *Call) {
	name := UpperASCII(c.Path[len(c.Path)-1].Text)
	word := ""
	if name == "TRIM" {
		if word = p.choose("BOTH", "LEADING", "TRAILING"); p.accept("FROM") {
			word = trimmed(word)
		}
	}
	for {
		c.Words = append(c.Words, word)
		c.Args = append(c.Args, p.argument(name))
		switch {
		case p.accept(","):
			word = ""
		case p.isOne(argumentWords...) && p.tokens[p.pos-1].Text != "*":
			word = p.next().Upper
		default:
			if p.accept("ORDER", "BY") {
				c.Order = p.orderTerms()
			}
			return
		}
	}
}

func trimmed(side string) string {
	if side == "" {
		return "FROM"
	}
	return side + " FROM"
}

// argument reads one argument of a function.
func (p *queryParser) argument(name string) Expr {
	from := p.peek().Position
	if star := p.star(); star != nil {
		return star
	}
	if eq := p.after(1); p.dialect == Postgres && (eq.Matches("=>") || eq.Matches(":")) {
		panic(outsideCatalog("an argument by name", eq.Position))
	}
	switch {
	case p.selects(0) && !p.is("("): // ARRAY_AGG(SELECT …), as some clients write it
		q := p.query()
		return &Subquery{p.since(from), q}
	case name == "POSITION":
		return p.expr(p.comparing())
	case name == "EXTRACT" && p.after(1).Matches("FROM") && p.peek().Kind == KindWord:
		c := &Column{Path: []Ident{identOf(p.next())}}
		c.span = p.since(from)
		return c
	}
	return p.expr(0)
}

// reservedCalls are the reserved words that are functions too.
var reservedCalls = []string{"LEFT", "RIGHT", "REPLACE", "IF", "ISNULL", "GLOB", "LIKE", "ANY", "ALL"}

// isReservedCall reports whether a call comes next whose name is reserved.
func (p *queryParser) isReservedCall() bool {
	t := p.peek()
	return t.Kind == KindWord && p.after(1).Matches("(") && slices.Contains(reservedCalls, t.Upper)
}
