package post

// Relation is a comparison operator.
type Relation string

// The relations.
const (
	Equal          Relation = "="
	NotEqual       Relation = "<>"
	Less           Relation = "<"
	LessOrEqual    Relation = "<="
	Greater        Relation = ">"
	GreaterOrEqual Relation = ">="
)

// Comparison is left relation right, of two numbers or two texts: 1, 0 or NULL.
type Comparison struct {
	Op          Relation
	Left, Right Expr
}

// Type is INTEGER.
func (c Comparison) Type() Type        { return Integer }
func (c Comparison) each(f func(Expr)) { f(c.Left); f(c.Right) }

func (c Comparison) value(r *row) any {
	a, b := c.Left.value(r), c.Right.value(r)
	if a == nil || b == nil {
		return nil
	}
	return of(c.Op.holds(compare(a, b))).value()
}

func (op Relation) holds(c int) bool {
	switch op {
	case Equal:
		return c == 0
	case NotEqual:
		return c != 0
	case Less:
		return c < 0
	case LessOrEqual:
		return c <= 0
	case Greater:
		return c > 0
	}
	return c >= 0
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

func (l Logic) value(r *row) any {
	decisive := of(!l.And) // FALSE AND x is false, TRUE OR x is true
	all := decisive.not()
	for _, e := range l.Of {
		switch truth(e.value(r)) {
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
func (n Not) Type() Type        { return Integer }
func (n Not) each(f func(Expr)) { f(n.Of) }
func (n Not) value(r *row) any  { return truth(n.Of.value(r)).not().value() }

// IsNull is 1 where the operand is NULL, else 0.
type IsNull struct{ Of Expr }

// Type is INTEGER.
func (n IsNull) Type() Type        { return Integer }
func (n IsNull) each(f func(Expr)) { f(n.Of) }
func (n IsNull) value(r *row) any  { return of(n.Of.value(r) == nil).value() }

// Is tells whether a condition is true, or is false, and not NULL.
type Is struct {
	Of   Expr
	True bool
}

// Type is INTEGER.
func (i Is) Type() Type        { return Integer }
func (i Is) each(f func(Expr)) { f(i.Of) }
func (i Is) value(r *row) any  { return of(truth(i.Of.value(r)) == of(i.True)).value() }

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

func (c Case) value(r *row) any {
	for _, a := range c.Arms {
		if truth(a.If.value(r)) == yes {
			return a.Then.value(r)
		}
	}
	if c.Else == nil {
		return nil
	}
	return c.Else.value(r)
}
