package view

import (
	"fmt"
	"strconv"
	"strings"

	"dpsql/accounting"
)

// Counts writes a half-width in counts.
func Counts(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Short writes a cost to two significant digits.
func Short(x float64) string { return strconv.FormatFloat(x, 'g', 2, 64) }

// Amount writes a cost.
func Amount(a accounting.Amount) string {
	var parts []string
	if a.Epsilon != 0 {
		parts = append(parts, fmt.Sprintf("ε %v", a.Epsilon))
	}
	if a.Delta != 0 {
		parts = append(parts, fmt.Sprintf("δ %v", a.Delta))
	}
	if a.Rho != 0 {
		parts = append(parts, "ρ "+Short(a.Rho.Float()))
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// UnitText names a unit for people; rows of 0 leaves the bound out.
func UnitText(column string, rows int64) string {
	switch {
	case column == "":
		return "single rows"
	case rows == 0:
		return "all rows with one value of " + column
	}
	return fmt.Sprintf("up to %d rows with one value of %s", rows, column)
}
