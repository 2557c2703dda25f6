package smw

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/internal/sealed"
	"dpsql/query"
	"dpsql/sqlerr"
)

// someCounts are counts for every record of a space, a third of them 0.
func someCounts(r *rand.Rand, s space) []float64 {
	counts := make([]float64, len(s.pool))
	for i := range counts {
		counts[i] = max(0, 150*r.Float64()-50)
	}
	return counts
}

func fittedOf(t testing.TB, u *query.Universe, counts []float64, rows int64) *Fitted {
	t.Helper()
	return must(DecodeFitted(u, must(EncodeFitted(u, counts, nil, rows))(t)))(t)
}

// The mass of a support is the sum over its records of what the textbook formula
// gives them: (1−μ)·x/Σx + μ/|X|. Stored probabilities have 24 bits.
func TestFittedAgainstItsRecords(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 3)
	for _, rows := range []int64{1, 600, 5000} {
		counts := someCounts(r, s)
		f := fittedOf(t, s.u, counts, rows)
		h := NewHypothesis(testParams(uint64(len(s.pool)), Projection, 3), s.u, f)
		total := 0.0
		for _, n := range counts {
			total += n
		}
		share := min(0.001, 1/float64(rows))
		for range 200 {
			q, want := s.any(), 0.0
			for code, tuple := range s.pool {
				want += float64(q.Weight(tuple)) / 3 * ((1-share)*counts[code]/total + share/float64(len(s.pool)))
			}
			if got := h.Value(q); math.Abs(got-want) > 1e-7 {
				t.Fatalf("%s has %v, want %v", q, got, want)
			}
		}
	}
}

// A hypothesis that starts from a fitted table follows Algorithm 1, and the projection,
// as its twin does that has the table's probabilities in its variables. They agree to
// 1e-9.
func TestUpdatesFromFittedFollowTheirTwin(t *testing.T) {
	r := newRand(t)
	for _, rule := range []Update{Paper, Projection} {
		s := codedSpace(t, r, 3)
		f := fittedOf(t, s.u, someCounts(r, s), 5000)
		followTwin(t, r, rule, s, f, func(tuple []query.Value) float64 {
			e, _ := s.coder.Code(tuple)
			return float64(f.whole.upTo[e.Lo+1]-f.whole.upTo[e.Lo]) / float64(f.whole.upTo[len(s.pool)])
		})
	}
}

// From a table of equal counts, and from one of zeros, a hypothesis behaves as from the
// uniform start.
func TestFittedUniform(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 3)
	equal := slices.Repeat([]float64{7}, len(s.pool))
	p := testParams(uint64(len(s.pool)), Projection, 3)
	all := []*Hypothesis{NewHypothesis(p, s.u, nil), NewHypothesis(p, s.u, fittedOf(t, s.u, equal, 900)),
		NewHypothesis(p, s.u, fittedOf(t, s.u, make([]float64, len(s.pool)), 900))}
	for step := range 40 {
		q, noisy := s.any(), 60+r.Int64N(500)
		for _, h := range all {
			if err := h.Update(q, noisy); err != nil {
				t.Fatal(err)
			}
		}
		asked := s.any()
		for i, h := range all {
			if got, want := h.Value(asked), all[0].Value(asked); math.Abs(got-want) > close9 {
				t.Fatalf("step %d: hypothesis %d has %v, want %v", step, i, got, want)
			}
		}
	}
}

// A record whose fitted count is 0 rises to what an update says of it, and a table that is
// right fires less than the uniform start: the bound on its updates is smaller, too.
func TestFittedRisesFromZero(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 1)
	counts := make([]float64, len(s.pool))
	counts[0] = 1
	p := testParams(uint64(len(s.pool)), Projection, 1)
	h := NewHypothesis(p, s.u, fittedOf(t, s.u, counts, 1e6))
	q := query.Where(s.u, 0, s.u.Columns()[0].Domain.SetOf(query.Int(5)))
	if err := h.Update(q, p.NHat/2); err != nil {
		t.Fatal(err)
	}
	if got := h.Count(q); math.Abs(float64(got-p.NHat/2)) > 1 {
		t.Errorf("after an update to %d the hypothesis says %d", p.NHat/2, got)
	}
}

// The bound on Ψ₀ has the share of the uniform distribution, so a fitted table asks for
// more runs than classes do where a row is less than a thousandth.
func TestPlanFromFitted(t *testing.T) {
	r := alphaRequest(1)
	r.UniverseSize, r.Prior = big.NewInt(1e6), true
	classes := must(Plan(r))(t)
	r.Prior, r.Fitted = false, true
	fitted := must(Plan(r))(t)
	if fitted.S != 1e6 || fitted.Updates < classes.Updates || r.NHat <= 1000 {
		t.Errorf("from a fitted table s = %d, B = %d, and B = %d from classes", fitted.S, fitted.Updates, classes.Updates)
	}
	r.UniverseSize = nil
	if _, err := Plan(r); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("an infinite universe: %v", err)
	}
}

func TestDecodeFittedRefuses(t *testing.T) {
	r := newRand(t)
	s := codedSpace(t, r, 1)
	counts := someCounts(r, s)
	good := body(t, sealed.Fitted, must(EncodeFitted(s.u, counts, nil, 1000))(t))
	other := must(query.NewUniverse(s.u.Columns()[:2]))(t)
	if _, err := EncodeFitted(other, counts, nil, 1000); err == nil {
		t.Error("a table of another universe is stored")
	}
	for _, n := range []float64{-1, math.NaN(), math.Inf(1)} {
		bad := slices.Clone(counts)
		if bad[3] = n; must2(EncodeFitted(s.u, bad, nil, 1000)) == nil {
			t.Errorf("a count of %v is stored", n)
		}
	}
	if _, err := DecodeFitted(other, seal(sealed.Fitted, 1, good)); sqlerr.CodeOf(err) != sqlerr.Corrupt {
		t.Errorf("a table of another universe is read: %v", err)
	}
	half := bytes.Clone(good)[:4]
	for i, change := range []func(b []byte) []byte{
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return append(b, 0) },
		func(b []byte) []byte { b[0]++; return b },
		func(b []byte) []byte { b[2]++; return b },
		func(b []byte) []byte { return half },
	} {
		if _, err := DecodeFitted(s.u, seal(sealed.Fitted, 1, change(bytes.Clone(good)))); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("change %d: error %v", i, err)
		}
	}
	for _, c := range []struct {
		k       sealed.Kind
		version uint16
		want    sqlerr.Code
	}{{sealed.Fitted, 2, sqlerr.Unsupported}, {sealed.Classes, 1, sqlerr.Corrupt}} {
		if _, err := DecodeFitted(s.u, seal(c.k, c.version, good)); sqlerr.CodeOf(err) != c.want {
			t.Errorf("%s, version %d: %v", c.k, c.version, err)
		}
	}
	damage(t, must(EncodeFitted(s.u, counts, nil, 1000))(t), func(b []byte) error { return must2(DecodeFitted(s.u, b)) })
	for range 500 { // no damage makes it panic
		bad := bytes.Clone(good)
		bad[r.IntN(len(bad))] ^= byte(1 << r.IntN(8))
		if f, err := DecodeFitted(s.u, seal(sealed.Fitted, 1, bad[:r.IntN(len(bad))+1])); err == nil && f == nil {
			t.Fatal("neither a table nor an error")
		}
	}
}

// body returns what a prior has in its envelope.
func body(t *testing.T, k sealed.Kind, data []byte) []byte {
	t.Helper()
	return must(sealed.Open(k, 1, data))(t)
}

func seal(k sealed.Kind, version uint16, body []byte) []byte {
	return sealed.End(append(sealed.Begin(k, version, len(body)), body...))
}

// damage flips a bit of each byte of a prior, and cuts it there, and holds that it is not read.
func damage(t *testing.T, data []byte, read func([]byte) error) {
	t.Helper()
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		for _, b := range [][]byte{bad, data[:i]} {
			if err := read(b); sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Errorf("damage at %d of %d: %v", i, len(data), err)
			}
		}
	}
}

func must2[T any](_ T, err error) error { return err }

// BenchmarkFittedMass answers queries on two of seven columns, of 1.4 million records, with
// the marginals kept and without them.
func BenchmarkFittedMass(b *testing.B) {
	var columns []query.Column
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		columns = append(columns, query.Column{Name: name, Domain: must(query.NewRange(0, 7-int64(len(columns)%2), false))(b)})
	}
	u := must(query.NewUniverse(columns))(b)
	counts := make([]float64, u.Size().Uint64())
	for i := range counts {
		counts[i] = float64(i % 13)
	}
	f := fittedOf(b, u, counts, 1e6)
	q := must(query.Where(u, 2, columns[2].Domain.SetOf(query.Int(1))).And(query.Where(u, 6, columns[6].Domain.SetOf(query.Int(1), query.Int(4)))))(b)
	h := NewHypothesis(testParams(uint64(len(counts)), Projection, 1), u, f)
	for _, kept := range []bool{true, false} {
		name := "kept"
		if !kept {
			name = "computed"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !kept {
					clear(f.by)
				}
				h.Value(q)
			}
		})
	}
}
