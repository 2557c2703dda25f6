package smw

import (
	"cmp"
	"slices"
)

// ontoSimplex moves x to the nearest point, in Euclidean distance, that is not
// negative anywhere and sums to 1: all are lowered by one number, and what
// falls below 0 is cut off (Held, Wolfe and Crowder 1974). That number takes
// away what noise adds to a table of mostly empty cells.
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

// normalise makes weights a law, the uniform one where all are 0.
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
