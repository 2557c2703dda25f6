package smw

import (
	"math"
	"slices"

	"dpsql/noise"
)

// fit makes the classes that explain the laws of pairs best, by expectation and
// maximisation of their composite likelihood (Dempster, Laird and Rubin 1977;
// Varin, Reid and Firth 2011): each value pair of each law is divided among the
// classes by how likely they make it, and each class becomes what it was given.
// It reads public values only, so that any result is as private as another.
type fit struct {
	laws    []sparseLaw
	weights []float64     // of the classes
	given   [][][]float64 // the law of each column in each class; nil: uniform
	next    [][][]float64 // what given becomes
}

// sparseLaw is the value pairs of a law that are not 0.
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

// scatter moves the classes a little apart, at random: equal ones would stay
// equal.
func (f *fit) scatter(src *noise.Source) error {
	for _, laws := range f.given {
		for _, law := range laws {
			for x := range law {
				u, err := src.Below(1 << 16)
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

// run fits for a number of steps that its work allows.
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

// divide adds what each class is given of a law.
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
