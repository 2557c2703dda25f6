package projection

import (
	"encoding/binary"
	"math/bits"

	"dpsql/noise"
	"dpsql/query"

	"github.com/dchest/siphash"
)

// prime is the Mersenne prime 2^61 − 1, above every code of a coded universe.
const prime = 1<<61 - 1

// independence of the count-sketch's hash functions, k = 4. What it buys: with
// signs that are 4-wise and buckets that are 2-wise independent an answer is
// unbiased over the seed, and its variance is exactly that under fully random
// hashing. It does not buy the law of the error beyond its variance, for which
// margins take what is seen in the sketch. More would cost time and buy no more.
const independence = 4

// polynomial is a random polynomial of degree below 4 over the integers modulo
// 2^61 − 1: its values at distinct points are 4-wise independent.
type polynomial [independence]uint64

func drawPolynomial(src *noise.Source) (p polynomial, err error) {
	for i := range p {
		if p[i], err = src.Below(prime); err != nil {
			return polynomial{}, err
		}
	}
	return p, nil
}

// at returns the value at x < 2^61 − 1. Only the last sum is reduced: with x in
// 61 bits and coefficients below p, a product of v takes it to less than
// v + 2^61, so that three steps end below 7·2^61.
func (p *polynomial) at(x uint64) uint64 {
	x <<= 3 // so that the high word of a product is its quotient by 2^61
	high, low := bits.Mul64(p[3], x)
	high, low = bits.Mul64(high+low>>3+p[2], x)
	high, low = bits.Mul64(high+low>>3+p[1], x)
	return fold(high + low>>3 + p[0])
}

// halved returns the polynomial of half the values, modulo 2^61 − 1.
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
	chained      bool // of a release stored under version 1
}

func drawCountSketch(rows uint64, coded bool, src *noise.Source) (*countSketch, error) {
	c := &countSketch{rows: rows, coded: coded}
	var err error
	if c.bucket, err = drawPolynomial(src); err != nil {
		return nil, err
	}
	if c.sign, err = drawPolynomial(src); err != nil {
		return nil, err
	}
	for i := range c.key {
		if c.key[i], err = src.Below(prime); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// reduced reports whether all that is a number modulo 2^61 − 1 is below it.
func (c *countSketch) reduced() bool {
	linear := !c.coded && !c.chained
	return c.bucket.reduced() && c.sign.reduced() && (!linear || max(c.key[0], c.key[1]) < prime)
}

// at returns the place of the only entry in the column of x.
func (c *countSketch) at(x query.Element) place {
	return c.atPoint(c.point(x))
}

// point returns the number below 2^61 − 1 that stands for a name.
func (c *countSketch) point(x query.Element) uint64 {
	switch {
	case c.coded:
		return x.Lo
	case c.chained:
		return c.hashed(x)
	}
	return c.inner(x)
}

func (c *countSketch) atPoint(x uint64) place { return c.place(c.bucket.at(x), c.sign.at(x)) }

// place returns the place that two hash values name.
func (c *countSketch) place(bucket, sign uint64) place {
	row, _ := bits.Mul64(bucket<<3, c.rows)
	return place(row | sign<<63)
}

// inner maps a 128-bit name below 2^61 − 1 by a random linear function of its
// halves: two names whose halves differ modulo 2^61 − 1 meet with probability
// 2^-61 (Carter and Wegman 1979). Names at one distance, as those of a box, have
// points at one distance.
func (c *countSketch) inner(x query.Element) uint64 {
	return addMod(mulMod(c.key[0], fold(x.Lo)), mulMod(c.key[1], fold(x.Hi)))
}

// fold returns x modulo 2^61 − 1.
func fold(x uint64) uint64 { return addMod(x&prime, x>>61) }

// hashed is inner for releases of version 1, by a keyed hash.
func (c *countSketch) hashed(x query.Element) uint64 {
	var name [16]byte
	binary.LittleEndian.PutUint64(name[:], x.Lo)
	binary.LittleEndian.PutUint64(name[8:], x.Hi)
	return siphash.Hash(c.key[0], c.key[1], name[:]) % prime
}
