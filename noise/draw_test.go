package noise

import (
	"math"
	"math/big"
	"testing"

	"dpsql/sqlerr"
)

func drawMany(t testing.TB, l Law, s *Source, n int) []int64 {
	t.Helper()
	draws := make([]int64, n)
	for i := range draws {
		x, err := l.Draw(s)
		if err != nil {
			t.Fatal(err)
		}
		draws[i] = x
	}
	return draws
}

// TestDraw checks the exact samplers against 17 laws. It would fail a correct
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
		checkLaw(t, l, drawMany(t, l, stream(t, 100+uint64(i)), law.draws))
	}
}

// TestBigPathsAgree draws from the same laws by uint64 and by big.Int; its
// false-failure rate is twice that of checkLaw, 8e-8.
func TestBigPathsAgree(t *testing.T) {
	lap := newLaplace(rat("5/2"))
	lap.fits = false
	checkLaw(t, lap, drawMany(t, lap, stream(t, 200), 50000))
	gauss := newGaussian(rat("17/3"))
	if gauss.fast == nil {
		t.Fatal("small parameters do not take the fast path")
	}
	gauss.fast = nil
	gauss.proposal.fits = false
	checkLaw(t, gauss, drawMany(t, gauss, stream(t, 201), 50000))
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
func drawUntilError(l Law, s *Source, limit int) ([]int64, error) {
	var draws []int64
	for range limit {
		x, err := l.Draw(s)
		if err != nil {
			if y, again := l.Draw(s); again != err || x != 0 || y != 0 {
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
	for _, l := range []Law{newLaplace(huge), newLaplace(big1), newGaussian(new(big.Rat).Mul(huge, huge))} {
		s := stream(t, 7)
		refused := 0
		for range 200 {
			_, err := l.Draw(s)
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
			t.Errorf("%s: %d of 200 draws refused", l, refused)
		}
	}
}
