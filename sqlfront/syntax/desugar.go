package syntax

import (
	"regexp"
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// This file turns forms of other systems into SQLite's, on the tree of a statement: expressions
// here, clauses in clauses.go. What a form turns into has SQLite's meaning: docs/sql/forms.md lists
// them. A node that is made has the place of the one that it stands for, so that errors, and the
// titles of columns, are of what was written.

// expr returns what stands in the place of an expression, whose parts are desugared.
func (d *desugaring) expr(e Expr) Expr {
	out := d.form(e)
	if out != e {
		d.replaces(e.Pos())
	}
	return out
}

func (d *desugaring) form(e Expr) Expr {
	m := d.in(e)
	switch e := e.(type) {
	case *Literal:
		return m.typed(e)
	case *Column:
		if slices.ContainsFunc(d.entries[e], func(it *Item) bool { return m.extracted[Inside(it.X)] }) {
			m.extracted[e] = true
		}
		if n := e.Path[0]; len(e.Path) == 1 && !n.Quoted && UpperASCII(n.Text) == "LOCALTIMESTAMP" {
			return m.call("datetime", m.text("now"), m.text("localtime"))
		}
	case *Cast:
		return m.castOf(e)
	case *AtZone:
		return m.inZone(e.X, e.Zone)
	case *Unary:
		if m.extracted[Inside(e.X)] {
			m.extracted[e] = true
		}
	case *Binary:
		return m.operation(e)
	case *In:
		return m.lists(e)
	case *Between:
		return m.ordered(e)
	case *Case:
		if m.extracted[Inside(e.Else)] || slices.ContainsFunc(e.Whens, func(w When) bool { return m.extracted[Inside(w.Then)] }) {
			m.extracted[e] = true
		}
	case *Call:
		if keepsNumber[UpperASCII(e.Path[len(e.Path)-1].Text)] && slices.ContainsFunc(e.Args, func(x Expr) bool { return m.extracted[Inside(x)] }) {
			out := m.function(e)
			m.extracted[out] = true
			return out
		}
		return m.function(e)
	}
	return e
}

// keepsNumber are the functions whose value is one of their arguments, or one with another sign, or a sum.
var keepsNumber = words("ABS COALESCE IFNULL NVL NULLIF MIN MAX GREATEST LEAST SUM LAG LEAD")

// castOf desugars a cast by its type. A REAL is made by a product, which has a margin where its
// operand has one.
func (m maker) castOf(c *Cast) Expr {
	if c.Name != "" && c.Name != "CAST" || c.Type.Array > 0 {
		return c
	}
	name := UpperASCII(c.Type.Path[len(c.Type.Path)-1].Text)
	plain := len(c.Type.Path) == 1 && c.Type.Word == "" && c.Type.Args == nil && c.Type.Zone == ""
	literal, isText := textOf(c.X)
	switch to := types[name]; to {
	case "INTEGER", "TEXT":
		if to == "TEXT" && len(c.Type.Args) == 1 { // as PostgreSQL, which cuts
			return m.call("substr", m.cast(c.X, to), m.number("1"), c.Type.Args[0])
		}
		if !plain || name != to {
			return m.cast(c.X, to)
		}
	case "REAL":
		if isText && literal != "" && strings.Trim(literal, "0123456789") == "." { // '10.5'::numeric
			c.X = counted(m, &Literal{span: m.at, Kind: KindDecimal, Value: literal})
		}
		if len(c.Type.Args) == 2 {
			return m.call("ROUND", m.real(c.X), c.Type.Args[1])
		}
		return m.paren(m.real(c.X))
	case "DATE":
		if day, ok := dayText(literal); ok && isText {
			return m.aDay(m.text(day))
		}
		return m.call("date", c.X)
	case "DATETIME":
		return m.moment(c.X, c.Type.Zone == "WITH" || name == "TIMESTAMPTZ")
	case "TIME":
		if name == "TIMETZ" || c.Type.Zone == "WITH" {
			m.refuse(c.Pos(), "a time of day with a time zone", "it is a time without one: '09:27'::time")
		}
		if clock, ok := clockText(literal); ok && isText {
			return m.text(clock)
		}
		return m.call("time", c.X)
	case "BOOL":
		return m.truth(c.X)
	}
	if c.Name == "" { // x::type
		return counted(m, &Cast{span: c.span, Name: "CAST", X: c.X, Type: c.Type})
	}
	return c
}

// ordered desugars x BETWEEN SYMMETRIC a AND b, whose bounds stand in either order.
func (m maker) ordered(b *Between) Expr {
	if !b.Symmetric {
		return b
	}
	b.Symmetric = false
	other := counted(m, &Between{span: b.span, X: m.again(b.X), Not: b.Not, Low: m.again(b.High), High: m.again(b.Low), Operator: b.Operator})
	if b.Not {
		return m.paren(m.binary(b, "AND", other))
	}
	return m.paren(m.binary(b, "OR", other))
}

func (m maker) truth(x Expr) Expr {
	literal, isText := textOf(x)
	_, isParameter := x.(*Parameter)
	switch literal = UpperASCII(literal); {
	case isText && (literal == "T" || literal == "TRUE"):
		return m.word("TRUE")
	case isText && (literal == "F" || literal == "FALSE"):
		return m.word("FALSE")
	case isParameter: // so that its type is BOOLEAN
		return m.paren(m.binary(x, "<>", m.word("FALSE")))
	}
	return m.paren(m.binary(m.paren(x), "<>", m.number("0")))
}

// operation desugars an operator.
func (m maker) operation(e *Binary) Expr {
	if strings.Contains("+-*/%", e.Op) && (m.extracted[Inside(e.X)] || m.extracted[Inside(e.Y)]) {
		m.extracted[e] = true
	}
	switch {
	case e.Quantifier != "" && !strings.HasPrefix(e.Op, "~"):
		e.Op = strings.TrimPrefix(e.Op, "I")
		return m.anyOf(e)
	case e.Op == "ILIKE":
		e.Op = "LIKE"
		m.replaces(e.Operator)
	case e.Op == "~" || e.Op == "~*":
		return m.pattern(e)
	case e.Op == "*" && (m.isInterval(e.X) || m.isInterval(e.Y)):
		m.refuse(e.Operator, "a multiple of an interval", "write INTERVAL '3 days'; an argument is an interval itself: x - $1::interval, with '3 days'")
	case e.Op == "+" || e.Op == "-":
		if i, ok := m.interval(e.Y); ok {
			return m.shifted(e, e.X, e.Y, i)
		}
		if i, ok := m.interval(e.X); ok && e.Op == "+" {
			return m.shifted(e, e.Y, e.X, i)
		}
		return m.apart(e)
	case e.Op == "/":
		if m.extracted[e] {
			e.X = m.real(e.X)
		}
		return m.nullIfZero(e)
	}
	return e
}

// nullIfZero takes NULLIF out of x / NULLIF(y, 0). The result is the same, since a division by 0
// is NULL in SQLite, and has a margin.
func (m maker) nullIfZero(e *Binary) Expr {
	c, ok := e.Y.(*Call)
	if !ok || !c.named("NULLIF", 2) {
		return e
	}
	if l, ok := c.Args[1].(*Literal); ok && l.Kind == KindInteger && l.Value == "0" {
		e.Y = m.in(c).paren(c.Args[0])
		m.replaces(c.Pos())
	}
	return e
}

// pattern desugars x ~ '^abc' into x GLOB 'abc*', and x ~* 'abc' into x LIKE '%abc%'.
func (m maker) pattern(e *Binary) Expr {
	operator, any, one := "GLOB", "*", "?"
	if e.Op == "~*" {
		operator, any, one = "LIKE", "%", "_"
	}
	pattern, ok := textOf(e.Y)
	if !ok {
		return e
	}
	glob, ok := wildcards(pattern, any, one)
	if !ok {
		m.refuse(e.Y.Pos(), "this regular expression",
			"one of letters, digits, blanks, . and .* is known, with ^ and $ around it; else list the values with IN")
	}
	e.Op, e.Y = operator, m.in(e.Y).text(glob)
	m.replaces(e.Operator)
	return e
}

// wildcards writes a regular expression with the wildcards of GLOB or LIKE.
func wildcards(pattern, any, one string) (string, bool) {
	body, begins := strings.CutPrefix(pattern, "^")
	body, ends := strings.CutSuffix(body, "$")
	var out strings.Builder
	if !begins {
		out.WriteString(any)
	}
	for body != "" {
		c := rune(body[0])
		switch {
		case strings.HasPrefix(body, ".*"):
			out.WriteString(any)
			body = body[1:]
		case c == '.':
			out.WriteString(one)
		case isLetter(c) && c != '_' && c < 0x80, isDigit(c), strings.ContainsRune(" -/:,", c):
			out.WriteRune(c)
		default:
			return "", false
		}
		if body = body[1:]; body != "" && strings.IndexByte("*+?{", body[0]) >= 0 {
			return "", false
		}
	}
	if !ends {
		out.WriteString(any)
	}
	return out.String(), true
}

// anyOf desugars x = ANY (ARRAY['a', 'b']) into x IN ('a', 'b'), and x <> ALL (ARRAY[…]) into
// NOT IN. The array may be an argument.
func (m maker) anyOf(e *Binary) Expr {
	in := In{span: e.span, X: e.X, Not: e.Quantifier == "ALL", Operator: e.Operator}
	same := e.Op == "=" && !in.Not || (e.Op == "<>" || e.Op == "!=") && in.Not
	if q, ok := Inside(e.Y).(*Subquery); ok && same {
		in.Set = q
		return counted(m, &in)
	}
	at, values := m.elements(e.Y)
	if same || len(values) == 0 {
		return m.among(in, at, values)
	}
	join, all := "OR", Expr(nil)
	if in.Not {
		join = "AND"
	}
	for i, v := range values {
		if one := m.binary(m.again(e.X), e.Op, v); i == 0 {
			all = one
		} else {
			all = m.binary(all, join, one)
		}
	}
	return m.paren(all)
}

// elements returns the values of an array, and where they stand.
func (m maker) elements(array Expr) (at span, values []Expr) {
	if p := parameterOf(array); p != nil {
		return p.span, m.values(p)
	}
	y := Inside(array)
	if c, ok := y.(*Cast); ok { // '{a,b}'::text[]
		y = Inside(c.X)
	}
	at = span{y.Pos(), y.End()}
	if list, ok := y.(*Array); ok && list.Query == nil {
		return at, list.Items
	}
	text, ok := textOf(y)
	items, read := Elements(text)
	if !ok || !read {
		m.refuse(y.Pos(), "this array", "list the values: x IN ('a', 'b'), or x > ANY (ARRAY[3, 4])")
	}
	for _, v := range items {
		v.span = m.at
		values = append(values, counted(m, &v))
	}
	return at, values
}

// Elements returns the items of an array in PostgreSQL's form, such as {a,"b c",NULL}: texts and NULLs. It is not ok where the
// form is wrong, or an item an array.
func Elements(array string) (items []Literal, ok bool) {
	opened, ok := strings.CutPrefix(strings.TrimSpace(array), "{")
	rest, closed := strings.CutSuffix(opened, "}")
	if ok = ok && closed; !ok || strings.TrimSpace(rest) == "" {
		return nil, ok
	}
	for more := true; more; {
		m := arrayItem.FindStringSubmatch(rest)
		if m == nil {
			return nil, false
		}
		item := Literal{Kind: KindString, Value: m[2]}
		switch {
		case m[1] != "":
			item.Value = escaped.ReplaceAllString(m[1][1:len(m[1])-1], "$1")
		case UpperASCII(m[2]) == "NULL":
			item = Literal{Kind: KindWord, Value: "NULL"}
		}
		items, rest, more = append(items, item), rest[len(m[0]):], m[3] != ""
	}
	return items, true
}

// arrayItem is an item of an array in text: in quotes or as it is, and the comma behind it.
var (
	arrayItem = regexp.MustCompile(`^\s*(?:("(?s:[^"\\]|\\.)*")|([^\s",{}](?:[^",{}]*[^\s",{}])?))\s*(?:(,)|$)`)
	escaped   = regexp.MustCompile(`\\(?s:(.))`)
)

// among returns x IN (…) or x NOT IN (…), with values in it. Without values it is FALSE, or TRUE.
func (m maker) among(e In, at span, values []Expr) Expr {
	if len(values) == 0 {
		op := "<>"
		if e.Not {
			op = "="
		}
		return m.paren(m.binary(m.number("0"), op, m.number("0")))
	}
	e.Set = counted(m, &Tuple{span: at, Items: values})
	return counted(m, &e)
}

// lists puts the values of arguments that are lists in the place of their parameters in x IN (…).
func (m maker) lists(e *In) Expr {
	t, ok := e.Set.(*Tuple)
	listed := func(x Expr) bool { p := parameterOf(x); return p != nil && m.given[p.Number-1].List }
	if !ok || m.given == nil || !slices.ContainsFunc(t.Items, listed) {
		return e
	}
	var items []Expr
	for _, item := range t.Items {
		if listed(item) {
			items = append(items, m.values(parameterOf(item))...)
		} else {
			items = append(items, item)
		}
	}
	return m.among(*e, t.span, items)
}

// shapes are those of a statement's parameters, as its forms find them.
type shapes struct {
	of        []Shape
	uses      []int   // how often each stands so
	given     []Given // nil if the arguments are not known
	intervals []bool  // which are intervals, by their type; nil if none is
}

func shapesOf(parameters int, given []Given, intervals []bool) shapes {
	return shapes{make([]Shape, parameters), make([]int, parameters), given, intervals}
}

// parameterOf returns the parameter that an expression is, with or without a cast.
func parameterOf(e Expr) *Parameter {
	switch e := Inside(e).(type) {
	case *Parameter:
		return e
	case *Cast:
		return parameterOf(e.X)
	}
	return nil
}

// use notes what a parameter stands for.
func (s *shapes) use(p *Parameter, kind ShapeKind) {
	i := p.Number - 1
	if s.uses[i]++; s.uses[i] == 1 {
		s.of[i] = Shape{kind, p.Pos()}
	}
	if s.of[i].Kind != kind {
		panic(errTwoShapes(p.Pos()))
	}
}

func errTwoShapes(position int) *sqlerr.Error {
	return Token{Position: position}.Unsupported("an argument that is an array, a unit or an interval here and something else there").
		WithHint("give each its own: $1 and $2")
}

// check refuses a parameter that also stands for a value, and a list where none can be.
func (s *shapes) check(tokens []Token) {
	left := append([]int(nil), s.uses...)
	for _, t := range tokens {
		if t.Kind != KindParameter {
			continue
		}
		if kind := s.of[t.Parameter-1].Kind; s.given != nil && s.given[t.Parameter-1].List && kind != ArrayShape {
			panic(t.Unsupported("a list as an argument here").WithHint("write x IN (?) or x = ANY(?)"))
		} else if kind == ValueShape {
			continue
		}
		if left[t.Parameter-1]--; left[t.Parameter-1] < 0 {
			panic(errTwoShapes(t.Position))
		}
	}
}

// values returns the parameters for the values of a list. A list that is not known has one.
func (m maker) values(p *Parameter) []Expr {
	m.use(p, ArrayShape)
	if m.given == nil {
		return []Expr{p}
	}
	list, next := []Expr{p}[:min(1, m.given[p.Number-1].Length)], len(m.of)+1
	for _, g := range m.given[:p.Number-1] {
		next += max(g.Length-1, 0)
	}
	for i := 1; i < m.given[p.Number-1].Length; i++ {
		list = append(list, counted(m, &Parameter{p.span, "?", next}))
		next++
	}
	return list
}

// unit returns the unit that an argument is: a name, a text, or a parameter. One that is not known is a minute, which has
// the type of all.
func (m maker) unit(e Expr) (string, bool) {
	p := parameterOf(e)
	if p == nil {
		return wordOf(e)
	}
	return m.argument(p, UnitShape, "minute"), true
}

// argument returns the text of an argument of a shape, or what stands for it where it is not known.
func (m maker) argument(p *Parameter, kind ShapeKind, unknown string) string {
	if m.use(p, kind); m.given == nil {
		return unknown
	}
	return m.given[p.Number-1].Text
}
