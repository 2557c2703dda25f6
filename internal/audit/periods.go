package audit

import (
	"context"

	"dpsql/accounting"
	"dpsql/internal/period"
	"dpsql/mechanisms/projection"
	"dpsql/noise"
	"dpsql/noise/coin"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/source"
)

// The budgets of the periods audited. That of period 1 is large: what is charged to it must not
// matter to a unit's rows in period 0.
const (
	ownEpsilon   = oneEpsilon / 2
	otherEpsilon = 4 * oneEpsilon
	spanRho      = someRho / 4
)

// periodsOf is a history of answers about a table whose budget belongs to two periods: a release
// of each, a count over both, and a count of period 1 whose noise depends on what the release
// of period 0 said. D′ has L more rows of a unit in period 0, and the unit has L rows in period
// 1 in both. The claim is what was charged to period 0: the first release and the count over both.
type periodsOf struct {
	limit    int64   // L
	key      []byte  // of the table, which chooses the rows that are kept
	span     law.Law // of the count over both
	together bool    // broken: L rows are kept of a unit, and not of each of its periods
	unbound  bool    // broken: the releases have the rows of all periods
}

// budgetsOfPeriods is the case of the history as dpsql runs it.
func budgetsOfPeriods(unit int64) (Case, error) {
	sigma2, err := accounting.DiscreteSigmaSquared(oneEpsilon, someDelta, accounting.Vector{Dimensions: 1, SquaredSensitivity: unit * unit})
	if err != nil {
		return Case{}, err
	}
	law, err := law.NewGaussian(sigma2)
	if err != nil {
		return Case{}, err
	}
	p := periodsOf{limit: unit, key: []byte("key"), span: law}
	return p.audited("budgets of periods", Claim{(ownEpsilon + oneEpsilon).Float(), someDelta.Float()})
}

// audited returns the case of a history.
func (p periodsOf) audited(name string, claim Claim) (Case, error) {
	c := Case{Name: name, Unit: p.limit, Claim: claim, Shows: []string{"period 0", "period 1", "both", "period 1 again"}}
	own, err := laplaceFor(ownEpsilon, p.limit)
	if err != nil {
		return c, err
	}
	other, err := laplaceFor(otherEpsilon, p.limit)
	if err != nil {
		return c, err
	}
	var tables [2]kept
	for i := range tables {
		if tables[i], err = p.keep(i == 1); err != nil {
			return c, err
		}
	}
	c.Run = func(changed bool, src *noise.Source) (o Output, err error) {
		t := tables[rows(0, 1, changed)]
		for n, law := range []law.Law{own, other} {
			if o[n], err = t.parts[n].release(law, src); err != nil {
				return o, err
			}
		}
		draw, err := noise.Draw(p.span, src)
		if err != nil {
			return o, err
		}
		o[2] = t.count(0) + t.count(1) + draw
		again := own
		if o[0] > 3 { // the next question follows from an answer about period 0
			again = other
		}
		draw, err = noise.Draw(again, src)
		o[3] = t.count(1) + draw
		return o, err
	}
	return c, nil
}

// kept is what counts of a table.
type kept struct{ parts [2]part }

// count returns the number of rows of a period.
func (k kept) count(n int) int64 { return k.parts[n].counts[0] }

// part is the cells of one period.
type part struct {
	universe *query.Universe
	counts   [1]int64
}

// keep returns what counts of D, or of D′ if changed, by the code that reads rows: source.Keeper
// chooses them, and a part has the values of the period's column that period.Partition gives it.
func (p periodsOf) keep(changed bool) (k kept, err error) {
	d, err := query.NewRange(0, 1, false)
	if err != nil {
		return k, err
	}
	u, err := query.NewUniverse([]query.Column{{Name: "p", Domain: d}})
	if err != nil {
		return k, err
	}
	by := period.Partition{Column: "p", By: period.Value}
	for n := range k.parts {
		domain, _ := by.Restrict(d, period.Only(int64(n)))
		k.parts[n].universe = u.With(0, domain)
	}
	t := source.Table{Columns: u.Columns(), Unit: "u", MaxRows: p.limit, Key: p.key, Period: &source.Period{Column: 0, Partition: by}}
	if p.together {
		t.Period = nil
	}
	keeper := source.NewKeeper(t, func(tuple []query.Value) {
		for n := range k.parts {
			if p.unbound || k.parts[n].universe.Columns()[0].Domain.Contains(tuple[0]) {
				k.parts[n].counts[0]++
			}
		}
	})
	for _, rows := range []struct{ unit, period, n int64 }{{1, 0, rows(0, p.limit, changed)}, {1, 1, p.limit}, {2, 0, 1}, {3, 0, 1}, {3, 1, 1}} {
		for range rows.n {
			keeper.Add(query.Int(rows.unit), []query.Value{query.Int(rows.period)})
		}
	}
	return k, keeper.Flush()
}

// release builds the release of a part and returns its count.
func (p part) release(law law.Law, src *noise.Source) (int64, error) {
	b, err := projection.NewBuilder(p.universe, projection.Params{Transform: projection.Identity, Rows: 1, Law: law}, coin.NewSource())
	if err != nil {
		return 0, err
	}
	r, err := b.Build(func(yield func(query.Element, int64) bool) {
		if p.counts[0] > 0 {
			yield(query.Element{}, p.counts[0])
		}
	}, src)
	if err != nil {
		return 0, err
	}
	a, err := r.Answer(context.Background(), query.All(p.universe), 0.5)
	return a.Value, err
}
