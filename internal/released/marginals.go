package released

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/mechanisms/marginals"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
)

// Marginals opens releases of marginals.
type Marginals struct{}

func (Marginals) Name() string { return "marginals" }

func (Marginals) Open(u *query.Universe, _ string, about json.RawMessage, payload []byte) (Answers, error) {
	var shape string
	var p MarginalsAbout
	if json.Unmarshal(about, &p) == nil { // only for people
		shape = p.Shape()
	}
	if marginals.IsOnDemand(payload) {
		release, err := marginals.UnmarshalOnDemand(u, payload)
		if err != nil {
			return nil, err
		}
		return demanded{Fitted{Release: release.Exact(), Shape: shape}, release}, nil
	}
	release, err := marginals.Unmarshal(u, payload)
	return Fitted{Release: release, Shape: shape}, err
}

func (k Marginals) Describe(about json.RawMessage) Description {
	return described(k, about, func(p MarginalsAbout) Description {
		settled := ""
		if !p.Settled {
			settled = ", not settled"
		}
		brief := fmt.Sprintf("%d marginals, ", p.Marginals)
		for _, k := range p.Keys {
			brief += "keys of " + k.Column + ", "
		}
		return Description{Whole: fmt.Sprintf("%s%s, %s noise", p.Shape(), settled, p.Law), Brief: brief + p.Answers() + settled, Fitted: !p.Unfitted}
	})
}

// Cover leaves it to the opened release, which has every support over what it measured.
func (Marginals) Cover(q query.Query, columns []int, _ uint64) Coverage { return Project(q, columns) }

func (Marginals) AnswersUnfinished() bool { return false }

func (Marginals) Adds() bool { return true }

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

// among returns what sets of columns have in common with some columns, by their places
// there. No set is within another.
func among(sets [][]int, rest []int) [][]int {
	var all [][]int
	for _, set := range sets {
		var places []int
		for i, c := range rest {
			if slices.Contains(set, c) {
				places = append(places, i)
			}
		}
		all = append(all, places)
	}
	return Maximal(all)
}

// Maximal sorts sets, the larger ones first, and returns those that no other one contains, each
// once.
func Maximal(all [][]int) [][]int {
	slices.SortFunc(all, func(a, b []int) int { return cmp.Or(len(b)-len(a), slices.Compare(a, b)) })
	kept := [][]int{}
	for _, set := range all {
		if !slices.ContainsFunc(kept, func(of []int) bool { return within(set, of) }) {
			kept = append(kept, set)
		}
	}
	return kept
}

// within reports whether all of a set are in another.
func within(set, of []int) bool {
	return !slices.ContainsFunc(set, func(c int) bool { return !slices.Contains(of, c) })
}

// Fitted adapts a release of marginals. It has an interval for the queries on the columns
// of a measured marginal. These queries have a simulated margin, too. Other queries have
// none: a simulation knows no more of them than the fit does.
type Fitted struct {
	plain
	*marginals.Release
	Shape  string
	proven bool // simulated margins are not asked for
}

func (f Fitted) Shifts() bool { return true }

func (f Fitted) Cover(see Coverage) Coverage { return see.Over(f.Universe()) }

func (f Fitted) Over(_ context.Context, q query.Query, _ func() []int, _ bool) (Answers, query.Query, error) {
	return f, q, nil
}

func (f Fitted) Measured() [][]int { return f.Params().Sets }

func (f Fitted) Table(_ context.Context, rest []int) ([]float64, [][]int, error) {
	return f.Fitted(rest), among(f.Params().Sets, rest), nil
}

// noisy is what was measured.
func (f Fitted) noisy() *marginals.Release { return f.Release }

func (f Fitted) Add(ctx context.Context, all []Answers, queries []query.Query, confidence float64) (Estimate, error) {
	measured := make([]*marginals.Release, len(all))
	for i, a := range all {
		part, ok := a.(interface{ noisy() *marginals.Release })
		if !ok {
			return Estimate{}, errKinds()
		}
		measured[i] = part.noisy()
	}
	a, err := marginals.Sum(ctx, measured, queries, confidence)
	return estimated(a), err
}

func (f Fitted) Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := f.Answer(ctx, q, confidence)
	e := estimated(a)
	if a.Verified && err == nil && !f.proven && f.Simulates() {
		e.Simulated = simulatedBy(f.Release, q, func(confidence float64) (Estimate, error) { return f.Evaluate(ctx, q, confidence) })
	}
	return e, err
}

func (f Fitted) unbiased(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := f.Unbiased(ctx, q, confidence)
	return estimated(a), err
}

func estimated(a marginals.Answer) Estimate {
	value := float64(a.Value)
	return Estimate{Value: a.Value, Error: post.Interval{Low: a.Low - value, High: a.High - value}, Verified: a.Verified}
}

func (f Fitted) Note() string { return f.Shape }

func (f Fitted) Predict(q query.Query, confidence float64) (float64, bool, error) {
	m, ok, err := f.Release.Predict(q, confidence)
	return math.Floor(m), ok, err
}

// demanded adapts a release of marginals that is fitted on demand. As it is, it has the
// unbiased estimate of the queries on the columns of a measured marginal.
type demanded struct {
	Fitted
	fits *marginals.OnDemand
}

// Shifts: a fit does, see Over.
func (d demanded) Shifts() bool { return false }

// Over fits a table for the question, or takes a fit that was made for another. Only where margins
// are simulated the answers have simulated ones.
func (d demanded) Over(ctx context.Context, q query.Query, statement func() []int, simulated bool) (Answers, query.Query, error) {
	r, columns, err := d.fits.Over(ctx, q.Columns(), statement(), simulated)
	if err != nil || columns == nil {
		f := d.Fitted
		f.proven = !simulated
		return f, q, err
	}
	q, ok := q.Project(columns)
	if !ok {
		return nil, q, sqlerr.New(sqlerr.Internal, "a fit lacks a column of the query")
	}
	names := make([]string, len(columns))
	for i, c := range r.Universe().Columns() {
		names[i] = c.Name
	}
	return Fitted{Release: r, Shape: d.Shape + " over " + strings.Join(names, ", "), proven: !simulated}, q, nil
}

func (d demanded) Table(ctx context.Context, rest []int) ([]float64, [][]int, error) {
	table, err := d.fits.Fitted(ctx, rest)
	return table, among(d.fits.Params().Sets, rest), err
}
