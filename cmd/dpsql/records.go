package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// writeRecords writes rows that no frame can hold in the width, one value a
// line, each behind the name of its column. The first row of cells holds the
// names.
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
			fill := strings.Repeat(" ", indent-twwidth.Width(names[i]))
			lines := wrap(value, max(narrowest, width-indent))
			lines = strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", indent))
			b.WriteString(strings.TrimRight(names[i]+fill+lines, " ") + "\n")
		}
	}
	return b.Flush()
}
