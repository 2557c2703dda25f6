package syntax

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// desugaring desugars one statement. It stops by a panic with a *sqlerr.Error.
type desugaring struct {
	tokens []Token
	text   string
	count  int // of the forms so far
	made   int // of the nodes that were made for them
	// extracted has what EXTRACT became, and arithmetic with it: numeric in PostgreSQL, and here INTEGER.
	extracted map[Expr]bool
	days      map[Expr]bool       // has what DATE '2024-12-31' became
	entries   map[*Column][]*Item // the entries of sub-selects that columns name
	shapes
}

// The bounds of what forms turn into. Some need an operand twice: a statement of 256 KiB would
// become gigabytes.
const (
	maxForms = 1000    // in a statement
	maxMade  = 1 << 16 // the nodes that are made for them
)

func errTooManyForms(position int) *sqlerr.Error {
	const what = "a statement with this many forms of other systems"
	return sqlerr.New(sqlerr.Unsupported, "%s is outside the dialect", what).
		WithHint("write them as SQLite has them").At(position)
}

// replaces counts a form at a position.
func (d *desugaring) replaces(position int) {
	if d.count++; d.count > maxForms {
		panic(errTooManyForms(position))
	}
}

// refuse stops at a place of the statement.
func (d *desugaring) refuse(position int, construct, hint string) {
	panic(sqlerr.New(sqlerr.Unsupported, "%s is outside the dialect", construct).At(position).WithHint("%s", hint))
}

// token returns the index of the token at a position, or of the first behind it.
func (d *desugaring) token(position int) int {
	i, _ := indexAt(d.tokens, position)
	return min(i, len(d.tokens)-1)
}

// written returns the text of a node, shortened for an error.
func (d *desugaring) written(n Node) string {
	return Excerpt(string([]rune(d.text)[n.Pos()-1:n.End()-1]), 40)
}

// maker makes nodes in the place of another.
type maker struct {
	*desugaring
	at span
}

func (d *desugaring) in(n Node) maker { return maker{d, span{n.Pos(), n.End()}} }

// counted counts a node that is made.
func counted[N Node](m maker, n N) N {
	if m.made++; m.made > maxMade {
		panic(errTooManyForms(m.at.from))
	}
	return n
}

// again returns a copy of an expression that stands somewhere else already.
func (m maker) again(e Expr) Expr {
	return Copy(e, func(n Node) Node {
		counted(m, n)
		return nil
	})
}

func (m maker) call(name string, args ...Expr) *Call {
	c := &Call{span: m.at, Path: []Ident{{m.at, name, false}}, Args: args, Words: make([]string, len(args))}
	return counted(m, c)
}

func (m maker) text(s string) Expr {
	return counted(m, &Literal{span: m.at, Kind: KindString, Value: s})
}

func (m maker) number(s string) Expr {
	return counted(m, &Literal{span: m.at, Kind: KindInteger, Value: s})
}

func (m maker) negative(s string) Expr {
	return counted(m, &Unary{span: m.at, Op: "-", X: m.number(s)})
}

func (m maker) column(name Ident) *Column { return counted(m, &Column{m.at, []Ident{name}}) }

// named makes a name of the house's own.
func (m maker) named(text string) Ident { return Ident{m.at, text, true} }

func (m maker) word(s string) Expr { return counted(m, &Literal{span: m.at, Kind: KindWord, Value: s}) }

func (m maker) binary(x Expr, op string, y Expr) Expr {
	return counted(m, &Binary{span: m.at, Op: op, X: x, Y: y, Operator: m.at.from})
}

func (m maker) paren(e Expr) Expr { return counted(m, &Paren{m.at, e}) }

func (m maker) cast(e Expr, to string) Expr {
	t := counted(m, &Type{span: m.at, Path: []Ident{{m.at, to, false}}})
	return counted(m, &Cast{span: m.at, Name: "CAST", X: e, Type: t})
}

// real makes 1.0 * (x), which has a margin where x has one.
func (m maker) real(x Expr) Expr {
	one := counted(m, &Literal{span: m.at, Kind: KindDecimal, Value: "1.0"})
	return m.binary(one, "*", m.paren(x))
}

// textOf returns the value of a string without a type.
func textOf(e Expr) (string, bool) {
	l, ok := e.(*Literal)
	if !ok || l.Kind != KindString || l.Type != nil {
		return "", false
	}
	return l.Value, true
}

// types are the types that CAST knows, and what it makes of them.
var types = map[string]string{
	"INT": "INTEGER", "INTEGER": "INTEGER", "INT2": "INTEGER", "INT4": "INTEGER", "INT8": "INTEGER",
	"INT64": "INTEGER", "BIGINT": "INTEGER", "SMALLINT": "INTEGER", "TINYINT": "INTEGER",
	"REAL": "REAL", "FLOAT": "REAL", "FLOAT4": "REAL", "FLOAT8": "REAL", "FLOAT64": "REAL",
	"DOUBLE": "REAL", "NUMERIC": "REAL", "DECIMAL": "REAL", "NUMBER": "REAL",
	"TEXT": "TEXT", "STRING": "TEXT", "VARCHAR": "TEXT", "CHARACTER": "TEXT", "CHAR": "TEXT", "BPCHAR": "TEXT",
	"DATE": "DATE", "TIMESTAMP": "DATETIME", "TIMESTAMPTZ": "DATETIME", "DATETIME": "DATETIME", "TIME": "TIME", "TIMETZ": "TIME",
	"BOOL": "BOOL", "BOOLEAN": "BOOL",
}

// isoDate reports whether a text is a date such as 2024-02-29, as far as its form goes.
func isoDate(s string) bool {
	for i, c := range []byte(s) {
		if i == 4 || i == 7 {
			if c != '-' {
				return false
			}
		} else if !isDigit(rune(c)) {
			return false
		}
	}
	return len(s) == len("2024-02-29")
}

// units are the units of intervals and of date_trunc in SQLite's words, with a factor.
var units = map[string]struct {
	word   string
	factor int
	day    bool // the unit is a day or longer
}{
	"SECOND": {"seconds", 1, false}, "MINUTE": {"minutes", 1, false}, "HOUR": {"hours", 1, false},
	"SEC": {"seconds", 1, false}, "MIN": {"minutes", 1, false}, "MON": {"months", 1, true},
	"DAY": {"days", 1, true}, "WEEK": {"days", 7, true},
	"MONTH": {"months", 1, true}, "QUARTER": {"months", 3, true}, "YEAR": {"months", 12, true},
}

// unitOf returns the singular of a unit in upper case.
func unitOf(s string) string { return strings.TrimSuffix(UpperASCII(s), "S") }

// maxCount bounds the numbers of an interval.
const maxCount = 1_000_000

// named reports whether a call is one of a function with n arguments and commas between them.
func (c *Call) named(name string, n int) bool {
	if len(c.Path) != 1 || c.Path[0].Quoted || UpperASCII(c.Path[0].Text) != name || len(c.Args) != n {
		return false
	}
	return !slices.ContainsFunc(c.Words, func(word string) bool { return word != "" })
}

// isDate reports whether an operand has no time of day.
func isDate(e Expr) bool {
	switch e := e.(type) {
	case *Literal:
		return e.Kind == KindString && isoDate(e.Value)
	case *Column:
		return len(e.Path) == 1 && UpperASCII(e.Path[0].Text) == "CURRENT_DATE"
	case *Call:
		return len(e.Path) == 1 && UpperASCII(e.Path[0].Text) == "DATE"
	}
	return false
}
