package kind

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/catalog"
	"dpsql/internal/released"
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
