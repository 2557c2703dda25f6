package main

import (
	"strings"

	"dpsql/sqlerr"
)

// format is how results are written.
type format string

const (
	formatTable    format = "table"
	formatCSV      format = "csv"
	formatJSON     format = "json"
	formatMarkdown format = "markdown"
)

var formats = []format{formatTable, formatCSV, formatJSON, formatMarkdown}

// parseFormat returns the format of that name.
func parseFormat(name string) (format, error) {
	names := make([]string, len(formats))
	for i, f := range formats {
		if string(f) == name {
			return f, nil
		}
		names[i] = string(f)
	}
	return "", sqlerr.New(sqlerr.Invalid, "there is no format %q", name).
		WithHint("the formats are %s", strings.Join(names, ", "))
}

// forPeople reports whether a format is read by people, who want footers and
// confirmations between the results, and not by programs, who do not.
func (f format) forPeople() bool { return f == formatTable || f == formatMarkdown }
