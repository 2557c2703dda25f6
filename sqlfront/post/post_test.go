package post

import (
	"database/sql"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"dpsql/internal/seeds"
	"dpsql/internal/sqlvalue"
	"dpsql/query"
)

// noisy is an answer with one half-width at every confidence.
func noisy(value int64, width float64) Answer { return within(value, Within(width)) }

// within is an answer with one error at every confidence.
func within(value int64, miss Interval) Answer {
	return Answer{Value: value, Error: func(float64) (Interval, bool) { return miss, true }}
}

// arithmeticExpr draws an expression over three answers and a key. The ranges of its means
// hold the means of the true answers.
func arithmeticExpr(t *rapid.T, truth *row, depth int) Expr {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return Constant{rapid.SampledFrom([]any{int64(3), int64(-2), 2.5, 1000.0}).Draw(t, "constant")}
		case 1:
			return Key{ValueType: Integer}
		case 2:
			m := Mean{Terms: []Term{{0, 2}, {1, -1}, {2, 7}}, Count: 2, Unit: unit(t)}
			if n := truth.answers[2].Value; n > 0 && rapid.Bool().Draw(t, "declared") {
				mean := float64(saturatingSum(m.Terms, truth)) / float64(n)
				m.Range = Range{true, int64(math.Floor(mean)) - rapid.Int64Range(0, 9).Draw(t, "below"), int64(math.Ceil(mean)) + rapid.Int64Range(0, 9).Draw(t, "above")}
			}
			return m
		}
		return Sum{Unit: unit(t), Terms: []Term{{rapid.IntRange(0, 2).Draw(t, "slot"), rapid.Int64Range(-3, 3).Draw(t, "factor")}, {1, 1}}}
	}
	left := arithmeticExpr(t, truth, depth-1)
	switch rapid.IntRange(0, 4).Draw(t, "operator") {
	case 0:
		return Negative{left}
	case 1:
		return Call{Round, []Expr{left, Constant{int64(1)}}}
	case 2:
		return Call{Abs, []Expr{left}}
	}
	op := rapid.SampledFrom([]sqlvalue.Operator{sqlvalue.Plus, sqlvalue.Minus, sqlvalue.Times, sqlvalue.Over, sqlvalue.Modulo}).Draw(t, "op")
	return Arithmetic{op, left, arithmeticExpr(t, truth, depth-1)}
}

// unit draws the unit of a sum.
func unit(t *rapid.T) *big.Rat {
	return rapid.SampledFrom([]*big.Rat{nil, nil, big.NewRat(1, 1000), big.NewRat(5, 2)}).Draw(t, "unit")
}

// TestIntervalsHoldTheTruth moves the true answers anywhere within their intervals, which
// need not hold the estimates. The interval of the expression must hold its true value, and
// the estimate too.
func TestIntervalsHoldTheTruth(t *testing.T) {
	known, end := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		estimate, truth := row{confidence: 0.95}, row{}
		estimate.keys = []query.Value{query.Int(5)}
		truth.keys = estimate.keys
		for range 3 {
			v, low := rapid.Int64Range(-20, 200).Draw(t, "value"), rapid.Int64Range(-9, 9).Draw(t, "low")
			high := low + rapid.Int64Range(0, 18).Draw(t, "width")
			estimate.answers = append(estimate.answers, within(v, Interval{float64(low), float64(high)}))
			truth.answers = append(truth.answers, exact(v+rapid.Int64Range(low, high).Draw(t, "error")))
		}
		e := arithmeticExpr(t, &truth, 3)
		v := e.value(&estimate)
		got, ok := errorOf(e, v, &estimate)
		if !ok {
			return
		}
		known++
		x, want := v.Float(), e.value(&truth)
		if x < got.Low || x > got.High {
			t.Fatalf("%#v: %v is not in %v", e, x, got.Interval)
		}
		if got.High > got.Low && (x == got.Low || x == got.High) {
			end++
		}
		if m, ok := e.(Mean); ok && m.Range.Known {
			if lo, hi := m.ends(); got.Low < lo || got.High > hi {
				t.Fatalf("%#v: %v is not within the range", e, got.Interval)
			}
		}
		slack := 1e-9 * (1 + math.Abs(x) + got.margin)
		if want.IsNull() || math.Abs(want.Float()-x) > got.margin+slack || want.Float() < got.Low-slack || want.Float() > got.High+slack {
			t.Fatalf("%#v: estimated %v ± %v, in %v, the truth is %v", e, v.Any(), got.margin, got.Interval, want.Any())
		}
		if far := max(got.High-x, x-got.Low); math.Abs(far-got.margin) > slack {
			t.Fatalf("%#v: estimated %v in %v, the margin is %v", e, v.Any(), got.Interval, got.margin)
		}
	})
	if known == 0 || end == 0 {
		t.Errorf("%d expressions had an interval, and %d lay at an end", known, end)
	}
}

// TestUnevenIntervals compares the intervals of expressions with those found by hand: of
// a count of 100 that is 90 to 130, of a sum of 1000 that is 900 to 1040, of integers beyond
// 2^53, and of a number that is not in the interval of its answer. Each holds its number, and
// a mean's is within the range of the values.
func TestUnevenIntervals(t *testing.T) {
	const huge = 1<<53 + 1
	r := &row{confidence: 0.95, answers: []Answer{within(100, Interval{-10, 30}), within(1000, Interval{-100, 40}), exact(huge), within(-5, Interval{7, 9})}}
	count, sum, below := Sum{Terms: []Term{{0, 1}}}, Sum{Terms: []Term{{1, 1}}}, Sum{Terms: []Term{{3, 1}}}
	for _, c := range []struct {
		e                 Expr
		low, high, margin float64
	}{
		{count, 90, 130, 30},
		{Negative{count}, -130, -90, 30},
		{Sum{Terms: []Term{{0, -2}}}, -260, -180, 60},
		{Sum{Terms: []Term{{0, 3}}, Unit: big.NewRat(1, 2)}, 135, 195, 45},
		{Sum{Terms: []Term{{1, 1}, {0, -1}}}, 770, 950, 130},
		{Mean{Terms: []Term{{1, 1}}, Count: 0}, 900.0 / 130, 1040.0 / 90, 10 - 900.0/130},
		{Mean{Terms: []Term{{1, 1}}, Count: 0, Range: Range{true, 0, 9}}, 900.0 / 130, 9, 9 - 900.0/130},     // 9
		{Mean{Terms: []Term{{1, 1}}, Count: 0, Range: Range{true, 11, 90}}, 11, 1040.0 / 90, 1040.0/90 - 11}, // 11
		{Mean{Terms: []Term{{1, 1}}, Count: 0, Range: Range{true, -5, 8}, Unit: big.NewRat(5, 2)}, 2250.0 / 130, 20, 20 - 2250.0/130},
		{Mean{Terms: []Term{{1, 1}}, Count: 0, Range: Range{true, -5, 5}, Unit: big.NewRat(5, 2)}, -12.5, 12.5, 25}, // the interval misses the range
		{Arithmetic{sqlvalue.Times, Mean{Terms: []Term{{1, 1}}, Count: 0, Range: Range{true, 0, 9}}, Constant{int64(-2)}}, -18, -1800.0 / 130, 18 - 1800.0/130},
		{Arithmetic{sqlvalue.Plus, Mean{Terms: []Term{{1, 1}}, Count: 0, Range: Range{true, 0, 9}}, Constant{int64(1)}}, 1 + 900.0/130, 10, 9 - 900.0/130},
		{Arithmetic{sqlvalue.Over, Constant{1300.0}, count}, 10, 1300.0 / 90, 3},
		{Call{Round, []Expr{Arithmetic{sqlvalue.Over, sum, Constant{100.0}}}}, 9, 10, 1},
		{Sum{Terms: []Term{{2, 1}}}, huge - 3, huge + 3, 0},
		{below, -5, 4, 9},                   // -5, and the truth is 2 to 4
		{Call{Abs, []Expr{below}}, 2, 5, 3}, // 5, and the truth is 2 to 4
		{Arithmetic{sqlvalue.Plus, Call{Abs, []Expr{below}}, Constant{int64(1)}}, 3, 6, 3},
	} {
		v := c.e.value(r)
		got, ok := errorOf(c.e, v, r)
		if c.margin == 0 {
			ok = ok && got.Low >= c.low && got.Low <= huge-1 && got.High <= c.high && got.High >= huge+1
			got.Low, got.High = c.low, c.high
		}
		if math.Abs(got.Low-c.low) > 1e-9 || math.Abs(got.High-c.high) > 1e-9 || math.Abs(got.margin-c.margin) > 1e-9 || !ok {
			t.Errorf("%#v = %v: from %v to %v ± %v, want from %v to %v ± %v", c.e, v.Any(), got.Low, got.High, got.margin, c.low, c.high, c.margin)
		}
		for _, m := range []struct {
			of   Measure
			want float64
		}{{Distance, c.margin}, {Low, c.low}, {High, c.high}} {
			if x := (Margin{c.e, m.of}).value(r).Float(); math.Abs(x-m.want) > 1e-9 && c.margin != 0 {
				t.Errorf("measure %d of %#v is %v, want %v", m.of, c.e, x, m.want)
			}
		}
	}
}

// TestFieller compares the margin of a mean with the roots of Fieller's equation.
func TestFieller(t *testing.T) {
	e := Mean{Terms: []Term{{0, 1}}, Count: 1}
	r := &row{answers: []Answer{noisy(1000, 30), noisy(50, 5)}, confidence: 0.95}
	got, _ := errorOf(e, e.value(r), r)
	// N − rD is 0 within the box from (1000−30)/(50+5) to (1000+30)/(50−5).
	if low, high := 970.0/55, 1030.0/45; math.Abs(got.Low-low) > 1e-9 || math.Abs(got.High-high) > 1e-9 || math.Abs(got.margin-(high-20)) > 1e-9 {
		t.Errorf("the interval is %v, want from %v to %v", got, low, high)
	}
	shared := Mean{Terms: []Term{{0, 1}, {1, 100}}, Count: 1} // 100 + N/D: the same range, moved
	if moved, _ := errorOf(shared, shared.value(r), r); math.Abs(moved.margin-got.margin) > 1e-9 || math.Abs(moved.Low-100-got.Low) > 1e-9 {
		t.Errorf("the interval of 100 + N/D is %v, want %v and 100", moved, got)
	}
	for _, count := range []Answer{noisy(5, 5), noisy(-3, 10), noisy(3, 10), within(5, Interval{-30, -10})} {
		r.answers[1] = count
		if got, known := errorOf(e, e.value(r), r); known {
			t.Errorf("a count of %d: the interval is %v, want none", count.Value, got)
		}
	}
}

// TestConfidenceIsSplit checks that an expression of two answers asks each for half of
// the error probability, and an expression of one answer for all of it.
func TestConfidenceIsSplit(t *testing.T) {
	asked := make(map[float64]int)
	a := Answer{Value: 10, Error: func(c float64) (Interval, bool) { asked[c]++; return Within(1), true }}
	one, two := Sum{Terms: []Term{{0, 1}}}, Sum{Terms: []Term{{0, 1}, {1, -1}}}
	p := Program{Columns: []Column{{"a", one}, {"b", two}, {"c", Margin{Operand: two}}}, Limit: -1}
	out := p.Run([]Group{{Answers: []Answer{a, a}}}, 0.9)
	want := Table{[][]any{{int64(10), int64(0), 2.0}}, [][]any{{1.0, 2.0, nil}}, [][]any{{Interval{9, 11}, Interval{-2, 2}, nil}}, [][]any{{nil, nil, Bound{Margin: 2}}}}
	if !reflect.DeepEqual(out, want) {
		t.Errorf("the table is %v, want %v", out, want)
	}
	if len(asked) != 2 || asked[0.9] == 0 || asked[0.95] == 0 {
		t.Errorf("the confidences asked for are %v, want 0.9 and 0.95", asked)
	}
}

func TestUnverifiedAnswersHaveNoMargin(t *testing.T) {
	silent := Answer{Value: 7, Error: func(float64) (Interval, bool) { return Interval{}, false }}
	n := Sum{Terms: []Term{{0, 1}}}
	p := Program{Columns: []Column{{"n", n}, {"m", Margin{n, Distance}}, {"l", Margin{n, Low}}, {"h", Margin{n, High}}}, Limit: -1}
	out := p.Run([]Group{{Answers: []Answer{silent}}}, 0.95)
	if want := (Table{[][]any{{int64(7), nil, nil, nil}}, [][]any{{nil, nil, nil, nil}}, [][]any{{Unproven, nil, nil, nil}}, [][]any{{nil, nil, nil, nil}}}); !reflect.DeepEqual(out, want) {
		t.Errorf("the table is %v, want %v", out, want)
	}
}

// TestWhyThereIsNoInterval has numbers without one, and what is computed from them.
func TestWhyThereIsNoInterval(t *testing.T) {
	r := &row{confidence: 0.95, answers: []Answer{noisy(50, 3), noisy(2, 5), {Value: 7, Error: func(float64) (Interval, bool) { return Interval{}, false }}}}
	sum := func(slot int) Expr { return Sum{Terms: []Term{{slot, 1}}} }
	mean, truth := Mean{Terms: []Term{{0, 1}}, Count: 1}, Comparison{sqlvalue.Less, sum(1), sum(0)}
	for _, c := range []struct {
		e    Expr
		want Unknown
	}{
		{mean, MayBeNil},
		{Arithmetic{sqlvalue.Over, sum(0), sum(1)}, MayBeNil},
		{Arithmetic{sqlvalue.Plus, Constant{int64(1)}, Call{Round, []Expr{mean}}}, MayBeNil},
		{Variance{Mean: mean, Squares: []Term{{0, 1}}}, MayBeNil},
		{truth, NoRule},
		{Arithmetic{sqlvalue.Times, sum(0), truth}, NoRule},
		{Case{Arms: []When{{truth, sum(0)}}}, NoRule},
		{Call{Coalesce, []Expr{mean, sum(0)}}, NoRule},
		{Call{Coalesce, []Expr{truth, Constant{int64(0)}}}, NoRule},
		{sum(2), Unproven},
		{Arithmetic{sqlvalue.Plus, sum(0), sum(2)}, Unproven},
	} {
		p := Program{Columns: []Column{{"x", c.e}}, Limit: -1}
		out := p.Run([]Group{{Answers: r.answers}}, 0.95)
		if out.Rows[0][0] == nil || out.Margins[0][0] != nil || out.Intervals[0][0] != c.want {
			t.Errorf("%#v is %v in %v, want no interval: %s", c.e, out.Rows, out.Intervals, c.want)
		}
	}
}

func TestSumSaturates(t *testing.T) {
	big := []Answer{exact(math.MaxInt64), exact(math.MinInt64), exact(-1)}
	cases := []struct {
		terms []Term
		want  int64
	}{
		{[]Term{{0, 1}}, math.MaxInt64},
		{[]Term{{0, 2}}, math.MaxInt64},
		{[]Term{{0, math.MaxInt64}}, math.MaxInt64},
		{[]Term{{1, 1}}, math.MinInt64},
		{[]Term{{1, 2}}, math.MinInt64},
		{[]Term{{1, math.MinInt64}}, math.MaxInt64},
		{[]Term{{0, 1}, {1, 1}}, -1},
		{[]Term{{0, 5}, {1, 5}}, -5},
		{[]Term{{2, math.MinInt64}}, math.MaxInt64},
		{nil, 0},
	}
	for _, c := range cases {
		if got := saturatingSum(c.terms, &row{answers: big}); got != c.want {
			t.Errorf("%v is %d, want %d", c.terms, got, c.want)
		}
	}
}

// TestIntervalsBeyond64Bits has true sums around the ends of 64 bits, where counts and answers stay. An interval
// holds the true sum, or there is none and the reason says why.
func TestIntervalsBeyond64Bits(t *testing.T) {
	random := rand.New(rand.NewPCG(seeds.Of(t), 0))
	around := func(spread float64) *big.Int {
		n, _ := big.NewFloat(math.Ldexp(random.NormFloat64()*spread, 63)).Int(nil)
		return n
	}
	known, beyond := 0, 0
	draws := 6_000
	if *long {
		draws = 20_000
	}
	for range draws {
		truth, other := around(1), around(0.1)
		wide := math.Ldexp(random.Float64(), random.IntN(64))
		answer := func(truth *big.Int) Answer {
			moved, _ := big.NewFloat((2*random.Float64() - 1) * wide).Int(nil)
			counted := big.NewInt(saturated(truth))
			return noisy(saturated(counted.Add(counted, moved)), wide)
		}
		r := &row{confidence: 0.95, answers: []Answer{answer(truth), answer(other)}}
		one, two := Sum{Terms: []Term{{0, 1}}}, Sum{Terms: []Term{{1, 1}}}
		difference, _ := new(big.Float).SetInt(new(big.Int).Sub(truth, other)).Float64()
		x, _ := new(big.Float).SetInt(truth).Float64()
		for _, c := range []struct {
			e    Expr
			want float64
		}{{one, x}, {Negative{one}, -x}, {Arithmetic{sqlvalue.Times, one, Constant{0.5}}, x / 2}, {Arithmetic{sqlvalue.Minus, one, two}, difference}} {
			e, want := c.e, c.want
			switch i, ok := errorOf(e, e.value(r), r); {
			case !ok:
				if beyond++; i.why != Beyond {
					t.Fatalf("%v of %v has no interval where %s", e, truth, i.why)
				}
			default:
				slack := 1e-9 * math.Abs(want)
				if known++; want < i.Low-slack || want > i.High+slack {
					t.Fatalf("%v is %v, in %v by answers %v and %v", e, want, i, r.answers[0].Value, r.answers[1].Value)
				}
			}
		}
	}
	if known < draws || beyond < draws {
		t.Errorf("%d intervals, and %d numbers without", known, beyond)
	}
}

// TestOrder sorts by two terms, keeps ties, and cuts.
func TestOrder(t *testing.T) {
	var groups []Group
	for i, v := range []query.Value{query.Int(1), query.Null(), query.Int(2), query.Text("x")} {
		for j := range int64(2) {
			groups = append(groups, Group{[]query.Value{v, query.Int(j)}, []Answer{exact(int64(i) % 2)}})
		}
	}
	count := Sum{Terms: []Term{{0, 1}}}
	p := Program{Columns: []Column{{"k", Key{Index: 0, ValueType: Text}}, {"j", Key{Index: 1, ValueType: Integer}}},
		Order: []Order{{count, true}, {Key{Index: 0, ValueType: Text}, false}}, Offset: 1, Limit: 5}
	got := p.Run(groups, 0.95).Rows
	want := [][]any{{nil, int64(1)}, {"x", int64(0)}, {"x", int64(1)}, {int64(1), int64(0)}, {int64(1), int64(1)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the rows are %v, want %v", got, want)
	}
	p = Program{Columns: []Column{{"k", Key{Index: 0, ValueType: Text}}}, Distinct: true, Limit: -1, Offset: 9}
	if got := p.Run(groups, 0.95).Rows; len(got) != 0 {
		t.Errorf("the rows are %v, want none", got)
	}
	p.Offset = 0
	if got := p.Run(groups, 0.95).Rows; len(got) != 4 {
		t.Errorf("the rows are %v, want four", got)
	}
}

// exact returns an answer without noise.
func exact(value int64) Answer { return noisy(value, 0) }

// TestRulesAtTheirEnds compares the interval of each operation with the least and the greatest
// value that it has anywhere in a box of integers, for factors of all signs.
func TestRulesAtTheirEnds(t *testing.T) {
	boxes := []Interval{{-5, -2}, {-3, 4}, {-4, 3}, {2, 7}, {0, 3}, {-4, 0}, {3, 3}}
	x, y := Sum{Terms: []Term{{0, 1}}}, Sum{Terms: []Term{{1, 1}}}
	real := func(e Expr) Expr { return Arithmetic{sqlvalue.Times, e, Constant{1.0}} }
	whole := func(e Expr) Expr { return Arithmetic{sqlvalue.Minus, Call{Abs, []Expr{e}}, Constant{int64(3)}} } // not linear
	for _, c := range []struct {
		name  string
		e     Expr
		loose bool // the interval may be wider
	}{
		{"x + y", Arithmetic{sqlvalue.Plus, x, y}, false},
		{"x - y", Arithmetic{sqlvalue.Minus, x, y}, false},
		{"x * y", Arithmetic{sqlvalue.Times, x, y}, false},
		{"real x / y", Arithmetic{sqlvalue.Over, real(x), y}, false},
		{"x / y", Arithmetic{sqlvalue.Over, x, y}, false},
		{"of ends +", Arithmetic{sqlvalue.Plus, whole(x), y}, false},
		{"of ends -", Arithmetic{sqlvalue.Minus, y, whole(x)}, false},
		{"of ends *", Arithmetic{sqlvalue.Times, whole(x), whole(y)}, false},
		{"of ends /", Arithmetic{sqlvalue.Over, real(whole(x)), y}, false},
		{"x % y", Arithmetic{sqlvalue.Modulo, x, y}, true},
		{"-x", Negative{x}, false},
		{"x - x / 2", Arithmetic{sqlvalue.Minus, x, Arithmetic{sqlvalue.Over, real(x), Constant{int64(2)}}}, false},
		{"x % 3 of what is known", Arithmetic{sqlvalue.Modulo, Constant{int64(-7)}, Constant{int64(3)}}, false},
		{"coalesce(x, y)", Call{Coalesce, []Expr{x, y}}, false},
		{"coalesce(NULL, x / y)", Call{Coalesce, []Expr{Constant{nil}, Arithmetic{sqlvalue.Over, x, y}, y}}, false},
		{"abs(x)", Call{Abs, []Expr{x}}, false},
		{"round(x, 0)", Call{Round, []Expr{Arithmetic{sqlvalue.Times, x, Constant{0.7}}}}, false},
		{"a mean", Mean{Terms: []Term{{0, 1}}, Count: 1}, false},
		{"a moved mean", Mean{Terms: []Term{{0, 1}, {1, -3}}, Count: 1}, false},
		{"a cut mean", Mean{Terms: []Term{{0, 1}}, Count: 1, Range: Range{true, -1, 1}}, false},
		{"of a mean", Arithmetic{sqlvalue.Times, Mean{Terms: []Term{{0, 1}}, Count: 1}, Constant{int64(-3)}}, false},
		{"and a mean", Arithmetic{sqlvalue.Minus, Constant{int64(3)}, Mean{Terms: []Term{{0, 1}}, Count: 1}}, false},
	} {
		found := 0
		for _, i := range boxes {
			for _, j := range boxes {
				r := &row{confidence: 0.95, answers: []Answer{within(int64(i.Low), Interval{0, i.High - i.Low}), within(int64(j.High), Interval{j.Low - j.High, 0})}}
				got, ok := errorOf(c.e, c.e.value(r), r)
				if e, cells := overCells(c.e, r); e != nil && ok && Private(e) {
					if around := Enclose(e, c.e.value(r).Any(), cells, 0.95); around != any(got.Interval) {
						t.Errorf("%s in %v and %v is in %v, and around cores in %v", c.name, i, j, got.Interval, around)
					}
				}
				if !ok {
					continue
				}
				found++
				want := Interval{math.Inf(1), math.Inf(-1)}
				for a := i.Low; a <= i.High; a++ {
					for b := j.Low; b <= j.High; b++ {
						v := c.e.value(&row{answers: []Answer{exact(int64(a)), exact(int64(b))}}).Float()
						want = Interval{min(want.Low, v), max(want.High, v)}
					}
				}
				const slack = 1e-9
				if got.Low > want.Low+slack || got.High < want.High-slack || !c.loose && (got.Low < want.Low-slack || got.High > want.High+slack) {
					t.Errorf("%s in %v and %v is in %v, want %v", c.name, i, j, got.Interval, want)
				}
			}
		}
		if found < 14 {
			t.Errorf("%s: %d intervals", c.name, found)
		}
	}
}

// overCells returns an expression over the cells that have a row's answers, nil for others than sums.
func overCells(e Expr, r *row) (Expr, []Cell) {
	cells := make([]Cell, len(r.answers))
	for i, a := range r.answers {
		cells[i] = Cell{Value: a.Value, Same: i, Ends: func(confidence float64) any {
			miss, _ := a.Error(confidence)
			return miss.Plus(float64(a.Value))
		}}
	}
	var over func(Expr) Expr
	over = func(e Expr) Expr {
		switch e := e.(type) {
		case Sum:
			return Number{e.Terms[0].Slot}
		case Negative:
			return Negative{over(e.Operand)}
		case Arithmetic:
			return Arithmetic{e.Op, over(e.Left), over(e.Right)}
		case Call:
			out := Call{Name: e.Name}
			for _, a := range e.Args {
				out.Args = append(out.Args, over(a))
			}
			return out
		}
		return e
	}
	known := true
	var walk func(Expr)
	walk = func(e Expr) {
		_, mean := e.(Mean)
		known = known && !mean
		e.each(walk)
	}
	if walk(e); !known {
		return nil, nil
	}
	return over(e), cells
}

// TestCells: what a statement around aggregates makes of cells. A number that is read twice counts
// once, at the confidence of one; the expression that another cell chooses is enclosed alone; and an
// integer quotient is cut off only where both operands are integers for certain.
func TestCells(t *testing.T) {
	n, m, text, none, tag, quotient := Number{0}, Number{1}, Number{2}, Number{3}, Number{4}, Number{5}
	split := func(confidence float64) float64 { return 1 - (1-0.9)/2 - confidence }
	cells := []Cell{
		{Value: int64(7), Same: 0, Ends: func(c float64) any {
			if math.Abs(split(c)) < 1e-12 {
				return Interval{1, 10}
			}
			return Interval{5, 9}
		}},
		{Value: 4.5, Same: 1, Ends: func(float64) any { return Interval{4, 5} }},
		{Value: "2024-02-01", Same: 2, Ends: func(float64) any { return Span{"2024-01-01", "2024-03-01"} }},
		{Value: int64(3), Same: 3, Ends: func(float64) any { return Unproven }},
		{Value: int64(1), Same: 4},
		{Value: int64(7), Same: 0, Ends: func(float64) any { t.Error("asked twice"); return nil }},
		{Same: 6},
	}
	op := func(op sqlvalue.Operator, x, y Expr) Expr { return Arithmetic{op, x, y} }
	choice := Choice{4, []Expr{none, n}}
	for _, c := range []struct {
		e     Expr
		shown any
		want  any
	}{
		{n, int64(7), Interval{5, 9}},
		{n, int64(8), nil}, // something else computed it
		{tag, int64(1), nil},
		{Number{6}, nil, nil},
		{text, "2024-02-01", Span{"2024-01-01", "2024-03-01"}},
		{text, "2024-02-02", nil},
		{none, int64(3), Unproven},
		{op(sqlvalue.Plus, n, none), int64(10), Unproven},
		{op(sqlvalue.Plus, text, n), int64(7), MayBeNil},
		{choice, int64(7), Interval{5, 9}},
		{op(sqlvalue.Plus, choice, n), int64(14), Interval{10, 18}},
		{Choice{4, []Expr{n, nil}}, int64(7), nil},
		{Choice{6, []Expr{n, n}}, nil, nil},
		{op(sqlvalue.Minus, n, quotient), int64(0), Interval{0, 0}},
		{op(sqlvalue.Over, n, quotient), int64(1), Interval{1, 1}},
		{op(sqlvalue.Minus, n, m), 2.5, Interval{-4, 6}},
		{op(sqlvalue.Over, n, Constant{int64(2)}), int64(3), Interval{2, 4}},
		{op(sqlvalue.Over, n, Constant{2.0}), 3.5, Interval{2.5, 4.5}},
		{op(sqlvalue.Over, op(sqlvalue.Times, n, Constant{int64(1 << 61)}), Constant{int64(1 << 61)}), 7.0, Interval{5, 9}},
		{Call{Coalesce, []Expr{Number{6}, n}}, int64(7), Interval{5, 9}},
		{Call{Coalesce, []Expr{none, n}}, int64(3), Unproven},
	} {
		if got := Enclose(c.e, c.shown, cells, 0.9); got != c.want {
			t.Errorf("%#v is in %v, want %v", c.e, got, c.want)
		}
	}
}

// TestDivideByNothing: no interval of quotients is given where a divisor may be 0, however near to an end.
func TestDivideByNothing(t *testing.T) {
	divide := func(of, by Interval) any {
		x, y := of.Low, by.High
		cells := []Cell{{Value: x, Same: 0, Ends: func(float64) any { return of }}, {Value: y, Same: 1, Ends: func(float64) any { return by }}}
		return Enclose(Arithmetic{sqlvalue.Over, Number{0}, Number{1}}, x/y, cells, 0.95)
	}
	for _, by := range []Interval{{0, 7}, {-7, 1}, {-3, 0.5}, {-0.5, 3}, {-1e-300, 1e-300}} {
		if out := divide(Interval{1, 2}, by); out != any(MayBeNil) {
			t.Errorf("1 … 2 by %v is %v", by, out)
		}
	}
	for _, c := range []struct{ of, by, want Interval }{
		{Interval{1, 2}, Interval{0.5, 4}, Interval{0.25, 4}},
		{Interval{-1, 2}, Interval{0.5, 4}, Interval{-2, 4}},
		{Interval{1, 2}, Interval{-4, -0.5}, Interval{-4, -0.25}},
		{Interval{-2, -1}, Interval{-4, -0.5}, Interval{0.25, 4}},
	} {
		if got := divide(c.of, c.by); got != any(c.want) {
			t.Errorf("%v by %v is %v, want %v", c.of, c.by, got, c.want)
		}
	}
}

// TestRoundLeavesIntegersAlone: a float from 2⁵² on is whole, and half of 1 more is no float.
func TestRoundLeavesIntegersAlone(t *testing.T) {
	for _, x := range []float64{1<<52 - 1, 1 << 52, 1<<52 + 1, 1<<53 - 1, 1 << 53, 1e300} {
		for _, places := range []int64{-1, 0, 2} {
			if got := RoundTo(x, places); got != x {
				t.Errorf("ROUND(%v, %d) is %v", x, places, got)
			}
			if got := RoundTo(-x, places); got != -x {
				t.Errorf("ROUND(%v, %d) is %v", -x, places, got)
			}
		}
	}
}

// TestRoundsAsSQLite: a float that is half-way between two decimals is rounded away from zero, and
// one beside it to where it is nearer.
func TestRoundsAsSQLite(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	step := 3
	if *long {
		step = 1
	}
	for n := 0; n < 400; n += step {
		for _, half := range []float64{float64(n) / 4, float64(n) / 8, float64(n) / 16, float64(n) / 20, float64(n) / 1000} {
			for places := range int64(4) {
				for _, x := range []float64{half, -half, math.Nextafter(half, math.Inf(1)), math.Nextafter(half, math.Inf(-1))} {
					var want float64
					if err := db.QueryRow(`SELECT round(?, ?)`, x, places).Scan(&want); err != nil {
						t.Fatal(err)
					}
					if got := RoundTo(x, places); got != want {
						t.Errorf("ROUND(%v, %d) is %v, want %v", x, places, got, want)
					}
				}
			}
		}
	}
}

// TestChoiceWithoutARule: what one of the SELECTs of a union has no rule for has no interval, also
// beside a number that has one.
func TestChoiceWithoutARule(t *testing.T) {
	within := func(float64) any { return Interval{Low: 4, High: 6} }
	cells := []Cell{{Value: int64(0)}, {Value: int64(5), Ends: within, Same: 1}}
	e := Arithmetic{sqlvalue.Plus, Choice{0, []Expr{nil, Number{1}}}, Number{1}}
	if got := Enclose(e, int64(12), cells, 0.95); got != nil {
		t.Errorf("no rule: %v", got)
	}
	cells[0].Value = int64(1)
	if got := Enclose(e, int64(10), cells, 0.95); got != (Interval{Low: 8, High: 12}) {
		t.Errorf("a rule: %v", got)
	}
}

// TestEitherReading: what a choice chooses may be an INTEGER or a REAL, and is shown as one of them.
func TestEitherReading(t *testing.T) {
	within := func(float64) any { return Interval{Low: 4, High: 6} }
	cells := []Cell{{Value: int64(0)}, {Value: int64(5), Ends: within, Same: 1}}
	half := Arithmetic{sqlvalue.Over, Choice{0, []Expr{Number{1}}}, Constant{int64(2)}}
	for shown, known := range map[any]bool{int64(2): true, 2.5: true, 2.25: false} {
		if got := Enclose(half, shown, cells, 0.95); (got != nil) != known {
			t.Errorf("%v is in %v", shown, got)
		}
	}
}

// TestCellsThatPromiseNothing has a cell whose interval is open, and choices that nobody made.
func TestCellsThatPromiseNothing(t *testing.T) {
	open := Cell{Value: int64(5), Ends: func(float64) any { return Interval{2, math.Inf(1)} }}
	if got := Enclose(Number{0}, int64(5), []Cell{open}, 0.95); got != MayBeNil {
		t.Errorf("an open interval is %v", got)
	}
	closed := Cell{Value: int64(5), Ends: func(float64) any { return Interval{2, 9} }}
	for index, want := range map[any]any{int64(0): Interval{2, 9}, int64(1): nil, int64(-1): nil, "0": nil, nil: nil} {
		e := Choice{By: 0, Of: []Expr{Number{1}}}
		if got := Enclose(e, int64(5), []Cell{{Value: index}, closed}, 0.95); got != want {
			t.Errorf("choice %v is in %v, want %v", index, got, want)
		}
	}
}

// TestTypesJoin: values of two numbers' types are real, of any type and of texts texts, and of one type that type.
func TestTypesJoin(t *testing.T) {
	of := map[Type]any{Integer: int64(1), Real: 0.5, Text: "x"}
	for _, c := range [][3]Type{
		{Integer, Integer, Integer}, {Real, Real, Real}, {Text, Text, Text}, {Integer, Real, Real}, {Integer, Text, Text}, {Real, Text, Text},
	} {
		a, b := Constant{of[c[0]]}, Constant{of[c[1]]}
		for _, e := range []Expr{Arithmetic{Op: "+", Left: a, Right: b}, Arithmetic{Op: "+", Left: b, Right: a}, Call{Name: Coalesce, Args: []Expr{a, b}}} {
			if e.Type() != c[2] {
				t.Errorf("%v is of type %v, want %v", e, e.Type(), c[2])
			}
		}
	}
}
