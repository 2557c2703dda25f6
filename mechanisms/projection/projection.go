// Package projection builds, stores and evaluates releases: noisy linear
// sketches of a database's cell counts that answer every sparse linear query
// for ever, the Random Projection Data Structure of Blum and Roth, "Fast
// Private Data Release Algorithms for Sparse Queries", section 4.
//
// A release is (A·D + ν, A): the image of the count vector D under a random
// T×|X| matrix with independent integer noise on every coordinate, and the
// public description of the matrix. A query q is answered by ⟨Aq, A·D + ν⟩.
//
// What it promises: the matrix is drawn before a cell is seen. One unit of
// count changes the sketch by 1 in one coordinate (identity, sparse), or by ±1
// in each of the T coordinates of √T·A·D (dense). Every coordinate gets an
// exact integer draw of the given law. Heavy cells of a sparse release are
// published apart; see Heavy for the proof. What it does not: it neither
// calibrates nor charges. The caller chooses the laws for its ε and δ, and must
// have paid.
package projection

import (
	"hash/maphash"
	"math"
	"math/big"
	"slices"

	"dpsql/noise/law"
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

// MaxRows bounds T. The caller decides before it pays how much memory a release
// may take, 1 to 8 bytes a row.
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
	Law law.Law
	// Independence is r of a Dense matrix, which must be even and at least 4:
	// below 4 the variance of an answer has no bound. Other transforms ignore
	// it.
	Independence int
	// Bulk draws the noise from a noise.Table, unless the law is too wide for
	// one. Both samplers are exact; a table is faster.
	Bulk bool
	// Heavy says how to treat cells too large to be hashed. It is for Sparse
	// only. The zero Heavy hashes every cell.
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

// PaperRows returns T of the paper's Algorithm 2 (SparseProject),
//
//	4·64²·ln(4k/β)·(m^{3/2}/2 + n⁴/(2√m) + √m·n²),
//
// for a database of n records and k queries of sparsity m, all answered within
// the theorem's α with probability 1 − β. It is 1.9e20 at n = 1e4, m = 64, k =
// 1e6, β = 0.05. The theorem's proof needs a T that is smaller by 2√m, and
// privacy does not depend on T.
func PaperRows(n, m, k, beta float64) float64 {
	root := math.Sqrt(m)
	return 4 * 64 * 64 * math.Log(4*k/beta) * (m*root/2 + n*n*n*n/(2*root) + root*n*n)
}

// PaperIndependence returns r of the paper's Algorithm 2, 2 ln(kT/2β), rounded
// up to an even number, at least 4 and at most MaxIndependence, for k queries
// against T rows that all succeed with probability 1 − β.
func PaperIndependence(k, rows, beta float64) int {
	r := 2 * math.Ceil(math.Log(k*rows/(2*beta)))
	if !(r > 4) {
		return 4
	}
	return int(min(r, MaxIndependence))
}

// scaleBits is the number of binary places of a PaperLaplaceScale.
const scaleBits = 20

// PaperLaplaceScale returns the scale √(8T ln(1/δ))/ε, rounded up, of the
// discrete Laplace noise of Algorithm 2 on each integer coordinate of √T·u,
// where one record changes every one of the T coordinates by 1.
//
// A coordinate is then (ε', 0)-private with ε' = ε/√(8T ln(1/δ)), so all T are
// T·ε'²/2 = ε²/(16 ln(1/δ))-zCDP whatever T is, which implies
// (ε²/(16 ln(1/δ)) + ε/2, δ)-privacy: (ε, δ) whenever ε <= 8 ln(1/δ). The paper
// claims it by its Theorem on composition for ε < 1. Larger ε are refused as
// invalid, as are ε <= 0, T = 0 and δ outside (0, 1).
func PaperLaplaceScale(rows uint64, epsilon, delta *big.Rat) (*big.Rat, error) {
	d, _ := delta.Float64()
	l := -math.Log(d)
	if rows == 0 || epsilon.Sign() <= 0 || !(l > 1e-9) || math.IsInf(l, 0) {
		return nil, sqlerr.New(sqlerr.Invalid, "the dense transform needs rows, an epsilon above 0 and a delta between 0 and 1")
	}
	low, high := new(big.Rat).SetFloat64(l*(1-1e-6)), new(big.Rat).SetFloat64(l*(1+1e-6))
	if epsilon.Cmp(low.Mul(low, big.NewRat(8, 1))) > 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "the noise of the paper is not private at an epsilon above 8 ln(1/delta)").
			WithHint("lower epsilon or delta")
	}
	square := new(big.Rat).SetInt(new(big.Int).Lsh(new(big.Int).SetUint64(rows), 3))
	square.Mul(square, high)
	square.Quo(square, new(big.Rat).Mul(epsilon, epsilon))
	return rootUp(square), nil
}

// rootUp returns √x rounded up to a multiple of 2^-scaleBits.
func rootUp(x *big.Rat) *big.Rat {
	scaled := new(big.Int).Lsh(x.Num(), 2*scaleBits)
	scaled.Quo(scaled, x.Denom())
	root := scaled.Sqrt(scaled)
	root.Add(root, big.NewInt(1)) // above √ of what Quo and Sqrt cut off
	return new(big.Rat).SetFrac(root, new(big.Int).Lsh(big.NewInt(1), scaleBits))
}

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
	texts   bool           // the heavy cells have texts
	summary summary        // of the sketch
	laws    [2]*coordinate // of the error of a coordinate of the sketch, and of a published cell
	widths  *widths        // remembered quantiles, for margins
	lift    lift
	largest int64  // the largest |û| or |answer of a published cell|
	salt    uint64 // of the slots of meetings
}

func newRelease(u *query.Universe, p Params, m matrix, sketch vector, heavy heavyCells, texts bool) *Release {
	r := &Release{u: u, p: p, matrix: m, coder: m.newCoder(u), sketch: sketch, heavy: heavy, texts: texts, summary: summarise(sketch), widths: newWidths()}
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

// Keys returns the names of the heavy cells of a release over one column without domain,
// ascending, and the key of the coder: what query.Published takes. It is false for other
// releases.
func (r *Release) Keys() (key [16]byte, names []query.Element, ok bool) {
	if columns := r.u.Columns(); len(columns) != 1 || columns[0].Domain.Finite() || r.p.Heavy.Form == Whole {
		return key, nil, false
	}
	for _, c := range r.heavy {
		names = append(names, c.x)
	}
	return r.matrix.key, names, true
}

// Texts returns the texts that the heavy cells have in a column without a domain, sorted, each
// once. It is false for a release without texts.
func (r *Release) Texts(column int) (texts []query.Value, ok bool) {
	columns := r.u.Columns()
	if !r.texts || columns[column].Domain.Finite() {
		return nil, false
	}
	place := 0 // of the column among those without a domain
	for _, c := range columns[:column] {
		if !c.Domain.Finite() {
			place++
		}
	}
	for _, c := range r.heavy {
		values, _, _ := r.u.CutTexts([]byte(c.texts)) // decodeTexts has read them before
		if v := values[place]; v.IsText() {
			texts = append(texts, v)
		}
	}
	slices.SortFunc(texts, query.Value.Compare)
	return slices.Compact(texts), true
}

// Cells returns the noisy cells of an identity release, one for each code; false where the
// release is none.
func (r *Release) Cells() ([]int64, bool) {
	if r.p.Transform != Identity {
		return nil, false
	}
	cells := make([]int64, r.sketch.len())
	for i := range cells {
		cells[i] = r.sketch.at(uint64(i))
	}
	return cells, true
}

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

// maxSupport is the largest support that is enumerated. Nobody waits for more.
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
