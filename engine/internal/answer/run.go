package answer

import (
	"context"
	"errors"
	"fmt"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// compare makes one comparison, and starts a run if none is open. q is the query of r over
// the mechanism's columns, and h the hypothesis's answer to it as asked.
func (db *Database) compare(ctx context.Context, l *live, r Request, q query.Query, asked smw.Scaled, h int64) (out smw.Outcome, stale *stale, err error) {
	if l.Run == nil || l.blockSpent() {
		r.publish()
	}
	var count int64
	err = db.rows.OnSnapshot(ctx, r.Table, func(sn *rows.Snapshot) error {
		var err error
		if stale, err = db.startRun(ctx, sn, l, r.buyer()); err != nil || stale != nil {
			return err
		}
		if err := db.reserveComparison(ctx, l); err != nil {
			return err
		}
		r.read(sn)
		count, err = sn.Count(ctx, l.paid, r.Query, l.record.Columns, q)
		return err
	})
	if err != nil || stale != nil {
		return out, stale, err
	}
	src, err := l.paid.Noise()
	if err != nil {
		return out, nil, err
	}
	if out, err = l.Run.Test(source.AddWeighted(0, count, asked.Factor), h, src); err == nil {
		l.record.Comparisons++
		err = db.confirm(context.WithoutCancel(ctx), l)
	}
	return out, nil, err
}

// startRun pays for the next run if none is open. It charges the run, then draws τ, then
// stores τ. Charge and τ are on disk before anything is compared with τ. The account was
// charged when the mechanism was created, and the buyer takes the run's share of that.
// Whether a run is open is public, because the end of a run is released. startRun returns
// stale if the buyer may not pay.
func (db *Database) startRun(ctx context.Context, sn *rows.Snapshot, l *live, by *catalog.Buyer) (*stale, error) {
	if l.Run != nil {
		return nil, nil
	}
	next := l.record
	next.RunsStarted++
	payment := catalog.Payment{Account: l.table.Account, Table: l.table.ID, Object: next.Name, Prepaid: next.RunRho,
		Action: fmt.Sprintf("run %d of %d", next.RunsStarted, next.Updates)}
	if l.table.HasPeriods() { // the run reads them
		payment.Shares = []catalog.Share{{Over: l.table.Span()}}
	}
	paid, err := db.desk.StartRun(ctx, sn, by, payment, func(tx *catalog.Tx) error { return tx.UpdateMechanism(&next) })
	if code := sqlerr.CodeOf(err); code == sqlerr.Forbidden || code == sqlerr.Budget {
		return &stale{next.ID, runUnpaid, err}, nil
	}
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // the run is paid for, so start it even if cancelled
	l.keep(next)
	src, err := paid.Noise()
	if err != nil {
		return nil, err
	}
	run, err := smw.StartRun(l.params.Params, src)
	if err != nil {
		return nil, pay.ErrRandom()
	}
	next.Run = &catalog.OpenRun{Number: next.RunsStarted, Tau: run.Tau()}
	if err := db.store.Write(ctx, func(tx *catalog.Tx) error { return tx.UpdateMechanism(&next) }); err != nil {
		return nil, err
	}
	l.keep(next)
	l.Run, l.paid = &run, paid
	return nil, nil
}

// endRun ends the run and its receipt.
func (l *live) endRun() {
	l.paid.End()
	l.Run, l.paid = nil, nil
}

// keep records the mechanism as the catalog has it.
func (l *live) keep(stored catalog.Mechanism) { l.record, l.counted = stored, stored.Comparisons }

// reserveComparison stores the number of comparisons if their block is used up, and so
// reserves the next block. The margins of all answers together assume that no more than k
// comparisons are ever made.
func (db *Database) reserveComparison(ctx context.Context, l *live) error {
	if !l.blockSpent() {
		return nil
	}
	next := l.record
	if err := db.store.Write(ctx, func(tx *catalog.Tx) error { return tx.UpdateMechanism(&next) }); err != nil {
		return err
	}
	l.keep(next)
	return nil
}

// learn ends the run after a firing. One transaction stores the end of the run, the answer
// and the update. Only then is the answer given. If the transaction fails the run is over
// in this process too.
func (db *Database) learn(ctx context.Context, l *live, r Request, asked smw.Scaled, noisy int64) (released.Estimate, error) {
	ctx = context.WithoutCancel(ctx) // the test has fired, so store it even if cancelled
	l.endRun()
	l.runDead = true
	a := l.stored(r, catalog.AnswerFired, asked, noisy)
	r.publish()
	next := l.record
	var seq int64
	err := db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := tx.EndRun(&next, "it fired"); err != nil {
			return err
		}
		var err error
		if seq, err = tx.AppendHistory(next.ID, asked.Query.String(), noisy); err != nil {
			return err
		}
		return tx.PutAnswer(&a)
	})
	if err != nil {
		return released.Estimate{}, err
	}
	l.keep(next)
	l.runDead, l.learned = false, seq
	if err := l.Hypothesis.Update(asked.Query, noisy); err != nil && !errors.Is(err, smw.ErrFailure) {
		return released.Estimate{}, err
	}
	margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
	return db.Estimate(a, margin), err
}

// open marks a mechanism leased and brings its state into memory.
func (db *Database) open(ctx context.Context, t *view.Table, id int64) (*live, error) {
	l := db.Live.byID[id]
	var record *catalog.Mechanism
	var state []byte
	var history []catalog.HistoryRow
	var paid *pay.Receipt
	from := int64(1)
	if l != nil && !l.runDead {
		from = l.learned + 1
	}
	err := db.store.Write(ctx, func(tx *catalog.Tx) error {
		var err error
		if record, err = tx.MechanismByID(id); err != nil {
			return err
		}
		crashed := record.Leased && record.Run != nil
		if crashed {
			if err := countCrash(record); err != nil {
				return err
			}
		}
		record.Leased = true
		if crashed {
			err = tx.EndRun(record, "its process did not close it")
		} else {
			err = tx.UpdateMechanism(record)
		}
		if err != nil {
			return err
		}
		if state, err = tx.MechanismState(record); err != nil {
			return err
		}
		if paid, err = db.desk.ResumeRun(tx, t, id); err != nil {
			return err
		}
		history, err = tx.History(id, from)
		return err
	})
	if err != nil {
		return nil, err
	}
	if l == nil || l.runDead {
		if l, err = Reopen(t, record, state); err != nil {
			return nil, err
		}
	}
	if err := l.Resume(record, paid, history); err != nil {
		return nil, err
	}
	db.Live.byID[id] = l
	return l, nil
}

// Reopen returns a mechanism in its first state, before any update.
func Reopen(t *view.Table, record *catalog.Mechanism, state []byte) (*live, error) {
	p, err := kind.ReadMechanism(record)
	if err != nil {
		return nil, err
	}
	u := t.Over(record.Columns)
	prior, err := released.DecodePrior(u, p.Prior, state)
	if err != nil {
		return nil, err
	}
	return &live{table: t, params: p, Hypothesis: smw.NewHypothesis(p.Params, u, prior)}, nil
}

// Resume applies the new updates and resumes the open run. An update that finds no
// variable left (the paper's FAILURE) does not change the hypothesis: its answer was
// given, and nothing was promised for the next.
func (l *live) Resume(record *catalog.Mechanism, paid *pay.Receipt, history []catalog.HistoryRow) error {
	u := l.table.Over(record.Columns)
	for _, row := range history {
		q, err := query.Parse(u, row.Query)
		if err != nil {
			return err
		}
		if err := l.Hypothesis.Update(q, row.Noisy); err != nil && !errors.Is(err, smw.ErrFailure) {
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
		l.Run, l.paid = &run, paid
	}
	l.open = true
	return nil
}

// live is an interactive mechanism in this process's memory: its record, and the
// hypothesis rebuilt from its history.
type live struct {
	table      *view.Table
	record     catalog.Mechanism
	params     released.MechanismParams
	Hypothesis *smw.Hypothesis
	learned    int64           // the last update that the hypothesis has learned
	counted    int64           // comparisons that the catalog has recorded
	Run        *smw.Run        // nil between runs
	paid       *pay.Receipt    // pays for the run
	open       bool            // this process marked it as leased in the catalog
	confirmed  catalog.Version // of the file when the run was last seen open in it
	runDead    bool            // a firing could not be stored: the open run must not be used again
}
