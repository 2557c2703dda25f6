package main

import (
	"encoding/csv"
	"io"

	"dpsql/engine"
)

// writeCSV writes a header, if asked for, and the rows, as RFC 4180 has it but for the line
// ends, which are those of Unix.
func writeCSV(w io.Writer, r *engine.Result, header bool) error {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
	}
	out := csv.NewWriter(w)
	if header {
		if err := out.Write(names); err != nil {
			return err
		}
	}
	for _, row := range r.Rows {
		if err := writeRecord(w, out, row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func writeRecord(w io.Writer, out *csv.Writer, row []any) error {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = cellText(v)
	}
	if len(cells) != 1 || cells[0] != "" {
		return out.Write(cells)
	}
	// Package csv writes a single empty field as an empty line, which its own
	// reader and others skip.
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	_, err := io.WriteString(w, `""`+"\n")
	return err
}
