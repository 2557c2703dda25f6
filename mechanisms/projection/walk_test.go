package projection

import "testing"

// TestPlacesOfProgressions compares walks with single evaluations, of as many
// points as make thousands of places undecided where there are many rows.
func TestPlacesOfProgressions(t *testing.T) {
	src, random := seeded(t)
	for _, rows := range []uint64{1, 3, 1 << 10, 1 << 23, 1<<23 + 12345, MaxRows} {
		c, err := drawCountSketch(rows, true, src)
		if err != nil {
			t.Fatal(err)
		}
		c.half = c.sign.halved()
		for _, stride := range []uint64{1, 2, 1200, 1 << 33, random.Uint64N(1 << 40)} {
			for _, n := range []int{0, 1, 2, shortWalk - 1, shortWalk, 100, maxWalk, maxWalk + 1, 10_000} {
				for _, start := range []uint64{prime - 1 - 10_000*stride, prime - 1} { // the latter runs over the modulus
					got := make([]place, n)
					s := powersOf(stride)
					after := c.places(got, start, &s)
					x := start
					for i, p := range got {
						if want := c.atPoint(x); p != want {
							t.Fatalf("%d rows, place %d of %d at distance %d: %x, want %x", rows, i, n, stride, p, want)
						}
						x = addMod(x, stride)
					}
					if after != x {
						t.Fatalf("%d points at distance %d end at %d, not %d", n, stride, after, x)
					}
				}
			}
		}
	}
}

// TestWalkStops checks that a walk ends before a place that it cannot tell.
func TestWalkStops(t *testing.T) {
	c := &countSketch{rows: 1 << 10}
	for _, k := range []struct {
		bucket, sign walk
		steps        int
	}{
		{walk{1 << 60}, walk{1 << 60}, 9},
		{walk{1<<60 - slack}, walk{1 << 60}, 0},
		{walk{1<<60 - slack - 1}, walk{1 << 60}, 9},
		{walk{1 << 60, 1<<53 - slack/2}, walk{1 << 60}, 2},
		{walk{1 << 60}, walk{1<<63 - slack}, 0},
		{walk{1 << 60}, walk{1<<63 - slack - 1}, 9},
		{walk{1 << 60}, walk{1 << 63}, 9},
		{walk{1 << 60}, walk{-slack & (1<<64 - 1)}, 0},
		{walk{1 << 60}, walk{0, 0, 1<<63 - slack}, 2},
	} {
		if n := c.steps(make([]place, 9), &k.bucket, &k.sign); n != k.steps {
			t.Errorf("%v, %v: %d steps, want %d", k.bucket, k.sign, n, k.steps)
		}
	}
}
