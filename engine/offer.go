package engine

import (
	"errors"
	"fmt"
	"math"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
)

// maxOffered is the largest accuracy, in counts, that a hint offers.
const maxOffered = 1e12

// offered returns an accuracy that a statement can pay, and its cost: the one
// that is wanted, or else the smallest of 1, 2 and 5 times a power of ten above
// it that takes no more than a tenth of what is left. False where none does.
func offered(wanted float64, p purse, cost func(accuracy float64) (accounting.Rho, bool)) (float64, accounting.Rho, bool) {
	if rho, ok := cost(wanted); ok && rho <= p.most {
		return wanted, rho, true
	}
	for power := math.Pow(10, math.Floor(math.Log10(wanted))); power <= maxOffered; power *= 10 {
		for _, accuracy := range []float64{power, 2 * power, 5 * power} {
			if accuracy <= wanted {
				continue
			}
			if rho, ok := cost(accuracy); ok && rho <= min(p.most, p.left/cautiousShare) {
				return accuracy, rho, true
			}
		}
	}
	return 0, 0, false
}

// offerHint says which accuracy would be answered directly, and for how much.
// Of several queries the cost is that of all.
func offerHint(wanted, confidence float64, p purse, several bool, cost func(accuracy float64) (accounting.Rho, bool)) string {
	if p.closed != nil {
		return "no direct answer either: " + p.closed.Message
	}
	accuracy, rho, ok := offered(wanted, p, cost)
	if !ok && p.most < p.left {
		return fmt.Sprintf("no direct answer can be bought either: the statement may take ρ = %s more", view.Short(max(0, p.most).Float()))
	}
	if !ok {
		return fmt.Sprintf("no direct answer can be bought either: the interactive account has ρ = %s left", view.Short(p.left.Float()))
	}
	it, together, answers := "it", "", "answers"
	if several {
		it, together, answers = "them", " together", "statements"
	}
	return fmt.Sprintf("SET accuracy = %s answers %s directly within ±%s (%s %%) for ρ = %s%s; the interactive budget left pays for %d such %s",
		view.Counts(accuracy), it, view.Counts(accuracy), view.Counts(100*confidence), view.Short(rho.Float()), together, int64(p.left/rho), answers)
}

// purse is what a statement can pay from.
type purse struct {
	left   accounting.Rho // of the account
	most   accounting.Rho // that the statement may still take
	closed *sqlerr.Error  // why it may buy nothing, nil where it may
}

// purseOf returns what a statement can pay from that also begins runs.
func purseOf(v *view.View, t *view.Table, by *catalog.Buyer, runs accounting.Rho) purse {
	a := v.Accounts[t.Account]
	p := purse{left: a.Left().Rho, most: a.Left().Rho}
	if a.Limits.MaxCharge > 0 {
		p.most = min(p.most, a.Limits.MaxCharge-by.Taken-runs)
	}
	errors.As(a.Limits.Check(catalog.Buyer{Principal: by.Principal}, 0), &p.closed)
	return p
}

// hinted is the refusal of a limit, nil for none. One that a smaller purchase
// would pass has the hint that says which.
func hinted(err error, hint func() string) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Code == sqlerr.Budget {
		return e.WithHint("%s", hint())
	}
	return e
}
