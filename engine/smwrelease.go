package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// publishedHypothesis is the payload of a release built by SMW: what its
// hypothesis learned, and for which queries it promises something.
type publishedHypothesis struct {
	Version  int       `json:"version"`
	Params   smwParams `json:"params"`
	Prior    []byte    `json:"state,omitempty"`
	Class    *class    `json:"class"`
	Complete bool      `json:"complete"` // a whole pass over the class fired nothing
	Steps    []step    `json:"steps"`
}

type step struct {
	Query string `json:"query"`
	Noisy int64  `json:"noisy"`
}

// createSMWRelease is the paper's non-interactive mechanism for conjunctions
// (section 3.1): SMW asked every query of a class, in passes. It is one
// (ε, δ)-differentially private step of the releases account, made of B runs
// that compose inside it by zCDP.
func (s *Session) createSMWRelease(ctx context.Context, st *sqlfront.CreateRelease, v *view.View, t *view.Table, columns []int) (*Result, error) {
	a := v.Accounts[t.Account]
	asked, err := s.planSMWRelease(ctx, st, v, t, columns)
	if err != nil {
		return nil, err
	}
	n, left, err := s.db.desk.RowCount(ctx, &s.bill, s.db.rows, t, catalog.KindReleases, asked.cost)
	if err != nil {
		return nil, err
	}
	p, err := planSMW(asked.request, n, accounting.RhoFor(left.Epsilon, left.Delta))
	if err != nil {
		return nil, err
	}
	complete, err := s.db.buildHypothesis(ctx, &s.bill, st.Name.Text, t, columns, asked.class, p, left)
	if err != nil {
		return nil, err
	}
	result := &Result{Warnings: warnDelta(t, a)}
	if !complete {
		result.Warnings = append(result.Warnings,
			"the runs ended before a whole pass agreed: the release has no error bars; give it more max_updates or epsilon")
	}
	return result, nil
}

// smwReleasePlan is a release built by SMW before N̂ is known.
type smwReleasePlan struct {
	cost    accounting.Amount
	request smwRequest
	class   *class
}

// planSMWRelease reads the statement and checks its class against the limits. With
// a *sqlfront.UndecidedError it returns the cost and the request.
func (s *Session) planSMWRelease(ctx context.Context, st *sqlfront.CreateRelease, v *view.View, t *view.Table, columns []int) (p smwReleasePlan, err error) {
	o := smwReleaseOptions(st)
	p.cost.Epsilon = o.epsilon()
	var given bool
	if p.cost.Delta, given = o.delta(); !given {
		p.cost.Delta = deltaShare(v.Accounts[t.Account], p.cost.Epsilon)
	}
	p.request = readRequest(o, t, t.Over(columns))
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

func smwReleaseOptions(st *sqlfront.CreateRelease) *options {
	return newOptions(st.Options, "epsilon", "delta", "max_updates", "alpha", "max_support", "beta", "update",
		"prior", "remeasure", "workload", "free_columns", "class")
}

func (s *Session) readClass(ctx context.Context, o *options, t *view.Table, columns []int) (*class, error) {
	file, free := o.file("workload"), int(o.integer("free_columns", -1, 0, 64))
	monotone := o.word("class", "all", "monotone") == "monotone"
	if free < 0 {
		o.refuse("without free_columns", "class")
	}
	if err := o.done(); err != nil {
		return nil, err
	}
	switch {
	case (file == "") == (free < 0):
		return nil, sqlerr.New(sqlerr.Invalid, "a release built by SMW needs either a workload or free_columns").
			WithHint("workload = 'queries.sql' or free_columns = 2")
	case file != "":
		return s.workload(ctx, file, t, columns)
	}
	if i := t.FirstUndecided(columns); i >= 0 {
		return nil, &sqlfront.UndecidedError{Column: i, Name: t.Columns[i].Name}
	}
	return freeColumns(t.Over(columns), free, monotone)
}

// sizeClass checks the class against the limits before anything is paid, and asks
// for a plan for passes over it.
func sizeClass(c *class, r *smwRequest) error {
	queries, support := c.size()
	if queries > maxClass {
		smaller := ""
		if !c.Monotone && c.Free >= 0 && notBinary(c.universe) == nil {
			smaller = "class = monotone asks for the greater values only; or "
		}
		return sqlerr.New(sqlerr.Invalid, "the class has %.3g queries, more than %d", queries, maxClass).
			WithHint("%sname fewer columns, or give a workload", smaller)
	}
	if support > float64(r.MaxSupport) {
		return sqlerr.New(sqlerr.Invalid, "queries of the class have supports up to %.0f, more than max_support = %d", support, r.MaxSupport).
			WithHint("raise max_support, or lower free_columns")
	}
	r.MaxSupport, r.MaxWeight = uint64(max(1, support)), c.maxWeight()
	r.Queries, r.Class = 0, int64(queries)
	return nil
}

// buildHypothesis pays, reads the cells once, buys the prior and runs the passes
// from what was paid, and stores what the hypothesis learned.
func (db *DB) buildHypothesis(ctx context.Context, b *pay.Bill, name string, t *view.Table, columns []int, c *class, p smwPlan, cost accounting.Amount) (complete bool, err error) {
	published := publishedHypothesis{Version: 1, Params: p.smwParams, Class: c}
	var cells *source.Histogram
	var src *noise.Source
	u := t.Over(columns)
	err = db.rows.OnSnapshot(ctx, t, func(sn *rows.Snapshot) error {
		paid, err := db.desk.Build(ctx, b, sn, catalog.KindReleases, "create release", name, cost)
		if err != nil {
			return err
		}
		src = db.random()
		var key [16]byte // names records of a universe without codes, here only
		if err := src.Bytes(key[:]); err != nil {
			return pay.ErrRandom()
		}
		if cells, err = sn.Cells(ctx, paid, columns, query.NewCoder(u, key), math.MaxInt, nil); err != nil {
			return err
		}
		published.Prior, err = db.learnPrior(ctx, sn, paid, columns, p)
		return err
	})
	if err != nil {
		return false, err
	}
	prior, err := decodePrior(u, p.Prior, published.Prior)
	if err != nil {
		return false, err
	}
	count := func(q query.Query) (int64, error) {
		n, ok := cells.Count(q)
		if !ok { // the class admits no such support
			return 0, sqlerr.New(sqlerr.Internal, "a query of the class cannot be enumerated")
		}
		return n, ctx.Err()
	}
	scaled, err := scaledClass(c, p.Params)
	if err != nil {
		return false, err
	}
	result, err := smw.Passes(smw.NewHypothesis(p.Params, u, prior), scaled, count, src)
	if err != nil {
		return false, err
	}
	published.Complete = result.Complete
	for _, s := range result.Steps {
		published.Steps = append(published.Steps, step{s.Query.String(), s.Noisy})
	}
	ctx = context.WithoutCancel(ctx) // it is paid for: keep it
	return result.Complete, db.storeHypothesis(ctx, name, t, columns, published, cost)
}

// scaledClass returns the queries of a class as they are compared. It fails
// before any is compared.
func scaledClass(c *class, p smw.Params) (iter.Seq[query.Query], error) {
	if p.MaxWeight == 1 {
		return c.queries(), nil
	}
	var all []query.Query
	for q := range c.queries() {
		s, err := p.Scaled(q)
		if err != nil {
			return nil, err
		}
		all = append(all, s.Query)
	}
	return slices.Values(all), nil
}

func (db *DB) storeHypothesis(ctx context.Context, name string, t *view.Table, columns []int, h publishedHypothesis, cost accounting.Amount) error {
	payload, err := json.Marshal(h)
	if err != nil {
		return err
	}
	about := fmt.Sprintf("workload of %d queries", len(h.Class.Workload))
	if h.Class.Free >= 0 {
		about = fmt.Sprintf("conjunctions, free columns: %d at most", h.Class.Free)
	}
	if h.Class.Monotone {
		about = "monotone " + about
	}
	params, err := json.Marshal(hypothesisParams{about, int64(len(h.Steps)), h.Complete})
	if err != nil {
		return err
	}
	return db.store.Write(ctx, func(tx *catalog.Tx) error {
		return tx.AddRelease(&catalog.Release{Name: name, TableID: t.ID, Columns: columns, Using: "smw", Params: params,
			Epsilon: cost.Epsilon, Delta: cost.Delta, MaxSupport: h.Params.MaxSupport}, payload)
	})
}

// hypothesisParams describe a release built by SMW in the catalog, for people.
type hypothesisParams struct {
	Class    string `json:"class"`
	Updates  int64  `json:"updates"`
	Complete bool   `json:"complete"`
}

// hypothesis is such a release in memory.
type hypothesis struct {
	mu        sync.Mutex // a smw.Hypothesis is not safe for concurrent use
	learned   *smw.Hypothesis
	published publishedHypothesis
}

func decodeHypothesis(u *query.Universe, payload []byte) (*hypothesis, error) {
	h := &hypothesis{}
	p := &h.published
	if err := json.Unmarshal(payload, p); err != nil || p.Version != 1 || p.Class == nil || p.Params.Check() != nil {
		return nil, sqlerr.New(sqlerr.Corrupt, "a release built by SMW cannot be read")
	}
	prior, err := decodePrior(u, p.Params.Prior, p.Prior)
	if err != nil {
		return nil, err
	}
	h.learned = smw.NewHypothesis(p.Params.Params, u, prior)
	for _, s := range p.Steps {
		q, err := query.Parse(u, s.Query)
		if err != nil {
			return nil, err
		}
		if err := h.learned.Update(q, s.Noisy); err != nil {
			return nil, err
		}
	}
	return h, p.Class.restore(u)
}

// restore parses the workload of a class that was read from a payload.
func (c *class) restore(u *query.Universe) error {
	c.universe = u
	if c.Free >= 0 {
		return nil
	}
	var queries []query.Query
	for _, text := range c.Workload {
		q, err := query.Parse(u, text)
		if err != nil {
			return err
		}
		queries = append(queries, q)
	}
	*c = *listedClass(u, queries)
	return nil
}

// Estimate evaluates the hypothesis.
func (h *hypothesis) Estimate(q query.Query) (int64, error) {
	asked, err := h.published.Params.Scaled(q)
	if err != nil {
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return asked.Count(h.learned.Count(asked.Query)), nil
}

// Margin is T + x for all queries of the class at once, when a whole pass over
// it fired nothing; outside the class nothing is promised.
func (h *hypothesis) Margin(q query.Query, confidence float64) (float64, bool, error) {
	if !h.published.Complete || !h.published.Class.contains(q) {
		return 0, false, nil
	}
	p := h.published.Params
	asked := smw.Scaled{Factor: p.Factor(q)}
	return float64(asked.Margin(p.Threshold + p.SimultaneousBound(1-confidence))), true, nil
}
