package stored

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

// MarginKey names a half-width: of an answer of a kind, under a law or the
// parameters of a mechanism as they are stored, at a confidence.
type MarginKey struct {
	Kind       catalog.AnswerKind
	Law        string
	Confidence float64
}

type MarginResult struct {
	Width float64
	Err   error
}

// factored is the law of an answer whose query was compared several times over.
type factored struct {
	Factor int64           `json:"factor"`
	Law    json.RawMessage `json:"law"` // of what was compared
}

// ScaledLaw returns what the margin of an answer follows from.
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
	if strings.HasPrefix(k.Law, `"`) { // of a direct answer, or one that fired and was counted anew
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

// factoredMargin is that of what was compared, divided.
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

// lawMargin is the half-width of noise of a known law.
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
