package released

import (
	"context"
	"slices"

	"dpsql/query"
)

// Release is a stored release, as far as its answers depend on it.
type Release struct {
	Kind       Opener
	Name       string
	Columns    []int // of the table; nil for all
	MaxSupport uint64
	Waits      string // why it answers nothing yet; "" if it does
	Load       func(context.Context) (Answers, error)
}

// evaluatedSupport is the largest m for which planning evaluates a release, in about ten
// microseconds. Its margin is then known and not only predicted.
const evaluatedSupport = 1 << 12

// Candidate returns the way to answer a query of the table by the release. It costs nothing: a
// release is public, and was paid for when it was built. statement returns the columns of the
// table that the queries of the statement are on.
func (r Release) Candidate(ctx context.Context, q query.Query, s Settings, explaining bool, statement func() []int) (Candidate, error) {
	c := Candidate{Origin: FromRelease, Name: r.Name, Kind: r.Kind.Name(), Columns: r.Columns}
	see := r.Kind.Cover(q, r.Columns, r.MaxSupport)
	c.Support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	if c.Refusal = r.Waits; c.Refusal != "" {
		return c, nil
	}
	a, err := r.Load(ctx)
	if err != nil {
		return c.Failed(err)
	}
	see = a.Cover(see)
	c.Support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	shows := s.Margins == Simulated
	if c.Allowed(s.Mechanism) {
		asked := func() []int { return standing(statement(), r.Columns) }
		if a, see.Query, err = a.Over(ctx, see.Query, asked, shows); err != nil {
			return c.Failed(err)
		}
	}
	c.Note = a.Note()
	c.Answer = func(ctx context.Context) (Estimate, error) { return Evaluate(ctx, a, see.Query, s) }
	_, few := see.Query.SizeWithin(evaluatedSupport)
	if c.Allowed(s.Mechanism) && (few || a.Shifts() || s.Accuracy > 0) {
		var e Estimate
		e, err = Evaluate(ctx, a, see.Query, s)
		c.Margin, c.Known = e.Error.Reach(), e.Verified
		if e.Simulated != nil && (shows || explaining) { // EXPLAIN has both kinds, but simulates nothing for it
			by, _ := e.Simulated(s.Confidence)
			c.Simulated, c.Shows = by.Reach(), shows
		}
		c.Answer = AnsweredBy(e)
	} else {
		c.Margin, c.Known, err = a.Predict(see.Query, s.Confidence)
	}
	if err != nil {
		return c.Failed(err)
	}
	return c.Marked(s), nil
}

// Marked returns a candidate that says so if it has no margin, and is refused where SET unverified is off.
func (c Candidate) Marked(s Settings) Candidate {
	if c.Known {
		return c
	}
	c.Note = "no error bar for this query: unverified"
	if !s.Unverified {
		c.Refusal = "no error bar for this query, and SET unverified = off"
	}
	return c
}

// standing returns where columns of a table stand among those of a release; nil means all.
// Others it leaves out.
func standing(columns, release []int) (out []int) {
	if release == nil {
		return columns
	}
	for i, c := range release {
		if slices.Contains(columns, c) {
			out = append(out, i)
		}
	}
	return out
}
