package smw

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"dpsql/internal/sealed"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Fitted is a public distribution over a finite universe from which a hypothesis
// can start: a probability for each record. EncodeFitted makes one of the table
// that a release fitted to its noisy counts.
//
// Privacy. The release was paid for, and its table is published. A hypothesis that
// starts from it is computed from public numbers, as one that starts from Classes
// is: the private test takes any hypothesis (Run.Test), and what the table cost has
// no part in what a run costs.
//
// Updates. With s = |X| every record has a variable of its own, and the potential of
// the proof of Theorem 3.5 is Ψ_t = Σ D(x) ln(D(x)/D_t(x)), the relative entropy of the
// database D to the hypothesis. Lemma 3.7, by which an update lowers it by γ²/4, asks
// nothing of the first hypothesis but that it is positive where D is. So from a prior p
// there are fewer than 4(Ψ₀+1)/γ² updates, where Ψ₀ is the relative entropy of D to p:
// the nearer the table, the fewer. Ψ₀ is private. What Plan relies on is that
// Ψ₀ ≤ max ln(1/p(x)) ≤ ln|X| − ln μ, where μ is the share of the uniform distribution
// in p.
type Fitted struct {
	sizes    []uint64
	measured [][]int // the columns of the marginals that were measured, ascending; nil where that is not said
	whole    *table
	// by has the marginals that were asked for, by their columns. They save a sum over
	// the table for each cell of a query (BenchmarkFittedMass). kept is how many cells
	// they have together: at most as many as the table.
	by   map[string]*table
	kept int

	columns []int  // of the cell at hand
	key     []byte // of the columns
}

// table is a table of weights over some columns, by the code of the record: in mixed
// radix, with the last column running fastest. Weights are integers, so that sums of
// them are exact however they are cut.
type table struct {
	columns []int
	strides []uint64
	upTo    []int64 // upTo[c] is the sum of the weights of codes below c
}

// unit is the weight that stands for the probability 1. With mostValues records no sum
// of weights reaches 2^53, the last integer that floats count up to.
const unit = 1 << 52

// tableShare returns μ, the share of the uniform distribution in a fitted table for a
// table of about the given number of rows: a thousandth, and at most one row. A record
// whose fitted count is 0 could never rise without it. Mixing it in moves no answer by
// more than μ·N̂, which is one row: less than the rounding of fit and answer together.
// It adds ln N̂ to the bound on Ψ₀.
func tableShare(rows int64) float64 { return min(uniformShare, 1/float64(rows)) }

// fittedVersion is the version of stored tables. A table need not say what was measured: what
// is made from it is replayed with plain projections.
const fittedVersion = 1

// EncodeFitted returns a fitted table as the state of a mechanism, for DecodeFitted. The
// table has a count for each record of the universe, by its code, none of them negative.
// rows is N̂. The state, which is sealed, is the number of columns, the sizes of their domains,
// what was measured, and the probabilities: normalised counts and their uniform share, as 32-bit floats,
// compressed by DEFLATE. All of it is public.
func EncodeFitted(u *query.Universe, counts []float64, measured [][]int, rows int64) ([]byte, error) {
	if size := u.Size(); size == nil || !size.IsUint64() || size.Uint64() != uint64(len(counts)) || len(counts) > mostValues {
		return nil, sqlerr.New(sqlerr.Internal, "smw: the table is not over the universe")
	}
	total := 0.0
	for _, n := range counts {
		if !(n >= 0) {
			return nil, sqlerr.New(sqlerr.Internal, "smw: a cell of the table is no count")
		}
		total += n
	}
	if !(total < math.MaxFloat64) {
		return nil, sqlerr.New(sqlerr.Internal, "smw: the table is too large")
	}
	share := tableShare(rows)
	if total == 0 {
		share = 1
	}
	b := binary.AppendUvarint(sealed.Begin(sealed.Fitted, fittedVersion, 0), uint64(len(u.Columns())))
	for _, c := range u.Columns() {
		b = binary.AppendUvarint(b, c.Domain.Size())
	}
	sets := 0 // one more than were measured, if that is said
	if measured != nil {
		sets = 1 + len(measured)
	}
	b = binary.AppendUvarint(b, uint64(sets))
	for _, set := range measured {
		b = binary.AppendUvarint(b, uint64(len(set)))
		for _, c := range set {
			b = binary.AppendUvarint(b, uint64(c))
		}
	}
	out := bytes.NewBuffer(b)
	body, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	chances := make([]float32, len(counts))
	for i, n := range counts {
		p := share / float64(len(counts))
		if total > 0 {
			p += (1 - share) * (n / total)
		}
		chances[i] = float32(p)
	}
	if err := binary.Write(body, binary.LittleEndian, chances); err != nil {
		return nil, err
	}
	err = body.Close()
	return sealed.End(out.Bytes()), err
}

// DecodeFitted reads a table over a finite universe that EncodeFitted wrote. It fails
// with code corrupt when it is not over that universe, and with unsupported when it is of
// a version of a later dpsql.
func DecodeFitted(u *query.Universe, data []byte) (*Fitted, error) {
	b, err := openPrior(sealed.Fitted, fittedVersion, data)
	if err != nil {
		return nil, err
	}
	size := u.Size()
	if size == nil || !size.IsUint64() || size.Uint64() > mostValues {
		return nil, errPrior()
	}
	from := bytes.NewReader(b)
	n, err := binary.ReadUvarint(from)
	if err != nil || n != uint64(len(u.Columns())) {
		return nil, errPrior()
	}
	f := &Fitted{whole: &table{upTo: make([]int64, 1, size.Uint64()+1)}, by: make(map[string]*table)}
	for i, c := range u.Columns() {
		n, err := binary.ReadUvarint(from)
		if err != nil || n != c.Domain.Size() {
			return nil, errPrior()
		}
		f.sizes = append(f.sizes, n)
		f.whole.columns = append(f.whole.columns, i)
	}
	f.whole.strides = f.strides(f.whole.columns)
	if f.measured, err = readSets(from, len(f.sizes)); err != nil {
		return nil, err
	}
	chances := make([]float32, size.Uint64())
	body := flate.NewReader(from)
	if binary.Read(body, binary.LittleEndian, chances) != nil {
		return nil, errPrior()
	}
	if n, err := body.Read(make([]byte, 1)); n > 0 || err != io.EOF || from.Len() > 0 {
		return nil, errPrior()
	}
	sum := int64(0)
	for _, p := range chances {
		if !(p >= 0 && p <= 1.001) {
			return nil, errPrior()
		}
		sum += max(1, int64(float64(p)*unit))
		f.whole.upTo = append(f.whole.upTo, sum)
		if sum > unit+unit/1000 {
			return nil, errPrior()
		}
	}
	if sum < unit-unit/1000 {
		return nil, errPrior()
	}
	return f, nil
}

// readSets reads sets of columns, each ascending; nil if it is not said which there are.
func readSets(from *bytes.Reader, columns int) ([][]int, error) {
	n, err := binary.ReadUvarint(from)
	switch {
	case err != nil || n > uint64(from.Len()): // a set takes a byte or more
		return nil, errPrior()
	case n == 0:
		return nil, nil
	}
	sets := make([][]int, n-1)
	for i := range sets {
		size, err := binary.ReadUvarint(from)
		if err != nil || size > uint64(columns) {
			return nil, errPrior()
		}
		for range size {
			c, err := binary.ReadUvarint(from)
			if err != nil || c >= uint64(columns) || len(sets[i]) > 0 && int(c) <= sets[i][len(sets[i])-1] {
				return nil, errPrior()
			}
			sets[i] = append(sets[i], int(c))
		}
	}
	return sets, nil
}

// strides returns what a step of each of some columns adds to a code over them.
func (f *Fitted) strides(columns []int) []uint64 {
	strides, n := make([]uint64, len(columns)), uint64(1)
	for i := len(columns) - 1; i >= 0; i-- {
		strides[i] = n
		n *= f.sizes[columns[i]]
	}
	return strides
}

// mass returns the probability of a cell.
func (f *Fitted) mass(c *query.Cell) float64 {
	t := f.over(c)
	return float64(t.sum(c.Sets, 0, 0)) / float64(f.whole.upTo[len(f.whole.upTo)-1])
}

// sum adds the weights of a product of sets. The first columns have the code at.
func (t *table) sum(sets [][]query.Range, column int, at uint64) (n int64) {
	if column == len(t.columns) {
		return t.upTo[at+1] - t.upTo[at]
	}
	stride := t.strides[column]
	for _, r := range sets[t.columns[column]] {
		if column == len(t.columns)-1 {
			n += t.upTo[at+r.Last+1] - t.upTo[at+r.First]
			continue
		}
		for v := r.First; v <= r.Last; v++ {
			n += t.sum(sets, column+1, at+v*stride)
		}
	}
	return n
}

// over returns the marginal over the columns that a cell confines.
func (f *Fitted) over(c *query.Cell) *table {
	f.columns, f.key = f.columns[:0], f.key[:0]
	for j, set := range c.Sets {
		if set != nil {
			f.columns, f.key = append(f.columns, j), binary.AppendUvarint(f.key, uint64(j))
		}
	}
	if len(f.columns) == len(f.sizes) {
		return f.whole
	}
	if t := f.by[string(f.key)]; t != nil {
		return t
	}
	t := f.marginal(slices.Clone(f.columns))
	if f.kept += len(t.upTo); f.kept > len(f.whole.upTo) {
		clear(f.by)
		f.kept = len(t.upTo)
	}
	f.by[string(f.key)] = t
	return t
}

// marginal sums the table over all but some columns.
func (f *Fitted) marginal(columns []int) *table {
	t := &table{columns: columns, strides: f.strides(columns)}
	n := uint64(1)
	step := make([]uint64, len(f.sizes)) // what a step of each column adds to the code of the marginal
	for i, c := range columns {
		n *= f.sizes[c]
		step[c] = t.strides[i]
	}
	t.upTo = make([]int64, n+1)
	digits, at := make([]uint64, len(f.sizes)), uint64(0)
	for code := range f.whole.upTo[1:] {
		t.upTo[at+1] += f.whole.upTo[code+1] - f.whole.upTo[code]
		for j := len(digits) - 1; j >= 0; j-- { // the next record
			if digits[j]++; digits[j] < f.sizes[j] {
				at += step[j]
				break
			}
			at -= step[j] * (f.sizes[j] - 1)
			digits[j] = 0
		}
	}
	for i := range n {
		t.upTo[i+1] += t.upTo[i]
	}
	return t
}
