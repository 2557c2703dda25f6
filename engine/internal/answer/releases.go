package answer

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/marginals"
	"dpsql/mechanisms/projection"
	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Loaded is a release in memory.
type Loaded interface {
	// Evaluate returns the answer to a query and its error, in one pass.
	Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error)
	// predict returns the expected margin of the answer, in counts. It
	// evaluates nothing. known is false if the release promises no margin for the
	// query.
	predict(q query.Query, confidence float64) (margin float64, known bool, err error)
	// note describes the release in EXPLAIN.
	note() string
}

// Sketch adapts a projection release. It has a margin for every query and rounds it down.
// Estimates and counts are integers, so an error within a half-width is within its integer
// part.
type Sketch struct {
	*projection.Release
	shape string
}

func (s Sketch) Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := s.Answer(ctx, q, confidence)
	return Estimate{Value: a.Value, Error: post.Within(math.Floor(a.Margin)), Verified: true}, err
}

func (s Sketch) note() string { return s.shape }

func (s Sketch) predict(q query.Query, confidence float64) (float64, bool, error) {
	m, err := s.Predict(q, confidence)
	return math.Floor(m), true, err
}

// fitted adapts a release of marginals. It has an interval for the queries on the columns
// of a measured marginal. These queries have a simulated margin, too. Other queries have
// none: a simulation knows no more of them than the fit does.
type fitted struct {
	*marginals.Release
	shape string
}

func (f fitted) Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := f.Answer(ctx, q, confidence)
	e := estimated(a)
	if a.Verified && err == nil && f.Simulates() {
		e.simulated = simulatedBy(f.Release, q, func(confidence float64) (Estimate, error) { return f.Evaluate(ctx, q, confidence) })
	}
	return e, err
}

func (f fitted) unbiased(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	a, err := f.Unbiased(ctx, q, confidence)
	return estimated(a), err
}

func estimated(a marginals.Answer) Estimate {
	value := float64(a.Value)
	return Estimate{Value: a.Value, Error: post.Interval{Low: a.Low - value, High: a.High - value}, Verified: a.Verified}
}

func (f fitted) note() string { return f.shape }

func (f fitted) predict(q query.Query, confidence float64) (float64, bool, error) {
	m, ok, err := f.Predict(q, confidence)
	return math.Floor(m), ok, err
}

// demanded adapts a release of marginals that is fitted on demand. As it is, it has the
// unbiased estimate of the queries on the columns of a measured marginal.
type demanded struct {
	fitted
	fits *marginals.OnDemand
}

// over returns what answers q, a query of the release, in a statement that asks about the
// given columns of the release, and the query that it answers.
func (d demanded) over(ctx context.Context, q query.Query, statement []int, simulated bool) (fitted, query.Query, error) {
	r, columns, err := d.fits.Over(ctx, q.Columns(), statement, simulated)
	if err != nil || columns == nil {
		return d.fitted, q, err
	}
	q, ok := q.Project(columns)
	if !ok {
		return fitted{}, q, sqlerr.New(sqlerr.Internal, "a fit lacks a column of the query")
	}
	names := make([]string, len(columns))
	for i, c := range r.Universe().Columns() {
		names[i] = c.Name
	}
	return fitted{r, d.shape + " over " + strings.Join(names, ", ")}, q, nil
}

// fittedCells adapts an identity release whose cells have a fitted table. The table
// answers. The proven interval lies around the cells' own answer, which need not be near it.
type fittedCells struct {
	Sketch
	fit     *marginals.Release
	chooses bool // the table answers only where it is predicted to err less than the cells
}

func (f fittedCells) Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	own, err := f.Sketch.Evaluate(ctx, q, confidence)
	if err != nil {
		return Estimate{}, err
	}
	if f.chooses {
		better, err := f.betterFitted(q)
		if err != nil || !better {
			return own, err
		}
	}
	a, err := f.fit.Answer(ctx, q, confidence)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Value: a.Value, Error: own.Error.Plus(float64(own.Value - a.Value)), Verified: true}
	e.simulated = simulatedBy(f.fit, q, func(confidence float64) (Estimate, error) { return f.Evaluate(ctx, q, confidence) })
	return e, nil
}

// betterFitted compares the predicted errors of the two answers to a query: that of the
// simulations with the exact standard deviation of the sum of noise. Both are public, and
// neither is about the noise in the answer.
func (f fittedCells) betterFitted(q query.Query) (bool, error) {
	fit, err := f.fit.SimulatedError(q)
	return fit*fit < f.Params().Law.Variance()*q.SumSquares(), err
}

func (f fittedCells) unbiased(ctx context.Context, q query.Query, confidence float64) (Estimate, error) {
	return f.Sketch.Evaluate(ctx, q, confidence)
}

// twofold is a release with a fitted answer and an unbiased one, which have one interval
// in common. The fitted answer mostly errs less, and the unbiased one has the lesser margin,
// since it is the middle.
type twofold interface {
	unbiased(ctx context.Context, q query.Query, confidence float64) (Estimate, error)
}

// evaluate returns the release's answer. If that of a fit is not within the accuracy asked
// for, and the unbiased one is, it returns the latter, so that nothing is bought which the
// release can answer.
func evaluate(ctx context.Context, a Loaded, q query.Query, s Settings) (Estimate, error) {
	ask := a.Evaluate
	e, err := ask(ctx, q, s.Confidence)
	if two, ok := a.(twofold); ok && err == nil && s.Accuracy > 0 && !(e.Verified && e.Error.Reach() <= s.Accuracy) {
		middle, err := two.unbiased(ctx, q, s.Confidence)
		if err != nil {
			return e, err
		}
		if middle.Verified && middle.Error.Reach() <= s.Accuracy {
			e, ask = middle, two.unbiased
		}
	}
	e.at = func(confidence float64) (post.Interval, error) {
		other, err := ask(ctx, q, confidence)
		return other.Error, err
	}
	return e, err
}

// simulatedBy returns a function for the errors that simulations suggest for a query. They
// reach no further than the proven ones of the same answer: where a proven interval is
// narrower, it is within what is returned.
func simulatedBy(fit *marginals.Release, q query.Query, proven func(confidence float64) (Estimate, error)) func(confidence float64) (post.Interval, bool) {
	return func(confidence float64) (post.Interval, bool) {
		m, err := fit.SimulatedMargin(q, confidence)
		if err != nil {
			return post.Interval{}, false
		}
		e, err := proven(confidence)
		return post.Within(min(math.Floor(m), e.Error.Reach())), err == nil
	}
}

// learned adapts a release built by SMW. Its margins are known in advance.
type learned struct{ *released.Hypothesis }

func (l learned) Evaluate(_ context.Context, q query.Query, confidence float64) (e Estimate, err error) {
	if e.Value, err = l.Estimate(q); err != nil {
		return e, err
	}
	margin, known, err := l.Margin(q, confidence)
	e.Error, e.Verified = post.Within(margin), known
	return e, err
}

func (l learned) note() string { return "" }

func (l learned) predict(q query.Query, confidence float64) (float64, bool, error) {
	return l.Margin(q, confidence)
}

// releaseCache keeps the releases that were used. A release never changes and its id is
// never used again, so no entry goes stale.
type releaseCache struct {
	mu   sync.Mutex
	byID map[int64]Loaded
}

// Load returns a release. Its first use reads it from the catalog.
func (db *Database) Load(ctx context.Context, t *view.Table, r *catalog.Release) (Loaded, error) {
	all, err := db.loadAll(ctx, t, []*catalog.Release{r})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// loadAll returns several releases of a table. Those that were not used before are read in one
// transaction.
func (db *Database) loadAll(ctx context.Context, t *view.Table, releases []*catalog.Release) ([]Loaded, error) {
	if db.rehearsed != nil { // the copy has no payloads
		db = db.rehearsed.Original
	}
	c := &db.releases
	c.mu.Lock()
	defer c.mu.Unlock()
	loaded := make([]Loaded, len(releases))
	missing := 0
	for i, r := range releases {
		if loaded[i] = c.byID[r.ID]; loaded[i] == nil {
			missing++
		}
	}
	if missing == 0 {
		return loaded, nil
	}
	if c.byID == nil {
		c.byID = make(map[int64]Loaded)
	}
	err := db.store.Read(ctx, func(tx *catalog.Tx) error {
		all, err := tx.Releases(t.ID)
		if err != nil {
			return err
		}
		there := make(map[int64]bool, len(all))
		for i := range all {
			there[all[i].ID] = true
		}
		for i, r := range releases {
			if loaded[i] != nil {
				continue
			}
			if !there[r.ID] {
				return sqlerr.New(sqlerr.Unknown, "release %s was dropped meanwhile", r.Name)
			}
			payload, err := tx.ReleasePayload(r)
			if err != nil {
				return err
			}
			of := t
			if in, ok := db.within(Request{Table: t, Query: query.None(t.Universe)}, r.Span); ok {
				of = in.Table
			}
			if loaded[i], err = decode(of.Over(r.Columns), r, payload); err != nil {
				return err
			}
			c.byID[r.ID] = loaded[i]
		}
		return nil
	})
	return loaded, err
}

// Marginals returns the sets of columns whose marginals a release measured, each by its places
// among the release's columns, and nil for a release of another kind.
func (db *Database) Marginals(ctx context.Context, t *view.Table, r *catalog.Release) ([][]int, error) {
	a, err := db.Load(ctx, t, r)
	if err != nil {
		return nil, err
	}
	if measured, ok := a.(interface{ Params() marginals.Params }); ok {
		return measured.Params().Sets, nil
	}
	return nil, nil
}

func decode(u *query.Universe, r *catalog.Release, payload []byte) (Loaded, error) {
	switch r.Using {
	case "smw":
		h, err := released.DecodeHypothesis(u, payload)
		return learned{h}, err
	case "marginals":
		var shape string
		var p released.MarginalsAbout
		if json.Unmarshal(r.Params, &p) == nil { // only for people
			shape = p.Shape()
		}
		if marginals.IsOnDemand(payload) {
			release, err := marginals.UnmarshalOnDemand(u, payload)
			if err != nil {
				return nil, err
			}
			return demanded{fitted{release.Exact(), shape}, release}, nil
		}
		release, err := marginals.Unmarshal(u, payload)
		return fitted{release, shape}, err
	}
	release, fit, err := released.DecodeProjection(u, payload)
	if err != nil {
		return nil, err
	}
	sketch := Sketch{Release: release}
	var p released.ReleaseAbout
	if json.Unmarshal(r.Params, &p) == nil {
		sketch.shape = p.Shape()
	} else if fit != nil {
		return nil, sqlerr.New(sqlerr.Corrupt, "what is stored about release %s cannot be read", r.Name)
	}
	if fit != nil {
		return fittedCells{sketch, fit, p.Chooses}, nil
	}
	return sketch, nil
}

// evaluatedSupport is the largest m for which planning evaluates a release, in about ten
// microseconds. Its margin is then known and not only predicted.
const evaluatedSupport = 1 << 12

// fromRelease returns the candidate of a release. Its answers cost nothing: a release is
// public, and was paid for when it was built.
func (db *Database) fromRelease(ctx context.Context, r Request, rel *catalog.Release) (Candidate, error) {
	c := Candidate{Origin: fromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns}
	see := released.Project(r.Query, rel.Columns)
	if rel.Using != "marginals" {
		see = released.Cover(r.Query, rel.Columns, rel.MaxSupport)
	}
	c.support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	if waits(rel) {
		c.Refusal = interrupted(r, rel)
		return c, nil
	}
	a, err := db.Load(ctx, r.Table, rel)
	if err != nil {
		return c.failed(err)
	}
	if f, ok := a.(interface{ Universe() *query.Universe }); ok && rel.Using == "marginals" {
		see = see.Over(f.Universe())
		c.support = see.Size
		if c.Refusal = see.Refusal; c.Refusal != "" {
			return c, nil
		}
	}
	shows := r.Settings.Margins == Simulated
	compares := shows || r.Explaining // EXPLAIN has both kinds, but simulates nothing for it
	if d, ok := a.(demanded); ok && c.Allowed(r.Settings.Mechanism) {
		compares = shows
		if a, see.Query, err = d.over(ctx, see.Query, standing(r.statement(), rel.Columns), shows); err != nil {
			return c.failed(err)
		}
	}
	c.Note = a.note()
	c.Answer = func(ctx context.Context) (reply, error) {
		e, err := evaluate(ctx, a, see.Query, r.Settings)
		return reply{Estimate: e}, err
	}
	_, few := see.Query.SizeWithin(evaluatedSupport)
	switch a.(type) {
	case fitted, fittedCells: // how far the fit is from the unbiased answer is in the margin
		few = true
	}
	if c.Allowed(r.Settings.Mechanism) && (few || r.Settings.Accuracy > 0) {
		var e Estimate
		e, err = evaluate(ctx, a, see.Query, r.Settings)
		c.Margin, c.Known = e.Error.Reach(), e.Verified
		if e.simulated != nil && compares {
			by, _ := e.simulated(r.Settings.Confidence)
			c.simulated, c.shows = by.Reach(), shows
		}
		c.Answer = answeredBy(e)
	} else {
		c.Margin, c.Known, err = a.predict(see.Query, r.Settings.Confidence)
	}
	if err != nil {
		return c.failed(err)
	}
	if !c.Known {
		c.Note = "no error bar for this query: unverified"
		if !r.Settings.Unverified {
			c.Refusal = "no error bar for this query, and SET unverified = off"
		}
	}
	return c, nil
}

// standing returns where columns of a table stand among those of a release; nil means all.
// Others it leaves out.
func standing(columns, release []int) (out []int) {
	if release == nil {
		return columns
	}
	for i, c := range release {
		if slices.Contains(columns, c) {
			out = append(out, i)
		}
	}
	return out
}

// maxMemo bounds the size of a memo, which is emptied when it is full.
const maxMemo = 4096

// memo caches the results of a pure function that is slow compared with a query, such as
// the half-widths and prices of noise laws. The zero value is empty.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

func (m *memo[K, V]) get(key K, compute func() V) V {
	m.mu.Lock()
	v, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return v
	}
	v = compute()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMemo {
		m.known = make(map[K]V)
	}
	m.known[key] = v
	return v
}
