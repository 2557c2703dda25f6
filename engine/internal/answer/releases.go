package answer

import (
	"context"
	"slices"
	"sync"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
)

// releaseCache keeps the releases that were used. A release never changes and its id is
// never used again, so no entry goes stale.
type releaseCache struct {
	mu   sync.Mutex
	byID map[int64]released.Answers
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

// evaluatedSupport is the largest m for which planning evaluates a release, in about ten
// microseconds. Its margin is then known and not only predicted.
const evaluatedSupport = 1 << 12

// fromRelease returns the candidate of a release. Its answers cost nothing: a release is
// public, and was paid for when it was built.
func (db *Database) fromRelease(ctx context.Context, r Request, rel *catalog.Release) (released.Candidate, error) {
	c := released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns}
	see := kind.Of(rel.Using).Cover(r.Query, rel.Columns, rel.MaxSupport)
	c.Support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	if waits(rel) {
		c.Refusal = interrupted(r, rel)
		return c, nil
	}
	a, err := db.Load(ctx, r.Table, rel)
	if err != nil {
		return c.Failed(err)
	}
	see = a.Cover(see)
	c.Support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	shows := r.Settings.Margins == released.Simulated
	compares := shows || r.Explaining // EXPLAIN has both kinds, but simulates nothing for it
	if c.Allowed(r.Settings.Mechanism) {
		asked := func() []int { return standing(r.statement(), rel.Columns) }
		if a, see.Query, err = a.Over(ctx, see.Query, asked, shows); err != nil {
			return c.Failed(err)
		}
	}
	c.Note = a.Note()
	c.Answer = func(ctx context.Context) (released.Estimate, error) {
		return released.Evaluate(ctx, a, see.Query, r.Settings)
	}
	_, few := see.Query.SizeWithin(evaluatedSupport)
	if c.Allowed(r.Settings.Mechanism) && (few || a.Shifts() || r.Settings.Accuracy > 0) {
		var e released.Estimate
		e, err = released.Evaluate(ctx, a, see.Query, r.Settings)
		c.Margin, c.Known = e.Error.Reach(), e.Verified
		if e.Simulated != nil && compares {
			by, _ := e.Simulated(r.Settings.Confidence)
			c.Simulated, c.Shows = by.Reach(), shows
		}
		c.Answer = answeredBy(e)
	} else {
		c.Margin, c.Known, err = a.Predict(see.Query, r.Settings.Confidence)
	}
	if err != nil {
		return c.Failed(err)
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
