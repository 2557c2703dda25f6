package answer

import (
	"context"
	"encoding/json"

	"dpsql/catalog"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
)

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
		return released.Uncounted(r.Question, rel.Name, rel.Using), nil
	}
	c := released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns}
	return released.Values(ctx, c, r.Query, r.column, r.Settings, func(ctx context.Context, q query.Query, s released.Settings) (released.Candidate, error) {
		r := r
		r.Query, r.Settings, r.Question = q, s, sqlfront.Weight
		return db.ofRelease(ctx, r, rel)
	})
}
