package projection

// workload is what queries are taken to be for predictions.
type workload struct {
	occupied []float64   // by bin: the share of its cells among the occupied ones' queries, per cell asked
	sizes    []float64   // m of the queries
	byRows   [][]float64 // for each m, by bin: the probability that a query of m/2 cells drawn by rows has a cell
}

func newWorkload(m model, support uint64) (w workload) {
	w.occupied = m.occupied()
	total := 0.0
	for i, b := range m {
		total += w.occupied[i] * b.cells
	}
	for i := range w.occupied {
		w.occupied[i] /= max(total, 1)
	}
	for size := uint64(1); size <= min(max(support, 1), 4096); size *= 16 {
		w.sizes = append(w.sizes, float64(size))
		w.byRows = append(w.byRows, m.drawn(min(float64(size)/2, total/2)))
	}
	return w
}

// cellError is how a cell of some count errs: mean and mean square, the latter
// with what collisions add for each V/T.
type cellError struct{ mean, square, collide float64 }

// errors returns the error of a cell of each bin.
func (o Option) errors(m model) []cellError {
	out := make([]cellError, len(m))
	noise := geometricOf(o.Scale)
	v := noise.variance()
	l := o.Params.Heavy.liftOf(o.Params.Law)
	shift, square := noise.lifted(l, 0)
	for i, b := range m {
		out[i] = cellError{0, v, 1}
		h := o.Params.Heavy
		switch excess := b.count - float64(h.Clip); {
		case h.Form == Clipped && excess > 0:
			p, first, second := noise.above(float64(h.Threshold) - excess)
			out[i] = cellError{first + (1-p)*(shift-excess), second + (1-p)*(square-2*excess*shift+excess*excess), 1 - p}
		case h.Form == Clipped && excess > float64(l.from-l.clip)-10*o.Scale:
			out[i].mean, out[i].square = noise.lifted(l, excess)
		case h.Form == Named:
			p, _, _ := geometricOf(o.NameScale).above(float64(h.Threshold) - b.count)
			out[i].collide = 1 - p
		}
	}
	return out
}

// collisions returns the squared norm of what is hashed. A Poisson count's square
// is its mean more than the mean's square.
func (o Option) collisions(m model, errors []cellError) (norm float64) {
	for i, b := range m {
		light := b.count
		if c := float64(o.Params.Heavy.Clip); o.Params.Heavy.Form == Clipped && light > c {
			light = c
		}
		norm += b.cells * errors[i].collide * (light*light + min(light, b.count))
	}
	return norm
}

// error returns the mean of squared error over noise: what does not depend on T,
// and what is to be divided by it.
func (w workload) error(m model, o Option) (fixed, perRow float64) {
	errors := o.errors(m)
	norm := o.collisions(m, errors)
	v := geometricOf(o.Scale).variance()
	var once cellError // of an occupied cell drawn uniformly
	for i, b := range m {
		p := w.occupied[i] * b.cells
		once.mean += p * errors[i].mean
		once.square += p * errors[i].square
		once.collide += p * errors[i].collide
	}
	for j, size := range w.sizes {
		var rows cellError // of the cells drawn by rows, together
		rest := size       // cells drawn uniformly
		for i, b := range m {
			p := w.byRows[j][i]
			rest -= b.cells * p
			rows.mean += b.cells * p * errors[i].mean
			rows.square += b.cells * p * (errors[i].square - p*errors[i].mean*errors[i].mean)
			rows.collide += b.cells * p * errors[i].collide
		}
		rest = max(rest, 0)
		fixed += 1                                                         // uniformly from all
		fixed += (once.square + (size-1)*once.mean*once.mean) / v          // from the occupied
		fixed += (rows.square + rows.mean*rows.mean + rest*v) / (size * v) // half by rows
		perRow += norm / v * (1 + once.collide + (rows.collide+rest)/size)
	}
	kinds := 3 * float64(len(w.sizes))
	base := geometricOf(o.base()).variance() / v
	return fixed / kinds / base, perRow / kinds / base
}

// base is the scale of the noise if all of ε went into it, with which errors are
// compared.
func (o Option) base() float64 {
	if o.Params.Heavy.Form == Named {
		return 1 / (1/o.Scale + 1/o.NameScale)
	}
	return o.Scale
}
