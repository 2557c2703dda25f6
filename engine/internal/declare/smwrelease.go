package declare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// createSMWRelease runs the paper's non-interactive mechanism for conjunctions (section
// 3.1): it asks SMW every query of a class, in passes. The release is one (ε,
// δ)-differentially private step of the releases account. It consists of B runs that
// compose by zCDP.
func (s *Statement) createSMWRelease(ctx context.Context, st *syntax.CreateRelease, v *view.View, t *view.Table, columns []int) (warnings []string, err error) {
	a := v.Accounts[t.Account]
	asked, err := s.planSMWRelease(ctx, st, v, t, columns)
	if err != nil {
		return nil, err
	}
	n, left, err := s.Desk.RowCount(ctx, s.Bill, s.Rows, t, catalog.KindReleases, asked.cost)
	if err != nil {
		return nil, err
	}
	p, err := planSMW(asked.request, n, accounting.RhoFor(left.Epsilon, left.Delta))
	if err != nil {
		return nil, err
	}
	r := &catalog.Release{Name: st.Name.Text, TableID: t.ID, Span: t.Part, Columns: columns, Using: string(syntax.SMW),
		Epsilon: left.Epsilon, Delta: left.Delta, MaxSupport: p.MaxSupport}
	warnings, err = s.buildHypothesis(ctx, t, r, released.HypothesisPayload{Version: 1, Params: p.MechanismParams, Class: asked.class,
		Built: built(st.Name, t, columns, string(st.Using), st.Options)}, p)
	return append(warnDelta(t, a), warnings...), err
}

// smwReleasePlan is a release built by SMW before N̂ is known.
type smwReleasePlan struct {
	cost    accounting.Amount
	request smwRequest
	class   *released.Class
}

// planSMWRelease reads the statement and checks its class against the limits. It returns
// the cost and the request also with a *sqlfront.UndecidedError.
func (s *Statement) planSMWRelease(ctx context.Context, st *syntax.CreateRelease, v *view.View, t *view.Table, columns []int) (p smwReleasePlan, err error) {
	o := smwReleaseOptions(st)
	p.cost.Epsilon = o.Epsilon()
	var given bool
	if p.cost.Delta, given = o.Delta(); !given {
		p.cost.Delta = deltaShare(v.Accounts[t.Account], p.cost.Epsilon)
	}
	p.request = readRequest(o, t, t.Over(columns), o.Word("prior", priors...))
	if p.class, err = s.readClass(ctx, o, t, columns); err != nil {
		return p, err
	}
	if err := sizeClass(p.class, &p.request); err != nil {
		return p, err
	}
	if accounting.RhoFor(p.cost.Epsilon, p.cost.Delta) == 0 {
		return p, sqlerr.New(sqlerr.Invalid, "a release built by SMW needs a delta").
			WithHint("give the table a delta, or use PROJECTION, which needs none")
	}
	return p, nil
}

func smwReleaseOptions(st *syntax.CreateRelease) *kind.Options {
	return kind.NewOptions(st.Options, "epsilon", "delta", "max_updates", "alpha", "max_support", "beta", "update",
		"prior", "remeasure", "workload", "free_columns", "class")
}

func (s *Statement) readClass(ctx context.Context, o *kind.Options, t *view.Table, columns []int) (*released.Class, error) {
	file, free := o.File("workload"), int(o.Integer("free_columns", -1, 0, 64))
	monotone := o.Word("class", "all", "monotone") == "monotone"
	if free < 0 {
		o.Refuse("without free_columns", "class")
	}
	if err := o.Done(); err != nil {
		return nil, err
	}
	switch {
	case (file == "") == (free < 0):
		return nil, sqlerr.New(sqlerr.Invalid, "a release built by SMW needs either a workload or free_columns").
			WithHint("workload = 'queries.sql' or free_columns = 2")
	case file != "":
		queries, err := s.workload(ctx, file, t, func(q query.Query) released.Coverage { return released.Cover(q, columns, maxSupport) })
		if err != nil {
			return nil, err
		}
		return released.Workload(t.Over(columns), queries), nil
	}
	if i := t.FirstUndecided(columns); i >= 0 {
		return nil, &sqlfront.UndecidedError{Column: i, Name: t.Columns[i].Name}
	}
	return released.Conjunctions(t.Over(columns), free, monotone)
}

// sizeClass checks the class against the limits, before anything is paid. It turns the
// request into one for passes over the class.
func sizeClass(c *released.Class, r *smwRequest) error {
	queries, support := c.Size()
	if queries > released.MaxClass {
		smaller := ""
		if !c.Monotone && c.Free >= 0 && c.Binary() {
			smaller = "class = monotone asks for the greater values only; or "
		}
		return sqlerr.New(sqlerr.Invalid, "the class has %.3g queries, more than %d", queries, released.MaxClass).
			WithHint("%sname fewer columns, or give a workload", smaller)
	}
	if support > float64(r.MaxSupport) {
		return sqlerr.New(sqlerr.Invalid, "queries of the class have supports up to %.0f, more than max_support = %d", support, r.MaxSupport).
			WithHint("raise max_support, or lower free_columns")
	}
	r.MaxSupport, r.MaxWeight = uint64(max(1, support)), c.MaxWeight()
	r.Queries, r.Class = 0, int64(queries)
	return nil
}

// buildHypothesis pays and reads the cells once. From that charge it buys the prior and runs the
// passes. A release that is stored unfinished is paid for, has its prior, and goes on with its next
// run. Whenever a run begins, the prior and what was learned are stored first.
func (s *Statement) buildHypothesis(ctx context.Context, t *view.Table, r *catalog.Release, published released.HypothesisPayload, p smwPlan) (warnings []string, err error) {
	var cells *source.Histogram
	var paid *pay.Receipt
	u, fresh := t.Over(r.Columns), r.ID == 0
	steps := &buildSteps{report: s.Progress, fits: true}
	err = s.Rows.OnSnapshot(ctx, t, func(sn *rows.Snapshot) (err error) {
		if fresh {
			paid, err = s.Desk.Build(ctx, s.Bill, sn, catalog.KindReleases, "create release", r.Name, accounting.Amount{Epsilon: r.Epsilon, Delta: r.Delta})
		} else {
			paid, err = s.Desk.GoOn(ctx, sn, r)
		}
		if err != nil {
			return err
		}
		steps.read(0, 1)
		var key [16]byte // names records of a universe without codes; used only here
		if err := s.Coins().Bytes(key[:]); err != nil {
			return pay.ErrRandom()
		}
		return s.Desk.Read(ctx, s.Bill, paid, func() (err error) {
			if cells, err = sn.Cells(ctx, paid, r.Columns, query.NewCoder(u, key), math.MaxInt, false, steps.read); err != nil || p.prior == 0 {
				return err
			}
			return sn.CountPairs(ctx, paid, r.Columns, p.tables)
		})
	})
	if err != nil {
		return nil, err
	}
	if fresh {
		if published.Prior, err = s.learnPrior(t, r.Columns, p, paid); err != nil {
			return nil, err
		}
	}
	steps.done(1)
	h, err := published.Learn(u)
	if err != nil {
		return nil, err
	}
	scaled, err := scaledClass(published.Class, p.Params)
	if err != nil {
		return nil, err
	}
	before, quiet := len(published.Steps), 0.0
	queries, _ := published.Class.Size()
	count := func(q query.Query) (int64, error) {
		// Which queries fired, and after how many, is what the runs published.
		quiet++
		steps.fit(3 * (float64(len(published.Steps)) + min(1, quiet/queries)) / float64(p.Updates+1))
		n, ok := cells.Count(q)
		if !ok { // the class has no query of such a support
			return 0, sqlerr.New(sqlerr.Internal, "a query of the class cannot be enumerated")
		}
		return n, ctx.Err()
	}
	learned := func(result smw.Result) {
		for _, s := range result.Steps[len(published.Steps)-before:] {
			published.Steps = append(published.Steps, released.Step{Query: s.Query.String(), Noisy: s.Noisy})
		}
		published.Runs, published.Complete, quiet = result.Runs, result.Complete, 0
	}
	src, err := paid.Noise()
	if err != nil {
		return nil, err
	}
	result, err := smw.Passes(h, published.Runs, scaled, count, func(result smw.Result) error {
		learned(result)
		err := s.storeHypothesis(ctx, t, r, published, true)
		if err == nil && fresh {
			s.Bill.Store()
			fresh = false
		}
		return err
	}, src)
	if err != nil {
		return nil, err
	}
	if learned(result); !result.Complete {
		warnings = []string{"the runs ended before a whole pass agreed: the release has no error bars; give it more max_updates or epsilon"}
	}
	return warnings, s.storeHypothesis(ctx, t, r, published, false)
}

// scaledClass returns the queries of a class, scaled for comparison. It returns its error
// before any query is compared.
func scaledClass(c *released.Class, p smw.Params) (iter.Seq[query.Query], error) {
	if p.MaxWeight == 1 {
		return c.Queries(), nil
	}
	var all []query.Query
	for q := range c.Queries() {
		s, err := p.Scaled(q)
		if err != nil {
			return nil, err
		}
		all = append(all, s.Query)
	}
	return slices.Values(all), nil
}

// storeHypothesis stores what a release has learned. Of one that is unfinished nothing is shown. With
// the finished one goes a line of cost 0. Its mark beside the file refuses an older copy, which would
// draw the runs again.
func (s *Statement) storeHypothesis(ctx context.Context, t *view.Table, r *catalog.Release, h released.HypothesisPayload, unfinished bool) error {
	payload, err := json.Marshal(h)
	if err != nil {
		return err
	}
	about := released.HypothesisAbout{Class: fmt.Sprintf("workload of %d queries", len(h.Class.Workload)), Unfitted: unfinished}
	if h.Class.Free >= 0 {
		about.Class = fmt.Sprintf("conjunctions, free columns: %d at most", h.Class.Free)
	}
	if h.Class.Monotone {
		about.Class = "monotone " + about.Class
	}
	if unfinished {
		return s.storeRelease(ctx, r, about, payload)
	}
	about.Updates, about.Complete = int64(len(h.Steps)), h.Complete
	return s.storeRelease(ctx, r, about, payload, func(tx *catalog.Tx) error {
		return tx.Charge(t.Account, t.Span(), catalog.KindReleases, "finish release", r.Name, accounting.Amount{})
	})
}

// workload reads the queries from a file of SELECT statements on the table. cover projects each to
// the columns, or says why it is refused.
func (s *Statement) workload(ctx context.Context, name string, t *view.Table, cover func(query.Query) released.Coverage) ([]query.Query, error) {
	var queries []query.Query
	err := s.eachStatement(name, func(in syntax.Input) error {
		asked, err := s.workloadQueries(ctx, in, t, cover)
		queries = append(queries, asked...)
		return inWorkload(err, name, in)
	})
	if err != nil {
		return nil, err
	}
	if len(queries) == 0 || len(queries) > released.MaxClass {
		return nil, sqlerr.New(sqlerr.Invalid, "the workload has %d queries; it can have 1 to %d", len(queries), released.MaxClass)
	}
	return queries, nil
}

// eachStatement calls f with each statement of a file.
func (s *Statement) eachStatement(name string, f func(syntax.Input) error) error {
	file, err := os.Open(s.Path(name))
	if err != nil {
		return sqlerr.New(sqlerr.IO, "cannot read the workload %s", name).WithHint("file names are relative to the script")
	}
	defer file.Close()
	scanner := syntax.NewScanner(file)
	for {
		in, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(in)
		}
		if err != nil {
			return err
		}
	}
}

// workloadSelect parses a statement of a workload. It returns nil if it is no SELECT. at returns
// the position in the statement as it was written.
func workloadSelect(in syntax.Input) (sel *syntax.Select, at func(position int) int, err error) {
	written, err := syntax.Rewrite(in.Text)
	if err != nil {
		return nil, nil, err
	}
	statement, err := syntax.Parse(written.Text)
	sel, _ = statement.(*syntax.Select)
	return sel, written.At, sqlerr.Move(err, written.At)
}

// workloadQueries returns the queries of one statement of a workload: one query, or one
// for each group and aggregate.
func (s *Statement) workloadQueries(ctx context.Context, in syntax.Input, t *view.Table, cover func(query.Query) released.Coverage) ([]query.Query, error) {
	sel, at, err := workloadSelect(in)
	if err != nil {
		return nil, err
	}
	if sel == nil || !slices.ContainsFunc(sel.Tables, func(n syntax.Name) bool { return query.SameName(n.Text, t.Name) }) {
		return nil, sqlerr.New(sqlerr.Invalid, "a workload holds SELECT statements on %s only", t.Name)
	}
	return s.boundQueries(ctx, sel, at, t, cover)
}

// boundQueries returns the queries of a SELECT of a workload.
func (s *Statement) boundQueries(ctx context.Context, sel *syntax.Select, at func(position int) int, t *view.Table, cover func(query.Query) released.Coverage) ([]query.Query, error) {
	b, err := s.bind(ctx, sel, at, t)
	if err != nil {
		return nil, err
	}
	queries := make([]query.Query, len(b.Queries))
	for i, q := range b.Queries {
		see := cover(q)
		if see.Refusal != "" {
			return nil, sqlerr.New(sqlerr.Invalid, "the release cannot hold this query: %s", see.Refusal)
		}
		queries[i] = see.Query
	}
	return queries, nil
}

// bind binds a SELECT of a workload.
func (s *Statement) bind(ctx context.Context, sel *syntax.Select, at func(position int) int, t *view.Table) (*sqlfront.Bound, error) {
	b, err := sqlfront.Bind(sel, schemas.Bindable(ctx, s.Store, t, s.Now(), s.textsOf(ctx, t), nil), nil)
	return b, sqlerr.Move(err, at)
}

// inWorkload adds the place in the file to an error.
func inWorkload(err error, name string, in syntax.Input) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	line, column := in.Locate(e.Position)
	c.Message = fmt.Sprintf("%s:%d:%d: %s", name, line, column, e.Message)
	c.Position = 0
	return &c
}
