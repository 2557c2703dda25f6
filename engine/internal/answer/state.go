package answer

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/places"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/query"
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
	prices   memo[direct.Request, price]
	params   memo[string, paramsResult] // parameters of mechanisms, by their stored text

	universes memo[partKey, *query.Universe] // of some periods of a table
	Live      *LiveMechanisms
	turns     slots.Schedule // of statements whose answers are held
	compiling *places.Places // of statements that take long to compile, and much memory
}

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
	return &Database{store: store, rows: from, desk: desk, Live: newLiveMechanisms(busy), compiling: &places.Places{All: 2, Each: 1}}
}

// Rehearse returns a Database that answers from a copy of the catalog.
func (db *Database) Rehearse(copied *catalog.Store, from *rows.Reader, desk *pay.Desk, unbuilt map[Unbuilt]kind.Forecast) *Database {
	return &Database{store: copied, rows: from, desk: desk, Live: db.Live, compiling: db.compiling, rehearsed: &Rehearsed{db, unbuilt}}
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
	mu    sync.RWMutex
	byKey map[answerKey][]catalog.Answer
}

func (m *answerMemory) find(r Request) []catalog.Answer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.byKey) == 0 {
		return nil
	}
	return m.byKey[keyOf(r)]
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

func (m *answerMemory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.byKey)
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
	Patience time.Duration // how long to wait for the turn
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
