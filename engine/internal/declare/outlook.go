package declare

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Outlook is what EXPLAIN says of a CREATE RELEASE or CREATE MECHANISM, or of a list of keys. It follows from the
// public catalog alone.
type Outlook struct {
	kind.Outline
	Name, Using string
	Left        accounting.Amount // in the accounts, before the statement, with the charge that waits for it
	Refused     error             // why the statement would be refused, or nil
	Foreseen    []Foreseen
	forecast    kind.Forecast // nil for a list of keys
}

// Foreseen is a kind of question, and the margins it would get.
type Foreseen struct {
	What    string
	Support released.SupportRange
	Margins []float64 // in what the question counts; none if none is known
	Note    string
}

// Outlook plans a CREATE RELEASE or CREATE MECHANISM and predicts the margins of counts and
// sums, and those of the queries of a workload's statements if there is a file. Of a list of
// keys it predicts which are found. It reads no private row and changes nothing. Names and
// options that are wrong are errors; a budget that is too small is in the Outlook.
func (s *Statement) Outlook(ctx context.Context, st *syntax.ExplainCreate, v *view.View, confidence float64) (o Outlook, err error) {
	account, action := catalog.KindReleases, "create release"
	exists := false
	var mechanism *kind.MechanismPlan
	switch create := st.Create.(type) {
	case *syntax.CreateRelease:
		create = Chosen(create, v)
		o.Name, o.Using = create.Name.Text, string(create.Using)
		exists, o.Refused = v.NameFree(create.Name, create.IfNotExists, v.Release(create.Name.Text) != nil)
		if plan, failed := s.PlanRelease(ctx, create, v); failed == nil {
			o.forecast = plan
		} else {
			err = failed
		}
	case *syntax.CreateMechanism:
		o.Name, o.Using = create.Name.Text, string(create.Using)
		account, action = catalog.KindInteractive, "reserve mechanism"
		exists, o.Refused = v.NameFree(create.Name, create.IfNotExists, v.Mechanism(create.Name.Text) != nil)
		if mechanism, err = s.PlanMechanism(create, v); mechanism != nil {
			o.forecast = mechanism
		}
	case *syntax.CreatePublic:
		o.Name, o.Using, action = create.Name.Text, "keys", discoverKeys
		exists, o.Refused = s.CanPublish(ctx, create)
		var d discovery
		if d, err = s.planDiscovery(create, v); err == nil {
			o.Outline, o.Foreseen = d.outline(), d.foresee()
		}
	}
	if o.forecast != nil {
		o.Outline = *o.forecast.Outlined()
	}
	if err != nil && (sqlerr.CodeOf(err) != sqlerr.Budget || o.Table == nil) {
		return o, err
	}
	planned := err == nil
	if !planned {
		o.Refused, err = err, nil
	}
	w, err := s.Desk.Waiting(ctx, s.Bill, o.Table)
	if err != nil {
		return o, err
	}
	o.Left, _ = v.Accounts[o.Table.Account].RemainingIn(o.Table.Span()).Add(w.Amount)
	if exists {
		o.Outline, o.Foreseen = kind.Outline{Table: o.Table, Columns: o.Columns, Open: "exists: nothing to do"}, nil
		return o, nil
	}
	if o.Refused == nil {
		o.Refused = s.Store.Read(ctx, func(tx *catalog.Tx) error {
			return tx.Affords(o.Table.Account, o.Table.Span(), account, action, accounting.Amount{Epsilon: max(0, o.Cost.Epsilon-w.Amount.Epsilon),
				Delta: max(0, o.Cost.Delta-w.Amount.Delta), Rho: max(0, o.Cost.Rho-w.Amount.Rho)})
		})
		if o.Refused != nil && sqlerr.CodeOf(o.Refused) != sqlerr.Budget {
			return o, o.Refused
		}
	}
	switch {
	case mechanism != nil && planned:
		err = o.foreseeMechanism(mechanism, confidence)
	case o.forecast != nil:
		err = o.foresee(confidence)
	}
	if err == nil && st.Workload != "" {
		err = s.foreseeWorkload(ctx, st, &o, confidence)
		err = sqlerr.Locate(err, st.WorkloadFrom)
	}
	return o, err
}

// After says what would be left in the account that the statement charges.
func (o *Outlook) After() string {
	if o.Cost.Rho > 0 {
		return fmt.Sprintf("ρ %s of %s", released.Rounded((o.Left.Rho - o.Cost.Rho).Float()), released.Rounded(o.Left.Rho.Float()))
	}
	text := fmt.Sprintf("ε %v of %v", o.Left.Epsilon-o.Cost.Epsilon, o.Left.Epsilon)
	if o.Cost.Delta > 0 {
		text += fmt.Sprintf(", δ %v of %v", o.Left.Delta-o.Cost.Delta, o.Left.Delta)
	}
	return text
}

// assumedRows are numbers of rows that the outlook of a mechanism shows where N̂ is not known.
var assumedRows = []int64{10_000, 1_000_000}

// foreseeMechanism adds the margins that all answers of a mechanism have.
func (o *Outlook) foreseeMechanism(p *kind.MechanismPlan, confidence float64) error {
	add := func(n catalog.NHat, rho accounting.Rho, given string) {
		plan, err := p.Complete(n, rho)
		if err != nil {
			if o.Table.NHat != nil {
				o.Refused = err
			}
			o.Foreseen = append(o.Foreseen, Foreseen{What: "any query" + given, Note: "refused: " + err.Error()})
			return
		}
		runs := fmt.Sprintf("%d runs of ρ %s", plan.Updates, released.Short((plan.Runs / accounting.Rho(plan.Updates)).Float()))
		o.Foreseen = append(o.Foreseen,
			Foreseen{What: "unfired" + given, Margins: []float64{float64(plan.UnfiredMargin(confidence))}, Note: "the answer of the hypothesis; " + runs},
			Foreseen{What: "fired" + given, Margins: []float64{float64(plan.FiredMargin(confidence))}, Note: "takes a run"})
	}
	if o.Table.NHat != nil {
		add(*o.Table.NHat, p.Cost.Rho, "")
		return nil
	}
	_, left, law, err := pay.RowCountPrice(p.Cost, o.Table.Sensitivity())
	if err != nil {
		o.Refused = err
		return nil
	}
	o.Open = "a hundredth of ρ buys the number of rows first, which the margins depend on"
	for _, n := range assumedRows {
		add(catalog.NHat{Value: n, Law: law.String()}, left.Rho, fmt.Sprintf(", %d rows", n))
	}
	return nil
}

// foresee adds the margins of counts of 1, 10, … cells and of all, and of sums.
func (o *Outlook) foresee(confidence float64) error {
	u, columns, of := o.forecast.Examples()
	if u == nil {
		return nil
	}
	if err := o.foreseeCounts(u, columns, of, confidence, 1, 10, 100, 1000); err != nil {
		return err
	}
	for _, i := range query.Declared(u.Columns()) {
		if err := o.foreseeSum(u, i, u.Columns()[i], confidence); err != nil {
			return err
		}
	}
	return nil
}

// foreseeCounts adds the margins of counts of some numbers of cells, and of all.
func (o *Outlook) foreseeCounts(u *query.Universe, columns []int, of string, confidence float64, cells ...uint64) error {
	for _, m := range cells {
		q, ok, err := firstCells(u, columns, m)
		if err != nil {
			return err
		}
		if !ok || len(columns) == 0 || m > o.MaxSupport {
			break
		}
		what := fmt.Sprintf("count of %d cells", m)
		if m == 1 {
			what = "count of 1 cell"
		}
		if err := o.add(what+of, q, confidence); err != nil {
			return err
		}
	}
	return o.add("count of all", query.All(u), confidence)
}

// mostSummed is the largest domain whose sums are predicted.
const mostSummed = 1 << 16

// foreseeSum adds the margins of the sum and average of a column of numbers over all records.
// An average is a quotient of two answers, each with half the error probability. Its margin is
// about (δ_sum + average·δ_count)/n, to first order; the average is taken as the middle of the
// domain, and n as N̂.
func (o *Outlook) foreseeSum(u *query.Universe, i int, c query.Column, confidence float64) error {
	if !c.Domain.IsRange() || c.TypeName() != "INTEGER" || c.Domain.Size() > mostSummed || u.Size() == nil {
		return nil
	}
	lo, hi := c.Domain.Bounds()
	if lo < 0 || hi < 2 {
		return nil
	}
	weights := make([]int64, c.Domain.Size())
	for k := range weights {
		if v := c.Domain.Value(uint64(k)); !v.IsNull() {
			weights[k] = v.Int64()
		}
	}
	q, err := query.Weighted(u, i, weights)
	if err == nil {
		err = o.add("sum of "+c.Name, q, confidence)
	}
	if err != nil || o.Table.NHat == nil || !o.Averages {
		return err
	}
	var sum, count Foreseen
	if err := o.margin(&sum, q, (1+confidence)/2); err != nil {
		return err
	}
	if err := o.margin(&count, query.All(u), (1+confidence)/2); err != nil {
		return err
	}
	if len(sum.Margins) == 0 || len(count.Margins) == 0 {
		return nil
	}
	n, middle := float64(max(1, o.Table.NHat.Value)), float64(lo)+float64(hi-lo)/2
	about := (sum.Margins[0] + middle*count.Margins[0]) / n
	o.Foreseen = append(o.Foreseen, Foreseen{What: "average of " + c.Name, Support: sum.Support, Margins: []float64{math.Ceil(about*100) / 100},
		Note: fmt.Sprintf("about, of %.0f rows, around %g", n, middle)})
	return nil
}

// add adds a question of one query over the plan's universe.
func (o *Outlook) add(what string, q query.Query, confidence float64) error {
	f := Foreseen{What: what}
	err := o.margin(&f, q, confidence)
	if err == nil {
		o.Foreseen = append(o.Foreseen, f)
	}
	return err
}

// margin adds a query's support and margin to a question.
func (o *Outlook) margin(f *Foreseen, q query.Query, confidence float64) error {
	f.Support.Add(released.SupportOf(q))
	p, err := o.forecast.Predict(q, confidence)
	if err != nil {
		return err
	}
	if p.Known || p.About {
		f.Margins = append(f.Margins, math.Floor(p.Margin))
	}
	if p.Note != "" {
		f.Note = p.Note
	}
	return nil
}

// cover returns a query over the table as one over what would be released.
func (o *Outlook) cover(q query.Query) released.Coverage {
	if t := o.Table; t.HasPeriods() {
		if missing := t.Touched(q).Minus(t.Span()); len(missing) > 0 {
			return released.Coverage{Query: q, Refusal: "no rows of " + named(t.Partition, missing)}
		}
		q, _ = q.Within(t.Universe) // its parts of other periods are empty
	}
	see := released.Project(q, o.Columns)
	if see.Refusal != "" {
		return see
	}
	return o.forecast.Over(see)
}

// foreseeWorkload adds the statements of a file. The margins of a statement are those of its
// counts and sums.
func (s *Statement) foreseeWorkload(ctx context.Context, st *syntax.ExplainCreate, o *Outlook, confidence float64) error {
	number := 0
	return s.EachStatement("workload", st.Workload, func(in syntax.Input) error {
		number++
		f := Foreseen{What: fmt.Sprintf("statement %d", number)}
		queries, err := s.workloadQueries(ctx, in, o.Table, o.cover)
		if e := sqlerr.CodeOf(err); err != nil && e != sqlerr.Invalid && e != sqlerr.Unsupported {
			return InFile(err, st.Workload, in)
		}
		if err != nil {
			f.Note = "refused: " + err.Error()
		}
		for _, q := range queries {
			if err := o.margin(&f, q, confidence); err != nil {
				return err
			}
		}
		o.Foreseen = append(o.Foreseen, f)
		return nil
	})
}

// firstCells returns the query that counts the first m records over some columns, with any
// values of the others. Of columns without domain it takes made-up texts. It is false where
// there are fewer.
func firstCells(u *query.Universe, columns []int, m uint64) (query.Query, bool, error) {
	if len(columns) == 0 {
		return query.All(u), m <= 1, nil
	}
	c, later := columns[0], columns[1:]
	domain, rest, infinite := u.Columns()[c].Domain, uint64(1), false
	for _, l := range later {
		d := u.Columns()[l].Domain
		infinite = infinite || !d.Finite()
		if hi, lo := bits.Mul64(rest, max(1, d.Size())); hi > 0 {
			rest = math.MaxUint64
		} else {
			rest = lo
		}
	}
	if !domain.Finite() {
		one, _, err := firstCells(u, later, 1)
		if err != nil {
			return one, false, err
		}
		q, err := textCells(u, c, one, m)
		return q, true, err
	}
	if infinite {
		rest = math.MaxUint64 // the column without domain has all the records
	}
	whole, part := m/rest, m%rest
	if whole > domain.Size() || whole == domain.Size() && part > 0 {
		return query.Query{}, false, nil
	}
	var branches []query.Branch
	if whole > 0 {
		branches = append(branches, query.Branch{Range: query.Range{First: 0, Last: whole - 1}, To: query.All(u)})
	}
	if part > 0 {
		q, ok, err := firstCells(u, later, part)
		if err != nil || !ok {
			return q, false, err
		}
		branches = append(branches, query.Branch{Range: query.Range{First: whole, Last: whole}, To: q})
	}
	q, err := query.Switch(u, c, branches)
	return q, true, err
}

// textCells returns the query of m texts of a column without domain.
func textCells(u *query.Universe, column int, to query.Query, m uint64) (query.Query, error) {
	cases := make([]query.Case, m)
	for i := range cases {
		cases[i] = query.Case{Value: query.Text(fmt.Sprint(i)), To: to}
	}
	return query.SwitchText(u, column, cases, query.None(u))
}
