package projection

import (
	"cmp"
	"slices"

	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
)

// published is a heavy cell with what the release says of it: the noisy excess
// over the clip, or the noisy count when Named.
type published struct {
	x     query.Element
	noisy int64
}

// judge decides about one cell of the database, which must be whole: how much
// of it goes into the sketch, and whether it is published. Nothing is drawn for
// a cell of excess 0 (or, when Named, without rows).
//
// A published cell's light part is exactly the clip. Instead of adding it to
// the sketch and taking it out again, once it is public, it is not added: the
// sums are the same integers.
func (p Params) judge(count int64, src *noise.Source) (light int64, noisy int64, heavy bool, err error) {
	light = count
	compared := p.Law
	switch {
	case p.Heavy.Form == Whole:
		return light, 0, false, nil
	case p.Heavy.Form == Clipped:
		light = min(count, p.Heavy.Clip)
		count -= light
	default:
		compared = p.Heavy.NameLaw
	}
	if count == 0 {
		return light, 0, false, nil
	}
	if noisy, err = noised(count, compared, src); err != nil || noisy < p.Heavy.Threshold {
		return light, 0, false, err
	}
	if p.Heavy.Form == Named {
		noisy, err = noised(count, p.Law, src)
	}
	return 0, noisy, true, err
}

// noised returns the count with a draw.
func noised(count int64, law noise.Law, src *noise.Source) (int64, error) {
	draw, err := law.Draw(src)
	if err != nil {
		return 0, noRandomness()
	}
	if draw > 0 && count+draw < count {
		return 0, added(false)
	}
	return count + draw, nil
}

// heavyCells are the published cells in canonical order, ascending by name: the
// order in which they were found would tell of the rows.
type heavyCells []published

func byName(a, b published) int {
	return cmp.Or(cmp.Compare(a.x.Hi, b.x.Hi), cmp.Compare(a.x.Lo, b.x.Lo))
}

// sorted puts the cells into canonical order; a cell that came twice is an
// error, since its excess was taken twice.
func (h heavyCells) sorted() error {
	slices.SortFunc(h, byName)
	for i := 1; i < len(h); i++ {
		if h[i].x == h[i-1].x {
			return sqlerr.New(sqlerr.Internal, "a cell came in parts")
		}
	}
	return nil
}

// largest returns the largest |answer| of the cells, clip included.
func (h heavyCells) largest(clip int64) (most int64) {
	for _, c := range h {
		v := c.noisy + clip
		most = max(most, v, -v)
	}
	return most
}
