package answer

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
)

// stale reports that a plan no longer holds. Nothing was answered, and the statement has
// to be planned again.
type stale struct {
	mechanism int64
	why       staleReason
	err       error // for the user, if another plan ends in the same way
}

// Error implements error. A user sees err.
func (s *stale) Error() string { return "the plan does not hold any more" }

type staleReason int

const (
	spentMeanwhile staleReason = iota // other queries used the mechanism's last run or comparison
	runUnpaid                         // no run is open, and limits keep the statement from paying for the next
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

// ComparisonBlock returns the number of comparisons that a process may make before it
// stores their number again. It is k/100, so all of them together cost about a hundred
// commits. A block is reserved by the commit that marks a mechanism as leased, and by each
// commit that stores the number. After a crash the reserved block counts as made. So the
// size is part of the file format: this version would miscount a file of a version with
// larger blocks.
func ComparisonBlock(p smw.Params) int64 { return max(1, p.Queries/100) }

// blockSpent reports whether the comparisons of the block are made.
func (l *live) blockSpent() bool {
	return l.record.Comparisons >= l.counted+ComparisonBlock(l.params.Params)
}

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

// paramsResult is the parameters of a mechanism, or the error from reading them.
type paramsResult struct {
	params released.MechanismParams
	err    error
}
