package projection

// walk evaluates a polynomial at consecutive points by its differences: the
// third ones of a polynomial of degree 3 are constant, so a step is three
// additions where an evaluation is three multiplications.
type walk [independence]uint64

// walk returns the walk that begins at x, of which at least the next three
// points are below the modulus.
func (p *polynomial) walk(x uint64) walk {
	w := walk{p.at(x), p.at(x + 1), p.at(x + 2), p.at(x + 3)}
	for order := 1; order < independence; order++ {
		for i := independence - 1; i >= order; i-- {
			w[i] = addMod(w[i], prime-w[i-1])
		}
	}
	return w
}

// shortRun is the length below which a run is hashed point by point: eight
// evaluations begin a pair of walks.
const shortRun = 8

// places sets dst to the places of the codes from start on.
func (c *countSketch) places(dst []place, start uint64) {
	if len(dst) < shortRun {
		for i := range dst {
			dst[i] = c.atPoint(start + uint64(i))
		}
		return
	}
	bucket, sign := c.bucket.walk(start), c.sign.walk(start)
	b0, b1, b2, b3 := bucket[0], bucket[1], bucket[2], bucket[3]
	s0, s1, s2, s3 := sign[0], sign[1], sign[2], sign[3]
	for i := range dst {
		dst[i] = c.place(b0, s0)
		b0, b1, b2 = addMod(b0, b1), addMod(b1, b2), addMod(b2, b3)
		s0, s1, s2 = addMod(s0, s1), addMod(s1, s2), addMod(s2, s3)
	}
}
