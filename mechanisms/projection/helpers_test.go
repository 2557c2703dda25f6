package projection

import (
	"context"
	crand "crypto/rand"
	"flag"
	"iter"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"dpsql/internal/scratch"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
)

// long makes the campaigns of this package as large as .ci/run wants them.
var long = flag.Bool("long", false, "run the campaigns at full size")

func TestMain(m *testing.M) {
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// sized returns the size of a campaign, small by default and full with -long.
func sized(small, full int) int {
	if *long {
		return full
	}
	return small
}

// seeded returns a source of a fresh seed, which it logs, and a generator for
// test data of the same seed.
func seeded(t testing.TB) (*noise.Source, *rand.Rand) {
	t.Helper()
	var seed [32]byte
	crand.Read(seed[:])
	t.Logf("seed %x", seed)
	data := seed
	data[0] ^= 1
	return noise.NewSourceFrom(rand.NewChaCha8(seed)), rand.New(rand.NewChaCha8(data))
}

// scripted returns a source that draws from each of the laws below its one value.
func scripted(t testing.TB) *noise.Source {
	t.Helper()
	var seed [32]byte
	crand.Read(seed[:])
	t.Logf("seed %x", seed)
	return noise.NewSourceFrom(script{rand.NewChaCha8(seed)})
}

type script struct{ *rand.ChaCha8 }

// Drawn decides a draw from a law of one value.
func (script) Drawn(l law.Law) int64 { return l.(interface{ value() int64 }).value() }

// silent is the law that is always 0.
type silent struct{}

func (silent) value() int64      { return 0 }
func (silent) Variance() float64 { return 0 }
func (silent) String() string    { return "silent" }
func (silent) Tail(k int64) float64 {
	if k <= 0 {
		return 1
	}
	return 0
}

func laplace(t testing.TB, num, den int64) law.Law {
	t.Helper()
	l, err := law.NewLaplace(big.NewRat(num, den))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// line returns a coded universe of n elements, one integer column.
func line(t testing.TB, n int64) *query.Universe {
	t.Helper()
	d, err := query.NewRange(0, n-1, false)
	if err != nil {
		t.Fatal(err)
	}
	return universe(t, query.Column{Name: "x", Domain: d})
}

// infinite returns a universe without codes: a text of no domain and a digit.
func infinite(t testing.TB) *query.Universe {
	t.Helper()
	d, err := query.NewRange(0, 9, true)
	if err != nil {
		t.Fatal(err)
	}
	return universe(t, query.Column{Name: "name", Domain: query.Unbounded()}, query.Column{Name: "digit", Domain: d})
}

func ints(t testing.TB, name string, n int64) query.Column {
	t.Helper()
	d, err := query.NewRange(0, n-1, false)
	if err != nil {
		t.Fatal(err)
	}
	return query.Column{Name: name, Domain: d}
}

func universe(t testing.TB, columns ...query.Column) *query.Universe {
	t.Helper()
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// among returns the query that counts the given values of the first column.
func among(u *query.Universe, values ...int64) query.Query {
	d := u.Columns()[0].Domain
	vs := make([]query.Value, len(values))
	for i, v := range values {
		vs[i] = query.Int(v)
	}
	return query.Where(u, 0, d.SetOf(vs...))
}

// between returns the query that counts the values low … high of a line.
func between(t testing.TB, u *query.Universe, low, high int64) query.Query {
	t.Helper()
	d := u.Columns()[0].Domain
	above, err := d.Greater(query.Int(low), true)
	if err != nil {
		t.Fatal(err)
	}
	below, err := d.Less(query.Int(high), true)
	if err != nil {
		t.Fatal(err)
	}
	return query.Where(u, 0, above.Intersect(below))
}

// counts are the cells of a line.
type counts map[uint64]int64

func (c counts) cells() iter.Seq2[query.Element, int64] {
	return func(yield func(query.Element, int64) bool) {
		for x, n := range maps.All(c) {
			if !yield(query.Element{Lo: x}, n) {
				return
			}
		}
	}
}

// answer returns the true answer to a query over a line.
func (c counts) answer(q query.Query) (sum int64) {
	for run, w := range q.Runs() {
		for x := run.Start; x < run.Start+run.Len; x++ {
			sum += w * c[x]
		}
	}
	return sum
}

func build(t testing.TB, u *query.Universe, p Params, src *noise.Source, cells iter.Seq2[query.Element, int64]) *Release {
	t.Helper()
	b, err := NewBuilder(u, p, coin.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Build(cells, src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func estimate(t testing.TB, r *Release, q query.Query) int64 {
	t.Helper()
	return answer(t, r, q, 0.95).Value
}

func margin(t testing.TB, r *Release, q query.Query, confidence float64) float64 {
	t.Helper()
	return answer(t, r, q, confidence).Margin
}

func answer(t testing.TB, r *Release, q query.Query, confidence float64) Answer {
	t.Helper()
	a, err := r.Answer(context.Background(), q, confidence)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sample collects moments of a statistic.
type sample struct{ values []float64 }

func (s *sample) add(v float64) { s.values = append(s.values, v) }

// moment returns the mean of (v − center)^k.
func (s *sample) moment(center float64, k float64) (m float64) {
	for _, v := range s.values {
		m += math.Pow(v-center, k)
	}
	return m / float64(len(s.values))
}

// expect compares the sample's mean and variance with the expected ones. There are
// 3,000 values or more. The mean may deviate by six standard deviations: 2e-9 by the
// normal law. The squares are skewed, by 4.3 at most in the tests that call expect,
// and their spread is estimated from them. Seven deviations have probability 2.6e-12
// by the normal law, and about exp(4.3·7³/(3·√3000)) < 10^4 times that by their
// cumulants. So the ten comparisons of a test fail a correct program once in 5·10^6.
func (s *sample) expect(t *testing.T, mean, variance float64) {
	t.Helper()
	n := float64(len(s.values))
	got, square := s.moment(0, 1), s.moment(mean, 2)
	t.Logf("%v values: mean %.3f, want %.3f; variance %.2f, want %.2f", n, got, mean, square, variance)
	if slack := 6 * math.Sqrt(variance/n); math.Abs(got-mean) > slack {
		t.Errorf("mean %v, want %v ± %v", got, mean, slack)
	}
	spread := math.Sqrt((s.moment(mean, 4) - variance*variance) / n)
	if math.Abs(square-variance) > 7*spread {
		t.Errorf("variance %v, want %v ± %v", square, variance, 7*spread)
	}
}

// leastHits returns the largest k such that at least k of n independent events of
// the given probability happen except with probability 5e-9, by the exact binomial
// law: a test may compare 200 times.
func leastHits(n int, probability float64) int {
	below := 0.0 // P(hits < k)
	for k := range n + 1 {
		lc, _ := math.Lgamma(float64(n + 1))
		lk, _ := math.Lgamma(float64(k + 1))
		lr, _ := math.Lgamma(float64(n - k + 1))
		below += math.Exp(lc - lk - lr + float64(k)*math.Log(probability) + float64(n-k)*math.Log1p(-probability))
		if below > 5e-9 {
			return k
		}
	}
	return n
}
