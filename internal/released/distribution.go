package released

import (
	"context"
	"math"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
)

// Order asks for the distribution of a column's values in the records of a query.
type Order struct {
	Query    query.Query
	Column   int
	Settings Settings
}

// Counter returns the candidate of a release, or of a release of each period, for a count.
type Counter func(context.Context, query.Query, Settings) (Candidate, error)

// RankNote is the note of distributions in EXPLAIN.
const RankNote = "margin of ranks, in rows"

// Places returns the scale of the distribution, as the first ordinal and their number: the places are the values
// that the column has in the query's records, from the least to the greatest.
func (o Order) Places() (first, places uint64) {
	ranges := o.Query.Values(o.Column).Ranges()
	first = ranges[0].First
	return first, ranges[len(ranges)-1].Last - first + 1
}

// Values returns the values of places of a width, the first of which begins at an ordinal.
func (o Order) Values(first, width uint64) func(place int64) (least, most float64) {
	c := o.Query.Universe().Columns()[o.Column]
	return func(place int64) (least, most float64) {
		from := first + uint64(place)*width
		return post.Values(c, from, min(from+width, c.Domain.Size())-1)
	}
}

// cut returns the queries of the records at the places up to one, and behind it.
func (o Order) cut(first, place uint64) (below, above query.Query, err error) {
	u := o.Query.Universe()
	d := u.Columns()[o.Column].Domain
	at := d.Value(first + place)
	least, err := d.Less(at, true)
	if err != nil {
		return below, above, err
	}
	rest, err := d.Greater(at, false)
	if err != nil {
		return below, above, err
	}
	if below, err = o.Query.And(query.Where(u, o.Column, least)); err != nil {
		return below, above, err
	}
	above, err = o.Query.And(query.Where(u, o.Column, rest))
	return below, above, err
}

// Candidate returns the candidate of a release for the distribution. Its margin is that of a rank: the largest error
// of the counts on both sides of the middle of the places, at the confidence that each of them needs. It counts by
// count; independent reports whether the errors of cells are, see Answers.
func (o Order) Candidate(ctx context.Context, count Counter, independent func() bool) (Candidate, error) {
	first, places := o.Places()
	c, err := count(ctx, o.Query, o.Settings)
	if err != nil || c.Refusal != "" {
		return c, err
	}
	below, above, err := o.cut(first, (places-1)/2)
	if err != nil {
		return c.Failed(err)
	}
	c.Margin = 0
	s := o.Settings
	s.Confidence = post.RankConfidence(int64(places), s.Confidence)
	for _, half := range []query.Query{below, above} {
		one, err := count.some(ctx, half, s)
		if err != nil || one.Refusal != "" {
			c.Refusal, c.Failure = one.Refusal, one.Failure
			return c, err
		}
		c.Margin, c.Known = max(c.Margin, one.Margin), c.Known && one.Known
	}
	c.Simulated, c.Note = 0, JoinNotes(RankNote, c.Note)
	if c.Origin == FromScript {
		return c, nil
	}
	o.Settings.Accuracy = 0
	c.Answer = func(ctx context.Context) (Estimate, error) {
		out, err := count.answer(ctx, o.Query, o.Settings)
		out.Distribution = func(s Settings) *post.Distribution {
			d := o.evaluated(context.WithoutCancel(ctx), count, s)
			if independent() {
				d.Gap = func(place int64, q, confidence float64) (post.Interval, bool) {
					return o.gapOfCells(context.WithoutCancel(ctx), count, d, place, q, confidence)
				}
			}
			return d
		}
		return out, err
	}
	return c, nil
}

// some returns the candidate for a count, which may be of no records.
func (count Counter) some(ctx context.Context, q query.Query, s Settings) (Candidate, error) {
	if q.Equal(query.None(q.Universe())) {
		return Empty(), nil
	}
	return count(ctx, q, s)
}

// answer returns the answer to a count.
func (count Counter) answer(ctx context.Context, q query.Query, s Settings) (Estimate, error) {
	c, err := count.some(ctx, q, s)
	if err != nil {
		return Estimate{}, err
	}
	if c.Refusal != "" {
		return Estimate{}, sqlerr.New(sqlerr.Uncovered, "release %s: %s", c.Name, c.Refusal)
	}
	return c.Answer(ctx)
}

// evaluated returns the distribution that a release has. It evaluates a cut when it is asked for, and remembers it.
func (o Order) evaluated(ctx context.Context, of Counter, s Settings) *post.Distribution {
	s.Clamp = false
	first, places := o.Places()
	half := o.Settings
	half.Confidence = post.RankConfidence(int64(places), s.Confidence)
	known := make(map[int64][2]post.Answer)
	count := func(q query.Query) (post.Answer, bool) {
		out, err := of.answer(ctx, q, half)
		if err != nil {
			return post.Answer{}, false
		}
		return Converted(out, half.Confidence, s), true
	}
	return &post.Distribution{Places: int64(places), Values: o.Values(first, 1),
		Split: func(place int64) (below, above post.Answer, ok bool) {
			if both, ok := known[place]; ok {
				return both[0], both[1], true
			}
			lower, upper, err := o.cut(first, uint64(place))
			if err != nil {
				return below, above, false
			}
			below, ok = count(lower)
			if ok {
				above, ok = count(upper)
			}
			if ok {
				known[place] = [2]post.Answer{below, above}
			}
			return below, above, ok
		}}
}

// gapOfCells is the Gap of an identity release. Its cells have independent noise of one law that
// is symmetric about 0. So the error of a gap has the law of the error of gapQuery, and each side
// half of its probability. Where there is no gapQuery, the intervals of A and B share the
// error probability.
func (o Order) gapOfCells(ctx context.Context, count Counter, d *post.Distribution, place int64, q, confidence float64) (gap post.Interval, ok bool) {
	first, _ := o.Places()
	below, above, ok := d.Split(place)
	lower, upper, err := o.cut(first, uint64(place))
	if err != nil || !ok {
		return gap, false
	}
	a, b := float64(below.Value), float64(above.Value)
	sum, whole, ok := gapQuery(lower, upper, q)
	if !ok {
		x, known := below.Error(1 - (1-confidence)/2)
		y, also := above.Error(1 - (1-confidence)/2)
		return post.Interval{Low: (1-q)*(a+x.Low) - q*(b+y.High) - Rounding(a, b), High: (1-q)*(a+x.High) - q*(b+y.Low) + Rounding(a, b)}, known && also
	}
	s := o.Settings
	s.Confidence = max(2*confidence-1, 0.001) // at 1/2 a side needs no width
	out, err := count.answer(ctx, sum, s)
	return post.Within(out.Error.Reach()/float64(whole) + Rounding(a, b)).Plus((1-q)*a - q*b), err == nil && out.Verified
}

// gapQuery returns (1−q)·below + q·above times a whole number of at most 100. It returns false
// if no such number makes the weights whole.
func gapQuery(below, above query.Query, q float64) (sum query.Query, whole int64, ok bool) {
	for whole = 1; whole <= 100; whole++ {
		part := math.Round(q * float64(whole))
		if math.Abs(q*float64(whole)-part) > 1e-13 {
			continue
		}
		under, err := below.Times(whole - int64(part))
		if err != nil {
			return sum, 0, false
		}
		over, err := above.Times(int64(part))
		if err != nil {
			return sum, 0, false
		}
		sum, err = under.Plus(over)
		return sum, whole, err == nil
	}
	return sum, 0, false
}

// Rounding bounds the errors of float64 in what was computed from numbers: sums of at most
// direct.MaxPlaces terms, and the product of a fraction and a rank.
func Rounding(numbers ...float64) (sum float64) {
	for _, x := range numbers {
		sum += math.Abs(x) / (1 << 36)
	}
	return sum
}
