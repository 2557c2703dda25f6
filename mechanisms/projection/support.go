package projection

import (
	"cmp"
	"slices"

	"dpsql/query"
)

// boxes adds the support of a query over a coded universe, box by box.
func (e *evaluation) boxes(q query.Query) {
	for b, weight := range q.Boxes() {
		heavy := e.r.heavy
		if len(heavy) > 0 {
			heavy = heavy.between(b.Start, b.Last())
		}
		e.box(b.Start, b.Steps, weight, heavy)
		if e.over {
			return
		}
	}
}

// box adds the elements of a box, along its longest step: of what is published
// between its ends it is given all.
func (e *evaluation) box(start uint64, steps []query.Step, weight int64, heavy heavyCells) {
	if len(steps) == 0 {
		e.line(start, 1, weight, heavy)
		return
	}
	along, longest := 0, query.Step{Stride: 1, Count: 1}
	for i, s := range steps {
		if s.Count >= longest.Count {
			along, longest = i, s
		}
	}
	if longest.Stride != e.powers.one {
		e.powers = powersOf(longest.Stride)
	}
	var digits [64]uint64 // as many steps of two or more codes there can be
	for {
		e.line(start, longest.Count, weight, heavy)
		i := len(steps) - 1
		for ; i >= 0; i-- {
			if i == along {
				continue
			}
			if digits[i]++; digits[i] < steps[i].Count {
				start += steps[i].Stride
				break
			}
			digits[i] = 0
			start -= steps[i].Stride * (steps[i].Count - 1)
		}
		if i < 0 || e.over {
			return
		}
	}
}

// line adds count codes from start on, at the distance of e.powers.
func (e *evaluation) line(start, count uint64, weight int64, heavy heavyCells) {
	if len(heavy) == 0 {
		e.walk(start, count, weight)
		return
	}
	stride := e.powers.one
	heavy = heavy.between(start, start+stride*(count-1))
	done := uint64(0) // codes added
	pass := func(c published, i uint64) {
		e.walk(start+done*stride, i-done, weight)
		e.published(c, weight)
		done = i + 1
	}
	if uint64(len(heavy)) <= 4*count {
		for _, c := range heavy {
			if off := c.x.Lo - start; off%stride == 0 {
				pass(c, off/stride)
			}
		}
	} else {
		for i := range count {
			code := start + i*stride
			if heavy = heavy.from(code); len(heavy) > 0 && heavy[0].x.Lo == code {
				pass(heavy[0], i)
			}
		}
	}
	e.walk(start+done*stride, count-done, weight)
}

// walk adds unpublished cells, count codes from start on at the distance of
// e.powers.
func (e *evaluation) walk(start, count uint64, weight int64) {
	for count > 0 && !e.over {
		dst := e.room(count, weight)
		e.r.matrix.sketch.places(dst, start, &e.powers)
		start += uint64(len(dst)) * e.powers.one
		count -= uint64(len(dst))
	}
}

// names adds a support without codes.
func (e *evaluation) names(q query.Query) {
	r := e.r
	for x, weight := range r.Coder().Elements(q) {
		if c, ok := r.index.find(x); ok {
			e.published(c, weight)
		} else {
			e.room(1, weight)[0] = r.matrix.sketch.at(x)
		}
		if e.over {
			return
		}
	}
}

// between returns the cells whose codes lie between two, both included. The
// universe is coded.
func (h heavyCells) between(first, last uint64) heavyCells {
	h = h.from(first)
	end, found := slices.BinarySearchFunc(h, last, byCode)
	if found {
		end++
	}
	return h[:end]
}

// from returns the cells from the first one on whose code is at least start. The
// universe is coded.
func (h heavyCells) from(start uint64) heavyCells {
	i, _ := slices.BinarySearchFunc(h, start, byCode)
	return h[i:]
}

func byCode(c published, code uint64) int { return cmp.Compare(c.x.Lo, code) }
