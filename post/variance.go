package post

import (
	"math"
	"math/big"

	"dpsql/sqlvalue"
)

// Variance is VAR_POP, or another variance, of values x. It is computed from three
// answers: their count n, the sum of x − c and the sum of (x − c)², for some
// constant c. The variance is that of x, whatever c is:
// (n·Σ(x−c)² − (Σ(x−c))²) / n², and with Sample n·(n−1) below the line. It is
// NULL where n is not above 0, or with Sample not above 1, and 0 where noise
// makes it negative.
type Variance struct {
	Mean    Mean   // of x − c; its Unit is that of the squares' root
	Squares []Term // the sum of (x − c)²
	Sample  bool   // VAR_SAMP
	Root    bool   // STDDEV: the square root
}

// unit returns the number that a value of 1 stands for.
func (v Variance) unit() *big.Rat {
	if v.Mean.Unit == nil {
		return big.NewRat(1, 1)
	}
	return v.Mean.Unit
}

// Type is REAL.
func (v Variance) Type() Type        { return Real }
func (v Variance) each(f func(Expr)) { f(v.Mean); f(Sum{Terms: v.Squares}) }

func (v Variance) value(r *row) sqlvalue.Value {
	n := r.answers[v.Mean.Count].Value
	if n <= v.maxUndefined() {
		return sqlvalue.Null()
	}
	count, first, second := big.NewInt(n), exactSum(v.Mean.Terms, r), exactSum(v.Squares, r)
	over := second.Mul(second, count)
	over.Sub(over, first.Mul(first, first))
	if over.Sign() <= 0 {
		return sqlvalue.Real(0)
	}
	under := new(big.Int).Mul(count, big.NewInt(n-v.maxUndefined()))
	square := new(big.Rat).Mul(v.unit(), v.unit())
	x, _ := square.Mul(square, new(big.Rat).SetFrac(over, under)).Float64()
	if v.Root {
		x = math.Sqrt(x)
	}
	return sqlvalue.Real(x)
}

// maxUndefined is the largest count that has no variance.
func (v Variance) maxUndefined() int64 {
	if v.Sample {
		return 1
	}
	return 0
}

// exactSum adds factor·value over the terms.
func exactSum(terms []Term, r *row) *big.Int {
	sum := new(big.Int)
	for _, t := range terms {
		term := big.NewInt(t.Factor)
		sum.Add(sum, term.Mul(term, big.NewInt(r.answers[t.Slot].Value)))
	}
	return sum
}

// saturatingSum adds factor·value over the terms; beyond 64 bits it stays at
// the end of their range.
func saturatingSum(terms []Term, r *row) int64 {
	var sum int64
	for _, t := range terms {
		product, fits := sqlvalue.Integers(sqlvalue.Times, t.Factor, r.answers[t.Slot].Value)
		total, also := sqlvalue.Integers(sqlvalue.Plus, sum, product)
		if !fits || !also {
			return saturated(exactSum(terms, r))
		}
		sum = total
	}
	return sum
}

func saturated(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// variance encloses a variance: the mean square less the square of the mean,
// each of them a quotient over the same count, and never below 0. Where the
// count's interval holds a number of which there is none, nothing is known.
func (b box) variance(v Variance) bounds {
	n := formOf([]Term{{v.Mean.Count, 1}})
	count := b.enclose(&ratio{numerator: n})
	least := float64(v.maxUndefined())
	if !count.bounded || count.lo <= least {
		return bounds{}
	}
	square := new(big.Rat).Mul(v.unit(), v.unit())
	mean, squares := b.enclose(&ratio{inUnits(v.Mean.Terms, v.unit()), n}), b.enclose(&ratio{inUnits(v.Squares, square), n})
	if !mean.bounded || !squares.bounded {
		return bounds{}
	}
	smallest, largest := mean.lo*mean.lo, mean.hi*mean.hi
	if smallest > largest {
		smallest, largest = largest, smallest
	}
	if mean.lo <= 0 && mean.hi >= 0 {
		smallest = 0
	}
	lo, hi := max(0, squares.lo-largest), max(0, squares.hi-smallest)
	lo, hi = lo*(count.hi/(count.hi-least)), hi*(count.lo/(count.lo-least))
	if v.Root {
		lo, hi = math.Sqrt(lo), math.Sqrt(hi)
	}
	return interval(lo, hi)
}
