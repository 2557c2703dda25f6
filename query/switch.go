package query

import "dpsql/sqlerr"

// Branch is where a range of a finite domain's ordinals leads.
type Branch struct {
	Range
	To Query
}

// Switch returns the query that is Branch.To where the column's value has an
// ordinal in the branch's range, and 0 elsewhere. The ranges are sorted and
// disjoint, and each To depends on later columns only.
func Switch(u *Universe, column int, branches []Branch) (Query, error) {
	spans := make([]span, len(branches))
	for i, b := range branches {
		if b.To.root.level <= column {
			return Query{}, errOrder()
		}
		spans[i] = span{b.Range, b.To.root}
	}
	return Query{u, newSpans(column, u.columns[column].Domain, spans)}, nil
}

// Case is where one value of an unbounded domain leads.
type Case struct {
	Value Value
	To    Query
}

// SwitchText is Switch for a column without a domain: every value without a
// case leads to rest. The cases' values are different.
func SwitchText(u *Universe, column int, cases []Case, rest Query) (Query, error) {
	listed := make([]valueCase, len(cases))
	for i, c := range cases {
		if c.To.root.level <= column {
			return Query{}, errOrder()
		}
		listed[i] = valueCase{c.Value, c.To.root}
	}
	if rest.root.level <= column {
		return Query{}, errOrder()
	}
	sortCases(listed)
	return Query{u, newCases(column, listed, rest.root)}, nil
}

func errOrder() error {
	return sqlerr.New(sqlerr.Internal, "a branch of a diagram leads back to an earlier column")
}

// Everywhere returns the query with one weight, at least 0, for every record.
func Everywhere(u *Universe, weight int64) Query { return Query{u, leaf(weight)} }
