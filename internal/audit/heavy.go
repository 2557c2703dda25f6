package audit

import "dpsql/mechanisms/projection"

// clip is the value at which the releases audited split counts.
const clip = 4

// clipParams returns the parameters of a sketch of two buckets with heavy cells above
// the clip, for units of the given number of rows.
func clipParams(unit int64) (projection.Params, error) {
	law, err := laplaceFor(oneEpsilon, unit)
	return projection.Params{Transform: projection.Sparse, Rows: 2, Law: law, Heavy: projection.Heavy{
		Form: projection.Clipped, Clip: clip, Threshold: projection.Threshold(law, unit, someDelta.Float())}}, err
}

// namedParams returns parameters that name heavy cells with a tenth of ε.
func namedParams(unit int64) (projection.Params, error) {
	law, err := laplaceFor(oneEpsilon/10*9, unit)
	if err != nil {
		return projection.Params{}, err
	}
	names, err := laplaceFor(oneEpsilon/10, unit)
	return projection.Params{Transform: projection.Sparse, Rows: 2, Law: law, Heavy: projection.Heavy{
		Form: projection.Named, Threshold: projection.Threshold(names, unit, someDelta.Float()), NameLaw: names}}, err
}

// heavyRelease is a release with heavy cells. D has inD(threshold) records 0, and D′ a
// unit more.
func heavyRelease(name string, make func(int64) (projection.Params, error), inD func(threshold int64) int64) func(int64) (Case, error) {
	return func(unit int64) (Case, error) {
		p, err := make(unit)
		if err != nil {
			return Case{}, err
		}
		n := inD(p.Heavy.Threshold)
		return releaseOf(name, heavyClaim(), p, func(changed bool) [cells]int64 {
			return [cells]int64{rows(n, unit, changed), 1}
		})
	}
}

// spreadRelease is a clipped release of cells that all reach the clip in D. The unit
// that D′ has more is spread over them, so several cells get an excess at once.
func spreadRelease(unit int64) (Case, error) {
	p, err := clipParams(unit)
	if err != nil {
		return Case{}, err
	}
	return releaseOf("heavy cells, a unit over all of them", heavyClaim(), p, func(changed bool) (counts [cells]int64) {
		for x := range counts {
			counts[x] = clip
		}
		for i := int64(0); changed && i < unit; i++ {
			counts[i%cells]++
		}
		return counts
	})
}

func heavyClaim() Claim { return Claim{oneEpsilon.Float(), someDelta.Float()} }

// heavyReleases are the cases with heavy cells: a cell that reaches the clip and
// crosses it, or gets an excess, or crosses the threshold; and named cells that appear
// or cross their threshold.
func heavyReleases() []func(int64) (Case, error) {
	at := func(n int64) func(int64) int64 { return func(int64) int64 { return n } }
	return []func(int64) (Case, error){
		heavyRelease("heavy cells, across the clip", clipParams, at(clip-1)),
		heavyRelease("heavy cells, a first excess", clipParams, at(clip)),
		heavyRelease("heavy cells, at the threshold", clipParams, func(threshold int64) int64 { return clip + threshold - 1 }),
		spreadRelease,
		heavyRelease("named cells, a first row", namedParams, at(0)),
		heavyRelease("named cells, at the threshold", namedParams, func(threshold int64) int64 { return threshold - 1 }),
	}
}
