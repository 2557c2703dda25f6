package projection

import (
	"math"
	"math/big"
	"math/bits"

	"dpsql/noise"
	"dpsql/sqlerr"
)

// Plan is what is public about a sparse release before its size, and what
// becomes of heavy cells, are chosen.
type Plan struct {
	Cells   *big.Int // |X|, nil when it is infinite
	Records float64  // N̂, the noisy number of rows
	Support uint64   // max_support: the largest queries to serve
	Memory  uint64   // bytes that the buckets may take
	Rows    uint64   // T, if it is given; else 0
	// Options are the ways to treat heavy cells, without Rows and, when Clipped,
	// without Clip where that is to be chosen. Their laws are discrete Laplace.
	Options []Option
}

// Option is one way to treat heavy cells: the parameters, and the scale of their
// noise.
type Option struct {
	Params    Params
	Scale     float64 // of the noise of Law
	NameScale float64 // of the noise of NameLaw
}

// fewestRows is the least T that is chosen: less would save nothing.
const fewestRows = 1 << 16

// worthwhile is the mean squared error, beside the least, at which a smaller
// sketch is taken: a sketch of half the size is quicker to build, to load and to
// ask, and worth 2 % of RMS.
const worthwhile = 1.02 * 1.02

// RowsWithin returns how many coordinates with noise of the law fit into so many
// bytes, nearly all of them in words as small as the noise allows.
func RowsWithin(memory uint64, law noise.Law) uint64 {
	return min(memory/uint64(widthFor(law.Variance())), MaxRows)
}

// Choose completes one of the options: T, the clip and the form with which the
// predicted squared error is smallest, or rather the smallest T with which the
// RMS error is within 2 % of that, and the largest clip within another 2 %. It looks at nothing but the plan, so it costs no
// privacy. A T is a power of two, or what the memory holds.
//
// The prediction is for the model of Zipf's law, and the mean over queries of 1,
// 16, 256 and 4096 cells (as far as max_support goes) of the squared error in
// units of m·Var DLap(L/ε), for cells drawn uniformly from all, uniformly from
// the occupied ones, and half of them by rows.
func Choose(p Plan) (Params, error) {
	best, choice := math.Inf(1), Params{}
	var offers []offer
	m := newModel(p.Records, cellsOf(p.Cells))
	w := newWorkload(m, p.Support)
	for _, o := range p.Options {
		sizes := p.sizes(RowsWithin(p.Memory, o.Params.Law))
		if len(sizes) == 0 {
			continue
		}
		for _, clip := range o.clips(m) {
			o.Params.Heavy.Clip = clip
			fixed, perRow := w.error(m, o)
			for _, rows := range sizes {
				o.Params.Rows = rows
				offers = append(offers, offer{o.Params, fixed + perRow/float64(rows)})
				best = min(best, offers[len(offers)-1].error)
			}
		}
	}
	if len(offers) == 0 {
		return choice, sqlerr.New(sqlerr.Invalid, "the memory is too small for the rows").
			WithHint("raise memory, or lower rows")
	}
	return pick(offers, best).params, nil
}

// offer is a completed option with its predicted error.
type offer struct {
	params Params
	error  float64
}

// cautious is the mean squared error, beside the least, at which a larger clip
// is taken: where counts crowd about a clip, which the model does not know, a
// larger one does less harm. It is 2 % of RMS.
const cautious = 1.02 * 1.02

// pick returns, of the offers that are good enough, one of the smallest size: the
// best of these or, within what caution is worth, that of the largest clip.
func pick(offers []offer, best float64) offer {
	var small offer
	for _, o := range offers {
		if o.error <= best*worthwhile && (small.params.Rows == 0 || o.params.Rows < small.params.Rows ||
			o.params.Rows == small.params.Rows && o.error < small.error) {
			small = o
		}
	}
	choice := small
	for _, o := range offers {
		if o.params.Rows == small.params.Rows && o.params.Heavy.Form == small.params.Heavy.Form &&
			o.error <= small.error*cautious && o.params.Heavy.Clip > choice.params.Heavy.Clip {
			choice = o
		}
	}
	return choice
}

func cellsOf(size *big.Int) float64 {
	if size == nil {
		return math.Inf(1)
	}
	f, _ := new(big.Float).SetInt(size).Float64()
	return f
}

// sizes returns the T to choose from.
func (p Plan) sizes(most uint64) (sizes []uint64) {
	if p.Rows != 0 {
		if p.Rows <= most {
			sizes = append(sizes, p.Rows)
		}
		return sizes
	}
	for t := uint64(fewestRows); t <= most; t *= 2 {
		sizes = append(sizes, t)
	}
	if len(sizes) == 0 && most > 0 {
		sizes = append(sizes, 1<<(bits.Len64(most)-1))
	}
	return sizes
}

// clips returns the clips to choose from: powers of two and of the root of two,
// from where a cell stands out of the noise.
func (o Option) clips(m model) (clips []int64) {
	if o.Params.Heavy.Form != Clipped || o.Params.Heavy.Clip != 0 {
		return []int64{o.Params.Heavy.Clip}
	}
	least := math.Ceil(8 * o.Scale)
	for c := 8.0; c < maxClip; c *= math.Sqrt2 {
		if c >= least {
			clips = append(clips, int64(c))
		}
		if c > least && len(m) > 0 && c > m[0].count {
			break
		}
	}
	if len(clips) == 0 {
		clips = append(clips, maxClip)
	}
	return clips
}
