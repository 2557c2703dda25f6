package answer

import (
	"context"
	"time"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

// Enter waits for the turn, at most for Patience.
func (m *LiveMechanisms) Enter(ctx context.Context) error {
	timeout := time.NewTimer(m.Patience)
	defer timeout.Stop()
	select {
	case m.Turn <- struct{}{}:
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

// leave ends the turn. It gives back a lease that was held long. Otherwise it starts a
// timer that gives the lease back when it is idle.
func (m *LiveMechanisms) leave(db *Database) {
	if m.Lease != nil && time.Since(m.taken) > longLease {
		m.giveBack(db, false)
		m.yields = time.Now()
	}
	m.wait(db)
	<-m.Turn
}

// wait starts the idle timer. The caller must hold the turn.
func (m *LiveMechanisms) wait(db *Database) {
	m.idle = time.AfterFunc(idleLease, func() { m.rest(db) })
}

// rest gives an idle lease back and erases the τ of runs that ended. If the file is busy it
// tries again later.
func (m *LiveMechanisms) rest(db *Database) {
	m.Turn <- struct{}{}
	defer func() { <-m.Turn }()
	if m.Lease != nil {
		m.giveBack(db, false)
	}
	if err := db.store.Erase(context.Background()); m.Lease != nil || sqlerr.CodeOf(err) == sqlerr.Busy {
		m.wait(db)
	}
}

// release waits for the turn and gives the lease back, even if that fails.
func (m *LiveMechanisms) release(db *Database) error {
	m.Turn <- struct{}{}
	defer func() { <-m.Turn }()
	if m.Lease == nil {
		return nil
	}
	defer db.store.Erase(context.Background()) // others that have the file open keep its log
	return m.giveBack(db, true)
}

// giveBack stores the answers of tests that did not fire, marks the mechanisms as closed
// so that their runs can go on, and releases the lease.
func (m *LiveMechanisms) giveBack(db *Database, closing bool) error {
	answers := m.memory.all()
	err := db.store.Write(context.Background(), func(tx *catalog.Tx) error {
		if !m.Lease.Held() {
			return lostLease()
		}
		for id, l := range m.byID {
			if err := l.close(tx, answers[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if sqlerr.CodeOf(err) == sqlerr.Busy && !closing && m.Lease.Held() {
		return nil // nothing is lost: the lease stays, and the timer tries again
	}
	m.memory.clear()
	for id, l := range m.byID {
		l.open = false
		l.paid.End()                 // the next lease resumes the run with its own receipt
		if l.runDead || err != nil { // the catalog still says leased, so the next holder ends the run
			delete(m.byID, id)
		}
	}
	if rerr := m.Lease.Release(); err == nil {
		err = rerr
	}
	m.Lease = nil
	return err
}

// confirm returns an error if another process may have taken the mechanisms over since the
// lease was taken, as it may once FILE-lease was removed. It then ended the run. So nothing
// is answered from it, and this process forgets its state. It costs a look at the file's
// name and version.
func (db *Database) confirm(ctx context.Context, l *live) error {
	at, err := db.store.Version(ctx)
	if err == nil && (at != l.confirmed || !at.Known()) {
		err = db.store.Read(ctx, func(tx *catalog.Tx) error {
			now, err := tx.MechanismByID(l.record.ID)
			if err == nil && (now.Run == nil || *now.Run != *l.record.Run) {
				err = lostLease()
			}
			return err
		})
	}
	if err == nil && !db.Live.Lease.Held() {
		err = lostLease()
	}
	if l.confirmed = at; err != nil {
		l.runDead = true
		db.Live.giveBack(db, true)
	}
	return err
}

func lostLease() error {
	return sqlerr.New(sqlerr.Busy, "another process took over the mechanisms").WithHint("try again; let no program remove FILE-lease")
}
