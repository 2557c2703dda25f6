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
				Margin: margin, Known: true, Note: released.JoinNotes(released.RankNote, released.StoredNote), Answer: released.AnsweredBy(e)})
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
	c.Note = released.JoinNotes(released.RankNote, c.Note)
	return append(all, c), nil
}

// distributionOf returns the candidate of a release for a distribution, whose rel is nil for a release of each period. It counts by of.
func (db *Database) distributionOf(ctx context.Context, r Request, rel *catalog.Release, of func(context.Context, Request) (released.Candidate, error)) (released.Candidate, error) {
	if rel != nil {
		in, refusal := db.about(r, rel.Span)
		if refusal != "" {
			return released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns, Refusal: refusal}, nil
		}
		r = in
	}
	return r.order().Candidate(ctx, func(ctx context.Context, q query.Query, s released.Settings) (released.Candidate, error) {
		r := r
		r.Query, r.Settings, r.Question = q, s, sqlfront.Weight
		return of(ctx, r)
	}, func() bool {
		if rel == nil {
			return false
		}
		a, err := db.Load(ctx, r.Table, rel)
		return err == nil && a.Independent()
	})
}

// order returns the distribution that is asked for.
func (r Request) order() released.Order {
	return released.Order{Query: r.Query, Column: r.column, Settings: r.Settings}
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
			return post.Within(math.Floor(width + 0.5 + released.Rounding(value, width))), ok
		}}
	}
	distribution := &post.Distribution{Places: c.Places, Values: r.order().Values(m.First, m.Width),
		Split: func(place int64) (below, above post.Answer, ok bool) {
			b, a := c.Split(m.Noisy, place)
			return side(b, place, 0), side(a, place, 1), true
		},
		Gap: func(place int64, q, confidence float64) (post.Interval, bool) {
			below, above := c.Split(m.Noisy, place)
			width, ok := c.Bound(law, place, q, 1-confidence)
			return post.Within(width + released.Rounding(below, above, width)).Plus((1-q)*below - q*above), ok
		}}
	all, _, _ := distribution.Split(c.Places - 1)
	width, _ := all.Error(r.Settings.Confidence)
	return released.Estimate{Value: a.Estimate, Error: width, Verified: true, Distribution: func(released.Settings) *post.Distribution { return distribution },
		At: func(confidence float64) (post.Interval, error) {
			width, _ := all.Error(confidence)
			return width, nil
		}}, math.Floor(margin), nil
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
