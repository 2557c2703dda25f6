package answer

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/places"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/noise/law"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
)

// Database answers the SELECTs of one open database. It caches releases, views and
// margins. It is safe for concurrent use.
type Database struct {
	store     *catalog.Store
	rows      *rows.Reader
	desk      *pay.Desk
	rehearsed *Rehearsed // nil except in a rehearsal

	views    view.Cache
	releases releaseCache
	margins  memo[kind.MarginKey, kind.MarginResult]
	params   memo[string, paramsResult] // parameters of mechanisms, by their stored text

	universes memo[partKey, *query.Universe] // of some periods of a table
	Live      *LiveMechanisms
	Works     *Works
	turns     slots.Schedule        // of statements whose answers are held
	compiling *places.Places[int64] // of statements that take long to compile, and much memory
	Functions schemas.Functions
}

// Works are the statements that run on a database, and the purchases that go on without theirs. It is safe for
// concurrent use.
type Works struct {
	life context.Context
	end  context.CancelFunc
	mu   sync.Mutex // no work begins while life ends
	all  sync.WaitGroup
}

func newWorks() *Works {
	w := new(Works)
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// Begin begins a work, which the caller ends. Its context ends when the database is closed. Errors: Closed.
func (w *Works) Begin(ctx context.Context) (during context.Context, end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.life.Err() != nil {
		return nil, nil, errClosed
	}
	w.all.Add(1)
	during, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.life, func() { cancel(errClosed) })
	return during, func() {
		stop()
		cancel(nil)
		w.all.Done()
	}, nil
}

// Close cancels every work, and waits until all have ended. What they charged and have not drawn for waits.
func (w *Works) Close() {
	w.mu.Lock()
	w.end()
	w.mu.Unlock()
	w.all.Wait()
}

var errClosed = sqlerr.New(sqlerr.Closed, "the database was closed")

// Rehearsed holds what a rehearsal knows in addition to its copy of the catalog.
type Rehearsed struct {
	Original *Database                 // the database that was copied
	Unbuilt  map[Unbuilt]kind.Forecast // the releases and mechanisms that the script creates; they are not built
}

// Unbuilt names a release or mechanism in the copy.
type Unbuilt struct {
	Object syntax.Object
	ID     int64
}

// NewDatabase returns a Database over a store. busy is how long to wait for another
// process. A query waits ten times as long for the queries before it.
func NewDatabase(store *catalog.Store, from *rows.Reader, desk *pay.Desk, busy time.Duration) *Database {
	return &Database{store: store, rows: from, desk: desk, Live: newLiveMechanisms(busy), Works: newWorks(), compiling: &places.Places[int64]{All: 2, Each: 1}}
}

// Rehearse returns a Database that answers from a copy of the catalog.
func (db *Database) Rehearse(copied *catalog.Store, from *rows.Reader, desk *pay.Desk, unbuilt map[Unbuilt]kind.Forecast) *Database {
	return &Database{store: copied, rows: from, desk: desk, Live: db.Live, Works: db.Works, compiling: db.compiling, Functions: db.Functions, rehearsed: &Rehearsed{db, unbuilt}}
}

// Current returns the public catalog as it is now, for a user what she may see of it; 0 is
// no user. Callers must not change it.
func (db *Database) Current(ctx context.Context, user int64) (*view.View, error) {
	return db.views.Current(ctx, db.store, user)
}

// Margin returns the half-width, in counts, of an answer. It follows from the answer's
// public parameters alone.
func (db *Database) Margin(of catalog.AnswerKind, law json.RawMessage, confidence float64) (float64, error) {
	key := kind.MarginKey{Kind: of, Law: string(law), Confidence: confidence}
	r := db.margins.get(key, func() kind.MarginResult { return kind.Margin(key) })
	return r.Width, r.Err
}

// Estimate returns an answer with its margin at the confidence asked for.
func (db *Database) Estimate(a catalog.Answer, margin float64) released.Estimate {
	return released.Estimate{Value: a.Estimate, Error: post.Within(margin), Verified: true,
		Variance: func() float64 { return varianceOf(a) },
		At: func(confidence float64) (post.Interval, error) {
			width, err := db.Margin(a.Kind, a.Law, confidence)
			return post.Within(width), err
		}}
}

// releaseCache keeps the releases that were used. A release never changes and its id is
// never used again, so no entry goes stale.
type releaseCache struct {
	mu   sync.Mutex
	byID map[int64]released.Answers
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

// price is the plan of a direct answer. ok is false if there is none.
type price struct {
	direct.Plan
	Possible bool
}

func (p price) cost() accounting.Amount { return accounting.Amount{Rho: accounting.Rho(p.Rho)} }

// partKey names some periods of a table, whose domains never change.
type partKey struct {
	table int64
	over  period.Range
}

// paramsResult is the parameters of a mechanism, or the error from reading them.
type paramsResult struct {
	params released.MechanismParams
	err    error
}

// answerMemory holds the unfired answers of the present lease. It saves a commit for each:
// they are stored when the lease is given back. A crash loses them together with their
// run.
type answerMemory struct {
	mu          sync.RWMutex
	byKey       map[answerKey][]catalog.Answer
	storedByNow map[answerKey][]catalog.Answer // of the lease before
}

// find returns the answers to a request, with those that were stored since it was found that none are.
func (m *answerMemory) find(r Request) (answers []catalog.Answer) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.byKey) > 0 {
		answers = m.byKey[keyOf(r)]
	}
	if r.fresh && len(m.storedByNow) > 0 {
		answers = slices.Concat(m.storedByNow[keyOf(r)], answers)
	}
	return answers
}

func (m *answerMemory) put(r Request, a catalog.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil {
		m.byKey = make(map[answerKey][]catalog.Answer)
	}
	m.byKey[keyOf(r)] = append(m.byKey[keyOf(r)], a)
}

// all returns the answers by mechanism.
func (m *answerMemory) all() map[int64][]catalog.Answer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make(map[int64][]catalog.Answer)
	for _, answers := range m.byKey {
		for _, a := range answers {
			out[a.MechanismID] = append(out[a.MechanismID], a)
		}
	}
	return out
}

// stored ends a lease whose answers are stored. Statements that began before still find them here.
func (m *answerMemory) stored() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byKey, m.storedByNow = nil, m.byKey
}

// LiveMechanisms holds the interactive mechanisms of this process. The lease makes this
// the only process that compares queries with their thresholds. The turn lets in one query
// at a time.
type LiveMechanisms struct {
	Turn     chan struct{} // holds one token while a query is inside
	Lease    *catalog.Lease
	taken    time.Time
	idle     *time.Timer
	byID     map[int64]*live
	memory   answerMemory
	yields   time.Time     // when the lease was last given back for other processes
	Patience time.Duration // how long a held statement waits for the turn
}

const (
	idleLease = 100 * time.Millisecond // an unused lease is given back after this time
	longLease = 500 * time.Millisecond // a used lease is given back after this time, for other processes
	yielding  = 10 * time.Millisecond  // the pause that other processes then get; they try every 2 ms
)

// newLiveMechanisms returns the state of a process that holds no lease. A query waits ten
// times as long for the queries before it as for another process.
func newLiveMechanisms(busy time.Duration) *LiveMechanisms {
	if busy == 0 {
		busy = catalog.DefaultBusyTimeout
	}
	return &LiveMechanisms{Turn: make(chan struct{}, 1), byID: make(map[int64]*live), Patience: 10 * max(0, busy)}
}

// Load returns a release. Its first use reads it from the catalog.
func (db *Database) Load(ctx context.Context, t *view.Table, r *catalog.Release) (released.Answers, error) {
	all, err := db.loadAll(ctx, t, []*catalog.Release{r})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// loadAll returns several releases of a table. Those that were not used before are read in one
// transaction.
func (db *Database) loadAll(ctx context.Context, t *view.Table, releases []*catalog.Release) ([]released.Answers, error) {
	if db.rehearsed != nil { // the copy has no payloads
		db = db.rehearsed.Original
	}
	c := &db.releases
	c.mu.Lock()
	defer c.mu.Unlock()
	loaded := make([]released.Answers, len(releases))
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
		c.byID = make(map[int64]released.Answers)
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
			if loaded[i], err = kind.Of(r.Using).Open(of.Over(r.Columns), r.Name, r.Params, payload); err != nil {
				return err
			}
			c.byID[r.ID] = loaded[i]
		}
		return nil
	})
	return loaded, err
}

// releaseOf returns a release for its candidate to a request.
func (db *Database) releaseOf(r Request, rel *catalog.Release) released.Release {
	out := released.Release{Kind: kind.Of(rel.Using), Name: rel.Name, Columns: rel.Columns, MaxSupport: rel.MaxSupport,
		Load: func(ctx context.Context) (released.Answers, error) { return db.Load(ctx, r.Table, rel) }}
	if waits(rel) {
		out.Waits = interrupted(r, rel)
	}
	return out
}

// unbuilt reports whether a release is one that a rehearsed script builds.
func (db *Database) unbuilt(r *catalog.Release) bool {
	if db.rehearsed == nil {
		return false
	}
	_, yes := db.rehearsed.Unbuilt[Unbuilt{syntax.Release, r.ID}]
	return yes
}

// waits reports whether a release answers nothing before it is finished.
func waits(r *catalog.Release) bool { return r.Unfinished() && !kind.Of(r.Using).AnswersUnfinished() }

// interrupted says that a release is unfinished, and which statement finishes it.
func interrupted(r Request, rel *catalog.Release) string {
	finish := "the same CREATE RELEASE"
	if r.template != nil {
		finish = view.RefreshPart(r.template, r.Table.Partition, rel.Span.First)
	}
	return "its build was interrupted: " + finish + " goes on with it, and costs nothing"
}

// candidate returns the candidate for a release or mechanism that the script creates.
// Whether it covers the query follows from its plan, and for some releases so does the
// margin. It returns false for a release or mechanism that existed before.
func (r *Rehearsed) candidate(q Request, key Unbuilt, name, using string, columns []int) (c released.Candidate, unbuilt bool, err error) {
	if r == nil {
		return c, false, nil
	}
	plan, ok := r.Unbuilt[key]
	if !ok {
		return c, false, nil
	}
	see := plan.Cover(q.Query)
	c = released.Candidate{Origin: released.FromScript, Name: name, Kind: using, Columns: columns, Support: see.Size, Refusal: see.Refusal, Note: plan.Outlined().Unclear}
	if c.Refusal != "" || c.Note != "" {
		return c, true, nil
	}
	if q.Table.Unclear(columns) == "" {
		p, err := plan.Predict(see.Query, q.Settings.Confidence)
		if err != nil {
			c, err = c.Failed(err)
			return c, true, err
		}
		c.Margin, c.Known = p.Margin, p.Known
	}
	c.Margin = math.Floor(c.Margin)
	if c.Note = "is created before: its error is known then"; c.Known {
		c.Note = "is created before: its error is predicted"
	}
	return c, true, nil
}

// ofRelease returns the candidate of a release for a count, also of one that a rehearsed script
// creates.
func (db *Database) ofRelease(ctx context.Context, r Request, rel *catalog.Release) (released.Candidate, error) {
	asOf := r.asOf(r.Table.Touched(r.Query), rel.CreatedAt)
	r, refusal := db.about(r, rel.Span)
	if refusal != "" {
		return released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns, Refusal: refusal}, nil
	}
	c, unbuilt, err := db.rehearsed.candidate(r, Unbuilt{syntax.Release, rel.ID}, rel.Name, rel.Using, rel.Columns)
	if unbuilt {
		return c, err
	}
	c, err = db.releaseOf(r, rel).Candidate(ctx, r.Query, r.Settings, r.Explaining, r.statement)
	return c.Dated(asOf), err
}

// storedAnswers returns the answers that are stored, and those that the present lease
// remembers. These come first: they may be stored in between.
func (db *Database) storedAnswers(ctx context.Context, r Request) ([]catalog.Answer, error) {
	remembered := db.Live.memory.find(r)
	if r.fresh {
		return remembered, nil
	}
	answers, err := db.store.Answers(ctx, r.Table.ID, r.text())
	return append(answers, remembered...), err
}

// estimate is Estimate for a direct answer to a request.
func (db *Database) estimate(r Request, a catalog.Answer, margin float64) released.Estimate {
	e := db.Estimate(a, margin)
	if r.centre != nil {
		e.Off = &r.centre.middle
	}
	return e
}

// varianceOf returns the σ² of a direct answer with Gaussian noise, and 0 of another.
func varianceOf(a catalog.Answer) float64 {
	var text string
	if a.Kind != catalog.AnswerDirect || json.Unmarshal(a.Law, &text) != nil {
		return 0
	}
	l, err := law.Parse(text)
	if g, ok := l.(*law.Gaussian); err == nil && ok {
		f, _ := g.Sigma2().Float64()
		return f
	}
	return 0
}
