package main

import (
	"bufio"
	"io"
	"strings"

	"dpsql/engine"
)

// writeMarkdown writes a table of GitHub's Markdown, which has no frame to
// align and is therefore written by hand.
func writeMarkdown(w io.Writer, r *engine.Result) error {
	b := bufio.NewWriter(w)
	markdownLine(b, visibleNames(r.Columns))
	rule := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		rule[i] = "---"
		if isNumber(c) {
			rule[i] = "---:"
		}
	}
	b.WriteString("| " + strings.Join(rule, " | ") + " |\n")
	for _, row := range r.Rows {
		markdownLine(b, visibleRow(row))
	}
	return b.Flush()
}

// markdownEscaper makes a text mean itself inside a cell.
var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `&lt;`, `&`, `&amp;`, `[`, `\[`, `~`, `\~`)

func markdownLine(b *bufio.Writer, cells []string) {
	for _, cell := range cells {
		b.WriteString("| ")
		b.WriteString(markdownEscaper.Replace(cell))
		b.WriteByte(' ')
	}
	b.WriteString("|\n")
}
