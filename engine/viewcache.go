package engine

import (
	"context"
	"path/filepath"
	"sync"

	"dpsql/catalog"
)

// viewCache keeps the last view of the catalog while nothing was committed to
// the file. A view in it is shared, and never changed.
type viewCache struct {
	mu      sync.Mutex
	at      catalog.Version
	view    *view
	answers answerKeys
}

// current returns the public catalog as it is now: the last view, if there was
// no commit since, by this process or another; or one that is read. It must not
// be changed; declarations take a view of their own.
func (c *viewCache) current(ctx context.Context, store *catalog.Store) (*view, error) {
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
		if v, err = readView(tx); err != nil {
			return err
		}
		if len(v.tables) == 0 && store.Missing() {
			v.missing = filepath.Base(store.Path())
		}
		v.answers = &c.answers
		return c.answers.follow(tx)
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
func (c *viewCache) keep(at catalog.Version, v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.view = at, v
}

// maxAnswerKeys bounds the memory for keys of stored answers, about 40 bytes
// each. Past it every query is looked up in the file.
const maxAnswerKeys = 1 << 20

// answerKeys knows which queries may have a stored answer: all of those that
// had one when it last followed the catalog, and perhaps later ones.
type answerKeys struct {
	mu      sync.RWMutex
	read    catalog.AnswersRead
	count   int
	byTable map[int64]map[uint64]struct{}
	full    bool // there are too many to know
}

// follow takes in the answers that are new.
func (a *answerKeys) follow(tx *catalog.Tx) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full {
		return nil
	}
	if a.byTable == nil {
		a.byTable = make(map[int64]map[uint64]struct{})
	}
	err := tx.AnswerKeys(&a.read, maxAnswerKeys+1-a.count, a.add)
	if a.count > maxAnswerKeys {
		a.full, a.byTable = true, nil
	}
	return err
}

// add takes in an answer. The keys are locked.
func (a *answerKeys) add(k catalog.AnswerKey) {
	a.count++
	if a.byTable[k.TableID] == nil {
		a.byTable[k.TableID] = make(map[uint64]struct{})
	}
	a.byTable[k.TableID][k.Key] = struct{}{}
}

// may reports whether a query of a table, by its canonical text, can have a stored answer, and whether it is
// known to have one. No answerKeys know nothing, and say that it can.
func (a *answerKeys) may(table int64, text string) (can, known bool) {
	if a == nil {
		return true, false
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	keys := a.byTable[table]
	if a.full || len(keys) == 0 {
		return a.full, false
	}
	_, known = keys[catalog.KeyOf(text)]
	return known, known
}
