package smw

import (
	"cmp"
	"math"
	"slices"

	"dpsql/noise/coin"
	"dpsql/query"
)

// Pairs of columns with more than mostCells value pairs are not counted for a
// prior. Of the others the largest are left out until the rest has at most
// allCells together. So learning takes at most a few seconds and 200 MB.
const (
	mostCells = 1_000_000
	allCells  = 4_000_000
)

// Table holds the counts of the records by two columns, A before B. The count
// of the ordinals (a, b) is at index a·|B| + b.
type Table struct {
	A, B   int
	Counts []int64
}

// PriorTables returns the pairs of columns from whose counts a prior is
// learned, with room for the counts. It returns none if a column is unbounded
// or there is only one column.
func PriorTables(u *query.Universe) []Table {
	var tables []Table
	for b, second := range u.Columns() {
		if !second.Domain.Finite() {
			return nil
		}
		for a, first := range u.Columns()[:b] {
			if n := first.Domain.Size(); n <= mostCells && second.Domain.Size() <= mostCells/n {
				tables = append(tables, Table{A: a, B: b})
			}
		}
	}
	size := func(t Table) int {
		return int(u.Columns()[t.A].Domain.Size() * u.Columns()[t.B].Domain.Size())
	}
	slices.SortStableFunc(tables, func(x, y Table) int { return cmp.Compare(size(x), size(y)) })
	total := 0
	for i := range tables {
		if total += size(tables[i]); total > allCells {
			return tables[:i]
		}
		tables[i].Counts = make([]int64, size(tables[i]))
	}
	return tables
}

// pairLaw is the joint law of two columns, made of a noisy table.
type pairLaw struct {
	a, b  int
	sizeB int
	joint []float64 // row by row of a
}

// pairLaws turns noisy tables, of noise σ a cell, into laws. The law of a
// single column is the average over all tables with that column, weighted by
// their precision. Each table is then shrunk toward the product of its two
// columns' laws, by the part of its distance from the product that is noise. So
// large tables of pure noise have no influence.
func pairLaws(u *query.Universe, tables []Table, sigma, rows float64) ([]pairLaw, [][]float64) {
	singles := singleLaws(u, tables, rows)
	laws := make([]pairLaw, len(tables))
	for i, t := range tables {
		l := pairLaw{t.A, t.B, len(singles[t.B]), make([]float64, len(t.Counts))}
		apart := 0.0
		for k, n := range t.Counts {
			independent := singles[t.A][k/l.sizeB] * singles[t.B][k%l.sizeB]
			d := float64(n)/rows - independent
			apart += d * d
		}
		noise := sigma * sigma / (rows * rows) * float64(len(t.Counts))
		signal := max(0, 1-noise/apart)
		for k, n := range t.Counts {
			independent := singles[t.A][k/l.sizeB] * singles[t.B][k%l.sizeB]
			l.joint[k] = independent + signal*(float64(n)/rows-independent)
		}
		ontoSimplex(l.joint)
		laws[i] = l
	}
	return laws, singles
}

// singleLaws returns the law of each column. A column without a table has the
// uniform law.
func singleLaws(u *query.Universe, tables []Table, rows float64) [][]float64 {
	singles := make([][]float64, len(u.Columns()))
	precision := make([]float64, len(singles))
	for i, c := range u.Columns() {
		if c.Domain.Size() <= mostCells {
			singles[i] = make([]float64, c.Domain.Size())
		}
	}
	for _, t := range tables {
		a, b := singles[t.A], singles[t.B]
		forA, forB := 1/float64(len(b)), 1/float64(len(a)) // weights: a sum of fewer cells has less noise
		precision[t.A] += forA
		precision[t.B] += forB
		for k, n := range t.Counts {
			a[k/len(b)] += forA * float64(n) / rows
			b[k%len(b)] += forB * float64(n) / rows
		}
	}
	for i, law := range singles {
		for x := range law {
			law[x] /= max(precision[i], 1e-300)
		}
		ontoSimplex(law)
	}
	return singles
}

// fit finds the classes that best explain the laws of pairs. It maximises their
// composite likelihood by expectation and maximisation (Dempster, Laird and
// Rubin 1977; Varin, Reid and Firth 2011): each value pair of each law is
// divided among the classes in proportion to the probability they give it, and
// each class becomes the sum of its parts. It reads public values only, so
// every result is private alike.
type fit struct {
	laws    []sparseLaw
	weights []float64     // of the classes
	given   [][][]float64 // the law of each column in each class; nil: uniform
	next    [][][]float64 // what given becomes
}

// sparseLaw holds the value pairs of a law with positive probability.
type sparseLaw struct {
	a, b int
	at   []valuePair
}

type valuePair struct {
	a, b uint32
	p    float64
}

func newFit(laws []pairLaw, singles [][]float64) *fit {
	values := 1
	for _, law := range singles {
		values += len(law)
	}
	classes := min(max(mostValues/values, 2), mostClasses)
	f := &fit{weights: make([]float64, classes), given: make([][][]float64, classes), next: make([][][]float64, classes)}
	for _, l := range laws {
		s := sparseLaw{a: l.a, b: l.b}
		for k, p := range l.joint {
			if p > 0 {
				s.at = append(s.at, valuePair{uint32(k / l.sizeB), uint32(k % l.sizeB), p})
			}
		}
		f.laws = append(f.laws, s)
	}
	for c := range f.given {
		f.weights[c] = 1 / float64(classes)
		f.given[c], f.next[c] = make([][]float64, len(singles)), make([][]float64, len(singles))
		for j, law := range singles {
			if law != nil {
				f.given[c][j], f.next[c][j] = slices.Clone(law), make([]float64, len(law))
			}
		}
	}
	return f
}

// scatter moves the classes apart at random by a little. Equal classes would
// stay equal.
func (f *fit) scatter(random *coin.Source) error {
	for _, laws := range f.given {
		for _, law := range laws {
			for x := range law {
				u, err := random.Below(1 << 16)
				if err != nil {
					return errSource()
				}
				law[x] *= 1 + float64(u)/(1<<16)
			}
			normalise(law)
		}
	}
	return nil
}

// run fits for as many steps as the bound on its work allows.
func (f *fit) run() {
	work := 0.0
	for _, l := range f.laws {
		work += float64(len(l.at) * len(f.weights))
	}
	for range int(min(fitSteps, math.Ceil(fitWork/max(work, 1)))) {
		f.step()
	}
}

// step is one step of expectation and maximisation.
func (f *fit) step() {
	weights := make([]float64, len(f.weights))
	for _, columns := range f.next {
		for _, law := range columns {
			clear(law)
		}
	}
	for _, l := range f.laws {
		f.divide(l, weights, f.next)
	}
	for c, columns := range f.next {
		for j, law := range columns {
			if weights[c] > 0 {
				normalise(law)
				f.given[c][j], columns[j] = law, f.given[c][j]
			}
		}
	}
	normalise(weights)
	f.weights = weights
}

// divide adds to each class its part of a law.
func (f *fit) divide(l sparseLaw, weights []float64, given [][][]float64) {
	var share [mostClasses]float64
	var a, b, toA, toB [mostClasses][]float64
	for c := range f.weights {
		a[c], b[c], toA[c], toB[c] = f.given[c][l.a], f.given[c][l.b], given[c][l.a], given[c][l.b]
	}
	for _, v := range l.at {
		total := 0.0
		for c, w := range f.weights {
			share[c] = w * a[c][v.a] * b[c][v.b]
			total += share[c]
		}
		if total <= 0 {
			continue
		}
		each := v.p / total
		for c, s := range share[:len(f.weights)] {
			s *= each
			weights[c] += s
			toA[c][v.a] += s
			toB[c][v.b] += s
		}
	}
}

// ontoSimplex moves x to the nearest point, in Euclidean distance, whose
// coordinates are not negative and sum to 1. It subtracts one number from all
// coordinates and cuts off what falls below 0 (Held, Wolfe and Crowder 1974).
// In a table of mostly empty cells, that number removes what the noise added.
func ontoSimplex(x []float64) {
	sorted := slices.Clone(x)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, low := 0.0, 0.0
	for i, v := range sorted {
		sum += v
		if at := (sum - 1) / float64(i+1); v > at {
			low = at
		}
	}
	for i := range x {
		x[i] = max(x[i]-low, 0)
	}
}

// normalise scales weights to a law, and returns the uniform one if all are 0.
func normalise(weights []float64) {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	for i := range weights {
		if total > 0 {
			weights[i] /= total
		} else {
			weights[i] = 1 / float64(len(weights))
		}
	}
}
