// Package kind has the kinds of releases: how each is planned, built and gone on with. A kind is a mechanism,
// a file and a line of kinds; nothing else asks which kind a release is. It also has the form in
// which mechanisms and answers are kept.
package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/smw"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// A Kind is a way to make a release.
type Kind interface {
	released.Opener
	// Plan plans a release from public data alone. What it does not know, it says: see Outline.Open.
	Plan(ctx context.Context, r Request) (Plan, error)
}

// kinds are all kinds.
var kinds = []Kind{projections{}, marginalTables{}, hypotheses{}}

// Of returns the kind of a name. A name that is not known is damage, which shows when the first kind does
// not read the payload.
func Of(name string) Kind {
	for _, k := range kinds {
		if k.Name() == name {
			return k
		}
	}
	return kinds[0]
}

// Choose returns the algorithm of a release whose statement names none: fitted marginals for more cells
// of three columns and more than a table is fitted to cell by cell, else a projection, which chooses its
// transform. It goes by declared sizes, and where they are not known by none.
func Choose(t *view.Table, columns []int) syntax.Algorithm {
	u := t.Over(columns)
	if t.Unclear(columns) == "" && len(columns) >= leastFittedColumns && u.WideCoded() && u.Size().Cmp(big.NewInt(mostFitted)) > 0 {
		return syntax.Marginals
	}
	return syntax.Projection
}

// Request is a CREATE RELEASE or CREATE MECHANISM whose names are resolved.
type Request struct {
	Options []syntax.Option
	View    *view.View
	Table   *view.Table
	Columns []int  // of the table; nil for all
	Built   string // identifies what is built, however the statement is spaced
	Public  Public
	Waits   func(context.Context) (accounting.Delta, error) // of an interrupted statement's charge; nil for none
	Begun   *Begun                                          // what the statement goes on with; nil for nothing
}

// outline returns the outline of what is asked for.
func (r Request) outline() Outline { return Outline{Table: r.Table, Columns: r.Columns} }

// Public looks up what is public and not in the view.
type Public interface {
	// Payload returns the bytes of a release. In a rehearsal they are nil for one that the script creates.
	Payload(ctx context.Context, r *catalog.Release) ([]byte, error)
	// Workload reads the queries from a file of SELECT statements on the table. cover projects each to
	// the columns, or says why it is refused.
	Workload(ctx context.Context, file string, t *view.Table, cover func(query.Query) released.Coverage) ([]query.Query, error)
}

// Begun is a release that is paid for and stored unfinished.
type Begun struct {
	*catalog.Release
	Payload []byte
}

// Forecast is a release or mechanism before anything is bought for it. EXPLAIN CREATE, ADVISE and rehearsals
// print it.
type Forecast interface {
	Outlined() *Outline
	// Cover covers a query over the table by what would be built.
	Cover(q query.Query) released.Coverage
	// Over covers a query over the columns, whatever its size: that is for Predict to judge.
	Over(see released.Coverage) released.Coverage
	// Predict foretells the margin of an answer to a query that Over has covered.
	Predict(q query.Query, confidence float64) (Prediction, error)
	// Examples returns a universe and columns of it: people ask for cells of these. u is nil if no
	// margin can be foretold. of names the columns, unless they are all.
	Examples() (u *query.Universe, columns []int, of string)
}

// Plan is a release before anything is bought for it, and what builds it.
type Plan interface {
	Forecast
	// Given returns the plan for a known number of rows.
	Given(n catalog.NHat) (Plan, error)
	// Build pays for the release, reads, draws and stores it. Where the number of rows is not known it
	// buys that first.
	Build(ctx context.Context, s *Site, name string) (warnings []string, err error)
	// GoOn finishes what has begun, at no cost. same is false if another statement began it.
	GoOn(ctx context.Context, s *Site, begun *Begun) (warnings []string, same bool, err error)
}

// Outline is what is told of a plan. While something is open its cost is an upper bound.
type Outline struct {
	Table      *view.Table
	Columns    []int // nil means all
	Cost       accounting.Amount
	MaxSupport uint64
	Size       string // what is stored, for people
	Outlook    string // the errors that are predicted
	Open       string // what depends on an unknown; "" if nothing does
	Unclear    string // why it is not known which queries are covered; "" if it is
	About      any    // what would be stored about it, as far as it is known
	Averages   bool   // the margins of sums and counts tell those of averages
}

// Outlined returns the outline, for plans that embed it.
func (o *Outline) Outlined() *Outline { return o }

// Cover covers a query by columns and max_support.
func (o *Outline) Cover(q query.Query) released.Coverage {
	return released.Cover(q, o.Columns, o.MaxSupport)
}

// Over covers any query over the columns.
func (o *Outline) Over(see released.Coverage) released.Coverage { return see }

// Examples are none.
func (o *Outline) Examples() (u *query.Universe, columns []int, of string) { return nil, nil, "" }

// Release returns a release of a kind as it is first stored.
func (o *Outline) Release(name, using string) *catalog.Release {
	return &catalog.Release{Name: name, TableID: o.Table.ID, Span: o.Table.Part, Columns: o.Columns, Using: using,
		Epsilon: o.Cost.Epsilon, Delta: o.Cost.Delta, MaxSupport: o.MaxSupport}
}

// Prediction is what is known of the margin of an answer before anything is built. Answers of a fitted table
// have it around the unbiased answer.
type Prediction struct {
	Margin float64 // in counts
	Known  bool    // the answer has this margin
	About  bool    // it has about this margin
	Note   string  // why it is not known, or what else is
}

// noteBuilt is the note of margins that nothing foretells.
const noteBuilt = "known when it is built"

// createRelease is the action of the ledger's line of a release.
const createRelease = "create release"

// tooLarge refuses a query above max_support.
func (o *Outline) tooLarge(q query.Query) (Prediction, bool) {
	if _, ok := q.SizeWithin(o.MaxSupport); ok {
		return Prediction{}, false
	}
	return Prediction{Note: fmt.Sprintf("refused: m is above max_support = %d", o.MaxSupport)}, true
}

// everyColumn lists the columns of a universe.
func everyColumn(u *query.Universe) []int {
	columns := make([]int, len(u.Columns()))
	for i := range columns {
		columns[i] = i
	}
	return columns
}

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

// WithTexts lists the releases of a table whose heavy cells have texts of a column that has no
// domain, parts of releases of each period among them.
func WithTexts(releases []catalog.Release, t *catalog.Table, column int) (names []*catalog.Release) {
	if t.Columns[column].Domain.Finite() {
		return nil
	}
	for i := range releases {
		r := &releases[i]
		if r.TableID == t.ID && (r.Columns == nil || slices.Contains(r.Columns, column)) && Of(r.Using).Describe(r.Params).Texts {
			names = append(names, r)
		}
	}
	return names
}

// Texts returns the texts of a column in the releases that WithTexts lists, and those of
// these that have any. A text can be there several times. load reads releases.
func Texts(releases []catalog.Release, t *catalog.Table, column int, load func([]*catalog.Release) ([]released.Answers, error)) (texts []query.Value, from []*catalog.Release, err error) {
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
