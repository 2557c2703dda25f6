package baseline

import (
	"iter"
	"math"
	"slices"

	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
)

// Stability is the stability histogram. Only cells that hold a row get noise, and only
// those whose noisy count reaches a threshold are published; all others answer 0.
// Korolova, Kenthapadi, Mishra and Ntoulas, "Releasing Search Queries and Clicks
// Privately" (WWW 2009); Bun, Nissim and Stemmer, "Simultaneous Private Learning of
// Multiple Concepts" (ITCS 2016). With noise DLap(1/ε) and neighbours that differ in
// one row it is (ε, δ)-differentially private: the one cell that a row can bring into
// being is published with probability P(1 + DLap(1/ε) ≥ threshold) ≤ δ.
type Stability struct {
	codes []uint64 // of the published cells, ascending
	upTo  []int64  // upTo[i] is the sum of the first i counts
}

// StabilityThreshold returns the smallest threshold that δ allows,
// 1 + ⌈ln(1/((1+e^−ε)·δ))/ε⌉.
func StabilityThreshold(epsilon, delta float64) int64 {
	return 1 + int64(math.Ceil(math.Log(1/((1+math.Exp(-epsilon))*delta))/epsilon))
}

// NewStability publishes the cells of a coded universe. The cells must come by
// ascending code, and the law must be DLap(1/ε).
func NewStability(cells iter.Seq2[query.Element, int64], law law.Law, threshold int64, src *noise.Source) (*Stability, error) {
	s := &Stability{upTo: []int64{0}}
	for x, c := range cells {
		if c == 0 {
			continue
		}
		draw, err := noise.Draw(law, src)
		if err != nil {
			return nil, err
		}
		if c+draw >= threshold {
			s.codes = append(s.codes, x.Lo)
			s.upTo = append(s.upTo, s.upTo[len(s.upTo)-1]+c+draw)
		}
	}
	return s, nil
}

// Answer returns the sum of the published counts in the support.
func (s *Stability) Answer(q query.Query) (sum int64) {
	for r, w := range q.Runs() {
		first, _ := slices.BinarySearch(s.codes, r.Start)
		end, _ := slices.BinarySearch(s.codes, r.Start+r.Len)
		sum += w * (s.upTo[end] - s.upTo[first])
	}
	return sum
}
