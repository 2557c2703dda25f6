package source

import "dpsql/sqlerr"

// Mixes is the refusal of a view that may repeat or mix what it reads, by every
// reader. It says what of the view is not understood to work row by row or, where
// unit names the column of a declared unit, unit by unit. What follows "it", as
// in "has a LIMIT".
func Mixes(source, unit, what string) *sqlerr.Error {
	if unit == "" {
		return sqlerr.New(sqlerr.Unsupported, "%s is not seen to work row by row: it %s", source, what).
			WithHint("without a unit, one row may bring about one row of the view and nothing of others: " +
				"join public tables on a unique key, or carry a unit's column and declare WITH (…, unit = person, max_rows = 4)")
	}
	return sqlerr.New(sqlerr.Unsupported, "%s is not seen to work unit by unit: it %s", source, what).
		WithHint("each row of the view must come of rows of one %s alone: join private tables on that column by =, and group by it", unit)
}
