// Package smw is the interactive mechanism of Blum and Roth, "Fast Private
// Data Release Algorithms for Sparse Queries", section 3: a public hypothesis
// kept by sparse multiplicative weights (Algorithm 1), and a private test that
// says when a query's true count is far from the hypothesis.
//
// A mechanism has B runs. A run compares queries with the hypothesis as they
// come. It says nothing while they agree. At the first that does not agree it
// ends and gives a noisy count; the hypothesis learns that count, and the next
// run begins. One run is (ε₁+ε₂)-differentially private whatever the number of
// queries it serves (Run.Test has the argument). An answer read off the
// hypothesis costs nothing.
//
// The package is arithmetic on numbers it is given. It does not charge: the
// caller must have paid, durably, for a run before StartRun, and must have
// stored τ before the first comparison. It reads no rows: true counts are
// arguments. It keeps no state: the caller stores the pairs (query, noisy
// count) of the updates and the τ of an open run. NewHypothesis, Update and
// ResumeRun rebuild everything from them.
//
// A hypothesis starts from the uniform distribution, or from a public prior that it
// then corrects: Classes, which it pays for, or Fitted, the table of a release. One
// that knows what the release measured guards it: Hypothesis.Broader.
//
// Counts are in rows × weight, which is rows for queries with weights 0 and 1.
// Nothing here is safe for concurrent use, except Params, which is a value.
package smw

import "dpsql/sqlerr"

// Update names the rule by which the hypothesis learns a noisy count.
type Update string

// Projection is the default: the hypothesis moves to the nearest one, in
// relative entropy, that gives the noisy count. Paper is Algorithm 1's step, a
// factor e^{±ηq(x)}.
const (
	Projection Update = "projection"
	Paper      Update = "paper"
)

// ErrFailure is the paper's FAILURE: an update needs more than is left, and the
// hypothesis is unchanged. Two things can run out.
//
// One is variables, as in the paper. With parameters from Plan they last as
// long as the runs do: always with max_updates, and except with probability β
// with alpha.
//
// The other is memory, which the paper does not limit: a hypothesis holds mostAtoms
// atoms and mostEntries entries for them. Their number depends on how the queries
// cross each other, so Plan does not count them, and max_updates and alpha promise
// nothing about it. The answer that fired stands all the same.
var ErrFailure error = sqlerr.New(sqlerr.Budget,
	"the mechanism has too few variables left to learn this query").
	WithHint("create the mechanism with a larger max_support or more max_updates")

// limit bounds counts, thresholds and noise so that no sum of the private test
// leaves 64 bits.
const limit = int64(1) << 60
