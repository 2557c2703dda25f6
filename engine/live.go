package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// live is one interactive mechanism in this process's memory: its record, and
// the hypothesis rebuilt from its history.
type live struct {
	table      *view.Table
	record     catalog.Mechanism
	params     stored.MechanismParams
	hypothesis *smw.Hypothesis
	learned    int64        // updates of the history that the hypothesis knows
	counted    int64        // comparisons that the catalog knows of
	run        *smw.Run     // nil between runs
	paid       *pay.Receipt // for the run
	open       bool         // marked leased in the catalog by this process
	over       bool         // a firing could not be stored: the open run must not be used again
}

// reply is what a mechanism gives when it is asked: an estimate, or what has
// changed since the plan.
type reply struct {
	estimate
	stale *stale // nil: the estimate is an answer
}

// stale says that a plan no longer holds: nothing was answered, and the statement
// has to be planned again.
type stale struct {
	mechanism int64
	why       staleReason
	err       error // for the user, where another plan comes to the same
}

type staleReason int

const (
	spentMeanwhile staleReason = iota // other queries used the mechanism's last run or comparison
	runUnpaid                         // no run is open, and limits keep the statement from paying for the next
)

// ask answers a query from an interactive mechanism: lease, run, count, test,
// store, return. Known says that the plan promised a margin. One query at a time
// passes here, and looks again whether an equal one was answered while it
// waited. An unfired test stores nothing, as long as its block of comparisons
// lasts: what it says follows from the hypothesis and the open run.
func (db *DB) ask(ctx context.Context, r request, id int64, q query.Query, known bool) (reply, error) {
	if err := db.live.enter(ctx); err != nil {
		return reply{}, err
	}
	defer db.live.leave(db)
	l, err := db.lease(ctx, r.table, id)
	if err != nil {
		return reply{}, err
	}
	if e, ok, err := db.answered(ctx, r, l); err != nil || ok {
		return reply{estimate: e}, err
	}
	asked, err := l.params.Scaled(q)
	if err != nil {
		return reply{}, err
	}
	h := l.hypothesis.Count(asked.Query)
	switch {
	case stored.SpentRuns(&l.record, l.params.Params) && known:
		return reply{stale: &stale{id, spentMeanwhile,
			sqlerr.New(sqlerr.Busy, "other queries used %s up meanwhile", l.record.Name).WithHint("try again")}}, nil
	case stored.SpentRuns(&l.record, l.params.Params):
		return reply{estimate: estimate{value: asked.Count(h)}}, nil
	}
	var count int64
	var stale *stale
	err = db.rows.OnSnapshot(ctx, r.table, func(sn *rows.Snapshot) error {
		var err error
		if stale, err = db.startRun(ctx, sn, l, r.buyer); err != nil || stale != nil {
			return err
		}
		if err := db.reserveComparison(ctx, l); err != nil {
			return err
		}
		count, err = sn.Count(ctx, l.paid, r.query, l.record.Columns, q)
		return err
	})
	if err != nil || stale != nil {
		return reply{stale: stale}, err
	}
	out, err := l.run.Test(source.AddWeighted(0, count, asked.Factor), h, db.random())
	if err != nil {
		return reply{}, err
	}
	l.record.Comparisons++
	var e estimate
	if out.Fired {
		e, err = db.learn(ctx, l, r, asked, out.Noisy)
	} else {
		e, err = db.agree(l, r, asked, h)
	}
	return reply{estimate: e}, err
}

// answered returns the mechanism's own earlier answer to the query, which others
// may have stored while this one waited.
func (db *DB) answered(ctx context.Context, r request, l *live) (estimate, bool, error) {
	answers, err := db.storedAnswers(ctx, r)
	if err != nil {
		return estimate{}, false, err
	}
	for _, a := range answers {
		if a.MechanismID == l.record.ID {
			margin, err := db.margin(a.Kind, a.Law, r.settings.Confidence)
			return db.estimate(a, margin), err == nil, err
		}
	}
	return estimate{}, false, nil
}

// startRun pays for the next run where none is open: the run is charged, then
// τ drawn, then τ stored, each durable before the next; only then is anything
// compared with it. The account was charged when the mechanism was created. What
// the buyer takes is the run's share of that. Whether a run is open is public: what
// ends one is released. It returns stale if the buyer may not pay.
func (db *DB) startRun(ctx context.Context, sn *rows.Snapshot, l *live, by *catalog.Buyer) (*stale, error) {
	if l.run != nil {
		return nil, nil
	}
	next := l.record
	next.RunsStarted++
	payment := catalog.Payment{Account: l.table.Account, Object: next.Name, Prepaid: next.RunRho,
		Action: fmt.Sprintf("run %d of %d", next.RunsStarted, next.Updates)}
	paid, err := db.desk.StartRun(ctx, sn, by, payment, func(tx *catalog.Tx) error { return tx.UpdateMechanism(&next) })
	if code := sqlerr.CodeOf(err); code == sqlerr.Forbidden || code == sqlerr.Budget {
		return &stale{next.ID, runUnpaid, err}, nil
	}
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // it is paid for: let it begin
	l.keep(next)
	run, err := smw.StartRun(l.params.Params, db.random())
	if err != nil {
		return nil, pay.ErrRandom()
	}
	next.Run = &catalog.OpenRun{Number: next.RunsStarted, Tau: run.Tau()}
	if err := db.store.Write(ctx, func(tx *catalog.Tx) error { return tx.UpdateMechanism(&next) }); err != nil {
		return nil, err
	}
	l.keep(next)
	l.run, l.paid = &run, paid
	return nil, nil
}

// endRun makes the run's receipt worthless.
func (l *live) endRun() {
	l.paid.End()
	l.run, l.paid = nil, nil
}

// keep keeps a record that the catalog has.
func (l *live) keep(stored catalog.Mechanism) { l.record, l.counted = stored, stored.Comparisons }

// comparisonBlock is how many comparisons a process may make before it stores
// their number again: a hundredth of k, which all together cost about a hundred
// commits. The commit that marks a mechanism leased reserves a block, and so does
// each that stores the number: after a crash a block counts as made. So the size
// is part of what a file means; a version that made larger blocks would be
// miscounted by this one.
func comparisonBlock(p smw.Params) int64 { return max(1, p.Queries/100) }

// reserveComparison stores the number of comparisons where their block is used
// up, which reserves the next one. The margins of all answers together assume
// that no more than k are ever made.
func (db *DB) reserveComparison(ctx context.Context, l *live) error {
	if l.record.Comparisons < l.counted+comparisonBlock(l.params.Params) {
		return nil
	}
	next := l.record
	if err := db.store.Write(ctx, func(tx *catalog.Tx) error { return tx.UpdateMechanism(&next) }); err != nil {
		return err
	}
	l.keep(next)
	return nil
}

// countCrash counts the comparisons that a process may have made and not stored.
func countCrash(record *catalog.Mechanism) error {
	p, err := stored.ReadMechanism(record)
	if err != nil {
		return err
	}
	record.Comparisons += max(0, min(comparisonBlock(p.Params), p.Queries-record.Comparisons))
	return nil
}

// agree keeps an unfired answer in memory until the lease is given back.
func (db *DB) agree(l *live, r request, asked smw.Scaled, h int64) (estimate, error) {
	a := l.stored(r, catalog.AnswerVerified, asked, h)
	margin, err := db.margin(a.Kind, a.Law, r.settings.Confidence)
	if err != nil {
		return estimate{}, err
	}
	db.live.memory.put(r, a)
	return db.estimate(a, margin), nil
}

func (l *live) stored(r request, kind catalog.AnswerKind, asked smw.Scaled, value int64) catalog.Answer {
	return catalog.Answer{TableID: r.table.ID, Query: r.query.String(), Kind: kind, Via: l.record.Name, MechanismID: l.record.ID,
		Estimate: asked.Count(value), Law: stored.ScaledLaw(l.law(kind), asked)}
}

// law returns what the margin of an answer follows from, as it was compared: the
// mechanism's parameters, or the law of the noise of an answer that was counted
// anew.
func (l *live) law(kind catalog.AnswerKind) json.RawMessage {
	if law, err := l.params.FiredLaw(); kind == catalog.AnswerFired && err == nil && law != nil {
		return json.RawMessage(strconv.Quote(law.String()))
	}
	return l.record.Params
}

// learn ends the run after a firing: the end of the run, the answer and the
// update are stored in one transaction, and only then is the answer given. If
// that fails the run is over in this process too.
func (db *DB) learn(ctx context.Context, l *live, r request, asked smw.Scaled, noisy int64) (estimate, error) {
	ctx = context.WithoutCancel(ctx) // it has fired: it must be stored
	l.endRun()
	l.over = true
	a := l.stored(r, catalog.AnswerFired, asked, noisy)
	next := l.record
	next.Run = nil
	var seq int64
	err := db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := tx.UpdateMechanism(&next); err != nil {
			return err
		}
		var err error
		if seq, err = tx.AppendHistory(next.ID, asked.Query.String(), noisy); err != nil {
			return err
		}
		return tx.PutAnswer(&a)
	})
	if err != nil {
		return estimate{}, err
	}
	l.keep(next)
	l.over, l.learned = false, seq
	if err := l.hypothesis.Update(asked.Query, noisy); err != nil && !errors.Is(err, smw.ErrFailure) {
		return estimate{}, err
	}
	margin, err := db.margin(a.Kind, a.Law, r.settings.Confidence)
	return db.estimate(a, margin), err
}
