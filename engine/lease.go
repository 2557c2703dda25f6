package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
)

// liveMechanisms is what this process holds of the interactive mechanisms. The
// lease on the database makes it the only process that compares with their
// thresholds; the turn makes that one query at a time.
type liveMechanisms struct {
	turn     chan struct{} // holds one token while someone is inside
	lease    *catalog.Lease
	taken    time.Time
	idle     *time.Timer
	byID     map[int64]*live
	memory   answerMemory
	yields   time.Time     // when the lease was last given back for the sake of others
	patience time.Duration // how long to wait for the turn
}

const (
	idleLease = 100 * time.Millisecond // after which an unused lease is given back
	longLease = 500 * time.Millisecond // after which a used one is, for the sake of other processes
	yielding  = 10 * time.Millisecond  // for which it is then left to them; they try every 2 ms
)

// newLiveMechanisms returns what a process holds at first, which is nothing. A
// query waits for those before it ten times as long as for another process.
func newLiveMechanisms(busy time.Duration) *liveMechanisms {
	if busy == 0 {
		busy = catalog.DefaultBusyTimeout
	}
	return &liveMechanisms{turn: make(chan struct{}, 1), byID: make(map[int64]*live), patience: 10 * max(0, busy)}
}

// enter waits for the turn, and no longer than patience.
func (m *liveMechanisms) enter(ctx context.Context) error {
	timeout := time.NewTimer(m.patience)
	defer timeout.Stop()
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		return sqlerr.New(sqlerr.Busy, "too many queries wait for the mechanisms").WithHint("try again")
	}
	if m.idle != nil {
		m.idle.Stop()
	}
	return nil
}

// leave ends the turn, and gives the lease back if it was held long, or else
// when it has been idle for a while.
func (m *liveMechanisms) leave(db *DB) {
	if m.lease != nil && time.Since(m.taken) > longLease {
		m.giveBack(db, false)
		m.yields = time.Now()
	}
	if m.lease != nil {
		m.wait(db)
	}
	<-m.turn
}

// wait gives the lease back after a while. The turn is held.
func (m *liveMechanisms) wait(db *DB) {
	m.idle = time.AfterFunc(idleLease, func() { m.rest(db) })
}

// rest gives an idle lease back, or tries again later where the file is busy.
func (m *liveMechanisms) rest(db *DB) {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if m.lease != nil {
		m.giveBack(db, false)
	}
	if m.lease != nil {
		m.wait(db)
	}
}

// release gives the lease back, whatever happens, waiting for the turn.
func (m *liveMechanisms) release(db *DB) error {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if m.lease == nil {
		return nil
	}
	return m.giveBack(db, true)
}

// giveBack stores what the open mechanisms learned without firing, marks them
// closed in good order, so that their runs go on, and releases the lease.
func (m *liveMechanisms) giveBack(db *DB, closing bool) error {
	answers := m.memory.all()
	err := db.store.Write(context.Background(), func(tx *catalog.Tx) error {
		for id, l := range m.byID {
			if err := l.close(tx, answers[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if sqlerr.CodeOf(err) == sqlerr.Busy && !closing {
		return nil // nothing is lost: the lease stays, and the next idle moment tries again
	}
	m.memory.clear()
	for id, l := range m.byID {
		l.open = false
		l.paid.End()              // the next lease resumes the run with a receipt of its own
		if l.over || err != nil { // the catalog says leased: the next holder ends the run
			delete(m.byID, id)
		}
	}
	if rerr := m.lease.Release(); err == nil {
		err = rerr
	}
	m.lease = nil
	return err
}

// close writes one mechanism's state at the end of a lease.
func (l *live) close(tx *catalog.Tx, answers []catalog.Answer) error {
	if !l.open || l.over {
		return nil
	}
	if current, err := tx.Mechanism(l.record.Name); err != nil || current == nil || current.ID != l.record.ID {
		return err // dropped meanwhile
	}
	for _, a := range answers {
		if err := tx.PutAnswer(&a); err != nil {
			return err
		}
	}
	l.record.Leased = false
	return tx.UpdateMechanism(&l.record)
}

// lease takes the lease, if this process does not hold it, and returns the
// mechanism opened under it. A mechanism that is marked open while nobody held
// the lease was left by a crash: its run may have fired unseen, so it is over,
// its τ erased and its charge kept, and a block of comparisons counts as made.
func (db *DB) lease(ctx context.Context, t *view.Table, id int64) (*live, error) {
	m := db.live
	if m.lease == nil {
		time.Sleep(yielding - time.Since(m.yields))
		lease, err := db.store.AcquireLease(ctx)
		if err != nil {
			return nil, err
		}
		m.lease, m.taken = lease, time.Now()
	}
	if l := m.byID[id]; l != nil && l.open && !l.over {
		return l, nil
	}
	return db.open(ctx, t, id)
}

// open marks a mechanism leased and brings its state into memory.
func (db *DB) open(ctx context.Context, t *view.Table, id int64) (*live, error) {
	l := db.live.byID[id]
	var record *catalog.Mechanism
	var state []byte
	var history []catalog.HistoryRow
	var paid *pay.Receipt
	from := int64(1)
	if l != nil && !l.over {
		from = l.learned + 1
	}
	err := db.store.Write(ctx, func(tx *catalog.Tx) error {
		var err error
		if record, err = tx.MechanismByID(id); err != nil {
			return err
		}
		if record.Leased && record.Run != nil {
			action := fmt.Sprintf("run %d of %d ended: its process did not close it", record.Run.Number, record.Updates)
			if err := tx.Charge(t.Account, catalog.KindInteractive, action, record.Name, accounting.Amount{}); err != nil {
				return err
			}
			if err := countCrash(record); err != nil {
				return err
			}
			record.Run = nil
		}
		record.Leased = true
		if err := tx.UpdateMechanism(record); err != nil {
			return err
		}
		if state, err = tx.MechanismState(record); err != nil {
			return err
		}
		if paid, err = pay.ResumeRun(tx, t, id); err != nil {
			return err
		}
		history, err = tx.History(id, from)
		return err
	})
	if err != nil {
		return nil, err
	}
	if l == nil || l.over {
		if l, err = newLive(t, record, state); err != nil {
			return nil, err
		}
	}
	if err := l.resume(record, paid, history); err != nil {
		return nil, err
	}
	db.live.byID[id] = l
	return l, nil
}

// newLive returns a mechanism without updates.
func newLive(t *view.Table, record *catalog.Mechanism, state []byte) (*live, error) {
	p, err := stored.ReadMechanism(record)
	if err != nil {
		return nil, err
	}
	u := t.Over(record.Columns)
	prior, err := stored.DecodePrior(u, p.Prior, state)
	if err != nil {
		return nil, err
	}
	return &live{table: t, params: p, hypothesis: smw.NewHypothesis(p.Params, u, prior)}, nil
}

// resume learns the updates that are new and takes up the open run. An update
// that finds no variable left (the paper's FAILURE) leaves the hypothesis as it
// is: its answer was given, and nothing was promised of the next.
func (l *live) resume(record *catalog.Mechanism, paid *pay.Receipt, history []catalog.HistoryRow) error {
	u := l.table.Over(record.Columns)
	for _, row := range history {
		q, err := query.Parse(u, row.Query)
		if err != nil {
			return err
		}
		if err := l.hypothesis.Update(q, row.Noisy); err != nil && !errors.Is(err, smw.ErrFailure) {
			return err
		}
		l.learned = row.Seq
	}
	l.keep(*record)
	l.endRun()
	if record.Run != nil {
		run, err := smw.ResumeRun(l.params.Params, record.Run.Tau)
		if err != nil {
			return err
		}
		l.run, l.paid = &run, paid
	}
	l.open = true
	return nil
}
