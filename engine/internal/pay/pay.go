// Package pay spends budgets on private rows. It charges an account, durably, and
// then gives a Receipt; package rows reads nothing without one. So "charge, then
// draw" is the only order in which a statement can be written.
//
// A statement that ends while it reads has drawn nothing. Unless it is a user's, Read has its charge wait for the
// equal statement; docs/decisions/040-waiting-charges.md has the proof.
package pay

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/source"
	"dpsql/sqlerr"
)

// Desk charges the accounts of one database. Its receipts have the noise that is drawn for
// what was paid.
type Desk struct {
	Store  *catalog.Store
	Random func() *noise.Source // tests set it; nil means noise.NewSource
}

// On returns a desk of another catalog, with the same noise.
func (d *Desk) On(store *catalog.Store) *Desk { return &Desk{Store: store, Random: d.Random} }

func (d *Desk) noise() *noise.Source {
	if d.Random != nil {
		return d.Random()
	}
	return noise.NewSource()
}

// charge runs a transaction that charges for snapshots, and returns when it is on
// disk. A table whose source changed is refused first: nothing is charged for what
// could not be answered.
func (d *Desk) charge(ctx context.Context, do func(*catalog.Tx) error, sns ...Snapshot) error {
	return d.Store.Write(ctx, func(tx *catalog.Tx) error {
		for _, sn := range sns {
			if err := sn.Unchanged(ctx, tx); err != nil {
				return err
			}
		}
		return do(tx)
	})
}

// Build charges for something built from one snapshot: a release, a prior or N̂. The
// ledger records the action and its object. A charge that waits for the statement is taken instead.
func (d *Desk) Build(ctx context.Context, b *Bill, sn Snapshot, k catalog.Kind, action, object string, cost accounting.Amount) (*Receipt, error) {
	return d.one(ctx, build, b, sn, b.Statement, k, action, object, cost)
}

func (d *Desk) one(ctx context.Context, what kind, b *Bill, sn Snapshot, statement string, k catalog.Kind, action, object string, cost accounting.Amount) (*Receipt, error) {
	t := sn.Table()
	var w catalog.Waiting
	err := d.charge(ctx, func(tx *catalog.Tx) (err error) {
		w, err = tx.ChargeFor(b.identity(t, statement), t.Account, t.Span(), cost, func() error {
			return tx.Charge(t.Account, t.Span(), k, action, object, cost)
		})
		return err
	}, sn)
	if err != nil {
		return nil, err
	}
	b.add(cost)
	return d.newReceipt(what, sn, cost, w), nil
}

// GoOn returns a receipt for going on, from another snapshot, with a build that is charged and stored
// unfinished. Nothing that is stored of it is drawn again. Errors: Unknown if it is not stored as it
// was read; Invalid if one of its periods is retired.
func (d *Desk) GoOn(ctx context.Context, sn Snapshot, r *catalog.Release) (*Receipt, error) {
	t := sn.Table()
	err := d.charge(ctx, func(tx *catalog.Tx) error {
		stored, err := tx.Release(r.Name)
		switch {
		case err != nil:
			return err
		case stored == nil || stored.ID != r.ID || stored.TableID != t.ID || !stored.Unfinished():
			return sqlerr.New(sqlerr.Unknown, "release %s was dropped or finished meanwhile", r.Name)
		}
		return tx.Affords(t.Account, t.Span(), catalog.KindReleases, "create release", accounting.Amount{})
	}, sn)
	if err != nil {
		return nil, err
	}
	return d.newReceipt(build, sn, accounting.Amount{Epsilon: r.Epsilon, Delta: r.Delta}, catalog.Waiting{}), nil
}

// identity is what the ledger calls a statement about a table; "" if nothing waits for it.
func (b *Bill) identity(t *view.Table, statement string) string {
	if b.Quota {
		return ""
	}
	sum := sha256.Sum256(fmt.Append(nil, t.ID, t.Account, t.Span(), statement))
	return fmt.Sprintf("statement %x", sum[:8])
}

// Waiting returns the charge that waits for what is built, or the zero Waiting. The statement may have
// been interrupted after it had bought the number of rows: then b.Statement says so.
func (d *Desk) Waiting(ctx context.Context, b *Bill, t *view.Table) (w catalog.Waiting, err error) {
	err = d.Store.Read(ctx, func(tx *catalog.Tx) error {
		all, err := tx.Waiting()
		if w = all[b.identity(t, b.Statement+counted)]; w.Line > 0 {
			b.Statement += counted
		} else {
			w = all[b.identity(t, b.Statement)]
		}
		return err
	})
	return w, err
}

// Served reports whether a charge waits, of all that do, for what a statement pays about a table.
func (b *Bill) Served(waiting map[string]catalog.Waiting, t *view.Table, p *catalog.Payment) bool {
	w := waiting[b.paying(t, p)]
	return w.Line > 0 && w.Amount.Rho == p.Rho
}

// paying is the identity of a statement that buys direct answers.
func (b *Bill) paying(t *view.Table, p *catalog.Payment) string {
	return b.identity(t, fmt.Sprint(p.Statement, p.Shares))
}

const counted = " after its number of rows"

// Affords returns the error of charging an amount, whose first part is for a statement. What waits for that is not
// charged again, if it is as much.
func (d *Desk) Affords(ctx context.Context, b *Bill, t *view.Table, statement string, k catalog.Kind, action string, first, amount accounting.Amount) error {
	return d.Store.Read(ctx, func(tx *catalog.Tx) error {
		if all, err := tx.Waiting(); err != nil {
			return err
		} else if all[b.identity(t, statement)].Amount == first {
			amount = minus(amount, first)
		}
		return tx.Affords(t.Account, t.Span(), k, action, amount)
	})
}

// Read calls read, which reads rows with a receipt, and draws no noise. If it fails, and the
// statement is no user's, the charge waits for the equal statement.
func (d *Desk) Read(ctx context.Context, b *Bill, paid *Receipt, read func() error) error {
	err := read()
	w := paid.charge
	paid.charge = catalog.Waiting{} // what was read may be drawn from
	if err == nil || w.Statement == "" {
		return err
	}
	paid.End()
	if d.Store.Write(context.WithoutCancel(ctx), func(tx *catalog.Tx) error { return tx.Wait(w) }) == nil {
		b.idle, _ = b.idle.Add(paid.paid)
		b.gone = minus(b.gone, paid.paid)
	}
	return err
}

func minus(a, b accounting.Amount) accounting.Amount {
	return accounting.Amount{Epsilon: a.Epsilon - b.Epsilon, Delta: a.Delta - b.Delta, Rho: a.Rho - b.Rho}
}

// Answers charges a statement for direct answers about the rows of several snapshots: all
// in one transaction, or nothing. The transaction also decides what there is to pay, so
// nobody else can buy the same meanwhile. payments returns the payment for each snapshot,
// nil where there is nothing to pay. A snapshot without a payment has no receipt.
func (d *Desk) Answers(ctx context.Context, b *Bill, sns []Snapshot, by *Buyers, payments func(*catalog.Tx) ([]*catalog.Payment, error)) ([]*Receipt, error) {
	var due []*catalog.Payment
	var charges []catalog.Waiting
	taken := make(takings, 1)
	err := d.charge(ctx, func(tx *catalog.Tx) (err error) {
		if due, err = payments(tx); err != nil {
			return err
		}
		clear(taken)
		charges = make([]catalog.Waiting, len(due))
		for i, p := range due {
			if p == nil {
				continue
			}
			charges[i], err = tx.ChargeFor(b.paying(sns[i].Table(), p), p.Account, p.Over(), accounting.Amount{Rho: p.Rho}, func() error {
				taken.add(p)
				buyer := *by.Of(p.Account)
				buyer.Taken += taken.most(p.Account) - p.Cost()
				return tx.Buy(buyer, *p)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, sns...)
	if err != nil {
		return nil, err
	}
	receipts := make([]*Receipt, len(due))
	for i, p := range due {
		if p == nil {
			continue
		}
		cost := accounting.Amount{Rho: p.Rho}
		b.add(cost)
		receipts[i] = d.newReceipt(answer, sns[i], cost, charges[i])
		receipts[i].served = !slices.Contains(taken[p.Account], p)
	}
	for account := range taken {
		by.Of(account).Taken += taken.most(account)
	}
	return receipts, nil
}

// takings are the payments of one charge by account. Two tables of one account that are read in
// different periods take from each only what they read there.
type takings map[int64][]*catalog.Payment

func (t takings) add(p *catalog.Payment) { t[p.Account] = append(t[p.Account], p) }

// most returns the most that the payments from an account take from any one period.
func (t takings) most(account int64) accounting.Rho {
	if all := t[account]; len(all) == 1 {
		return all[0].Cost()
	}
	var shares []catalog.Share
	for _, p := range t[account] {
		if p.Shares == nil {
			shares = append(shares, catalog.Share{Over: period.Ranges{period.All}, Rho: p.Rho})
		}
		shares = append(shares, p.Shares...)
	}
	return catalog.Most(shares)
}

// Buyers are the buyers of one statement: one for each account that it buys from.
type Buyers struct {
	who catalog.Buyer            // who has taken nothing
	by  map[int64]*catalog.Buyer // by account
}

// NewBuyers returns the buyers of a new statement of someone, which has taken nothing yet.
func NewBuyers(who catalog.Buyer) *Buyers { return &Buyers{who, make(map[int64]*catalog.Buyer)} }

// Of returns the buyer that buys from an account.
func (b *Buyers) Of(account int64) *catalog.Buyer {
	if b.by[account] == nil {
		buyer := b.who
		b.by[account] = &buyer
	}
	return b.by[account]
}

// StartRun pays for the next run of a mechanism from its reserve. In the same
// transaction store records that the run was started.
func (d *Desk) StartRun(ctx context.Context, sn Snapshot, by *catalog.Buyer, p catalog.Payment, store func(*catalog.Tx) error) (*Receipt, error) {
	err := d.charge(ctx, func(tx *catalog.Tx) error {
		if err := store(tx); err != nil {
			return err
		}
		return tx.Buy(*by, p)
	}, sn)
	if err != nil {
		return nil, err
	}
	by.Taken += p.Cost()
	return d.newReceipt(run, sn, accounting.Amount{Rho: p.Prepaid}, catalog.Waiting{}), nil
}

// ResumeRun returns the receipt of the run that the catalog has open for the present
// lease, or nil if there is none. The run was charged when it was started.
func (d *Desk) ResumeRun(tx *catalog.Tx, t *view.Table, mechanism int64) (*Receipt, error) {
	m, err := tx.MechanismByID(mechanism)
	if err != nil || m.TableID != t.ID || m.Run == nil || !m.Leased {
		return nil, err
	}
	return &Receipt{kind: run, table: t.ID, source: t.Source, paid: accounting.Amount{Rho: m.RunRho}, noise: d.noise}, nil
}

// Reserve charges for all runs of a mechanism. In the same transaction store adds the
// mechanism, so there is no mechanism without its budget and no budget without its
// mechanism. Nothing may be read for it before a run is started.
func (d *Desk) Reserve(ctx context.Context, sn Snapshot, name string, rho accounting.Rho, store func(*catalog.Tx) error) error {
	return d.charge(ctx, func(tx *catalog.Tx) error {
		if err := tx.Charge(sn.Table().Account, sn.Table().Span(), catalog.KindInteractive, "reserve mechanism", name, accounting.Amount{Rho: rho}); err != nil {
			return err
		}
		return store(tx)
	}, sn)
}

// Bill adds up the charges of a statement, so that one that fails can say what it cost.
// A charge is added once it is on disk. The zero Bill is empty.
type Bill struct {
	Quota     bool   // it is a user's, who sees no ledger; else charges of its that nothing was drawn for wait
	Statement string // what is built, for charges that wait
	Resume    string // the statement that goes on with an interrupted build; "" for the same one

	gone accounting.Amount // charged without anything stored for it
	idle accounting.Amount // charged, and waiting
	away accounting.Amount // charged, and being read for without the statement
	nhat accounting.Amount // charged for the number of rows, which is stored
	kept accounting.Amount // charged for a release that is stored unfinished
	told accounting.Amount // charged for answers that are stored
}

// add adds a charge.
func (b *Bill) add(amount accounting.Amount) { b.gone, _ = b.gone.Add(amount) }

// keep notes that the number of rows was stored. It is the first thing that a statement
// buys.
func (b *Bill) keep() { b.nhat, b.gone = b.gone, accounting.Amount{} }

// Store notes that what was charged for is stored, though the statement is not over.
func (b *Bill) Store() { b.kept, b.gone = b.gone, accounting.Amount{} }

// Leave notes that what was charged is read for without the statement.
func (b *Bill) Leave() { b.away, b.gone = b.gone, accounting.Amount{} }

// Settle notes that all that was charged is stored and done with.
func (b *Bill) Settle() { *b = Bill{Quota: b.Quota} }

// Answered notes that the answers that an amount was charged for are stored.
func (b *Bill) Answered(amount accounting.Amount) {
	b.told, _ = b.told.Add(amount)
	b.gone = minus(b.gone, amount)
}

// Tell adds to the error of a statement what the statement was charged without result.
// If the statement was cancelled, Tell also says what is kept, or that nothing was
// charged. All of this is in the ledger, so it says nothing more about the rows.
func (b *Bill) Tell(e *sqlerr.Error) *sqlerr.Error {
	list, again, nhat := "SHOW LEDGER", cmp.Or(b.Resume, "the same statement"), b.nhat
	if b.Quota {
		list = "SHOW BUDGET"
	}
	if e.Code != sqlerr.Cancelled {
		nhat = accounting.Amount{}
	}
	c := *e
	for _, part := range []struct {
		accounting.Amount
		what, hint string
	}{
		{nhat, "the number of rows, which is kept", ""},
		{b.gone, "it and is gone", list + " has the charge; the statement costs as much again"},
		{b.idle, "it and waits, for nothing was drawn", again + " goes on, and costs nothing"},
		{b.away, "it, and its answer is being read", again + " goes on, and costs nothing"},
		{b.kept, "its noisy counts, which are kept", again + " goes on, and costs nothing"},
		{b.told, "private answers, which are stored", "a statement with the same aggregates costs nothing for them"},
	} {
		if part.Amount != (accounting.Amount{}) {
			c.Message += "; " + view.Amount(part.Amount) + " was charged for " + part.what
			c.Hint = cmp.Or(c.Hint, part.hint)
		}
	}
	if e.Code == sqlerr.Cancelled && c.Message == e.Message {
		c.Message += "; nothing was charged"
	}
	return &c
}

// ErrRandom returns the error for a failure of the system's random source. Nothing
// drawn from it is shown.
func ErrRandom() error {
	return sqlerr.New(sqlerr.IO, "the system's random source failed")
}

// kind says what a receipt is good for.
type kind int

const (
	_      kind = iota // nothing; that of the zero Receipt
	answer             // one reading, of one snapshot
	run                // any number of comparisons, until the run ends
	build              // any number of readings of one snapshot
)

// Receipt is proof that reading private rows was paid for: the charge is on disk. It names the table, the
// snapshot and what was paid, and it alone has the noise that is drawn for it. A Receipt is made by the methods
// of a Desk, and nowhere else.
//
// What the compiler enforces: no function reads private rows without a source.Permit, package rows takes no
// other Permit than a *Receipt, and no other package can fill one. What is refused at run time, here and at the
// door of package source: nil and the zero Receipt, another table, another snapshot, the second use of an
// answer's receipt, and a run's receipt after its run.
type Receipt struct {
	kind     kind
	table    int64
	source   string // the source of the table's rows
	snapshot Snapshot
	paid     accounting.Amount
	served   bool            // by a charge that waited
	charge   catalog.Waiting // waits if no rows were read; zero once they were
	noise    func() *noise.Source

	mu       sync.Mutex
	used     bool
	ended    bool
	readings int // number of open readings
}

func (d *Desk) newReceipt(k kind, sn Snapshot, paid accounting.Amount, charge catalog.Waiting) *Receipt {
	t := sn.Table()
	r := &Receipt{kind: k, table: t.ID, source: t.Source, paid: paid, charge: charge, noise: d.noise}
	if k != run {
		r.snapshot = sn
	}
	return r
}

// Paid returns the amount that was charged.
func (r *Receipt) Paid() accounting.Amount { return r.paid }

// Charged returns what was charged when the receipt was made: nothing if a charge that waited served.
func (r *Receipt) Charged() accounting.Amount {
	if r.served {
		return accounting.Amount{}
	}
	return r.paid
}

// Noise returns a source of noise for what was paid. It is refused while the charge could
// still wait for the statement to be asked again, so that nothing is drawn twice for one
// charge, and after the receipt's end.
func (r *Receipt) Noise() (*noise.Source, error) {
	if r == nil || r.kind == 0 {
		return nil, undrawn("nothing was paid")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return nil, undrawn("what was paid for is over")
	case r.charge.Statement != "":
		return nil, undrawn("the charge may still wait")
	}
	return r.noise(), nil
}

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

// End makes the receipt worthless, at the end of a run. A nil receipt may be ended.
func (r *Receipt) End() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// unpaid returns an error that is a fault of dpsql and never of a user.
func unpaid(why string) error {
	return sqlerr.New(sqlerr.Internal, "private rows are not read: %s", why)
}

// undrawn is unpaid where noise is to be drawn.
func undrawn(why string) error {
	return sqlerr.New(sqlerr.Internal, "no noise is drawn: %s", why)
}

// Snapshot is one state of a table's rows, which a charge pays for. Receipts compare
// snapshots with ==. rows.Snapshot is the one that reads.
type Snapshot interface {
	// Table returns the table whose rows it has.
	Table() *view.Table
	// Unchanged refuses a table whose source no longer matches its declaration. It is
	// called in the transaction that charges.
	Unchanged(ctx context.Context, tx *catalog.Tx) error
}

// Countable is a snapshot whose rows can be counted for N̂.
type Countable interface {
	Snapshot
	CountAll(ctx context.Context, paid *Receipt) (int64, error)
}

// Opener opens a snapshot of a table while do runs.
type Opener interface {
	ForRowCount(ctx context.Context, t *view.Table, do func(Countable) error) error
}

// RowCount returns N̂, the noisy number of rows of the table, or of the periods of it that t
// is restricted to. It is bought once for them, when it is first needed, for a hundredth of what the buying statement is about to
// spend, from the account that the statement spends from. left is the rest. If the
// statement is refused afterwards, N̂ stays paid for, and later statements use it.
//
// # Privacy
//
// The noise is discrete Laplace of scale L/ε, so ε-DP (Dwork, McSherry, Nissim and
// Smith 2006), in the releases account, and discrete Gaussian with σ² = L²/(2ρ), so
// ρ-zCDP (Canonne, Kamath and Steinke 2020), in the interactive one.
func (d *Desk) RowCount(ctx context.Context, b *Bill, from Opener, t *view.Table, k catalog.Kind, about accounting.Amount) (n catalog.NHat, left accounting.Amount, err error) {
	const action = "number of rows"
	cost, left, law, err := RowCountPrice(about, t.Sensitivity())
	if t.NHat != nil {
		_, err = d.Waiting(ctx, b, t)
		if strings.HasSuffix(b.Statement, counted) {
			about = left
		}
		return *t.NHat, about, err
	}
	if err = cmp.Or(d.Affords(ctx, b, t, action, k, "this statement", cost, about), err); err != nil {
		return n, about, err
	}
	var rows int64
	var paid *Receipt
	err = from.ForRowCount(ctx, t, func(sn Countable) (err error) {
		if paid, err = d.one(ctx, answer, b, sn, action, k, action, t.Name, cost); err != nil {
			return err
		}
		return d.Read(ctx, b, paid, func() (err error) {
			rows, err = sn.CountAll(ctx, paid)
			return err
		})
	})
	if err != nil {
		return n, about, err
	}
	src, err := paid.Noise()
	if err != nil {
		return n, about, err
	}
	draw, err := noise.Draw(law, src)
	if err != nil {
		return n, about, ErrRandom()
	}
	n = catalog.NHat{Value: max(1, rows+draw), Epsilon: cost.Epsilon, Rho: cost.Rho, Law: law.String()}
	if n, err = d.keepRowCount(context.WithoutCancel(ctx), t, n); err == nil {
		t.NHat, b.Statement = &n, b.Statement+counted
		b.keep()
	}
	return n, left, err
}

// keepRowCount stores N̂. If another process stored one meanwhile, that one is kept and
// returned, so that everything after shares it.
func (d *Desk) keepRowCount(ctx context.Context, t *view.Table, n catalog.NHat) (catalog.NHat, error) {
	err := d.Store.Write(ctx, func(tx *catalog.Tx) error {
		stored, err := tx.Table(t.Name)
		if err != nil {
			return err
		}
		switch {
		case stored == nil || stored.ID != t.ID:
			return sqlerr.New(sqlerr.Unknown, "the private table %s was dropped meanwhile", t.Name)
		}
		if known := stored.RowCount(t.Part); known != nil {
			n = *known
			return nil
		}
		return tx.SetNHat(t.ID, t.Part, n)
	})
	return n, err
}

// RowCountPrice returns what N̂ costs of what a statement is about to spend, a hundredth of
// ε or ρ, what is left of it, and the law of the noise in N̂.
func RowCountPrice(about accounting.Amount, sensitivity int64) (cost, left accounting.Amount, law law.Law, err error) {
	cost = accounting.Amount{Epsilon: about.Epsilon / 100, Rho: about.Rho / 100}
	left = accounting.Amount{Epsilon: about.Epsilon - cost.Epsilon, Delta: about.Delta, Rho: about.Rho - cost.Rho}
	law, err = rowCountLaw(cost, sensitivity)
	return cost, left, law, err
}

func rowCountLaw(cost accounting.Amount, sensitivity int64) (law.Law, error) {
	switch {
	case cost.Rho > 0:
		return law.NewGaussian(direct.SigmaSquared(int64(cost.Rho), sensitivity))
	case cost.Epsilon > 0:
		return law.NewLaplace(LaplaceScale(cost.Epsilon, sensitivity))
	}
	return nil, sqlerr.New(sqlerr.Invalid, "epsilon is too small to count the rows with a hundredth of it").
		WithHint("give the statement a larger epsilon")
}

// LaplaceScale returns L/ε.
func LaplaceScale(e accounting.Epsilon, sensitivity int64) *big.Rat {
	return new(big.Rat).Quo(new(big.Rat).SetInt64(sensitivity), e.Rat())
}

// RowCountBound returns e with |N̂ − n| ≤ e except with probability beta. Clamping N̂
// to at least 1 only brings it nearer.
func RowCountBound(n catalog.NHat, beta float64) (int64, error) {
	l, err := law.Parse(n.Law)
	if err != nil {
		return 0, sqlerr.New(sqlerr.Corrupt, "the stored number of rows cannot be read")
	}
	return law.HalfWidth(l, 1-beta), nil
}
