package smw

import "math"

// updates chooses B where neither it nor an accuracy is given. It is a balance:
// T grows with √B, and a mechanism whose runs are spent verifies nothing. How
// many updates a hypothesis needs was measured on conjunctions over correlated
// columns, for 10⁴ to 10⁷ rows, 2,000 and 20,000 queries and supports of 1/6000
// to 1/15 of the universe (TestChosenUpdates). It grows with what a query of
// support m counts at most, about N̂·√(m/|X|), in units of a single run's x_β,
// and no further than to a few for each disjoint part of the universe of m
// records; starting from classes, it is a fifth of that.
func (r Request) updates() (int64, error) {
	if r.UniverseSize == nil {
		return usualUpdates, nil
	}
	e, err := r.excess()
	if err != nil {
		return 0, err
	}
	each, most := 0.75, 12.0
	if r.Prior {
		each, most = 0.15, 3
	}
	return int64(clip(each*e, leastUpdates, min(most/r.part(), mostUpdates))), nil
}

// The number of updates is chosen between leastUpdates and mostUpdates, and is
// usualUpdates over an infinite universe.
const (
	leastUpdates = 5
	usualUpdates = 50
	mostUpdates  = 1000
)

// PriorPays reports whether a hypothesis should start from classes: whether a
// uniform one would have anything to learn. That is so where N̂·√(m/|X|) is
// above a few times the x_β of a single run; otherwise it is off by less than
// it is tested for, and a prior would only make the tests noisier.
func PriorPays(r Request) bool {
	r, err := r.normal()
	if err != nil || r.UniverseSize == nil {
		return false
	}
	e, err := r.excess()
	return err == nil && e >= 3
}

// PriorTenths returns how many tenths of a mechanism's budget its prior should
// cost, when σ is the noise of a count that one tenth buys: one for tables of
// many rows, of which it then knows the pairs of columns well, and three for
// others. More would cost more of T than it betters answers
// (TestChosenShare).
func PriorTenths(sigma float64, rows int64) int64 {
	if float64(rows) >= 5000*sigma {
		return 1
	}
	return 3
}

// part returns m/|X|.
func (r Request) part() float64 {
	return math.Exp(math.Log(float64(r.MaxSupport)) - r.logUniverse())
}

// excess returns N̂·√(m/|X|) in units of the x_β of a single run.
func (r Request) excess() (float64, error) {
	p, err := r.withRuns(1)
	if err != nil {
		return 0, err
	}
	return float64(r.NHat) * float64(r.MaxWeight) * math.Sqrt(r.part()) / float64(p.Bound), nil
}
