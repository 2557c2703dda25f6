// Package pay spends budgets on private rows. It charges an account, durably, and
// then gives a Receipt; package rows reads nothing without one. So "charge, then
// draw" is the only order in which a statement can be written.
package pay

import (
	"context"
	"fmt"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// Desk charges the accounts of one database.
type Desk struct {
	Store  *catalog.Store
	Random func() *noise.Source
}

// charge runs a transaction that charges for a snapshot, and returns when it is on
// disk. A table whose source changed is refused first: nothing is charged for what
// could not be answered.
func (d *Desk) charge(ctx context.Context, sn Snapshot, do func(*catalog.Tx) error) error {
	return d.Store.Write(ctx, func(tx *catalog.Tx) error {
		if err := sn.Unchanged(ctx, tx); err != nil {
			return err
		}
		return do(tx)
	})
}

// Build charges for what is built of one snapshot: a release, a prior or N̂. The
// action and its object are what the ledger says.
func (d *Desk) Build(ctx context.Context, b *Bill, sn Snapshot, k catalog.Kind, action, object string, cost accounting.Amount) (*Receipt, error) {
	return d.one(ctx, build, b, sn, k, action, object, cost)
}

func (d *Desk) one(ctx context.Context, what kind, b *Bill, sn Snapshot, k catalog.Kind, action, object string, cost accounting.Amount) (*Receipt, error) {
	err := d.charge(ctx, sn, func(tx *catalog.Tx) error {
		return tx.Charge(sn.Table().Account, k, action, object, cost)
	})
	if err != nil {
		return nil, err
	}
	b.Add(cost)
	return newReceipt(what, sn, cost), nil
}

// Answers charges a SELECT for direct answers. What it pays is decided in the
// transaction that charges, where nobody else can buy the same; nothing at all is no
// payment and no receipt.
func (d *Desk) Answers(ctx context.Context, b *Bill, sn Snapshot, by *catalog.Buyer, payment func(*catalog.Tx) (*catalog.Payment, error)) (*Receipt, error) {
	var p *catalog.Payment
	err := d.charge(ctx, sn, func(tx *catalog.Tx) (err error) {
		if p, err = payment(tx); err != nil || p == nil {
			return err
		}
		return tx.Buy(*by, *p)
	})
	if err != nil || p == nil {
		return nil, err
	}
	by.Taken += p.Cost()
	b.Add(accounting.Amount{Rho: p.Rho})
	return newReceipt(answer, sn, accounting.Amount{Rho: p.Rho}), nil
}

// StartRun pays for the next run of a mechanism out of what it has reserved. In the
// same transaction store notes that the run was started.
func (d *Desk) StartRun(ctx context.Context, sn Snapshot, by *catalog.Buyer, p catalog.Payment, store func(*catalog.Tx) error) (*Receipt, error) {
	err := d.charge(ctx, sn, func(tx *catalog.Tx) error {
		if err := store(tx); err != nil {
			return err
		}
		return tx.Buy(*by, p)
	})
	if err != nil {
		return nil, err
	}
	by.Taken += p.Cost()
	return newReceipt(run, sn, accounting.Amount{Rho: p.Prepaid}), nil
}

// ResumeRun returns the receipt of the run of a mechanism that the catalog has open
// for the present lease, nil where none is. It was charged when it was started.
func ResumeRun(tx *catalog.Tx, t *view.Table, mechanism int64) (*Receipt, error) {
	m, err := tx.MechanismByID(mechanism)
	if err != nil || m == nil || m.TableID != t.ID || m.Run == nil || !m.Leased {
		return nil, err
	}
	return &Receipt{kind: run, table: t.ID, source: t.Source, paid: accounting.Amount{Rho: m.RunRho}}, nil
}

// Reserve charges for all runs of a mechanism. In the same transaction store adds it:
// a mechanism without its budget, or a budget without its mechanism, cannot be.
// Nothing may be read for it before a run is started.
func (d *Desk) Reserve(ctx context.Context, sn Snapshot, name string, rho accounting.Rho, store func(*catalog.Tx) error) error {
	return d.charge(ctx, sn, func(tx *catalog.Tx) error {
		if err := tx.Charge(sn.Table().Account, catalog.KindInteractive, "reserve mechanism", name, accounting.Amount{Rho: rho}); err != nil {
			return err
		}
		return store(tx)
	})
}

// Bill adds up the charges of a statement, so that one that fails can say what it cost.
// A charge is added once it is on disk. The zero Bill is empty.
type Bill struct {
	gone accounting.Amount // charged for what is not stored
	nhat accounting.Amount // charged for the number of rows, which is
}

// Add adds a charge.
func (b *Bill) Add(amount accounting.Amount) { b.gone, _ = b.gone.Add(amount) }

// keep notes that the number of rows was stored, the first thing that a statement
// buys.
func (b *Bill) keep() { b.nhat, b.gone = b.gone, accounting.Amount{} }

// Tell adds to the error of a statement what it had charged: what is gone, and if it
// was cancelled also what is kept, or that nothing was charged. All of it is in the
// ledger, so it says nothing more about the rows.
func (b *Bill) Tell(e *sqlerr.Error) *sqlerr.Error {
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
	c.Message = fmt.Sprint(e.Message, "; ", strings.Join(told, "; "))
	return &c
}

// ErrRandom stands for a failure of the system's random source. Nothing drawn from it
// is shown.
func ErrRandom() error {
	return sqlerr.New(sqlerr.IO, "the system's random source failed")
}
