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
	mu      sync.Mutex
	at      catalog.Version
	view    *View
	Answers AnswerKeys
}

// Current returns the public catalog as it is now: the last view, if there was
// no commit since, by this process or another; or one that is read. It must not
// be changed; declarations take a view of their own.
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
		v.Answers = &c.Answers
		return c.Answers.Follow(tx)
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

// maxAnswerKeys bounds the memory for keys of stored answers, about 40 bytes
// each. Past it every query is looked up in the file.
const maxAnswerKeys = 1 << 20

// AnswerKeys knows which queries may have a stored answer: all of those that
// had one when it last followed the catalog, and perhaps later ones.
type AnswerKeys struct {
	Mu      sync.RWMutex
	read    catalog.AnswersRead
	count   int
	ByTable map[int64]map[uint64]struct{}
	Full    bool // there are too many to know
}

// Follow takes in the answers that are new.
func (a *AnswerKeys) Follow(tx *catalog.Tx) error {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if a.Full {
		return nil
	}
	if a.ByTable == nil {
		a.ByTable = make(map[int64]map[uint64]struct{})
	}
	err := tx.AnswerKeys(&a.read, maxAnswerKeys+1-a.count, a.add)
	if a.count > maxAnswerKeys {
		a.Full, a.ByTable = true, nil
	}
	return err
}

// add takes in an answer. The keys are locked.
func (a *AnswerKeys) add(k catalog.AnswerKey) {
	a.count++
	if a.ByTable[k.TableID] == nil {
		a.ByTable[k.TableID] = make(map[uint64]struct{})
	}
	a.ByTable[k.TableID][k.Key] = struct{}{}
}

// May reports whether a query of a table, by its canonical text, can have a stored answer, and whether it is
// known to have one. No answerKeys know nothing, and say that it can.
func (a *AnswerKeys) May(table int64, text string) (can, known bool) {
	if a == nil {
		return true, false
	}
	a.Mu.RLock()
	defer a.Mu.RUnlock()
	keys := a.ByTable[table]
	if a.Full || len(keys) == 0 {
		return a.Full, false
	}
	_, known = keys[catalog.KeyOf(text)]
	return known, known
}
