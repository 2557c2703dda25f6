package answer

import (
	"context"
	"encoding/json"

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
// OTHER: the answer about all texts, less the answer about those that the query excepts, see
// released.Difference. It takes answers that are free and have a margin, the tightest for each part.
// It is false where there are none.
func (db *Database) rest(ctx context.Context, v *view.View, r Request, column int) (c released.Candidate, ok bool, err error) {
	all, listed, ok := r.Query.Rest(column)
	if !ok {
		return c, false, nil
	}
	columns := r.Query.Columns()
	r.fresh = false
	r.Settings.Accuracy, r.Settings.Margins, r.Settings.Confidence = 0, released.Proven, released.Half(r.Settings.Confidence)
	var parts [2]*released.Candidate
	for i, q := range []query.Query{all, listed} {
		r.Query = q
		if parts[i], err = db.tightest(ctx, v, r); err != nil || parts[i] == nil {
			return c, false, err
		}
	}
	c = released.Difference(*parts[0], *parts[1])
	c.Columns, c.Support = columns, released.SupportSize{Infinite: true}
	c.Note = "all texts of " + r.Table.Columns[column].Name + " by " + parts[0].Name + ", less those named by " + parts[1].Name
	return c, true, nil
}

// tightest returns the free answer with the least margin from what is stored, from releases and
// from the noisy number of rows, or nil if there is none.
func (db *Database) tightest(ctx context.Context, v *view.View, r Request) (*released.Candidate, error) {
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
	return released.Tightest(candidates, r.Settings.Mechanism), nil
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
	c.Answer = released.AnsweredBy(released.Estimate{Value: n.Value, Error: post.Within(c.Margin), Verified: true,
		At: func(confidence float64) (post.Interval, error) {
			width, err := width(confidence)
			return post.Within(width), err
		}})
	return c, nil
}

// notLinear returns the candidate of a release for a question that is no linear query.
func (db *Database) notLinear(ctx context.Context, r Request, rel *catalog.Release) (released.Candidate, error) {
	if r.Question != sqlfront.DistinctValues {
		return r.uncounted(rel.Name, rel.Using), nil
	}
	values, err := r.eachValue()
	if err != nil {
		return released.Candidate{}, err
	}
	r.Settings.Accuracy, r.Settings.Margins, r.Question = 0, released.Proven, sqlfront.Weight
	c := released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns}
	return released.Values(ctx, c, values, r.Settings.Confidence, func(q query.Query, confidence float64) (released.Candidate, error) {
		r := r
		r.Query, r.Settings.Confidence = q, confidence
		return db.ofRelease(ctx, r, rel)
	})
}
