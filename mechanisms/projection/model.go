package projection

import "math"

// skew is the exponent of the model of the rows: the cell of rank i holds a
// share of them that is proportional to i^−skew. Counts of combinations of
// attributes follow such a law with an exponent near 1 over many ranks; a
// little above 1 the sum is finite however many cells there are.
const skew = 1.05

// model is a database as public data let one picture it: N̂ rows, Zipf's law
// over |X| cells. Nothing in it is read off the rows.
type model []rankBin

// rankBin is a range of ranks with about the same count.
type rankBin struct {
	cells float64 // how many there are
	count float64 // the expected count of each
}

// newModel returns the model of so many rows over so many cells, which may be
// infinitely many. Ranks are taken together where counts differ by less than
// one part in 200, or in 20 below 4 rows.
func newModel(rows, cells float64) model {
	cells = min(cells, 1e30)
	top := rows / zipfSum(cells)
	var m model
	for first := 1.0; first <= cells; {
		count := top * math.Pow(first, -skew)
		growth := 1.005
		if count < 4 {
			growth = 1.05
		}
		next := min(max(first+1, math.Floor(first*growth)), cells+1)
		if next <= first { // steps of 1 are lost above 2^53
			break
		}
		middle := math.Sqrt(first * (next - 1))
		m = append(m, rankBin{next - first, top * math.Pow(middle, -skew)})
		first = next
	}
	return m
}

// zipfSum returns Σ i^−skew for i = 1 … n: exactly up to 1000 and by Euler's and
// Maclaurin's formula beyond.
func zipfSum(n float64) (sum float64) {
	head := min(n, 1000)
	for i := 1.0; i <= head; i++ {
		sum += math.Pow(i, -skew)
	}
	power := func(x float64) float64 { return math.Pow(x, 1-skew) / (1 - skew) }
	return sum + power(n) - power(head) + (math.Pow(n, -skew)-math.Pow(head, -skew))/2
}

// drawn returns the probabilities with which cells of each bin are among a
// number of different cells drawn by rows: 1 − e^(−κ·count), with κ such that
// they add up.
func (m model) drawn(cells float64) []float64 {
	among := func(logKappa float64) (p []float64, sum float64) {
		p = make([]float64, len(m))
		for i, b := range m {
			p[i] = -math.Expm1(-math.Exp(logKappa) * b.count)
			sum += p[i] * b.cells
		}
		return p, sum
	}
	low, high := -60.0, 60.0
	for range 50 {
		if _, sum := among((low + high) / 2); sum < cells {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	p, _ := among(low)
	return p
}

// occupied returns the probability of each bin's cells to hold a row.
func (m model) occupied() []float64 {
	p := make([]float64, len(m))
	for i, b := range m {
		p[i] = -math.Expm1(-b.count)
	}
	return p
}
