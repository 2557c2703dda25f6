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
	if a.Kept.Unit != "" && a.Mechanism != "constant" {
		parts = append(parts, fmt.Sprintf("of kept rows, at most %d a %s", a.Kept.MaxRows, Visible(a.Kept.Unit)))
	}
	parts = append(parts, origin(a), "cost "+cost(a.Cost))
	if elapsed > 0 {
		parts = append(parts, Duration(elapsed))
	}
	return strings.Join(parts, " · ")
}

// margin says at which confidence the margins hold that stand beside the values of an
// answer, or that there are none.
func margin(a *engine.Answer) string {
	switch {
	case a.Mechanism == "constant":
		return "exact"
	case known(a) == 0:
		return cmp.Or(unverified(a), "no error bar")
	}
	text := "± at " + percent(a.Confidence)
	for _, mark := range marks(a) {
		text += ", " + mark
	}
	return text
}

// Notes says what the margins of an answer are not: proven, or there at all. It stands
// beside formats that show no margins.
func Notes(a *engine.Answer) []string { return notes(a, "the margins are simulated") }

// marks are the notes as a footer and a legend have them, behind the margins.
func marks(a *engine.Answer) []string { return notes(a, "simulated") }

func notes(a *engine.Answer, simulated string) (all []string) {
	if a.Simulated {
		all = append(all, simulated)
	}
	if text := unverified(a); text != "" {
		all = append(all, text)
	}
	return all
}

// unverified says that answers have no margin, if some have none.
func unverified(a *engine.Answer) string {
	switch {
	case a.Verified:
		return ""
	case known(a) == 0:
		return "unverified: no error bar"
	}
	return "some unverified: no error bar"
}

// known returns the number of margins.
func known(a *engine.Answer) (n int) {
	for _, row := range a.Margins {
		for _, v := range row {
			if _, ok := v.(float64); ok {
				n++
			}
		}
	}
	return n
}

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

// cost states what an answer was charged.
func cost(c engine.Cost) string {
	var parts []string
	if c.Epsilon != 0 {
		parts = append(parts, fmt.Sprintf("ε %.2g", c.Epsilon))
	}
	if c.Rho != 0 {
		parts = append(parts, fmt.Sprintf("ρ %.2g", c.Rho))
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, " and ")
}
