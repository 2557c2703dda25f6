package workload

import "dpsql/query"

// covidLaws are the laws, in thousandths, of gender, age and ethnicity given a negative
// and a positive test.
var covidLaws = [3][2][]uint64{
	{{500, 500}, {495, 505}},
	{{224, 312, 312, 152}, {120, 560, 190, 130}},
	{{2, 150, 402, 42, 4, 6, 343, 51}, {3, 70, 560, 15, 6, 90, 196, 60}},
}

var covidSizes = []int64{2, 2, 4, 8}

// Covid returns the family of queries of Turbo (Kostopoulou, Tholoniat,
// Cidon, Geambasu and Lécuyer, SOSP 2023): 50,000 drawn rows over 128 cells, and
// all 34,425 products of non-empty sets of values.
func Covid() (*Workload, error) {
	u, err := grid([]string{"positive", "gender", "age", "ethnicity"}, covidSizes)
	if err != nil {
		return nil, err
	}
	counts := make(map[uint64]int64)
	for row := range covidRows() {
		counts[((row[0]*2+row[1])*4+row[2])*8+row[3]]++
	}
	w := &Workload{Name: "W3", Table: newTable("Covid, 4 columns", u, counts)}
	subsets := make([][][]uint64, len(covidSizes))
	for i, size := range covidSizes {
		subsets[i] = bySize(uint64(size))
	}
	for _, a := range subsets[0] {
		for _, b := range subsets[1] {
			for _, c := range subsets[2] {
				if err := w.addCovid(u, [][]uint64{a, b, c}, subsets[3]); err != nil {
					return nil, err
				}
			}
		}
	}
	return w, nil
}

// addCovid adds the products of three sets with each set of the last column.
func (w *Workload) addCovid(u *query.Universe, first, last [][]uint64) error {
	prefix, err := product(u, []int{0, 1, 2}, first)
	if err != nil {
		return err
	}
	for _, d := range last {
		rest, err := product(u, []int{3}, [][]uint64{d})
		if err != nil {
			return err
		}
		q, err := prefix.And(rest)
		if err != nil {
			return err
		}
		w.Queries = append(w.Queries, Query{q, w.Table.Count(q)})
	}
	return nil
}

// covidRows yields the rows in order: positive, gender, age, ethnicity.
func covidRows() func(yield func([4]uint64) bool) {
	return func(yield func([4]uint64) bool) {
		random := NewSplitmix(20240608)
		for range 50000 {
			var row [4]uint64
			if random.Below(1000) < 80 {
				row[0] = 1
			}
			for i, laws := range covidLaws {
				row[i+1] = pick(laws[row[0]], random)
			}
			if !yield(row) {
				return
			}
		}
	}
}

// pick draws an index with the given weights, which sum to 1000.
func pick(weights []uint64, random *Splitmix) uint64 {
	u := random.Below(1000)
	sum := uint64(0)
	for i, w := range weights {
		if sum += w; u < sum {
			return uint64(i)
		}
	}
	return uint64(len(weights) - 1)
}

// bySize returns the non-empty subsets of 0 … n−1, small ones first, those of
// one size in lexicographic order.
func bySize(n uint64) (subsets [][]uint64) {
	var extend func(set []uint64, from, size uint64)
	extend = func(set []uint64, from, size uint64) {
		if uint64(len(set)) == size {
			subsets = append(subsets, append([]uint64(nil), set...))
			return
		}
		for v := from; v < n; v++ {
			extend(append(set, v), v+1, size)
		}
	}
	for size := uint64(1); size <= n; size++ {
		extend(nil, 0, size)
	}
	return subsets
}
