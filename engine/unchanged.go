package engine

import (
	"context"
	"sync"

	"dpsql/catalog"
	"dpsql/source"
)

// unchanged refuses a source whose schema is no longer the declared one, or
// that reads a table which was public then and is not any more: its rows could
// be those of another budget, which nobody has charged. Schemas are
// public; whether rows changed is not looked at. What a writing transaction found
// holds in all of its era.
func (db *DB) unchanged(ctx context.Context, tx *catalog.Tx, t *table) error {
	era := tx.Era()
	if db.unchangedIn.holds(t, era) {
		return nil
	}
	bases, err := sameInFile(ctx, tx, t)
	if err == nil {
		err = covered(tx, t, bases)
	}
	if err == nil {
		db.unchangedIn.note(t, era)
	}
	return err
}

// sameInFile is sameSchema for a table of the file.
func sameInFile(ctx context.Context, tx *catalog.Tx, t *table) (bases []string, err error) {
	publics, err := tx.Publics()
	if err != nil {
		return nil, err
	}
	schema, err := sameSchema(ctx, source.SQLite(tx.SQL()), t, publics)
	return schema.Bases, err
}

// sourceEras remembers in which era the source of a table in the file was last
// found unchanged. No declaration and no schema is another in an era, so it
// need not be looked at again until the next.
type sourceEras struct {
	mu      sync.Mutex
	byTable map[int64]catalog.Era
}

func (s *sourceEras) holds(t *table, era catalog.Era) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return era != 0 && s.byTable[t.ID] == era
}

func (s *sourceEras) note(t *table, era catalog.Era) {
	if era == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byTable == nil {
		s.byTable = make(map[int64]catalog.Era)
	}
	s.byTable[t.ID] = era
}
