package projection

import (
	"math/big"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Release is the paper's Random Projection Data Structure (u + ν, f): the noisy
// sketch and the public description of the matrix. All of it is public. It is
// immutable and safe for concurrent use.
type Release struct {
	u       *query.Universe
	p       Params
	matrix  matrix
	sketch  vector
	summary summary // of the sketch
	widths  *widths // quantiles found for margins
}

func newRelease(u *query.Universe, p Params, m matrix, sketch vector) *Release {
	return &Release{u: u, p: p, matrix: m, sketch: sketch, summary: summarise(sketch), widths: newWidths()}
}

// Universe returns the universe the release is over.
func (r *Release) Universe() *query.Universe { return r.u }

// Params returns the parameters the release was built with.
func (r *Release) Params() Params { return r.p }

// Coder returns the coder that names the records of the release.
func (r *Release) Coder() query.Coder { return query.NewCoder(r.u, r.matrix.key) }

// sparsity checks that the release can answer q, and returns m.
func (r *Release) sparsity(q query.Query) (uint64, error) {
	if !sameUniverse(q.Universe(), r.u) {
		return 0, sqlerr.New(sqlerr.Internal, "the query is over another universe than the release")
	}
	m := q.Size()
	if m == nil {
		return 0, sqlerr.New(sqlerr.Uncovered, "the support of the query is infinite").
			WithHint("pin every column without a domain by = or IN")
	}
	if m.Cmp(big.NewInt(maxSupport)) > 0 {
		return 0, sqlerr.New(sqlerr.Uncovered, "the support of the query, %v records, is too large to enumerate", m)
	}
	return m.Uint64(), nil
}

// maxSupport is far above what anyone waits for.
const maxSupport = 1 << 32

// sameUniverse reports whether two universes have the same columns.
func sameUniverse(u, v *query.Universe) bool {
	if u == v {
		return true
	}
	a, b := u.Columns(), v.Columns()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !query.SameName(a[i].Name, b[i].Name) || !sameDomain(a[i].Domain, b[i].Domain) {
			return false
		}
	}
	return true
}

func sameDomain(a, b query.Domain) bool {
	return a == b || a.Type() == b.Type() && a.Finite() == b.Finite() &&
		a.Size() == b.Size() && a.String() == b.String()
}
