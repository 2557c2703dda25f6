package query

import (
	"slices"
	"testing"
)

// TestElementsOfLargeUniverses enumerates supports in a universe without codes,
// where the hashes of some columns are kept and those of others are not.
func TestElementsOfLargeUniverses(t *testing.T) {
	u := ofSizes(t, maxHashes+1, 1<<40+1, 4, 1<<40+1)
	columns := u.Columns()
	pinned := []ColumnSet{{1, columns[1].Domain.SetOf(Int(1), Int(2), Int(1<<39))}, {3, columns[3].Domain.SetOf(Int(5), Int(1<<40))}}
	some, err := columns[0].Domain.Less(Int(1000), true)
	if err != nil {
		t.Fatal(err)
	}
	few := append([]ColumnSet{{0, columns[0].Domain.SetOf(Int(7), Int(8), Int(4000))}}, pinned...)
	for name, q := range map[string]Query{"many": Conjunction(u, append([]ColumnSet{{0, some}}, pinned...)), "few": Conjunction(u, few)} {
		coder := NewCoder(u, [16]byte{1, 2, 3})
		want := make(map[Element]bool)
		eachTuple(u, q, func(x []Value) {
			e, ok := coder.Code(x)
			if !ok || want[e] {
				t.Fatalf("%s: %v has the name %v, %v of another", name, x, e, ok)
			}
			want[e] = true
		})
		for e := range coder.Elements(q) {
			if !want[e] {
				t.Fatalf("%s: %v is yielded twice or not a name", name, e)
			}
			delete(want, e)
		}
		if len(want) > 0 {
			t.Errorf("%s: %d elements are missing", name, len(want))
		}
	}
}

// eachTuple yields the records with weight in q, whose columns b and d are pinned.
func eachTuple(u *Universe, q Query, f func([]Value)) {
	for a := range u.columns[0].Domain.Size() {
		for _, b := range []int64{1, 2, 1 << 39} {
			for c := range u.columns[2].Domain.Size() {
				for _, d := range []int64{5, 1 << 40} {
					x := []Value{Int(int64(a)), Int(b), Int(int64(c)), Int(d)}
					if q.Weight(x) > 0 {
						f(x)
					}
				}
			}
		}
	}
}

// TestDividedColumns says which columns of a universe without codes are coded,
// and that their steps are steps of the names.
func TestDividedColumns(t *testing.T) {
	texts := Unbounded()
	whole := func(n int64) Domain {
		d, err := NewRange(0, n-1, false)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		domains []Domain
		strides []uint64
	}{
		{[]Domain{texts}, []uint64{0}},
		{[]Domain{whole(7), texts, whole(1), whole(5)}, []uint64{5, 0, 5, 1}},
		{[]Domain{whole(3), whole(1 << 31), whole(1 << 30)}, []uint64{1 << 30, 0, 1}},
		{[]Domain{whole(3), whole(1<<31 - 1), whole(1 << 30)}, []uint64{0, 1 << 30, 1}},
		{[]Domain{whole(9), whole(maxCode), texts}, []uint64{1, 0, 0}},
		{[]Domain{texts, whole(maxCode - 1), texts}, []uint64{0, 1, 0}},
	} {
		columns := make([]Column, len(c.domains))
		for i, d := range c.domains {
			columns[i] = Column{string(rune('a' + i)), d}
		}
		u, err := NewUniverse(columns)
		if err != nil {
			t.Fatal(err)
		}
		coder := NewCoder(u, [16]byte{4, 5})
		if !slices.Equal(coder.stride, c.strides) {
			t.Errorf("%v has strides %v, want %v", c.domains, coder.stride, c.strides)
		}
		first := make([]Value, len(columns))
		for i, d := range c.domains {
			if first[i] = Text("x"); d.Finite() {
				first[i] = Int(0)
			}
		}
		from, _ := coder.Code(first)
		for i, d := range c.domains {
			if !d.Finite() || d.Size() == 1 {
				continue
			}
			next := slices.Clone(first)
			next[i] = Int(1)
			to, ok := coder.Code(next)
			if stepped := to == (Element{from.Hi, from.Lo + c.strides[i]}); !ok || stepped != (c.strides[i] > 0) {
				t.Errorf("column %d of %v: %v follows %v", i, c.domains, to, from)
			}
			if last := (Element{from.Hi, from.Lo&(1<<62-1) + maxCode}); from.Lo >= 1<<62 || last.Lo < from.Lo {
				t.Errorf("the code of %v runs over: %v", c.domains, from)
			}
		}
	}
}
