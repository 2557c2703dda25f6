package audit

import (
	"math/big"

	"dpsql/accounting"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Cases returns one case for each mechanism of dpsql. Their databases differ in a unit
// of the given number of rows, at least 1 and at most 1000.
func Cases(unit int64) ([]Case, error) {
	if unit < 1 || unit > 1000 {
		return nil, sqlerr.New(sqlerr.Invalid, "a unit must have between 1 and 1000 rows")
	}
	var cases []Case
	all := []func(int64) (Case, error){
		directCount, unitsInGroups, distribution, rowCount, interactiveRowCount, bulkNoise,
		identityRelease, sparseRelease, denseRelease, paperRelease, marginalsRelease,
		singleRun, onward, firstGap, remeasuredRun, severalRuns, broaderQueries, hypothesisPasses, learnedPrior, budgetsOfPeriods,
	}
	for _, add := range append(all, heavyReleases()...) {
		c, err := add(unit)
		if err != nil {
			return nil, err
		}
		c.Unit = unit
		cases = append(cases, c)
	}
	return cases, nil
}

// The budgets of the cases. δ is large, so that an audit can see events of that
// probability.
const (
	oneEpsilon = accounting.Epsilon(1e15) // ε = 1
	someDelta  = accounting.Delta(1e16)   // δ = 0.01
	someRho    = accounting.Rho(125e12)   // ρ = 1/8
)

// pure is the claim of a mechanism that is ε-differentially private.
func pure(e accounting.Epsilon) Claim { return Claim{Epsilon: e.Float()} }

// concentrated is the claim of a ρ-zCDP mechanism at δ.
func concentrated(r accounting.Rho, d accounting.Delta) Claim {
	return Claim{accounting.EpsilonOf(r, d), d.Float()}
}

// laplaceFor returns discrete Laplace noise of scale L/ε.
func laplaceFor(e accounting.Epsilon, unit int64) (law.Law, error) {
	scale := new(big.Rat).SetInt64(unit)
	return law.NewLaplace(scale.Quo(scale, e.Rat()))
}

// rows returns the number of rows of a cell that has inD of them in D and a unit more
// in D′.
func rows(inD, unit int64, changed bool) int64 {
	if changed {
		return inD + unit
	}
	return inD
}

// line returns the universe of one integer column with the values 0 … n−1.
func line(n int64) (*query.Universe, error) {
	d, err := query.NewRange(0, n-1, false)
	if err != nil {
		return nil, err
	}
	return query.NewUniverse([]query.Column{{Name: "x", Domain: d}})
}

// among returns the query that counts the given values of a line.
func among(u *query.Universe, values ...int64) query.Query {
	set := make([]query.Value, len(values))
	for i, v := range values {
		set[i] = query.Int(v)
	}
	return query.Where(u, 0, u.Columns()[0].Domain.SetOf(set...))
}
