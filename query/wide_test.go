package query_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"dpsql/internal/seeds"
	"dpsql/query"
)

// TestWideCodes names random records of universes around one and two words, and compares the
// names with codes computed in big integers.
func TestWideCodes(t *testing.T) {
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		sizes []int64
		wide  bool
	}{
		{[]int64{3, 5, 2}, true},
		{[]int64{1 << 40, 7, 1 << 13, 9}, true},
		{[]int64{1 << 60, 3, 1 << 60, 5}, true},
		{[]int64{2, 1 << 60, 1 << 60, 1, 64}, true},
		{[]int64{2, 1 << 60, 1 << 60, 127}, true},
		{[]int64{2, 1 << 60, 1 << 60, 128}, false},
	} {
		var columns []query.Column
		for i, n := range c.sizes {
			d, err := query.NewRange(-4, n-5, false)
			if err != nil {
				t.Fatal(err)
			}
			columns = append(columns, query.Column{Name: string(rune('a' + i)), Domain: d})
		}
		u, err := query.NewUniverse(columns)
		if err != nil {
			t.Fatal(err)
		}
		if u.WideCoded() != c.wide {
			t.Errorf("%v: WideCoded is %v", c.sizes, !c.wide)
		}
		if !c.wide {
			continue
		}
		coder := query.NewWideCoder(u)
		for range 200 {
			code := new(big.Int)
			tuple := make([]query.Value, len(c.sizes))
			want := make([]int, len(c.sizes))
			for i, n := range c.sizes {
				want[i] = int([]int64{0, n - 1, random.Int64N(n)}[random.IntN(3)])
				tuple[i] = query.Int(int64(want[i]) - 4)
				code.Add(code.Mul(code, big.NewInt(n)), big.NewInt(int64(want[i])))
			}
			x, ok := coder.Code(tuple)
			got := new(big.Int).SetUint64(x.Hi)
			got.Add(got.Lsh(got, 64), new(big.Int).SetUint64(x.Lo))
			if !ok || got.Cmp(code) != 0 {
				t.Fatalf("%v: %v has the code %v, want %v", c.sizes, want, got, code)
			}
			digits := make([]int, len(want))
			if !u.Digits(x, digits) {
				t.Fatalf("%v: %v is no code", c.sizes, x)
			}
			for i := range want {
				if digits[i] != want[i] {
					t.Fatalf("%v: the digits of %v are %v", c.sizes, want, digits)
				}
			}
			tuple[len(tuple)-1] = query.Int(-5)
			if _, ok := coder.Code(tuple); ok {
				t.Errorf("%v has a code", tuple)
			}
		}
		if u.Digits(query.Element{Hi: ^uint64(0), Lo: ^uint64(0)}, make([]int, len(columns))) {
			t.Errorf("%v: a number beyond the codes is one", c.sizes)
		}
	}
}
