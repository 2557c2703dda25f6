package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"dpsql/catalog"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// marginKey names a half-width: of an answer of a kind, under a law or the
// parameters of a mechanism as they are stored, at a confidence.
type marginKey struct {
	kind       catalog.AnswerKind
	law        string
	confidence float64
}

// margin returns the half-width, in counts, of an answer that follows from its
// public parameters alone.
func (db *DB) margin(kind catalog.AnswerKind, law json.RawMessage, confidence float64) (float64, error) {
	key := marginKey{kind, string(law), confidence}
	r := db.margins.get(key, func() marginResult { return computeMargin(key) })
	return r.width, r.err
}

// estimate returns an answer with its margin at the confidence it was asked at.
func (db *DB) estimate(a catalog.Answer, margin float64) estimate {
	return estimate{value: a.Estimate, margin: margin, verified: true,
		at: func(confidence float64) (float64, error) { return db.margin(a.Kind, a.Law, confidence) }}
}

type marginResult struct {
	width float64
	err   error
}

// factored is the law of an answer whose query was compared several times over.
type factored struct {
	Factor int64           `json:"factor"`
	Law    json.RawMessage `json:"law"` // of what was compared
}

// scaledLaw returns what the margin of an answer follows from.
func scaledLaw(law json.RawMessage, asked smw.Scaled) json.RawMessage {
	if asked.Factor == 1 {
		return law
	}
	return json.RawMessage(fmt.Sprintf(`{"factor":%d,"law":%s}`, asked.Factor, law))
}

func computeMargin(k marginKey) marginResult {
	if strings.HasPrefix(k.law, `{"factor":`) {
		return factoredMargin(k)
	}
	if strings.HasPrefix(k.law, `"`) { // of a direct answer, or one that fired and was counted anew
		return lawMargin(k)
	}
	var p smw.Params
	if json.Unmarshal([]byte(k.law), &p) != nil || p.Check() != nil {
		return marginResult{err: errStored()}
	}
	if k.kind == catalog.AnswerFired {
		return marginResult{width: float64(p.FiredMargin(k.confidence))}
	}
	return marginResult{width: float64(p.UnfiredMargin(k.confidence))}
}

// factoredMargin is that of what was compared, divided.
func factoredMargin(k marginKey) marginResult {
	var f factored
	if json.Unmarshal([]byte(k.law), &f) != nil || f.Factor < 1 || strings.HasPrefix(string(f.Law), `{"factor":`) {
		return marginResult{err: errStored()}
	}
	k.law = string(f.Law)
	r := computeMargin(k)
	if r.err == nil && r.width < math.MaxInt64 {
		r.width = float64(smw.Scaled{Factor: f.Factor}.Margin(int64(r.width)))
	}
	return r
}

// lawMargin is the half-width of noise of a known law.
func lawMargin(k marginKey) marginResult {
	var text string
	if err := json.Unmarshal([]byte(k.law), &text); err != nil {
		return marginResult{err: errStored()}
	}
	law, err := noise.ParseLaw(text)
	if err != nil {
		return marginResult{err: errStored()}
	}
	return marginResult{width: float64(noise.HalfWidth(law, k.confidence))}
}

func errStored() error { return sqlerr.New(sqlerr.Corrupt, "a stored answer cannot be read") }
