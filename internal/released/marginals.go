package released

import (
	"context"
	"fmt"
	"math"
	"strings"

	"dpsql/mechanisms/marginals"
	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
)

// MarginalsAbout describes a release of marginals in the catalog, for people.
type MarginalsAbout struct {
	Marginals int    `json:"marginals"` // the number measured
	Cells     int    `json:"cells"`     // over all marginals
	Law       string `json:"law"`
	Estimate  string `json:"estimate"`            // fitted or unbiased
	Settled   bool   `json:"settled"`             // the fit ended near its optimum
	Unfitted  bool   `json:"unfitted,omitempty"`  // the table is yet to be fitted
	OnDemand  bool   `json:"on_demand,omitempty"` // no table is stored: one is fitted for each question
	Larger    int    `json:"larger,omitempty"`    // marginals above max_cells, whose parts were measured

	Keys []PublishedKeys `json:"keys,omitempty"` // of the columns that were declared without domain
}

// PublishedKeys describes the keys of a column.
type PublishedKeys struct {
	Column  string `json:"column"`
	Release string `json:"release"` // that published them, by its name when they were taken
	Count   int    `json:"count"`
}

// Shape summarises what was measured.
func (p MarginalsAbout) Shape() string {
	text := fmt.Sprintf("%d marginals of %d cells, ", p.Marginals, p.Cells)
	if p.Larger > 0 {
		text += fmt.Sprintf("%d larger ones by their parts, ", p.Larger)
	}
	for _, k := range p.Keys {
		text += fmt.Sprintf("%d keys of %s from %s, ", k.Count, k.Column, k.Release)
	}
	return text + p.Answers()
}

// Answers says what answers queries.
func (p MarginalsAbout) Answers() string {
	switch {
	case p.Unfitted:
		return "not fitted yet"
	case p.OnDemand:
		return p.Estimate + ", tables on demand"
	}
	return p.Estimate
}

// Fitted adapts a release of marginals. It has an interval for the queries on the columns
// of a measured marginal. These queries have a simulated margin, too. Other queries have
// none: a simulation knows no more of them than the fit does.
type Fitted struct {
	*marginals.Release
	Shape string
}

func (f Fitted) Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := f.Answer(ctx, q, confidence)
	e := Estimated(a)
	if a.Verified && err == nil && f.Simulates() {
		e.Simulated = simulatedBy(f.Release, q, func(confidence float64) (Estimate, error) { return f.Evaluate(ctx, q, confidence) })
	}
	return e, err
}

func (f Fitted) unbiased(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := f.Unbiased(ctx, q, confidence)
	return Estimated(a), err
}

func Estimated(a marginals.Answer) Estimate {
	value := float64(a.Value)
	return Estimate{Value: a.Value, Error: post.Interval{Low: a.Low - value, High: a.High - value}, Verified: a.Verified}
}

func (f Fitted) Note() string { return f.Shape }

func (f Fitted) Predict(q query.Query, confidence float64) (float64, bool, error) {
	m, ok, err := f.Release.Predict(q, confidence)
	return math.Floor(m), ok, err
}

// Demanded adapts a release of marginals that is fitted on demand. As it is, it has the
// unbiased estimate of the queries on the columns of a measured marginal.
type Demanded struct {
	Fitted
	fits *marginals.OnDemand
}

// Over returns what answers q, a query of the release, in a statement that asks about the
// given columns of the release, and the query that it answers.
func (d Demanded) Over(ctx context.Context, q query.Query, statement []int, simulated bool) (Fitted, query.Query, error) {
	r, columns, err := d.fits.Over(ctx, q.Columns(), statement, simulated)
	if err != nil || columns == nil {
		return d.Fitted, q, err
	}
	q, ok := q.Project(columns)
	if !ok {
		return Fitted{}, q, sqlerr.New(sqlerr.Internal, "a fit lacks a column of the query")
	}
	names := make([]string, len(columns))
	for i, c := range r.Universe().Columns() {
		names[i] = c.Name
	}
	return Fitted{r, d.Shape + " over " + strings.Join(names, ", ")}, q, nil
}
