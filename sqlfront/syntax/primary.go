package syntax

// primary reads an operand: a name, a literal, a call, or what parentheses hold.
func (p *queryParser) primary() Expr {
	t := p.peek()
	switch t.Kind {
	case KindString:
		return p.text()
	case KindInteger, KindDecimal, KindBlob:
		p.next()
		return &Literal{span: p.since(t.Position), Kind: t.Kind, Value: t.Value}
	case KindParameter:
		p.next()
		return &Parameter{p.since(t.Position), t.Text, t.Parameter}
	case KindOperator:
		switch {
		case t.Matches("("):
			return p.parenthesis()
		case t.Matches("::") && p.dialect == Native:
			p.halfCast(t)
		}
	case KindWord:
		if x := p.special(t); x != nil {
			return x
		}
	}
	if p.isReservedCall() {
		return p.call([]Ident{identOf(p.next())})
	}
	if p.dialect == Postgres && t.Kind == KindWord && niladic()[t.Upper] {
		return p.named(identOf(p.next()))
	}
	if !p.isName() {
		p.unexpected("an expression")
	}
	return p.named(p.name())
}

// text reads a string. In PostgreSQL 'a' 'b' is one.
func (p *queryParser) text() Expr {
	t := p.next()
	l := &Literal{Kind: KindString, Value: t.Value}
	for p.dialect == Postgres && p.peek().Kind == KindString {
		l.Value += p.next().Value
	}
	l.span = p.since(t.Position)
	return l
}

// named reads what begins with a name: a column, a call, a table's star, or a literal with a type.
func (p *queryParser) named(first Ident) Expr {
	path := p.pathFrom(first)
	if p.isZoned(path[len(path)-1]) {
		path = p.zoned(path)
	}
	switch {
	case p.is("("):
		return p.call(path)
	case p.accept(".", "*"):
		return &Star{p.since(first.from), path}
	case p.peek().Kind == KindString && p.isTyped(path[len(path)-1]):
		l := p.text().(*Literal)
		l.Type, l.from = path, first.from
		return l
	}
	return &Column{p.since(first.from), path}
}

// isTyped reports whether a text behind a name is a literal of this type. In PostgreSQL each type
// has such literals; here a text behind another name is an alias.
func (p *queryParser) isTyped(name Ident) bool {
	return p.dialect == Postgres || !name.Quoted && typedLiterals[UpperASCII(name.Text)]
}

// isZoned reports whether WITH TIME ZONE, or WITHOUT, and a text follow TIMESTAMP.
func (p *queryParser) isZoned(name Ident) bool {
	return !name.Quoted && UpperASCII(name.Text) == "TIMESTAMP" && (p.is("WITH") || p.is("WITHOUT")) &&
		p.after(1).Matches("TIME") && p.after(2).Matches("ZONE") && p.after(3).Kind == KindString
}

// zoned reads WITH TIME ZONE, and returns the name of the type.
func (p *queryParser) zoned(path []Ident) []Ident {
	with := p.next().Upper == "WITH"
	p.expect("TIME", "ZONE")
	if name := &path[len(path)-1]; with {
		name.Text = "TIMESTAMPTZ"
	}
	return path
}

// typedLiterals are the types of literals. E is none: it is known so that it can be refused.
var typedLiterals = words("DATE TIMESTAMP TIMESTAMPTZ TIME E")

// parenthesis reads a query, a tuple or an expression in parentheses.
func (p *queryParser) parenthesis() Expr {
	from := p.peek().Position
	if p.selects(1) && p.isSubquery() {
		p.next()
		q := p.query()
		p.expect(")")
		return &Subquery{p.since(from), q}
	}
	p.next()
	list := p.exprs()
	p.expect(")")
	if len(list) == 1 {
		return &Paren{p.since(from), list[0]}
	}
	return &Tuple{span: p.since(from), Items: list}
}

// isSubquery reports whether the parenthesis that comes next holds a query, and no expression
// that begins with one: ((SELECT …) + 1).
func (p *queryParser) isSubquery() bool {
	if !p.after(1).Matches("(") {
		return true
	}
	depth, i := 0, p.pos+1
	for ; i < len(p.tokens)-1; i++ {
		if p.tokens[i].Matches("(") {
			depth++
		} else if p.tokens[i].Matches(")") {
			if depth--; depth == 0 {
				break
			}
		}
	}
	t := &p.tokens[min(i+1, len(p.tokens)-1)]
	return t.Kind == KindWord && behindQuery[t.Upper]
}

// behindQuery are the words that can follow a query in parentheses and no value.
var behindQuery = words("UNION INTERSECT EXCEPT ORDER LIMIT OFFSET FETCH")

// special reads what a word with a syntax of its own begins; nil if it is an ordinary name here.
func (p *queryParser) special(t *Token) Expr {
	next := p.after(1)
	switch t.Upper {
	case "NULL", "TRUE", "FALSE":
		if next.Matches(".") {
			return nil
		}
		p.next()
		return &Literal{span: p.since(t.Position), Kind: KindWord, Value: t.Upper}
	case "CASE":
		return p.caseOf()
	case "CAST", "TRY_CAST", "SAFE_CAST":
		if next.Matches("(") {
			return p.cast()
		}
	case "EXISTS":
		if next.Matches("(") {
			p.next()
			p.next()
			e := &Exists{Query: p.query()}
			p.expect(")")
			e.span = p.since(t.Position)
			return e
		}
	case "INTERVAL":
		counted := next.Kind == KindInteger || next.Kind == KindParameter
		if next.Kind == KindString || p.dialect == Native && counted {
			return p.interval()
		}
	case "ARRAY":
		if next.Matches("[") || next.Matches("(") && p.selects(2) {
			p.next()
			return p.array(t.Position)
		}
	case "GROUPING":
		if next.Matches("SETS") && p.after(2).Matches("(") {
			p.next()
			p.next()
			g := &GroupingSets{}
			p.next()
			g.Sets = p.groupingSets()
			g.span = p.since(t.Position)
			return g
		}
	case "ROW":
		if next.Matches("(") {
			p.next()
			r := p.tuple()
			r.Row, r.from = true, t.Position
			return r
		}
	}
	return nil
}

// groupingSets reads the sets of GROUPING SETS, one of which may be empty.
func (p *queryParser) groupingSets() (sets []Expr) {
	for more := !p.is(")"); more; more = p.accept(",") {
		if p.is("(") && p.after(1).Matches(")") {
			sets = append(sets, p.tuple())
		} else {
			sets = append(sets, p.expr(0))
		}
	}
	p.expect(")")
	return sets
}

func (p *queryParser) caseOf() Expr {
	from := p.next().Position
	c := &Case{}
	if !p.is("WHEN") {
		c.Of = p.expr(0)
	}
	if !p.is("WHEN") {
		p.unexpected("WHEN")
	}
	for p.accept("WHEN") {
		w := When{If: p.expr(0)}
		p.expect("THEN")
		w.Then = p.expr(0)
		c.Whens = append(c.Whens, w)
	}
	if p.accept("ELSE") {
		c.Else = p.expr(0)
	}
	p.expect("END")
	c.span = p.since(from)
	return c
}

func (p *queryParser) cast() Expr {
	t := p.next()
	p.expect("(")
	c := &Cast{Name: t.Upper, X: p.expr(0), Operator: t.Position}
	p.expect("AS")
	c.Type = p.typeName()
	p.expect(")")
	c.span = p.since(t.Position)
	return c
}

func (p *queryParser) interval() Expr {
	t := p.next()
	i := &Interval{Value: p.primary()}
	if u := p.peek(); u.Kind == KindWord && intervalUnits[u.Upper] {
		i.Unit = identOf(p.next())
	}
	i.span = p.since(t.Position)
	return i
}

// intervalUnits are the units behind an interval's number.
var intervalUnits = words(`YEAR YEARS QUARTER QUARTERS MONTH MONTHS WEEK WEEKS DAY DAYS HOUR HOURS
	MINUTE MINUTES SECOND SECONDS`)

// array reads what follows ARRAY.
func (p *queryParser) array(from int) Expr {
	a := &Array{}
	if p.accept("(") {
		a.Query = p.query()
		p.expect(")")
	} else {
		p.expect("[")
		a.Items = p.elements()
	}
	a.span = p.since(from)
	return a
}

// elements reads the elements of an array, which may be arrays.
func (p *queryParser) elements() (list []Expr) {
	if p.accept("]") {
		return nil
	}
	for more := true; more; more = p.accept(",") {
		if from := p.peek().Position; p.accept("[") {
			inner := &Array{Items: p.elements(), Inner: true}
			inner.span = p.since(from)
			list = append(list, inner)
		} else {
			list = append(list, p.expr(0))
		}
	}
	p.expect("]")
	return list
}

// typeName reads [schema.]name [word] [(n, m)] [WITH TIME ZONE] [[]].
func (p *queryParser) typeName() *Type {
	from := p.peek().Position
	t := &Type{Path: p.pathFrom(p.label())}
	switch name := t.Path[len(t.Path)-1]; UpperASCII(name.Text) {
	case "DOUBLE":
		t.Word = p.choose("PRECISION")
	case "CHARACTER", "CHAR", "BIT", "NATIONAL":
		t.Word = p.choose("VARYING")
	}
	if p.accept("(") {
		t.Args = p.list(")")
	}
	if (p.is("WITH") || p.is("WITHOUT")) && p.after(1).Matches("TIME") {
		t.Zone = p.next().Upper
		p.expect("TIME", "ZONE")
	}
	for p.is("[") {
		p.next()
		if p.peek().Kind == KindInteger {
			p.next()
		}
		p.expect("]")
		t.Array++
	}
	if p.dialect == Postgres && p.accept("ARRAY") {
		t.Array++
	}
	t.span = p.since(from)
	return t
}
