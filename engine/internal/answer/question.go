package answer

import (
	"context"
	"encoding/json"
	"math"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
)

// uncounted returns the candidate of a release or mechanism that cannot answer a question,
// since it counts rows.
func (r Request) uncounted(name, kind string) released.Candidate {
	c := released.Candidate{Origin: released.FromRelease, Name: name, Kind: kind, Columns: []int{}, Refusal: "units are counted on the rows"}
	if r.Question == sqlfront.DistinctValues {
		c.Refusal = "values are counted on the rows, or from a release"
	}
	return c
}

// eachValue returns, for each value of the column but NULL, the query of the records that
// have it. Values that no record of the query can have are left out.
func (r Request) eachValue() ([]query.Query, error) {
	u := r.Query.Universe()
	d, none := u.Columns()[r.column].Domain, query.None(u)
	var all []query.Query
	for i := range d.Size() {
		if v := d.Value(i); !v.IsNull() {
			q, err := r.Query.And(query.Where(u, r.column, d.SetOf(v)))
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

// rest returns a candidate for a query of infinitely many texts of a column, such as those in
// OTHER: the answer about all texts, less the answer about those that the query excepts. Each of
// the two has an interval at the confidence 1 − (1−c)/2. By the union bound both hold at once with
// the confidence c, and then so does their difference. It takes answers that are free and have a
// margin, the tightest for each part. It is false where there are none.
func (db *Database) rest(ctx context.Context, v *view.View, r Request, column int) (c released.Candidate, ok bool, err error) {
	all, listed, ok := r.Query.Rest(column)
	if !ok {
		return c, false, nil
	}
	half := func(confidence float64) float64 { return 1 - (1-confidence)/2 }
	r.fresh = false
	r.Settings.Accuracy, r.Settings.Margins, r.Settings.Confidence = 0, released.Proven, half(r.Settings.Confidence)
	for _, q := range []query.Query{all, listed} {
		r.Query = q
		part, err := db.tightest(ctx, v, r)
		if err != nil || part == nil {
			return c, false, err
		}
		c.Parts = append(c.Parts, *part)
	}
	a, b := c.Parts[0], c.Parts[1]
	c.Origin, c.Known, c.Margin = released.FromRelease, true, a.Margin+b.Margin
	c.Name, c.Kind, c.Columns = a.Name, a.Kind, r.Query.Columns()
	c.Support = released.SupportSize{Infinite: true}
	c.Note = "all texts of " + r.Table.Columns[column].Name + " by " + a.Name + ", less those named by " + b.Name
	if b.Name != a.Name {
		c.Name += ", " + b.Name
	}
	if b.Kind != a.Kind {
		c.Kind += ", " + b.Kind
	}
	switch {
	case a.Origin == released.FromScript || b.Origin == released.FromScript:
		c.Origin = released.FromScript
		return c, true, nil
	case a.Origin == released.FromStored || b.Origin == released.FromStored:
		c.Origin = released.FromStored
	}
	c.Answer = func(ctx context.Context) (released.Estimate, error) {
		from, err := a.Answer(ctx)
		if err != nil {
			return from, err
		}
		less, err := b.Answer(ctx)
		return from.Less(less, half), err
	}
	return c, true, nil
}

// tightest returns the free answer with the least margin from what is stored, from releases and
// from the noisy number of rows, or nil if there is none.
func (db *Database) tightest(ctx context.Context, v *view.View, r Request) (best *released.Candidate, err error) {
	candidates, err := db.candidates(ctx, v, r)
	if err != nil {
		return nil, err
	}
	if n := r.Table.NHat; n != nil && r.Query.Equal(query.All(r.Table.Universe)) {
		c, err := db.rowCount(*n, r.Settings.Confidence)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, c)
	}
	for i := range candidates {
		c := &candidates[i]
		simple := c.Origin == released.FromConstant || c.Origin == released.FromStored || c.Origin == released.FromRelease || c.Origin == released.FromScript
		if simple && c.Refusal == "" && c.Known && c.Allowed(r.Settings.Mechanism) && (best == nil || c.Margin < best.Margin) {
			best = c
		}
	}
	return best, nil
}

// rowCount returns the candidate that is the noisy number of rows of a table. That is at least 1,
// whatever was drawn, and so it may err by 1 more than by 0.
func (db *Database) rowCount(n catalog.NHat, confidence float64) (released.Candidate, error) {
	law, err := json.Marshal(n.Law)
	if err != nil {
		return released.Candidate{}, err
	}
	width := func(confidence float64) (float64, error) {
		width, err := db.Margin(catalog.AnswerDirect, law, confidence)
		return max(1, width), err
	}
	c := released.Candidate{Origin: released.FromStored, Name: "the number of rows", Kind: "rows", Known: true}
	if c.Margin, err = width(confidence); err != nil {
		return c, err
	}
	c.Answer = answeredBy(released.Estimate{Value: n.Value, Error: post.Within(c.Margin), Verified: true,
		At: func(confidence float64) (post.Interval, error) {
			width, err := width(confidence)
			return post.Within(width), err
		}})
	return c, nil
}

// notLinear returns the candidate of a release for a question that is no linear query.
//
// The number of values follows from the counts of their records, each with an interval at
// the confidence 1 − (1−c)/n for n values. By the union bound all n hold at once with the
// confidence c. Then each value whose interval is above 0 is there, and one whose interval
// ends below 1 is not. The estimate is the number of values that are there for certain, and
// the interval goes from it to the number of those that can be.
func (db *Database) notLinear(ctx context.Context, r Request, rel *catalog.Release) (released.Candidate, error) {
	if r.Question != sqlfront.DistinctValues {
		return r.uncounted(rel.Name, rel.Using), nil
	}
	queries, err := r.eachValue()
	if err != nil {
		return released.Candidate{}, err
	}
	out := released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns, Known: true, Note: "values above their thresholds"}
	each := func(confidence float64) float64 { return 1 - (1-confidence)/float64(len(queries)) }
	estimates := make([]released.Estimate, len(queries))
	r.Settings.Accuracy, r.Settings.Margins = 0, released.Proven
	confidence := r.Settings.Confidence
	r.Settings.Confidence = each(confidence)
	for i, q := range queries {
		r.Query, r.Question = q, sqlfront.Weight
		c, err := db.ofRelease(ctx, r, rel)
		unbuilt := c.Origin == released.FromScript
		if unbuilt {
			c.Margin, c.Known = 0, false
		}
		if err != nil || c.Refusal != "" || unbuilt {
			return c, err
		}
		answer, err := c.Answer(ctx)
		if err != nil {
			return c.Failed(err)
		}
		if estimates[i] = answer; !estimates[i].Verified {
			c.Known, c.Refusal = false, "no error bar for the values"
			return c, nil
		}
		out.Support = c.Support
	}
	count := func(confidence float64) (surely, perhaps int64, err error) {
		for _, e := range estimates {
			by, err := e.At(each(confidence))
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
	value, most, err := count(confidence)
	if err != nil {
		return out.Failed(err)
	}
	out.Margin = float64(most - value)
	out.Answer = answeredBy(released.Estimate{Value: value, Error: post.Interval{High: out.Margin}, Verified: true,
		At: func(confidence float64) (post.Interval, error) {
			least, most, err := count(confidence)
			return post.Interval{Low: float64(least - value), High: float64(most - value)}, err
		}})
	return out, nil
}
