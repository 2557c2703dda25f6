// Package kind encodes releases, mechanisms and answers for the catalog. It has their
// parameters and payloads, the class of queries that a release built by SMW promises
// margins for, and the margins that follow from these. Everything in it is public once it
// is stored.
package kind

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/catalog"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/smw"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// ReadMechanism reads the parameters of a mechanism.
func ReadMechanism(m *catalog.Mechanism) (released.MechanismParams, error) {
	var p released.MechanismParams
	if json.Unmarshal(m.Params, &p) != nil || p.Check() != nil {
		return p, sqlerr.New(sqlerr.Corrupt, "the parameters of mechanism %s cannot be read", m.Name)
	}
	return p, nil
}

// SpentRuns reports whether the mechanism has used up its runs or its comparisons. It can
// then verify no more answers.
func SpentRuns(m *catalog.Mechanism, p smw.Params) bool {
	return m.Comparisons >= p.Queries || m.Run == nil && m.RunsStarted >= m.Updates
}

// FittedTable returns the table that a release fitted, summed over all but some of its
// columns. rest are the places of those among the release's columns, ascending. measured
// are the columns of each marginal that a release of marginals measured, by their places in
// rest; it is nil for other releases.
func FittedTable(ctx context.Context, u *query.Universe, r *catalog.Release, payload []byte, rest []int) (table []float64, measured [][]int, err error) {
	if r.Using == "marginals" && marginals.IsOnDemand(payload) {
		release, err := marginals.UnmarshalOnDemand(u, payload)
		if err != nil {
			return nil, nil, err
		}
		table, err := release.Fitted(ctx, rest)
		return table, among(release.Params().Sets, rest), err
	}
	fit, err := decodeFit(u, r, payload)
	if err != nil {
		return nil, nil, err
	}
	if fit != nil {
		if r.Using == "marginals" {
			measured = among(fit.Params().Sets, rest)
		}
		if table := fit.Fitted(rest); table != nil {
			return table, measured, nil
		}
	}
	return nil, nil, sqlerr.New(sqlerr.Invalid, "release %s has no fitted table", r.Name)
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

func decodeFit(u *query.Universe, r *catalog.Release, payload []byte) (fit *marginals.Release, err error) {
	switch r.Using {
	case "marginals":
		fit, err = marginals.Unmarshal(u, payload)
	case "projection":
		_, fit, err = released.DecodeProjection(u, payload)
	}
	return fit, err
}

// WithTexts lists the releases of a table whose heavy cells have texts of a column that has no
// domain, parts of releases of each period among them.
func WithTexts(releases []catalog.Release, t *catalog.Table, column int) (names []*catalog.Release) {
	if t.Columns[column].Domain.Finite() {
		return nil
	}
	for i := range releases {
		r := &releases[i]
		var about released.ReleaseAbout
		if r.TableID == t.ID && r.Using == "projection" && (r.Columns == nil || slices.Contains(r.Columns, column)) &&
			json.Unmarshal(r.Params, &about) == nil && about.Texts {
			names = append(names, r)
		}
	}
	return names
}

// A Texted release has the texts of its heavy cells. *projection.Release is one.
type Texted interface {
	// Texts returns those of a column of the release, or false if it has none.
	Texts(column int) (texts []query.Value, ok bool)
}

// Texts returns the texts of a column in the releases that WithTexts lists, and those of
// these that have any. A text can be there several times. load reads releases.
func Texts(releases []catalog.Release, t *catalog.Table, column int, load func([]*catalog.Release) ([]Texted, error)) (texts []query.Value, from []*catalog.Release, err error) {
	all := WithTexts(releases, t, column)
	if len(all) == 0 {
		return nil, nil, nil
	}
	loaded, err := load(all)
	if err != nil {
		return nil, nil, err
	}
	for i, r := range all {
		place := column
		if r.Columns != nil {
			place = slices.Index(r.Columns, column)
		}
		if found, ok := loaded[i].Texts(place); ok {
			texts, from = append(texts, found...), append(from, r)
		}
	}
	return texts, from, nil
}

// HasFit reports, from what is stored about a release, whether it has a fitted table.
func HasFit(r *catalog.Release) bool {
	var about released.ReleaseAbout
	ok := json.Unmarshal(r.Params, &about) == nil
	return r.Using == "marginals" && !about.Unfitted || r.Using == "projection" && ok && about.Fitted
}

// MarginKey determines a half-width: the kind of answer, its law or the stored parameters
// of its mechanism, and the confidence.
type MarginKey struct {
	Kind       catalog.AnswerKind
	Law        string
	Confidence float64
}

type MarginResult struct {
	Width float64
	Err   error
}

// factored is the law of an answer whose query was multiplied by a factor and compared.
type factored struct {
	Factor int64           `json:"factor"`
	Law    json.RawMessage `json:"law"` // law of the multiplied answer
}

// ScaledLaw returns the text that the margin of an answer follows from.
func ScaledLaw(law json.RawMessage, asked smw.Scaled) json.RawMessage {
	if asked.Factor == 1 {
		return law
	}
	return json.RawMessage(fmt.Sprintf(`{"factor":%d,"law":%s}`, asked.Factor, law))
}

func Margin(k MarginKey) MarginResult {
	if strings.HasPrefix(k.Law, `{"factor":`) {
		return factoredMargin(k)
	}
	if strings.HasPrefix(k.Law, `"`) { // a direct answer, or one that fired and was counted anew
		return lawMargin(k)
	}
	var p smw.Params
	if json.Unmarshal([]byte(k.Law), &p) != nil || p.Check() != nil {
		return MarginResult{Err: errStored()}
	}
	if k.Kind == catalog.AnswerFired {
		return MarginResult{Width: float64(p.FiredMargin(k.Confidence))}
	}
	return MarginResult{Width: float64(p.UnfiredMargin(k.Confidence))}
}

// factoredMargin returns the margin of the multiplied answer, divided by the factor.
func factoredMargin(k MarginKey) MarginResult {
	var f factored
	if json.Unmarshal([]byte(k.Law), &f) != nil || f.Factor < 1 || strings.HasPrefix(string(f.Law), `{"factor":`) {
		return MarginResult{Err: errStored()}
	}
	k.Law = string(f.Law)
	r := Margin(k)
	if r.Err == nil && r.Width < math.MaxInt64 {
		r.Width = float64(smw.Scaled{Factor: f.Factor}.Margin(int64(r.Width)))
	}
	return r
}

// lawMargin returns the half-width of noise of a known law.
func lawMargin(k MarginKey) MarginResult {
	var text string
	if err := json.Unmarshal([]byte(k.Law), &text); err != nil {
		return MarginResult{Err: errStored()}
	}
	l, err := law.Parse(text)
	if err != nil {
		return MarginResult{Err: errStored()}
	}
	return MarginResult{Width: float64(law.HalfWidth(l, k.Confidence))}
}

func errStored() error { return sqlerr.New(sqlerr.Corrupt, "a stored answer cannot be read") }
