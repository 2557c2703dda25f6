package smw

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"dpsql/noise"
	"dpsql/query"
)

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
func newSource(r *rand.Rand) *noise.Source {
	seed := [32]byte{}
	for i := range seed {
		seed[i] = byte(r.Uint32())
	}
	return sourceOf(seed)
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
		q := query.Where(u, 0, columns[0].Domain.Of(pick...))
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
		s = s.Union(d.Of(d.Value(r.Uint64N(d.Size()))))
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
