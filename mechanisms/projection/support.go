package projection

import (
	"slices"

	"dpsql/query"
)

// boxes adds the support of a query, box by box.
func (e *evaluation) boxes(q query.Query) {
	for b, weight := range e.r.coder.Boxes(q) {
		if e.box(b, weight); e.over {
			return
		}
	}
}

// box adds the elements of a box, along its longest step.
func (e *evaluation) box(b query.Box, weight int64) {
	if len(b.Steps) == 0 {
		e.single(b.Start, weight)
		return
	}
	heavy := e.r.heavy
	if len(heavy) > 0 {
		heavy = heavy.between(b.Start, b.Last())
	}
	along, longest := 0, query.Step{}
	for i, s := range b.Steps {
		if s.Count >= longest.Count {
			along, longest = i, s
		}
	}
	if longest.Stride != e.stride {
		e.stride, e.powers = longest.Stride, e.r.matrix.sketch.powers(longest.Stride)
	}
	start := b.Start
	var digits [64]uint64 // as many steps of two or more codes there can be
	for {
		e.line(start, longest.Count, weight, heavy)
		i := len(b.Steps) - 1
		for ; i >= 0; i-- {
			if i == along {
				continue
			}
			s := b.Steps[i]
			if digits[i]++; digits[i] < s.Count {
				start.Lo += s.Stride
				break
			}
			digits[i] = 0
			start.Lo -= s.Stride * (s.Count - 1)
		}
		if i < 0 || e.over {
			return
		}
	}
}

// single adds one element.
func (e *evaluation) single(x query.Element, weight int64) {
	if c := e.r.heavy.between(x, x); len(c) > 0 {
		e.published(c[0], weight)
		return
	}
	e.room(1, weight)[0] = e.r.matrix.sketch.at(x)
}

// line adds count elements from start on, at the distance of the stride. What is
// published in the whole box it is given.
func (e *evaluation) line(start query.Element, count uint64, weight int64, heavy heavyCells) {
	if len(heavy) == 0 {
		e.walk(start, count, weight)
		return
	}
	last := query.Element{Hi: start.Hi, Lo: start.Lo + e.stride*(count-1)}
	heavy = heavy.between(start, last)
	done := uint64(0) // elements added
	pass := func(c published, i uint64) {
		e.walk(query.Element{Hi: start.Hi, Lo: start.Lo + done*e.stride}, i-done, weight)
		e.published(c, weight)
		done = i + 1
	}
	if uint64(len(heavy)) <= 4*count {
		for _, c := range heavy {
			if off := c.x.Lo - start.Lo; off%e.stride == 0 {
				pass(c, off/e.stride)
			}
		}
	} else {
		for i := range count {
			x := query.Element{Hi: start.Hi, Lo: start.Lo + i*e.stride}
			if heavy = heavy.from(x); len(heavy) > 0 && heavy[0].x == x {
				pass(heavy[0], i)
			}
		}
	}
	e.walk(query.Element{Hi: start.Hi, Lo: start.Lo + done*e.stride}, count-done, weight)
}

// walk adds unpublished cells, count elements from start on at the distance of
// the stride.
func (e *evaluation) walk(start query.Element, count uint64, weight int64) {
	if count == 0 {
		return
	}
	point := e.r.matrix.sketch.point(start)
	for count > 0 && !e.over {
		dst := e.room(count, weight)
		point = e.r.matrix.sketch.places(dst, point, &e.powers)
		count -= uint64(len(dst))
	}
}

// between returns the cells whose names lie between two, both included.
func (h heavyCells) between(first, last query.Element) heavyCells {
	h = h.from(first)
	end, found := slices.BinarySearchFunc(h, published{x: last}, byName)
	if found {
		end++
	}
	return h[:end]
}

// from returns the cells from the first one on whose name is at least start.
func (h heavyCells) from(start query.Element) heavyCells {
	i, _ := slices.BinarySearchFunc(h, published{x: start}, byName)
	return h[i:]
}
