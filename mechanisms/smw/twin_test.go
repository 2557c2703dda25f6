package smw

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/query"
)

// twin is Definition 3.4 and Algorithm 1 as printed: s variables, a hash table
// and a counter. It enumerates a support by asking for the weight of every
// record of a pool, which holds the supports of all queries of a test, and
// names a record by its place there.
type twin struct {
	s    int
	d    []float64 // D[1…s], and D[s+1] = 0
	h    map[int]int
	ind  int
	w    float64 // W
	pool [][]query.Value
}

func newTwin(s int, maxWeight int64, pool [][]query.Value) *twin {
	t := &twin{s: s, d: make([]float64, s+2), h: map[int]int{}, ind: 1, w: float64(maxWeight), pool: pool}
	for i := 1; i <= s; i++ {
		t.d[i] = 1 / float64(s)
	}
	return t
}

// support returns q(x) for the records with q(x) > 0.
func (t *twin) support(q query.Query) map[int]float64 {
	support := map[int]float64{}
	for x, tuple := range t.pool {
		if w := q.Weight(tuple); w > 0 {
			support[x] = float64(w) / t.w
		}
	}
	return support
}

func (t *twin) value(q query.Query) float64 {
	v := 0.0
	for x, qx := range t.support(q) {
		if i, ok := t.h[x]; ok {
			v += qx * t.d[i]
		} else {
			v += qx * t.d[t.ind]
		}
	}
	return math.Min(v, 1) // past 1 only when variables run out
}

// add assigns variables to a support, and reports FAILURE by false.
func (t *twin) add(support map[int]float64) bool {
	for x := range support {
		if _, ok := t.h[x]; ok {
			continue
		}
		if t.ind == t.s+1 {
			return false
		}
		t.h[x] = t.ind
		t.ind++
	}
	return true
}

func (t *twin) normalize() {
	total := 0.0
	for i := 1; i <= t.s; i++ {
		total += t.d[i]
	}
	for i := 1; i <= t.s; i++ {
		t.d[i] /= total
	}
}

// smw is Algorithm 1.
func (t *twin) smw(q query.Query, noisy, eta float64) bool {
	down := noisy < t.value(q)
	if !t.add(t.support(q)) {
		return false
	}
	if down {
		eta = -eta
	}
	t.multiply(t.support(q), eta)
	return true
}

func (t *twin) multiply(support map[int]float64, lambda float64) {
	for x, qx := range support {
		t.d[t.h[x]] *= math.Exp(lambda * qx)
	}
	t.normalize()
}

// project is one projection: the multiplier found by bisecting the answer.
func (t *twin) project(q query.Query, a float64) bool {
	support := t.support(q)
	if !t.add(support) {
		return false
	}
	after := func(lambda float64) float64 {
		num, den := 0.0, 0.0
		q := make([]float64, t.s+1)
		for x, qx := range support {
			q[t.h[x]] = qx
		}
		for i := 1; i <= t.s; i++ {
			m := t.d[i] * math.Exp(lambda*q[i])
			num += q[i] * m
			den += m
		}
		return num / den
	}
	lo, hi := -600.0, 600.0
	for range 100 {
		if mid := (lo + hi) / 2; after(mid) < a {
			lo = mid
		} else {
			hi = mid
		}
	}
	t.multiply(support, lo)
	return true
}

// replay projects earlier steps again, and returns how many it did.
func (t *twin) replay(history []Step, p Params) (done int) {
	for range 10 {
		before := done
		for _, step := range history {
			if math.Abs(t.value(step.Query)*p.mass()-float64(step.Noisy)) > float64(p.Replay) {
				t.project(step.Query, float64(step.Noisy)/p.mass())
				done++
			}
		}
		if done == before {
			break
		}
	}
	return done
}

// space is a universe, the pool of records that queries draw from, and a
// generator of queries over it.
type space struct {
	u     *query.Universe
	coder query.Coder
	pool  [][]query.Value
	any   func() query.Query

	maxWeight int64 // W of the queries
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// newRand returns a generator whose seed the test log shows.
func newRand(t testing.TB) *rand.Rand {
	seed := [32]byte{}
	for i := range 4 {
		v := new(maphash.Hash).Sum64() // differs from run to run
		for j := range 8 {
			seed[8*i+j] = byte(v >> (8 * j))
		}
	}
	t.Logf("seed %x", seed)
	return rand.New(rand.NewChaCha8(seed))
}

// newSource returns noise that follows the generator.
func newSource(r *rand.Rand) *noise.Source { return sourceOf(newSeed(r)) }

func newCoins(r *rand.Rand) *coin.Source { return coin.NewSourceFrom(rand.NewChaCha8(newSeed(r))) }

func newSeed(r *rand.Rand) (seed [32]byte) {
	for i := range seed {
		seed[i] = byte(r.Uint32())
	}
	return seed
}

// learned learns classes from tables, with noise of a variance.
func learned(t testing.TB, u *query.Universe, tables []Table, sigma2 *big.Rat, rows int64, src *noise.Source, random *coin.Source) *Classes {
	t.Helper()
	return must(LearnClasses(u, must(Measure(tables, sigma2, src))(t), rows, random))(t)
}

// codedSpace has 6 × 5 × 4 records; its queries are products of sets, and with
// maxWeight 3 some are weighted by the last column (weights 0 … 3).
func codedSpace(t testing.TB, r *rand.Rand, maxWeight int64) space {
	columns := []query.Column{
		{Name: "a", Domain: must(query.NewRange(0, 5, false))(t)},
		{Name: "b", Domain: must(query.NewRange(0, 3, true))(t)},
		{Name: "c", Domain: must(query.NewRange(0, 3, false))(t)},
	}
	u := must(query.NewUniverse(columns))(t)
	s := space{u: u, coder: query.NewCoder(u, [16]byte{}), pool: product(columns), maxWeight: maxWeight}
	s.any = func() query.Query {
		q := query.All(u)
		for i, c := range columns {
			q = must(q.And(query.Where(u, i, subset(r, c.Domain, 1+r.IntN(2)))))(t)
		}
		if maxWeight > 1 && r.IntN(3) == 0 {
			q = must(query.Weighted(u, 2, []int64{0, 1, 2, 3}))(t)
			q = must(q.And(query.Where(u, 0, subset(r, columns[0].Domain, 2))))(t)
		}
		return q
	}
	return s
}

// textSpace has an unbounded text and an integer: its records are named by
// fingerprints.
func textSpace(t testing.TB, r *rand.Rand, maxWeight int64) space {
	var names []query.Value
	for i := range 30 {
		names = append(names, query.Text(fmt.Sprintf("name %d", i)))
	}
	names = append(names, query.Null())
	columns := []query.Column{
		{Name: "n", Domain: query.Unbounded()},
		{Name: "c", Domain: must(query.NewRange(0, 3, false))(t)},
	}
	u := must(query.NewUniverse(columns))(t)
	s := space{u: u, coder: query.NewCoder(u, [16]byte{1, 2, 3}), maxWeight: maxWeight}
	for _, n := range names {
		for c := range int64(4) {
			s.pool = append(s.pool, []query.Value{n, query.Int(c)})
		}
	}
	s.any = func() query.Query {
		var pick []query.Value
		for range 1 + r.IntN(4) {
			pick = append(pick, names[r.IntN(len(names))])
		}
		q := query.Where(u, 0, columns[0].Domain.SetOf(pick...))
		by := query.Where(u, 1, subset(r, columns[1].Domain, 1+r.IntN(3)))
		if maxWeight > 1 && r.IntN(3) == 0 {
			by = must(query.Weighted(u, 1, []int64{3, 0, 2, 1}))(t)
		}
		return must(q.And(by))(t)
	}
	return s
}

// subset returns up to n random values of a finite domain.
func subset(r *rand.Rand, d query.Domain, n int) query.Set {
	s := d.None()
	for range n {
		s = s.Union(d.SetOf(d.Value(r.Uint64N(d.Size()))))
	}
	return s
}

// product lists every record over finite columns.
func product(columns []query.Column) [][]query.Value {
	pool := [][]query.Value{nil}
	for _, c := range columns {
		var longer [][]query.Value
		for _, tuple := range pool {
			for o := range c.Domain.Size() {
				longer = append(longer, append(tuple[:len(tuple):len(tuple)], c.Domain.Value(o)))
			}
		}
		pool = longer
	}
	return pool
}

// sourceOf returns noise that is the same for the same seed.
func sourceOf(seed [32]byte) *noise.Source {
	return noise.NewSourceFrom(rand.NewChaCha8(seed))
}

// noReader has no random bits.
type noReader struct{}

func (noReader) Read([]byte) (int, error) { return 0, errors.New("no entropy") }
