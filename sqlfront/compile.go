package sqlfront

import (
	"math"
	"math/big"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// maxSteps bounds the steps that are taken for one statement, and with them time and
// memory: some seconds of one core. A step is an evaluated operation, or a value of what is
// added up: the sum of a column of a million values takes three million, and a quarter of a gigabyte.
const maxSteps = 1 << 24

// workSteps is how many steps of a statement pass between two calls of Worker.Working: some milliseconds.
const workSteps = 1 << 15

// branchCost is the price of a branch of the diagram, in steps.
const branchCost = 4

// compilation turns a program into a diagram, column by column. It divides a
// column's domain into ranges until each range decides the result or is one value.
// Then it goes on to the next column. Equal states share one diagram.
type compilation struct {
	*program
	b *binder
	// weigh returns the weight of a result. It is false while the bounds do not decide it.
	weigh    func(bounds) (int64, bool, error)
	compiled []map[string]query.Query
	leaf     map[int64]query.Query // by weight
}

// diagram compiles an expression with the weights of its results.
func (b *binder) diagram(x *expr, weigh func(bounds) (int64, bool, error)) (query.Query, error) {
	c := &compilation{program: b.program(x), b: b, weigh: weigh, leaf: make(map[int64]query.Query)}
	c.compiled = make([]map[string]query.Query, len(c.levels))
	if w, ok, err := c.decided(c.now[c.result]); ok || err != nil {
		return query.Everywhere(b.u, w), err
	}
	return c.compileLevels(0)
}

// decided returns the weight of a result. It is false while the result is not decided.
func (c *compilation) decided(x bounds) (int64, bool, error) {
	if x.undefined() {
		return 0, false, c.b.undefined(x.lo)
	}
	return c.weigh(x)
}

// undefined returns the error for a result that has no value.
func (b *binder) undefined(x scalar) error {
	if x.column < 0 {
		return sqlerr.New(sqlerr.Unsupported, "%s is outside the dialect", x.value.Str()).WithHint(binHint)
	}
	return sqlerr.New(sqlerr.Unsupported, "%s of column %s, which has no domain, is outside the dialect", x.value.Str(), b.u.Columns()[x.column].Name).
		WithHint("pin it with = or IN")
}

// compileLevels compiles the levels from the k-th on, for the state of those before.
func (c *compilation) compileLevels(k int) (query.Query, error) {
	l := &c.levels[k]
	state := c.state(l)
	if q, ok := c.compiled[k][state]; ok {
		return q, nil
	}
	q, err := c.level(k)
	if err != nil {
		return q, err
	}
	c.now[l.step] = l.full
	if c.compiled[k] == nil {
		c.compiled[k] = make(map[string]query.Query)
	}
	c.compiled[k][state] = q
	return q, nil
}

func (c *compilation) level(k int) (query.Query, error) {
	l := &c.levels[k]
	d := c.u.Columns()[l.column].Domain
	if !d.Finite() {
		return c.texts(k)
	}
	var branches []query.Branch
	if err := c.divide(k, query.Range{Last: d.Size() - 1}, &branches); err != nil {
		return query.Query{}, err
	}
	return query.Switch(c.u, l.column, branches)
}

// divide adds the branches of a range of a column's values.
func (c *compilation) divide(k int, r query.Range, branches *[]query.Branch) error {
	l := &c.levels[k]
	q, ok, err := c.compileRest(k, boundsOf(c.u.Columns()[l.column], r.First, r.Last))
	if err != nil {
		return err
	}
	if ok {
		*branches = append(*branches, query.Branch{Range: r, To: q})
		return c.b.countSteps(branchCost)
	}
	middle := r.First + (r.Last-r.First)/2
	if err := c.divide(k, query.Range{First: r.First, Last: middle}, branches); err != nil {
		return err
	}
	return c.divide(k, query.Range{First: middle + 1, Last: r.Last}, branches)
}

// compileRest compiles the remaining columns for a column's values within bounds. It is
// false if the bounds must be divided first.
func (c *compilation) compileRest(k int, x bounds) (query.Query, bool, error) {
	l := &c.levels[k]
	c.now[l.step] = x
	if err := c.b.countSteps(1 + l.cost); err != nil {
		return query.Query{}, false, err
	}
	w, ok, err := c.decided(c.evaluate(l))
	switch {
	case err != nil:
		return query.Query{}, false, err
	case ok:
		return c.everywhere(w), true, nil
	case !x.known:
		return query.Query{}, false, nil
	}
	q, err := c.compileLevels(k + 1)
	return q, true, err
}

// everywhere returns the query with one weight.
func (c *compilation) everywhere(weight int64) query.Query {
	q, ok := c.leaf[weight]
	if !ok {
		q = query.Everywhere(c.u, weight)
		c.leaf[weight] = q
	}
	return q
}

// texts compiles a column without a domain. Its cases are NULL, each text that the
// expression can tell apart, and any other text. If the column is pinned, only the
// pinned values matter.
func (c *compilation) texts(k int) (query.Query, error) {
	l := &c.levels[k]
	values, pinned := c.b.pins[l.column]
	if !pinned {
		values = []query.Value{query.Null()}
		for _, s := range c.knownTexts {
			values = append(values, query.Text(s))
		}
		if err := c.b.countSteps(branchCost * len(values)); err != nil {
			return query.Query{}, err
		}
		slices.SortFunc(values, query.Value.Compare)
		values = slices.Compact(values)
	}
	cases := make([]query.Case, len(values))
	for i, v := range values {
		q, _, err := c.compileRest(k, exactly(scalarOf(v)))
		if err != nil {
			return q, err
		}
		cases[i] = query.Case{Value: v, To: q}
	}
	rest := query.None(c.u)
	if !pinned {
		var err error
		if rest, _, err = c.compileRest(k, exactly(scalar{standIn: isOther, column: l.column})); err != nil {
			return rest, err
		}
	}
	return query.SwitchText(c.u, l.column, cases, rest)
}

// countSteps counts evaluated steps and refuses too many.
func (b *binder) countSteps(steps int) error {
	if b.spent.steps += steps; b.spent.steps > maxSteps {
		return sqlerr.New(sqlerr.Unsupported, "the predicate is too complex: compiling it takes more than %d steps", maxSteps).
			WithHint("%s, or compare fewer columns of large domains", binHint)
	}
	if t, ok := b.table.(Worker); ok && b.spent.steps-b.spent.told >= workSteps {
		b.spent.told = b.spent.steps
		return t.Working()
	}
	return nil
}

// simplest returns a query as a set if it depends on one column only.
func (b *binder) simplest(q query.Query) pred {
	switch columns := q.Columns(); len(columns) {
	case 0:
		return constantPred(q.Equal(query.All(b.u)))
	case 1:
		if sets, ok := q.Product(); ok {
			return columnPred(columns[0], sets[columns[0]])
		}
	}
	return pred{shape: isDiagram, q: q}
}

// scalars returns the values of an expression, and a query whose weight is 1 + the
// index of the record's value.
func (b *binder) scalars(x *expr) (q query.Query, found []scalar, err error) {
	index := make(map[scalar]int64)
	q, err = b.diagram(x, func(r bounds) (int64, bool, error) {
		if !r.known {
			return 0, false, nil
		}
		v := r.lo.canonical()
		if v.standIn == isOther {
			return 0, false, b.undefined(noDomain("every value", v.column))
		}
		if index[v] == 0 {
			found = append(found, v)
			index[v] = int64(len(found))
		}
		return index[v], true, nil
	})
	return q, found, err
}

// values is scalars for GROUP BY, which divides by the query. Where some are REALs, all numbers are
// in units of what is returned, or else it is nil.
func (b *binder) values(x *expr) (query.Query, []query.Value, *big.Rat, error) {
	q, found, err := b.scalars(x)
	if err != nil {
		return q, nil, nil, err
	}
	unit, err := unitOf(found)
	values := make([]query.Value, len(found))
	for i, v := range found {
		switch {
		case v.isText():
			values[i] = query.Text(v.value.Str())
		case unit != nil && v.isNumber():
			n := new(big.Rat).Quo(v.decimal(), unit).Num()
			if !n.IsInt64() {
				err = errFraction(" of this many digits in a key of GROUP BY", "ROUND it: ROUND(x, 6)")
			}
			values[i] = query.Int(n.Int64())
		case v.isInteger():
			values[i] = query.Int(v.integer())
		}
	}
	return q, values, unit, err
}

// unitOf returns the largest number that all numbers are multiples of, by their shortest decimals,
// if one is a REAL, and else nil.
func unitOf(values []scalar) (unit *big.Rat, err error) {
	for _, v := range values {
		if !v.value.IsReal() {
			continue
		}
		if math.IsInf(v.value.Float(), 0) {
			return nil, sqlerr.New(sqlerr.Unsupported, "an infinite number is outside the dialect").WithHint("NULLIF(x, 0), or a CASE, leaves out what makes it")
		}
		unit = commonUnit(worth(unit), v.decimal())
	}
	return unit, nil
}

// decimal returns a number as a fraction: that of a REAL is its shortest decimal.
func (x scalar) decimal() *big.Rat {
	if x.isInteger() {
		return new(big.Rat).SetInt64(x.integer())
	}
	return constant{real: new(big.Rat).SetFloat64(x.value.Float())}.decimal()
}

// program is an expression as steps in the order of evaluation. For each column it
// has the steps to compute when that column becomes known, and the values to
// remember for later.
type program struct {
	u          *query.Universe
	steps      []step
	index      map[*expr]int
	result     int
	levels     []level  // one for each column of the expression, ascending
	now        []bounds // of each step, for the columns that are known
	knownTexts []string // the texts that a text of a column without a domain can equal
}

// step is one operation; its operands are earlier steps.
type step struct {
	operation operation // nil for a column and a constant
	args      []int
	last      int
	cost      int      // of evaluating it, in steps
	in        []bounds // room for the operands
}

// level is one column of the expression.
type level struct {
	column   int
	step     int
	full     bounds
	cost     int   // of evaluating the pending steps
	pending  []int // the steps that depend on this column or a later one
	frontier []int // the steps known before this column and used later
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
	p.noteAllTexts(b)
	return p
}

// noteAllTexts notes the texts of the columns' domains and pins if there is a column
// without a domain, which can be compared with them.
func (p *program) noteAllTexts(b *binder) {
	open := func(l level) bool { return !b.domain(l.column).Finite() }
	if !slices.ContainsFunc(p.levels, open) {
		return
	}
	for _, l := range p.levels {
		p.noteTexts(b.pins[l.column])
		if d := b.domain(l.column); d.Type() == query.TypeText && d.Finite() {
			for o := range d.Size() {
				p.noteTexts([]query.Value{d.Value(o)})
			}
		}
	}
}

// noteTexts notes texts that another text can be compared with.
func (p *program) noteTexts(values []query.Value) {
	for _, v := range values {
		if v.IsText() {
			p.knownTexts = append(p.knownTexts, v.Str())
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
	s := step{operation: x.operation, last: x.last, cost: 1 + x.cost, in: make([]bounds, len(x.args))}
	for _, a := range x.args {
		s.args = append(s.args, p.add(a, columns))
	}
	i := len(p.steps)
	p.steps, p.now = append(p.steps, s), append(p.now, x.full)
	p.index[x] = i
	if x.column >= 0 {
		columns[x.column] = i
	}
	p.knownTexts = append(p.knownTexts, x.mentions...)
	if x.full.known && x.full.lo.isText() {
		p.knownTexts = append(p.knownTexts, x.full.lo.value.Str())
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
		if s.operation != nil {
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
		p.now[i] = s.operation(s.in)
	}
	return p.now[p.result]
}

// state encodes the values known before a level. Expressions with equal states are
// equal functions of the remaining columns.
func (p *program) state(l *level) string {
	var b []byte
	for _, i := range l.frontier {
		b = p.now[i].lo.appendTo(b)
	}
	return string(b)
}
