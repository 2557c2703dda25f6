package smw

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/query"
)

// analyst asks what the hypothesis is most wrong about, as if it knew the rows,
// most of which are alike.
type analyst struct {
	space
	rows map[int]int64 // by place in the pool
	n    int64
}

func newAnalyst(t *testing.T, r *rand.Rand, maxWeight int64) analyst {
	a := analyst{space: codedSpace(t, r, maxWeight), rows: map[int]int64{}}
	for x, share := range skewed(r, len(a.pool)) {
		a.rows[x] = int64(share * 30_000)
	}
	a.rows[r.IntN(len(a.pool))] += 50_000
	a.rows[len(a.pool)-1] += 120_000 // of the largest weight
	for _, n := range a.rows {
		a.n += n
	}
	return a
}

func (a analyst) count(q query.Query) (c int64) {
	for x, tuple := range a.pool {
		c += q.Weight(tuple) * a.rows[x]
	}
	return c
}

func (a analyst) worst(h *Hypothesis) (q query.Query, c int64) {
	off := int64(-1)
	for range 20 {
		p := a.any()
		n := a.count(p)
		if d := abs(n - h.Count(p)); d > off {
			q, c, off = p, n, d
		}
	}
	return q, c
}

// TestAlphaKeepsItsPromise lets such an analyst ask mechanisms that were planned
// for an alpha, with an N̂ as far off as it may be: no answer is further off than
// alpha of the rows, and the runs suffice. False-failure rate: β = 1e-7 each, 8e-7.
func TestAlphaKeepsItsPromise(t *testing.T) {
	r := newRand(t)
	for i := range 8 {
		const e, beta = 2000, 1e-7
		weight, rule := []int64{1, 3}[i&1], []Update{Projection, Paper}[i>>1&1]
		a := newAnalyst(t, r, weight)
		nHat := a.n + []int64{-e, e}[i>>2]
		p := must(Plan(Request{
			Alpha: 0.25, MaxSupport: uint64(len(a.pool)), Queries: 200, Beta: beta, NHat: nHat, NHatBound: e,
			UniverseSize: big.NewInt(int64(len(a.pool))), Sensitivity: 1 + int64(i&1), MaxWeight: weight, Update: rule,
			Remeasure: i == 3 || i == 4, RunEpsilon: shareOf(2),
		}))(t)
		h, src := NewHypothesis(p, a.u, nil), newSource(r)
		var run *Run
		runs, worst := int64(0), int64(0)
		for range p.Queries {
			if run == nil {
				next := must(StartRun(p, src))(t)
				run = &next
				runs++
			}
			q, c := a.worst(h)
			answer := h.Count(q)
			out := must(run.Test(c, answer, src))(t)
			if out.Fired {
				answer, run = out.Noisy, nil
				if err := h.Update(q, out.Noisy); err != nil {
					t.Fatal(err)
				}
			}
			worst = max(worst, abs(answer-c))
		}
		whole := float64(a.n * weight)
		t.Logf("%s, W = %d, N̂ − n = %d: %d updates of %d, T = %d, x = %d; off by %.3f at most", rule, weight, nHat-a.n,
			h.Updates(), p.Updates, p.Threshold, p.Bound, float64(worst)/whole)
		if runs > p.Updates || float64(worst) > p.Alpha*whole || h.Updates() == 0 {
			t.Errorf("%d runs of %d, off by %.3f, %d updates", runs, p.Updates, float64(worst)/whole, h.Updates())
		}
	}
}
