package audit

import (
	"dpsql/accounting"
	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/sqlerr"
)

// directCount is one count within ±4L at 95 %, with the discrete Gaussian noise
// and the ρ that package direct plans for it. D has 20 such rows.
func directCount(unit int64) (Case, error) {
	p, ok := direct.PlanFor(direct.Request{Accuracy: float64(4 * unit), Confidence: 0.95, Sensitivity: unit, Answers: 1})
	if !ok {
		return Case{}, sqlerr.New(sqlerr.Internal, "audit: no direct answer is within ±%d", 4*unit)
	}
	return Case{
		Name: "direct count", Claim: concentrated(accounting.Rho(p.Rho), someDelta), Shows: []string{"answer"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			n, err := p.Answer(rows(20, unit, changed), src)
			return Output{n}, err
		},
	}, nil
}

// maxUnitGroups bounds the groups of unitsInGroups.
const maxUnitGroups = 64

// unitsInGroups is COUNT(DISTINCT unit) in as many groups as a unit has rows, up to 64. The
// unit has a row in each, so that it changes all of the numbers by 1. The sum of the numbers
// tells D from D′ as well as all of them.
func unitsInGroups(unit int64) (Case, error) {
	groups := min(unit, maxUnitGroups)
	p, ok := direct.PlanFor(direct.Request{Accuracy: 4, Confidence: 0.95, Sensitivity: 1, Answers: groups})
	if !ok {
		return Case{}, sqlerr.New(sqlerr.Internal, "audit: no direct answer is within ±4")
	}
	return unitsAs("units in groups", p, groups), nil
}

// unitsAs returns the case of numbers of units in groups that are answered by a plan. D has
// 20 units in each.
func unitsAs(name string, p direct.Plan, groups int64) Case {
	return Case{
		Name: name, Claim: concentrated(accounting.Rho(p.Rho), someDelta), Shows: []string{"sum", "first group"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			var o Output
			for i := range groups {
				n, err := p.Answer(rows(20, 1, changed), src)
				if err != nil {
					return o, err
				}
				if o[0] += n; i == 0 {
					o[1] = n
				}
			}
			return o, nil
		},
	}
}

// distribution is that of a column of 30 values, bought for quantiles within ±40L. A unit's
// rows all have the first value, whose column of the factors is the longest.
func distribution(unit int64) (Case, error) {
	c := direct.Cumulative{Places: 30}
	p, ok := direct.PlanForCumulative([]direct.Cumulative{c}, []float64{0.05}, float64(40*unit), unit)
	if !ok {
		return Case{}, sqlerr.New(sqlerr.Internal, "audit: no distribution is within ±%d", 40*unit)
	}
	return distributionAs("distribution of a column", p, c, unit), nil
}

// distributionAs returns the case of a distribution that is measured by a plan. D has 20 rows
// at the first place, and D′ a unit more. The noisy numbers, weighted by what a row adds to each,
// tell D from D′ as well as all of them.
func distributionAs(name string, p direct.Plan, c direct.Cumulative, unit int64) Case {
	counts := make([]int64, c.Places)
	counts[0] = 1
	row := c.Measured(counts)
	return Case{
		Name: name, Claim: concentrated(accounting.Rho(p.Rho), someDelta), Shows: []string{"numbers along a row", "first number"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			counts := make([]int64, c.Places)
			counts[0] = rows(20, unit, changed)
			var o Output
			for i, n := range c.Measured(counts) {
				noisy, err := p.Answer(n, src)
				if err != nil {
					return o, err
				}
				if o[0] += noisy * row[i]; i == 0 {
					o[1] = noisy
				}
			}
			return o, nil
		},
	}
}

// noisy shows a count that is n in D, with noise.
func noisy(law law.Law, n, unit int64) func(bool, *noise.Source) (Output, error) {
	return func(changed bool, src *noise.Source) (Output, error) {
		draw, err := noise.Draw(law, src)
		return Output{rows(n, unit, changed) + draw}, err
	}
}

// rowCount is N̂, the number of rows, at least 1, with discrete Laplace noise as
// releases buy it. D is empty.
func rowCount(unit int64) (Case, error) {
	law, err := laplaceFor(oneEpsilon, unit)
	return Case{
		Name: "number of rows", Claim: pure(oneEpsilon), Shows: []string{"rows"},
		Run: atLeastOne(noisy(law, 0, unit)),
	}, err
}

// interactiveRowCount is N̂ with discrete Gaussian noise, as mechanisms buy it.
func interactiveRowCount(unit int64) (Case, error) {
	law, err := law.NewGaussian(direct.SigmaSquared(int64(someRho), unit))
	return Case{
		Name: "number of rows, by ρ", Claim: concentrated(someRho, someDelta), Shows: []string{"rows"},
		Run: atLeastOne(noisy(law, 0, unit)),
	}, err
}

func atLeastOne(run func(bool, *noise.Source) (Output, error)) func(bool, *noise.Source) (Output, error) {
	return func(changed bool, src *noise.Source) (Output, error) {
		o, err := run(changed, src)
		return Output{max(1, o[0])}, err
	}
}

// bulkNoise is the table sampler that builds releases: two cells with noise from a
// table for the discrete Laplace law. The first cell differs between D and D′.
func bulkNoise(unit int64) (Case, error) {
	law, err := laplaceFor(oneEpsilon, unit)
	if err != nil {
		return Case{}, err
	}
	table, err := noise.NewTable(law)
	if err != nil {
		return Case{}, err
	}
	return Case{
		Name: "cells with bulk noise", Claim: pure(oneEpsilon), Shows: []string{"cell 0", "cell 1"},
		Run: func(changed bool, src *noise.Source) (Output, error) {
			var draws [2]int64
			err := table.Fill(draws[:], src)
			return Output{rows(3, unit, changed) + draws[0], 1 + draws[1]}, err
		},
	}, nil
}
