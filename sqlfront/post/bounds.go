package post

import (
	"math"
	"math/big"

	"dpsql/internal/sqlvalue"
)

// bounds encloses the true value of a number: the range that it takes while each
// answer's true value runs through its interval. As long as the expression is a
// quotient of linear forms, it is kept as one, so that an answer that occurs twice
// counts once.
type bounds struct {
	lo, hi  float64
	bounded bool
	why     Unknown // it is not bounded; "" for MayBeNil
	ratio   *ratio  // nil if the value is not a quotient of linear forms
	numeric numeric // its type
}

// numeric is what is certain of a number's type, for all true values in a box.
type numeric uint8

const (
	either  numeric = iota
	whole           // INTEGER
	decimal         // REAL
)

// typed returns bounds of a value with a type of its own.
func (b bounds) typed(t Type) bounds {
	if b.numeric = decimal; t == Integer {
		b.numeric = whole
	}
	return b
}

// computed returns bounds of what + - * or / make of x and y. Integers that overflow become REAL.
func (b bounds) computed(x, y bounds) bounds {
	b.numeric = either
	switch {
	case x.numeric == decimal || y.numeric == decimal:
		b.numeric = decimal
	case x.numeric == whole && y.numeric == whole && b.lo >= -1<<63 && b.hi < 1<<63:
		b.numeric = whole
	}
	return b
}

// ratio is over/under; a nil under is 1.
type ratio struct{ numerator, denominator *form }

// form is the linear form constant + Σ factor·answer.
type form struct {
	constant float64
	factors  map[int]float64
}

func constantForm(c float64) *form { return &form{constant: c} }

func formOf(ts []Term) *form {
	f := &form{factors: make(map[int]float64)}
	for _, t := range ts {
		f.factors[t.Slot] += float64(t.Factor)
	}
	return f
}

// inUnits returns the form of terms that are multiples of a unit. A nil unit is 1.
func inUnits(ts []Term, unit *big.Rat) *form {
	if unit == nil {
		return formOf(ts)
	}
	u, _ := unit.Float64()
	return formOf(ts).times(u)
}

// plus returns f + k·g.
func (f *form) plus(g *form, k float64) *form {
	sum := &form{constant: f.constant + k*g.constant, factors: make(map[int]float64)}
	for s, x := range f.factors {
		sum.factors[s] += x
	}
	for s, x := range g.factors {
		sum.factors[s] += k * x
	}
	return sum
}

// times returns k·f.
func (f *form) times(k float64) *form { return constantForm(0).plus(f, k) }

// box is the region of the true answers: each is within its interval, all of them at once
// with the confidence asked for.
type box struct {
	row    *row
	truths map[int]Interval // of the true answers
	errors map[int]Interval // of the true answers less the noisy ones; cells have none
	each   float64          // the confidence of each of them
}

// newBox splits 1 − confidence evenly over the answers, or the cells, that are used. By the union
// bound this holds however they depend on each other. It returns false, and why, if one of them
// promises nothing.
func newBox(r *row, used map[int]bool) (b box, why Unknown, known bool) {
	each := 1 - (1-r.confidence)/float64(len(used))
	if len(used) == 1 {
		each = r.confidence
	}
	b = box{r, make(map[int]Interval, len(used)), make(map[int]Interval, len(used)), each}
	for s := range used {
		if b.truths[s], b.errors[s], why, known = r.truth(s, each); !known {
			return box{}, why, false
		}
	}
	return b, "", true
}

// center returns the form's value at the noisy answers. It need not lie in the middle of
// the form's interval, nor within.
func (b box) center(f *form) float64 {
	sum := f.constant
	for s, x := range f.factors {
		sum += x * float64(b.row.answers[s].Value)
	}
	return sum
}

// error returns the interval of the form's true value less its center.
func (b box) error(f *form) Interval {
	var sum Interval
	for s, x := range f.factors {
		e := b.errors[s].times(x)
		sum.Low += e.Low
		sum.High += e.High
	}
	return sum
}

// interval returns the interval of the form's true value.
func (b box) interval(f *form) Interval {
	sum := Interval{f.constant, f.constant}
	for s, x := range f.factors {
		i := b.truths[s].times(x)
		sum = Interval{sum.Low + i.Low, sum.High + i.High}
	}
	return sum
}

// enclose encloses a quotient of linear forms.
func (b box) enclose(q *ratio) bounds {
	if q.denominator == nil {
		i := b.interval(q.numerator)
		return finiteBounds(i.Low, i.High, q)
	}
	d := b.interval(q.denominator)
	if d.Low <= 0 && d.High >= 0 {
		return bounds{}
	}
	if d.High < 0 {
		q = &ratio{q.numerator.times(-1), q.denominator.times(-1)}
	}
	return finiteBounds(-b.largest(&ratio{q.numerator.times(-1), q.denominator}), b.largest(q), q)
}

// largest returns the largest value over the box of a quotient N/D whose D is positive
// there: the r at which the largest value of N − rD is 0. This is Fieller's
// construction (1954) for intervals: the ratios r for which N − rD can be 0. The
// iteration of Dinkelbach (1967) climbs to it in few steps, because the largest value
// is taken at a corner. It starts from the ratio at the middle of the box.
func (b box) largest(q *ratio) float64 {
	r := b.middle(q.numerator) / b.middle(q.denominator)
	for range 100 {
		f := q.numerator.plus(q.denominator, -r)
		over, under := q.numerator.constant, q.denominator.constant
		for s, x := range f.factors {
			v := b.truths[s].High
			if x < 0 {
				v = b.truths[s].Low
			}
			over += q.numerator.factors[s] * v
			under += q.denominator.factors[s] * v
		}
		next := over / under
		if !(next > r) {
			break
		}
		r = next
	}
	return r
}

// middle returns the middle of the interval of the form's true value.
func (b box) middle(f *form) float64 {
	i := b.interval(f)
	return i.Low/2 + i.High/2
}

// finiteBounds returns the bounds from lo to hi, or none if one is not finite.
func finiteBounds(lo, hi float64, q *ratio) bounds {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return bounds{}
	}
	return bounds{lo: lo, hi: hi, bounded: true, ratio: q}
}

// interval encloses a value that is not a quotient of linear forms.
func interval(lo, hi float64) bounds { return finiteBounds(lo, hi, nil) }

// off returns the bounds of a number that may be so far from that of b. It is no quotient of
// linear forms, unless it is the same number.
func (b bounds) off(by float64) bounds {
	if b.bounded && by > 0 {
		b.lo, b.hi, b.ratio = b.lo-by, b.hi+by, nil
	}
	return b
}

// isConstant returns the value of bounds that do not depend on answers.
func (b bounds) isConstant() (float64, bool) {
	return b.lo, b.bounded && b.lo == b.hi
}

// within cuts bounds to a range that the true value is in for certain. Where they miss the
// range the true answers are outside their box: the range is then all that is known.
func (b bounds) within(lo, hi float64) bounds {
	const rounding = 1e-9
	if b.lo > hi+rounding*math.Abs(hi) || b.hi < lo-rounding*math.Abs(lo) {
		b.lo, b.hi = lo, hi
	}
	b.lo, b.hi = min(max(b.lo, lo), hi), max(min(b.hi, hi), lo)
	return b
}

// around is an interval that holds the true value and the value given, and its margin: the
// larger distance of an end from the latter.
type around struct {
	Interval
	margin float64
	why    Unknown // there is no interval
	span   Span    // in place of the interval, for dates and timestamps; the margin is then in days
}

// ends returns the Interval or the Span.
func (a around) ends() any {
	if a.span != (Span{}) {
		return a.span
	}
	return a.Interval
}

// errorOf returns what is known of an expression's true value at the row's confidence. It
// returns false if nothing is.
func errorOf(e Expr, v sqlvalue.Value, r *row) (around, bool) {
	for c, ok := e.(Choice); ok; c, ok = e.(Choice) {
		e = c.chosen(r)
	}
	if n, ok := e.(Number); ok {
		return r.cells[n.Slot].known(v, r.confidence)
	}
	if q, ok := e.(Quantile); ok && q.Of.Form.IsTime() {
		return q.span(v, r)
	}
	if !v.IsNumber() {
		return around{why: NoRule}, false
	}
	if s, ok := e.(Sum); ok && len(s.Terms) == 1 && s.Off == 0 && s.Terms[0].fits(r) {
		miss, why, known := s.Terms[0].error(r, s.Unit)
		if !known {
			return around{why: why}, false
		}
		return placed(v, miss), true
	}
	b, why, known := newBox(r, slots(e, r))
	if !known {
		return around{why: why}, false
	}
	if m, ok := e.(Mean); ok && m.less(r) >= 0 {
		b.each = r.confidence // one test, of both answers
	}
	out := b.bounds(e)
	if !out.bounded {
		return around{why: out.why}, false
	}
	x := v.Float()
	if q := out.ratio; q != nil && q.denominator == nil && r.cells == nil {
		const rounding = 1e-9
		if c := b.center(q.numerator); math.Abs(c-x) <= rounding*math.Abs(x) {
			return placed(v, b.error(q.numerator)), true
		}
	}
	return holding(Interval{out.lo, out.hi}, x), true
}

// holding returns the interval of a true value, made to hold the noisy value x.
func holding(i Interval, x float64) around {
	return around{Interval: Interval{min(i.Low, x), max(i.High, x)}, margin: max(i.High-x, x-i.Low, 0)}
}

// placed returns the interval of a value from that of its error. Beyond the integers that
// floating point numbers hold exactly its ends go outwards.
func placed(v sqlvalue.Value, miss Interval) around {
	i := Interval{min(miss.Low, 0), max(miss.High, 0)}.Plus(v.Float())
	if v.IsInt() && math.Abs(v.Float()) >= 1<<53 {
		i = Interval{math.Nextafter(i.Low, math.Inf(-1)), math.Nextafter(i.High, math.Inf(1))}
	}
	return around{Interval: i, margin: miss.Reach()}
}

// fits reports whether the one term of a sum is within 64 bits: the sum is it, and not their end.
func (t Term) fits(r *row) bool {
	x := float64(t.Factor) * float64(r.answers[t.Slot].Value)
	return -1<<63 < x && x < 1<<63
}

// error returns the interval of the error of the one term of a sum: its answer's, times
// its factor and the unit. A nil unit is 1.
func (t Term) error(r *row, unit *big.Rat) (miss Interval, why Unknown, known bool) {
	_, miss, why, known = r.truth(t.Slot, r.confidence)
	miss = miss.times(float64(t.Factor))
	if unit != nil && known {
		miss = Interval{inUnit(miss.Low, unit), inUnit(miss.High, unit)}
	}
	return miss, why, known
}

// inUnit returns the REAL nearest to x units.
func inUnit(x float64, unit *big.Rat) float64 {
	return quotient(new(big.Rat).Mul(new(big.Rat).SetFloat64(x), unit), 1)
}

// bounds encloses the true value of an expression. If it has no rule for the
// expression, nothing is known, and the margin is NULL.
func (b box) bounds(e Expr) bounds {
	switch e := e.(type) {
	case Constant:
		return exactly(e.value(b.row))
	case Key:
		return exactly(e.value(b.row))
	case Number:
		return b.number(e)
	case Choice:
		out := b.bounds(e.chosen(b.row))
		out.numeric = either
		return out
	case Folded:
		if Private(e.Operand) {
			return bounds{why: NoRule}
		}
		return exactly(e.value(b.row))
	case Sum:
		sum := b.enclose(&ratio{numerator: inUnits(e.Terms, e.Unit)}).typed(e.Type())
		if e.Off == 0 {
			return sum
		}
		return sum.off(inUnit(e.Off, e.Unit) * max(0, b.truths[e.Count].High))
	case Mean:
		return b.mean(e)
	case Variance:
		return b.variance(e).typed(Real)
	case Pair:
		return b.pair(e).typed(Real)
	case Quantile:
		return b.quantile(e).typed(e.Type())
	case Negative:
		return b.combine(sqlvalue.Minus, Constant{int64(0)}, e.Operand)
	case Arithmetic:
		return b.combine(e.Op, e.Left, e.Right)
	case Call:
		return b.call(e)
	}
	return bounds{why: NoRule}
}

func exactly(v sqlvalue.Value) bounds {
	if !v.IsNumber() {
		return bounds{}
	}
	x, t := v.Float(), Real
	if v.IsInt() {
		t = Integer
	}
	return finiteBounds(x, x, &ratio{numerator: constantForm(x)}).typed(t)
}

// number encloses a cell's number. Its true value has the type of the noisy one.
func (b box) number(n Number) bounds {
	c, v := b.row.cells[n.Slot], n.value(b.row)
	out := exactly(v)
	if c.Ends != nil && out.bounded {
		of := out.numeric
		out = b.enclose(&ratio{numerator: &form{factors: map[int]float64{c.Same: 1}}})
		out.numeric = of
	}
	return out
}

func (b box) combine(op sqlvalue.Operator, left, right Expr) bounds {
	x, y := b.bounds(left), b.bounds(right)
	if !x.bounded {
		return x
	}
	if !y.bounded {
		return y
	}
	switch op {
	case sqlvalue.Plus:
		return b.plus(x, y, 1).computed(x, y)
	case sqlvalue.Minus:
		return b.plus(x, y, -1).computed(x, y)
	case sqlvalue.Times:
		return b.times(x, y).computed(x, y)
	case sqlvalue.Over:
		return b.divide(x, y).computed(x, y).truncated()
	case sqlvalue.Modulo:
		return modular(x, y).computed(x, y)
	}
	return bounds{why: NoRule}
}

// truncated encloses a quotient as SQLite has it: one of integers is cut off toward zero. If it may
// be one of integers and may be none, both are enclosed.
func (q bounds) truncated() bounds {
	if !q.bounded || q.numeric == decimal {
		return q
	}
	out := interval(math.Trunc(q.lo), math.Trunc(q.hi))
	if out.numeric = q.numeric; q.numeric == either {
		out.lo, out.hi = min(out.lo, q.lo), max(out.hi, q.hi)
	}
	return out
}

// common returns quotients with one denominator, where both are constants.
func common(p, q *ratio) (*ratio, *ratio) {
	c, ok := p.divisor()
	d, also := q.divisor()
	if !ok || !also || p.denominator == q.denominator {
		return p, q
	}
	by := constantForm(c * d)
	return &ratio{p.numerator.times(d), by}, &ratio{q.numerator.times(c), by}
}

// divisor returns the denominator if it is a constant.
func (q *ratio) divisor() (float64, bool) {
	switch {
	case q == nil:
		return 0, false
	case q.denominator == nil:
		return 1, true
	}
	return q.denominator.constant, len(q.denominator.factors) == 0
}

// plus encloses x + k·y for k = ±1: by the quotients where there is a form of the result,
// and by the ends, which may have been cut.
func (b box) plus(x, y bounds, k float64) bounds {
	ends := interval(x.lo+y.lo, x.hi+y.hi)
	if k < 0 {
		ends = interval(x.lo-y.hi, x.hi-y.lo)
	}
	if p, q := common(x.ratio, y.ratio); p != nil && q != nil {
		c, constantY := y.isConstant()
		d, constantX := x.isConstant()
		switch {
		case p.denominator == q.denominator:
			return b.both(&ratio{p.numerator.plus(q.numerator, k), p.denominator}, ends)
		case constantY && p.denominator != nil:
			return b.both(&ratio{p.numerator.plus(p.denominator, k*c), p.denominator}, ends)
		case constantX && q.denominator != nil:
			return b.both(&ratio{q.denominator.times(d).plus(q.numerator, k), q.denominator}, ends)
		}
	}
	return ends
}

// both encloses a quotient that is within ends.
func (b box) both(q *ratio, ends bounds) bounds {
	if out := b.enclose(q); out.bounded && ends.bounded {
		return out.within(ends.lo, ends.hi)
	}
	return b.enclose(q)
}

func (b box) times(x, y bounds) bounds {
	if c, ok := x.isConstant(); ok {
		x, y = y, interval(c, c)
	}
	ends := enclosing(x.lo*y.lo, x.lo*y.hi, x.hi*y.lo, x.hi*y.hi)
	if c, ok := y.isConstant(); ok && x.ratio != nil {
		return b.both(&ratio{x.ratio.numerator.times(c), x.ratio.denominator}, ends)
	}
	return ends
}

func (b box) divide(x, y bounds) bounds {
	if y.lo <= 0 && y.hi >= 0 {
		return bounds{}
	}
	ends := enclosing(x.lo/y.lo, x.lo/y.hi, x.hi/y.lo, x.hi/y.hi)
	switch {
	case x.ratio == nil || y.ratio == nil || y.ratio.denominator != nil:
	case x.ratio.denominator == nil:
		return b.both(&ratio{x.ratio.numerator, y.ratio.numerator}, ends)
	case y.lo == y.hi:
		return b.both(&ratio{x.ratio.numerator, x.ratio.denominator.times(y.lo)}, ends)
	}
	return ends
}

// enclosing encloses a value that is extreme in one of four corners.
func enclosing(corners ...float64) bounds {
	lo, hi := corners[0], corners[0]
	for _, x := range corners {
		if math.IsNaN(x) {
			return bounds{}
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	return interval(lo, hi)
}

// modular encloses x % y, which is smaller than y and has the sign of x.
func modular(x, y bounds) bounds {
	if m, ok := x.isConstant(); ok && math.Abs(y.lo) >= 1 && y.lo == y.hi {
		r := math.Mod(math.Trunc(m), math.Trunc(y.lo))
		return interval(r, r)
	}
	most := math.Floor(max(math.Abs(y.lo), math.Abs(y.hi))) - 1
	if y.lo < 1 && y.hi > -1 || most < 0 {
		return bounds{}
	}
	lo, hi := -most, most
	if x.lo > -1 {
		lo = 0
	}
	if x.hi < 1 {
		hi = 0
	}
	return interval(lo, hi)
}

// call encloses the values of functions that are monotone or nearly so.
func (b box) call(c Call) bounds {
	if c.Name == Coalesce {
		return b.coalesce(c)
	}
	x := b.bounds(c.Args[0])
	if !x.bounded {
		return x
	}
	if c.Name == Abs {
		switch {
		case x.lo >= 0:
			return x
		case x.hi <= 0:
			return interval(-x.hi, -x.lo)
		}
		return interval(0, max(-x.lo, x.hi))
	}
	places := int64(0)
	if len(c.Args) > 1 {
		n, ok := c.Args[1].(Constant)
		if !ok {
			return bounds{}
		}
		places = n.value(b.row).Int64()
	}
	// An end next to a half may have been rounded to its other side.
	const slack = 1e-13
	return interval(RoundTo(x.lo-slack*math.Abs(x.lo), places), RoundTo(x.hi+slack*math.Abs(x.hi), places))
}

// coalesce encloses the first argument that is not NULL. One that has bounds is a number for all
// true values in the box, and so the value for all of them. One without noise is NULL for all of
// them or for none. Else it is not known which argument is the value.
func (b box) coalesce(c Call) bounds {
	for _, a := range c.Args {
		if x := b.bounds(a); x.bounded {
			return x
		}
		if len(slots(a, b.row)) > 0 || !a.value(b.row).IsNull() {
			break
		}
	}
	return bounds{why: NoRule}
}

// truth returns the interval of an answer's true value, and that less the noisy one; or the interval
// of a cell's.
func (r *row) truth(slot int, confidence float64) (truth, miss Interval, why Unknown, known bool) {
	if r.cells == nil {
		a := r.answers[slot]
		if miss, known = a.Error(confidence); !known {
			return truth, miss, Unproven, false
		}
		miss = miss.Beyond(a.Value)
		return miss.Plus(float64(a.Value)), miss, Beyond, miss.finite()
	}
	ends := r.cells[slot].Ends(confidence)
	why, _ = ends.(Unknown)
	truth, known = ends.(Interval)
	return truth, Interval{}, why, known && truth.finite()
}
