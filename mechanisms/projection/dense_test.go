package projection

import (
	"math"
	"math/big"
	"math/bits"
	"testing"

	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/sqlerr"
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
// jointly uniform, exactly: all matrices are enumerated, no sampling. Without
// -long a quarter of the triples is looked at.
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
					if !*long && (a+2*b+3*c)%4 != 0 {
						continue
					}
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
	_, random := seeded(t)
	var table multiplier
	for _, r := range []int{4, 6, 50} {
		f, err := drawSigns(r, coin.NewSource())
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
	_, random := seeded(t)
	f, err := drawSigns(6, coin.NewSource())
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
	f.eachBlock(t.Context(), v, rows, workersFor(rows), func(_ int, block uint32, sums *[blockRows]int64) {
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

// field is GF(2^bits), bits <= 128, written for being read: the slow twin of
// gf128, and small fields in which everything can be enumerated. low is the
// irreducible polynomial without its leading term.
type field struct {
	bits uint
	low  uint64
}

var (
	gf16  = field{4, 0b0011} // z^4 + z + 1
	gfBig = field{128, reduction}
)

// mul returns a·b: for each coefficient of b from the highest, shift and add.
func (f field) mul(a, b gf128) gf128 {
	var r gf128
	for i := int(f.bits) - 1; i >= 0; i-- {
		over := f.coefficient(r, f.bits-1)
		r = gf128{r.hi<<1 | r.lo>>63, r.lo << 1}
		if over {
			r.lo ^= f.low
		}
		r = f.truncated(r)
		if f.coefficient(b, uint(i)) {
			r = r.add(a)
		}
	}
	return r
}

func (f field) coefficient(a gf128, i uint) bool {
	if i >= 64 {
		return a.hi>>(i-64)&1 == 1
	}
	return a.lo>>i&1 == 1
}

func (f field) truncated(a gf128) gf128 {
	if f.bits < 64 {
		return gf128{0, a.lo & (1<<f.bits - 1)}
	}
	return a
}

// value returns Σ c[i]·p^i.
func (f field) value(c []gf128, p gf128) gf128 {
	var sum gf128
	power := gf128{0, 1}
	for _, a := range c {
		sum = sum.add(f.mul(a, power))
		power = f.mul(power, p)
	}
	return sum
}

// In GF(16) every element but 0 must have exactly one inverse, which holds for
// irreducible polynomials only.
func TestSmallFieldIsAField(t *testing.T) {
	for a := uint64(1); a < 16; a++ {
		inverses := 0
		for b := uint64(1); b < 16; b++ {
			switch p := gf16.mul(gf128{0, a}, gf128{0, b}).lo; p {
			case 0:
				t.Errorf("%d·%d = 0", a, b)
			case 1:
				inverses++
			}
		}
		if inverses != 1 {
			t.Errorf("%d has %d inverses", a, inverses)
		}
	}
}

// Rabin's test: f of degree 128 is irreducible over GF(2) when z^(2^128) = z
// modulo f, and z^(2^64) − z has no factor in common with f.
func TestBigFieldIsAField(t *testing.T) {
	z := gf128{0, 2}
	power := z
	for range 64 {
		power = gfBig.mul(power, power)
	}
	half := power
	for range 64 {
		power = gfBig.mul(power, power)
	}
	if power != z {
		t.Errorf("z^(2^128) = %x", power)
	}
	modulus := new(big.Int).SetBit(big.NewInt(reduction), 128, 1)
	if g := polynomialGCD(modulus, asInt(half.add(z))); g.Cmp(big.NewInt(1)) != 0 {
		t.Errorf("common factor %b", g)
	}
}

func asInt(a gf128) *big.Int {
	b := new(big.Int).SetUint64(a.hi)
	return b.Add(b.Lsh(b, 64), new(big.Int).SetUint64(a.lo))
}

// polynomialGCD is Euclid's algorithm on polynomials over GF(2).
func polynomialGCD(a, b *big.Int) *big.Int {
	a, b = new(big.Int).Set(a), new(big.Int).Set(b)
	for b.Sign() != 0 {
		for a.BitLen() >= b.BitLen() {
			a.Xor(a, new(big.Int).Lsh(b, uint(a.BitLen()-b.BitLen())))
		}
		a, b = b, a
	}
	return a
}

func TestMultiplierAgainstGenericField(t *testing.T) {
	_, random := seeded(t)
	elements := []gf128{{}, {0, 1}, {0, 2}, {1 << 63, 0}, {1<<63 - 1, ^uint64(0)}, {^uint64(0), ^uint64(0)}}
	for range 60 {
		elements = append(elements, gf128{random.Uint64(), random.Uint64()})
	}
	var m multiplier
	for _, p := range elements {
		m.set(p)
		for _, a := range elements {
			if got, want := m.mul(a), gfBig.mul(a, p); got != want {
				t.Fatalf("%x · %x = %x, want %x", a, p, got, want)
			}
		}
	}
}

func TestMulModAgainstBig(t *testing.T) {
	_, random := seeded(t)
	values := []uint64{0, 1, 2, prime - 1, prime - 2, 1 << 60}
	for range 200 {
		values = append(values, random.Uint64N(prime))
	}
	modulus := big.NewInt(prime)
	for _, a := range values {
		for _, b := range values {
			want := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
			if got := mulMod(a, b); got != want.Mod(want, modulus).Uint64() {
				t.Fatalf("%d·%d = %d", a, b, got)
			}
		}
	}
	for range 200 {
		p := polynomial{random.Uint64N(prime), random.Uint64N(prime), random.Uint64N(prime), random.Uint64N(prime)}
		x := values[random.IntN(len(values))]
		want := new(big.Int)
		for i := 3; i >= 0; i-- {
			want.Mul(want, new(big.Int).SetUint64(x)).Add(want, new(big.Int).SetUint64(p[i])).Mod(want, modulus)
		}
		if got := p.at(x); got != want.Uint64() {
			t.Fatalf("%d at %d = %d, want %v", p, x, got, want)
		}
	}
	if bits.Len64(prime) != 61 || !modulus.ProbablyPrime(20) {
		t.Error("the modulus is not a prime of 61 bits")
	}
}

func TestPaperRows(t *testing.T) {
	got := PaperRows(1e4, 64, 1e6, 0.05)
	t.Logf("T = %.3g", got)
	if got < 1.85e20 || got > 1.95e20 {
		t.Errorf("T = %v, want 1.9e20", got)
	}
	// The three terms one by one, where each is the largest or simple.
	factor := 16384 * math.Log(4*10/0.5)
	if got, want := PaperRows(1, 4, 10, 0.5), factor*(4+0.25+2); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("T = %v, want %v", got, want)
	}
	// It is 2√m times ς^-2 of the proof, ς = 2√m/(m+n²).
	const n, m = 300.0, 25.0
	sigma := 2 * math.Sqrt(m) / (m + n*n)
	want := 16384 * math.Log(4*1e3/0.05) / (sigma * sigma) * 2 * math.Sqrt(m)
	if got := PaperRows(n, m, 1e3, 0.05); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("T = %v, the proof's times 2√m is %v", got, want)
	}
}

func TestPaperIndependence(t *testing.T) {
	for _, c := range []struct {
		k, rows, beta float64
		want          int
	}{
		{1e6, 1.9e20, 0.05, 126}, // 2·ln(1.9e27) = 125.6
		{1e6, 1e6, 0.05, 60},     // 2·ln(1e13) = 59.9
		{1, 1, 0.5, 4},
		{math.NaN(), 1, 1, 4},
		{math.Inf(1), 1, 1, MaxIndependence},
	} {
		if got := PaperIndependence(c.k, c.rows, c.beta); got != c.want {
			t.Errorf("r(%v, %v, %v) = %d, want %d", c.k, c.rows, c.beta, got, c.want)
		}
	}
}

func TestPaperLaplaceScale(t *testing.T) {
	million := big.NewRat(1, 1_000_000)
	for _, c := range []struct {
		rows    uint64
		epsilon *big.Rat
		delta   *big.Rat
	}{
		{1, big.NewRat(1, 1), million},
		{1024, big.NewRat(1, 1), million},
		{1 << 30, big.NewRat(1, 7), big.NewRat(1, 1_000_000_000_000_000_000)},
		{5, big.NewRat(5, 1), big.NewRat(1, 2)},
	} {
		s, err := PaperLaplaceScale(c.rows, c.epsilon, c.delta)
		if err != nil {
			t.Error(err)
			continue
		}
		e, _ := c.epsilon.Float64()
		d, _ := c.delta.Float64()
		want := math.Sqrt(8*float64(c.rows)*math.Log(1/d)) / e
		got, _ := s.Float64()
		if got < want || got > want*(1+1e-6)+1e-6 {
			t.Errorf("scale %v, want at least %v", got, want)
		}
		// What it costs in zCDP is ε²/(16 ln(1/δ)), whatever T.
		rho, claim := float64(c.rows)/(2*got*got), e*e/(16*math.Log(1/d))
		if rho > claim || rho < claim*(1-1e-5) {
			t.Errorf("ρ = %v, want %v", rho, claim)
		}
		if total := rho + 2*math.Sqrt(rho*math.Log(1/d)); total > e {
			t.Errorf("ρ-zCDP gives ε = %v, above %v", total, e)
		}
	}
	for _, c := range []struct {
		rows           uint64
		epsilon, delta *big.Rat
	}{
		{0, big.NewRat(1, 1), million},
		{1, new(big.Rat), million},
		{1, big.NewRat(-1, 1), million},
		{1, big.NewRat(1, 1), new(big.Rat)},
		{1, big.NewRat(1, 1), big.NewRat(1, 1)},
		{1, big.NewRat(1, 1), big.NewRat(-1, 2)},
		{1, big.NewRat(6, 1), big.NewRat(1, 2)}, // 8·ln 2 = 5.545
	} {
		if s, err := PaperLaplaceScale(c.rows, c.epsilon, c.delta); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%d rows, ε = %v, δ = %v: %v, %v", c.rows, c.epsilon, c.delta, s, err)
		}
	}
}

// inner returns ⟨Ax, Ay⟩ for a fresh matrix.
func inner(t *testing.T, x, y []weighted, rows uint64, f signs) float64 {
	t.Helper()
	parts := make([]wide, workersFor(rows))
	left := make([]int64, blocksOf(rows)*blockRows)
	f.eachBlock(t.Context(), x, rows, len(parts), func(_ int, block uint32, sums *[blockRows]int64) {
		copy(left[uint64(block)*blockRows:], sums[:])
	})
	f.eachBlock(t.Context(), y, rows, len(parts), func(w int, block uint32, sums *[blockRows]int64) {
		first := uint64(block) * blockRows
		for j := range min(blockRows, rows-first) {
			parts[w].addProduct(left[first+j], sums[j])
		}
	})
	var sum wide
	for _, p := range parts {
		sum.plus(p)
	}
	v, _ := new(big.Rat).SetFrac(sum.big(), new(big.Int).SetUint64(rows)).Float64()
	return v
}

// jlVectors are x and y with ‖x‖² = 80, ‖y‖² = 45 and ⟨x, y⟩ = 36.
func jlVectors() (x, y []weighted) {
	for i, w := range []int64{4, 4, 4, 4, 4} {
		x = append(x, weighted{query.Element{Lo: uint64(i)}, w})
	}
	for i, w := range []int64{3, 3, 3, 3, 3} {
		y = append(y, weighted{query.Element{Lo: uint64(2 + i)}, w})
	}
	return x, y
}

// Corollary JL: with T >= 4·64²·ς^-2·ln(1/τ) rows and r >= 2·ln(1/τ), the inner
// product is off by ς/2·(‖x‖² + ‖y‖²) with probability at most 2τ. At
// ς = 0.49 and τ = 0.1 that needs 157 123 rows. If the corollary holds, more than
// 10 failures in 12 trials, or 19 in the 30 of -long, happen with probability below 1e-6 (binomial, 0.2).
func TestInnerProductsKeepTheCorollary(t *testing.T) {
	t.Parallel()
	const varsigma, tau = 0.49, 0.1
	trials, most := sized(12, 30), sized(10, 19)
	rows := uint64(math.Ceil(4 * 64 * 64 / (varsigma * varsigma) * math.Log(1/tau)))
	r := PaperIndependence(1/tau, 2, 1) // 2·ln(1/τ) made even: 6
	failures := jlFailures(t, rows, varsigma, trials, func() signs {
		f, err := drawSigns(r, coin.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
	t.Logf("T = %d, r = %d: %d failures of %d; the corollary allows %.0f %%", rows, r, failures, trials, 200*tau)
	if failures > most || r != 6 {
		t.Errorf("%d failures of %d, r = %d", failures, trials, r)
	}

	if !*long {
		return
	}
	// The bound is far from tight: report much smaller T.
	for _, rows := range []uint64{16, 32, 64, 128, 256} {
		n := jlFailures(t, rows, varsigma, 1000, func() signs {
			f, err := drawSigns(r, coin.NewSource())
			if err != nil {
				t.Fatal(err)
			}
			return f
		})
		t.Logf("T = %d: %d failures of 1000", rows, n)
	}
}

func jlFailures(t *testing.T, rows uint64, varsigma float64, trials int, draw func() signs) (failures int) {
	t.Helper()
	x, y := jlVectors()
	for range trials {
		if math.Abs(inner(t, x, y, rows, draw())-36) >= varsigma/2*(80+45) {
			failures++
		}
	}
	return failures
}

// ⟨Ax, Ay⟩ is unbiased with variance Σ_{i<j} (x_i·y_j + x_j·y_i)²/T, already for
// 4-wise independent signs.
func TestInnerProductsAreUnbiased(t *testing.T) {
	x, y := jlVectors()
	dense := func(v []weighted) (out [7]float64) {
		for _, c := range v {
			out[c.x.Lo] = float64(c.weight)
		}
		return out
	}
	a, b := dense(x), dense(y)
	var variance float64
	for i := range a {
		for j := range i {
			c := a[i]*b[j] + a[j]*b[i]
			variance += c * c
		}
	}
	const rows = 80
	var s sample
	for range 5000 {
		f, err := drawSigns(4, coin.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		s.add(inner(t, x, y, rows, f))
	}
	s.expect(t, 36, variance/rows)
}
