package smw

import "dpsql/query"

// Scaled is a query as a mechanism of weights up to W compares it: with its
// weights multiplied, as often as they stay within W. The noise of a comparison
// is scaled to a change of L·W, whatever the query's own weights are; so one of
// weights up to w is compared ⌊W/w⌋ times over, which changes by L·W at most,
// and what is said of it is divided by that factor again. A count in a mechanism
// of W = 1000 is thus as exact as in one of W = 1.
type Scaled struct {
	Query  query.Query
	Factor int64
}

// Factor returns how many times over a query is compared.
func (p Params) Factor(q query.Query) int64 {
	if p.MaxWeight == 1 {
		return 1
	}
	return max(1, p.MaxWeight/q.MaxWeight())
}

// Scaled returns the query as it is compared. One of weights above W, which no
// mechanism admits, is left as it is.
func (p Params) Scaled(q query.Query) (Scaled, error) {
	s := Scaled{q, p.Factor(q)}
	var err error
	if s.Factor > 1 {
		s.Query, err = q.Times(s.Factor)
	}
	return s, err
}

// Count returns the count of the query itself: the integer nearest to that of
// the scaled one over the factor.
func (s Scaled) Count(scaled int64) int64 {
	n, rest := scaled/s.Factor, scaled%s.Factor
	switch half := s.Factor - s.Factor/2; {
	case rest >= half:
		n++
	case rest <= -half:
		n--
	}
	return n
}

// Margin returns how far Count is from the query's true count, an integer, where
// the scaled count is within a margin of the scaled truth: at most the margin
// over the factor, and 1/2 of rounding.
func (s Scaled) Margin(scaled int64) int64 {
	return scaled/s.Factor + (scaled%s.Factor+s.Factor/2)/s.Factor
}
