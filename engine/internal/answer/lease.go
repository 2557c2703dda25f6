package answer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/rows"
	"dpsql/sqlerr"
)

// LiveMechanisms holds the interactive mechanisms of this process. The lease makes this
// the only process that compares queries with their thresholds. The turn lets in one query
// at a time.
type LiveMechanisms struct {
	Turn     chan struct{} // holds one token while a query is inside
	Lease    *catalog.Lease
	taken    time.Time
	idle     *time.Timer
	byID     map[int64]*live
	memory   answerMemory
	yields   time.Time     // when the lease was last given back for other processes
	Patience time.Duration // how long to wait for the turn
}

const (
	idleLease = 100 * time.Millisecond // an unused lease is given back after this time
	longLease = 500 * time.Millisecond // a used lease is given back after this time, for other processes
	yielding  = 10 * time.Millisecond  // the pause that other processes then get; they try every 2 ms
)

// newLiveMechanisms returns the state of a process that holds no lease. A query waits ten
// times as long for the queries before it as for another process.
func newLiveMechanisms(busy time.Duration) *LiveMechanisms {
	if busy == 0 {
		busy = catalog.DefaultBusyTimeout
	}
	return &LiveMechanisms{Turn: make(chan struct{}, 1), byID: make(map[int64]*live), Patience: 10 * max(0, busy)}
}

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

// lease takes the lease, if this process does not hold it, and returns the mechanism
// opened under it. A mechanism that is marked open although nobody holds the lease was
// left by a crash. Its run may have fired unseen. So the run is over: its τ is erased, its
// charge stays, and a block of comparisons counts as made.
func (db *Database) lease(ctx context.Context, r Request, id int64) (*live, error) {
	m := db.Live
	if m.Lease != nil && !m.Lease.Held() {
		m.giveBack(db, true)
	}
	if m.Lease == nil {
		time.Sleep(yielding - time.Since(m.yields))
		lease, err := db.store.AcquireLease(ctx)
		if err != nil {
			return nil, err
		}
		m.Lease, m.taken = lease, time.Now()
	}
	if l := m.byID[id]; l != nil && l.open && !l.runDead {
		return l, nil
	}
	r.publish()
	return db.open(ctx, r.Table, id)
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

// answerMemory holds the unfired answers of the present lease. It saves a commit for each:
// they are stored when the lease is given back. A crash loses them together with their
// run.
type answerMemory struct {
	mu    sync.RWMutex
	byKey map[answerKey][]catalog.Answer
}

type answerKey struct {
	table  int64
	digest [32]byte
}

func keyOf(r Request) answerKey {
	return answerKey{r.Table.ID, digestOf(r.named(), r.Question, r.column)}
}

// Digest identifies the query and its table.
func (r Request) Digest() [32]byte {
	k := keyOf(r)
	return sha256.Sum256(binary.BigEndian.AppendUint64(k.digest[:], uint64(k.table)))
}

func (m *answerMemory) find(r Request) []catalog.Answer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.byKey) == 0 {
		return nil
	}
	return m.byKey[keyOf(r)]
}

func (m *answerMemory) put(r Request, a catalog.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil {
		m.byKey = make(map[answerKey][]catalog.Answer)
	}
	m.byKey[keyOf(r)] = append(m.byKey[keyOf(r)], a)
}

// all returns the answers by mechanism.
func (m *answerMemory) all() map[int64][]catalog.Answer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make(map[int64][]catalog.Answer)
	for _, answers := range m.byKey {
		for _, a := range answers {
			out[a.MechanismID] = append(out[a.MechanismID], a)
		}
	}
	return out
}

func (m *answerMemory) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.byKey)
}

// read says that private rows of a snapshot are about to be read for the request, see
// slots.Turn.Read.
func (r Request) read(sn *rows.Snapshot) {
	if r.turn != nil {
		sn.Steady()
		r.turn.Read()
	}
}

// publish is called before anything about the request is written that others can see, see
// slots.Turn.Publish.
func (r Request) publish() {
	if r.turn != nil {
		r.turn.Publish()
	}
}

// read and publish are Request.read and Request.publish for all requests of the statement.
func (st *Statement) read(sn *rows.Snapshot) { Request{turn: st.turn}.read(sn) }
func (st *Statement) publish()               { Request{turn: st.turn}.publish() }
