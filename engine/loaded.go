package engine

import (
	"context"
	"encoding/json"
	"math"
	"sync"

	"dpsql/catalog"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/projection"
	"dpsql/query"
	"dpsql/sqlerr"
)

// answerer is a release in memory.
type answerer interface {
	// answer evaluates a query and its margin, in one pass.
	answer(ctx context.Context, q query.Query, confidence float64) (estimate, error)
	// predict returns the margin that the answer can be expected to have, a
	// half-width in counts, without evaluating anything; known is false where the
	// release promises none for the query.
	predict(q query.Query, confidence float64) (margin float64, known bool, err error)
	// note says in EXPLAIN what was chosen for the release.
	note() string
}

// sketch adapts a projection release: it has a margin for every query, which
// it rounds down. Estimates and counts are integers, so an error within a
// half-width is within its integer part.
type sketch struct {
	*projection.Release
	shape string
}

func (s sketch) answer(ctx context.Context, q query.Query, confidence float64) (estimate, error) {
	a, err := s.Answer(ctx, q, confidence)
	return estimate{value: a.Value, margin: math.Floor(a.Margin), verified: true}, err
}

func (s sketch) note() string { return s.shape }

func (s sketch) predict(q query.Query, confidence float64) (float64, bool, error) {
	m, err := s.Predict(q, confidence)
	return math.Floor(m), true, err
}

// learned adapts a release built by SMW, whose margins are known beforehand.
type learned struct{ *stored.Hypothesis }

func (l learned) answer(_ context.Context, q query.Query, confidence float64) (e estimate, err error) {
	if e.value, err = l.Estimate(q); err == nil {
		e.margin, e.verified, err = l.Margin(q, confidence)
	}
	return e, err
}

func (l learned) note() string { return "" }

func (l learned) predict(q query.Query, confidence float64) (float64, bool, error) {
	return l.Margin(q, confidence)
}

// releaseCache keeps releases that were used once. A release never changes and
// its id is never used again, so nothing in it goes stale.
type releaseCache struct {
	mu   sync.Mutex
	byID map[int64]answerer
}

// load returns a release, reading it from the catalog at its first use.
func (db *DB) load(ctx context.Context, t *view.Table, r *catalog.Release) (answerer, error) {
	if db.rehearsal != nil { // whose copy has no payloads
		db = db.rehearsal.s.db
	}
	c := &db.releases
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.byID[r.ID]; ok {
		return a, nil
	}
	var payload []byte
	err := db.store.Read(ctx, func(tx *catalog.Tx) error {
		current, err := tx.Release(r.Name)
		if err != nil {
			return err
		}
		if current == nil || current.ID != r.ID {
			return sqlerr.New(sqlerr.Unknown, "release %s was dropped meanwhile", r.Name)
		}
		payload, err = tx.ReleasePayload(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	a, err := decode(t.Over(r.Columns), r, payload)
	if err != nil {
		return nil, err
	}
	if c.byID == nil {
		c.byID = make(map[int64]answerer)
	}
	c.byID[r.ID] = a
	return a, nil
}

func decode(u *query.Universe, r *catalog.Release, payload []byte) (answerer, error) {
	if r.Using == "smw" {
		h, err := stored.DecodeHypothesis(u, payload)
		return learned{h}, err
	}
	release, err := projection.Unmarshal(u, payload)
	var p stored.ReleaseAbout
	if json.Unmarshal(r.Params, &p) != nil { // it is for people only
		return sketch{release, ""}, err
	}
	return sketch{release, p.Shape()}, err
}

// evaluatedSupport is m up to which a release is evaluated while planning, in
// some ten microseconds, so that its margin is not predicted but known.
const evaluatedSupport = 1 << 12

// fromRelease is the candidate of a release. What it says is public and paid
// for, so it costs nothing.
func (db *DB) fromRelease(ctx context.Context, r request, rel *catalog.Release) (candidate, error) {
	c := candidate{origin: fromRelease, name: rel.Name, kind: rel.Using, columns: rel.Columns}
	see := view.Cover(r.query, rel.Columns, rel.MaxSupport)
	c.support = see.Size
	if c.refusal = see.Refusal; c.refusal != "" {
		return c, nil
	}
	a, err := db.load(ctx, r.table, rel)
	if err != nil {
		return c.failed(err)
	}
	c.note = a.note()
	evaluate := func(ctx context.Context) (estimate, error) {
		e, err := a.answer(ctx, see.Query, r.settings.Confidence)
		e.at = func(confidence float64) (float64, error) {
			other, err := a.answer(ctx, see.Query, confidence)
			return other.margin, err
		}
		return e, err
	}
	c.answer = func(ctx context.Context) (reply, error) {
		e, err := evaluate(ctx)
		return reply{estimate: e}, err
	}
	_, few := see.Query.SizeWithin(evaluatedSupport)
	if c.allowed(r.settings.Mechanism) && (few || r.settings.Accuracy > 0) {
		var e estimate
		e, err = evaluate(ctx)
		c.margin, c.known = e.margin, e.verified
		c.answer = answeredBy(e)
	} else {
		c.margin, c.known, err = a.predict(see.Query, r.settings.Confidence)
	}
	if err != nil {
		return c.failed(err)
	}
	if !c.known {
		c.note = "no error bar for this query: unverified"
		if !r.settings.Unverified {
			c.refusal = "no error bar for this query, and SET unverified = off"
		}
	}
	return c, nil
}
