// Package render writes what people and programs read: results as tables, CSV,
// JSON and Markdown, the line below an answer, errors, and drawings. It gets
// results that are already public and knows nothing of privacy but what a
// margin is.
package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// CellText returns a value as CSV holds it. NULL is the empty text.
func CellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return Number(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// Visible returns a value for a terminal or a document. It is CellText with
// control characters spelled out, because they could break a frame or command
// the terminal.
func Visible(v any) string {
	s := CellText(v)
	if strings.IndexFunc(s, isHidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !isHidden(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// VisibleLines returns a text with Visible applied to each of its lines.
func VisibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Visible(line)
	}
	return strings.Join(lines, "\n")
}

// isHidden reports whether a character is spelled out: a control character, or
// a mark that reorders the text around it.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Number returns the shortest decimal that reads back as x. It has an exponent
// only where the digits would be mostly zeros.
func Number(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strings.Replace(strconv.FormatFloat(x, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// Plural returns a count with its noun: "1 row", "2 rows".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Duration returns a running time to about two digits.
func Duration(d time.Duration) string {
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

// percent returns a confidence in percent, without the digits that binary
// fractions add.
func percent(confidence float64) string {
	return strconv.FormatFloat(100*confidence, 'g', 12, 64) + " %"
}

// roundUp returns a margin to three digits or to its integer part, whichever is
// longer. It never returns less than the margin.
func roundUp(x float64) string {
	unit := 1.0
	for y := math.Abs(x); y < 100 && unit < 100; y *= 10 {
		unit *= 10
	}
	const fuzz = 1e-9 // of binary fractions
	return Number(math.Ceil(max(0, x*unit-fuzz)) / unit)
}
