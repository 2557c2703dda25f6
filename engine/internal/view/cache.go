package view

import (
	"context"
	"path/filepath"
	"sync"

	"dpsql/catalog"
)

// Cache keeps the last view of the catalog while nothing was committed to
// the file. A view in it is shared, and never changed.
type Cache struct {
	mu   sync.Mutex
	at   catalog.Version
	view *View
}

// Current returns the public catalog as it is now: the last view if nothing was committed
// since, by any process, and otherwise a new one. Callers must not change it.
func (c *Cache) Current(ctx context.Context, store *catalog.Store) (*View, error) {
	before, err := store.Version(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	at, v := c.at, c.view
	c.mu.Unlock()
	if before.Known() && at == before {
		return v, nil
	}
	err = store.Read(ctx, func(tx *catalog.Tx) error {
		var err error
		if v, err = Read(tx); err != nil {
			return err
		}
		if len(v.Tables) == 0 && store.Missing() {
			v.missing = filepath.Base(store.Path())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if before.Known() { // what was read is not older than that
		c.keep(before, v)
	}
	return v, nil
}

// keep keeps a view that is of a version of the file or of a later one.
func (c *Cache) keep(at catalog.Version, v *View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.view = at, v
}
