package projection

import (
	"context"
	"math"
	"math/big"
	"runtime"
	"sync"

	"dpsql/noise/coin"
	"dpsql/query"
)

// blockRows is the number of rows whose signs one evaluation yields.
const blockRows = 64

// signs is the paper's hash function f (Random Projection Data Structure,
// section 4): a T×|X| matrix of signs any r of which are independent and fair.
// It is a random polynomial of degree below r = len(signs) over GF(2^128). The
// signs of 64 consecutive rows in one column are the low 64 bits of its value
// at the point that packs the number of the row block and the column's name.
//
// Any r entries lie on at most r points. The values at these points are
// independent and uniform, and so are the bits of one value. The paper takes
// one bit a point; taking 64 costs no independence.
type signs []gf128

// drawSigns draws a matrix with r-wise independent signs.
func drawSigns(r int, random *coin.Source) (signs, error) {
	f := make(signs, r)
	for i := range f {
		hi, err := random.Uint64()
		if err != nil {
			return nil, err
		}
		lo, err := random.Uint64()
		if err != nil {
			return nil, err
		}
		f[i] = gf128{hi, lo}
	}
	return f, nil
}

// point packs the low 96 bits of a name and the number of a block into one
// field element. Codes fit. Of a fingerprint 94 bits remain, so two of N
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
// v. The caller ensures that Σ|v| fits an int64.
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
		sums[j] = total - 2*sums[j] // the sum with sign + less the sum with sign −
	}
}

// gf128 is an element of GF(2^128) = GF(2)[z]/(z^128 + z^7 + z^2 + z + 1):
// bit i of the 128-bit number hi·2^64 + lo is the coefficient of z^i. Addition
// is exclusive or.
type gf128 struct{ hi, lo uint64 }

// reduction is z^128 reduced: z^7 + z^2 + z + 1.
const reduction = 0x87

func (a gf128) add(b gf128) gf128 { return gf128{a.hi ^ b.hi, a.lo ^ b.lo} }

// double returns z·a.
func (a gf128) double() gf128 {
	over := -(a.hi >> 63) // all ones when z^128 appears
	return gf128{a.hi<<1 | a.lo>>63, a.lo<<1 ^ over&reduction}
}

// multiplier holds the products of one element p with every four-bit digit at
// every place: multiplier[i][n] = n·z^(4i)·p. A product with p then takes 32
// look-ups. That pays when many elements are multiplied by the same p.
type multiplier [32][16]gf128

// set makes t the multiplier by p.
func (t *multiplier) set(p gf128) {
	for i := range t {
		row := &t[i]
		row[1] = p
		row[2] = p.double()
		row[4] = row[2].double()
		row[8] = row[4].double()
		row[3] = row[2].add(row[1])
		for n := 5; n < 8; n++ {
			row[n] = row[4].add(row[n-4])
		}
		for n := 9; n < 16; n++ {
			row[n] = row[8].add(row[n-8])
		}
		p = row[8].double()
	}
}

// mul returns a·p.
func (t *multiplier) mul(a gf128) gf128 {
	var r gf128
	for i := 0; i < 16; i++ {
		low, high := &t[i][a.lo&15], &t[i+16][a.hi&15]
		r.lo ^= low.lo ^ high.lo
		r.hi ^= low.hi ^ high.hi
		a.lo >>= 4
		a.hi >>= 4
	}
	return r
}

// denseBatch is how many coordinates of a sparse vector are multiplied at a
// time: enough to keep every core busy, and few enough to stay in the cache.
const denseBatch = 512

// eachBlock computes √T·A·v block by block, on all cores. It passes the rows of
// each block to use, with the number of the worker that computed it. Workers
// call use concurrently; the calls of one worker are sequential. It ends with ctx.
func (f signs) eachBlock(ctx context.Context, v []weighted, rows uint64, workers int, use func(worker int, block uint32, sums *[blockRows]int64)) {
	blocks := blocksOf(rows)
	var wg sync.WaitGroup
	for w := range uint64(workers) {
		first, last := w*blocks/uint64(workers), (w+1)*blocks/uint64(workers)
		wg.Go(func() {
			var t multiplier
			var sums [blockRows]int64
			for b := first; b < last && ctx.Err() == nil; b++ {
				f.multiply(v, uint32(b), &t, &sums)
				use(int(w), uint32(b), &sums)
			}
		})
	}
	wg.Wait()
}

// blocksOf returns the number of blocks that hold the rows.
func blocksOf(rows uint64) uint64 { return (rows + blockRows - 1) / blockRows }

// workersFor returns the number of workers for the rows: all cores, but at most
// one a block.
func workersFor(rows uint64) int {
	return int(min(uint64(min(runtime.GOMAXPROCS(0), runtime.NumCPU())), blocksOf(rows)))
}

// denseAnswer returns (1/T)·⟨√T·A·q, √T·(u + ν)⟩ rounded to the nearest integer,
// with its margin.
func (r *Release) denseAnswer(ctx context.Context, q query.Query, m uint64, confidence float64) (Answer, error) {
	parts := make([]wide, workersFor(r.p.Rows))
	buffer := make([]weighted, 0, denseBatch)
	for x, weight := range r.Coder().Elements(q) {
		if buffer = append(buffer, weighted{x, weight}); len(buffer) == denseBatch {
			if err := r.addInner(ctx, buffer, parts); err != nil {
				return Answer{}, err
			}
			buffer = buffer[:0]
		}
	}
	if err := r.addInner(ctx, buffer, parts); err != nil {
		return Answer{}, err
	}
	var sum wide
	for _, p := range parts {
		sum.plus(p)
	}
	value := divideRounded(sum.big(), r.p.Rows)
	if !value.IsInt64() {
		return Answer{}, tooLarge()
	}
	return Answer{value.Int64(), r.denseMargin(q, m, float64(value.Int64()), confidence)}, nil
}

// addInner adds ⟨√T·A·v, √T·(u + ν)⟩ to the workers' parts.
func (r *Release) addInner(ctx context.Context, v []weighted, parts []wide) error {
	r.matrix.signs.eachBlock(ctx, v, r.p.Rows, len(parts), func(worker int, block uint32, sums *[blockRows]int64) {
		first := uint64(block) * blockRows
		part := parts[worker]
		for j := range min(blockRows, r.p.Rows-first) {
			part.addProduct(sums[j], r.sketch.at(first+j))
		}
		parts[worker] = part
	})
	return contextError(ctx)
}

// divideRounded returns a/n rounded to the nearest integer, halves up.
func divideRounded(a *big.Int, n uint64) *big.Int {
	twice := new(big.Int).SetUint64(n)
	twice.Lsh(twice, 1)
	half := new(big.Int).SetUint64(n)
	a = half.Add(half, new(big.Int).Lsh(a, 1))
	return a.Div(a, twice) // Euclidean: rounds down for a positive divisor
}

// denseMargin returns the margin of a Dense matrix, by the normal law with
// variance (Σq²·V + (1−2/m)·estimate²)/T, plus 0.5 for the rounding. The second
// term covers the part of the data in the query's own support.
func (r *Release) denseMargin(q query.Query, m uint64, estimate, confidence float64) float64 {
	aligned := estimate * estimate * max(0, 1-2/float64(m))
	v := max(r.summary.meanSquare, r.p.Law.Variance())
	variance := (q.SumSquares()*v + aligned) / float64(r.p.Rows)
	return normalQuantile(confidence)*math.Sqrt(variance) + 0.5
}
