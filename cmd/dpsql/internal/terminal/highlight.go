package terminal

import (
	"fmt"
	"slices"
	"strings"

	"dpsql/internal/complete"
)

// The colours of a statement being typed, as terminals name them.
const (
	blue  = 34
	green = 32
	gray  = 90
)

// highlight colours keywords, texts and comments. It knows where these begin and
// end and nothing else, because an unfinished statement has no syntax.
func highlight(text string) string {
	var b strings.Builder
	for text != "" {
		n, color := firstToken(text)
		if color == 0 {
			b.WriteString(text[:n])
		} else {
			fmt.Fprintf(&b, "\x1b[%dm%s\x1b[0m", color, text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// firstToken returns the length of the first token of a text, and its colour or 0.
func firstToken(text string) (length, color int) {
	switch {
	case text[0] == '\'':
		return lengthThrough(text, "'"), green
	case text[0] == '"':
		return lengthThrough(text, `"`), 0
	case strings.HasPrefix(text, "--"):
		return lengthBefore(text, "\n"), gray
	case strings.HasPrefix(text, "/*"):
		return lengthThrough(text[1:], "*/") + 1, gray
	}
	n := strings.IndexFunc(text, func(r rune) bool { return !isWordPart(r) })
	switch {
	case n < 0:
		n = len(text)
	case n == 0:
		return len(string([]rune(text)[0])), 0
	}
	if slices.Contains(complete.Keywords, strings.ToUpper(text[:n])) {
		return n, blue
	}
	return n, 0
}

// isWordPart reports whether a character continues a word.
func isWordPart(r rune) bool {
	return r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80
}

// lengthThrough returns the length up to and including the first end mark behind
// the first character, or the length of the text.
func lengthThrough(text, end string) int {
	if i := strings.Index(text[1:], end); i >= 0 {
		return 1 + i + len(end)
	}
	return len(text)
}

// lengthBefore returns the length up to a mark, or the length of the text.
func lengthBefore(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i
	}
	return len(text)
}
