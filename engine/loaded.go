package engine

import (
	"context"
	"math"
	"sync"

	"dpsql/catalog"
	"dpsql/mechanisms/projection"
	"dpsql/query"
	"dpsql/sqlerr"
)

// answerer is a release in memory. The margin is a half-width in counts; known
// is false where the release promises none for the query.
type answerer interface {
	Estimate(q query.Query) (int64, error)
	Margin(q query.Query, confidence float64) (margin float64, known bool, err error)
}

// sketch adapts a projection release: it has a margin for every query, which
// it rounds down. Estimates and counts are integers, so an error within a
// half-width is within its integer part.
type sketch struct{ *projection.Release }

func (s sketch) Margin(q query.Query, confidence float64) (float64, bool, error) {
	m, err := s.Release.Margin(q, confidence)
	return math.Floor(m), true, err
}

// releaseCache keeps releases that were used once. A release never changes and
// its id is never used again, so nothing in it goes stale.
type releaseCache struct {
	mu   sync.Mutex
	byID map[int64]answerer
}

// load returns a release, reading it from the catalog at its first use.
func (db *DB) load(ctx context.Context, t *table, r *catalog.Release) (answerer, error) {
	c := &db.releases
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.byID[r.ID]; ok {
		return a, nil
	}
	var payload []byte
	err := db.store.Read(ctx, func(tx *catalog.Tx) error {
		var err error
		if current, err := tx.Release(r.Name); err != nil || current == nil || current.ID != r.ID {
			return firstError(err, sqlerr.New(sqlerr.Unknown, "release %s was dropped meanwhile", r.Name))
		}
		payload, err = tx.ReleasePayload(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	a, err := decode(t.over(r.Columns), r, payload)
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
		return decodeHypothesis(u, payload)
	}
	release, err := projection.Unmarshal(u, payload)
	return sketch{release}, err
}

// fromRelease is the candidate of a release. What it says is public and paid
// for, so it costs nothing.
func (db *DB) fromRelease(ctx context.Context, r request, rel *catalog.Release) (candidate, error) {
	c := candidate{name: rel.Name, kind: rel.Using, columns: columnNames(r.table, rel.Columns)}
	see := cover(r.query, rel.Columns, rel.MaxSupport)
	c.support = see.size
	if c.refusal = see.refusal; c.refusal != "" {
		return c, nil
	}
	a, err := db.load(ctx, r.table, rel)
	if err == nil {
		c.margin, c.known, err = a.Margin(see.query, r.settings.Confidence)
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
	c.answer = func(context.Context) (estimate, error) {
		value, err := a.Estimate(see.query)
		return estimate{value: value, margin: c.margin, verified: c.known, at: func(confidence float64) (float64, error) {
			m, _, err := a.Margin(see.query, confidence)
			return m, err
		}}, err
	}
	return c, nil
}
