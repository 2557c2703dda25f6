package answer

import (
	"context"
	"math"

	"dpsql/catalog"
	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// uncounted returns the candidate of a release or mechanism that cannot answer a question,
// since it counts rows.
func (r Request) uncounted(name, kind string) Candidate {
	c := Candidate{Origin: fromRelease, Name: name, Kind: kind, Columns: []int{}, Refusal: "units are counted on the rows"}
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

// notLinear returns the candidate of a release for a question that is no linear query.
//
// The number of values follows from the counts of their records, each with an interval at
// the confidence 1 − (1−c)/n for n values. By the union bound all n hold at once with the
// confidence c. Then each value whose interval is above 0 is there, and one whose interval
// ends below 1 is not. The estimate is the number of values that are there for certain, and
// the interval goes from it to the number of those that can be.
func (db *Database) notLinear(ctx context.Context, r Request, rel *catalog.Release) (Candidate, error) {
	if r.Question != sqlfront.DistinctValues {
		return r.uncounted(rel.Name, rel.Using), nil
	}
	queries, err := r.eachValue()
	if err != nil {
		return Candidate{}, err
	}
	out := Candidate{Origin: fromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns, Known: true, Note: "values above their thresholds"}
	each := func(confidence float64) float64 { return 1 - (1-confidence)/float64(len(queries)) }
	estimates := make([]Estimate, len(queries))
	r.Settings.Accuracy, r.Settings.Margins = 0, Proven
	confidence := r.Settings.Confidence
	r.Settings.Confidence = each(confidence)
	for i, q := range queries {
		r.Query, r.Question = q, sqlfront.Weight
		c, unbuilt, err := db.rehearsed.candidate(r, Unbuilt{syntax.Release, rel.ID}, rel.Name, rel.Using, rel.Columns)
		if unbuilt {
			c.Margin, c.Known = 0, false
		} else {
			c, err = db.fromRelease(ctx, r, rel)
		}
		if err != nil || c.Refusal != "" || unbuilt {
			return c, err
		}
		answer, err := c.Answer(ctx)
		if err != nil {
			return c.failed(err)
		}
		if estimates[i] = answer.Estimate; !estimates[i].Verified {
			c.Known, c.Refusal = false, "no error bar for the values"
			return c, nil
		}
		out.support = c.support
	}
	count := func(confidence float64) (surely, perhaps int64, err error) {
		for _, e := range estimates {
			by, err := e.at(each(confidence))
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
		return out.failed(err)
	}
	out.Margin = float64(most - value)
	out.Answer = answeredBy(Estimate{Value: value, Error: post.Interval{High: out.Margin}, Verified: true,
		at: func(confidence float64) (post.Interval, error) {
			least, most, err := count(confidence)
			return post.Interval{Low: float64(least - value), High: float64(most - value)}, err
		}})
	return out, nil
}
