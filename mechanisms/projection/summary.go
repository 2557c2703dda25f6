package projection

import "math/bits"

// summary is what margins need to know of a noisy sketch û.
type summary struct {
	meanSquare float64   // V = mean û²
	kurtosis   float64   // mean û⁴/V² − 3, 0 for a normal law
	largest    int64     // max |û|
	atLeast    []float64 // by bin: the fraction of coordinates with |û| in it or in a later one
}

// exactBins is the number of absolute values that have a bin of their own;
// later bins are wider by at most 2^-11 of their values.
const exactBins = 1 << 12

// binOf returns the number of the bin of v >= 0.
func binOf(v int64) int {
	if v < exactBins {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - 12
	return shift<<11 + int(v>>shift)
}

// summarise reads the sketch once.
func summarise(v vector) summary {
	counts := make([]uint64, exactBins)
	var s summary
	var squares, fourths float64
	v.tally(func(x int64, times uint64) {
		square := float64(x) * float64(x)
		squares += square * float64(times)
		fourths += square * square * float64(times)
		x = max(x, -x)
		s.largest = max(s.largest, x)
		bin := binOf(x)
		if bin >= len(counts) {
			counts = append(counts, make([]uint64, bin+1-len(counts))...)
		}
		counts[bin] += times
	})
	n := float64(v.len())
	s.meanSquare = squares / n
	if squares > 0 {
		s.kurtosis = n*fourths/(squares*squares) - 3
	}
	s.atLeast = make([]float64, binOf(s.largest)+1)
	var above uint64
	for i := len(s.atLeast) - 1; i >= 0; i-- {
		above += counts[i]
		s.atLeast[i] = float64(above) / n
	}
	return s
}

// tail returns the fraction of coordinates with |û| >= k, for k >= 0, rounded up
// to whole bins.
func (s *summary) tail(k int64) float64 {
	if k > s.largest {
		return 0
	}
	return s.atLeast[binOf(k)]
}

// coordinate returns the law of the error of one coordinate: what is seen in the
// sketch, symmetrised, or the noise where that is wider.
func (s *summary) coordinate(noise *coordinate) *coordinate {
	return &coordinate{
		tail:     func(k int64) float64 { return max(noise.tail(k), s.tail(k)) },
		variance: max(noise.variance, s.meanSquare),
		fourth:   max(noise.fourth, s.kurtosis*s.meanSquare*s.meanSquare),
	}
}
