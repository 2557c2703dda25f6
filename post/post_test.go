package post

import (
	"math"
	"math/big"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlvalue"
)

// noisy is an answer with one half-width at every confidence.
func noisy(value int64, width float64) Answer {
	return Answer{value, func(float64) (float64, bool) { return width, true }}
}

// arithmeticExpr draws an expression over three answers and a key.
func arithmeticExpr(t *rapid.T, depth int) Expr {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return Constant{rapid.SampledFrom([]any{int64(3), int64(-2), 2.5, 1000.0}).Draw(t, "constant")}
		case 1:
			return Key{ValueType: Integer}
		case 2:
			return Mean{[]Term{{0, 2}, {1, -1}, {2, 7}}, 2, unit(t)}
		}
		return Sum{Unit: unit(t), Terms: []Term{{rapid.IntRange(0, 2).Draw(t, "slot"), rapid.Int64Range(-3, 3).Draw(t, "factor")}, {1, 1}}}
	}
	left := arithmeticExpr(t, depth-1)
	switch rapid.IntRange(0, 4).Draw(t, "operator") {
	case 0:
		return Negative{left}
	case 1:
		return Call{Round, []Expr{left, Constant{int64(1)}}}
	case 2:
		return Call{Abs, []Expr{left}}
	}
	op := rapid.SampledFrom([]sqlvalue.Operator{sqlvalue.Plus, sqlvalue.Minus, sqlvalue.Times, sqlvalue.Over, sqlvalue.Modulo}).Draw(t, "op")
	return Arithmetic{op, left, arithmeticExpr(t, depth-1)}
}

// unit draws the unit of a sum.
func unit(t *rapid.T) *big.Rat {
	return rapid.SampledFrom([]*big.Rat{nil, nil, big.NewRat(1, 1000), big.NewRat(5, 2)}).Draw(t, "unit")
}

// TestMarginsHoldTheTruth moves the true answers anywhere within their half-widths. The
// true value of the expression must stay within its margin.
func TestMarginsHoldTheTruth(t *testing.T) {
	margins := 0
	rapid.Check(t, func(t *rapid.T) {
		e := arithmeticExpr(t, 3)
		estimate, truth := row{confidence: 0.95}, row{}
		estimate.keys = []query.Value{query.Int(5)}
		truth.keys = estimate.keys
		for range 3 {
			v, w := rapid.Int64Range(-20, 200).Draw(t, "value"), rapid.Int64Range(0, 9).Draw(t, "width")
			estimate.answers = append(estimate.answers, noisy(v, float64(w)))
			truth.answers = append(truth.answers, exact(v+rapid.Int64Range(-w, w).Draw(t, "error")))
		}
		v := e.value(&estimate)
		m, ok := margin(e, v, &estimate).(float64)
		if !ok {
			return
		}
		margins++
		want := e.value(&truth)
		if slack := 1e-9 * (1 + math.Abs(v.Float()) + m); want.IsNull() || math.Abs(want.Float()-v.Float()) > m+slack {
			t.Fatalf("%#v: estimated %v ± %v, the truth is %v", e, v.Any(), m, want.Any())
		}
	})
	if margins == 0 {
		t.Error("no expression had a margin")
	}
}

// TestFieller compares the margin of a mean with the roots of Fieller's equation.
func TestFieller(t *testing.T) {
	e := Mean{[]Term{{0, 1}}, 1, nil}
	r := &row{answers: []Answer{noisy(1000, 30), noisy(50, 5)}, confidence: 0.95}
	got := margin(e, e.value(r), r)
	// N − rD is 0 within the box up to (1000+30)/(50−5).
	if want := 1030.0/45 - 20; math.Abs(got.(float64)-want) > 1e-9 {
		t.Errorf("the margin is %v, want %v", got, want)
	}
	shared := Mean{[]Term{{0, 1}, {1, 100}}, 1, nil} // 100 + N/D: the same range, moved
	if moved := margin(shared, shared.value(r), r); math.Abs(moved.(float64)-got.(float64)) > 1e-9 {
		t.Errorf("the margin of 100 + N/D is %v, want %v", moved, got)
	}
	for _, count := range []Answer{noisy(5, 5), noisy(-3, 10), noisy(3, 10)} {
		r.answers[1] = count
		if got := margin(e, e.value(r), r); got != nil {
			t.Errorf("a count of %d: the margin is %v, want none", count.Value, got)
		}
	}
}

// TestConfidenceIsSplit checks that an expression of two answers asks each for half of
// the error probability, and an expression of one answer for all of it.
func TestConfidenceIsSplit(t *testing.T) {
	asked := make(map[float64]int)
	a := Answer{10, func(c float64) (float64, bool) { asked[c]++; return 1, true }}
	one, two := Sum{Terms: []Term{{0, 1}}}, Sum{Terms: []Term{{0, 1}, {1, -1}}}
	p := Program{Columns: []Column{{"a", one}, {"b", two}, {"c", Margin{two}}}, Limit: -1}
	out := p.Run([]Group{{Answers: []Answer{a, a}}}, 0.9)
	if want := (Table{[][]any{{int64(10), int64(0), 2.0}}, [][]any{{1.0, 2.0, nil}}}); !reflect.DeepEqual(out, want) {
		t.Errorf("the table is %v, want %v", out, want)
	}
	if len(asked) != 2 || asked[0.9] == 0 || asked[0.95] == 0 {
		t.Errorf("the confidences asked for are %v, want 0.9 and 0.95", asked)
	}
}

func TestUnverifiedAnswersHaveNoMargin(t *testing.T) {
	silent := Answer{7, func(float64) (float64, bool) { return 0, false }}
	p := Program{Columns: []Column{{"n", Sum{Terms: []Term{{0, 1}}}}, {"m", Margin{Sum{Terms: []Term{{0, 1}}}}}}, Limit: -1}
	out := p.Run([]Group{{Answers: []Answer{silent}}}, 0.95)
	if want := (Table{[][]any{{int64(7), nil}}, [][]any{{nil, nil}}}); !reflect.DeepEqual(out, want) {
		t.Errorf("the table is %v, want %v", out, want)
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
func exact(value int64) Answer {
	return Answer{value, func(float64) (float64, bool) { return 0, true }}
}
