package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"dpsql/engine"
)

// Footer returns the line below the rows of a private answer: its confidence, the rows it is about
// if not all, its origin and its cost. The line ends with elapsed unless that is 0.
func Footer(r *engine.Result, elapsed time.Duration) string {
	a := r.Answer
	parts := []string{margin(a)}
	if len(a.Kept) > 0 && a.Mechanism != "constant" {
		parts = append(parts, "of kept rows, at most "+kept(a.Kept))
	}
	parts = append(parts, origin(a))
	if !a.AsOf.IsZero() {
		parts = append(parts, "as of "+a.AsOf.UTC().Format("2006-01-02 15:04"))
	}
	parts = append(parts, "cost "+a.Cost.String())
	if elapsed > 0 {
		parts = append(parts, Duration(elapsed))
	}
	return strings.Join(parts, " · ")
}

// kept says how many rows of each unit are kept. Several tables are named.
func kept(all []engine.Kept) string {
	texts := make([]string, len(all))
	for i, k := range all {
		texts[i] = fmt.Sprintf("%d a %s", k.MaxRows, Visible(k.Unit))
		if k.Period != "" {
			texts[i] += " and " + Visible(k.Period)
		}
		if len(all) > 1 {
			texts[i] += " of " + Visible(k.Table)
		}
	}
	return strings.Join(texts, ", ")
}

// margin says at which confidence the margins hold that stand beside the values of an
// answer, or that there are none.
func margin(a *engine.Answer) string {
	switch {
	case a.Mechanism == "constant":
		return "exact"
	case known(a) == 0:
		return cmp.Or(unverified(a), unknown(a), "no error bar")
	}
	text := "± at " + percent(a.Confidence)
	for _, mark := range marks(a) {
		text += ", " + mark
	}
	return text
}

// marks are the notes as a footer and a legend have them, behind the margins.
func marks(a *engine.Answer) []string { return notes(a, "simulated") }

// origin names the release or mechanism that answered.
func origin(a *engine.Answer) string {
	m := a.Support
	if m == "infinite" {
		m = "∞"
	}
	if strings.Contains(a.Mechanism, ", ") {
		return fmt.Sprintf("%s (%s, m = %s)", Visible(a.Via), a.Mechanism, m)
	}
	switch a.Mechanism {
	case "direct":
		return "direct"
	case "constant":
		if known(a) == 0 {
			return "public values only"
		}
		return "constant: no row can match"
	case "smw":
		if a.Released {
			break
		}
		return fmt.Sprintf("mechanism %s (smw, m = %s)", Visible(a.Via), m)
	}
	return fmt.Sprintf("release %s (%s, m = %s)", Visible(a.Via), a.Mechanism, m)
}
