package post

import (
	"cmp"

	"dpsql/internal/sqlvalue"
)

// Cell is a value that a statement around private answers reads: a number that Run computed from
// noise, or a value without noise.
type Cell struct {
	Value any // int64, float64, string, or nil for NULL
	// Ends returns what Table.Intervals has for the number at a confidence. It is nil for a value
	// without noise.
	Ends func(confidence float64) any
	// Same is the first cell that has the same number. A number that is read twice counts once.
	Same int
}

// Number is the value of a cell. Its true value is within the cell's interval.
type Number struct{ Slot int }

// Type is REAL: only the cell tells.
func (n Number) Type() Type                  { return Real }
func (n Number) each(func(Expr))             {}
func (n Number) value(r *row) sqlvalue.Value { return sqlvalue.FromAny(r.cells[n.Slot].Value) }

// Choice is one of several expressions: that whose index the cell By has. A cell without noise
// says it, so that the choice is the same for the true values. SQLite may give the value the
// affinity that another of the expressions has: an INTEGER may be a REAL, or a REAL an INTEGER.
type Choice struct {
	By int
	Of []Expr // nil for one that has no rule
}

// Type is REAL: only the cells tell.
func (c Choice) Type() Type { return Real }

func (c Choice) each(f func(Expr)) {
	for _, e := range c.Of {
		if e != nil {
			f(e)
		}
	}
}

func (c Choice) value(r *row) sqlvalue.Value {
	e := c.chosen(r)
	if e == nil {
		return sqlvalue.Null()
	}
	v := e.value(r)
	if r.chosenReal && v.IsNumber() {
		return sqlvalue.Real(v.Float())
	}
	return v
}

// chosen returns the expression that holds, nil if none does.
func (c Choice) chosen(r *row) Expr {
	if n, ok := r.cells[c.By].Value.(int64); ok && n >= 0 && n < int64(len(c.Of)) {
		return c.Of[n]
	}
	return nil
}

// Moved returns an expression over cells with other slots.
func Moved(e Expr, slot func(int) int) Expr {
	all := func(es []Expr) []Expr {
		out := make([]Expr, len(es))
		for i, e := range es {
			out[i] = Moved(e, slot)
		}
		return out
	}
	switch e := e.(type) {
	case Number:
		return Number{slot(e.Slot)}
	case Choice:
		return Choice{slot(e.By), all(e.Of)}
	case Negative:
		return Negative{Moved(e.Operand, slot)}
	case Arithmetic:
		return Arithmetic{e.Op, Moved(e.Left, slot), Moved(e.Right, slot)}
	case Call:
		return Call{e.Name, all(e.Args)}
	}
	return e
}

// Size returns how many expressions an expression is made of.
func Size(e Expr) int {
	if e == nil {
		return 0
	}
	n := 1
	e.each(func(part Expr) { n += Size(part) })
	return n
}

// Enclose returns what is known at a confidence of the true value of an expression over cells,
// where shown is its value with noise: an Interval, which holds shown too, a Span or an Unknown.
// It is nil if the value is NULL or has no noise, or if shown is not the expression's value: then
// what computed shown reads the expression otherwise.
func Enclose(e Expr, shown any, cells []Cell, confidence float64) any {
	r, v := &row{cells: cells, confidence: confidence}, sqlvalue.FromAny(shown)
	if len(slots(e, r)) == 0 {
		return nil
	}
	if !near(e.value(r), v) && !near(e.value(&row{cells: cells, chosenReal: true}), v) {
		return nil
	}
	a, known := errorOf(e, v, r)
	if !known {
		return cmp.Or(a.why, MayBeNil)
	}
	return a.ends()
}

// near reports whether two values are the same text, or the same number but for rounding.
func near(v, w sqlvalue.Value) bool {
	if !v.IsNumber() || !w.IsNumber() {
		return v.IsText() && v == w
	}
	x, y := v.Float(), w.Float()
	slack := 1e-9 * max(1, y, -y)
	return x-slack <= y && y <= x+slack
}

// known returns what a cell knows of its own number, which is v.
func (c Cell) known(v sqlvalue.Value, confidence float64) (around, bool) {
	switch ends := c.Ends(confidence).(type) {
	case Interval:
		x := v.Float()
		return holding(ends, x), ends.finite() && v.IsNumber()
	case Span:
		return around{span: ends}, true
	case Unknown:
		return around{why: ends}, false
	}
	return around{}, false
}
