package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"dpsql/engine"
)

// writeTable draws a box around the rows, at most width characters wide; 0 is no
// limit. Rows that do not fit are written without a box.
func writeTable(w io.Writer, r *engine.Result, width int) error {
	cells := append([][]string{visibleNames(r.Columns)}, rowsForPeople(r)...)
	if !fit(cells, width) && len(r.Rows) > 0 {
		return writeRecords(w, cells, width)
	}
	table := newTable(w, r.Columns)
	table.Header(cells[0])
	if err := table.Bulk(cells[1:]); err != nil {
		return err
	}
	return table.Render()
}

// newTable returns a table that changes no cell: it does not capitalize, wrap or
// trim, and does not guess the width of characters from the locale.
func newTable(w io.Writer, columns []engine.Column) *tablewriter.Table {
	align := make([]tw.Align, len(columns))
	for i, c := range columns {
		align[i] = tw.AlignLeft
		if isNumber(c) {
			align[i] = tw.AlignRight
		}
	}
	perColumn := tw.CellAlignment{PerColumn: align}
	return tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleLight)})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(perColumn),
		tablewriter.WithRowAlignmentConfig(perColumn),
	)
}

// writeRecords writes rows that are too wide for a box: one value per line, after the
// name of its column. The first row of cells holds the names.
func writeRecords(w io.Writer, cells [][]string, width int) error {
	b := bufio.NewWriter(w)
	names, indent := cells[0], 0
	for _, name := range names {
		indent = max(indent, twwidth.Width(name))
	}
	indent += 2
	for n, row := range cells[1:] {
		fmt.Fprintf(b, "── row %d ──\n", n+1)
		for i, value := range row {
			lines := wrap(value, max(minColumn, width-indent))
			lines = strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", indent))
			b.WriteString(strings.TrimRight(padRight(names[i], indent)+lines, " ") + "\n")
		}
	}
	return b.Flush()
}

const (
	columnFrame = 3  // characters of the frame per column; the frame has one more
	minColumn   = 12 // the least width of a column in which words are broken
)

// fit wraps cells so that the table is at most limit characters wide, and
// reports whether it is. A limit of 0 is none. Lines break between words if that
// is enough, and within words if not.
func fit(cells [][]string, limit int) bool {
	if limit <= 0 {
		return true
	}
	widths, words := columnWidths(cells, twwidth.Width), columnWidths(cells, longestWord)
	if !shrink(widths, words, limit) {
		for i := range words {
			words[i] = minColumn
		}
		if !shrink(widths, words, limit) {
			return false
		}
	}
	for _, row := range cells {
		for i := range row {
			row[i] = wrap(row[i], widths[i])
		}
	}
	return true
}

// shrink takes width from the widest columns until the table fits, and reports
// whether it does. No column gets narrower than its entry in least.
func shrink(widths, least []int, limit int) bool {
	total := 1
	for _, w := range widths {
		total += w + columnFrame
	}
	for ; total > limit; total-- {
		widest := -1
		for i, w := range widths {
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

// columnWidths returns the largest measure of the cells of each column.
func columnWidths(cells [][]string, measure func(string) int) []int {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], measure(cell))
		}
	}
	return widths
}

// longestWord returns the width of the widest word of a text.
func longestWord(text string) int {
	widest := 0
	for word := range strings.SplitSeq(text, " ") {
		widest = max(widest, twwidth.Width(word))
	}
	return widest
}

// Wrap returns a text in lines of at most width characters, broken between words.
// A width of 0 is no limit. Words wider than a line stay whole.
func Wrap(text string, width int) string {
	if width < minParagraph {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		last := -1 // the line that grows
		for word := range strings.SplitSeq(line, " ") {
			if last >= 0 && twwidth.Width(lines[last])+1+twwidth.Width(word) <= width {
				lines[last] += " " + word
				continue
			}
			lines = append(lines, word)
			last = len(lines) - 1
		}
	}
	return strings.Join(lines, "\n")
}

// minParagraph is the narrowest width at which text is wrapped.
const minParagraph = 20

// wrap breaks a text into lines that are at most limit wide. It breaks at blanks
// where there are some.
func wrap(text string, limit int) string {
	var lines []string
	for twwidth.Width(text) > limit {
		cut := prefix(text, limit)
		next := cut
		if blank := strings.LastIndexByte(text[:min(cut+1, len(text))], ' '); blank > 0 {
			cut, next = blank, blank+1
		}
		lines = append(lines, text[:cut])
		text = text[next:]
	}
	return strings.Join(append(lines, text), "\n")
}

// prefix returns the length in bytes of the longest beginning of a text that is
// at most limit wide. It is at least one character.
func prefix(text string, limit int) int {
	_, end := utf8.DecodeRuneInString(text)
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if twwidth.Width(text[:end+size]) > limit {
			break
		}
		end += size
	}
	return end
}

// shorten cuts a text to a width.
func shorten(text string, width int) string {
	if twwidth.Width(text) <= width {
		return text
	}
	return text[:prefix(text, width-1)] + "…"
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", width-twwidth.Width(text))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", width-twwidth.Width(text)) + text
}
