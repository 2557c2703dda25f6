package engine

import (
	"encoding/json"
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

func computeMargin(k marginKey) marginResult {
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
