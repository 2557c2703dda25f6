package render

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"dpsql/engine"
)

// Footer returns the line below the rows of a private answer: its margin, the rows it is about if
// not all, its origin and its cost. The line ends with elapsed unless that is 0.
func Footer(r *engine.Result, elapsed time.Duration) string {
	a := r.Answer
	parts := []string{margin(a, r.Rows)}
	if a.Kept.Unit != "" && a.Mechanism != "constant" {
		parts = append(parts, fmt.Sprintf("of kept rows, at most %d a %s", a.Kept.MaxRows, Visible(a.Kept.Unit)))
	}
	parts = append(parts, origin(a), "cost "+cost(a.Cost))
	if elapsed > 0 {
		parts = append(parts, Duration(elapsed))
	}
	return strings.Join(parts, " · ")
}

// margin states the margin of an answer, its interval if that is uneven, or the range of
// its margins.
func margin(a *engine.Answer, rows [][]any) string {
	m := marginsOf(a, rows)
	var text string
	switch {
	case a.Mechanism == "constant":
		return "exact"
	case m.known == 0:
		return cmp.Or(unverified(a), "no error bar")
	case m.known == 1 && m.uneven:
		text = m.amount
	case m.low == m.high:
		text = "± " + roundUp(m.low)
	default:
		text = fmt.Sprintf("± %s to %s", roundUp(m.low), roundUp(m.high))
	}
	text += " at " + percent(a.Confidence)
	if m.known > 1 && m.uneven {
		text += ", uneven"
	}
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
	case marginsOf(a, nil).known == 0:
		return "unverified: no error bar"
	}
	return "some unverified: no error bar"
}

// margins are the smallest and the largest margin of an answer, and the number of those
// that are known.
type margins struct {
	low, high float64
	known     int
	uneven    bool   // for some interval
	amount    string // the last value with its interval
}

// marginsOf collects margins. It needs the rows to compare the values with their intervals.
func marginsOf(a *engine.Answer, rows [][]any) margins {
	m := margins{low: math.Inf(1), high: math.Inf(-1)}
	for i, row := range a.Margins {
		for j, v := range row {
			x, ok := v.(float64)
			if !ok {
				continue
			}
			m.low, m.high = min(m.low, x), max(m.high, x)
			m.known++
			if rows == nil {
				continue
			}
			value, _ := asFloat(rows[i][j])
			if ends, ok := a.Intervals[i][j].(engine.Interval); ok && !even(value, ends, x) {
				m.uneven, m.amount = true, amount(value, ends, x)
			}
		}
	}
	return m
}

// even reports whether a value is the middle of its interval, rounding aside.
func even(value float64, i engine.Interval, margin float64) bool {
	return math.Abs(i.Low/2+i.High/2-value) <= 1e-9*(margin+math.Abs(value))
}

// amount returns a value with its margin, or with its interval if that is uneven. The ends
// are rounded as the margin is, and outwards.
func amount(value float64, i engine.Interval, margin float64) string {
	text := Number(math.Round(value*1000) / 1000)
	if even(value, i, margin) {
		return text + " ± " + roundUp(margin)
	}
	unit := digits(margin)
	return fmt.Sprintf("%s (%s … %s)", text, Number(math.Floor(i.Low*unit+fuzz)/unit+0), Number(math.Ceil(i.High*unit-fuzz)/unit+0))
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
		if marginsOf(a, nil).known == 0 {
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
