package types

import (
	"slices"
	"strconv"
	"strings"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// Scope has what names mean where an expression stands.
type Scope interface {
	// Column returns the type of a column, of an alias or of a word such as CURRENT_DATE.
	Column(c *syntax.Column) Type
	// Query returns the types of the columns of a query inside an expression; nil if they are not known.
	Query(q *syntax.Query) []Type
}

// Entries is a Scope with a select list, of which an entry is named in a call of a function on Entry.
type Entries interface {
	// Entry returns the type of an entry of the select list.
	Entry(name syntax.Ident) Type
}

// Pass finds types in one statement.
type Pass struct {
	*Dialect
	Scope      Scope
	Parameters []Type               // those of arguments so far, Unknown where nothing has told one; nil if they are not collected
	Types      map[syntax.Expr]Type // of all expressions, and of a text the type that it is expected to have; nil if they are not collected
	Told       int                  // the number of parameters whose type was told

	// Check, if given, is called for each operator, call and unknown form, once the types of its
	// operands are found.
	Check func(e syntax.Expr, operands ...Type)
}

func (p *Pass) check(e syntax.Expr, operands ...Type) {
	if p.Check != nil {
		p.Check(e, operands...)
	}
}

// Expect notes the type that expressions have where they stand, for the parameters in them whose
// value is their value.
func (p *Pass) Expect(t Type, all ...syntax.Expr) {
	if p.Parameters == nil || !Known(t) {
		return
	}
	if t == TimeOrText {
		t = query.SQLText
	}
	for _, e := range all {
		p.expect(t, e)
	}
}

func (p *Pass) expect(t Type, e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Literal:
		if p.Types != nil && e.Kind == syntax.KindString {
			p.Types[e] = t
		}
	case *syntax.Parameter:
		if p.Parameters[e.Number-1] == Unknown {
			p.Parameters[e.Number-1] = t
			p.Told++
		}
	case *syntax.Paren:
		p.expect(t, e.X)
	case *syntax.Collate:
		p.expect(t, e.X)
	case *syntax.Tuple:
		p.Expect(t, e.Items...)
	case *syntax.Case:
		for _, when := range e.Whens {
			p.expect(t, when.Then)
		}
		p.expect(t, e.Else)
	case *syntax.Call:
		if f := p.Functions[Name(e)]; f.Chosen > 0 && len(e.Args) >= f.Chosen {
			p.Expect(t, e.Args[f.Chosen-1:]...)
		}
	}
}

// Name returns the name of the function that is called, in lower case.
func Name(c *syntax.Call) string { return strings.ToLower(c.Path[len(c.Path)-1].Text) }

// Clauses finds the types in the clauses behind FROM and the select list.
func (p *Pass) Clauses(b *syntax.Block, q *syntax.Query) {
	p.all([]syntax.Expr{b.Where, b.Having, q.Limit, q.Offset})
	p.Expect(query.SQLBool, b.Where, b.Having)
	p.Expect(query.SQLInt8, q.Limit, q.Offset)
	p.all(b.Group)
	p.terms(q.Order)
	for _, n := range b.Windows {
		p.window(n.Window)
	}
}

// Condition finds the types in a condition.
func (p *Pass) Condition(e syntax.Expr) {
	p.Of(e)
	p.Expect(query.SQLBool, e)
}

func (p *Pass) terms(list []syntax.OrderTerm) {
	for _, t := range list {
		p.Of(t.X)
	}
}

func (p *Pass) window(o *syntax.Window) {
	if o == nil {
		return
	}
	p.all(o.Partition)
	p.terms(o.Order)
	if o.Frame != nil {
		p.Of(o.Frame.Low.By)
		p.Of(o.Frame.High.By)
	}
}

// all returns the types of expressions.
func (p *Pass) all(list []syntax.Expr) []Type {
	types := make([]Type, len(list))
	for i, e := range list {
		types[i] = p.Of(e)
	}
	return types
}

// Of returns the type of an expression.
func (p *Pass) Of(e syntax.Expr) Type {
	if e == nil {
		return Unknown
	}
	t := p.of(e)
	if _, text := e.(*syntax.Literal); p.Types != nil && !text {
		p.Types[e] = t
	}
	return t
}

func (p *Pass) of(e syntax.Expr) Type {
	switch e := e.(type) {
	case *syntax.Star:
		return Unknown
	case *syntax.Column:
		return p.Scope.Column(e)
	case *syntax.Parameter:
		if p.Parameters == nil || p.Parameters[e.Number-1] == Unknown {
			return Null
		}
		return p.Parameters[e.Number-1]
	case *syntax.Literal:
		return p.literal(e)
	case *syntax.Paren:
		return p.Of(e.X)
	case *syntax.Collate:
		return p.Of(e.X)
	case *syntax.Tuple:
		p.all(e.Items)
		return Unknown
	case *syntax.GroupingSets:
		p.all(e.Sets)
		return Unknown
	case *syntax.Exists:
		p.Scope.Query(e.Query)
		return query.SQLBool
	case *syntax.Subquery:
		if columns := p.Scope.Query(e.Query); len(columns) == 1 {
			return columns[0]
		}
		return Unknown
	case *syntax.Test:
		if t := p.Of(e.X); e.Is != "NULL" {
			p.Expect(first(t, query.SQLBool), e.X)
		}
		return query.SQLBool
	case *syntax.Cast:
		p.Of(e.X)
		t := Cast(e.Type)
		p.Expect(t, e.X)
		return t
	}
	return p.operation(e)
}

// operation returns the type of an operator, CASE or call.
func (p *Pass) operation(e syntax.Expr) Type {
	switch e := e.(type) {
	case *syntax.Unary:
		return p.unary(e)
	case *syntax.Binary:
		return p.binary(e)
	case *syntax.Between:
		ends := []syntax.Expr{e.X, e.Low, e.High}
		p.compared(e, ends, p.all(ends))
		return query.SQLBool
	case *syntax.In:
		p.in(e)
		return query.SQLBool
	case *syntax.Case:
		return p.caseOf(e)
	case *syntax.Call:
		return p.call(e)
	}
	p.check(e)
	return Unknown
}

// literal returns the type of a literal. TRUE may be a column, as in SQLite.
func (p *Pass) literal(l *syntax.Literal) Type {
	switch {
	case l.Kind == syntax.KindString:
		return query.SQLText
	case l.Kind == syntax.KindBlob:
		return Unknown
	case l.Kind == syntax.KindWord && l.Value == "NULL":
		return Null
	case l.Kind == syntax.KindWord:
		c := syntax.Placed(&syntax.Column{Path: []syntax.Ident{syntax.Named(l.Value, l)}}, l)
		return first(p.Scope.Column(c), query.SQLBool)
	}
	_, err := strconv.ParseInt(l.Value, 10, 64)
	switch {
	case err != nil:
		return query.SQLFloat8
	case len(l.Value) > 18:
		return p.Long
	}
	return query.SQLInt8
}

// Clock returns the type of CURRENT_DATE and the like, which stand where no column of the name is.
func Clock(name syntax.Ident) Type {
	if name.Quoted {
		return Unknown
	}
	switch strings.ToUpper(name.Text) {
	case "CURRENT_DATE":
		return query.SQLDate
	case "CURRENT_TIMESTAMP":
		return query.SQLTimestamp
	case "CURRENT_TIME":
		return query.SQLText
	}
	return Unknown
}

// Cast returns the type of CAST(… AS type), as SQLite has it.
func Cast(t *syntax.Type) Type {
	switch sqlvalue.AffinityOf(strings.TrimSpace(strings.ToUpper(t.Path[len(t.Path)-1].Text + " " + t.Word))) {
	case sqlvalue.Integer:
		return query.SQLInt8
	case sqlvalue.Textual:
		return query.SQLText
	case sqlvalue.Float:
		return query.SQLFloat8
	}
	return Unknown
}

func (p *Pass) unary(e *syntax.Unary) Type {
	t := p.Of(e.X)
	p.check(e, t)
	switch {
	case e.Op == "NOT":
		p.Expect(query.SQLBool, e.X)
		return query.SQLBool
	case t == Null:
		p.Expect(query.SQLFloat8, e.X) // as in PostgreSQL
		return query.SQLFloat8
	case e.Op == "~":
		return query.SQLInt8
	case IsNumber(t):
		return Wider(t, query.SQLInt8)
	}
	return Unknown
}

func (p *Pass) binary(e *syntax.Binary) Type {
	x, y := p.Of(e.X), p.Of(e.Y)
	p.Of(e.Escape)
	if f, ok := p.Operators[e.Op]; ok {
		p.check(e, x, y)
		p.Expect(f.arg(0), e.X)
		p.Expect(f.arg(1), e.Y, e.Escape)
		if f.Result != nil {
			return f.Result([]Type{x, y})
		}
		return f.Value
	}
	switch e.Op {
	case "+", "-", "*", "/", "%":
		p.check(e, x, y)
		return p.arithmetic(e, x, y)
	}
	p.compared(e, []syntax.Expr{e.X, e.Y}, []Type{x, y})
	return query.SQLBool
}

// arithmetic returns the type of x + y and the like: TRUE is 1 there. The days between two dates
// are an integer, and a date plus days is a date. As in PostgreSQL, a parameter beside a date is one.
func (p *Pass) arithmetic(e *syntax.Binary, x, y Type) Type {
	x, y = asDay(e.X, x), asDay(e.Y, y)
	switch {
	case e.Op == "-" && x == query.SQLDate && !IsNumber(y):
		p.Expect(query.SQLDate, e.Y)
		return query.SQLInt8
	case e.Op == "-" && y == query.SQLDate:
		p.Expect(query.SQLDate, e.X)
		return query.SQLInt8
	case (e.Op == "+" || e.Op == "-") && (x == query.SQLDate || y == query.SQLDate):
		p.Expect(query.SQLInt8, e.X, e.Y)
		return query.SQLDate
	}
	p.Expect(p.computed(first(x, query.SQLInt8), first(y, query.SQLInt8)), e.X, e.Y)
	return p.computed(x, y)
}

// asDay returns the type of a value that is typed as a moment and has no time of day, where it is computed with.
func asDay(e syntax.Expr, t Type) Type {
	if c, ok := syntax.Inside(e).(*syntax.Call); ok && c.Moment && Name(c) == "date" && t == query.SQLTimestamp {
		return query.SQLDate
	}
	return t
}

// computed returns the type of what is computed of values of two types. That of NULL is the other's.
func (p *Pass) computed(x, y Type) Type {
	if x == Null {
		x = first(y, query.SQLInt8)
	}
	if y == Null {
		y = x
	}
	if !IsNumber(x) || !IsNumber(y) {
		return p.NotNumber
	}
	return Wider(query.SQLInt8, Wider(x, y))
}

// compared has values that are compared expect the type that they agree on, and those of a row that
// of their like in the others.
func (p *Pass) compared(e syntax.Expr, values []syntax.Expr, types []Type) {
	p.check(e, types...)
	row, ok := syntax.Inside(values[0]).(*syntax.Tuple)
	if !ok {
		p.agree(values, types)
		return
	}
	for i := range row.Items {
		column := []syntax.Expr{row.Items[i]}
		for _, v := range values[1:] {
			if other, ok := syntax.Inside(v).(*syntax.Tuple); ok && i < len(other.Items) {
				column = append(column, other.Items[i])
			}
		}
		p.agree(column, p.all(column))
	}
}

// agree has values expect the type that they have in common. That of a text that is written out
// counts only where nothing else has one.
func (p *Pass) agree(values []syntax.Expr, types []Type) {
	t, text := Null, Null
	for i, v := range values {
		switch {
		case IsText(v):
			text = query.SQLText
		case types[i] != Unknown:
			t = p.common(t, types[i])
		}
	}
	p.Expect(first(t, text), values...)
}

// IsText reports whether an expression is a text that is written out.
func IsText(e syntax.Expr) bool {
	l, ok := e.(*syntax.Literal)
	return ok && l.Kind == syntax.KindString
}

func (p *Pass) in(e *syntax.In) {
	x := p.Of(e.X)
	if list := listed(e.Set); list != nil {
		p.compared(e, append([]syntax.Expr{e.X}, list...), append([]Type{x}, p.all(list)...))
	}
	if _, ok := e.Set.(*syntax.Tuple); !ok {
		if y := p.Of(e.Set); y != Unknown {
			p.Expect(y, e.X)
		}
	}
}

// listed returns the values behind IN that are written out: (a, b), or (VALUES (a), (b)).
func listed(set syntax.Expr) (list []syntax.Expr) {
	switch set := set.(type) {
	case *syntax.Tuple:
		return set.Items
	case *syntax.Subquery:
		v, ok := set.Query.Body.(*syntax.Values)
		for i := 0; ok && i < len(v.Rows); i++ {
			if list = append(list, v.Rows[i]); len(v.Rows[i].Items) == 1 {
				list[i] = v.Rows[i].Items[0]
			}
		}
	}
	return list
}

func (p *Pass) caseOf(e *syntax.Case) Type {
	of := p.Of(e.Of)
	for _, w := range e.Whens {
		if t := p.Of(w.If); e.Of == nil {
			p.Expect(query.SQLBool, w.If)
		} else {
			p.Expect(first(of, t), e.Of, w.If)
		}
	}
	out := Null
	for _, w := range e.Whens {
		out = p.Common(out, p.Of(w.Then))
	}
	if e.Else != nil {
		out = p.Common(out, p.Of(e.Else))
	}
	p.Expect(out, e)
	return out
}

// arguments returns the types of a call's arguments.
func (p *Pass) arguments(f Function, c *syntax.Call) []Type {
	if f.Entry && len(c.Args) == 1 {
		if name, ok := syntax.Inside(c.Args[0]).(*syntax.Column); ok && len(name.Path) == 1 {
			return []Type{p.Scope.(Entries).Entry(name.Path[0])}
		}
	}
	return p.all(c.Args)
}

// call returns the type of a call.
func (p *Pass) call(c *syntax.Call) Type {
	f := p.Functions[Name(c)]
	args := p.arguments(f, c)
	p.terms(c.Order)
	p.terms(c.Within)
	p.Condition(c.Filter)
	p.window(c.Over)
	p.check(c, args...)
	t, fixed := f.Value, len(args)
	if from := f.Chosen - 1; from >= 0 && from < len(args) {
		t, fixed = p.All(args[from:]), from
		p.Expect(t, c.Args[from:]...)
	}
	for i, e := range c.Args[:fixed] {
		p.Expect(f.arg(i), e)
	}
	switch {
	case c.Moment && (Name(c) == "time" || slices.Contains(args, query.SQLTime)):
		return query.SQLTime
	case c.Moment:
		return query.SQLTimestamp
	case f.Result != nil:
		return f.Result(args)
	}
	return t
}
