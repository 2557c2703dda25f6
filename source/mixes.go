package source

import "dpsql/sqlerr"

// Mixes is the refusal of a view that may repeat or mix the rows that it reads,
// in the same words for all readers. What says what of it is not understood to work
// row by row or, with the column of a unit, unit by unit, as in "has a LIMIT".
func Mixes(source, unit, what string) *sqlerr.Error {
	if unit == "" {
		return sqlerr.New(sqlerr.Unsupported, "%s %s: a row of a table could count in it more than once, or change other rows", source, what)
	}
	return sqlerr.New(sqlerr.Unsupported, "%s %s: its rows could be those of several units", source, what)
}
