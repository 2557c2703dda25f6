package syntax

import (
	"strconv"
	"strings"

	"dpsql/query"
)

// String writes the query in the dialect that it was read in, so that it reads back as the same
// tree. An operand that would read back otherwise stands in parentheses.
func (q *Query) String() string {
	var p printer
	p.query(q)
	return p.String()
}

// Text writes an expression as String writes it in a query.
func Text(e Expr) string {
	var p printer
	p.expr(e)
	return p.String()
}

type printer struct{ strings.Builder }

func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

func (p *printer) ident(n Ident) { p.put(n.String()) }

// comma separates the entries of a list.
func (p *printer) comma(i int) {
	if i > 0 {
		p.put(", ")
	}
}

// String writes the name, in quotes if it had them.
func (n Ident) String() string {
	if n.Quoted {
		return query.Quoted(n.Text)
	}
	return n.Text
}

func (p *printer) path(path []Ident) {
	for i, n := range path {
		if i > 0 {
			p.put(".")
		}
		p.ident(n)
	}
}

func (p *printer) names(list []Ident) {
	p.put("(")
	for i, n := range list {
		p.comma(i)
		p.ident(n)
	}
	p.put(")")
}

func (p *printer) exprs(list []Expr) {
	for i, e := range list {
		p.comma(i)
		p.expr(e)
	}
}

func (p *printer) parens(list []Expr) {
	p.put("(")
	p.exprs(list)
	p.put(")")
}

// clause writes a word and an expression, or nothing if there is none.
func (p *printer) clause(word string, e Expr) {
	if e != nil {
		p.put(word)
		p.expr(e)
	}
}

func (p *printer) query(q *Query) {
	for i, c := range q.With {
		switch {
		case i > 0:
			p.put(", ")
		case q.Recursive:
			p.put("WITH RECURSIVE ")
		default:
			p.put("WITH ")
		}
		p.commonTable(c)
	}
	if len(q.With) > 0 {
		p.put(" ")
	}
	p.body(q.Body)
	p.order(" ORDER BY ", q.Order)
	p.clause(" LIMIT ", q.Limit)
	p.clause(" OFFSET ", q.Offset)
	for i, s := range q.Settings {
		p.put([]string{" WITH ", ", "}[min(i, 1)], s.Name.Text, " ")
		if s.Kind == String {
			p.put(quoteText(s.Value))
		} else {
			p.put(s.Value)
		}
	}
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (p *printer) inParens(q *Query) {
	p.put("(")
	p.query(q)
	p.put(")")
}

func (p *printer) commonTable(c *CommonTable) {
	p.ident(c.Name)
	if c.Columns != nil {
		p.put(" ")
		p.names(c.Columns)
	}
	p.put(" AS ")
	if c.Materialized != "" {
		p.put(c.Materialized, " ")
	}
	p.inParens(c.Query)
}

func (p *printer) order(before string, list []OrderTerm) {
	for i, t := range list {
		if i > 0 {
			before = ", "
		}
		p.put(before)
		p.expr(t.X)
		if t.Desc {
			p.put(" DESC")
		}
		if t.Nulls != "" {
			p.put(" NULLS ", t.Nulls)
		}
	}
}

func (p *printer) body(b Body) {
	switch b := b.(type) {
	case *Query:
		p.inParens(b)
	case *Compound:
		p.body(b.X)
		p.put(" ", b.Op, " ")
		if b.All {
			p.put("ALL ")
		}
		p.body(b.Y)
	case *Values:
		p.put("VALUES ")
		for i, row := range b.Rows {
			p.comma(i)
			p.parens(row.Items)
		}
	case *Block:
		p.block(b)
	}
}

func (p *printer) block(b *Block) {
	p.put("SELECT")
	if b.Distinct {
		p.put(" DISTINCT")
	}
	if b.On != nil {
		p.put(" ON ")
		p.parens(b.On)
	}
	p.clause(" TOP ", b.Top)
	for i, it := range b.Items {
		p.put([]string{" ", ", "}[min(i, 1)])
		p.expr(it.X)
		p.as(it.As)
	}
	for i, s := range b.From {
		p.put([]string{" FROM ", ", "}[min(i, 1)])
		p.source(s)
	}
	p.clause(" WHERE ", b.Where)
	if b.GroupAll {
		p.put(" GROUP BY ALL")
	}
	if len(b.Group) > 0 {
		p.put(" GROUP BY ")
		p.exprs(b.Group)
	}
	p.clause(" HAVING ", b.Having)
	for i, n := range b.Windows {
		p.put([]string{" WINDOW ", ", "}[min(i, 1)])
		p.ident(n.Name)
		p.put(" AS ")
		p.window(n.Window)
	}
	p.clause(" QUALIFY ", b.Qualify)
}

func (p *printer) as(n Ident) {
	if !n.None() {
		p.put(" AS ")
		p.ident(n)
	}
}

func (p *printer) alias(a Alias) {
	p.as(a.Name)
	if a.Columns == nil {
		return
	}
	p.put(" (")
	for i, n := range a.Columns {
		p.comma(i)
		p.put(n.String())
		if a.Types != nil {
			p.put(" ")
			p.typeName(a.Types[i])
		}
	}
	p.put(")")
}

func (p *printer) source(s Source) {
	switch s := s.(type) {
	case *Table:
		p.path(s.Path)
		p.alias(s.Alias)
	case *Derived:
		p.lateral(s.Lateral)
		p.inParens(s.Query)
		p.alias(s.Alias)
	case *Function:
		p.lateral(s.Lateral)
		if len(s.Call.Path) == 1 && IsNiladic(UpperASCII(s.Call.Path[0].Text)) && s.Call.Args == nil {
			p.path(s.Call.Path)
		} else {
			p.expr(s.Call)
		}
		if s.Ordinality {
			p.put(" WITH ORDINALITY")
		}
		p.alias(s.Alias)
	case *ParenSource:
		p.put("(")
		for i, inner := range s.List {
			p.comma(i)
			p.source(inner)
		}
		p.put(")")
		p.alias(s.Alias)
	case *Join:
		p.join(s)
	}
}

func (p *printer) lateral(yes bool) {
	if yes {
		p.put("LATERAL ")
	}
}

func (p *printer) join(j *Join) {
	p.source(j.X)
	if j.Natural {
		p.put(" NATURAL")
	}
	if j.Kind != "" {
		p.put(" ", j.Kind)
	}
	p.put(" JOIN ")
	p.source(j.Y)
	p.clause(" ON ", j.On)
	if j.Using != nil {
		p.put(" USING ")
		p.names(j.Using)
	}
}

func (p *printer) window(w *Window) {
	if w.Bare {
		p.ident(w.Name)
		return
	}
	before := ""
	next := func(word string) string { word, before = before+word, " "; return word }
	p.put("(")
	if !w.Name.None() {
		p.put(next(w.Name.String()))
	}
	if w.Partition != nil {
		p.put(next("PARTITION BY "))
		p.exprs(w.Partition)
	}
	if w.Order != nil {
		p.order(next("ORDER BY "), w.Order)
	}
	if w.Frame != nil {
		p.put(next(""))
		p.frame(w.Frame)
	}
	p.put(")")
}

func (p *printer) frame(f *Frame) {
	p.put(f.Unit, " ")
	if f.High.Word != "" {
		p.put("BETWEEN ")
	}
	p.bound(f.Low)
	if f.High.Word != "" {
		p.put(" AND ")
		p.bound(f.High)
	}
	if f.Exclude != "" {
		p.put(" EXCLUDE ", f.Exclude)
	}
}

func (p *printer) bound(b Bound) {
	if b.By != nil {
		p.operand(b.By, powerOf(&Between{}))
		p.put(" ")
	}
	p.put(b.Word)
}

func (p *printer) typeName(t *Type) {
	p.path(t.Path)
	if t.Word != "" {
		p.put(" ", t.Word)
	}
	if t.Args != nil {
		p.parens(t.Args)
	}
	if t.Zone != "" {
		p.put(" ", t.Zone, " TIME ZONE")
	}
	p.put(strings.Repeat("[]", t.Array))
}

// powerOf says how tight an expression holds together: as its operator binds, and most where it
// is no operation.
func powerOf(e Expr) int {
	op := ""
	switch e := e.(type) {
	case *Unary:
		if e.Op != "NOT" {
			return prefixPower
		}
		op = "NOT"
	case *Binary:
		op, _, _ = strings.Cut(e.Op, " ")
	case *Test:
		op = "IS"
	case *Between, *In:
		op = "IN"
	case *Collate:
		op = "COLLATE"
	case *AtZone:
		op = "AT"
	default:
		return maxPower
	}
	if power := powers[op]; power[Native] > 0 {
		return int(power[Native])
	}
	return otherPower
}

const maxPower = 100 // more than that of any operator

// operand writes an expression, in parentheses where something around it would take a part of it.
func (p *printer) operand(e Expr, least int) {
	if powerOf(e) < least {
		p.put("(")
		p.expr(e)
		p.put(")")
		return
	}
	p.expr(e)
}

func (p *printer) expr(e Expr) {
	switch e := e.(type) {
	case *Column:
		p.path(e.Path)
	case *Star:
		if e.Of != nil {
			p.path(e.Of)
			p.put(".")
		}
		p.put("*")
	case *Literal:
		p.literal(e)
	case *Parameter:
		if p.put(e.Text); e.Text == "?" {
			p.put(strconv.Itoa(e.Number))
		}
	case *Paren:
		p.put("(")
		p.expr(e.X)
		p.put(")")
	case *Tuple:
		if e.Row {
			p.put("ROW")
		}
		p.parens(e.Items)
	case *Case:
		p.caseOf(e)
	case *Cast:
		p.cast(e)
	case *Call:
		p.call(e)
	case *GroupingSets:
		p.put("GROUPING SETS ")
		p.parens(e.Sets)
	case *Interval:
		p.put("INTERVAL ")
		p.expr(e.Value)
		if !e.Unit.None() {
			p.put(" ", e.Unit.String())
		}
	case *Array:
		p.array(e)
	case *Subquery:
		p.inParens(e.Query)
	case *Exists:
		p.put("EXISTS ")
		p.inParens(e.Query)
	case *Index, *Field:
		p.part(e)
	default:
		p.operation(e)
	}
}

func (p *printer) operation(e Expr) {
	power := powerOf(e)
	switch e := e.(type) {
	case *Unary:
		p.put(e.Op, " ")
		p.operand(e.X, power)
	case *Test:
		p.operand(e.X, power)
		p.put(" IS ", not(e.Not), e.Is)
	case *Binary:
		p.binary(e, power)
	case *Between:
		p.operand(e.X, power)
		p.put(" ", not(e.Not), "BETWEEN ")
		if e.Symmetric {
			p.put("SYMMETRIC ")
		}
		p.operand(e.Low, power+1)
		p.put(" AND ")
		p.operand(e.High, power+1)
	case *In:
		p.operand(e.X, power)
		p.put(" ", not(e.Not), "IN ")
		p.expr(e.Set)
	case *Collate:
		p.operand(e.X, power)
		p.put(" COLLATE ")
		p.path(e.Name)
	case *AtZone:
		p.operand(e.X, power)
		p.put(" AT TIME ZONE ")
		p.operand(e.Zone, power+1)
	}
}

func (p *printer) binary(e *Binary, power int) {
	p.operand(e.X, power)
	switch word, rest, _ := strings.Cut(e.Op, " "); {
	case word == "IS":
		p.put(" IS ", not(e.Not), rest)
		if rest != "" {
			p.put(" ")
		}
	default:
		p.put(" ", not(e.Not), e.Op, " ")
	}
	if e.Quantifier != "" {
		p.put(e.Quantifier, " ")
	}
	p.operand(e.Y, power+1)
	if e.Escape != nil {
		p.put(" ESCAPE ")
		p.operand(e.Escape, power+1)
	}
}

func not(yes bool) string {
	if yes {
		return "NOT "
	}
	return ""
}

func (p *printer) literal(l *Literal) {
	if l.Type != nil {
		p.path(l.Type)
		p.put(" ")
	}
	switch l.Kind {
	case KindString:
		p.put(quoteText(l.Value))
	case KindBlob:
		p.put("x", quoteText(l.Value))
	default:
		p.put(l.Value)
	}
}

func (p *printer) caseOf(c *Case) {
	p.put("CASE")
	p.clause(" ", c.Of)
	for _, w := range c.Whens {
		p.clause(" WHEN ", w.If)
		p.clause(" THEN ", w.Then)
	}
	p.clause(" ELSE ", c.Else)
	p.put(" END")
}

func (p *printer) cast(c *Cast) {
	if c.Name == "" {
		p.operand(c.X, prefixPower+1)
		p.put("::")
		p.typeName(c.Type)
		return
	}
	p.put(c.Name, "(")
	p.expr(c.X)
	p.put(" AS ")
	p.typeName(c.Type)
	p.put(")")
}

func (p *printer) call(c *Call) {
	p.path(c.Path)
	p.put("(")
	if c.Distinct {
		p.put("DISTINCT ")
	}
	for i, a := range c.Args {
		switch word := c.Words[i]; {
		case i == 0 && word != "":
			p.put(word, " ")
		case word != "":
			p.put(" ", word, " ")
		default:
			p.comma(i)
		}
		if len(c.Words) > i+1 && c.Words[i+1] == "IN" {
			p.operand(a, powerOf(&In{})+1)
		} else {
			p.expr(a)
		}
	}
	p.order(" ORDER BY ", c.Order)
	p.put(")")
	if c.Within != nil {
		p.order(" WITHIN GROUP (ORDER BY ", c.Within)
		p.put(")")
	}
	p.clause(" FILTER (WHERE ", c.Filter)
	if c.Filter != nil {
		p.put(")")
	}
	if c.Over != nil {
		p.put(" OVER ")
		p.window(c.Over)
	}
}

func (p *printer) array(a *Array) {
	if !a.Inner {
		p.put("ARRAY")
	}
	if a.Query != nil {
		p.inParens(a.Query)
		return
	}
	p.put("[")
	p.exprs(a.Items)
	p.put("]")
}

// part writes an element of an array or a field of a row.
func (p *printer) part(e Expr) {
	switch e := e.(type) {
	case *Index:
		p.operand(e.X, maxPower)
		p.put("[")
		p.clause("", e.I)
		if e.Slice {
			p.put(":")
			p.clause("", e.J)
		}
		p.put("]")
	case *Field:
		p.operand(e.X, maxPower)
		if p.put("."); e.Name.None() {
			p.put("*")
		} else {
			p.put(e.Name.String())
		}
	}
}
