package audit

import (
	"math/big"
	"slices"

	"dpsql/accounting"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
)

// singleRun is one run of the private test, (ε₁+ε₂)-differentially private, on the
// sequence of queries on which it loses nearly all of that: several that the unit
// brings nearer to the threshold and that do not fire, and then some that it takes away
// from the threshold, from the other side. D has 100 rows of every query. A large ε
// makes the loss stand out from chance.
func singleRun(unit int64) (Case, error) {
	const epsilon = 4 * oneEpsilon
	return oneRun("SMW, one run", request(1, nearing+leaving, unit, epsilon), unit, epsilon)
}

func oneRun(name string, r smw.Request, unit int64, epsilon accounting.Epsilon) (Case, error) {
	p, err := smw.Plan(r)
	if err != nil {
		return Case{}, err
	}
	asked := hypotheses(p.Threshold, unit)
	return Case{
		Name: name, Claim: pure(epsilon), Shows: []string{"fired at", "gap", "firings"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			run, err := smw.StartRun(p, src)
			if err != nil {
				return Output{}, err
			}
			return fired(&run, rows(100, unit, changed), asked, src)
		},
		Suspect: func(o Output) bool { return o[0] > nearing && o[1] < 0 },
	}, nil
}

// The sequence of a single run: comparisons that the unit brings nearer to the
// threshold, then comparisons that it takes away from it.
const (
	nearing = 8
	leaving = 3
)

// hypotheses returns the hypothesis's answers in the sequence, for a true count of 100
// in D.
func hypotheses(threshold, unit int64) []int64 {
	asked := slices.Repeat([]int64{100 - threshold + unit}, nearing)
	return append(asked, slices.Repeat([]int64{100 + threshold}, leaving)...)
}

// fired runs a sequence of comparisons until the run refuses more. It shows the number
// of the first that fired, from 1, or 0 if none did; the gap between its noisy count
// and the hypothesis; and how many fired, which should be one.
func fired(run *smw.Run, count int64, asked []int64, src *noise.Source) (o Output, err error) {
	for i, h := range asked {
		out, err := run.Test(count, h, src)
		switch {
		case err != nil && o[2] > 0:
			return o, nil
		case err != nil:
			return o, err
		case out.Fired && o[2] == 0:
			o[0], o[1] = int64(i)+1, out.Noisy-h
		}
		if out.Fired {
			o[2]++
		}
	}
	return o, nil
}

// request asks for a mechanism with runs of the given ε each, over the records of the
// audit. Its bounds may fail half of the time, which keeps the threshold near the
// noise, where the loss is.
func request(runs, comparisons, unit int64, each accounting.Epsilon) smw.Request {
	return smw.Request{
		MaxUpdates: runs, Queries: comparisons, MaxSupport: records, Beta: 0.5, NHat: 400 * unit,
		UniverseSize: big.NewInt(records), Sensitivity: unit, MaxWeight: 1,
		RunEpsilon: func(int64) *big.Rat { return each.Rat() },
	}
}
