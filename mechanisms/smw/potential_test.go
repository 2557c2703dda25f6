package smw

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpsql/query"
)

// TestProjectionLowersThePotential runs hypotheses as alpha plans do, with T from
// the smallest, 3(x+e), to ten times that, on random databases, with the noisy
// counts as far off as the plan allows, and measures the relative entropy from the database before and after each update
// that the private test could cause: it falls by γ²/4 at least, replays
// included, for 0/1 queries and weighted ones.
func TestProjectionLowersThePotential(t *testing.T) {
	r := newRand(t)
	updates, weighted, least := 0, 0, math.Inf(1)
	for i := range 60 {
		s := codedSpace(t, r, []int64{1, 3}[i%2])
		p := testParams(uint64(len(s.pool)), Projection, s.maxWeight)
		p.NHat = 1e9
		share := 0.005 + 0.05*r.Float64() // of N̂·W
		p.Floor = int64(share * p.mass())
		p.Replay = 3 * p.Floor
		p.Threshold = p.Replay + []int64{0, r.Int64N(7 * p.Floor)}[i/2%2]
		p.Alpha = float64(p.Threshold+p.Floor) / p.mass()
		gamma := float64(p.Threshold-p.Floor) / p.mass()
		data := skewed(r, len(s.pool))
		h, reader := NewHypothesis(p, s.u, nil), newTwin(len(s.pool), p.MaxWeight, s.pool)
		for range 300 {
			q := s.any()
			truth := 0.0
			for x, qx := range reader.support(q) {
				truth += qx * data[x]
			}
			off := []float64{-0.999, 0.999, 2*r.Float64() - 1}[r.IntN(3)] * share
			noisy := int64((truth + off) * p.mass())
			if abs(noisy-h.Count(q)) < p.Threshold { // it would not have fired
				continue
			}
			before := entropy(s, data, h)
			if err := h.Update(q, noisy); err != nil {
				t.Fatal(err)
			}
			least = min(least, (before-entropy(s, data, h))/(gamma*gamma/4))
			updates++
			if q.MaxWeight() > 1 {
				weighted++
			}
		}
	}
	t.Logf("%d updates, %d of them by weighted queries; smallest fall %.2f of γ²/4", updates, weighted, least)
	if least < 1 || weighted == 0 || weighted == updates {
		t.Error("an update lowers the potential by less than γ²/4, or the test shows nothing")
	}
}

func abs(n int64) int64 { return max(n, -n) }

// skewed returns a random database, normalised.
func skewed(r *rand.Rand, n int) []float64 {
	data, total := make([]float64, n), 0.0
	for x := range data {
		data[x] = math.Pow(r.Float64(), 8)
		total += data[x]
	}
	for x := range data {
		data[x] /= total
	}
	return data
}

// entropy is Ψ for s = |X|: the relative entropy from the database to the
// hypothesis.
func entropy(s space, data []float64, h *Hypothesis) float64 {
	psi := 0.0
	for x, tuple := range s.pool {
		q := query.All(s.u)
		for i, v := range tuple {
			q, _ = q.And(query.Where(s.u, i, s.u.Columns()[i].Domain.Of(v)))
		}
		if data[x] > 0 {
			psi += data[x] * math.Log(data[x]/(h.Value(q)*float64(h.params.MaxWeight)))
		}
	}
	return psi
}
