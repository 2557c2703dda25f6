package engine

import (
	"cmp"
	"context"
	"errors"

	"dpsql/accounting"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlerr"
)

// estimate is a private answer before it is written as a result.
type estimate struct {
	value    int64
	margin   float64                                   // half-width in counts at the confidence it was asked at
	verified bool                                      // false: no margin is known
	at       func(confidence float64) (float64, error) // the half-width at another confidence
}

// origin says where a candidate's answer comes from. What is paid for follows
// from it alone.
type origin int

const (
	_             origin = iota
	fromConstant         // no record can satisfy the query
	fromStored           // the query was answered before
	fromRelease          // of a release
	fromMechanism        // of an interactive mechanism, whose runs are prepaid
	fromRows             // counted on the rows and bought: a direct answer
	fromScript           // of what a rehearsed script has planned, and nobody built
)

// candidate is one way to answer a query. Everything in it derives from the
// query, the public catalog and what was released before.
type candidate struct {
	origin  origin
	name    string           // the release or mechanism, or "direct"
	kind    string           // what SET mechanism calls it: "projection", "smw", "direct" or "constant"
	columns []int            // of the table that it looks at, nil for all
	support view.SupportSize // m over those columns
	margin  float64          // predicted half-width in counts at the session's confidence
	known   bool             // false: the answer would carry no margin
	cost    accounting.Amount
	starts  accounting.Rho                       // of a mechanism between runs: what the next one takes of its reserve
	refusal string                               // why it cannot answer; "" when it can
	note    string                               // what else EXPLAIN says; nothing follows from it
	offer   func() string                        // of a direct answer: what it would cost, as a hint
	failure *sqlerr.Error                        // why it is refused, where that is a fault rather than a fact
	answer  func(context.Context) (reply, error) // nil where it is bought with others
}

// failed returns the candidate refused by an error of its own, which does not
// stand in the way of others. An end of the context does, and damage: what is
// stored and cannot be read must not be bought a second time unnoticed.
func (c candidate) failed(err error) (candidate, error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code == sqlerr.Cancelled || e.Code == sqlerr.Corrupt {
		return c, err
	}
	c.known, c.refusal, c.failure = false, e.Message, e
	return c, nil
}

// errReadOnly refuses what would have to write.
func errReadOnly() *sqlerr.Error {
	return sqlerr.New(sqlerr.ReadOnly, "the file cannot be written").
		WithHint("releases and stored answers are still there; a new answer needs a file that can be charged")
}

// buys reports whether the candidate is a new direct answer.
func (c candidate) buys() bool { return c.origin == fromRows }

func (c candidate) free() bool { return c.cost == accounting.Amount{} }

// allowed reports whether SET mechanism admits the candidate.
func (c candidate) allowed(mechanism string) bool {
	switch mechanism {
	case "auto":
		return true
	case "smw", "projection", "direct":
		return c.kind == mechanism || c.origin == fromConstant
	}
	return query.SameName(c.name, mechanism) || c.origin == fromConstant
}

// choose returns the candidate that answers: the tightest of those that cost
// nothing, one without a margin last; under SET accuracy only those that reach
// it, and after them what can be bought.
func choose(candidates []candidate, r request) (*candidate, error) {
	s := r.settings
	if s.Mechanism == "direct" && s.Accuracy == 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "a direct answer needs an accuracy").
			WithHint("SET accuracy = 50 asks for answers within ±50")
	}
	var best *candidate
	for i := range candidates {
		c := &candidates[i]
		if c.refusal == "" && c.allowed(s.Mechanism) && c.reaches(s.Accuracy) && (best == nil || c.before(best)) {
			best = c
		}
	}
	if best == nil {
		return nil, uncovered(candidates, r)
	}
	return best, nil
}

// before reports whether c is a better answer than d.
func (c *candidate) before(d *candidate) bool {
	return cmp.Or(compareBool(d.free(), c.free()), compareBool(d.known, c.known),
		cmp.Compare(c.cost.Rho, d.cost.Rho), cmp.Compare(c.margin, d.margin)) < 0
}

// reaches reports whether the candidate meets SET accuracy; 0 asks nothing.
func (c candidate) reaches(accuracy float64) bool {
	return accuracy == 0 || c.known && c.margin <= accuracy
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
