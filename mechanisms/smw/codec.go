package smw

import (
	"encoding/binary"
	"math"

	"dpsql/query"
	"dpsql/sqlerr"
)

// classesVersion is the first byte of encoded classes.
const classesVersion = 1

// Encode returns the classes as bytes, for DecodeClasses: their number, and then
// of each its weight and, column by column, the number of values that have a
// probability of their own and these. They hold nothing that is not public.
func (c *Classes) Encode() []byte {
	b := []byte{classesVersion, byte(len(c.weights))}
	for i, w := range c.weights {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(w))
		for _, law := range c.laws[i] {
			b = binary.AppendUvarint(b, uint64(len(law)))
			for _, p := range law {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(p))
			}
		}
	}
	return b
}

// DecodeClasses returns the classes over a finite universe that were encoded. It
// fails with code corrupt when they are not of that universe.
func DecodeClasses(u *query.Universe, b []byte) (*Classes, error) {
	if u.Size() == nil || len(b) < 2 || b[0] != classesVersion || b[1] == 0 || b[1] > mostClasses {
		return nil, errClasses()
	}
	n := int(b[1])
	r := reader{rest: b[2:]}
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
		return nil, errClasses()
	}
	return newClasses(u, weights, laws), nil
}

func errClasses() error { return sqlerr.New(sqlerr.Corrupt, "a stored prior cannot be read") }

// reader takes numbers off bytes; bad once there were too few, or wrong ones.
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

// law reads the law of a column, nil where it is uniform.
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
