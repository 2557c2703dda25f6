package declare

import (
	"context"
	"fmt"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/projection"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// discovery is a list of keys before it is paid for.
type discovery struct {
	projection.Discovery
	table  *view.Table
	column int
	cost   accounting.Amount
	vain   string // no key is likely to be found, as far as N̂ tells; "" if one may be, or the statement insists
}

// discoverKeys is the action of the ledger line.
const discoverKeys = "discover keys"

// planDiscovery plans a list of keys from public data alone.
func (s *Statement) planDiscovery(st *syntax.CreatePublic, v *view.View) (d discovery, err error) {
	k := *st.Keys
	if v, k.Options, err = spanned(v, k.Table, k.Options, s.Now()); err != nil {
		return d, err
	}
	t, _, err := v.Target(k.Table, []syntax.Name{k.Column})
	if err != nil {
		return d, err
	}
	d.table = t
	d.column, _ = t.Universe.Index(k.Column.Text) // Target found it
	s.Bill.Statement = built(st.Name, t, []int{d.column}, discoverKeys, st.Keys.Options)
	o := kind.NewOptions(k.Options, "epsilon", "delta", "insist")
	insists := o.Word("insist", "off", "on") == "on"
	d.cost.Epsilon = o.Epsilon()
	delta, given := o.Delta()
	if err := o.Done(); err != nil {
		return d, err
	}
	if !given {
		delta = v.Accounts[t.Account].DeltaShare(d.cost.Epsilon)
	}
	c := t.Columns[d.column]
	switch d.cost.Delta = delta; {
	case c.Domain.Finite():
		return d, sqlerr.New(sqlerr.Invalid, "the values of %s are declared already", c.Name).
			WithHint("DESCRIBE %s lists them", t.Name).At(k.Column.Position)
	case delta == 0:
		return d, sqlerr.New(sqlerr.Invalid, "keys cannot be found without a delta").
			WithHint("give the table a delta, and write WITH (epsilon = 0.1, delta = 1e-8)").At(k.Column.Position)
	}
	if d.Discovery, err = kind.DiscoveryFor(d.cost, t.Sensitivity()); err != nil {
		return d, err
	}
	if t.NHat != nil && !insists {
		most, err := pay.RowCountBound(*t.NHat, 1e-6)
		if err != nil {
			return d, err
		}
		if least := d.least(likely[0]); least > t.NHat.Value+most {
			d.vain = fmt.Sprintf("no key is likely to be found: one of %s is found with probability %v, and there are about %d rows in all",
				d.units(least), likely[0], t.NHat.Value)
		}
	}
	return d, nil
}

// agreed asks before keys are paid for of which none is likely to be found.
func (s *Statement) agreed(d discovery) error {
	switch {
	case d.vain == "":
	case s.Confirm == nil:
		return sqlerr.New(sqlerr.Invalid, "%s", d.vain).WithHint("give it a larger epsilon or delta; WITH (…, insist = on) pays for it all the same")
	default:
		return s.ask(d.vain)
	}
	return nil
}

// Discover makes a public table of the keys of a private column that enough units have. It
// charges the releases account, reads the rows, draws, and stores the list in one transaction
// with its declaration. If that fails the charge is gone: nothing of the draws is kept, and the
// same statement pays and draws anew.
func (s *Statement) Discover(ctx context.Context, st *syntax.CreatePublic) (warnings []string, err error) {
	v, land, err := s.take(ctx, st.Name)
	if err != nil {
		return nil, err
	}
	defer land()
	if done, err := s.CanPublish(ctx, st); done || err != nil {
		return nil, err
	}
	d, err := s.planDiscovery(st, v)
	if err != nil {
		return nil, err
	}
	if err := s.agreed(d); err != nil {
		return nil, err
	}
	found, err := s.site().Discover(ctx, d.table, d.column, discoverKeys, st.Name.Text, d.cost, d.Discovery)
	if err != nil {
		return nil, err
	}
	list := make([][]any, len(found))
	for i, key := range found {
		list[i] = []any{key}
	}
	paid := *st
	paid.IfNotExists = false // a table that another process made meanwhile is not this list
	err = s.publish(context.WithoutCancel(ctx), &paid, []Published{{st.Keys.As.Text, "TEXT"}}, list, func(tx *catalog.Tx) error { return tx.AddKeyList(KeyListOf(st)) })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		warnings = append(warnings, fmt.Sprintf("no key was found: %s", d.sure()))
	}
	return append(warnings, warnDelta(d.table, v.Accounts[d.table.Account])...), nil
}

// KeyListOf returns the record of a list of keys.
func KeyListOf(st *syntax.CreatePublic) catalog.KeyList {
	return catalog.KeyList{Public: st.Name.Text, Table: st.Keys.Table.Text, Column: st.Keys.Column.Text}
}

// outline returns the cost and the column.
func (d discovery) outline() kind.Outline {
	return kind.Outline{Table: d.table, Columns: []int{d.column}, Cost: d.cost, Open: d.vain}
}

// PlanKeys plans a list of keys from public data alone. It returns the action of the charge, too.
func (s *Statement) PlanKeys(st *syntax.CreatePublic, v *view.View) (o kind.Outline, action string, err error) {
	d, err := s.planDiscovery(st, v)
	if err == nil {
		err = s.agreed(d)
	}
	return d.outline(), discoverKeys, err
}

// likely are the chances that an outlook shows.
var likely = []float64{0.05, 0.5, 0.95, 0.999999}

// foresee says which keys are found.
func (d discovery) foresee() (out []Foreseen) {
	for _, chance := range likely {
		out = append(out, Foreseen{What: "key of " + d.units(d.least(chance)), Note: fmt.Sprintf("is found with probability %v or more", chance)})
	}
	return append(out, Foreseen{What: "key of " + d.units(1), Note: fmt.Sprintf("is found with probability %s", released.Short(d.Chance(1)))})
}

// sure says which keys are found almost surely.
func (d discovery) sure() string {
	chance := likely[len(likely)-1]
	return fmt.Sprintf("one of %s is found with probability %v", d.units(d.least(chance)), chance)
}

// least returns the number of units from which on a key is found with the given probability.
func (d discovery) least(chance float64) int64 {
	low, high := int64(0), d.Threshold
	for d.Chance(high) < chance {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; d.Chance(mid) < chance {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// units writes a number of units for people.
func (d discovery) units(n int64) string {
	what := "row"
	if d.table.Unit != "" {
		what = "unit"
	}
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
