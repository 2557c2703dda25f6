package syntax

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
	err = caught(func() {
		for p.accept(";") {
		}
		q = p.query()
		for p.accept(";") {
		}
		if p.peek().Kind != KindEnd {
			p.unexpected("the end of the statement")
		}
	})
	if err != nil {
		return nil, err
	}
	return q, nil
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
	p.renamed = p.renamed || d.Alias.Columns != nil
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
