package audit

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding"
	binaries "encoding/binary"
	"io"
	"iter"
	"math/big"
	"testing"

	"dpsql/accounting"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
)

// stored is what a mechanism stores or gives: numbers, and the law of the noise that the claim
// needs in each of them.
type stored struct {
	name string
	law  law.Law
	draw func(src *noise.Source) ([]int64, error) // the numbers less the true ones
}

// TestEveryStoredNumberHasItsNoise draws all numbers of each mechanism and kind of release many
// times. At each position, by itself, the noise must be as often beyond the middle of the law's
// magnitudes, and as often above 0, as by the law that the claim needs, and two neighbours must be
// beyond it independently of each other. Scales of 0.7 or 1.4 would be told apart at each
// position, and no noise at all too.
//
// The counts are binomial, and no more than 21,000 are compared, each with limits that it
// exceeds with probability 4e-11 at most. So the test fails by chance with 1e-6 at most.
func TestEveryStoredNumberHasItsNoise(t *testing.T) {
	campaign(t)
	const runs, tail, mostNumbers = 1200, 2e-11, 7000
	numbers := 0
	src := noise.NewSource()
	for _, s := range everyStored(t) {
		h := int64(1)
		for 2*s.law.Tail(h) > 0.5 {
			h++
		}
		p := 2 * s.law.Tail(h)
		var beyond, positive, either []int64
		for range runs {
			all, err := s.draw(src)
			if err != nil {
				t.Fatal(s.name, err)
			}
			if beyond == nil {
				beyond, positive, either = make([]int64, len(all)), make([]int64, len(all)), make([]int64, len(all))
			}
			is := func(i int) bool { return all[i] >= h || all[i] <= -h }
			for i, x := range all {
				if is(i) {
					beyond[i]++
				}
				if x > 0 {
					positive[i]++
				}
				if len(all) > 1 && is(i) != is((i+1)%len(all)) {
					either[i]++
				}
			}
		}
		numbers += len(beyond)
		check := func(what string, counts []int64, p float64) {
			least, largest := fewest(runs, p, tail), most(runs, p, tail)
			for i, n := range counts {
				if n < least || n > largest {
					t.Errorf("%s: number %d of %d is %s %d times of %d, by %v between %d and %d times", s.name, i, len(counts), what, n, runs, s.law, least, largest)
					return
				}
			}
		}
		check("far off", beyond, p)
		check("above the truth", positive, s.law.Tail(1))
		if len(beyond) > 1 {
			check("alone far off beside the next", either, 2*p*(1-p))
		}
	}
	if numbers > mostNumbers {
		t.Errorf("%d numbers, the limits are for %d", numbers, mostNumbers)
	}
}

// everyStored returns all mechanisms and kinds of releases, for units of three rows.
func everyStored(t *testing.T) (all []stored) {
	const unit = 3
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(name string, law law.Law, draw func(src *noise.Source) ([]int64, error)) {
		all = append(all, stored{name, law, draw})
	}

	u, err := columns(3, 4, 2)
	must(err)
	sets := [][]int{{0, 1}, {0, 2}, {1, 2}}
	gauss := gaussianOf(t, 26, 3*unit*unit)
	sigma2 := gauss.Variance()
	p := marginals.Params{Sets: sets, Law: gauss, Sigma2: sigma2}
	add("marginals", gauss, func(src *noise.Source) ([]int64, error) {
		r, err := measured(u, p, src)
		if err != nil {
			return nil, err
		}
		return marginalCells(r, 26, []int64{2 * 7, 4 * 7, 3 * 7}, []int{12, 6, 8})
	})
	add("marginals fitted on demand", gauss, func(src *noise.Source) ([]int64, error) {
		r, err := measured(u, p, src)
		if err != nil {
			return nil, err
		}
		o, err := marginals.NewOnDemand(r, coin.NewSource())
		if err != nil {
			return nil, err
		}
		return marginalCells(o, 26, []int64{2 * 7, 4 * 7, 3 * 7}, []int{12, 6, 8})
	})

	laplace, err := laplaceFor(oneEpsilon, unit)
	must(err)
	dense := gaussianOf(t, denseRows, denseRows*unit*unit)
	few, err := line(cells)
	must(err)
	for name, p := range map[string]projection.Params{
		"identity release":            {Transform: projection.Identity, Rows: cells, Law: laplace},
		"identity release, bulk":      {Transform: projection.Identity, Rows: cells, Law: laplace, Bulk: true},
		"sparse release":              {Transform: projection.Sparse, Rows: 5, Law: laplace},
		"sparse release, bulk":        {Transform: projection.Sparse, Rows: 5, Law: laplace, Bulk: true},
		"dense release":               {Transform: projection.Dense, Rows: denseRows, Independence: 4, Law: dense},
		"a sketch beside heavy cells": heavyParams(t, clipParams, unit),
		"a sketch beside named cells": heavyParams(t, namedParams, unit),
	} {
		add(name, p.Law, func(src *noise.Source) ([]int64, error) {
			r, err := built(few, p, 0, src)
			if err != nil {
				return nil, err
			}
			return sketchOf(r)
		})
	}
	for name, p := range map[string]projection.Params{"heavy cells": heavyParams(t, clipParams, unit), "named cells": heavyParams(t, namedParams, unit)} {
		add(name, p.Law, func(src *noise.Source) ([]int64, error) {
			const many = 100_000
			r, err := built(few, p, many, src)
			if err != nil {
				return nil, err
			}
			a, err := r.Answer(t.Context(), among(few, 0), 0.5)
			return []int64{a.Value - many}, err
		})
	}

	for _, sizes := range [][]int64{{2, 3, 4}, {64, 64}} { // by single draws, and in bulk
		u, err := columns(sizes...)
		must(err)
		variance := direct.SigmaSquared(int64(someRho), unit)
		variance.Mul(variance, big.NewRat(int64(len(smw.PriorTables(u))), 1))
		law, err := law.NewGaussian(variance)
		must(err)
		add("prior", law, func(src *noise.Source) (all []int64, err error) {
			tables := smw.PriorTables(u)
			_, err = smw.Measure(tables, variance, src)
			for _, table := range tables {
				all = append(all, table.Counts...)
			}
			return all, err
		})
	}

	r := request(1, nearing+leaving, unit, 4*oneEpsilon)
	r.Remeasure, r.MaxWeight = true, 9
	run, err := smw.Plan(r)
	must(err)
	scaled := func(epsilon *big.Rat) law.Law { // for what changes by L·W
		law, err := law.NewLaplace(new(big.Rat).Quo(big.NewRat(9*unit, 1), epsilon))
		must(err)
		return law
	}
	add("threshold of a run", scaled(run.Eps1), func(src *noise.Source) ([]int64, error) {
		r, err := smw.StartRun(run, src)
		return []int64{r.Tau()}, err
	})
	add("answer counted anew", scaled(run.Eps3), func(src *noise.Source) ([]int64, error) {
		r, err := smw.StartRun(run, src)
		if err != nil {
			return nil, err
		}
		const many = 1 << 30
		out, err := r.Test(many, 0, src)
		return []int64{out.Noisy - many}, err
	})
	r.Remeasure = false
	plain, err := smw.Plan(r)
	must(err)
	add("answer by the gap, and its threshold", scaled(new(big.Rat).Quo(plain.Eps2, big.NewRat(2, 1))), func(src *noise.Source) ([]int64, error) {
		r, err := smw.StartRun(plain, src)
		if err != nil {
			return nil, err
		}
		const many = 1 << 30
		tau := r.Tau()
		out, err := r.Test(many, 0, src)
		return []int64{out.Noisy - many + tau}, err
	})

	for name, r := range map[string]direct.Request{"direct count": {Accuracy: 40, Confidence: 0.95, Sensitivity: unit, Answers: 1},
		"units in groups": {Accuracy: 9, Confidence: 0.95, Sensitivity: 1, Answers: unit}} {
		p, ok := direct.PlanFor(r)
		if !ok {
			t.Fatal("no plan")
		}
		of, err := law.NewGaussian(direct.SigmaSquared(p.Rho, r.Sensitivity))
		must(err)
		if r.Answers > 1 {
			variance := direct.SigmaSquared(p.Rho, 1)
			of, err = law.NewGaussian(variance.Mul(variance, big.NewRat(r.Answers, 1)))
			must(err)
		}
		add(name, of, func(src *noise.Source) ([]int64, error) {
			var all [3]int64
			for i := range all {
				n, err := p.Answer(100, src)
				if err != nil {
					return nil, err
				}
				all[i] = n - 100
			}
			return all[:], nil
		})
	}
	return all
}

// gaussianOf is discrete Gaussian noise for a vector at the claim of the releases.
func gaussianOf(t *testing.T, dimensions, squared int64) law.Law {
	t.Helper()
	sigma2, err := accounting.DiscreteSigmaSquared(oneEpsilon, someDelta, accounting.Vector{Dimensions: dimensions, SquaredSensitivity: squared})
	if err != nil {
		t.Fatal(err)
	}
	law, err := law.NewGaussian(sigma2)
	if err != nil {
		t.Fatal(err)
	}
	return law
}

// columns returns the universe of columns of so many values.
func columns(sizes ...int64) (*query.Universe, error) {
	var list []query.Column
	for i, n := range sizes {
		d, err := query.NewRange(0, n-1, false)
		if err != nil {
			return nil, err
		}
		list = append(list, query.Column{Name: string(rune('a' + i)), Domain: d})
	}
	return query.NewUniverse(list)
}

// heavyParams calls make.
func heavyParams(t *testing.T, make func(int64) (projection.Params, error), unit int64) projection.Params {
	t.Helper()
	p, err := make(unit)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// measured measures marginals of a table with 7 rows in each cell.
func measured(u *query.Universe, p marginals.Params, src *noise.Source) (*marginals.Release, error) {
	m, err := marginals.Measure(context.Background(), u, p, func(yield func(query.Element, int64) bool) {
		for x := range u.Size().Uint64() {
			if !yield(query.Element{Lo: x}, 7) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return m.Perturb(src)
}

// envelope is how many bytes package sealed puts before a body.
const envelope = 8 + 4 + 2 + 8

// marginalCells returns the n cells that a release of marginals stores, less the true count of
// each, which is one number for all cells of a marginal.
func marginalCells(r encoding.BinaryMarshaler, n int, truth []int64, sizes []int) ([]int64, error) {
	data, err := r.MarshalBinary()
	if err != nil {
		return nil, err
	}
	data = data[envelope:]
	header := binaries.LittleEndian.Uint32(data)
	body := flate.NewReader(bytes.NewReader(data[4+header:]))
	all := make([]int64, n)
	if err := binaries.Read(body, binaries.LittleEndian, all); err != nil {
		return nil, err
	}
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		return nil, io.ErrUnexpectedEOF
	}
	at := 0
	for i, size := range sizes {
		for range size {
			all[at] -= truth[i]
			at++
		}
	}
	return all, nil
}

// built builds a release of so many records 0.
func built(u *query.Universe, p projection.Params, rows int64, src *noise.Source) (*projection.Release, error) {
	b, err := projection.NewBuilder(u, p, coin.NewSource())
	if err != nil {
		return nil, err
	}
	var records iter.Seq2[query.Element, int64] = func(yield func(query.Element, int64) bool) {
		if rows > 0 {
			yield(query.Element{}, rows)
		}
	}
	return b.Build(records, src)
}

// sketchOf returns the numbers that a release stores: the section CELL, whose words have the
// width of its first byte.
func sketchOf(r *projection.Release) (all []int64, err error) {
	data, err := r.MarshalBinary()
	if err != nil {
		return nil, err
	}
	for data = data[envelope+2:]; ; {
		name, size := string(data[:4]), binaries.LittleEndian.Uint64(data[4:])
		payload := data[12 : 12+size]
		data = data[12+size:]
		if name != "CELL" {
			continue
		}
		width := int(payload[0])
		words := payload[1 : 1+width*int(r.Params().Rows)]
		large := payload[1+len(words):]
		for ; len(words) > 0; words = words[width:] {
			var bytes [8]byte
			copy(bytes[:], words[:width])
			shift := 64 - 8*width
			x := int64(binaries.LittleEndian.Uint64(bytes[:])<<shift) >> shift
			if x == -1<<(8*width-1) && len(large) >= 8 { // one that does not fit
				x, large = int64(binaries.LittleEndian.Uint64(large)), large[8:]
			}
			all = append(all, x)
		}
		return all, nil
	}
}
