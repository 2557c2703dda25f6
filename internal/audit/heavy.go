package audit

import (
	"strconv"

	"dpsql/mechanisms/projection"
	"dpsql/noise"
)

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

// discoveryFor returns the discovery of keys at ε = 1 and δ for units of at most so many keys.
func discoveryFor(unit int64) (projection.Discovery, error) {
	law, err := laplaceFor(oneEpsilon, unit)
	return projection.NewDiscovery(law, unit, someDelta.Float()), err
}

// discovered is a case that discovers keys. In D each of so many keys has inD units, and D′ has a
// unit more, which has all of them. It shows how many keys are found.
func discovered(name string, d projection.Discovery, keys, inD int64) Case {
	return Case{Name: name, Claim: heavyClaim(), Shows: []string{"found"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			found, err := d.Found(func(yield func(string, int64) bool) {
				for i := range keys {
					if !yield(strconv.FormatInt(i, 10), rows(inD, 1, changed)) {
						return
					}
				}
			}, src)
			return Output{int64(len(found))}, err
		}}
}

// discovery returns the case of as many keys as a unit has rows, up to 64. No unit has them in D,
// or so many that they are found half of the time.
func discovery(name string, first bool) func(int64) (Case, error) {
	return func(unit int64) (Case, error) {
		d, err := discoveryFor(unit)
		inD := d.Threshold - 1
		if first {
			inD = 0
		}
		return discovered(name, d, min(unit, maxUnitGroups), inD), err
	}
}

func heavyClaim() Claim { return Claim{oneEpsilon.Float(), someDelta.Float()} }

// heavyReleases are the cases with heavy cells: a cell that reaches the clip and
// crosses it, or gets an excess, or crosses the threshold; named cells that appear or
// cross their threshold; and keys that do.
func heavyReleases() []func(int64) (Case, error) {
	at := func(n int64) func(int64) int64 { return func(int64) int64 { return n } }
	return []func(int64) (Case, error){
		heavyRelease("heavy cells, across the clip", clipParams, at(clip-1)),
		heavyRelease("heavy cells, a first excess", clipParams, at(clip)),
		heavyRelease("heavy cells, at the threshold", clipParams, func(threshold int64) int64 { return clip + threshold - 1 }),
		spreadRelease,
		heavyRelease("named cells, a first row", namedParams, at(0)),
		heavyRelease("named cells, at the threshold", namedParams, func(threshold int64) int64 { return threshold - 1 }),
		discovery("keys discovered, of a first unit", true),
		discovery("keys discovered, at the threshold", false),
	}
}
