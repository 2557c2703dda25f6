package smw

// sum is a running total of about 106 bits: weights that differ by many orders
// of magnitude come and go in it, and what is left must still be right.
type sum struct{ hi, lo float64 }

// plus returns s + x.
func (s sum) plus(x float64) sum {
	hi := s.hi + x
	back := hi - s.hi
	lo := (s.hi - (hi - back)) + (x - back) + s.lo
	return sum{hi + lo, lo - ((hi + lo) - hi)}
}

// add and sub return s + t and s − t.
func (s sum) add(t sum) sum { return s.plus(t.hi).plus(t.lo) }
func (s sum) sub(t sum) sum { return s.plus(-t.hi).plus(-t.lo) }

func (s sum) value() float64 { return s.hi + s.lo }
