package syntax

// Copy returns a copy of a node and of what is in it. Where put returns another node for one of
// them, a query, an entry of WITH, a body, a source or an expression, that stands in the copy as it
// is, and put is not asked about what is in it. Names and types are shared: they never change.
func Copy[N Node](n N, put func(Node) Node) N {
	c := copier{put}
	var out Node = n
	switch n := Node(n).(type) {
	case *Query:
		out = c.query(n)
	case *CommonTable:
		out = c.commonTable(n)
	case Body:
		out = c.body(n)
	case Source:
		out = c.source(n)
	case *Window:
		out = c.window(n)
	case Expr:
		out = c.expr(n)
	}
	return out.(N)
}

// Placed gives a node that is made the place of the one that it stands for.
func Placed[N interface{ place(Node) }](n N, of Node) N {
	n.place(of)
	return n
}

func (s *span) place(of Node) { s.from, s.to = of.Pos(), of.End() }

// Named returns a name in quotes, with the place of what it names.
func Named(text string, of Node) Ident { return Ident{span{of.Pos(), of.End()}, text, true} }

type copier struct{ put func(Node) Node }

// put returns what stands for a node, or nil.
func put[N Node](c copier, n N) (out N, done bool) {
	if c.put == nil {
		return out, false
	}
	other := c.put(n)
	if other == nil {
		return out, false
	}
	return other.(N), true
}

// each copies the entries of a list, nil for none.
func each[T any](list []T, copied func(T) T) []T {
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i := range list {
		out[i] = copied(list[i])
	}
	return out
}

func (c copier) query(q *Query) *Query {
	if q == nil {
		return nil
	}
	if other, done := put(c, q); done {
		return other
	}
	out := *q
	out.With, out.Body, out.Order = each(q.With, c.commonTable), c.body(q.Body), each(q.Order, c.term)
	out.Limit, out.Offset = c.expr(q.Limit), c.expr(q.Offset)
	return &out
}

func (c copier) commonTable(t *CommonTable) *CommonTable {
	if other, done := put(c, t); done {
		return other
	}
	out := *t
	out.Query = c.query(t.Query)
	return &out
}

func (c copier) body(b Body) Body {
	if q, ok := b.(*Query); ok {
		return c.query(q)
	}
	if other, done := put(c, b); done {
		return other
	}
	switch b := b.(type) {
	case *Compound:
		out := *b
		out.X, out.Y = c.body(b.X), c.body(b.Y)
		return &out
	case *Values:
		out := *b
		out.Rows = each(b.Rows, c.tuple)
		return &out
	case *Block:
		return c.block(b)
	}
	return b
}

func (c copier) tuple(t *Tuple) *Tuple {
	out := *t
	out.Items = each(t.Items, c.expr)
	return &out
}

func (c copier) block(b *Block) *Block {
	out := *b
	out.On, out.Top = each(b.On, c.expr), c.expr(b.Top)
	out.Items = each(b.Items, func(i Item) Item { i.X = c.expr(i.X); return i })
	out.From, out.Where = each(b.From, c.source), c.expr(b.Where)
	out.Group, out.Having = each(b.Group, c.expr), c.expr(b.Having)
	out.Windows = each(b.Windows, func(n NamedWindow) NamedWindow { n.Window = c.window(n.Window); return n })
	out.Qualify = c.expr(b.Qualify)
	return &out
}

func (c copier) source(s Source) Source {
	if other, done := put(c, s); done {
		return other
	}
	switch s := s.(type) {
	case *Table:
		out := *s
		return &out
	case *Derived:
		out := *s
		out.Query = c.query(s.Query)
		return &out
	case *Function:
		out := *s
		out.Call = c.call(s.Call)
		return &out
	case *Join:
		out := *s
		out.X, out.Y, out.On = c.source(s.X), c.source(s.Y), c.expr(s.On)
		return &out
	case *ParenSource:
		out := *s
		out.List = each(s.List, c.source)
		return &out
	}
	return s
}

func (c copier) window(w *Window) *Window {
	if w == nil {
		return nil
	}
	out := *w
	out.Partition, out.Order = each(w.Partition, c.expr), each(w.Order, c.term)
	if w.Frame != nil {
		frame := *w.Frame
		frame.Low.By, frame.High.By = c.expr(frame.Low.By), c.expr(frame.High.By)
		out.Frame = &frame
	}
	return &out
}

func (c copier) term(t OrderTerm) OrderTerm {
	t.X = c.expr(t.X)
	return t
}

func (c copier) when(w When) When { return When{c.expr(w.If), c.expr(w.Then)} }

func (c copier) call(e *Call) *Call {
	out := *e
	out.Args, out.Order, out.Within = each(e.Args, c.expr), each(e.Order, c.term), each(e.Within, c.term)
	out.Filter, out.Over = c.expr(e.Filter), c.window(e.Over)
	return &out
}

func (c copier) expr(e Expr) Expr {
	if e == nil {
		return nil
	}
	if other, done := put(c, e); done {
		return other
	}
	switch e := e.(type) {
	case *Tuple:
		return c.tuple(e)
	case *Call:
		return c.call(e)
	case *Column, *Star, *Literal, *Parameter:
		return copyLeaf(e)
	case *Case, *GroupingSets, *Interval, *Array, *Subquery, *Exists:
		return c.enclosed(e)
	}
	return c.operation(e)
}

// copyLeaf copies an expression that has no other in it.
func copyLeaf(e Expr) Expr {
	switch e := e.(type) {
	case *Column:
		out := *e
		return &out
	case *Star:
		out := *e
		return &out
	case *Literal:
		out := *e
		return &out
	case *Parameter:
		out := *e
		return &out
	}
	return e
}

// enclosed copies an expression between words or parentheses of its own.
func (c copier) enclosed(e Expr) Expr {
	switch e := e.(type) {
	case *Case:
		out := *e
		out.Of, out.Whens, out.Else = c.expr(e.Of), each(e.Whens, c.when), c.expr(e.Else)
		return &out
	case *GroupingSets:
		out := *e
		out.Sets = each(e.Sets, c.expr)
		return &out
	case *Interval:
		out := *e
		out.Value = c.expr(e.Value)
		return &out
	case *Array:
		out := *e
		out.Items, out.Query = each(e.Items, c.expr), c.query(e.Query)
		return &out
	case *Subquery:
		out := *e
		out.Query = c.query(e.Query)
		return &out
	case *Exists:
		out := *e
		out.Query = c.query(e.Query)
		return &out
	}
	return e
}

// operation copies an operator with its operands.
func (c copier) operation(e Expr) Expr {
	switch e := e.(type) {
	case *Paren:
		out := *e
		out.X = c.expr(e.X)
		return &out
	case *Unary:
		out := *e
		out.X = c.expr(e.X)
		return &out
	case *Test:
		out := *e
		out.X = c.expr(e.X)
		return &out
	case *Binary:
		out := *e
		out.X, out.Y, out.Escape = c.expr(e.X), c.expr(e.Y), c.expr(e.Escape)
		return &out
	case *Between:
		out := *e
		out.X, out.Low, out.High = c.expr(e.X), c.expr(e.Low), c.expr(e.High)
		return &out
	case *In:
		out := *e
		out.X, out.Set = c.expr(e.X), c.expr(e.Set)
		return &out
	case *Cast:
		out := *e
		out.X = c.expr(e.X)
		return &out
	case *Index:
		out := *e
		out.X, out.I, out.J = c.expr(e.X), c.expr(e.I), c.expr(e.J)
		return &out
	case *Field:
		out := *e
		out.X = c.expr(e.X)
		return &out
	case *Collate:
		out := *e
		out.X = c.expr(e.X)
		return &out
	case *AtZone:
		out := *e
		out.X, out.Zone = c.expr(e.X), c.expr(e.Zone)
		return &out
	}
	return e
}
