package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"dpsql/engine"
)

// cellText returns a value as csv writes it; NULL is the empty text.
func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return number(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// visibleText returns a value for a terminal or a document: as cellText, but
// with control characters spelled out, for they could break the frame or
// command the terminal.
func visibleText(v any) string {
	s := cellText(v)
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// visibleLines is visibleText of each line of a text.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = visibleText(line)
	}
	return strings.Join(lines, "\n")
}

// hidden reports whether a character has no place in a cell: controls, and the
// marks that reorder the text around them.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// number returns the shortest decimal that reads back as x, with an exponent
// only where the digits would be mostly zeros.
func number(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strings.Replace(strconv.FormatFloat(x, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// isNumber reports whether the column holds numbers, which stand right-aligned.
func isNumber(c engine.Column) bool { return c.Type == "INTEGER" || c.Type == "REAL" }
