package engine

import (
	"context"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
)

// charge writes a cost into the ledger and returns when it is on disk. What it
// pays for comes afterwards. A source whose schema changed is refused first:
// nothing is charged for what could not be answered.
func (s *snapshot) charge(ctx context.Context, b *bill, kind catalog.Kind, action, object string, amount accounting.Amount) error {
	err := s.db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := s.unchanged(ctx, tx); err != nil {
			return err
		}
		return tx.Charge(s.table.Account, kind, action, object, amount)
	})
	if err == nil {
		b.add(amount)
	}
	return err
}

// bill is what a statement has charged, so that one that fails can say what it
// cost. A charge is added once it is on disk.
type bill struct {
	gone accounting.Amount // charged for what is not stored
	nhat accounting.Amount // charged for the number of rows, which is
}

func (b *bill) add(amount accounting.Amount) { b.gone, _ = b.gone.Add(amount) }

// keep notes that the number of rows was stored, the first that a statement buys.
func (b *bill) keep() { b.nhat, b.gone = b.gone, accounting.Amount{} }

// tell adds to the error of a statement what it had charged: what is gone, and
// where it was cancelled also what is kept, or that nothing was charged. All of it
// is in the ledger, and says as much about the rows.
func (b *bill) tell(e *sqlerr.Error) *sqlerr.Error {
	var told []string
	cancelled := e.Code == sqlerr.Cancelled
	if cancelled && b.nhat != (accounting.Amount{}) {
		told = append(told, view.Amount(b.nhat)+" was charged for the number of rows, which is kept")
	}
	if b.gone != (accounting.Amount{}) {
		told = append(told, view.Amount(b.gone)+" was charged for it and is gone")
		if e.Hint == "" {
			e = e.WithHint("SHOW LEDGER has the charge; the statement costs as much again")
		}
	}
	if cancelled && told == nil {
		told = append(told, "nothing was charged")
	}
	if told == nil {
		return e
	}
	c := *e
	c.Message += "; " + strings.Join(told, "; ")
	return &c
}

// errRandom stands for a failure of the system's random source. Nothing drawn
// from it is shown.
func errRandom() error {
	return sqlerr.New(sqlerr.IO, "the system's random source failed")
}
