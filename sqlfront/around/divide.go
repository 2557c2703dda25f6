package around

import (
	"fmt"
	"slices"
	"strconv"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// divide divides a SELECT over private rows, and returns the one that reads its core. q is as for
// part.
func (c *cutter) divide(s *syntax.Block, q *syntax.Query, f *frame, with entries) *syntax.Block {
	b := &block{cutter: c, frame: f, with: with, items: s.Items, entering: make(map[int]bool), folded: new(folded)}
	f.core, b.outermost = b, b
	b.folded.tables = tables(f.items)
	c.divided++
	b.checkList()
	if c.err == nil {
		b.group(s, q)
	}
	b.check(s)
	if c.err != nil {
		return s
	}
	out := &syntax.Block{Distinct: s.Distinct}
	for _, i := range s.Items {
		as := i.As
		if as.None() {
			as = syntax.Named(b.titled(i), i.X)
		}
		out.Items = append(out.Items, syntax.Item{X: b.rewrite(i.X), As: as})
	}
	out.Where = b.rewrite(s.Having)
	if len(s.Windows) > 0 {
		out.Windows = syntax.Copy(&syntax.Block{Windows: s.Windows}, b.rewritten).Windows
	}
	if q != nil {
		q.Order = slices.Clone(q.Order)
		for i := range q.Order {
			q.Order[i].X = b.order(q.Order[i].X)
		}
		q.Limit, q.Offset = c.visit(q.Limit, with, f), c.visit(q.Offset, with, f)
	}
	core := b.core(s)
	t := &syntax.Table{Path: []syntax.Ident{syntax.Named(core.Table, s)}}
	if len(f.items) == 1 && f.items[0].name != "" {
		t.Alias.Name = syntax.Named(f.items[0].name, s)
	}
	out.From = []syntax.Source{syntax.Placed(t, s)}
	return syntax.Placed(out, s)
}

// tables returns the number of tables that relations are made of.
func tables(items []item) (n int) {
	for _, i := range items {
		if i.rows != nil && i.rows.query != nil {
			n += tables(i.rows.items)
		} else {
			n++
		}
	}
	return n
}

// checkList refuses a star in the select list.
func (b *block) checkList() {
	for _, i := range b.items {
		if _, star := i.X.(*syntax.Star); star {
			b.refuseAt(i.X, "* over private rows", "name the columns, and GROUP BY them")
		}
	}
}

// group finds the keys. A number, and an alias that is no column, stand for an entry of the
// select list.
func (b *block) group(s *syntax.Block, q *syntax.Query) {
	if len(s.Group) == 0 && b.lists(s) && !b.cutter.aggregates(s, q) {
		for _, i := range b.items {
			b.noWindow(i.X)
			b.addKey(i.X)
		}
	}
	for _, e := range s.Group {
		b.term(e)
	}
}

// term finds the keys of an expression in GROUP BY.
func (b *block) term(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Literal:
		if e.Kind != syntax.KindInteger && e.Kind != syntax.KindDecimal {
			break
		}
		n, err := strconv.Atoi(e.Value)
		if err != nil || n < 1 || n > len(b.items) {
			b.refuse(sqlerr.New(sqlerr.Invalid, "GROUP BY %s: the select list has %d entries", e.Value, len(b.items)).
				At(e.Pos()))
			return
		}
		b.opened[e] = opening{expr: b.items[n-1].X}
		b.addKey(b.items[n-1].X)
		return
	case *syntax.Column:
		if n := b.alias(e); n >= 0 {
			b.opened[e] = opening{expr: b.items[n].X, parens: true}
			b.addKey(b.items[n].X)
			return
		}
	case *syntax.GroupingSets:
		b.set(e.Sets)
		return
	case *syntax.Call:
		if name := functionOf(e); name == "rollup" || name == "cube" {
			b.set(e.Args)
			return
		}
	}
	b.addKey(e)
}

// set finds the keys of grouping sets.
func (b *block) set(list []syntax.Expr) {
	b.sets = true
	for _, e := range list {
		switch e := e.(type) {
		case *syntax.Tuple:
			b.set(e.Items)
		case *syntax.Paren:
			b.set([]syntax.Expr{e.X})
		default:
			b.term(e)
		}
	}
}

func (b *block) addKey(e syntax.Expr) {
	k := key{expr: e, canon: b.canon(e)}
	if slices.ContainsFunc(b.keys, func(have key) bool { return have.canon == k.canon }) {
		return
	}
	k.column, k.base = b.column(b.frame.items, e)
	taken := func(name string) bool {
		return slices.ContainsFunc(b.keys, func(k key) bool { return query.SameName(k.name, name) })
	}
	if k.name = k.column; k.name == "" || taken(k.name) {
		k.name = b.free("k"+strconv.Itoa(len(b.keys)+1), taken)
	}
	b.keys = append(b.keys, k)
}

// column returns the name of the column that an expression is, as it is declared, and that of
// the table's column that it has the values of.
func (c *cutter) column(items []item, e syntax.Expr) (name, base string) {
	col, ok := syntax.Inside(e).(*syntax.Column)
	if !ok {
		return "", ""
	}
	table, own := qualified(col)
	name, known := own.Text, false
	for _, i := range items {
		if table != "" && !query.SameName(table, i.name) {
			continue
		}
		known = known || i.columns == nil || i.rows != nil && i.rows.rest != nil
		for _, n := range i.columns {
			if query.SameName(n, name) {
				return n, c.base(i, n)
			}
		}
	}
	if !known {
		return "", ""
	}
	return name, name // of a public table
}

// base returns the column of a table that a relation's column has the values of, or "".
func (c *cutter) base(i item, name string) string {
	if i.rows == nil || i.rows.query == nil {
		return name
	}
	d := i.rows.find(name)
	if d == nil {
		return ""
	}
	if d.expr == nil {
		return c.base(d.of, d.column)
	}
	_, base := c.column(i.rows.items, d.expr)
	return base
}

// entry returns the index of the select list's entry that has an alias, or -1.
func (b *block) entry(name string) int {
	return slices.IndexFunc(b.items, func(i syntax.Item) bool {
		alias := aliased(i)
		return alias != "" && query.SameName(alias, name)
	})
}

// isColumn reports whether the private rows have a column.
func (b *block) isColumn(name string) bool {
	return slices.ContainsFunc(b.frame.items, func(i item) bool { return named(i.columns, name) })
}

// keeps reports whether a column of the private rows is a key.
func (b *block) keeps(name string) bool {
	return slices.ContainsFunc(b.keys, func(k key) bool { return query.SameName(k.name, name) })
}

// canon returns a text such that equal expressions of the block have equal ones. A qualifier is
// left out where the name alone means the column.
func (b *block) canon(e syntax.Expr) string { return syntax.Text(syntax.Copy(e, b.canonical)) }

func (b *block) canonical(n syntax.Node) syntax.Node {
	switch n := n.(type) {
	case *syntax.Paren:
		return syntax.Copy(n.X, b.canonical)
	case *syntax.Column:
		path := n.Path
		if len(path) == 2 && b.redundant(path[0].Text, path[1].Text) {
			path = path[1:]
		}
		folded := &syntax.Column{}
		for _, name := range path {
			folded.Path = append(folded.Path, syntax.Ident{Text: query.FoldName(name.Text), Quoted: true})
		}
		return folded
	case *syntax.Parameter:
		return &syntax.Parameter{Text: "?", Number: n.Number}
	case *syntax.Call:
		other := *n
		other.Path = []syntax.Ident{{Text: functionOf(n)}}
		if slices.Equal(other.Path, n.Path) {
			return nil
		}
		return syntax.Copy(&other, b.canonical)
	}
	return nil
}

// redundant reports whether a column's name means the same without its qualifier.
func (b *block) redundant(qualifier, name string) bool {
	publics := 0
	for _, i := range b.frame.items {
		if i.rows != nil && query.SameName(i.name, qualifier) {
			return true
		}
		if i.rows == nil {
			publics++
		}
	}
	return publics == 1 && !b.isColumn(name)
}

// rewrite puts the core's columns in the place of keys and aggregates.
func (b *block) rewrite(e syntax.Expr) syntax.Expr {
	if e == nil {
		return nil
	}
	return syntax.Copy(e, b.rewritten)
}

// rewritten returns what stands in the surroundings for a part of an expression, or nil.
func (b *block) rewritten(n syntax.Node) syntax.Node {
	if b.err != nil {
		return n
	}
	switch n := n.(type) {
	case *syntax.Query:
		return b.query(n, b.with, b.frame)
	case *syntax.Tuple, *syntax.Exists:
		return nil
	case syntax.Expr:
		if k := b.keyOf(n); k != nil {
			return columnAt(n, k.name)
		}
		if isAggregate(n) {
			return columnAt(n, b.aggregate(n.(*syntax.Call)))
		}
		if col, ok := n.(*syntax.Column); ok {
			b.stays(col)
		}
	}
	return nil
}

// stays checks a name that is no key. It may be an alias, or a column of a SELECT around.
func (b *block) stays(c *syntax.Column) {
	table, name := qualified(c)
	for _, i := range b.frame.items {
		if table != "" && query.SameName(i.name, table) || table == "" && named(i.columns, name.Text) {
			b.refuse(bare(c))
			return
		}
	}
	if table == "" && b.alias(c) < 0 && b.frame.outer == nil && !constantWord(name) {
		b.refuse(bare(c)) // of a joined public table
	}
}

// maxWork bounds the characters that are compared with keys. The parts of a chain of operators
// have a number of them that grows with the square of its length.
const maxWork = 1 << 22

// keyOf returns the key that an expression is, or nil.
func (b *block) keyOf(e syntax.Expr) *key {
	if len(b.keys) == 0 {
		return nil
	}
	canon := b.canon(e)
	if b.work += len(canon); b.work > maxWork {
		b.refuseAt(e, "a private aggregate with expressions of this size",
			"write them in several statements")
		return nil
	}
	for i := range b.keys {
		if b.keys[i].canon == canon {
			return &b.keys[i]
		}
	}
	return nil
}

// aggregate adds an aggregate to the core, and returns its name there.
func (b *block) aggregate(call *syntax.Call) string {
	b.enters(call)
	out := b.emitter()
	a := aggregate{expr: syntax.Copy[syntax.Expr](call, out.emit), holes: out.holes}
	b.checkLength(out, call)
	if b.err != nil {
		return ""
	}
	a.text = syntax.Text(a.expr)
	for _, have := range b.aggregates {
		if have.text == a.text {
			return have.name
		}
	}
	taken := func(name string) bool { return b.isColumn(name) || b.keeps(name) }
	a.name = b.free("a"+strconv.Itoa(len(b.aggregates)+1), taken)
	b.aggregates = append(b.aggregates, a)
	return a.name
}

// order rewrites a term of ORDER BY. An alias alone means the entry of the select list.
func (b *block) order(e syntax.Expr) syntax.Expr {
	if col, ok := e.(*syntax.Column); ok && len(col.Path) == 1 {
		if n := b.entry(col.Path[0].Text); n >= 0 {
			return syntax.Placed(&syntax.Literal{Kind: syntax.KindInteger, Value: strconv.Itoa(n + 1)}, e)
		}
	}
	return b.rewrite(e)
}

// titled returns the name of an entry of the select list that has none.
func (b *block) titled(i syntax.Item) string {
	if k := b.keyOf(i.X); k != nil && k.column != "" {
		return k.column
	}
	return nameOf(i)
}

// core makes the core. One with the same text serves for both.
func (b *block) core(s *syntax.Block) Core {
	out := b.emitter()
	core := Core{Position: s.Pos(), Keys: len(b.keys), Single: len(b.keys) == 0 && !b.sets}
	inside := &syntax.Block{}
	add := func(e syntax.Expr, name string) {
		inside.Items = append(inside.Items, syntax.Item{X: e, As: syntax.Named(name, e)})
	}
	for _, k := range b.keys {
		add(syntax.Copy(k.expr, out.emit), k.name)
		core.Columns = append(core.Columns, CoreColumn{k.name, k.base})
	}
	for _, a := range b.aggregates {
		add(a.expr, a.name)
		out.holes = append(out.holes, a.holes...)
		core.Columns = append(core.Columns, CoreColumn{Name: a.name})
	}
	inside.From = out.sources(s.From)
	inside.Where = out.wheres(b.folded.wheres)
	for _, e := range s.Group {
		if b.sets {
			inside.Group = append(inside.Group, syntax.Copy(e, out.emit))
		}
	}
	for _, k := range b.keys {
		if !b.sets {
			inside.Group = append(inside.Group, syntax.Copy(k.expr, out.emit))
		}
	}
	if b.checkLength(out, s); b.err != nil {
		return core
	}
	core.query, core.tokens, core.holes = syntax.Placed(&syntax.Query{Body: syntax.Placed(inside, s)}, s), b.tokens, out.holes
	if core.Text = core.query.String(); len(core.Text) > maxText {
		out.long = true
		b.checkLength(out, s)
	}
	return b.added(core)
}

// added returns a core that is asked already, or adds it.
func (b *block) added(core Core) Core {
	for _, have := range b.cores {
		same := func(x, y hole) bool { return x.statement.text == y.statement.text }
		if have.Text == core.Text && slices.EqualFunc(have.holes, core.holes, same) {
			return have
		}
	}
	if len(b.cores) == maxTables {
		b.refuseAt(core.query, fmt.Sprintf("a statement with more than %d private aggregates", maxTables),
			"ask for them in several statements")
	}
	core.Table = b.coreName()
	b.cutter.cores = append(b.cutter.cores, core)
	return core
}

// checkLength refuses what became too long at a place.
func (b *block) checkLength(out *emitter, place syntax.Node) {
	if out.long {
		b.refuseAt(place, "a private aggregate of this length",
			"write its parts once, without aliases of aliases")
	}
}

// emitter makes parts of a core of parts of the statement, what is opened in it opened.
type emitter struct {
	opened map[syntax.Node]opening
	holes  []hole
	nodes  int
	long   bool // it is too long to go on
}

func (b *block) emitter() *emitter { return &emitter{opened: b.opened} }

// emit returns what stands in a core for a node, or nil for itself.
func (w *emitter) emit(n syntax.Node) syntax.Node {
	if w.nodes++; w.nodes > maxText {
		w.long = true
		return n
	}
	if p, ok := n.(*syntax.Parameter); ok {
		return syntax.Placed(&syntax.Parameter{Text: "?", Number: p.Number}, p)
	}
	o, opened := w.opened[n]
	switch {
	case !opened:
		return nil
	case o.hole != nil:
		return w.hollow(n.(syntax.Expr), o)
	case o.made != nil:
		return o.made
	}
	e := syntax.Copy(o.expr, w.emit)
	if o.parens {
		e = syntax.Placed(&syntax.Paren{X: e}, n)
	}
	return e
}

// hollow returns a sub-select whose values will stand there.
func (w *emitter) hollow(e syntax.Expr, o opening) syntax.Node {
	written := e
	delete(w.opened, written)
	defer func() { w.opened[written] = o }()
	if in, ok := e.(*syntax.In); ok { // what is left of it is no part of the sub-select
		other := *in
		other.X = syntax.Copy(in.X, w.emit)
		outer := len(w.holes)
		other.Set = syntax.Copy(in.Set, w.emit)
		e, w.holes = &other, w.holes[:outer]
	} else {
		outer := len(w.holes)
		e, w.holes = syntax.Copy(e, w.emit), w.holes[:outer]
	}
	h := *o.hole
	h.node = e
	w.holes = append(w.holes, h)
	return e
}

// sources returns what stands in FROM. A SELECT that is folded into the core stands for its own
// sources: a join is then one with the last of them.
func (w *emitter) sources(list []syntax.Source) (out []syntax.Source) {
	for _, s := range list {
		if o, opened := w.opened[s]; opened {
			out = append(out, w.sources(o.from)...)
			continue
		}
		switch s := s.(type) {
		case *syntax.Join:
			x, y := w.sources([]syntax.Source{s.X}), w.sources([]syntax.Source{s.Y})
			other := *s
			other.X, other.Y = x[len(x)-1], y[0]
			if s.On != nil {
				other.On = syntax.Copy(s.On, w.emit)
			}
			out = append(append(out, x[:len(x)-1]...), &other)
		case *syntax.ParenSource:
			other := *s
			other.List = w.sources(s.List)
			out = append(out, &other)
		default:
			out = append(out, syntax.Copy(s, w.emit))
		}
	}
	return out
}

// wheres returns the condition that several are, nil for none.
func (w *emitter) wheres(all []syntax.Expr) (condition syntax.Expr) {
	for _, e := range all {
		e = syntax.Copy(e, w.emit)
		if len(all) > 1 {
			e = syntax.Placed(&syntax.Paren{X: e}, e)
		}
		if condition != nil {
			e = syntax.Placed(&syntax.Binary{Op: "AND", X: condition, Y: e, Operator: e.Pos()}, e)
		}
		condition = e
	}
	return condition
}
