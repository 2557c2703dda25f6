package post

import (
	"math"
	"math/bits"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
)

// Distribution is a private answer about how the values of a column are distributed over
// the records of a query: noisy counts of the records on either side of a cut. Its places
// are the values that the column can have, or buckets of them, in ascending order.
type Distribution struct {
	Places int64                                   // at least 1
	Values func(place int64) (least, most float64) // of a place, canonical; see Values
	// Split returns the numbers of records at the places up to one, and behind it. It
	// returns false if they are not known.
	Split func(place int64) (below, above Answer, ok bool)
	// Gap, if not nil, returns an interval of (1−q)·A − q·B, for the true numbers A and B of
	// records at the places up to one, and behind it. Each of its ends by itself holds at a
	// confidence. Without Gap the errors of Split decide.
	Gap func(place int64, q, confidence float64) (Interval, bool)
}

// Method says which value of a sorted list a Quantile is.
type Method uint8

// The methods. Of n values and a fraction q, Discrete is the value of rank ⌈qn⌉, or the
// first. Continuous interpolates between the values next to the position q(n−1), counted
// from 0. These are PERCENTILE_DISC and PERCENTILE_CONT of PostgreSQL, whose floating
// point products they use. Least and Greatest are MIN and MAX.
const (
	Discrete Method = iota
	Continuous
	Least
	Greatest
)

// Quantile is a quantile of a column. It is NULL if the count of the records is not
// positive.
//
// It has the form of the column's values, and so have the ends of its interval. A row of a
// step counts as the step's middle, and the interval has the whole of its first and last
// step: the order of rows is that of their steps, so that it holds what they stand for.
//
// What noise allows of Least is the least value at or below which a record lies for
// certain, at the confidence asked for, and of Greatest the largest at or above which one
// does. They are NULL if there is none. Without noise they are the minimum and the maximum.
//
// The interval tests each place p for being the true one, p*. Let A and B be the true
// numbers of records up to p and behind it, and r(n) the rank of the quantile among n.
// Then p* ≤ p if and only if A ≥ r(A+B). By Gap this is a bound on one linear query, the gap
// (1−q)·A − q·B: it is at least 0 for Discrete. For the lower rank of Continuous it
// is above −q, and for the higher one at least 1−q. Least and Greatest have q = 0 and 1: A ≥ 1
// and B = 0. Without Gap, the ends of the intervals of A and B decide, since A − r(A+B)
// rises with A and falls with B. Ends finds the ends by bisection: no place is tested but
// 2·⌈log₂ places⌉.
//
// Lemma. Bisection for the low end goes right at p if it is certain that p* > p, and else
// left. It ends above p* only after it went right at a p ≥ p*. Before it does so for the
// first time it has gone right at places below p* only, and left at places from p* on: had
// it gone left at a p < p*, all later places were below p*, where going right is no
// mistake. These places are those of the bisection that knows p*, which does not depend on
// the noise, and are at most ⌈log₂ places⌉. The high end has the same bound, reflected: it
// ends below p* only after a mistake at a place p < p* of the same bisection. At a place
// from p* on only the low end can err, and below it only the high end: of each of
// the ⌈log₂ places⌉ fixed places one end of one interval counts. So the interval fails with
// at most the sum of their probabilities. The two ranks of Continuous have a bisection each,
// and an interval that follows from those of A and B fails if one of them does.
type Quantile struct {
	Slot   int // of an answer with a Distribution
	Q      float64
	Method Method
	Of     query.Column // whose values they are
}

// Type is TEXT for dates and timestamps, REAL for Continuous and for steps, else INTEGER.
func (q Quantile) Type() Type {
	switch {
	case q.Of.Form.IsTime():
		return Text
	case q.Method == Continuous || q.Of.Form.IsStepped():
		return Real
	}
	return Integer
}

func (q Quantile) each(func(Expr)) {}

// ranks returns the ranks, from 1, of the values next to the quantile of n values.
func (q Quantile) ranks(n int64) (low, high int64) {
	switch q.Method {
	case Least:
		return 1, 1
	case Greatest:
		return max(1, n), max(1, n)
	case Continuous:
		position := q.Q * float64(n-1)
		return max(1, int64(math.Floor(position))+1), max(1, int64(math.Ceil(position))+1)
	}
	rank := max(1, int64(math.Ceil(q.Q*float64(n))))
	return rank, rank
}

func (q Quantile) value(r *row) sqlvalue.Value {
	a := r.answers[q.Slot]
	d := a.Distribution
	if a.Value <= 0 || d == nil {
		return sqlvalue.Null()
	}
	first, last, ok := q.ends(d, r.confidence)
	if !ok {
		return sqlvalue.Null()
	}
	if q.Method == Least || q.Method == Greatest {
		return q.extreme(d, first, last, r.confidence)
	}
	low, known := place(d, first, last, q.low)
	high, also := place(d, first, last, q.high)
	if !known || !also {
		return sqlvalue.Null()
	}
	x, y := middle(d.Values(low)), middle(d.Values(max(low, high)))
	if q.Method == Discrete {
		return q.shown(x)
	}
	position := q.Q * float64(a.Value-1)
	return q.shown(x + (position-math.Floor(position))*(y-x))
}

// extreme returns Least or Greatest: the end of the interval on the side of the other
// values, or NULL if it is not certain that there is a record.
func (q Quantile) extreme(d *Distribution, first, last int64, confidence float64) sqlvalue.Value {
	all, _, ok := d.Split(d.Places - 1)
	miss, known := all.Error(confidence)
	if !ok || !known || float64(all.Value)+miss.Low < 1 {
		return sqlvalue.Null()
	}
	least, _ := d.Values(first)
	_, most := d.Values(last)
	if q.Method == Least {
		return q.shown(most)
	}
	return q.shown(least)
}

func middle(least, most float64) float64 { return least/2 + most/2 }

// RankConfidence returns the confidence that the counts of a Distribution need, so that the
// interval of any quantile has another.
func RankConfidence(places int64, confidence float64) float64 {
	return shared(places, 4, confidence)
}

// GapConfidence returns the confidence that each end of a Distribution's gaps needs, so that
// the interval of any quantile has another.
func GapConfidence(places int64, confidence float64) float64 {
	return shared(places, 2, confidence)
}

// shared returns the confidence of so many events at each place of a bisection.
func shared(places, events int64, confidence float64) float64 {
	steps := max(1, bits.Len64(uint64(places-1)))
	return 1 - (1-confidence)/float64(events*int64(steps))
}

// decides returns what is certain at a place: that the value of the lower rank is behind it,
// or that the value of the higher rank is at it or before it. It returns false if nothing is
// known.
func (q Quantile) decides(d *Distribution, place int64, confidence float64) (behind, reached, ok bool) {
	if d.Gap != nil {
		fraction, missed, enough := q.test()
		gap, ok := d.Gap(place, fraction, confidence)
		return gap.High <= missed, gap.Low >= enough, ok
	}
	below, above, ok := d.Split(place)
	if !ok {
		return false, false, false
	}
	a, known := below.Error(confidence)
	b, also := above.Error(confidence)
	if !known || !also || !a.finite() || !b.finite() {
		return false, false, false
	}
	a, b = a.Plus(float64(below.Value)), b.Plus(float64(above.Value))
	if max(a.High, b.High) >= 1<<52 {
		return false, false, false
	}
	// A − r(A+B) rises with A and falls with B, since r rises by at most 1 a record.
	reaches := func(a, b float64, rank func(int64) int64) bool {
		x, y := max(0, a), max(0, b)
		return x >= float64(rank(int64(x+y)))
	}
	return !reaches(math.Ceil(a.High), math.Floor(b.Low), q.low), reaches(math.Floor(a.Low), math.Ceil(b.High), q.high), true
}

// test returns the fraction of the gap and what it decides: at or above reached, the value of
// the higher rank is at the place or before it, and at or below missed that of the lower rank
// is behind it. A and B are integers.
func (q Quantile) test() (fraction, missed, reached float64) {
	switch {
	case q.Method == Least || q.Method != Greatest && q.Q == 0: // the gap is A
		return 0, math.Nextafter(1, 0), math.SmallestNonzeroFloat64
	case q.Method == Greatest || q.Q == 1: // the gap is −B
		return 1, -math.SmallestNonzeroFloat64, math.Nextafter(-1, 0)
	case q.Method == Continuous:
		return q.Q, -q.Q, 1 - q.Q
	}
	return q.Q, -math.SmallestNonzeroFloat64, 0
}

// ends returns the first and last places of the interval, at a confidence.
func (q Quantile) ends(d *Distribution, confidence float64) (first, last int64, ok bool) {
	events := int64(1)
	if q.Method == Continuous {
		events = 2
	}
	if d.Gap == nil {
		events *= 2
	}
	each := shared(d.Places, events, confidence)
	// bisect returns the first place of which something holds, or the last place.
	bisect := func(holds func(behind, reached bool) bool) (int64, bool) {
		lo, hi := int64(0), d.Places-1
		for lo < hi {
			mid := lo + (hi-lo)/2
			behind, reached, known := q.decides(d, mid, each)
			if !known {
				return 0, false
			}
			if holds(behind, reached) {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return lo, true
	}
	first, known := bisect(func(behind, _ bool) bool { return !behind })
	last, also := bisect(func(_, reached bool) bool { return reached })
	return min(first, last), max(first, last), known && also
}

func (q Quantile) low(n int64) int64 {
	low, _ := q.ranks(n)
	return low
}

func (q Quantile) high(n int64) int64 {
	_, high := q.ranks(n)
	return high
}

// maxScanned bounds the places whose counts are compared at once.
const maxScanned = 64

// place returns the first place from lo on at which A ≥ r(A+B) by noisy counts, or hi. The
// differences are made monotone by isotonic regression, over all places or, where these are
// more than maxScanned, over as many that are evenly spaced, and then between two
// neighbours of them.
func place(d *Distribution, lo, hi int64, rank func(n int64) int64) (int64, bool) {
	for lo < hi {
		step := max(1, (hi-lo+maxScanned-1)/maxScanned)
		var at []int64
		var gaps []float64
		for p := lo; p < hi; p += step {
			below, above, ok := d.Split(p)
			if !ok {
				return 0, false
			}
			at = append(at, p)
			gaps = append(gaps, float64(below.Value-rank(below.Value+above.Value)))
		}
		next, end := lo, hi
		for i, g := range isotonic(gaps) {
			if g >= 0 {
				end = at[i]
				break
			}
			next = at[i] + 1
		}
		lo, hi = next, end
		if step == 1 {
			return hi, true
		}
	}
	return lo, true
}

// isotonic returns the ascending sequence that is nearest to x in squares, by pooling
// adjacent violators (Ayer et al. 1955).
func isotonic(x []float64) []float64 {
	type pool struct {
		sum float64
		n   int
	}
	var pools []pool
	for _, v := range x {
		p := pool{v, 1}
		for len(pools) > 0 {
			before := pools[len(pools)-1]
			if before.sum*float64(p.n) <= p.sum*float64(before.n) {
				break
			}
			p = pool{before.sum + p.sum, before.n + p.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	out := make([]float64, 0, len(x))
	for _, p := range pools {
		for range p.n {
			out = append(out, p.sum/float64(p.n))
		}
	}
	return out
}

// quantile encloses a quantile, of dates and timestamps in canonical values. Nothing is known if there may be no record. No union with
// that event is needed: if there is none, only the count's interval can fail, and else only
// the quantile's.
func (b box) quantile(q Quantile) bounds {
	a := b.row.answers[q.Slot]
	n := b.errors[q.Slot]
	if a.Distribution == nil || float64(a.Value)+n.Low <= 0 {
		return bounds{}
	}
	first, last, ok := q.ends(a.Distribution, b.each)
	if !ok {
		return bounds{}
	}
	lo, _ := a.Distribution.Values(first)
	_, hi := a.Distribution.Values(last)
	return interval(q.worth(lo), q.worth(hi))
}
