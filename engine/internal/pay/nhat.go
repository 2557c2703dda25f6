package pay

import (
	"context"
	"math/big"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/sqlerr"
)

// Countable is a snapshot whose rows can be counted for N̂.
type Countable interface {
	Snapshot
	CountAll(ctx context.Context, paid *Receipt) (int64, error)
}

// Opener opens a snapshot of a table while do runs.
type Opener interface {
	ForRowCount(ctx context.Context, t *view.Table, do func(Countable) error) error
}

// RowCount returns N̂, the table's noisy number of rows. It is bought once a table,
// at first need, for a hundredth of what the buying statement is about to spend, out
// of the account it spends from; left is the rest. A statement that bought it and is
// then refused has paid for it: later ones find it there.
//
// # Privacy
//
// The noise is discrete Laplace of scale L/ε, so ε-DP (Dwork, McSherry, Nissim and
// Smith 2006), in the releases account, and discrete Gaussian with σ² = L²/(2ρ), so
// ρ-zCDP (Canonne, Kamath and Steinke 2020), in the interactive one.
func (d *Desk) RowCount(ctx context.Context, b *Bill, from Opener, t *view.Table, k catalog.Kind, about accounting.Amount) (n catalog.NHat, left accounting.Amount, err error) {
	if t.NHat != nil {
		return *t.NHat, about, nil
	}
	err = d.Store.Read(ctx, func(tx *catalog.Tx) error { return tx.Affords(t.Account, k, "this statement", about) })
	if err != nil {
		return n, about, err
	}
	cost := accounting.Amount{Epsilon: about.Epsilon / 100, Rho: about.Rho / 100}
	left = accounting.Amount{Epsilon: about.Epsilon - cost.Epsilon, Delta: about.Delta, Rho: about.Rho - cost.Rho}
	law, err := rowCountLaw(cost, t.Sensitivity())
	if err != nil {
		return n, about, err
	}
	var rows int64
	err = from.ForRowCount(ctx, t, func(sn Countable) error {
		paid, err := d.one(ctx, answer, b, sn, k, "number of rows", t.Name, cost)
		if err != nil {
			return err
		}
		rows, err = sn.CountAll(ctx, paid)
		return err
	})
	if err != nil {
		return n, about, err
	}
	draw, err := law.Draw(d.Random())
	if err != nil {
		return n, about, ErrRandom()
	}
	n = catalog.NHat{Value: max(1, rows+draw), Epsilon: cost.Epsilon, Rho: cost.Rho, Law: law.String()}
	if n, err = d.keepRowCount(context.WithoutCancel(ctx), t, n); err == nil {
		t.NHat = &n
		b.keep()
	}
	return n, left, err
}

// keepRowCount stores N̂. If another process stored one meanwhile, that one is kept
// and returned: everything after shares the first.
func (d *Desk) keepRowCount(ctx context.Context, t *view.Table, n catalog.NHat) (catalog.NHat, error) {
	err := d.Store.Write(ctx, func(tx *catalog.Tx) error {
		stored, err := tx.Table(t.Name)
		if err != nil {
			return err
		}
		switch {
		case stored == nil || stored.ID != t.ID:
			return sqlerr.New(sqlerr.Unknown, "the private table %s was dropped meanwhile", t.Name)
		case stored.NHat != nil:
			n = *stored.NHat
			return nil
		}
		return tx.SetNHat(t.ID, n)
	})
	return n, err
}

func rowCountLaw(cost accounting.Amount, sensitivity int64) (noise.Law, error) {
	switch {
	case cost.Rho > 0:
		return noise.NewGaussian(direct.SigmaSquared(int64(cost.Rho), sensitivity))
	case cost.Epsilon > 0:
		return noise.NewLaplace(LaplaceScale(cost.Epsilon, sensitivity))
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
	law, err := noise.ParseLaw(n.Law)
	if err != nil {
		return 0, sqlerr.New(sqlerr.Corrupt, "the stored number of rows cannot be read")
	}
	return noise.HalfWidth(law, 1-beta), nil
}
