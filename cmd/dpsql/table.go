package main

import (
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"dpsql/engine"
)

// writeTable draws a box around the rows, at most width characters wide; 0 is
// no limit. What does not fit that is written without a box.
func writeTable(w io.Writer, r *engine.Result, width int) error {
	cells := [][]string{visibleNames(r.Columns)}
	for _, row := range r.Rows {
		cells = append(cells, visibleRow(row))
	}
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

// newTable turns off whatever would change a cell: automatic upper case,
// wrapping, trimming, and the guess of character widths from the locale.
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

func visibleNames(columns []engine.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = visibleText(c.Name)
	}
	return names
}

func visibleRow(row []any) []string {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = visibleText(v)
	}
	return cells
}
