package projection

import "dpsql/noise"

// perturb adds an independent draw of the law to every coordinate.
func perturb(v vector, p Params, src *noise.Source) error {
	fill := exactly(p.Law)
	if p.Bulk {
		if t, err := noise.NewTable(p.Law); err == nil {
			fill = t.Fill // else the law is too wide for a table
		}
	}
	var draws [1024]int64
	for first := uint64(0); first < v.len(); first += uint64(len(draws)) {
		chunk := draws[:min(uint64(len(draws)), v.len()-first)]
		if err := fill(chunk, src); err != nil {
			return noRandomness()
		}
		if !v.addAll(first, chunk) {
			return added(false)
		}
	}
	return nil
}

// exactly returns a function that fills a slice by the exact sampler.
func exactly(l noise.Law) func([]int64, *noise.Source) error {
	return func(dst []int64, src *noise.Source) error {
		for i := range dst {
			var err error
			if dst[i], err = l.Draw(src); err != nil {
				return err
			}
		}
		return nil
	}
}
