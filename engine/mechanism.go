package engine

import (
	"context"
	"errors"

	"dpsql/catalog"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/sqlerr"
)

// fromMechanism is the candidate of an interactive mechanism. Its runs are
// prepaid, so it costs nothing.
func (db *DB) fromMechanism(v *view.View, r request, m *catalog.Mechanism) (candidate, error) {
	c := candidate{origin: fromMechanism, name: m.Name, kind: "smw", columns: m.Columns}
	known := db.params.get(string(m.Params), func() paramsResult {
		p, err := stored.ReadMechanism(m)
		return paramsResult{p, err}
	})
	p, err := known.params, known.err
	if err != nil {
		return c, err
	}
	see := view.Cover(r.query, m.Columns, p.MaxSupport)
	c.support = see.Size
	if c.refusal = see.Refusal; c.refusal != "" {
		return c, nil
	}
	if err := p.Admits(see.Query); err != nil {
		return c.failed(err)
	}
	if r.file.isReadOnly() {
		return c.failed(errReadOnly())
	}
	c.known = !stored.SpentRuns(m, p.Params) && !r.changed[foundLater{m.ID, spentMeanwhile}]
	if c.known && (m.Run == nil || r.changed[foundLater{m.ID, runUnpaid}]) {
		c.starts = max(1, m.RunRho)
		if err := v.Limits(r.table).Check(*r.buyer, c.starts); err != nil {
			return c.failed(inAdvance(err, m))
		}
	}
	if c.known {
		asked := smw.Scaled{Factor: p.Factor(see.Query)}
		c.margin, err = db.margin(catalog.AnswerVerified, stored.ScaledLaw(m.Params, asked), r.settings.Confidence)
	} else if !r.settings.Unverified {
		c.refusal = "its runs are spent, and SET unverified = off"
	} else {
		c.note = "its runs are spent: unverified"
	}
	c.answer = func(ctx context.Context) (reply, error) {
		return db.ask(ctx, r, m.ID, see.Query, c.known)
	}
	return c, err
}

// inAdvance says of a limit's refusal that it is the next run it keeps from being
// paid for.
func inAdvance(err error, m *catalog.Mechanism) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Message = "the next run of " + m.Name + " has to be paid for: " + e.Message
	return &c
}

// paramsResult is what a mechanism's stored parameters say.
type paramsResult struct {
	params stored.MechanismParams
	err    error
}
