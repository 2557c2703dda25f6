package smw

import (
	"encoding/binary"
	"math"

	"dpsql/internal/sealed"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Classes is a public distribution over a finite universe from which a
// hypothesis can start. It is a mixture of a few classes, in each of which the
// columns are independent (Lazarsfeld's latent class model), and of a small
// share of the uniform distribution. It is learned from noisy counts of pairs
// of columns. The mass of a product of sets takes one product a class, whatever
// the size of the sets.
type Classes struct {
	weights []float64
	laws    [][][]float32 // by class and column, not normalised; nil where uniform
	// upTo[c][j][x] is the probability in class c that column j is below x; nil
	// where the column is uniform.
	upTo  [][][]float64
	sizes []float64
}

// The size of a prior, and the work of fitting it.
const (
	mostClasses = 32
	mostValues  = 1 << 22 // of all columns in all classes
	// uniformShare is the share of the uniform distribution in the prior. It bounds
	// the relative entropy from any database: Ψ₀ ≤ ln|X| + ln 1000.
	uniformShare = 0.001
	// Steps of the fit, and a bound on the multiplications of all of them.
	fitSteps = 100
	fitWork  = 4e8
)

// LearnClasses learns a prior. It fits the classes to noisy tables and the public N̂
// alone, and adds no noise.
func LearnClasses(u *query.Universe, of Measured, rows int64, random *coin.Source) (*Classes, error) {
	s, _ := of.sigma2.Float64()
	laws, singles := pairLaws(u, of.tables, math.Sqrt(s), float64(rows))
	f := newFit(laws, singles)
	if err := f.scatter(random); err != nil {
		return nil, err
	}
	f.run()
	given := make([][][]float32, len(f.given))
	for i, columns := range f.given {
		given[i] = make([][]float32, len(columns))
		for j, law := range columns {
			for _, p := range law {
				given[i][j] = append(given[i][j], float32(p))
			}
		}
	}
	return newClasses(u, f.weights, given), nil
}

// newClasses returns the mixture with these weights and laws. laws is indexed
// by class and column.
func newClasses(u *query.Universe, weights []float64, laws [][][]float32) *Classes {
	c := &Classes{weights: weights, laws: laws, upTo: make([][][]float64, len(laws))}
	for _, column := range u.Columns() {
		c.sizes = append(c.sizes, float64(column.Domain.Size()))
	}
	for i, columns := range laws {
		c.upTo[i] = make([][]float64, len(columns))
		for j, law := range columns {
			if law != nil {
				c.upTo[i][j] = cumulate(law)
			}
		}
	}
	return c
}

// cumulate returns the cumulative sums of a law, from 0 on, divided by the
// total.
func cumulate(law []float32) []float64 {
	sums := make([]float64, len(law)+1)
	for x, p := range law {
		sums[x+1] = sums[x] + float64(p)
	}
	total := sums[len(law)]
	for x := range sums {
		if total > 0 {
			sums[x] /= total
		} else {
			sums[x] = float64(x) / float64(len(law))
		}
	}
	return sums
}

// mass returns the probability of a cell.
func (c *Classes) mass(cell *query.Cell) float64 {
	sum, uniform := 0.0, 1.0
	for j, set := range cell.Sets {
		if set != nil {
			n := 0.0
			for _, r := range set {
				n += float64(r.Last-r.First) + 1
			}
			uniform *= n / c.sizes[j]
		}
	}
	for i, p := range c.weights {
		for j, set := range cell.Sets {
			if set != nil {
				p *= setProbability(c.upTo[i][j], set, c.sizes[j])
			}
		}
		sum += p
	}
	return (1-uniformShare)*sum + uniformShare*uniform
}

// setProbability returns the probability of a set.
func setProbability(upTo []float64, set []query.Range, size float64) (p float64) {
	for _, r := range set {
		if upTo == nil {
			p += (float64(r.Last-r.First) + 1) / size
		} else {
			p += upTo[r.Last+1] - upTo[r.First]
		}
	}
	return p
}

// classesVersion is the version of stored classes.
const classesVersion = 1

// Encode returns the classes as sealed bytes, for DecodeClasses: the number of
// classes, then for each class its weight and, for each column, a number of
// probabilities and the probabilities. All of it is public.
func (c *Classes) Encode() []byte {
	b := append(sealed.Begin(sealed.Classes, classesVersion, 0), byte(len(c.weights)))
	for i, w := range c.weights {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(w))
		for _, law := range c.laws[i] {
			b = binary.AppendUvarint(b, uint64(len(law)))
			for _, p := range law {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(p))
			}
		}
	}
	return sealed.End(b)
}

// DecodeClasses reads classes over a finite universe that Encode wrote. It
// fails with code corrupt when they are not over that universe, and with unsupported when they are
// of a version of a later dpsql.
func DecodeClasses(u *query.Universe, data []byte) (*Classes, error) {
	b, err := openPrior(sealed.Classes, classesVersion, data)
	if err != nil {
		return nil, err
	}
	if u.Size() == nil || len(b) < 1 || b[0] == 0 || b[0] > mostClasses {
		return nil, errPrior()
	}
	n := int(b[0])
	r := reader{rest: b[1:]}
	weights, laws := make([]float64, n), make([][][]float32, n)
	for i := range n {
		weights[i] = r.weight()
		for _, c := range u.Columns() {
			laws[i] = append(laws[i], r.law(c.Domain))
		}
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	if r.bad || len(r.rest) > 0 || math.Abs(total-1) > 1e-6 {
		return nil, errPrior()
	}
	return newClasses(u, weights, laws), nil
}

// openPrior returns the body of a sealed prior.
func openPrior(k sealed.Kind, version uint16, data []byte) ([]byte, error) {
	body, err := sealed.Open(k, version, data)
	switch {
	case sqlerr.CodeOf(err) == sqlerr.Unsupported:
		return nil, sqlerr.New(sqlerr.Unsupported, "a stored prior has a version of its format that this dpsql does not know").
			WithHint("use the dpsql that wrote it, or a later one")
	case err != nil:
		return nil, errPrior()
	}
	return body, nil
}

func errPrior() error { return sqlerr.New(sqlerr.Corrupt, "a stored prior cannot be read") }

// reader reads numbers from bytes. bad is set after a short read or a wrong
// number.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) take(n uint64) []byte {
	if r.bad || uint64(len(r.rest)) < n {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) weight() float64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	w := math.Float64frombits(binary.LittleEndian.Uint64(b))
	r.bad = r.bad || !(w >= 0 && w <= 1.001)
	return w
}

// law reads the law of a column, and returns nil where it is uniform.
func (r *reader) law(d query.Domain) []float32 {
	size, n := binary.Uvarint(r.rest)
	if n <= 0 || size != 0 && (!d.Finite() || size != d.Size() || size > mostCells) {
		r.bad = true
		return nil
	}
	r.take(uint64(n))
	b := r.take(4 * size)
	var law []float32
	for ; len(b) > 0; b = b[4:] {
		p := math.Float32frombits(binary.LittleEndian.Uint32(b))
		r.bad = r.bad || !(p >= 0 && p <= 1.001)
		law = append(law, p)
	}
	return law
}
