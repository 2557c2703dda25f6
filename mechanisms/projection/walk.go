package projection

// walk evaluates a polynomial at points of equal distance by its differences:
// the third ones of a polynomial of degree 3 are constant, so a step is three
// additions where an evaluation is three multiplications.
type walk [independence]uint64

// walk returns the walk that begins at x, of which at least the next three
// points are below the modulus.
func (p *polynomial) walk(x, stride uint64) walk {
	w := walk{p.at(x), p.at(x + stride), p.at(x + 2*stride), p.at(x + 3*stride)}
	for order := 1; order < independence; order++ {
		for i := independence - 1; i >= order; i-- {
			w[i] = addMod(w[i], prime-w[i-1])
		}
	}
	return w
}

// placesOf sets dst to the places of the points. Those of a universe with codes
// ascend, and often at one distance.
func (c *countSketch) placesOf(dst []place, points []uint64) {
	if !c.coded {
		for i, x := range points {
			dst[i] = c.atPoint(x)
		}
		return
	}
	for len(points) > 0 {
		n, stride := progression(points)
		c.places(dst[:n], points[0], stride)
		points, dst = points[n:], dst[n:]
	}
}

// progression returns how many of the codes, which ascend, are at one distance
// from each other, and the distance.
func progression(codes []uint64) (n int, stride uint64) {
	if len(codes) < 2 {
		return len(codes), 1
	}
	stride = codes[1] - codes[0]
	for n = 2; n < len(codes) && codes[n]-codes[n-1] == stride; n++ {
	}
	return n, stride
}

// shortRun is the length below which a run is hashed point by point: eight
// evaluations begin a pair of walks.
const shortRun = 8

// places sets dst to the places of the codes start, start + stride, and so on.
func (c *countSketch) places(dst []place, start, stride uint64) {
	if len(dst) < shortRun {
		for i := range dst {
			dst[i] = c.atPoint(start + uint64(i)*stride)
		}
		return
	}
	bucket, sign := c.bucket.walk(start, stride), c.sign.walk(start, stride)
	b0, b1, b2, b3 := bucket[0], bucket[1], bucket[2], bucket[3]
	s0, s1, s2, s3 := sign[0], sign[1], sign[2], sign[3]
	for i := range dst {
		dst[i] = c.place(b0, s0)
		b0, b1, b2 = addMod(b0, b1), addMod(b1, b2), addMod(b2, b3)
		s0, s1, s2 = addMod(s0, s1), addMod(s1, s2), addMod(s2, s3)
	}
}
