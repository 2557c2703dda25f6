package projection

import (
	"math/bits"

	"dpsql/noise/coin"
	"dpsql/query"
)

// prime is the Mersenne prime 2^61 − 1, above every code of a coded universe.
const prime = 1<<61 - 1

// independence is k = 4 of the count sketch's hash functions. Signs that are
// 4-wise and buckets that are 2-wise independent make an answer unbiased over
// the seed, with exactly the variance of fully random hashing. They do not
// determine the law of the error beyond its variance: margins take that from
// the sketch. More independence would cost time and gain nothing.
const independence = 4

// polynomial is a random polynomial of degree below 4 over the integers modulo
// 2^61 − 1: its values at distinct points are 4-wise independent.
type polynomial [independence]uint64

func drawPolynomial(random *coin.Source) (p polynomial, err error) {
	for i := range p {
		if p[i], err = random.Below(prime); err != nil {
			return polynomial{}, err
		}
	}
	return p, nil
}

// at returns the value at x < 2^61 − 1. Only the last sum is reduced. With x in
// 61 bits and coefficients below p, a product of v leads to less than v + 2^61,
// so three steps end below 7·2^61.
func (p *polynomial) at(x uint64) uint64 {
	x <<= 3 // so that the high word of a product is its quotient by 2^61
	high, low := bits.Mul64(p[3], x)
	high, low = bits.Mul64(high+low>>3+p[2], x)
	high, low = bits.Mul64(high+low>>3+p[1], x)
	return fold(high + low>>3 + p[0])
}

// halved returns the polynomial whose values are half those of p, modulo 2^61 −
// 1.
func (p *polynomial) halved() (h polynomial) {
	for i, c := range p {
		h[i] = mulMod(c, (prime+1)/2)
	}
	return h
}

// reduced reports whether every coefficient is below the modulus.
func (p *polynomial) reduced() bool {
	for _, c := range p {
		if c >= prime {
			return false
		}
	}
	return true
}

// mulMod returns a·b modulo 2^61 − 1 for reduced a and b.
func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return addMod(lo&prime, hi<<3|lo>>61)
}

// addMod returns a + b modulo 2^61 − 1 for a, b <= 2^61 − 1, reduced unless
// both are 2^61 − 1.
func addMod(a, b uint64) uint64 {
	s := a + b
	if s >= prime {
		s -= prime
	}
	return s
}

// countSketch is the matrix with one entry ±1 a column (Charikar, Chen and
// Farach-Colton 2002). Bucket and sign of a column come from two independent
// 4-wise independent functions; a bucket is the scaled hash value, so its
// probability is off 1/T by less than 2^-60.
type countSketch struct {
	bucket, sign polynomial
	half         polynomial // half of sign, for walks
	key          [2]uint64  // of the inner hash of names above 2^61 − 1
	rows         uint64
	coded        bool
}

func drawCountSketch(rows uint64, coded bool, random *coin.Source) (*countSketch, error) {
	c := &countSketch{rows: rows, coded: coded}
	var err error
	if c.bucket, err = drawPolynomial(random); err != nil {
		return nil, err
	}
	if c.sign, err = drawPolynomial(random); err != nil {
		return nil, err
	}
	for i := range c.key {
		if c.key[i], err = random.Below(prime); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// reduced reports whether all numbers that are taken modulo 2^61 − 1 are below
// it.
func (c *countSketch) reduced() bool {
	return c.bucket.reduced() && c.sign.reduced() && (c.coded || max(c.key[0], c.key[1]) < prime)
}

// at returns the row and the sign of the only entry in the column of x.
func (c *countSketch) at(x query.Element) signedRow {
	return c.atPoint(c.point(x))
}

// point returns the number below 2^61 − 1 that stands for a name.
func (c *countSketch) point(x query.Element) uint64 {
	if c.coded {
		return x.Lo
	}
	return c.inner(x)
}

func (c *countSketch) atPoint(x uint64) signedRow { return c.place(c.bucket.at(x), c.sign.at(x)) }

// place returns the row and the sign that two hash values stand for.
func (c *countSketch) place(bucket, sign uint64) signedRow {
	row, _ := bits.Mul64(bucket<<3, c.rows)
	return signedRow(row | sign<<63)
}

// inner maps a 128-bit name below 2^61 − 1 by a random linear function of its
// halves. Two names whose halves differ modulo 2^61 − 1 meet with probability
// 2^-61 (Carter and Wegman 1979). The names of a box are at constant distances,
// and so are their points.
func (c *countSketch) inner(x query.Element) uint64 {
	return addMod(mulMod(c.key[0], fold(x.Lo)), mulMod(c.key[1], fold(x.Hi)))
}

// fold returns x modulo 2^61 − 1.
func fold(x uint64) uint64 { return addMod(x&prime, x>>61) }

// matrix is the public description of A. It is drawn before any cell is seen.
type matrix struct {
	key    [16]byte     // of the coder, for a universe without codes
	sketch *countSketch // Sparse
	signs  signs        // Dense
}

// newCoder returns the coder that names elements.
func (m *matrix) newCoder(u *query.Universe) query.Coder {
	return query.NewCoder(u, m.key)
}

// drawMatrix draws the description of a matrix for the parameters.
func drawMatrix(u *query.Universe, p Params, random *coin.Source) (matrix, error) {
	var m matrix
	if err := random.Bytes(m.key[:]); err != nil {
		return matrix{}, err
	}
	var err error
	switch p.Transform {
	case Sparse:
		m.sketch, err = drawCountSketch(p.Rows, u.Coded(), random)
	case Dense:
		m.signs, err = drawSigns(p.Independence, random)
	}
	return m, err
}

// walk evaluates a polynomial at the points of a progression by its differences.
// The third differences of a polynomial of degree 3 are constant, so a step is
// three additions, where an evaluation is three multiplications.
//
// It works in fractions of the modulus p: a value v is kept as about 2^64·v/p,
// so that additions modulo p are machine additions. Rounding (see slack) leaves
// a row undecided once in some hundred thousand steps. Such a row is computed
// exactly.
//
// It saves a third of the time of an answer over many elements, 29 ms instead
// of 42 at m = 2^20, and so of every statement whose groups add up to as many
// (go test -bench 'BenchmarkAnswer/m=1048576_in_runs').
type walk [independence]uint64

// maxWalk is the number of points of a walk.
const maxWalk = 256

// slack bounds the error of a fraction in a walk. Each difference is rounded
// down by less than 2 units. After n < 256 steps the errors add up to less than
// 2·(1 + n + C(n,2) + C(n,3)) < 2^22.5. Taking 2^64·v/p for 8v loses 8 more
// units. So the exact number lies in [fraction, fraction + slack).
const slack = 1 << 23

// fraction returns 2^64·v/p, rounded down by less than 2 units.
func fraction(v uint64) uint64 { return v<<3 | v>>58 }

// walk returns the walk from x in steps of the stride.
func (p *polynomial) walk(x uint64, s *powers) walk {
	u0, u1, u2, u3 := p.shifted(x)
	if s.one != 1 {
		u1, u2, u3 = mulMod(u1, s.one), mulMod(u2, s.two), mulMod(u3, s.three)
	}
	double := addMod(u2, u2)
	six := addMod(addMod(u3, u3), u3)
	six = addMod(six, six)
	return walk{fraction(u0), fraction(addMod(addMod(u1, u2), u3)), fraction(addMod(double, six)), fraction(six)}
}

// shifted returns the coefficients of p(x + t), a polynomial in t.
func (p *polynomial) shifted(x uint64) (u0, u1, u2, u3 uint64) {
	cubic := mulMod(p[3], x)
	a := addMod(cubic, p[2])
	b := addMod(cubic, a)
	u2 = addMod(cubic, b)
	linear := mulMod(a, x)
	a = addMod(linear, p[1])
	u1 = addMod(a, mulMod(b, x))
	return addMod(mulMod(a, x), p[0]), u1, u2, p[3]
}

// powers are the first three powers of a distance modulo 2^61 − 1.
type powers struct{ one, two, three uint64 }

func powersOf(stride uint64) powers {
	if stride == 1 {
		return powers{1, 1, 1}
	}
	two := mulMod(stride, stride)
	return powers{stride, two, mulMod(two, stride)}
}

// shortWalk is the length below which points are evaluated one by one.
const shortWalk = 6

// powers returns the powers of the distance between the points of two names
// that differ by stride.
func (c *countSketch) powers(stride uint64) powers {
	if c.coded {
		return powersOf(stride)
	}
	return powersOf(mulMod(c.key[0], stride))
}

// places sets dst to the rows of a progression of points from start on, modulo
// p, and returns the point after the last. s holds the powers of their
// distance.
func (c *countSketch) places(dst []signedRow, start uint64, s *powers) uint64 {
	for len(dst) >= shortWalk {
		bucket, sign := c.bucket.walk(start, s), c.half.walk(start, s)
		bucket[0] -= 8
		n := c.steps(dst[:min(len(dst), maxWalk)], &bucket, &sign)
		dst, start = dst[n:], addMod(start, mulMod(uint64(n), s.one))
		if n < maxWalk && len(dst) > 0 { // undecided
			dst[0] = c.atPoint(start)
			dst, start = dst[1:], addMod(start, s.one)
		}
	}
	for i := range dst {
		dst[i] = c.atPoint(start)
		start = addMod(start, s.one)
	}
	return start
}

// steps sets dst to the rows along a pair of walks, up to the first undecided one,
// and returns their number. The first walk gives the bucket. The second gives the
// sign, which is the lowest bit of a value v: it walks the halves of the values
// modulo p, and v is odd where its half, (v + p)/2, is above p/2.
func (c *countSketch) steps(dst []signedRow, bucket, sign *walk) int {
	b0, b1, b2, b3 := bucket[0], bucket[1], bucket[2], bucket[3]
	s0, s1, s2, s3 := sign[0], sign[1], sign[2], sign[3]
	rows := c.rows
	decided := -(slack * rows)
	for i := range dst {
		row, rest := bits.Mul64(b0, rows)
		if rest >= decided || s0<<1 >= -(2*slack)&(1<<64-1) {
			return i
		}
		dst[i] = signedRow(row | s0&(1<<63))
		b0, b1, b2 = b0+b1, b1+b2, b2+b3
		s0, s1, s2 = s0+s1, s1+s2, s2+s3
	}
	return len(dst)
}
