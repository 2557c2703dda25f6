package draft

import (
	"context"
	"fmt"
	"strings"

	"dpsql/query"
	"dpsql/sqlfront/syntax"
)

// mostShown is the largest number of values outside a domain that are shown.
const mostShown = 5

// Check says of each column of a declaration how many rows its domain loses, and the commonest values outside that
// leastRows rows have. outside calls its argument with each such value, the commonest first, and its rows. What it
// writes is as private as a draft.
func Check(table string, columns []query.Column, outside func(column int, each func(value string, rows int64)) error) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "-- What the domains of %s lose, without noise. It tells of the rows: show it to nobody.\n", visible(syntax.WriteName(table)))
	for _, i := range query.Declared(columns) {
		var lost int64
		var shown []string
		err := outside(i, func(value string, rows int64) {
			if lost += rows; rows >= leastRows && len(shown) < mostShown {
				shown = append(shown, fmt.Sprintf("%s in %d", visible(syntax.Excerpt(value, 80)), rows))
			}
		})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s: %d rows lost", visible(syntax.WriteName(columns[i].Name)), lost)
		switch {
		case len(shown) > 0:
			b.WriteString("; the commonest values: " + strings.Join(shown, ", "))
		case lost > 0:
			fmt.Fprintf(&b, "; no value outside is in %d rows", leastRows)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// Beyond says how many rows a declaration loses because their unit has more than max_rows, or they have none.
func Beyond(ctx context.Context, q Querier, source, unit string, most int64) (string, error) {
	d, at := &drafter{ctx: ctx, q: q}, query.Quoted(unit)
	lost, err := d.texts("SELECT COALESCE(SUM(iif(u IS NULL, n, max(n - ?, 0))), 0) FROM (SELECT "+at+" AS u, COUNT(*) AS n FROM main."+query.Quoted(source)+
		" GROUP BY typeof("+at+"), "+at+" COLLATE BINARY)", most)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("max_rows = %d: %s rows lost\n", most, lost[0]), nil
}
