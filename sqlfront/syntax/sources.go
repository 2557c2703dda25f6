package syntax

// sources reads the list behind FROM.
func (p *queryParser) sources() (list []Source) {
	for more := true; more; more = p.accept(",") {
		list = append(list, p.joined())
	}
	return list
}

// joined reads a source and what is joined to it.
func (p *queryParser) joined() Source {
	p.enter()
	defer p.leave()
	from := p.peek().Position
	x := p.source()
	for {
		j := p.join(from, x)
		if j == nil {
			return x
		}
		x = j
	}
}

// join reads a join to x, which begins at a position; nil if none comes next. In
// a JOIN b JOIN c ON … ON …, the first ON belongs to the inner join.
func (p *queryParser) join(from int, x Source) *Join {
	j := &Join{X: x, Operator: p.peek().Position}
	j.Natural = p.accept("NATURAL")
	if j.Kind = p.choose("LEFT", "RIGHT", "FULL", "CROSS"); j.Kind == "" {
		if !p.accept("INNER") && !j.Natural && !p.is("JOIN") {
			return nil
		}
	} else if j.Kind != "CROSS" {
		p.accept("OUTER")
	}
	p.expect("JOIN")
	inner := p.peek().Position
	j.Y = p.source()
	conditional := !j.Natural && j.Kind != "CROSS"
	if conditional && p.dialect == Postgres && !p.isOne("ON", "USING") {
		p.enter()
		y := p.join(inner, j.Y)
		p.leave()
		if y == nil {
			p.unexpected("ON")
		}
		j.Y = y
	}
	switch {
	case !conditional && p.dialect == Postgres:
	case p.accept("ON"):
		j.On = p.expr(0)
	case p.accept("USING"):
		j.Using = p.nameList()
	case p.dialect == Postgres:
		p.unexpected("ON")
	}
	j.span = p.since(from)
	return j
}

func (p *queryParser) source() Source {
	p.enter()
	defer p.leave()
	from := p.peek().Position
	if p.dialect == Postgres {
		p.accept("ONLY")
	}
	called := p.after(1).Matches("(") || p.after(2).Matches("(")
	lateral := (called || p.dialect == Postgres) && p.accept("LATERAL")
	switch {
	case p.is("(") && p.selects(1) && (p.isSubquery() || p.dialect == Postgres):
		return p.derived(from, lateral)
	case p.is("("):
		return p.parenSource(from)
	case p.is("ROWS") && p.after(1).Matches("FROM") && p.dialect == Postgres:
		panic(outsideCatalog("ROWS FROM", from))
	}
	first := p.peek()
	bare := p.dialect == Postgres && first.Kind == KindWord && niladic()[first.Upper]
	if !bare && !p.isName() {
		p.unexpected("a table")
	}
	path := p.pathFrom(identOf(p.next()))
	if p.is("(") || bare && len(path) == 1 {
		return p.function(from, lateral, path)
	}
	t := &Table{Path: path}
	if p.dialect == Postgres {
		p.accept("*")
	}
	t.Alias = p.alias()
	t.span = p.since(from)
	return t
}

// derived reads a query in FROM.
func (p *queryParser) derived(from int, lateral bool) Source {
	p.expect("(")
	d := &Derived{Lateral: lateral, Query: p.query()}
	p.expect(")")
	d.Alias = p.alias()
	d.span = p.since(from)
	return d
}

// parenSource reads sources in parentheses.
func (p *queryParser) parenSource(from int) Source {
	p.expect("(")
	s := &ParenSource{List: []Source{p.joined()}}
	for p.dialect == Native && p.accept(",") {
		s.List = append(s.List, p.joined())
	}
	p.expect(")")
	s.Alias = p.alias()
	s.span = p.since(from)
	return s
}

// function reads a call in FROM, behind its name.
func (p *queryParser) function(from int, lateral bool, path []Ident) Source {
	f := &Function{Lateral: lateral}
	if p.is("(") {
		f.Call = p.call(path)
	} else {
		f.Call = &Call{span: p.since(path[0].from), Path: path}
	}
	f.Ordinality = p.accept("WITH", "ORDINALITY")
	f.Alias = p.alias()
	f.span = p.since(from)
	return f
}

// alias reads [AS] name [(columns)].
func (p *queryParser) alias() (a Alias) {
	switch {
	case p.accept("AS"):
		if p.is("(") && p.dialect == Postgres {
			panic(outsideCatalog("a list of column definitions", p.peek().Position))
		}
		a.Name = p.aliasName()
	case p.dialect == Postgres && p.isName(), p.isAlias():
		a.Name = identOf(p.next())
	default:
		return a
	}
	if !p.accept("(") {
		return a
	}
	for more := true; more; more = p.accept(",") {
		a.Columns = append(a.Columns, p.name())
		if p.isName() {
			a.Types = append(a.Types, p.typeName())
		}
	}
	p.expect(")")
	return a
}
