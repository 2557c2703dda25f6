package answer

import (
	"context"
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

// releaseOf returns a release for its candidate to a request.
func (db *Database) releaseOf(r Request, rel *catalog.Release) released.Release {
	out := released.Release{Kind: kind.Of(rel.Using), Name: rel.Name, Columns: rel.Columns, MaxSupport: rel.MaxSupport,
		Load: func(ctx context.Context) (released.Answers, error) { return db.Load(ctx, r.Table, rel) }}
	if waits(rel) {
		out.Waits = interrupted(r, rel)
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
