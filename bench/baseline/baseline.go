// Package baseline has the mechanisms that dpsql is compared with and does not offer:
// private multiplicative weights over the whole universe (Hardt and Rothblum 2010),
// MWEM (Hardt, Ligett and McSherry 2012) and the stability histogram (Korolova,
// Kenthapadi, Mishra and Ntoulas 2009; Bun, Nissim and Stemmer 2016). Each is the
// paper's algorithm and little else.
//
// They are here to be measured, not to be used. They charge nothing, MWEM chooses with
// floating point numbers, and the first two are given the exact number of rows, because
// their papers take it for public.
package baseline

import (
	"math"

	"dpsql/query"
)

// distribution is a full probability vector over a coded universe: the x_t of Hardt and
// Rothblum, and the A_i of MWEM. Every update touches every element.
type distribution []float64

// newDistribution returns the uniform distribution.
func newDistribution(size uint64) distribution {
	d := make(distribution, size)
	for x := range d {
		d[x] = 1 / float64(size)
	}
	return d
}

// value returns q(x), a fraction, for a query of weights 0 and 1.
func (d distribution) value(q query.Query) (sum float64) {
	for r := range q.Runs() {
		for _, p := range d[r.Start : r.Start+r.Len] {
			sum += p
		}
	}
	return sum
}

// reweigh multiplies the support of q by a factor and normalises.
func (d distribution) reweigh(q query.Query, factor float64) {
	for r := range q.Runs() {
		part := d[r.Start : r.Start+r.Len]
		for i := range part {
			part[i] *= factor
		}
	}
	d.normalise()
}

func (d distribution) normalise() {
	total := 0.0
	for _, p := range d {
		total += p
	}
	for x := range d {
		d[x] /= total
	}
}

// count scales a fraction to rows.
func count(fraction float64, rows int64) float64 { return math.Round(fraction * float64(rows)) }
