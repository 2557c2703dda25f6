package projection

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
// every place: multiplier[i][n] = n·z^(4i)·p. A product with p is then 32
// look-ups, which pays when many elements are multiplied by the same p.
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
