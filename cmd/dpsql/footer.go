package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dpsql/engine"
)

// footer is the line under a private answer: how far off it may be, where it
// came from, what it cost and, where that is told, how long it took.
func footer(a *engine.Answer, elapsed time.Duration) string {
	parts := []string{errorBar(a), origin(a), "cost " + cost(a.Cost)}
	if elapsed > 0 {
		parts = append(parts, duration(elapsed))
	}
	return strings.Join(parts, " · ")
}

// errorBar states the margin, or the range of margins of an answer of several
// numbers.
func errorBar(a *engine.Answer) string {
	low, high, known := marginRange(a.Margins)
	if a.Mechanism == "constant" {
		return "exact"
	}
	var text string
	switch {
	case !known && a.Verified:
		return "no error bar"
	case !known:
		return "unverified: no error bar"
	case low == high:
		text = fmt.Sprintf("± %s at %s", roundUp(low), percent(a.Confidence))
	default:
		text = fmt.Sprintf("± %s to %s at %s", roundUp(low), roundUp(high), percent(a.Confidence))
	}
	if !a.Verified {
		text += ", some unverified: no error bar"
	}
	return text
}

// marginRange returns the smallest and the largest margin, if there is any.
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

// roundUp returns a margin to three digits, all of its integer part among
// them, never less than it is.
func roundUp(x float64) string {
	unit := 1.0
	for y := math.Abs(x); y < 100 && unit < 100; y *= 10 {
		unit *= 10
	}
	const fuzz = 1e-9 // of binary fractions
	return number(math.Ceil(max(0, x*unit-fuzz)) / unit)
}

// percent returns a confidence as people say it, without the digits that
// binary fractions add.
func percent(confidence float64) string {
	return strconv.FormatFloat(100*confidence, 'g', 12, 64) + " %"
}

func origin(a *engine.Answer) string {
	m := a.Support
	if m == "infinite" {
		m = "∞"
	}
	if strings.Contains(a.Mechanism, ", ") {
		return fmt.Sprintf("%s (%s, m = %s)", visibleText(a.Via), a.Mechanism, m)
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
		return fmt.Sprintf("mechanism %s (smw, m = %s)", visibleText(a.Via), m)
	}
	return fmt.Sprintf("release %s (%s, m = %s)", visibleText(a.Via), a.Mechanism, m)
}

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

// duration returns a running time to about two digits.
func duration(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 0.05:
		return "< 0.1 ms"
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 59_950:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return d.Round(time.Second).String()
}
