package syntax

import "strings"

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
		if n := e.Path[0]; len(e.Path) == 1 && !n.Quoted && UpperASCII(n.Text) == "LOCALTIMESTAMP" {
			return m.call("datetime", m.text("now"), m.text("localtime"))
		}
	case *Cast:
		return m.castOf(e)
	case *AtZone:
		return m.inZone(e.X, e.Zone)
	case *Binary:
		return m.operation(e)
	case *Call:
		return m.function(e)
	}
	return e
}

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
		if !plain || name != to {
			return m.cast(c.X, to)
		}
	case "REAL":
		if len(c.Type.Args) == 2 {
			return m.call("ROUND", m.real(c.X), c.Type.Args[1])
		}
		return m.paren(m.real(c.X))
	case "DATE":
		if day, ok := dayText(literal); ok && isText {
			return m.text(day)
		}
		return m.call("date", c.X)
	case "DATETIME":
		return m.moment(c.X, c.Type.Zone == "WITH" || name == "TIMESTAMPTZ")
	case "TIME":
		return m.call("time", c.X)
	case "BOOL":
		return m.truth(c.X)
	}
	if c.Name == "" { // x::type
		return counted(m, &Cast{span: c.span, Name: "CAST", X: c.X, Type: c.Type})
	}
	return c
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
	switch {
	case e.Op == "ILIKE":
		e.Op = "LIKE"
		m.replaces(e.Operator)
	case e.Op == "~" || e.Op == "~*":
		return m.pattern(e)
	case e.Quantifier != "":
		return m.anyOf(e)
	case e.Op == "+" || e.Op == "-":
		if i, ok := intervalOf(e.Y); ok {
			return m.shifted(e, e.X, i)
		}
		if i, ok := intervalOf(e.X); ok && e.Op == "+" {
			return m.shifted(e, e.Y, i)
		}
	case e.Op == "/":
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
	none := e.Quantifier == "ALL"
	if !(e.Op == "=" && !none || (e.Op == "<>" || e.Op == "!=") && none) {
		return e
	}
	if p := parameterOf(e.Y); p != nil {
		return m.among(e, p.span, m.values(p))
	}
	y, ok := Inside(e.Y).(*Array)
	if !ok || y.Query != nil {
		return e
	}
	parameters := false
	Walk(y, func(n Node) bool {
		_, parameter := n.(*Parameter)
		parameters = parameters || parameter
		return true
	})
	if parameters || len(y.Items) == 0 {
		m.refuse(m.tokens[m.token(y.Pos())+1].Position, "this array", "list the values: x IN ('a', 'b')")
	}
	return m.among(e, y.span, y.Items)
}

// among returns x IN (…), or x NOT IN (…) for ALL. Without values it is FALSE, or TRUE.
func (m maker) among(e *Binary, at span, values []Expr) Expr {
	none := e.Quantifier == "ALL"
	if len(values) == 0 {
		op := "<>"
		if none {
			op = "="
		}
		return m.paren(m.binary(m.number("0"), op, m.number("0")))
	}
	list := counted(m, &Tuple{span: at, Items: values})
	return counted(m, &In{span: e.span, X: e.X, Set: list, Not: none, Operator: e.Operator})
}
