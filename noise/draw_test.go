package noise

import (
	"cmp"
	"encoding/binary"
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/noise/law"
	"dpsql/noise/law/lawtest"
	"dpsql/sqlerr"
)

var long = flag.Bool("long", false, "draw as much as .ci/run does")

// sized returns the size of a campaign, small by default and full with -long.
func sized(small, full int) int {
	if *long {
		return full
	}
	return small
}

func drawMany(t testing.TB, l law.Law, s *Source, n int) []int64 {
	t.Helper()
	return drawEach(t, Of(l).Draw, s, n)
}

func drawEach(t testing.TB, draw func(*Source) (int64, error), s *Source, n int) []int64 {
	t.Helper()
	draws := make([]int64, n)
	for i := range draws {
		x, err := draw(s)
		if err != nil {
			t.Fatal(err)
		}
		draws[i] = x
	}
	return draws
}

// TestDraw checks the exact samplers against 17 laws, with a quarter of the draws unless -long is given. It would fail a correct
// sampler with probability 7e-7, by checkLaw; the seeds are fixed.
func TestDraw(t *testing.T) {
	laws := []struct {
		text  string
		draws int
	}{
		{"dlap(1/100)", 50000},
		{"dlap(3/10)", 200000},
		{"dlap(1)", 200000},
		{"dlap(5/2)", 200000},
		{"dlap(1000/37)", 200000},
		{"dlap(12345677/1000)", 100000},
		{"dlap(1000000)", 100000},
		{"dlap(1000000000000000000000000000001/1000000000000000000)", 30000}, // 1e12, big
		{"dlap(25000000000000000000000000000001/10000000000000000000000000000000)", 30000},
		{"dgauss(1/100)", 50000},
		{"dgauss(1/4)", 200000},
		{"dgauss(1)", 200000},
		{"dgauss(17/3)", 200000},
		{"dgauss(10007/100)", 100000},
		{"dgauss(1000000000000)", 100000}, // sigma = 1e6
		{"dgauss(17000000000000000003/3000000000000000000)", 30000},
		{"dgauss(1000000000000000000000001)", 30000}, // sigma = 1e12, big
	}
	for i, law := range laws {
		l := mustParse(t, law.text)
		checkLaw(t, l, drawMany(t, l, stream(t, 100+uint64(i)), sized(law.draws/4, law.draws)))
	}
}

// TestBigPathsAgree draws from the same laws by uint64 and by big.Int; its
// false-failure rate is twice that of checkLaw, 8e-8.
func TestBigPathsAgree(t *testing.T) {
	lap := newExactLaplace(lawtest.Rat("5/2"))
	lap.fits = false
	checkLaw(t, mustParse(t, "dlap(5/2)"), drawEach(t, lap.draw, stream(t, 200), 50000))
	gauss := newExactGaussian(lawtest.Rat("17/3"))
	if gauss.fast == nil {
		t.Fatal("small parameters do not take the fast path")
	}
	gauss.fast = nil
	gauss.proposal.fits = false
	checkLaw(t, mustParse(t, "dgauss(17/3)"), drawEach(t, gauss.draw, stream(t, 201), 50000))
}

// TestSquare: what fast.square returns is the square of keep, and it returns all that fit 64 bits.
func TestSquare(t *testing.T) {
	for _, sigma2 := range []string{"1/4", "1", "17/3", "10007/100", "1000000", "1000000000"} {
		g := newExactGaussian(lawtest.Rat(sigma2))
		for power := range 64 {
			for _, y := range []uint64{1<<power - 1, 1 << power, 1<<power + 1} {
				want := new(big.Int).SetUint64(y)
				want.Sub(want.Mul(want, g.step), g.n)
				want.Mul(want, want)
				fits := want.IsUint64() && new(big.Int).Mul(g.step, new(big.Int).SetUint64(y)).IsUint64()
				if got, ok := g.fast.square(y); ok != fits || ok && got != want.Uint64() {
					t.Errorf("σ² = %s, y = %d: %d, %v, want %s", sigma2, y, got, ok, want)
				}
			}
		}
	}
}

// TestBernoulliExp compares 16 shares with exp(-n/d): a false-failure rate of
// 1.6e-8, by improbable.
func TestBernoulliExp(t *testing.T) {
	s := stream(t, 5)
	const draws = 50000
	for _, c := range []struct{ n, d uint64 }{
		{0, 1}, {1, 1}, {1, 2}, {7, 3}, {1, 1 << 63}, {1<<63 + 1, 1 << 63}, {1 << 62, math.MaxUint64}, {3, 1},
	} {
		want := math.Exp(-float64(c.n) / float64(c.d))
		var small, large float64
		for range draws {
			a, errA := s.bernoulliExp(c.n, c.d)
			b, errB := s.bernoulliExpBig(new(big.Int).SetUint64(c.n), new(big.Int).SetUint64(c.d))
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if a {
				small++
			}
			if b {
				large++
			}
		}
		for _, seen := range []float64{small, large} {
			if want == 1 && seen != draws || want < 1 && improbable(seen, draws, want) {
				t.Errorf("exp(-%d/%d): %v of %d, want %.4f of them", c.n, c.d, seen, draws, want)
			}
		}
	}
}

// TestDrawSurfacesReadErrors cuts the stream at every byte position: each
// sampler must give the draws of the whole stream up to the cut, then an error
// for good.
func TestDrawSurfacesReadErrors(t *testing.T) {
	for _, text := range []string{
		"dlap(1/100)", "dlap(5/2)", "dlap(100000000000000000000001/10000000000000000000000)",
		"dgauss(1/100)", "dgauss(17/3)", "dgauss(1700000000000000000000003/3)",
	} {
		l := mustParse(t, text)
		whole := drawMany(t, l, NewSourceFrom(chacha(6)), 400)
		before := 0
		for cut := range 1200 {
			got, err := drawUntilError(l, failAfter(6, cut, 1+cut%9), len(whole))
			if sqlerr.CodeOf(err) != sqlerr.IO {
				t.Fatalf("%s, cut at %d: error %v after %d draws, want code io", text, cut, err, len(got))
			}
			if len(got) < before {
				t.Fatalf("%s, cut at %d: %d draws, fewer than %d before", text, cut, len(got), before)
			}
			before = len(got)
			for i, x := range got {
				if x != whole[i] {
					t.Fatalf("%s, cut at %d: draw %d is %d, want %d", text, cut, i, x, whole[i])
				}
			}
		}
		if before == 0 {
			t.Errorf("%s: no draw from 1200 bytes", text)
		}
	}
}

// drawUntilError draws until the first error and checks that it stays.
func drawUntilError(l law.Law, s *Source, limit int) ([]int64, error) {
	var draws []int64
	for range limit {
		x, err := Draw(l, s)
		if err != nil {
			if y, again := Draw(l, s); again != err || x != 0 || y != 0 {
				return draws, nil
			}
			return draws, err
		}
		draws = append(draws, x)
	}
	return draws, nil
}

func TestQuotient(t *testing.T) {
	for _, c := range []struct {
		u, t, v, d uint64
		want       int64
		ok         bool
	}{
		{0, 5, 0, 2, 0, true},
		{4, 5, 3, 2, 9, true},
		{math.MaxUint64 - 1, math.MaxUint64, 1, 2, math.MaxInt64, false}, // (2^65-3)/2 > max
		{0, 1 << 32, 1 << 32, 3, 6148914691236517205, true},
		{0, 1 << 32, 1 << 32, 2, 0, false}, // 2^63
		{1<<32 - 1, 1 << 32, 1<<32 - 1, 2, math.MaxInt64, true},
		{0, math.MaxUint64, math.MaxUint64, 1, 0, false},
	} {
		got, err := quotient(c.u, c.t, c.v, c.d)
		if (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("quotient(%d, %d, %d, %d) = %d, %v; want %d, ok %v", c.u, c.t, c.v, c.d, got, err, c.want, c.ok)
		}
	}
}

// TestDrawNeverWraps draws from laws that the constructors refuse, whose draws
// mostly lie outside int64.
func TestDrawNeverWraps(t *testing.T) {
	huge := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 70))
	big1 := new(big.Rat).SetInt(new(big.Int).SetUint64(1 << 63))
	for name, draw := range map[string]func(*Source) (int64, error){
		"dlap(2^70)": newExactLaplace(huge).draw, "dlap(2^63)": newExactLaplace(big1).draw,
		"dgauss(2^140)": newExactGaussian(new(big.Rat).Mul(huge, huge)).draw,
	} {
		s := stream(t, 7)
		refused := 0
		for range 200 {
			_, err := draw(s)
			if err == nil {
				continue
			}
			if sqlerr.CodeOf(err) != sqlerr.Internal {
				t.Fatal(err)
			}
			refused++
		}
		// At scale 2^63 a draw is refused with probability 0.37, at the others
		// nearly always: 35 of 200 or fewer have probability 3e-9.
		if refused <= 35 {
			t.Errorf("%s: %d of 200 draws refused", name, refused)
		}
	}
}

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

func mustParse(t testing.TB, text string) law.Enclosed {
	t.Helper()
	l, err := law.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l.(law.Enclosed)
}

// checkLaw tests draws against the law: chi-squared over about 80 bins, the
// numbers of draws in eight tails, and the sum of the draws. It fails a correct
// sampler with probability 4e-8 at most: 3e-8 for the chi-squared test, made at
// 1e-8 as its approximation is not exact, 1e-9 for each tail by Chernoff, and 2e-9
// for the sum, held to 6 standard deviations. So a test may check 25 laws.
func checkLaw(t *testing.T, l law.Law, draws []int64) {
	t.Helper()
	checkChiSquared(t, l, draws)
	for _, p := range []float64{0.3, 1e-2, 1e-3, 1e-4} {
		checkTails(t, l, draws, p)
	}
	checkSum(t, l, draws)
}

func checkChiSquared(t *testing.T, l law.Law, draws []int64) {
	t.Helper()
	bins := newBins(l, float64(len(draws)))
	counts := inBins(bins, draws)
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

// inBins returns how many draws are in each of the bins, in their order.
func inBins(bins []bin, draws []int64) []float64 {
	counts := make([]float64, len(bins))
	for _, x := range draws {
		i := sort.Search(len(bins), func(i int) bool { return bins[i].to >= x })
		for bins[i].from > x { // in the bin of both sides
			i++
		}
		counts[i]++
	}
	return counts
}

// A bin is a range of values with the expected number of draws in it.
type bin struct {
	from, to int64
	expected float64
}

// newBins cuts each side of the law into at most 40 bins of at least 20 (on a
// side with little mass: all of it) expected draws, so that no draw lies
// outside. They are in ascending order.
func newBins(l law.Law, n float64) []bin {
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
	slices.SortFunc(bins, func(a, b bin) int { return cmp.Compare(a.to, b.to) })
	if n*side < 20 { // too little for a side of its own
		return []bin{{0, 0, n * (1 - 2*side)}, {math.MinInt64, math.MaxInt64, 2 * n * side}}
	}
	return bins
}

// lastAbove returns the smallest k with Tail(k+1) <= p.
func lastAbove(l law.Law, p float64) int64 {
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
func checkTails(t *testing.T, l law.Law, draws []int64, p float64) {
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

func checkSum(t *testing.T, l law.Law, draws []int64) {
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
