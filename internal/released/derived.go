package released

import (
	"context"
	"math"

	"dpsql/query"
	"dpsql/sqlfront"
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
// column in the records of a query. ask returns its candidate for the records with a value.
//
// The number of values follows from the counts of their records, each with an interval at
// the confidence 1 − (1−c)/n for n values. By the union bound all n hold at once with the
// confidence c. Then each value whose interval is above 0 is there, and one whose interval
// ends below 1 is not. The estimate is the number of values that are there for certain, and
// the interval goes from it to the number of those that can be.
func Values(ctx context.Context, c Candidate, of query.Query, column int, s Settings, ask Counter) (Candidate, error) {
	values, err := EachValue(of, column)
	if err != nil {
		return Candidate{}, err
	}
	confidence := s.Confidence
	s.Accuracy, s.Margins = 0, Proven
	each := func(confidence float64) float64 { return 1 - (1-confidence)/float64(len(values)) }
	c.Known, c.Note = true, "values above their thresholds"
	found := make(presences, len(values))
	for i, q := range values {
		s.Confidence = each(confidence)
		one, err := ask(ctx, q, s)
		unbuilt := one.Origin == FromScript
		if unbuilt {
			one.Margin, one.Known = 0, false
		}
		if err != nil || one.Refusal != "" || unbuilt {
			return one, err
		}
		if found[i], err = one.Answer(ctx); err != nil {
			return one.Failed(err)
		}
		if !found[i].Verified {
			one.Known, one.Refusal = false, "no error bar for the values"
			return one, nil
		}
		c.Support = one.Support
	}
	value, most, err := found.count(each(confidence))
	if err != nil {
		return c.Failed(err)
	}
	c.Margin = float64(most - value)
	c.Answer = AnsweredBy(Estimate{Value: value, Error: post.Interval{High: c.Margin}, Verified: true,
		At: func(confidence float64) (post.Interval, error) {
			least, most, err := found.count(each(confidence))
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

// Uncounted returns the candidate of a release or mechanism that cannot answer a question,
// since it counts rows.
func Uncounted(question sqlfront.Question, name, kind string) Candidate {
	c := Candidate{Origin: FromRelease, Name: name, Kind: kind, Columns: []int{}, Refusal: "units are counted on the rows"}
	if question == sqlfront.DistinctValues {
		c.Refusal = "values are counted on the rows, or from a release"
	}
	return c
}

// EachValue returns, for each value of the column but NULL, the query of the records that
// have it. Values that no record of the query can have are left out.
func EachValue(of query.Query, column int) ([]query.Query, error) {
	u := of.Universe()
	d, none := u.Columns()[column].Domain, query.None(u)
	var all []query.Query
	for i := range d.Size() {
		if v := d.Value(i); !v.IsNull() {
			q, err := of.And(query.Where(u, column, d.SetOf(v)))
			if err != nil {
				return nil, err
			}
			if !q.Equal(none) {
				all = append(all, q)
			}
		}
	}
	return all, nil
}

// Halved returns the settings by which Rest asks for each of its two answers.
func (s Settings) Halved() Settings {
	s.Accuracy, s.Margins, s.Confidence = 0, Proven, Half(s.Confidence)
	return s
}

// Rest returns a candidate for a query of infinitely many texts of a column, such as those in
// OTHER: the answer about all texts, less the answer about those that the query excepts, see
// Difference. It takes answers that are free and have a margin, the tightest for each part.
// It is false where there are none.
func Rest(q query.Query, column int, tightest func(query.Query) (*Candidate, error)) (c Candidate, ok bool, err error) {
	all, listed, ok := q.Rest(column)
	if !ok {
		return c, false, nil
	}
	var parts [2]*Candidate
	for i, q := range []query.Query{all, listed} {
		if parts[i], err = tightest(q); err != nil || parts[i] == nil {
			return c, false, err
		}
	}
	c = Difference(*parts[0], *parts[1])
	c.Columns, c.Support = q.Columns(), SupportSize{Infinite: true}
	c.Note = "all texts of " + q.Universe().Columns()[column].Name + " by " + parts[0].Name + ", less those named by " + parts[1].Name
	return c, true, nil
}
