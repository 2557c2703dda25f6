package projection

import (
	"slices"
	"testing"
)

// TestPlacesOfProgressions compares walks with single evaluations.
func TestPlacesOfProgressions(t *testing.T) {
	src, _ := seeded(t)
	c, err := drawCountSketch(1<<23, true, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, stride := range []uint64{1, 2, 1200, 1 << 40} {
		for _, n := range []int{0, 1, 2, shortRun - 1, shortRun, 100} {
			got, want := make([]place, n), make([]place, n)
			start := uint64(prime) - 1 - 200*stride
			c.places(got, start, stride)
			for i := range want {
				want[i] = c.atPoint(start + uint64(i)*stride)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d places at distance %d: %v, want %v", n, stride, got, want)
			}
		}
	}
}

func TestProgression(t *testing.T) {
	for _, c := range []struct {
		codes  []uint64
		n      int
		stride uint64
	}{
		{nil, 0, 1}, {[]uint64{7}, 1, 1}, {[]uint64{7, 9}, 2, 2}, {[]uint64{7, 9, 11}, 3, 2},
		{[]uint64{7, 9, 12, 15}, 2, 2}, {[]uint64{0, 5, 10, 15, 16}, 4, 5},
	} {
		if n, stride := progression(c.codes); n != c.n || stride != c.stride {
			t.Errorf("progression(%v) = %d, %d", c.codes, n, stride)
		}
	}
}
