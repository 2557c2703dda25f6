package audit

import (
	"context"
	"errors"
	"flag"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	google "github.com/google/differential-privacy/go/v3/noise"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"dpsql/internal/scratch"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/sqlerr"
)

// The tests draw from crypto/rand, as an audit does. There is no seed to log;
// each bound is logged with its event instead.
//
// False failures. A check that a bound does not exceed a true ε fails with
// probability holdMiss or twinMiss at most, and a check that a twin is caught with
// 6e-8 at most, however many runs it makes. No test makes more than a hundred of
// the first or ten of the second, so each fails with probability 1e-6 at most.

// holdMiss is 1 − confidence of the audits of mechanisms that keep their claims.
const holdMiss = 1e-8

// times makes mustHold look harder: it multiplies the runs of every mechanism that
// keeps its claim. With 20 they run more often than their broken twins in svt_test.go
// have to; .ci/long gives 50, and .ci/run 12.
var times = flag.Int("times", 1, "run each mechanism so many times as often")

// long runs the twins that take millions of runs to catch, and every position's noise. .ci/run gives it.
var long = flag.Bool("long", false, "run the campaigns too")

func TestMain(m *testing.M) {
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// campaign skips a test that takes seconds of processor time.
func campaign(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("a campaign: -long")
	}
}

// keptRuns is how often a mechanism that keeps its claim runs on each database by
// default, and keptGaps how often where a fault takes more runs to catch.
const keptRuns, keptGaps = MinRuns, 2 * MinRuns

// mustHold audits a mechanism that keeps its claim. It makes runs on each
// database, more with -times.
func mustHold(t *testing.T, c Case, runs int) {
	t.Helper()
	on, off := mustSample(t, c, *times*runs)
	bound, event := c.examine(on, off, holdMiss)
	t.Logf("%s, L = %d: claim (%.3f, %g), bound %.3f (%s: ≥ %.4f against ≤ %.4f)",
		c.Name, c.Unit, c.Claim.Epsilon, c.Claim.Delta, bound, event.What, event.Low, event.High)
	if bound > c.Claim.Epsilon {
		t.Errorf("%s, L = %d: bound %.3f above the claim %.3f", c.Name, c.Unit, bound, c.Claim.Epsilon)
	}
}

// TestMechanismsKeepTheirClaims audits every mechanism of dpsql for a unit of one row, and with -long
// for one of three rows, too.
func TestMechanismsKeepTheirClaims(t *testing.T) {
	t.Parallel()
	units := []int64{1}
	if *long {
		units = append(units, 3)
	}
	for _, unit := range units {
		cases, err := Cases(unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.Unit != unit {
				t.Errorf("%s: unit %d", c.Name, c.Unit)
			}
			runs := keptRuns
			if strings.HasPrefix(c.Name, "SMW, the gap") {
				runs = keptGaps
			}
			mustHold(t, c, runs)
		}
	}
}

// randomised is randomised response: it tells the truth, a bit, with probability 1 −
// 2^-bits, and so loses exactly ln(2^bits − 1).
func randomised(bit bool, bits int, src *noise.Source) (int64, error) {
	u, err := src.Below(1 << bits)
	if bit == (u > 0) {
		return 1, err
	}
	return 0, err
}

// TestSearchFindsTheEvent finds events without a suspect: in one integer, as a single
// value in the middle of others, and in two integers that show nothing alone.
// Randomised response at 1/16 loses ln 15 = 2.71. In a quarter of 40 000 runs the count
// of a value of probability 1/32 or more is off by half of it with probability below
// e^−26 (Chernoff), and there are some dozens of such values. Short of that, the
// values' order, the choice and a bound above 1.8 stay what they are.
func TestSearchFindsTheEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []Case{
		{Name: "a bit", Shows: []string{"bit"}, Run: func(changed bool, src *noise.Source) (Output, error) {
			bit, err := randomised(changed, 4, src)
			return Output{bit}, err
		}},
		{Name: "a value among others", Shows: []string{"value"}, Run: func(changed bool, src *noise.Source) (Output, error) {
			bit, err := randomised(changed, 4, src)
			if bit == 1 {
				return Output{5}, err
			}
			side, err := src.Below(2)
			return Output{4 + 2*int64(side)}, err
		}},
		{Name: "two bits", Shows: []string{"key", "cipher"}, Run: func(changed bool, src *noise.Source) (Output, error) {
			bit, err := randomised(changed, 4, src)
			if err != nil {
				return Output{}, err
			}
			key, err := src.Below(2)
			return Output{int64(key), int64(key) ^ bit}, err
		}},
	} {
		c.Claim.Epsilon = math.Log(15)
		on, off := mustSample(t, c, 40_000)
		bound, event := c.examine(on, off, twinMiss)
		t.Logf("%s: %.3f of %.3f: %s", c.Name, bound, c.Claim.Epsilon, event.What)
		if bound < 1.8 || bound > c.Claim.Epsilon {
			t.Errorf("%s: bound %.3f for a loss of %.3f (%s)", c.Name, bound, c.Claim.Epsilon, event.What)
		}
	}
}

// TestDeltaIsAllowedFor checks that δ is subtracted. A mechanism that shows everything
// with probability δ and nothing otherwise is (0, δ)-private, and no bound is above 0.
// With a tenth of that δ claimed the loss is infinite, and found.
func TestDeltaIsAllowedFor(t *testing.T) {
	t.Parallel()
	c := Case{Name: "a rare slip", Claim: Claim{Delta: 0.125}, Shows: []string{"row"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			u, err := src.Below(8)
			if changed && u == 0 {
				return Output{1}, err
			}
			return Output{}, err
		}}
	on, off := mustSample(t, c, 10_000)
	if bound, event := c.examine(on, off, twinMiss); bound > 0 {
		t.Errorf("bound %v: %+v", bound, event)
	}
	c.Claim.Delta = 0.0125 // an eighth of the runs against none of them: half of that would do
	if bound, event := c.examine(on, off, twinMiss); bound < 2 || !event.Changed || event.What != "row ≥ 1" {
		t.Errorf("bound %v: %+v", bound, event)
	}
}

func TestRunReports(t *testing.T) {
	t.Parallel()
	fair := Case{Name: "fair", Shows: []string{"bit"}, Run: func(_ bool, src *noise.Source) (Output, error) {
		u, err := src.Below(2)
		return Output{int64(u)}, err
	}}
	bare := Case{Name: "bare", Claim: Claim{Epsilon: 1}, Shows: []string{"row"}, Run: func(changed bool, _ *noise.Source) (Output, error) {
		return Output{rows(7, 1, changed)}, nil
	}}
	calls, last := 0, 0
	results, err := Run(context.Background(), []Case{fair, bare}, Options{Runs: MinRuns, Confidence: 1 - 1e-9,
		Progress: func(name string, done, total int) {
			if calls++; done < last || total != 4*MinRuns || name != "fair" && name != "bare" {
				t.Errorf("progress %d of %d in %s", done, total, name)
			}
			last = done
		}})
	if err != nil || len(results) != 2 || last != 4*MinRuns {
		t.Fatalf("%v, %d results, %d done", err, len(results), last)
	}
	if results[0].Violation() || results[0].Bound != 0 {
		t.Errorf("fair: %+v", results[0])
	}
	r := results[1]
	if !r.Violation() || r.Runs != MinRuns || r.Took <= 0 || r.Event.What != "row ≤ 7" || r.Event.Changed || r.Event.High > 0.1 || r.Event.Low < 0.9 {
		t.Errorf("bare: %+v", r)
	}
}

func TestRunRefusesAndStops(t *testing.T) {
	t.Parallel()
	broken := errors.New("no noise")
	c := Case{Name: "broken", Shows: []string{"x"}, Run: func(bool, *noise.Source) (Output, error) { return Output{}, broken }}
	if _, err := Run(context.Background(), []Case{c}, Options{Runs: MinRuns}); err != broken {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.Run = func(bool, *noise.Source) (Output, error) { cancel(); return Output{}, nil }
	if _, err := Run(ctx, []Case{c}, Options{}); sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("error %v", err)
	}
	for _, o := range []Options{
		{Runs: MinRuns - 1}, {Runs: -1}, {Runs: MaxRuns + 1},
		{Confidence: 1}, {Confidence: 0.5}, {Confidence: math.NaN()}, {Confidence: -1},
	} {
		if _, err := Run(context.Background(), nil, o); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	for _, unit := range []int64{0, -1, 1001} {
		if _, err := Cases(unit); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("unit %d: error %v", unit, err)
		}
	}
}

// TestBins checks that bins cover every integer, keep frequent values apart, and
// describe the values they hold.
func TestBins(t *testing.T) {
	t.Parallel()
	var sample []int64
	for v := range int64(100) {
		sample = append(sample, v)
	}
	for range 100 {
		sample = append(sample, 50)
	}
	b := newBins("x", 0, sample, 8)
	if n := len(b.first); n < 5 || n > 17 {
		t.Errorf("%d bins", n)
	}
	alone := b.bin(&Output{50})
	for _, v := range []int64{math.MinInt64, -3, 0, 49, 50, 51, 99, 1000, math.MaxInt64} {
		i := b.bin(&Output{v})
		if b.first[i] > v || i+1 < len(b.first) && b.first[i+1] <= v || (i == alone) != (v == 50) {
			t.Errorf("%d lies in bin %d of %v", v, i, b.first)
		}
	}
	in := make([]bool, len(b.first))
	in[0], in[alone], in[len(in)-1] = true, true, true
	if text := b.describe(in); !strings.HasPrefix(text, "x ≤ ") || !strings.Contains(text, " or = 50 or ≥ ") {
		t.Errorf("described as %q", text)
	}
}

// TestThresholdAgainstGoogle compares the threshold for the count of a cell that one
// row may have filled with that of another implementation, for the continuous law: 1 −
// ln(2δ)/ε. The discrete law, in which a tie counts, needs up to ln(2/(1+e^−ε))/ε more
// and is rounded up, but needs no more than that. It keeps δ by the exact tail, and the
// next integer below does not.
func TestThresholdAgainstGoogle(t *testing.T) {
	for _, e := range []float64{0.01, 0.1, 0.5, 1, 2, 5} {
		law := dlap(t, 1/e)
		for _, d := range []float64{1e-12, 1e-9, 1e-6, 1e-4, 0.01} {
			ours := float64(projection.Threshold(law, 1, d))
			theirs, err := google.Laplace().Threshold(1, 1, e, 0, d)
			if err != nil {
				t.Fatal(err)
			}
			if more := math.Log(2/(1+math.Exp(-e))) / e; ours < theirs+more-1e-9 || ours >= theirs+more+1 {
				t.Errorf("the threshold at ε = %g, δ = %g is %v, google's %v", e, d, ours, theirs)
			}
			if tail := law.Tail(int64(ours) - 1); tail > d {
				t.Errorf("at ε = %g a cell of one row passes %v with probability %g, above δ = %g", e, ours, tail, d)
			}
			if tail := law.Tail(int64(ours) - 2); tail <= d {
				t.Errorf("at ε = %g, δ = %g the threshold %v could be lower", e, d, ours)
			}
		}
	}
}

// model computes exact probabilities of the private test of package smw, for one τ at a
// time.
type model struct {
	params  smw.Params
	tau, nu law.Law
}

// newModel returns the model of one run of the given ε and a unit of one row.
func newModel(t testing.TB, epsilon int64) model {
	t.Helper()
	p, err := smw.Plan(smw.Request{
		MaxUpdates: 1, Queries: 8, MaxSupport: 1, Beta: 0.5, NHat: 1000, Sensitivity: 1, MaxWeight: 1,
		RunEpsilon: func(int64) *big.Rat { return big.NewRat(epsilon, 1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	e1, _ := p.Eps1.Float64()
	e2, _ := p.Eps2.Float64()
	return model{p, dlap(t, 1/e1), dlap(t, 2/e2)}
}

// silent returns the probability that a comparison does not fire whose count is d above
// the hypothesis.
func (m model) silent(d, tau int64) float64 {
	at := m.params.Threshold + tau
	return (1 - m.nu.Tail(at-d)) * (1 - m.nu.Tail(at+d))
}

// below returns the probability that the comparison fires as a count below the
// hypothesis.
func (m model) below(d, tau int64) float64 {
	at := m.params.Threshold + tau
	return (1 - m.nu.Tail(at-d)) * m.nu.Tail(at+d)
}

// mean returns the expectation over τ.
func (m model) mean(f func(tau int64) float64) (p float64) {
	for _, tau := range values(m.tau) {
		p += mass(m.tau, tau) * f(tau)
	}
	return p
}

func power(x float64, n int) float64 { return math.Pow(x, float64(n)) }

// TestLimitsAgainstGonum checks that gonum's incomplete beta function is alpha at the
// limits. It also compares the limits with gonum's own inverse where that is right,
// which it is not far out in the tails.
func TestLimitsAgainstGonum(t *testing.T) {
	for _, n := range []int64{1, 2, 10, 1000, 20_000, 1_000_000, MaxRuns} {
		for _, share := range []float64{0, 1e-6, 1e-3, 0.01, 0.3, 0.5, 0.77, 0.999, 1} {
			x := int64(math.Round(share * float64(n)))
			for _, alpha := range []float64{0.25, 0.01, 1e-5, 1e-9, 1e-14} {
				low, high := lower(x, n, alpha), upper(x, n, alpha)
				a, b := float64(x), float64(n-x)
				if x > 0 && 1-low > 1e-3 { // nearer to 1, rounding leaves too few digits to compare
					near(t, "tail at the lower limit", x, n, mathext.RegIncBeta(a, b+1, low), alpha, 1e-3)
				} else if x == 0 && low != 0 {
					t.Errorf("lower limit %v of nothing", low)
				}
				if x == n && high != 1 {
					t.Errorf("upper limit %v of everything", high)
				}
				if x < n && 1-high > 1e-3 {
					near(t, "tail at the upper limit", x, n, mathext.RegIncBeta(b, a+1, 1-high), alpha, 1e-3)
				}
				if alpha >= 0.01 && x > 0 && x < n {
					near(t, "lower limit", x, n, low, mathext.InvRegIncBeta(a, b+1, alpha), 2e-6)
					near(t, "upper limit", x, n, high, 1-mathext.InvRegIncBeta(b, a+1, alpha), 2e-6)
				}
			}
		}
	}
}

func near(t *testing.T, what string, x, n int64, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*want) {
		t.Errorf("%s of %d in %d: %v, want %v", what, x, n, got, want)
	}
}

// TestLimitsByTheirDefinition sums the definition term by term: at the lower limit x or
// more successes have probability alpha or less, and just above it more. The upper
// limit is checked likewise.
func TestLimitsByTheirDefinition(t *testing.T) {
	const step = 4e-6
	for _, n := range []int64{1, 5, 40, 500} {
		for x := int64(0); x <= n; x += 1 + n/20 {
			for _, alpha := range []float64{0.2, 1e-3, 1e-8, 1e-12} {
				low, high := lower(x, n, alpha), upper(x, n, alpha)
				if x > 0 && (sum(n, x, n, low) > alpha || sum(n, x, n, low*(1+step)) <= alpha) {
					t.Errorf("%d of %d at %g: lower limit %v", x, n, alpha, low)
				}
				if x < n && (sum(n, 0, x, high) > alpha || sum(n, 0, x, high*(1-step)) <= alpha) {
					t.Errorf("%d of %d at %g: upper limit %v", x, n, alpha, high)
				}
			}
		}
	}
}

// sum returns P(from ≤ Bin(n, p) ≤ to).
func sum(n, from, to int64, p float64) (total float64) {
	b := distuv.Binomial{N: float64(n), P: p}
	for k := from; k <= to; k++ {
		total += b.Prob(float64(k))
	}
	return total
}

func BenchmarkLimits(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		lower(1234, 50_000, 1e-10)
		upper(1234, 50_000, 1e-10)
	}
}
