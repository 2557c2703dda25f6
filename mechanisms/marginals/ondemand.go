package marginals

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/sqlerr"
)

// OnDemand holds the noisy marginals of a release over a universe that is too large for a
// table. Tables are fitted when they are asked for, each over a few of the columns, to all
// marginals summed to these. All of it is public. It is safe for concurrent use.
//
// A fit is a function of the noisy marginals, the seed and the columns. So the same
// question about the same columns has one answer. Fits over different columns are made from
// different parts of the marginals, and need not agree where they overlap.
//
// Fits are floating point computations. They are the same on every machine of one
// architecture; elsewhere an answer that is nearly a half may be rounded otherwise.
type OnDemand struct {
	exact    *Release // no table: the unbiased estimate, of queries that have one
	unbiased bool     // as in Params
	seed     seed

	turn chan struct{} // full while somebody fits
	mu   sync.Mutex
	kept []keptFit // the last used one comes last
}

// keptFit is a fit in memory.
type keptFit struct {
	columns []int
	release *Release
}

// seed determines the simulations of an OnDemand. It is drawn once, beside the noise and
// independent of it, and is as public as the marginals. No noise ever comes of it.
type seed [32]byte

const (
	// paddedCells bounds the cells of a table that columns are added to. More columns bring
	// in more of what was measured and take longer; decision 028 has figures of both.
	paddedCells = 1 << 14
	// mostVisits bounds the cells of a table fitted on demand times the marginals that it
	// is fitted to, which is what a sweep takes: about 0.1 s.
	mostVisits = 1 << 26
	// mostKept bounds the cells of all fits that are kept in memory.
	mostKept = 1 << 20
)

// FitsWhole reports whether a release over u is fitted and stored as one table. Other
// releases are fitted on demand. It depends on public sizes alone.
func FitsWhole(u *query.Universe) bool {
	_, ok := newShape(sizesOf(u), MostTable)
	return ok
}

// NewOnDemand returns the release of a measurement that was perturbed and not fitted. It
// takes the release. It draws a seed, and no noise.
func NewOnDemand(r *Release, random *coin.Source) (*OnDemand, error) {
	var s seed
	if random.Bytes(s[:]) != nil {
		return nil, noRandomness()
	}
	return newOnDemand(r, s), nil
}

func newOnDemand(exact *Release, s seed) *OnDemand {
	o := &OnDemand{exact: exact, unbiased: exact.p.Unbiased, seed: s, turn: make(chan struct{}, 1)}
	exact.p.Unbiased = true
	return o
}

// Params returns the parameters the release was built with.
func (o *OnDemand) Params() Params {
	p := o.exact.p
	p.Unbiased = o.unbiased
	return p
}

// Exact returns the release without any fit. It answers queries on the columns of one
// measured marginal, by the unbiased estimate, and no others.
func (o *OnDemand) Exact() *Release { return o.exact }

// Over returns a release that answers a query on some columns, ascending, of a statement
// that asks about others, too, and the columns that it is over; nil means all. If simulated,
// it has simulations where it has a fit.
//
// The fit is over all columns of the statement, and if that is too large, over those of the
// query. Where that is too large, too, there is the unbiased estimate, or the error
// has code uncovered. These choices depend on public sizes alone. A fit may take seconds;
// when ctx is done, it ends.
func (o *OnDemand) Over(ctx context.Context, columns, statement []int, simulated bool) (*Release, []int, error) {
	_, measured := o.exact.parts[key(columns)]
	if measured && o.unbiased {
		return o.exact, nil, nil
	}
	for _, wanted := range [][]int{statement, columns} {
		if o.fits(wanted) {
			padded := o.padded(wanted)
			r, err := o.fitted(ctx, padded, simulated)
			return r, padded, err
		}
	}
	if measured {
		return o.exact, nil, nil
	}
	return nil, nil, tooLargeForDemand(columns)
}

func tooLargeForDemand(columns []int) error {
	return sqlerr.New(sqlerr.Uncovered, "its %d columns have too many combinations of values for a table that is fitted on demand", len(columns)).
		WithHint("ask about fewer columns at once, or build a release of these columns alone")
}

// Fitted returns the counts of a table fitted over some columns, ascending, by code.
func (o *OnDemand) Fitted(ctx context.Context, columns []int) ([]float64, error) {
	if !o.fits(columns) {
		return nil, tooLargeForDemand(columns)
	}
	padded := o.padded(columns)
	r, err := o.fitted(ctx, padded, false)
	if err != nil {
		return nil, err
	}
	return r.Fitted(places(columns, padded)), nil
}

// fits reports whether a table over some columns can be fitted.
func (o *OnDemand) fits(columns []int) bool {
	s, ok := newShape(within(o.exact.shape.sizes, columns), MostTable)
	if !ok || s.cells*len(o.exact.parts) <= mostVisits {
		return ok
	}
	marginals := 0
	for _, part := range o.exact.parts {
		if contains(columns, part.columns) {
			marginals++
		}
	}
	return s.cells*marginals <= mostVisits
}

// padded adds columns while the table stays small: those of the fewest values first.
func (o *OnDemand) padded(columns []int) []int {
	sizes := o.exact.shape.sizes
	others := make([]int, len(sizes))
	for c := range others {
		others[c] = c
	}
	slices.SortStableFunc(others, func(a, b int) int { return sizes[a] - sizes[b] })
	out, cells := slices.Clone(columns), product(within(sizes, columns))
	for _, c := range others {
		if !slices.Contains(columns, c) && cells*sizes[c] <= paddedCells {
			out, cells = append(out, c), cells*sizes[c]
		}
	}
	slices.Sort(out)
	return out
}

// fitted returns the fit over some columns: the kept one, or a new one. One is made at a
// time.
func (o *OnDemand) fitted(ctx context.Context, columns []int, simulated bool) (*Release, error) {
	if r := o.find(columns); r != nil && (!simulated || r.simulated != nil) {
		return r, nil
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, contextError(ctx)
	}
	r := o.find(columns)
	if r == nil {
		r = o.exact.over(columns)
		r.p.Unbiased = o.unbiased
		if err := r.Fit(ctx, nil); err != nil {
			return nil, err
		}
	}
	if simulated && r.simulated == nil {
		all, err := o.simulations(ctx, r, columns)
		if err != nil {
			return nil, err
		}
		r = &Release{u: r.u, p: r.p, shape: r.shape, cells: r.cells, parts: r.parts, stages: r.stages, table: r.table, simulated: all}
	}
	o.keep(columns, r)
	return r, nil
}

// find returns the kept fit over some columns, or nil.
func (o *OnDemand) find(columns []int) *Release {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.kept, func(f keptFit) bool { return slices.Equal(f.columns, columns) })
	if i < 0 {
		return nil
	}
	f := o.kept[i]
	o.kept = append(slices.Delete(o.kept, i, i+1), f)
	return f.release
}

// keep keeps a fit in place of an earlier one over the same columns, and drops those that
// were not used for longest.
func (o *OnDemand) keep(columns []int, r *Release) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = slices.DeleteFunc(o.kept, func(f keptFit) bool { return slices.Equal(f.columns, columns) })
	o.kept = append(o.kept, keptFit{columns, r})
	cells := 0
	for i, f := range slices.Backward(o.kept) {
		if cells += f.release.shape.cells; cells > mostKept && i < len(o.kept)-1 {
			o.kept = slices.Delete(o.kept, 0, i+1)
			break
		}
	}
}

// over returns the release of the measured marginals summed to some columns, without
// a table.
//
// What they say of these columns is in their components, and so are the variances: a
// marginal S summed to the columns C is one over S∩C with noise of variance σ²|S|/|S∩C|, and
// a component of S∩C has from it the weight that it has from S.
func (r *Release) over(columns []int) *Release {
	out := &Release{u: r.u.Project(columns), p: r.p, cells: r.cells, parts: make(map[string]component)}
	out.shape, _ = newShape(within(r.shape.sizes, columns), MostTable)
	for _, part := range r.parts {
		if contains(columns, part.columns) {
			part.columns = places(part.columns, columns)
			out.parts[key(part.columns)] = part
		}
	}
	out.p.Sets = nil // none was measured as it is
	return out
}

// summed returns the marginals that the measured ones are when they are summed to some
// columns, without their cells: each with its places among these columns, and the variance
// of a cell when all that are over the same columns are averaged by inverse variance.
func (r *Release) summed(columns []int) (all []observed) {
	known := make(map[string]int)
	for _, set := range r.p.Sets {
		both := slices.DeleteFunc(slices.Clone(set), func(c int) bool { return !slices.Contains(columns, c) })
		share := float64(product(within(r.shape.sizes, both))) / float64(product(within(r.shape.sizes, set)))
		i, ok := known[key(both)]
		if !ok {
			i = len(all)
			known[key(both)] = i
			all = append(all, observed{columns: places(both, columns)})
		}
		all[i].variance += share / r.p.Sigma2 // until all are added, its inverse
	}
	for i := range all {
		all[i].variance = 1 / all[i].variance
	}
	return all
}

// simulations simulates a fit over some columns. It is Release.Simulate with draws from the
// seed, and with normal noise: sums of many draws of the law are near it, and no privacy
// depends on these.
func (o *OnDemand) simulations(ctx context.Context, r *Release, columns []int) ([]simulation, error) {
	measured := o.exact.summed(columns)
	return r.simulations(ctx, nil, func(i int) simulator {
		random := &draws{src: o.seed.stream(columns, i)}
		return simulator{random, func(ctx context.Context, drawn []float64) (*Release, error) {
			noisy := slices.Clone(measured)
			for k, m := range noisy {
				l := r.shape.layout(m.columns)
				noisy[k].cells = make([]float64, l.size)
				sum(&l, drawn, noisy[k].cells)
				for c := range noisy[k].cells {
					noisy[k].cells[c] += math.Sqrt(m.variance) * random.normal()
				}
			}
			parts, err := components(ctx, r.shape.sizes, noisy)
			return &Release{p: r.p, shape: r.shape, parts: parts}, err
		}}
	})
}

// stream returns the bits of one simulation of the fit over some columns: AES in counter
// mode, under a key that is the hash of the seed, the columns and the simulation.
func (s seed) stream(columns []int, b int) *stream {
	name := append(s[:], binary.AppendUvarint(nil, uint64(b))...)
	k := sha256.Sum256(append(name, key(columns)...))
	block, err := aes.NewCipher(k[:])
	if err != nil {
		panic(err) // a key of 32 bytes is one
	}
	return &stream{bits: cipher.NewCTR(block, make([]byte, aes.BlockSize))}
}

type stream struct {
	bits cipher.Stream
	buf  [4096]byte
	left int
}

// Uint64 returns the next 64 bits.
func (s *stream) Uint64() (uint64, error) {
	if s.left == 0 {
		clear(s.buf[:])
		s.bits.XORKeyStream(s.buf[:], s.buf[:])
		s.left = len(s.buf)
	}
	v := binary.LittleEndian.Uint64(s.buf[len(s.buf)-s.left:])
	s.left -= 8
	return v, nil
}
