package baseline

import (
	"hash/maphash"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
)

// seeded returns noise and logs its seed.
func seeded(t *testing.T) *noise.Source {
	seed := [32]byte{}
	h := new(maphash.Hash).Sum64()
	for i := range 8 {
		seed[i] = byte(h >> (8 * i))
	}
	t.Logf("seed %x", seed)
	return noise.NewSourceFrom(rand.NewChaCha8(seed))
}

// cells returns the query on 0 … size−1 that lists the values.
func cells(t *testing.T, size int64, values ...int64) query.Query {
	d, err := query.NewRange(0, size-1, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "x", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	var list []query.Value
	for _, v := range values {
		list = append(list, query.Int(v))
	}
	return query.Where(u, 0, d.SetOf(list...))
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func laplace(t *testing.T, scale int64) law.Law {
	law, err := law.NewLaplace(big.NewRat(scale, 1))
	if err != nil {
		t.Fatal(err)
	}
	return law
}

// TestPaperPMW evaluates the paper's formulas by hand. |X| = e^16 makes (ln|X|)^¼ = 2;
// n = 10⁴.
func TestPaperPMW(t *testing.T) {
	p := PaperPMW(8886111, 10_000, 1000, 0.5, 1e-6, 0.05)
	l := math.Log(8886111) / 16
	near(t, "σ", p.Sigma/math.Pow(l, 0.25), 10*13.815510557964274*2/(100*0.5))
	near(t, "η", p.Eta/math.Pow(l, 0.25), 0.02)
	near(t, "T", p.Threshold/p.Sigma, 4*(6.907755278982137+2.995732273553991))
	near(t, "updates", p.Updates/math.Sqrt(l), 40_000)
}

// TestPMWUpdate makes one update element by element, as Figure 1 writes it: y =
// x·exp(−η·r), then divided by Σ y.
func TestPMWUpdate(t *testing.T) {
	q := cells(t, 4, 0, 2)
	for _, tooMuch := range []bool{true, false} {
		m := &PMW{x: distribution{0.1, 0.2, 0.3, 0.4}, rows: 100}
		const eta = 0.7
		want, total := make([]float64, 4), 0.0
		for i, x := range []float64{0.1, 0.2, 0.3, 0.4} {
			r := 0.0
			if (i%2 == 0) == tooMuch {
				r = 1
			}
			want[i] = x * math.Exp(-eta*r)
			total += want[i]
		}
		m.update(q, eta, tooMuch)
		for i := range want {
			near(t, "an element", m.x[i], want[i]/total)
		}
	}
}

// TestPMWAnswers uses noise far below the threshold. The mechanism learns where it is
// off, returns the hypothesis's answer where it is not, and fails after its updates.
func TestPMWAnswers(t *testing.T) {
	src := seeded(t)
	m := NewPMW(4, 1_000_000)
	p := PMWParams{Sigma: 1e-5, Eta: 0.1, Threshold: 0.01, Updates: 1}
	q := cells(t, 4, 0)
	got, ok, err := m.Answer(q, 250_000, p, src) // within 0.01 unless |Lap| > 1000σ
	if err != nil || !ok || got != 250_000 || m.Updates != 0 {
		t.Errorf("agreeing: %v %v %v, %d updates", got, ok, err, m.Updates)
	}
	for range 2 {
		got, ok, err = m.Answer(q, 600_000, p, src)
		// |Lap| > 20 scales has a probability of 2e-9.
		if err != nil || !ok || math.Abs(got-600_000) > 200 {
			t.Errorf("differing: %v %v %v", got, ok, err)
		}
	}
	if v := m.x.value(q); m.Updates != 2 || v <= 0.25 || v >= 0.6 {
		t.Errorf("%d updates to %v", m.Updates, v)
	}
	if _, ok, err = m.Answer(q, 600_000, p, src); ok || err != nil {
		t.Errorf("no failure after the updates: %v, %v", ok, err)
	}
}

// TestMWEMLearn makes a round's step as Figure 1 of MWEM writes it.
func TestMWEMLearn(t *testing.T) {
	a := distribution{0.1, 0.2, 0.3, 0.4}
	MWEM{Rows: 50}.learn(a, cells(t, 4, 1, 3), 40) // q(A) = 30
	grown := math.Exp(10.0 / 100)
	total := 0.4 + 0.6*grown
	for i, want := range []float64{0.1, 0.2 * grown, 0.3, 0.4 * grown} {
		near(t, "an element", a[i], want/total)
	}
}

// TestMWEMChoose checks the exponential mechanism's law at ε/2T = 0.1: scores 0, 20 and
// 40 have weights 1, e and e². A 5.5σ bound on each of three frequencies of 20,000
// draws fails with probability below 2e-7.
func TestMWEMChoose(t *testing.T) {
	src := seeded(t)
	m := MWEM{Rounds: 5, Epsilon: 1}
	const draws = 20_000
	var seen [3]float64
	for range draws {
		i, err := m.choose([]float64{10, 30, 10}, []int64{10, 10, 50}, src)
		if err != nil {
			t.Fatal(err)
		}
		seen[i]++
	}
	total := 1 + math.E + math.E*math.E
	for i, want := range []float64{1 / total, math.E / total, math.E * math.E / total} {
		if off := math.Abs(seen[i]/draws - want); off > 5.5*math.Sqrt(want*(1-want)/draws) {
			t.Errorf("choice %d: frequency %v, want %v", i, seen[i]/draws, want)
		}
	}
}

// TestMWEMLearns puts all rows into one cell. With a huge ε MWEM finds them.
func TestMWEMLearns(t *testing.T) {
	queries := []query.Query{cells(t, 4, 0), cells(t, 4, 1), cells(t, 4, 2), cells(t, 4, 3)}
	counts := []int64{0, 1000, 0, 0}
	for _, replays := range []int{0, 20} {
		m := MWEM{Rounds: 20, Epsilon: 1000, Rows: 1000, Replays: replays}
		got, err := m.Answer(4, queries, counts, seeded(t))
		if err != nil {
			t.Fatal(err)
		}
		if sum := got[0] + got[1] + got[2] + got[3]; math.Abs(sum-1000) > 1e-6 || got[1] < 600 {
			t.Errorf("%d replays: answers %v", replays, got)
		}
	}
}

// TestStabilityThreshold checks that the threshold is the smallest with P(1 + DLap ≥
// threshold) ≤ δ.
func TestStabilityThreshold(t *testing.T) {
	for _, scale := range []int64{1, 2, 10} {
		law := laplace(t, scale)
		for _, delta := range []float64{1e-3, 1e-6, 1e-9} {
			k := StabilityThreshold(1/float64(scale), delta)
			if law.Tail(k-1) > delta || law.Tail(k-2) <= delta {
				t.Errorf("scale %d, δ = %v: threshold %d", scale, delta, k)
			}
		}
	}
}

func TestStability(t *testing.T) {
	src := seeded(t)
	counts := []int64{0, 1, 1_000_000, 2_000_000}
	data := func(yield func(query.Element, int64) bool) {
		for x, c := range counts {
			if !yield(query.Element{Lo: uint64(x)}, c) {
				return
			}
		}
	}
	law := laplace(t, 1)
	// A draw beyond 40 has a probability below 1e-17.
	s, err := NewStability(data, law, 50, src)
	if err != nil {
		t.Fatal(err)
	}
	for want, q := range map[int64]query.Query{0: cells(t, 4, 0, 1), 1_000_000: cells(t, 4, 1, 2), 2_000_000: cells(t, 4, 3), 3_000_000: cells(t, 4, 0, 2, 3)} {
		if got := s.Answer(q); math.Abs(float64(got-want)) > 80 || want == 0 && got != 0 {
			t.Errorf("answer %d, want about %d", got, want)
		}
	}
	if len(s.codes) != 2 {
		t.Errorf("published %v", s.codes)
	}
	// A threshold far below every noisy count publishes all cells but the empty.
	if s, err = NewStability(data, law, -50, src); err != nil || len(s.codes) != 3 {
		t.Errorf("published %v: %v", s.codes, err)
	}
}
