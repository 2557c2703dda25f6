package answer

import (
	"context"
	"errors"
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
		return released.Estimate{}, err
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
	return e, err
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
			c.Refusal = "it reads " + names(v.Accounts[r.Table.Account].Partition, gone) + ", which is retired"
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
