package answer

import (
	"context"
	"encoding/json"
	"math"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
)

// cut returns the requests for the numbers of records at the places up to one, and behind it.
func (r Request) cut(first, place uint64) (below, above Request, err error) {
	d := r.Table.Universe.Columns()[r.column].Domain
	below, above = r, r
	below.Question, above.Question = sqlfront.Weight, sqlfront.Weight
	at := d.Value(first + place)
	least, err := d.Less(at, true)
	if err != nil {
		return below, above, err
	}
	rest, err := d.Greater(at, false)
	if err != nil {
		return below, above, err
	}
	if below.Query, err = r.Query.And(query.Where(r.Table.Universe, r.column, least)); err != nil {
		return below, above, err
	}
	above.Query, err = r.Query.And(query.Where(r.Table.Universe, r.column, rest))
	return below, above, err
}

// distributions lists the ways to answer a request for a distribution: stored ones, releases,
// and one that is bought. A mechanism has none: each of its runs would go to one
// cut.
func (db *Database) distributions(ctx context.Context, v *view.View, r Request) (all []released.Candidate, err error) {
	if !r.fresh {
		stored, err := db.store.Answers(ctx, r.Table.ID, r.text())
		if err != nil {
			return nil, err
		}
		for _, a := range stored {
			e, margin, err := distributionStored(r, a)
			if err != nil {
				return nil, err
			}
			e.AsOf = r.asOf(r.Table.Touched(r.Query), a.CreatedAt)
			all = append(all, released.Candidate{Origin: released.FromStored, Name: a.Via, Kind: "direct", Support: released.SupportOf(r.Query),
				Margin: margin, Known: true, Note: released.JoinNotes(rankNote, released.StoredNote), Answer: released.AnsweredBy(e)})
		}
	}
	for i := range v.Releases {
		rel := &v.Releases[i]
		if rel.TableID != r.Table.ID || rel.Template != 0 || !r.considers(rel.Using, rel.Name) {
			continue
		}
		c, err := db.distributionOf(ctx, r, rel, func(ctx context.Context, r Request) (released.Candidate, error) { return db.ofRelease(ctx, r, rel) })
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for i := range v.Templates {
		m := &v.Templates[i]
		if m.TableID != r.Table.ID || !r.considers(m.Using, m.Name) {
			continue
		}
		c, err := db.distributionOf(ctx, r, nil, func(ctx context.Context, r Request) (released.Candidate, error) { return db.fromTemplate(ctx, v, r, m) })
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if r.Table.Source == "" || !r.considers("direct", "direct") {
		return all, nil
	}
	c := db.direct(v, r)
	c.Note = released.JoinNotes(rankNote, c.Note)
	return append(all, c), nil
}

// distributionOf returns the candidate of a release for a distribution. Its margin is that
// of a rank: the largest error of the counts on both sides of the middle of the places, at
// the confidence that each of them needs. It counts by of, and has only counts where rel is nil.
func (db *Database) distributionOf(ctx context.Context, r Request, rel *catalog.Release, of counter) (released.Candidate, error) {
	if rel != nil {
		in, refusal := db.about(r, rel.Span)
		if refusal != "" {
			return released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns, Refusal: refusal}, nil
		}
		r = in
	}
	first, places := r.places()
	whole := r
	whole.Question = sqlfront.Weight
	c, err := of(ctx, whole)
	if err != nil || c.Refusal != "" {
		return c, err
	}
	below, above, err := r.cut(first, (places-1)/2)
	if err != nil {
		return c.Failed(err)
	}
	c.Margin = 0
	for _, half := range []Request{below, above} {
		half.Settings.Confidence = post.RankConfidence(int64(places), r.Settings.Confidence)
		one, err := of.count(ctx, half)
		if err != nil || one.Refusal != "" {
			c.Refusal, c.Failure = one.Refusal, one.Failure
			return c, err
		}
		c.Margin, c.Known = max(c.Margin, one.Margin), c.Known && one.Known
	}
	c.Simulated = 0
	whole.Settings.Accuracy = 0
	c.Note = released.JoinNotes(rankNote, c.Note)
	if c.Origin == released.FromScript {
		return c, nil
	}
	c.Answer = func(ctx context.Context) (released.Estimate, error) {
		out, err := of.countBy(ctx, whole)
		out.Distribution = db.evaluated(context.WithoutCancel(ctx), r, rel, of, first, places)
		return out, err
	}
	return c, nil
}

const rankNote = "margin of ranks, in rows"

// counter returns the candidate of a release, or of a release of each period, for a count.
type counter func(context.Context, Request) (released.Candidate, error)

// count returns the candidate for a count, which may be of no records.
func (of counter) count(ctx context.Context, r Request) (released.Candidate, error) {
	if r.Query.Equal(query.None(r.Table.Universe)) {
		return released.Empty(), nil
	}
	return of(ctx, r)
}

// countBy returns the answer to a count.
func (of counter) countBy(ctx context.Context, r Request) (released.Estimate, error) {
	c, err := of.count(ctx, r)
	if err != nil {
		return released.Estimate{}, err
	}
	if c.Refusal != "" {
		return released.Estimate{}, sqlerr.New(sqlerr.Uncovered, "release %s: %s", c.Name, c.Refusal)
	}
	return c.Answer(ctx)
}

// evaluated returns a function for the distribution that a release has. It evaluates a cut
// when it is asked for, and remembers it.
func (db *Database) evaluated(ctx context.Context, r Request, rel *catalog.Release, of counter, first, places uint64) func(released.Settings) *post.Distribution {
	return func(s released.Settings) *post.Distribution {
		s.Clamp = false
		known := make(map[int64][2]post.Answer)
		count := func(half Request) (post.Answer, bool) {
			half.Settings.Accuracy = 0
			half.Settings.Confidence = post.RankConfidence(int64(places), s.Confidence)
			out, err := of.countBy(ctx, half)
			if err != nil {
				return post.Answer{}, false
			}
			return released.Converted(out, half.Settings.Confidence, s), true
		}
		d := &post.Distribution{Places: int64(places), Values: r.valuesFrom(first, 1),
			Split: func(place int64) (below, above post.Answer, ok bool) {
				if both, ok := known[place]; ok {
					return both[0], both[1], true
				}
				lower, upper, err := r.cut(first, uint64(place))
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
		if rel == nil {
			return d
		}
		if a, err := db.Load(ctx, r.Table, rel); err == nil {
			if a.Independent() {
				d.Gap = func(place int64, q, confidence float64) (post.Interval, bool) {
					return of.gapOfCells(ctx, r, d, first, place, q, confidence)
				}
			}
		}
		return d
	}
}

// gapOfCells is the Gap of an identity release. Its cells have independent noise of one law that
// is symmetric about 0. So the error of a gap has the law of the error of gapQuery, and each side
// half of its probability. Where there is no gapQuery, the intervals of A and B share the
// error probability.
func (of counter) gapOfCells(ctx context.Context, r Request, d *post.Distribution, first uint64, place int64, q, confidence float64) (gap post.Interval, ok bool) {
	below, above, ok := d.Split(place)
	lower, upper, err := r.cut(first, uint64(place))
	if err != nil || !ok {
		return gap, false
	}
	a, b := float64(below.Value), float64(above.Value)
	sum := lower
	var whole int64
	if sum.Query, whole, ok = gapQuery(lower.Query, upper.Query, q); !ok {
		x, known := below.Error(1 - (1-confidence)/2)
		y, also := above.Error(1 - (1-confidence)/2)
		return post.Interval{Low: (1-q)*(a+x.Low) - q*(b+y.High) - rounding(a, b), High: (1-q)*(a+x.High) - q*(b+y.Low) + rounding(a, b)}, known && also
	}
	sum.Settings.Accuracy, sum.Settings.Confidence = 0, max(2*confidence-1, 0.001) // at 1/2 a side needs no width
	out, err := of.countBy(ctx, sum)
	return post.Within(out.Error.Reach()/float64(whole) + rounding(a, b)).Plus((1-q)*a - q*b), err == nil && out.Verified
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

// valuesFrom returns the values of places of a width, the first of which begins at an ordinal.
func (r Request) valuesFrom(first, width uint64) func(place int64) (least, most float64) {
	c := r.Table.Universe.Columns()[r.column]
	return func(place int64) (least, most float64) {
		from := first + uint64(place)*width
		return post.Values(c, from, min(from+width, c.Domain.Size())-1)
	}
}

// measured is what is stored of a distribution that was bought.
type measured struct {
	scale
	Law   string  `json:"law"`
	Noisy []int64 `json:"noisy"`
}

// eachPlace returns the queries of the places, whose counts are measured.
func (r Request) eachPlace() ([]query.Query, error) {
	s := r.scaleOf()
	d := r.Table.Universe.Columns()[r.column].Domain
	queries := make([]query.Query, s.places().Places)
	for i := range queries {
		from := s.First + uint64(i)*s.Width
		least, err := d.Greater(d.Value(from), true)
		if err != nil {
			return nil, err
		}
		most, err := d.Less(d.Value(min(from+s.Width, s.End)-1), true)
		if err != nil {
			return nil, err
		}
		if queries[i], err = r.Query.And(query.Where(r.Table.Universe, r.column, least.Intersect(most))); err != nil {
			return nil, err
		}
	}
	return queries, nil
}

// missOf returns the probability with which each end of a gap may fail.
func missOf(c direct.Cumulative, confidence float64) float64 {
	return 1 - post.GapConfidence(c.Places, confidence)
}

// priceOfOrders returns the price of the distributions of disjoint groups of rows.
func (db *Database) priceOfOrders(requests []Request, accuracy float64) price {
	var all []direct.Cumulative
	var misses []float64
	for _, r := range requests {
		c := r.scaleOf().places()
		all, misses = append(all, c), append(misses, missOf(c, r.Settings.Confidence))
	}
	p, ok := direct.PlanForCumulative(all, misses, accuracy, requests[0].Table.Sensitivity())
	return price{p, ok}
}

// storedDistribution returns noisy numbers as the catalog keeps them.
func (p price) storedDistribution(r Request, noisy []int64) (catalog.Answer, error) {
	s := r.scaleOf()
	law, err := json.Marshal(measured{s, p.Law.String(), noisy})
	n, _ := s.places().Split(noisy, s.places().Places-1)
	return catalog.Answer{TableID: r.Table.ID, Query: catalog.SumOf(r.text()), Kind: catalog.AnswerDistribution, Via: "direct", Estimate: int64(math.Round(n)), Law: law}, err
}

// distributionStored returns a stored distribution, and the margin of its ranks.
func distributionStored(r Request, a catalog.Answer) (e released.Estimate, margin float64, err error) {
	damaged := sqlerr.New(sqlerr.Corrupt, "a stored distribution cannot be read")
	var m measured
	if a.Kind != catalog.AnswerDistribution || json.Unmarshal(a.Law, &m) != nil {
		return e, 0, damaged
	}
	if m.Width < 1 || m.First >= m.End || m.End > r.Table.Universe.Columns()[r.column].Domain.Size() {
		return e, 0, damaged
	}
	c := m.places()
	law, err := law.Parse(m.Law)
	if err != nil || !c.Valid() || int64(len(m.Noisy)) != c.Places {
		return e, 0, damaged
	}
	margin, ok := c.Most(law, missOf(c, r.Settings.Confidence))
	if !ok {
		return e, 0, damaged
	}
	// side is the number of rows before a place's end, q = 0, or behind it, q = 1.
	side := func(value float64, place int64, q float64) post.Answer {
		return post.Answer{Value: int64(math.Round(value)), Error: func(confidence float64) (post.Interval, bool) {
			width, ok := c.Bound(law, place, q, (1-confidence)/2)
			return post.Within(math.Floor(width + 0.5 + rounding(value, width))), ok
		}}
	}
	distribution := &post.Distribution{Places: c.Places, Values: r.valuesFrom(m.First, m.Width),
		Split: func(place int64) (below, above post.Answer, ok bool) {
			b, a := c.Split(m.Noisy, place)
			return side(b, place, 0), side(a, place, 1), true
		},
		Gap: func(place int64, q, confidence float64) (post.Interval, bool) {
			below, above := c.Split(m.Noisy, place)
			width, ok := c.Bound(law, place, q, 1-confidence)
			return post.Within(width + rounding(below, above, width)).Plus((1-q)*below - q*above), ok
		}}
	all, _, _ := distribution.Split(c.Places - 1)
	width, _ := all.Error(r.Settings.Confidence)
	return released.Estimate{Value: a.Estimate, Error: width, Verified: true, Distribution: func(released.Settings) *post.Distribution { return distribution },
		At: func(confidence float64) (post.Interval, error) {
			width, _ := all.Error(confidence)
			return width, nil
		}}, math.Floor(margin), nil
}

// rounding bounds the errors of float64 in what was computed from numbers: sums of at most
// direct.MaxPlaces terms, and the product of a fraction and a rank.
func rounding(numbers ...float64) (sum float64) {
	for _, x := range numbers {
		sum += math.Abs(x) / (1 << 36)
	}
	return sum
}

// maxMeasured bounds the numbers that a statement buys for distributions.
const maxMeasured = 1 << 17

// bearable refuses to buy distributions of too many numbers. The number is public.
func (st *Statement) bearable(bought []int) error {
	numbers := int64(0)
	for _, n := range bought {
		if a := st.Asks[n]; a.Question == sqlfront.Order {
			numbers += a.counts()
		}
	}
	if numbers <= maxMeasured {
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "quantiles of so many values in so many groups cannot be bought: they need %d counts, at most %d", numbers, maxMeasured).
		WithHint("select fewer groups in WHERE, or create a release, which has all of them")
}
