package released

import (
	"context"
	"math"
	"testing"

	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlfront/post"
)

// answering is a candidate whose interval grows with the confidence: 10 at 0.9, and 100 at 0.95.
func answering(value int64) Candidate {
	at := func(confidence float64) (post.Interval, error) {
		return post.Within(math.Round(1 / (1 - confidence))), nil
	}
	miss, _ := at(0.95)
	return Candidate{Origin: FromStored, Name: "a", Kind: "direct", Known: true, Margin: miss.High,
		Answer: AnsweredBy(Estimate{Value: value, Error: miss, Verified: true, At: at})}
}

// TestDerivedIntervals holds what is derived from several answers to the union bound: each of their intervals is
// asked for at its share of 1 − confidence, and the reaches add up.
func TestDerivedIntervals(t *testing.T) {
	c := Difference(answering(50), answering(20))
	e, err := c.Answer(context.Background())
	if err != nil || e.Value != 30 || c.Margin != 40 || e.Error != post.Within(40) {
		t.Errorf("%d with %v, margin %v: %v", e.Value, e.Error, c.Margin, err)
	}
	if by, err := e.At(0.9); err != nil || by != post.Within(40) { // each at 0.95
		t.Errorf("at 0.9: %v, %v", by, err)
	}
	asked, counts := 0.0, []int64{41, 39, 0, -41}
	d, err := query.NewRange(0, 3, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := Values(context.Background(), Candidate{}, query.All(u), 0, Settings{Confidence: 0.9}, func(_ context.Context, _ query.Query, s Settings) (Candidate, error) {
		one := counts[0]
		asked, counts = s.Confidence, counts[1:]
		return answering(one), nil
	})
	if err != nil || math.Abs(asked-0.975) > 1e-12 || v.Margin != 2 { // each ± 40: one is there, and three can be
		t.Fatalf("values asked at %v, margin %v: %v", asked, v.Margin, err)
	}
	e, err = v.Answer(context.Background())
	if by, none := e.At(0.8); err != nil || none != nil || e.Value != 1 || by != (post.Interval{Low: 1, High: 2}) { // each ± 20
		t.Errorf("%d, at 0.8 with %v: %v, %v", e.Value, by, err, none)
	}
}

// TestTightestAnswersAll has candidates that are tighter than the one that can answer.
func TestTightestAnswersAll(t *testing.T) {
	good, refused, bought, unknown := answering(1), answering(2), answering(3), answering(4)
	refused.Margin, refused.Refusal = 1, "no"
	bought.Margin, bought.Origin = 1, FromRows
	unknown.Margin, unknown.Known = 1, false
	if best := Tightest([]Candidate{refused, bought, good, unknown}, "auto"); best == nil || best.Margin != good.Margin {
		t.Errorf("the tightest is %v", best)
	}
}

// TestConvertedAsksOnce holds that the error which is known is used at its confidence alone.
func TestConvertedAsksOnce(t *testing.T) {
	e, _ := answering(7).Answer(context.Background())
	a := Converted(e, 0.95, Settings{})
	for confidence, want := range map[float64]post.Interval{0.95: post.Within(20), 0.9: post.Within(10), 0.99: post.Within(100)} {
		if by, known := a.Error(confidence); !known || by != want {
			t.Errorf("at %v: %v, %v", confidence, by, known)
		}
	}
}

// TestHypothesisPromisesItsClass: only a whole pass that fired nothing proves a margin, and only for the
// queries of its class, those at its bound among them.
func TestHypothesisPromisesItsClass(t *testing.T) {
	d, err := query.NewRange(0, 3, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: d}, {Name: "b", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	one := func(column int) query.Query { return query.Where(u, column, d.SetOf(query.Int(2))) }
	whole := query.All(u)
	class := &Class{Free: 1, universe: u}
	for _, c := range []struct {
		q        query.Query
		complete bool
		want     bool
	}{{one(0), true, true}, {whole, true, false}, {one(0), false, false}, {whole, false, false}} {
		if got := class.Contains(c.q); c.complete && got != c.want {
			t.Errorf("the class has %v: %v", c.q, got)
		}
		h := &Hypothesis{Published: HypothesisPayload{Class: class, Complete: c.complete, Params: MechanismParams{Params: smw.Params{}}}}
		if c.want {
			continue // its margin needs a plan
		}
		if _, known, err := h.Margin(c.q, 0.95); known || err != nil {
			t.Errorf("%v, complete %v: a margin is promised, %v", c.q, c.complete, err)
		}
	}
}
