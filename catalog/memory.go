package catalog

import (
	"context"
	"database/sql"
	"slices"

	"dpsql/accounting"
)

// memory is what transactions read and wrote of the catalog, and what later
// ones need not read again while nobody else commits: then it is still so. The
// grounds are those on which SQLite keeps pages in memory, and whether somebody
// else committed is asked of SQLite at the beginning of each transaction that
// writes, which then has the database to itself. Such a transaction takes the
// Store's memory, keeps it up to date with what it writes, and gives it back
// once it has committed; if it fails, nothing is remembered. A transaction that
// reads has a memory of its own.
type memory struct {
	conn    *connection // the one that writes
	foreign int64       // its data_version, which changes with the commits of all others
	era     Era

	// What the transaction itself changes is kept up to date where it is
	// written, or forgotten before that, by declare.
	version    int                       // of the catalog's schema; 0: none, or not read. Migrate changes it
	rolls      map[int64]map[string]roll // by owner, as far as read. SetRoll changes them
	chain      *chain                    // the ledger as far as verified. Append changes it
	atEnd      bool                      // whether chain ends where the ledger does
	accounts   []Account                 // nil: not read. Whatever changes them declares, as for publics
	publics    []string                  // nil: not read
	mechanisms map[int64]Mechanism       // as far as read. UpdateMechanism changes them; making and dropping declares
	answers    []AnswerKey               // stored in this era, the last of them. PutAnswer adds to them
}

// mostAnswers bounds the answers in memory.
const mostAnswers = 256

// Era names a time in which nothing was committed to the file but the progress
// of one Store: ledger lines, the counters, runs and histories of mechanisms,
// and answers. All declarations, and all tables outside the catalog with their
// schema, are the same in an era. The zero Era is none.
type Era uint64

// Era returns the era in which a writing transaction is; 0 for one that reads,
// or that has changed more.
func (tx *Tx) Era() Era {
	if tx.declares {
		return 0
	}
	return tx.era
}

// declare notes, before it happens, that the transaction ends the era.
func (tx *Tx) declare() {
	tx.declares = true
	tx.accounts, tx.publics, tx.mechanisms = nil, nil, nil
}

// recall returns the memory of a transaction that begins to write: the Store's,
// if nobody else committed since.
func (s *Store) recall(ctx context.Context, conn *sql.Conn, verified *chain) (*memory, error) {
	which, foreign, err := dataVersionOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.memory
	s.memory = nil
	if m != nil && m.conn == which && m.foreign == foreign {
		if !m.atEnd {
			m.chain = verified
		}
		return m, nil
	}
	s.eras++
	return &memory{conn: which, foreign: foreign, era: s.eras, chain: verified}, nil
}

// remember keeps the memory of a transaction that has committed.
func (s *Store) remember(tx *Tx) {
	if tx.touched {
		return // it may have written anything
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if tx.declares {
		s.eras++
		tx.era, tx.answers = s.eras, nil
	}
	s.memory = tx.memory
}

// Progress is what one Store committed in an era, where it is the present one.
type Progress struct {
	Era        Era
	Mechanisms []Mechanism                 // as they are now, with τ; others are as before the era
	Spent      map[int64]accounting.Amount // by account; nil: as before the era
	answers    []AnswerKey
	roll       roll // of all answers
	counted    bool // whether roll is known
}

// Progress returns what this Store committed in the present era. Its Era is 0
// where that is not known without reading the file: before the first Write,
// after somebody else's commit, and while this process writes. Errors: those of
// Read.
func (s *Store) Progress(ctx context.Context) (p Progress, err error) {
	err = s.atRest(ctx, func(m *memory) {
		p.Era = m.era
		for _, one := range m.mechanisms {
			p.Mechanisms = append(p.Mechanisms, one)
		}
		if m.atEnd {
			p.Spent = m.chain.spent // immutable, as the chain is
		}
		p.answers = slices.Clone(m.answers)
		var all map[string]roll
		if all, p.counted = m.rolls[0]; p.counted {
			p.roll = all[rollAnswers]
		}
	})
	return p, err
}

// Era returns the present era, 0 where Progress's would be.
func (s *Store) Era(ctx context.Context) (era Era, err error) {
	err = s.atRest(ctx, func(m *memory) { era = m.era })
	return era, err
}

// atRest calls look with the Store's memory, if it is that of the file as it is
// now. It does not wait for a transaction that writes, and none begins meanwhile;
// nor does it take such a one's turn, as a Store may wait for no other writer.
func (s *Store) atRest(ctx context.Context, look func(*memory)) error {
	if !s.work.TryLock() {
		return nil
	}
	defer s.work.Unlock()
	s.mu.Lock()
	m, writer := s.memory, s.writer
	s.mu.Unlock()
	if m == nil || writer == nil {
		return nil
	}
	which, foreign, err := dataVersion(ctx, writer)
	if err != nil {
		return s.translate(ctx, err)
	}
	if which == m.conn && foreign == m.foreign {
		look(m)
	}
	return nil
}
