package projection

import (
	"dpsql/noise"
	"dpsql/query"
)

// blockRows is the number of rows whose signs one evaluation gives.
const blockRows = 64

// signs is the paper's hash function f (Random Projection Data Structure,
// section 4): a T×|X| matrix of signs any r of which are independent and fair.
// It is a random polynomial of degree below r = len(signs) over GF(2^128). The
// signs of 64 consecutive rows in one column are the low 64 bits of its value
// at the point that packs the number of the row block and the column's name.
//
// Any r entries lie on at most r points; the values there are independent and
// uniform, and so are the bits within one value. The paper takes one bit a
// point; 64 cost no independence.
type signs []gf128

// drawSigns draws a matrix with r-wise independent signs.
func drawSigns(r int, src *noise.Source) (signs, error) {
	f := make(signs, r)
	for i := range f {
		hi, err := src.Uint64()
		if err != nil {
			return nil, err
		}
		lo, err := src.Uint64()
		if err != nil {
			return nil, err
		}
		f[i] = gf128{hi, lo}
	}
	return f, nil
}

// point packs the low 96 bits of a name and the number of a block into one
// field element. Codes fit; of a fingerprint 94 bits are left, so two of N
// records share a column with probability below N²/2^95.
func point(x query.Element, block uint32) gf128 {
	return gf128{x.Hi<<32 | x.Lo>>32, x.Lo<<32 | uint64(block)}
}

// at returns the 64 signs of the block in the column of x: bit j is set when
// the entry of row 64·block + j is −1.
func (f signs) at(x query.Element, block uint32, t *multiplier) uint64 {
	t.set(point(x, block))
	v := f[len(f)-1]
	for i := len(f) - 2; i >= 0; i-- {
		v = t.mul(v).add(f[i])
	}
	return v.lo
}

// weighted is a coordinate of a sparse vector over the universe: a cell of the
// database with its count, or an element of a query's support with its weight.
type weighted struct {
	x      query.Element
	weight int64
}

// multiply sets sums to the rows of the block of √T·A·v, for the sparse vector
// v. The caller bounds Σ|v| by an int64.
func (f signs) multiply(v []weighted, block uint32, t *multiplier, sums *[blockRows]int64) {
	var total int64
	*sums = [blockRows]int64{}
	for _, c := range v {
		bits := f.at(c.x, block, t)
		total += c.weight
		for j := range sums {
			sums[j] += c.weight & -int64(bits>>j&1)
		}
	}
	for j := range sums {
		sums[j] = total - 2*sums[j] // what has sign + less what has sign −
	}
}
