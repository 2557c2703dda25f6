package declare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// Advice is what ADVISE says about one private table of a workload.
type Advice struct {
	Table      *view.Table
	Statements []Asked           // those of the workload that are on the table
	Sharing    []string          // the tables of the workload that share the account, if there are several
	Budget     accounting.Amount // the table's part of the ε and δ that are to be spent
	Proposals  []Proposal        // the best first; one that gives every statement a margin is better than any that does not
}

// Asked is a statement of a workload.
type Asked struct {
	Number int    // in the workload, from 1
	Text   string // on one line
	Why    string // why it has no margin under any release, "" if it may have one

	bound   *sqlfront.Bound // nil if it cannot be bound
	queries []query.Query   // over the columns of the table; none if a release cannot answer them, or not with a margin that is known before
}

// Proposal is a way to spend a budget on releases, and the margins that the statements of the workload
// would have.
type Proposal struct {
	Name    string
	Creates []string    // statements; none for direct answers
	Margins [][]float64 // for each statement those of its counts and sums; none if it has none or one of them is not known
	Note    string
	Refused error   // why it cannot be paid now, or nil
	Score   float64 // the geometric mean of the statements' root mean square margins, each at least 1
}

// Answers returns the number of statements with margins.
func (p *Proposal) Answers() (n int) {
	for _, m := range p.Margins {
		if len(m) > 0 {
			n++
		}
	}
	return n
}

const (
	maxAdvised   = 200 // statements of a workload
	maxSplit     = 8   // releases that share a budget
	longestNamed = 200 // bytes of a table's name that are part of a release's
)

// Advise proposes releases for a workload. It reads no private row and changes nothing: the
// margins follow from the noise that a proposal would add.
//
// The proposals are one release of all columns that the statements name, one for each set of columns that a statement
// names and no other contains, with a share of ε each, the marginals of the workload, and all
// marginals of 2 and of 3 columns. Direct answers are shown beside. Tables of the workload that share an
// account share ε and δ evenly, so that their proposals can be paid together. Errors: those of the
// workload's file; Invalid if no statement is on a private table.
func (s *Statement) Advise(ctx context.Context, st *syntax.Advise, v *view.View, confidence float64) ([]*Advice, error) {
	o := kind.NewOptions(st.Options, "epsilon", "delta")
	epsilon := o.Epsilon()
	delta, _ := o.Delta()
	if err := o.Done(); err != nil {
		return nil, err
	}
	var all []*Advice
	number := 0
	err := s.EachStatement("workload", st.Workload, func(in syntax.Input) error {
		if number++; number > maxAdvised {
			return sqlerr.New(sqlerr.Unsupported, "a workload of more than %d statements is outside the dialect", maxAdvised).
				WithHint("leave those out that are alike")
		}
		now, t, asked, err := s.asks(ctx, in, v)
		if err != nil {
			return InFile(err, st.Workload, in)
		}
		v = now
		asked.Number = number
		i := slices.IndexFunc(all, func(a *Advice) bool { return a.Table.ID == t.ID })
		if i < 0 {
			i, all = len(all), append(all, &Advice{Table: t})
		}
		all[i].Statements = append(all[i].Statements, asked)
		return nil
	})
	if err != nil {
		return nil, sqlerr.Locate(err, st.WorkloadFrom)
	}
	if len(all) == 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "the workload %s has no SELECT", st.Workload).At(st.WorkloadFrom)
	}
	for _, a := range all {
		var rest accounting.Amount // of the others
		prices := 0
		for _, other := range all {
			if other.Table.Account == a.Table.Account {
				a.Sharing = append(a.Sharing, other.Table.Name)
				prices += other.prices()
			}
		}
		n := len(a.Sharing)
		a.Budget = accounting.Amount{Epsilon: share(epsilon, n), Delta: share(delta, n)}
		if a.Budget.Epsilon == 0 {
			return nil, sqlerr.New(sqlerr.Invalid, "epsilon is too small to share")
		}
		rest.Epsilon, rest.Delta = a.Budget.Epsilon*accounting.Epsilon(n-1), a.Budget.Delta*accounting.Delta(n-1)
		name, several := "advised", len(all) > 1
		if several && len(a.Table.Name) <= longestNamed {
			name += "_" + a.Table.Name
		}
		if err := s.advise(ctx, st, v, a, name, several, rest, prices, confidence); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// asks binds a statement of a workload. A statement that cannot be bound has no margin; one that
// is no SELECT on a private table is an error. In the view that it returns the table is cut to the
// periods that have begun, as the releases of the proposals would be.
func (s *Statement) asks(ctx context.Context, in syntax.Input, v *view.View) (*view.View, *view.Table, Asked, error) {
	a := Asked{Text: strings.Join(strings.Fields(in.Text), " ")}
	sel, err := workloadSelect(in)
	if err != nil {
		return v, nil, a, err
	}
	if sel == nil {
		return v, nil, a, sqlerr.New(sqlerr.Invalid, "a workload holds SELECT statements only").At(1)
	}
	t, err := v.Selected(sel)
	if err != nil {
		return v, nil, a, err
	}
	v, _, err = spanned(v, syntax.Name{Text: t.Name}, nil, s.Now())
	if err != nil {
		return nil, nil, a, err
	}
	t = v.TableByID(t.ID)
	b, err := s.bind(ctx, sel, t)
	if code := sqlerr.CodeOf(err); err != nil && code != sqlerr.Invalid && code != sqlerr.Unsupported {
		return v, nil, a, err
	}
	if err != nil {
		a.Why = err.Error()
		return v, t, a, nil
	}
	a.bound, a.queries = b, b.Queries
	for _, slot := range b.Slots {
		if slot.Question != sqlfront.Weight {
			a.queries, a.Why = nil, unforeseen[slot.Question]
		}
	}
	return v, t, a, nil
}

// unforeseen says why the margin of what is no count or sum is not predicted.
var unforeseen = [...]string{
	sqlfront.Units:          "units are counted on the rows",
	sqlfront.Order:          "the margin of a quantile depends on the rows",
	sqlfront.DistinctValues: "the margin of a number of values depends on the rows",
}

// columns returns the columns of the table that a release must have to answer the statement,
// ascending; none if no release can.
func (a *Asked) columns() (columns []int) {
	if a.bound == nil {
		return nil
	}
	for i, q := range a.bound.Queries {
		switch slot := a.bound.Slots[a.bound.SlotOf(i)]; slot.Question {
		case sqlfront.Units:
			return nil
		case sqlfront.Order, sqlfront.DistinctValues:
			columns = append(columns, slot.Column)
		}
		columns = append(columns, q.Columns()...)
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// share returns an even share of ε or δ for each of n, cut to three digits where it is not all.
func share[T accounting.Epsilon | accounting.Delta](all T, n int) T {
	part, unit := all/T(n), T(1)
	for n > 1 && part/unit >= 1000 {
		unit *= 10
	}
	return part / unit * unit
}

// advise makes and orders the proposals for a table. name begins the names of releases; if the workload is about
// several tables, no release can be built for it. rest is what the
// other tables of the account would take, and prices is the number of prices of direct answers
// that the account would pay.
func (s *Statement) advise(ctx context.Context, st *syntax.Advise, v *view.View, a *Advice, name string, several bool, rest accounting.Amount, prices int, confidence float64) error {
	var sets [][]int
	union := []int{}
	for i := range a.Statements {
		columns := a.Statements[i].columns()
		if len(columns) > 0 {
			sets = append(sets, columns)
		}
		union = append(union, columns...)
	}
	slices.Sort(union)
	union = slices.Compact(union)
	if len(union) == 0 { // counts of everything
		union = []int{0}
	}
	sets = released.Maximal(sets)
	create := func(suffix string, columns []int, using, with string) string {
		return s.create(v, a.Table, name, suffix, columns, using, with)
	}
	together := fmt.Sprintf("epsilon = %v", a.Budget.Epsilon)
	approximate := together
	if a.Budget.Delta > 0 {
		approximate += fmt.Sprintf(", delta = %v", a.Budget.Delta)
	}
	candidates := []Proposal{{Name: "one", Creates: []string{create("", union, "PROJECTION", together)}}}
	if !several {
		candidates = append(candidates, Proposal{Name: "workload", Creates: []string{create("", union, "MARGINALS", approximate+", workload = "+query.Text(st.Workload).String())}})
	}
	if len(sets) > 1 && len(sets) <= maxSplit {
		split := Proposal{Name: "split"}
		for i, set := range sets {
			split.Creates = append(split.Creates, create(fmt.Sprintf("_%d", i+1), set, "PROJECTION", fmt.Sprintf("epsilon = %v", share(a.Budget.Epsilon, len(sets)))))
		}
		candidates = append(candidates, split)
	}
	for i, name := range []string{"pairs", "triples"} {
		if degree := i + 2; len(union) > degree {
			candidates = append(candidates, Proposal{Name: name, Creates: []string{create("", union, "MARGINALS", approximate+fmt.Sprintf(", degree = %d", degree))}})
		}
	}
	for i := range candidates {
		if err := s.propose(ctx, &candidates[i], v, a, rest, confidence); err != nil {
			return err
		}
	}
	candidates = append(candidates, a.bought(v.Accounts[a.Table.Account].RemainingIn(a.Table.Span()).Rho, prices, confidence))
	slices.SortFunc(candidates, func(x, y Proposal) int {
		if (len(x.Creates) == 0) != (len(y.Creates) == 0) {
			return len(y.Creates) - len(x.Creates) // direct answers last
		}
		return cmp.Or(y.Answers()-x.Answers(), cmp.Compare(x.Score, y.Score), cmp.Compare(x.Name, y.Name))
	})
	a.Proposals = candidates
	return nil
}

// create writes a CREATE RELEASE with a name that is free.
func (s *Statement) create(v *view.View, t *view.Table, first, suffix string, columns []int, using, with string) string {
	name := first + suffix
	for n := 2; v.Release(name) != nil || v.Mechanism(name) != nil; n++ {
		name = fmt.Sprintf("%s%d%s", first, n, suffix)
	}
	var names []string
	for _, c := range query.Declared(t.Columns) {
		if slices.Contains(columns, c) {
			names = append(names, syntax.WriteName(t.Columns[c].Name))
		}
	}
	return fmt.Sprintf("CREATE RELEASE %s ON %s (%s) USING %s WITH (%s)", syntax.WriteName(name), syntax.WriteName(t.Name), strings.Join(names, ", "), using, with)
}

// propose predicts the margins of a proposal. Of several releases each statement takes the one
// with the least.
func (s *Statement) propose(ctx context.Context, p *Proposal, v *view.View, a *Advice, rest accounting.Amount, confidence float64) error {
	p.Margins = make([][]float64, len(a.Statements))
	cost := rest
	for _, text := range p.Creates {
		parsed, err := syntax.Parse(text)
		if err != nil {
			return err
		}
		create, ok := parsed.(*syntax.CreateRelease)
		if !ok {
			return sqlerr.New(sqlerr.Internal, "a proposal is no CREATE RELEASE")
		}
		plan, err := s.PlanRelease(ctx, create, v)
		if err != nil {
			if code := sqlerr.CodeOf(err); code != sqlerr.Budget && code != sqlerr.Invalid && code != sqlerr.Unsupported {
				return err
			}
			p.Refused, p.Margins = err, make([][]float64, len(a.Statements))
			return nil
		}
		o := Outlook{Outline: *plan.Outlined(), forecast: plan}
		if cost, ok = cost.Add(o.Cost); !ok {
			return sqlerr.New(sqlerr.Invalid, "the amounts are too large")
		}
		for i := range a.Statements {
			margins, err := o.margins(a.Statements[i].queries, confidence)
			if err != nil {
				return err
			}
			if len(margins) > 0 && (len(p.Margins[i]) == 0 || RootMeanSquare(margins) < RootMeanSquare(p.Margins[i])) {
				p.Margins[i] = margins
			}
		}
		p.Note = o.Size
	}
	if len(p.Creates) > 1 {
		p.Note = fmt.Sprintf("%d releases", len(p.Creates))
	}
	err := s.Store.Read(ctx, func(tx *catalog.Tx) error {
		return tx.Affords(a.Table.Account, a.Table.Span(), catalog.KindReleases, "create release", cost)
	})
	if code := sqlerr.CodeOf(err); err != nil && code != sqlerr.Budget && code != sqlerr.Invalid { // of retired periods
		return err
	}
	p.Refused = err
	p.score()
	return nil
}

// margins returns the margins of a statement's counts and sums; none if the release cannot answer
// one of them, or its margin is not known.
func (o *Outlook) margins(queries []query.Query, confidence float64) ([]float64, error) {
	var f Foreseen
	for n, q := range queries {
		see := o.cover(q)
		if see.Refusal != "" {
			return nil, nil
		}
		if err := o.margin(&f, see.Query, confidence); err != nil {
			return nil, err
		}
		if len(f.Margins) <= n {
			return nil, nil
		}
	}
	return f.Margins, nil
}

// eachSlot calls f with the slots of the statements that have a price of their own: the queries of
// a slot, one for each group, are bought at one price, as answer.Purchase proves, and what another slot
// has bought is free.
func (a *Advice) eachSlot(f func(statement int, slot sqlfront.Slot, queries []query.Query)) {
	type key struct {
		digest   [32]byte
		question sqlfront.Question
		column   int
		weight   int64 // the slot's, which its noise goes by
	}
	have := make(map[key]bool)
	for i := range a.Statements {
		b := a.Statements[i].bound
		if b == nil {
			continue
		}
		slots := make([][]query.Query, len(b.Slots))
		for n, q := range b.Queries {
			if q.MaxWeight() > 0 { // others are constants
				slots[b.SlotOf(n)] = append(slots[b.SlotOf(n)], q)
			}
		}
		for n, queries := range slots {
			paid := false
			for _, q := range queries {
				k := key{q.Digest(), b.Slots[n].Question, b.Slots[n].Column, heaviest(queries)}
				paid, have[k] = paid || !have[k], true
			}
			if paid {
				f(i, b.Slots[n], queries)
			}
		}
	}
}

// heaviest returns the largest weight of a slot's queries, at least 1.
func heaviest(queries []query.Query) int64 {
	weight := int64(1)
	for _, q := range queries {
		weight = max(weight, q.MaxWeight())
	}
	return weight
}

// prices returns the number of prices that direct answers to all statements have.
func (a *Advice) prices() (n int) {
	a.eachSlot(func(int, sqlfront.Slot, []query.Query) { n++ })
	return n
}

// bought returns what direct answers would give if each price were an equal share of what is left
// of ρ.
func (a *Advice) bought(left accounting.Rho, prices int, confidence float64) Proposal {
	p := Proposal{Name: "direct", Margins: make([][]float64, len(a.Statements))}
	p.Note = fmt.Sprintf("an equal share of ρ %s for each of %d prices", released.Rounded(left.Float()), prices)
	if prices == 1 {
		p.Note = fmt.Sprintf("ρ %s for one price", released.Rounded(left.Float()))
	}
	if prices == 0 || int64(left)/int64(prices) < 1 {
		return p
	}
	share := int64(left) / int64(prices)
	for i := range a.Statements {
		p.Margins[i] = a.Statements[i].direct(share, a.Table.Sensitivity(), confidence)
	}
	p.score()
	return p
}

// direct returns the margins of direct answers to a statement's counts and sums, of which each slot has a
// price of ρ; none if one of them is not known.
func (a *Asked) direct(rho, rows int64, confidence float64) (margins []float64) {
	if a.bound == nil {
		return nil
	}
	slots := make([][]query.Query, len(a.bound.Slots))
	for i, q := range a.bound.Queries {
		if q.MaxWeight() == 0 { // a constant
			margins = append(margins, 0)
			continue
		}
		slots[a.bound.SlotOf(i)] = append(slots[a.bound.SlotOf(i)], q)
	}
	for n, queries := range slots {
		sensitivity, answers := rows, int64(1)
		switch weight := heaviest(queries); {
		case len(queries) == 0:
			continue
		case a.bound.Slots[n].Question == sqlfront.Order:
			return nil
		case a.bound.Slots[n].Question == sqlfront.Units:
			sensitivity, answers = 1, min(rows, int64(len(queries)))
		case a.bound.Slots[n].Question == sqlfront.Weight && weight <= math.MaxInt64/rows:
			sensitivity *= weight
		case a.bound.Slots[n].Question == sqlfront.Weight:
			return nil
		}
		squared := direct.SigmaSquared(rho, sensitivity)
		gaussian, err := law.NewGaussian(squared.Mul(squared, new(big.Rat).SetInt64(answers)))
		if err != nil {
			return nil
		}
		margins = append(margins, slices.Repeat([]float64{float64(law.HalfWidth(gaussian, confidence))}, len(queries))...)
	}
	return margins
}

func (p *Proposal) score() {
	sum, n := 0.0, 0
	for _, m := range p.Margins {
		if len(m) > 0 {
			sum += math.Log(math.Max(1, RootMeanSquare(m)))
			n++
		}
	}
	if n > 0 {
		p.Score = math.Exp(sum / float64(n))
	}
}

// RootMeanSquare returns the root of the mean square of some numbers.
func RootMeanSquare(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(all)))
}
