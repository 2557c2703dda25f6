package engine

import (
	"strings"
	"unicode/utf8"

	"dpsql/engine/internal/view"
)

// Widths that let EXPLAIN fit a terminal, where names are of usual length.
const (
	briefColumns = 20 // characters of a list of columns
	briefDigits  = 9  // of a support, beyond which it is rounded
)

// briefList shortens a list of names to the first ones and how many follow.
func briefList(list string) string {
	names := strings.Split(list, ", ")
	if utf8.RuneCountInString(list) <= briefColumns || len(names) < 2 {
		return list
	}
	shown := names[0]
	for i := 1; i < len(names); i++ {
		next := shown + ", " + names[i]
		if utf8.RuneCountInString(next) > briefColumns-4 {
			return shown + ", +" + view.Counts(float64(len(names)-i))
		}
		shown = next
	}
	return list
}

// briefNumber rounds a number of many digits to three; other texts it leaves.
func briefNumber(digits string) string {
	if len(digits) <= briefDigits || strings.Trim(digits, "0123456789") != "" {
		return digits
	}
	return "≈" + digits[:1] + "." + digits[1:3] + "e" + view.Counts(float64(len(digits)-1))
}
