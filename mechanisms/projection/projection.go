// Package projection builds, stores and evaluates releases: noisy linear
// sketches of a database's cell counts that answer every sparse linear query
// for ever, the Random Projection Data Structure of Blum and Roth, "Fast
// Private Data Release Algorithms for Sparse Queries", section 4.
//
// A release is (A·D + ν, A): the image of the count vector D under a random
// T×|X| matrix with independent integer noise on every coordinate, and the
// public description of the matrix. A query q is answered by ⟨Aq, A·D + ν⟩.
//
// What it promises: the matrix is drawn before a cell is seen, one unit of
// count changes the sketch by 1 in one coordinate (identity, sparse) or by ±1
// in each of the T coordinates of √T·A·D (dense), and every coordinate gets an
// exact integer draw of the given law (or one at the stated distance from it,
// when Bulk). Heavy cells of a sparse release are published apart, as Heavy
// says and proves. What it does not: it neither calibrates nor charges. The
// caller chooses the laws for its ε and δ, and has paid before it calls.
package projection

import (
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Transform names the kind of matrix.
type Transform string

const (
	// Identity is the noisy histogram: a row for every element.
	Identity Transform = "identity"
	// Sparse is the count-sketch matrix: one ±1 in every column.
	Sparse Transform = "sparse"
	// Dense is the paper's matrix: every entry ±1/√T, r-wise independent.
	Dense Transform = "dense"
)

// MaxRows bounds T. How much memory a release may take, 1 to 8 bytes a row, is
// for the caller to decide, before it pays.
const MaxRows = 1 << 32

// MaxIndependence bounds r. Algorithm 2 asks for 2 ln(kT/2β).
const MaxIndependence = 4096

// Params are the public parameters of a release, chosen and paid for by the
// caller.
type Params struct {
	Transform Transform
	// Rows is T, the number of rows of the matrix; |X| for Identity.
	Rows uint64
	// Law is the noise of one integer coordinate: of A·D for Identity and
	// Sparse, of √T·A·D for Dense. It is already scaled by the sensitivity.
	Law noise.Law
	// Independence is r of a Dense matrix: even, and at least 4, without which
	// the variance of an answer has no bound. Ignored otherwise.
	Independence int
	// Bulk draws the noise from a noise.Table, whose distance from the law the
	// caller has charged for every row, unless the law is too wide for a table.
	// Otherwise, and then, the exact sampler is used.
	Bulk bool
	// Heavy says what becomes of cells too large to be hashed. It is for Sparse
	// only; the zero Heavy hashes them all.
	Heavy Heavy
}

// check refuses parameters no release over u can have.
func (p Params) check(u *query.Universe) error {
	switch {
	case p.Law == nil:
		return sqlerr.New(sqlerr.Internal, "a release needs a noise law")
	case p.Rows == 0 || p.Rows > MaxRows:
		return sqlerr.New(sqlerr.Invalid, "a release cannot have %d rows", p.Rows).
			WithHint("rows must lie between 1 and %d", uint64(MaxRows))
	}
	if p.Transform != Sparse && p.Heavy != (Heavy{}) {
		return sqlerr.New(sqlerr.Invalid, "only the sparse transform has heavy cells")
	}
	switch p.Transform {
	case Sparse:
		return p.Heavy.check()
	case Identity:
		if !u.Coded() || u.Size().Uint64() != p.Rows {
			return sqlerr.New(sqlerr.Invalid, "the identity transform needs one row for each of the possible records")
		}
		return nil
	case Dense:
		if p.Independence < 4 || p.Independence%2 != 0 || p.Independence > MaxIndependence {
			return sqlerr.New(sqlerr.Invalid, "independence %d is not an even number from 4 to %d",
				p.Independence, MaxIndependence)
		}
		return nil
	}
	return sqlerr.New(sqlerr.Invalid, "unknown transform %q", string(p.Transform)).
		WithHint("the transforms are identity, sparse and dense")
}
