package projection

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Builder builds one release. NewBuilder draws the matrix. Coder then names the
// records. Build takes the cells and adds the noise. A Builder is not safe for
// concurrent use.
type Builder struct {
	u      *query.Universe
	p      Params
	law    noise.Sampler // of p.Law
	names  noise.Sampler // of p.Heavy.NameLaw
	matrix matrix
	coder  query.Coder
	sketch vector // A·D; Dense: √T·A·D of the cells multiplied so far
	heavy  heavyCells
	texts  func(query.Element) string // nil if the release has none
	buffer []weighted
	mass   int64 // Dense: Σ D, which bounds every sum
	done   bool
}

// NewBuilder draws the public description of the matrix and returns an empty builder. It refuses as invalid any parameters that no release over u
// can have. It allocates p.Rows coordinates.
func NewBuilder(u *query.Universe, p Params, random *coin.Source) (*Builder, error) {
	if err := p.check(u); err != nil {
		return nil, err
	}
	if p.Transform != Dense {
		p.Independence = 0
	}
	m, err := drawMatrix(u, p, random)
	if err != nil {
		return nil, noRandomness()
	}
	width := widthFor(p.Law.Variance())
	if p.Transform == Dense {
		width = 8
	}
	return &Builder{u: u, p: p, law: noise.Of(p.Law), names: noise.Of(p.Heavy.NameLaw), matrix: m, coder: m.newCoder(u), sketch: newVector(p.Rows, width)}, nil
}

// Coder returns the coder that names the records of the release. Over a
// universe without codes, the coder's key is part of the matrix.
func (b *Builder) Coder() query.Coder { return b.coder }

// WithTexts makes the release say what its named cells have in the columns without a domain.
// texts returns that of a cell that Build gets, by query.Universe.TextsOf. Without named cells,
// or such a column, it does nothing.
func (b *Builder) WithTexts(texts func(cell query.Element) string) {
	if b.p.HasTexts(b.u) {
		b.texts = texts
	}
}

// HasTexts reports whether a release over u can have texts.
//
// People ask about the texts that they are shown. Of a named cell the count has a draw of its
// own, which is independent of those that chose the cell, so a margin holds for it as for any
// cell. A clipped cell is published because the draw in its count was large. Where many cells
// are near the threshold, the counts of those published err upwards, more often and farther
// than by their margins, and all of them together farther still. So clipped cells have no texts.
func (p Params) HasTexts(u *query.Universe) bool {
	return p.Heavy.Form == Named && u.Size() == nil
}

// add adds count records named x to the database. A release with heavy cells
// needs the whole count of a cell in one call.
func (b *Builder) add(ctx context.Context, x query.Element, count int64, src *noise.Source) error {
	switch {
	case count < 0:
		return sqlerr.New(sqlerr.Internal, "a cell has a negative count")
	case !inUniverse(b.u, x):
		return sqlerr.New(sqlerr.Internal, "a cell lies outside the universe")
	}
	switch b.p.Transform {
	case Identity:
		return checkFits(b.sketch.add(x.Lo, count))
	case Sparse:
		return b.addSparse(x, count, src)
	}
	return b.addDense(ctx, x, count)
}

func (b *Builder) addSparse(x query.Element, count int64, src *noise.Source) error {
	light, noisy, heavy, err := b.judge(count, src)
	if err != nil {
		return err
	}
	if heavy {
		b.heavy = append(b.heavy, published{x: x, noisy: noisy})
	}
	p := b.matrix.sketch.at(x)
	return checkFits(b.sketch.add(p.row(), light^p.sign()-p.sign()))
}

func (b *Builder) addDense(ctx context.Context, x query.Element, count int64) error {
	if b.mass += count; b.mass < 0 {
		return checkFits(false)
	}
	if b.buffer = append(b.buffer, weighted{x, count}); len(b.buffer) < denseBatch {
		return nil
	}
	return b.flush(ctx)
}

// flush multiplies the buffered cells. Each worker has words of its own in the sketch, and every sum fits, as mass does.
func (b *Builder) flush(ctx context.Context) error {
	b.matrix.signs.eachBlock(ctx, b.buffer, b.p.Rows, workersFor(b.p.Rows), func(_ int, block uint32, sums *[blockRows]int64) {
		first := uint64(block) * blockRows
		b.sketch.addAll(first, sums[:min(blockRows, b.p.Rows-first)])
	})
	b.buffer = b.buffer[:0]
	return ctx.Err()
}

// Multiply adds the cells of a dense release, which takes long and draws no noise, until ctx ends. It returns the cells that
// are left for Build: those of another release.
func (b *Builder) Multiply(ctx context.Context, cells iter.Seq2[query.Element, int64]) (left iter.Seq2[query.Element, int64], err error) {
	if b.p.Transform != Dense {
		return cells, nil
	}
	for x, count := range cells {
		if err := b.add(ctx, x, count, nil); err != nil {
			return nil, err
		}
	}
	return func(func(query.Element, int64) bool) {}, b.flush(ctx)
}

// Build adds the cells and then noise to every coordinate, and returns the
// release.
//
// Privacy. The matrix is drawn before and independent of the cells: take it as fixed. Without
// heavy cells, a row adds 1 to one coordinate of A·D (Identity) or ±1 to one (Sparse), as every
// column has one entry. So a unit of L rows changes A·D by at most L in ℓ1, and discrete Laplace
// noise of scale L/ε on every coordinate is ε-differentially private (Dwork, McSherry, Nissim and
// Smith 2006; the discrete law: Ghosh, Roughgarden and Sundararajan 2009). Dense: a row adds ±1
// to each of T coordinates of √T·A·D, a unit at most L√T in ℓ2. Discrete Gaussian noise is
// (ε, δ)-private by accounting.DiscreteSigmaSquared, and the paper's Laplace noise by
// PaperLaplaceScale. Heavy has the proof where cells are published apart.
//
// Each cell must come once. Build can be called once; an error ends
// the builder, too. A sum of counts above 63 bits is an internal error. So is a
// name that the release's coder cannot have made.
func (b *Builder) Build(cells iter.Seq2[query.Element, int64], src *noise.Source) (*Release, error) {
	if b.done {
		return nil, sqlerr.New(sqlerr.Internal, "the release is built already")
	}
	b.done = true
	for x, count := range cells {
		if err := b.add(context.Background(), x, count, src); err != nil {
			return nil, err
		}
	}
	if len(b.buffer) > 0 {
		_ = b.flush(context.Background())
	}
	if err := b.heavy.sorted(); err != nil {
		return nil, err
	}
	if b.texts != nil {
		for i, c := range b.heavy {
			b.heavy[i].texts = b.texts(c.x)
		}
	}
	if err := perturb(b.sketch, b.p, src); err != nil {
		return nil, err
	}
	return newRelease(b.u, b.p, b.matrix, narrowed(b.sketch), b.heavy, b.texts != nil), nil
}

// checkFits returns an error unless ok, which says that a sum of counts fits 64
// bits.
func checkFits(ok bool) error {
	if ok {
		return nil
	}
	return sqlerr.New(sqlerr.Internal, "the counts of a release do not fit 64 bits")
}

func noRandomness() error {
	return sqlerr.New(sqlerr.IO, "the operating system gave no random numbers")
}

// HasTable reports whether noise of a law can be drawn from a table, that is whether the law
// is not too wide for one.
func HasTable(l law.Law) bool {
	_, err := noise.NewTable(l)
	return err == nil
}

// perturb adds an independent draw of the law to every coordinate.
func perturb(v vector, p Params, src *noise.Source) error {
	fill := noise.OneByOne(p.Law)
	if p.Bulk {
		fill = noise.InBulk(p.Law)
	}
	var draws [1024]int64
	for first := uint64(0); first < v.len(); first += uint64(len(draws)) {
		chunk := draws[:min(uint64(len(draws)), v.len()-first)]
		if err := fill(chunk, src); err != nil {
			return noRandomness()
		}
		if !v.addAll(first, chunk) {
			return checkFits(false)
		}
	}
	return nil
}

// Form is the way in which heavy cells are separated from light ones.
type Form string

const (
	// Whole has no heavy cells: every cell is hashed with its whole count.
	Whole Form = ""
	// Clipped splits each count by value: min(D, c) is hashed, and the cell is
	// published if its noisy excess over c reaches the threshold.
	Clipped Form = "clip"
	// Named publishes the cells whose noisy whole count reaches the threshold
	// in a first step, with a second draw of noise. It hashes the others.
	Named Form = "named"
)

// Heavy holds the parameters of heavy cells. In a sketch they collide
// expensively, so they are published apart from it.
//
// Privacy. Let L be the rows of a unit, D and D′ neighbours with D′ = D + w,
// w ≥ 0, Σw ≤ L.
//
// Clipped. Light and excess part, min(D, c) and max(D − c, 0), are monotone in
// D and add up to it, so over all cells the light parts change by a in ℓ1 and
// the excesses by b with a + b ≤ L: both get noise of scale L/ε, and together
// lose ε. Of a cell with excess ≥ 1 one draw is made; the cell is published,
// with the very draw that was compared, when the noisy excess reaches the
// threshold t. For a cell of excess 0 nothing is drawn, stored or published,
// since of most of them (those without rows) nobody could list the names. So
// there remain the cells of excess 0 in D and ≥ 1 in D′: at most L, each with
// an excess of at most L, so that by the choice of t (Threshold)
//
//	P(any of them is published) ≤ L·P(ν ≥ t − L) ≤ δ.
//
// Let G be that none is published, O any set of outputs. On G these cells do not
// show; what is left has lost at most ε. Hence P′(O) ≤ P′(O∩G) + P′(not G) ≤
// e^ε P(O) + δ. In D, G is certain, and P(O) = P(O)·P′(G) + P(O)·P′(not G) ≤
// e^ε P′(O) + δ, as P(O)·P′(G) ≤ e^ε P′(O∩G): the cells are independent of the
// rest. So the release is (ε, δ)-differentially private, ε spent once. That is
// the stability-based histogram of Korolova, Kenthapadi, Mishra and Ntoulas
// ("Releasing search queries and clicks privately", 2009) and of Bun, Nissim
// and Stemmer ("Simultaneous private learning of multiple concepts", 2016), in
// integers, of the excesses, in parallel with the sketch.
//
// Named. A stability-based histogram of whole counts with NameLaw names the
// heavy cells and publishes nothing else: (ε₁, δ) by the same argument with
// c = 0. Given the names, named counts and the sketch of the rest are
// disjoint parts of D, which together change by at most L in ℓ1 and get noise
// of Law: (ε₂, 0). Composed, adaptively, (ε₁ + ε₂, δ).
//
// A cell is a record, and the argument is about the set of records that are
// named. So a release may say of each of them what it is, in texts as well as
// by its name. The texts follow from the record alone (query.Universe.TextsOf),
// whichever row has it, and which records are named follows from the noisy
// counts alone. It costs nothing more. Of all other records it has no text.
type Heavy struct {
	Form Form
	// Clip is c, at least 1; 0 unless Clipped.
	Clip int64
	// Threshold is t, what a noisy excess (or, when Named, a noisy count) has
	// to reach; at least 1.
	Threshold int64
	// NameLaw is the noise of the first step when Named, else nil.
	NameLaw law.Law
}

// check refuses parameters that contradict each other.
func (h Heavy) check() error {
	ok := false
	switch h.Form {
	case Whole:
		ok = h == Heavy{}
	case Clipped:
		ok = h.Clip >= 1 && h.Clip <= maxClip && h.Threshold >= 1 && h.NameLaw == nil
	case Named:
		ok = h.Clip == 0 && h.Threshold >= 1 && h.NameLaw != nil
	}
	if !ok {
		return sqlerr.New(sqlerr.Invalid, "the parameters of heavy cells contradict each other").
			WithHint("a clip must lie between 1 and %d", int64(maxClip))
	}
	return nil
}

// maxClip bounds a clip, far above any count that is worth clipping.
const maxClip = 1 << 40

// Threshold returns the least t with L·P(ν ≥ t − L) ≤ δ for noise ν of the law
// and units of L rows, t ≥ L. For discrete Laplace noise of scale L/ε it is
//
//	t = L + ⌈(L/ε)·ln(L/((1 + e^{−ε/L})δ))⌉.
//
// A cell that a unit brings about has at most L rows and there are at most L
// of them, so none is published but with probability δ.
func Threshold(law law.Law, unit int64, delta float64) int64 { return unit + rare(law, unit, delta) }

// rare returns the least k ≥ 0 with n·P(ν ≥ k) ≤ δ, or one more where that cannot be told in
// floating point. Tail is rounded up. The two factors outweigh the rounding of the products and
// of δ, which is at most 2^-53 of each, so what is compared is never below the left side and
// never above the right one.
func rare(law law.Law, n int64, delta float64) int64 {
	few := func(k int64) bool { return float64(n)*law.Tail(k)*(1+1e-15) <= delta*(1-1e-15) }
	low, high := int64(-1), int64(1) // few fails at low
	for !few(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; few(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// published is a heavy cell with its noisy excess over the clip, or its noisy count
// when Named.
type published struct {
	x     query.Element
	noisy int64
	texts string // by query.Universe.TextsOf, if the release has texts
}

// judge decides how much of one cell's count goes into the sketch and whether
// the cell is published. The count must be whole. judge draws nothing for a
// cell of excess 0 (when Named, for a cell without rows).
//
// The light part of a published cell is exactly the clip. It is not added to
// the sketch, since removing it again, once it is public, would give the same
// integers.
func (b *Builder) judge(count int64, src *noise.Source) (light int64, noisy int64, heavy bool, err error) {
	p, compared := &b.p, b.law
	light = count
	switch {
	case p.Heavy.Form == Whole:
		return light, 0, false, nil
	case p.Heavy.Form == Clipped:
		light = min(count, p.Heavy.Clip)
		count -= light
	default:
		compared = b.names
	}
	if count == 0 {
		return light, 0, false, nil
	}
	if noisy, err = noised(count, compared, src); err != nil || noisy < p.Heavy.Threshold {
		return light, 0, false, err
	}
	if p.Heavy.Form == Named {
		noisy, err = noised(count, b.law, src)
	}
	return 0, noisy, true, err
}

// noised returns count plus a draw.
func noised(count int64, law noise.Sampler, src *noise.Source) (int64, error) {
	draw, err := law.Draw(src)
	if err != nil {
		return 0, noRandomness()
	}
	if draw > 0 && count+draw < count {
		return 0, checkFits(false)
	}
	return count + draw, nil
}

// heavyCells are the published cells, ascending by name. The order in which
// they were found would reveal something about the rows.
type heavyCells []published

func byName(a, b published) int {
	return cmp.Or(cmp.Compare(a.x.Hi, b.x.Hi), cmp.Compare(a.x.Lo, b.x.Lo))
}

// sorted sorts the cells by name. It returns an error if a cell came twice,
// since its excess was then taken twice.
func (h heavyCells) sorted() error {
	slices.SortFunc(h, byName)
	for i := 1; i < len(h); i++ {
		if h[i].x == h[i-1].x {
			return sqlerr.New(sqlerr.Internal, "a cell came in parts")
		}
	}
	return nil
}

// Discovery finds keys that enough units have. Nobody need know them before.
//
// Privacy. Let c(x) be the number of units that have a kept row with the key x, and L the rows
// kept of a unit. D′ is D and one unit more. That unit has at most L keys, of each of which it
// changes c by 1; so c changes by at most L in ℓ1. Each x with c(x) ≥ 1 gets one draw ν of
// discrete Laplace noise of scale L/ε, and is found if c(x) + ν reaches the threshold t. Nothing
// is drawn for a key that no unit has, since nobody could list these.
//
// The keys that D has too: in D and in D′ each of them is found if its noisy count reaches t.
// Whether it does is a function of the noisy counts, which together lose at most ε (Dwork,
// McSherry, Nissim and Smith 2006; the discrete law: Ghosh, Roughgarden and Sundararajan 2009).
// The keys of D′ alone: at most L, each with c = 1, and by the choice of t
//
//	P(any of them is found) ≤ L·P(1 + ν ≥ t) ≤ δ.
//
// As at Heavy, with G the event that none of these is found, P′(O) ≤ P′(O∩G) + δ ≤ e^ε P(O) + δ
// and P(O) ≤ e^ε P′(O) + δ. So the set of keys found is (ε, δ)-differentially private. That is the
// way of Korolova, Kenthapadi, Mishra and Ntoulas ("Releasing search queries and clicks
// privately", 2009), with units in place of rows. Noisy counts are not published, and what is, is
// sorted: the order in which rows were read does not show.
type Discovery struct {
	Law       law.Law // of ν: discrete Laplace noise of scale L/ε
	Threshold int64   // t, at least 1
}

// NewDiscovery returns the discovery with the noise of a law, for units of at most so many keys,
// and δ. The threshold is for counts of units.
func NewDiscovery(law law.Law, unit int64, delta float64) Discovery {
	return Discovery{Law: law, Threshold: 1 + rare(law, unit, delta)}
}

// Chance returns the probability that a key of so many units is found. It is 0 for none.
func (d Discovery) Chance(units int64) float64 {
	if units < 1 {
		return 0
	}
	return d.Law.Tail(d.Threshold - units)
}

// Found returns the keys that are found, sorted by their bytes. Each key comes once, with the
// number of its units.
func (d Discovery) Found(units iter.Seq2[string, int64], src *noise.Source) (keys []string, err error) {
	law := noise.Of(d.Law)
	for key, n := range units {
		if n < 1 {
			continue
		}
		noisy, err := noised(n, law, src)
		if err != nil {
			return nil, err
		}
		if noisy >= d.Threshold {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
