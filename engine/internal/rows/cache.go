package rows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/noise/coin"
	"dpsql/query"
	"dpsql/source"
)

// Cache keeps the counts of occupied cells in memory, so that counting a query takes a few look-ups. The counts are private. They
// appear in no result; only the time of a query shows whether they are used.
//
// Cells are loaded when it pays: once the counts pushed down to SQLite since the last load took as long as a load would. So the
// total time is at most about twice that of perfect foresight. Cells serve only while nothing outside the catalog was committed
// since they were read. They are not loaded in a slot, see Snapshot.Steady. Rows outside the file have no such mark, so the
// database counts them every time. BenchmarkDirectScript asks direct answers one after the other.
type Cache struct {
	Mu    sync.Mutex
	byKey map[CellsKey]*Cells
	Held  int // number of cells held, over all keys
}

// CellsKey names a table and the columns that cells are over.
type CellsKey struct {
	table   int64
	part    period.Range // the periods that count
	columns string
}

// Cells is the state of one key. The cache's Mu guards it.
type Cells struct {
	Histogram *source.Histogram   // nil if not loaded
	at        catalog.RowsVersion // the version that was read
	checked   catalog.Version     // the file's version when the source was last found unchanged
	bases     []string            // the tables that the source read then
	Spent     time.Duration       // spent on push-down since the last load or attempt to load
	Price     time.Duration       // the time of the last load; 0 before the first
	loading   bool
}

const (
	maxCells  = 1 << 22 // cells of one key, 64 MiB; loading takes three times that
	mostCells = 1 << 23 // cells of all keys together
	perLoad   = 20 * time.Millisecond
	perRow    = 2500             // nanoseconds to load a row, until one is measured
	manyRows  = 1_000_000        // assumed if not even a noisy number is known
	maxProbes = 1 << 18          // elements looked up one by one if cells have no codes
	overflow  = 10 * time.Minute // the price of loading after the cells turned out too many
)

// KeyOfCells returns the key of a table, which may be cut to some periods, and columns. Nil means all columns.
func KeyOfCells(t *view.Table, columns []int) CellsKey {
	return CellsKey{t.ID, t.Part, fmt.Sprint(columns)}
}

// Get returns the state of a key. The caller must hold the cache's lock.
func (c *Cache) Get(k CellsKey) *Cells {
	if c.byKey == nil {
		c.byKey = make(map[CellsKey]*Cells)
	}
	if c.byKey[k] == nil {
		c.byKey[k] = &Cells{}
	}
	return c.byKey[k]
}

// NoteWork adds the time that a count in the database took.
func (c *Cache) NoteWork(k CellsKey, took time.Duration) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Get(k).Spent += took
}

// currentCells returns the cells as they are now, and loads them if that pays. Nil means that SQLite should count. Several
// queries read their cells in any case, which are kept.
func (r reading) currentCells(ctx context.Context, columns []int, queries []query.Query) (*source.Histogram, error) {
	t, coded := r.table, queries[0].Universe().Coded()
	if !coded && !probed(queries) {
		return nil, nil
	}
	c, k := &r.reader.Cache, KeyOfCells(t, columns)
	c.Mu.Lock()
	s := *c.Get(k)
	c.Mu.Unlock()
	mayLoad := !r.steady && (s.pays(t) || len(queries) > 1 && coded && !t.HasPeriods() && s.Price < overflow)
	if s.Histogram == nil && !mayLoad {
		return nil, nil
	}
	at, file, err := r.reader.store.RowsVersion(ctx)
	if err != nil || !at.Known() {
		return nil, err
	}
	if s.Histogram == nil || s.at != at {
		c.drop(k, s.Histogram)
		if mayLoad {
			return r.loadCells(ctx, columns, at)
		}
		return nil, nil
	}
	if s.checked == file {
		return s.Histogram, nil
	}
	return s.Histogram, r.recheck(ctx, k, s.bases, file)
}

// recheck refuses a source that changed, as reading its rows would. The result holds until the next commit. Nothing outside the
// catalog was committed since the cells were read. So only the tables that it reads are checked: each must still be covered.
func (r reading) recheck(ctx context.Context, k CellsKey, bases []string, file catalog.Version) error {
	bases, err := schemas.StillCovered(ctx, r.reader.store, r.table, bases)
	if err != nil {
		return err
	}
	c := &r.reader.Cache
	c.Mu.Lock()
	defer c.Mu.Unlock()
	s := c.Get(k)
	s.checked, s.bases = file, bases
	return nil
}

// overflows reports whether the cells of a key turned out too many.
func (c *Cache) overflows(k CellsKey) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Get(k).Price == overflow
}

// pays reports whether push-down has taken as long as loading would.
func (s *Cells) pays(t *view.Table) bool {
	price := s.Price
	if price == 0 {
		rows := int64(manyRows)
		if t.NHat != nil {
			rows = t.NHat.Value
		}
		price = perLoad + time.Duration(min(rows, 1e12))*perRow
	}
	return s.Spent >= price
}

// loadCells reads the cells on one snapshot, and keeps them if nothing was committed meanwhile. Others push down then.
func (r reading) loadCells(ctx context.Context, columns []int, before catalog.RowsVersion) (*source.Histogram, error) {
	t := r.table
	c, k := &r.reader.Cache, KeyOfCells(t, columns)
	if !c.begin(k) {
		return nil, nil
	}
	var key [16]byte
	if err := coin.NewSource().Bytes(key[:]); err != nil {
		c.end(k, nil, before, 0)
		return nil, pay.ErrRandom()
	}
	start := time.Now()
	h, err := r.cells(ctx, columns, query.NewCoder(t.Over(columns), key), maxCells, false, nil)
	if errors.Is(err, source.ErrTooManyCells) {
		c.end(k, nil, before, overflow)
		return nil, nil
	}
	price := time.Since(start)
	if err != nil {
		c.end(k, nil, before, 0)
		return nil, err
	}
	after, _, err := r.reader.store.RowsVersion(ctx)
	if err != nil || after != before {
		c.end(k, nil, before, price)
		return h, err // the counts serve this statement and no later one
	}
	c.end(k, h, before, price)
	return h, nil
}

func (c *Cache) begin(k CellsKey) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	s := c.Get(k)
	if s.loading {
		return false
	}
	s.loading = true
	return true
}

// end keeps the cells that were loaded. If the cache holds too many, it drops all others.
func (c *Cache) end(k CellsKey, h *source.Histogram, at catalog.RowsVersion, price time.Duration) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	s := c.Get(k)
	s.loading, s.Spent = false, 0
	if price > 0 {
		s.Price = price
	}
	if h == nil {
		return
	}
	if c.Held+h.Len() > mostCells {
		for _, other := range c.byKey {
			other.Histogram = nil
		}
		c.Held = 0
	}
	c.Held += h.Len()
	s.Histogram, s.at, s.checked, s.bases = h, at, catalog.Version{}, nil
}

// drop forgets cells that are out of date.
func (c *Cache) drop(k CellsKey, stale *source.Histogram) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if s := c.Get(k); s.Histogram == stale && stale != nil {
		c.Held -= stale.Len()
		s.Histogram = nil
	}
}

// count returns the counts of queries. narrow are the same over the columns; see Snapshot.Count.
func (r reading) count(ctx context.Context, queries []query.Query, columns []int, narrow []query.Query) ([]int64, error) {
	if r.outside != nil {
		return r.countNow(ctx, queries)
	}
	h, err := r.currentCells(ctx, columns, narrow)
	if err != nil {
		return nil, err
	}
	if h != nil {
		if counts, ok := countIn(h, narrow); ok {
			return counts, nil
		}
	}
	start := time.Now()
	counts, err := r.countNow(ctx, queries)
	r.reader.Cache.NoteWork(KeyOfCells(r.table, columns), time.Since(start))
	return counts, err
}

// countIn counts queries in cells. It returns false if that takes too long.
func countIn(h *source.Histogram, queries []query.Query) (counts []int64, ok bool) {
	for _, q := range queries {
		n, ok := h.Count(q)
		if !ok {
			return nil, false
		}
		counts = append(counts, n)
	}
	return counts, true
}

// Forget drops all counts in memory, and what they took.
func (r *Reader) Forget() {
	r.Cache.Mu.Lock()
	defer r.Cache.Mu.Unlock()
	r.Cache.byKey, r.Cache.Held = nil, 0
}
