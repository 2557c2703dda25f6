package audit

import (
	"math/big"

	"dpsql/accounting"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
)

// priorColumns is the number of columns of the records from which the audited prior is
// learned. Each has two values.
const priorColumns = 4

// learnedPrior is everything that is bought for the prior of an SMW mechanism: the
// noisy counts of all pairs of columns. D has 10 rows of the record of zeros, and D′ a
// unit more, which is in every table.
func learnedPrior(unit int64) (Case, error) {
	u, err := binary(priorColumns)
	if err != nil {
		return Case{}, err
	}
	sigma2 := direct.SigmaSquared(int64(someRho), unit)
	sigma2.Mul(sigma2, big.NewRat(int64(len(smw.PriorTables(u))), 1))
	return Case{
		Name: "SMW, prior", Claim: concentrated(someRho, someDelta), Shows: []string{"all pairs", "one pair"},
		Run: priorRun(u, unit, sigma2),
	}, nil
}

// priorRun measures the tables of a prior with noise of the given variance. It shows
// the sum of the counts that include the unit, and one of them.
func priorRun(u *query.Universe, unit int64, sigma2 *big.Rat) func(bool, *noise.Source) (Output, error) {
	return func(changed bool, src *noise.Source) (o Output, err error) {
		tables := smw.PriorTables(u)
		for _, t := range tables {
			t.Counts[0] = rows(10, unit, changed)
		}
		_, err = smw.Measure(tables, sigma2, src)
		for _, t := range tables {
			o[0] += t.Counts[0]
		}
		o[1] = tables[0].Counts[0]
		return o, err
	}
}

// binary returns the universe of the given number of columns with the values 0 and 1.
func binary(columns int) (*query.Universe, error) {
	d, err := query.NewRange(0, 1, false)
	if err != nil {
		return nil, err
	}
	list := make([]query.Column, columns)
	for i := range list {
		list[i] = query.Column{Name: string(rune('a' + i)), Domain: d}
	}
	return query.NewUniverse(list)
}

// remeasuredRun is one run that counts anew when it fires, on the sequence of a single
// run.
func remeasuredRun(unit int64) (Case, error) {
	const epsilon = 4 * oneEpsilon
	r := request(1, nearing+leaving, unit, epsilon)
	r.Remeasure = true
	return oneRun("SMW, one run, counted anew", r, unit, accounting.Epsilon(epsilon))
}
