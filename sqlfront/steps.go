package sqlfront

import (
	"slices"

	"dpsql/query"
)

// program is an expression as steps in the order of evaluation, and what of it
// has to be computed, and remembered, when the columns become known one after
// the other.
type program struct {
	u      *query.Universe
	steps  []step
	index  map[*expr]int
	result int
	levels []level  // one for each column of the expression, ascending
	now    []bounds // of each step, for the columns that are known
	named  []string // the texts that a text of a column without a domain can equal
}

// step is one operation; its operands are earlier steps.
type step struct {
	of   operation // nil for a column and a constant
	args []int
	last int
	cost int      // of evaluating it, in steps
	in   []bounds // room for the operands
}

// level is one column of the expression.
type level struct {
	column   int
	step     int
	full     bounds
	cost     int   // of evaluating the pending steps
	pending  []int // the steps that depend on this column or a later one
	frontier []int // the steps known before this column that later ones use
}

// program orders an expression's operations.
func (b *binder) program(x *expr) *program {
	p := &program{u: b.u, index: make(map[*expr]int)}
	columns := make(map[int]int)
	p.result = p.add(x, columns)
	for column := range columns {
		p.levels = append(p.levels, level{column: column, step: columns[column], full: p.now[columns[column]]})
	}
	slices.SortFunc(p.levels, func(a, b level) int { return a.column - b.column })
	for i := range p.levels {
		p.divide(&p.levels[i])
	}
	p.nameAll(b)
	return p
}

// nameAll notes the texts of the domains and pins of the columns, where a
// column without a domain can be compared with them.
func (p *program) nameAll(b *binder) {
	open := func(l level) bool { return !b.domain(l.column).Finite() }
	if !slices.ContainsFunc(p.levels, open) {
		return
	}
	for _, l := range p.levels {
		p.name(b.pins[l.column])
		if d := b.domain(l.column); d.Type() == query.TypeText && d.Finite() {
			for o := range d.Size() {
				p.name([]query.Value{d.Value(o)})
			}
		}
	}
}

// name notes texts that another text can be compared with.
func (p *program) name(values []query.Value) {
	for _, v := range values {
		if v.IsText() {
			p.named = append(p.named, v.Str())
		}
	}
}

// add appends the steps of an expression and returns the last one's index.
// A column has one step, however often it is named.
func (p *program) add(x *expr, columns map[int]int) int {
	if i, ok := p.index[x]; ok {
		return i
	}
	if i, ok := columns[x.column]; ok {
		return i
	}
	if x.terms != nil {
		i := p.add(x.chain(), columns)
		p.index[x] = i
		return i
	}
	s := step{of: x.of, last: x.last, cost: 1 + x.cost, in: make([]bounds, len(x.args))}
	for _, a := range x.args {
		s.args = append(s.args, p.add(a, columns))
	}
	i := len(p.steps)
	p.steps, p.now = append(p.steps, s), append(p.now, x.full)
	p.index[x] = i
	if x.column >= 0 {
		columns[x.column] = i
	}
	p.named = append(p.named, x.mentions...)
	if x.full.known && x.full.lo.isText() {
		p.named = append(p.named, x.full.lo.value.Str())
	}
	return i
}

// divide finds the steps that wait for a column, and those before them.
func (p *program) divide(l *level) {
	used := make([]bool, len(p.steps))
	for i, s := range p.steps {
		if s.last < l.column {
			continue
		}
		if s.of != nil {
			l.pending = append(l.pending, i)
			l.cost += s.cost
		}
		for _, a := range s.args {
			used[a] = true
		}
	}
	for i, s := range p.steps {
		if used[i] && s.last < l.column && s.last >= 0 {
			l.frontier = append(l.frontier, i)
		}
	}
}

// evaluate computes the pending steps of a level.
func (p *program) evaluate(l *level) bounds {
	for _, i := range l.pending {
		s := &p.steps[i]
		for k, a := range s.args {
			s.in[k] = p.now[a]
		}
		p.now[i] = s.of(s.in)
	}
	return p.now[p.result]
}

// state encodes what is known before a level: expressions with equal states
// are equal functions of the columns left.
func (p *program) state(l *level) string {
	var b []byte
	for _, i := range l.frontier {
		b = p.now[i].lo.appendTo(b)
	}
	return string(b)
}
