package post

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"dpsql/internal/calendar"
	"dpsql/internal/sqlvalue"
	"dpsql/query"
)

// Expr is an expression over a group's keys and answers: Constant, Key, Folded, Sum,
// Mean, Variance, Pair, Quantile, Margin, Negative, Arithmetic, Comparison, Logic, Not, IsNull, TruthTest,
// Case or Call; or a Number or a Choice, or what the latter make with Constant, Negative, Arithmetic and
// Call, over cells.
type Expr interface {
	// Type is the type of the values that are not NULL.
	Type() Type
	value(r *row) sqlvalue.Value
	// each calls f for each operand.
	each(f func(Expr))
}

// Constant is a literal: int64, float64, string or nil.
type Constant struct{ Value any }

// Type is the type of the value, or INTEGER for NULL.
func (c Constant) Type() Type {
	switch c.Value.(type) {
	case float64:
		return Real
	case string:
		return Text
	}
	return Integer
}

func (c Constant) value(*row) sqlvalue.Value { return sqlvalue.FromAny(c.Value) }
func (c Constant) each(func(Expr))           {}

// Key is a grouped expression.
type Key struct {
	Index     int
	ValueType Type
	Unit      *big.Rat // the number that 1 stands for; nil for 1
	NoCase    bool     // its texts compare as those of a column with COLLATE NOCASE do
}

// Type is the declared type of the grouped expression.
func (k Key) Type() Type      { return k.ValueType }
func (k Key) each(func(Expr)) {}

func (k Key) value(r *row) sqlvalue.Value {
	v := r.keys[k.Index]
	if v.IsInt() && k.Unit != nil {
		return sqlvalue.Real(quotient(units(big.NewInt(v.Int64()), k.Unit), 1))
	}
	return sqlvalue.FromColumn(v)
}

// Folded is what comparisons see of a text: it in lower case, as for COLLATE NOCASE, or the moment
// that it says.
type Folded struct {
	Operand Expr
	Moment  bool
}

// Type is that of the operand.
func (f Folded) Type() Type          { return f.Operand.Type() }
func (f Folded) each(use func(Expr)) { use(f.Operand) }

func (f Folded) value(r *row) sqlvalue.Value {
	v := f.Operand.value(r)
	switch {
	case v.IsText() && f.Moment:
		return sqlvalue.Text(calendar.Canonical(v.Str()))
	case v.IsText():
		return sqlvalue.Text(query.FoldName(v.Str()))
	}
	return v
}

// Term is an answer times a factor.
type Term struct {
	Slot   int // index into Group.Answers
	Factor int64
}

// Sum is a linear combination of answers: a COUNT or a SUM. A value beyond 64 bits
// stays at the end of their range. A Sum is never NULL. SQL's SUM of no rows is NULL,
// but it is not known that there are none, so the result is the noisy sum.
type Sum struct {
	Terms []Term
	Real  bool     // like SQLite's TOTAL
	Unit  *big.Rat // REAL terms are multiples of it; nil for integers
	Off   float64  // in units: how far the value of a row may be from what it stands for
	Count int      // the slot of the number of rows, unless Off is 0
}

// Type is INTEGER, or REAL for TOTAL and for multiples of a unit.
func (s Sum) Type() Type {
	if s.Real || s.Unit != nil {
		return Real
	}
	return Integer
}

func (s Sum) each(func(Expr)) {}

func (s Sum) value(r *row) sqlvalue.Value {
	switch {
	case s.Unit != nil:
		return sqlvalue.Real(quotient(units(exactSum(s.Terms, r), s.Unit), 1))
	case s.Real:
		return sqlvalue.Real(float64(saturatingSum(s.Terms, r)))
	}
	return sqlvalue.Int(saturatingSum(s.Terms, r))
}

// units returns n units exactly.
func units(n *big.Int, unit *big.Rat) *big.Rat {
	x := new(big.Rat).SetInt(n)
	return x.Mul(x, unit)
}

// quotient returns the REAL nearest to x/n.
func quotient(x *big.Rat, n int64) float64 {
	f, _ := new(big.Rat).Quo(x, new(big.Rat).SetInt64(n)).Float64()
	return f
}

// Range is the least and the greatest of some values. The zero Range is not known.
type Range struct {
	Known  bool
	Lo, Hi int64
}

// Mean is a linear combination of answers divided by a count: an AVG. It is NULL if the
// count is not positive. With noise the quotient can lie far from every value that it is the
// mean of. It is then the nearest end of their range, to which the true mean is no farther.
type Mean struct {
	Terms []Term
	Count int      // the slot of the count
	Unit  *big.Rat // as in Sum
	Range Range    // of the values, in units
	Off   float64  // as in Sum
}

// Type is REAL.
func (m Mean) Type() Type      { return Real }
func (m Mean) each(func(Expr)) {}

func (m Mean) value(r *row) sqlvalue.Value {
	n := r.answers[m.Count].Value
	if n <= 0 {
		return sqlvalue.Null()
	}
	lo, hi := m.ends()
	terms := m.whole(r)
	if m.Unit != nil {
		return sqlvalue.Real(min(hi, max(lo, quotient(units(exactSum(terms, r), m.Unit), n))))
	}
	return sqlvalue.Real(min(hi, max(lo, float64(saturatingSum(terms, r))/float64(n))))
}

// ends returns the ends of the range, which are infinite if it is not known.
func (m Mean) ends() (lo, hi float64) {
	switch {
	case !m.Range.Known:
		return math.Inf(-1), math.Inf(1)
	case m.Unit != nil:
		return quotient(units(big.NewInt(m.Range.Lo), m.Unit), 1), quotient(units(big.NewInt(m.Range.Hi), m.Unit), 1)
	}
	return float64(m.Range.Lo), float64(m.Range.Hi)
}

// off returns how far a value, and so their mean, may be from what it stands for.
func (m Mean) off() float64 {
	if m.Off == 0 {
		return 0
	}
	return inUnit(m.Off, m.Unit)
}

// Margin says how far an expression's true value can be from it. It is NULL if nothing
// is known.
type Margin struct {
	Operand Expr
	Of      Measure
}

// Measure is what a Margin gives of an interval.
type Measure uint8

// The measures: the larger distance of an end from the value, and the ends themselves.
const (
	Distance Measure = iota
	Low
	High
)

// Type is REAL, or TEXT for the ends of a text's.
func (m Margin) Type() Type {
	if m.Of != Distance && m.Operand.Type() == Text {
		return Text
	}
	return Real
}

func (m Margin) each(f func(Expr)) { f(m.Operand) }

func (m Margin) value(r *row) sqlvalue.Value {
	around, known := errorOf(m.Operand, m.Operand.value(r), r)
	switch {
	case !known:
		return sqlvalue.Null()
	case around.span != (Span{}) && m.Of == Low:
		return sqlvalue.Text(around.span.Low)
	case around.span != (Span{}) && m.Of == High:
		return sqlvalue.Text(around.span.High)
	case m.Of == Low:
		return sqlvalue.Real(around.Low)
	case m.Of == High:
		return sqlvalue.Real(around.High)
	}
	return sqlvalue.Real(around.margin)
}

// Negative is -x.
type Negative struct{ Operand Expr }

// Type is the type of the operand.
func (n Negative) Type() Type        { return n.Operand.Type() }
func (n Negative) each(f func(Expr)) { f(n.Operand) }

func (n Negative) value(r *row) sqlvalue.Value {
	return sqlvalue.Arithmetic(sqlvalue.Minus, sqlvalue.Int(0), n.Operand.value(r))
}

// Arithmetic is left op right. The operands are numbers.
type Arithmetic struct {
	Op          sqlvalue.Operator
	Left, Right Expr
}

// Type is REAL if an operand is, else INTEGER. As in SQLite, integers that overflow
// still give a REAL.
func (a Arithmetic) Type() Type        { return joinTypes(a.Left.Type(), a.Right.Type()) }
func (a Arithmetic) each(f func(Expr)) { f(a.Left); f(a.Right) }

func (a Arithmetic) value(r *row) sqlvalue.Value {
	return sqlvalue.Arithmetic(a.Op, a.Left.value(r), a.Right.value(r))
}

// joinTypes returns the type of values that have either type.
func joinTypes(a, b Type) Type {
	switch {
	case a == b:
		return a
	case a == Text || b == Text:
		return Text
	}
	return Real
}

// Function is a function of SQLite that Call knows.
type Function string

// The functions. COALESCE takes one argument or more, ROUND one or two, ABS one.
const (
	Round    Function = "round"
	Abs      Function = "abs"
	Coalesce Function = "coalesce"
)

// Call is a call of a function.
type Call struct {
	Name Function
	Args []Expr
}

// Type is REAL for ROUND, else the common type of the arguments.
func (c Call) Type() Type {
	if c.Name == Round {
		return Real
	}
	return commonType(c.Args)
}

func commonType(es []Expr) Type {
	t := es[0].Type()
	for _, e := range es[1:] {
		t = joinTypes(t, e.Type())
	}
	return t
}

func (c Call) each(f func(Expr)) {
	for _, a := range c.Args {
		f(a)
	}
}

func (c Call) value(r *row) sqlvalue.Value {
	switch c.Name {
	case Round:
		return c.round(r)
	case Abs:
		v := c.Args[0].value(r)
		if zero := sqlvalue.Int(0); !v.IsNull() && v.Compare(zero) < 0 {
			return sqlvalue.Arithmetic(sqlvalue.Minus, zero, v)
		}
		return v
	}
	for _, a := range c.Args {
		if v := a.value(r); !v.IsNull() {
			return v
		}
	}
	return sqlvalue.Null()
}

// round rounds halves away from zero to at most 30 decimal places.
func (c Call) round(r *row) sqlvalue.Value {
	v, places := c.Args[0].value(r), sqlvalue.Int(0)
	if len(c.Args) > 1 {
		places = c.Args[1].value(r)
	}
	if v.IsNull() || places.IsNull() {
		return sqlvalue.Null()
	}
	return sqlvalue.Real(RoundTo(v.Float(), places.Int64()))
}

// RoundTo rounds to a number of decimal places, at most 30. Halves go away from zero.
func RoundTo(x float64, places int64) float64 {
	if math.Abs(x) >= 1<<52 {
		return x
	}
	if places <= 0 {
		return math.Trunc(x + math.Copysign(0.5, x))
	}
	digits := int(min(places, 30))
	const more = 25 // digits, by which a float that is not half-way has left the half
	if s := strconv.FormatFloat(x, 'f', digits+more, 64); s[len(s)-more:] == "5"+strings.Repeat("0", more-1) {
		x = math.Nextafter(x, 2*x) // strconv rounds halves to even
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}

// slots returns the answers or the cells with noise that an expression uses in a row. Without a row
// all are returned.
func slots(e Expr, r *row) map[int]bool {
	used := make(map[int]bool)
	var walk func(Expr)
	walk = func(e Expr) {
		switch e := e.(type) {
		case Sum:
			for _, t := range e.Terms {
				used[t.Slot] = true
			}
			if e.Off != 0 {
				used[e.Count] = true
			}
		case Mean:
			for _, t := range e.Terms {
				used[t.Slot] = true
			}
			used[e.Count] = true
		case Quantile:
			used[e.Slot] = true
		case Number:
			if r == nil {
				used[e.Slot] = true
			} else if c := r.cells[e.Slot]; c.Ends != nil {
				used[c.Same] = true
			}
		case Choice:
			if r != nil {
				if e := e.chosen(r); e != nil {
					walk(e)
				}
				return
			}
		}
		e.each(walk)
	}
	walk(e)
	return used
}

// Private reports whether an expression uses an answer.
func Private(e Expr) bool {
	if s, ok := e.(Sum); ok {
		return len(s.Terms) > 0 || s.Off != 0
	}
	return len(slots(e, nil)) > 0
}

// NeverNull reports whether an expression is a sum or a literal. These are never NULL;
// others can be.
func NeverNull(e Expr) bool {
	switch e := e.(type) {
	case Sum:
		return true
	case Constant:
		return e.Value != nil
	}
	return false
}

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
	And      bool
	Operands []Expr
}

// Type is INTEGER.
func (l Logic) Type() Type { return Integer }

func (l Logic) each(f func(Expr)) {
	for _, e := range l.Operands {
		f(e)
	}
}

func (l Logic) value(r *row) sqlvalue.Value {
	decisive := truthIf(!l.And) // FALSE AND x is false, TRUE OR x is true
	all := decisive.not()
	for _, e := range l.Operands {
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
type Not struct{ Operand Expr }

// Type is INTEGER.
func (n Not) Type() Type                  { return Integer }
func (n Not) each(f func(Expr))           { f(n.Operand) }
func (n Not) value(r *row) sqlvalue.Value { return truthOf(n.Operand.value(r)).not().value() }

// IsNull is 1 if the operand is NULL, else 0.
type IsNull struct{ Operand Expr }

// Type is INTEGER.
func (n IsNull) Type() Type                  { return Integer }
func (n IsNull) each(f func(Expr))           { f(n.Operand) }
func (n IsNull) value(r *row) sqlvalue.Value { return sqlvalue.Bool(n.Operand.value(r).IsNull()) }

// TruthTest says whether a condition is true, or whether it is false. It is never NULL.
type TruthTest struct {
	Operand Expr
	True    bool
}

// Type is INTEGER.
func (i TruthTest) Type() Type        { return Integer }
func (i TruthTest) each(f func(Expr)) { f(i.Operand) }
func (i TruthTest) value(r *row) sqlvalue.Value {
	return sqlvalue.Bool(truthOf(i.Operand.value(r)) == truthIf(i.True))
}

// When is one arm of a Case.
type When struct{ If, Then Expr }

// Case is the first arm whose condition is true, or else Else. A nil Else is NULL.
type Case struct {
	Arms []When
	Else Expr
}

// Type is the common type of the arms.
func (c Case) Type() Type {
	var results []Expr
	for _, a := range c.Arms {
		results = append(results, a.Then)
	}
	if c.Else != nil {
		results = append(results, c.Else)
	}
	return commonType(results)
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

// Variance is VAR_POP, or another variance, of values x. It is computed from three
// answers: their count n, the sum of x − c and the sum of (x − c)², for some constant
// c. The variance does not depend on c: (n·Σ(x−c)² − (Σ(x−c))²) / n², or with Sample
// divided by n·(n−1). It is NULL unless n is above 0, or with Sample above 1. It is 0
// if noise makes it negative.
type Variance struct {
	Mean    Mean   // the mean of x − c; the squares are multiples of the square of its Unit
	Squares []Term // the sum of (x − c)²
	Sample  bool   // VAR_SAMP
	Root    bool   // STDDEV: the square root
}

// unit returns the number that a value of 1 stands for.
func (v Variance) unit() *big.Rat {
	if v.Mean.Unit == nil {
		return big.NewRat(1, 1)
	}
	return v.Mean.Unit
}

// Type is REAL.
func (v Variance) Type() Type        { return Real }
func (v Variance) each(f func(Expr)) { f(v.Mean); f(Sum{Terms: v.Squares}) }

func (v Variance) value(r *row) sqlvalue.Value {
	n := r.answers[v.Mean.Count].Value
	if n <= v.maxUndefined() {
		return sqlvalue.Null()
	}
	count, first, second := big.NewInt(n), exactSum(v.Mean.Terms, r), exactSum(v.Squares, r)
	over := second.Mul(second, count)
	over.Sub(over, first.Mul(first, first))
	if over.Sign() <= 0 {
		return sqlvalue.Real(0)
	}
	under := new(big.Int).Mul(count, big.NewInt(n-v.maxUndefined()))
	square := new(big.Rat).Mul(v.unit(), v.unit())
	x, _ := square.Mul(square, new(big.Rat).SetFrac(over, under)).Float64()
	if v.Root {
		x = math.Sqrt(x)
	}
	return sqlvalue.Real(x)
}

// maxUndefined is the largest count for which there is no variance.
func (v Variance) maxUndefined() int64 {
	if v.Sample {
		return 1
	}
	return 0
}

// exactSum adds factor·value over the terms.
func exactSum(terms []Term, r *row) *big.Int {
	sum := new(big.Int)
	for _, t := range terms {
		term := big.NewInt(t.Factor)
		sum.Add(sum, term.Mul(term, big.NewInt(r.answers[t.Slot].Value)))
	}
	return sum
}

// saturatingSum adds factor·value over the terms. Beyond 64 bits it stays at the end of
// their range.
func saturatingSum(terms []Term, r *row) int64 {
	var sum int64
	for _, t := range terms {
		product, fits := sqlvalue.Integers(sqlvalue.Times, t.Factor, r.answers[t.Slot].Value)
		total, also := sqlvalue.Integers(sqlvalue.Plus, sum, product)
		if !fits || !also {
			return saturated(exactSum(terms, r))
		}
		sum = total
	}
	return sum
}

func saturated(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// variance encloses a variance: the mean of the squares less the square of the mean.
// Both are quotients over the same count, and the result is never below 0. Nothing is
// known if the interval of the count includes a number without a variance. Where each value may
// be off, the standard deviation is off by no more: it is a norm, and that of the differences is
// within the largest of them.
func (b box) variance(v Variance) bounds {
	n := formOf([]Term{{v.Mean.Count, 1}})
	count := b.enclose(&ratio{numerator: n})
	least := float64(v.maxUndefined())
	if !count.bounded || count.lo <= least {
		return bounds{}
	}
	square := new(big.Rat).Mul(v.unit(), v.unit())
	mean, squares := b.enclose(&ratio{inUnits(v.Mean.Terms, v.unit()), n}), b.enclose(&ratio{inUnits(v.Squares, square), n})
	if !mean.bounded || !squares.bounded {
		return bounds{}
	}
	smallest, largest := mean.lo*mean.lo, mean.hi*mean.hi
	if smallest > largest {
		smallest, largest = largest, smallest
	}
	if mean.lo <= 0 && mean.hi >= 0 {
		smallest = 0
	}
	lo, hi := max(0, squares.lo-largest), max(0, squares.hi-smallest)
	lo, hi = lo*(count.hi/(count.hi-least)), hi*(count.lo/(count.lo-least))
	if off := v.Mean.off(); off > 0 {
		off *= math.Sqrt(count.lo / (count.lo - least))
		lo, hi = max(0, math.Sqrt(lo)-off), math.Sqrt(hi)+off
		lo, hi = lo*lo, hi*hi
	}
	if v.Root {
		lo, hi = math.Sqrt(lo), math.Sqrt(hi)
	}
	return interval(lo, hi)
}
