package released

import (
	"context"
	"math"

	"dpsql/query"
	"dpsql/sqlfront/post"
)

// AnsweredBy returns the answer of a candidate whose estimate is known.
func AnsweredBy(e Estimate) func(context.Context) (Estimate, error) {
	return func(context.Context) (Estimate, error) { return e, nil }
}

// Empty answers a query that no record can satisfy.
func Empty() Candidate {
	return Candidate{Origin: FromConstant, Name: "constant", Kind: "constant", Columns: []int{}, Support: FiniteSupport(0), Known: true,
		Note:   "no record can satisfy the query",
		Answer: AnsweredBy(Estimate{Verified: true, At: func(float64) (post.Interval, error) { return post.Interval{}, nil }})}
}

// Half returns the confidence of each of two intervals of which both hold with a confidence, by the
// union bound.
func Half(confidence float64) float64 { return 1 - (1-confidence)/2 }

// Difference returns the candidate for the answer of a less that of b. Each of the two has an
// interval at the confidence Half(c). By the union bound both hold at once with the confidence c,
// and then so does their difference. What it is about, and its note, are left to the caller.
func Difference(a, b Candidate) Candidate {
	c := Candidate{Origin: FromRelease, Name: a.Name, Kind: a.Kind, Known: true, Margin: a.Margin + b.Margin, Parts: []Candidate{a, b}}
	if b.Name != a.Name {
		c.Name += ", " + b.Name
	}
	if b.Kind != a.Kind {
		c.Kind += ", " + b.Kind
	}
	switch {
	case a.Origin == FromScript || b.Origin == FromScript:
		c.Origin = FromScript
		return c
	case a.Origin == FromStored || b.Origin == FromStored:
		c.Origin = FromStored
	}
	c.Answer = func(ctx context.Context) (Estimate, error) {
		from, err := a.Answer(ctx)
		if err != nil {
			return from, err
		}
		less, err := b.Answer(ctx)
		return from.Less(less, Half), err
	}
	return c
}

// Tightest returns the free answer with the least margin, or nil if there is none.
func Tightest(candidates []Candidate, mechanism string) (best *Candidate) {
	for i := range candidates {
		c := &candidates[i]
		free := c.Origin == FromConstant || c.Origin == FromStored || c.Origin == FromRelease || c.Origin == FromScript
		if free && c.Refusal == "" && c.Known && c.Allowed(mechanism) && (best == nil || c.Margin < best.Margin) {
			best = c
		}
	}
	return best
}

// Values returns the candidate of a release, of which c has the name, for the number of values of a
// column. ask returns its candidate for the records with a value, at a confidence.
//
// The number of values follows from the counts of their records, each with an interval at
// the confidence 1 − (1−c)/n for n values. By the union bound all n hold at once with the
// confidence c. Then each value whose interval is above 0 is there, and one whose interval
// ends below 1 is not. The estimate is the number of values that are there for certain, and
// the interval goes from it to the number of those that can be.
func Values(ctx context.Context, c Candidate, values []query.Query, confidence float64, ask func(q query.Query, confidence float64) (Candidate, error)) (Candidate, error) {
	each := func(confidence float64) float64 { return 1 - (1-confidence)/float64(len(values)) }
	c.Known, c.Note = true, "values above their thresholds"
	of := make(presences, len(values))
	for i, q := range values {
		one, err := ask(q, each(confidence))
		unbuilt := one.Origin == FromScript
		if unbuilt {
			one.Margin, one.Known = 0, false
		}
		if err != nil || one.Refusal != "" || unbuilt {
			return one, err
		}
		if of[i], err = one.Answer(ctx); err != nil {
			return one.Failed(err)
		}
		if !of[i].Verified {
			one.Known, one.Refusal = false, "no error bar for the values"
			return one, nil
		}
		c.Support = one.Support
	}
	value, most, err := of.count(each(confidence))
	if err != nil {
		return c.Failed(err)
	}
	c.Margin = float64(most - value)
	c.Answer = AnsweredBy(Estimate{Value: value, Error: post.Interval{High: c.Margin}, Verified: true,
		At: func(confidence float64) (post.Interval, error) {
			least, most, err := of.count(each(confidence))
			return post.Interval{Low: float64(least - value), High: float64(most - value)}, err
		}})
	return c, nil
}

// presences are the numbers of records that have each of some values.
type presences []Estimate

// count returns how many of the values have a record for certain, and how many can have one, if each
// interval holds at a confidence.
func (of presences) count(confidence float64) (surely, perhaps int64, err error) {
	for _, e := range of {
		by, err := e.At(confidence)
		if err != nil {
			return 0, 0, err
		}
		if float64(e.Value)+by.Low > 0 {
			surely++
		}
		if math.Floor(float64(e.Value)+by.High) >= 1 {
			perhaps++
		}
	}
	return surely, perhaps, nil
}
