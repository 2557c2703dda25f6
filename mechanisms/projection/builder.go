package projection

import (
	"iter"

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
	matrix matrix
	coder  query.Coder
	sketch vector // A·D; Dense: √T·A·D, once it is gathered
	heavy  heavyCells
	texts  func(query.Element) string // nil if the release has none
	sums   []int64                    // Dense: √T·A·D of the cells multiplied so far
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
	b := &Builder{u: u, p: p, matrix: m, coder: m.newCoder(u)}
	if p.Transform == Dense {
		b.sums = make([]int64, blocksOf(p.Rows)*blockRows)
		b.buffer = make([]weighted, 0, denseBatch)
	} else {
		b.sketch = newVector(p.Rows, widthFor(p.Law.Variance()))
	}
	return b, nil
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
func (b *Builder) add(x query.Element, count int64, src *noise.Source) error {
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
	return b.addDense(x, count)
}

func (b *Builder) addSparse(x query.Element, count int64, src *noise.Source) error {
	light, noisy, heavy, err := b.p.judge(count, src)
	if err != nil {
		return err
	}
	if heavy {
		b.heavy = append(b.heavy, published{x: x, noisy: noisy})
	}
	p := b.matrix.sketch.at(x)
	return checkFits(b.sketch.add(p.row(), light^p.sign()-p.sign()))
}

func (b *Builder) addDense(x query.Element, count int64) error {
	if b.mass += count; b.mass < 0 {
		return checkFits(false)
	}
	b.buffer = append(b.buffer, weighted{x, count})
	if len(b.buffer) == denseBatch {
		b.flush()
	}
	return nil
}

// flush multiplies the buffered cells.
func (b *Builder) flush() {
	b.matrix.signs.eachBlock(b.buffer, b.p.Rows, workersFor(b.p.Rows),
		func(_ int, block uint32, sums *[blockRows]int64) {
			rows := b.sums[uint64(block)*blockRows:][:blockRows]
			for j, s := range sums {
				rows[j] += s
			}
		})
	b.buffer = b.buffer[:0]
}

// Build adds the cells and then noise to every coordinate, and returns the
// release. Each cell must come once. Build can be called once; an error ends
// the builder, too. A sum of counts above 63 bits is an internal error. So is a
// name that the release's coder cannot have made.
func (b *Builder) Build(cells iter.Seq2[query.Element, int64], src *noise.Source) (*Release, error) {
	if b.done {
		return nil, sqlerr.New(sqlerr.Internal, "the release is built already")
	}
	b.done = true
	for x, count := range cells {
		if err := b.add(x, count, src); err != nil {
			return nil, err
		}
	}
	if b.p.Transform == Dense {
		if err := b.gather(); err != nil {
			return nil, err
		}
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

// gather moves the sums into the sketch.
func (b *Builder) gather() error {
	b.flush()
	b.sketch = newVector(b.p.Rows, max(4, widthFor(b.p.Law.Variance())))
	for i := range b.p.Rows {
		if !b.sketch.add(i, b.sums[i]) {
			return checkFits(false)
		}
	}
	b.sums = nil
	return nil
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
