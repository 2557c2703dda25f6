package post

import (
	"math"
	"math/big"

	"dpsql/internal/sqlvalue"
)

// Statistic is what a Pair computes, as PostgreSQL defines it.
type Statistic uint8

// The statistics of values y and x.
const (
	CovarPop  Statistic = iota
	CovarSamp           // NULL of one pair
	Corr                // NULL if the variance of y or x is 0
	Slope               // of the least-squares line y = a + b·x; NULL if the variance of x is 0
	Intercept           // of the same line
	R2                  // the square of Corr; 1 if only the variance of y is 0
	Sxx                 // the sum of the squares of x less its mean
	Syy
	Sxy
)

// NeedsY reports whether a statistic uses the squares of y.
func (s Statistic) NeedsY() bool { return s == Corr || s == R2 || s == Syy }

// NeedsX reports whether a statistic uses the squares of x.
func (s Statistic) NeedsX() bool {
	return s == Corr || s == R2 || s == Slope || s == Intercept || s == Sxx
}

// NeedsProducts reports whether a statistic uses the products of y and x.
func (s Statistic) NeedsProducts() bool { return s != Sxx && s != Syy }

// Pair is a statistic of the rows in which neither y nor x is NULL. It is computed from
// their count n and from sums of y − d and x − c for some constants d and c, of their
// squares and of their products. But for Intercept it does not depend on d and c. It is
// NULL unless n is above 0, and where the statistic is not defined: a variance that noise
// brings below 0 counts as 0. A correlation beyond 1 is 1.
type Pair struct {
	Of               Statistic
	Y, X             Variance // Mean is that of y − d, and of x − c; Squares are empty if Of does not need them
	MiddleY, MiddleX int64    // d and c, in the units of Y and X
	Products         []Term   // the sum of (y − d)·(x − c), in the product of both units
}

// Type is REAL.
func (p Pair) Type() Type { return Real }

func (p Pair) each(f func(Expr)) {
	f(p.Y)
	f(p.X)
	f(Sum{Terms: p.Products})
}

// maxUndefined is the largest count for which there is no value.
func (p Pair) maxUndefined() int64 { return Variance{Sample: p.Of == CovarSamp}.maxUndefined() }

func (p Pair) value(r *row) sqlvalue.Value {
	n := r.answers[p.X.Mean.Count].Value
	if n <= p.maxUndefined() {
		return sqlvalue.Null()
	}
	count := big.NewInt(n)
	y, x := exactSum(p.Y.Mean.Terms, r), exactSum(p.X.Mean.Terms, r)
	spread := func(sum *big.Int, a, b *big.Int) *big.Int { // n·Σab − Σa·Σb
		sum.Mul(sum, count)
		return sum.Sub(sum, new(big.Int).Mul(a, b))
	}
	yy, xx := spread(exactSum(p.Y.Squares, r), y, y), spread(exactSum(p.X.Squares, r), x, x)
	xy := spread(exactSum(p.Products, r), y, x)
	over := func(a, b *big.Int, units ...*big.Rat) *big.Rat {
		q := new(big.Rat).SetFrac(a, b)
		for _, u := range units {
			q.Mul(q, u)
		}
		return q
	}
	real := func(q *big.Rat) sqlvalue.Value {
		f, _ := q.Float64()
		return sqlvalue.Real(f)
	}
	unitY, unitX := p.Y.unit(), p.X.unit()
	switch p.Of {
	case CovarPop, CovarSamp:
		return real(over(xy, new(big.Int).Mul(count, big.NewInt(n-p.maxUndefined())), unitY, unitX))
	case Sxy:
		return real(over(xy, count, unitY, unitX))
	case Sxx, Syy:
		squares, unit := xx, unitX
		if p.Of == Syy {
			squares, unit = yy, unitY
		}
		if squares.Sign() <= 0 {
			return sqlvalue.Real(0)
		}
		return real(over(squares, count, unit, unit))
	case Slope, Intercept:
		if xx.Sign() <= 0 {
			return sqlvalue.Null()
		}
		slope := over(xy, xx, unitY, new(big.Rat).Inv(unitX))
		if p.Of == Slope {
			return real(slope)
		}
		meanY, meanX := p.meanOf(y, n, p.MiddleY, unitY), p.meanOf(x, n, p.MiddleX, unitX)
		return real(meanY.Sub(meanY, slope.Mul(slope, meanX)))
	}
	switch {
	case xx.Sign() <= 0, p.Of == Corr && yy.Sign() <= 0:
		return sqlvalue.Null()
	case yy.Sign() <= 0:
		return sqlvalue.Real(1)
	}
	square, _ := over(new(big.Int).Mul(xy, xy), new(big.Int).Mul(xx, yy)).Float64()
	square = min(square, 1)
	if p.Of == R2 {
		return sqlvalue.Real(square)
	}
	return sqlvalue.Real(math.Copysign(math.Sqrt(square), float64(xy.Sign())))
}

// meanOf returns a mean of values from the sum of their deviations from a middle.
func (p Pair) meanOf(sum *big.Int, n, middle int64, unit *big.Rat) *big.Rat {
	mean := new(big.Rat).SetFrac(sum, big.NewInt(n))
	mean.Add(mean, new(big.Rat).SetInt64(middle))
	return mean.Mul(mean, unit)
}

// pair encloses a statistic of two columns: the covariance by the mean of the products less
// the product of the means, the variances as box.variance does, and their quotient. Nothing
// is known if the interval of the count includes a number for which there is no value, or if
// that of a variance in a divisor includes 0. A correlation is from −1 to 1 whatever the
// intervals of its parts say. Where values may be off, a covariance is off by no more than Cauchy
// and Schwarz allow, with half the range of the others for their standard deviation.
func (b box) pair(p Pair) bounds {
	n := formOf([]Term{{p.X.Mean.Count, 1}})
	count, least := b.enclose(&ratio{numerator: n}), float64(p.maxUndefined())
	if !count.bounded || count.lo <= least {
		return bounds{}
	}
	switch p.Of {
	case Sxx:
		return scaled(b.variance(p.X), count)
	case Syy:
		return scaled(b.variance(p.Y), count)
	}
	y, x := b.enclose(&ratio{inUnits(p.Y.Mean.Terms, p.Y.unit()), n}), b.enclose(&ratio{inUnits(p.X.Mean.Terms, p.X.unit()), n})
	products := b.enclose(&ratio{inUnits(p.Products, new(big.Rat).Mul(p.Y.unit(), p.X.unit())), n})
	if !y.bounded || !x.bounded || !products.bounded {
		return bounds{}
	}
	means := enclosing(y.lo*x.lo, y.lo*x.hi, y.hi*x.lo, y.hi*x.hi)
	offY, offX := p.Y.Mean.off(), p.X.Mean.off()
	covariance := interval(products.lo-means.hi, products.hi-means.lo).off(offY*p.X.Mean.spread() + offX*p.Y.Mean.spread() + offY*offX)
	y, x = y.off(offY), x.off(offX)
	if !means.bounded || !covariance.bounded {
		return bounds{}
	}
	switch p.Of {
	case CovarPop:
		return covariance
	case CovarSamp: // n/(n−1) falls in n
		return scaled(covariance, interval(count.hi/(count.hi-1), count.lo/(count.lo-1)))
	case Sxy:
		return scaled(covariance, count)
	case Slope, Intercept:
		slope := b.divide(covariance, b.variance(p.X))
		if p.Of == Slope || !slope.bounded {
			return slope
		}
		unitY, _ := p.Y.unit().Float64()
		unitX, _ := p.X.unit().Float64()
		d, c := float64(p.MiddleY)*unitY, float64(p.MiddleX)*unitX
		shift := scaled(slope, interval(x.lo+c, x.hi+c))
		if !shift.bounded {
			return bounds{}
		}
		return interval(y.lo+d-shift.hi, y.hi+d-shift.lo)
	}
	over := scaled(b.variance(p.Y), b.variance(p.X))
	if !over.bounded || over.lo <= 0 {
		return bounds{}
	}
	corr := b.divide(covariance, interval(math.Sqrt(over.lo), math.Sqrt(over.hi)))
	if !corr.bounded {
		return bounds{}
	}
	lo, hi := min(max(corr.lo, -1), 1), max(min(corr.hi, 1), -1)
	switch {
	case p.Of == Corr:
		return interval(lo, hi)
	case lo > 0 || hi < 0:
		return interval(min(lo*lo, hi*hi), max(lo*lo, hi*hi))
	}
	return interval(0, max(lo*lo, hi*hi))
}

// spread returns the largest standard deviation that the range of the values allows.
func (m Mean) spread() float64 {
	if !m.Range.Known {
		return 0
	}
	lo, hi := m.ends()
	return hi/2 - lo/2
}

// scaled encloses the products of two values. It is unbounded if one is.
func scaled(x, y bounds) bounds {
	if !x.bounded || !y.bounded {
		return bounds{}
	}
	return enclosing(x.lo*y.lo, x.lo*y.hi, x.hi*y.lo, x.hi*y.hi)
}
