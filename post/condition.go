package post

import "dpsql/sqlvalue"

// truth is SQL's three-valued truth.
type truth uint8

const (
	unknown truth = iota
	no
	yes
)

// truthOf reads a value as a condition. It is never a text.
func truthOf(v sqlvalue.Value) truth {
	if v.IsNull() {
		return unknown
	}
	return truthIf(v.Compare(sqlvalue.Int(0)) != 0)
}

func truthIf(holds bool) truth {
	if holds {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// value returns 1, 0 or NULL.
func (t truth) value() sqlvalue.Value {
	if t == unknown {
		return sqlvalue.Null()
	}
	return sqlvalue.Bool(t == yes)
}

// Comparison is left relation right, of two numbers or two texts: 1, 0 or NULL.
type Comparison struct {
	Op          sqlvalue.Relation
	Left, Right Expr
}

// Type is INTEGER.
func (c Comparison) Type() Type        { return Integer }
func (c Comparison) each(f func(Expr)) { f(c.Left); f(c.Right) }

func (c Comparison) value(r *row) sqlvalue.Value {
	a, b := c.Left.value(r), c.Right.value(r)
	if a.IsNull() || b.IsNull() {
		return sqlvalue.Null()
	}
	return sqlvalue.Bool(c.Op.Holds(a.Compare(b)))
}

// Logic is AND, or OR, of conditions.
type Logic struct {
	And bool
	Of  []Expr
}

// Type is INTEGER.
func (l Logic) Type() Type { return Integer }

func (l Logic) each(f func(Expr)) {
	for _, e := range l.Of {
		f(e)
	}
}

func (l Logic) value(r *row) sqlvalue.Value {
	decisive := truthIf(!l.And) // FALSE AND x is false, TRUE OR x is true
	all := decisive.not()
	for _, e := range l.Of {
		switch truthOf(e.value(r)) {
		case decisive:
			return decisive.value()
		case unknown:
			all = unknown
		}
	}
	return all.value()
}

// Not is the negation of a condition.
type Not struct{ Of Expr }

// Type is INTEGER.
func (n Not) Type() Type                  { return Integer }
func (n Not) each(f func(Expr))           { f(n.Of) }
func (n Not) value(r *row) sqlvalue.Value { return truthOf(n.Of.value(r)).not().value() }

// IsNull is 1 where the operand is NULL, else 0.
type IsNull struct{ Of Expr }

// Type is INTEGER.
func (n IsNull) Type() Type                  { return Integer }
func (n IsNull) each(f func(Expr))           { f(n.Of) }
func (n IsNull) value(r *row) sqlvalue.Value { return sqlvalue.Bool(n.Of.value(r).IsNull()) }

// Is tells whether a condition is true, or is false, and not NULL.
type Is struct {
	Of   Expr
	True bool
}

// Type is INTEGER.
func (i Is) Type() Type        { return Integer }
func (i Is) each(f func(Expr)) { f(i.Of) }
func (i Is) value(r *row) sqlvalue.Value {
	return sqlvalue.Bool(truthOf(i.Of.value(r)) == truthIf(i.True))
}

// When is one arm of a Case.
type When struct{ If, Then Expr }

// Case is the first arm whose condition is true, else Else, which is nil for
// NULL.
type Case struct {
	Arms []When
	Else Expr
}

// Type is what the arms have in common.
func (c Case) Type() Type {
	var results []Expr
	for _, a := range c.Arms {
		results = append(results, a.Then)
	}
	if c.Else != nil {
		results = append(results, c.Else)
	}
	return common(results)
}

func (c Case) each(f func(Expr)) {
	for _, a := range c.Arms {
		f(a.If)
		f(a.Then)
	}
	if c.Else != nil {
		f(c.Else)
	}
}

func (c Case) value(r *row) sqlvalue.Value {
	for _, a := range c.Arms {
		if truthOf(a.If.value(r)) == yes {
			return a.Then.value(r)
		}
	}
	if c.Else == nil {
		return sqlvalue.Null()
	}
	return c.Else.value(r)
}
