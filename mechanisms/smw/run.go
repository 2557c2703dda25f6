package smw

import (
	"dpsql/query"
)

// Scaled is a query as a mechanism of weights up to W compares it, with its
// weights multiplied. The noise of a comparison is scaled to a change of L·W,
// whatever the query's own weights are. So a query of weights up to w is
// compared ⌊W/w⌋ times over, which changes by at most L·W, and its answer is
// divided by that factor again. A count in a mechanism of W = 1000 is thus as
// exact as in one of W = 1.
type Scaled struct {
	Query  query.Query
	Factor int64
}

// Factor returns the factor by which a query's weights are multiplied.
func (p Params) Factor(q query.Query) int64 {
	if p.MaxWeight == 1 {
		return 1
	}
	return max(1, p.MaxWeight/q.MaxWeight())
}

// Scaled returns the query as it is compared. A query of weights above W, which
// no mechanism admits, is returned unchanged.
func (p Params) Scaled(q query.Query) (Scaled, error) {
	s := Scaled{q, p.Factor(q)}
	var err error
	if s.Factor > 1 {
		s.Query, err = q.Times(s.Factor)
	}
	return s, err
}

// Count converts a count of the scaled query to one of the query itself. It
// rounds to the nearest integer.
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

// Margin converts a margin of the scaled count to one of Count: at most the
// margin over the factor, and 1/2 for rounding. The query's true count is an
// integer.
func (s Scaled) Margin(scaled int64) int64 {
	return scaled/s.Factor + (scaled%s.Factor+s.Factor/2)/s.Factor
}
