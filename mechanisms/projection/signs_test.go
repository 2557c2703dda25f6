package projection

import (
	"math/bits"
	"testing"

	"dpsql/query"
)

// genericSigns is signs over any field: points pack a name above the number of
// a block of blockBits bits, and the low signBits bits of a value are signs.
type genericSigns struct {
	f                   field
	blockBits, signBits uint
	coefficients        []gf128
}

// at returns the signs of the block in the column of x.
func (g genericSigns) at(x query.Element, block uint64) uint64 {
	p := gf128{x.Hi<<g.blockBits | x.Lo>>(64-g.blockBits), x.Lo<<g.blockBits | block}
	v := g.f.value(g.coefficients, p).lo
	if g.signBits < 64 {
		v &= 1<<g.signBits - 1
	}
	return v
}

// entries returns all signs of a matrix with 4 names and 4 blocks of 2 rows,
// over GF(16), as 32 bits.
func (g genericSigns) entries() (all uint32) {
	for x := range uint64(4) {
		for block := range uint64(4) {
			all |= uint32(g.at(query.Element{Lo: x}, block)) << (2 * (4*x + block))
		}
	}
	return all
}

// allMatrices enumerates the matrices of polynomials of degree below r.
func allMatrices(r int) []uint32 {
	var out []uint32
	for n := range 1 << (4 * r) {
		c := make([]gf128, r)
		for i := range c {
			c[i].lo = uint64(n) >> (4 * i) & 15
		}
		out = append(out, genericSigns{gf16, 2, 2, c}.entries())
	}
	return out
}

// uniform reports whether the entries in the mask take all their values equally
// often.
func uniform(matrices []uint32, mask uint32) bool {
	seen := make(map[uint32]int)
	for _, m := range matrices {
		seen[m&mask]++
	}
	patterns := 1 << bits.OnesCount32(mask)
	for _, n := range seen {
		if n*patterns != len(matrices) {
			return false
		}
	}
	return len(seen) == patterns
}

// Any r entries of the matrix, several rows of one point included, must be
// jointly uniform, exactly: all matrices are enumerated, no sampling.
func TestSignsAreExactlyIndependent(t *testing.T) {
	t.Run("r=2", func(t *testing.T) {
		matrices := allMatrices(2)
		for a := range 32 {
			for b := range a {
				if !uniform(matrices, 1<<a|1<<b) {
					t.Fatalf("entries %d and %d are dependent", a, b)
				}
			}
		}
	})
	t.Run("r=3", func(t *testing.T) {
		matrices := allMatrices(3)
		for a := range 32 {
			for b := range a {
				for c := range b {
					if !uniform(matrices, 1<<a|1<<b|1<<c) {
						t.Fatalf("entries %d, %d and %d are dependent", a, b, c)
					}
				}
			}
		}
	})
	// The same check must see a dependence where there is one: a polynomial of
	// degree below 3 sums to 0 over the points 0, 1, 2, 3.
	t.Run("r=3 is not 4", func(t *testing.T) {
		if uniform(allMatrices(3), 1<<0|1<<2|1<<4|1<<6) {
			t.Error("four entries of a 3-wise independent matrix pass as independent")
		}
	})
}

func TestSignsAgainstGenericField(t *testing.T) {
	src, random := seeded(t)
	var table multiplier
	for _, r := range []int{4, 6, 50} {
		f, err := drawSigns(r, src)
		if err != nil {
			t.Fatal(err)
		}
		g := genericSigns{gfBig, 32, 64, f}
		for range 20 {
			x := query.Element{Hi: random.Uint64(), Lo: random.Uint64()}
			block := random.Uint32()
			if got, want := f.at(x, block, &table), g.at(x, uint64(block)); got != want {
				t.Fatalf("r = %d: signs %x of %x in block %d, want %x", r, got, x, block, want)
			}
		}
	}
}

// A point must give back the block and 96 bits of the name.
func TestPointIsInjective(t *testing.T) {
	_, random := seeded(t)
	for range 1000 {
		x := query.Element{Hi: random.Uint64(), Lo: random.Uint64()}
		block := random.Uint32()
		p := point(x, block)
		if uint32(p.lo) != block || p.hi<<32|p.lo>>32 != x.Lo || p.hi>>32 != x.Hi&(1<<32-1) {
			t.Fatalf("point of %x and %d is %x", x, block, p)
		}
	}
}

// explicit returns √T·A, a row a slice, over the given columns.
func (f signs) explicit(rows uint64, columns []query.Element) [][]int64 {
	g := genericSigns{gfBig, 32, 64, f}
	a := make([][]int64, rows)
	for i := range a {
		a[i] = make([]int64, len(columns))
		for j, x := range columns {
			a[i][j] = 1 - 2*int64(g.at(x, uint64(i)/64)>>(i%64)&1)
		}
	}
	return a
}

func TestMultiplyAgainstExplicitMatrix(t *testing.T) {
	src, random := seeded(t)
	f, err := drawSigns(6, src)
	if err != nil {
		t.Fatal(err)
	}
	var columns []query.Element
	var v []weighted
	for range 7 {
		x := query.Element{Hi: random.Uint64(), Lo: random.Uint64()}
		columns = append(columns, x)
		v = append(v, weighted{x, random.Int64N(2000) - 1000})
	}
	const rows = 200
	got := make([]int64, 256)
	f.eachBlock(v, rows, workersFor(rows), func(_ int, block uint32, sums *[blockRows]int64) {
		copy(got[64*block:], sums[:])
	})
	for i, row := range f.explicit(rows, columns) {
		var want int64
		for j, a := range row {
			want += a * v[j].weight
		}
		if got[i] != want {
			t.Fatalf("row %d is %d, want %d", i, got[i], want)
		}
	}
}
