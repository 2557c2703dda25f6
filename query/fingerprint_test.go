package query_test

import (
	"slices"
	"testing"

	"dpsql/query"
)

// TestElementsOfLargeUniverses enumerates supports in a universe without codes,
// where the hashes of some columns are kept and those of others are not.
func TestElementsOfLargeUniverses(t *testing.T) {
	u := ofSizes(t, query.MaxHashes+1, 1<<40+1, 4, 1<<40+1)
	columns := u.Columns()
	pinned := []query.ColumnSet{{1, columns[1].Domain.SetOf(query.Int(1), query.Int(2), query.Int(1<<39))}, {3, columns[3].Domain.SetOf(query.Int(5), query.Int(1<<40))}}
	some, err := columns[0].Domain.Less(query.Int(1000), true)
	if err != nil {
		t.Fatal(err)
	}
	few := append([]query.ColumnSet{{0, columns[0].Domain.SetOf(query.Int(7), query.Int(8), query.Int(4000))}}, pinned...)
	for name, q := range map[string]query.Query{"many": query.Conjunction(u, append([]query.ColumnSet{{0, some}}, pinned...)), "few": query.Conjunction(u, few)} {
		coder := query.NewCoder(u, [16]byte{1, 2, 3})
		want := make(map[query.Element]bool)
		eachTuple(u, q, func(x []query.Value) {
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

// eachTuple yields the records with weight in q, whose columns b and d are pinned and whose a is at most 4000.
func eachTuple(u *query.Universe, q query.Query, f func([]query.Value)) {
	for a := range uint64(4001) {
		for _, b := range []int64{1, 2, 1 << 39} {
			for c := range u.Columns()[2].Domain.Size() {
				for _, d := range []int64{5, 1 << 40} {
					x := []query.Value{query.Int(int64(a)), query.Int(b), query.Int(int64(c)), query.Int(d)}
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
	texts := query.Unbounded()
	whole := func(n int64) query.Domain {
		d, err := query.NewRange(0, n-1, false)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		domains []query.Domain
		strides []uint64
	}{
		{[]query.Domain{texts}, []uint64{0}},
		{[]query.Domain{whole(7), texts, whole(1), whole(5)}, []uint64{5, 0, 5, 1}},
		{[]query.Domain{whole(3), whole(1 << 31), whole(1 << 30)}, []uint64{1 << 30, 0, 1}},
		{[]query.Domain{whole(3), whole(1<<31 - 1), whole(1 << 30)}, []uint64{0, 1 << 30, 1}},
		{[]query.Domain{whole(9), whole(query.MaxCode), texts}, []uint64{1, 0, 0}},
		{[]query.Domain{texts, whole(query.MaxCode - 1), texts}, []uint64{0, 1, 0}},
	} {
		columns := make([]query.Column, len(c.domains))
		for i, d := range c.domains {
			columns[i] = query.Column{Name: string(rune('a' + i)), Domain: d}
		}
		u, err := query.NewUniverse(columns)
		if err != nil {
			t.Fatal(err)
		}
		coder := query.NewCoder(u, [16]byte{4, 5})
		if !slices.Equal(coder.Stride(), c.strides) {
			t.Errorf("%v has strides %v, want %v", c.domains, coder.Stride(), c.strides)
		}
		first := make([]query.Value, len(columns))
		for i, d := range c.domains {
			if first[i] = query.Text("x"); d.Finite() {
				first[i] = query.Int(0)
			}
		}
		from, _ := coder.Code(first)
		for i, d := range c.domains {
			if !d.Finite() || d.Size() == 1 {
				continue
			}
			next := slices.Clone(first)
			next[i] = query.Int(1)
			to, ok := coder.Code(next)
			if stepped := to == (query.Element{from.Hi, from.Lo + c.strides[i]}); !ok || stepped != (c.strides[i] > 0) {
				t.Errorf("column %d of %v: %v follows %v", i, c.domains, to, from)
			}
			if last := (query.Element{from.Hi, from.Lo&(1<<62-1) + query.MaxCode}); from.Lo >= 1<<62 || last.Lo < from.Lo {
				t.Errorf("the code of %v runs over: %v", c.domains, from)
			}
		}
	}
}
