package projection

import (
	"math/big"
	"math/bits"
	"testing"
)

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
