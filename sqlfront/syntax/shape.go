package syntax

import "dpsql/sqlerr"

// This file has the parameters whose arguments decide what a statement is. Each argument is known only when the statement
// runs. It is read again then, and what stands in the parameter's place is what a literal would have made.

// Shape is what a parameter stands for, if that is more than a value.
type Shape struct {
	Kind     ShapeKind
	Position int // of the parameter where it first stands so
}

// ShapeKind says which arguments a parameter takes.
type ShapeKind int

// The kinds. One of ArrayShape is behind ANY or ALL, and one of UnitShape is the unit of DATE_TRUNC or the field of DATE_PART.
const (
	ValueShape ShapeKind = iota
	ArrayShape
	UnitShape
)

// Given is what must be known of an argument: the number of values of an array, or the text of a unit. The values of an array
// are arguments: the first stands in the place of the list, the others behind all arguments, list by list.
type Given struct {
	Length int
	Unit   string
}

// Give reads the statement again, given its arguments.
func (r *Reading) Give(given []Given) (*Reading, error) { return read(r.Text, given) }

// Open returns an error if the statement must be given its arguments first.
func (r *Reading) Open() error {
	for _, s := range r.Shapes {
		switch {
		case r.given:
		case s.Kind == ArrayShape:
			return Token{Position: s.Position}.Unsupported("an array as an argument").
				WithHint("give each value an argument of its own: x IN ($1, $2)")
		case s.Kind == UnitShape:
			return Token{Position: s.Position}.Unsupported("a unit as an argument").WithHint("write the unit: date_trunc('month', x)")
		}
	}
	return nil
}

// shapes are those of a statement's parameters, as its forms find them.
type shapes struct {
	of    []Shape
	uses  []int   // how often each stands so
	given []Given // nil if the arguments are not known
}

func shapesOf(parameters int, given []Given) shapes {
	return shapes{make([]Shape, parameters), make([]int, parameters), given}
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
	return Token{Position: position}.Unsupported("an argument that is an array or a unit here and something else there").
		WithHint("give each its own: $1 and $2")
}

// check refuses a parameter that also stands for a value.
func (s *shapes) check(tokens []Token) {
	left := append([]int(nil), s.uses...)
	for _, t := range tokens {
		if t.Kind != KindParameter || s.of[t.Parameter-1].Kind == ValueShape {
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
	m.use(p, UnitShape)
	if m.given == nil {
		return "minute", true
	}
	return m.given[p.Number-1].Unit, true
}
