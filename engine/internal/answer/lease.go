package answer

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/mechanisms/smw"
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

// blockSpent reports whether the comparisons of the block are made.
func (l *live) blockSpent() bool {
	return l.record.Comparisons >= l.counted+ComparisonBlock(l.params.Params)
}

func (l *live) stored(r Request, of catalog.AnswerKind, asked smw.Scaled, value int64) catalog.Answer {
	return catalog.Answer{TableID: r.Table.ID, Query: catalog.SumOf(r.text()), Kind: of, Via: l.record.Name, MechanismID: l.record.ID,
		Estimate: asked.Count(value), Law: kind.ScaledLaw(l.law(of), asked)}
}

// law returns what the margin of a compared query follows from: the mechanism's
// parameters, or for an answer that was counted anew the law of its noise.
func (l *live) law(kind catalog.AnswerKind) json.RawMessage {
	if law, err := l.params.FiredLaw(); kind == catalog.AnswerFired && err == nil && law != nil {
		return json.RawMessage(strconv.Quote(law.String()))
	}
	return l.record.Params
}

// ComparisonBlock returns the number of comparisons that a process may make before it
// stores their number again. It is k/100, so all of them together cost about a hundred
// commits. A block is reserved by the commit that marks a mechanism as leased, and by each
// commit that stores the number. After a crash the reserved block counts as made. So the
// size is part of the file format: this version would miscount a file of a version with
// larger blocks.
func ComparisonBlock(p smw.Params) int64 { return max(1, p.Queries/100) }

// countCrash adds the comparisons that a crashed process may have made without storing
// them.
func countCrash(record *catalog.Mechanism) error {
	p, err := kind.ReadMechanism(record)
	if err != nil {
		return err
	}
	record.Comparisons += max(0, min(ComparisonBlock(p.Params), p.Queries-record.Comparisons))
	return nil
}

// close writes one mechanism's state at the end of a lease.
func (l *live) close(tx *catalog.Tx, answers []catalog.Answer) error {
	if !l.open || l.runDead {
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
