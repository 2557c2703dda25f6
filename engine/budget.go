package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/sqlfront/syntax"
)

// columnsOfList returns the columns of the list that a SHOW asks for.
func columnsOfList(st *syntax.Show) []Column {
	if st.What == syntax.Budget && st.For.Text != "" {
		return released.Listed("periods", "TEXT", "number", "INTEGER", "state", "TEXT", "epsilon", "DECIMAL", "epsilon left", "DECIMAL",
			"delta", "DECIMAL", "delta left", "DECIMAL", "rho", "DECIMAL", "rho left", "DECIMAL", "in words", "TEXT")
	}
	return released.ListColumns(st.What)
}

// showPeriods shows the budget of each period of a table: a line for each range of periods of
// which as much was spent, and that are in one state. The last lines tell what a unit has that
// has rows in one period, and in all that have begun.
func (s *Session) showPeriods(ctx context.Context, v *view.View, name syntax.Name) (*Result, error) {
	t, err := v.Table(name.Text, name.Position)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: columnsOfList(&syntax.Show{What: syntax.Budget, For: name}), Brief: &Result{Columns: released.Listed("periods", "TEXT", "number", "INTEGER", "state", "TEXT", "spent", "TEXT", "left", "TEXT")}}
	a, ok := v.Accounts[t.Account]
	if !ok { // a file that was exported has no budgets
		return r, nil
	}
	add := func(periods string, number, state any, spent, left accounting.Amount, words string) {
		r.Rows = append(r.Rows, []any{periods, number, state, spent.Epsilon.String(), left.Epsilon.String(), spent.Delta.String(), left.Delta.String(),
			spent.Rho.String(), left.Rho.String(), textOrNull(words)})
		r.Brief.Rows = append(r.Brief.Rows, []any{periods, number, state, textOrNull(briefAmount(spent)), textOrNull(briefAmount(left))})
	}
	if a.Partition == nil || !t.HasPeriods() {
		left := a.Remaining()
		add("all", nil, nil, a.Spent, left, s.db.answersLeft(a, []*view.Table{t}, s.settings))
		return r, nil
	}
	for _, p := range statesOf(t, a, s.began) {
		left, own := a.Caps.Remaining(p.spent), a
		own.Spent = p.spent
		words := ""
		if p.state != "retired" && p.state != "not begun" {
			words = s.db.answersLeft(own, []*view.Table{t}, s.settings)
		}
		add(a.Partition.Text(p.over), period.Ranges{p.over}.Count(), p.state, p.spent, left, words)
	}
	return r, s.addUnits(ctx, v, t, r)
}

// addUnits adds what a unit with rows in one period has, and one with rows in all so far. For
// people it is a note, not lines of the table.
func (s *Session) addUnits(ctx context.Context, v *view.View, t *view.Table, r *Result) error {
	a := v.Accounts[t.Account]
	begun := begunOf(v, a, s.began)
	one, all := "a unit with rows in 1 period", "one with rows in all %d so far"
	if t.Unit == "" {
		one, all = "a row in 1 period", "one that was moved through all %d so far"
	}
	add := func(whose string, k int64, spent accounting.Amount, words string) {
		r.Rows = append(r.Rows, []any{whose, k, nil, spent.Epsilon.String(), nil, spent.Delta.String(), nil, spent.Rho.String(), nil, words})
		if r.Note != "" {
			r.Note += "; "
		}
		r.Note += whose + " has " + words
	}
	most, k := a.Spending.Most(begun), begun.Count()
	if k == 0 { // no row counts yet
		most = a.Spent
	}
	add(one, 1, most, fmt.Sprintf("%s so far, at most (%v, %s)", together(most, a.Caps.InteractiveDelta, 1), a.Epsilon, a.Delta))
	if k < 2 {
		return nil
	}
	return s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		cost, err := tx.UnitCost(&a.Account, begun)
		if err != nil {
			return err
		}
		once, err := tx.CostBefore(&a.Account)
		if err != nil {
			return err
		}
		apart, span := atMost(a.Caps, once, k)
		add(strings.Replace(all, "%d", fmt.Sprint(k), 1), k, cost,
			fmt.Sprintf("%s so far, at most %s by answers about one period each, and %s by answers that span them", together(cost, a.Caps.InteractiveDelta, k), apart, span))
		return nil
	})
}

// together writes the (ε, δ) of a cost to a unit with rows in k periods. The δ of the interactive
// account is k times that of one period.
func together(cost accounting.Amount, interactive accounting.Delta, k int64) string {
	epsilon, delta := cost.Together(accounting.Amount{Delta: interactive}.Times(k).Delta)
	return pair(epsilon, delta.Float())
}

// pair writes (ε, δ), rounded up.
func pair(epsilon, delta float64) string {
	return fmt.Sprintf("(%s, %s)", roundedUp(epsilon), roundedUp(delta))
}

// roundedUp writes a bound to three significant digits, and never less than it is.
func roundedUp(x float64) string {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return released.Rounded(x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	return released.Rounded(math.Ceil(x/unit*(1-1e-12)) * unit)
}

// atMost returns what a unit with rows in k periods can ever have: (kε, kδ), if all is answered
// period by period, and with interactive answers over all of them together. What was spent
// before there were periods, once, counts once. Releases that span periods are not in it: their δ
// soon is 1.
func atMost(caps accounting.Caps, once accounting.Amount, k int64) (apart, span string) {
	own := caps.Remaining(once)
	rest := accounting.Amount{Epsilon: own.Epsilon, Delta: own.Delta}.Times(k)
	rest = rest.Plus(accounting.Amount{Epsilon: once.Epsilon, Delta: once.Delta})
	one, interactive := rest, accounting.Amount{Delta: caps.InteractiveDelta}.Times(k).Delta
	one.Rho = accounting.Amount{Rho: own.Rho}.Times(k).Plus(accounting.Amount{Rho: once.Rho}).Rho
	epsilon, delta := one.Together(interactive)
	epsilon = min(epsilon, rest.Epsilon.Float()+float64(k)*caps.InteractiveEpsilon.Float())
	apart = pair(epsilon, delta.Float())
	rest.Rho = accounting.Amount{Rho: own.Rho}.Group(k).Plus(accounting.Amount{Rho: once.Rho}).Rho
	epsilon, delta = rest.Together(interactive)
	return apart, pair(epsilon, delta.Float())
}

// periodsState is a range of periods of a table that are alike.
type periodsState struct {
	over  period.Range
	spent accounting.Amount
	state string
}

// statesOf divides the periods of a table's domain by what was spent and by their state.
func statesOf(t *view.Table, a view.Account, now time.Time) (all []periodsState) {
	domain := t.Periods()
	add := func(in period.Ranges, state string) {
		for s := range a.Spending.In(in) {
			all = append(all, periodsState{s.Over, s.Spent, state})
		}
	}
	live := domain.Minus(a.Retired)
	add(domain.Intersect(a.Retired), "retired")
	if !t.Partition.Clocked() {
		add(live, "open")
	} else {
		last := t.Partition.Begun(now)
		ended, running := period.Range{First: math.MinInt64, Last: last}, period.Ranges{period.Only(last)}
		add(live.Intersect(period.Ranges{ended}).Minus(running), "ended")
		add(live.Intersect(running), "running")
		if last < math.MaxInt64 {
			add(live.Intersect(period.Ranges{{First: last + 1, Last: math.MaxInt64}}), "not begun")
		}
	}
	slices.SortFunc(all, func(x, y periodsState) int {
		if x.over.First < y.over.First {
			return -1
		}
		return 1
	})
	return all
}

// begunOf returns the periods in which a unit of an account can have rows that were counted so
// far: those of its tables' domains that have begun, and those that were charged in their own.
func begunOf(v *view.View, a view.Account, now time.Time) (all period.Ranges) {
	all = v.PeriodsOf(a)
	if a.Partition.Clocked() {
		all = all.Intersect(period.Ranges{{First: math.MinInt64, Last: a.Partition.Begun(now)}})
	}
	return all
}

// guarantee says, for people, to whose budget the rows of a table belong. It is "" without
// periods.
func guarantee(a catalog.Account, t *view.Table) string {
	if !t.HasPeriods() {
		return ""
	}
	each, k := t.EachPeriod(), "k values"
	if t.Partition.Clocked() {
		k = fmt.Sprintf("k %ss", t.Partition.By)
		if t.Partition.Zone != "" {
			each += ", which ends in " + t.Partition.Zone + ","
		}
	}
	return fmt.Sprintf("%s has a budget of (ε, δ) = (%s, %s); a unit with rows in %s has (kε, kδ) for what is answered one by one, k²ρ for answers and (kε, k·e^((k−1)ε)·δ) for releases that span them: SHOW BUDGET FOR %s",
		each, a.Epsilon, a.Delta, k, syntax.WriteName(t.Name))
}
