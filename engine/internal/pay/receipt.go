package pay

import (
	"context"
	"sync"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/source"
	"dpsql/sqlerr"
)

// kind is what a receipt is good for.
type kind int

const (
	_      kind = iota // nothing: the zero Receipt
	answer             // one reading, of one snapshot
	run                // any number of comparisons, until the run ends
	build              // any number of readings of one snapshot
)

// Receipt is proof that reading private rows was paid for: the charge is on disk. It
// names the table, the snapshot and what was paid. A Receipt is made by the methods
// of a Desk and by ResumeRun, and nowhere else.
//
// What the compiler enforces: no function reads private rows without a source.Permit,
// package rows takes no other Permit than a *Receipt, and no other package can fill
// one. What is refused at run time, here and at the door of package source: nil and
// the zero Receipt, another table, another snapshot, the second use of an answer's
// receipt, and a run's receipt after its run.
type Receipt struct {
	kind     kind
	table    int64
	source   string // of the table: where its rows are
	snapshot Snapshot
	paid     accounting.Amount

	mu       sync.Mutex
	used     bool
	ended    bool
	readings int // that are open
}

func newReceipt(k kind, sn Snapshot, paid accounting.Amount) *Receipt {
	t := sn.Table()
	r := &Receipt{kind: k, table: t.ID, source: t.Source, paid: paid}
	if k != run {
		r.snapshot = sn
	}
	return r
}

// Paid returns what was charged.
func (r *Receipt) Paid() accounting.Amount { return r.paid }

// Open begins a reading of a snapshot. Until it is closed, package source reads rows
// of the table. Only package rows opens receipts.
func (r *Receipt) Open(on Snapshot) (close func(), err error) {
	if r == nil || r.kind == 0 {
		return nil, unpaid("nothing was paid")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case on.Table().ID != r.table:
		return nil, unpaid("another table was paid for")
	case r.snapshot != nil && r.snapshot != on:
		return nil, unpaid("another snapshot was paid for")
	case r.ended:
		return nil, unpaid("what was paid for is over")
	case r.kind == answer && r.used:
		return nil, unpaid("the answer was paid for once")
	}
	r.used = true
	r.readings++
	return r.close, nil
}

func (r *Receipt) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readings--
}

// Admits implements source.Permit: a reading that pays for the table must be open.
func (r *Receipt) Admits(t source.Table) error {
	if r == nil || r.kind == 0 {
		return unpaid("nothing was paid")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.readings == 0:
		return unpaid("the receipt is not open")
	case t.Source != r.source:
		return unpaid("another table was paid for")
	}
	return nil
}

// End makes the receipt worthless, at the end of a run. nil has nothing to end.
func (r *Receipt) End() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// unpaid is a fault of dpsql and never of a user.
func unpaid(why string) error {
	return sqlerr.New(sqlerr.Internal, "private rows are not read: %s", why)
}

// Snapshot is one state of a table's rows, which a charge pays for. Receipts compare
// snapshots with ==. rows.Snapshot is the one that reads.
type Snapshot interface {
	// Table is the table whose rows it has.
	Table() *view.Table
	// Unchanged refuses a table whose source is no longer what was declared. It is
	// asked in the transaction that charges.
	Unchanged(ctx context.Context, tx *catalog.Tx) error
}
