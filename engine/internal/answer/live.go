package answer

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
)

// ask answers a query from an interactive mechanism: lease, run, count, test, store,
// return. known reports that the plan promised a margin. One query at a time comes through
// here. It first looks for an equal query that was answered while it waited. An unfired
// test stores nothing while its block of comparisons lasts: its answer follows from the
// hypothesis and the open run.
func (db *Database) ask(ctx context.Context, r Request, id int64, q query.Query, known bool) (released.Estimate, error) {
	if r.turn == nil { // else the statement has entered for all its queries
		if err := db.Live.Enter(ctx); err != nil {
			return released.Estimate{}, err
		}
		defer db.Live.leave(db)
	}
	l, err := db.lease(ctx, r, id)
	if err != nil {
		return released.Estimate{}, err
	}
	if e, ok, err := db.answered(ctx, r, l); err != nil || ok {
		return e, err
	}
	asked, err := l.params.Scaled(q)
	if err != nil {
		return released.Estimate{}, err
	}
	h := l.Hypothesis.Count(asked.Query)
	switch {
	case kind.SpentRuns(&l.record, l.params.Params) && known:
		return released.Estimate{}, &stale{id, spentMeanwhile,
			sqlerr.New(sqlerr.Busy, "other queries used %s up meanwhile", l.record.Name).WithHint("try again")}
	case kind.SpentRuns(&l.record, l.params.Params):
		return released.Estimate{Value: asked.Count(h)}, nil
	}
	out, gone, err := db.compare(ctx, l, r, q, asked, h)
	if err == nil && gone != nil {
		err = gone
	}
	if err != nil {
		return released.Estimate{}, db.Live.refused(err)
	}
	var e released.Estimate
	if out.Fired {
		broader := l.broader(r, q)
		if e, err = db.learn(ctx, l, r, asked, out.Noisy); err == nil {
			db.askBroader(ctx, l, r, broader)
		}
	} else {
		e, err = db.agree(l, r, asked, h)
	}
	return e, db.Live.refused(err)
}

// refused returns what an error of storing is to who asked. If another process took the mechanisms over, the
// catalog refuses the state that this one has, and there is no fault.
func (m *LiveMechanisms) refused(err error) error {
	if sqlerr.CodeOf(err) == sqlerr.Internal && m.Lease != nil && !m.Lease.Held() {
		return lostLease()
	}
	return err
}

// broadQuery is a query broader than one that fired, over all columns of the table, over
// those of the mechanism and as it is compared, with the hypothesis's answer.
type broadQuery struct {
	request Request
	narrow  query.Query
	asked   smw.Scaled
	guess   int64
}

// broader returns the queries broader than one that fired, which is not learned yet: its
// own count would show in all of them.
func (l *live) broader(r Request, q query.Query) (all []broadQuery) {
	sets, _ := r.named().Product()
	for _, narrow := range l.Hypothesis.Broader(q) {
		var conditions []query.ColumnSet
		for _, c := range narrow.Columns() {
			if l.record.Columns != nil {
				c = l.record.Columns[c]
			}
			conditions = append(conditions, query.ColumnSet{Column: c, Set: sets[c]})
		}
		if asked, err := l.params.Scaled(narrow); err == nil {
			of := r
			if r.whole == nil {
				of.Query = query.Conjunction(r.Query.Universe(), conditions)
			} else {
				of = r.asPart(conditions)
			}
			all = append(all, broadQuery{of, narrow, asked, l.Hypothesis.Count(asked.Query)})
		}
	}
	return all
}

// askBroader has a guard compare the queries broader than one that fired, until one of them
// fires and is learned (smw.Hypothesis.Broader). Each pays for its comparison as the
// question did. The question has its answer, which is stored, so an error here only ends
// the search; whatever failed meets the next question, too.
func (db *Database) askBroader(ctx context.Context, l *live, r Request, broader []broadQuery) {
	for _, b := range broader {
		if kind.SpentRuns(&l.record, l.params.Params) {
			return
		}
		r := b.request
		out, stale, err := db.compare(ctx, l, r, b.narrow, b.asked, b.guess)
		if err != nil || stale != nil {
			return
		}
		if out.Fired {
			db.learn(ctx, l, r, b.asked, out.Noisy) // where that fails the run is dead
			return
		}
	}
}

// answered returns the mechanism's earlier answer to the query, if there is one. Another
// query may have stored it while this one waited.
func (db *Database) answered(ctx context.Context, r Request, l *live) (released.Estimate, bool, error) {
	r.fresh = db.store.Unanswered(ctx, r.Table.ID, []string{r.text()})[0]
	answers, err := db.storedAnswers(ctx, r)
	if err != nil {
		return released.Estimate{}, false, err
	}
	for _, a := range answers {
		if a.MechanismID == l.record.ID {
			margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
			return db.Estimate(a, margin), err == nil, err
		}
	}
	return released.Estimate{}, false, nil
}

// agree keeps an unfired answer in memory until the lease is given back.
func (db *Database) agree(l *live, r Request, asked smw.Scaled, h int64) (released.Estimate, error) {
	a := l.stored(r, catalog.AnswerVerified, asked, h)
	margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
	if err != nil {
		return released.Estimate{}, err
	}
	if put := func() { db.Live.memory.put(r, a) }; r.turn == nil {
		put()
	} else {
		r.turn.Later(put)
	}
	return db.Estimate(a, margin), nil
}

// fromMechanism returns the candidate of an interactive mechanism. It costs nothing,
// because the runs are prepaid.
func (db *Database) fromMechanism(v *view.View, r Request, m *catalog.Mechanism) (released.Candidate, error) {
	c := released.Candidate{Origin: released.FromMechanism, Name: m.Name, Kind: "smw", Columns: m.Columns}
	if r, c.Refusal = db.about(r, m.Span); c.Refusal != "" {
		return c, nil
	}
	if len(r.Table.Retired) > 0 { // of a table without periods, too
		if gone := (period.Ranges{m.Span}).Intersect(r.Table.Retired); len(gone) > 0 {
			c.Refusal = "it reads " + released.PeriodNames(v.Accounts[r.Table.Account].Partition, gone) + ", which is retired"
			return c, nil
		}
	}
	known := db.params.get(string(m.Params), func() paramsResult {
		p, err := kind.ReadMechanism(m)
		return paramsResult{p, err}
	})
	p, err := known.params, known.err
	if err != nil {
		return c, err
	}
	see := released.Cover(r.Query, m.Columns, p.MaxSupport)
	c.Support = see.Size
	if c.Refusal = see.Refusal; c.Refusal != "" {
		return c, nil
	}
	if err := p.Admits(see.Query); err != nil {
		return c.Failed(err)
	}
	if r.file.isReadOnly() {
		return c.Failed(r.file.refusal())
	}
	c.Known = !kind.SpentRuns(m, p.Params) && !r.changed[foundLater{m.ID, spentMeanwhile}]
	if c.Known && (m.Run == nil || r.changed[foundLater{m.ID, runUnpaid}]) {
		c.Starts = max(1, m.RunRho)
		if err := v.Allows(r.Table, *r.buyer(), c.Starts); err != nil {
			return c.Failed(inAdvance(err, m))
		}
	}
	if p.Guards != "" {
		c.Guards, c.Note = p.Guards, "guards "+p.Guards
	}
	if c.Known {
		asked := smw.Scaled{Factor: p.Factor(see.Query)}
		c.Margin, err = db.Margin(catalog.AnswerVerified, kind.ScaledLaw(m.Params, asked), r.Settings.Confidence)
	} else if !r.Settings.Unverified {
		c.Refusal = "its runs are spent, and SET unverified = off"
	} else {
		c.Note = released.JoinNotes(c.Note, "its runs are spent: unverified")
	}
	c.Answer = func(ctx context.Context) (released.Estimate, error) {
		return db.ask(ctx, r, m.ID, see.Query, c.Known)
	}
	return c, err
}

// inAdvance adds to the refusal of a limit that the mechanism's next run has to be paid
// for.
func inAdvance(err error, m *catalog.Mechanism) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Message = "the next run of " + m.Name + " has to be paid for: " + e.Message
	return &c
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

// Enter waits for the turn as long as the context lasts, and at most for Patience with one that has no end.
func (m *LiveMechanisms) Enter(ctx context.Context) error {
	var late <-chan time.Time
	if ctx.Done() == nil {
		late = time.After(m.Patience)
	}
	select {
	case m.Turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
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
	m.memory.stored()
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
