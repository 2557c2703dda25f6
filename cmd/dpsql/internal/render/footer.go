package render

import (
	"fmt"
	"math"
	"strings"
	"time"

	"dpsql/engine"
)

// Footer returns the line below a private answer: its margin, the rows it is about if
// not all, its origin and its cost. The line ends with elapsed unless that is 0.
func Footer(a *engine.Answer, elapsed time.Duration) string {
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

// margin states the margin of an answer, or the range of its margins.
func margin(a *engine.Answer) string {
	low, high, known := marginRange(a.Margins)
	var text string
	switch {
	case a.Mechanism == "constant":
		return "exact"
	case !known && a.Verified:
		return "no error bar"
	case !known:
		return "unverified: no error bar"
	case low == high:
		text = fmt.Sprintf("± %s at %s", roundUp(low), percent(a.Confidence))
	default:
		text = fmt.Sprintf("± %s to %s at %s", roundUp(low), roundUp(high), percent(a.Confidence))
	}
	if a.Simulated {
		text += ", simulated"
	}
	if !a.Verified {
		text += ", some unverified: no error bar"
	}
	return text
}

// marginRange returns the smallest and the largest margin, if any is known.
func marginRange(margins [][]any) (low, high float64, known bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range margins {
		for _, v := range row {
			if x, ok := v.(float64); ok {
				low, high, known = min(low, x), max(high, x), true
			}
		}
	}
	return low, high, known
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
		if _, _, known := marginRange(a.Margins); !known {
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
