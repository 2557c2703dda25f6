package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/noise"
	"dpsql/query"
	"dpsql/source"
)

// cellCache keeps the counts of occupied cells in memory, so that the true
// count of a query is a few look-ups. What it holds is private: it is no part of
// any result, and whether it is used shows in nothing but the time.
//
// Cells are loaded when it pays: once the counts pushed down to SQLite since the
// last time took as long as loading would, so that never more than about twice
// the time is spent that would have been with foresight. They serve only while
// nothing outside the catalog was committed since they were read. Rows outside
// the file have no such mark: they are counted where they are, every time.
type cellCache struct {
	mu    sync.Mutex
	byKey map[cellsKey]*cells
	held  int // cells of all
}

// cellsKey names a table and the columns that cells are over.
type cellsKey struct {
	table   int64
	columns string
}

// cells is the state of one key. The cache's mu guards it.
type cells struct {
	histogram *source.Histogram   // nil while none is loaded
	at        catalog.RowsVersion // of what was read
	checked   catalog.Version     // of the file when the source was last found unchanged
	bases     []string            // that it read then
	spent     time.Duration       // on push-down since the last load, or attempt to
	price     time.Duration       // of the last load; 0 before the first
	loading   bool
}

const (
	maxCells  = 1 << 22 // of one table and columns, 64 MiB; loading takes three times that
	mostCells = 1 << 23 // of all together
	perLoad   = 20 * time.Millisecond
	perRow    = 2500             // nanoseconds to load a row, while nothing better is known
	manyRows  = 1_000_000        // assumed, where not even a noisy number is known
	maxProbes = 1 << 18          // elements looked up one by one, where cells have no codes
	overflow  = 10 * time.Minute // the price of loading what turned out too large
)

func keyOfCells(t *view.Table, columns []int) cellsKey { return cellsKey{t.ID, fmt.Sprint(columns)} }

// get returns the state of a key. The cache is locked.
func (c *cellCache) get(k cellsKey) *cells {
	if c.byKey == nil {
		c.byKey = make(map[cellsKey]*cells)
	}
	if c.byKey[k] == nil {
		c.byKey[k] = &cells{}
	}
	return c.byKey[k]
}

func (c *cellCache) noteWork(k cellsKey, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.get(k).spent += took
}

// currentCells returns the cells as they are now, loading them if that pays;
// nil where SQLite should count.
func (sn *snapshot) currentCells(ctx context.Context, columns []int, q query.Query) (*source.Histogram, error) {
	db, t := sn.db, sn.table
	if !q.Universe().Coded() {
		if _, ok := q.SizeWithin(maxProbes); !ok {
			return nil, nil
		}
	}
	c, k := &db.cellCache, keyOfCells(t, columns)
	c.mu.Lock()
	s := *c.get(k)
	c.mu.Unlock()
	if s.histogram == nil && !s.pays(t) {
		return nil, nil
	}
	at, file, err := db.store.RowsVersion(ctx)
	if err != nil || !at.Known() {
		return nil, err
	}
	if s.histogram == nil || s.at != at {
		c.drop(k, s.histogram)
		if s.pays(t) {
			return sn.loadCells(ctx, columns, at)
		}
		return nil, nil
	}
	if s.checked == file {
		return s.histogram, nil
	}
	return s.histogram, db.recheck(ctx, t, k, s.bases, file)
}

// recheck refuses a source that changed, as reading its rows would. What it
// finds holds until the next commit. Nothing outside the catalog was committed
// since the cells were read, so its schema is looked at once, and then only
// whether all tables it reads are still those of its budget or public.
func (db *DB) recheck(ctx context.Context, t *view.Table, k cellsKey, bases []string, file catalog.Version) error {
	bases, err := schemas.StillCovered(ctx, db.store, t, bases)
	if err != nil {
		return err
	}
	c := &db.cellCache
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.get(k)
	s.checked, s.bases = file, bases
	return nil
}

// pays reports whether push-down has taken as long as loading would.
func (s *cells) pays(t *view.Table) bool {
	price := s.price
	if price == 0 {
		rows := int64(manyRows)
		if t.NHat != nil {
			rows = t.NHat.Value
		}
		price = perLoad + time.Duration(min(rows, 1e12))*perRow
	}
	return !s.loading && s.spent >= price
}

// loadCells reads the cells on one snapshot, and keeps them if nothing was
// committed meanwhile. Others push down in the meantime.
func (sn *snapshot) loadCells(ctx context.Context, columns []int, before catalog.RowsVersion) (*source.Histogram, error) {
	db, t := sn.db, sn.table
	c, k := &db.cellCache, keyOfCells(t, columns)
	if !c.begin(k) {
		return nil, nil
	}
	var key [16]byte
	if err := noise.NewSource().Bytes(key[:]); err != nil {
		c.end(k, nil, before, 0)
		return nil, errRandom()
	}
	start := time.Now()
	h, err := sn.cells(ctx, columns, query.NewCoder(t.Over(columns), key), maxCells, nil)
	if errors.Is(err, source.ErrTooManyCells) {
		c.end(k, nil, before, overflow)
		return nil, nil
	}
	price := time.Since(start)
	if err != nil {
		c.end(k, nil, before, 0)
		return nil, err
	}
	after, _, err := db.store.RowsVersion(ctx)
	if err != nil || after != before {
		c.end(k, nil, before, price)
		return h, err // what it says is true of this statement, and of no later one
	}
	c.end(k, h, before, price)
	return h, nil
}

func (c *cellCache) begin(k cellsKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.get(k)
	if s.loading {
		return false
	}
	s.loading = true
	return true
}

// end keeps what was loaded, and lets go of everything else where that would be
// too much together.
func (c *cellCache) end(k cellsKey, h *source.Histogram, at catalog.RowsVersion, price time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.get(k)
	s.loading, s.spent = false, 0
	if price > 0 {
		s.price = price
	}
	if h == nil {
		return
	}
	if c.held+h.Len() > mostCells {
		for _, other := range c.byKey {
			other.histogram = nil
		}
		c.held = 0
	}
	c.held += h.Len()
	s.histogram, s.at, s.checked, s.bases = h, at, catalog.Version{}, nil
}

// drop lets go of cells that are not current any more.
func (c *cellCache) drop(k cellsKey, stale *source.Histogram) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.get(k); s.histogram == stale && stale != nil {
		c.held -= stale.Len()
		s.histogram = nil
	}
}

// clear lets go of everything, what was learned about times too.
func (c *cellCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey, c.held = nil, 0
}
