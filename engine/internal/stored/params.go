// Package stored encodes releases, mechanisms and answers for the catalog. It has their
// parameters and payloads, the class of queries that a release built by SMW promises
// margins for, and the margins that follow from these. Everything in it is public once it
// is stored.
package stored

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/catalog"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// The priors of mechanisms.
const (
	PriorOfClasses = "classes"
	PriorOfRelease = "release" // the table that a release fitted
	UniformPrior   = "uniform"
)

// MechanismParams are the parameters of a mechanism in the catalog.
type MechanismParams struct {
	smw.Params
	Prior  string `json:"prior"`            // classes, release or uniform
	Guards string `json:"guards,omitempty"` // the name of the release, as it was when the mechanism was created
}

// PriorText says for people what the mechanism starts from.
func (p MechanismParams) PriorText() string {
	if p.Prior == PriorOfRelease {
		return p.Prior + " " + p.Guards
	}
	return p.Prior
}

// ReadMechanism reads the parameters of a mechanism.
func ReadMechanism(m *catalog.Mechanism) (MechanismParams, error) {
	var p MechanismParams
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

// DecodePrior returns the prior in a mechanism's state, or nil for the uniform prior.
func DecodePrior(u *query.Universe, prior string, state []byte) (smw.Prior, error) {
	switch prior {
	case PriorOfClasses:
		return smw.DecodeClasses(u, state)
	case PriorOfRelease:
		return smw.DecodeFitted(u, state)
	case UniformPrior, "": // "" is from files written before there was a choice
		return nil, nil
	}
	return nil, sqlerr.New(sqlerr.Corrupt, "a stored prior is of no known kind")
}

// ReleaseAbout describes a release in the catalog, for people. Chooses also says how it answers.
type ReleaseAbout struct {
	Transform string `json:"transform"`
	Rows      uint64 `json:"rows"`
	Law       string `json:"law"`
	Sampler   string `json:"sampler"`
	Heavy     string `json:"heavy,omitempty"`
	Clip      int64  `json:"clip,omitempty"`
	Threshold int64  `json:"threshold,omitempty"`
	Published int    `json:"published,omitempty"` // heavy cells that the release names
	Texts     bool   `json:"texts,omitempty"`     // with their texts
	Fitted    bool   `json:"fitted,omitempty"`    // a table was fitted to the cells
	Unfitted  bool   `json:"unfitted,omitempty"`  // a table is yet to be fitted to them
	Chooses   bool   `json:"chooses,omitempty"`   // the table answers only where it is predicted to err less than the cells
}

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

// Shape summarises the choices made for a release.
func (p ReleaseAbout) Shape() string {
	text := fmt.Sprintf("%s, %d rows", p.Transform, p.Rows) + p.Answers()
	switch projection.Form(p.Heavy) {
	case projection.Clipped:
		text += fmt.Sprintf(", %d heavy cells published above clip %d", p.Published, p.Clip)
	case projection.Named:
		text += fmt.Sprintf(", %d heavy cells named", p.Published)
	}
	return text
}

// Answers says what answers queries besides the cells. It is "", or begins with a comma.
func (p ReleaseAbout) Answers() (text string) {
	switch {
	case p.Fitted && p.Chooses:
		text = ", fitted where better"
	case p.Fitted:
		text = ", fitted"
	}
	if p.Unfitted {
		text += ", not fitted yet"
	}
	return text
}

// fitMagic begins a payload that joins an identity release and a fit to its cells: the
// magic, the length of the release in 64 bits, little-endian, the release, and the fit. Both
// have checksums of their own.
const fitMagic = "dpsqlfit"

// JoinFit joins the payload of an identity release and a fit to its cells.
func JoinFit(release []byte, fit *marginals.Release) ([]byte, error) {
	fitted, err := fit.MarshalBinary()
	if err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint64([]byte(fitMagic), uint64(len(release)))
	return append(append(out, release...), fitted...), nil
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
		_, fit, err = DecodeProjection(u, payload)
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
		var about ReleaseAbout
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
	var about ReleaseAbout
	ok := json.Unmarshal(r.Params, &about) == nil
	return r.Using == "marginals" && !about.Unfitted || r.Using == "projection" && ok && about.Fitted
}

// DecodeProjection reads a projection release, and the fit to its cells if there is one.
func DecodeProjection(u *query.Universe, payload []byte) (*projection.Release, *marginals.Release, error) {
	rest, joined := bytes.CutPrefix(payload, []byte(fitMagic))
	if !joined {
		release, err := projection.Unmarshal(u, payload)
		return release, nil, err
	}
	if len(rest) < 8 || binary.LittleEndian.Uint64(rest) > uint64(len(rest)-8) {
		return nil, nil, sqlerr.New(sqlerr.Corrupt, "a stored release is damaged: it is cut short")
	}
	length := binary.LittleEndian.Uint64(rest)
	release, err := projection.Unmarshal(u, rest[8:8+length])
	if err != nil {
		return nil, nil, err
	}
	fit, err := marginals.Unmarshal(u, rest[8+length:])
	return release, fit, err
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
	law, err := noise.ParseLaw(text)
	if err != nil {
		return MarginResult{Err: errStored()}
	}
	return MarginResult{Width: float64(noise.HalfWidth(law, k.Confidence))}
}

func errStored() error { return sqlerr.New(sqlerr.Corrupt, "a stored answer cannot be read") }
