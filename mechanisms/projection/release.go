package projection

import (
	"hash/maphash"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Release is the paper's Random Projection Data Structure (u + ν, f): the noisy
// sketch, the public description of the matrix, and the heavy cells that were
// published apart. All of it is public. It is immutable and safe for concurrent use.
type Release struct {
	u       *query.Universe
	p       Params
	matrix  matrix
	coder   query.Coder
	sketch  vector
	heavy   heavyCells
	summary summary        // of the sketch
	laws    [2]*coordinate // of the error of a coordinate of the sketch, and of a published cell
	widths  *widths        // remembered quantiles, for margins
	lift    lift
	largest int64  // the largest |û| or |answer of a published cell|
	salt    uint64 // of the slots of meetings
}

func newRelease(u *query.Universe, p Params, m matrix, sketch vector, heavy heavyCells) *Release {
	r := &Release{u: u, p: p, matrix: m, coder: m.newCoder(u), sketch: sketch, heavy: heavy, summary: summarise(sketch), widths: newWidths()}
	r.lift = p.Heavy.liftOf(p.Law)
	r.salt = maphash.Bytes(maphash.MakeSeed(), nil) | 1
	r.largest = max(r.summary.largest, heavy.largest(p.Heavy.Clip))
	noise := noiseOf(p.Law)
	r.laws = [2]*coordinate{noise, noise}
	if p.Transform == Sparse {
		m.sketch.half = m.sketch.sign.halved()
		r.laws[0] = r.summary.coordinate(noise)
	}
	return r
}

// Published returns the number of heavy cells that the release names.
func (r *Release) Published() int { return len(r.heavy) }

// Universe returns the universe the release is over.
func (r *Release) Universe() *query.Universe { return r.u }

// Params returns the parameters the release was built with.
func (r *Release) Params() Params { return r.p }

// Coder returns the coder that names the records of the release.
func (r *Release) Coder() query.Coder { return r.coder }

// sparsity checks that the release can answer q, and returns m.
func (r *Release) sparsity(q query.Query) (uint64, error) {
	if !sameUniverse(q.Universe(), r.u) {
		return 0, sqlerr.New(sqlerr.Internal, "the query is over another universe than the release")
	}
	if m, ok := q.SizeWithin(maxSupport); ok {
		return m, nil
	}
	m := q.Size()
	if m == nil {
		return 0, sqlerr.New(sqlerr.Uncovered, "the support of the query is infinite").
			WithHint("pin every column without a domain by = or IN")
	}
	return 0, sqlerr.New(sqlerr.Uncovered, "the support of the query, %v records, is too large to enumerate", m)
}

// maxSupport is the largest support that is enumerated; nobody waits for so many.
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
