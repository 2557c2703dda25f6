package noise

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// stream returns a deterministic source and logs its seed.
func stream(t testing.TB, seed uint64) *Source {
	t.Helper()
	t.Logf("ChaCha8 seed %d", seed)
	return NewSourceFrom(chacha(seed))
}

func chacha(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

func rat(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a rational: " + text)
	}
	return r
}

func mustParse(t testing.TB, text string) enclosed {
	t.Helper()
	l, err := ParseLaw(text)
	if err != nil {
		t.Fatal(err)
	}
	return l.(enclosed)
}

// checkLaw tests draws against the law: chi-squared over about 80 bins, the
// numbers of draws in eight tails, and the sum of the draws. It fails a correct
// sampler with probability 4e-8 at most: 3e-8 for the chi-squared test, made at
// 1e-8 as its approximation is not exact, 1e-9 for each tail by Chernoff, and 2e-9
// for the sum, held to 6 standard deviations. So a test may check 25 laws.
func checkLaw(t *testing.T, l Law, draws []int64) {
	t.Helper()
	checkChiSquared(t, l, draws)
	for _, p := range []float64{0.3, 1e-2, 1e-3, 1e-4} {
		checkTails(t, l, draws, p)
	}
	checkSum(t, l, draws)
}

func checkChiSquared(t *testing.T, l Law, draws []int64) {
	t.Helper()
	bins := newBins(l, float64(len(draws)))
	counts := make([]float64, len(bins))
	for _, x := range draws {
		for i, b := range bins {
			if b.from <= x && x <= b.to {
				counts[i]++
				break
			}
		}
	}
	var statistic float64
	for i, b := range bins {
		statistic += (counts[i] - b.expected) * (counts[i] - b.expected) / b.expected
	}
	p := distuv.ChiSquared{K: float64(len(bins) - 1)}.Survival(statistic)
	t.Logf("%s: chi-squared %.1f over %d bins, p = %.3g", l, statistic, len(bins), p)
	if p < 1e-8 {
		t.Errorf("%s: chi-squared test failed, p = %g", l, p)
	}
}

// A bin is a range of values with the expected number of draws in it.
type bin struct {
	from, to int64
	expected float64
}

// newBins cuts each side of the law into at most 40 bins of at least 20 (on a
// side with little mass: all of it) expected draws, so that no draw lies
// outside.
func newBins(l Law, n float64) []bin {
	bins := []bin{{0, 0, n * (1 - 2*l.Tail(1))}}
	side := l.Tail(1)
	least := max(side/40, 20/n)
	for from := int64(1); from != math.MaxInt64; {
		to := lastAbove(l, l.Tail(from)-least) // P(from <= X <= to) is at least this
		if l.Tail(to+1) < least {
			to = math.MaxInt64 - 1
		}
		mass := l.Tail(from) - l.Tail(to+1)
		bins = append(bins, bin{from, to, n * mass}, bin{-to, -from, n * mass})
		from = to + 1
	}
	if n*side < 20 { // too little for a side of its own
		return []bin{{0, 0, n * (1 - 2*side)}, {math.MinInt64, math.MaxInt64, 2 * n * side}}
	}
	return bins
}

// lastAbove returns the smallest k with Tail(k+1) <= p.
func lastAbove(l Law, p float64) int64 {
	lo, hi := int64(-1), int64(math.MaxInt64-1)
	for hi-lo > 1 {
		middle := lo + (hi-lo)/2
		if l.Tail(middle+1) <= p {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi
}

// checkTails compares the number of draws at or beyond the k whose tail is
// about p, on both sides, with what chance allows.
func checkTails(t *testing.T, l Law, draws []int64, p float64) {
	t.Helper()
	k := max(1, lastAbove(l, p))
	var up, down float64
	for _, x := range draws {
		if x >= k {
			up++
		}
		if x <= -k {
			down++
		}
	}
	n, tail := float64(len(draws)), l.Tail(k)
	for _, seen := range []float64{up, down} {
		if improbable(seen, n, tail) {
			t.Errorf("%s: %.0f of %.0f draws at or beyond ±%d, expected %.1f", l, seen, n, k, n*tail)
		}
	}
}

// improbable reports whether a share as far from p as that seen of n draws, on
// either side, has probability 1e-9 at most by the Chernoff bound
// P(share as far as seen) <= 2 exp(-n KL(share, p)).
func improbable(seen, n, p float64) bool { return n*divergence(seen/n, p) > math.Log(2e9) }

// divergence is the Kullback-Leibler divergence of two coins.
func divergence(a, b float64) float64 {
	term := func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return a * math.Log(a/b)
	}
	return term(a, b) + term(1-a, 1-b)
}

func checkSum(t *testing.T, l Law, draws []int64) {
	t.Helper()
	var sum float64
	for _, x := range draws {
		sum += float64(x)
	}
	n := float64(len(draws))
	// Below some 100 expected non-zero draws the sum is far from normal.
	if n*l.Tail(1) < 100 {
		return
	}
	if z := sum / math.Sqrt(n*l.Variance()); math.Abs(z) > 6 {
		t.Errorf("%s: the sum of %.0f draws is %.1f standard deviations from 0", l, n, z)
	}
}
