package projection

import "math/bits"

// A walk evaluates a polynomial at the points of a progression by its
// differences: the third ones of a polynomial of degree 3 are constant, so a
// step is three additions where an evaluation is three multiplications.
//
// It does so in fractions of the modulus p: a value v stands as about
// 2^64·v/p, so that the additions modulo p are those of the machine. What
// rounding costs, see slack, leaves a place undecided once in some hundred
// thousand steps; that one is computed exactly.
type walk [independence]uint64

// maxWalk is the number of points of a walk.
const maxWalk = 256

// slack is above what a fraction in a walk is off. Each difference is rounded
// down by less than 2 units, and after n < 256 steps the errors add up to less
// than 2·(1 + n + C(n,2) + C(n,3)) < 2^22.5; 8 more units are lost where 2^64·v/p
// stands for 8v. So the exact number lies in [fraction, fraction + slack).
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

// powers are those of a stride modulo 2^61 − 1.
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

// powers returns those of what a step of a name moves its point by.
func (c *countSketch) powers(stride uint64) powers {
	if c.coded {
		return powersOf(stride)
	}
	return powersOf(mulMod(c.key[0], stride))
}

// places sets dst to the places of the points start, start + stride, and so on,
// modulo the modulus, and returns the point after them; s holds the stride's powers.
func (c *countSketch) places(dst []place, start uint64, s *powers) uint64 {
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

// steps sets dst to the places along a pair of walks, up to the first that is
// undecided, and returns their number. The second walk is that of the halves
// modulo p of the values whose lowest bit is the sign: a value v is odd where
// its half, (v + p)/2, is above p/2.
func (c *countSketch) steps(dst []place, bucket, sign *walk) int {
	b0, b1, b2, b3 := bucket[0], bucket[1], bucket[2], bucket[3]
	s0, s1, s2, s3 := sign[0], sign[1], sign[2], sign[3]
	rows := c.rows
	decided := -(slack * rows)
	for i := range dst {
		row, rest := bits.Mul64(b0, rows)
		if rest >= decided || s0<<1 >= -(2*slack)&(1<<64-1) {
			return i
		}
		dst[i] = place(row | s0&(1<<63))
		b0, b1, b2 = b0+b1, b1+b2, b2+b3
		s0, s1, s2 = s0+s1, s1+s2, s2+s3
	}
	return len(dst)
}
