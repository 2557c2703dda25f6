package main

import (
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// The frame takes three characters a column and one more. No column is made
// narrower than narrowest, where more frame than text would be read.
const (
	frame     = 3
	narrowest = 12
)

// fit wraps cells so that the table is at most limit characters wide, and
// reports whether it is. A limit of 0 is none. Lines break between words if
// that is enough, and within words if not.
func fit(cells [][]string, limit int) bool {
	if limit <= 0 {
		return true
	}
	widths := columnWidths(cells, twwidth.Width)
	if !shrink(widths, columnWidths(cells, longestWord), limit) && !shrink(widths, nil, limit) {
		return false
	}
	for _, row := range cells {
		for i := range row {
			row[i] = wrap(row[i], widths[i])
		}
	}
	return true
}

// shrink takes width from the widest columns until the table fits, and reports
// whether it does. It leaves each column its least width.
func shrink(widths, least []int, limit int) bool {
	total := 1
	for _, w := range widths {
		total += w + frame
	}
	for ; total > limit; total-- {
		widest := -1
		for i, w := range widths {
			if w > narrowest && (least == nil || w > least[i]) && (widest < 0 || w > widths[widest]) {
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

// wrap breaks a text into lines of at most limit characters' width, at blanks
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

// prefix returns the length in bytes of the longest beginning of a text that
// is at most limit wide, and at least one character.
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
