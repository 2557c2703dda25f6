package syntax

// Walk visits a node and what is in it, in the order of the tree. It does not go into a node for
// which visit returns false.
func Walk(n Node, visit func(Node) bool) { (&walker{enter: visit}).node(n) }

// Replace replaces each expression in a node, and the node itself, by what f returns for it, those
// inside first. It returns what stands in the place of the node.
func Replace[N Node](n N, f func(Expr) Expr) N {
	w := &walker{leave: f}
	if e, ok := any(n).(Expr); ok {
		w.expr(&e)
		return e.(N)
	}
	w.node(n)
	return n
}

// walker goes through a tree: enter is called before what is in a node, leave behind what is in
// an expression, in whose place its result comes. One of them is nil.
type walker struct {
	enter func(Node) bool
	leave func(Expr) Expr
}

func (w *walker) enters(n Node) bool { return w.enter == nil || w.enter(n) }

func (w *walker) node(n Node) {
	switch n := n.(type) {
	case *Query:
		w.query(n)
	case *CommonTable:
		w.commonTable(n)
	case Body:
		w.body(n)
	case Source:
		w.source(n)
	case *Window:
		w.window(n)
	case *Frame:
		w.frame(n)
	case *Type:
		w.typeName(n)
	case Item:
		w.expr(&n.X)
	case Expr:
		w.expr(&n)
	}
}

func (w *walker) query(q *Query) {
	if q == nil || !w.enters(q) {
		return
	}
	for _, c := range q.With {
		w.commonTable(c)
	}
	w.body(q.Body)
	w.terms(q.Order)
	w.expr(&q.Limit)
	w.expr(&q.Offset)
}

func (w *walker) commonTable(c *CommonTable) {
	if w.enters(c) {
		w.query(c.Query)
	}
}

func (w *walker) body(b Body) {
	if q, ok := b.(*Query); ok {
		w.query(q)
		return
	}
	if !w.enters(b) {
		return
	}
	switch b := b.(type) {
	case *Compound:
		w.body(b.X)
		w.body(b.Y)
	case *Values:
		for _, row := range b.Rows {
			w.exprs(row.Items)
		}
	case *Block:
		w.block(b)
	}
}

func (w *walker) block(b *Block) {
	w.exprs(b.On)
	w.expr(&b.Top)
	if w.leave != nil { // what a sub-select has comes before what is made of it
		w.sources(b.From)
	}
	for i := range b.Items {
		w.expr(&b.Items[i].X)
	}
	if w.leave == nil {
		w.sources(b.From)
	}
	w.expr(&b.Where)
	w.exprs(b.Group)
	w.expr(&b.Having)
	for _, n := range b.Windows {
		w.window(n.Window)
	}
	w.expr(&b.Qualify)
}

func (w *walker) source(s Source) {
	if !w.enters(s) {
		return
	}
	switch s := s.(type) {
	case *Derived:
		w.query(s.Query)
	case *Function:
		var call Expr = s.Call
		w.expr(&call)
	case *Join:
		w.source(s.X)
		w.source(s.Y)
		w.expr(&s.On)
	case *ParenSource:
		w.sources(s.List)
	}
}

func (w *walker) sources(list []Source) {
	for _, s := range list {
		w.source(s)
	}
}

func (w *walker) window(o *Window) {
	if o == nil || !w.enters(o) {
		return
	}
	w.exprs(o.Partition)
	w.terms(o.Order)
	w.frame(o.Frame)
}

func (w *walker) frame(f *Frame) {
	if f != nil && w.enters(f) {
		w.expr(&f.Low.By)
		w.expr(&f.High.By)
	}
}

func (w *walker) typeName(t *Type) {
	if t != nil && w.enters(t) {
		w.exprs(t.Args)
	}
}

func (w *walker) exprs(list []Expr) {
	for i := range list {
		w.expr(&list[i])
	}
}

func (w *walker) terms(list []OrderTerm) {
	for i := range list {
		w.expr(&list[i].X)
	}
}

// expr goes through the expression at a place, nil for none.
func (w *walker) expr(at *Expr) {
	if *at == nil || !w.enters(*at) {
		return
	}
	switch e := (*at).(type) {
	case *Paren:
		w.expr(&e.X)
	case *Tuple:
		w.exprs(e.Items)
	case *Unary:
		w.expr(&e.X)
	case *Test:
		w.expr(&e.X)
	case *Binary:
		w.expr(&e.X)
		w.expr(&e.Y)
		w.expr(&e.Escape)
	case *Between:
		w.expr(&e.X)
		w.expr(&e.Low)
		w.expr(&e.High)
	case *In:
		w.expr(&e.X)
		w.expr(&e.Set)
	case *Case:
		w.caseOf(e)
	case *Cast:
		w.expr(&e.X)
		w.typeName(e.Type)
	case *Call:
		w.call(e)
	case *GroupingSets:
		w.exprs(e.Sets)
	case *Interval:
		w.expr(&e.Value)
	case *Array:
		w.exprs(e.Items)
		w.query(e.Query)
	case *Index:
		w.expr(&e.X)
		w.expr(&e.I)
		w.expr(&e.J)
	case *Field:
		w.expr(&e.X)
	case *Subquery:
		w.query(e.Query)
	case *Exists:
		w.query(e.Query)
	case *Collate:
		w.expr(&e.X)
	case *AtZone:
		w.expr(&e.X)
		w.expr(&e.Zone)
	}
	if w.leave != nil {
		*at = w.leave(*at)
	}
}

func (w *walker) caseOf(e *Case) {
	w.expr(&e.Of)
	for i := range e.Whens {
		w.expr(&e.Whens[i].If)
		w.expr(&e.Whens[i].Then)
	}
	w.expr(&e.Else)
}

func (w *walker) call(e *Call) {
	w.exprs(e.Args)
	w.terms(e.Order)
	w.terms(e.Within)
	w.expr(&e.Filter)
	w.window(e.Over)
}

// nesting returns how deep what has parentheses stands inside each other in a node.
func nesting(n Node) (depth int) {
	Walk(n, func(c Node) bool {
		if c == n {
			return true
		}
		depth = max(depth, nesting(c))
		return false
	})
	switch n.(type) {
	case *Paren, *Tuple, *Call, *Cast, *Subquery, *Exists, *Derived, *ParenSource:
		depth++
	}
	return depth
}
