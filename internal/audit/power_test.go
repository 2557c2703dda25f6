package audit

import (
	"context"
	"math"
	"sort"
	"testing"
)

// twinMiss is 1 − confidence of the audits in tests.
const twinMiss = 1e-7

// twin is a mechanism that is broken on purpose. It claims what the correct one keeps.
// The probabilities of its Suspect are known exactly, p on the database that favours it
// and q on the other.
type twin struct {
	Case
	p, q float64
}

// loss returns the loss that the suspect shows, a lower bound on the true ε of
// the twin at the claim's δ.
func (w twin) loss() float64 { return math.Log((w.p - w.Claim.Delta) / w.q) }

// mustCatch audits a twin and fails unless a violation is found. The suspect must
// show a loss of at least 1.5 times the claim, and be as frequent as was computed,
// by limits that fail with probability 4e-8. mustCatch makes just as many runs as
// the audit needs to miss the twin with probability 1e-6 at most. It logs what the
// audit finds without being told the suspect.
func mustCatch(t *testing.T, w twin) {
	t.Helper()
	if w.loss() < 1.5*w.Claim.Epsilon {
		t.Fatalf("%s: the event shows a loss of %.3f only, for a claim of %.3f", w.Name, w.loss(), w.Claim.Epsilon)
	}
	runs, rate := w.runs()
	if rate > 1e-6 {
		t.Fatalf("%s: %d runs are too few to be sure (p = %.4g, q = %.4g, loss %.3f)", w.Name, runs, w.p, w.q, w.loss())
	}
	on, off := mustSample(t, w.Case, runs)
	w.checkShares(t, on, off)
	bound, event := w.examine(on, off, twinMiss)
	blind := w.Case
	blind.Suspect = nil
	unaided, _ := blind.examine(on, off, twinMiss)
	t.Logf("%s: claim %.2f, true loss ≥ %.3f, bound %.3f (not told the event: %.3f), %d runs, missed ≤ %.0g; %s, ≥ %.4f against ≤ %.4f",
		w.Name, w.Claim.Epsilon, w.loss(), bound, unaided, runs, rate, event.What, event.Low, event.High)
	if bound <= w.Claim.Epsilon {
		t.Errorf("%s: not caught: bound %.3f", w.Name, bound)
	}
}

func mustSample(t *testing.T, c Case, runs int) (on, off []Output) {
	t.Helper()
	on, off, err := c.sample(context.Background(), runs, func(int) {})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return on, off
}

// checkShares compares the exact probabilities with the frequencies. The database that
// favours the event is the one on which it is more frequent.
func (w twin) checkShares(t *testing.T, on, off []Output) {
	t.Helper()
	share := func(sample []Output) (n int64) {
		for _, o := range sample {
			if w.Suspect(o) {
				n++
			}
		}
		return n
	}
	x, y, n := share(on), share(off), int64(len(on))
	if y > x {
		x, y = y, x
	}
	if w.p < lower(x, n, 1e-8) || w.p > upper(x, n, 1e-8) || w.q < lower(y, n, 1e-8) || w.q > upper(y, n, 1e-8) {
		t.Errorf("%s: %d and %d of %d runs, computed probabilities %v and %v", w.Name, x, y, n, w.p, w.q)
	}
}

// maxTwinRuns bounds the runs of a twin.
const maxTwinRuns = 1_000_000

// runs returns how often the twin has to run on each database, to an eighth. It also
// returns the bound on the probability that the audit then misses it.
func (w twin) runs() (n int, missRate float64) {
	for n = MinRuns; n < maxTwinRuns; n += n / 8 {
		if missRate = w.missRate(int64(n)); missRate <= 1e-6 {
			break
		}
	}
	return n, missRate
}

// missRate bounds the probability that the audit misses the twin with n runs on each
// database; 1 stands for no bound. Except in two tails, the suspect's counts are no
// worse than two counts that give a bound above the claim. Each of four events has a
// quarter of twinMiss, and each of its limits half of that. (A chosen event that does
// better can only help.)
func (w twin) missRate(n int64) float64 {
	const tail, alpha = 1e-8, twinMiss / 8
	low, high := lower(fewest(n, w.p, tail), n, alpha), upper(most(n, w.q, tail), n, alpha)
	if epsilon(low, high, w.Claim.Delta) <= w.Claim.Epsilon {
		return 1
	}
	return 2 * tail
}

// fewest returns the largest x with P(Bin(n, p) < x) ≤ tail, and most the
// smallest with P(Bin(n, p) > x) ≤ tail.
func fewest(n int64, p, tail float64) int64 {
	mean := int64(float64(n) * p)
	return int64(sort.Search(int(mean), func(x int) bool { return atMost(int64(x), n, p) > tail }))
}

func most(n int64, p, tail float64) int64 {
	mean := int64(float64(n)*p) + 1
	return mean + int64(sort.Search(int(n-mean), func(x int) bool {
		return x+int(mean) >= int(n) || atLeast(mean+int64(x)+1, n, p) <= tail
	}))
}
