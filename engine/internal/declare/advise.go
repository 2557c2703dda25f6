package declare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Advice is what ADVISE says about one private table of a workload.
type Advice struct {
	Table      *view.Table
	Statements []string   // of the workload, on the table
	Unread     []string   // why a statement cannot be bound, "" if it can
	Proposals  []Proposal // the best first; one that gives every statement a margin is better than any that does not
}

// Proposal is a way to spend a budget on releases, and the margins that the statements of the workload
// would have.
type Proposal struct {
	Name    string
	Creates []string    // statements; none for direct answers
	Margins [][]float64 // for each statement those of its counts and sums; none if it has none or one of them is not known
	Note    string
	Refused error   // why it cannot be paid now, or nil
	Score   float64 // the geometric mean of the statements' root mean square margins
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
	maxAdvised = 200 // statements of a workload
	maxSplit   = 8   // releases that share a budget
)

// asked is a statement of a workload, bound.
type asked struct {
	text    string
	queries []query.Query // over the columns of the table
	why     string        // why it cannot be bound
}

// Advise proposes releases for a workload. It reads no private row and changes nothing: the
// margins follow from the noise that a proposal would add.
//
// The proposals are one release of all columns that the statements name, one for each set of columns that a statement
// names and no other contains, with a share of ε each, the marginals of the workload, and all
// marginals of 2 and of 3 columns. Direct answers are shown beside. Errors: those of the
// workload's file; Invalid if no statement is on a private table.
func (s *Statement) Advise(ctx context.Context, st *syntax.Advise, v *view.View, confidence float64) ([]Advice, error) {
	o := newOptions(st.Options, "epsilon", "delta")
	epsilon := o.epsilon()
	delta, _ := o.delta()
	if err := o.done(); err != nil {
		return nil, err
	}
	var all []Advice
	bound := make(map[int64][]asked)
	number := 0
	err := s.eachStatement(st.Workload, func(in syntax.Input) error {
		if number++; number > maxAdvised {
			return sqlerr.New(sqlerr.Unsupported, "a workload of more than %d statements is outside the dialect", maxAdvised).
				WithHint("leave those out that are alike")
		}
		t, a, err := s.asks(ctx, in, v)
		if err != nil {
			return inWorkload(err, st.Workload, in)
		}
		if bound[t.ID] == nil {
			all = append(all, Advice{Table: t})
		}
		bound[t.ID] = append(bound[t.ID], a)
		return nil
	})
	if err != nil {
		return nil, sqlerr.Locate(err, st.WorkloadFrom)
	}
	if len(all) == 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "the workload %s has no SELECT", st.Workload).At(st.WorkloadFrom)
	}
	for i := range all {
		if err := s.advise(ctx, st, v, &all[i], bound[all[i].Table.ID], epsilon, delta, confidence); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// asks binds a statement of a workload. A statement that cannot be bound has no margin; one that
// is no SELECT on a private table is an error.
func (s *Statement) asks(ctx context.Context, in syntax.Input, v *view.View) (*view.Table, asked, error) {
	a := asked{text: strings.Join(strings.Fields(in.Text), " ")}
	sel, at, err := workloadSelect(in)
	if err != nil {
		return nil, a, err
	}
	if sel == nil {
		return nil, a, sqlerr.New(sqlerr.Invalid, "a workload holds SELECT statements only").At(1)
	}
	t, err := v.Selected(sel)
	if err != nil {
		return nil, a, err
	}
	a.queries, err = s.boundQueries(ctx, sel, at, t, func(q query.Query) view.Coverage { return view.Coverage{Query: q} })
	if code := sqlerr.CodeOf(err); err != nil && code != sqlerr.Invalid && code != sqlerr.Unsupported {
		return nil, a, err
	}
	if err != nil {
		a.queries, a.why = nil, err.Error()
	}
	return t, a, nil
}

// advise makes and orders the proposals for a table.
func (s *Statement) advise(ctx context.Context, st *syntax.Advise, v *view.View, a *Advice, all []asked, epsilon accounting.Epsilon, delta accounting.Delta, confidence float64) error {
	var sets [][]int
	union := []int{}
	for _, q := range all {
		a.Statements, a.Unread = append(a.Statements, q.text), append(a.Unread, q.why)
		var columns []int
		for _, one := range q.queries {
			columns = append(columns, one.Columns()...)
		}
		slices.Sort(columns)
		if columns = slices.Compact(columns); len(columns) > 0 {
			sets = append(sets, columns)
		}
		union = append(union, columns...)
	}
	slices.Sort(union)
	union = slices.Compact(union)
	if len(union) == 0 { // counts of everything
		union = []int{0}
	}
	sets = stored.Maximal(sets)
	together := fmt.Sprintf("epsilon = %v", epsilon)
	approximate := together
	if delta > 0 {
		approximate += fmt.Sprintf(", delta = %v", delta)
	}
	candidates := []Proposal{
		{Name: "one", Creates: []string{s.create(v, a.Table, "", union, "PROJECTION", together)}},
		{Name: "workload", Creates: []string{s.create(v, a.Table, "", union, "MARGINALS", approximate+", workload = "+query.Text(st.Workload).String())}},
	}
	if len(sets) > 1 && len(sets) <= maxSplit {
		split := Proposal{Name: "split"}
		for i, set := range sets {
			split.Creates = append(split.Creates, s.create(v, a.Table, fmt.Sprintf("_%d", i+1), set, "PROJECTION", fmt.Sprintf("epsilon = %v", epsilon/accounting.Epsilon(len(sets)))))
		}
		candidates = append(candidates, split)
	}
	for i, name := range []string{"pairs", "triples"} {
		if degree := i + 2; len(union) > degree {
			candidates = append(candidates, Proposal{Name: name, Creates: []string{s.create(v, a.Table, "", union, "MARGINALS", approximate+fmt.Sprintf(", degree = %d", degree))}})
		}
	}
	for i := range candidates {
		if err := s.propose(ctx, &candidates[i], v, a.Table, all, confidence); err != nil {
			return err
		}
	}
	candidates = append(candidates, s.bought(v, a.Table, all, confidence))
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
func (s *Statement) create(v *view.View, t *view.Table, suffix string, columns []int, using, with string) string {
	name := "advised" + suffix
	for n := 2; v.Release(name) != nil || v.Mechanism(name) != nil; n++ {
		name = fmt.Sprintf("advised%d%s", n, suffix)
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = syntax.WriteName(t.Columns[c].Name)
	}
	return fmt.Sprintf("CREATE RELEASE %s ON %s (%s) USING %s WITH (%s)", name, syntax.WriteName(t.Name), strings.Join(names, ", "), using, with)
}

// propose predicts the margins of a proposal. Of several releases each statement takes the one
// with the least.
func (s *Statement) propose(ctx context.Context, p *Proposal, v *view.View, t *view.Table, all []asked, confidence float64) error {
	p.Margins = make([][]float64, len(all))
	var cost accounting.Amount
	for _, text := range p.Creates {
		parsed, err := syntax.Parse(text)
		if err != nil {
			return err
		}
		create, ok := parsed.(*syntax.CreateRelease)
		if !ok {
			return sqlerr.New(sqlerr.Internal, "a proposal is no CREATE RELEASE")
		}
		o := Outlook{}
		if o.Plan, err = s.PlanRelease(ctx, create, v); err != nil {
			if code := sqlerr.CodeOf(err); code != sqlerr.Budget && code != sqlerr.Invalid && code != sqlerr.Unsupported {
				return err
			}
			p.Refused, p.Margins = err, make([][]float64, len(all))
			return nil
		}
		cost, _ = cost.Add(o.Cost)
		for i, a := range all {
			margins, err := o.margins(a, confidence)
			if err != nil {
				return err
			}
			if len(margins) > 0 && (len(p.Margins[i]) == 0 || rootMeanSquare(margins) < rootMeanSquare(p.Margins[i])) {
				p.Margins[i] = margins
			}
		}
		p.Note = o.Size
	}
	if len(p.Creates) > 1 {
		p.Note = fmt.Sprintf("%d releases", len(p.Creates))
	}
	err := s.Store.Read(ctx, func(tx *catalog.Tx) error { return tx.Affords(t.Account, catalog.KindReleases, "create release", cost) })
	if err != nil && sqlerr.CodeOf(err) != sqlerr.Budget {
		return err
	}
	p.Refused = err
	p.score()
	return nil
}

// margins returns the margins of a statement's counts and sums; none if the release cannot answer
// one of them, or its margin is not known.
func (o *Outlook) margins(a asked, confidence float64) ([]float64, error) {
	var f Foreseen
	for n, q := range a.queries {
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

// bought returns what direct answers would give: each query one of its own, for an equal share of
// what is left of ρ.
func (s *Statement) bought(v *view.View, t *view.Table, all []asked, confidence float64) Proposal {
	p := Proposal{Name: "direct", Margins: make([][]float64, len(all))}
	left := v.Accounts[t.Account].Remaining().Rho
	n := 0
	for _, a := range all {
		n += len(a.queries)
	}
	p.Note = fmt.Sprintf("an equal share of ρ %s for each of %d queries", view.Rounded(left.Float()), n)
	if n == 0 || int64(left)/int64(n) < 1 {
		return p
	}
	for i, a := range all {
		for _, q := range a.queries {
			law, err := noise.NewGaussian(direct.SigmaSquared(int64(left)/int64(n), t.Sensitivity()*max(1, q.MaxWeight())))
			if err != nil {
				p.Margins[i] = nil
				break
			}
			p.Margins[i] = append(p.Margins[i], float64(noise.HalfWidth(law, confidence)))
		}
	}
	p.score()
	return p
}

func (p *Proposal) score() {
	sum, n := 0.0, 0
	for _, m := range p.Margins {
		if len(m) > 0 {
			sum += math.Log(math.Max(1, rootMeanSquare(m)))
			n++
		}
	}
	if n > 0 {
		p.Score = math.Exp(sum / float64(n))
	}
}

func rootMeanSquare(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(all)))
}
