// Package accounting is the arithmetic of privacy costs: exact units for ε, δ
// and ρ, the conversions between them, the calibration of Gaussian noise, and
// the two accounts into which a table's budget is divided. It is pure
// arithmetic: it reads nothing, stores nothing and draws nothing.
//
// Every result is rounded to the private side, and each doc comment says which
// side that is: charges round up, caps round down, noise rounds up. Where a
// result goes through floating point, it is moved further by a stated pad that
// exceeds the error the floats can have made. What a search for a best order or
// a smallest σ returns is checked, not trusted: a search that stops early
// costs accuracy and never privacy.
//
// A charge too large for its type is returned as [Unpayable], which no cap
// admits.
//
// Papers, by the names used in this package:
//
//	[BS16]  Bun, Steinke: Concentrated Differential Privacy. arXiv:1605.02065
//	[BW18]  Balle, Wang: Improving the Gaussian Mechanism for Differential
//	        Privacy. arXiv:1805.06530
//	[CKS20] Canonne, Kamath, Steinke: The Discrete Gaussian for Differential
//	        Privacy. arXiv:2004.00010
//	[ALCKS20] Asoodeh, Liao, Calmon, Kosut, Sankar: A Better Bound Gives a
//	        Hundred Rounds. arXiv:2001.05990
//	[P10]   Peikert: An Efficient and Parallel Gaussian Sampler for Lattices.
//	        IACR ePrint 2010/088
package accounting

import "math"

// Unpayable is the value, of any unit, of a charge that its type cannot hold.
// No account admits it.
const Unpayable = math.MaxInt64

// Units in one: ε and ρ are counted in 1e-15, δ in 1e-18.
const (
	epsilonUnits = 1_000_000_000_000_000
	rhoUnits     = 1_000_000_000_000_000
	deltaUnits   = 1_000_000_000_000_000_000
)
