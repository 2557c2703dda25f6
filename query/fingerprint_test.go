package query

import "testing"

// TestElementsOfLargeUniverses enumerates supports in a universe without codes,
// where the hashes of some columns are kept and those of others are not.
func TestElementsOfLargeUniverses(t *testing.T) {
	var columns []Column
	for i, most := range []int64{maxHashes, 1 << 40, 3, 1 << 40} {
		d, err := NewRange(0, most, false)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, Column{Name: string(rune('a' + i)), Domain: d})
	}
	u, err := NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	pinned := []Each{{1, columns[1].Domain.Of(Int(1), Int(2), Int(1<<39))}, {3, columns[3].Domain.Of(Int(5), Int(1<<40))}}
	some, err := columns[0].Domain.Less(Int(1000), true)
	if err != nil {
		t.Fatal(err)
	}
	few := append([]Each{{0, columns[0].Domain.Of(Int(7), Int(8), Int(4000))}}, pinned...)
	for name, q := range map[string]Query{"many": Conjunction(u, append([]Each{{0, some}}, pinned...)), "few": Conjunction(u, few)} {
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
